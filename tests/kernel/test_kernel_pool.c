/* Pooling of contiguous channels against plain loops in double. */
#include "pool.h"
#include "test_kernel.h"

#include <math.h>

enum { TAPS_MAX = 200 };

static void check(struct kernel_run *run, const struct tn_pool_kernels *kernels,
    const struct tn_pool_kernels *reference, size_t n_taps, size_t n, bool with_nan) {
    const float *taps[TAPS_MAX];
    kernel_case(run, "%zu taps of %zu channels%s", n_taps, n, with_nan ? ", NaN" : "");
    double *max = kernel_doubles(run, n), *mean = kernel_doubles(run, n),
           *exact = kernel_doubles(run, n), *bound = kernel_doubles(run, n);
    for (size_t c = 0; c < n; c++)
        max[c] = -INFINITY;
    for (size_t t = 0; t < n_taps; t++) {
        float *tap = kernel_input(run, n);
        if (with_nan && n > 0) tap[kernel_random(run) % n] = NAN;
        taps[t] = tap;
        for (size_t c = 0; c < n; c++) {
            double x = (double)tap[c];
            if (isnan(x) || x > max[c]) max[c] = isnan(max[c]) ? max[c] : x;
            mean[c] += x;
            bound[c] += fabs(x);
        }
    }
    for (size_t c = 0; c < n; c++) {
        mean[c] /= 5;
        bound[c] = isnan(bound[c]) ? 0 : bound[c] * 0x1p-24 * 65 + 1e-7;
    }
    for (int op = 0; op < 2; op++) {
        float *dst = kernel_output(run, n), *other = kernel_output(run, n);
        if (op == 0) {
            kernels->max(dst, taps, n_taps, n);
            reference->max(other, taps, n_taps, n);
        } else {
            kernels->mean(dst, taps, n_taps, n, 5.0);
            reference->mean(other, taps, n_taps, n, 5.0);
        }
        kernel_check_rows(run, dst, n, 1, n, op ? mean : max, op ? bound : exact);
        if (!with_nan) kernel_check_same(run, dst, other, n * sizeof(float));
    }
}

void test_pool(struct kernel_run *run) {
    static const size_t counts[] = {0, 1, 2, 4, 9, 49, 64, 65, 129};
    struct tn_pool_kernels kernels, reference;
    tn_pool_kernels_init(&kernels, run->isa);
    tn_pool_kernels_init(&reference, TN_ISA_SCALAR);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (run->quick && counts[i] > 10) break;
        for (size_t n = 0; n <= 67; n += run->quick ? 7 : 1) {
            check(run, &kernels, &reference, counts[i], n, false);
            check(run, &kernels, &reference, counts[i], n, true);
        }
    }
}
