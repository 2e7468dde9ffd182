/* Operators that `tenon plugin probe` must find wrong, each in one way, and one that is right. */
#include "tenon/helper/plugin.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

static tn_status infer_same(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

static const float *x_of(const struct tn_run_args *args, float **y, int64_t *n) {
    *y = tn_out(args, 0)->data;
    *n = tn_tensor_count(tn_in(args, 0));
    return tn_in(args, 0)->data;
}

static tn_status right(void *kernel, const struct tn_run_args *args) {
    float *y;
    int64_t n;
    const float *x = x_of(args, &y, &n);
    (void)kernel;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * 2;
    return TN_OK;
}

/* Counts its runs. */
static tn_status counts(void *kernel, const struct tn_run_args *args) {
    static atomic_int calls;
    float *y;
    int64_t n;
    const float *x = x_of(args, &y, &n);
    (void)kernel;
    int call = atomic_fetch_add(&calls, 1);
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] + (float)call;
    return TN_OK;
}

/* Reads one element more than there is. */
static tn_status overreads(void *kernel, const struct tn_run_args *args) {
    float *y;
    int64_t n;
    const volatile float *x = x_of(args, &y, &n);
    (void)kernel;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] + x[i + 1];
    return TN_OK;
}

/* Says that it may write over its input, and reads the first element after it did. */
static tn_status tramples(void *kernel, const struct tn_run_args *args) {
    float *y;
    int64_t n;
    const float *x = x_of(args, &y, &n);
    (void)kernel;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] + x[0];
    return TN_OK;
}

static tn_status fails_mutely(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    (void)args;
    return TN_UNSUPPORTED;
}

static tn_status exits(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    (void)args;
    exit(0);
}

/* Not what its body says. */
static tn_status contradicts(void *kernel, const struct tn_run_args *args) {
    float *y;
    int64_t n;
    const float *x = x_of(args, &y, &n);
    (void)kernel;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * 1.01f;
    return TN_OK;
}

/* clang-format off */
#define DEF(name, ...) \
    {TN_DEF("org.tenon.fault", name), TN_VERSIONS({1}), TN_INPUTS({"x", "T"}), \
        TN_OUTPUTS({"y", "T"}), TN_TYPE_VARS({"T", TN_BIT(FLOAT)}), .infer = infer_same, __VA_ARGS__}
#define KERNEL(name, fn) \
    {TN_KERNEL_OF("org.tenon.fault", name, 1), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}), .compute = fn}
static const struct tn_op_def defs[] = {
    DEF("Right"), DEF("Counts"), DEF("Overreads"), DEF("Tramples"), DEF("FailsMutely"), DEF("Exits"),
    DEF("Contradicts", .expansion = "<opset_import: [\"\" : 20]> f (x) => (y) { y = Identity (x) }"),
};
static const struct tn_kernel_def kernels[] = {
    KERNEL("Right", right), KERNEL("Counts", counts), KERNEL("Overreads", overreads),
    KERNEL("Tramples", tramples), KERNEL("FailsMutely", fails_mutely), KERNEL("Exits", exits),
    KERNEL("Contradicts", contradicts),
};
/* clang-format on */

TN_PLUGIN("org.tenon.fault.probe", "1.0.0",
    (&defs[0], &defs[1], &defs[2], &defs[3], &defs[4], &defs[5], &defs[6]),
    (&kernels[0], &kernels[1], &kernels[2], &kernels[3], &kernels[4], &kernels[5],
        &kernels[6]));
