/* Compares outputs with a library's answers: tensors, the maps of ZipMap row by row with a
 * matrix, sequences of tensors with the slices of one. */
#include <stdio.h>

#include "fixture.h"

#include "number.h"

#include <math.h>
#include <string.h>

/* What is compared, and which rows count. */
struct comparison {
    const struct tn_tensor *expected, *wrong;
    struct fixture_limit limit;
    char *why;
    size_t size;
};

static bool same_string(
    const struct tn_tensor *a, uint64_t i, const struct tn_tensor *b, uint64_t k) {
    const struct tn_string *x = (const struct tn_string *)a->data + i;
    const struct tn_string *y = (const struct tn_string *)b->data + k;
    return x->size == y->size && (x->size == 0 || memcmp(x->data, y->data, x->size) == 0);
}

/* Element `i` of a tensor against element `k` of the expected one. */
static bool same_element(
    const struct comparison *c, const struct tn_tensor *actual, uint64_t i, uint64_t k) {
    const struct tn_tensor *expected = c->expected;
    uint32_t bytes = tn_dtype_bits(expected->dtype) / 8;
    if (expected->dtype == TN_STRING) return same_string(actual, i, expected, k);
    bool number = expected->dtype == TN_FLOAT || expected->dtype == TN_DOUBLE;
    if (!number || c->limit.exact)
        return memcmp((const char *)actual->data + i * bytes,
                   (const char *)expected->data + k * bytes, bytes) == 0;
    double x = number_at(actual->dtype, actual->data, i);
    double y = number_at(expected->dtype, expected->data, k);
    if (x == y || (isnan(x) && isnan(y))) return true;
    return fabs(x - y) <= c->limit.relative * fmax(fabs(y), 0.1);
}

/* The row of element `k`: of the first axis, or of the second of [outputs, rows, classes]. */
static bool counts(const struct comparison *c, uint64_t k) {
    if (!c->wrong) return true;
    uint64_t rows = number_count(c->wrong), all = number_count(c->expected);
    const struct tn_tensor *e = c->expected;
    uint64_t row = e->rank == 3 && (uint64_t)e->dims[1] == rows
                       ? k / (uint64_t)e->dims[2] % rows
                       : k / (all / rows);
    return row >= rows || !((const bool *)c->wrong->data)[row];
}

static bool differs(
    const struct comparison *c, const struct tn_tensor *actual, uint64_t i, uint64_t k) {
    if (c->expected->dtype == TN_STRING)
        snprintf(
            c->why, c->size, "element %llu is another string", (unsigned long long)k);
    else
        snprintf(c->why, c->size, "element %llu is %.9g, the library's %.9g",
            (unsigned long long)k, number_at(actual->dtype, actual->data, i),
            number_at(c->expected->dtype, c->expected->data, k));
    return false;
}

static bool same_tensor(const struct comparison *c, const struct tn_tensor *actual) {
    const struct tn_tensor *e = c->expected;
    bool shape = actual->rank == e->rank && actual->dtype == e->dtype;
    for (uint32_t d = 0; shape && d < e->rank; d++)
        shape = actual->dims[d] == e->dims[d];
    if (!shape) {
        snprintf(c->why, c->size,
            "%s of rank %u and %llu elements, the library's %s %u %llu",
            tn_dtype_name(actual->dtype), actual->rank,
            (unsigned long long)number_count(actual), tn_dtype_name(e->dtype), e->rank,
            (unsigned long long)number_count(e));
        return false;
    }
    for (uint64_t k = 0, n = number_count(e); k < n; k++) {
        if (counts(c, k) && !same_element(c, actual, k, k))
            return differs(c, actual, k, k);
    }
    return true;
}

static uint64_t find_key(
    const struct tn_map *map, const struct tn_tensor *keys, uint64_t column) {
    uint64_t n = number_count(&map->keys), i = 0;
    for (; i < n && map->keys.dtype == keys->dtype; i++) {
        bool same = keys->dtype == TN_STRING ? same_string(&map->keys, i, keys, column)
                                             : ((const int64_t *)map->keys.data)[i] ==
                                                   ((const int64_t *)keys->data)[column];
        if (same) return i;
    }
    return UINT64_MAX;
}

static bool same_maps(const struct comparison *c, const struct tn_sequence *actual,
    const struct tn_tensor *keys) {
    uint64_t columns = number_count(keys), rows = number_count(c->expected) / columns;
    if (actual->count != rows) {
        snprintf(c->why, c->size, "%llu maps, the library has %llu rows",
            (unsigned long long)actual->count, (unsigned long long)rows);
        return false;
    }
    for (uint64_t k = 0; k < rows * columns; k++) {
        struct tn_map row;
        struct tn_value_ref item = tn_sequence_item(actual, k / columns, &row);
        uint64_t i = item.kind == TN_KIND_MAP ? find_key(item.as.map, keys, k % columns)
                                              : UINT64_MAX;
        if (i == UINT64_MAX) {
            snprintf(c->why, c->size, "row %llu is no map with all labels",
                (unsigned long long)(k / columns));
            return false;
        }
        if (counts(c, k) && !same_element(c, &item.as.map->values, i, k))
            return differs(c, &item.as.map->values, i, k);
    }
    return true;
}

static bool same_slices(const struct comparison *c, const struct tn_sequence *actual) {
    uint64_t slice = actual->count ? number_count(c->expected) / actual->count : 0;
    for (uint64_t s = 0; s < actual->count; s++) {
        const struct tn_tensor *item = actual->items[s].as.tensor;
        if (actual->items[s].kind != TN_KIND_TENSOR || number_count(item) != slice ||
            item->dtype != c->expected->dtype) {
            snprintf(c->why, c->size, "item %llu has another size or type",
                (unsigned long long)s);
            return false;
        }
        for (uint64_t i = 0; i < slice; i++) {
            if (!same_element(c, item, i, s * slice + i))
                return differs(c, item, i, s * slice + i);
        }
    }
    return slice > 0;
}

bool fixture_same(const struct fixture *fixture, unsigned index,
    struct fixture_limit limit, const struct tn_value_ref *actual, char *why,
    size_t size) {
    struct comparison c = {.expected = tn_value_get(fixture->outputs[index])->as.tensor,
        .limit = limit,
        .why = why,
        .size = size};
    if (fixture->wrong) c.wrong = tn_value_get(fixture->wrong)->as.tensor;
    if (actual && actual->kind == TN_KIND_TENSOR)
        return same_tensor(&c, actual->as.tensor);
    if (actual && actual->kind == TN_KIND_SEQUENCE)
        return fixture->output_keys[index]
                   ? same_maps(&c, actual->as.sequence,
                         tn_value_get(fixture->output_keys[index])->as.tensor)
                   : same_slices(&c, actual->as.sequence);
    snprintf(why, size, "neither a tensor nor a sequence");
    return false;
}
