/* Transcendental functions of one vector, for every kernel that needs them in registers:
 * vmath rows, softmax, epilogues.
 *
 * Each is one algorithm over the vector layer, so all levels give the same bits. The
 * polynomials are minimax fits of our own (relative error of the result below 2^-26
 * before rounding); error bounds are those of vmath.inc. Arguments whose rounding an
 * exponential would amplify are formed in two parts or in f64. */
#ifndef TENON_CPU_SIMD_VMATH_CORE_H
#define TENON_CPU_SIMD_VMATH_CORE_H

#include "pi_reduce.h"
#include "vf.h"
#include <math.h>

/* Adding these rounds to an integer, which then stands in the low bits. */
#define VF_SHIFT 0x1.8p23f
#define VD_SHIFT 0x1.8p52

/* e^r - 1 for |r| <= ln 2 / 2, with an error of 2^-28 of e^r. */
static inline vf vf_exp_core(vf r) {
    static const float c[] = {
        0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558aep-5f, 0x1.123988p-7f, 0x1.6a4f8ap-10f};
    return vf_fma(vf_mul(r, r), VF_POLY(r, c), r);
}

/* The same with an error of 2^-31 of e^r - 1. */
static inline vf vf_expm1_core(vf r) {
    static const float c[] = {0x1p-1f, 0x1.555556p-3f, 0x1.5554f6p-5f, 0x1.111004p-7f,
        0x1.6d3c92p-10f, 0x1.a242f8p-13f};
    return vf_fma(vf_mul(r, r), VF_POLY(r, c), r);
}

/* x = n ln 2 + r, n integral, |r| <= ln 2 / 2; |x| < 2^21. */
static inline vf vf_exp_reduce(vf x, vf *out_n) {
    const vf shift = vf_set1(VF_SHIFT);
    vf n = vf_sub(vf_fma(x, vf_set1(0x1.715476p+0f), shift), shift);
    vf r = vf_fnma(n, vf_set1(0x1.62e43p-1f), x);
    *out_n = n;
    return vf_fnma(n, vf_set1(-0x1.05c61p-29f), r);
}

/* The same for an argument held in f64. */
static inline vf vd_exp_reduce(vd x, vf *out_n) {
    const vd shift = vd_set1(VD_SHIFT);
    vd n = vd_sub(vd_fma(x, vd_set1(0x1.71547652b82fep+0), shift), shift);
    *out_n = vf_from_vd(n);
    return vf_from_vd(vd_fnma(n, vd_set1(0x1.62e42fefa39efp-1), x));
}

static inline vf vf_exp(vf x) {
    vf n;
    x = vf_min(vf_set1(89.0f), vf_max(vf_set1(-104.0f), x));
    vf r = vf_exp_reduce(x, &n);
    return vf_ldexp(vf_add(vf_exp_core(r), vf_set1(1.0f)), n);
}

/* The result is 2^(n-1) p + (2^(n-1) - 1/2), twice, so that n = 128 does not overflow. */
static inline vf vf_expm1(vf x) {
    vf n;
    vf bounded = vf_min(vf_set1(89.0f), vf_max(vf_set1(-18.0f), x));
    vf p = vf_expm1_core(vf_exp_reduce(bounded, &n));
    vf half_scale = vf_ldexp(vf_set1(0.5f), n);
    vf half = vf_fma(half_scale, p, vf_sub(half_scale, vf_set1(0.5f)));
    return vf_select(vf_eq(x, vf_set1(0.0f)), x, vf_add(half, half));
}

/* Splits a positive normal x into m 2^e, m in [2/3, 4/3). */
static inline vf vf_split(vf x, vf *out_e) {
    const vi two_thirds = vi_set1(0x3f2aaaab);
    vi e = vi_sra(vi_sub(vf_bits(x), two_thirds), 23);
    *out_e = vf_from_vi(e);
    return vi_float_bits(vi_sub(vf_bits(x), vi_shl(e, 23)));
}

/* log(2^e (1 + f)), |f| <= 1/3. */
static inline vf vf_log_core(vf e, vf f) {
    static const float c[] = {-0.5f, 0x1.555556p-2f, -0x1.ffff16p-3f, 0x1.9997f4p-3f,
        -0x1.5597dep-3f, 0x1.24ea86p-3f, -0x1.f3a7e8p-4f, 0x1.b9354cp-4f, -0x1.06d3bep-3f,
        0x1.e97914p-4f};
    vf tail = vf_fma(e, vf_set1(0x1.7f7d1cp-20f), vf_mul(vf_mul(f, f), VF_POLY(f, c)));
    return vf_fma(e, vf_set1(0x1.62e4p-1f), vf_add(f, tail));
}

