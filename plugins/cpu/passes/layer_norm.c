/* The chain of nodes in which exporters before opset 17 write a layer normalisation becomes
 * LayerNormalization:
 *
 *     d = x - mean(x);  y = d / sqrt(mean(d²) + epsilon) · scale + bias
 *
 * with means along the last axis and scale and bias constant rows. */
#include "passes/passes.h"

/* Whether the node is a mean along the last axis that keeps it. */
static bool is_row_mean(const struct tn_pass_ctx *ctx, const struct tn_node *node) {
    if (!tn_node_is(node, "", "ReduceMean")) return false;
    const struct tn_attr *keep = tn_node_attr(node, "keepdims");
    const struct tn_tensor *axes = tn_pass_constant(ctx, node, 1);
    int32_t rank = tn_pass_type(ctx, node->inputs[0])->rank;
    if ((keep && keep->as.ints[0] == 0) || !axes || tn_tensor_count(axes) != 1 ||
        rank < 1)
        return false;
    int64_t axis = tn_tensor_int(axes, 0);
    return axis == -1 || axis == rank - 1;
}

static bool is_square(
    const struct tn_pass_ctx *ctx, const struct tn_node *node, tn_value_id *out) {
    double two = 0;
    *out = tn_node_input(node, 0);
    if (tn_node_is(node, "", "Mul")) return node->inputs[0] == node->inputs[1];
    return tn_node_is(node, "", "Pow") &&
           tn_tensor_scalar(tn_pass_constant(ctx, node, 1), &two) && two == 2;
}

/* The operand of a commutative node that is not a constant row of `columns`; *row is. */
static bool split_row(const struct tn_pass_ctx *ctx, const struct tn_node *node,
    const char *op_type, tn_value_id x, int64_t columns, tn_value_id *row) {
    if (!tn_node_is(node, "", op_type) || node->inputs[0] == node->inputs[1])
        return false;
    uint32_t other = node->inputs[0] == x ? 1 : 0;
    const struct tn_tensor *t = tn_pass_constant(ctx, node, other);
    *row = node->inputs[other];
    return t && t->dtype == TN_FLOAT && t->rank == 1 && t->dims[0] == columns;
}

/* From the division back to x. */
static bool match(const struct tn_pass_ctx *ctx, const struct tn_node *div,
    tn_value_id *x, float *epsilon) {
    tn_value_id d, squared;
    double eps = 0;
    const struct tn_node *root = tn_pass_maker(ctx, div, 1);
    const struct tn_node *add =
        tn_node_is(root, "", "Sqrt") ? tn_pass_maker(ctx, root, 0) : NULL;
    if (!tn_node_is(add, "", "Add") ||
        !tn_tensor_scalar(tn_pass_constant(ctx, add, 1), &eps))
        return false;
    const struct tn_node *mean = tn_pass_maker(ctx, add, 0);
    if (!mean || !is_row_mean(ctx, mean)) return false;
    const struct tn_node *square = tn_pass_maker(ctx, mean, 0);
    d = div->inputs[0];
    if (!square || !is_square(ctx, square, &squared) || squared != d) return false;
    const struct tn_node *sub = tn_pass_maker(ctx, div, 0);
    if (!tn_node_is(sub, "", "Sub")) return false;
    const struct tn_node *first = tn_pass_maker(ctx, sub, 1);
    if (!first || !is_row_mean(ctx, first) || first->inputs[0] != sub->inputs[0])
        return false;
    *x = sub->inputs[0];
    *epsilon = (float)eps;
    return true;
}

static tn_status fuse(const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    const struct tn_node *div = tn_pass_node(ctx, id);
    tn_value_id inputs[3];
    float epsilon;
    int64_t axis = -1;
    if (!tn_node_is(div, "", "Div") || !match(ctx, div, &inputs[0], &epsilon))
        return TN_OK;
    const struct tn_type *x = tn_pass_type(ctx, inputs[0]);
    if (x->dtype != TN_FLOAT || x->rank < 1 || x->dims[x->rank - 1] < 1) return TN_OK;
    int64_t columns = x->dims[x->rank - 1];
    const struct tn_node *mul = tn_pass_reader(ctx, div->outputs[0]);
    if (!mul || !split_row(ctx, mul, "Mul", div->outputs[0], columns, &inputs[1]))
        return TN_OK;
    const struct tn_node *add = tn_pass_reader(ctx, mul->outputs[0]);
    if (!add || !split_row(ctx, add, "Add", mul->outputs[0], columns, &inputs[2]))
        return TN_OK;
    struct tn_attr attrs[2] = {
        tn_int_attr("axis", &axis), tn_float_attr("epsilon", &epsilon)};
    ++*changes;
    return tn_pass_replace(ctx, add->id, "", "LayerNormalization", inputs, 3, attrs, 2);
}

TN_PASS(layer_norm, "a layer normalisation written out becomes LayerNormalization",
    TN_LEVEL_ALL, TN_SAFETY_REASSOCIATING, 1020, fuse);
