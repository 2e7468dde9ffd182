/* Conversions of every pair of types. The value of a code is worked out from the definition
 * of its format; the expected code of a narrow float is the nearest of all its codes, found
 * by search. */
#include "convert.h"
#include "test_kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { WHOLE, NARROW, E8M0, FULL, BOOLEAN };

struct type {
    const char *name;
    int elem, bits;
    enum kind kind;
    bool is_signed;
    /* of a narrow float: bits of the fraction, bias, the greatest finite code, whether codes
     * above are an infinity and NaN, whether -0 is NaN */
    int fraction, bias;
    unsigned greatest;
    bool has_inf, no_minus_zero;
};

/* clang-format off */
static const struct type types[] = {
    {"f32", TN_ELEM_F32, 32, FULL, true, 0, 0, 0, false, false},
    {"f64", TN_ELEM_F64, 64, FULL, true, 0, 0, 0, false, false},
    {"f16", TN_ELEM_F16, 16, NARROW, true, 10, 15, 0x7bff, true, false},
    {"bf16", TN_ELEM_BF16, 16, NARROW, true, 7, 127, 0x7f7f, true, false},
    {"e4m3fn", TN_ELEM_E4M3FN, 8, NARROW, true, 3, 7, 0x7e, false, false},
    {"e4m3fnuz", TN_ELEM_E4M3FNUZ, 8, NARROW, true, 3, 8, 0x7f, false, true},
    {"e5m2", TN_ELEM_E5M2, 8, NARROW, true, 2, 15, 0x7b, true, false},
    {"e5m2fnuz", TN_ELEM_E5M2FNUZ, 8, NARROW, true, 2, 16, 0x7f, false, true},
    {"e2m1", TN_ELEM_E2M1, 4, NARROW, true, 1, 1, 0x7, false, false},
    {"e8m0", TN_ELEM_E8M0, 8, E8M0, false, 0, 0, 0, false, false},
    {"bool", TN_ELEM_BOOL, 8, BOOLEAN, false, 0, 0, 0, false, false},
    {"i8", TN_ELEM_I8, 8, WHOLE, true, 0, 0, 0, false, false},
    {"i16", TN_ELEM_I16, 16, WHOLE, true, 0, 0, 0, false, false},
    {"i32", TN_ELEM_I32, 32, WHOLE, true, 0, 0, 0, false, false},
    {"i64", TN_ELEM_I64, 64, WHOLE, true, 0, 0, 0, false, false},
    {"u8", TN_ELEM_U8, 8, WHOLE, false, 0, 0, 0, false, false},
    {"u16", TN_ELEM_U16, 16, WHOLE, false, 0, 0, 0, false, false},
    {"u32", TN_ELEM_U32, 32, WHOLE, false, 0, 0, 0, false, false},
    {"u64", TN_ELEM_U64, 64, WHOLE, false, 0, 0, 0, false, false},
    {"i4", TN_ELEM_I4, 4, WHOLE, true, 0, 0, 0, false, false},
    {"u4", TN_ELEM_U4, 4, WHOLE, false, 0, 0, 0, false, false},
    {"i2", TN_ELEM_I2, 2, WHOLE, true, 0, 0, 0, false, false},
    {"u2", TN_ELEM_U2, 2, WHOLE, false, 0, 0, 0, false, false},
};
/* clang-format on */
enum { TYPES = sizeof(types) / sizeof(types[0]) };

/* A value exactly: an integer, or a float, which long double holds in all cases. */
struct number {
    bool is_whole;
    __int128 whole;
    long double real;
};

static uint64_t get_code(const struct type *type, const void *data, size_t i) {
    uint64_t code = 0;
    const unsigned char *bytes = data;
    if (type->bits < 8) {
        size_t each = 8 / (size_t)type->bits;
        return (bytes[i / each] >> (i % each * (size_t)type->bits)) &
               ((1u << type->bits) - 1);
    }
    memcpy(&code, bytes + i * (size_t)type->bits / 8, (size_t)type->bits / 8);
    return code;
}

static double narrow_value(const struct type *type, unsigned code) {
    const unsigned sign = 1u << (type->bits - 1), size = code & (sign - 1);
    const int exponent = (int)(size >> type->fraction);
    const double fraction = (double)(size & ((1u << type->fraction) - 1));
    if (type->no_minus_zero && code == sign) return NAN;
    if (size > type->greatest)
        return size == type->greatest + 1 && type->has_inf
                   ? (code & sign ? -INFINITY : INFINITY)
                   : NAN;
    double value = exponent == 0 ? ldexp(fraction, 1 - type->bias - type->fraction)
                                 : ldexp(1 + ldexp(fraction, -type->fraction),
                                       exponent - type->bias);
    return code & sign ? -value : value;
}

