/* The chain in which exporters before opset 20 write Gelu becomes Gelu:
 *
 *     y = (x · (erf(x / √2) + 1)) · 0.5, the factors in any order. */
#include "passes/passes.h"

#include <math.h>

/* The other operand when one is this constant number. */
static bool other_than(const struct tn_pass_ctx *ctx, const struct tn_node *node,
    const char *op_type, double number, tn_value_id *other) {
    double found = 0;
    if (!tn_node_is(node, "", op_type) || node->n_inputs != 2) return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (!tn_tensor_scalar(tn_pass_constant(ctx, node, i), &found)) continue;
        if (fabs(found - number) > 1e-6 * fabs(number)) continue;
        *other = node->inputs[1 - i];
        return true;
    }
    return false;
}

/* Whether v is erf(x / √2) + 1; gives x. */
static bool is_erf_part(
    const struct tn_pass_ctx *ctx, const struct tn_node *add, tn_value_id *x) {
    tn_value_id erf_value;
    uint32_t index;
    if (!add || !other_than(ctx, add, "Add", 1, &erf_value)) return false;
    const struct tn_node *erf =
        tn_pass_node(ctx, ctx->api->producer(ctx->graph, erf_value, &index));
    if (!tn_node_is(erf, "", "Erf")) return false;
    const struct tn_node *scale = tn_pass_maker(ctx, erf, 0);
    if (!scale) return false;
    if (other_than(ctx, scale, "Mul", sqrt(0.5), x)) return true;
    return other_than(ctx, scale, "Div", sqrt(2), x) && scale->inputs[0] == *x;
}

/* Whether `node` is a · b with a = x and b = erf part, or a = x / 2 when `halved`. */
static bool is_product(const struct tn_pass_ctx *ctx, const struct tn_node *node,
    bool halved, tn_value_id *x) {
    if (!tn_node_is(node, "", "Mul") || node->n_inputs != 2) return false;
    for (uint32_t i = 0; i < 2; i++) {
        tn_value_id half;
        if (!is_erf_part(ctx, tn_pass_maker(ctx, node, i), x)) continue;
        tn_value_id other = node->inputs[1 - i];
        if (!halved) return other == *x;
        const struct tn_node *maker = tn_pass_maker(ctx, node, 1 - i);
        return maker && other_than(ctx, maker, "Mul", 0.5, &half) && half == *x;
    }
    return false;
}

static tn_status fuse(const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    const struct tn_node *node = tn_pass_node(ctx, id);
    tn_value_id x = TN_NO_ID, product;
    uint32_t index;
    if (!tn_node_is(node, "", "Mul") ||
        tn_pass_type(ctx, node->outputs[0])->dtype != TN_FLOAT)
        return TN_OK;
    bool found = is_product(ctx, node, true, &x);
    if (!found && other_than(ctx, node, "Mul", 0.5, &product)) {
        const struct tn_node *inner =
            tn_pass_node(ctx, ctx->api->producer(ctx->graph, product, &index));
        found =
            inner && tn_pass_reader(ctx, product) && is_product(ctx, inner, false, &x);
    }
    if (!found) return TN_OK;
    ++*changes;
    return tn_pass_replace(ctx, id, "", "Gelu", &x, 1, NULL, 0);
}

TN_PASS(gelu, "Gelu written out with Erf becomes Gelu", TN_LEVEL_ALL,
    TN_SAFETY_REASSOCIATING, 1010, fuse);
