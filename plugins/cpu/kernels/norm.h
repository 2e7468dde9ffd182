/* Normalisation over one contiguous run of f32, and the affine step that applies one. All
 * levels give the same bits.
 *
 * Sums are blocked and added in f64; the variance is the mean of squared distances from the
 * mean, and the mean is corrected by the distances, so that a large common offset does no
 * harm. dst may equal src. n may be 0. [any thread] */
#ifndef TENON_CPU_NORM_H
#define TENON_CPU_NORM_H

#include "tenon/isa.h"
#include <stddef.h>

struct tn_norm_stats {
    float mean;
    float inverse; /* 1 / sqrt(variance + epsilon), 1 / sqrt(mean square + epsilon) */
};

struct tn_norm_kernels {
    /* dst = (x - mean) / sqrt(variance + epsilon) * scale + bias, per element of the row.
     * scale and bias may be NULL: 1 and 0. */
    struct tn_norm_stats (*layer)(float *dst, const float *src, size_t n,
        const float *scale, const float *bias, float epsilon);
    /* dst = x / sqrt(mean square + epsilon) * scale; the returned mean is 0. */
    struct tn_norm_stats (*rms)(
        float *dst, const float *src, size_t n, const float *scale, float epsilon);
    /* Mean and sum of squared distances from it, of one run; runs of a group are joined by
     * the caller (instance and group normalisation). */
    void (*moments)(const float *src, size_t n, double *out_mean, double *out_squares);
    /* dst[i] = src[i] * scale[i] + bias[i], one rounding: a pixel's channels. */
    void (*affine)(
        float *dst, const float *src, size_t n, const float *scale, const float *bias);
    /* dst[i] = src[i] * scale + bias, one rounding: a channel's plane. */
    void (*affine_scalar)(
        float *dst, const float *src, size_t n, float scale, float bias);
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_norm_kernels_init(struct tn_norm_kernels *kernels, enum tn_isa isa);

#endif
