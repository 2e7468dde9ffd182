/* com.example.Above: the elements of X that are greater than `threshold`, in order, and on
 * demand their flat indices. How many there are only the data tells: inference leaves the
 * size open, and compute asks the host for the outputs once it has counted. */
#include "custom.h"

#define ABOVE_ATTRS(X, S) X(S, FLOAT, threshold, 0.0f)
TN_ATTR_TABLE(above, ABOVE_ATTRS)

static tn_status infer_above(const struct tn_infer *infer) {
    const int64_t open = TN_DIM_UNKNOWN;
    const struct tn_type *x = tn_infer_input(infer, 0);
    TN_TRY(tn_infer_set(infer, 0, x ? x->dtype : TN_FLOAT, 1, &open));
    return tn_infer_set(infer, 1, TN_INT64, 1, &open);
}

struct above_kernel {
    struct tn_kernel_head head;
    struct above_attrs attrs;
};

static tn_status create_above(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct above_kernel), out));
    struct above_kernel *kernel = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(above, ctx->node, &kernel->attrs, ctx->diag), out);
}

static tn_status compute_above(void *object, const struct tn_run_args *args) {
    const float threshold = ((const struct above_kernel *)object)->attrs.threshold;
    const struct tn_tensor *x = tn_in(args, 0);
    const float *in = x->data;
    int64_t n = tn_tensor_count(x), found = 0;
    struct tn_tensor *values, *indices = NULL;
    for (int64_t i = 0; i < n; i++)
        found += in[i] > threshold;
    TN_TRY(tn_out_shaped(args, 0, TN_FLOAT, &found, 1, &values));
    if (args->n_outputs > 1 && args->outputs[1].kind != TN_KIND_ABSENT)
        TN_TRY(tn_out_shaped(args, 1, TN_INT64, &found, 1, &indices));
    for (int64_t i = 0, at = 0; i < n; i++) {
        if (!(in[i] > threshold)) continue;
        ((float *)values->data)[at] = in[i];
        if (indices) ((int64_t *)indices->data)[at] = i;
        at++;
    }
    return TN_OK;
}

/* clang-format off */
const struct tn_op_def custom_above = {
    TN_DEF("com.example", "Above"),
    TN_VERSIONS({1}),
    TN_INPUTS({"X", "T"}),
    TN_OUTPUTS({"Y", "T"}, {"indices", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL}),
    TN_TYPE_VARS({"T", TN_BIT(FLOAT)}),
    TN_ATTRS(above),
    .infer = infer_above,
    .doc = "the elements above a threshold, and where they are"};
const struct tn_kernel_def custom_above_cpu = {
    TN_KERNEL_OF("com.example", "Above", 1),
    .create = create_above,
    .compute = compute_above};
/* clang-format on */
