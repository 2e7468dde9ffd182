/* The walk: from the root to a leaf without a branch. A leaf leads to itself, so a tree takes
 * as many steps as it is deep whatever the row; eight trees of one row, or eight rows of one
 * tree, walk at once and hide each other's waits.
 *
 * A model's nodes are packed, 8 or 16 bytes each; a node's children stand side by side, so
 * that a step is one compare and one addition. */
#ifndef TENON_ML_WALK_H
#define TENON_ML_WALK_H

#include "trees/forest.h"

enum {
    TN_WALK_LANES = 8,
    TN_WALK_LINK_BITS = 22, /* of a packed node: where its children stand in the tree … */
    TN_WALK_COLUMN_BITS = 10, /* … and its column */
    TN_WALK_CHECK = 4 /* levels between the tests that end a deep tree's walk early */
};

/* A leaf's threshold is a NaN whose payload is its number in the tree: no value is above it. */
struct tn_walk_small {
    float threshold;
    uint32_t link; /* column << 22 | place of the left child; a leaf's is its own */
};
struct tn_walk_large {
    double threshold;
    uint32_t column;
    uint32_t child;
};

struct tn_walk_tree {
    uint64_t base; /* of its nodes */
    uint32_t depth;
    uint32_t first_leaf;
    uint32_t target;
};

struct tn_walk_model {
    const struct tn_forest *forest;
    uint32_t kind; /* TN_WALK_* */
    void *nodes;
    struct tn_walk_tree *trees;
    uint32_t *order;         /* trees by depth: how one row's are grouped */
    uint64_t n_nodes, steps; /* steps: depths of all trees */
};

enum {
    TN_WALK_SMALL = 0, /* tn_walk_small, float columns */
    TN_WALK_LARGE = 1, /* tn_walk_large, float columns */
    TN_WALK_DOUBLE = 2 /* tn_walk_large, double columns */
};

/* Leaves, relative to their trees' first, that the rows of a group reach in one tree.
 * x: [columns][8 rows]. */
typedef void (*tn_walk_rows_fn)(
    const void *nodes, uint32_t depth, const void *x, uint32_t leaves[TN_WALK_LANES]);
/* Leaves that one row reaches in every tree: leaves[tree], relative. x: [columns]. */
typedef void (*tn_walk_row_fn)(
    const struct tn_walk_model *model, const void *x, uint32_t *leaves);

struct tn_walk_kernels {
    tn_walk_rows_fn rows;
    tn_walk_row_fn row;
};
extern const struct tn_walk_kernels tn__walk_kernels[3]; /* by TN_WALK_* */

#endif
