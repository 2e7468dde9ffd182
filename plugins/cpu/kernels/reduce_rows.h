/* Reductions of a contiguous run to one element, and of a column of rows to one row.
 *
 * f32: element i of a run goes into accumulator i mod 64, stretches of 4096 are added in
 * f64; rows of a column go into f32 in blocks of 64, blocks are added in f64. The split
 * depends on nothing else, and all levels give the same bits. f64 goes into 16 accumulators
 * a run, and row by row down a column.
 * Integers wrap. MAX and MIN hand on NaN. n or rows of 0 gives the identity: 0 for sums, 1
 * for PROD, -inf or the type's minimum for MAX, +inf or its maximum for MIN. [any thread] */
#ifndef TENON_CPU_REDUCE_ROWS_H
#define TENON_CPU_REDUCE_ROWS_H

#include "run_fn.h"
#include "tenon/isa.h"

/* Means, L2 norms and logarithms are finished by the caller: SUM / n, sqrt(SUMSQ), log(SUM),
 * and log-sum-exp with SUMEXP. */
enum tn_reduce {
    TN_REDUCE_SUM,
    TN_REDUCE_L1,    /* sum of |x| */
    TN_REDUCE_SUMSQ, /* sum of x^2 */
    TN_REDUCE_PROD,
    TN_REDUCE_MAX,
    TN_REDUCE_MIN,
    TN_REDUCE_COUNT
};

/* *dst = reduction of src[0 … n-1], all of one type. */
typedef void tn_reduce_row_fn(void *dst, const void *src, size_t n);

/* dst[j] = reduction over i < rows of src[i * row_step + j], for j < n. dst must not overlap
 * src. */
typedef void tn_reduce_column_fn(
    void *dst, const void *src, ptrdiff_t row_step, size_t rows, size_t n);

struct tn_reduce_kernels {
    /* f32, f64 and the integers have all; bool has MAX and MIN (or, and; a byte
     * other than 0 and 1 counts by its value); else NULL */
    tn_reduce_row_fn *row[TN_REDUCE_COUNT][TN_ELEM_COUNT];
    tn_reduce_column_fn *column[TN_REDUCE_COUNT][TN_ELEM_COUNT];
    /* f32: the sum of exp(x - max) of a run, max being its maximum. */
    double (*sum_exp)(const float *src, size_t n, float max);
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_reduce_kernels_init(struct tn_reduce_kernels *kernels, enum tn_isa isa);

#endif
