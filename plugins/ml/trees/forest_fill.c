/* Values of columns: see forest.h. Rounding of inputs wider than their columns is directed,
 * so that no comparison changes; sets are looked up with the exact value. */
#include "trees/forest.h"
#include "trees/forest_column.h"

#include <math.h>
#include <string.h>

/* The usual case: floats as they are. Branch-free over the features of a row. */
static bool fill_plain(const struct tn_forest *forest, const struct tn_forest_rows *rows,
    int64_t first, int64_t n, float *out, size_t row_step, size_t column_step) {
    const float *x = (const float *)rows->data + first * rows->n_features;
    uint32_t missing = 0;
    for (int64_t r = 0; r < n; r++, x += rows->n_features) {
        float *to = out + (size_t)r * row_step;
        for (uint32_t c = 0; c < forest->n_columns; c++) {
            float value = x[forest->columns[c].feature];
            missing |= value != value;
            to[c * column_step] = value;
        }
        if (!missing) continue;
        for (uint32_t c = 0; c < forest->n_columns; c++) {
            float *value = &to[c * column_step];
            if (*value != *value)
                *value = forest->columns[c].nan_left ? -INFINITY : INFINITY;
        }
    }
    return missing != 0;
}

/* One column of any kind, row after row. */
static inline bool fill_column(const struct tn_forest *forest,
    const struct tn_column *column, const struct tn_forest_rows *rows, int32_t dtype,
    int64_t first, int64_t n, void *out, size_t at, size_t row_step) {
    bool wide = (forest->flags & TN_FOREST_WIDE) != 0, missing = false;
    for (int64_t r = 0; r < n; r++, at += row_step) {
        int64_t i = (first + r) * rows->n_features + column->feature;
        bool nan;
        double value = tn__column_value(forest, column, rows->data, dtype, i, &nan);
        missing = missing || nan;
        if (wide)
            ((double *)out)[at] = value;
        else
            ((float *)out)[at] = (float)value;
    }
    return missing;
}

static bool is_plain(const struct tn_forest *forest, const struct tn_forest_rows *rows) {
    return rows->dtype == TN_FLOAT &&
           !(forest->flags & (TN_FOREST_SETS | TN_FOREST_WIDE));
}

bool tn__forest_fill(const struct tn_forest *forest, const struct tn_forest_rows *rows,
    int64_t first, int64_t n, void *out, size_t row_step, size_t column_step) {
    bool missing = false;
    if (is_plain(forest, rows))
        return fill_plain(forest, rows, first, n, out, row_step, column_step);
    for (uint32_t c = 0; c < forest->n_columns; c++) {
        const struct tn_column *column = &forest->columns[c];
        size_t at = c * column_step;
#define FILL(type)                                                                       \
    case type:                                                                           \
        missing |= fill_column(forest, column, rows, type, first, n, out, at, row_step); \
        break
        switch (rows->dtype) {
            FILL(TN_FLOAT);
            FILL(TN_DOUBLE);
            FILL(TN_INT64);
            FILL(TN_INT32);
            FILL(TN_FLOAT16);
        default: break;
        }
#undef FILL
    }
    return missing;
}
