/* post_transform: what becomes of scores before they are written. Computed in double, rounded
 * by the caller. */
#ifndef TENON_ML_POST_H
#define TENON_ML_POST_H

#include "ml.h"

enum tn__post {
    TN__POST_NONE,
    TN__POST_SOFTMAX,
    TN__POST_LOGISTIC,
    TN__POST_SOFTMAX_ZERO,
    TN__POST_PROBIT
};

tn_status tn__post_read(struct tn_string text, enum tn__post *out, struct tn_diag *diag);

/* Doubles of spare memory for tn__post_rows. */
static inline uint64_t tn__post_spare(uint64_t n_rows, uint64_t width) {
    return (n_rows * width + TN_ROWS_COLUMNS - 1) / TN_ROWS_COLUMNS * TN_ROWS_COLUMNS;
}

/* Transforms n_rows rows of `width` scores in place. */
void tn__post_rows(const struct tn_rows_kernels *kernels, enum tn__post post,
    double *rows, double *spare, int64_t n_rows, int64_t width);

/* Index of the largest score: the first of equals; NaN is greatest. */
int64_t tn__best(const double *row, int64_t n);

#endif
