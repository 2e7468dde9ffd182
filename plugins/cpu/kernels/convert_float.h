/* Narrow floats, one value at a time, for any format: the constants of a format fold into
 * the code. */
#ifndef TENON_CPU_CONVERT_FLOAT_H
#define TENON_CPU_CONVERT_FLOAT_H

#include "simd/loops.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

/* What becomes of a value beyond the greatest finite one. */
enum narrow_overflow { NARROW_OVERFLOWS, NARROW_SATURATES, NARROW_BY_OPTION };

struct narrow_format {
    int fraction;     /* bits of the fraction */
    int least;        /* exponent of the least normal number */
    uint32_t sign;    /* the sign bit */
    uint32_t highest; /* code of the greatest finite number */
    uint32_t beyond;  /* code beyond it: infinity or NaN */
    uint32_t nan;
    int has_inf;     /* codes above `beyond` are NaN too */
    int single_zero; /* no -0: its code is NaN, the only one and without a sign */
    enum narrow_overflow overflow;
};

/* clang-format off */
static const struct narrow_format
    narrow_f16 = {10, -14, 0x8000, 0x7bff, 0x7c00, 0x7e00, 1, 0, NARROW_OVERFLOWS},
    narrow_bf16 = {7, -126, 0x8000, 0x7f7f, 0x7f80, 0x7fc0, 1, 0, NARROW_OVERFLOWS},
    narrow_e4m3fn = {3, -6, 0x80, 0x7e, 0x7f, 0x7f, 0, 0, NARROW_BY_OPTION},
    narrow_e4m3fnuz = {3, -7, 0x80, 0x7f, 0x80, 0x80, 0, 1, NARROW_BY_OPTION},
    narrow_e5m2 = {2, -14, 0x80, 0x7b, 0x7c, 0x7e, 1, 0, NARROW_BY_OPTION},
    narrow_e5m2fnuz = {2, -15, 0x80, 0x7f, 0x80, 0x80, 0, 1, NARROW_BY_OPTION},
    narrow_e2m1 = {1, 0, 0x8, 0x7, 0x7, 0x8, 0, 0, NARROW_SATURATES};
/* clang-format on */

static inline uint64_t f64_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline double f64_from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline uint32_t f32_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float f32_from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* The nearest code. The value is scaled so that its last kept bit is worth 1 and rounded by
 * adding 2^52; a carry out of the fraction moves on to the next exponent by itself. */
static ALWAYS_INLINE uint32_t narrow_encode(
    double x, const struct narrow_format format, int saturate) {
    const uint64_t bits = f64_bits(x);
    const uint32_t sign = bits >> 63 ? format.sign : 0;
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (x != x) return format.single_zero ? format.nan : sign | format.nan;
    if (exponent < format.least) exponent = format.least;
    uint32_t code = format.highest + 1;
    if (exponent <= 128) {
        double scale = f64_from_bits((uint64_t)(1023 + format.fraction - exponent) << 52);
        double kept = (fabs(x) * scale + 0x1p52) - 0x1p52;
        code = ((uint32_t)(exponent - format.least) << format.fraction) + (uint32_t)kept;
    }
    if (code > format.highest) {
        if (format.overflow == NARROW_SATURATES ||
            (format.overflow == NARROW_BY_OPTION && saturate))
            return sign | format.highest;
        return format.single_zero ? format.nan : sign | format.beyond;
    }
    return format.single_zero && code == 0 ? 0 : sign | code;
}

static ALWAYS_INLINE float narrow_decode(
    uint32_t code, const struct narrow_format format) {
    const uint32_t size = code & (format.sign - 1);
    const uint32_t sign = code & format.sign ? 0x80000000u : 0;
    const uint32_t mask = (1u << format.fraction) - 1;
    if (format.single_zero && code == format.nan) return NAN;
    if (format.has_inf && size >= format.beyond)
        return f32_from_bits(sign | 0x7f800000u | (size > format.beyond ? 0x400000u : 0) |
                             (size & mask) << (23 - format.fraction));
    if (!format.has_inf && !format.single_zero && format.nan != format.sign &&
        size == format.nan)
        return f32_from_bits(sign | 0x7fc00000u);
    const uint32_t exponent = size >> format.fraction;
    /* subnormal: the fraction times the least step */
    const float step = f32_from_bits((uint32_t)(127 + format.least) << 23) *
                       (1.0f / (float)(1u << format.fraction));
    const float value =
        exponent == 0 ? (float)size * step
                      : f32_from_bits((exponent + (uint32_t)(126 + format.least)) << 23 |
                                      (size & mask) << (23 - format.fraction));
    return f32_from_bits(f32_bits(value) | sign);
}

#endif
