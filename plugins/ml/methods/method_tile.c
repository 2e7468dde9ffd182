/* Scoring by tiles (kernels/tree_tile.h): deep forests, and single rows of any forest. A
 * block of rows goes through one tree after the other, so that a tree's tiles stay in the
 * cache while all rows of the block pass; few rows go one by one, each through all trees at
 * once. At most 64 columns: the ranks of a row are one or two registers. */
#include "methods/methods.h"

#include "kernels/tree_tile.h"
#include "methods/forest_ranks.h"

#include "tenon/helper/diag.h"

#include <stdio.h>
#include <string.h>

enum { FEW_ROWS = 16, HEAP = 2 * TN_TILE_EXITS };

struct tile_model {
    struct tn_forest_ranks ranks;
    tn_tile_fn *step;
    uint32_t row_ranks; /* of a row of ranks: 32 or 64 */
    uint32_t n_outputs_of_leaf;
    struct tn_tile *tiles;
    uint32_t *roots; /* [n_trees] tile */
    void *values;    /* of leaves, in the order of the tiles' */
    uint32_t n_tiles;
};

/* ---- building ------------------------------------------------------------------------- */

/* Nothing is here: below a leaf that is not on a tile's last level. */
enum { NOTHING = TN_LEAF_BIT - 1 };

/* What is at each place of a tile, in heap order from 1; its exits begin at TN_TILE_EXITS. */
static void spread(const struct tn_forest *forest, uint32_t root, uint32_t at[HEAP]) {
    at[1] = root;
    for (uint32_t i = 1; i < TN_TILE_EXITS; i++) {
        const bool node = !(at[i] & TN_LEAF_BIT) && at[i] != NOTHING;
        at[2 * i] = node ? forest->children[at[i]][0] : at[i];
        at[2 * i + 1] = node ? forest->children[at[i]][1] : (uint32_t)NOTHING;
    }
}

struct tiler {
    const struct tn_forest *forest;
    const uint16_t *cuts;
    struct tile_model *model; /* its arrays NULL: only counting */
    uint32_t *roots;          /* [n_nodes + n_trees] what each tile begins with */
    uint32_t n_tiles, n_leaves;
};

static void put_leaf(struct tiler *tiler, uint32_t leaf) {
    const struct tn_forest *forest = tiler->forest;
    const uint64_t n = tiler->model->n_outputs_of_leaf;
    const uint64_t size =
        n * (forest->flags & TN_FOREST_WIDE_SUM ? sizeof(double) : sizeof(float));
    memcpy((char *)tiler->model->values + tiler->n_leaves * size,
        (const char *)forest->leaf_values + leaf * size, size);
    tiler->n_leaves++;
}

static void put_tile(struct tiler *tiler, uint32_t t) {
    const struct tn_forest *forest = tiler->forest;
    struct tn_tile *tile = &tiler->model->tiles[t];
    uint32_t at[HEAP];
    spread(forest, tiler->roots[t], at);
    memset(tile, 0, sizeof *tile);
    tile->first[0] = tiler->n_leaves;
    tile->first[1] = tiler->n_tiles;
    for (uint32_t i = 0; i < TN_TILE_EXITS; i++) {
        const bool node = i > 0 && !(at[i] & TN_LEAF_BIT) && at[i] != NOTHING;
        tile->column[i] = node ? (uint8_t)forest->columns_of[at[i]] : 0;
        tile->cut[i] = node ? (int16_t)((int32_t)tiler->cuts[at[i]] - 32768) : INT16_MAX;
    }
    for (uint32_t e = 0; e < TN_TILE_EXITS; e++) {
        const uint32_t next = at[TN_TILE_EXITS + e];
        if (next == NOTHING) continue;
        const bool on = !(next & TN_LEAF_BIT);
        tile->exits[on] = (uint16_t)(tile->exits[on] | 1u << e);
        if (on)
            tiler->roots[tiler->n_tiles++] = next;
        else
            put_leaf(tiler, next & ~TN_LEAF_BIT);
    }
}

/* Tiles that the forest takes; roots is filled on the way. */
static uint32_t count_tiles(const struct tn_forest *forest, uint32_t *roots) {
    uint32_t n = 0, done = 0, at[HEAP];
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        roots[n++] = forest->trees[t].root;
        for (; done < n; done++) {
            spread(forest, roots[done], at);
            for (uint32_t e = TN_TILE_EXITS; e < HEAP; e++)
                if (!(at[e] & TN_LEAF_BIT) && at[e] != NOTHING) roots[n++] = at[e];
        }
    }
    return n;
}

