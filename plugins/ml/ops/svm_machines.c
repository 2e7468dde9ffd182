/* SVMRegressor and SVMClassifier: everything in double, rounded once at the end. Rows are
 * taken in blocks, so that the kernel values of a block stay in cache. */
#include "ops/labels.h"
#include "ops/numbers.h"
#include "ops/post.h"
#include "ops/svm.h"
#include "ops/svm_couple.h"
#include "tenon/helper/parallel.h"

#include <math.h>

/* clang-format off */
#define SVM_ATTRS(X, S)                                                                  \
    X(S, FLOATS, coefficients, )                                                         \
    X(S, FLOATS, support_vectors, )                                                      \
    X(S, FLOATS, rho, )                                                                  \
    X(S, FLOATS, kernel_params, )                                                        \
    X(S, STRING, kernel_type, "LINEAR")                                                  \
    X(S, STRING, post_transform, "NONE")
#define SVM_CLASSIFIER_ATTRS(X, S)                                                       \
    SVM_ATTRS(X, S)                                                                      \
    X(S, INTS, vectors_per_class, )                                                      \
    X(S, FLOATS, prob_a, )                                                               \
    X(S, FLOATS, prob_b, )                                                               \
    X(S, INTS, classlabels_ints, )                                                       \
    X(S, STRINGS, classlabels_strings, )
#define SVM_REGRESSOR_ATTRS(X, S)                                                        \
    SVM_ATTRS(X, S)                                                                      \
    X(S, INT, n_supports, 0)                                                             \
    X(S, INT, one_class, 0)
/* clang-format on */
TN_ATTR_TABLE(svm_classifier, SVM_CLASSIFIER_ATTRS)
TN_ATTR_TABLE(svm_regressor, SVM_REGRESSOR_ATTRS)

enum { MOST_ROWS = 64, MOST_VALUES = 65536 }; /* kernel values that are held at a time */

/* One model of either kind. Without support vectors it is linear. */
struct model {
    struct tn_attr_floats coefficients, vectors, rho, params, prob_a, prob_b;
    struct tn_string kernel_type;
    enum tn_transform post;
    struct tn__labels labels;
    const int64_t *per_class;
    int64_t classes, n_vectors; /* a regressor has 1 class */
    int64_t n_pairs;            /* of classes */
    int64_t scores, columns;    /* before and after the second class is written */
    bool one_class, all_positive, classifies;
};

/* ---- attributes --------------------------------------------------------------------------- */

static tn_status want(const char *name, int64_t found, int64_t expected, const char *why,
    struct tn_diag *diag) {
    if (found == expected) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "attribute '%s' has %lld values, expected %lld (%s)", name, (long long)found,
        (long long)expected, why);
}

static tn_status check_linear(const struct model *m, int64_t rows, struct tn_diag *diag) {
    if (m->coefficients.n == 0 || m->coefficients.n % rows != 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'coefficients' has %u values, which are no %lld rows of one "
            "length",
            m->coefficients.n, (long long)rows);
    if (m->rho.n == 0)
        return tn_fail(diag, TN_INVALID_MODEL, "attribute 'rho' is missing or empty");
    return TN_OK;
}

static tn_status read_regressor(
    const struct tn_node *node, struct model *m, struct tn_diag *diag) {
    struct svm_regressor_attrs a;
    TN_TRY(TN_ATTRS_READ(svm_regressor, node, &a, diag));
    *m = (struct model){.coefficients = a.coefficients,
        .vectors = a.support_vectors,
        .rho = a.rho,
        .params = a.kernel_params,
        .kernel_type = a.kernel_type,
        .classes = 1,
        .scores = 1,
        .columns = 1,
        .n_vectors = a.n_supports,
        .one_class = a.one_class != 0};
    TN_TRY(tn__post_read(a.post_transform, &m->post, diag));
    if (a.n_supports < 0 || a.n_supports > INT32_MAX)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'n_supports' is %lld, expected 0 or more",
            (long long)a.n_supports);
    TN_TRY(tn__svm_check(m->kernel_type, m->params, m->vectors, m->n_vectors, diag));
    if (m->n_vectors == 0) return check_linear(m, 1, diag);
    if (m->rho.n == 0)
        return tn_fail(diag, TN_INVALID_MODEL, "attribute 'rho' is missing or empty");
    return want(
        "coefficients", m->coefficients.n, m->n_vectors, "one a support vector", diag);
}

