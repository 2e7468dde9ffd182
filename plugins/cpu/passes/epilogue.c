/* Joins to a convolution or product what its kernel can do while the result is still in
 * registers or cache: a residual sum, a clamp (Relu, Clip) or an activation.
 *
 *     Conv → Add|Sum with a tensor of the same shape → Relu|Clip|Sigmoid|…
 *     MatMul|Gemm → Relu|Clip|Sigmoid|Gelu|…
 *
 * become tenon.cpu.Conv and tenon.cpu.Gemm. Every f32 Conv becomes tenon.cpu.Conv, which may
 * use faster methods. */
#include "passes/passes.h"

#include <math.h>
#include <string.h>

enum { MOST_INPUTS = 4, MOST_ATTRS = 24, MOST_JOINED = 8 };

/* The fused node as it grows. */
struct fused {
    const char *op_type;
    tn_node_id nodes[MOST_JOINED]; /* the product and what was joined to it, in order */
    uint32_t n_nodes;
    tn_value_id inputs[MOST_INPUTS];
    uint32_t n_inputs;
    tn_value_id y; /* what the last node makes */
    float lo, hi;
    float params[2];
    uint32_t n_params;
    const char *activation;
    bool residual, clamped;
};

/* clang-format off */
/* Operators that are activations of the fused kernels, with the attributes that become
 * parameters and their defaults. */
static const struct {
    const char *op_type, *activation, *attr[2];
    float absent[2];
} activations[] = {
    {"Celu", "celu", {"alpha", NULL}, {1.0f, 0}},
    {"Elu", "elu", {"alpha", NULL}, {1.0f, 0}},
    {"Mish", "mish", {NULL, NULL}, {0, 0}},
    {"Selu", "selu", {"alpha", "gamma"}, {1.67326319217681884765625f, 1.05070102214813232421875f}},
    {"Sigmoid", "sigmoid", {NULL, NULL}, {0, 0}},
    {"Softplus", "softplus", {NULL, NULL}, {0, 0}},
    {"Swish", "swish", {"alpha", NULL}, {1.0f, 0}},
    {"Tanh", "tanh", {NULL, NULL}, {0, 0}},
};
/* clang-format on */

/* x clamped to [lo, hi] and then to [low, high]. */
static void join_clamp(struct fused *f, float low, float high) {
    float lo = fmaxf(f->lo, low), hi = fmaxf(f->hi, low);
    f->lo = fminf(lo, high);
    f->hi = fminf(hi, high);
    f->clamped = true;
}

static bool join_clip(
    const struct tn_pass_ctx *ctx, const struct tn_node *node, struct fused *f) {
    double low = -INFINITY, high = INFINITY;
    for (uint32_t i = 1; i < 3; i++) {
        if (tn_node_input(node, i) == TN_NO_ID) continue;
        if (!tn_tensor_scalar(tn_pass_constant(ctx, node, i), i == 1 ? &low : &high))
            return false;
    }
    if (low != low || high != high) return false;
    join_clamp(f, (float)low, (float)high);
    return true;
}

static bool join_activation(const struct tn_node *node, struct fused *f) {
    if (tn_node_is(node, "", "Gelu")) {
        const struct tn_attr *form = tn_node_attr(node, "approximate");
        bool tanh_form = form && form->as.strings->size == 4 &&
                         memcmp(form->as.strings->data, "tanh", 4) == 0;
        f->activation = tanh_form ? "gelu_tanh" : "gelu";
        return true;
    }
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        if (!tn_node_is(node, "", activations[i].op_type)) continue;
        f->activation = activations[i].activation;
        for (uint32_t p = 0; p < 2 && activations[i].attr[p]; p++) {
            const struct tn_attr *attr = tn_node_attr(node, activations[i].attr[p]);
            f->params[f->n_params++] =
                attr ? attr->as.floats[0] : activations[i].absent[p];
        }
        return true;
    }
    return false;
}

/* The sum with another tensor of the same shape. */
static bool join_residual(
    const struct tn_pass_ctx *ctx, const struct tn_node *node, struct fused *f) {
    bool sum = tn_node_is(node, "", "Add") || tn_node_is(node, "", "Sum");
    if (!sum || node->n_inputs != 2 || node->inputs[0] == node->inputs[1]) return false;
    tn_value_id other = node->inputs[node->inputs[0] == f->y ? 1 : 0];
    if (!tn_type_same_shape(tn_pass_type(ctx, f->y), tn_pass_type(ctx, other)))
        return false;
    f->inputs[3] = other;
    f->n_inputs = 4;
    f->residual = true;
    return true;
}

