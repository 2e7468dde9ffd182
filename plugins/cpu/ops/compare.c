/* Comparisons and logic of two operands; both give bool. */
#include "ops/broadcast.h"

/* clang-format off */
static const struct tn__binary_row rows[] = {
    {"Equal", TN_BINARY_EQUAL, 0.15, true},
    {"Less", TN_BINARY_LESS, 0.15, true},
    {"LessOrEqual", TN_BINARY_LESS_EQUAL, 0.15, true},
    {"Greater", TN_BINARY_GREATER, 0.15, true},
    {"GreaterOrEqual", TN_BINARY_GREATER_EQUAL, 0.15, true},
    {"And", TN_BINARY_AND, 0.1, true},
    {"Or", TN_BINARY_OR, 0.1, true},
    {"Xor", TN_BINARY_XOR, 0.1, true},
};
/* clang-format on */

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    return tn__binary_create(ctx, rows, TN_COUNT(rows), out);
}

/* ---- strings -------------------------------------------------------------------------- */

static void equal_strings(void *dst, const void *a, ptrdiff_t step_a, const void *b,
    ptrdiff_t step_b, size_t n) {
    const struct tn_string *left = a, *right = b;
    uint8_t *out = dst;
    for (size_t i = 0; i < n; i++, left += step_a, right += step_b)
        out[i] = left->size == right->size &&
                 (left->size == 0 || memcmp(left->data, right->data, left->size) == 0);
}

static tn_status create_equal(const struct tn_kernel_ctx *ctx, void **out) {
    if (ctx->inputs[0].dtype != TN_STRING) return create(ctx, out);
    TN_TRY(tn__kernel_create(ctx, sizeof(struct tn__binary_kernel), out));
    struct tn__binary_kernel *kernel = *out;
    kernel->fn.binary = equal_strings;
    kernel->fn.size_in = sizeof(struct tn_string);
    kernel->fn.size_out = 1;
    kernel->fn.cost = 5;
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
static const char less_or_equal_text[] =
    TN_BODY "f (A, B) => (C) {\nless = Less (A, B)\nequal = Equal (A, B)\nC = Or (less, equal)\n}";
static const char greater_or_equal_text[] =
    TN_BODY "f (A, B) => (C) {\ngreater = Greater (A, B)\nequal = Equal (A, B)\nC = Or (greater, equal)\n}";

#define COMPARISON(name, types, versions) \
    TN_DEF("", name), versions, TN_INPUTS({"A", "T"}, {"B", "T"}), TN_OUTPUTS({"C", "T1"}), \
        TN_TYPE_VARS({"T", types}, {"T1", TN_BIT(BOOL)}), .infer = tn__infer_binary_bool
#define FROM_1_7(...) TN_VERSIONS({1}, {7, 0, tn__upgrade_axis_broadcast}, __VA_ARGS__)
#define SINCE_1_7 TN_VERSIONS({1}, {7, 0, tn__upgrade_axis_broadcast})
#define TYPES_EQUAL (TN_TYPES_NUMBERS | TN_BIT(BOOL) | TN_BIT(STRING))
static const struct tn_op_def defs[] = {
    {COMPARISON("Equal", TYPES_EQUAL, FROM_1_7({11}, {13}, {19}))},
    {COMPARISON("Less", TN_TYPES_NUMBERS, FROM_1_7({9}, {13}))},
    {COMPARISON("Greater", TN_TYPES_NUMBERS, FROM_1_7({9}, {13}))},
    {COMPARISON("LessOrEqual", TN_TYPES_NUMBERS, TN_VERSIONS({12}, {16})),
        .expansion = less_or_equal_text},
    {COMPARISON("GreaterOrEqual", TN_TYPES_NUMBERS, TN_VERSIONS({12}, {16})),
        .expansion = greater_or_equal_text},
    {COMPARISON("And", TN_BIT(BOOL), SINCE_1_7)},
    {COMPARISON("Or", TN_BIT(BOOL), SINCE_1_7)},
    {COMPARISON("Xor", TN_BIT(BOOL), SINCE_1_7)},
};

static const struct tn_kernel_def kernels[] = {
    {TN_BINARY_KERNEL("Equal", 19), .create = create_equal},
    {TN_BINARY_KERNEL("Less", 13), .create = create},
    {TN_BINARY_KERNEL("Greater", 13), .create = create},
    {TN_BINARY_KERNEL("LessOrEqual", 16), .create = create},
    {TN_BINARY_KERNEL("GreaterOrEqual", 16), .create = create},
    {TN_BINARY_KERNEL("And", 7), .create = create},
    {TN_BINARY_KERNEL("Or", 7), .create = create},
    {TN_BINARY_KERNEL("Xor", 7), .create = create},
};
/* clang-format on */

TN_FAMILY(compare);
