/* Choice of the rows of ml_rows.h. */
#include "ml_rows.h"

void tn__rows_init_c(struct tn_rows_kernels *kernels);
void tn__rows_init_avx2(struct tn_rows_kernels *kernels);
void tn__rows_init_avx512(struct tn_rows_kernels *kernels);

void tn_rows_kernels_init(struct tn_rows_kernels *kernels, enum tn_isa isa) {
    tn__rows_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__rows_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__rows_init_avx512(kernels);
#endif
    (void)isa;
}
