/* Conversions of element types: Cast, CastLike, BitCast. Numbers go through the conversion
 * kernels; text is in cast_text.c. */
#include "kernels/convert.h"
#include "loops/convert_block.h"
#include "ops/cast_text.h"
#include "ops/ops.h"

/* clang-format off */
#define CAST_ATTRS(X, S) \
    X(S, INT_REQUIRED, to, ) X(S, INT, saturate, 1) X(S, STRING, round_mode, "up")
#define CAST_LIKE_ATTRS(X, S) X(S, INT, saturate, 1) X(S, STRING, round_mode, "up")
#define BIT_CAST_ATTRS(X, S) X(S, INT_REQUIRED, to, )
TN_ATTR_TABLE(cast, CAST_ATTRS)
TN_ATTR_TABLE(cast_like, CAST_LIKE_ATTRS)
TN_ATTR_TABLE(bit_cast, BIT_CAST_ATTRS)
/* clang-format on */

/* ---- upgrades ------------------------------------------------------------------------- */

static bool same_letters(struct tn_string text, const char *name) {
    size_t n = strlen(name);
    if (text.size != n) return false;
    for (size_t i = 0; i < n; i++) {
        char c = text.data[i];
        if ((c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) != name[i]) return false;
    }
    return true;
}

/* Cast-6: `to` was the name of a type and became its number. */
static tn_status upgrade_cast_6(const struct tn_rewrite *rw) {
    const struct tn_attr *to = tn_node_attr(rw->api->node(rw->graph, rw->node), "to");
    if (!to || to->type != TN_ATTR_STRING || to->count != 1) return TN_OK;
    for (int64_t dtype = 1; dtype < TN_DTYPE_COUNT; dtype++) {
        if (!same_letters(to->as.strings[0], tn_dtype_name((int32_t)dtype))) continue;
        struct tn_attr attr = {
            .name = "to", .type = TN_ATTR_INT, .count = 1, .as.ints = &dtype};
        return rw->api->set_attr(rw->graph, rw->node, &attr, rw->diag);
    }
    return tn_fail(rw->diag, TN_INVALID_MODEL, "attribute 'to' names no element type");
}

/* ---- inference ------------------------------------------------------------------------ */

static tn_status check_type(int64_t to, struct tn_diag *diag) {
    if (to > 0 && to < TN_DTYPE_COUNT) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "attribute 'to' is %lld, which is no element type known here", (long long)to);
}

static tn_status infer_to(const struct tn_infer *infer, int32_t dtype) {
    uint32_t n;
    const struct tn_type *in = tn_infer_input(infer, 0);
    TN_TRY(tn_infer_shape_like(infer, 0, 0, dtype));
    if (!in || !(TN_TYPES_INDEX >> in->dtype & 1) || !(TN_TYPES_INDEX >> dtype & 1))
        return TN_OK;
    const int64_t *content = tn_infer_ints(infer, 0, &n);
    return content ? infer->set_dims_value(infer->self, 0, content, n) : TN_OK;
}

static tn_status infer_cast(const struct tn_infer *infer) {
    struct cast_attrs attrs;
    TN_TRY(TN_ATTRS_READ(cast, infer->node, &attrs, infer->diag));
    TN_TRY(check_type(attrs.to, infer->diag));
    return infer_to(infer, (int32_t)attrs.to);
}

static tn_status infer_cast_like(const struct tn_infer *infer) {
    const struct tn_type *target = tn_infer_input(infer, 1);
    return target ? infer_to(infer, target->dtype) : TN_OK;
}

static tn_status infer_bit_cast(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct bit_cast_attrs attrs;
    TN_TRY(TN_ATTRS_READ(bit_cast, infer->node, &attrs, infer->diag));
    TN_TRY(check_type(attrs.to, infer->diag));
    if (in && tn_dtype_bits(in->dtype) != tn_dtype_bits((int32_t)attrs.to))
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "%s has not the width of %s, which keeping the bits needs",
            tn_dtype_name((int32_t)attrs.to), tn_dtype_name(in->dtype));
    return tn_infer_shape_like(infer, 0, 0, (int32_t)attrs.to);
}

static int32_t elide_same_type(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    const struct tn_attr *to = tn_node_attr(infer->node, "to");
    const struct tn_type *like = to ? NULL : tn_infer_input(infer, 1);
    if (!in || (!to && !like)) return -1;
    if (to && (to->type != TN_ATTR_INT || to->count < 1)) return -1;
    return (to ? to->as.ints[0] : like->dtype) == in->dtype ? 0 : -1;
}

