/* The table of passes, and what they share. */
#include "passes/passes.h"

/* clang-format off */
static const struct tn_pass_def *const table[] = {
#define PASS_ADDRESS(name) &tn__pass_##name,
    TN_PASSES(PASS_ADDRESS)
#undef PASS_ADDRESS
};
/* clang-format on */

const struct tn_pass_extension tn__cpu_passes = {
    .struct_size = sizeof(struct tn_pass_extension),
    .count = sizeof table / sizeof *table,
    .passes = table,
};

tn_status tn__pass_each(
    const struct tn_pass_ctx *ctx, tn__pass_fn *fn, uint32_t *changes) {
    const tn_node_id *order;
    uint32_t n;
    tn_status status = TN_OK;
    ctx->api->nodes(ctx->graph, &order, &n);
    if (n == 0) return TN_OK;
    const struct tn_host *host = ctx->host;
    tn_node_id *ids = host->alloc(host->self, n * sizeof *ids, 0, "pass");
    if (!ids)
        return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for a list of nodes");
    memcpy(ids, order, n * sizeof *ids);
    for (uint32_t i = 0; i < n && status == TN_OK; i++)
        if (ctx->api->node(ctx->graph, ids[i])) status = fn(ctx, ids[i], changes);
    host->free(host->self, ids);
    return status;
}

const struct tn_node *tn__sole_reader(const struct tn_pass_ctx *ctx, tn_value_id v) {
    const tn_node_id *ids;
    uint32_t n;
    if (v == TN_NO_ID || ctx->api->is_visible(ctx->graph, v)) return NULL;
    ctx->api->consumers(ctx->graph, v, &ids, &n);
    return n == 1 ? ctx->api->node(ctx->graph, ids[0]) : NULL;
}

const struct tn_node *tn__maker(
    const struct tn_pass_ctx *ctx, const struct tn_node *node, uint32_t i) {
    uint32_t index;
    tn_value_id v = tn__input_of(node, i);
    return v == TN_NO_ID ? NULL
                         : tn__pass_node(ctx, ctx->api->producer(ctx->graph, v, &index));
}

bool tn__same_shape(const struct tn_type *a, const struct tn_type *b) {
    if (a->kind != TN_KIND_TENSOR || b->kind != TN_KIND_TENSOR) return false;
    if (a->rank < 0 || a->rank != b->rank) return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (!tn_dim_same(a->dims[i], b->dims[i])) return false;
    return true;
}

bool tn__scalar_of(const struct tn_tensor *t, double *out) {
    if (!t || !t->data || tn_tensor_count(t) != 1) return false;
    if (t->dtype == TN_FLOAT)
        *out = (double)*(const float *)t->data;
    else if (t->dtype == TN_DOUBLE)
        *out = *(const double *)t->data;
    else
        return false;
    return true;
}

static bool is_read(const struct tn_pass_ctx *ctx, const struct tn_node *node) {
    for (uint32_t o = 0; o < node->n_outputs; o++) {
        const tn_node_id *readers;
        uint32_t n;
        if (node->outputs[o] == TN_NO_ID) continue;
        ctx->api->consumers(ctx->graph, node->outputs[o], &readers, &n);
        if (n > 0 || ctx->api->is_visible(ctx->graph, node->outputs[o])) return true;
    }
    return false;
}

tn_status tn__remove_unread(const struct tn_pass_ctx *ctx, tn_node_id id) {
    enum { MOST = 32 }; /* patterns are shorter; the rest is for the core's dead code */
    tn_node_id pending[MOST];
    uint32_t n = 1;
    pending[0] = id;
    while (n > 0) {
        const struct tn_node *node = tn__pass_node(ctx, pending[--n]);
        if (!node || is_read(ctx, node)) continue;
        for (uint32_t i = 0; i < node->n_inputs && n < MOST - 1; i++) {
            const struct tn_node *maker = tn__maker(ctx, node, i);
            if (maker && maker->id != node->id) pending[n++] = maker->id;
        }
        TN_TRY(ctx->api->remove_node(ctx->graph, node->id, ctx->diag));
    }
    return TN_OK;
}
