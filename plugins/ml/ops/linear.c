/* LinearClassifier and LinearRegressor: scores = X · coefficients + intercepts, in float for
 * float inputs and in double for the others; one product of the whole batch. */
#include "ops/labels.h"
#include "ops/numbers.h"
#include "ops/post.h"
#include "ops/weights.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define CLASSIFIER_ATTRS(X, S)                                                           \
    X(S, FLOATS, coefficients, )                                                         \
    X(S, FLOATS, intercepts, )                                                           \
    X(S, INTS, classlabels_ints, )                                                       \
    X(S, STRINGS, classlabels_strings, )                                                 \
    X(S, INT, multi_class, 0)                                                            \
    X(S, STRING, post_transform, "NONE")
#define REGRESSOR_ATTRS(X, S)                                                            \
    X(S, FLOATS, coefficients, )                                                         \
    X(S, FLOATS, intercepts, )                                                           \
    X(S, INT, targets, 1)                                                                \
    X(S, STRING, post_transform, "NONE")
/* clang-format on */
TN_ATTR_TABLE(classifier, CLASSIFIER_ATTRS)
TN_ATTR_TABLE(regressor, REGRESSOR_ATTRS)

/* What both operators come to. */
struct model {
    struct tn_attr_floats coefficients, intercepts;
    struct tn__labels labels;
    enum tn_transform post;
    int64_t features, scores; /* scores: rows of coefficients */
    int64_t columns;          /* of the output: 2 for one score and two labels */
    bool classifies;
    bool ort; /* ml.compat = ort: the second score of a pair is 1 - s, not -s … */
};

/* ---- attributes --------------------------------------------------------------------------- */

/* `cols` of the input may be unknown (negative). */
static tn_status check_model(struct model *m, int64_t cols, struct tn_diag *diag) {
    int64_t n = m->coefficients.n;
    if (n == 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'coefficients' is missing or empty, expected a row for each class "
            "or "
            "target");
    if (m->intercepts.n && m->intercepts.n != m->scores)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'intercepts' has %u values for %lld rows of 'coefficients'",
            m->intercepts.n, (long long)m->scores);
    if (n % m->scores != 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'coefficients' has %lld values, which are no %lld rows of one "
            "length",
            (long long)n, (long long)m->scores);
    m->features = n / m->scores;
    if (cols >= 0 && cols != m->features)
        return tn_fail(diag, TN_INVALID_MODEL,
            "input 'X' has %lld columns, but attribute 'coefficients' has %lld for each "
            "of "
            "%lld rows",
            (long long)cols, (long long)m->features, (long long)m->scores);
    return TN_OK;
}

/* How many scores a classifier has: one an intercept, else by the columns of X. */
static tn_status count_scores(struct model *m, int64_t cols, struct tn_diag *diag) {
    m->scores = m->intercepts.n;
    if (m->scores == 0 && cols > 0) m->scores = m->coefficients.n / cols;
    if (m->scores == 0 && m->labels.n > 2) m->scores = m->labels.n;
    if (m->scores == 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "the rows of attribute 'coefficients' cannot be told apart: give "
            "'intercepts', "
            "or the number of columns of 'X'");
    bool pair = m->scores == 1 && m->labels.n == 2;
    m->columns = pair ? 2 : m->scores;
    if (m->labels.n && m->labels.n != m->columns)
        return tn_fail(diag, TN_INVALID_MODEL,
            "there are %u class labels (classlabels_ints, classlabels_strings) for %lld "
            "rows of attribute 'coefficients'",
            m->labels.n, (long long)m->scores);
    return TN_OK;
}

static tn_status read_classifier(
    const struct tn_node *node, int64_t cols, struct model *m, struct tn_diag *diag) {
    struct classifier_attrs attrs;
    TN_TRY(TN_ATTRS_READ(classifier, node, &attrs, diag));
    *m = (struct model){.coefficients = attrs.coefficients,
        .intercepts = attrs.intercepts,
        .labels = tn__labels_of(attrs.classlabels_ints, attrs.classlabels_strings),
        .classifies = true};
    TN_TRY(tn__post_read(attrs.post_transform, &m->post, diag));
    TN_TRY(count_scores(m, cols, diag));
    return check_model(m, cols, diag);
}

