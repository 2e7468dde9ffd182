/* The walk as a method: packs the nodes, scores blocks of rows. See walk.h. */
#include "trees/walk.h"

#include "trees/tree_method.h"
#include "trees/tree_sum.h"

#include "tenon/helper/diag.h"

#include <string.h>

enum {
    TOP_LEVELS = 6,     /* laid out level by level: all rows pass them */
    DEEP_BLOCK = 2048,  /* rows for which a large tree stays in the cache */
    SHALLOW_BLOCK = 512 /* rows whose columns stay in the cache beside small trees */
};

/* ---- packing -------------------------------------------------------------------------- */

/* Where the children of each node of one tree stand. */
struct placing {
    const struct tn_forest *forest;
    const struct tn_tree *tree;
    uint32_t *place;   /* [most nodes of a tree] of the left child; 0: not yet */
    uint32_t *waiting; /* [2 × most nodes of a tree + 2] */
    uint32_t next;
};

static uint32_t *place_of(const struct placing *p, uint32_t node) {
    return &p->place[node - p->tree->first_node];
}

/* Gives the node's children their places; false when they had some. */
static bool place(struct placing *p, uint32_t node) {
    if (*place_of(p, node)) return false;
    *place_of(p, node) = p->next;
    p->next += 2;
    return true;
}

/* Depth first, left first: what follows a left answer is near. */
static void place_below(struct placing *p, uint32_t *stack, uint32_t node) {
    uint32_t n = 0;
    stack[n++] = node;
    while (n) {
        node = stack[--n];
        if (!place(p, node)) continue;
        for (uint32_t side = 2; side-- > 0;) {
            uint32_t child = p->forest->children[node][side];
            if (!(child & TN_LEAF_BIT) && !*place_of(p, child)) stack[n++] = child;
        }
    }
}

/* The top levels in breadth, then what hangs on them in depth. Place 0 is the root's, 1 is
 * left free so that pairs are aligned. */
static void place_tree(struct placing *p) {
    uint32_t n = 0, done = 0, level_end = 1;
    memset(p->place, 0, p->tree->n_nodes * sizeof *p->place);
    p->next = 2;
    if (p->tree->depth == 0) return;
    p->waiting[n++] = p->tree->root;
    for (uint32_t level = 0; level < TOP_LEVELS; level++) {
        for (; done < level_end; done++) {
            uint32_t node = p->waiting[done];
            if (!place(p, node)) continue;
            for (uint32_t side = 0; side < 2; side++) {
                uint32_t child = p->forest->children[node][side];
                if (!(child & TN_LEAF_BIT) && !*place_of(p, child))
                    p->waiting[n++] = child;
            }
        }
        level_end = n;
    }
    for (; done < level_end; done++)
        place_below(p, p->waiting + level_end, p->waiting[done]);
}

/* Writes a node or leaf at its place of the tree. */
static void write_node(const struct tn_walk_model *model, const struct placing *p,
    void *nodes, uint32_t ref, uint32_t at) {
    const struct tn_forest *forest = p->forest;
    bool leaf = (ref & TN_LEAF_BIT) != 0;
    uint32_t number = leaf ? (ref & ~TN_LEAF_BIT) - p->tree->first_leaf : 0;
    uint32_t column = leaf ? 0 : forest->columns_of[ref];
    uint32_t child = leaf ? at : *place_of(p, ref);
    if (model->kind == TN_WALK_SMALL) {
        struct tn_walk_small *node = (struct tn_walk_small *)nodes + at;
        uint32_t nan = UINT32_C(0x7fc00000) | number;
        memcpy(&node->threshold,
            leaf ? (const void *)&nan : &((const float *)forest->thresholds)[ref], 4);
        node->link = column << TN_WALK_LINK_BITS | child;
        return;
    }
    struct tn_walk_large *node = (struct tn_walk_large *)nodes + at;
    uint64_t nan = UINT64_C(0x7ff8000000000000) | number;
    if (leaf)
        memcpy(&node->threshold, &nan, 8);
    else if (forest->flags & TN_FOREST_WIDE)
        node->threshold = ((const double *)forest->thresholds)[ref];
    else
        node->threshold = (double)((const float *)forest->thresholds)[ref];
    node->column = column;
    node->child = child;
}

static void write_tree(
    const struct tn_walk_model *model, const struct placing *p, void *nodes) {
    write_node(model, p, nodes, p->tree->root, 0);
    write_node(model, p, nodes, p->tree->root, 1); /* never reached */
    for (uint32_t i = 0; i < p->tree->n_nodes; i++) {
        uint32_t node = p->tree->first_node + i;
        for (uint32_t side = 0; p->place[i] && side < 2; side++)
            write_node(
                model, p, nodes, p->forest->children[node][side], p->place[i] + side);
    }
}

static uint64_t node_size(const struct tn_walk_model *model) {
    return model->kind == TN_WALK_SMALL ? sizeof(struct tn_walk_small)
                                        : sizeof(struct tn_walk_large);
}

