/* Activations: named nonlinearities of one operand. All are functions by the standard, so
 * each also has its body for providers that lack the whole. */
#include "ops/pointwise.h"

#include "kernels/elementwise.h"
#include "kernels/vmath.h"

/* clang-format off */
#define ALPHA_1_ATTRS(X, S) X(S, FLOAT, alpha, 1.0f)
#define LEAKY_RELU_ATTRS(X, S) X(S, FLOAT, alpha, 0.01f)
#define HARD_SIGMOID_ATTRS(X, S) X(S, FLOAT, alpha, 0.2f) X(S, FLOAT, beta, 0.5f)
#define SELU_ATTRS(X, S) \
    X(S, FLOAT, alpha, 1.67326319217681884765625f) \
    X(S, FLOAT, gamma, 1.05070102214813232421875f)
#define SHRINK_ATTRS(X, S) X(S, FLOAT, lambd, 0.5f) X(S, FLOAT, bias, 0.0f)
#define GELU_ATTRS(X, S) X(S, STRING, approximate, "none")
TN_ATTR_TABLE(alpha_1, ALPHA_1_ATTRS)
TN_ATTR_TABLE(leaky_relu, LEAKY_RELU_ATTRS)
TN_ATTR_TABLE(hard_sigmoid, HARD_SIGMOID_ATTRS)
TN_ATTR_TABLE(selu, SELU_ATTRS)
TN_ATTR_TABLE(shrink, SHRINK_ATTRS)
TN_ATTR_TABLE(gelu, GELU_ATTRS)

/* ---- upgrades ------------------------------------------------------------------------- */

/* Selu-6: the defaults gained digits; a node that relied on the old ones keeps them. */
static tn_status upgrade_selu_6(const struct tn_rewrite *rw) {
    static const struct { const char *name; float value; } old[] = {
        {"alpha", 1.6732f}, {"gamma", 1.0507f}};
    for (size_t i = 0; i < TN_COUNT(old); i++) {
        if (tn_node_attr(rw->api->node(rw->graph, rw->node), old[i].name)) continue;
        struct tn_attr attr = {
            .name = old[i].name, .type = TN_ATTR_FLOAT, .count = 1, .as.floats = &old[i].value};
        TN_TRY(rw->api->set_attr(rw->graph, rw->node, &attr, rw->diag));
    }
    return tn__upgrade_drop_consumed(rw);
}

/* ---- rows ----------------------------------------------------------------------------- */

static const struct tn__unary_row rows[] = {
    {"Relu", TN_AREA_ELEMENTWISE, TN_UNARY_RELU, 0.1, NULL, 0, false},
    {"LeakyRelu", TN_AREA_ELEMENTWISE, TN_UNARY_LEAKYRELU, 0.1, leaky_relu_attr_fields, 1, false},
    {"ThresholdedRelu", TN_AREA_ELEMENTWISE, TN_UNARY_THRESHOLDEDRELU, 0.1, alpha_1_attr_fields, 1, false},
    {"HardSigmoid", TN_AREA_ELEMENTWISE, TN_UNARY_HARDSIGMOID, 0.1, hard_sigmoid_attr_fields, 2, false},
    {"HardSwish", TN_AREA_ELEMENTWISE, TN_UNARY_HARDSWISH, 0.1, NULL, 0, false},
    {"Elu", TN_AREA_VMATH, TN_VMATH_ELU, 0.7, alpha_1_attr_fields, 1, false},
    {"Celu", TN_AREA_VMATH, TN_VMATH_CELU, 0.7, alpha_1_attr_fields, 1, false},
    {"Selu", TN_AREA_VMATH, TN_VMATH_SELU, 0.7, selu_attr_fields, 2, false},
    {"Softplus", TN_AREA_VMATH, TN_VMATH_SOFTPLUS, 1, NULL, 0, false},
    {"Softsign", TN_AREA_ELEMENTWISE, TN_UNARY_SOFTSIGN, 0.3, NULL, 0, false},
    {"Mish", TN_AREA_VMATH, TN_VMATH_MISH, 1.5, NULL, 0, false},
    {"Swish", TN_AREA_VMATH, TN_VMATH_SWISH, 0.8, alpha_1_attr_fields, 1, false},
    {"Shrink", TN_AREA_ELEMENTWISE, TN_UNARY_SHRINK, 0.1, shrink_attr_fields, 2, false},
};
static const struct tn__unary_row gelu_rows[] = {
    {"none", TN_AREA_VMATH, TN_VMATH_GELU, 1.2, NULL, 0, false},
    {"tanh", TN_AREA_VMATH, TN_VMATH_GELU_TANH, 1, NULL, 0, false},
};
/* clang-format on */

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    return tn__unary_create(
        ctx, tn__unary_find(rows, TN_COUNT(rows), ctx->node->op_type), out);
}