static tn_status read_regressor(
    const struct tn_node *node, int64_t cols, struct model *m, struct tn_diag *diag) {
    struct regressor_attrs attrs;
    TN_TRY(TN_ATTRS_READ(regressor, node, &attrs, diag));
    *m = (struct model){.coefficients = attrs.coefficients,
        .intercepts = attrs.intercepts,
        .scores = attrs.targets,
        .columns = attrs.targets};
    TN_TRY(tn__post_read(attrs.post_transform, &m->post, diag));
    if (attrs.targets < 1 || attrs.targets > INT32_MAX)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'targets' is %lld, expected 1 or more", (long long)attrs.targets);
    return check_model(m, cols, diag);
}

typedef tn_status (*read_fn)(
    const struct tn_node *node, int64_t cols, struct model *m, struct tn_diag *diag);

/* ---- inference ---------------------------------------------------------------------------- */

static tn_status read_shape(
    const struct tn_infer *infer, read_fn read, struct model *m, int64_t *out_rows) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct tn__matrix matrix = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN};
    if (x && x->rank >= 0) TN_TRY(tn__matrix_of(x->rank, x->dims, &matrix, infer->diag));
    *out_rows = matrix.rows;
    return read(infer->node, matrix.cols, m, infer->diag);
}

static tn_status infer_classifier(const struct tn_infer *infer) {
    struct model m;
    int64_t dims[2];
    TN_TRY(read_shape(infer, read_classifier, &m, &dims[0]));
    dims[1] = m.columns;
    TN_TRY(tn_infer_set(infer, 0, tn__labels_dtype(&m.labels), 1, dims));
    return tn_infer_set(infer, 1, TN_FLOAT, 2, dims);
}

static tn_status infer_regressor(const struct tn_infer *infer) {
    struct model m;
    int64_t dims[2];
    TN_TRY(read_shape(infer, read_regressor, &m, &dims[0]));
    dims[1] = m.columns;
    return tn_infer_set(infer, 0, TN_FLOAT, 2, dims);
}

/* ---- kernels ------------------------------------------------------------------------------ */

struct linear {
    struct tn_kernel_head head;
    struct model m;
    struct tn__weights weights;
    void *bias; /* in the type of the weights, or NULL */
    const struct tn_rows_kernels *rows;
};

static void destroy(void *kernel) {
    struct linear *self = kernel;
    if (self) {
        tn__weights_free(&self->weights);
        self->head.host->free(self->head.host->self, self->bias);
    }
    tn_kernel_destroy(kernel);
}

static tn_status make_bias(struct linear *self, int32_t dtype, struct tn_diag *diag) {
    const struct tn_host *host = self->head.host;
    const struct tn_attr_floats *list = &self->m.intercepts;
    if (list->n == 0) return TN_OK;
    self->bias = host->alloc(host->self, list->n * sizeof(double), 0, "ml weights");
    if (!self->bias) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for intercepts");
    for (uint32_t i = 0; i < list->n; i++) {
        if (dtype == TN_DOUBLE)
            ((double *)self->bias)[i] = (double)list->v[i];
        else
            ((float *)self->bias)[i] = list->v[i];
    }
    return TN_OK;
}

static tn_status fill(
    const struct tn_kernel_ctx *ctx, read_fn read, struct linear *self) {
    const struct tn_type *x = &ctx->inputs[0];
    int32_t dtype = x->dtype == TN_FLOAT ? TN_FLOAT : TN_DOUBLE;
    int64_t cols = x->rank > 0 ? x->dims[x->rank - 1] : TN_DIM_UNKNOWN;
    TN_TRY(read(ctx->node, cols, &self->m, ctx->diag));
    const struct tn__ml *ml = ctx->plugin_state;
    self->m.ort = ml->compat == TN_COMPAT_ORT;
    self->rows = &ml->rows;
    TN_TRY(make_bias(self, dtype, ctx->diag));
    return tn__weights_pack(&self->weights, ctx->plugin_state, self->m.coefficients.v,
        (uint64_t)self->m.features, (uint64_t)self->m.scores, dtype, ctx->diag);
}

