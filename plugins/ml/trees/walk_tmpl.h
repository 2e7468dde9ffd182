/* The two loops of the walk for one kind of node. The includer defines
 *   NAME(x)       names of this kind
 *   NODE          the node's struct
 *   X             type of a column's value
 *   COLUMN(n), CHILD(n), LEAF(n)   of a node; LEAF of a leaf
 * and this file undefines them. */

/* One level: where each lane goes next. */
static inline void NAME(step)(const NODE *nodes, const X *x, uint32_t at[TN_WALK_LANES]) {
    for (uint32_t k = 0; k < TN_WALK_LANES; k++) {
        const NODE node = nodes[at[k]];
        at[k] = CHILD(node) + (x[COLUMN(node) * TN_WALK_LANES + k] > node.threshold);
    }
}

static void NAME(rows)(const void *memory, uint32_t depth, const void *values,
    uint32_t leaves[TN_WALK_LANES]) {
    const NODE *nodes = memory;
    const X *x = values;
    uint32_t at[TN_WALK_LANES] = {0};
    while (depth > 2 * TN_WALK_CHECK) {
        uint32_t before[TN_WALK_LANES], moved = 0;
        for (uint32_t level = 1; level < TN_WALK_CHECK; level++)
            NAME(step)(nodes, x, at);
        memcpy(before, at, sizeof before);
        NAME(step)(nodes, x, at);
        for (uint32_t k = 0; k < TN_WALK_LANES; k++)
            moved |= before[k] ^ at[k];
        depth = moved ? depth - TN_WALK_CHECK : 0; /* only leaves stay */
    }
    for (; depth; depth--)
        NAME(step)(nodes, x, at);
    for (uint32_t k = 0; k < TN_WALK_LANES; k++)
        leaves[k] = LEAF(nodes[at[k]]);
}

/* Eight trees of like depth. */
static inline void NAME(trees)(const struct tn_walk_model *model, const uint32_t *order,
    uint32_t n, const X *x, uint32_t *leaves) {
    const NODE *nodes[TN_WALK_LANES];
    uint32_t at[TN_WALK_LANES] = {0}, depth = 0;
    for (uint32_t k = 0; k < TN_WALK_LANES; k++) {
        const struct tn_walk_tree *tree = &model->trees[order[k < n ? k : 0]];
        nodes[k] = (const NODE *)model->nodes + tree->base;
        if (tree->depth > depth) depth = tree->depth;
    }
    while (depth) {
        uint32_t levels = depth < TN_WALK_CHECK ? depth : TN_WALK_CHECK, moved = 0;
        for (uint32_t level = 0; level < levels; level++) {
            moved = 0;
            for (uint32_t k = 0; k < TN_WALK_LANES; k++) {
                const NODE node = nodes[k][at[k]];
                uint32_t next = CHILD(node) + (x[COLUMN(node)] > node.threshold);
                moved |= next ^ at[k];
                at[k] = next;
            }
        }
        depth = moved ? depth - levels : 0;
    }
    for (uint32_t k = 0; k < n; k++)
        leaves[order[k]] = LEAF(nodes[k][at[k]]);
}

static void NAME(row)(
    const struct tn_walk_model *model, const void *x, uint32_t *leaves) {
    uint32_t n = model->forest->n_trees;
    for (uint32_t t = 0; t < n; t += TN_WALK_LANES)
        NAME(trees)
    (model, model->order + t, n - t < TN_WALK_LANES ? n - t : TN_WALK_LANES, x, leaves);
}

#undef NAME
#undef NODE
#undef X
#undef COLUMN
#undef CHILD
#undef LEAF
