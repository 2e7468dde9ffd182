/* Tiles, the reference: all nodes of a tile, one by one. */
#include "tree_tile.h"

void tn__tile_init_c(struct tn_tile_kernels *kernels);

static uint32_t right(const struct tn_tile *tile, const int16_t *row) {
    uint32_t bits = 0;
    for (uint32_t i = 1; i < TN_TILE_EXITS; i++)
        bits |= (uint32_t)(row[tile->column[i]] > tile->cut[i]) << i;
    return bits;
}

#define STEP step_any
#define RIGHT(tile, row) right(tile, row)
#define COUNT(mask, exit) (uint32_t) __builtin_popcount((mask) & ((1u << (exit)) - 1))
#include "tree_tile_tmpl.h"

void tn__tile_init_c(struct tn_tile_kernels *kernels) {
    *kernels = (struct tn_tile_kernels){{step_any, step_any}};
}
