/* Transposition of a plane by element size: the inner move of every permutation of axes.
 *
 * dst[r * dst_step + c] = src[c * src_step + r] for r < rows, c < cols: the source is
 * contiguous along r, the destination along c. Steps count elements and may be negative.
 * dst must not overlap src. Bytes are moved, never interpreted. Whole cache lines are read
 * and written where the size allows, so strides that are powers of two cost no more than
 * others. [any thread] */
#ifndef TENON_CPU_TRANSPOSE_H
#define TENON_CPU_TRANSPOSE_H

#include "tenon/isa.h"
#include <stddef.h>

typedef void tn_transpose_fn(void *dst, ptrdiff_t dst_step, const void *src,
    ptrdiff_t src_step, size_t rows, size_t cols);

struct tn_transpose_kernels {
    tn_transpose_fn *plane[5]; /* by log2 of the element's bytes: 1, 2, 4, 8, 16 */
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_transpose_kernels_init(struct tn_transpose_kernels *kernels, enum tn_isa isa);

#endif