static tn_status count_vectors(
    struct model *m, const struct tn_attr_ints *per_class, struct tn_diag *diag) {
    for (uint32_t i = 0; i < per_class->n; i++) {
        if (per_class->v[i] < 0 || per_class->v[i] > INT32_MAX)
            return tn_fail(diag, TN_INVALID_MODEL,
                "attribute 'vectors_per_class' has %lld for class %u",
                (long long)per_class->v[i], i);
        m->n_vectors += per_class->v[i];
        if (m->n_vectors > INT32_MAX)
            return tn_fail(diag, TN_INVALID_MODEL,
                "attribute 'vectors_per_class' counts more than 2147483647 vectors");
    }
    m->per_class = per_class->v;
    return TN_OK;
}

static tn_status check_votes(
    const struct model *m, uint32_t n_per_class, struct tn_diag *diag) {
    TN_TRY(want("vectors_per_class", n_per_class, m->classes, "one a class", diag));
    TN_TRY(want("rho", m->rho.n, m->n_pairs, "one a pair of classes", diag));
    TN_TRY(want("coefficients", m->coefficients.n, (m->classes - 1) * m->n_vectors,
        "classes - 1 rows of a value for each support vector", diag));
    if (m->prob_a.n == 0 && m->prob_b.n == 0) return TN_OK;
    TN_TRY(want("prob_a", m->prob_a.n, m->n_pairs, "one a pair of classes", diag));
    return want("prob_b", m->prob_b.n, m->n_pairs, "one a pair of classes", diag);
}

/* A single score of two classes is written for both. */
static void count_columns(struct model *m) {
    bool votes = m->n_vectors > 0;
    m->scores = votes && m->prob_a.n == 0 ? m->n_pairs : m->classes;
    bool pair = m->scores == 1 && m->rho.n == 1 && m->labels.n == 2;
    m->columns = pair && m->post != TN_TRANSFORM_PROBIT ? 2 : m->scores;
}

static tn_status read_classifier(
    const struct tn_node *node, struct model *m, struct tn_diag *diag) {
    struct svm_classifier_attrs a;
    TN_TRY(TN_ATTRS_READ(svm_classifier, node, &a, diag));
    *m = (struct model){.coefficients = a.coefficients,
        .vectors = a.support_vectors,
        .rho = a.rho,
        .params = a.kernel_params,
        .prob_a = a.prob_a,
        .prob_b = a.prob_b,
        .kernel_type = a.kernel_type,
        .labels = tn__labels_of(a.classlabels_ints, a.classlabels_strings),
        .classifies = true,
        .all_positive = true};
    TN_TRY(tn__post_read(a.post_transform, &m->post, diag));
    TN_TRY(count_vectors(m, &a.vectors_per_class, diag));
    m->classes = m->labels.n ? m->labels.n : m->n_vectors > 0 ? a.vectors_per_class.n : 1;
    m->n_pairs = m->n_vectors ? m->classes * (m->classes - 1) / 2 : 0;
    for (uint32_t i = 0; i < m->coefficients.n; i++)
        m->all_positive = m->all_positive && m->coefficients.v[i] >= 0;
    TN_TRY(tn__svm_check(m->kernel_type, m->params, m->vectors, m->n_vectors, diag));
    count_columns(m);
    if (m->n_vectors == 0) return check_linear(m, m->classes, diag);
    if (m->classes < 2)
        return tn_fail(diag, TN_INVALID_MODEL,
            "there are %lld classes (classlabels_ints, classlabels_strings), expected 2 "
            "or more",
            (long long)m->classes);
    return check_votes(m, a.vectors_per_class.n, diag);
}

typedef tn_status (*read_fn)(
    const struct tn_node *node, struct model *m, struct tn_diag *diag);

