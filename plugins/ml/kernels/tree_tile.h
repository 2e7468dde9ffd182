/* Trees of any depth, four levels at a step, by ranks of 16 bits (tree_rank.h).
 *
 * A tree is cut into tiles: perfect subtrees of 4 levels, each one cache line. All 15 nodes
 * of a tile are compared at once - the row's ranks are a register, a permutation brings
 * every node its own - and the bits lead to one of 16 exits, which is another tile or a
 * leaf. So a row meets a quarter of the dependent loads of a walk node by node. The walk is
 * driven by a list of visits that are all independent: nothing mispredicts, and as many are
 * in flight as the processor holds. */
#ifndef TENON_ML_TREE_TILE_H
#define TENON_ML_TREE_TILE_H

#include "tenon/isa.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TN_TILE_LEVELS = 4,
    TN_TILE_EXITS = 16,
    TN_TILE_COLUMNS = 64, /* most columns; a row of ranks has 32 or 64 */
};

/* Nodes are in heap order from index 1: a row goes right when its rank is greater than the
 * cut. A node that only pads (below a leaf of a higher level) has the cut 32767, so that
 * everything goes left. Exits are numbered left to right. Those of the mask exits[1] lead, in
 * order, to the tiles from first[1] on, those of exits[0] to the leaves from first[0] on;
 * exits that nothing reaches are in neither. 64 bytes, aligned. */
struct tn_tile {
    uint8_t column[TN_TILE_EXITS];
    int16_t cut[TN_TILE_EXITS];
    uint16_t exits[2];
    uint32_t first[2];
    uint32_t unused;
};

/* One step of n visits, the row slots[i] at the tile at[i]. leaf[slot] becomes the row's
 * leaf where it reaches one (and anything where it does not yet); the others' next visits
 * are written over the first ones, in order. Returns how many there are. Row s lies at
 * ranks + s * step, step counting elements: 0 = one row for all slots. Rows start at
 * multiples of 64 bytes. [any thread] */
typedef size_t tn_tile_fn(uint32_t *leaf, uint32_t *slots, uint32_t *at, size_t n,
    const struct tn_tile *tiles, const int16_t *ranks, size_t step);

struct tn_tile_kernels {
    tn_tile_fn *step[2]; /* rows of 32 and of 64 columns */
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_tile_kernels_init(struct tn_tile_kernels *kernels, enum tn_isa isa);

#endif
