/* Scoring row by row (kernels/tree_row.h): small batches of forests of at most 6 levels and
 * 64 columns. */
#include "methods/methods.h"

#include "kernels/tree_row.h"
#include "methods/forest_ranks.h"
#include "methods/perfect_tree.h"

#include "tenon/helper/diag.h"

#include <stdio.h>
#include <string.h>

struct row_model {
    struct tn_forest_ranks ranks;
    tn_row_fn *descend;
    uint32_t row_ranks;         /* of a row of ranks: 32 or 64 */
    uint32_t n_outputs_of_leaf; /* 1, or all */
    uint8_t *columns;           /* [n_trees][TN_ROW_NODES] */
    int16_t *cuts;              /* likewise */
    void *values;               /* [n_trees][TN_ROW_NODES][n_outputs_of_leaf] */
};

static size_t value_size(const struct tn_forest *forest) {
    return forest->flags & TN_FOREST_WIDE_SUM ? sizeof(double) : sizeof(float);
}

/* ---- building ------------------------------------------------------------------------- */

static void put_tree(struct row_model *model, uint32_t t, const uint16_t *cuts) {
    const struct tn_forest *forest = model->ranks.forest;
    const uint64_t first = (uint64_t)t * TN_ROW_NODES;
    const size_t size = value_size(forest) * model->n_outputs_of_leaf;
    uint32_t at[TN_PERFECT_PLACES];
    tn__perfect_tree(forest, forest->trees[t].root, TN_ROW_LEVELS, at);
    for (uint32_t i = 0; i < TN_ROW_NODES; i++) {
        const bool node = i > 0 && !(at[i] & TN_LEAF_BIT);
        model->columns[first + i] = node ? (uint8_t)forest->columns_of[at[i]] : 0;
        model->cuts[first + i] =
            node ? (int16_t)((int32_t)cuts[at[i]] - 32768) : INT16_MAX;
        memcpy((char *)model->values + (first + i) * size,
            (const char *)forest->leaf_values +
                (at[TN_ROW_NODES + i] & ~TN_LEAF_BIT) * size,
            size);
    }
}

static tn_status fill_model(
    struct row_model *model, const uint16_t *cuts, const struct tn_tree_build *build) {
    const struct tn_forest *forest = model->ranks.forest;
    const uint64_t n = (uint64_t)forest->n_trees * TN_ROW_NODES;
    model->columns = tn__method_alloc(build->host, n, sizeof *model->columns);
    model->cuts = tn__method_alloc(build->host, n, sizeof *model->cuts);
    model->values =
        tn__method_alloc(build->host, n, value_size(forest) * model->n_outputs_of_leaf);
    if (!model->columns || !model->cuts || !model->values)
        return tn_fail(build->diag, TN_OUT_OF_MEMORY,
            "no memory for the %u trees of a forest", forest->n_trees);
    for (uint32_t t = 0; t < forest->n_trees; t++)
        put_tree(model, t, cuts);
    return TN_OK;
}

static void row_destroy(void *object, const struct tn_host *host) {
    struct row_model *model = object;
    if (!model) return;
    tn__forest_ranks_free(&model->ranks, host);
    host->free(host->self, model->columns);
    host->free(host->self, model->cuts);
    host->free(host->self, model->values);
    host->free(host->self, model);
}

static tn_status build_fitting(
    void *object, const struct tn_forest *forest, struct tn_tree_build *build) {
    struct row_model *model = object;
    const bool wide = forest->n_columns > TN_ROW_COLUMNS / 2;
    struct tn_row_kernels kernels;
    uint16_t *cuts;
    TN_TRY(tn__forest_ranks_build(forest, build, TN_RANK_MOST16, &model->ranks, &cuts));
    snprintf(build->reason, sizeof build->reason,
        "depth %u, %u columns, at most %u thresholds a column%s", forest->depth,
        forest->n_columns, model->ranks.most,
        cuts ? "" : " or more, too many for ranks of 16 bits");
    if (!cuts) return TN_OK;
    tn_row_kernels_init(&kernels, tn__forest_isa(build->cpu));
    model->descend = kernels.descend[wide];
    model->row_ranks = wide ? TN_ROW_COLUMNS : TN_ROW_COLUMNS / 2;
    model->n_outputs_of_leaf = forest->leaf_form == TN_LEAVES_ROW ? forest->n_outputs : 1;
    tn_status status = fill_model(model, cuts, build);
    build->host->free(build->host->self, cuts);
    if (status == TN_OK) build->model = model;
    return status;
}

