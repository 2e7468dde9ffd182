/* Vector mathematics, one body for all levels; each vmath_<level> file includes it. */
#include "simd/vmath_core.h"
#include "vmath.h"

/* clang-format off */
#define ARGS_0 (x)
#define ARGS_1 (x, a)
#define ARGS_2 (x, a, b)
#define COUNT_0 0
#define COUNT_1 1
#define COUNT_2 2
#define F(NAME, name, params, ulp)                                                       \
    static inline vf apply_##name(vf x, vf a, vf b)                                      \
    {                                                                                    \
        (void)a, (void)b;                                                                \
        return vf_##name ARGS_##params;                                                  \
    }                                                                                    \
    static void run_##name(void *dst, const void *src, size_t n, const void *param)      \
    {                                                                                    \
        run(dst, src, n, param, params, apply_##name);                                   \
    }
/* clang-format on */

static inline __attribute__((always_inline)) void run(float *dst, const float *src,
    size_t n, const float *param, int params, vf apply(vf x, vf a, vf b)) {
    vf a = vf_set1(params > 0 ? param[0] : 0.0f),
       b = vf_set1(params > 1 ? param[1] : 0.0f);
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(dst + i, apply(vf_load(src + i), a, b));
    if (VF_LANES > 1 && i < n)
        vf_store_n(dst + i, apply(vf_load_n(src + i, n - i), a, b), n - i);
}

#include "vmath.inc"
#undef F

/* Runs in blocks so that a strided or broadcast operand has a place to be gathered. */
static void run_pow(void *dst, const void *a, ptrdiff_t step_a, const void *b,
    ptrdiff_t step_b, size_t n) {
    float *out = dst;
    const float *base = a, *exponent = b;
    float base_lanes[VF_LANES], exponent_lanes[VF_LANES];
    for (size_t i = 0; i < n; i += VF_LANES) {
        size_t count = n - i < VF_LANES ? n - i : VF_LANES;
        vf x, y;
        if (step_a == 1 && step_b == 1) {
            x = vf_load_n(base + i, count);
            y = vf_load_n(exponent + i, count);
        } else {
            for (size_t j = 0; j < VF_LANES; j++) {
                ptrdiff_t at = (ptrdiff_t)(j < count ? i + j : i);
                base_lanes[j] = base[at * step_a];
                exponent_lanes[j] = exponent[at * step_b];
            }
            x = vf_load(base_lanes);
            y = vf_load(exponent_lanes);
        }
        vf_store_n(out + i, vf_pow(x, y), count);
    }
}

void TN_LEVEL_NAME(tn__vmath_init)(struct tn_vmath_kernels *kernels);

void TN_LEVEL_NAME(tn__vmath_init)(struct tn_vmath_kernels *kernels) {
#define F(NAME, name, params, ulp) kernels->f32[TN_VMATH_##NAME] = run_##name;
#include "vmath.inc"
#undef F
    kernels->pow_f32 = run_pow;
}
