/* Softmax over one contiguous row of f32. All levels give the same bits.
 *
 * The maximum is subtracted first, so nothing overflows; a row that holds NaN or +inf, or
 * only -inf, gives NaN, as numpy does. dst may equal src. n may be 0. [any thread] */
#ifndef TENON_CPU_SOFTMAX_H
#define TENON_CPU_SOFTMAX_H

#include "tenon/isa.h"
#include <stddef.h>

typedef void tn_softmax_fn(float *dst, const float *src, size_t n);

struct tn_softmax_kernels {
    tn_softmax_fn *softmax;     /* exp(x - max) / sum */
    tn_softmax_fn *log_softmax; /* x - max - log(sum) */
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_softmax_kernels_init(struct tn_softmax_kernels *kernels, enum tn_isa isa);

#endif
