/* Adding a leaf to a row of sums: what every method does at the end of a tree. */
#ifndef TENON_ML_TREE_SUM_H
#define TENON_ML_TREE_SUM_H

#include "trees/forest.h"

#define TN_LEAF_ADD(T, name)                                                             \
    static inline void name(                                                             \
        const struct tn_forest *forest, uint32_t target, uint32_t leaf, T *sums) {       \
        const T *values = (const T *)forest->leaf_values;                                \
        if (forest->leaf_form == TN_LEAVES_ONE) {                                        \
            sums[target] += values[leaf];                                                \
        } else if (forest->leaf_form == TN_LEAVES_ROW) {                                 \
            const T *row = values + (size_t)leaf * forest->n_outputs;                    \
            for (uint32_t k = 0; k < forest->n_outputs; k++)                             \
                sums[k] += row[k];                                                       \
        } else {                                                                         \
            for (uint32_t v = forest->votes_begin[leaf];                                 \
                 v < forest->votes_begin[leaf + 1]; v++)                                 \
                sums[forest->vote_targets[v]] += values[v];                              \
        }                                                                                \
    }
TN_LEAF_ADD(float, tn__leaf_add_float)
TN_LEAF_ADD(double, tn__leaf_add_double)
#undef TN_LEAF_ADD

/* Row r of a block of sums. target: the tree's. */
static inline void tn__leaf_add(const struct tn_forest *forest, uint32_t target,
    uint32_t leaf, void *sums, int64_t r) {
    size_t at = (size_t)r * forest->n_outputs;
    if (forest->flags & TN_FOREST_WIDE_SUM)
        tn__leaf_add_double(forest, target, leaf, (double *)sums + at);
    else
        tn__leaf_add_float(forest, target, leaf, (float *)sums + at);
}

#endif
