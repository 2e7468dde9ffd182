/* Solve of com.microsoft, which exporters of Gaussian processes emit: X of A X = Y by
 * elimination with row pivoting, in double. `lower` speaks of symmetric matrices only and
 * changes nothing here. */
#include "ops/numbers.h"

#include <math.h>

/* clang-format off */
#define SOLVE_ATTRS(X, S) X(S, INT, lower, 0) X(S, INT, transposed, 0)
/* clang-format on */
TN_ATTR_TABLE(solve, SOLVE_ATTRS)

struct solve {
    struct tn_kernel_head head;
    bool transposed;
};

static tn_status check_shapes(int64_t rank_a, const int64_t *a, int64_t rank_y,
    const int64_t *y, struct tn_diag *diag) {
    if (rank_a != 2 || (rank_y != 2 && rank_y != 1))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "inputs have ranks %lld and %lld, expected a matrix and a matrix or vector",
            (long long)rank_a, (long long)rank_y);
    bool known = a[0] >= 0 && a[1] >= 0 && y[0] >= 0;
    if (known && (a[0] != a[1] || a[0] != y[0]))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "A is %lld x %lld and Y has %lld rows, expected a square matrix and as many "
            "rows",
            (long long)a[0], (long long)a[1], (long long)y[0]);
    return TN_OK;
}

static tn_status infer(const struct tn_infer *in) {
    const struct tn_type *a = tn_infer_input(in, 0), *y = tn_infer_input(in, 1);
    if (a && y && a->rank >= 0 && y->rank >= 0)
        TN_TRY(check_shapes(a->rank, a->dims, y->rank, y->dims, in->diag));
    return tn_infer_like(in, 0, 1);
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    struct solve_attrs attrs;
    TN_TRY(TN_ATTRS_READ(solve, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn_kernel_create(ctx, sizeof(struct solve), out));
    ((struct solve *)*out)->transposed = attrs.transposed != 0;
    return TN_OK;
}

/* Both matrices in double. */
static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    out->scratch =
        (uint64_t)(tn_tensor_count(tn_in(args, 0)) + tn_tensor_count(tn_in(args, 1))) *
        sizeof(double);
    return TN_OK;
}

static void swap_rows(double *m, int64_t cols, int64_t i, int64_t j) {
    for (int64_t c = 0; i != j && c < cols; c++) {
        double x = m[i * cols + c];
        m[i * cols + c] = m[j * cols + c];
        m[j * cols + c] = x;
    }
}

/* Row i of m minus factor times row j. */
static void subtract(double *m, int64_t cols, int64_t i, int64_t j, double factor) {
    for (int64_t c = 0; c < cols; c++)
        m[i * cols + c] -= factor * m[j * cols + c];
}

/* y becomes x; false when a is singular. */
static bool eliminate(double *a, double *y, int64_t n, int64_t m) {
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
        if (a[pivot * n + k] == 0) return false;
        swap_rows(a, n, k, pivot);
        swap_rows(y, m, k, pivot);
        for (int64_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            if (factor == 0) continue;
            subtract(a, n, i, k, factor);
            subtract(y, m, i, k, factor);
        }
    }
    for (int64_t k = n; k-- > 0;) {
        for (int64_t c = 0; c < m; c++)
            y[k * m + c] /= a[k * n + k];
        for (int64_t i = 0; i < k; i++)
            subtract(y, m, i, k, a[i * n + k]);
    }
    return true;
}

static void transpose(double *a, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            double x = a[i * n + j];
            a[i * n + j] = a[j * n + i];
            a[j * n + i] = x;
        }
    }
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    const struct solve *self = kernel;
    const struct tn_tensor *a = tn_in(args, 0), *y = tn_in(args, 1);
    struct tn_tensor *x = tn_out(args, 0);
    TN_TRY(check_shapes(a->rank, a->dims, y->rank, y->dims, args->run->diag));
    int64_t n = a->dims[0], m = y->rank == 2 ? y->dims[1] : 1;
    double *left = args->workspace, *right = left + n * n;
    tn__numbers_f64(a, 0, n * n, left);
    tn__numbers_f64(y, 0, n * m, right);
    if (self->transposed) transpose(left, n);
    if (!eliminate(left, right, n, m))
        return tn_fail(
            args->run->diag, TN_INVALID_ARGUMENT, "input 'A' is a singular matrix");
    for (int64_t i = 0; i < n * m; i++) {
        if (x->dtype == TN_DOUBLE)
            ((double *)x->data)[i] = right[i];
        else
            ((float *)x->data)[i] = (float)right[i];
    }
    return TN_OK;
}

#define TYPES_REAL (TN_BIT(FLOAT) | TN_BIT(DOUBLE))

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("com.microsoft", "Solve"), TN_VERSIONS({1}),
        TN_INPUTS({"A", "T"}, {"Y", "T"}), TN_OUTPUTS({"X", "T"}),
        TN_TYPE_VARS({"T", TYPES_REAL}), TN_ATTRS(solve), .infer = infer},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL_OF("com.microsoft", "Solve", 1), .create = create, .workspace = workspace,
        .compute = compute},
};
/* clang-format on */

TN_FAMILY(solve);
