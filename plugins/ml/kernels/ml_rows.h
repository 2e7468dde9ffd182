/* Loops over rows of features that linear models and support vector machines are made of.
 *
 * Every element is the same chain of operations at every level and for every split of the
 * work: products are added without being fused, in an order that depends on the sizes alone.
 * [any thread] */
#ifndef TENON_ML_ROWS_H
#define TENON_ML_ROWS_H

#include "tenon/isa.h"

#include <stddef.h>

enum {
    TN_ROWS_COLUMNS = 8, /* columns of doubles come in multiples of this */
    TN_ROWS_LANES = 8    /* sums of a dot product that run beside each other */
};

/* out[j] = sum over r < k of (x[r] - columns[r * n + j])^2, in ascending r, for j < n. */
typedef void tn_rows_distances_fn(
    const double *x, const double *columns, size_t n, size_t k, double *out);

/* v[j] = e^(factor * v[j]) for j < n, to within 2 ulp; what is below 1e-307 is 0. */
typedef void tn_rows_exp_fn(double *v, size_t n, double factor);

/* y[i * y_step] = bias + sum over r < k of x[i * k + r] * w[r] for i < rows: lane l of 8 adds
 * the r that leave l in ascending order, the lanes are added by halves, and the last k % 8
 * products are added to the bias first. */
typedef void tn_rows_dots_fn(const float *x, size_t rows, size_t k, const float *w,
    float bias, float *y, size_t y_step);

struct tn_rows_kernels {
    tn_rows_distances_fn *distances;
    tn_rows_exp_fn *exp;
    tn_rows_dots_fn *dots;
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_rows_kernels_init(struct tn_rows_kernels *kernels, enum tn_isa isa);

#endif
