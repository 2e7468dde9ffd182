/* Scoring by slices: batches, trees of at most 8 levels (kernels/tree_slice.h) or at most 256
 * leaves (kernels/tree_ragged.h). Rows are ranked a block at a time, column after column;
 * every tree then compares all of its nodes for a vector of rows at once. 8-bit ranks where no column has more than 255 thresholds,
 * as histogram-trained boosters have, else 16. */
#include "methods/methods.h"

#include "kernels/tree_slice.h"
#include "methods/forest_ranks.h"
#include "methods/perfect_tree.h"
#include "methods/ragged_steps.h"

#include "tenon/helper/diag.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK_ROWS = 512, LEAST_VALUES = 16, MOST_OUTPUTS = 4096 };

struct slice_tree {
    struct tn_slice_nodes nodes;
    const struct tn_ragged_step *steps; /* of a ragged tree, else NULL */
    uint32_t n_steps;
    uint32_t
        levels; /* there is room for 2^levels values: for nodes.depth of a perfect tree */
    uint64_t
        values; /* element of the first output's values; the next ones follow, each at
                        the start of a cache line */
    uint32_t target;
};

struct slice_model {
    struct tn_forest_ranks ranks;
    struct tn_slice_kernels kernels;
    tn_slice_fn *descend;
    tn_ragged_fn *run;
    enum tn_rank_width width;
    uint32_t n_planes; /* outputs that a leaf adds to: 1, or all */
    struct slice_tree *trees;
    uint32_t *columns;
    void *cuts, *values;
    struct tn_ragged_step *steps;
};

/* ---- building ------------------------------------------------------------------------- */

static uint32_t depth_of(const struct tn_tree *tree) {
    return tree->depth > 0 ? tree->depth : 1; /* a leaf alone: a question that all pass */
}

/* Padding a tree to a perfect one pays until three nodes in four are padding: a step of a
 * ragged tree takes as long as three or four nodes. */
static bool is_ragged(const struct tn_forest *forest, const struct tn_tree *tree) {
    const uint32_t refused = TN_FOREST_DAG | TN_FOREST_SHARED | TN_FOREST_OBLIVIOUS;
    return !(forest->flags & refused) && tree->n_leaves <= TN_RAGGED_LEAVES &&
           tree->depth > 0 &&
           (tree->depth > TN_SLICE_DEPTH || (tree->n_nodes + 1) * 4 <= 1u << tree->depth);
}

/* Levels of the perfect tree whose leaves have room for the values. */
static uint32_t levels_of(const struct tn_forest *forest, const struct tn_tree *tree) {
    uint32_t levels = 1;
    if (!is_ragged(forest, tree)) return depth_of(tree);
    while (1u << levels < tree->n_leaves)
        levels++;
    return levels;
}

/* Values of one output of a tree, in whole cache lines. */
static uint64_t plane_size(uint32_t levels) {
    const uint64_t values = UINT64_C(1) << levels;
    return values > LEAST_VALUES ? values : LEAST_VALUES;
}

static void put_cut(struct slice_model *model, uint64_t i, uint32_t rank, bool all_left) {
    if (model->width == TN_RANK_8)
        ((int8_t *)model->cuts)[i] = (int8_t)(all_left ? INT8_MAX : (int32_t)rank - 128);
    else
        ((int16_t *)model->cuts)[i] =
            (int16_t)(all_left ? INT16_MAX : (int32_t)rank - 32768);
}

/* Writes the nodes of a tree from the element `first` on; how many. */
static uint32_t put_nodes(struct slice_model *model, const uint16_t *cuts,
    const struct tn_tree *tree, const uint32_t *at, uint64_t first) {
    const struct tn_forest *forest = model->ranks.forest;
    const bool oblivious = (forest->flags & TN_FOREST_OBLIVIOUS) != 0;
    const uint32_t depth = depth_of(tree), n = oblivious ? depth : 1u << depth;
    for (uint32_t i = 0; i < n; i++) {
        /* an oblivious tree is known by its left edge; index 0 of a perfect one is unused */
        const uint32_t node = oblivious ? at[1u << i] : i > 0 ? at[i] : TN_LEAF_BIT;
        const bool leaf = (node & TN_LEAF_BIT) != 0;
        const uint32_t column = leaf ? 0 : forest->columns_of[node];
        model->columns[first + i] = (uint32_t)(column * BLOCK_ROWS * (model->width + 1u));
        put_cut(model, first + i, leaf ? 0 : cuts[node], leaf);
    }
    return n;
}

