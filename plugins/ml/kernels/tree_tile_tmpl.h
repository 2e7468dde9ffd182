/* The step through tiles. Wants STEP, the function's name; RIGHT(tile, row): a mask with bit
 * i set when the row goes right at node i; COUNT(mask, exit): bits of the mask below exit.
 * Leaves and tiles are told apart by an index, not a branch. */
static size_t STEP(uint32_t *leaf, uint32_t *slots, uint32_t *at, size_t n,
    const struct tn_tile *tiles, const int16_t *ranks, size_t step) {
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t slot = slots[i];
        const struct tn_tile *tile = &tiles[at[i]];
        const uint32_t bits = RIGHT(tile, ranks + slot * step);
        uint32_t node = 2 + (bits >> 1 & 1);
        for (int level = 1; level < TN_TILE_LEVELS; level++)
            node = 2 * node + (bits >> node & 1);
        const uint32_t exit = node - TN_TILE_EXITS, on = tile->exits[1] >> exit & 1;
        const uint32_t link = tile->first[on] + COUNT(tile->exits[on], exit);
        leaf[slot] = link;
        slots[next] = slot;
        at[next] = link;
        next += on;
    }
    return next;
}

#undef STEP
#undef RIGHT
#undef COUNT
