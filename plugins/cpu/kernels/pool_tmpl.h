/* Pooling, one body for all levels; each pool_<level> file includes it. */
#include "pool.h"
#include "simd/lanes.h"
#include <math.h>

enum { POOL_BLOCK = 64 }; /* taps that are added in f32 */

static void pool_max(float *dst, const float *const *taps, size_t n_taps, size_t n) {
    for (size_t c = 0; c < n; c += VF_LANES) {
        vf greatest = vf_set1(-INFINITY);
        for (size_t t = 0; t < n_taps; t++)
            greatest = lanes_max(greatest, vf_load_part(taps[t] + c, n - c), greatest);
        vf_store_part(dst + c, greatest, n - c);
    }
}

static void pool_mean(
    float *dst, const float *const *taps, size_t n_taps, size_t n, double divisor) {
    const vd below = vd_set1(divisor);
    for (size_t c = 0; c < n; c += VF_LANES) {
        vd total = vd_set1(0.0);
        for (size_t t = 0; t < n_taps; t += POOL_BLOCK) {
            const size_t end = n_taps - t < POOL_BLOCK ? n_taps : t + POOL_BLOCK;
            vf sum = vf_set1(0.0f);
            for (size_t i = t; i < end; i++)
                sum = vf_add(sum, vf_load_part(taps[i] + c, n - c));
            total = vd_add(total, vd_from_vf(sum));
        }
        vf_store_part(dst + c, vf_from_vd(vd_div(total, below)), n - c);
    }
}

void TN_LEVEL_NAME(tn__pool_init)(struct tn_pool_kernels *kernels);

void TN_LEVEL_NAME(tn__pool_init)(struct tn_pool_kernels *kernels) {
    kernels->max = pool_max;
    kernels->mean = pool_mean;
}
