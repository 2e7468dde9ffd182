/* TreeEnsembleClassifier: the class that the leaves vote for, and the scores of all. */
#include "trees/tree_op.h"

/* clang-format off */
#define TREE_CLASSIFIER_ATTRS(X, S) TN_TREE_ATTRS(X, S)                                  \
    X(S, INTS, class_ids, )                                                              \
    X(S, INTS, class_nodeids, )                                                          \
    X(S, INTS, class_treeids, )                                                          \
    X(S, FLOATS, class_weights, )                                                        \
    X(S, TENSOR, class_weights_as_tensor, )                                              \
    X(S, INTS, classlabels_int64s, )                                                     \
    X(S, STRINGS, classlabels_strings, )
/* clang-format on */
TN_ATTR_TABLE(tree_classifier, TREE_CLASSIFIER_ATTRS)

struct classifier {
    struct tn_tree_op op;
    struct tn_attr_strings strings; /* labels: these, or … */
    struct tn_attr_ints ints;       /* … these */
    uint32_t n_classes;
    uint32_t single; /* 1 + the only class that is voted for, of two; 0: no such case */
    bool positive;   /* no vote is negative */
};

/* ---- labels --------------------------------------------------------------------------- */

static tn_status count_classes(
    const struct tree_classifier_attrs *attrs, uint32_t *out, struct tn_diag *diag) {
    uint32_t n_strings = attrs->classlabels_strings.n,
             n_ints = attrs->classlabels_int64s.n;
    if ((n_strings == 0) == (n_ints == 0))
        return tn_fail(diag, TN_INVALID_MODEL,
            "classlabels_strings has %u elements and classlabels_int64s %u, expected "
            "labels "
            "in exactly one of them",
            n_strings, n_ints);
    *out = n_strings ? n_strings : n_ints;
    return TN_OK;
}

static tn_status infer(const struct tn_infer *in) {
    struct tree_classifier_attrs attrs;
    int64_t dims[2];
    uint32_t n_classes;
    TN_TRY(TN_ATTRS_READ(tree_classifier, in->node, &attrs, in->diag));
    TN_TRY(count_classes(&attrs, &n_classes, in->diag));
    TN_TRY(tn__tree_infer_rows(in, &dims[0]));
    dims[1] = n_classes;
    int32_t label = attrs.classlabels_strings.n ? TN_STRING : TN_INT64;
    TN_TRY(tn_infer_set(in, 0, label, 1, dims));
    return tn_infer_set(in, 1, TN_FLOAT, 2, dims);
}

/* ---- creation ------------------------------------------------------------------------- */

static bool all_positive(const struct tn_reals *weights) {
    for (uint64_t i = 0; i < weights->n; i++)
        if (!(tn__reals_get(weights, i) >= 0)) return false;
    return true;
}

/* 1 + the id when all are the same. */
static uint32_t only_id(struct tn_attr_ints ids) {
    for (uint32_t i = 1; i < ids.n; i++)
        if (ids.v[i] != ids.v[0]) return 0;
    return ids.n && ids.v[0] >= 0 && ids.v[0] < 2 ? (uint32_t)ids.v[0] + 1 : 0;
}

static tn_status read_forest(const struct tn_kernel_ctx *ctx,
    const struct tree_classifier_attrs *attrs, struct classifier *c) {
    struct tn_tree_lists lists = TN_TREE_LISTS(*attrs, "class");
    struct tn_tree_source source;
    struct tn_diag *diag = ctx->diag;
    lists.vote_treeids = attrs->class_treeids;
    lists.vote_nodeids = attrs->class_nodeids;
    lists.vote_ids = attrs->class_ids;
    TN_TRY(tn__tree_reals("nodes_values", attrs->nodes_values,
        attrs->nodes_values_as_tensor, &lists.values, diag));
    TN_TRY(tn__tree_reals("class_weights", attrs->class_weights,
        attrs->class_weights_as_tensor, &lists.weights, diag));
    c->positive = all_positive(&lists.weights);
    c->single = c->n_classes == 2 ? only_id(attrs->class_ids) : 0;
    lists.n_targets = c->single ? c->single : c->n_classes;
    TN_TRY(tn__tree_lists_read(ctx->host, &lists, &source, diag));
    return tn__tree_op_compile(ctx, &c->op, &source, TN_AGGREGATE_SUM);
}

static tn_status read_base(const struct tn_kernel_ctx *ctx,
    const struct tree_classifier_attrs *attrs, struct classifier *c) {
    struct tn_reals base;
    TN_TRY(tn__tree_reals("base_values", attrs->base_values, attrs->base_values_as_tensor,
        &base, ctx->diag));
    if (base.n > 1 && base.n != c->n_classes)
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "base_values has %llu elements, expected none, one or as many as the %u "
            "classes",
            (unsigned long long)base.n, c->n_classes);
    return tn__tree_op_start(&c->op, &base, ctx->diag);
}