static int64_t features_of(const struct model *m) {
    return m->n_vectors ? m->vectors.n / m->n_vectors : m->coefficients.n / m->classes;
}

static tn_status check_columns(
    const struct model *m, int64_t cols, struct tn_diag *diag) {
    if (cols < 0 || cols == features_of(m)) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "input 'X' has %lld columns, but attribute '%s' has %lld", (long long)cols,
        m->n_vectors ? "support_vectors" : "coefficients", (long long)features_of(m));
}

/* ---- inference ---------------------------------------------------------------------------- */

static tn_status read_shape(
    const struct tn_infer *infer, read_fn read, struct model *m, int64_t *out_rows) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct tn__matrix matrix = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN};
    TN_TRY(read(infer->node, m, infer->diag));
    if (x && x->rank >= 0) TN_TRY(tn__matrix_of(x->rank, x->dims, &matrix, infer->diag));
    *out_rows = matrix.rows;
    return check_columns(m, matrix.cols, infer->diag);
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
    dims[1] = 1;
    return tn_infer_set(infer, 0, TN_FLOAT, 2, dims);
}

/* ---- kernels ------------------------------------------------------------------------------ */

struct machine {
    struct tn_kernel_head head;
    struct model m;
    struct tn__svm svm;         /* with support vectors */
    struct tn__weights weights; /* without */
    const struct tn_rows_kernels *rows;
};

static void destroy(void *kernel) {
    struct machine *self = kernel;
    if (self) {
        tn__svm_free(&self->svm);
        tn__weights_free(&self->weights);
    }
    tn_kernel_destroy(kernel);
}

static tn_status create(const struct tn_kernel_ctx *ctx, read_fn read, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct machine), out));
    struct machine *self = *out;
    struct model *m = &self->m;
    self->rows = &((const struct tn__ml *)ctx->plugin_state)->rows;
    tn_status status = read(ctx->node, m, ctx->diag);
    if (status == TN_OK && m->n_vectors)
        status = tn__svm_make(&self->svm, ctx->plugin_state, m->kernel_type, m->params,
            m->vectors, m->n_vectors, ctx->diag);
    else if (status == TN_OK)
        status = tn__weights_pack(&self->weights, ctx->plugin_state, m->coefficients.v,
            (uint64_t)features_of(m), (uint64_t)m->classes, TN_DOUBLE, ctx->diag);
    if (status == TN_OK) return TN_OK;
    destroy(self);
    *out = NULL;
    return status;
}

static tn_status create_classifier(const struct tn_kernel_ctx *ctx, void **out) {
    return create(ctx, read_classifier, out);
}

static tn_status create_regressor(const struct tn_kernel_ctx *ctx, void **out) {
    return create(ctx, read_regressor, out);
}

/* Doubles of one worker's scratch. */
struct room {
    uint64_t x, kernels, pairs, scores, votes, couple, spare, total;
};

/* Kernel values, or scores of a linear model, of one row. */
static int64_t width_of(const struct model *m) {
    return m->n_vectors ? tn__svm_width(m->kernel_type, m->n_vectors) : m->classes;
}

/* Rows of a block. */
static int64_t block_of(const struct model *m) {
    int64_t rows = MOST_VALUES / width_of(m);
    return rows < 1 ? 1 : rows > MOST_ROWS ? MOST_ROWS : rows;
}

static struct room room_of(const struct model *m) {
    struct room r;
    uint64_t classes = (uint64_t)m->classes, pairs = (uint64_t)m->n_pairs;
    uint64_t rows = (uint64_t)block_of(m);
    r.x = (uint64_t)features_of(m) * rows;
    r.kernels = (uint64_t)width_of(m) * rows;
    r.pairs = pairs;
    r.scores = classes > pairs ? classes + 2 : pairs + 2;
    r.votes = classes;
    r.couple = m->prob_a.n ? tn__svm_couple_size(classes) : 0;
    r.spare = tn__post_spare(1, r.scores);
    r.total = r.x + r.kernels + r.pairs + r.scores + r.votes + r.couple + r.spare + 7;
    r.total &= ~UINT64_C(7);
    return r;
}

