/* com.example.Cube: y = x³, element by element. The plainest operator: no attributes, no
 * state, the output looks like the input and may lie in its memory.
 *
 * It has a kernel for the provider "cpu" and one, for float alone, for the provider
 * "example" (example_provider.c): a kernel row is bound to a provider by its name. */
#include "custom.h"

static tn_status infer_cube(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

static tn_status compute_cube(void *kernel, const struct tn_run_args *args) {
    const struct tn_tensor *x = tn_in(args, 0);
    struct tn_tensor *y = tn_out(args, 0);
    int64_t n = tn_tensor_count(x);
    (void)kernel;
    if (x->dtype == TN_FLOAT) {
        const float *in = x->data;
        float *out = y->data;
        for (int64_t i = 0; i < n; i++)
            out[i] = in[i] * in[i] * in[i];
    } else {
        const double *in = x->data;
        double *out = y->data;
        for (int64_t i = 0; i < n; i++)
            out[i] = in[i] * in[i] * in[i];
    }
    return TN_OK;
}

/* clang-format off */
const struct tn_op_def custom_cube = {
    TN_DEF("com.example", "Cube"),
    TN_VERSIONS({1}),
    TN_INPUTS({"X", "T"}),
    TN_OUTPUTS({"Y", "T"}),
    TN_TYPE_VARS({"T", TN_BIT(FLOAT) | TN_BIT(DOUBLE)}),
    .infer = infer_cube,
    .doc = "y = x * x * x"};
const struct tn_kernel_def custom_cube_cpu = {
    TN_KERNEL_OF("com.example", "Cube", 1),
    TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}),
    .compute = compute_cube};
const struct tn_kernel_def custom_cube_example = {
    TN_KERNEL_FOR("example", "com.example", "Cube", 1),
    TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)}),
    .name = "cube_f32_example",
    .compute = compute_cube};
/* clang-format on */
