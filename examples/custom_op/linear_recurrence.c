/* com.example.LinearRecurrence: h[t] = gate[t] * h[t-1] + (1 - gate[t]) * x[t] along the time
 * axis of [batch, time, width]; h before the first step is 0. */
#include "tenon/helper/plugin.h"
#include "tenon/helper/test.h"

#define NS_AN_ELEMENT 1.5

static tn_status infer(const struct tn_infer *in) {
    const struct tn_type *gate = tn_infer_input(in, 0), *x = tn_infer_input(in, 1);
    if (gate && x && gate->rank >= 0 && x->rank >= 0) {
        int fits = gate->rank == 3 && x->rank == 3;
        for (int i = 0; fits && i < 3; i++) /* symbols, < 0, may turn out the same */
            fits = gate->dims[i] < 0 || x->dims[i] < 0 || gate->dims[i] == x->dims[i];
        if (!fits)
            return tn_fail(in->diag, TN_INVALID_ARGUMENT,
                "gate and x differ in shape, expected [batch, time, width] of both");
    }
    return tn_infer_like(in, 0, 1);
}

/* Channels are independent: item i is channel i % width of batch i / width. */
static void run_channels(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct tn_run_args *args = arg;
    const struct tn_tensor *gates = tn_in(args, 0);
    int64_t time = gates->dims[1], width = gates->dims[2];
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t first = i / width * time * width + i % width;
        const float *gate = (const float *)gates->data + first;
        const float *x = (const float *)tn_in(args, 1)->data + first;
        float *h = (float *)tn_out(args, 0)->data + first, state = 0;
        for (int64_t t = 0; t < time * width; t += width)
            h[t] = state = gate[t] * state + (1 - gate[t]) * x[t];
    }
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    const int64_t *dims = tn_in(args, 1)->dims;
    (void)kernel;
    tn_parallel(args->run->host, dims[0] * dims[2], NS_AN_ELEMENT * (double)dims[1],
        run_channels, (void *)(uintptr_t)args);
    return TN_OK;
}

static const struct tn_op_def def = {TN_DEF("com.example", "LinearRecurrence"),
    TN_VERSIONS({1}), TN_INPUTS({"gate", "T"}, {"x", "T"}), TN_OUTPUTS({"h", "T"}),
    TN_TYPE_VARS({"T", TN_BIT(FLOAT)}), .infer = infer};
static const struct tn_kernel_def cpu = {
    TN_KERNEL_OF("com.example", "LinearRecurrence", 1), .compute = compute};
TN_PLUGIN("com.example.linear_recurrence", "1.0.0", (&def), (&cpu));

#define H "=> (float[B,T,W] h) { h = com.example.LinearRecurrence (gate, x) }"
TN_TESTS("com.example",
    {"g (float[B,T,W] gate, float[B,T,W] x) " H,
        {TN_TENSOR(FLOAT, (1, 3, 2), 0.5, 0, 0.5, 0, 0.5, 1),
            TN_TENSOR(FLOAT, (1, 3, 2), 8, 1, 0, 2, 4, 3)},
        {TN_TENSOR(FLOAT, (1, 3, 2), 4, 1, 2, 2, 3, 2)}},
    {"g (float[1,1,1] gate, float[1,2,1] x) " H, {}, {}, "differ in shape"});
