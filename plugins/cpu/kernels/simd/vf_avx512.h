/* AVX-512 (F, BW, DQ, VL) level of the vector layer: 16 lanes. */
#include <immintrin.h>

#define VF_LANES 16

typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;
typedef struct {
    __m512d lo, hi;
} vd;

static inline vf vf_set1(float a) {
    return _mm512_set1_ps(a);
}
static inline vf vf_load(const float *p) {
    return _mm512_loadu_ps(p);
}
static inline void vf_store(float *p, vf a) {
    _mm512_storeu_ps(p, a);
}
static inline vf vf_load_n(const float *p, size_t n) {
    return _mm512_maskz_loadu_ps((vm)_bzhi_u32(0xffff, (unsigned)n), p);
}
static inline void vf_store_n(float *p, vf a, size_t n) {
    _mm512_mask_storeu_ps(p, (vm)_bzhi_u32(0xffff, (unsigned)n), a);
}
#define vm_first(n) ((vm)_bzhi_u32(0xffff, (unsigned)(n)))
static inline vf vf_lanes_down(vf a, int count) {
    const vi lane =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_permutexvar_ps(_mm512_add_epi32(lane, _mm512_set1_epi32(count)), a);
}
#define vf_lane_0 _mm512_cvtss_f32
#define vf_add _mm512_add_ps
#define vf_sub _mm512_sub_ps
#define vf_mul _mm512_mul_ps
#define vf_div _mm512_div_ps
#define vf_sqrt _mm512_sqrt_ps
#define vf_fma _mm512_fmadd_ps
#define vf_fnma _mm512_fnmadd_ps
#define vf_max _mm512_max_ps
#define vf_min _mm512_min_ps
#define vf_round(a) _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define vf_lt(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define vf_le(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
#define vf_eq(a, b) _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)
#define vf_is_nan(a) _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q)
#define vm_and(a, b) ((vm)((a) & (b)))
#define vm_or(a, b) ((vm)((a) | (b)))
#define vm_andnot(a, b) ((vm)(~(a) & (b)))
#define vm_any(a) ((a) != 0)
#define vf_select(m, a, b) _mm512_mask_blend_ps(m, b, a)
#define vf_bits _mm512_castps_si512
#define vi_float_bits _mm512_castsi512_ps
#define vi_set1 _mm512_set1_epi32
#define vi_load(p) _mm512_loadu_si512(p)
#define vi_store(p, a) _mm512_storeu_si512(p, a)
#define vi_add _mm512_add_epi32
#define vi_sub _mm512_sub_epi32
#define vi_and _mm512_and_si512
#define vi_xor _mm512_xor_si512
#define vi_eq _mm512_cmpeq_epi32_mask
#define vi_shl _mm512_slli_epi32
#define vi_sra _mm512_srai_epi32
#define vf_from_vi _mm512_cvtepi32_ps
#define vf_ldexp _mm512_scalef_ps
#define vf_abs _mm512_abs_ps
static inline vf vf_neg(vf a) {
    return _mm512_xor_ps(vf_set1(-0.0f), a);
}
static inline vf vf_copysign(vf size, vf sign) {
    return _mm512_or_ps(vf_abs(size), _mm512_and_ps(vf_set1(-0.0f), sign));
}

/* clang-format off */
#define VD_PAIR(name, expr_lo, expr_hi)                                                  \
    static inline vd name(vd a, vd b)                                                    \
    {                                                                                    \
        return (vd){expr_lo, expr_hi};                                                   \
    }
VD_PAIR(vd_add, _mm512_add_pd(a.lo, b.lo), _mm512_add_pd(a.hi, b.hi))
VD_PAIR(vd_sub, _mm512_sub_pd(a.lo, b.lo), _mm512_sub_pd(a.hi, b.hi))
VD_PAIR(vd_mul, _mm512_mul_pd(a.lo, b.lo), _mm512_mul_pd(a.hi, b.hi))
VD_PAIR(vd_div, _mm512_div_pd(a.lo, b.lo), _mm512_div_pd(a.hi, b.hi))
VD_PAIR(vd_max, _mm512_max_pd(a.lo, b.lo), _mm512_max_pd(a.hi, b.hi))
VD_PAIR(vd_min, _mm512_min_pd(a.lo, b.lo), _mm512_min_pd(a.hi, b.hi))
#undef VD_PAIR
/* clang-format on */
static inline vd vd_set1(double a) {
    return (vd){_mm512_set1_pd(a), _mm512_set1_pd(a)};
}
static inline vd vd_fma(vd a, vd b, vd c) {
    return (vd){_mm512_fmadd_pd(a.lo, b.lo, c.lo), _mm512_fmadd_pd(a.hi, b.hi, c.hi)};
}
static inline vd vd_fnma(vd a, vd b, vd c) {
    return (vd){_mm512_fnmadd_pd(a.lo, b.lo, c.lo), _mm512_fnmadd_pd(a.hi, b.hi, c.hi)};
}
static inline vd vd_from_vf(vf a) {
    return (vd){_mm512_cvtps_pd(_mm512_castps512_ps256(a)),
        _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1))};
}
static inline vf vf_from_vd(vd a) {
    vf lo = _mm512_castps256_ps512(_mm512_cvtpd_ps(a.lo));
    return _mm512_insertf32x8(lo, _mm512_cvtpd_ps(a.hi), 1);
}
static inline __m512d pow2_shifted(__m512d a) {
    vi bits = _mm512_add_epi64(_mm512_castpd_si512(a), _mm512_set1_epi64(1023));
    return _mm512_castsi512_pd(_mm512_slli_epi64(bits, 52));
}
static inline vd vd_pow2_shifted(vd a) {
    return (vd){pow2_shifted(a.lo), pow2_shifted(a.hi)};
}
static inline vi vi_from_vd_shifted(vd a) {
    vi lo = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(_mm512_castpd_si512(a.lo)));
    return _mm512_inserti64x4(lo, _mm512_cvtepi64_epi32(_mm512_castpd_si512(a.hi)), 1);
}
