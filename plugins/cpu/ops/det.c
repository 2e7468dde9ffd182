/* Det: determinants of square matrices, by elimination with row exchange in f64. */
#include "ops/doubles.h"
#include "tenon/helper/parallel.h"

#include <math.h>

static tn_status infer_det(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    if (!x) return TN_OK;
    if (x->rank < 0) return tn_infer_set(infer, 0, x->dtype, -1, NULL);
    if (x->rank < 2)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "input has rank %d, expected 2 or more", (int)x->rank);
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    if (rows >= 0 && columns >= 0 && rows != columns)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "matrices of %lld x %lld have no determinant: expected square ones",
            (long long)rows, (long long)columns);
    return tn_infer_set(infer, 0, x->dtype, x->rank - 2, x->dims);
}

static tn_status create_det(const struct tn_kernel_ctx *ctx, void **out) {
    return tn__kernel_create(ctx, sizeof(struct tn__kernel), out);
}

/* Overwrites the matrix. */
static double determinant(double *a, int64_t n) {
    double product = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
        double head = a[pivot * n + k];
        product *= pivot == k ? head : -head;
        if (head == 0) break;
        for (int64_t j = k; pivot != k && j < n; j++) {
            double kept = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = kept;
        }
        for (int64_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / head;
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return product;
}

struct job {
    double *matrices, *out;
    int64_t n;
};

static void run_matrices(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        job->out[i] = determinant(job->matrices + i * job->n * job->n, job->n);
}

static tn_status compute_det(void *object, const struct tn_run_args *args) {
    const struct tn__kernel *kernel = object;
    const struct tn_tensor *x = tn_in(args, 0);
    struct tn_tensor *y;
    const double *numbers;
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "input of rank %u does not hold square matrices", x->rank);
    TN_TRY(tn_out_shaped(args, 0, x->dtype, x->dims, x->rank - 2, &y));
    struct job job = {NULL, NULL, x->dims[x->rank - 1]};
    TN_TRY(tn__doubles_read(kernel, args, x, &numbers));
    TN_TRY(tn__doubles_room(args, tn_tensor_count(x), &job.matrices));
    if (x->size > 0)
        memcpy(job.matrices, numbers, (size_t)tn_tensor_count(x) * sizeof(double));
    TN_TRY(tn__doubles_target(args, y, &job.out));
    double n = (double)job.n;
    tn_parallel(kernel->host, tn_tensor_count(y), 10 + n * n * n / 3, run_matrices, &job);
    tn__doubles_write(kernel, y, job.out);
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Det"), TN_VERSIONS({11}, {22}), TN_INPUTS({"X", "T"}), TN_OUTPUTS({"Y", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}), .infer = infer_det},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Det", 22), .create = create_det, .compute = compute_det},
};
/* clang-format on */

TN_FAMILY(det);
