/* Values of any kind as text for people and as JSON. Values nest a few levels at most: the
 * library bounds them. */
#include "value_print.h"

#include "number.h"

#include <math.h>

enum { SHOWN = 12, SHOWN_ITEMS = 6 };

/* ---- parts ---------------------------------------------------------------------------- */

void value_print_json_string(FILE *to, const char *data, uint64_t size) {
    fputc('"', to);
    for (uint64_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            fprintf(to, "\\u%04x", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

/* Element i; JSON has no NaN and no infinities, and escapes strings. */
static void json_element(FILE *to, const struct tn_tensor *tensor, uint64_t i) {
    double value = number_at(tensor->dtype, tensor->data, i);
    if (tensor->dtype == TN_STRING) {
        const struct tn_string *s = (const struct tn_string *)tensor->data + i;
        value_print_json_string(to, s->data, s->size);
    } else if (isnan(value) || isinf(value)) {
        fprintf(to, "\"%s\"",
            isnan(value) ? "NaN"
            : value > 0  ? "Infinity"
                         : "-Infinity");
    } else {
        number_print(to, tensor, i);
    }
}

static const struct tn_tensor *values_of(const struct tn_value_ref *value) {
    return value->kind == TN_KIND_MAP ? &value->as.map->values
                                      : &value->as.sparse->values;
}

static const char *kind_name(uint32_t kind) {
    static const char *const names[] = {"absent", "tensors", "sequences", "maps",
        "optionals", "sparse tensors", "opaque values"};
    return kind < sizeof names / sizeof *names ? names[kind] : "values";
}

/* ---- types ---------------------------------------------------------------------------- */

static void print_dims(FILE *to, const struct tn_tensor *tensor) {
    fprintf(to, "%s[", tn_dtype_name(tensor->dtype));
    for (uint32_t i = 0; i < tensor->rank; i++)
        fprintf(to, "%s%lld", i ? "," : "", (long long)tensor->dims[i]);
    fputc(']', to);
}

void value_print_type(FILE *to, const struct tn_value_ref *value) {
    switch (value->kind) {
    case TN_KIND_TENSOR: print_dims(to, value->as.tensor); break;
    case TN_KIND_SEQUENCE:
        fprintf(to, "seq of %llu %s", (unsigned long long)value->as.sequence->count,
            kind_name(value->as.sequence->elem_kind));
        break;
    case TN_KIND_MAP:
        fprintf(to, "map of %llu %s to %s",
            (unsigned long long)number_count(&value->as.map->keys),
            tn_dtype_name(value->as.map->keys.dtype),
            tn_dtype_name(values_of(value)->dtype));
        break;
    case TN_KIND_OPTIONAL:
        fputs("optional ", to);
        if (value->as.optional->value.kind == TN_KIND_ABSENT)
            fputs("(none)", to);
        else
            value_print_type(to, &value->as.optional->value);
        break;
    case TN_KIND_SPARSE:
        fprintf(to, "sparse %s", tn_dtype_name(values_of(value)->dtype));
        break;
    default: fputs(kind_name(value->kind), to); break;
    }
}

/* ---- text ----------------------------------------------------------------------------- */

static void print_elements(FILE *to, const struct tn_tensor *tensor) {
    uint64_t n = number_count(tensor);
    for (uint64_t i = 0; i < n && i < SHOWN; i++) {
        number_print(to, tensor, i);
        fputs(i + 1 < n ? ", " : "", to);
    }
    fputs(n > SHOWN ? "…\n" : "\n", to);
}

static void print_pairs(FILE *to, const struct tn_map *map) {
    uint64_t n = number_count(&map->keys);
    uint64_t width = n ? number_count(&map->values) / n : 0;
    fputc('{', to);
    for (uint64_t i = 0; i < n && i < SHOWN; i++) {
        number_print(to, &map->keys, i);
        fputs(": ", to);
        if (width) number_print(to, &map->values, i * width);
        fputs(i + 1 < n ? ", " : "", to);
    }
    fputs(n > SHOWN ? "…}\n" : "}\n", to);
}

void value_print_items(FILE *to, const struct tn_value_ref *value) {
    fputs("  ", to);
    if (value->kind == TN_KIND_TENSOR) {
        print_elements(to, value->as.tensor);
    } else if (value->kind == TN_KIND_MAP) {
        print_pairs(to, value->as.map);
    } else if (value->kind == TN_KIND_SEQUENCE) {
        const struct tn_sequence *sequence = value->as.sequence;
        for (uint64_t i = 0; i < sequence->count && i < SHOWN_ITEMS; i++) {
            struct tn_map storage;
            const struct tn_value_ref item = tn_sequence_item(sequence, i, &storage);
            fputs(i ? "  " : "", to);
            value_print_items(to, &item);
        }
        if (sequence->count == 0) fputs("nothing\n", to);
        if (sequence->count > SHOWN_ITEMS) fputs("  …\n", to);
    } else if (value->kind == TN_KIND_OPTIONAL &&
               value->as.optional->value.kind != TN_KIND_ABSENT) {
        value_print_items(to, &value->as.optional->value);
    } else {
        fputs("not shown\n", to);
    }
}

/* ---- JSON ----------------------------------------------------------------------------- */

static void json_pairs(FILE *to, const struct tn_map *map) {
    uint64_t n = number_count(&map->keys);
    uint64_t width = n ? number_count(&map->values) / n : 0;
    fputc('{', to);
    for (uint64_t i = 0; i < n; i++) {
        bool quoted = map->keys.dtype == TN_STRING;
        fputs(i ? "," : "", to);
        fputs(quoted ? "" : "\"", to);
        json_element(to, &map->keys, i);
        fputs(quoted ? ":" : "\":", to);
        if (width != 1) fputc('[', to);
        for (uint64_t k = 0; k < width; k++) {
            fputs(k ? "," : "", to);
            json_element(to, &map->values, i * width + k);
        }
        if (width != 1) fputc(']', to);
    }
    fputc('}', to);
}

/* The content alone: a list, an object, or an object with its type. */
static void json_data(FILE *to, const struct tn_value_ref *value) {
    if (value->kind == TN_KIND_TENSOR) {
        uint64_t n = number_count(value->as.tensor);
        fputc('[', to);
        for (uint64_t i = 0; i < n; i++) {
            fputs(i ? "," : "", to);
            json_element(to, value->as.tensor, i);
        }
        fputc(']', to);
    } else if (value->kind == TN_KIND_MAP) {
        json_pairs(to, value->as.map);
    } else if (value->kind == TN_KIND_SEQUENCE) {
        const struct tn_sequence *sequence = value->as.sequence;
        fputc('[', to);
        for (uint64_t i = 0; i < sequence->count; i++) {
            struct tn_map storage;
            const struct tn_value_ref item = tn_sequence_item(sequence, i, &storage);
            bool map = item.kind == TN_KIND_MAP;
            fputs(i ? "," : "", to);
            fputs(map ? "" : "{", to);
            if (map)
                json_data(to, &item);
            else
                value_print_json(to, &item, 0);
            fputs(map ? "" : "}", to);
        }
        fputc(']', to);
    } else if (value->kind == TN_KIND_OPTIONAL &&
               value->as.optional->value.kind != TN_KIND_ABSENT) {
        fputc('{', to);
        value_print_json(to, &value->as.optional->value, 0);
        fputc('}', to);
    } else {
        fputs("null", to);
    }
}

void value_print_json(FILE *to, const struct tn_value_ref *value, int bare) {
    fputs("\"type\":\"", to);
    if (value->kind == TN_KIND_TENSOR)
        fputs(tn_dtype_name(value->as.tensor->dtype), to);
    else
        value_print_type(to, value);
    fputc('"', to);
    if (value->kind == TN_KIND_TENSOR) {
        const struct tn_tensor *tensor = value->as.tensor;
        fputs(",\"dims\":[", to);
        for (uint32_t i = 0; i < tensor->rank; i++)
            fprintf(to, "%s%lld", i ? "," : "", (long long)tensor->dims[i]);
        fputc(']', to);
    }
    if (bare) return;
    fputs(",\"data\":", to);
    json_data(to, value);
}
