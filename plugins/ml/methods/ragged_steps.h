/* A tree as steps of kernels/tree_ragged.h. */
#ifndef TENON_ML_RAGGED_STEPS_H
#define TENON_ML_RAGGED_STEPS_H

#include "kernels/tree_ragged.h"
#include "trees/forest.h"

/* Writes the steps of a tree, one for each node; how many. The tree has at least one node, at
 * most TN_RAGGED_LEAVES leaves and is no DAG; leaves are numbered from its first. A column c
 * is c * column_bytes from the ranks; cuts are ranks, stored less `bias`. */
uint32_t tn__ragged_steps_fill(struct tn_ragged_step *steps,
    const struct tn_forest *forest, const struct tn_tree *tree, const uint16_t *cuts,
    uint32_t column_bytes, int32_t bias);

#endif
