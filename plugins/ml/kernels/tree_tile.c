/* Choice of the rows of tree_tile.h. */
#include "tree_tile.h"

void tn__tile_init_c(struct tn_tile_kernels *kernels);
void tn__tile_init_avx512(struct tn_tile_kernels *kernels);

void tn_tile_kernels_init(struct tn_tile_kernels *kernels, enum tn_isa isa) {
    tn__tile_init_c(kernels);
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__tile_init_avx512(kernels);
#endif
    (void)isa;
}
