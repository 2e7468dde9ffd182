/* Choice of the rows of transpose.h. */
#include "transpose.h"

void tn__transpose_init_c(struct tn_transpose_kernels *kernels);
void tn__transpose_init_avx2(struct tn_transpose_kernels *kernels);
void tn__transpose_init_avx512(struct tn_transpose_kernels *kernels);

void tn_transpose_kernels_init(struct tn_transpose_kernels *kernels, enum tn_isa isa) {
    tn__transpose_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__transpose_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__transpose_init_avx512(kernels);
#endif
    (void)isa;
}