static tn_status pack(
    struct tn_walk_model *model, uint32_t most_nodes, const struct tn_tree_build *build) {
    const struct tn_forest *forest = model->forest;
    const struct tn_host *host = build->host;
    struct placing p = {.forest = forest};
    model->nodes =
        host->alloc(host->self, model->n_nodes * node_size(model), 64, "trees");
    p.place = host->alloc(host->self, (uint64_t)most_nodes * 4, 0, "trees");
    p.waiting = host->alloc(host->self, ((uint64_t)most_nodes * 4 + 4) * 4, 0, "trees");
    bool room = model->nodes && p.place && p.waiting;
    for (uint32_t t = 0; room && t < forest->n_trees; t++) {
        p.tree = &forest->trees[t];
        place_tree(&p);
        write_tree(
            model, &p, (char *)model->nodes + model->trees[t].base * node_size(model));
    }
    host->free(host->self, p.place);
    host->free(host->self, p.waiting);
    return room ? TN_OK : TN_OUT_OF_MEMORY;
}

/* ---- the model ------------------------------------------------------------------------ */

static void destroy_walk(void *object, const struct tn_host *host) {
    struct tn_walk_model *model = object;
    if (!model) return;
    host->free(host->self, model->nodes);
    host->free(host->self, model->trees);
    host->free(host->self, model->order);
    host->free(host->self, model);
}

/* Trees by depth, the deepest first; of equal depth in their order: a counting sort. */
static tn_status order_trees(struct tn_walk_model *model, const struct tn_host *host) {
    const struct tn_forest *forest = model->forest;
    uint64_t n = (uint64_t)forest->depth + 2;
    uint32_t *begin = host->alloc(host->self, n * sizeof *begin, 0, "trees");
    if (!begin) return TN_OUT_OF_MEMORY;
    memset(begin, 0, n * sizeof *begin);
    for (uint32_t t = 0; t < forest->n_trees; t++)
        begin[forest->depth - forest->trees[t].depth + 1]++;
    for (uint64_t i = 1; i < n; i++)
        begin[i] += begin[i - 1];
    for (uint32_t t = 0; t < forest->n_trees; t++)
        model->order[begin[forest->depth - forest->trees[t].depth]++] = t;
    host->free(host->self, begin);
    return TN_OK;
}

/* Whether the links of 8-byte nodes hold the forest's places, leaves and columns. */
static bool is_small(const struct tn_forest *forest) {
    const uint32_t most = UINT32_C(1) << TN_WALK_LINK_BITS;
    bool small = forest->n_columns <= UINT32_C(1) << TN_WALK_COLUMN_BITS;
    for (uint32_t t = 0; small && t < forest->n_trees; t++)
        small =
            forest->trees[t].n_nodes < most / 2 - 1 && forest->trees[t].n_leaves <= most;
    return small;
}

static tn_status measure(
    struct tn_walk_model *model, const struct tn_host *host, uint32_t *out_most_nodes) {
    const struct tn_forest *forest = model->forest;
    model->trees =
        host->alloc(host->self, forest->n_trees * sizeof *model->trees, 0, "trees");
    model->order =
        host->alloc(host->self, forest->n_trees * sizeof *model->order, 0, "trees");
    if (!model->trees || !model->order) return TN_OUT_OF_MEMORY;
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        const struct tn_tree *tree = &forest->trees[t];
        model->trees[t] = (struct tn_walk_tree){
            model->n_nodes, tree->depth, tree->first_leaf, tree->target};
        model->n_nodes += 2 + 2 * (uint64_t)tree->n_nodes;
        model->steps += tree->depth;
        if (tree->n_nodes > *out_most_nodes) *out_most_nodes = tree->n_nodes;
    }
    return order_trees(model, host);
}

static tn_status build_walk(const struct tn_forest *forest, struct tn_tree_build *build) {
    const struct tn_host *host = build->host;
    struct tn_walk_model *model = host->alloc(host->self, sizeof *model, 0, "trees");
    uint32_t most_nodes = 0;
    if (!model) return tn_fail(build->diag, TN_OUT_OF_MEMORY, "no memory for trees");
    memset(model, 0, sizeof *model);
    model->forest = forest;
    model->kind = forest->flags & TN_FOREST_WIDE ? TN_WALK_DOUBLE
                  : is_small(forest)             ? TN_WALK_SMALL
                                                 : TN_WALK_LARGE;
    tn_status status = measure(model, host, &most_nodes);
    if (status == TN_OK && forest->n_columns > 64 + 4 * model->steps) {
        snprintf(build->reason, sizeof build->reason,
            "%u columns are more work than %llu steps", forest->n_columns,
            (unsigned long long)model->steps);
        destroy_walk(model, host);
        return TN_OK;
    }
    if (status == TN_OK) status = pack(model, most_nodes, build);
    if (status != TN_OK) {
        destroy_walk(model, host);
        return tn_fail(
            build->diag, status, "no memory for %u tree nodes", forest->n_nodes);
    }
    snprintf(build->reason, sizeof build->reason,
        "%u trees of depth up to %u, %u columns, %u-byte nodes, %.1f MB", forest->n_trees,
        forest->depth, forest->n_columns, (unsigned)node_size(model),
        (double)(model->n_nodes * node_size(model)) / 1e6);
    build->model = model;
    return TN_OK;
}

