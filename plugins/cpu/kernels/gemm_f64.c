/* Choice of the rows of gemm_f64.h. */
#include "gemm_f64.h"

void tn__gemm_f64_init_c(struct tn_gemm_f64_kernels *kernels);
void tn__gemm_f64_init_avx2(struct tn_gemm_f64_kernels *kernels);
void tn__gemm_f64_init_avx512(struct tn_gemm_f64_kernels *kernels);

void tn_gemm_f64_kernels_init(struct tn_gemm_f64_kernels *kernels, enum tn_isa isa) {
    tn__gemm_f64_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__gemm_f64_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__gemm_f64_init_avx512(kernels);
#endif
    (void)isa;
}
