/* Reduction over any set of axes: collapses the dims to outer · reduced · inner and hands
 * rows (inner 1) or columns to the kernels; where the reduced axes lie apart, the block is
 * permuted once so that they do not. The split depends on shapes alone. */
#ifndef TENON_CPU_LOOP_REDUCE_H
#define TENON_CPU_LOOP_REDUCE_H

#include "kernels/reduce_rows.h"
#include "loops/copy.h"

struct tn__reduce {
    int64_t outer, reduced, inner; /* of the block as it is, or as it is permuted */
    bool permuted;                 /* by `copy`, into scratch of the block's size */
    struct tn__copy copy;
};

/* Plans a reduction over the axes in mask. rows_only: inner must come out as 1. */
tn_status tn__reduce_plan(struct tn__reduce *reduce, int32_t dtype, const int64_t *dims,
    uint32_t rank, uint64_t mask, bool rows_only, struct tn_diag *diag);

/* Gives rows or columns to the kernels of one operation and element type of `size` bytes.
 * `scratch` holds the permuted block when there is one. */
void tn__reduce_run(const struct tn_host *host, const struct tn__reduce *reduce,
    tn_reduce_row_fn *row, tn_reduce_column_fn *column, uint32_t size, void *dst,
    const void *src, void *scratch);

#endif
