/* Names, types and tensors as text: see text_print_value.h. */
#include "core/model/text_print_value.h"

#include "core/base/checked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---------------------------------------------------------------------------- */

static bool is_plain(const char *name) {
    if (!*name || (*name >= '0' && *name <= '9')) return false;
    for (const char *p = name; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || *p == '_';
        if (!plain) return false;
    }
    return true;
}

/* Words that mean something else where a name may stand. */
static bool is_reserved(const char *name) {
    static const char *const words[] = {
        "seq", "optional", "map", "sparse_tensor", "opaque", "inf", "nan"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i], name) == 0) return true;
    }
    for (int32_t dtype = 1; dtype < TN_DTYPE_COUNT; dtype++) {
        if (strcmp(tn_dtype_name(dtype), name) == 0) return true;
    }
    return false;
}

void tn__print_name(struct tn__printer *p, const char *name) {
    if (is_plain(name) && !is_reserved(name))
        tn__text_puts(p->out, name);
    else
        tn__print_quoted(p, name, strlen(name));
}

void tn__print_quoted(struct tn__printer *p, const char *text, uint64_t size) {
    tn__text_append(p->out, "\"", 1);
    for (uint64_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            tn__text_printf(p->out, "\\%c", c);
        else if (c == '\n')
            tn__text_puts(p->out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            tn__text_printf(p->out, "\\x%02x", c);
        else
            tn__text_append(p->out, text + i, 1);
    }
    tn__text_append(p->out, "\"", 1);
}

/* ---- numbers -------------------------------------------------------------------------- */

static void print_number(struct tn__printer *p, const char *text) {
    tn__text_puts(p->out, text);
    if (!strpbrk(text, ".einf")) tn__text_puts(p->out, ".0");
}

void tn__print_float(struct tn__printer *p, float value) {
    char text[32] = "nan";
    for (int digits = 6; digits <= 9 && value == value; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) break;
    }
    print_number(p, text);
}

