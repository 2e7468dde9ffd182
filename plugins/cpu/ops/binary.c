/* Arithmetic of two operands: Add Sub Mul Div Mod PRelu. Pow, whose operands may differ in
 * type, is in pow.c. */
#include "ops/broadcast.h"

/* clang-format off */
#define MOD_ATTRS(X, S) X(S, INT, fmod, 0)
TN_ATTR_TABLE(mod, MOD_ATTRS)

static const struct tn__binary_row rows[] = {
    {"Add", TN_BINARY_ADD, 0.15, false},
    {"Sub", TN_BINARY_SUB, 0.15, false},
    {"Mul", TN_BINARY_MUL, 0.15, false},
    {"Div", TN_BINARY_DIV, 0.4, false},
    {"PRelu", TN_BINARY_PRELU, 0.2, false},
};
static const struct tn__binary_row mod_rows[] = {
    {"Mod", TN_BINARY_MOD, 5, false},
    {"Mod", TN_BINARY_FMOD, 5, false},
};
/* clang-format on */

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    return tn__binary_create(ctx, rows, TN_COUNT(rows), out);
}

static tn_status create_mod(const struct tn_kernel_ctx *ctx, void **out) {
    struct mod_attrs attrs;
    TN_TRY(TN_ATTRS_READ(mod, ctx->node, &attrs, ctx->diag));
    return tn__binary_create(ctx, &mod_rows[attrs.fmod != 0], 1, out);
}

/* ---- upgrades ------------------------------------------------------------------------- */

/* PRelu-7: a slope of one value a channel lay along axis 1; since then it broadcasts from
 * the right. */
static tn_status upgrade_prelu_7(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    if (node->n_inputs != 2) return TN_OK;
    const struct tn_type *x = rw->api->value_type(rw->graph, node->inputs[0]);
    const struct tn_type *slope = rw->api->value_type(rw->graph, node->inputs[1]);
    if (slope->kind == TN_KIND_ABSENT || slope->rank != 1 || slope->dims[0] == 1)
        return TN_OK;
    if (x->kind == TN_KIND_ABSENT || x->rank < 0)
        return tn_fail(rw->diag, TN_UNSUPPORTED,
            "a slope for each channel needs an input of known rank before version 7");
    return tn__upgrade_append_axes(rw, 1, 1, x->rank - 2);
}

/* ---- inference ------------------------------------------------------------------------ */

/* Where the operator is integer arithmetic on shapes, the content follows too. */
static tn_status infer_arithmetic(const struct tn_infer *infer) {
    static const struct {
        const char *op_type;
        uint32_t op;
    } contents[] = {{"Add", TN_DIM_ADD}, {"Sub", TN_DIM_SUB}, {"Mul", TN_DIM_MUL},
        {"Div", TN_DIM_DIV}, {"Mod", TN_DIM_MOD}};
    TN_TRY(tn__infer_binary(infer));
    for (uint32_t i = 0; i < TN_COUNT(contents); i++)
        if (strcmp(contents[i].op_type, infer->node->op_type) == 0)
            return tn__infer_content(infer, contents[i].op);
    return TN_OK;
}

/* The slope broadcasts to X, not the other way round. */
static tn_status infer_prelu(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
static const char prelu_text[] =
    TN_BODY "f (X, slope) => (Y) {\n"
    "zero_f = Constant <value_float: float = 0.0> ()\nzero = CastLike (zero_f, X)\n"
    "negative = Less (X, zero)\nscaled = Mul (X, slope)\nY = Where (negative, scaled, X)\n}";

#define ARITHMETIC(name) \
    {TN_DEF("", name), \
        TN_VERSIONS({1}, {6, 0, tn__upgrade_drop_consumed}, {7, 0, tn__upgrade_axis_broadcast}, {13}, {14}), \
        TN_INPUTS({"A", "T"}, {"B", "T"}), TN_OUTPUTS({"C", "T"}), \
        TN_TYPE_VARS({"T", TN_TYPES_NUMBERS}), .infer = infer_arithmetic}
static const struct tn_op_def defs[] = {
    ARITHMETIC("Add"), ARITHMETIC("Sub"), ARITHMETIC("Mul"), ARITHMETIC("Div"),
    {TN_DEF("", "Mod"), TN_VERSIONS({10}, {13}, {28}),
        TN_INPUTS({"A", "T"}, {"B", "T"}), TN_OUTPUTS({"C", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_NUMBERS}), TN_ATTRS(mod), .infer = infer_arithmetic},
    {TN_DEF("", "PRelu"),
        TN_VERSIONS({1}, {6, 0, tn__upgrade_drop_consumed}, {7, 0, upgrade_prelu_7}, {9}, {16}),
        TN_INPUTS({"X", "T"}, {"slope", "T"}), TN_OUTPUTS({"Y", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_WIDE}), .infer = infer_prelu, .expansion = prelu_text},
};

#define BOTH_INPLACE TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}, {1, 0, TN_INPLACE_OVERWRITE})
static const struct tn_kernel_def kernels[] = {
    {TN_BINARY_KERNEL("Add", 14), BOTH_INPLACE, .create = create},
    {TN_BINARY_KERNEL("Sub", 14), BOTH_INPLACE, .create = create},
    {TN_BINARY_KERNEL("Mul", 14), BOTH_INPLACE, .create = create},
    {TN_BINARY_KERNEL("Div", 14), BOTH_INPLACE, .create = create},
    {TN_BINARY_KERNEL("Mod", 28), BOTH_INPLACE, .create = create_mod},
    {TN_BINARY_KERNEL("PRelu", 16), BOTH_INPLACE, .create = create},
};
/* clang-format on */

TN_FAMILY(binary);
