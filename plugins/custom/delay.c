/* com.example.Delay: y is the x of the run before; zeros in the first run. State that a
 * caller keeps from run to run lives in args->state: the host gives each context, for each
 * set of input shapes, zeroed bytes of its own, so that callers never see each other's and
 * a kernel needs no lock. */
#include "custom.h"

static tn_status infer_delay(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

static tn_status workspace_delay(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    out->state = tn_in(args, 0)->size;
    return TN_OK;
}

static tn_status compute_delay(void *kernel, const struct tn_run_args *args) {
    const struct tn_tensor *x = tn_in(args, 0);
    (void)kernel;
    if (x->size == 0) return TN_OK;
    memcpy(tn_out(args, 0)->data, args->state, x->size);
    memcpy(args->state, x->data, x->size);
    return TN_OK;
}

/* clang-format off */
const struct tn_op_def custom_delay = {
    TN_DEF("com.example", "Delay"),
    .flags = TN_OP_STATEFUL, /* neither folded nor shared with an equal node */
    TN_VERSIONS({1}),
    TN_INPUTS({"X", "T"}),
    TN_OUTPUTS({"Y", "T"}),
    TN_TYPE_VARS({"T", TN_TYPES_NUMBERS}),
    .infer = infer_delay,
    .doc = "the input of the run before"};
const struct tn_kernel_def custom_delay_cpu = {
    TN_KERNEL_OF("com.example", "Delay", 1),
    .workspace = workspace_delay,
    .compute = compute_delay};
/* clang-format on */
