/* AVX2 + FMA level of the vector layer: 8 lanes. */
#include <immintrin.h>

#define VF_LANES 8

typedef __m256 vf;
typedef __m256i vi;
typedef __m256 vm;
typedef struct {
    __m256d lo, hi;
} vd;

static inline vf vf_set1(float a) {
    return _mm256_set1_ps(a);
}
static inline vf vf_load(const float *p) {
    return _mm256_loadu_ps(p);
}
static inline void vf_store(float *p, vf a) {
    _mm256_storeu_ps(p, a);
}
static inline vi first_lanes(size_t n) {
    const vi lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}
static inline vf vf_load_n(const float *p, size_t n) {
    return _mm256_maskload_ps(p, first_lanes(n));
}
static inline void vf_store_n(float *p, vf a, size_t n) {
    _mm256_maskstore_ps(p, first_lanes(n), a);
}
#define vm_first(n) _mm256_castsi256_ps(first_lanes(n))
static inline vf vf_lanes_down(vf a, int count) {
    const vi lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_permutevar8x32_ps(a, _mm256_add_epi32(lane, _mm256_set1_epi32(count)));
}
#define vf_lane_0 _mm256_cvtss_f32
#define vf_add _mm256_add_ps
#define vf_sub _mm256_sub_ps
#define vf_mul _mm256_mul_ps
#define vf_div _mm256_div_ps
#define vf_sqrt _mm256_sqrt_ps
#define vf_fma _mm256_fmadd_ps
#define vf_fnma _mm256_fnmadd_ps
#define vf_max _mm256_max_ps
#define vf_min _mm256_min_ps
#define vf_round(a) _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define vf_lt(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define vf_le(a, b) _mm256_cmp_ps(a, b, _CMP_LE_OQ)
#define vf_eq(a, b) _mm256_cmp_ps(a, b, _CMP_EQ_OQ)
#define vf_is_nan(a) _mm256_cmp_ps(a, a, _CMP_UNORD_Q)
#define vm_and _mm256_and_ps
#define vm_or _mm256_or_ps
#define vm_andnot _mm256_andnot_ps
#define vm_any(a) (_mm256_movemask_ps(a) != 0)
#define vf_select(m, a, b) _mm256_blendv_ps(b, a, m)
#define vf_bits _mm256_castps_si256
#define vi_float_bits _mm256_castsi256_ps
#define vi_set1 _mm256_set1_epi32
#define vi_load(p) _mm256_loadu_si256((const __m256i *)(p))
#define vi_store(p, a) _mm256_storeu_si256((__m256i *)(p), a)
#define vi_add _mm256_add_epi32
#define vi_sub _mm256_sub_epi32
#define vi_and _mm256_and_si256
#define vi_xor _mm256_xor_si256
#define vi_eq(a, b) _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b))
#define vi_shl _mm256_slli_epi32
#define vi_sra _mm256_srai_epi32
#define vf_from_vi _mm256_cvtepi32_ps
static inline vf vf_ldexp(vf a, vf n) {
    const vi bias = vi_set1(127);
    vi whole = _mm256_cvtps_epi32(n);
    vi half = vi_sra(whole, 1);
    a = vf_mul(a, vi_float_bits(vi_shl(vi_add(half, bias), 23)));
    vi rest = vi_sub(whole, half);
    return vf_mul(a, vi_float_bits(vi_shl(vi_add(rest, bias), 23)));
}
static inline vf vf_abs(vf a) {
    return _mm256_andnot_ps(vf_set1(-0.0f), a);
}
static inline vf vf_neg(vf a) {
    return _mm256_xor_ps(vf_set1(-0.0f), a);
}
static inline vf vf_copysign(vf size, vf sign) {
    return _mm256_or_ps(vf_abs(size), _mm256_and_ps(vf_set1(-0.0f), sign));
}

/* clang-format off */
#define VD_PAIR(name, expr_lo, expr_hi)                                                  \
    static inline vd name(vd a, vd b)                                                    \
    {                                                                                    \
        return (vd){expr_lo, expr_hi};                                                   \
    }
VD_PAIR(vd_add, _mm256_add_pd(a.lo, b.lo), _mm256_add_pd(a.hi, b.hi))
VD_PAIR(vd_sub, _mm256_sub_pd(a.lo, b.lo), _mm256_sub_pd(a.hi, b.hi))
VD_PAIR(vd_mul, _mm256_mul_pd(a.lo, b.lo), _mm256_mul_pd(a.hi, b.hi))
VD_PAIR(vd_div, _mm256_div_pd(a.lo, b.lo), _mm256_div_pd(a.hi, b.hi))
VD_PAIR(vd_max, _mm256_max_pd(a.lo, b.lo), _mm256_max_pd(a.hi, b.hi))
VD_PAIR(vd_min, _mm256_min_pd(a.lo, b.lo), _mm256_min_pd(a.hi, b.hi))
#undef VD_PAIR
/* clang-format on */
static inline vd vd_set1(double a) {
    return (vd){_mm256_set1_pd(a), _mm256_set1_pd(a)};
}
static inline vd vd_fma(vd a, vd b, vd c) {
    return (vd){_mm256_fmadd_pd(a.lo, b.lo, c.lo), _mm256_fmadd_pd(a.hi, b.hi, c.hi)};
}
static inline vd vd_fnma(vd a, vd b, vd c) {
    return (vd){_mm256_fnmadd_pd(a.lo, b.lo, c.lo), _mm256_fnmadd_pd(a.hi, b.hi, c.hi)};
}
static inline vd vd_from_vf(vf a) {
    return (vd){_mm256_cvtps_pd(_mm256_castps256_ps128(a)),
        _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1))};
}
static inline vf vf_from_vd(vd a) {
    return _mm256_set_m128(_mm256_cvtpd_ps(a.hi), _mm256_cvtpd_ps(a.lo));
}
static inline __m256d pow2_shifted(__m256d a) {
    vi bits = _mm256_add_epi64(_mm256_castpd_si256(a), _mm256_set1_epi64x(1023));
    return _mm256_castsi256_pd(_mm256_slli_epi64(bits, 52));
}
static inline vd vd_pow2_shifted(vd a) {
    return (vd){pow2_shifted(a.lo), pow2_shifted(a.hi)};
}
static inline vi vi_from_vd_shifted(vd a) {
    __m256 even = _mm256_shuffle_ps(
        _mm256_castpd_ps(a.lo), _mm256_castpd_ps(a.hi), _MM_SHUFFLE(2, 0, 2, 0));
    return _mm256_permute4x64_epi64(_mm256_castps_si256(even), _MM_SHUFFLE(3, 1, 2, 0));
}
