/* The order of a tree's steps: of two subtrees the one that needs more slots comes first, so
 * that a tree of n leaves needs no more than log2 n (as registers are given to an expression). */
#include "methods/ragged_steps.h"

#include <stdbool.h>

enum { MOST_NODES = TN_RAGGED_LEAVES - 1 };

struct visit {
    uint32_t node;
    uint8_t slot, children_done;
};

struct order {
    const struct tn_forest *forest;
    uint32_t first_node;
    uint8_t slots[MOST_NODES]; /* that each node's subtree needs; a leaf needs none */
};

static uint8_t slots_of(const struct order *order, uint32_t node) {
    return node & TN_LEAF_BIT ? 0 : order->slots[node - order->first_node];
}

/* Which child of a node comes first. */
static int first_side(const struct order *order, uint32_t node) {
    const uint32_t *children = order->forest->children[node];
    return slots_of(order, children[1]) > slots_of(order, children[0]);
}

static void count_slots(struct order *order, const struct tn_tree *tree) {
    for (uint32_t i = tree->n_nodes; i-- > 0;) { /* children come after their parents */
        const uint32_t node = tree->first_node + i,
                       *children = order->forest->children[node];
        const int first = first_side(order, node);
        const uint8_t most = slots_of(order, children[first]);
        const uint8_t least = slots_of(order, children[!first]);
        order->slots[i] = (uint8_t)(most > least ? most : most + 1);
    }
}

/* The step of a node whose subtrees are done: the first one's result is in its own slot, the
 * second one's in the next. */
static struct tn_ragged_step step_of(
    const struct order *order, const struct tn_tree *tree, const struct visit *visit) {
    const uint32_t *children = order->forest->children[visit->node];
    const int first = first_side(order, visit->node);
    struct tn_ragged_step step = {.to = visit->slot};
    for (int side = 0; side < 2; side++) {
        const bool leaf = (children[side] & TN_LEAF_BIT) != 0;
        if (leaf)
            step.leaf[side] =
                (uint8_t)((children[side] & ~TN_LEAF_BIT) - tree->first_leaf);
        else
            step.from[side] = (uint8_t)(visit->slot + (side != first));
    }
    return step;
}

uint32_t tn__ragged_steps_fill(struct tn_ragged_step *steps,
    const struct tn_forest *forest, const struct tn_tree *tree, const uint16_t *cuts,
    uint32_t column_bytes, int32_t bias) {
    struct order order = {.forest = forest, .first_node = tree->first_node};
    struct visit path[MOST_NODES];
    uint32_t n_steps = 0, n = 0;
    count_slots(&order, tree);
    path[n++] = (struct visit){tree->root, TN_RAGGED_RESULT, 0};
    while (n > 0) {
        struct visit *visit = &path[n - 1];
        if (visit->children_done == 2) {
            struct tn_ragged_step step = step_of(&order, tree, visit);
            step.column = forest->columns_of[visit->node] * column_bytes;
            step.cut = (int16_t)((int32_t)cuts[visit->node] - bias);
            steps[n_steps++] = step;
            n--;
            continue;
        }
        const bool second = visit->children_done++ == 1;
        const int side = first_side(&order, visit->node) ^ second;
        const uint32_t child = forest->children[visit->node][side];
        if (!(child & TN_LEAF_BIT))
            path[n++] = (struct visit){child, (uint8_t)(visit->slot + second), 0};
    }
    return n_steps;
}
