/* A Pad with zeros before a convolution becomes part of its own padding. */
#include "passes/passes.h"

enum { MOST_AXES = 4 };

static bool is_conv(const struct tn_node *node) {
    return tn_node_is(node, "", "Conv") || tn_node_is(node, "tenon.cpu", "Conv");
}

/* The pads of a Pad node by axis when it adds zeros to the spatial axes alone. */
static bool read_pad(const struct tn_pass_ctx *ctx, const struct tn_node *pad,
    int32_t rank, int64_t *pads) {
    const struct tn_attr *mode = tn_node_attr(pad, "mode");
    const struct tn_tensor *t = tn_pass_constant(ctx, pad, 1);
    double value = 0;
    if (mode && (mode->as.strings->size != 8 ||
                    memcmp(mode->as.strings->data, "constant", 8) != 0))
        return false;
    if (tn_node_input(pad, 2) != TN_NO_ID &&
        !tn_tensor_scalar(tn_pass_constant(ctx, pad, 2), &value))
        return false;
    if (value != 0 || tn_node_input(pad, 3) != TN_NO_ID) return false;
    if (!t || tn_tensor_count(t) != 2 * rank) return false;
    for (int64_t i = 0; i < 2 * rank; i++) {
        pads[i] = tn_tensor_int(t, i);
        if (pads[i] < 0 || pads[i] > INT32_MAX || (i % rank < 2 && pads[i] != 0))
            return false;
    }
    return true;
}

static tn_status fold(const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    const struct tn_node *node = tn_pass_node(ctx, id);
    int64_t pads[2 * (MOST_AXES + 2)], sum[2 * MOST_AXES];
    if (!is_conv(node)) return TN_OK;
    const struct tn_node *pad = tn_pass_maker(ctx, node, 0);
    const struct tn_attr *own = tn_node_attr(node, "pads");
    const struct tn_attr *automatic = tn_node_attr(node, "auto_pad");
    const struct tn_attr *layout = tn_node_attr(node, "layout");
    if (!tn_node_is(pad, "", "Pad") || !tn_pass_reader(ctx, node->inputs[0]))
        return TN_OK;
    int32_t rank = tn_pass_type(ctx, pad->inputs[0])->rank;
    bool explicit_pads =
        !automatic || (automatic->as.strings->size == 6 &&
                          memcmp(automatic->as.strings->data, "NOTSET", 6) == 0);
    if (layout || !explicit_pads || rank < 3 || rank > MOST_AXES + 2) return TN_OK;
    uint32_t axes = (uint32_t)rank - 2;
    if (own && own->count != 2 * axes) return TN_OK;
    if (!read_pad(ctx, pad, rank, pads)) return TN_OK;
    for (uint32_t i = 0; i < axes; i++) {
        sum[i] = pads[2 + i] + (own ? own->as.ints[i] : 0);
        sum[axes + i] = pads[rank + 2 + (int32_t)i] + (own ? own->as.ints[axes + i] : 0);
    }
    struct tn_attr attr = tn_ints_attr("pads", sum, 2 * axes);
    tn_value_id x = pad->inputs[0];
    tn_node_id pad_id = pad->id;
    TN_TRY(ctx->api->set_attr(ctx->graph, id, &attr, ctx->diag));
    TN_TRY(ctx->api->set_input(ctx->graph, id, 0, x, ctx->diag));
    ++*changes;
    return ctx->api->remove_node(ctx->graph, pad_id, ctx->diag);
}

TN_PASS(conv_pad, "a Pad with zeros becomes part of the convolution behind it",
    TN_LEVEL_ALL, TN_SAFETY_EXACT, 1030, fold);