static struct number value_of(const struct type *type, uint64_t code) {
    struct number number = {true, 0, 0};
    if (type->kind == BOOLEAN) {
        number.whole = code != 0;
    } else if (type->kind == WHOLE) {
        number.whole = code;
        if (type->is_signed && code >> (type->bits - 1))
            number.whole -= (__int128)1 << type->bits;
    } else {
        double real = type->kind == NARROW ? narrow_value(type, (unsigned)code)
                      : code == 255        ? NAN
                                           : ldexp(1, (int)(code & 255) - 127);
        if (type->elem == TN_ELEM_F64) memcpy(&real, &code, sizeof(real));
        if (type->elem == TN_ELEM_F32) {
            uint32_t low = (uint32_t)code;
            float narrow;
            memcpy(&narrow, &low, sizeof(narrow));
            real = (double)narrow;
        }
        number.is_whole = false;
        number.real = (long double)real;
    }
    if (number.is_whole) number.real = (long double)number.whole;
    return number;
}

/* The nearest code, the even one of two. */
static unsigned narrow_code(const struct type *type, long double x, bool saturate) {
    const unsigned sign_bit = 1u << (type->bits - 1), sign = signbit(x) ? sign_bit : 0;
    const bool option = type->bits == 8, stays = type->bits == 4 || (option && saturate);
    if (isnan(x)) return sign_bit; /* only for formats whose NaN that is */
    unsigned low = 0, high = type->greatest;
    long double size = fabsl(x);
    while (low < high) { /* greatest code not above the value */
        unsigned middle = (low + high + 1) / 2;
        if ((long double)narrow_value(type, middle) <= size)
            low = middle;
        else
            high = middle - 1;
    }
    long double below = (long double)narrow_value(type, low), above;
    unsigned code = low;
    if (low == type->greatest)
        above = below + (below - (long double)narrow_value(type, low - 1));
    else
        above = (long double)narrow_value(type, low + 1);
    long double to_below = size - below, to_above = above - size;
    if (to_above < to_below || (to_above == to_below && low % 2 == 1)) code = low + 1;
    if (code > type->greatest) {
        if (stays) return sign | type->greatest;
        return type->no_minus_zero ? sign_bit : sign | (type->greatest + 1);
    }
    return type->no_minus_zero && code == 0 ? 0 : sign | code;
}

static bool right_narrow(
    const struct type *type, uint64_t got, long double x, bool saturate) {
    if (isnan(x) && type->bits == 4) return got == 8;
    if (isnan(x)) return isnan(narrow_value(type, (unsigned)got));
    /* beyond e4m3fn there is but NaN */
    return got == narrow_code(type, x, saturate);
}

static __int128 whole_from_real(const struct type *type, long double x) {
    /* 4 and 2 bits keep what an int32 has */
    const int bits = type->bits < 8 ? 32 : type->bits;
    const bool is_signed = type->is_signed || type->bits < 8;
    const long double high = ldexpl(1, bits - is_signed), low = is_signed ? -high : 0;
    if (isnan(x)) return 0;
    if (x >= high) return ((__int128)1 << (bits - is_signed)) - 1;
    if (x <= low) return is_signed ? -((__int128)1 << (bits - 1)) : 0;
    return (__int128)truncl(x);
}

static bool right_e8m0(
    uint64_t got, long double x, const struct tn_convert_options *options) {
    const float narrow = fabsf((float)(double)x);
    const bool saturate = options->saturate;
    if (isnan(narrow)) return got == 255;
    if (isinf(narrow)) return got == (saturate ? 254 : 255);
    if (narrow < 0x1p-126f) return got <= 1; /* below the exponents: see the next test */
    int exponent;
    float fraction =
        frexpf(narrow, &exponent) * 2; /* narrow = fraction 2^(exponent - 1) */
    int code = exponent - 1 + 127;
    if (options->round == TN_CONVERT_UP) code += fraction > 1;
    if (options->round == TN_CONVERT_NEAREST) code += fraction >= 1.5f;
    if (code > 254) code = saturate ? 254 : 255;
    return got == (uint64_t)code;
}

