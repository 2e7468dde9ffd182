/* The thin vector layer over f32 for AVX-512: the names that templates are written in. */
#ifndef TENON_CPU_SIMD_F32_AVX512_H
#define TENON_CPU_SIMD_F32_AVX512_H

#include <immintrin.h>
#include <stddef.h>

typedef __m512 vf;
enum { VF_LEN = 16 };

static inline vf vf_zero(void) {
    return _mm512_setzero_ps();
}
static inline vf vf_set1(float x) {
    return _mm512_set1_ps(x);
}
static inline vf vf_load(const float *p) {
    return _mm512_loadu_ps(p);
}
static inline void vf_store(float *p, vf x) {
    _mm512_storeu_ps(p, x);
}
static inline vf vf_add(vf a, vf b) {
    return _mm512_add_ps(a, b);
}
static inline vf vf_sub(vf a, vf b) {
    return _mm512_sub_ps(a, b);
}
static inline vf vf_mul(vf a, vf b) {
    return _mm512_mul_ps(a, b);
}
/* a * b + c, rounded once */
static inline vf vf_fma(vf a, vf b, vf c) {
    return _mm512_fmadd_ps(a, b, c);
}
/* min(hi, max(lo, x)); the instructions return their second operand for NaN, so x passes
 */
static inline vf vf_clamp(vf x, vf lo, vf hi) {
    return _mm512_min_ps(hi, _mm512_max_ps(lo, x));
}
static inline __mmask16 vf_tail(size_t n) {
    return n >= VF_LEN ? (__mmask16)0xffff : (__mmask16)((1u << n) - 1);
}
/* The first n lanes (n may exceed VF_LEN); nothing behind them is touched, a load fills
 * 0. */
static inline vf vf_load_n(const float *p, size_t n) {
    return _mm512_maskz_loadu_ps(vf_tail(n), p);
}
static inline void vf_store_n(float *p, vf x, size_t n) {
    _mm512_mask_storeu_ps(p, vf_tail(n), x);
}

#endif
