/* See number.h. */
#include "loops/number.h"

#include "loops/copy.h"
#include "ops/narrow.h"

#include <math.h>
#include <stdbool.h>

/* X(type constant, C type) */
/* clang-format off */
#define PLAIN_TYPES(X) \
    X(TN_FLOAT, float) X(TN_DOUBLE, double) X(TN_BOOL, uint8_t) \
    X(TN_INT8, int8_t) X(TN_INT16, int16_t) X(TN_INT32, int32_t) X(TN_INT64, int64_t) \
    X(TN_UINT8, uint8_t) X(TN_UINT16, uint16_t) X(TN_UINT32, uint32_t) X(TN_UINT64, uint64_t)
/* clang-format on */

double tn__number_get(int32_t dtype, const void *data, int64_t i) {
    switch (dtype) {
#define GET(constant, type)                                                              \
    case constant: return (double)((const type *)data)[i];
        PLAIN_TYPES(GET)
#undef GET
    case TN_FLOAT16:
    case TN_BFLOAT16: {
        float wide;
        tn__widen(&wide, (const uint16_t *)data + i, dtype, 1);
        return (double)wide;
    }
    case TN_UINT4: return tn__packed_get(data, i, 4);
    case TN_INT4: return (double)((tn__packed_get(data, i, 4) ^ 8) - 8);
    case TN_UINT2: return tn__packed_get(data, i, 2);
    case TN_INT2: return (double)((tn__packed_get(data, i, 2) ^ 2) - 2);
    default: return 0.0;
    }
}

/* value truncated into what `bits` hold, as Cast does: out of range saturates, NaN is 0. */
static int64_t to_signed(double value, uint32_t bits) {
    double end = ldexp(1.0, (int)bits - 1); /* 2^63 and below are doubles */
    if (!(value > -end)) return value == value ? (int64_t)-end : 0;
    if (value >= end) return bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
    return (int64_t)value;
}

static uint64_t to_unsigned(double value, uint32_t bits) {
    double end = ldexp(1.0, (int)bits);
    if (!(value > 0)) return 0;
    return value >= end ? UINT64_MAX >> (64 - bits) : (uint64_t)value;
}

static bool is_signed(int32_t dtype) {
    static const uint64_t set = TN_BIT(INT2) | TN_BIT(INT4) | TN_BIT(INT8) |
                                TN_BIT(INT16) | TN_BIT(INT32) | TN_BIT(INT64);
    return set >> dtype & 1;
}

void tn__number_put(int32_t dtype, void *data, int64_t i, double value) {
    uint32_t bits = tn_dtype_bits(dtype);
    float narrow = (float)value;
    switch (dtype) {
    case TN_FLOAT: ((float *)data)[i] = narrow; return;
    case TN_DOUBLE: ((double *)data)[i] = value; return;
    case TN_BOOL: ((uint8_t *)data)[i] = value != 0.0; return;
    case TN_FLOAT16:
    case TN_BFLOAT16: tn__round((uint16_t *)data + i, &narrow, dtype, 1); return;
    default: break;
    }
    if (bits == 0 || bits > 64) return;
    uint64_t whole =
        is_signed(dtype) ? (uint64_t)to_signed(value, bits) : to_unsigned(value, bits);
    if (bits < 8)
        tn__packed_put(data, i, bits, (uint8_t)whole);
    else /* low bytes first */
        memcpy((char *)data + i * (bits / 8), &whole, bits / 8);
}
