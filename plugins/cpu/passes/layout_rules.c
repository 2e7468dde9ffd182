/* Which operators can work with channels last, and how each is rewritten. A rule that does not
 * apply leaves the node as it is. */
#include "passes/layout_rules.h"

#include <math.h>

enum { MOST_RANK = 8, MOST_ATTRS = 24, MOST_INPUTS = 64 };

typedef tn_status rule_fn(struct tn__layout *layout, const struct tn_node *node);

/* Adds the node again with other inputs and domain, and replaces the old one. */
static tn_status emit(struct tn__layout *layout, const struct tn_node *node,
    const char *domain, const tn_value_id *inputs, const struct tn_attr *extra) {
    const struct tn_pass_ctx *ctx = layout->ctx;
    struct tn_attr attrs[MOST_ATTRS];
    uint32_t n = 0;
    tn_value_id out;
    tn_node_id id = node->id, fresh;
    if (node->n_attrs + 1 > MOST_ATTRS) return TN_OK;
    for (uint32_t i = 0; i < node->n_attrs; i++)
        if (!extra || strcmp(node->attrs[i].name, extra->name) != 0)
            attrs[n++] = node->attrs[i];
    if (extra) attrs[n++] = *extra;
    TN_TRY(ctx->api->add_node(ctx->graph, id, id, domain, node->op_type, 0, inputs,
        node->n_inputs, attrs, n, &out, 1, &fresh, ctx->diag));
    return tn__layout_replace(layout, id, out);
}

/* Only output 0 is named: the others have no channels-last form. */
static bool one_output(const struct tn_node *node) {
    for (uint32_t o = 1; o < node->n_outputs; o++)
        if (node->outputs[o] != TN_NO_ID) return false;
    return true;
}

static tn_status conv(struct tn__layout *layout, const struct tn_node *node) {
    const struct tn_pass_ctx *ctx = layout->ctx;
    const struct tn_attr *old = tn_node_attr(node, "layout");
    const struct tn_type *x = tn_pass_type(ctx, node->inputs[0]);
    const struct tn_string text = {"NHWC", 4};
    struct tn_attr attr = tn_string_attr("layout", &text);
    tn_value_id inputs[4];
    if (node->n_inputs > 4 || x->rank < 3 || x->rank > 6) return TN_OK;
    if (old && old->as.strings->size == 4 && !memcmp(old->as.strings->data, "NHWC", 4))
        return TN_OK;
    if (tn_pass_type(ctx, node->outputs[0])->rank != x->rank) return TN_OK;
    tn_node_id id = node->id;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        inputs[i] = tn_pass_node(ctx, id)->inputs[i];
        if ((i == 0 || i == 3) && inputs[i] != TN_NO_ID)
            TN_TRY(tn__layout_want(layout, inputs[i], id, &inputs[i]));
    }
    return emit(layout, tn_pass_node(ctx, id), "tenon.cpu", inputs, &attr);
}

/* Pools and LRN: the operator of the same name in the domain tenon.cpu. */
static tn_status windowed(struct tn__layout *layout, const struct tn_node *node) {
    tn_value_id twin = tn__layout_twin(layout, node->inputs[0]);
    if (twin == TN_NO_ID || !one_output(node)) return TN_OK;
    return emit(layout, node, "tenon.cpu", &twin, NULL);
}

/* One tensor, and parameters that are single numbers. */
static tn_status unary(struct tn__layout *layout, const struct tn_node *node) {
    tn_value_id inputs[8] = {tn__layout_twin(layout, node->inputs[0])};
    if (inputs[0] == TN_NO_ID || node->n_inputs > 8 || !one_output(node)) return TN_OK;
    for (uint32_t i = 1; i < node->n_inputs; i++) {
        inputs[i] = node->inputs[i];
        if (inputs[i] != TN_NO_ID && tn_pass_type(layout->ctx, inputs[i])->rank != 0)
            return TN_OK;
    }
    return emit(layout, node, "", inputs, NULL);
}

