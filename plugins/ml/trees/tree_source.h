/* A tree ensemble as its attributes tell it, checked and in one shape for all versions:
 * what the compiler reads. Between tree_attrs_*.c, which fill it, and tree_compile.c. */
#ifndef TENON_ML_TREE_SOURCE_H
#define TENON_ML_TREE_SOURCE_H

#include "trees/blocks.h"
#include "trees/forest.h"

/* Numbers of TreeEnsemble's nodes_modes; LEAF is the older operators' own. */
enum tn_tree_mode {
    TN_MODE_LEQ = 0,
    TN_MODE_LT = 1,
    TN_MODE_GTE = 2,
    TN_MODE_GT = 3,
    TN_MODE_EQ = 4,
    TN_MODE_NEQ = 5,
    TN_MODE_MEMBER = 6,
    TN_MODE_LEAF = 7
};

/* A list of floats or doubles (or of float16). */
struct tn_reals {
    const void *data;
    int32_t dtype; /* TN_FLOAT, TN_DOUBLE, TN_FLOAT16 */
    uint64_t n;
};

/* Most features that trees may ask about: a row of them is 16 MB. */
#define TN_TREE_FEATURES (INT32_C(1) << 22)

struct tn_tree_source {
    struct tn_blocks blocks; /* what was allocated for it */
    uint32_t n_nodes;
    const uint8_t *modes;    /* [n_nodes] TN_MODE_*; nothing else is read of a LEAF */
    const int64_t *nan_true; /* [n_nodes] missing_value_tracks_true, NULL: none */
    const int64_t *features; /* [n_nodes] 0 … TN_TREE_FEATURES - 1 */
    uint32_t (*children)[2]; /* [n_nodes] where the answer yes leads, and no: a node, or a
                                  leaf with TN_LEAF_BIT */
    struct tn_reals thresholds; /* [n_nodes] */
    /* MEMBER: node i's members are [member_begin[i], member_begin[i + 1]) of members. NULL
     * without such nodes. */
    const uint32_t *member_begin;
    struct tn_reals members;

    uint32_t n_roots;
    const uint32_t *roots; /* [n_roots] nodes or leaves, in the order of summation */

    /* The votes of leaf i are vote_of[k] for k in [votes_begin[i], votes_begin[i + 1]), in the
     * order of the file. A NULL vote_of: k itself; a NULL votes_begin: vote i alone. Vote v
     * adds element v of weights to vote_targets[v]. */
    uint32_t n_leaves;
    bool leaves_are_nodes; /* leaf i is node i, whose mode is LEAF */
    const uint32_t *votes_begin;
    const uint32_t *vote_of;
    const int64_t *vote_targets; /* 0 … n_targets - 1 */
    struct tn_reals weights;
    uint32_t n_targets;

    /* How messages name node i: treeids[i] and nodeids[i], or i itself when NULL. */
    const int64_t *treeids, *nodeids;
};

static inline void tn__tree_source_free(struct tn_tree_source *source) {
    tn__blocks_free(&source->blocks);
}

/* Element i as a double, exactly. */
double tn__reals_get(const struct tn_reals *reals, uint64_t i);

#endif
