/* Transposition at the scalar level: the reference. */
#include "transpose.h"
#include "transpose_walk.h"

/* clang-format off */
#define TILE(size)                                                                       \
    static inline void tile_##size(                                                      \
        char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step)              \
    {                                                                                    \
        transpose_edge(dst, dst_step, src, src_step, 16, 16, size);                      \
    }                                                                                    \
    TRANSPOSE_ROW(plane_##size, size, 16, tile_##size)
TILE(1)
TILE(2)
TILE(4)
TILE(8)
TILE(16)
#undef TILE
/* clang-format on */

void tn__transpose_init_c(struct tn_transpose_kernels *kernels);

void tn__transpose_init_c(struct tn_transpose_kernels *kernels) {
    kernels->plane[0] = plane_1;
    kernels->plane[1] = plane_2;
    kernels->plane[2] = plane_4;
    kernels->plane[3] = plane_8;
    kernels->plane[4] = plane_16;
}