/* A constant that broadcasts into `rank` axes, for channels last: itself when it is one
 * number, a row when it differs along the channels alone; else TN_NO_ID. */
static tn_status turn_constant(
    struct tn__layout *layout, tn_value_id v, int32_t rank, tn_value_id *out) {
    const struct tn_pass_ctx *ctx = layout->ctx;
    const struct tn_tensor *t = ctx->api->constant(ctx->graph, v);
    *out = TN_NO_ID;
    if (!t || !t->data || (int32_t)t->rank > rank) return TN_OK;
    int64_t n = tn_tensor_count(t);
    if (n == 1) *out = v;
    for (uint32_t i = 0; i < t->rank; i++) {
        bool channel = rank - (int32_t)t->rank + (int32_t)i == 1;
        if (t->dims[i] != 1 && !channel) return TN_OK;
    }
    if (n == 1) return TN_OK;
    void *data;
    TN_TRY(
        ctx->api->add_constant(ctx->graph, NULL, t->dtype, &n, 1, out, &data, ctx->diag));
    memcpy(data, t->data, (size_t)t->size);
    return TN_OK;
}

/* Sums and products of tensors that all have twins, and of constants. */
static tn_status broadcast(struct tn__layout *layout, const struct tn_node *node) {
    const struct tn_pass_ctx *ctx = layout->ctx;
    int32_t rank = tn_pass_type(ctx, node->outputs[0])->rank;
    tn_value_id inputs[MOST_INPUTS];
    bool any = false;
    if (rank < 3 || node->n_inputs > MOST_INPUTS) return TN_OK;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        tn_value_id v = node->inputs[i];
        inputs[i] = v == TN_NO_ID ? v : tn__layout_twin(layout, v);
        if (inputs[i] == TN_NO_ID) continue;
        if (tn_pass_type(ctx, v)->rank != rank) return TN_OK;
        any = true;
    }
    if (!any) return TN_OK;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i] != TN_NO_ID) continue;
        if (node->inputs[i] == TN_NO_ID) return TN_OK;
        tn_node_id id = node->id;
        TN_TRY(turn_constant(layout, node->inputs[i], rank, &inputs[i]));
        node = tn_pass_node(ctx, id);
        if (inputs[i] == TN_NO_ID) return TN_OK;
    }
    return emit(layout, node, "", inputs, NULL);
}

static tn_status concat(struct tn__layout *layout, const struct tn_node *node) {
    int32_t rank = tn_pass_type(layout->ctx, node->outputs[0])->rank;
    const struct tn_attr *old = tn_node_attr(node, "axis");
    tn_value_id inputs[MOST_INPUTS];
    if (rank < 3 || !old || node->n_inputs > MOST_INPUTS) return TN_OK;
    int64_t axis = old->as.ints[0] < 0 ? old->as.ints[0] + rank : old->as.ints[0];
    if (axis > 0) axis = axis == 1 ? rank - 1 : axis - 1;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        inputs[i] = tn__layout_twin(layout, node->inputs[i]);
        if (inputs[i] == TN_NO_ID) return TN_OK;
    }
    struct tn_attr attr = tn_int_attr("axis", &axis);
    return emit(layout, node, "", inputs, &attr);
}

static tn_status row_constant(
    const struct tn_pass_ctx *ctx, int64_t n, tn_value_id *out, float **data) {
    void *memory;
    TN_TRY(ctx->api->add_constant(
        ctx->graph, NULL, TN_FLOAT, &n, 1, out, &memory, ctx->diag));
    *data = memory;
    return TN_OK;
}