static tn_status fill_model(struct tile_model *model, const uint16_t *cuts,
    uint32_t *roots, const struct tn_tree_build *build) {
    const struct tn_forest *forest = model->ranks.forest;
    const uint64_t size =
        (uint64_t)model->n_outputs_of_leaf *
        (forest->flags & TN_FOREST_WIDE_SUM ? sizeof(double) : sizeof(float));
    struct tiler tiler = {forest, cuts, model, roots, 0, 0};
    model->n_tiles = count_tiles(forest, roots);
    model->tiles = tn__method_alloc(build->host, model->n_tiles, sizeof *model->tiles);
    model->roots = tn__method_alloc(build->host, forest->n_trees, sizeof *model->roots);
    model->values = tn__method_alloc(build->host, forest->n_leaves, size);
    if (!model->tiles || !model->roots || !model->values)
        return tn_fail(build->diag, TN_OUT_OF_MEMORY,
            "no memory for the %u tiles of a forest", model->n_tiles);
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        uint32_t done = tiler.n_tiles;
        model->roots[t] = done;
        roots[tiler.n_tiles++] = forest->trees[t].root;
        for (; done < tiler.n_tiles; done++)
            put_tile(&tiler, done);
    }
    return TN_OK;
}

static void tile_destroy(void *object, const struct tn_host *host) {
    struct tile_model *model = object;
    if (!model) return;
    tn__forest_ranks_free(&model->ranks, host);
    host->free(host->self, model->tiles);
    host->free(host->self, model->roots);
    host->free(host->self, model->values);
    host->free(host->self, model);
}

static tn_status build_fitting(
    void *object, const struct tn_forest *forest, struct tn_tree_build *build) {
    struct tile_model *model = object;
    const struct tn_host *host = build->host;
    struct tn_tile_kernels kernels;
    uint16_t *cuts;
    TN_TRY(tn__forest_ranks_build(forest, build, TN_RANK_MOST16, &model->ranks, &cuts));
    snprintf(build->reason, sizeof build->reason,
        "%u columns, at most %u thresholds a column%s", forest->n_columns,
        model->ranks.most, cuts ? "" : " or more, too many for ranks of 16 bits");
    if (!cuts) return TN_OK;
    const bool wide = forest->n_columns > TN_TILE_COLUMNS / 2;
    tn_tile_kernels_init(&kernels, tn__forest_isa(build->cpu));
    model->step = kernels.step[wide];
    model->row_ranks = wide ? TN_TILE_COLUMNS : TN_TILE_COLUMNS / 2;
    model->n_outputs_of_leaf = forest->leaf_form == TN_LEAVES_ROW ? forest->n_outputs : 1;
    uint32_t *roots = tn__method_alloc(
        host, (uint64_t)forest->n_nodes + forest->n_trees, sizeof *roots);
    tn_status status = roots
                           ? fill_model(model, cuts, roots, build)
                           : tn_fail(build->diag, TN_OUT_OF_MEMORY,
                                 "no memory to cut %u nodes into tiles", forest->n_nodes);
    host->free(host->self, roots);
    host->free(host->self, cuts);
    if (status == TN_OK) build->model = model;
    return status;
}

static tn_status tile_build(const struct tn_forest *forest, struct tn_tree_build *build) {
    return tn__method_build(
        forest, build, sizeof(struct tile_model), build_fitting, tile_destroy);
}

/* ---- scoring -------------------------------------------------------------------------- */

/* So many rows that passing the forest through the cache once costs each of them little. */
static int64_t tile_block(const void *object, int64_t n_rows) {
    enum { LEAST = 512, MOST = 8192, BYTES_PER_ROW = 4096 };
    const struct tile_model *model = object;
    int64_t rows =
        (int64_t)model->n_tiles * (int64_t)sizeof(struct tn_tile) / BYTES_PER_ROW;
    if (rows < LEAST) rows = LEAST;
    if (rows > MOST) rows = MOST;
    return rows < n_rows ? rows : n_rows > 0 ? n_rows : 1;
}

/* Visits that are under way at once: rows through a tree, or trees for a row. */
static uint64_t visits(const struct tile_model *model, int64_t n_rows) {
    uint64_t n = n_rows < FEW_ROWS ? model->ranks.forest->n_trees : (uint64_t)n_rows;
    return (n + 15) / 16 * 16;
}

static uint64_t tile_scratch(const void *object, int64_t n_rows_of_block) {
    const struct tile_model *model = object;
    /* a last block may be one of few rows */
    const uint64_t few = visits(model, 1), many = visits(model, n_rows_of_block);
    return (uint64_t)n_rows_of_block * model->row_ranks * sizeof(int16_t) +
           3 * (few > many ? few : many) * sizeof(uint32_t) +
           tn__forest_ranks_scratch(&model->ranks);
}

/* What the calls of one block share. */
struct run {
    const struct tile_model *model;
    int16_t *ranks;
    uint32_t *leaf, *slots, *at; /* [visits] */
};