static void print_double(struct tn__printer *p, double value) {
    char text[32] = "nan";
    for (int digits = 15; digits <= 17 && value == value; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    print_number(p, text);
}

static void print_int(struct tn__printer *p, const struct tn_tensor *tensor, uint64_t i) {
    uint32_t bits = tn_dtype_bits(tensor->dtype);
    uint64_t value = 0;
    if (bits >= 8) {
        memcpy(&value, (const char *)tensor->data + i * (bits / 8), bits / 8);
    } else {
        uint32_t per_byte = 8 / bits;
        value = ((const uint8_t *)tensor->data)[i / per_byte] >> (i % per_byte * bits);
        value &= (1u << bits) - 1;
    }
    bool is_signed = (TN_BIT(INT2) | TN_BIT(INT4) | TN_BIT(INT8) | TN_BIT(INT16) |
                         TN_BIT(INT32) | TN_BIT(INT64)) >>
                         tensor->dtype &
                     1;
    if (!is_signed) {
        tn__text_printf(p->out, "%llu", (unsigned long long)value);
        return;
    }
    uint32_t unused = 64 - bits; /* sign extension */
    tn__text_printf(p->out, "%lld", (long long)(value << unused) >> unused);
}

/* ---- types ---------------------------------------------------------------------------- */

static void print_shape(struct tn__printer *p, const int64_t *dims, uint64_t rank) {
    tn__text_puts(p->out, "[");
    for (uint64_t i = 0; i < rank; i++) {
        const char *name =
            dims[i] < 0 && p->symbols ? tn__symbol_text(p->symbols, dims[i]) : NULL;
        if (i) tn__text_puts(p->out, ",");
        if (dims[i] >= 0)
            tn__text_printf(p->out, "%lld", (long long)dims[i]);
        else if (name)
            tn__print_name(p, name);
        else
            tn__text_puts(p->out, "?");
    }
    tn__text_puts(p->out, "]");
}

void tn__print_type(struct tn__printer *p, const struct tn_type *type) {
    static const char *const openers[] = {[TN_KIND_SEQUENCE] = "seq(",
        [TN_KIND_OPTIONAL] = "optional(",
        [TN_KIND_SPARSE] = "sparse_tensor(",
        [TN_KIND_OPAQUE] = "opaque("};
    uint32_t kinds[] = {type->kind, type->elem_kind}, n_open = 0;
    bool leaf = false;
    for (uint32_t i = 0; i < 2 && !leaf; i++) {
        if (kinds[i] == TN_KIND_TENSOR || kinds[i] == TN_KIND_ABSENT) break;
        if (kinds[i] == TN_KIND_MAP)
            tn__text_printf(p->out, "map(%s, ", tn_dtype_name(type->key_dtype));
        else
            tn__text_puts(p->out, openers[kinds[i]]);
        n_open++;
        leaf = kinds[i] == TN_KIND_SPARSE || kinds[i] == TN_KIND_OPAQUE;
    }
    if (!n_open || kinds[n_open - 1] != TN_KIND_OPAQUE) {
        tn__text_puts(p->out, tn_dtype_name(type->dtype));
        if (type->rank >= 0) print_shape(p, type->dims, (uint64_t)type->rank);
    }
    while (n_open--)
        tn__text_puts(p->out, ")");
}

void tn__print_tensor_type(struct tn__printer *p, const struct tn_tensor *tensor) {
    tn__text_puts(p->out, tn_dtype_name(tensor->dtype));
    if (tensor->rank) print_shape(p, tensor->dims, tensor->rank);
}

/* ---- tensors -------------------------------------------------------------------------- */

static void print_element(
    struct tn__printer *p, const struct tn_tensor *tensor, uint64_t i) {
    float single;
    double number;
    switch (tensor->dtype) {
    case TN_FLOAT:
    case TN_COMPLEX64:
        memcpy(&single, (const char *)tensor->data + i * sizeof single, sizeof single);
        tn__print_float(p, single);
        break;
    case TN_DOUBLE:
    case TN_COMPLEX128:
        memcpy(&number, (const char *)tensor->data + i * sizeof number, sizeof number);
        print_double(p, number);
        break;
    case TN_STRING: {
        const struct tn_string *string = (const struct tn_string *)tensor->data + i;
        tn__print_quoted(p, string->data, string->size);
        break;
    }
    default: print_int(p, tensor, i); break;
    }
}

void tn__print_data(struct tn__printer *p, const struct tn_tensor *tensor) {
    uint64_t n;
    if (!tn_count_elements(tensor->dims, tensor->rank, &n)) n = 0;
    if (tensor->dtype == TN_COMPLEX64 || tensor->dtype == TN_COMPLEX128) n *= 2;
    if (n > p->max_elements) {
        tn__text_puts(p->out, "{...}");
        return;
    }
    tn__text_puts(p->out, "{");
    for (uint64_t i = 0; i < n; i++) {
        if (i) tn__text_puts(p->out, ", ");
        print_element(p, tensor, i);
    }
    tn__text_puts(p->out, "}");
}

void tn__print_sparse(struct tn__printer *p, const struct tn_sparse *sparse) {
    const int64_t *indices = sparse->indices.data;
    uint64_t n = sparse->values.rank ? (uint64_t)sparse->values.dims[0] : 0;
    uint64_t width = sparse->indices.rank == 2 ? sparse->rank : 1;
    tn__text_printf(p->out, "sparse_tensor(%s", tn_dtype_name(sparse->values.dtype));
    print_shape(p, sparse->dims, sparse->rank);
    tn__text_puts(p->out, ") [");
    for (uint64_t i = 0; i < n; i++) {
        int64_t at = 0; /* coordinates become one linear index */
        for (uint64_t d = 0; d < width; d++)
            at = at * (width > 1 ? sparse->dims[d] : 1) + indices[i * width + d];
        tn__text_printf(p->out, "%s%lld", i ? ", " : "", (long long)at);
    }
    tn__text_puts(p->out, "] ");
    tn__print_data(p, &sparse->values);
}
