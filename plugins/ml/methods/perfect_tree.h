/* A tree of at most 8 levels, padded to a perfect one. */
#ifndef TENON_ML_PERFECT_TREE_H
#define TENON_ML_PERFECT_TREE_H

#include "trees/forest.h"

enum { TN_PERFECT_LEVELS = 8, TN_PERFECT_PLACES = 2 << TN_PERFECT_LEVELS };

/* at[i] for 1 <= i < 2^(levels + 1): the node or leaf at each place, in heap order; below a
 * leaf is the leaf again. The tree has at most `levels` levels. */
static inline void tn__perfect_tree(const struct tn_forest *forest, uint32_t root,
    uint32_t levels, uint32_t at[TN_PERFECT_PLACES]) {
    at[1] = root;
    for (uint32_t i = 1; i < 1u << levels; i++) {
        const bool leaf = (at[i] & TN_LEAF_BIT) != 0;
        at[2 * i] = leaf ? at[i] : forest->children[at[i]][0];
        at[2 * i + 1] = leaf ? at[i] : forest->children[at[i]][1];
    }
}

#endif