static tn_status create(const struct tn_kernel_ctx *ctx, read_fn read, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct linear), out));
    tn_status status = fill(ctx, read, *out);
    if (status == TN_OK) return TN_OK;
    destroy(*out);
    *out = NULL;
    return status;
}

static tn_status create_classifier(const struct tn_kernel_ctx *ctx, void **out) {
    return create(ctx, read_classifier, out);
}

static tn_status create_regressor(const struct tn_kernel_ctx *ctx, void **out) {
    return create(ctx, read_regressor, out);
}

enum { MOST_SCORES = 512 }; /* scores that are finished at a time */

/* Rows whose scores are finished at a time. */
static int64_t block_of(const struct model *m) {
    return m->columns < MOST_SCORES ? MOST_SCORES / m->columns : 1;
}

/* Bytes: scores of the batch, its inputs where they are converted, and the block of one
 * worker. */
struct scratch {
    uint64_t scores, inputs, block;
};

static tn_status size_scratch(const struct linear *self, const struct tn_tensor *x,
    struct tn__matrix *out_matrix, struct scratch *out, struct tn_diag *diag) {
    uint64_t item = tn_dtype_bits(self->weights.dtype) / 8;
    TN_TRY(tn__matrix_of(x->rank, x->dims, out_matrix, diag));
    if (out_matrix->cols != self->m.features)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "input 'X' has %lld columns, but attribute 'coefficients' has %lld",
            (long long)out_matrix->cols, (long long)self->m.features);
    uint64_t rows = (uint64_t)out_matrix->rows;
    if (rows > INT64_MAX / 16 / (uint64_t)self->m.scores)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "the scores do not fit the memory");
    out->scores = (rows * (uint64_t)self->m.scores * item + 63) & ~UINT64_C(63);
    bool convert = self->weights.dtype == TN_DOUBLE && x->dtype != TN_DOUBLE;
    out->block = 2 * sizeof(double) *
                 tn__post_spare((uint64_t)block_of(&self->m), (uint64_t)self->m.columns);
    out->inputs = convert ? rows * (uint64_t)self->m.features * item : 0;
    out->inputs = (out->inputs + 63) & ~UINT64_C(63);
    return TN_OK;
}

static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    struct tn__matrix matrix;
    struct scratch scratch;
    TN_TRY(size_scratch(kernel, tn_in(args, 0), &matrix, &scratch, NULL));
    const struct tn_host *host = ((const struct linear *)kernel)->head.host;
    out->scratch =
        scratch.scores + scratch.inputs + scratch.block * host->worker_count(host->self);
    return TN_OK;
}

/* … and only LOGISTIC and PROBIT transform a pair. */
static bool keeps_pair(const struct model *m) {
    return m->ort && m->columns != m->scores && m->post != TN_TRANSFORM_LOGISTIC &&
           m->post != TN_TRANSFORM_PROBIT;
}

struct finish {
    const struct linear *self;
    const void *scores;
    struct tn_tensor *labels, *out;
    char *blocks; /* one a worker */
    uint64_t block_size;
};

/* Label of a single score: at or above the threshold of its class. Without a transform the
 * score is still the raw one. */
static int64_t single_label(const struct model *m, double score) {
    bool yes = score >= (m->post == TN_TRANSFORM_NONE ? 0 : 0.5);
    return m->labels.n ? (yes ? 0 : -1) : yes;
}

/* Raw scores of n rows from row i on as doubles, both of a pair. */
static void take_scores(const struct finish *f, int64_t i, int64_t n, double *out) {
    const struct model *m = &f->self->m;
    bool wide = f->self->weights.dtype == TN_DOUBLE, pair = m->columns != m->scores;
    for (int64_t k = 0; k < n * m->scores; k++) {
        int64_t at = i * m->scores + k;
        double score = wide ? ((const double *)f->scores)[at]
                            : (double)((const float *)f->scores)[at];
        if (pair) out[2 * k] = -score;
        out[pair ? 2 * k + 1 : k] = score;
    }
}

