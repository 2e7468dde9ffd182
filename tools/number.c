/* Elements of any type as numbers: see number.h. */
#include "number.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A float of few bits: sign, exponent and mantissa widths, exponent bias, and which codes are
 * special. Tables of the ONNX text and of the OCP 8-bit and microscaling formats. */
struct small_float {
    unsigned exponent, mantissa;
    int bias;
    enum { IEEE, FN, FNUZ, FINITE } specials;
};

static double decode_small(const struct small_float *f, unsigned bits) {
    unsigned m_mask = (1u << f->mantissa) - 1, e_mask = (1u << f->exponent) - 1;
    unsigned m = bits & m_mask, e = (bits >> f->mantissa) & e_mask;
    unsigned sign = (bits >> (f->mantissa + f->exponent)) & 1;
    if (f->specials == IEEE && e == e_mask)
        return m ? NAN : (sign ? -INFINITY : INFINITY);
    if (f->specials == FN && e == e_mask && m == m_mask) return NAN;
    if (f->specials == FNUZ && sign && e == 0 && m == 0) return NAN;
    double value = e ? ldexp(1.0 + (double)m / (m_mask + 1.0), (int)e - f->bias)
                     : ldexp((double)m / (m_mask + 1.0), 1 - f->bias);
    return sign ? -value : value;
}

static const struct small_float small_floats[TN_DTYPE_COUNT] = {
    [TN_FLOAT16] = {5, 10, 15, IEEE},
    [TN_BFLOAT16] = {8, 7, 127, IEEE},
    [TN_FLOAT8E4M3FN] = {4, 3, 7, FN},
    [TN_FLOAT8E4M3FNUZ] = {4, 3, 8, FNUZ},
    [TN_FLOAT8E5M2] = {5, 2, 15, IEEE},
    [TN_FLOAT8E5M2FNUZ] = {5, 2, 16, FNUZ},
    [TN_FLOAT4E2M1] = {2, 1, 1, FINITE},
};

/* Bits of element i of a type of at most 16 bits. */
static unsigned bits_at(int32_t dtype, const void *data, uint64_t i) {
    const uint8_t *bytes = data;
    unsigned bits = tn_dtype_bits(dtype);
    if (bits == 16) return bytes[2 * i] | (unsigned)bytes[2 * i + 1] << 8;
    if (bits == 8) return bytes[i];
    unsigned per_byte = 8 / bits;
    return (bytes[i / per_byte] >> (i % per_byte * bits)) & ((1u << bits) - 1);
}

bool number_integer_at(int32_t dtype, const void *data, uint64_t i, int64_t *out) {
    const char *p = data;
    uint64_t size = tn_dtype_bits(dtype) / 8;
    int32_t i32;
    uint32_t u32;
    switch (dtype) {
    case TN_INT64:
    case TN_UINT64: memcpy(out, p + i * size, 8); return true;
    case TN_INT32:
        memcpy(&i32, p + i * size, 4);
        *out = i32;
        return true;
    case TN_UINT32:
        memcpy(&u32, p + i * size, 4);
        *out = u32;
        return true;
    case TN_INT16: *out = (int16_t)bits_at(dtype, data, i); return true;
    case TN_INT8: *out = (int8_t)bits_at(dtype, data, i); return true;
    case TN_UINT16:
    case TN_UINT8:
    case TN_UINT4:
    case TN_UINT2:
    case TN_BOOL: *out = bits_at(dtype, data, i); return true;
    case TN_INT4: *out = (int64_t)(bits_at(dtype, data, i) ^ 8) - 8; return true;
    case TN_INT2: *out = (int64_t)(bits_at(dtype, data, i) ^ 2) - 2; return true;
    default: return false;
    }
}

double number_at(int32_t dtype, const void *data, uint64_t i) {
    int64_t integer;
    float f;
    double d;
    if (dtype == TN_FLOAT || dtype == TN_COMPLEX64) {
        memcpy(&f, (const char *)data + i * (dtype == TN_FLOAT ? 4 : 8), sizeof f);
        return (double)f;
    }
    if (dtype == TN_DOUBLE || dtype == TN_COMPLEX128) {
        memcpy(&d, (const char *)data + i * (dtype == TN_DOUBLE ? 8 : 16), sizeof d);
        return d;
    }
    if (dtype == TN_FLOAT8E8M0) {
        unsigned bits = bits_at(dtype, data, i);
        return bits == 255 ? NAN : ldexp(1.0, (int)bits - 127);
    }
    if (number_integer_at(dtype, data, i, &integer))
        return dtype == TN_UINT64 ? (double)(uint64_t)integer : (double)integer;
    if (dtype > 0 && dtype < TN_DTYPE_COUNT && small_floats[dtype].exponent)
        return decode_small(&small_floats[dtype], bits_at(dtype, data, i));
    return 0;
}

