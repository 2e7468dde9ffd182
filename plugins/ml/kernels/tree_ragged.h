/* Trees of any shape with at most 256 leaves over blocks of rows, by ranks (tree_rank.h): what
 * leaf-wise growth makes. Every node is compared for every row, as in tree_slice.h, and
 * picks, bottom up, one of two leaf numbers: a step for each node, in an order in which
 * few intermediate results wait. */
#ifndef TENON_ML_TREE_RAGGED_H
#define TENON_ML_TREE_RAGGED_H

#include "tenon/isa.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TN_RAGGED_LEAVES = 256, /* most leaves of a tree */
    TN_RAGGED_SLOTS = 10,   /* slots that such a tree needs at most */
    TN_RAGGED_GRAIN = 64,   /* rows come in multiples of this */
    TN_RAGGED_RESULT = 1,   /* the slot of the last step's result */
};

/* slot[to] = rank > cut ? slot[from[1]] | leaf[1] : slot[from[0]] | leaf[0]. Slot 0 is all
 * zeros, so that a side is a leaf (from 0) or an earlier result (leaf 0). */
struct tn_ragged_step {
    uint32_t column; /* byte offset from `ranks`, a multiple of 64 */
    int16_t cut;     /* biased like the ranks */
    uint8_t from[2], leaf[2], to;
};

/* Slot i is the n bytes from slots + i * n on, aligned to 64 bytes; n is a multiple of
 * TN_RAGGED_GRAIN. [any thread] */
typedef void tn_ragged_fn(uint8_t *slots, const void *ranks,
    const struct tn_ragged_step *steps, size_t n_steps, size_t n);

struct tn_ragged_kernels {
    tn_ragged_fn *run[2]; /* ranks of 8 and of 16 bits */
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_ragged_kernels_init(struct tn_ragged_kernels *kernels, enum tn_isa isa);

#endif
