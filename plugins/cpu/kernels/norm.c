/* Choice of the rows of norm.h. */
#include "norm.h"

void tn__norm_init_c(struct tn_norm_kernels *kernels);
void tn__norm_init_avx2(struct tn_norm_kernels *kernels);
void tn__norm_init_avx512(struct tn_norm_kernels *kernels);

void tn_norm_kernels_init(struct tn_norm_kernels *kernels, enum tn_isa isa) {
    tn__norm_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__norm_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__norm_init_avx512(kernels);
#endif
    (void)isa;
}
