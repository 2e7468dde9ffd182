/* The columns of a forest: made while the nodes are walked, then sorted by kind and feature,
 * equal sets joined. Sorting makes the usual forest's columns the features themselves, in
 * order, and brings twins together. */
#include "trees/forest_impl.h"

#include <stdlib.h>

enum { COLUMNS_PER_FEATURE = 5 }; /* VALUE: two roundings, two NaN sides; IS_NAN */

struct sizes {
    uint64_t n_questions, n_sets, n_members, n_features;
};

static struct sizes measure(const struct tn_tree_source *source) {
    struct sizes sizes = {0, 0, 0, 0};
    for (uint32_t i = 0; i < source->n_nodes; i++) {
        uint32_t mode = source->modes[i];
        if (mode == TN_MODE_LEAF) continue;
        if ((uint64_t)source->features[i] >= sizes.n_features)
            sizes.n_features = (uint64_t)source->features[i] + 1;
        if (mode < TN_MODE_EQ) {
            sizes.n_questions++;
            continue;
        }
        sizes.n_sets++;
        sizes.n_members += mode == TN_MODE_MEMBER
                               ? source->member_begin[i + 1] - source->member_begin[i]
                               : 1;
    }
    return sizes;
}

tn_status tn__columns_begin(struct tn_forest_maker *m) {
    struct sizes sizes = measure(m->source);
    m->has_sets = sizes.n_sets > 0;
    uint64_t plain = sizes.n_features * COLUMNS_PER_FEATURE;
    uint64_t n = (plain < sizes.n_questions ? plain : sizes.n_questions) + sizes.n_sets;
    m->columns = tn__blocks_array(m->blocks, n, sizeof *m->columns, 0);
    m->first_column = tn__blocks_array(&m->temp, sizes.n_features, 4, 1);
    m->next_column = tn__blocks_array(&m->temp, n, 4, 0);
    m->raw_sets = tn__blocks_array(&m->temp, sizes.n_sets, sizeof *m->raw_sets, 0);
    m->members = tn__blocks_array(&m->temp, sizes.n_members, sizeof *m->members, 0);
    if (!m->columns || !m->first_column || !m->next_column || !m->raw_sets || !m->members)
        return TN_OUT_OF_MEMORY;
    return TN_OK;
}

uint32_t tn__columns_find(
    struct tn_forest_maker *m, const struct tn_column *like, uint32_t feature) {
    uint32_t at = m->first_column[feature];
    while (at) {
        const struct tn_column *column = &m->columns[at - 1];
        if (column->kind == like->kind && column->rounding == like->rounding &&
            column->nan_left == like->nan_left)
            return at - 1;
        at = m->next_column[at - 1];
    }
    uint32_t index = m->forest->n_columns++;
    m->columns[index] = *like;
    m->columns[index].feature = feature;
    m->next_column[index] = m->first_column[feature];
    m->first_column[feature] = index + 1;
    return index;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

uint32_t tn__columns_add_set(
    struct tn_forest_maker *m, uint32_t feature, bool nan_left, uint32_t begin) {
    uint32_t n = m->n_members - begin, kept = 0;
    double *members = m->members + begin;
    qsort(members, n, sizeof *members, by_value);
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || members[i] != members[kept - 1]) members[kept++] = members[i];
    m->n_members = begin + kept;
    m->raw_sets[m->forest->n_sets] = (struct tn_raw_set){begin, kept};
    m->columns[m->forest->n_columns] = (struct tn_column){.feature = feature,
        .kind = TN_COLUMN_SET,
        .nan_left = nan_left,
        .set = m->forest->n_sets++};
    return m->forest->n_columns++;
}

/* ---- order ---------------------------------------------------------------------------- */

/* A column with its place before sorting and its set's content. */
struct entry {
    struct tn_column column;
    uint32_t place;
    uint32_t n;
    const double *members;
};

static int by_number(uint64_t x, uint64_t y) {
    return (x > y) - (x < y);
}

/* All but nan_left, and the content of a set instead of its number. */
static int by_question(const struct entry *a, const struct entry *b) {
    int order = by_number(a->column.kind, b->column.kind);
    if (!order) order = by_number(a->column.feature, b->column.feature);
    if (!order) order = by_number(a->column.rounding, b->column.rounding);
    if (!order) order = by_number(a->n, b->n);
    for (uint32_t i = 0; !order && i < a->n; i++)
        order = by_value(&a->members[i], &b->members[i]);
    return order;
}

static int by_column(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int order = by_question(x, y);
    return order ? order : by_number(x->column.nan_left, y->column.nan_left);
}

