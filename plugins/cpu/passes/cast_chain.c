/* A Cast of a Cast that lost nothing reads the source: converters put a table into double and
 * back, or integers into wider ones before they become floats. */
#include "passes/passes.h"

#define INTEGERS                                                                         \
    (TN_BIT(INT8) | TN_BIT(INT16) | TN_BIT(INT32) | TN_BIT(INT64) | TN_BIT(UINT8) |      \
        TN_BIT(UINT16) | TN_BIT(UINT32) | TN_BIT(UINT64))
#define REALS (TN_BIT(FLOAT16) | TN_BIT(BFLOAT16) | TN_BIT(FLOAT) | TN_BIT(DOUBLE))
#define WIDE (TN_BIT(FLOAT) | TN_BIT(DOUBLE))

/* Types that hold every value of a type. */
static const uint64_t holders[TN_DTYPE_COUNT] = {
    [TN_BOOL] = INTEGERS | REALS,
    [TN_UINT8] = (INTEGERS & ~TN_BIT(INT8)) | TN_BIT(FLOAT16) | WIDE,
    [TN_INT8] = TN_BIT(INT8) | TN_BIT(INT16) | TN_BIT(INT32) | TN_BIT(INT64) |
                TN_BIT(FLOAT16) | WIDE,
    [TN_UINT16] = TN_BIT(UINT16) | TN_BIT(UINT32) | TN_BIT(UINT64) | TN_BIT(INT32) |
                  TN_BIT(INT64) | WIDE,
    [TN_INT16] = TN_BIT(INT16) | TN_BIT(INT32) | TN_BIT(INT64) | WIDE,
    [TN_UINT32] = TN_BIT(UINT32) | TN_BIT(UINT64) | TN_BIT(INT64) | TN_BIT(DOUBLE),
    [TN_INT32] = TN_BIT(INT32) | TN_BIT(INT64) | TN_BIT(DOUBLE),
    [TN_FLOAT16] = TN_BIT(FLOAT16) | WIDE,
    [TN_BFLOAT16] = TN_BIT(BFLOAT16) | WIDE,
    [TN_FLOAT] = WIDE,
};

static bool is_in(uint64_t types, int32_t dtype) {
    return dtype > 0 && dtype < TN_DTYPE_COUNT && (types >> dtype & 1);
}

/* Whether from → middle → to is from → to. A float that becomes an integer saturates where an
 * integer keeps its low bits, so an integer may pass through a float only to where it fits. */
static bool same(int32_t from, int32_t middle, int32_t to) {
    if (from <= 0 || from >= TN_DTYPE_COUNT || !is_in(holders[from], middle))
        return false;
    if (!is_in(INTEGERS | REALS | TN_BIT(BOOL), to)) return false;
    bool turns = is_in(INTEGERS, from) && is_in(REALS, middle) && is_in(INTEGERS, to);
    return !turns || is_in(holders[from], to);
}

static tn_status rewrite(
    const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    const struct tn_node *node = tn_pass_node(ctx, id);
    if (!tn_node_is(node, "", "Cast")) return TN_OK;
    const struct tn_node *before = tn_pass_maker(ctx, node, 0);
    if (!tn_node_is(before, "", "Cast")) return TN_OK;
    const struct tn_type *from = tn_pass_type(ctx, before->inputs[0]);
    int32_t middle = tn_pass_type(ctx, node->inputs[0])->dtype;
    if (from->kind != TN_KIND_TENSOR ||
        !same(from->dtype, middle, tn_pass_type(ctx, node->outputs[0])->dtype))
        return TN_OK;
    tn_node_id first = before->id;
    TN_TRY(ctx->api->set_input(ctx->graph, id, 0, before->inputs[0], ctx->diag));
    ++*changes;
    return tn_pass_remove_unread(ctx, first);
}

TN_PASS(cast_chain, "a Cast of a Cast that lost nothing reads its source", TN_LEVEL_BASIC,
    TN_SAFETY_EXACT, 910, rewrite);