/* The values of the tree's leaves, leaf_of[i] the one with number i. */
static void put_values(struct slice_model *model, const struct slice_tree *tree,
    const uint32_t *leaf_of, uint32_t n_leaves) {
    const struct tn_forest *forest = model->ranks.forest;
    const bool wide = (forest->flags & TN_FOREST_WIDE_SUM) != 0;
    uint64_t to = tree->values;
    for (uint32_t plane = 0; plane < model->n_planes; plane++) {
        for (uint32_t i = 0; i < n_leaves; i++) {
            const uint64_t from =
                (uint64_t)(leaf_of[i] & ~TN_LEAF_BIT) * model->n_planes + plane;
            if (wide)
                ((double *)model->values)[to + i] =
                    ((const double *)forest->leaf_values)[from];
            else
                ((float *)model->values)[to + i] =
                    ((const float *)forest->leaf_values)[from];
        }
        to += plane_size(tree->levels);
    }
}

/* How far the model's arrays are filled. */
struct fill {
    uint64_t nodes, steps, values;
};

static void put_ragged(struct slice_model *model, const uint16_t *cuts,
    const struct tn_tree *tree, struct slice_tree *out, const struct fill *at) {
    const bool narrow = model->width == TN_RANK_8;
    uint32_t leaf_of[TN_RAGGED_LEAVES];
    for (uint32_t i = 0; i < tree->n_leaves; i++)
        leaf_of[i] = tree->first_leaf + i;
    out->steps = model->steps + at->steps;
    out->n_steps = tn__ragged_steps_fill(model->steps + at->steps, model->ranks.forest,
        tree, cuts, BLOCK_ROWS * (model->width + 1u), narrow ? 128 : 32768);
    put_values(model, out, leaf_of, tree->n_leaves);
}

static void put_perfect(struct slice_model *model, const uint16_t *cuts,
    const struct tn_tree *tree, struct slice_tree *out, struct fill *fill) {
    uint32_t at[TN_PERFECT_PLACES];
    tn__perfect_tree(model->ranks.forest, tree->root, depth_of(tree), at);
    out->nodes = (struct tn_slice_nodes){model->columns + fill->nodes,
        (const char *)model->cuts + fill->nodes * (model->width + 1u), depth_of(tree)};
    put_values(model, out, at + (1u << depth_of(tree)), 1u << depth_of(tree));
    fill->nodes += put_nodes(model, cuts, tree, at, fill->nodes);
}

static void put_trees(struct slice_model *model, const uint16_t *cuts) {
    const struct tn_forest *forest = model->ranks.forest;
    struct fill fill = {0, 0, 0};
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        const struct tn_tree *tree = &forest->trees[t];
        struct slice_tree *out = &model->trees[t];
        *out = (struct slice_tree){.levels = levels_of(forest, tree),
            .values = fill.values,
            .target = forest->leaf_form == TN_LEAVES_ONE ? tree->target : 0};
        if (is_ragged(forest, tree)) {
            put_ragged(model, cuts, tree, out, &fill);
            fill.steps += out->n_steps;
        } else {
            put_perfect(model, cuts, tree, out, &fill);
        }
        fill.values += model->n_planes * plane_size(out->levels);
    }
}

static tn_status fill_model(
    struct slice_model *model, const uint16_t *cuts, const struct tn_tree_build *build) {
    const struct tn_forest *forest = model->ranks.forest;
    struct fill all = {0, 0, 0};
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        const struct tn_tree *tree = &forest->trees[t];
        const bool ragged = is_ragged(forest, tree);
        all.steps += ragged ? tree->n_nodes : 0;
        all.nodes += ragged ? 0 : UINT64_C(1) << depth_of(tree);
        all.values += model->n_planes * plane_size(levels_of(forest, tree));
    }
    model->trees = tn__method_alloc(build->host, forest->n_trees, sizeof *model->trees);
    model->columns = tn__method_alloc(build->host, all.nodes, sizeof *model->columns);
    model->cuts = tn__method_alloc(build->host, all.nodes, model->width + 1u);
    model->steps = tn__method_alloc(build->host, all.steps, sizeof *model->steps);
    model->values = tn__method_alloc(build->host, all.values,
        forest->flags & TN_FOREST_WIDE_SUM ? sizeof(double) : sizeof(float));
    if (!model->trees || !model->columns || !model->cuts || !model->steps ||
        !model->values)
        return tn_fail(build->diag, TN_OUT_OF_MEMORY,
            "no memory for the %u trees of a forest", forest->n_trees);
    put_trees(model, cuts);
    return TN_OK;
}