/* ---- scoring -------------------------------------------------------------------------- */

static size_t value_size(const struct tn_walk_model *model) {
    return model->kind == TN_WALK_DOUBLE ? sizeof(double) : sizeof(float);
}

/* Values of the columns of one row; leaves read column 0, so there is one always. */
static uint64_t row_bytes(const struct tn_walk_model *model) {
    uint64_t n = model->forest->n_columns ? model->forest->n_columns : 1;
    return n * value_size(model);
}

static int64_t block_walk(const void *object, int64_t n_rows) {
    const struct tn_walk_model *model = object;
    int64_t most = model->n_nodes * node_size(model) / (model->forest->n_trees + 1) > 8192
                       ? DEEP_BLOCK
                       : SHALLOW_BLOCK;
    while (most > 64 && (uint64_t)most * row_bytes(model) > 1 << 20)
        most /= 2;
    return n_rows < most ? n_rows : most;
}

/* Columns of the rows, a group of eight after the other; for fewer rows, the leaves of one
 * row as well. */
static uint64_t scratch_walk(const void *object, int64_t n) {
    const struct tn_walk_model *model = object;
    uint64_t rows = ((uint64_t)n + TN_WALK_LANES - 1) / TN_WALK_LANES * TN_WALK_LANES;
    uint64_t columns = (rows * row_bytes(model) + 63) / 64 * 64;
    return columns + (uint64_t)model->forest->n_trees * sizeof(uint32_t);
}

static void score_row(const struct tn_walk_model *model,
    const struct tn_forest_rows *rows, int64_t row, void *sums, int64_t r,
    void *scratch) {
    const struct tn_forest *forest = model->forest;
    uint32_t *leaves = (uint32_t *)((char *)scratch + (row_bytes(model) + 63) / 64 * 64);
    memset(scratch, 0, value_size(model));
    tn__forest_fill(forest, rows, row, 1, scratch, forest->n_columns, 1);
    tn__walk_kernels[model->kind].row(model, scratch, leaves);
    for (uint32_t t = 0; t < forest->n_trees; t++)
        tn__leaf_add(forest, model->trees[t].target,
            model->trees[t].first_leaf + leaves[t], sums, r);
}

/* Tree after tree, each over all groups of rows. */
static void score_groups(
    const struct tn_walk_model *model, int64_t n, const char *columns, void *sums) {
    const struct tn_forest *forest = model->forest;
    uint64_t step = TN_WALK_LANES * row_bytes(model);
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        const struct tn_walk_tree *tree = &model->trees[t];
        const void *nodes = (const char *)model->nodes + tree->base * node_size(model);
        const char *x = columns;
        for (int64_t r = 0; r < n; r += TN_WALK_LANES, x += step) {
            uint32_t leaves[TN_WALK_LANES];
            int64_t lanes = n - r < TN_WALK_LANES ? n - r : TN_WALK_LANES;
            tn__walk_kernels[model->kind].rows(nodes, tree->depth, x, leaves);
            for (int64_t k = 0; k < lanes; k++)
                tn__leaf_add(
                    forest, tree->target, tree->first_leaf + leaves[k], sums, r + k);
        }
    }
}

static void score_walk(const void *object, const struct tn_forest_rows *rows,
    int64_t first, int64_t n, void *sums, void *scratch) {
    const struct tn_walk_model *model = object;
    uint64_t step = TN_WALK_LANES * row_bytes(model);
    if (n < TN_WALK_LANES) {
        for (int64_t r = 0; r < n; r++)
            score_row(model, rows, first + r, sums, r, scratch);
        return;
    }
    for (int64_t r = 0; r < n; r += TN_WALK_LANES) {
        char *x = (char *)scratch + (uint64_t)(r / TN_WALK_LANES) * step;
        int64_t lanes = n - r < TN_WALK_LANES ? n - r : TN_WALK_LANES;
        if (lanes < TN_WALK_LANES || model->forest->n_columns == 0) memset(x, 0, step);
        tn__forest_fill(model->forest, rows, first + r, lanes, x, 1, TN_WALK_LANES);
    }
    score_groups(model, n, scratch, sums);
}

const struct tn_tree_method tn__tree_walk = {
    .name = "walk",
    .flags_refused = TN_FOREST_SHARED,
    .leaf_forms = 1u << TN_LEAVES_ONE | 1u << TN_LEAVES_ROW | 1u << TN_LEAVES_LIST,
    .aggregates = 1u << TN_AGGREGATE_SUM,
    .build = build_walk,
    .destroy = destroy_walk,
    .block = block_walk,
    .scratch = scratch_walk,
    .score = score_walk,
};
