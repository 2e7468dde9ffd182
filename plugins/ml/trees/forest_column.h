/* The value of one column for one row: for tn__forest_fill, and for methods that ask for
 * single columns. */
#ifndef TENON_ML_FOREST_COLUMN_H
#define TENON_ML_FOREST_COLUMN_H

#include "trees/forest.h"
#include "trees/half.h"

#include "tenon/types.h"

#include <math.h>

/* Element i as a double. An int64 that is none is rounded in the direction asked for, to
 * nearest otherwise; *exact says whether the double is the element. */
static inline double tn__column_load(
    const void *data, int32_t dtype, int64_t i, uint8_t rounding, bool *exact) {
    *exact = true;
    if (dtype == TN_FLOAT) return (double)((const float *)data)[i];
    if (dtype == TN_DOUBLE) return ((const double *)data)[i];
    if (dtype == TN_INT32) return (double)((const int32_t *)data)[i];
    if (dtype == TN_FLOAT16)
        return (double)tn__half_to_float(((const uint16_t *)data)[i]);
    int64_t whole = ((const int64_t *)data)[i];
    double value = (double)whole;
    int above = value >= 0x1p63 || (int64_t)value > whole; /* 2^63 is above them all */
    int below = !above && (int64_t)value < whole;
    *exact = !above && !below;
    if (rounding == TN_ROUND_UP && below) value = nextafter(value, INFINITY);
    if (rounding == TN_ROUND_DOWN && above) value = nextafter(value, -INFINITY);
    return value;
}

static inline bool tn__set_has(const struct tn_set *set, double value) {
    if (set->n_bits) {
        double offset = value - (double)set->low; /* exact where it could be a member */
        if (!(offset >= 0 && offset < (double)set->n_bits)) return false;
        uint64_t bit = (uint64_t)offset;
        return (double)bit == offset && (double)(set->low + (int64_t)bit) == value &&
               (set->bits[bit / 64] >> bit % 64 & 1);
    }
    uint64_t low = 0, high = set->n_values;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (set->values[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->n_values && set->values[low] == value;
}

static inline double tn__column_round(double value, uint8_t rounding) {
    float f = (float)value;
    if (rounding == TN_ROUND_UP && (double)f < value) f = nextafterf(f, INFINITY);
    if (rounding == TN_ROUND_DOWN && (double)f > value) f = nextafterf(f, -INFINITY);
    return (double)f;
}

/* Value of a column whose feature is element i; *out_nan: whether that is a NaN. */
static inline double tn__column_value(const struct tn_forest *forest,
    const struct tn_column *column, const void *data, int32_t dtype, int64_t i,
    bool *out_nan) {
    bool exact;
    double value = tn__column_load(data, dtype, i, column->rounding, &exact);
    bool nan = value != value;
    *out_nan = nan;
    if (column->kind == TN_COLUMN_IS_NAN) return nan ? 0 : 1;
    if (column->kind == TN_COLUMN_SET) {
        if (nan) return column->nan_left ? 0 : 1;
        return exact && tn__set_has(&forest->sets[column->set], value) ? 0 : 1;
    }
    if (nan) return column->nan_left ? -INFINITY : INFINITY;
    if (column->rounding != TN_ROUND_NONE && !(forest->flags & TN_FOREST_WIDE))
        value = tn__column_round(value, column->rounding);
    return value;
}

#endif
