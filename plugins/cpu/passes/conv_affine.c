/* Folds what scales and shifts channels into the constants of the node before it:
 *
 *     Conv | BatchNormalization  →  BatchNormalization | Mul | Div | Add | Sub  (constants)
 *
 * becomes the first node alone with other weights. Chains fold one after another, also those
 * of exporters that write scale and shift as Mul and Add behind a BatchNormalization. */
#include "passes/passes.h"

#include <math.h>

/* y[c] = a[c] x + b[c] */
struct affine {
    double *a, *b;
    int64_t channels;
};

static double number(const struct tn_tensor *t, int64_t i) {
    return t->dtype == TN_DOUBLE ? ((const double *)t->data)[i]
                                 : (double)((const float *)t->data)[i];
}

static void store(void *data, int32_t dtype, int64_t i, double x) {
    if (dtype == TN_DOUBLE)
        ((double *)data)[i] = x;
    else
        ((float *)data)[i] = (float)x;
}

static bool is_wide(const struct tn_tensor *t) {
    return t && t->data && (t->dtype == TN_FLOAT || t->dtype == TN_DOUBLE);
}

/* The same of a value whose content is not wanted yet. */
static bool is_wide_constant(const struct tn_pass_ctx *ctx, tn_value_id v) {
    int32_t dtype = tn_pass_type(ctx, v)->dtype;
    return ctx->api->is_constant(ctx->graph, v) &&
           (dtype == TN_FLOAT || dtype == TN_DOUBLE);
}

static bool is_conv(const struct tn_node *node) {
    return tn_node_is(node, "", "Conv") || tn_node_is(node, "tenon.cpu", "Conv");
}

/* ---- the first node --------------------------------------------------------------------- */

/* Rank of what it makes and its channels; false when it cannot take the fold. */
static bool first_shape(const struct tn_pass_ctx *ctx, const struct tn_node *node,
    int32_t *rank, int64_t *channels) {
    if (is_conv(node)) {
        tn_value_id bias = tn_node_input(node, 2);
        const struct tn_type *w = tn_pass_type(ctx, node->inputs[1]);
        if (!is_wide_constant(ctx, node->inputs[1]) || w->rank < 3) return false;
        if (!tn_node_is(node, "", "Conv")) return false; /* a clamp may stand between */
        if (bias != TN_NO_ID && !is_wide_constant(ctx, bias)) return false;
        *rank = w->rank;
        *channels = w->dims[0];
        return true;
    }
    if (!tn_node_is(node, "", "BatchNormalization")) return false;
    const struct tn_attr *training = tn_node_attr(node, "training_mode");
    if (training && training->as.ints[0]) return false;
    for (uint32_t i = 1; i < 5; i++)
        if (!is_wide(tn_pass_constant(ctx, node, i))) return false;
    const struct tn_type *x = tn_pass_type(ctx, node->inputs[0]);
    if (x->rank < 2) return false;
    *rank = x->rank;
    *channels = tn_tensor_count(tn_pass_constant(ctx, node, 1));
    return true;
}

/* Puts a constant of the shape of `like` (or `dims`) with new numbers at an input. */
static tn_status new_vector(const struct tn_pass_ctx *ctx, int32_t dtype, int64_t n,
    tn_value_id *value, void **data) {
    return ctx->api->add_constant(ctx->graph, NULL, dtype, &n, 1, value, data, ctx->diag);
}

static tn_status scale_weights(
    const struct tn_pass_ctx *ctx, tn_node_id id, const struct affine *f) {
    const struct tn_tensor *w = tn_pass_constant(ctx, tn_pass_node(ctx, id), 1);
    int64_t each = f->channels ? tn_tensor_count(w) / f->channels : 0;
    tn_value_id value;
    void *data;
    TN_TRY(ctx->api->add_constant(
        ctx->graph, NULL, w->dtype, w->dims, w->rank, &value, &data, ctx->diag));
    for (int64_t c = 0; c < f->channels; c++)
        for (int64_t i = c * each; i < (c + 1) * each; i++)
            store(data, w->dtype, i, number(w, i) * f->a[c]);
    return ctx->api->set_input(ctx->graph, id, 1, value, ctx->diag);
}

/* Input `index` of the node becomes a·old + b; absent is 0. */
static tn_status shift_bias(const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t index,
    int32_t dtype, const struct affine *f) {
    const struct tn_tensor *old = tn_pass_constant(ctx, tn_pass_node(ctx, id), index);
    tn_value_id value;
    void *data;
    TN_TRY(new_vector(ctx, old ? old->dtype : dtype, f->channels, &value, &data));
    for (int64_t c = 0; c < f->channels; c++)
        store(data, old ? old->dtype : dtype, c,
            (old ? number(old, c) * f->a[c] : 0) + f->b[c]);
    return ctx->api->set_input(ctx->graph, id, index, value, ctx->diag);
}

