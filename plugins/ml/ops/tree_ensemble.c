/* TreeEnsemble: version 5's operator for both uses, interior nodes and leaves in lists of
 * their own, sets of values, all of it in the type of the input. */
#include "trees/tree_regress.h"

/* clang-format off */
#define TREE_ENSEMBLE_ATTRS(X, S)                                                        \
    X(S, INT, aggregate_function, TN_TREE_SUM)                                           \
    X(S, INTS_REQUIRED, leaf_targetids, )                                                \
    X(S, TENSOR, leaf_weights, )                                                         \
    X(S, TENSOR, membership_values, )                                                    \
    X(S, INT, n_targets, 0)                                                              \
    X(S, INTS_REQUIRED, nodes_falseleafs, )                                              \
    X(S, INTS_REQUIRED, nodes_falsenodeids, )                                            \
    X(S, INTS_REQUIRED, nodes_featureids, )                                              \
    X(S, TENSOR, nodes_hitrates, )                                                       \
    X(S, INTS, nodes_missing_value_tracks_true, )                                        \
    X(S, TENSOR, nodes_modes, )                                                          \
    X(S, TENSOR, nodes_splits, )                                                         \
    X(S, INTS_REQUIRED, nodes_trueleafs, )                                               \
    X(S, INTS_REQUIRED, nodes_truenodeids, )                                             \
    X(S, INT, post_transform, TN_TRANSFORM_NONE)                                         \
    X(S, INTS_REQUIRED, tree_roots, )
/* clang-format on */
TN_ATTR_TABLE(tree_ensemble, TREE_ENSEMBLE_ATTRS)

static tn_status count_targets(
    const struct tree_ensemble_attrs *attrs, uint32_t *out, struct tn_diag *diag) {
    return tn__tree_count_targets(
        attrs->n_targets, "leaf_targetids", attrs->leaf_targetids, out, diag);
}

static tn_status infer(const struct tn_infer *in) {
    struct tree_ensemble_attrs attrs;
    const struct tn_type *x = tn_infer_input(in, 0);
    int64_t dims[2];
    uint32_t n_targets;
    if (!x) return TN_OK;
    TN_TRY(TN_ATTRS_READ(tree_ensemble, in->node, &attrs, in->diag));
    TN_TRY(count_targets(&attrs, &n_targets, in->diag));
    TN_TRY(tn__tree_infer_rows(in, &dims[0]));
    dims[1] = n_targets;
    return tn_infer_set(in, 0, x->dtype, 2, dims);
}

/* A tensor attribute that must be there and have the input's type. */
static tn_status check_tensor(
    const char *name, struct tn_attr_tensor tensor, int32_t dtype, struct tn_diag *diag) {
    if (!tensor.present)
        return tn_fail(diag, TN_INVALID_MODEL,
            "required attribute '%s' is missing; add it to the node", name);
    if (tensor.v->dtype != dtype)
        return tn_fail(diag, TN_INVALID_MODEL,
            "%s holds elements of type %s, expected %s", name,
            tn_dtype_name(tensor.v->dtype), tn_dtype_name(dtype));
    return TN_OK;
}

static tn_status check_attrs(
    const struct tree_ensemble_attrs *attrs, int32_t dtype, struct tn_diag *diag) {
    TN_TRY(check_tensor("nodes_modes", attrs->nodes_modes, TN_UINT8, diag));
    TN_TRY(check_tensor("nodes_splits", attrs->nodes_splits, dtype, diag));
    TN_TRY(check_tensor("leaf_weights", attrs->leaf_weights, dtype, diag));
    if (attrs->membership_values.present)
        TN_TRY(check_tensor("membership_values", attrs->membership_values, dtype, diag));
    if (attrs->aggregate_function < 0 || attrs->aggregate_function >= TN_TREE_AGGREGATES)
        return tn_fail(diag, TN_INVALID_MODEL,
            "aggregate_function is %lld, expected 0 (AVERAGE), 1 (SUM), 2 (MIN) or 3 "
            "(MAX)",
            (long long)attrs->aggregate_function);
    if (attrs->post_transform < 0 || attrs->post_transform >= TN_TRANSFORM_COUNT)
        return tn_fail(diag, TN_INVALID_MODEL, "post_transform is %lld, expected 0 to %d",
            (long long)attrs->post_transform, TN_TRANSFORM_COUNT - 1);
    return TN_OK;
}

static tn_status read(const struct tn_kernel_ctx *ctx, struct tn_tree_regress *regress) {
    struct tree_ensemble_attrs attrs;
    struct tn_tree_source source;
    TN_TRY(TN_ATTRS_READ(tree_ensemble, ctx->node, &attrs, ctx->diag));
    TN_TRY(check_attrs(&attrs, ctx->inputs[0].dtype, ctx->diag));
    regress->aggregate = (enum tn_tree_aggregate)attrs.aggregate_function;
    regress->op.transform = (enum tn_transform)attrs.post_transform;
    struct tn_tree_split_lists lists = {.featureids = attrs.nodes_featureids,
        .truenodeids = attrs.nodes_truenodeids,
        .falsenodeids = attrs.nodes_falsenodeids,
        .trueleafs = attrs.nodes_trueleafs,
        .falseleafs = attrs.nodes_falseleafs,
        .tracks_true = attrs.nodes_missing_value_tracks_true,
        .modes = attrs.nodes_modes.v,
        .splits = attrs.nodes_splits.v,
        .members = attrs.membership_values.present ? attrs.membership_values.v : NULL,
        .roots = attrs.tree_roots,
        .leaf_targetids = attrs.leaf_targetids,
        .leaf_weights = attrs.leaf_weights.v};
    TN_TRY(count_targets(&attrs, &lists.n_targets, ctx->diag));
    TN_TRY(tn__tree_split_lists_read(ctx->host, &lists, &source, ctx->diag));
    return tn__tree_op_compile(
        ctx, &regress->op, &source, tn__tree_forest_aggregate(regress->aggregate));
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__tree_op_create(ctx, sizeof(struct tn_tree_regress), out));
    return tn__tree_op_ready(read(ctx, *out), out);
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    return tn__tree_regress_compute(kernel, args, tn_in(args, 0)->dtype);
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "TreeEnsemble"), TN_VERSIONS({5}),
        TN_INPUTS({"X", "T"}), TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_TYPES_F16_UP}),
        TN_ATTRS(tree_ensemble), .infer = infer},
};

static const struct tn_kernel_def kernels[] = {
    {TN_TREE_KERNEL("TreeEnsemble", tn__tree_regress_destroy), .create = create,
        .compute = compute},
};
/* clang-format on */

TN_FAMILY(tree_ensemble);