double number_imag_at(int32_t dtype, const void *data, uint64_t i) {
    if (dtype == TN_COMPLEX64) return number_at(TN_FLOAT, data, 2 * i + 1);
    return dtype == TN_COMPLEX128 ? number_at(TN_DOUBLE, data, 2 * i + 1) : 0;
}

uint64_t number_count(const struct tn_tensor *tensor) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        n *= (uint64_t)tensor->dims[i];
    return n;
}

void number_print(FILE *to, const struct tn_tensor *tensor, uint64_t i) {
    int64_t integer;
    if (tensor->dtype == TN_STRING) {
        const struct tn_string *s = (const struct tn_string *)tensor->data + i;
        fprintf(to, "\"%.*s\"", (int)(s->size < 200 ? s->size : 200), s->data);
    } else if (tensor->dtype == TN_BOOL) {
        fputs(bits_at(TN_BOOL, tensor->data, i) ? "true" : "false", to);
    } else if (number_integer_at(tensor->dtype, tensor->data, i, &integer)) {
        if (tensor->dtype == TN_UINT64)
            fprintf(to, "%" PRIu64, (uint64_t)integer);
        else
            fprintf(to, "%" PRId64, integer);
    } else {
        fprintf(to, tensor->dtype == TN_DOUBLE ? "%.10g" : "%.6g",
            number_at(tensor->dtype, tensor->data, i));
        if (tensor->dtype == TN_COMPLEX64 || tensor->dtype == TN_COMPLEX128)
            fprintf(to, "%+.6gi", number_imag_at(tensor->dtype, tensor->data, i));
    }
}

/* ---- comparing ------------------------------------------------------------------------ */

static bool close_to(
    double actual, double expected, double rtol, double atol, struct number_diff *diff) {
    if (actual == expected || (isnan(actual) && isnan(expected))) return true;
    double abs = fabs(actual - expected);
    if (!isnan(abs) && !isinf(abs)) {
        diff->max_abs = fmax(diff->max_abs, abs);
        if (expected != 0) diff->max_rel = fmax(diff->max_rel, abs / fabs(expected));
    }
    return !isinf(expected) && abs <= atol + rtol * fabs(expected);
}

static bool same_element(const struct tn_tensor *a, const struct tn_tensor *b, uint64_t i,
    double rtol, double atol, struct number_diff *diff) {
    int64_t x, y;
    if (a->dtype == TN_STRING) {
        const struct tn_string *s = (const struct tn_string *)a->data + i;
        const struct tn_string *t = (const struct tn_string *)b->data + i;
        return s->size == t->size && (s->size == 0 || !memcmp(s->data, t->data, s->size));
    }
    if (number_integer_at(a->dtype, a->data, i, &x) &&
        number_integer_at(b->dtype, b->data, i, &y) && x == y)
        return true;
    return close_to(number_at(a->dtype, a->data, i), number_at(b->dtype, b->data, i),
               rtol, atol, diff) &&
           close_to(number_imag_at(a->dtype, a->data, i),
               number_imag_at(b->dtype, b->data, i), rtol, atol, diff);
}

bool number_compare(const struct tn_tensor *actual, const struct tn_tensor *expected,
    double rtol, double atol, struct number_diff *out) {
    *out = (struct number_diff){.same_type = actual->dtype == expected->dtype};
    out->same_shape = actual->rank == expected->rank;
    for (uint32_t i = 0; out->same_shape && i < actual->rank; i++)
        out->same_shape = actual->dims[i] == expected->dims[i];
    if (!out->same_type || !out->same_shape) return false;
    out->count = number_count(expected);
    for (uint64_t i = 0; i < out->count; i++) {
        if (same_element(actual, expected, i, rtol, atol, out)) continue;
        if (out->mismatches++ == 0) out->first = i;
    }
    return out->mismatches == 0;
}