/* Joins the node that reads y; false when it cannot be. */
static bool join(const struct tn_pass_ctx *ctx, struct fused *f, bool conv) {
    const struct tn_node *node = tn_pass_reader(ctx, f->y);
    if (!node || f->activation || f->n_nodes == MOST_JOINED) return false;
    bool done = false;
    if (conv && !f->residual && !f->clamped) done = join_residual(ctx, node, f);
    if (!done && tn_node_is(node, "", "Relu")) {
        join_clamp(f, 0, INFINITY);
        done = true;
    }
    if (!done && tn_node_is(node, "", "Clip")) done = join_clip(ctx, node, f);
    if (!done) done = join_activation(node, f);
    if (!done) return false;
    f->nodes[f->n_nodes++] = node->id;
    f->y = node->outputs[0];
    return true;
}

static bool begin(
    const struct tn_pass_ctx *ctx, const struct tn_node *node, struct fused *f) {
    bool conv = tn_node_is(node, "", "Conv");
    bool product = tn_node_is(node, "", "Gemm") || tn_node_is(node, "", "MatMul") ||
                   (tn_node_is(node, "tenon.cpu", "Gemm") && !tn_node_attr(node, "lo"));
    if ((!conv && !product) || node->n_inputs > 3 || node->n_attrs > 12) return false;
    if (tn_pass_type(ctx, node->outputs[0])->dtype != TN_FLOAT) return false;
    memset(f, 0, sizeof *f);
    f->op_type = conv ? "Conv" : "Gemm";
    f->nodes[f->n_nodes++] = node->id;
    for (uint32_t i = 0; i < MOST_INPUTS; i++)
        f->inputs[i] = tn_node_input(node, i);
    f->n_inputs = node->n_inputs;
    f->y = node->outputs[0];
    f->lo = -INFINITY;
    f->hi = INFINITY;
    return true;
}

static tn_status finish(const struct tn_pass_ctx *ctx, const struct fused *f) {
    const struct tn_node *node = tn_pass_node(ctx, f->nodes[0]);
    struct tn_attr attrs[MOST_ATTRS];
    struct tn_string activation = {
        f->activation, f->activation ? strlen(f->activation) : 0};
    int64_t one = 1;
    uint32_t n = 0;
    for (; n < node->n_attrs; n++)
        attrs[n] = node->attrs[n];
    attrs[n++] = tn_float_attr("lo", &f->lo);
    attrs[n++] = tn_float_attr("hi", &f->hi);
    if (f->op_type[0] == 'C') attrs[n++] = tn_int_attr("fast", &one);
    if (f->activation) attrs[n++] = tn_string_attr("activation", &activation);
    if (f->n_params) {
        struct tn_attr params = {
            "params", TN_ATTR_FLOATS, f->n_params, {.floats = f->params}, NULL};
        attrs[n++] = params;
    }
    tn_value_id out;
    tn_node_id id;
    TN_TRY(
        ctx->api->add_node(ctx->graph, f->nodes[f->n_nodes - 1], f->nodes[0], "tenon.cpu",
            f->op_type, 0, f->inputs, f->n_inputs, attrs, n, &out, 1, &id, ctx->diag));
    TN_TRY(ctx->api->replace_uses(ctx->graph, f->y, out, ctx->diag));
    for (uint32_t i = f->n_nodes; i-- > 0;)
        TN_TRY(ctx->api->remove_node(ctx->graph, f->nodes[i], ctx->diag));
    return TN_OK;
}

static tn_status fuse(const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    struct fused f;
    if (!begin(ctx, tn_pass_node(ctx, id), &f)) return TN_OK;
    bool conv = f.op_type[0] == 'C';
    while (join(ctx, &f, conv))
        continue;
    if (f.n_nodes == 1 && !conv) return TN_OK;
    TN_TRY(finish(ctx, &f));
    ++*changes;
    return TN_OK;
}

TN_PASS(epilogue,
    "joins residual sums, clamps and activations to convolutions and products",
    TN_LEVEL_ALL, TN_SAFETY_REASSOCIATING, 1200, fuse);