/* CastLike by Cast, once the target's type is known. */
static tn_status expand_cast_like(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    const struct tn_type *target = rw->api->value_type(rw->graph, node->inputs[1]);
    if (target->kind != TN_KIND_TENSOR || target->dtype <= 0)
        return tn_fail(rw->diag, TN_UNSUPPORTED, "the target's type is not known");
    int64_t to = target->dtype;
    struct tn_attr attrs[3] = {
        {.name = "to", .type = TN_ATTR_INT, .count = 1, .as.ints = &to}};
    uint32_t n_attrs = 1;
    for (uint32_t i = 0; i < node->n_attrs && n_attrs < 3; i++)
        attrs[n_attrs++] = node->attrs[i];
    tn_value_id input = node->inputs[0], cast;
    tn_node_id id;
    TN_TRY(rw->api->add_node(rw->graph, rw->node, rw->node, "", "Cast", 0, &input, 1,
        attrs, n_attrs, &cast, 1, &id, rw->diag));
    return tn__expand_done(rw, cast);
}

/* ---- kernel --------------------------------------------------------------------------- */

struct cast_kernel {
    struct tn__kernel base;
    int32_t from, to;
    struct tn_convert_options options;
};

static tn_status setup(const struct tn_kernel_ctx *ctx, struct cast_kernel *kernel) {
    static const char *const modes[] = {
        "up", "down", "nearest"}; /* enum tn_convert_round */
    struct cast_like_attrs attrs;
    uint32_t mode = 0;
    TN_TRY(TN_ATTRS_READ(cast_like, ctx->node, &attrs, ctx->diag));
    while (mode < 3 && !tn_string_is(attrs.round_mode, modes[mode]))
        mode++;
    if (mode == 3)
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'round_mode' is none of up, down, nearest");
    kernel->options.saturate = attrs.saturate != 0;
    kernel->options.round = (enum tn_convert_round)mode;
    kernel->from = ctx->inputs[0].dtype;
    kernel->to = ctx->outputs[0].dtype;
    bool text = kernel->from == TN_STRING || kernel->to == TN_STRING;
    if (kernel->from == kernel->to) return TN_OK;
    if (text ? tn__text_castable(kernel->from, kernel->to)
             : tn_convert_exists(&kernel->base.cpu->convert, kernel->to, kernel->from))
        return TN_OK;
    return tn_fail(ctx->diag, TN_UNSUPPORTED, "no conversion from %s to %s",
        tn_dtype_name(kernel->from), tn_dtype_name(kernel->to));
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct cast_kernel), out));
    return tn_kernel_ready(setup(ctx, *out), out);
}

static tn_status compute(void *object, const struct tn_run_args *args) {
    const struct cast_kernel *kernel = object;
    const struct tn_tensor *in = args->inputs[0].as.tensor;
    struct tn_tensor *out = args->outputs[0].as.tensor;
    if (kernel->from == kernel->to) {
        if (in->size > 0) memmove(out->data, in->data, in->size);
        return TN_OK;
    }
    if (kernel->from == TN_STRING) return tn__text_to_numbers(in, out, args->run->diag);
    if (kernel->to == TN_STRING) return tn__numbers_to_text(args->run, in, out);
    tn__convert_block(kernel->base.cpu, kernel->to, out->data, kernel->from, in->data,
        tn_tensor_count(in), &kernel->options);
    return TN_OK;
}

static tn_status compute_bits(void *kernel, const struct tn_run_args *args) {
    const struct tn_tensor *in = args->inputs[0].as.tensor;
    struct tn_tensor *out = args->outputs[0].as.tensor;
    (void)kernel;
    if (in->size > 0 && in->data != out->data) memmove(out->data, in->data, in->size);
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
#define TYPES_CAST (TN_TYPES_ALL & ~TN_TYPES_COMPLEX)
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Cast"),
        TN_VERSIONS({1}, {6, 0, upgrade_cast_6}, {9}, {13}, {19}, {21}, {23}, {24}, {25}, {28}),
        TN_INPUTS({"input", "T1"}), TN_OUTPUTS({"output", "T2"}),
        TN_TYPE_VARS({"T1", TYPES_CAST}, {"T2", TYPES_CAST}), TN_ATTRS(cast),
        .infer = infer_cast, .elide = elide_same_type},
    {TN_DEF("", "CastLike"), TN_VERSIONS({15}, {19}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"input", "T1"}, {"target_type", "T2"}), TN_OUTPUTS({"output", "T2"}),
        TN_TYPE_VARS({"T1", TYPES_CAST}, {"T2", TYPES_CAST}), TN_ATTRS(cast_like),
        .infer = infer_cast_like, .elide = elide_same_type, .expand = expand_cast_like},
    {TN_DEF("", "BitCast"), TN_VERSIONS({26}),
        TN_INPUTS({"input", "T1"}), TN_OUTPUTS({"output", "T2"}),
        TN_TYPE_VARS({"T1", TN_TYPES_ALL & ~TN_BIT(STRING)}, {"T2", TN_TYPES_ALL & ~TN_BIT(STRING)}),
        TN_ATTRS(bit_cast), .infer = infer_bit_cast, .elide = elide_same_type},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Cast", 28), .create = create, .compute = compute},
    {TN_KERNEL("", "CastLike", 25), .create = create, .compute = compute},
    {TN_KERNEL("", "BitCast", 26), TN_INPLACE({0, 0, TN_INPLACE_VIEW}), .compute = compute_bits},
};
/* clang-format on */

TN_FAMILY(cast);
