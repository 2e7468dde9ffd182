/* Elementwise kernels against values computed here in a wider type: integers in 128 bits and
 * then cut to the type, floats in double and then rounded. */
#include "elementwise.h"
#include "test_kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_N = 67, WIDE = 300 };

/* One element of any type: `real` of a float type, else `whole`. */
struct number {
    __int128 whole;
    double real;
};

struct type {
    const char *name;
    int elem, bits;
    bool is_float, is_signed;
};

static const struct type types[] = {
    {"f32", TN_ELEM_F32, 32, true, true},
    {"f64", TN_ELEM_F64, 64, true, true},
    {"i8", TN_ELEM_I8, 8, false, true},
    {"i16", TN_ELEM_I16, 16, false, true},
    {"i32", TN_ELEM_I32, 32, false, true},
    {"i64", TN_ELEM_I64, 64, false, true},
    {"u8", TN_ELEM_U8, 8, false, false},
    {"u16", TN_ELEM_U16, 16, false, false},
    {"u32", TN_ELEM_U32, 32, false, false},
    {"u64", TN_ELEM_U64, 64, false, false},
    {"bool", TN_ELEM_BOOL, 8, false, false},
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static struct number load(const struct type *type, const void *data, ptrdiff_t at) {
    const size_t size = (size_t)type->bits / 8;
    const char *from = (const char *)data + at * (ptrdiff_t)size;
    struct number number = {0, 0};
    if (type->elem == TN_ELEM_F32) {
        float value;
        memcpy(&value, from, size);
        number.real = (double)value;
    } else if (type->elem == TN_ELEM_F64) {
        double value;
        memcpy(&value, from, size);
        number.real = (double)value;
    } else {
        uint64_t raw = 0;
        memcpy(&raw, from, size);
        number.whole = raw;
        if (type->is_signed && raw >> (type->bits - 1))
            number.whole -= (__int128)1 << type->bits;
        if (type->elem == TN_ELEM_BOOL) number.whole = raw != 0;
    }
    return number;
}

/* Compares an element with a value: an integer by its low bits, a float after rounding. */
static bool holds(
    const struct type *type, const void *data, size_t at, struct number want) {
    const size_t size = (size_t)type->bits / 8;
    const char *from = (const char *)data + at * size;
    if (type->elem == TN_ELEM_F32) {
        float value, expected = (float)want.real;
        memcpy(&value, from, size);
        return isnan(expected) ? isnan(value) : value == expected;
    }
    if (type->elem == TN_ELEM_F64) {
        double value, expected = want.real;
        memcpy(&value, from, size);
        return isnan(expected) ? isnan(value) : value == expected;
    }
    uint64_t raw = (uint64_t)want.whole;
    return memcmp(from, &raw, size) == 0;
}

static void fill(struct kernel_run *run, const struct type *type, void *data, size_t n) {
    static const double reals[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 0.5,
        -0.5, 1.5, 2.5, -2.5, 1e-40, 3.25, -7.75, 1e30};
    for (size_t i = 0; i < n; i++) {
        uint32_t pick = kernel_random(run);
        double real = pick % 3 == 0 ? reals[pick / 3 % 16]
                                    : (double)kernel_random_f32(run, -9.0f, 9.0f);
        float narrow = (float)real;
        uint64_t raw = (uint64_t)kernel_random(run) << 40 ^
                       (uint64_t)kernel_random(run) << 20 ^ kernel_random(run);
        if (pick % 4 == 0) raw = (uint64_t)(int64_t)((int)(pick / 4 % 9) - 4);
        if (pick % 16 == 1) raw = (uint64_t)1 << (type->bits - 1);
        if (type->elem == TN_ELEM_BOOL) raw = pick % 4 == 0 ? 0 : pick % 4 == 1 ? 2 : 1;
        const void *from = &raw;
        if (type->elem == TN_ELEM_F32) from = &narrow;
        if (type->elem == TN_ELEM_F64) from = &real;
        const size_t size = (size_t)type->bits / 8;
        memcpy((char *)data + i * size, from, size);
    }
}

/* What f32 and f64 arithmetic gives, by rounding the exact value once. */
static double as_type(const struct type *type, double value) {
    return type->elem == TN_ELEM_F32 ? (double)(float)value : (double)(double)value;
}

static __int128 power(__int128 a, __int128 b, int bits) {
    if (b < 0 && a == 0) return ((__int128)1 << (bits - 1)) - 1;
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    uint64_t result = 1, base = (uint64_t)a, rest = (uint64_t)b;
    for (; rest; rest >>= 1, base *= base)
        if (rest & 1) result *= base;
    return (__int128)result;
}

static __int128 mask(const struct type *type, __int128 a) {
    return a & (((__int128)1 << type->bits) - 1);
}

/* clang-format off */
static double float_binary(const struct type *t, enum tn_binary op, double a, double b) {
    const bool nan = isnan(a) || isnan(b);
    double rest;
    switch (op) {
    case TN_BINARY_ADD: return as_type(t, a + b);
    case TN_BINARY_SUB: return as_type(t, a - b);
    case TN_BINARY_MUL: return as_type(t, a * b);
    case TN_BINARY_DIV: return as_type(t, a / b);
    case TN_BINARY_MIN: return nan ? NAN : a < b ? a : b;
    case TN_BINARY_MAX: return nan ? NAN : a > b ? a : b;
    case TN_BINARY_FMOD: return fmod(a, b);
    case TN_BINARY_MOD:
        rest = fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? as_type(t, rest + b) : rest;
    case TN_BINARY_PRELU: return a < 0 ? as_type(t, a * b) : a;
    case TN_BINARY_EQUAL: return a == b;
    case TN_BINARY_LESS: return a < b;
    case TN_BINARY_LESS_EQUAL: return a <= b;
    case TN_BINARY_GREATER: return a > b;
    case TN_BINARY_GREATER_EQUAL: return a >= b;
    default: return 0;
    }
}

static __int128 whole_binary(const struct type *t, enum tn_binary op, __int128 a, __int128 b) {
    const uint64_t shift = (uint64_t)mask(t, b);
    switch (op) {
    case TN_BINARY_ADD: return a + b;
    case TN_BINARY_SUB: return a - b;
    case TN_BINARY_MUL: return (__int128)((unsigned __int128)a * (unsigned __int128)b);
    case TN_BINARY_DIV: return b == 0 ? 0 : a / b;
    case TN_BINARY_MIN: return a < b ? a : b;
    case TN_BINARY_MAX: return a > b ? a : b;
    case TN_BINARY_FMOD: return b == 0 ? 0 : a % b;
    case TN_BINARY_MOD: return b == 0 ? 0 : (a % b + b) % b;
    case TN_BINARY_POW: return power(a, b, t->bits);
    case TN_BINARY_PRELU: return a < 0 ? a * b : a;
    case TN_BINARY_AND: return a & b;
    case TN_BINARY_OR: return a | b;
    case TN_BINARY_XOR: return a ^ b;
    case TN_BINARY_SHL: return shift >= (uint64_t)t->bits ? 0 : mask(t, a) << shift;
    case TN_BINARY_SHR: return shift >= (uint64_t)t->bits ? (a < 0 ? -1 : 0) : a >> shift;
    case TN_BINARY_EQUAL: return a == b;
    case TN_BINARY_LESS: return a < b;
    case TN_BINARY_LESS_EQUAL: return a <= b;
    case TN_BINARY_GREATER: return a > b;
    case TN_BINARY_GREATER_EQUAL: return a >= b;
    default: return 0;
    }
}

static double float_unary(const struct type *t, enum tn_unary op, double x, double p, double q) {
    double y;
    switch (op) {
    case TN_UNARY_NEG: return -x;
    case TN_UNARY_ABS: return fabs(x);
    case TN_UNARY_SIGN: return isnan(x) ? x : (x > 0) - (x < 0);
    case TN_UNARY_RELU: return x < 0 ? 0 : x;
    case TN_UNARY_CLAMP: return isnan(x) ? x : fmin(fmax(x, p), q);
    case TN_UNARY_SQRT: return as_type(t, sqrt(x));
    case TN_UNARY_RECIPROCAL: return as_type(t, 1 / x);
    case TN_UNARY_FLOOR: return floor(x);
    case TN_UNARY_CEIL: return ceil(x);
    case TN_UNARY_ROUND: return rint(x);
    case TN_UNARY_SOFTSIGN: return as_type(t, x / as_type(t, 1 + fabs(x)));
    case TN_UNARY_LEAKYRELU: return x < 0 ? as_type(t, x * p) : x;
    case TN_UNARY_THRESHOLDEDRELU: return x > p ? x : 0;
    case TN_UNARY_HARDSIGMOID:
        y = as_type(t, as_type(t, p * x) + q);
        return isnan(y) ? y : fmax(0, fmin(1, y));
    case TN_UNARY_HARDSWISH:
        y = as_type(t, as_type(t, x / 6) + 0.5);
        return as_type(t, x * (isnan(y) ? y : fmax(0, fmin(1, y))));
    case TN_UNARY_SHRINK: return x < -p ? as_type(t, x + q) : x > p ? as_type(t, x - q) : 0;
    case TN_UNARY_AFFINE: return as_type(t, as_type(t, p * x) + q);
    case TN_UNARY_IS_NAN: return isnan(x);
    case TN_UNARY_IS_INF: return isinf(x) && ((x < 0 && p != 0) || (x > 0 && q != 0));
    default: return 0;
    }
}

static __int128 whole_unary(const struct type *t, enum tn_unary op, __int128 x, __int128 p, __int128 q) {
    switch (op) {
    case TN_UNARY_NEG: return -x;
    case TN_UNARY_ABS: return x < 0 ? -x : x;
    case TN_UNARY_SIGN: return (x > 0) - (x < 0);
    case TN_UNARY_RELU: return x < 0 ? 0 : x;
    case TN_UNARY_CLAMP: return (x < p ? p : x) > q ? q : x < p ? p : x;
    case TN_UNARY_AFFINE: return (__int128)((unsigned __int128)x * (unsigned __int128)p + (unsigned __int128)q);
    case TN_UNARY_NOT: return t->elem == TN_ELEM_BOOL ? x == 0 : ~x;
    default: return 0;
    }
}
/* clang-format on */

static const struct type *result_type(const struct type *type, bool to_bool) {
    return to_bool ? &types[TYPES - 1] : type;
}

static void check_binary(struct kernel_run *run, const struct type *type,
    enum tn_binary op, tn_binary_fn *function, size_t n, ptrdiff_t step_a,
    ptrdiff_t step_b) {
    const struct type *to = result_type(type, op >= TN_BINARY_EQUAL);
    const size_t size = (size_t)type->bits / 8, to_size = (size_t)to->bits / 8;
    kernel_case(run, "binary %d of %s, %zu elements, steps %td %td", op, type->name, n,
        step_a, step_b);
    const size_t span_a = n == 0        ? 0
                          : step_a == 0 ? 1
                                        : (n - 1) * (size_t)llabs(step_a) + 1;
    const size_t span_b = n == 0        ? 0
                          : step_b == 0 ? 1
                                        : (n - 1) * (size_t)llabs(step_b) + 1;
    char *a = kernel_memory(run, span_a * size, size),
         *b = kernel_memory(run, span_b * size, size);
    char *dst = kernel_memory(run, n * to_size, to_size);
    fill(run, type, a, span_a);
    fill(run, type, b, span_b);
    if (step_a < 0) a += (span_a - (n > 0)) * size;
    if (step_b < 0) b += (span_b - (n > 0)) * size;
    function(dst, a, step_a, b, step_b, n);
    bool good = true;
    for (size_t i = 0; i < n && good; i++) {
        struct number x = load(type, a, (ptrdiff_t)i * step_a),
                      y = load(type, b, (ptrdiff_t)i * step_b), want = {0, 0};
        if (type->is_float) {
            want.real = float_binary(type, op, x.real, y.real);
            want.whole = (__int128)(isfinite(want.real) && to != type ? want.real : 0);
        } else {
            want.whole = whole_binary(type, op, x.whole, y.whole);
        }
        good = holds(to, dst, i, want);
    }
    kernel_check(run, good, "wrong value");
    if (n == 0 || to != type || step_a != 1) return;
    function(a, a, 1, b, step_b, n);
    kernel_check_same(run, a, dst, n * size);
}

static void check_unary(struct kernel_run *run, const struct type *type, enum tn_unary op,
    tn_unary_fn *function, size_t n) {
    const struct type *to = result_type(type, op >= TN_UNARY_IS_NAN);
    const size_t size = (size_t)type->bits / 8, to_size = (size_t)to->bits / 8;
    const float narrow[2] = {0.5f, 2.25f};
    const double wide[2] = {0.5, 2.25};
    uint64_t whole[2] = {0, 0};
    const uint64_t low = type->is_signed ? (uint64_t)-3 : 2, high = 5;
    memcpy(whole, &low, size);
    memcpy((char *)whole + size, &high, size);
    const void *param = type->elem == TN_ELEM_F32   ? (const void *)narrow
                        : type->elem == TN_ELEM_F64 ? (const void *)wide
                                                    : (const void *)whole;
    kernel_case(run, "unary %d of %s, %zu elements", op, type->name, n);
    char *src = kernel_memory(run, n * size, size),
         *dst = kernel_memory(run, n * to_size, to_size);
    struct number p = load(type, param, 0), q = load(type, param, 1);
    fill(run, type, src, n);
    function(dst, src, n, param);
    bool good = true;
    for (size_t i = 0; i < n && good; i++) {
        struct number x = load(type, src, (ptrdiff_t)i), want = {0, 0};
        if (type->is_float) {
            want.real = float_unary(type, op, x.real, p.real, q.real);
            want.whole = to != type ? (__int128)want.real : 0;
        } else {
            want.whole = whole_unary(type, op, x.whole, p.whole, q.whole);
        }
        good = holds(to, dst, i, want);
    }
    kernel_check(run, good, "wrong value");
    if (to != type) return;
    function(src, src, n, param);
    kernel_check_same(run, src, dst, n * size);
}

static void check_where(
    struct kernel_run *run, tn_where_fn *function, size_t size, size_t n, int form) {
    const ptrdiff_t step_cond = form & 1, step_a = form >> 1 & 1,
                    step_b = form >> 2 & 1   ? 1
                             : form >> 3 & 1 ? 2
                                             : 0;
    kernel_case(run, "where of %zu bytes, %zu elements, form %d", size, n, form);
    unsigned char *cond = kernel_memory(run, n, 1),
                  *a = kernel_memory(run, n * size, size),
                  *b = kernel_memory(run, 2 * n * size, size),
                  *dst = kernel_memory(run, n * size, size);
    for (size_t i = 0; i < n; i++)
        cond[i] = kernel_random(run) % 3;
    for (size_t i = 0; i < n * size; i++)
        a[i] = (unsigned char)kernel_random(run);
    for (size_t i = 0; i < 2 * n * size; i++)
        b[i] = (unsigned char)kernel_random(run);
    function(dst, cond, step_cond, a, step_a, b, step_b, n);
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        const unsigned char *from = cond[(ptrdiff_t)i * step_cond]
                                        ? a + (ptrdiff_t)(i * size) * step_a
                                        : b + (ptrdiff_t)(i * size) * step_b;
        good = good && memcmp(dst + i * size, from, size) == 0;
    }
    kernel_check(run, good, "wrong element chosen");
}

