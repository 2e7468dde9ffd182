/* com.example.MyOp: y = x / (1 + exp(-slope * x)), element by element. */
#include "tenon/helper/plugin.h"
#include "tenon/helper/test.h"

/* Attributes: the list makes struct myop_attrs, the schema's rows and the parser's. */
#define MYOP_ATTRS(X, S) X(S, FLOAT, slope, 1.0f)
TN_ATTR_TABLE(myop, MYOP_ATTRS)

/* Types and shapes of the outputs; called while a model is loaded. */
static tn_status infer_myop(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0); /* output 0 is as input 0 */
}

/* What compute needs to know of its node, made once and never changed. */
struct myop {
    struct tn_kernel_head head;
    struct myop_attrs attrs;
};

static tn_status create_myop(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct myop), out));
    struct myop *myop = *out;
    return tn_kernel_ready(TN_ATTRS_READ(myop, ctx->node, &myop->attrs, ctx->diag), out);
}

/* One run: memory is there already, several threads may be in here at once. */
static tn_status compute_myop(void *kernel, const struct tn_run_args *args) {
    const struct myop *myop = kernel;
    const float *x = tn_in(args, 0)->data;
    float *y = tn_out(args, 0)->data;
    for (int64_t i = 0; i < tn_tensor_count(tn_in(args, 0)); i++)
        y[i] = x[i] / (1.0f + expf(-myop->attrs.slope * x[i]));
    return TN_OK;
}

/* What the operator is … */
static const struct tn_op_def myop_def = {TN_DEF("com.example", "MyOp"), TN_VERSIONS({1}),
    TN_INPUTS({"x", "T"}), TN_OUTPUTS({"y", "T"}), TN_TYPE_VARS({"T", TN_BIT(FLOAT)}),
    TN_ATTRS(myop), .infer = infer_myop};
/* … and who runs it: the provider "cpu", for all types of T; y may be written over x. */
static const struct tn_kernel_def myop_cpu = {TN_KERNEL_OF("com.example", "MyOp", 1),
    TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}), .create = create_myop,
    .compute = compute_myop};

TN_PLUGIN("com.example.myop", "1.0.0", (&myop_def), (&myop_cpu));

/* Models in the ONNX text format, inputs, and what must come out. */
TN_TESTS("com.example",
    {"g (float[3] x) => (float[3] y) { y = com.example.MyOp (x) }",
        {TN_TENSOR(FLOAT, (3), 0, 1, -2)},
        {TN_TENSOR(FLOAT, (3), 0, 0.7310586, -0.2384058)}},
    {"g (float[2] x) => (float[2] y) { y = com.example.MyOp <slope = 0.0> (x) }",
        {TN_TENSOR(FLOAT, (2), 4, -6)}, {TN_TENSOR(FLOAT, (2), 2, -3)}},
    {"g (int64[1] x) => (int64[1] y) { y = com.example.MyOp (x) }",
        {TN_TENSOR(INT64, (1), 1)}, {}, "int64"});
