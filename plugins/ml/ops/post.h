/* post_transform: what becomes of scores before they are written. Computed in double, rounded
 * by the caller. */
#ifndef TENON_ML_POST_H
#define TENON_ML_POST_H

#include "ml.h"
#include "trees/scores.h"

tn_status tn__post_read(
    struct tn_string text, enum tn_transform *out, struct tn_diag *diag);

/* Doubles of spare memory for tn__post_rows. */
static inline uint64_t tn__post_spare(uint64_t n_rows, uint64_t width) {
    return (n_rows * width + TN_ROWS_COLUMNS - 1) / TN_ROWS_COLUMNS * TN_ROWS_COLUMNS;
}

/* Transforms n_rows rows of `width` scores in place. */
void tn__post_rows(const struct tn_rows_kernels *kernels, enum tn_transform post,
    double *rows, double *spare, int64_t n_rows, int64_t width);

/* Index of the largest score: the first of equals; NaN is greatest. */
int64_t tn__best(const double *row, int64_t n);

#endif
