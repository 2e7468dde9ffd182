/* The thin vector layer: one set of names for a vector of f32 (vf), of int32 (vi), of f64
 * (vd, as many lanes as vf) and a lane mask (vm) at every level, so that a kernel body is
 * written once and compiled per level. The level is the one the translation unit is
 * compiled for; VF_LANES is 1 at the scalar level.
 *
 * Contracts that the levels share bit for bit, NaN payloads apart:
 * vf_max(a, b) is a > b ? a : b and vf_min(a, b) is a < b ? a : b: a NaN in either gives
 * b. vf_fma(a, b, c) is a b + c and vf_fnma(a, b, c) is c - a b, each rounded once.
 * vf_select(m, a, b) is m ? a : b. Comparisons with NaN are false.
 * vf_ldexp(a, n) is a 2^n rounded once, n integral, |n| <= 250, a normal, 0, inf or NaN.
 * vf_load_n reads the first n <= VF_LANES elements, the other lanes are 0; vf_store_n
 * writes n of them; neither touches memory beyond. vm_first(n) is true in n lanes.
 * vf_lanes_down(a, count) moves lane i + count to lane i, around the end. */
#ifndef TENON_CPU_SIMD_VF_H
#define TENON_CPU_SIMD_VF_H

#include "level.h"
#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__)
#include "vf_avx512.h"
#elif defined(__AVX2__)
#include "vf_avx2.h"
#else
#include "vf_scalar.h"
#endif

/* As vf_load_n and vf_store_n, but n may be any number: all lanes from VF_LANES on. Where
 * masks are free there is no branch; elsewhere the full vector avoids the slow masked store. */
static inline vf vf_load_part(const float *p, size_t n) {
#if defined(__AVX512F__)
    return vf_load_n(p, n < VF_LANES ? n : VF_LANES);
#else
    return n >= VF_LANES ? vf_load(p) : vf_load_n(p, n);
#endif
}
static inline void vf_store_part(float *p, vf a, size_t n) {
#if defined(__AVX512F__)
    vf_store_n(p, a, n < VF_LANES ? n : VF_LANES);
#else
    if (n >= VF_LANES) {
        vf_store(p, a);
    } else {
        vf_store_n(p, a, n);
    }
#endif
}
/* Keeps a value in its register: without it gcc folds one load into every use of the value. */
#if defined(__AVX512F__)
#define VF_KEEP(a) __asm__("" : "+v"(a))
#elif defined(__AVX2__)
#define VF_KEEP(a) __asm__("" : "+x"(a))
#else
#define VF_KEEP(a) ((void)(a))
#endif

/* min(hi, max(lo, a)), by the order of the operands with NaN of a passing through. */
static inline vf vf_between(vf a, vf lo, vf hi) {
    return vf_min(hi, vf_max(lo, a));
}

/* Horner's rule: c[0] + c[1] x + … + c[n - 1] x^(n-1); unrolled, since n is a constant.
 */
static inline vf vf_poly(vf x, const float *c, int n) {
    vf sum = vf_set1(c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        sum = vf_fma(sum, x, vf_set1(c[i]));
    return sum;
}

static inline vd vd_poly(vd x, const double *c, int n) {
    vd sum = vd_set1(c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        sum = vd_fma(sum, x, vd_set1(c[i]));
    return sum;
}

#define VF_POLY(x, c) vf_poly(x, c, (int)(sizeof(c) / sizeof((c)[0])))
#define VD_POLY(x, c) vd_poly(x, c, (int)(sizeof(c) / sizeof((c)[0])))

#endif
