/* The thresholds of a forest as ranks (kernels/tree_rank.h): what the quantised methods
 * build first, and how they turn rows into what their kernels compare. Exact: a row takes
 * the same path by ranks as by values. */
#ifndef TENON_ML_FOREST_RANKS_H
#define TENON_ML_FOREST_RANKS_H

#include "kernels/tree_rank.h"
#include "trees/tree_method.h"

#include "tenon/types.h"

struct tn_forest_ranks {
    const struct tn_forest *forest; /* its columns stay */
    struct tn_rank_kernels kernels;
    struct tn_rank_table *tables; /* [n_columns] */
    void *levels;                 /* memory of the tables */
    uint32_t most;                /* thresholds of one column */
    int32_t direct; /* the dtype of inputs that are ranked in place; others are first made
                       column values; 0 when columns are more than features */
};

/* Ranks all thresholds, unless a column has more than `most`: then out->most says how many
 * and nothing is built. *out_cuts: [n_nodes] the rank of each node's threshold, to be freed
 * by the caller. Time linear in the nodes. [setup] */
tn_status tn__forest_ranks_build(const struct tn_forest *forest,
    const struct tn_tree_build *build, uint32_t most, struct tn_forest_ranks *out,
    uint16_t **out_cuts);
void tn__forest_ranks_free(struct tn_forest_ranks *ranks, const struct tn_host *host);

/* Bytes of scratch that a call of fill needs; a multiple of 64. */
uint64_t tn__forest_ranks_scratch(const struct tn_forest_ranks *ranks);

/* Ranks of the rows [first, first + n): row r's column c is element (r - first) * row_step +
 * c * column_step of out, int8_t or int16_t. [worker] */
void tn__forest_ranks_fill(const struct tn_forest_ranks *ranks,
    const struct tn_forest_rows *rows, int64_t first, int64_t n, enum tn_rank_width width,
    void *out, size_t row_step, size_t column_step, void *scratch);

/* The level whose kernels may run with these TN_CPU_* bits. */
enum tn_isa tn__forest_isa(uint64_t cpu);

/* The frame of a method's build: a zeroed model of `size` bytes, which `fill` fills (and sets
 * build->model when the forest fits) and which is destroyed when it does not. */
tn_status tn__method_build(const struct tn_forest *forest, struct tn_tree_build *build,
    size_t size,
    tn_status (*fill)(
        void *model, const struct tn_forest *forest, struct tn_tree_build *build),
    void (*destroy)(void *model, const struct tn_host *host));

/* host->alloc with the tag of trees, on cache lines; NULL when there is no memory. */
void *tn__method_alloc(const struct tn_host *host, uint64_t n, uint64_t size);

#endif