static void slice_destroy(void *object, const struct tn_host *host) {
    struct slice_model *model = object;
    if (!model) return;
    tn__forest_ranks_free(&model->ranks, host);
    host->free(host->self, model->trees);
    host->free(host->self, model->columns);
    host->free(host->self, model->cuts);
    host->free(host->self, model->steps);
    host->free(host->self, model->values);
    host->free(host->self, model);
}

/* Whether every tree is shallow or small. */
static bool all_fit(const struct tn_forest *forest, struct tn_tree_build *build) {
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        const struct tn_tree *tree = &forest->trees[t];
        if (tree->depth <= TN_SLICE_DEPTH || is_ragged(forest, tree)) continue;
        snprintf(build->reason, sizeof build->reason,
            "tree %u has depth %u and %u leaves", t, tree->depth, tree->n_leaves);
        return false;
    }
    return true;
}

static tn_status build_fitting(
    void *object, const struct tn_forest *forest, struct tn_tree_build *build) {
    struct slice_model *model = object;
    const struct tn_host *host = build->host;
    const bool oblivious = (forest->flags & TN_FOREST_OBLIVIOUS) != 0;
    struct tn_ragged_kernels ragged;
    uint16_t *cuts;
    if (forest->n_outputs > MOST_OUTPUTS) { /* each has a plane of sums */
        snprintf(build->reason, sizeof build->reason, "%u outputs", forest->n_outputs);
        return TN_OK;
    }
    if (!all_fit(forest, build)) return TN_OK;
    TN_TRY(tn__forest_ranks_build(forest, build, TN_RANK_MOST16, &model->ranks, &cuts));
    const uint32_t most = model->ranks.most;
    snprintf(build->reason, sizeof build->reason,
        "%sdepth %u, at most %u thresholds a column%s", oblivious ? "oblivious, " : "",
        forest->depth, most, cuts ? "" : " or more, too many for ranks of 16 bits");
    if (!cuts) return TN_OK;
    model->width = most <= TN_RANK_MOST8 ? TN_RANK_8 : TN_RANK_16;
    model->n_planes = forest->leaf_form == TN_LEAVES_ROW ? forest->n_outputs : 1;
    tn_slice_kernels_init(&model->kernels, tn__forest_isa(build->cpu));
    tn_ragged_kernels_init(&ragged, tn__forest_isa(build->cpu));
    model->run = ragged.run[model->width];
    model->descend = oblivious ? model->kernels.oblivious[model->width]
                               : model->kernels.perfect[model->width];
    tn_status status = fill_model(model, cuts, build);
    host->free(host->self, cuts);
    if (status == TN_OK) build->model = model;
    return status;
}

static tn_status slice_build(
    const struct tn_forest *forest, struct tn_tree_build *build) {
    return tn__method_build(
        forest, build, sizeof(struct slice_model), build_fitting, slice_destroy);
}

/* ---- scoring -------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t n, uint64_t unit) {
    return (n + unit - 1) / unit * unit;
}

static int64_t slice_block(const void *object, int64_t n_rows) {
    (void)object;
    (void)n_rows;
    return BLOCK_ROWS;
}

static uint64_t sum_size(const struct slice_model *model) {
    return model->ranks.forest->flags & TN_FOREST_WIDE_SUM ? sizeof(double)
                                                           : sizeof(float);
}

/* Scratch: the ranks, each output's sums, slots of leaf numbers, and what ranking needs. */
static uint64_t ranks_bytes(const struct slice_model *model) {
    return (uint64_t)model->ranks.forest->n_columns * BLOCK_ROWS * (model->width + 1u);
}

static uint64_t sums_bytes(const struct slice_model *model) {
    return (uint64_t)model->ranks.forest->n_outputs * BLOCK_ROWS * sum_size(model);
}

static uint64_t slice_scratch(const void *object, int64_t n_rows_of_block) {
    const struct slice_model *model = object;
    (void)n_rows_of_block;
    return ranks_bytes(model) + sums_bytes(model) + TN_RAGGED_SLOTS * BLOCK_ROWS +
           tn__forest_ranks_scratch(&model->ranks);
}

