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
    enum tn__post post;
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
    self->m.ort = ((const struct tn__ml *)ctx->plugin_state)->compat == TN_COMPAT_ORT;
    TN_TRY(make_bias(self, dtype, ctx->diag));
    return tn__weights_pack(&self->weights, ctx->host, self->m.coefficients.v,
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

/* Scores of the batch, and its inputs where they are converted. */
struct scratch {
    uint64_t scores, inputs; /* bytes */
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
    out->inputs = convert ? rows * (uint64_t)self->m.features * item : 0;
    return TN_OK;
}

static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    struct tn__matrix matrix;
    struct scratch scratch;
    TN_TRY(size_scratch(kernel, tn_in(args, 0), &matrix, &scratch, NULL));
    out->scratch = scratch.scores + scratch.inputs;
    return TN_OK;
}

/* … and only LOGISTIC and PROBIT transform a pair. */
static bool keeps_pair(const struct model *m) {
    return m->ort && m->columns != m->scores && m->post != TN__POST_LOGISTIC &&
           m->post != TN__POST_PROBIT;
}

struct finish {
    const struct linear *self;
    const void *scores;
    struct tn_tensor *labels, *out;
};

/* Label of a single score that stands for itself: at or above the threshold of its class. */
static int64_t single_label(const struct model *m, double raw, double score) {
    bool yes = m->post == TN__POST_NONE ? raw >= 0 : score >= 0.5;
    return m->labels.n ? (yes ? 0 : -1) : yes;
}

#define FINISH(type, suffix)                                                             \
    static void finish_##suffix(const struct finish *f, int64_t i) {                     \
        const struct model *m = &f->self->m;                                             \
        const type *raw = (const type *)f->scores + i * m->scores;                       \
        type pair[2] = {-raw[0], raw[0]}, few[64];                                       \
        bool two = m->columns != m->scores;                                              \
        float *out = f->out ? (float *)f->out->data + i * m->columns : NULL;             \
        type *row = two ? pair : m->columns <= 64 ? few : (type *)(uintptr_t)raw;        \
        int64_t best = tn__best_##suffix(two ? pair : raw, m->columns);                  \
        for (int64_t j = 0; j < m->columns && row == few; j++)                           \
            few[j] = raw[j];                                                             \
        double first = (double)raw[0];                                                   \
        if (keeps_pair(m))                                                               \
            pair[0] = 1 - raw[0];                                                        \
        else                                                                             \
            tn__post_##suffix(m->post, row, m->columns);                                 \
        if (m->classifies && m->columns == 1)                                            \
            best = single_label(m, first, (double)row[0]);                               \
        if (m->classifies) tn__labels_put(&m->labels, f->labels, i, best);               \
        for (int64_t j = 0; out && j < m->columns; j++)                                  \
            out[j] = (float)row[j];                                                      \
    }
FINISH(float, f32)
FINISH(double, f64)
#undef FINISH

static void finish_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct finish *f = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        if (f->self->weights.dtype == TN_DOUBLE)
            finish_f64(f, i);
        else
            finish_f32(f, i);
    }
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
        tn_out(args, self->m.classifies ? 1 : 0)};
    double cost = (double)self->m.columns * (self->m.post == TN__POST_NONE ? 1.0 : 10.0);
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