/* Makes n visits, slot i beginning at at[i], until each has its leaf. */
static void walk(const struct run *run, uint64_t n, const int16_t *ranks, size_t step) {
    for (uint64_t i = 0; i < n; i++)
        run->slots[i] = (uint32_t)i;
    while (n > 0)
        n = run->model->step(
            run->leaf, run->slots, run->at, n, run->model->tiles, ranks, step);
}

/* sums[r] += leaf[r]'s values, one or a row of them */
#define ADD(suffix, T)                                                                   \
    static void add_##suffix(const struct tile_model *model, T *sums, uint32_t leaf) {   \
        const uint32_t n = model->n_outputs_of_leaf;                                     \
        const T *value = (const T *)model->values + (uint64_t)leaf * n;                  \
        for (uint32_t o = 0; o < n; o++)                                                 \
            sums[o] += value[o];                                                         \
    }                                                                                    \
    static void add_tree_##suffix(                                                       \
        const struct run *run, T *sums, uint32_t tree, int64_t n) {                      \
        const struct tn_forest *forest = run->model->ranks.forest;                       \
        const uint32_t width = forest->n_outputs;                                        \
        if (run->model->n_outputs_of_leaf == 1) {                                        \
            const T *value = run->model->values;                                         \
            sums += forest->leaf_form == TN_LEAVES_ONE ? forest->trees[tree].target : 0; \
            for (int64_t r = 0; r < n; r++)                                              \
                sums[(uint64_t)r * width] += value[run->leaf[r]];                        \
            return;                                                                      \
        }                                                                                \
        for (int64_t r = 0; r < n; r++)                                                  \
            add_##suffix(run->model, sums + (uint64_t)r * width, run->leaf[r]);          \
    }                                                                                    \
    static void add_row_##suffix(const struct run *run, T *sums) {                       \
        const struct tn_forest *forest = run->model->ranks.forest;                       \
        const bool one = forest->leaf_form == TN_LEAVES_ONE;                             \
        for (uint32_t t = 0; t < forest->n_trees; t++)                                   \
            add_##suffix(                                                                \
                run->model, sums + (one ? forest->trees[t].target : 0), run->leaf[t]);   \
    }
ADD(f32, float)
ADD(f64, double)
#undef ADD

static void score_tree(
    const struct run *run, uint32_t tree, int64_t n, void *sums, bool wide) {
    for (int64_t r = 0; r < n; r++)
        run->at[r] = run->model->roots[tree];
    walk(run, (uint64_t)n, run->ranks, run->model->row_ranks);
    if (wide)
        add_tree_f64(run, sums, tree, n);
    else
        add_tree_f32(run, sums, tree, n);
}

static void score_row(const struct run *run, int64_t row, void *sums, bool wide) {
    const struct tn_forest *forest = run->model->ranks.forest;
    const uint64_t first = (uint64_t)row * forest->n_outputs;
    memcpy(run->at, run->model->roots, forest->n_trees * sizeof *run->at);
    walk(run, forest->n_trees, run->ranks + (uint64_t)row * run->model->row_ranks, 0);
    if (wide)
        add_row_f64(run, (double *)sums + first);
    else
        add_row_f32(run, (float *)sums + first);
}

static void tile_score(const void *object, const struct tn_forest_rows *rows,
    int64_t first, int64_t n, void *sums, void *scratch) {
    const struct tile_model *model = object;
    const struct tn_forest *forest = model->ranks.forest;
    const bool wide = (forest->flags & TN_FOREST_WIDE_SUM) != 0;
    struct run run = {.model = model, .ranks = scratch};
    run.leaf = (uint32_t *)(void *)(run.ranks + (uint64_t)n * model->row_ranks);
    run.slots = run.leaf + visits(model, n);
    run.at = run.slots + visits(model, n);
    tn__forest_ranks_fill(&model->ranks, rows, first, n, TN_RANK_16, run.ranks,
        model->row_ranks, 1, run.at + visits(model, n));
    if (n < FEW_ROWS) {
        for (int64_t r = 0; r < n; r++)
            score_row(&run, r, sums, wide);
        return;
    }
    for (uint32_t t = 0; t < forest->n_trees; t++)
        score_tree(&run, t, n, sums, wide);
}

const struct tn_tree_method tn__tree_tile_avx512 = {.name = "tile/avx512",
    .cpu = TN_CPU_AVX2 | TN_CPU_AVX512,
    .flags_refused = TN_FOREST_DAG | TN_FOREST_SHARED,
    .leaf_forms = 1u << TN_LEAVES_ONE | 1u << TN_LEAVES_ROW,
    .aggregates = 1u << TN_AGGREGATE_SUM,
    .most_columns = TN_TILE_COLUMNS,
    .build = tile_build,
    .destroy = tile_destroy,
    .block = tile_block,
    .scratch = tile_scratch,
    .score = tile_score};
