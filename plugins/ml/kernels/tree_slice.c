/* Choice of the rows of tree_slice.h. */
#include "tree_slice.h"

void tn__slice_init_c(struct tn_slice_kernels *kernels);
void tn__slice_init_avx2(struct tn_slice_kernels *kernels);
void tn__slice_init_avx512(struct tn_slice_kernels *kernels);
void tn__slice_init_neon(struct tn_slice_kernels *kernels);

void tn_slice_kernels_init(struct tn_slice_kernels *kernels, enum tn_isa isa) {
    tn__slice_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__slice_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__slice_init_avx512(kernels);
#endif
#ifdef TN_HAVE_NEON
    if (isa >= TN_ISA_NEON) tn__slice_init_neon(kernels);
#endif
    (void)isa;
}