static tn_status create_gelu(const struct tn_kernel_ctx *ctx, void **out) {
    struct gelu_attrs attrs;
    TN_TRY(TN_ATTRS_READ(gelu, ctx->node, &attrs, ctx->diag));
    for (uint32_t i = 0; i < TN_COUNT(gelu_rows); i++)
        if (tn_string_is(attrs.approximate, gelu_rows[i].op_type))
            return tn__unary_create(ctx, &gelu_rows[i], out);
    return tn_fail(ctx->diag, TN_INVALID_MODEL,
        "attribute 'approximate' is '%.*s', expected 'none' or 'tanh'",
        (int)(attrs.approximate.size > 64 ? 64 : attrs.approximate.size),
        attrs.approximate.data);
}

/* ---- bodies --------------------------------------------------------------------------- */

/* x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). */
static tn_status expand_gelu(const struct tn_rewrite *rw) {
    tn_value_id x = rw->api->node(rw->graph, rw->node)->inputs[0], factor, inner = x,
                half, one;
    struct gelu_attrs attrs;
    TN_TRY(TN_ATTRS_READ(gelu, rw->api->node(rw->graph, rw->node), &attrs, rw->diag));
    bool tangent = tn_string_is(attrs.approximate, "tanh");
    if (tangent) {
        tn_value_id square, cubic;
        TN_TRY(tn__expand_scalar(rw, 0.044715f, x, &factor));
        TN_TRY(tn__expand_node(rw, "Mul", x, x, &square));
        TN_TRY(tn__expand_node(rw, "Mul", square, x, &cubic));
        TN_TRY(tn__expand_node(rw, "Mul", cubic, factor, &cubic));
        TN_TRY(tn__expand_node(rw, "Add", x, cubic, &inner));
    }
    TN_TRY(tn__expand_scalar(rw, tangent ? 0.7978845608f : 0.7071067812f, x, &factor));
    TN_TRY(tn__expand_scalar(rw, 0.5f, x, &half));
    TN_TRY(tn__expand_scalar(rw, 1.0f, x, &one));
    TN_TRY(tn__expand_node(rw, "Mul", inner, factor, &inner));
    TN_TRY(tn__expand_node(rw, tangent ? "Tanh" : "Erf", inner, TN_NO_ID, &inner));
    TN_TRY(tn__expand_node(rw, "Add", inner, one, &inner));
    TN_TRY(tn__expand_node(rw, "Mul", inner, x, &inner));
    TN_TRY(tn__expand_node(rw, "Mul", inner, half, &inner));
    return tn__expand_done(rw, inner);
}

/* clang-format off */
#define TEXT_CONSTANT(name, literal) \
    name "_f = Constant <value_float: float = " literal "> ()\n" \
    name " = CastLike (" name "_f, X)\n"
#define TEXT_ATTR(name, attr) \
    name "_f = Constant <value_float: float = @" attr "> ()\n" \
    name " = CastLike (" name "_f, X)\n"
static const char relu_text[] =
    TN_BODY "f (X) => (Y) {\n" TEXT_CONSTANT("zero", "0.0") "Y = Max (X, zero)\n}";
static const char leaky_relu_text[] =
    TN_BODY "f <alpha: float = 0.01> (X) => (Y) {\n" TEXT_ATTR("a", "alpha") TEXT_CONSTANT("zero", "0.0")
    "negative = Less (X, zero)\nscaled = Mul (X, a)\nY = Where (negative, scaled, X)\n}";
static const char thresholded_relu_text[] =
    TN_BODY "f <alpha: float = 1.0> (X) => (Y) {\n" TEXT_ATTR("a", "alpha") TEXT_CONSTANT("zero", "0.0")
    "above = Greater (X, a)\nY = Where (above, X, zero)\n}";
