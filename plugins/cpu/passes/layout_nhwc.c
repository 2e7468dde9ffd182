/* Keeps activations of image models with channels last.
 *
 * One walk in topological order: a convolution asks for the NHWC twin of its input and makes
 * the twin of its output; operators that can follow do so when their inputs have twins
 * (layout_rules.c). Every rewritten value is also handed back as NCHW by a Transpose, and
 * those that nobody reads are removed at the end: so moves stay at the edges of a region. */
#include "passes/layout_rules.h"

enum { MOST_RANK = 8 };

tn_value_id tn__layout_twin(const struct tn__layout *layout, tn_value_id v) {
    return v < layout->n_twins ? layout->twins[v] : TN_NO_ID;
}

/* Makes *array hold at least `wanted` elements of `size` bytes. */
static tn_status grow(const struct tn_pass_ctx *ctx, void **array, uint32_t *cap,
    uint32_t wanted, size_t size) {
    if (wanted <= *cap) return TN_OK;
    const struct tn_host *host = ctx->host;
    uint32_t bigger = wanted + wanted / 2 + 64;
    void *memory = host->alloc(host->self, (uint64_t)bigger * size, 0, "pass");
    if (!memory)
        return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for the layout pass");
    memset(memory, 0xff, bigger * size); /* TN_NO_ID */
    if (*cap) memcpy(memory, *array, *cap * size);
    host->free(host->self, *array);
    *array = memory;
    *cap = bigger;
    return TN_OK;
}

static tn_status set_twin(struct tn__layout *layout, tn_value_id v, tn_value_id twin) {
    void *array = layout->twins;
    TN_TRY(grow(layout->ctx, &array, &layout->n_twins, v + 1, sizeof(tn_value_id)));
    layout->twins = array;
    layout->twins[v] = twin;
    return TN_OK;
}

/* Transposes v before a node; `inward` moves channels last, else back to axis 1. */
static tn_status move(struct tn__layout *layout, tn_value_id v, int32_t rank, bool inward,
    tn_node_id before, tn_value_id *out) {
    const struct tn_pass_ctx *ctx = layout->ctx;
    int64_t perm[MOST_RANK] = {0};
    tn_node_id id;
    for (int32_t i = 1; i < rank; i++)
        perm[i] = inward ? (i == rank - 1 ? 1 : i + 1) : (i == 1 ? rank - 1 : i - 1);
    struct tn_attr attr = tn_ints_attr("perm", perm, (uint32_t)rank);
    TN_TRY(ctx->api->add_node(ctx->graph, before, before, "", "Transpose", 0, &v, 1,
        &attr, 1, out, 1, &id, ctx->diag));
    void *array = layout->moves;
    TN_TRY(
        grow(ctx, &array, &layout->cap_moves, layout->n_moves + 1, sizeof(tn_node_id)));
    layout->moves = array;
    layout->moves[layout->n_moves++] = id;
    return TN_OK;
}

tn_status tn__layout_want(
    struct tn__layout *layout, tn_value_id v, tn_node_id before, tn_value_id *out) {
    *out = tn__layout_twin(layout, v);
    if (*out != TN_NO_ID) return TN_OK;
    int32_t rank = tn_pass_type(layout->ctx, v)->rank;
    TN_TRY(move(layout, v, rank, true, before, out));
    return set_twin(layout, v, *out);
}

tn_status tn__layout_replace(struct tn__layout *layout, tn_node_id id, tn_value_id twin) {
    const struct tn_pass_ctx *ctx = layout->ctx;
    tn_value_id old = tn_pass_node(ctx, id)->outputs[0], back;
    TN_TRY(move(layout, twin, tn_pass_type(ctx, old)->rank, false, id, &back));
    TN_TRY(ctx->api->replace_uses(ctx->graph, old, back, ctx->diag));
    TN_TRY(ctx->api->remove_node(ctx->graph, id, ctx->diag));
    layout->changes++;
    return set_twin(layout, back, twin);
}

/* Removes the Transposes that turned out to have no readers. */
static tn_status remove_idle(const struct tn__layout *layout) {
    const struct tn_pass_ctx *ctx = layout->ctx;
    for (uint32_t i = layout->n_moves; i-- > 0;) {
        const struct tn_node *node = tn_pass_node(ctx, layout->moves[i]);
        const tn_node_id *readers;
        uint32_t n;
        if (!node) continue;
        ctx->api->consumers(ctx->graph, node->outputs[0], &readers, &n);
        if (n > 0 || ctx->api->is_visible(ctx->graph, node->outputs[0])) continue;
        TN_TRY(ctx->api->remove_node(ctx->graph, node->id, ctx->diag));
    }
    return TN_OK;
}

static tn_status walk(struct tn__layout *layout) {
    const struct tn_pass_ctx *ctx = layout->ctx;
    const tn_node_id *order;
    uint32_t n;
    tn_status status = TN_OK;
    ctx->api->nodes(ctx->graph, &order, &n);
    if (n == 0) return TN_OK;
    tn_node_id *ids = ctx->host->alloc(ctx->host->self, n * sizeof *ids, 0, "pass");
    if (!ids)
        return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for a list of nodes");
    memcpy(ids, order, n * sizeof *ids);
    for (uint32_t i = 0; i < n && status == TN_OK; i++)
        if (tn_pass_node(ctx, ids[i])) status = tn__layout_rule(layout, ids[i]);
    ctx->host->free(ctx->host->self, ids);
    return status;
}

static tn_status run(const struct tn_pass_ctx *ctx, uint32_t *out_changes) {
    struct tn__layout layout = {.ctx = ctx};
    tn_status status = walk(&layout);
    if (status == TN_OK) status = remove_idle(&layout);
    ctx->host->free(ctx->host->self, layout.twins);
    ctx->host->free(ctx->host->self, layout.moves);
    *out_changes += layout.changes;
    return status;
}

const struct tn_pass_def tn__pass_layout_nhwc = {
    .struct_size = (uint32_t)TN_END_OF(struct tn_pass_def, run),
    .name = "layout_nhwc",
    .doc = "keeps the activations of image models with channels last",
    .level = TN_LEVEL_ALL,
    .safety = TN_SAFETY_REASSOCIATING,
    .order = 2000,
    .run = run,
};
