/* Dropout: the identity, unless training_mode asks for a random mask. */
#include "ops/ops.h"

#include <stdbool.h>

#define DROPOUT_ATTRS(X, S) X(S, INT, seed, 0)
TN_ATTR_TABLE(dropout, DROPOUT_ATTRS)

static tn_status infer_dropout(const struct tn_infer *infer) {
    TN_TRY(tn_infer_like(infer, 0, 0));
    return tn_infer_shape_like(infer, 1, 0, TN_BOOL);
}

/* An empty tensor has memory too, when a caller gave it some. */
static bool is_true(const struct tn_tensor *flag) {
    return flag && tn_tensor_count(flag) > 0 && *(const uint8_t *)flag->data;
}

static int32_t elide_dropout(const struct tn_infer *infer) {
    if (!tn_infer_has(infer->node, 2)) return 0;
    const struct tn_tensor *training = infer->value(infer->self, 2);
    return training && tn_tensor_count(training) > 0 && !is_true(training) ? 0 : -1;
}

struct dropout {
    struct tn__kernel base;
    uint64_t seed;
};

static tn_status create_dropout(const struct tn_kernel_ctx *ctx, void **out) {
    struct dropout_attrs attrs;
    TN_TRY(TN_ATTRS_READ(dropout, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct dropout), out));
    bool seeded = tn_node_attr(ctx->node, "seed") != NULL;
    ((struct dropout *)*out)->seed =
        seeded ? (uint64_t)attrs.seed : UINT64_C(0x9e3779b97f4a7c15);
    return TN_OK;
}

/* A number in [0, 1) that depends on the seed and the position alone (splitmix64). */
static double draw(uint64_t seed, uint64_t i) {
    uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* How narrow floats are rounded: what is too large becomes the largest. */
static const struct tn_convert_options saturating = {1, TN_CONVERT_UP};

static double scalar(
    const struct tn_convert_kernels *convert, const struct tn_tensor *t, double absent) {
    float wide;
    if (!t || tn_tensor_count(t) == 0) return absent;
    if (t->dtype == TN_DOUBLE) return *(const double *)t->data;
    if (t->dtype == TN_FLOAT) return (double)*(const float *)t->data;
    tn_convert_run(convert, TN_FLOAT, &wide, t->dtype, t->data, 1, NULL);
    return (double)wide;
}

static void scale(const struct tn_convert_kernels *convert, const struct tn_tensor *x,
    const struct tn_tensor *y, size_t i, double factor) {
    size_t at = i * tn_dtype_bits(x->dtype) / 8;
    const char *src = (const char *)x->data + at;
    char *dst = (char *)y->data + at;
    float wide;
    if (x->dtype == TN_DOUBLE) {
        *(double *)(void *)dst = *(const double *)(const void *)src * factor;
        return;
    }
    if (x->dtype == TN_FLOAT) {
        *(float *)(void *)dst = *(const float *)(const void *)src * (float)factor;
        return;
    }
    tn_convert_run(convert, TN_FLOAT, &wide, x->dtype, src, 1, NULL);
    wide *= (float)factor;
    tn_convert_run(convert, x->dtype, dst, TN_FLOAT, &wide, 1, &saturating);
}

static tn_status compute_dropout(void *kernel, const struct tn_run_args *args) {
    const struct dropout *dropout = kernel;
    const struct tn_convert_kernels *convert = &dropout->base.cpu->convert;
    const struct tn_tensor *x = args->inputs[0].as.tensor, *mode = tn_in(args, 2);
    struct tn_tensor *y = tn_out(args, 0), *mask = tn_out(args, 1);
    size_t n = (size_t)tn_tensor_count(x);
    double ratio = scalar(convert, tn_in(args, 1), 0.5);
    bool training = is_true(mode) && ratio > 0;
    uint8_t *keep = mask ? mask->data : NULL;
    if (!training) {
        if (y && y->data != x->data && n > 0) memcpy(y->data, x->data, (size_t)x->size);
        if (keep) memset(keep, 1, n);
        return TN_OK;
    }
    for (size_t i = 0; i < n; i++) {
        bool kept = draw(dropout->seed, i) >= ratio;
        if (keep) keep[i] = kept;
        if (y) scale(convert, x, y, i, kept ? 1 / (1 - ratio) : 0);
    }
    return TN_OK;
}

/* ---- upgrades ---------------------------------------------------------------------------- */

/* A runtime for inference reads is_test = 0 as an exporter's oversight. */
static tn_status upgrade_dropout_7(const struct tn_rewrite *rw) {
    if (!tn_node_attr(rw->api->node(rw->graph, rw->node), "is_test")) return TN_OK;
    return rw->api->remove_attr(rw->graph, rw->node, "is_test");
}

/* The mask had the type of the data. */
static tn_status upgrade_dropout_10(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    if (node->n_outputs < 2 || node->outputs[1] == TN_NO_ID) return TN_OK;
    const tn_node_id *readers;
    uint32_t n;
    rw->api->consumers(rw->graph, node->outputs[1], &readers, &n);
    if (n == 0 && !rw->api->is_visible(rw->graph, node->outputs[1])) return TN_OK;
    int64_t dtype = rw->api->value_type(rw->graph, node->inputs[0])->dtype;
    tn_value_id fresh, old, cast;
    tn_node_id id;
    struct tn_attr to = {"to", TN_ATTR_INT, 1, {.ints = &dtype}, NULL};
    TN_TRY(rw->api->detach_output(rw->graph, rw->node, 1, &fresh, &old, rw->diag));
    TN_TRY(rw->api->add_node(rw->graph, TN_NO_ID, rw->node, "", "Cast", 0, &fresh, 1, &to,
        1, &cast, 1, &id, rw->diag));
    return rw->api->attach_output(rw->graph, id, 0, old, rw->diag);
}

static tn_status upgrade_dropout_12(const struct tn_rewrite *rw) {
    const struct tn_attr *attr =
        tn_node_attr(rw->api->node(rw->graph, rw->node), "ratio");
    if (!attr || attr->type != TN_ATTR_FLOAT) return TN_OK;
    float ratio = attr->as.floats[0];
    tn_value_id value;
    void *data;
    TN_TRY(rw->api->add_constant(
        rw->graph, "ratio", TN_FLOAT, NULL, 0, &value, &data, rw->diag));
    memcpy(data, &ratio, sizeof ratio);
    TN_TRY(rw->api->set_input(rw->graph, rw->node, 1, value, rw->diag));
    return rw->api->remove_attr(rw->graph, rw->node, "ratio");
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Dropout"),
        TN_VERSIONS({1}, {6, 0, tn__upgrade_drop_consumed}, {7, 0, upgrade_dropout_7},
            {10, 0, upgrade_dropout_10}, {12, 0, upgrade_dropout_12}, {13}, {22}),
        TN_INPUTS({"data", "T"}, {"ratio", "T1", 0, TN_FORMAL_OPTIONAL},
            {"training_mode", NULL, TN_BIT(BOOL), TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output", "T"}, {"mask", NULL, TN_BIT(BOOL), TN_FORMAL_OPTIONAL}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS | TN_TYPES_F8}, {"T1", TN_TYPES_FLOATS | TN_TYPES_F8}),
        TN_ATTRS(dropout), .infer = infer_dropout, .elide = elide_dropout},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Dropout", 22),
        TN_KERNEL_TYPES({"T", TN_TYPES_FLOATS | TN_TYPES_F8}, {"T1", TN_TYPES_FLOATS | TN_TYPES_F8}),
        TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}), .create = create_dropout,
        .compute = compute_dropout},
};
/* clang-format on */

TN_FAMILY(dropout);
