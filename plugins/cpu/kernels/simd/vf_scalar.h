/* Scalar level of the vector layer: one lane in plain C, the reference of the others. */
#include <math.h>
#include <string.h>

#define VF_LANES 1

typedef float vf;
typedef int32_t vi;
typedef double vd;
typedef int vm;

static inline vf vf_set1(float a) {
    return a;
}
static inline vf vf_load(const float *p) {
    return *p;
}
static inline void vf_store(float *p, vf a) {
    *p = a;
}
static inline vf vf_load_n(const float *p, size_t n) {
    return n > 0 ? *p : 0.0f;
}
static inline void vf_store_n(float *p, vf a, size_t n) {
    if (n > 0) *p = a;
}
static inline vf vf_add(vf a, vf b) {
    return a + b;
}
static inline vf vf_sub(vf a, vf b) {
    return a - b;
}
static inline vf vf_mul(vf a, vf b) {
    return a * b;
}
static inline vf vf_div(vf a, vf b) {
    return a / b;
}
static inline vf vf_sqrt(vf a) {
    return sqrtf(a);
}
static inline vf vf_fma(vf a, vf b, vf c) {
    return fmaf(a, b, c);
}
static inline vf vf_fnma(vf a, vf b, vf c) {
    return fmaf(-a, b, c);
}
static inline vf vf_max(vf a, vf b) {
    return a > b ? a : b;
}
static inline vf vf_min(vf a, vf b) {
    return a < b ? a : b;
}
static inline vf vf_round(vf a) {
    return rintf(a);
}
static inline vm vf_lt(vf a, vf b) {
    return a < b;
}
static inline vm vf_le(vf a, vf b) {
    return a <= b;
}
static inline vm vf_eq(vf a, vf b) {
    return a == b;
}
static inline vm vf_is_nan(vf a) {
    return a != a;
}
static inline vf vf_lanes_down(vf a, int count) {
    (void)count;
    return a;
}
static inline float vf_lane_0(vf a) {
    return a;
}
static inline vm vm_first(size_t n) {
    return n > 0;
}
static inline vm vm_and(vm a, vm b) {
    return a & b;
}
static inline vm vm_or(vm a, vm b) {
    return a | b;
}
static inline vm vm_andnot(vm a, vm b) {
    return (!a) & b;
}
static inline int vm_any(vm a) {
    return a;
}
static inline vf vf_select(vm m, vf a, vf b) {
    return m ? a : b;
}
static inline vi vf_bits(vf a) {
    vi bits;
    memcpy(&bits, &a, sizeof(bits));
    return bits;
}
static inline vf vi_float_bits(vi a) {
    vf value;
    memcpy(&value, &a, sizeof(value));
    return value;
}
static inline vi vi_set1(int32_t a) {
    return a;
}
static inline vi vi_load(const int32_t *p) {
    return *p;
}
static inline vi vi_add(vi a, vi b) {
    return (vi)((uint32_t)a + (uint32_t)b);
}
static inline vi vi_sub(vi a, vi b) {
    return (vi)((uint32_t)a - (uint32_t)b);
}
static inline vi vi_and(vi a, vi b) {
    return a & b;
}
static inline vi vi_xor(vi a, vi b) {
    return a ^ b;
}
static inline vm vi_eq(vi a, vi b) {
    return a == b;
}
#define vi_shl(a, count) ((vi)((uint32_t)(a) << (count)))
#define vi_sra(a, count) ((vi)((a) >> (count)))
static inline vf vf_from_vi(vi a) {
    return (vf)a;
}
static inline vf vf_ldexp(vf a, vf n) {
    vi whole = n == n ? (vi)n : 0;
    vi half = vi_sra(whole, 1);
    a *= vi_float_bits(vi_shl(half + 127, 23));
    return a * vi_float_bits(vi_shl(whole - half + 127, 23));
}
static inline vf vf_abs(vf a) {
    return vi_float_bits(vf_bits(a) & INT32_MAX);
}
static inline vf vf_neg(vf a) {
    return -a;
}
static inline vf vf_copysign(vf size, vf sign) {
    return vi_float_bits((vf_bits(size) & INT32_MAX) | (vf_bits(sign) & INT32_MIN));
}

static inline vd vd_set1(double a) {
    return a;
}
static inline vd vd_add(vd a, vd b) {
    return a + b;
}
static inline vd vd_sub(vd a, vd b) {
    return a - b;
}
static inline vd vd_mul(vd a, vd b) {
    return a * b;
}
static inline vd vd_div(vd a, vd b) {
    return a / b;
}
static inline vd vd_fma(vd a, vd b, vd c) {
    return fma(a, b, c);
}
static inline vd vd_fnma(vd a, vd b, vd c) {
    return fma(-a, b, c);
}
static inline vd vd_max(vd a, vd b) {
    return a > b ? a : b;
}
static inline vd vd_min(vd a, vd b) {
    return a < b ? a : b;
}
static inline vd vd_from_vf(vf a) {
    return a;
}
static inline vf vf_from_vd(vd a) {
    return (vf)a;
}
/* 2^n from n + 1.5 * 2^52, n integral, |n| <= 1022. */
static inline vd vd_pow2_shifted(vd a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof(bits));
    bits = (bits + 1023) << 52;
    memcpy(&a, &bits, sizeof(bits));
    return a;
}
/* n from n + 1.5 * 2^52, |n| < 2^31. */
static inline vi vi_from_vd_shifted(vd a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof(bits));
    return (vi)(uint32_t)bits;
}
