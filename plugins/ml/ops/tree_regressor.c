/* TreeEnsembleRegressor. */
#include "trees/tree_regress.h"

/* clang-format off */
#define TREE_REGRESSOR_ATTRS(X, S) TN_TREE_ATTRS(X, S)                                   \
    X(S, STRING, aggregate_function, "SUM")                                              \
    X(S, INT, n_targets, 0)                                                              \
    X(S, INTS, target_ids, )                                                             \
    X(S, INTS, target_nodeids, )                                                         \
    X(S, INTS, target_treeids, )                                                         \
    X(S, FLOATS, target_weights, )                                                       \
    X(S, TENSOR, target_weights_as_tensor, )
/* clang-format on */
TN_ATTR_TABLE(tree_regressor, TREE_REGRESSOR_ATTRS)

static const char *const aggregates[TN_TREE_AGGREGATES] = {
    [TN_TREE_AVERAGE] = "AVERAGE",
    [TN_TREE_SUM] = "SUM",
    [TN_TREE_MIN] = "MIN",
    [TN_TREE_MAX] = "MAX",
};

static tn_status count_targets(
    const struct tree_regressor_attrs *attrs, uint32_t *out, struct tn_diag *diag) {
    return tn__tree_count_targets(
        attrs->n_targets, "target_ids", attrs->target_ids, out, diag);
}

static tn_status infer(const struct tn_infer *in) {
    struct tree_regressor_attrs attrs;
    int64_t dims[2];
    uint32_t n_targets;
    TN_TRY(TN_ATTRS_READ(tree_regressor, in->node, &attrs, in->diag));
    TN_TRY(count_targets(&attrs, &n_targets, in->diag));
    TN_TRY(tn__tree_infer_rows(in, &dims[0]));
    dims[1] = n_targets;
    return tn_infer_set(in, 0, TN_FLOAT, 2, dims);
}

static tn_status read_aggregate(
    struct tn_string name, enum tn_tree_aggregate *out, struct tn_diag *diag) {
    for (int a = 0; a < TN_TREE_AGGREGATES; a++) {
        if (!tn_string_is(name, aggregates[a])) continue;
        *out = (enum tn_tree_aggregate)a;
        return TN_OK;
    }
    return tn_fail(diag, TN_INVALID_MODEL,
        "aggregate_function is '%.*s', expected SUM, AVERAGE, MIN or MAX",
        (int)(name.size < 40 ? name.size : 40), name.data ? name.data : "");
}

static tn_status read(const struct tn_kernel_ctx *ctx, struct tn_tree_regress *regress) {
    struct tree_regressor_attrs attrs;
    struct tn_tree_source source;
    struct tn_reals base;
    struct tn_diag *diag = ctx->diag;
    TN_TRY(TN_ATTRS_READ(tree_regressor, ctx->node, &attrs, diag));
    TN_TRY(tn__tree_op_transform(&regress->op, attrs.post_transform, diag));
    TN_TRY(read_aggregate(attrs.aggregate_function, &regress->aggregate, diag));
    struct tn_tree_lists lists = TN_TREE_LISTS(attrs, "target");
    lists.vote_treeids = attrs.target_treeids;
    lists.vote_nodeids = attrs.target_nodeids;
    lists.vote_ids = attrs.target_ids;
    TN_TRY(count_targets(&attrs, &lists.n_targets, diag));
    TN_TRY(tn__tree_reals("nodes_values", attrs.nodes_values,
        attrs.nodes_values_as_tensor, &lists.values, diag));
    TN_TRY(tn__tree_reals("target_weights", attrs.target_weights,
        attrs.target_weights_as_tensor, &lists.weights, diag));
    TN_TRY(tn__tree_reals(
        "base_values", attrs.base_values, attrs.base_values_as_tensor, &base, diag));
    TN_TRY(tn__tree_lists_read(ctx->host, &lists, &source, diag));
    TN_TRY(tn__tree_op_compile(
        ctx, &regress->op, &source, tn__tree_forest_aggregate(regress->aggregate)));
    return tn__tree_regress_base(regress, &base, diag);
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__tree_op_create(ctx, sizeof(struct tn_tree_regress), out));
    return tn__tree_op_ready(read(ctx, *out), out);
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    return tn__tree_regress_compute(kernel, args, TN_FLOAT);
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "TreeEnsembleRegressor"), TN_VERSIONS({1}, {3}, {5}),
        TN_INPUTS({"X", "T"}), TN_OUTPUTS({"Y", NULL, TN_BIT(FLOAT)}),
        TN_TYPE_VARS({"T", TN_TYPES_ML_NUMBERS}),
        TN_ATTRS(tree_regressor), .infer = infer},
};

static const struct tn_kernel_def kernels[] = {
    {TN_TREE_KERNEL("TreeEnsembleRegressor", tn__tree_regress_destroy),
        .create = create, .compute = compute},
};
/* clang-format on */

TN_FAMILY(tree_regressor);