static bool right(const struct type *to, uint64_t got, struct number x,
    const struct tn_convert_options *options) {
    const uint64_t mask = ~UINT64_C(0) >> (64 - to->bits);
    switch (to->kind) {
    case BOOLEAN: return got == (x.is_whole ? x.whole != 0 : !(x.real == 0));
    case E8M0: return right_e8m0(got, x.real, options);
    case NARROW: return right_narrow(to, got, x.real, options->saturate);
    case WHOLE:
        if (!x.is_whole) x.whole = whole_from_real(to, x.real);
        return got == ((uint64_t)x.whole & mask);
    default: break;
    }
    if (to->elem == TN_ELEM_F64) {
        double want = (double)x.real, value;
        memcpy(&value, &got, sizeof(value));
        return isnan(want) ? isnan(value) : memcmp(&value, &want, sizeof(want)) == 0;
    }
    float want = (float)x.real, value;
    uint32_t low = (uint32_t)got;
    memcpy(&value, &low, sizeof(value));
    return isnan(want) ? isnan(value) : memcmp(&value, &want, sizeof(want)) == 0;
}

/* Any bits, and values near the limits of the narrow types. */
static void fill(
    struct kernel_run *run, const struct type *type, void *data, size_t bytes) {
    unsigned char *out = data;
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)kernel_random(run);
    const size_t size = type->bits < 8 ? 1 : (size_t)type->bits / 8;
    for (size_t i = 0; i < bytes / size; i++) {
        uint32_t pick = kernel_random(run);
        if (pick % 2 == 0 || type->bits < 16) continue;
        /* a number with few bits, of moderate size */
        double real =
            ldexp((double)((int)(pick >> 2 & 0x3ff) - 512), (int)(pick >> 12) % 40 - 20);
        if (pick % 31 == 0) real = (pick & 64) ? INFINITY : NAN;
        float narrow = (float)real;
        int64_t whole = isfinite(real) && fabs(real) < 1e9 ? (int64_t)real : -1;
        if (type->bits == 64 && pick % 5 == 0)
            whole = (int64_t)((UINT64_C(0x8100000000000000) | (pick & 1)) >>
                              (pick >> 3 & 31));
        if (type->elem == TN_ELEM_F64)
            memcpy(out + i * size, &real, size);
        else if (type->elem == TN_ELEM_F32)
            memcpy(out + i * size, &narrow, size);
        else if (type->kind == WHOLE)
            memcpy(out + i * size, &whole, size);
    }
}

static size_t bytes_of(const struct type *type, size_t n) {
    return (n * (size_t)type->bits + 7) / 8;
}

static void check_pair(struct kernel_run *run, const struct tn_convert_kernels *kernels,
    const struct type *to, const struct type *from, size_t n,
    const struct tn_convert_options *options) {
    kernel_case(run, "%s to %s, %zu elements, saturate %d, round %d", from->name,
        to->name, n, options->saturate, options->round);
    const size_t src_bytes = bytes_of(from, n), dst_bytes = bytes_of(to, n);
    void *src = kernel_memory(run, src_bytes, 1), *dst = kernel_memory(run, dst_bytes, 1);
    src = kernel_memory(run, src_bytes, from->bits < 8 ? 1 : (size_t)from->bits / 8);
    dst = kernel_memory(run, dst_bytes, to->bits < 8 ? 1 : (size_t)to->bits / 8);
    fill(run, from, src, src_bytes);
    tn_convert_run(kernels, to->elem, dst, from->elem, src, n, options);
    for (size_t i = 0; i < n; i++) {
        uint64_t code = get_code(from, src, i), got = get_code(to, dst, i);
        if (to == from ? got == code : right(to, got, value_of(from, code), options))
            continue;
        kernel_case(run, "%s 0x%llx to %s gives 0x%llx, saturate %d, round %d",
            from->name, (unsigned long long)code, to->name, (unsigned long long)got,
            options->saturate, options->round);
        kernel_check(run, false, "wrong code");
        return;
    }
    bool spare_is_zero = true;
    for (size_t i = n; to != from && i < dst_bytes * 8 / (size_t)to->bits; i++)
        spare_is_zero = spare_is_zero && get_code(to, dst, i) == 0;
    kernel_check(run, spare_is_zero, "bits after the last element are not 0");
}

