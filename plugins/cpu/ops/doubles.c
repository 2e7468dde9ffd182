/* Tensors of any type of number as f64, for kernels that compute in it. */
#include "ops/doubles.h"

#include "loops/convert_block.h"

tn_status tn__doubles_room(const struct tn_run_args *args, int64_t n, double **out) {
    const struct tn_run *run = args->run;
    if (n < 0 || n > INT64_MAX / (int64_t)sizeof(double))
        return tn_fail(
            run->diag, TN_LIMIT_EXCEEDED, "%lld numbers are too many", (long long)n);
    *out = run->alloc(run, (uint64_t)(n ? n : 1) * sizeof(double), 64);
    if (*out) return TN_OK;
    return tn_fail(
        run->diag, TN_OUT_OF_MEMORY, "no memory for %lld numbers", (long long)n);
}

tn_status tn__doubles_read(const struct tn__kernel *kernel,
    const struct tn_run_args *args, const struct tn_tensor *tensor, const double **out) {
    int64_t n = tn_tensor_count(tensor);
    double *numbers = NULL;
    *out = tensor->data;
    if (tensor->dtype == TN_DOUBLE && n > 0) return TN_OK;
    TN_TRY(tn__doubles_room(args, n, &numbers));
    tn__convert_block(
        kernel->cpu, TN_DOUBLE, numbers, tensor->dtype, tensor->data, n, NULL);
    *out = numbers;
    return TN_OK;
}

tn_status tn__doubles_target(
    const struct tn_run_args *args, const struct tn_tensor *tensor, double **out) {
    *out = tensor->data;
    if (tensor->dtype == TN_DOUBLE) return TN_OK;
    return tn__doubles_room(args, tn_tensor_count(tensor), out);
}

void tn__doubles_write(
    const struct tn__kernel *kernel, struct tn_tensor *tensor, const double *numbers) {
    if (tensor->dtype != TN_DOUBLE)
        tn__convert_block(kernel->cpu, tensor->dtype, tensor->data, TN_DOUBLE, numbers,
            tn_tensor_count(tensor), NULL);
}