/* A normalisation that found no weights to fold into: Mul and Add of rows. */
static tn_status batch(struct tn__layout *layout, const struct tn_node *node) {
    const struct tn_pass_ctx *ctx = layout->ctx;
    const struct tn_tensor *t[5];
    const struct tn_attr *eps = tn_node_attr(node, "epsilon");
    const struct tn_attr *training = tn_node_attr(node, "training_mode");
    double epsilon = eps ? (double)eps->as.floats[0] : (double)1e-5f;
    tn_value_id x = tn__layout_twin(layout, node->inputs[0]), inputs[2], y;
    tn_node_id id = node->id, fresh;
    float *a, *b;
    if (x == TN_NO_ID || !one_output(node) || (training && training->as.ints[0]))
        return TN_OK;
    for (uint32_t i = 1; i < 5; i++) {
        t[i] = tn_pass_constant(ctx, node, i);
        if (!t[i] || !t[i]->data || t[i]->dtype != TN_FLOAT) return TN_OK;
    }
    int64_t n = tn_tensor_count(t[1]);
    for (uint32_t i = 2; i < 5; i++)
        if (tn_tensor_count(t[i]) != n) return TN_OK;
    inputs[0] = x;
    TN_TRY(row_constant(ctx, n, &inputs[1], &a));
    tn_value_id shift;
    TN_TRY(row_constant(ctx, n, &shift, &b));
    for (int64_t c = 0; c < n; c++) {
        double scale = (double)((const float *)t[1]->data)[c] /
                       sqrt((double)((const float *)t[4]->data)[c] + epsilon);
        a[c] = (float)scale;
        b[c] = (float)((double)((const float *)t[2]->data)[c] -
                       (double)((const float *)t[3]->data)[c] * scale);
    }
    TN_TRY(ctx->api->add_node(
        ctx->graph, id, id, "", "Mul", 0, inputs, 2, NULL, 0, &y, 1, &fresh, ctx->diag));
    inputs[0] = y;
    inputs[1] = shift;
    TN_TRY(ctx->api->add_node(
        ctx->graph, id, id, "", "Add", 0, inputs, 2, NULL, 0, &y, 1, &fresh, ctx->diag));
    return tn__layout_replace(layout, id, y);
}

/* ---- channel shuffle: Reshape, Transpose, Reshape ------------------------------------------ */

static tn_status reshape(struct tn__layout *layout, tn_node_id before, tn_value_id x,
    const int64_t *shape, int64_t n, tn_value_id *out) {
    const struct tn_pass_ctx *ctx = layout->ctx;
    tn_value_id inputs[2] = {x};
    tn_node_id id;
    void *data;
    TN_TRY(ctx->api->add_constant(
        ctx->graph, NULL, TN_INT64, &n, 1, &inputs[1], &data, ctx->diag));
    memcpy(data, shape, (size_t)n * sizeof *shape);
    return ctx->api->add_node(ctx->graph, before, before, "", "Reshape", 0, inputs, 2,
        NULL, 0, out, 1, &id, ctx->diag);
}

/* (N, C, H, W) → (N, g, C/g, H, W) → (N, C/g, g, H, W) → (N, C, H, W) */
static bool is_shuffle(const struct tn_pass_ctx *ctx, const struct tn_node *first,
    const struct tn_node *turn, const struct tn_node *last) {
    static const int64_t perm[] = {0, 2, 1, 3, 4};
    if (!tn_node_is(turn, "", "Transpose") || !tn_node_is(last, "", "Reshape"))
        return false;
    const struct tn_attr *attr = tn_node_attr(turn, "perm");
    const struct tn_type *x = tn_pass_type(ctx, first->inputs[0]);
    const struct tn_type *mid = tn_pass_type(ctx, first->outputs[0]);
    if (!attr || attr->count != 5 || memcmp(attr->as.ints, perm, sizeof perm) != 0)
        return false;
    if (x->rank != 4 || mid->rank != 5) return false;
    for (int i = 1; i < 5; i++)
        if (mid->dims[i] < 0 || (i < 4 && x->dims[i] < 0)) return false;
    return mid->dims[1] * mid->dims[2] == x->dims[1] && mid->dims[3] == x->dims[2] &&
           mid->dims[4] == x->dims[3] &&
           tn_type_same_shape(x, tn_pass_type(ctx, last->outputs[0]));
}