/* Labels of raw scores. One score alone waits for its transform. */
static void put_labels(const struct finish *f, int64_t i, int64_t n, const double *rows) {
    const struct model *m = &f->self->m;
    if (!m->classifies || m->columns == 1) return;
    for (int64_t k = 0; k < n; k++)
        tn__labels_put(
            &m->labels, f->labels, i + k, tn__best(rows + k * m->columns, m->columns));
}

static void finish_block(const struct finish *f, int64_t i, int64_t n, double *rows) {
    const struct model *m = &f->self->m;
    double *spare = rows + tn__post_spare((uint64_t)block_of(m), (uint64_t)m->columns);
    take_scores(f, i, n, rows);
    put_labels(f, i, n, rows);
    if (keeps_pair(m)) {
        for (int64_t k = 0; k < n; k++)
            rows[2 * k] = 1 - rows[2 * k + 1];
    } else {
        tn__post_rows(f->self->rows, m->post, rows, spare, n, m->columns);
    }
    float *out = f->out ? (float *)f->out->data + i * m->columns : NULL;
    for (int64_t k = 0; out && k < n * m->columns; k++)
        out[k] = (float)rows[k];
    for (int64_t k = 0; m->classifies && m->columns == 1 && k < n; k++)
        tn__labels_put(&m->labels, f->labels, i + k, single_label(m, rows[k]));
}

static void finish_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct finish *f = arg;
    int64_t rows = block_of(&f->self->m);
    double *block = (double *)(void *)(f->blocks + worker * f->block_size);
    for (int64_t i = begin; i < end; i += rows)
        finish_block(f, i, end - i < rows ? end - i : rows, block);
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    const struct linear *self = kernel;
    const struct tn_tensor *x = tn_in(args, 0);
    struct tn__matrix matrix;
    struct scratch scratch;
    TN_TRY(size_scratch(self, x, &matrix, &scratch, args->run->diag));
    void *scores = args->workspace, *inputs = x->data;
    if (matrix.rows == 0) return TN_OK;
    if (scratch.inputs) {
        inputs = (char *)args->workspace + scratch.scores;
        tn__numbers_f64(x, 0, matrix.rows * matrix.cols, inputs);
    }
    tn__weights_multiply(
        &self->weights, (uint64_t)matrix.rows, inputs, self->bias, scores);
    struct finish finish = {self, scores, self->m.classifies ? tn_out(args, 0) : NULL,
        tn_out(args, self->m.classifies ? 1 : 0),
        (char *)args->workspace + scratch.scores + scratch.inputs, scratch.block};
    double cost =
        (double)self->m.columns * (self->m.post == TN_TRANSFORM_NONE ? 1.0 : 4.0);
    tn_parallel(self->head.host, matrix.rows, cost, finish_rows, &finish);
    return TN_OK;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "LinearClassifier"), TN_VERSIONS({1}), TN_INPUTS({"X", "T1"}),
        TN_OUTPUTS({"Y", "T2"}, {"Z", NULL, TN_BIT(FLOAT)}),
        TN_TYPE_VARS({"T1", TN_TYPES_ML_NUMBERS}, {"T2", TN_BIT(STRING) | TN_BIT(INT64)}),
        TN_ATTRS(classifier), .infer = infer_classifier},
    {TN_DEF(TN_ML_DOMAIN, "LinearRegressor"), TN_VERSIONS({1}), TN_INPUTS({"X", "T"}),
        TN_OUTPUTS({"Y", NULL, TN_BIT(FLOAT)}), TN_TYPE_VARS({"T", TN_TYPES_ML_NUMBERS}),
        TN_ATTRS(regressor), .infer = infer_regressor},
};

static const struct tn_kernel_def kernels[] = {
    {TN_ML_KERNEL("LinearClassifier", 1, destroy), .create = create_classifier,
        .workspace = workspace, .compute = compute},
    {TN_ML_KERNEL("LinearRegressor", 1, destroy), .create = create_regressor,
        .workspace = workspace, .compute = compute},
};
/* clang-format on */

TN_FAMILY(linear);
