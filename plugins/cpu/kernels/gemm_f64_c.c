/* f64 tiles, the reference. */
#include "gemm_f64.h"

static void tile(const double *const a[TN_GEMM_F64_ROWS], const double *panel, size_t k,
    double sums[TN_GEMM_F64_ROWS][TN_GEMM_F64_NR]) {
    for (int i = 0; i < TN_GEMM_F64_ROWS; i++) {
        for (int j = 0; j < TN_GEMM_F64_NR; j++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++)
                sum += a[i][l] * panel[l * TN_GEMM_F64_NR + (size_t)j];
            sums[i][j] = sum;
        }
    }
}

void tn__gemm_f64_init_c(struct tn_gemm_f64_kernels *kernels);

void tn__gemm_f64_init_c(struct tn_gemm_f64_kernels *kernels) {
    kernels->tile = tile;
}
