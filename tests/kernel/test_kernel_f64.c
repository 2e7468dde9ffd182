/* Kernels in double, and the dot products beside them: tiles of a product, distances,
 * exponentials. Expected values are plain loops, long double for the exponential; every level
 * must give the bits of the scalar level. */
#include "gemm_f64.h"
#include "ml_rows.h"
#include "test_kernel.h"

#include <math.h>
#include <string.h>

static double *doubles(struct kernel_run *run, size_t n, double lo, double hi) {
    double *memory = kernel_memory(run, n * sizeof *memory, 8);
    for (size_t i = 0; i < n; i++)
        memory[i] = (double)kernel_random_f32(run, (float)lo, (float)hi) +
                    (double)kernel_random_f32(run, 0, 1) * 1e-9;
    return memory;
}

/* ---- gemm_f64 -------------------------------------------------------------------------------- */

void test_gemm_f64(struct kernel_run *run) {
    struct tn_gemm_f64_kernels kernels, reference;
    tn_gemm_f64_kernels_init(&kernels, run->isa);
    tn_gemm_f64_kernels_init(&reference, TN_ISA_SCALAR);
    for (size_t k = 0; k < (run->quick ? 20 : 300); k += 1 + k / 10) {
        kernel_case(run, "tile of depth %zu", k);
        const double *a[TN_GEMM_F64_ROWS];
        double *panel = doubles(run, k * TN_GEMM_F64_NR, -1, 1);
        double got[TN_GEMM_F64_ROWS][TN_GEMM_F64_NR],
            want[TN_GEMM_F64_ROWS][TN_GEMM_F64_NR];
        for (int i = 0; i < TN_GEMM_F64_ROWS; i++)
            a[i] = doubles(run, k, -1, 1);
        kernels.tile(a, panel, k, got);
        reference.tile(a, panel, k, want);
        kernel_check_same(run, got, want, sizeof got);
        double sum = 0;
        for (size_t l = 0; l < k; l++)
            sum += a[2][l] * panel[l * TN_GEMM_F64_NR + 5];
        kernel_check(run, got[2][5] == sum, "an element is its sum in ascending order");
    }
}

/* ---- ml_rows --------------------------------------------------------------------------------- */

static void check_distances(struct kernel_run *run, const struct tn_rows_kernels *kernels,
    const struct tn_rows_kernels *reference, size_t n, size_t k) {
    kernel_case(run, "distances from %zu columns of %zu", n, k);
    double *x = doubles(run, k, -2, 2), *columns = doubles(run, n * k, -2, 2);
    double *got = kernel_memory(run, n * sizeof *got, 8),
           *want = kernel_memory(run, n * sizeof *want, 8);
    kernels->distances(x, columns, n, k, got);
    reference->distances(x, columns, n, k, want);
    kernel_check_same(run, got, want, n * sizeof *got);
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t r = 0; r < k; r++)
            sum += (x[r] - columns[r * n + j]) * (x[r] - columns[r * n + j]);
        kernel_check(run, got[j] == sum, "a distance is its sum in ascending order");
    }
}

static void check_exp(struct kernel_run *run, const struct tn_rows_kernels *kernels,
    const struct tn_rows_kernels *reference) {
    enum { N = 4096 };
    kernel_case(run, "exponentials");
    double *x = doubles(run, N, -700, 700), *other = kernel_memory(run, N * 8, 8);
    static const double special[] = {0, -0.0, -INFINITY, INFINITY, NAN, -708, 710, 1e-300,
        -1e-300, -706.9, 708.9, 0.34657359027997264};
    /* a NaN whose last bits would change the exponent of what it is added to */
    static const uint64_t payload = UINT64_C(0x7ff8000000000fff);
    memcpy(x, special, sizeof special);
    memcpy(x + N - 1, &payload, sizeof payload);
    double *want = kernel_memory(run, N * 8, 8);
    memcpy(want, x, N * sizeof *x);
    memcpy(other, x, N * sizeof *x);
    kernels->exp(x, N, 1.0);
    reference->exp(other, N, 1.0);
    kernel_check_same(run, x, other, N * sizeof *x);
    kernel_check(run, x[0] == 1 && x[1] == 1 && x[2] == 0 && isinf(x[3]) && isnan(x[4]),
        "0, infinities and NaN");
    kernel_check(run, x[5] == 0 && isinf(x[6]), "beyond the ends");
    kernel_check(run, isnan(x[N - 1]), "a NaN with a payload stays one");
    for (size_t i = 7; i < N - 1; i++) {
        long double e = expl((long double)want[i]);
        double ulp = nextafter((double)e, INFINITY) - (double)e;
        kernel_check(run, fabsl((long double)x[i] - e) <= 2.0L * (long double)ulp,
            "an exponential is within 2 ulp");
    }
    x[0] = 3;
    for (int i = 1; i < TN_ROWS_COLUMNS; i++)
        x[i] = 0;
    kernels->exp(x, TN_ROWS_COLUMNS, -0.5);
    kernel_check(run, fabs(x[0] - 0.22313016014842982) < 1e-16, "the factor");
}

static void check_dots(struct kernel_run *run, const struct tn_rows_kernels *kernels,
    const struct tn_rows_kernels *reference, size_t rows, size_t k) {
    kernel_case(run, "dots of %zu rows of %zu", rows, k);
    float *x = kernel_input(run, rows * k), *w = kernel_input(run, k);
    float *got = kernel_output(run, rows), *same = kernel_output(run, rows);
    double *want = kernel_doubles(run, rows), *bound = kernel_doubles(run, rows);
    for (size_t i = 0; i < rows; i++) {
        double size = 0.25;
        want[i] = 0.25;
        for (size_t r = 0; r < k; r++) {
            want[i] += (double)x[i * k + r] * (double)w[r];
            size += fabs((double)x[i * k + r] * (double)w[r]);
        }
        bound[i] = size * 0x1p-23 * ((double)k / 8 + 12);
    }
    kernels->dots(x, rows, k, w, 0.25f, got, 1);
    reference->dots(x, rows, k, w, 0.25f, same, 1);
    kernel_check_rows(run, got, rows, 1, rows, want, bound);
    kernel_check_same(run, got, same, rows * sizeof *got);
}

void test_ml_rows(struct kernel_run *run) {
    struct tn_rows_kernels kernels, reference;
    tn_rows_kernels_init(&kernels, run->isa);
    tn_rows_kernels_init(&reference, TN_ISA_SCALAR);
    for (size_t n = TN_ROWS_COLUMNS; n <= (run->quick ? 48u : 136u); n += TN_ROWS_COLUMNS)
        for (size_t k = 0; k < 20; k += 1 + k / 4)
            check_distances(run, &kernels, &reference, n, k);
    check_exp(run, &kernels, &reference);
    for (size_t k = 0; k < (run->quick ? 20 : 70); k++)
        for (size_t rows = 1; rows < 8; rows += 3)
            check_dots(run, &kernels, &reference, rows, k);
}
