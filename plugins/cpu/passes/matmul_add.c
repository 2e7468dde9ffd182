/* MatMul followed by Add of a constant row becomes tenon.cpu.Gemm with a bias. */
#include "passes/passes.h"

static tn_status rewrite(
    const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    const struct tn_node *node = tn_pass_node(ctx, id);
    if (!tn_node_is(node, "", "MatMul")) return TN_OK;
    tn_value_id product = node->outputs[0];
    const struct tn_node *add = tn_pass_reader(ctx, product);
    if (!tn_node_is(add, "", "Add") || add->inputs[0] == add->inputs[1]) return TN_OK;
    uint32_t other = add->inputs[0] == product ? 1 : 0;
    const struct tn_tensor *bias = tn_pass_constant(ctx, add, other);
    const struct tn_type *b = tn_pass_type(ctx, node->inputs[1]);
    const struct tn_type *y = tn_pass_type(ctx, product);
    if (!bias || bias->dtype != TN_FLOAT || b->rank < 2 || y->rank < (int32_t)bias->rank)
        return TN_OK;
    int64_t columns = b->dims[b->rank - 1];
    if (bias->rank < 1 || bias->dims[bias->rank - 1] != columns ||
        tn_tensor_count(bias) != columns)
        return TN_OK;
    tn_value_id inputs[3] = {node->inputs[0], node->inputs[1], add->inputs[other]}, out;
    tn_value_id old = add->outputs[0];
    tn_node_id add_id = add->id, fused;
    TN_TRY(ctx->api->add_node(ctx->graph, add_id, id, "tenon.cpu", "Gemm", 0, inputs, 3,
        NULL, 0, &out, 1, &fused, ctx->diag));
    TN_TRY(ctx->api->replace_uses(ctx->graph, old, out, ctx->diag));
    TN_TRY(ctx->api->remove_node(ctx->graph, add_id, ctx->diag));
    TN_TRY(ctx->api->remove_node(ctx->graph, id, ctx->diag));
    ++*changes;
    return TN_OK;
}

TN_PASS(matmul_add,
    "MatMul and a constant row added to it become one product with a bias", TN_LEVEL_ALL,
    TN_SAFETY_REASSOCIATING, 1100, rewrite);
