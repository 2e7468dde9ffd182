/* Ranks of values among the distinct thresholds of a feature: what the quantised tree
 * kernels compare instead of the values.
 *
 * The rank of x is the number of thresholds below x, so for the k-th threshold (from 0)
 * x <= t[k] is exactly rank <= k, and x > t[k] is rank > k. A NaN gets rank 0 (it takes
 * every left side) or the number of thresholds (every right side), as the column says; a
 * feature whose nodes disagree on NaN has two columns. Ranks are stored biased, as
 * rank - 128 in an int8_t or rank - 32768 in an int16_t: vector units compare signed. */
#ifndef TENON_ML_TREE_RANK_H
#define TENON_ML_TREE_RANK_H

#include "tenon/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TN_RANK_FAN = 16,    /* thresholds of one step of the search */
    TN_RANK_LEVELS = 4,  /* steps that the largest table needs */
    TN_RANK_MOST8 = 255, /* thresholds that ranks of 8 bits allow */
    TN_RANK_MOST16 = 65535
};

/* A table of thresholds for a search that compares a whole node of TN_RANK_FAN at once.
 * The last level is the sorted thresholds, padded with +inf to whole nodes of which the
 * last holds at least one +inf; element i of a level above is the last element of node i
 * of the level below. Levels lie one after the other, the top one (one node) first. */
struct tn_rank_table {
    const void *levels;             /* float or double, aligned to 64 bytes */
    uint32_t start[TN_RANK_LEVELS]; /* first element of each level */
    uint32_t n_levels, count;       /* of thresholds */
};

/* Elements that the levels of `count` thresholds take. count <= TN_RANK_MOST16. */
size_t tn_rank_table_size(uint32_t count);
/* Fills memory of that many elements from sorted distinct thresholds without NaN. */
void tn_rank_table_fill_f32(
    struct tn_rank_table *table, float *levels, const float *sorted, uint32_t count);
void tn_rank_table_fill_f64(
    struct tn_rank_table *table, double *levels, const double *sorted, uint32_t count);

/* dst[i * dst_step] = biased rank of src[i * src_step] for i < n; steps count elements.
 * [any thread] */
typedef void tn_rank_fn(void *dst, size_t dst_step, const void *src, size_t src_step,
    size_t n, const struct tn_rank_table *table, bool nan_right);

enum tn_rank_type { TN_RANK_F32, TN_RANK_F64, TN_RANK_TYPES };
enum tn_rank_width { TN_RANK_8, TN_RANK_16, TN_RANK_WIDTHS };

struct tn_rank_kernels {
    tn_rank_fn *rank[TN_RANK_TYPES][TN_RANK_WIDTHS];
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_rank_kernels_init(struct tn_rank_kernels *kernels, enum tn_isa isa);

#endif
