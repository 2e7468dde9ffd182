/* Ways to score a forest: rows of one table (tree_methods.c), from which a kernel takes the
 * first that serves its forest, its processor and its batch.
 *
 * A method adds, for each row, the leaf that the row reaches in each tree, tree after tree
 * in their order, in the type of the sums, starting from what the sums hold: so every method
 * gives the same bits, for every batch and number of threads. It never fuses or reorders
 * those additions.
 *
 * To add one: write build, destroy and score (a folder of its own, kernels that know only
 * forest.h), and give the table a row. */
#ifndef TENON_ML_TREE_METHOD_H
#define TENON_ML_TREE_METHOD_H

#include "trees/forest.h"

#include "tenon/plugin.h"

/* What build is told and answers with. */
struct tn_tree_build {
    const struct tn_host
        *host;    /* memory comes from host->alloc; features: cpu_features */
    uint64_t cpu; /* TN_CPU_* bits that may be used */
    struct tn_diag *diag;
    /* Answers: */
    void *model;      /* NULL: does not fit (TN_OK is returned), the next row is asked */
    bool keeps_nodes; /* the model reads the forest's node arrays: they stay */
    char reason[160]; /* one clause, why it fits or not, with the numbers that decided:
                         "depth 6, at most 222 thresholds a column" */
};

struct tn_tree_method {
    const char *name; /* "walk", "bitslice8/avx512": shown by info and profile */
    uint64_t cpu;     /* TN_CPU_* bits it needs, 0: none */
    /* The forests and batches it is asked for; 0 = no bound. */
    uint32_t flags_needed;  /* TN_FOREST_* that must be set … */
    uint32_t flags_refused; /* … and that must not be */
    uint32_t leaf_forms;    /* mask of 1u << TN_LEAVES_* */
    uint32_t aggregates;    /* mask of 1u << TN_AGGREGATE_* */
    uint32_t least_rows;    /* smallest batch it is meant for */
    uint32_t least_trees;
    uint32_t most_depth; /* of the deepest tree */
    uint32_t most_columns;

    /* [setup] Builds the model of a forest that passed the bounds above, in time linear in
     * the nodes (times what the depth bound allows). Fails only for want of memory. */
    tn_status (*build)(const struct tn_forest *forest, struct tn_tree_build *build);
    void (*destroy)(void *model, const struct tn_host *host); /* [setup] NULL is fine */
    /* [any] Rows that one call of score should get at a time for a batch of n_rows (the unit
     * of parallel work), and bytes of scratch, 64-byte aligned, that such a call needs. */
    int64_t (*block)(const void *model, int64_t n_rows);
    uint64_t (*scratch)(const void *model, int64_t n_rows_of_block);
    /* [worker] Adds the trees' leaves to sums[0 .. n) (row-major, forest->n_outputs numbers a
     * row, float or double) for rows [first, first + n), n <= block. */
    void (*score)(const void *model, const struct tn_forest_rows *rows, int64_t first,
        int64_t n, void *sums, void *scratch);
};

/* The table, best first; the last row serves everything. */
extern const struct tn_tree_method *const tn__tree_methods[];
extern const uint32_t tn__tree_method_count;

#endif