void test_elementwise(struct kernel_run *run) {
    static const ptrdiff_t steps[][2] = {
        {1, 1}, {1, 0}, {0, 1}, {0, 0}, {2, 1}, {1, -1}, {-2, 3}};
    struct tn_elementwise_kernels kernels;
    tn_elementwise_kernels_init(&kernels, run->isa);
    for (size_t t = 0; t < TYPES; t++) {
        const struct type *type = &types[t];
        for (int op = 0; op < TN_BINARY_COUNT; op++) {
            tn_binary_fn *function = kernels.binary[op][type->elem];
            if (!function || (op == TN_BINARY_POW && type->is_float)) continue;
            for (size_t form = 0; form < sizeof(steps) / sizeof(steps[0]); form++) {
                for (size_t n = 0; n <= MAX_N; n += run->quick ? 33 : 1)
                    check_binary(run, type, (enum tn_binary)op, function, n,
                        steps[form][0], steps[form][1]);
                check_binary(run, type, (enum tn_binary)op, function, WIDE,
                    steps[form][0], steps[form][1]);
            }
        }
        for (int op = 0; op < TN_UNARY_COUNT; op++) {
            tn_unary_fn *function = kernels.unary[op][type->elem];
            for (size_t n = 0; function && n <= MAX_N; n += run->quick ? 33 : 1)
                check_unary(run, type, (enum tn_unary)op, function, n);
        }
    }
    for (size_t log = 0; log < 5; log++)
        for (int form = 0; form < 16; form++)
            for (size_t n = 0; n <= MAX_N; n += run->quick ? 33 : 1)
                check_where(run, kernels.where[log], (size_t)1 << log, n, form);
}
