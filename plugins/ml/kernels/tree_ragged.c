/* Choice of the rows of tree_ragged.h. */
#include "tree_ragged.h"

void tn__ragged_init_c(struct tn_ragged_kernels *kernels);
void tn__ragged_init_avx2(struct tn_ragged_kernels *kernels);
void tn__ragged_init_avx512(struct tn_ragged_kernels *kernels);
void tn__ragged_init_neon(struct tn_ragged_kernels *kernels);

void tn_ragged_kernels_init(struct tn_ragged_kernels *kernels, enum tn_isa isa) {
    tn__ragged_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__ragged_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__ragged_init_avx512(kernels);
#endif
#ifdef TN_HAVE_NEON
    if (isa >= TN_ISA_NEON) tn__ragged_init_neon(kernels);
#endif
    (void)isa;
}