/* x where it is in (low, inf), else what a logarithm with its pole at `low` gives. */
static inline vf vf_log_special(vf x, float low, vf y) {
    vm inside = vm_and(vf_lt(vf_set1(low), x), vf_lt(x, vf_set1(INFINITY)));
    vf outside = vf_select(vf_lt(x, vf_set1(low)), vf_set1(NAN), x);
    outside = vf_select(vf_eq(x, vf_set1(low)), vf_set1(-INFINITY), outside);
    return vf_select(inside, y, outside);
}

static inline vf vf_log(vf x) {
    vf e;
    vm tiny = vf_lt(x, vf_set1(0x1p-126f));
    vf m = vf_split(vf_select(tiny, vf_mul(x, vf_set1(0x1p23f)), x), &e);
    e = vf_sub(e, vf_select(tiny, vf_set1(23.0f), vf_set1(0.0f)));
    return vf_log_special(x, 0.0f, vf_log_core(e, vf_sub(m, vf_set1(1.0f))));
}

/* log(u + c), u = 1 + x rounded and c what the rounding lost. */
static inline vf vf_log1p(vf x) {
    const vf one = vf_set1(1.0f);
    vf e;
    vf u = vf_add(x, one);
    vf x_part = vf_sub(u, one);
    vf lost = vf_add(vf_sub(x, x_part), vf_sub(one, vf_sub(u, x_part)));
    vf m = vf_split(u, &e);
    vf f = vf_add(vf_sub(m, one), vf_ldexp(lost, vf_neg(e)));
    vf y = vf_log_special(x, -1.0f, vf_log_core(e, f));
    return vf_select(vf_eq(x, vf_set1(0.0f)), x, y);
}

/* Below 1: x + x P(x^2). Above: 1 - exp(-t Q(t)). */
static inline vf vf_erf(vf x) {
    static const float small[] = {0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2ce6p-4f,
        -0x1.b7f71ap-6f, 0x1.53f224p-8f, -0x1.a3515ep-11f, 0x1.4771fcp-14f};
    static const float large[] = {0x1.0790e6p-3f, 0x1.451abap-1f, 0x1.b459aep-4f,
        -0x1.896158p-6f, 0x1.ec7f08p-9f, -0x1.6f9cf2p-12f, 0x1.d4776ep-17f};
    vf n;
    vf t = vf_min(vf_set1(4.0f), vf_abs(x));
    vf near_zero = vf_fma(x, VF_POLY(vf_mul(x, x), small), x);
    vf r = vf_exp_reduce(vf_neg(vf_fma(t, VF_POLY(t, large), t)), &n);
    vf scale = vf_ldexp(vf_set1(1.0f), n);
    vf rest = vf_fnma(scale, vf_exp_core(r), vf_sub(vf_set1(1.0f), scale));
    return vf_select(vf_lt(t, vf_set1(1.0f)), near_zero, vf_copysign(rest, x));
}

/* Below 0.6: x + x^3 P(x^2). Above: 1 - 2 / (e^2t + 1). */
static inline vf vf_tanh(vf x) {
    static const float small[] = {
        -0x1.555532p-2f, 0x1.1106fap-3f, -0x1.b836cap-5f, 0x1.520442p-6f, -0x1.75507p-8f};
    const vf one = vf_set1(1.0f);
    vf n;
    vf t = vf_min(vf_set1(10.0f), vf_abs(x));
    vf s = vf_mul(t, t);
    vf near_zero = vf_fma(vf_mul(t, s), VF_POLY(s, small), t);
    vf r = vf_exp_reduce(vf_add(t, t), &n);
    vf e = vf_ldexp(vf_add(vf_exp_core(r), one), n);
    vf rest = vf_sub(one, vf_div(vf_set1(2.0f), vf_add(e, one)));
    return vf_copysign(vf_select(vf_lt(t, vf_set1(0.6f)), near_zero, rest), x);
}