static const char hard_sigmoid_text[] =
    TN_BODY "f <alpha: float = 0.2, beta: float = 0.5> (X) => (Y) {\n"
    TEXT_ATTR("a", "alpha") TEXT_ATTR("b", "beta") TEXT_CONSTANT("zero", "0.0") TEXT_CONSTANT("one", "1.0")
    "scaled = Mul (X, a)\nshifted = Add (scaled, b)\nbelow = Min (shifted, one)\n"
    "Y = Max (below, zero)\n}";
static const char hard_swish_text[] =
    TN_BODY "f (X) => (Y) {\ngate = HardSigmoid <alpha: float = 0.16666667, beta: float = 0.5> (X)\n"
    "Y = Mul (X, gate)\n}";
#define TEXT_ELU_PART(argument) \
    "e = Exp (" argument ")\nm = Sub (e, one)\n"
static const char elu_text[] =
    TN_BODY "f <alpha: float = 1.0> (X) => (Y) {\n" TEXT_ATTR("a", "alpha") TEXT_CONSTANT("zero", "0.0")
    TEXT_CONSTANT("one", "1.0") TEXT_ELU_PART("X")
    "scaled = Mul (m, a)\nnegative = Less (X, zero)\nY = Where (negative, scaled, X)\n}";
static const char celu_text[] =
    TN_BODY "f <alpha: float = 1.0> (X) => (Y) {\n" TEXT_ATTR("a", "alpha")
    "ratio = Div (X, a)\nunit = Elu <alpha: float = 1.0> (ratio)\nY = Mul (unit, a)\n}";
static const char selu_text[] =
    TN_BODY "f <alpha: float = 1.6732632, gamma: float = 1.050701> (X) => (Y) {\n"
    TEXT_ATTR("a", "alpha") TEXT_ATTR("g", "gamma") TEXT_CONSTANT("zero", "0.0") TEXT_CONSTANT("one", "1.0")
    TEXT_ELU_PART("X") "scaled = Mul (m, a)\nnegative = Less (X, zero)\n"
    "inner = Where (negative, scaled, X)\nY = Mul (inner, g)\n}";
/* log(1 + exp(x)) overflows; max(x, 0) + log(1 + exp(-|x|)) does not. */
static const char softplus_text[] =
    TN_BODY "f (X) => (Y) {\n" TEXT_CONSTANT("zero", "0.0") TEXT_CONSTANT("one", "1.0")
    "positive = Max (X, zero)\nmagnitude = Abs (X)\nnegated = Neg (magnitude)\n"
    "e = Exp (negated)\nsum = Add (e, one)\nl = Log (sum)\nY = Add (positive, l)\n}";
static const char softsign_text[] =
    TN_BODY "f (X) => (Y) {\n" TEXT_CONSTANT("one", "1.0")
    "magnitude = Abs (X)\nsum = Add (magnitude, one)\nY = Div (X, sum)\n}";
static const char mish_text[] =
    TN_BODY "f (X) => (Y) {\nsoft = Softplus (X)\ngate = Tanh (soft)\nY = Mul (X, gate)\n}";
static const char swish_text[] =
    TN_BODY "f <alpha: float = 1.0> (X) => (Y) {\n" TEXT_ATTR("a", "alpha")
    "scaled = Mul (X, a)\ngate = Sigmoid (scaled)\nY = Mul (X, gate)\n}";
static const char shrink_text[] =
    TN_BODY "f <lambd: float = 0.5, bias: float = 0.0> (X) => (Y) {\n"
    TEXT_ATTR("l", "lambd") TEXT_ATTR("b", "bias") TEXT_CONSTANT("zero", "0.0")
    "low = Sub (zero, l)\nbelow = Less (X, low)\nabove = Greater (X, l)\nraised = Add (X, b)\n"
    "lowered = Sub (X, b)\nrest = Where (above, lowered, zero)\nY = Where (below, raised, rest)\n}";
static const char swiglu_text[] =
    TN_BODY "f <alpha: float = 1.0> (A, B) => (Y) {\ngate = Swish <alpha: float = @alpha> (A)\n"
    "Y = Mul (gate, B)\n}";

/* ---- tables --------------------------------------------------------------------------- */

#define ACTIVATION(name, in, out, types, versions) \
    TN_DEF("", name), versions, TN_INPUTS({in, "T"}), TN_OUTPUTS({out, "T"}), \
        TN_TYPE_VARS({"T", types}), .infer = tn__infer_same