/* Values of the official tests and of the ONNX tables. */
static void check_known(
    struct kernel_run *run, const struct tn_convert_kernels *kernels) {
    static const struct {
        int elem, saturate, round;
        float x;
        unsigned code;
    } known[] = {{TN_ELEM_E4M3FN, 1, 0, 1e6f, 0x7e}, {TN_ELEM_E4M3FN, 0, 0, 1e6f, 0x7f},
        {TN_ELEM_E4M3FN, 0, 0, -1e6f, 0xff}, {TN_ELEM_E4M3FN, 1, 0, -INFINITY, 0xfe},
        {TN_ELEM_E4M3FN, 1, 0, 464.0f, 0x7e}, {TN_ELEM_E4M3FN, 0, 0, 465.0f, 0x7f},
        {TN_ELEM_E4M3FNUZ, 1, 0, -0.0f, 0}, {TN_ELEM_E4M3FNUZ, 0, 0, INFINITY, 0x80},
        {TN_ELEM_E5M2, 1, 0, INFINITY, 0x7b}, {TN_ELEM_E5M2, 0, 0, INFINITY, 0x7c},
        {TN_ELEM_E5M2, 0, 0, -1e6f, 0xfc}, {TN_ELEM_E5M2FNUZ, 0, 0, 1e6f, 0x80},
        {TN_ELEM_E2M1, 1, 0, 9.0f, 7}, {TN_ELEM_E2M1, 1, 0, 1.05f, 2},
        {TN_ELEM_E2M1, 1, 0, 0.25f, 0}, {TN_ELEM_E2M1, 1, 0, -3.5f, 0xe},
        {TN_ELEM_E8M0, 1, TN_CONVERT_UP, 0.0f, 0},
        {TN_ELEM_E8M0, 1, TN_CONVERT_UP, 0.124f, 0x7c},
        {TN_ELEM_E8M0, 1, TN_CONVERT_DOWN, 1.9f, 0x7f},
        {TN_ELEM_E8M0, 1, TN_CONVERT_NEAREST, 1.5f, 0x80},
        {TN_ELEM_E8M0, 0, TN_CONVERT_UP, INFINITY, 0xff}, {TN_ELEM_I4, 1, 0, -9.0f, 7},
        {TN_ELEM_U4, 1, 0, 16.0f, 0}, {TN_ELEM_I2, 1, 0, 2.0f, 2},
        {TN_ELEM_I8, 1, 0, 300.0f, 0x7f}, {TN_ELEM_U8, 1, 0, -1.0f, 0},
        {TN_ELEM_BOOL, 1, 0, NAN, 1}, {TN_ELEM_F16, 1, 0, 65520.0f, 0x7c00},
        {TN_ELEM_F16, 1, 0, 65519.0f, 0x7bff}, {TN_ELEM_F16, 1, 0, 0x1p-25f, 0},
        {TN_ELEM_F16, 1, 0, 0x1.8p-25f, 1}, {TN_ELEM_BF16, 1, 0, 0x1.01p0f, 0x3f80}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const struct tn_convert_options options = {
            known[i].saturate, (enum tn_convert_round)known[i].round};
        unsigned char code[8] = {0};
        tn_convert_run(
            kernels, known[i].elem, code, TN_ELEM_F32, &known[i].x, 1, &options);
        unsigned got = code[0] | (unsigned)code[1] << 8;
        kernel_case(run, "%g to type %d gives 0x%x, expected 0x%x", (double)known[i].x,
            known[i].elem, got, known[i].code);
        kernel_check(run, got == known[i].code, "wrong code");
    }
    /* through f32 this would round twice, to 1 */
    const double x = 1.0 + 0x1p-11 + 0x1p-40;
    uint16_t half;
    kernel_case(run, "f64 to f16");
    tn_convert_run(kernels, TN_ELEM_F16, &half, TN_ELEM_F64, &x, 1, NULL);
    kernel_check(run, half == 0x3c01, "rounded twice");
    kernel_check(run, !tn_convert_exists(kernels, TN_ELEM_C64, TN_ELEM_F32), "complex");
    kernel_check(run, !tn_convert_exists(kernels, TN_ELEM_F32, 8), "string");
}

void test_convert(struct kernel_run *run) {
    static const size_t lengths[] = {0, 1, 2, 3, 5, 8, 17, 255, 256, 257, 1001};
    struct tn_convert_kernels kernels;
    tn_convert_kernels_init(&kernels, run->isa);
    check_known(run, &kernels);
    for (size_t t = 0; t < TYPES; t++) {
        for (size_t f = 0; f < TYPES; f++) {
            for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                const struct tn_convert_options options = {
                    (int)(i % 2), (enum tn_convert_round)(i % 3)};
                if (run->quick && i % 3 != 2) continue;
                check_pair(run, &kernels, &types[t], &types[f], lengths[i], &options);
            }
        }
    }
}
