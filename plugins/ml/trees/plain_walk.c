/* The plain walk: one row, one tree, one question at a time, columns worked out as they are
 * asked for. It serves every forest: trees that share nodes, sets without number, minima and
 * maxima. */
#include "trees/forest_column.h"
#include "trees/tree_method.h"
#include "trees/tree_sum.h"

#include "tenon/helper/diag.h"

enum { BLOCK = 256 };

static tn_status build_plain(
    const struct tn_forest *forest, struct tn_tree_build *build) {
    build->model = (void *)(uintptr_t)forest; /* which outlives it */
    build->keeps_nodes = true;
    snprintf(build->reason, sizeof build->reason, "%u trees, depth up to %u, %u columns",
        forest->n_trees, forest->depth, forest->n_columns);
    return TN_OK;
}

static void destroy_plain(void *model, const struct tn_host *host) {
    (void)model;
    (void)host;
}

static int64_t block_plain(const void *model, int64_t n_rows) {
    (void)model;
    return n_rows < BLOCK ? n_rows : BLOCK;
}

/* Best leaf of each target so far, and whether there is one. */
static uint64_t scratch_plain(const void *model, int64_t n) {
    const struct tn_forest *forest = model;
    (void)n;
    return forest->aggregate == TN_AGGREGATE_SUM ? 0 : (uint64_t)forest->n_outputs * 16;
}

static uint32_t find_leaf(const struct tn_forest *forest,
    const struct tn_forest_rows *rows, int64_t row, uint32_t ref) {
    while (!(ref & TN_LEAF_BIT)) {
        const struct tn_column *column = &forest->columns[forest->columns_of[ref]];
        bool nan;
        double value = tn__column_value(forest, column, rows->data, rows->dtype,
            row * rows->n_features + column->feature, &nan);
        double threshold = forest->flags & TN_FOREST_WIDE
                               ? ((const double *)forest->thresholds)[ref]
                               : (double)((const float *)forest->thresholds)[ref];
        ref = forest->children[ref][value > threshold];
    }
    return ref & ~TN_LEAF_BIT;
}

static double vote_value(const struct tn_forest *forest, uint32_t v) {
    return forest->flags & TN_FOREST_WIDE_SUM
               ? ((const double *)forest->leaf_values)[v]
               : (double)((const float *)forest->leaf_values)[v];
}

/* Takes a leaf's votes into the row's minima or maxima; a NaN is never better. */
static void keep_best(
    const struct tn_forest *forest, uint32_t leaf, double *best, uint8_t *seen) {
    for (uint32_t v = forest->votes_begin[leaf]; v < forest->votes_begin[leaf + 1]; v++) {
        uint32_t target = forest->vote_targets[v];
        double value = vote_value(forest, v);
        bool better = forest->aggregate == TN_AGGREGATE_MIN ? value < best[target]
                                                            : value > best[target];
        if (better || !seen[target]) best[target] = value;
        seen[target] = 1;
    }
}

static void score_best(const struct tn_forest *forest, const struct tn_forest_rows *rows,
    int64_t row, void *sums, int64_t r, void *scratch) {
    double *best = scratch;
    uint8_t *seen = (uint8_t *)(best + forest->n_outputs);
    memset(seen, 0, forest->n_outputs);
    for (uint32_t t = 0; t < forest->n_trees; t++)
        keep_best(
            forest, find_leaf(forest, rows, row, forest->trees[t].root), best, seen);
    for (uint32_t k = 0; k < forest->n_outputs; k++) {
        size_t at = (size_t)r * forest->n_outputs + k;
        if (!seen[k]) continue;
        if (forest->flags & TN_FOREST_WIDE_SUM)
            ((double *)sums)[at] += best[k];
        else
            ((float *)sums)[at] += (float)best[k];
    }
}

static void score_plain(const void *model, const struct tn_forest_rows *rows,
    int64_t first, int64_t n, void *sums, void *scratch) {
    const struct tn_forest *forest = model;
    for (int64_t r = 0; r < n; r++) {
        if (forest->aggregate != TN_AGGREGATE_SUM) {
            score_best(forest, rows, first + r, sums, r, scratch);
            continue;
        }
        for (uint32_t t = 0; t < forest->n_trees; t++) {
            const struct tn_tree *tree = &forest->trees[t];
            uint32_t leaf = find_leaf(forest, rows, first + r, tree->root);
            tn__leaf_add(forest, tree->target, leaf, sums, r);
        }
    }
}

const struct tn_tree_method tn__tree_plain_walk = {
    .name = "plain walk",
    .leaf_forms = 1u << TN_LEAVES_ONE | 1u << TN_LEAVES_ROW | 1u << TN_LEAVES_LIST,
    .aggregates =
        1u << TN_AGGREGATE_SUM | 1u << TN_AGGREGATE_MIN | 1u << TN_AGGREGATE_MAX,
    .build = build_plain,
    .destroy = destroy_plain,
    .block = block_plain,
    .scratch = scratch_plain,
    .score = score_plain,
};