/* x = q pi/2 + r, |r| <= pi/4; q counts modulo 4. */
static inline vf vf_pi_reduce(vf x, vi *out_q) {
    const vd shift = vd_set1(VD_SHIFT);
    vd wide = vd_from_vf(x);
    vd shifted = vd_fma(wide, vd_set1(0x1.45f306dc9c883p-1), shift);
    vd n = vd_sub(shifted, shift);
    wide = vd_fnma(n, vd_set1(0x1.921fb54442d18p+0), wide);
    wide = vd_fnma(n, vd_set1(0x1.1a62633145c07p-54), wide);
    vf r = vf_from_vd(wide);
    vi q = vi_from_vd_shifted(shifted);
    if (vm_any(vf_lt(vf_set1(TN_PI_REDUCE_MIN), vf_abs(x)))) {
        float r_lanes[VF_LANES], q_lanes[VF_LANES], x_lanes[VF_LANES];
        vf_store(r_lanes, r);
        vf_store(q_lanes, vi_float_bits(q));
        vf_store(x_lanes, x);
        for (int i = 0; i < VF_LANES; i++)
            pi_reduce_large(x_lanes[i], &r_lanes[i], &q_lanes[i]);
        r = vf_load(r_lanes);
        q = vf_bits(vf_load(q_lanes));
    }
    *out_q = q;
    return r;
}

/* sin(r + q pi/2), |r| <= pi/4. */
static inline vf vf_sin_quadrant(vf r, vi q) {
    static const float sine[] = {
        -0x1.555556p-3f, 0x1.111174p-7f, -0x1.a05960p-13f, 0x1.7c342ep-19f};
    static const float cosine[] = {0x1.55554ap-5f, -0x1.6c0c2ap-10f, 0x1.99e910p-16f};
    vf s = vf_mul(r, r);
    vf sin_r = vf_fma(vf_mul(r, s), VF_POLY(s, sine), r);
    vf cos_r = vf_fma(vf_fma(s, VF_POLY(s, cosine), vf_set1(-0.5f)), s, vf_set1(1.0f));
    vm even = vi_eq(vi_and(q, vi_set1(1)), vi_set1(0));
    vi sign = vi_shl(vi_and(q, vi_set1(2)), 30);
    return vi_float_bits(vi_xor(vf_bits(vf_select(even, sin_r, cos_r)), sign));
}

static inline vf vf_sin(vf x) {
    vi q;
    vf r = vf_pi_reduce(x, &q);
    return vf_select(vf_eq(x, vf_set1(0.0f)), x, vf_sin_quadrant(r, q));
}

static inline vf vf_cos(vf x) {
    vi q;
    vf r = vf_pi_reduce(x, &q);
    return vf_sin_quadrant(r, vi_add(q, vi_set1(1)));
}

/* factor / (1 + e^v), v = n ln 2 + r. For n > 0 the quotient by 2^-n (1 + e^v) is scaled
 * last, so that a result below the normal range is rounded once. */
static inline vf vf_logistic(vf factor, vf r, vf n) {
    const vf zero = vf_set1(0.0f), one = vf_set1(1.0f);
    vf p = vf_exp_core(r);
    vf scale = vf_ldexp(one, vf_neg(vf_abs(n)));
    vf whole = vf_add(one, scale);
    vf lost = vf_sub(scale, vf_sub(whole, one));
    vf below = vf_add(whole, vf_fma(vf_select(vf_lt(zero, n), one, scale), p, lost));
    return vf_ldexp(vf_div(factor, below), vf_neg(vf_max(zero, n)));
}

static inline vf vf_clamp(vf x, float bound) {
    return vf_min(vf_set1(bound), vf_max(vf_set1(-bound), x));
}

static inline vf vf_sigmoid(vf x) {
    vf n;
    vf r = vf_exp_reduce(vf_neg(vf_clamp(x, 110.0f)), &n);
    return vf_logistic(vf_set1(1.0f), r, n);
}

static inline vf vf_silu(vf x) {
    vf n;
    vf r = vf_exp_reduce(vf_neg(vf_clamp(x, 110.0f)), &n);
    return vf_logistic(vf_max(vf_set1(-110.0f), x), r, n);
}

/* alpha x in two parts; the bound of 173 keeps e^v within what vf_ldexp takes, and the
 * half factor keeps the quotient finite. */
static inline vf vf_swish(vf x, vf alpha) {
    const vf bound = vf_set1(173.0f);
    vf n;
    vf u = vf_mul(x, alpha);
    vf rest = vf_fma(x, alpha, vf_neg(u));
    rest = vf_select(vf_lt(vf_abs(u), bound), rest, vf_set1(0.0f));
    vf r = vf_sub(vf_exp_reduce(vf_neg(vf_clamp(u, 173.0f)), &n), rest);
    vf factor = vf_select(vf_eq(u, vf_set1(-INFINITY)), vf_copysign(vf_set1(0.0f), x),
        vf_mul(x, vf_set1(0.5f)));
    vf half = vf_logistic(factor, r, n);
    return vf_add(half, half);
}

