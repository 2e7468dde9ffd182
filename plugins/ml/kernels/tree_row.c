/* Choice of the rows of tree_row.h. */
#include "tree_row.h"

void tn__row_init_c(struct tn_row_kernels *kernels);
void tn__row_init_avx512(struct tn_row_kernels *kernels);

void tn_row_kernels_init(struct tn_row_kernels *kernels, enum tn_isa isa) {
    tn__row_init_c(kernels);
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__row_init_avx512(kernels);
#endif
    (void)isa;
}
