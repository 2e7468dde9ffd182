/* See tree_op.h. */
#include "trees/tree_op.h"

#include "tenon/helper/isa_choice.h"

enum { MOST_TARGETS = 1 << 24 };

/* ---- kernel objects ------------------------------------------------------------------- */

tn_status tn__tree_op_create(const struct tn_kernel_ctx *ctx, size_t size, void **out) {
    const struct tn__ml *ml = ctx->plugin_state;
    TN_TRY(tn_kernel_create(ctx, size, out));
    ((struct tn_tree_op *)*out)->compat = ml->compat;
    return TN_OK;
}

void tn__tree_op_destroy(void *kernel) {
    struct tn_tree_op *op = kernel;
    if (!op) return;
    tn__tree_scorer_destroy(op->scorer);
    op->head.host->free(op->head.host->self, op->init);
    tn_kernel_destroy(op);
}

tn_status tn__tree_op_ready(tn_status status, void **out) {
    if (status != TN_OK) {
        tn__tree_op_destroy(*out);
        *out = NULL;
    }
    return status;
}

tn_status tn__tree_op_compile(const struct tn_kernel_ctx *ctx, struct tn_tree_op *op,
    struct tn_tree_source *source, uint32_t aggregate) {
    const struct tn__ml *ml = ctx->plugin_state;
    struct tn_forest *forest;
    tn_status status = tn__forest_compile(
        ctx->host, source, ctx->inputs[0].dtype, aggregate, &forest, ctx->diag);
    tn__tree_source_free(source);
    TN_TRY(status);
    return tn__tree_scorer_create(
        ctx->host, tn_isa_features(ctx->host, ml->isa), forest, &op->scorer, ctx->diag);
}

tn_status tn__tree_op_transform(
    struct tn_tree_op *op, struct tn_string name, struct tn_diag *diag) {
    int32_t found = tn__transform_find(name.data, name.size);
    if (found < 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "post_transform is '%.*s', expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or "
            "PROBIT",
            (int)(name.size < 40 ? name.size : 40), name.data ? name.data : "");
    op->transform = (enum tn_transform)found;
    return TN_OK;
}

tn_status tn__tree_op_start(
    struct tn_tree_op *op, const struct tn_reals *base, struct tn_diag *diag) {
    const struct tn_host *host = op->head.host;
    const struct tn_forest *forest = op->scorer->forest;
    bool wide = (forest->flags & TN_FOREST_WIDE_SUM) != 0;
    if (base->n == 0) return TN_OK;
    op->init = host->alloc(host->self, (uint64_t)forest->n_outputs * 8, 0, "trees");
    if (!op->init) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for base values");
    for (uint32_t k = 0; k < forest->n_outputs; k++) {
        double value = tn__reals_get(base, base->n == 1 ? 0 : k);
        if (wide)
            ((double *)op->init)[k] = value;
        else
            ((float *)op->init)[k] = (float)value;
    }
    return TN_OK;
}

tn_status tn__tree_count_targets(int64_t n_targets, const char *ids_name,
    struct tn_attr_ints ids, uint32_t *out, struct tn_diag *diag) {
    const char *name = "n_targets";
    if (n_targets == 0) {
        name = ids_name;
        for (uint32_t i = 0; i < ids.n; i++)
            if (ids.v[i] >= n_targets && ids.v[i] < INT64_MAX) n_targets = ids.v[i] + 1;
    }
    if (n_targets < 1 || n_targets > MOST_TARGETS)
        return tn_fail(diag, n_targets < 1 ? TN_INVALID_MODEL : TN_LIMIT_EXCEEDED,
            "%s asks for %lld targets, expected 1 to %d", name, (long long)n_targets,
            MOST_TARGETS);
    *out = (uint32_t)n_targets;
    return TN_OK;
}

/* ---- rows ----------------------------------------------------------------------------- */

tn_status tn__tree_infer_rows(const struct tn_infer *infer, int64_t *out_n) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    *out_n = TN_DIM_UNKNOWN;
    if (!x || x->rank < 0) return TN_OK;
    if (x->rank != 1 && x->rank != 2)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "the input has rank %d, expected rows of features (rank 2) or one row (rank "
            "1)",
            (int)x->rank);
    *out_n = x->rank == 1 ? 1 : x->dims[0];
    return TN_OK;
}

tn_status tn__tree_rows(const struct tn_tree_op *op, const struct tn_run_args *args,
    struct tn_forest_rows *out) {
    const struct tn_tensor *x = tn_in(args, 0);
    const struct tn_forest *forest = op->scorer->forest;
    if (!x || x->rank < 1 || x->rank > 2)
        return tn_fail(args->run ? args->run->diag : NULL, TN_INVALID_ARGUMENT,
            "the input has rank %u, expected rows of features (rank 2) or one row (rank "
            "1)",
            x ? x->rank : 0);
    *out = (struct tn_forest_rows){
        x->data, x->dtype, x->rank == 1 ? 1 : x->dims[0], x->dims[x->rank - 1]};
    if (out->n_rows > 0 && out->n_features < (int64_t)forest->n_features)
        return tn_fail(args->run ? args->run->diag : NULL, TN_INVALID_ARGUMENT,
            "a row has %lld features, but a node of the trees asks about feature %u; the "
            "input must have at least %u columns",
            (long long)out->n_features, forest->n_features - 1, forest->n_features);
    return TN_OK;
}

tn_status tn__tree_workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct tn_tree_op *op = kernel;
    struct tn_forest_rows rows;
    if (tn__tree_rows(op, args, &rows) != TN_OK) return TN_OK; /* compute says why */
    out->scratch = tn__tree_scorer_workspace(op->scorer, rows.n_rows);
    return TN_OK;
}

void tn__tree_explain(
    void *kernel, const struct tn_run_args *args, char *out, uint64_t size) {
    const struct tn_tree_op *op = kernel;
    struct tn_forest_rows rows = {.n_rows = -1};
    if (args && tn__tree_rows(op, args, &rows) != TN_OK) rows.n_rows = -1;
    tn__tree_scorer_explain(op->scorer, rows.n_rows, out, size);
}
