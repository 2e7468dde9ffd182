/* Operators of one operand without a nonlinearity's name: arithmetic, rounding, elementary
 * functions, and the tests of floats. Activations are in activation.c. */
#include "ops/pointwise.h"

#include "kernels/elementwise.h"
#include "kernels/vmath.h"

/* clang-format off */
#define IS_INF_ATTRS(X, S) \
    X(S, INT, detect_negative, 1) \
    X(S, INT, detect_positive, 1)
TN_ATTR_TABLE(is_inf, IS_INF_ATTRS)

#define SINCE_1_6_13 TN_VERSIONS({1}, {6, 0, tn__upgrade_drop_consumed}, {13})
#define SINCE_7_22 TN_VERSIONS({7}, {22})
#define SINCE_9_22 TN_VERSIONS({9}, {22})
#define SINCE_9_13 TN_VERSIONS({9}, {13})
#define SINCE_11_22 TN_VERSIONS({11}, {22})

/* X(operator, versions, newest, input, output, types, area, slot, ns an element) */
#define UNARY_LIST(X) \
    X(Abs, SINCE_1_6_13, 13, "X", "Y", TN_TYPES_NUMBERS, ELEMENTWISE, TN_UNARY_ABS, 0.1) \
    X(Neg, SINCE_1_6_13, 13, "X", "Y", TN_TYPES_FLOATS | TN_TYPES_SIGNED, ELEMENTWISE, TN_UNARY_NEG, 0.1) \
    X(Sign, SINCE_9_13, 13, "input", "output", TN_TYPES_NUMBERS, ELEMENTWISE, TN_UNARY_SIGN, 0.1) \
    X(Sqrt, SINCE_1_6_13, 13, "X", "Y", TN_TYPES_FLOATS, ELEMENTWISE, TN_UNARY_SQRT, 0.3) \
    X(Reciprocal, SINCE_1_6_13, 13, "X", "Y", TN_TYPES_FLOATS, ELEMENTWISE, TN_UNARY_RECIPROCAL, 0.3) \
    X(Floor, SINCE_1_6_13, 13, "X", "Y", TN_TYPES_FLOATS, ELEMENTWISE, TN_UNARY_FLOOR, 0.1) \
    X(Ceil, SINCE_1_6_13, 13, "X", "Y", TN_TYPES_FLOATS, ELEMENTWISE, TN_UNARY_CEIL, 0.1) \
    X(Round, SINCE_11_22, 22, "X", "Y", TN_TYPES_FLOATS, ELEMENTWISE, TN_UNARY_ROUND, 0.1) \
    X(Exp, SINCE_1_6_13, 13, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_EXP, 0.5) \
    X(Log, SINCE_1_6_13, 13, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_LOG, 0.5) \
    X(Erf, SINCE_9_13, 13, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_ERF, 1) \
    X(Sin, SINCE_7_22, 22, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_SIN, 1) \
    X(Cos, SINCE_7_22, 22, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_COS, 1) \
    X(Tan, SINCE_7_22, 22, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_TAN, 15) \
    X(Asin, SINCE_7_22, 22, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_ASIN, 15) \
    X(Acos, SINCE_7_22, 22, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_ACOS, 15) \
    X(Atan, SINCE_7_22, 22, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_ATAN, 15) \
    X(Sinh, SINCE_9_22, 22, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_SINH, 15) \
    X(Cosh, SINCE_9_22, 22, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_COSH, 15) \
    X(Tanh, SINCE_1_6_13, 13, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_TANH, 0.7) \
    X(Asinh, SINCE_9_22, 22, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_ASINH, 15) \
    X(Acosh, SINCE_9_22, 22, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_ACOSH, 15) \
    X(Atanh, SINCE_9_22, 22, "input", "output", TN_TYPES_FLOATS, VMATH, TN_VMATH_ATANH, 15) \
    X(Sigmoid, SINCE_1_6_13, 13, "X", "Y", TN_TYPES_FLOATS, VMATH, TN_VMATH_SIGMOID, 0.7) \
    X(Not, TN_VERSIONS({1}), 1, "X", "Y", TN_BIT(BOOL), ELEMENTWISE, TN_UNARY_NOT, 0.1) \
    X(BitwiseNot, TN_VERSIONS({18}), 18, "X", "Y", TN_TYPES_INTS, ELEMENTWISE, TN_UNARY_NOT, 0.1)

#define UNARY_ROW(op, versions, newest, in, out, types, area, slot, ns) \
    {#op, TN_AREA_##area, slot, ns, NULL, 0, false},
static const struct tn__unary_row rows[] = {
    UNARY_LIST(UNARY_ROW)
    {"IsNaN", TN_AREA_ELEMENTWISE, TN_UNARY_IS_NAN, 0.1, NULL, 0, true},
    {"IsInf", TN_AREA_ELEMENTWISE, TN_UNARY_IS_INF, 0.1, is_inf_attr_fields, 2, true},
};

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    return tn__unary_create(
        ctx, tn__unary_find(rows, TN_COUNT(rows), ctx->node->op_type), out);
}

/* The negative of a short integer content, for shapes. */
static tn_status infer_unary(const struct tn_infer *infer) {
    uint32_t n;
    const int64_t *content;
    TN_TRY(tn_infer_like(infer, 0, 0));
    if (strcmp(infer->node->op_type, "Neg") != 0) return TN_OK;
    content = tn_infer_ints(infer, 0, &n);
    if (!content || n > TN_RANK_MAX) return TN_OK;
    int64_t negated[TN_RANK_MAX];
    for (uint32_t i = 0; i < n; i++)
        negated[i] = infer->dim_op(infer->self, TN_DIM_SUB, 0, content[i]);
    return infer->set_dims_value(infer->self, 0, negated, n);
}

#define UNARY_DEF(op, versions, newest, in, out, types, area, slot, ns) \
    {TN_DEF("", #op), versions, TN_INPUTS({in, "T"}), TN_OUTPUTS({out, "T"}), \
        TN_TYPE_VARS({"T", types}), .infer = infer_unary},
#define TYPES_TESTED (TN_TYPES_FLOATS | TN_TYPES_F8)
static const struct tn_op_def defs[] = {
    UNARY_LIST(UNARY_DEF)
    {TN_DEF("", "IsNaN"), TN_VERSIONS({9}, {13}, {20}), TN_INPUTS({"X", "T1"}),
        TN_OUTPUTS({"Y", "T2"}), TN_TYPE_VARS({"T1", TYPES_TESTED}, {"T2", TN_BIT(BOOL)}),
        .infer = tn__infer_same_bool},
    {TN_DEF("", "IsInf"), TN_VERSIONS({10}, {20}), TN_INPUTS({"X", "T1"}),
        TN_OUTPUTS({"Y", "T2"}), TN_TYPE_VARS({"T1", TYPES_TESTED}, {"T2", TN_BIT(BOOL)}),
        TN_ATTRS(is_inf), .infer = tn__infer_same_bool},
};

#define UNARY_KERNEL(op, versions, newest, in, out, types, area, slot, ns) \
    {TN_UNARY_KERNEL(#op, newest), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}), .create = create},
static const struct tn_kernel_def kernels[] = {
    UNARY_LIST(UNARY_KERNEL)
    {TN_UNARY_KERNEL("IsNaN", 20), .create = create},
    {TN_UNARY_KERNEL("IsInf", 20), .create = create},
};
/* clang-format on */

TN_FAMILY(unary);