static tn_status row_build(const struct tn_forest *forest, struct tn_tree_build *build) {
    return tn__method_build(
        forest, build, sizeof(struct row_model), build_fitting, row_destroy);
}

/* ---- scoring -------------------------------------------------------------------------- */

static int64_t row_block(const void *object, int64_t n_rows) {
    enum { MOST = 64 };
    (void)object;
    return n_rows < MOST ? n_rows : MOST;
}

static uint64_t leaf_bytes(const struct row_model *model) {
    return ((uint64_t)model->ranks.forest->n_trees + 63) / 64 * 64;
}

static uint64_t row_scratch(const void *object, int64_t n_rows_of_block) {
    const struct row_model *model = object;
    return (uint64_t)n_rows_of_block * model->row_ranks * sizeof(int16_t) +
           leaf_bytes(model) + tn__forest_ranks_scratch(&model->ranks);
}

/* Adds the leaves that a row reached, tree after tree. */
#define ADD(suffix, T)                                                                   \
    static void add_##suffix(                                                            \
        const struct row_model *model, T *sums, const uint8_t *leaf) {                   \
        const struct tn_forest *forest = model->ranks.forest;                            \
        const uint32_t n = model->n_outputs_of_leaf;                                     \
        const bool one = forest->leaf_form == TN_LEAVES_ONE;                             \
        const T *value = model->values;                                                  \
        if (forest->n_outputs == 1) {                                                    \
            T sum = sums[0];                                                             \
            for (uint32_t t = 0; t < forest->n_trees; t++)                               \
                sum += value[(uint64_t)t * TN_ROW_NODES + leaf[t]];                      \
            sums[0] = sum;                                                               \
            return;                                                                      \
        }                                                                                \
        for (uint32_t t = 0; t < forest->n_trees; t++) {                                 \
            T *to = sums + (one ? forest->trees[t].target : 0);                          \
            const T *from = value + ((uint64_t)t * TN_ROW_NODES + leaf[t]) * n;          \
            for (uint32_t o = 0; o < n; o++)                                             \
                to[o] += from[o];                                                        \
        }                                                                                \
    }
ADD(f32, float)
ADD(f64, double)
#undef ADD

static void row_score(const void *object, const struct tn_forest_rows *rows,
    int64_t first, int64_t n, void *sums, void *scratch) {
    const struct row_model *model = object;
    const struct tn_forest *forest = model->ranks.forest;
    int16_t *ranks = scratch;
    uint8_t *leaf = (uint8_t *)(ranks + (uint64_t)n * model->row_ranks);
    tn__forest_ranks_fill(&model->ranks, rows, first, n, TN_RANK_16, ranks,
        model->row_ranks, 1, leaf + leaf_bytes(model));
    for (int64_t r = 0; r < n; r++) {
        const uint64_t to = (uint64_t)r * forest->n_outputs;
        model->descend(leaf, ranks + (uint64_t)r * model->row_ranks, model->columns,
            model->cuts, forest->n_trees);
        if (forest->flags & TN_FOREST_WIDE_SUM)
            add_f64(model, (double *)sums + to, leaf);
        else
            add_f32(model, (float *)sums + to, leaf);
    }
}

const struct tn_tree_method tn__tree_row_avx512 = {.name = "row/avx512",
    .cpu = TN_CPU_AVX2 | TN_CPU_AVX512,
    .leaf_forms = 1u << TN_LEAVES_ONE | 1u << TN_LEAVES_ROW,
    .aggregates = 1u << TN_AGGREGATE_SUM,
    .most_depth = TN_ROW_LEVELS,
    .most_columns = TN_ROW_COLUMNS,
    .build = row_build,
    .destroy = row_destroy,
    .block = row_block,
    .scratch = row_scratch,
    .score = row_score};
