/* See cast_text.h. */
#define _GNU_SOURCE /* strtod_l, uselocale */
#include "ops/cast_text.h"

#include "loops/number.h"
#include "ops/narrow.h"
#include "ops/ops.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TYPES_TEXT (TN_TYPES_NUMBERS | TN_BIT(BOOL))

int tn__text_castable(int32_t from, int32_t to) {
    int32_t number = from == TN_STRING ? to : from;
    return (from == TN_STRING) != (to == TN_STRING) && (TYPES_TEXT >> number & 1);
}

/* ---- text to numbers ---------------------------------------------------------------------- */

enum { LONGEST = 400 }; /* more digits than any double has */

static tn_status read_number(const struct tn_string *text, int32_t dtype, void *out,
    int64_t i, struct tn_diag *diag) {
    char buffer[LONGEST + 1], *end;
    size_t n = text->size < LONGEST ? (size_t)text->size : LONGEST;
    if (n > 0) memcpy(buffer, text->data, n);
    buffer[n] = '\0';
    if (dtype == TN_INT64 ||
        dtype == TN_UINT64) { /* beyond what a double holds exactly */
        bool is_signed = dtype == TN_INT64;
        uint64_t value = is_signed ? (uint64_t)strtoll(buffer, &end, 10)
                                   : (uint64_t)strtoull(buffer, &end, 10);
        if (end != buffer && *end == '\0') {
            ((uint64_t *)out)[i] = value;
            return TN_OK;
        }
    }
    double value = strtod(buffer, &end);
    if (dtype == TN_FLOAT)
        ((float *)out)[i] = strtof(buffer, &end);
    else
        tn__number_put(dtype, out, i, value);
    while (*end == ' ')
        end++;
    if (end == buffer || *end != '\0' || text->size > LONGEST)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "element %lld, '%.40s', is no number",
            (long long)i, buffer);
    return TN_OK;
}

/* Runs `work` in the C locale; there are no allocations to fail inside. */
static locale_t enter_c_locale(locale_t *out_old) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    *out_old = c ? uselocale(c) : (locale_t)0;
    return c;
}

static void leave_c_locale(locale_t c, locale_t old) {
    if (!c) return;
    uselocale(old);
    freelocale(c);
}

tn_status tn__text_to_numbers(
    const struct tn_tensor *in, struct tn_tensor *out, struct tn_diag *diag) {
    const struct tn_string *texts = in->data;
    int64_t n = tn_tensor_count(in);
    tn_status status = TN_OK;
    locale_t old, c = enter_c_locale(&old);
    for (int64_t i = 0; i < n && status == TN_OK; i++)
        status = read_number(&texts[i], out->dtype, out->data, i, diag);
    leave_c_locale(c, old);
    return status;
}

/* ---- numbers to text ---------------------------------------------------------------------- */

enum { TEXT = 40 };

static bool reads_back(const char *text, double value, int32_t dtype) {
    if (dtype == TN_DOUBLE) return strtod(text, NULL) == value;
    float read = strtof(text, NULL);
    if (dtype == TN_FLOAT) return (double)read == value;
    uint16_t a, b;
    float original = (float)value;
    tn__round(&a, &read, dtype, 1);
    tn__round(&b, &original, dtype, 1);
    return a == b;
}

/* Fewest digits that read back; plain notation from 1e-4 up to 1e16. */
static int write_float(char *text, double value, int32_t dtype) {
    char digits[TEXT];
    int precision = 0;
    if (isnan(value)) return snprintf(text, TEXT, "nan");
    if (isinf(value)) return snprintf(text, TEXT, value < 0 ? "-inf" : "inf");
    do
        snprintf(digits, sizeof digits, "%.*e", precision, value);
    while (!reads_back(digits, value, dtype) && precision++ < 17);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (value != 0 && (exponent < -4 || exponent >= 16))
        return snprintf(text, TEXT, "%s", digits);
    int decimals = precision - exponent;
    return snprintf(text, TEXT, "%.*f", decimals > 1 ? decimals : 1, value);
}

static int write_number(char *text, const struct tn_tensor *in, int64_t i) {
    if (TN_TYPES_FLOATS >> in->dtype & 1)
        return write_float(text, tn__number_get(in->dtype, in->data, i), in->dtype);
    if (in->dtype == TN_BOOL)
        return snprintf(
            text, TEXT, "%s", ((const uint8_t *)in->data)[i] ? "True" : "False");
    if (in->dtype == TN_UINT64)
        return snprintf(
            text, TEXT, "%llu", (unsigned long long)((const uint64_t *)in->data)[i]);
    if (in->dtype == TN_INT64)
        return snprintf(text, TEXT, "%lld", (long long)((const int64_t *)in->data)[i]);
    return snprintf(text, TEXT, "%.0f", tn__number_get(in->dtype, in->data, i));
}

tn_status tn__numbers_to_text(
    const struct tn_run *run, const struct tn_tensor *in, struct tn_tensor *out) {
    struct tn_string *strings = out->data;
    int64_t n = tn_tensor_count(in);
    if (n == 0) return TN_OK;
    char *bytes = run->alloc(run, (uint64_t)n * TEXT, 1);
    if (!bytes) return tn_fail(run->diag, TN_OUT_OF_MEMORY, "no memory for the texts");
    locale_t old, c = enter_c_locale(&old);
    for (int64_t i = 0; i < n; i++) {
        char *text = bytes + i * TEXT;
        int length = write_number(text, in, i);
        strings[i].data = text;
        strings[i].size = length > 0 && length < TEXT ? (uint64_t)length : 0;
    }
    leave_c_locale(c, old);
    return TN_OK;
}