#define FROM_1_6(...) TN_VERSIONS({1}, {6, 0, tn__upgrade_drop_consumed}, __VA_ARGS__)
#define TYPES_SHRINK (TN_TYPES_F16_UP | TN_TYPES_INTS)
static const struct tn_op_def defs[] = {
    {ACTIVATION("Relu", "X", "Y", TN_TYPES_FLOATS | TN_TYPES_SIGNED, FROM_1_6({13}, {14})),
        .expansion = relu_text},
    {ACTIVATION("LeakyRelu", "X", "Y", TN_TYPES_FLOATS, FROM_1_6({16})), TN_ATTRS(leaky_relu),
        .expansion = leaky_relu_text},
    {ACTIVATION("ThresholdedRelu", "X", "Y", TN_TYPES_FLOATS, TN_VERSIONS({10}, {22})),
        TN_ATTRS(alpha_1), .expansion = thresholded_relu_text},
    {ACTIVATION("HardSigmoid", "X", "Y", TN_TYPES_FLOATS, FROM_1_6({22})), TN_ATTRS(hard_sigmoid),
        .expansion = hard_sigmoid_text},
    {ACTIVATION("HardSwish", "X", "Y", TN_TYPES_FLOATS, TN_VERSIONS({14}, {22})),
        .expansion = hard_swish_text},
    {ACTIVATION("Elu", "X", "Y", TN_TYPES_FLOATS, FROM_1_6({22})), TN_ATTRS(alpha_1),
        .expansion = elu_text},
    {ACTIVATION("Celu", "X", "Y", TN_TYPES_FLOATS, TN_VERSIONS({12}, {28})), TN_ATTRS(alpha_1),
        .expansion = celu_text},
    {ACTIVATION("Selu", "X", "Y", TN_TYPES_FLOATS, TN_VERSIONS({1}, {6, 0, upgrade_selu_6}, {22})),
        TN_ATTRS(selu), .expansion = selu_text},
    {ACTIVATION("Softplus", "X", "Y", TN_TYPES_FLOATS, TN_VERSIONS({1}, {22})),
        .expansion = softplus_text},
    {ACTIVATION("Softsign", "input", "output", TN_TYPES_FLOATS, TN_VERSIONS({1}, {22})),
        .expansion = softsign_text},
    {ACTIVATION("Mish", "X", "Y", TN_TYPES_FLOATS, TN_VERSIONS({18}, {22})), .expansion = mish_text},
    {ACTIVATION("Swish", "X", "Y", TN_TYPES_FLOATS, TN_VERSIONS({24})), TN_ATTRS(alpha_1),
        .expansion = swish_text},
    {ACTIVATION("Shrink", "input", "output", TYPES_SHRINK, TN_VERSIONS({9})), TN_ATTRS(shrink),
        .expansion = shrink_text},
    {ACTIVATION("Gelu", "X", "Y", TN_TYPES_FLOATS, TN_VERSIONS({20})), TN_ATTRS(gelu), .expand = expand_gelu},
    {TN_DEF("", "SwiGLU"), TN_VERSIONS({28}), TN_INPUTS({"A", "T"}, {"B", "T"}),
        TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_TYPES_FLOATS}), TN_ATTRS(alpha_1),
        .infer = tn__infer_same, .expansion = swiglu_text},
};

#define ACTIVATION_KERNEL(name, newest) \
    {TN_UNARY_KERNEL(name, newest), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}), .create = create}
static const struct tn_kernel_def kernels[] = {
    ACTIVATION_KERNEL("Relu", 14), ACTIVATION_KERNEL("LeakyRelu", 16),
    ACTIVATION_KERNEL("ThresholdedRelu", 22), ACTIVATION_KERNEL("HardSigmoid", 22),
    ACTIVATION_KERNEL("HardSwish", 22), ACTIVATION_KERNEL("Elu", 22),
    ACTIVATION_KERNEL("Celu", 28), ACTIVATION_KERNEL("Selu", 22),
    ACTIVATION_KERNEL("Softplus", 22), ACTIVATION_KERNEL("Softsign", 22),
    ACTIVATION_KERNEL("Mish", 22), ACTIVATION_KERNEL("Swish", 24),
    {TN_UNARY_KERNEL("Shrink", 9), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}), .create = create,
        TN_KERNEL_TYPES({"T", TN_TYPES_F16_UP})},
    {TN_UNARY_KERNEL("Gelu", 20), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}), .create = create_gelu},
};
/* clang-format on */

TN_FAMILY(nonlinear);
