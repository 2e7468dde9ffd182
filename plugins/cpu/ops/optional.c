/* Values that may be there or not: Optional, OptionalHasElement, OptionalGetElement. */
#include "ops/control.h"

#define OPTIONAL_ATTRS(X, S) X(S, TYPE_PROTO, type, )
TN_ATTR_TABLE(optional, OPTIONAL_ATTRS)

/* ---- inference -------------------------------------------------------------------------- */

/* What output 0 holds or would hold: the type of the input, else the attribute's. */
static tn_status element_type(const struct tn_node *node, const struct tn_type *input,
    struct tn_type *out, struct tn_diag *diag) {
    struct optional_attrs attrs;
    TN_TRY(TN_ATTRS_READ(optional, node, &attrs, diag));
    if (!tn_infer_has(node, 0) && !attrs.type.present)
        return tn_fail(diag, TN_INVALID_MODEL,
            "an optional without an element needs the attribute 'type'");
    memset(out, 0, sizeof *out);
    if (tn_infer_has(node, 0)) {
        if (input) *out = *input;
    } else if (attrs.type.n == 1) {
        *out = attrs.type.v[0];
    }
    if (out->kind == TN_KIND_OPTIONAL)
        return tn_fail(diag, TN_INVALID_MODEL, "an optional cannot hold another one");
    return TN_OK;
}

static tn_status infer_optional(const struct tn_infer *infer) {
    struct tn_type type;
    TN_TRY(element_type(infer->node, tn_infer_input(infer, 0), &type, infer->diag));
    if (type.kind != TN_KIND_TENSOR && type.kind != TN_KIND_SEQUENCE) return TN_OK;
    type.elem_kind = type.kind;
    type.kind = TN_KIND_OPTIONAL;
    return infer->set_type(infer->self, 0, &type);
}

static tn_status infer_has(const struct tn_infer *infer) {
    return tn_infer_set(infer, 0, TN_BOOL, 0, NULL);
}

static tn_status infer_get(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    if (!in) return TN_OK;
    struct tn_type type = *in;
    if (type.kind == TN_KIND_OPTIONAL) {
        type.kind = in->elem_kind;
        type.elem_kind = type.kind == TN_KIND_SEQUENCE ? TN_KIND_TENSOR : 0;
    }
    return type.kind == TN_KIND_ABSENT ? TN_OK : infer->set_type(infer->self, 0, &type);
}

/* The element of a value that is no optional is the value itself. */
static int32_t elide_get(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    return in && in->kind != TN_KIND_OPTIONAL ? 0 : -1;
}

/* ---- kernels ---------------------------------------------------------------------------- */

struct optional_kernel {
    struct tn__kernel base;
    struct tn_optional none;
};

static tn_status create_optional(const struct tn_kernel_ctx *ctx, void **out) {
    struct tn_type type;
    const struct tn_type *input = ctx->node->n_inputs ? &ctx->inputs[0] : NULL;
    TN_TRY(element_type(ctx->node, input, &type, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct optional_kernel), out));
    struct optional_kernel *kernel = *out;
    kernel->none.elem_kind = type.kind;
    kernel->none.elem_dtype = type.dtype;
    return TN_OK;
}

static tn_status compute_optional(void *object, const struct tn_run_args *args) {
    const struct optional_kernel *kernel = object;
    struct tn_optional optional = kernel->none;
    if (args->n_inputs > 0 && args->inputs[0].kind != TN_KIND_ABSENT) {
        optional.value = args->inputs[0];
        optional.elem_kind = optional.value.kind;
        if (optional.value.kind == TN_KIND_TENSOR)
            optional.elem_dtype = optional.value.as.tensor->dtype;
    }
    const struct tn_value_ref value = {TN_KIND_OPTIONAL, 0, {&optional}};
    return args->run->output_set(args->run, args, 0, &value);
}

/* The element of input 0, NULL when there is none. */
static const struct tn_value_ref *element_in(const struct tn_run_args *args) {
    if (args->n_inputs == 0) return NULL;
    const struct tn_value_ref *value = &args->inputs[0];
    if (value->kind == TN_KIND_OPTIONAL) value = &value->as.optional->value;
    return value->kind == TN_KIND_ABSENT ? NULL : value;
}

static tn_status compute_has(void *object, const struct tn_run_args *args) {
    struct tn_tensor *out;
    (void)object;
    TN_TRY(tn_out_shaped(args, 0, TN_BOOL, NULL, 0, &out));
    *(uint8_t *)out->data = element_in(args) != NULL;
    return TN_OK;
}

static tn_status compute_get(void *object, const struct tn_run_args *args) {
    const struct tn_value_ref *value = element_in(args);
    (void)object;
    if (!value)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "the optional has no element; ask OptionalHasElement first");
    return tn__control_emit(args, 0, value);
}

/* ---- tables ----------------------------------------------------------------------------- */

/* clang-format off */
#define SEQUENCE_BIT (UINT64_C(1) << 63)
#define ELEMENTS {"V", TN_TYPES_ALL, TN_TYPES_ALL}
#define OPTIONALS {"O", 0, 0, TN_TYPES_ALL | SEQUENCE_BIT}
#define EITHER {"O", TN_TYPES_ALL, TN_TYPES_ALL, TN_TYPES_ALL | SEQUENCE_BIT}
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Optional"), TN_VERSIONS({15}, {28}),
        TN_INPUTS({"input", "V", 0, TN_FORMAL_OPTIONAL}), TN_OUTPUTS({"output", "O"}),
        TN_TYPE_VARS(ELEMENTS, OPTIONALS), TN_ATTRS(optional), .infer = infer_optional},
    {TN_DEF("", "OptionalHasElement"), TN_VERSIONS({15}, {18}, {28}),
        TN_INPUTS({"input", "O", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output", NULL, TN_BIT(BOOL)}),
        TN_TYPE_VARS(EITHER), .infer = infer_has},
    {TN_DEF("", "OptionalGetElement"), TN_VERSIONS({15}, {18}, {28}),
        TN_INPUTS({"input", "O"}), TN_OUTPUTS({"output", "V"}),
        TN_TYPE_VARS(EITHER, ELEMENTS), .infer = infer_get, .elide = elide_get},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Optional", 28), .create = create_optional, .compute = compute_optional},
    {TN_KERNEL("", "OptionalHasElement", 28), .compute = compute_has},
    {TN_KERNEL("", "OptionalGetElement", 28), .compute = compute_get},
};
/* clang-format on */

TN_FAMILY(optional);