static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct machine *self = kernel;
    (void)args;
    uint64_t workers = self->head.host->worker_count(self->head.host->self);
    out->scratch = room_of(&self->m).total * workers * sizeof(double);
    return TN_OK;
}

/* One votes for each pair of classes; pair (i, j) is decided by the vectors of both. */
static void vote(const struct model *m, const double *k, double *pairs, double *votes) {
    const float *coef = m->coefficients.v;
    int64_t n = m->n_vectors, start_i = 0, e = 0;
    memset(votes, 0, (size_t)m->classes * sizeof *votes);
    for (int64_t i = 0; i < m->classes; i++) {
        int64_t start_j = start_i + m->per_class[i];
        for (int64_t j = i + 1; j < m->classes; j++, e++) {
            double first = 0, second = 0;
            for (int64_t v = start_i; v < start_i + m->per_class[i]; v++)
                first += (double)coef[(j - 1) * n + v] * k[v];
            for (int64_t v = start_j; v < start_j + m->per_class[j]; v++)
                second += (double)coef[i * n + v] * k[v];
            pairs[e] = (double)m->rho.v[e] + first + second;
            votes[pairs[e] > 0 ? i : j] += 1;
            start_j += m->per_class[j];
        }
        start_i += m->per_class[i];
    }
}

/* Probabilities of the pairs by Platt's sigmoid, kept off the ends. */
static void platt(const struct model *m, double *pairs) {
    for (int64_t e = 0; e < m->n_pairs; e++) {
        double x = pairs[e] * (double)m->prob_a.v[e] + (double)m->prob_b.v[e];
        double p = x >= 0 ? exp(-x) / (1 + exp(-x)) : 1 / (1 + exp(x));
        pairs[e] = fmin(fmax(p, 1e-7), 1 - 1e-7);
    }
}

/* The class that is written: of the votes, or of the scores of a linear model. One score
 * alone is yes or no. Of two linear scores whose coefficients are all positive, one of at
 * least 0.5 is a yes: so the reference evaluator and ONNX Runtime agree. */
static int64_t class_of(const struct model *m, const double *votes, int64_t n) {
    int64_t best = tn__best(votes, n);
    bool linear_pair = m->n_vectors == 0 && m->rho.n == 1 && m->labels.n == 2;
    if (n == 1) return votes[0] > 0 ? (m->labels.n ? 0 : 1) : (m->labels.n ? -1 : 0);
    return linear_pair && m->all_positive && votes[best] >= 0.5 ? 1 : best;
}

/* Scores as they are written, from m->scores raw ones. */
static void finish_scores(const struct machine *self, double *scores, double *spare) {
    const struct model *m = &self->m;
    if (m->scores == 1 && m->columns == 2) {
        scores[1] = scores[0];
        scores[0] = -scores[0];
    } else if (m->scores == 1 && m->post != TN_TRANSFORM_PROBIT) {
        return; /* one score alone is written as it is */
    }
    tn__post_rows(self->rows, m->post, scores, spare, 1, m->columns);
}

struct work {
    const struct machine *self;
    const struct tn_tensor *x;
    struct tn_tensor *labels, *out;
    double *scratch;
};

static void classify_row(
    const struct work *work, const double *k, double *scratch, int64_t row) {
    const struct model *m = &work->self->m;
    struct room r = room_of(m);
    double *pairs = scratch, *scores = pairs + r.pairs, *votes = scores + r.scores;
    int64_t best;
    if (m->n_vectors == 0) {
        for (int64_t c = 0; c < m->classes; c++)
            scores[c] = k[c] + (double)m->rho.v[0];
        best = class_of(m, scores, m->classes);
    } else {
        vote(m, k, pairs, votes);
        best = class_of(m, votes, m->classes);
        if (m->prob_a.n) {
            platt(m, pairs);
            tn__svm_couple(m->classes, pairs, scores, votes + r.votes);
        } else {
            memcpy(scores, pairs, (size_t)m->n_pairs * sizeof *scores);
        }
    }
    finish_scores(work->self, scores, votes + r.votes + r.couple);
    tn__labels_put(&m->labels, work->labels, row, best);
    float *out = work->out ? (float *)work->out->data + row * m->columns : NULL;
    for (int64_t j = 0; out && j < m->columns; j++)
        out[j] = (float)scores[j];
}