static tn_status read(const struct tn_kernel_ctx *ctx, struct classifier *c) {
    struct tree_classifier_attrs attrs;
    TN_TRY(TN_ATTRS_READ(tree_classifier, ctx->node, &attrs, ctx->diag));
    TN_TRY(count_classes(&attrs, &c->n_classes, ctx->diag));
    TN_TRY(tn__tree_op_transform(&c->op, attrs.post_transform, ctx->diag));
    c->strings = attrs.classlabels_strings;
    c->ints = attrs.classlabels_int64s;
    TN_TRY(read_forest(ctx, &attrs, c));
    return read_base(ctx, &attrs, c);
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__tree_op_create(ctx, sizeof(struct classifier), out));
    return tn__tree_op_ready(read(ctx, *out), out);
}

/* ---- running -------------------------------------------------------------------------- */

struct job {
    const struct classifier *classifier;
    struct tn_tensor *labels, *scores; /* NULL when not wanted */
};

static void write_label(const struct job *job, int64_t row, uint32_t index) {
    const struct classifier *c = job->classifier;
    if (!job->labels) return;
    if (c->strings.n)
        ((struct tn_string *)job->labels->data)[row] = c->strings.v[index];
    else
        ((int64_t *)job->labels->data)[row] = c->ints.v[index];
}

/* The class with the largest raw score, the first of equal ones, whatever the transform makes
 * of them: a saturated sigmoid has ties that the sums do not have. */
static uint32_t best(const double *scores, uint32_t n) {
    uint32_t at = 0;
    for (uint32_t k = 1; k < n; k++)
        if (scores[k] > scores[at]) at = k;
    return at;
}

static uint32_t finish_row(const struct classifier *c, double *scores) {
    if (c->single) {
        scores[0] = scores[c->single - 1];
        return tn__scores_pair(c->op.transform, c->op.compat, c->positive, scores);
    }
    uint32_t label = best(scores, c->n_classes);
    tn__transform_row(c->op.transform, c->op.compat, scores, c->n_classes);
    return label;
}

static void finish(void *arg, int64_t first, int64_t n, void *sums, double *spare) {
    const struct job *job = arg;
    const struct classifier *c = job->classifier;
    const struct tn_forest *forest = c->op.scorer->forest;
    uint32_t width = forest->n_outputs;
    double pair[2], *scores = c->single ? pair : spare;
    for (int64_t r = 0; r < n; r++) {
        for (uint32_t k = 0; k < width; k++) {
            size_t at = (size_t)r * width + k;
            scores[k] = forest->flags & TN_FOREST_WIDE_SUM
                            ? ((const double *)sums)[at]
                            : (double)((const float *)sums)[at];
        }
        write_label(job, first + r, finish_row(c, scores));
        float *to =
            job->scores ? (float *)job->scores->data + (first + r) * c->n_classes : NULL;
        for (uint32_t k = 0; to && k < c->n_classes; k++)
            to[k] = (float)scores[k];
    }
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    const struct classifier *c = kernel;
    struct tn_forest_rows rows;
    struct job job = {.classifier = c};
    TN_TRY(tn__tree_rows(&c->op, args, &rows));
    int64_t dims[2] = {rows.n_rows, c->n_classes};
    if (args->n_outputs > 0 && args->outputs[0].kind != TN_KIND_ABSENT)
        TN_TRY(tn_out_shaped(
            args, 0, c->strings.n ? TN_STRING : TN_INT64, dims, 1, &job.labels));
    if (args->n_outputs > 1 && args->outputs[1].kind != TN_KIND_ABSENT)
        TN_TRY(tn_out_shaped(args, 1, TN_FLOAT, dims, 2, &job.scores));
    tn__tree_scorer_run(c->op.scorer, &rows, c->op.init, args->workspace, finish, &job);
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "TreeEnsembleClassifier"), TN_VERSIONS({1}, {3}, {5}),
        TN_INPUTS({"X", "T1"}), TN_OUTPUTS({"Y", "T2"}, {"Z", NULL, TN_BIT(FLOAT)}),
        TN_TYPE_VARS({"T1", TN_TYPES_ML_NUMBERS}, {"T2", TN_BIT(STRING) | TN_BIT(INT64)}),
        TN_ATTRS(tree_classifier), .infer = infer},
};

static const struct tn_kernel_def kernels[] = {
    {TN_TREE_KERNEL("TreeEnsembleClassifier", tn__tree_op_destroy),
        .create = create, .compute = compute},
};
/* clang-format on */

TN_FAMILY(tree_classifier);
