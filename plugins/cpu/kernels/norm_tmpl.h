/* Normalisation, one body for all levels; each norm_<level> file includes it. */
#include "norm.h"
#include "simd/lanes.h"
#include <math.h>

static inline vf add_square(vf acc, vf x, vf mean) {
    vf distance = vf_sub(x, mean);
    return vf_fma(distance, distance, acc);
}

static inline vf add_distance(vf acc, vf x, vf mean) {
    return vf_add(acc, vf_sub(x, mean));
}

static double mean_of(const float *src, size_t n) {
    return lanes_sum(src, n, 0.0f, lanes_add) / (double)n;
}

/* The sum in f32 gives the mean but roughly when all values are large. The distances from it
 * are exact or small: their mean corrects it, and the squares with it. */
static void moments(const float *src, size_t n, double *out_mean, double *out_squares) {
    const float near = n > 0 ? (float)mean_of(src, n) : 0.0f;
    const double off = n > 0 ? lanes_sum(src, n, near, add_distance) / (double)n : 0.0;
    double squares = lanes_sum(src, n, near, add_square) - (double)n * off * off;
    *out_mean = (double)near + off;
    *out_squares = squares > 0 || squares != squares ? squares : 0.0;
}

/* (x - mean) inverse scale + bias, where scale and bias may be absent; `off` is what rounding
 * the mean to f32 lost. */
static ALWAYS_INLINE void apply(float *dst, const float *src, size_t n,
    struct tn_norm_stats stats, float off, const float *scale, const float *bias) {
    const vf mean = vf_set1(stats.mean), lost = vf_set1(off);
    const vf inverse = vf_set1(stats.inverse);
    for (size_t i = 0; i < n; i += VF_LANES) {
        vf distance = vf_sub(vf_sub(vf_load_part(src + i, n - i), mean), lost);
        vf y = vf_mul(distance, inverse);
        if (scale && bias)
            y = vf_fma(y, vf_load_part(scale + i, n - i), vf_load_part(bias + i, n - i));
        else if (scale)
            y = vf_mul(y, vf_load_part(scale + i, n - i));
        else if (bias)
            y = vf_add(y, vf_load_part(bias + i, n - i));
        vf_store_part(dst + i, y, n - i);
    }
}

static struct tn_norm_stats layer(float *dst, const float *src, size_t n,
    const float *scale, const float *bias, float epsilon) {
    double mean, squares;
    moments(src, n, &mean, &squares);
    struct tn_norm_stats stats = {.mean = (float)mean};
    stats.inverse = (float)(1.0 / sqrt(squares / (double)n + (double)epsilon));
    apply(dst, src, n, stats, (float)(mean - (double)stats.mean), scale, bias);
    return stats;
}

static struct tn_norm_stats rms(
    float *dst, const float *src, size_t n, const float *scale, float epsilon) {
    struct tn_norm_stats stats = {.mean = 0.0f};
    double square = lanes_sum(src, n, 0.0f, add_square) / (double)n;
    stats.inverse = (float)(1.0 / sqrt(square + (double)epsilon));
    apply(dst, src, n, stats, 0.0f, scale, NULL);
    return stats;
}

static void affine(
    float *dst, const float *src, size_t n, const float *scale, const float *bias) {
    for (size_t i = 0; i < n; i += VF_LANES) {
        vf y = vf_fma(vf_load_part(src + i, n - i), vf_load_part(scale + i, n - i),
            vf_load_part(bias + i, n - i));
        vf_store_part(dst + i, y, n - i);
    }
}

static void affine_scalar(
    float *dst, const float *src, size_t n, float scale, float bias) {
    const vf factor = vf_set1(scale), offset = vf_set1(bias);
    for (size_t i = 0; i < n; i += VF_LANES) {
        vf y = vf_fma(vf_load_part(src + i, n - i), factor, offset);
        vf_store_part(dst + i, y, n - i);
    }
}

void TN_LEVEL_NAME(tn__norm_init)(struct tn_norm_kernels *kernels);

void TN_LEVEL_NAME(tn__norm_init)(struct tn_norm_kernels *kernels) {
    kernels->layer = layer;
    kernels->rms = rms;
    kernels->moments = moments;
    kernels->affine = affine;
    kernels->affine_scalar = affine_scalar;
}
