/* f64 tiles in vectors of the compiler, a row of sums each: two registers of AVX2, one of
 * AVX-512. */
#include "gemm_f64.h"

#include <string.h>

typedef double doubles __attribute__((vector_size(64)));

static void tile(const double *const a[TN_GEMM_F64_ROWS], const double *panel, size_t k,
    double sums[TN_GEMM_F64_ROWS][TN_GEMM_F64_NR]) {
    const double *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
    doubles s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, b;
    for (size_t l = 0; l < k; l++, panel += TN_GEMM_F64_NR) {
        memcpy(&b, panel, sizeof b);
        s0 += a0[l] * b;
        s1 += a1[l] * b;
        s2 += a2[l] * b;
        s3 += a3[l] * b;
    }
    memcpy(sums[0], &s0, sizeof s0);
    memcpy(sums[1], &s1, sizeof s1);
    memcpy(sums[2], &s2, sizeof s2);
    memcpy(sums[3], &s3, sizeof s3);
}
