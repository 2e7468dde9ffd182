/* com.example.Mix: y = gain * (x0 + x1 + …). An optional input, which a node leaves out by
 * an empty name, before a variadic one. All x have one shape; gain is a scalar, 1 when it
 * is left out. */
#include "custom.h"

/* Sizes that are symbols while the model is loaded are numbers when this is asked again,
 * for the shapes of a run: what is refused here never reaches compute. */
static tn_status check_same(
    const struct tn_infer *infer, const struct tn_type *a, const struct tn_type *b) {
    int differ = a->rank >= 0 && b->rank >= 0 && a->rank != b->rank;
    for (int32_t i = 0; !differ && a->rank == b->rank && i < a->rank; i++)
        differ = a->dims[i] >= 0 && b->dims[i] >= 0 && a->dims[i] != b->dims[i];
    if (!differ) return TN_OK;
    return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
        "the inputs of a Mix have different shapes, expected one shape");
}

static tn_status infer_mix(const struct tn_infer *infer) {
    const struct tn_type *gain = tn_infer_input(infer, 0);
    const struct tn_type *first = tn_infer_input(infer, 1);
    if (gain && gain->rank > 0)
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "gain has rank %d, expected a scalar", (int)gain->rank);
    for (uint32_t i = 2; first && i < infer->node->n_inputs; i++) {
        const struct tn_type *other = tn_infer_input(infer, i);
        if (other) TN_TRY(check_same(infer, first, other));
    }
    return tn_infer_like(infer, 0, 1);
}

static tn_status compute_mix(void *kernel, const struct tn_run_args *args) {
    const struct tn_tensor *gain = tn_in(args, 0); /* NULL: left out */
    struct tn_tensor *y = tn_out(args, 0);
    float factor = gain ? *(const float *)gain->data : 1.0f, *out = y->data;
    int64_t n = tn_tensor_count(y);
    (void)kernel;
    for (int64_t i = 0; i < n; i++) {
        float sum = 0;
        for (uint32_t k = 1; k < args->n_inputs; k++)
            sum += ((const float *)tn_in(args, k)->data)[i];
        out[i] = factor * sum;
    }
    return TN_OK;
}

/* clang-format off */
const struct tn_op_def custom_mix = {
    TN_DEF("com.example", "Mix"),
    TN_VERSIONS({1}),
    TN_INPUTS({"gain", "T", 0, TN_FORMAL_OPTIONAL}, {"X", "T", 0, TN_FORMAL_VARIADIC, 1}),
    TN_OUTPUTS({"Y", "T"}),
    TN_TYPE_VARS({"T", TN_BIT(FLOAT)}),
    .infer = infer_mix,
    .doc = "gain times the sum of the inputs"};
const struct tn_kernel_def custom_mix_cpu = {
    TN_KERNEL_OF("com.example", "Mix", 1),
    .compute = compute_mix};
/* clang-format on */
