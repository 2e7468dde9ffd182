/* Conversions, one body for all levels; each convert_<level> file includes it. */
#include "convert.h"
#include "convert_float.h"
#include "simd/level.h"
#ifdef __F16C__
#include <immintrin.h>
#endif

#define LOOP(name, to, from, value)                                                      \
    static inline void name(void *dst, const void *src, size_t n,                        \
        const struct tn_convert_options *options) {                                      \
        to *out = dst;                                                                   \
        const from *in = src;                                                            \
        (void)options;                                                                   \
        INDEPENDENT                                                                      \
        for (size_t i = 0; i < n; i++) {                                                 \
            const from x = in[i];                                                        \
            out[i] = (to)(value);                                                        \
        }                                                                                \
    }

/* ---- floats to integers: truncated, saturated, NaN to 0 ------------------------------- */

static inline int32_t i32_from(double x, double low, double high) {
    double inside = x != x ? 0.0 : x;
    inside = inside < low ? low : inside;
    return (int32_t)(inside > high ? high : inside);
}

static inline int64_t i64_from(double x) {
    if (x != x) return 0;
    if (x >= 0x1p63) return INT64_MAX;
    return x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

static inline uint64_t u64_from(double x) {
    if (!(x > 0)) return 0;
    return x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

static inline uint32_t u32_from(double x) {
    double inside = x > 0 ? x : 0.0;
    return (uint32_t)(int64_t)(inside > 4294967295.0 ? 4294967295.0 : inside);
}

/* ---- integers to narrow floats --------------------------------------------------------- */

/* A double from which a narrower float is rounded as from the integer itself: bits below the
 * 53 that fit are gathered into the last one. */
static inline double odd_from_u64(uint64_t x) {
    if (x >> 53 == 0) return (double)x;
    return (double)((x & ~UINT64_C(0xfff)) | (uint64_t)((x & 0xfff) != 0) << 12);
}

static inline double odd_from_i64(int64_t x) {
    return x < 0 ? -odd_from_u64(0 - (uint64_t)x) : odd_from_u64((uint64_t)x);
}

/* X(NAME, type, from a float, as a double): stores from every wide type. The integers keep
 * the low bits of an integer. */
#define WHOLE_LIST(X)                                                                    \
    X(I8, int8_t, i32_from((double)x, -128.0, 127.0))                                    \
    X(U8, uint8_t, i32_from((double)x, 0.0, 255.0))                                      \
    X(I16, int16_t, i32_from((double)x, -32768.0, 32767.0))                              \
    X(U16, uint16_t, i32_from((double)x, 0.0, 65535.0))                                  \
    X(I32, int32_t, i32_from((double)x, -2147483648.0, 2147483647.0))                    \
    X(U32, uint32_t, u32_from((double)x))                                                \
    X(I64, int64_t, i64_from((double)x))                                                 \
    X(U64, uint64_t, u64_from((double)x))

/* clang-format off */
#define X(NAME, type, from_float)                                                        \
    LOOP(f32_to_##NAME, type, float, from_float)                                         \
    LOOP(f64_to_##NAME, type, double, from_float)                                        \
    LOOP(i32_to_##NAME, type, int32_t, x)                                                \
    LOOP(i64_to_##NAME, type, int64_t, x)                                                \
    LOOP(u64_to_##NAME, type, uint64_t, x)
WHOLE_LIST(X)
#undef X
#define STORES(NAME, type, value)                                                        \
    LOOP(f32_to_##NAME, type, float, value)                                              \
    LOOP(f64_to_##NAME, type, double, value)                                             \
    LOOP(i32_to_##NAME, type, int32_t, value)                                            \
    LOOP(i64_to_##NAME, type, int64_t, value)                                            \
    LOOP(u64_to_##NAME, type, uint64_t, value)
STORES(BOOL, uint8_t, x != 0)
STORES(F32, float, x)
STORES(F64, double, x)
#undef STORES

/* ---- integers into the wide ones -------------------------------------------------------- */
LOOP(load_BOOL, int32_t, uint8_t, x != 0)
LOOP(load_U8, int32_t, uint8_t, x)
LOOP(load_I8, int32_t, int8_t, x)
LOOP(load_U16, int32_t, uint16_t, x)
LOOP(load_I16, int32_t, int16_t, x)
LOOP(load_U32, int64_t, uint32_t, x)

/* ---- narrow floats of whole bytes ------------------------------------------------------- */
#define ENCODE_LOOP(name, type, from, value, format)                                     \
    static inline void name(                                                                  \
        void *dst, const void *src, size_t n, const struct tn_convert_options *options)  \
    {                                                                                    \
        type *out = dst;                                                                 \
        const from *in = src;                                                            \
        const int saturate = options ? options->saturate : 1;                            \
        for (size_t i = 0; i < n; i++) {                                                 \
            const from x = in[i];                                                        \
            out[i] = (type)narrow_encode(value, format, saturate);                       \
        }                                                                                \
    }
#define WIDE_STORES(NAME, type, format)                                                  \
    ENCODE_LOOP(f64_to_##NAME, type, double, x, format)                                  \
    ENCODE_LOOP(i32_to_##NAME, type, int32_t, (double)x, format)                         \
    ENCODE_LOOP(i64_to_##NAME, type, int64_t, odd_from_i64(x), format)                   \
    ENCODE_LOOP(u64_to_##NAME, type, uint64_t, odd_from_u64(x), format)
#define NARROW(NAME, type, format)                                                       \
    LOOP(plain_load_##NAME, float, type, narrow_decode(x, format))                       \
    ENCODE_LOOP(plain_f32_to_##NAME, type, float, (double)x, format)                     \
    WIDE_STORES(NAME, type, format)
NARROW(F16, uint16_t, narrow_f16)
NARROW(E4M3FN, uint8_t, narrow_e4m3fn)
NARROW(E4M3FNUZ, uint8_t, narrow_e4m3fnuz)
NARROW(E5M2, uint8_t, narrow_e5m2)
NARROW(E5M2FNUZ, uint8_t, narrow_e5m2fnuz)
WIDE_STORES(BF16, uint16_t, narrow_bf16)
ENCODE_LOOP(f32_to_E2M1, uint8_t, float, (double)x, narrow_e2m1)
WIDE_STORES(E2M1, uint8_t, narrow_e2m1)
/* clang-format on */

/* bf16 is the upper half of f32. */
static inline float bf16_value(uint16_t code) {
    uint32_t bits = (uint32_t)code << 16;
    return f32_from_bits(bits | ((bits & 0x7fffffff) > 0x7f800000 ? 0x400000 : 0));
}

static inline uint16_t bf16_code(float x) {
    uint32_t bits = f32_bits(x), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t nan = (bits >> 16 & 0x8000) | 0x7fc0;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

LOOP(load_BF16, float, uint16_t, bf16_value(x))
LOOP(f32_to_BF16, uint16_t, float, bf16_code(x))

/* f16: the instruction where there is one; its NaN keeps a payload, ours does not. */
#ifdef __F16C__
static inline void load_F16(
    void *dst, const void *src, size_t n, const struct tn_convert_options *options) {
    float *out = dst;
    const uint16_t *in = src;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(
            out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
    plain_load_F16(out + i, in + i, n - i, options);
}

static inline void f32_to_F16(
    void *dst, const void *src, size_t n, const struct tn_convert_options *options) {
    uint16_t *out = dst;
    const float *in = src;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 x = _mm256_loadu_ps(in + i);
        __m256 quiet =
            _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(~0x3fffff)));
        __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
        x = _mm256_blendv_ps(x, _mm256_or_ps(quiet, _mm256_set1_ps(NAN)), nan);
        _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(x, 0));
    }
    plain_f32_to_F16(out + i, in + i, n - i, options);
}
#else
#define load_F16 plain_load_F16
#define f32_to_F16 plain_f32_to_F16
#endif

/* ---- e8m0: a power of two -------------------------------------------------------------- */

static inline float e8m0_value(uint8_t code) {
    return code == 0     ? 0x1p-127f
           : code == 255 ? NAN
                         : f32_from_bits((uint32_t)code << 23);
}

static inline uint8_t e8m0_code(float x, const struct tn_convert_options *options) {
    const uint32_t bits = f32_bits(x) & 0x7fffffff, exponent = bits >> 23;
    const uint32_t fraction = bits & 0x7fffff;
    const enum tn_convert_round round = options ? options->round : TN_CONVERT_UP;
    const int saturate = options ? options->saturate : 1;
    if (bits > 0x7f800000) return 255;
    uint32_t code = exponent;
    if (round == TN_CONVERT_UP) code += fraction != 0;
    if (round == TN_CONVERT_NEAREST)
        code += fraction > 0x400000 || (fraction == 0x400000 && exponent > 0);
    if (code < 255) return (uint8_t)code;
    return saturate ? 254 : 255;
}

LOOP(load_E8M0, float, uint8_t, e8m0_value(x))
LOOP(f32_to_E8M0, uint8_t, float, e8m0_code(x, options))
LOOP(f64_to_E8M0, uint8_t, double, e8m0_code((float)x, options))
LOOP(i32_to_E8M0, uint8_t, int32_t, e8m0_code((float)x, options))
LOOP(i64_to_E8M0, uint8_t, int64_t, e8m0_code((float)x, options))
LOOP(u64_to_E8M0, uint8_t, uint64_t, e8m0_code((float)x, options))

/* ---- packed elements -------------------------------------------------------------------- */

static ALWAYS_INLINE uint32_t packed_get(const uint8_t *in, size_t i, unsigned bits) {
    const size_t each = 8 / bits;
    return (uint32_t)in[i / each] >> (i % each * bits) & ((1u << bits) - 1);
}

/* Packs codes[i], i < n, and zeros to the end of the last byte. */
static ALWAYS_INLINE void pack(
    uint8_t *out, const uint8_t *codes, size_t n, unsigned bits) {
    const size_t each = 8 / bits;
    for (size_t i = 0; i < n; i += each) {
        uint32_t byte = 0;
        for (size_t j = 0; j < each && i + j < n; j++)
            byte |= (codes[i + j] & ((1u << bits) - 1)) << (j * bits);
        out[i / each] = (uint8_t)byte;
    }
}

#define LOAD_PACKED(name, to, bits, value)                                               \
    static inline void name(void *dst, const void *src, size_t n,                        \
        const struct tn_convert_options *options) {                                      \
        to *out = dst;                                                                   \
        (void)options;                                                                   \
        for (size_t i = 0; i < n; i++) {                                                 \
            const uint32_t x = packed_get(src, i, bits);                                 \
            out[i] = (to)(value);                                                        \
        }                                                                                \
    }
/* By way of one code a byte, which `store` makes. */
#define STORE_PACKED(name, from, bits, store)                                            \
    static inline void name(void *dst, const void *src, size_t n,                        \
        const struct tn_convert_options *options) {                                      \
        uint8_t codes[PACK_BLOCK], *out = dst;                                           \
        const from *in = src;                                                            \
        for (size_t i = 0; i < n; i += PACK_BLOCK) {                                     \
            const size_t count = n - i < PACK_BLOCK ? n - i : PACK_BLOCK;                \
            store(codes, in + i, count, options);                                        \
            pack(out + i * bits / 8, codes, count, bits);                                \
        }                                                                                \
    }
enum { PACK_BLOCK = 128 };

LOOP(f32_low_bits, uint8_t, float, i32_from((double)x, -2147483648.0, 2147483647.0))
LOOP(f64_low_bits, uint8_t, double, i32_from(x, -2147483648.0, 2147483647.0))

/* clang-format off */
LOAD_PACKED(load_U4, int32_t, 4, x)
LOAD_PACKED(load_I4, int32_t, 4, (int32_t)(x ^ 8) - 8)
LOAD_PACKED(load_U2, int32_t, 2, x)
LOAD_PACKED(load_I2, int32_t, 2, (int32_t)(x ^ 2) - 2)
LOAD_PACKED(load_E2M1, float, 4, narrow_decode(x, narrow_e2m1))
STORE_PACKED(f32_to_4, float, 4, f32_low_bits)
STORE_PACKED(f64_to_4, double, 4, f64_low_bits)
STORE_PACKED(i32_to_4, int32_t, 4, i32_to_U8)
STORE_PACKED(i64_to_4, int64_t, 4, i64_to_U8)
STORE_PACKED(u64_to_4, uint64_t, 4, u64_to_U8)
STORE_PACKED(f32_to_2, float, 2, f32_low_bits)
STORE_PACKED(f64_to_2, double, 2, f64_low_bits)
STORE_PACKED(i32_to_2, int32_t, 2, i32_to_U8)
STORE_PACKED(i64_to_2, int64_t, 2, i64_to_U8)
STORE_PACKED(u64_to_2, uint64_t, 2, u64_to_U8)
STORE_PACKED(f32_to_packed_E2M1, float, 4, f32_to_E2M1)
STORE_PACKED(f64_to_packed_E2M1, double, 4, f64_to_E2M1)
STORE_PACKED(i32_to_packed_E2M1, int32_t, 4, i32_to_E2M1)
STORE_PACKED(i64_to_packed_E2M1, int64_t, 4, i64_to_E2M1)
STORE_PACKED(u64_to_packed_E2M1, uint64_t, 4, u64_to_E2M1)

/* ---- table ------------------------------------------------------------------------------ */

/* X(NAME, wide type, load, name of its stores, store from f32) */
#define TABLE_LIST(X)                                                                    \
    X(F32, F32, NULL, F32, f32_to_F32)                                                   \
    X(F16, F32, load_F16, F16, f32_to_F16)                                               \
    X(BF16, F32, load_BF16, BF16, f32_to_BF16)                                           \
    X(E4M3FN, F32, plain_load_E4M3FN, E4M3FN, plain_f32_to_E4M3FN)                       \
    X(E4M3FNUZ, F32, plain_load_E4M3FNUZ, E4M3FNUZ, plain_f32_to_E4M3FNUZ)               \
    X(E5M2, F32, plain_load_E5M2, E5M2, plain_f32_to_E5M2)                               \
    X(E5M2FNUZ, F32, plain_load_E5M2FNUZ, E5M2FNUZ, plain_f32_to_E5M2FNUZ)               \
    X(E2M1, F32, load_E2M1, packed_E2M1, f32_to_packed_E2M1)                             \
    X(E8M0, F32, load_E8M0, E8M0, f32_to_E8M0)                                           \
    X(F64, F64, NULL, F64, f32_to_F64)                                                   \
    X(BOOL, I32, load_BOOL, BOOL, f32_to_BOOL)                                           \
    X(U8, I32, load_U8, U8, f32_to_U8)                                                   \
    X(I8, I32, load_I8, I8, f32_to_I8)                                                   \
    X(U16, I32, load_U16, U16, f32_to_U16)                                               \
    X(I16, I32, load_I16, I16, f32_to_I16)                                               \
    X(U4, I32, load_U4, 4, f32_to_4)                                                     \
    X(I4, I32, load_I4, 4, f32_to_4)                                                     \
    X(U2, I32, load_U2, 2, f32_to_2)                                                     \
    X(I2, I32, load_I2, 2, f32_to_2)                                                     \
    X(I32, I32, NULL, I32, f32_to_I32)                                                   \
    X(U32, I64, load_U32, U32, f32_to_U32)                                               \
    X(I64, I64, NULL, I64, f32_to_I64)                                                   \
    X(U64, U64, NULL, U64, f32_to_U64)

/* Rows worth a wider level, X(wide type, NAME, row): the others keep the scalar level's. */
#define HOT_LIST(X)                                                                      \
    X(F32, I8, f32_to_I8)                                                                \
    X(F32, U8, f32_to_U8)                                                                \
    X(F32, I32, f32_to_I32)                                                              \
    X(F32, I64, f32_to_I64)                                                              \
    X(F32, BOOL, f32_to_BOOL)                                                            \
    X(F32, F64, f32_to_F64)                                                              \
    X(F32, F16, f32_to_F16)                                                              \
    X(F32, BF16, f32_to_BF16)                                                            \
    X(F64, F32, f64_to_F32)                                                              \
    X(I32, F32, i32_to_F32)                                                              \
    X(I32, F64, i32_to_F64)                                                              \
    X(I32, I8, i32_to_I8)                                                                \
    X(I32, U8, i32_to_U8)                                                                \
    X(I32, I64, i32_to_I64)                                                              \
    X(I32, BOOL, i32_to_BOOL)                                                            \
    X(I64, I32, i64_to_I32)                                                              \
    X(I64, F32, i64_to_F32)                                                              \
    X(I64, BOOL, i64_to_BOOL)
#define HOT_LOAD_LIST(X) X(F16) X(BF16) X(BOOL) X(U8) X(I8) X(U16) X(I16)

void TN_LEVEL_NAME(tn__convert_init)(struct tn_convert_kernels *kernels);

void TN_LEVEL_NAME(tn__convert_init)(struct tn_convert_kernels *kernels)
{
#ifdef __AVX2__
#define X(wide_type, NAME, row) kernels->store[TN_CONVERT_##wide_type][TN_ELEM_##NAME] = row;
    HOT_LIST(X)
#undef X
#define X(NAME) kernels->load[TN_ELEM_##NAME] = load_##NAME;
    HOT_LOAD_LIST(X)
#undef X
#else
#define X(NAME, wide_type, load_row, name, from_f32)                                     \
    kernels->wide[TN_ELEM_##NAME] = TN_CONVERT_##wide_type;                              \
    kernels->load[TN_ELEM_##NAME] = load_row;                                            \
    kernels->store[TN_CONVERT_F32][TN_ELEM_##NAME] = from_f32;                           \
    kernels->store[TN_CONVERT_F64][TN_ELEM_##NAME] = f64_to_##name;                      \
    kernels->store[TN_CONVERT_I32][TN_ELEM_##NAME] = i32_to_##name;                      \
    kernels->store[TN_CONVERT_I64][TN_ELEM_##NAME] = i64_to_##name;                      \
    kernels->store[TN_CONVERT_U64][TN_ELEM_##NAME] = u64_to_##name;
    TABLE_LIST(X)
#undef X
#endif
}
/* clang-format on */
