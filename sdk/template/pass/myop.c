/* A pass: where a model writes (x * x) * x, one node of com.example.MyOp does it in one step. */
#include "tenon/helper/pass.h"
#include "tenon/helper/plugin.h"
#include "tenon/helper/test.h"

/* Looks at one node; the pattern is found from its last node, the outer product. */
static tn_status rewrite(
    const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    const struct tn_node *outer = tn_pass_node(ctx, id);
    if (!tn_node_is(outer, "", "Mul")) return TN_OK;
    for (uint32_t i = 0; i < 2; i++) {
        const struct tn_node *square = tn_pass_maker(ctx, outer, i);
        tn_value_id x = outer->inputs[1 - i];
        if (!tn_node_is(square, "", "Mul") || square->inputs[0] != x ||
            square->inputs[1] != x)
            continue;
        if (!tn_pass_reader(ctx, square->outputs[0])) continue; /* others need x * x */
        if (tn_pass_type(ctx, x)->dtype != TN_FLOAT) continue;  /* the kernel's type */
        ++*changes;
        return tn_pass_replace(ctx, id, "com.example", "MyOp", &x, 1, NULL, 0);
    }
    return TN_OK;
}

/* The same bits as before, so it is exact, and runs from level basic on. */
TN_PASS_OF(myop_pass, "com.example.myop", "x * x * x becomes MyOp", TN_LEVEL_BASIC,
    TN_SAFETY_EXACT, 1500, rewrite);
TN_PASS_TABLE(get_extension, (&myop_pass))

static tn_status infer_myop(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

static tn_status compute_myop(void *kernel, const struct tn_run_args *args) {
    const float *x = tn_in(args, 0)->data;
    float *y = tn_out(args, 0)->data;
    (void)kernel;
    for (int64_t i = 0; i < tn_tensor_count(tn_in(args, 0)); i++)
        y[i] = x[i] * x[i] * x[i];
    return TN_OK;
}

static const struct tn_op_def myop_def = {TN_DEF("com.example", "MyOp"), TN_VERSIONS({1}),
    TN_INPUTS({"x", "T"}), TN_OUTPUTS({"y", "T"}), TN_TYPE_VARS({"T", TN_BIT(FLOAT)}),
    .infer = infer_myop};
static const struct tn_kernel_def myop_cpu = {TN_KERNEL_OF("com.example", "MyOp", 1),
    TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}), .compute = compute_myop};

TN_PLUGIN_FULL("com.example.myop", "1.0.0", TN_ABI_MINOR, (&myop_def), (&myop_cpu), (),
    NULL, NULL, get_extension);

#define CUBE                                                                             \
    {TN_TENSOR(FLOAT, (2), 2, -3)}, {                                                    \
        TN_TENSOR(FLOAT, (2), 8, -27)                                                    \
    }
TN_TESTS("com.example",
    {"g (float[2] x) => (float[2] y) { s = Mul (x, x) y = Mul (s, x) }", CUBE, NULL,
        "com.example.MyOp"},
    {"g (float[2] x) => (float[2] y) { s = Mul (x, x) y = Mul (x, s) }", CUBE, NULL,
        "com.example.MyOp"},
    {"g (float[2] x) => (float[2] y, float[2] s) { s = Mul (x, x) y = Mul (s, x) }",
        {TN_TENSOR(FLOAT, (2), 2, -3)},
        {TN_TENSOR(FLOAT, (2), 8, -27), TN_TENSOR(FLOAT, (2), 4, 9)}, NULL, "Mul"},
    {"g (double[1] x) => (double[1] y) { s = Mul (x, x) y = Mul (s, x) }",
        {TN_TENSOR(DOUBLE, (1), 2)}, {TN_TENSOR(DOUBLE, (1), 8)}, NULL, "Mul"});
