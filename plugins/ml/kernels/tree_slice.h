/* Trees over blocks of rows, by ranks (tree_rank.h). Every node is compared for every row, one
 * vector of rows at a time; no data decides where the code goes or what it reads: nothing is
 * gathered, nothing mispredicts.
 *
 * A tree of at most 8 levels is padded to a perfect one: 2^depth - 1 nodes in heap order from
 * index 1 (index 0 is unused), each a column of ranks and a cut. A row goes right when its
 * rank is greater than the cut, so a node that only pads has the cut 127 or 32767 and
 * everything goes left; the children of node i are 2i and 2i + 1. The comparisons are folded
 * into the bits of the leaf's number.
 *
 * In an oblivious tree all nodes of a level are one: it has `depth` nodes, from index 0. */
#ifndef TENON_ML_TREE_SLICE_H
#define TENON_ML_TREE_SLICE_H

#include "tenon/isa.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TN_SLICE_DEPTH = 8,   /* most levels */
    TN_SLICE_GRAIN = 128, /* rows come in multiples of this */
};

struct tn_slice_nodes {
    const uint32_t *column; /* byte offset of the node's column from `ranks` */
    const void *cut;        /* biased like the ranks: int8_t or int16_t */
    uint32_t depth;         /* 1 .. TN_SLICE_DEPTH */
};

/* leaf[r] = number of the leaf (from 0, left to right) that row r reaches. Columns start at
 * multiples of 64 bytes; n is a multiple of TN_SLICE_GRAIN. [any thread] */
typedef void tn_slice_fn(
    uint8_t *leaf, const void *ranks, const struct tn_slice_nodes *nodes, size_t n);

/* sum[r] += value[leaf[r]] for r < n, a multiple of TN_SLICE_GRAIN; there are 2^depth
 * values. Memory of value, sum and leaf starts at multiples of 64 bytes. [any thread] */
typedef void tn_slice_add_f32_fn(
    float *sum, const float *value, const uint8_t *leaf, size_t n, uint32_t depth);
typedef void tn_slice_add_f64_fn(
    double *sum, const double *value, const uint8_t *leaf, size_t n, uint32_t depth);

struct tn_slice_kernels {
    tn_slice_fn *perfect[2], *oblivious[2]; /* ranks of 8 and of 16 bits */
    tn_slice_add_f32_fn *add_f32;
    tn_slice_add_f64_fn *add_f64;
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_slice_kernels_init(struct tn_slice_kernels *kernels, enum tn_isa isa);

#endif