static void regress_row(
    const struct work *work, const double *k, double *spare, int64_t row) {
    const struct model *m = &work->self->m;
    double sum = m->n_vectors ? 0 : k[0];
    for (int64_t j = 0; j < m->n_vectors; j++)
        sum += (double)m->coefficients.v[j] * k[j];
    sum += (double)m->rho.v[0];
    if (m->one_class)
        sum = sum > 0 ? 1 : -1;
    else
        tn__post_rows(work->self->rows, m->post, &sum, spare, 1, 1);
    ((float *)work->out->data)[row] = (float)sum;
}

static void run_block(const struct work *work, int64_t row, int64_t n, double *scratch) {
    const struct machine *self = work->self;
    const struct model *m = &self->m;
    struct room r = room_of(m);
    int64_t cols = features_of(m), width = width_of(m);
    double *x = scratch, *k = x + r.x;
    tn__numbers_f64(work->x, row * cols, n * cols, x);
    if (m->n_vectors)
        tn__svm_kernels(&self->svm, (uint64_t)n, x, k);
    else
        tn__weights_multiply(&self->weights, (uint64_t)n, x, NULL, k);
    for (int64_t i = 0; i < n; i++) {
        if (m->classifies)
            classify_row(work, k + i * width, k + r.kernels, row + i);
        else
            regress_row(work, k + i * width, k + r.kernels, row + i);
    }
}

static void run_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct work *work = arg;
    double *scratch = work->scratch + worker * room_of(&work->self->m).total;
    int64_t rows = block_of(&work->self->m);
    for (int64_t row = begin; row < end; row += rows)
        run_block(work, row, end - row < rows ? end - row : rows, scratch);
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    const struct machine *self = kernel;
    const struct tn_tensor *x = tn_in(args, 0);
    struct tn__matrix matrix;
    TN_TRY(tn__matrix_of(x->rank, x->dims, &matrix, args->run->diag));
    TN_TRY(check_columns(&self->m, matrix.cols, args->run->diag));
    struct work work = {self, x, self->m.classifies ? tn_out(args, 0) : NULL,
        tn_out(args, self->m.classifies ? 1 : 0), args->workspace};
    double cost = (double)(self->m.n_vectors + 1) * ((double)matrix.cols + 10.0);
    tn_parallel(self->head.host, matrix.rows, cost, run_rows, &work);
    return TN_OK;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "SVMClassifier"), TN_VERSIONS({1}), TN_INPUTS({"X", "T1"}),
        TN_OUTPUTS({"Y", "T2"}, {"Z", NULL, TN_BIT(FLOAT)}),
        TN_TYPE_VARS({"T1", TN_TYPES_ML_NUMBERS}, {"T2", TN_BIT(STRING) | TN_BIT(INT64)}),
        TN_ATTRS(svm_classifier), .infer = infer_classifier},
    {TN_DEF(TN_ML_DOMAIN, "SVMRegressor"), TN_VERSIONS({1}), TN_INPUTS({"X", "T"}),
        TN_OUTPUTS({"Y", NULL, TN_BIT(FLOAT)}), TN_TYPE_VARS({"T", TN_TYPES_ML_NUMBERS}),
        TN_ATTRS(svm_regressor), .infer = infer_regressor},
};

static const struct tn_kernel_def kernels[] = {
    {TN_ML_KERNEL("SVMClassifier", 1, destroy), .create = create_classifier,
        .workspace = workspace, .compute = compute},
    {TN_ML_KERNEL("SVMRegressor", 1, destroy), .create = create_regressor,
        .workspace = workspace, .compute = compute},
};
/* clang-format on */

TN_FAMILY(svm_machines);
