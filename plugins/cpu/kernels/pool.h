/* Pooling of pixels whose channels are contiguous (NHWC): one output pixel from the pixels
 * under its window. All levels give the same bits.
 *
 * taps[t] points to n channels of the t-th pixel; pixels in the padding are left out by the
 * caller. dst must not overlap a tap. [any thread] */
#ifndef TENON_CPU_POOL_H
#define TENON_CPU_POOL_H

#include "tenon/isa.h"
#include <stddef.h>

struct tn_pool_kernels {
    /* dst[c] = the greatest of taps[t][c]; NaN where one is NaN, -inf without taps. */
    void (*max)(float *dst, const float *const *taps, size_t n_taps, size_t n);
    /* dst[c] = the sum of taps[t][c] / divisor; 64 taps at a time in f32, then in f64. */
    void (*mean)(
        float *dst, const float *const *taps, size_t n_taps, size_t n, double divisor);
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_pool_kernels_init(struct tn_pool_kernels *kernels, enum tn_isa isa);

#endif
