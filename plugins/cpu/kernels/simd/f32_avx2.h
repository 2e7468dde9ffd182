/* The thin vector layer over f32 for AVX2 and FMA: the names that templates are written
 * in. */
#ifndef TENON_CPU_SIMD_F32_AVX2_H
#define TENON_CPU_SIMD_F32_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef __m256 vf;
enum { VF_LEN = 8 };

static inline vf vf_zero(void) {
    return _mm256_setzero_ps();
}
static inline vf vf_set1(float x) {
    return _mm256_set1_ps(x);
}
static inline vf vf_load(const float *p) {
    return _mm256_loadu_ps(p);
}
static inline void vf_store(float *p, vf x) {
    _mm256_storeu_ps(p, x);
}
static inline vf vf_add(vf a, vf b) {
    return _mm256_add_ps(a, b);
}
static inline vf vf_sub(vf a, vf b) {
    return _mm256_sub_ps(a, b);
}
static inline vf vf_mul(vf a, vf b) {
    return _mm256_mul_ps(a, b);
}
/* a * b + c, rounded once */
static inline vf vf_fma(vf a, vf b, vf c) {
    return _mm256_fmadd_ps(a, b, c);
}
/* min(hi, max(lo, x)); the instructions return their second operand for NaN, so x passes
 */
static inline vf vf_clamp(vf x, vf lo, vf hi) {
    return _mm256_min_ps(hi, _mm256_max_ps(lo, x));
}
static inline __m256i vf_tail(size_t n) {
    static const int32_t bits[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(bits + 8 - n));
}
/* The first n lanes (n may exceed VF_LEN); nothing behind them is touched, a load fills
 * 0. */
static inline vf vf_load_n(const float *p, size_t n) {
    return n >= VF_LEN ? vf_load(p) : _mm256_maskload_ps(p, vf_tail(n));
}
static inline void vf_store_n(float *p, vf x, size_t n) {
    if (n >= VF_LEN) {
        vf_store(p, x);
    } else {
        _mm256_maskstore_ps(p, vf_tail(n), x);
    }
}

#endif