static tn_status fold_into(
    const struct tn_pass_ctx *ctx, tn_node_id id, const struct affine *f) {
    const struct tn_node *node = tn_pass_node(ctx, id);
    if (is_conv(node)) {
        int32_t dtype = tn_pass_constant(ctx, node, 1)->dtype;
        TN_TRY(scale_weights(ctx, id, f));
        return shift_bias(ctx, id, 2, dtype, f);
    }
    const struct tn_tensor *scale = tn_pass_constant(ctx, node, 1);
    tn_value_id value;
    void *data;
    TN_TRY(new_vector(ctx, scale->dtype, f->channels, &value, &data));
    for (int64_t c = 0; c < f->channels; c++)
        store(data, scale->dtype, c, number(scale, c) * f->a[c]);
    TN_TRY(ctx->api->set_input(ctx->graph, id, 1, value, ctx->diag));
    return shift_bias(ctx, id, 2, TN_FLOAT, f);
}

/* ---- the second node -------------------------------------------------------------------- */

static bool read_batch(
    const struct tn_pass_ctx *ctx, const struct tn_node *node, struct affine *f) {
    const struct tn_tensor *t[5];
    const struct tn_attr *training = tn_node_attr(node, "training_mode");
    const struct tn_attr *eps = tn_node_attr(node, "epsilon");
    double epsilon = eps ? (double)eps->as.floats[0] : (double)1e-5f;
    if (training && training->as.ints[0]) return false;
    for (uint32_t i = 1; i < 5; i++) {
        t[i] = tn_pass_constant(ctx, node, i);
        if (!is_wide(t[i]) || tn_tensor_count(t[i]) != f->channels) return false;
    }
    for (int64_t c = 0; c < f->channels; c++) {
        f->a[c] = number(t[1], c) / sqrt(number(t[4], c) + epsilon);
        f->b[c] = number(t[2], c) - number(t[3], c) * f->a[c];
    }
    return true;
}

/* Whether a tensor that broadcasts into `rank` axes differs along axis 1 alone; *step is 0
 * for one number. */
static bool by_channel(
    const struct tn_tensor *t, int32_t rank, int64_t channels, int64_t *step) {
    if (!is_wide(t) || (int32_t)t->rank > rank) return false;
    *step = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        bool is_channel = rank - (int32_t)t->rank + (int32_t)i == 1;
        if (t->dims[i] == 1) continue;
        if (!is_channel || t->dims[i] != channels) return false;
        *step = 1;
    }
    return true;
}

static bool read_arithmetic(const struct tn_pass_ctx *ctx, const struct tn_node *node,
    tn_value_id x, int32_t rank, struct affine *f) {
    bool mul = tn_node_is(node, "", "Mul"), add = tn_node_is(node, "", "Add");
    bool div = tn_node_is(node, "", "Div"), sub = tn_node_is(node, "", "Sub");
    int64_t step;
    if ((!mul && !add && !div && !sub) || node->n_inputs != 2) return false;
    uint32_t other = node->inputs[0] == x ? 1 : 0;
    if (other == 0 && (div || sub)) return false;
    const struct tn_tensor *t = tn_pass_constant(ctx, node, other);
    if (!t || !by_channel(t, rank, f->channels, &step)) return false;
    for (int64_t c = 0; c < f->channels; c++) {
        double v = number(t, c * step);
        if (div && v == 0) return false;
        f->a[c] = mul ? v : div ? 1 / v : 1;
        f->b[c] = add ? v : sub ? -v : 0;
    }
    return true;
}

/* Folds readers into the node as long as there is one that can be. */
static tn_status fold_readers(const struct tn_pass_ctx *ctx, tn_node_id id, int32_t rank,
    struct affine *f, uint32_t *changes) {
    for (;;) {
        tn_value_id y = tn_pass_node(ctx, id)->outputs[0];
        const struct tn_node *reader = tn_pass_reader(ctx, y);
        if (!reader) return TN_OK;
        bool batch =
            tn_node_is(reader, "", "BatchNormalization") && reader->inputs[0] == y;
        for (uint32_t o = 1; batch && o < reader->n_outputs; o++)
            if (reader->outputs[o] != TN_NO_ID) batch = false;
        if (batch ? !read_batch(ctx, reader, f)
                  : !read_arithmetic(ctx, reader, y, rank, f))
            return TN_OK;
        tn_node_id reader_id = reader->id;
        tn_value_id out = reader->outputs[0];
        TN_TRY(fold_into(ctx, id, f));
        TN_TRY(ctx->api->replace_uses(ctx->graph, out, y, ctx->diag));
        TN_TRY(ctx->api->remove_node(ctx->graph, reader_id, ctx->diag));
        ++*changes;
    }
}

static tn_status fold(const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    int32_t rank = 0;
    struct affine f;
    const struct tn_host *host = ctx->host;
    if (!first_shape(ctx, tn_pass_node(ctx, id), &rank, &f.channels)) return TN_OK;
    f.a = host->alloc(
        host->self, (uint64_t)(2 * f.channels + 1) * sizeof(double), 0, "pass");
    if (!f.a) return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for the scales");
    f.b = f.a + f.channels;
    tn_status status = fold_readers(ctx, id, rank, &f, changes);
    host->free(host->self, f.a);
    return status;
}

TN_PASS(conv_affine,
    "folds BatchNormalization and constant Mul, Div, Add, Sub into the weights before "
    "them",
    TN_LEVEL_ALL, TN_SAFETY_REASSOCIATING, 1000, fold);
