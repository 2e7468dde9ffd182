/* Reductions of a run that give the same bits at every level: element i always goes into
 * accumulator i mod 64, and the 64 are joined pairwise, i with i + 32, then with i + 16,
 * down to one. */
#ifndef TENON_CPU_SIMD_LANES_H
#define TENON_CPU_SIMD_LANES_H

#include "loops.h"
#include "vf.h"

enum {
    LANES = 64,
    LANES_VECTORS = LANES / VF_LANES,
    /* A stretch whose f32 sum is trusted; sums of stretches are added in f64. */
    LANES_STRETCH = 4096
};

typedef vf lanes_step_fn(vf acc, vf x, vf param);

/* Joins 64 accumulators; join(a, b, …) must not care about order in exact arithmetic. */
static ALWAYS_INLINE float lanes_join(vf *acc, lanes_step_fn *join) {
    const vf none = vf_set1(0.0f);
    for (int half = LANES_VECTORS / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++)
            acc[i] = join(acc[i], acc[i + half], none);
    }
    vf left = acc[0];
    for (int half = VF_LANES / 2; half > 0; half /= 2)
        left = join(left, vf_lanes_down(left, half), none);
    return vf_lane_0(left);
}

/* Elements of one vector at i of n. */
static inline size_t lanes_count(size_t i, size_t n) {
    return i >= n ? 0 : n - i < VF_LANES ? n - i : VF_LANES;
}

/* acc = step(acc, x) over the run, from `start`, joined. */
static ALWAYS_INLINE float lanes_reduce(const float *src, size_t n, float start,
    float param, lanes_step_fn *step, lanes_step_fn *join) {
    const vf parameter = vf_set1(param);
    vf acc[LANES_VECTORS];
    size_t i = 0;
    for (int j = 0; j < LANES_VECTORS; j++)
        acc[j] = vf_set1(start);
    for (; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES_VECTORS; j++)
            acc[j] = step(acc[j], vf_load(src + i + j * VF_LANES), parameter);
    }
    for (int j = 0; j < LANES_VECTORS && i < n; j++) {
        const size_t count = lanes_count(i + (size_t)j * VF_LANES, n);
        if (count == 0) break;
        vf next = step(acc[j], vf_load_n(src + i + j * VF_LANES, count), parameter);
        acc[j] = vf_select(vm_first(count), next, acc[j]);
    }
    return lanes_join(acc, join);
}

static inline vf lanes_add(vf acc, vf x, vf param) {
    (void)param;
    return vf_add(acc, x);
}

/* A NaN on either side stays. */
static inline vf lanes_max(vf acc, vf x, vf param) {
    (void)param;
    return vf_select(vf_is_nan(acc), acc, vf_max(acc, x));
}

static inline vf lanes_min(vf acc, vf x, vf param) {
    (void)param;
    return vf_select(vf_is_nan(acc), acc, vf_min(acc, x));
}

/* Sum of step(0, x), in f64 between stretches. */
static ALWAYS_INLINE double lanes_sum(
    const float *src, size_t n, float param, lanes_step_fn *step) {
    double total = 0;
    for (size_t i = 0; i < n; i += LANES_STRETCH) {
        size_t count = n - i < LANES_STRETCH ? n - i : LANES_STRETCH;
        total += (double)lanes_reduce(src + i, count, 0.0f, param, step, lanes_add);
    }
    return total;
}

#endif