static tn_status shuffle(struct tn__layout *layout, const struct tn_node *node) {
    static const int64_t perm[] = {0, 1, 2, 4, 3};
    const struct tn_pass_ctx *ctx = layout->ctx;
    const struct tn_node *turn = tn_pass_reader(ctx, node->outputs[0]);
    const struct tn_node *last = turn ? tn_pass_reader(ctx, turn->outputs[0]) : NULL;
    tn_value_id x = tn__layout_twin(layout, node->inputs[0]), y;
    if (x == TN_NO_ID || !last || !is_shuffle(ctx, node, turn, last)) return TN_OK;
    const struct tn_type *mid = tn_pass_type(ctx, node->outputs[0]);
    int64_t split[5] = {0, 0, 0, mid->dims[1], mid->dims[2]};
    int64_t whole[4] = {0, 0, 0, mid->dims[1] * mid->dims[2]};
    tn_node_id first_id = node->id, turn_id = turn->id, last_id = last->id, id;
    struct tn_attr attr = tn_ints_attr("perm", perm, 5);
    TN_TRY(reshape(layout, last_id, x, split, 5, &y));
    TN_TRY(ctx->api->add_node(ctx->graph, last_id, turn_id, "", "Transpose", 0, &y, 1,
        &attr, 1, &y, 1, &id, ctx->diag));
    TN_TRY(reshape(layout, last_id, y, whole, 4, &y));
    TN_TRY(tn__layout_replace(layout, last_id, y));
    TN_TRY(ctx->api->remove_node(ctx->graph, turn_id, ctx->diag));
    return ctx->api->remove_node(ctx->graph, first_id, ctx->diag);
}

/* clang-format off */
static const struct {
    const char *domain, *op_type;
    rule_fn *rule;
} rules[] = {
    {"", "Conv", conv}, {"tenon.cpu", "Conv", conv},
    {"", "MaxPool", windowed}, {"", "AveragePool", windowed}, {"", "GlobalMaxPool", windowed},
    {"", "GlobalAveragePool", windowed}, {"", "LRN", windowed},
    {"", "BatchNormalization", batch}, {"", "Concat", concat}, {"", "Reshape", shuffle},
    {"", "Add", broadcast}, {"", "Sub", broadcast}, {"", "Mul", broadcast},
    {"", "Div", broadcast}, {"", "Max", broadcast}, {"", "Min", broadcast},
    {"", "Sum", broadcast}, {"", "Mean", broadcast}, {"", "Pow", broadcast},
    {"", "PRelu", broadcast},
    {"", "Abs", unary}, {"", "Clip", unary}, {"", "Elu", unary}, {"", "Erf", unary},
    {"", "Exp", unary}, {"", "Gelu", unary}, {"", "HardSigmoid", unary},
    {"", "HardSwish", unary}, {"", "LeakyRelu", unary}, {"", "Mish", unary},
    {"", "Neg", unary}, {"", "Relu", unary}, {"", "Selu", unary}, {"", "Sigmoid", unary},
    {"", "Softplus", unary}, {"", "Sqrt", unary}, {"", "Swish", unary}, {"", "Tanh", unary},
};
/* clang-format on */

tn_status tn__layout_rule(struct tn__layout *layout, tn_node_id id) {
    const struct tn_node *node = tn_pass_node(layout->ctx, id);
    if (node->n_outputs < 1 || node->n_inputs < 1 || node->inputs[0] == TN_NO_ID ||
        node->outputs[0] == TN_NO_ID)
        return TN_OK;
    const struct tn_type *y = tn_pass_type(layout->ctx, node->outputs[0]);
    if (y->kind != TN_KIND_TENSOR || y->dtype != TN_FLOAT || y->rank > MOST_RANK)
        return TN_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (tn_node_is(node, rules[i].domain, rules[i].op_type))
            return rules[i].rule(layout, node);
    return TN_OK;
}
