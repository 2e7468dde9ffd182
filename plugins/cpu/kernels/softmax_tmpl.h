/* Softmax, one body for all levels; each softmax_<level> file includes it. */
#include "simd/lanes.h"
#include "simd/vmath_core.h"
#include "softmax.h"

static inline vf add_exp(vf acc, vf x, vf max) {
    return vf_add(acc, vf_exp(vf_sub(x, max)));
}

/* A NaN may be lost here: exp() of it still makes the sum NaN. */
static inline vf greater(vf acc, vf x, vf param) {
    (void)param;
    return vf_max(acc, x);
}

/* Writes exp(x - max) and returns the sum; element i goes into accumulator i mod 64. */
static double store_exp(float *dst, const float *src, size_t n, float max) {
    const vf subtrahend = vf_set1(max);
    double total = 0;
    for (size_t start = 0; start < n; start += LANES_STRETCH) {
        size_t end = n - start < LANES_STRETCH ? n : start + LANES_STRETCH, i = start;
        vf acc[LANES_VECTORS];
        for (int j = 0; j < LANES_VECTORS; j++)
            acc[j] = vf_set1(0.0f);
        for (; i + LANES <= end; i += LANES) {
            for (int j = 0; j < LANES_VECTORS; j++) {
                const size_t at = i + (size_t)j * VF_LANES;
                vf y = vf_exp(vf_sub(vf_load(src + at), subtrahend));
                vf_store(dst + at, y);
                acc[j] = vf_add(acc[j], y);
            }
        }
        for (int j = 0; j < LANES_VECTORS && i < end; j++) {
            const size_t at = i + (size_t)j * VF_LANES, count = lanes_count(at, end);
            if (count == 0) break;
            vf y = vf_exp(vf_sub(vf_load_n(src + at, count), subtrahend));
            vf_store_n(dst + at, y, count);
            acc[j] = vf_select(vm_first(count), vf_add(acc[j], y), acc[j]);
        }
        total += (double)lanes_join(acc, lanes_add);
    }
    return total;
}

static void softmax(float *dst, const float *src, size_t n) {
    float max = lanes_reduce(src, n, -INFINITY, 0.0f, greater, greater);
    vf scale = vf_set1((float)(1.0 / store_exp(dst, src, n, max)));
    for (size_t i = 0; i < n; i += VF_LANES)
        vf_store_part(dst + i, vf_mul(vf_load_part(dst + i, n - i), scale), n - i);
}

static void log_softmax(float *dst, const float *src, size_t n) {
    float max = lanes_reduce(src, n, -INFINITY, 0.0f, greater, greater);
    double sum = lanes_sum(src, n, max, add_exp);
    vf subtrahend = vf_set1(max), rest = vf_log(vf_set1((float)sum));
    for (size_t i = 0; i < n; i += VF_LANES) {
        vf y = vf_sub(vf_sub(vf_load_part(src + i, n - i), subtrahend), rest);
        vf_store_part(dst + i, y, n - i);
    }
}

void TN_LEVEL_NAME(tn__softmax_init)(struct tn_softmax_kernels *kernels);

void TN_LEVEL_NAME(tn__softmax_init)(struct tn_softmax_kernels *kernels) {
    kernels->softmax = softmax;
    kernels->log_softmax = log_softmax;
}
