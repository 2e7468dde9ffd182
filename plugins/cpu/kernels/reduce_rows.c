/* Choice of the rows of reduce_rows.h. */
#include "reduce_rows.h"
#include <string.h>

void tn__reduce_init_c(struct tn_reduce_kernels *kernels);
void tn__reduce_init_avx2(struct tn_reduce_kernels *kernels);
void tn__reduce_init_avx512(struct tn_reduce_kernels *kernels);

void tn_reduce_kernels_init(struct tn_reduce_kernels *kernels, enum tn_isa isa) {
    memset(kernels, 0, sizeof(*kernels));
    tn__reduce_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__reduce_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__reduce_init_avx512(kernels);
#endif
    (void)isa;
}
