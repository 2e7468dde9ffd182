/* Choice of the rows of pool.h. */
#include "pool.h"

void tn__pool_init_c(struct tn_pool_kernels *kernels);
void tn__pool_init_avx2(struct tn_pool_kernels *kernels);
void tn__pool_init_avx512(struct tn_pool_kernels *kernels);

void tn_pool_kernels_init(struct tn_pool_kernels *kernels, enum tn_isa isa) {
    tn__pool_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__pool_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__pool_init_avx512(kernels);
#endif
    (void)isa;
}
