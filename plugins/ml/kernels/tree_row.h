/* Trees of at most 6 levels for one row at a time, by ranks of 16 bits (tree_rank.h): all 63
 * nodes of a tree are compared at once, and no step waits for the one before. What a single
 * row wants, for which tree_slice.h would fill a vector of rows.
 *
 * A tree is padded to a perfect one of 6 levels, in heap order from index 1; see tree_slice.h
 * for cuts that pad. */
#ifndef TENON_ML_TREE_ROW_H
#define TENON_ML_TREE_ROW_H

#include "tenon/isa.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TN_ROW_LEVELS = 6,
    TN_ROW_NODES = 64,   /* of a tree, the unused one included; leaves too */
    TN_ROW_COLUMNS = 64, /* most columns; a row of ranks has 32 or 64 */
};

/* leaf[t] = number of the leaf of tree t that the row reaches, for t < n. Node i of tree t has
 * column[t * TN_ROW_NODES + i] and cut likewise. The row, columns and cuts start at multiples
 * of 64 bytes. [any thread] */
typedef void tn_row_fn(uint8_t *leaf, const int16_t *row, const uint8_t *column,
    const int16_t *cut, size_t n);

struct tn_row_kernels {
    tn_row_fn *descend[2]; /* rows of 32 and of 64 columns */
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_row_kernels_init(struct tn_row_kernels *kernels, enum tn_isa isa);

#endif
