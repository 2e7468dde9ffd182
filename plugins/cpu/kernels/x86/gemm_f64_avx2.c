/* f64 tiles, AVX2. */
#include "../gemm_f64_tmpl.h"

void tn__gemm_f64_init_avx2(struct tn_gemm_f64_kernels *kernels);

void tn__gemm_f64_init_avx2(struct tn_gemm_f64_kernels *kernels) {
    kernels->tile = tile;
}
