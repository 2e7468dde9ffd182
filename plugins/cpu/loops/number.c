/* See number.h. */
#include "loops/number.h"

#include "loops/copy.h"
#include "ops/narrow.h"

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

/* Truncates without leaving what int64 holds. */
static int64_t to_int64(double value) {
    if (!(value > -9223372036854775808.0)) return value == value ? INT64_MIN : 0;
    return value < 9223372036854775808.0 ? (int64_t)value : INT64_MAX;
}

void tn__number_put(int32_t dtype, void *data, int64_t i, double value) {
    int64_t whole = to_int64(value);
    switch (dtype) {
    case TN_FLOAT: ((float *)data)[i] = (float)value; return;
    case TN_DOUBLE: ((double *)data)[i] = value; return;
    case TN_BOOL: ((uint8_t *)data)[i] = value != 0.0; return;
    case TN_FLOAT16:
    case TN_BFLOAT16: {
        float narrow = (float)value;
        tn__round((uint16_t *)data + i, &narrow, dtype, 1);
        return;
    }
    case TN_UINT64:
        ((uint64_t *)data)[i] =
            value >= 9223372036854775808.0 ? (uint64_t)value : (uint64_t)whole;
        return;
    default: break;
    }
    uint32_t bits = tn_dtype_bits(dtype);
    if (bits < 8)
        tn__packed_put(data, i, bits, (uint8_t)whole);
    else if (bits <= 64) /* low bytes first */
        memcpy((char *)data + i * (bits / 8), &whole, bits / 8);
}