/* x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 = x / (1 + e^-2u). */
static inline vf vf_gelu_tanh(vf x) {
    vf n;
    vd t = vd_from_vf(vf_clamp(x, 11.5f));
    vd slope = vd_fma(
        vd_mul(t, t), vd_set1(-0x1.2444f2a4d8b4bp-4), vd_set1(-0x1.9884533d43651p+0));
    vf r = vd_exp_reduce(vd_mul(t, slope), &n);
    return vf_logistic(vf_max(vf_set1(-11.5f), x), r, n);
}

/* x Phi(x), from Phi(-t) = exp(-t^2 / 2) Q(t) and Phi(t) = 1 - Phi(-t). Below 2 Q is a
 * polynomial of t - 1; above, t Q(t) is one of 1 / t. */
static inline vf vf_gelu(vf x) {
    static const float small[] = {0x1.0bdb2ep-2f, -0x1.19524cp-3f, 0x1.fcc81cp-5f,
        -0x1.9aff5ep-6f, 0x1.2f489cp-7f, -0x1.9f3cf2p-9f, 0x1.0a07eep-10f,
        -0x1.3d427cp-12f, 0x1.70e274p-14f, -0x1.e891c6p-16f, 0x1.eaa0a0p-18f};
    static const float large[] = {0x1.9884b6p-2f, -0x1.4e5e02p-14f, -0x1.96b7f0p-2f,
        -0x1.40ef2ap-6f, 0x1.4bf55ap+0f, 0x1.daccdap-4f, -0x1.5c4df8p+3f, 0x1.e9c5cep+4f,
        -0x1.55ff42p+5f, 0x1.fd482cp+4f, -0x1.43997ap+3f};
    const vf one = vf_set1(1.0f), minus_half = vf_set1(-0.5f);
    vf n;
    vf t = vf_min(vf_set1(14.5f), vf_abs(x));
    vf square = vf_mul(t, t);
    vf square_rest = vf_fma(t, t, vf_neg(square));
    vf r = vf_exp_reduce(vf_mul(square, minus_half), &n);
    r = vf_fma(square_rest, minus_half, r);
    vm near_zero = vf_lt(t, vf_set1(2.0f)), negative = vf_lt(x, vf_set1(0.0f));
    vf inverse = vf_div(one, t);
    vf q_small = VF_POLY(vf_sub(t, one), small), tq_large = VF_POLY(inverse, large);
    vf q_large = vf_select(negative, tq_large, vf_mul(inverse, tq_large));
    vf q = vf_select(near_zero, q_small, q_large);
    /* q times factor (1 + p), whose rounding is made good */
    vf factor = vf_select(vm_and(negative, near_zero), t, one);
    vf p = vf_exp_core(r);
    vf bent = vf_fma(factor, p, factor);
    vf lost = vf_fma(factor, p, vf_sub(factor, bent));
    vf tail = vf_ldexp(vf_fma(q, bent, vf_mul(q, lost)), n);
    return vf_select(negative, vf_neg(tail), vf_fnma(t, tail, x));
}

/* max(0, x) + log(1 + z), z = e^-|x| in [0, 1]. */
static inline vf vf_softplus(vf x) {
    const vf one = vf_set1(1.0f);
    vf e;
    vf z = vf_exp(vf_neg(vf_abs(x)));
    vf u = vf_add(one, z);
    vf lost = vf_sub(z, vf_sub(u, one));
    vf f = vf_sub(vf_split(u, &e), one);
    f = vf_fma(lost, vf_fnma(e, vf_set1(0.5f), one), f);
    return vf_add(vf_max(vf_set1(0.0f), x), vf_log_core(e, f));
}

/* x tanh(log(1 + e^x)) = x a / (a + b): with z = e^-|x|, a = z (z + 2), b = 2 below 0 and
 * a = 1 + 2 z, b = 2 z^2 above. */