/* The columns that some node asks about, sorted; *out_n of them. */
static struct entry *sort_columns(struct tn_forest_maker *m, uint32_t *out_n) {
    uint32_t n = m->forest->n_columns, kept = 0;
    struct entry *entries = tn__blocks_array(&m->temp, n, sizeof *entries, 0);
    uint8_t *asked = tn__blocks_array(&m->temp, n, 1, 1);
    if (!entries || !asked) return NULL;
    for (uint32_t i = 0; i < m->forest->n_nodes; i++)
        asked[m->columns_of[i]] = 1;
    for (uint32_t c = 0; c < n; c++) {
        struct entry *entry = &entries[kept];
        if (!asked[c]) continue;
        *entry = (struct entry){.column = m->columns[c], .place = c};
        if (entry->column.kind == TN_COLUMN_SET) {
            entry->n = m->raw_sets[entry->column.set].n;
            entry->members = m->members + m->raw_sets[entry->column.set].begin;
        }
        kept++;
    }
    qsort(entries, kept, sizeof *entries, by_column);
    *out_n = kept;
    return entries;
}

/* ---- sets ----------------------------------------------------------------------------- */

static bool is_whole(double value) {
    return value >= -0x1p62 && value <= 0x1p62 && value == (double)(int64_t)value;
}

/* Bits when the members are whole and dense enough, else the list. */
static tn_status make_set(
    struct tn_forest_maker *m, const struct entry *entry, struct tn_set *out) {
    const double *members = entry->members;
    uint32_t n = entry->n;
    bool whole = n > 0;
    for (uint32_t i = 0; whole && i < n; i++)
        whole = is_whole(members[i]);
    uint64_t range =
        whole ? (uint64_t)((int64_t)members[n - 1] - (int64_t)members[0]) + 1 : 0;
    memset(out, 0, sizeof *out);
    if (whole && range <= (uint64_t)n * 64 + 1024) {
        uint64_t *bits = tn__blocks_array(m->blocks, (range + 63) / 64, 8, 1);
        if (!bits) return TN_OUT_OF_MEMORY;
        out->low = (int64_t)members[0];
        for (uint32_t i = 0; i < n; i++) {
            uint64_t bit = (uint64_t)((int64_t)members[i] - out->low);
            bits[bit / 64] |= UINT64_C(1) << bit % 64;
        }
        out->bits = bits;
        out->n_bits = range;
        return TN_OK;
    }
    double *values = tn__blocks_array(m->blocks, n, sizeof *values, 0);
    if (!values) return TN_OUT_OF_MEMORY;
    if (n) memcpy(values, members, n * sizeof *values);
    out->values = values;
    out->n_values = n;
    return TN_OK;
}

/* Numbers the columns anew: *places tells where each stood column is now. */
static tn_status place_columns(struct tn_forest_maker *m, const struct entry *entries,
    uint32_t n, struct tn_set *sets, uint32_t *places) {
    struct tn_forest *forest = m->forest;
    uint32_t first = 0; /* entry of the newest column that is no twin */
    forest->n_columns = forest->n_sets = 0;
    for (uint32_t e = 0; e < n; e++) {
        bool known = e && by_question(&entries[e], &entries[first]) == 0;
        if (!e || by_column(&entries[e], &entries[e - 1]) != 0) {
            struct tn_column *column = &m->columns[forest->n_columns++];
            *column = entries[e].column;
            column->twin = forest->n_columns - 1;
            if (known) {
                column->twin = column[-1].twin;
                column->set = column[-1].set;
                forest->flags |= TN_FOREST_TWINS;
            } else if (column->kind == TN_COLUMN_SET) {
                column->set = forest->n_sets++;
                TN_TRY(make_set(m, &entries[e], &sets[column->set]));
            }
            if (column->kind != TN_COLUMN_VALUE) forest->flags |= TN_FOREST_SETS;
            if (column->feature >= forest->n_features)
                forest->n_features = column->feature + 1;
        }
        if (!known) first = e;
        places[entries[e].place] = forest->n_columns - 1;
    }
    return TN_OK;
}

tn_status tn__columns_end(struct tn_forest_maker *m) {
    struct tn_forest *forest = m->forest;
    uint32_t n = 0, stood = forest->n_columns;
    struct entry *entries = sort_columns(m, &n);
    uint32_t *places = tn__blocks_array(&m->temp, stood, sizeof *places, 0);
    struct tn_set *sets = tn__blocks_array(m->blocks, forest->n_sets, sizeof *sets, 0);
    if (!entries || !places || !sets) return TN_OUT_OF_MEMORY;
    TN_TRY(place_columns(m, entries, n, sets, places));
    for (uint32_t i = 0; i < forest->n_nodes; i++)
        m->columns_of[i] = places[m->columns_of[i]];
    forest->columns = m->columns;
    forest->sets = sets;
    tn__blocks_release(entries);
    tn__blocks_release(places);
    tn__blocks_release(m->members);
    tn__blocks_release(m->next_column);
    tn__blocks_release(m->first_column);
    return TN_OK;
}
