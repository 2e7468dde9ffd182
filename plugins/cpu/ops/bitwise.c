/* Bits of integers: BitwiseAnd BitwiseOr BitwiseXor BitShift. (BitwiseNot is in unary.c.) */
#include "ops/broadcast.h"

/* clang-format off */
#define SHIFT_ATTRS(X, S) X(S, STRING_REQUIRED, direction, )
TN_ATTR_TABLE(shift, SHIFT_ATTRS)

static const struct tn__binary_row rows[] = {
    {"BitwiseAnd", TN_BINARY_AND, 0.15, false},
    {"BitwiseOr", TN_BINARY_OR, 0.15, false},
    {"BitwiseXor", TN_BINARY_XOR, 0.15, false},
};
static const struct tn__binary_row left_row = {"BitShift", TN_BINARY_SHL, 0.3, false};
static const struct tn__binary_row right_row = {"BitShift", TN_BINARY_SHR, 0.3, false};
/* clang-format on */

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    return tn__binary_create(ctx, rows, TN_COUNT(rows), out);
}

static tn_status create_shift(const struct tn_kernel_ctx *ctx, void **out) {
    struct shift_attrs attrs;
    TN_TRY(TN_ATTRS_READ(shift, ctx->node, &attrs, ctx->diag));
    bool left = tn_string_is(attrs.direction, "LEFT");
    if (!left && !tn_string_is(attrs.direction, "RIGHT"))
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'direction' is neither 'LEFT' nor 'RIGHT'");
    return tn__binary_create(ctx, left ? &left_row : &right_row, 1, out);
}

/* clang-format off */
#define BITWISE(name) \
    {TN_DEF("", name), TN_VERSIONS({18}), TN_INPUTS({"A", "T"}, {"B", "T"}), \
        TN_OUTPUTS({"C", "T"}), TN_TYPE_VARS({"T", TN_TYPES_INTS}), .infer = tn__infer_binary}
static const struct tn_op_def defs[] = {
    BITWISE("BitwiseAnd"), BITWISE("BitwiseOr"), BITWISE("BitwiseXor"),
    {TN_DEF("", "BitShift"), TN_VERSIONS({11}, {28}),
        TN_INPUTS({"X", "T"}, {"Y", "T"}), TN_OUTPUTS({"Z", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_INTS}), TN_ATTRS(shift), .infer = tn__infer_binary},
};

#define BITWISE_KERNEL(name, newest, creator) \
    {TN_BINARY_KERNEL(name, newest), .create = creator, \
        TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}, {1, 0, TN_INPLACE_OVERWRITE})}
static const struct tn_kernel_def kernels[] = {
    BITWISE_KERNEL("BitwiseAnd", 18, create), BITWISE_KERNEL("BitwiseOr", 18, create),
    BITWISE_KERNEL("BitwiseXor", 18, create), BITWISE_KERNEL("BitShift", 28, create_shift),
};
/* clang-format on */

TN_FAMILY(bitwise);