/* From rows of outputs to outputs of rows, or back. */
#define TURN(suffix, T)                                                                  \
    static void turn_in_##suffix(T *planes, const T *rows, int64_t n, uint32_t width) {  \
        for (int64_t r = 0; r < n; r++)                                                  \
            for (uint32_t o = 0; o < width; o++)                                         \
                planes[o * (uint64_t)BLOCK_ROWS + (uint64_t)r] = rows[r * width + o];    \
    }                                                                                    \
    static void turn_out_##suffix(T *rows, const T *planes, int64_t n, uint32_t width) { \
        for (int64_t r = 0; r < n; r++)                                                  \
            for (uint32_t o = 0; o < width; o++)                                         \
                rows[r * width + o] = planes[o * (uint64_t)BLOCK_ROWS + (uint64_t)r];    \
    }
TURN(f32, float)
TURN(f64, double)
#undef TURN

static void add_leaves(const struct slice_model *model, const struct slice_tree *tree,
    void *sums, const uint8_t *leaf, uint64_t n) {
    const bool wide = sum_size(model) == sizeof(double);
    const uint32_t levels = tree->levels;
    for (uint32_t plane = 0; plane < model->n_planes; plane++) {
        const uint64_t to = (tree->target + plane) * (uint64_t)BLOCK_ROWS;
        const uint64_t from = tree->values + plane * plane_size(levels);
        if (wide)
            model->kernels.add_f64((double *)sums + to,
                (const double *)model->values + from, leaf, n, levels);
        else
            model->kernels.add_f32(
                (float *)sums + to, (const float *)model->values + from, leaf, n, levels);
    }
}

static void score_block(const struct slice_model *model,
    const struct tn_forest_rows *rows, int64_t first, int64_t n, void *sums,
    char *scratch) {
    const struct tn_forest *forest = model->ranks.forest;
    const uint64_t padded = round_up((uint64_t)n, TN_SLICE_GRAIN);
    const bool wide = sum_size(model) == sizeof(double);
    char *ranks = scratch, *planes = ranks + ranks_bytes(model);
    uint8_t *slots = (uint8_t *)(planes + sums_bytes(model));
    const uint8_t *leaf = slots + TN_RAGGED_RESULT * padded;
    tn__forest_ranks_fill(&model->ranks, rows, first, n, model->width, ranks, 1,
        BLOCK_ROWS, slots + TN_RAGGED_SLOTS * BLOCK_ROWS);
    if (wide)
        turn_in_f64((double *)(void *)planes, sums, n, forest->n_outputs);
    else
        turn_in_f32((float *)(void *)planes, sums, n, forest->n_outputs);
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        const struct slice_tree *tree = &model->trees[t];
        if (tree->steps)
            model->run(slots, ranks, tree->steps, tree->n_steps, padded);
        else
            model->descend(
                slots + TN_RAGGED_RESULT * padded, ranks, &tree->nodes, padded);
        add_leaves(model, tree, planes, leaf, padded);
    }
    if (wide)
        turn_out_f64(sums, (const double *)(void *)planes, n, forest->n_outputs);
    else
        turn_out_f32(sums, (const float *)(void *)planes, n, forest->n_outputs);
}

static void slice_score(const void *object, const struct tn_forest_rows *rows,
    int64_t first, int64_t n, void *sums, void *scratch) {
    const struct slice_model *model = object;
    const uint64_t row_size = model->ranks.forest->n_outputs * sum_size(model);
    for (int64_t r = 0; r < n; r += BLOCK_ROWS)
        score_block(model, rows, first + r, n - r < BLOCK_ROWS ? n - r : BLOCK_ROWS,
            (char *)sums + (uint64_t)r * row_size, scratch);
}

/* Below 16 rows a vector of them is mostly empty. */
#define SLICE_METHOD(isa, bits)                                                          \
    const struct tn_tree_method tn__tree_slice_##isa = {.name = "bitslice/" #isa,        \
        .cpu = (bits),                                                                   \
        .leaf_forms = 1u << TN_LEAVES_ONE | 1u << TN_LEAVES_ROW,                         \
        .aggregates = 1u << TN_AGGREGATE_SUM,                                            \
        .least_rows = 16,                                                                \
        .build = slice_build,                                                            \
        .destroy = slice_destroy,                                                        \
        .block = slice_block,                                                            \
        .scratch = slice_scratch,                                                        \
        .score = slice_score}
SLICE_METHOD(avx512, TN_CPU_AVX2 | TN_CPU_AVX512);
SLICE_METHOD(avx2, TN_CPU_AVX2);
SLICE_METHOD(neon, TN_CPU_NEON);
