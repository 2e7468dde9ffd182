/* See lookup.h. */
#include "ops/lookup.h"

#define LOOKUP(name, type, key)                                                          \
    static void name(const struct tn__keys *keys, const void *x, int64_t begin,          \
        int64_t n, int32_t *out) {                                                       \
        const type *from = (const type *)x + begin;                                      \
        for (int64_t i = 0; i < n; i++)                                                  \
            out[i] = tn__keys_find_int(keys, key);                                       \
    }
LOOKUP(find_i64, int64_t, from[i])
LOOKUP(find_i32, int32_t, from[i])
LOOKUP(find_i16, int16_t, from[i])
LOOKUP(find_f64, double, tn__keys_of_double(from[i]))
LOOKUP(find_f32, float, tn__keys_of_double((double)from[i]))
#undef LOOKUP

static void find_string(
    const struct tn__keys *keys, const void *x, int64_t begin, int64_t n, int32_t *out) {
    const struct tn_string *from = (const struct tn_string *)x + begin;
    for (int64_t i = 0; i < n; i++)
        out[i] = tn__keys_find_string(keys, &from[i]);
}

/* What no int64 equals is unknown. */
static int32_t find_truncated(const struct tn__keys *keys, double x) {
    bool fits = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
    return fits ? tn__keys_find_int(keys, (int64_t)x) : -1;
}

static void truncate_f64(
    const struct tn__keys *keys, const void *x, int64_t begin, int64_t n, int32_t *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = find_truncated(keys, ((const double *)x)[begin + i]);
}

static void truncate_f32(
    const struct tn__keys *keys, const void *x, int64_t begin, int64_t n, int32_t *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = find_truncated(keys, (double)((const float *)x)[begin + i]);
}

tn__lookup_fn tn__lookup_of(int32_t dtype) {
    static const tn__lookup_fn by_type[TN_DTYPE_COUNT] = {[TN_INT64] = find_i64,
        [TN_INT32] = find_i32,
        [TN_INT16] = find_i16,
        [TN_DOUBLE] = find_f64,
        [TN_FLOAT] = find_f32,
        [TN_STRING] = find_string};
    return dtype > 0 && dtype < TN_DTYPE_COUNT ? by_type[dtype] : NULL;
}

tn__lookup_fn tn__lookup_truncated(int32_t dtype) {
    if (dtype == TN_DOUBLE) return truncate_f64;
    return dtype == TN_FLOAT ? truncate_f32 : tn__lookup_of(dtype);
}

double tn__lookup_cost(int32_t dtype) {
    return dtype == TN_STRING ? 25.0 : 4.0;
}