static inline vf vf_mish(vf x) {
    vf n;
    vf r = vf_exp_reduce(vf_neg(vf_min(vf_set1(110.0f), vf_abs(x))), &n);
    vf p = vf_add(vf_exp_core(r), vf_set1(1.0f));
    vf z = vf_ldexp(p, n);
    vf z_plus = vf_add(z, vf_set1(2.0f));
    vf z_twice = vf_add(z, z);
    vf below = vf_div(vf_mul(vf_mul(vf_max(vf_set1(-110.0f), x), p), z_plus),
        vf_fma(z, z_plus, vf_set1(2.0f)));
    vf top = vf_add(z_twice, vf_set1(1.0f));
    vf above = vf_mul(x, vf_div(top, vf_fma(z_twice, z, top)));
    return vf_select(vf_lt(x, vf_set1(0.0f)), vf_ldexp(below, n), above);
}

static inline vf vf_elu(vf x, vf alpha) {
    return vf_select(vf_lt(vf_set1(0.0f), x), x, vf_mul(alpha, vf_expm1(x)));
}

static inline vf vf_celu(vf x, vf alpha) {
    vf bend = vf_mul(alpha, vf_expm1(vf_div(x, alpha)));
    return vf_select(vf_lt(vf_set1(0.0f), x), x, bend);
}

static inline vf vf_selu(vf x, vf alpha, vf gamma) {
    return vf_mul(gamma, vf_elu(x, alpha));
}

/* log2 of a positive m 2^e, m in [2/3, 4/3), to 2^-42: atanh series of (m - 1) / (m + 1).
 */
static inline vd vd_log2(vf m, vf e) {
    static const double c[] = {0x1.71547652b7e9ep+1, 0x1.ec709dcb55005p-1,
        0x1.2776bc523997fp-1, 0x1.a61e9cabd6855p-2, 0x1.46f2d10a6e71bp-2,
        0x1.29ce25c3a06dfp-2};
    const vd one = vd_set1(1.0);
    vd wide = vd_from_vf(m);
    vd s = vd_div(vd_sub(wide, one), vd_add(wide, one));
    return vd_fma(s, VD_POLY(vd_mul(s, s), c), vd_from_vf(e));
}

/* 2^x in f32 for a bounded x. */
static inline vf vd_exp2(vd x) {
    static const double c[] = {0x1.ffffffffab9b9p-1, 0x1.62e42ff116cdep-1,
        0x1.ebfbe0a4f2dc2p-3, 0x1.c6b08aae3c107p-5, 0x1.3b29dc147794fp-7,
        0x1.5d8a7122ba772p-10, 0x1.446a43c3e164ap-13, 0x1.fe1739d064d43p-17};
    const vd shift = vd_set1(VD_SHIFT);
    vd shifted = vd_add(x, shift);
    vd p = VD_POLY(vd_sub(x, vd_sub(shifted, shift)), c);
    return vf_from_vd(vd_mul(p, vd_pow2_shifted(shifted)));
}

/* x^y = 2^(y log2 |x|) with C's special cases. */
static inline vf vf_pow(vf x, vf y) {
    const vf zero = vf_set1(0.0f), one = vf_set1(1.0f), inf = vf_set1(INFINITY);
    vf e;
    vf size = vf_abs(x);
    vm tiny = vf_lt(size, vf_set1(0x1p-126f));
    vf m = vf_split(vf_select(tiny, vf_mul(size, vf_set1(0x1p23f)), size), &e);
    e = vf_sub(e, vf_select(tiny, vf_set1(23.0f), zero));
    e = vf_select(vf_eq(size, zero), vf_neg(inf), vf_select(vf_eq(size, inf), inf, e));
    vd power = vd_mul(vd_log2(m, e), vd_from_vf(y));
    power = vd_min(vd_set1(200.0), vd_max(vd_set1(-200.0), power));
    vf result = vd_exp2(power);

    vf half = vf_mul(y, vf_set1(0.5f));
    vm whole = vf_eq(y, vf_round(y));
    vm odd = vm_andnot(vf_eq(half, vf_round(half)), whole);
    result = vf_select(odd, vf_copysign(result, x), result);
    vm negative = vm_and(vf_lt(x, zero), vf_lt(vf_neg(inf), x));
    result = vf_select(vm_andnot(whole, negative), vf_set1(NAN), result);
    vm nan = vm_or(vf_is_nan(x), vf_is_nan(y));
    result = vf_select(nan, vf_add(x, y), result);
    vm unit = vm_and(vf_eq(size, one), vf_eq(vf_abs(y), inf));
    unit = vm_or(unit, vm_or(vf_eq(x, one), vf_eq(y, zero)));
    return vf_select(unit, one, result);
}

#endif
