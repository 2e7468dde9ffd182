/* The tree kernels: ranks against their definition, sliced and tiled descents and the sums
 * of their leaves against trees that the test walks itself, in tree order. */
#include "test_kernel.h"
#include "tree_ragged.h"
#include "tree_rank.h"
#include "tree_row.h"
#include "tree_slice.h"
#include "tree_tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranks ---------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `count` distinct sorted thresholds, representable as floats, extremes among them. */
static double *thresholds(struct kernel_run *run, uint32_t count) {
    double *sorted = kernel_doubles(run, count);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = (float)((double)(i + 1) * 0.25 - count * 0.1);
    if (count > 4) {
        sorted[0] = -INFINITY;
        sorted[1] = -3e38;
        sorted[2] = (float)-1e-44 - (double)count;
        sorted[count - 1] = INFINITY;
    }
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    return sorted;
}

/* The i-th of the values to rank: on a threshold, a step beside it, anywhere, special. */
static double rank_value(
    struct kernel_run *run, const double *sorted, uint32_t count, size_t i) {
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-45, 3.4e38};
    const double at = count ? sorted[kernel_random(run) % count] : 1.0;
    switch (i % 5) {
    case 0: return at;
    case 1: return (double)nextafterf((float)at, INFINITY);
    case 2: return (double)nextafterf((float)at, -INFINITY);
    case 3: return special[kernel_random(run) % 7];
    default: return (double)kernel_random_f32(run, -2.0f, 2.0f) * (count + 1);
    }
}

static void check_rank(struct kernel_run *run, const struct tn_rank_kernels *kernels,
    enum tn_rank_type type, enum tn_rank_width width, uint32_t count, bool nan_right) {
    enum { N = 133, SRC_STEP = 3, DST_STEP = 2 };
    kernel_case(
        run, "ranks of type %d, width %d among %u thresholds", type, width, count);
    const size_t size = type == TN_RANK_F32 ? sizeof(float) : sizeof(double);
    const double *sorted = thresholds(run, count);
    float *narrow = kernel_output(run, count);
    void *table_memory = kernel_memory(run, tn_rank_table_size(count) * size, 64);
    void *src = kernel_memory(run, ((N - 1) * SRC_STEP + 1) * size, size);
    unsigned char *dst =
        kernel_memory(run, (N - 1) * DST_STEP * (width + 1u) + width + 1u, width + 1u);
    struct tn_rank_table table;
    for (uint32_t i = 0; i < count; i++)
        narrow[i] = (float)sorted[i];
    if (type == TN_RANK_F32)
        tn_rank_table_fill_f32(&table, table_memory, narrow, count);
    else
        tn_rank_table_fill_f64(&table, table_memory, sorted, count);
    for (size_t i = 0; i < N; i++) {
        double x = rank_value(run, sorted, count, i);
        if (type == TN_RANK_F32)
            ((float *)src)[i * SRC_STEP] = (float)x;
        else
            ((double *)src)[i * SRC_STEP] = x;
    }
    kernels->rank[type][width](dst, DST_STEP, src, SRC_STEP, N, &table, nan_right);
    bool right = true, kept = true;
    for (size_t i = 0; i < N; i++) {
        double x = type == TN_RANK_F32 ? (double)((float *)src)[i * SRC_STEP]
                                       : ((double *)src)[i * SRC_STEP];
        int32_t want = 0, got;
        for (uint32_t k = 0; k < count; k++)
            want += sorted[k] < x || (isnan(x) && nan_right);
        if (width == TN_RANK_8) {
            got = ((int8_t *)dst)[i * DST_STEP] + 128;
            kept = kept && (i + 1 == N || dst[i * DST_STEP + 1] == 0xA5);
        } else {
            got = ((int16_t *)(void *)dst)[i * DST_STEP] + 32768;
        }
        right = right && got == want;
    }
    kernel_check(run, right, "a rank is wrong");
    kernel_check(run, kept, "wrote between the ranks");
}

void test_tree_rank(struct kernel_run *run) {
    static const uint32_t counts[] = {
        0, 1, 2, 15, 16, 17, 31, 100, 239, 240, 254, 255, 256, 1000, 4095, 4096, 65535};
    struct tn_rank_kernels kernels;
    tn_rank_kernels_init(&kernels, run->isa);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (int width = 0; width < TN_RANK_WIDTHS; width++) {
            if (width == TN_RANK_8 && counts[c] > TN_RANK_MOST8) continue;
            for (int type = 0; type < TN_RANK_TYPES; type++)
                check_rank(run, &kernels, (enum tn_rank_type)type,
                    (enum tn_rank_width)width, counts[c], (c + (size_t)type) & 1);
        }
    }
}

/* ---- slices --------------------------------------------------------------------------- */

static int32_t random_rank(struct kernel_run *run, uint32_t width) {
    const int32_t top = width == 0 ? 128 : 32768;
    const uint32_t dice = kernel_random(run) % 8;
    if (dice == 0) return -top;
    if (dice == 1) return top - 1;
    return (int32_t)(kernel_random(run) % (2 * (uint32_t)top)) - top;
}

static void put(void *array, uint32_t width, size_t i, int32_t value) {
    if (width == 0)
        ((int8_t *)array)[i] = (int8_t)value;
    else
        ((int16_t *)array)[i] = (int16_t)value;
}

static int32_t get(const void *array, uint32_t width, size_t i) {
    return width == 0 ? ((const int8_t *)array)[i] : ((const int16_t *)array)[i];
}

static uint32_t walk_down(const struct tn_slice_nodes *nodes, const void *ranks,
    uint32_t width, size_t row, bool oblivious) {
    uint32_t at = oblivious ? 0 : 1;
    for (uint32_t level = 0; level < nodes->depth; level++) {
        uint32_t node = oblivious ? level : at;
        const char *column = (const char *)ranks + nodes->column[node];
        at = 2 * at + (get(column, width, row) > get(nodes->cut, width, node));
    }
    return oblivious ? at : at - (1u << nodes->depth);
}

static void check_sums(struct kernel_run *run, const struct tn_slice_kernels *kernels,
    const uint8_t *leaf, size_t n, uint32_t depth) {
    const size_t leaves = (size_t)1 << depth;
    float *value = kernel_memory(run, leaves * sizeof(float), 64);
    float *sum = kernel_memory(run, n * sizeof(float), 64);
    float *want = kernel_memory(run, n * sizeof(float), 64);
    double *wide = kernel_memory(run, leaves * sizeof(double), 64);
    double *wide_sum = kernel_memory(run, n * sizeof(double), 64);
    double *wide_want = kernel_memory(run, n * sizeof(double), 64);
    for (size_t i = 0; i < leaves; i++) {
        value[i] = kernel_random_f32(run, -3.0f, 3.0f);
        wide[i] = (double)value[i] / 3.0;
    }
    for (size_t r = 0; r < n; r++) {
        sum[r] = kernel_random_f32(run, -1.0f, 1.0f);
        wide_sum[r] = (double)sum[r] / 7.0;
        want[r] = sum[r] + value[leaf[r]];
        wide_want[r] = wide_sum[r] + wide[leaf[r]];
    }
    kernels->add_f32(sum, value, leaf, n, depth);
    kernels->add_f64(wide_sum, wide, leaf, n, depth);
    kernel_check_same(run, sum, want, n * sizeof(float));
    kernel_check_same(run, wide_sum, wide_want, n * sizeof(double));
}

static void check_slice(struct kernel_run *run, const struct tn_slice_kernels *kernels,
    uint32_t depth, uint32_t width, size_t n, bool oblivious) {
    enum { COLUMNS = 5 };
    kernel_case(run, "%s tree of depth %u, %u-bit ranks, %zu rows",
        oblivious ? "oblivious" : "perfect", depth, 8 * (width + 1), n);
    const size_t size = width + 1, n_nodes = (size_t)1 << depth;
    void *ranks = kernel_memory(run, COLUMNS * n * size, 64);
    uint32_t *column = kernel_memory(run, n_nodes * sizeof *column, sizeof *column);
    void *cut = kernel_memory(run, n_nodes * size, size);
    uint8_t *leaf = kernel_memory(run, n, 64);
    for (size_t i = 0; i < COLUMNS * n; i++)
        put(ranks, width, i, random_rank(run, width));
    for (size_t i = 0; i < n_nodes; i++) {
        column[i] = (uint32_t)(kernel_random(run) % COLUMNS * n * size);
        put(cut, width, i, random_rank(run, width));
    }
    const struct tn_slice_nodes nodes = {column, cut, depth};
    (oblivious ? kernels->oblivious : kernels->perfect)[width](leaf, ranks, &nodes, n);
    bool right = true;
    for (size_t r = 0; r < n; r++)
        right = right && leaf[r] == walk_down(&nodes, ranks, width, r, oblivious);
    kernel_check(run, right, "a row reached another leaf");
    check_sums(run, kernels, leaf, n, depth);
}

void test_tree_slice(struct kernel_run *run) {
    struct tn_slice_kernels kernels;
    tn_slice_kernels_init(&kernels, run->isa);
    for (uint32_t depth = 1; depth <= TN_SLICE_DEPTH; depth++) {
        for (uint32_t width = 0; width < 2; width++) {
            for (size_t n = TN_SLICE_GRAIN; n <= 3 * TN_SLICE_GRAIN;
                 n += TN_SLICE_GRAIN) {
                check_slice(run, &kernels, depth, width, n, false);
                check_slice(run, &kernels, depth, width, n, true);
            }
        }
    }
}

/* ---- tiles ---------------------------------------------------------------------------- */

/* A tree of `most` tiles or fewer: each exit leads to a tile, a leaf or nowhere. */
static uint32_t grow(
    struct kernel_run *run, struct tn_tile *tiles, uint32_t most, uint32_t columns) {
    uint32_t n = 1, n_leaves = 7;
    for (uint32_t t = 0; t < n; t++) {
        struct tn_tile *tile = &tiles[t];
        memset(tile, 0, sizeof *tile);
        tile->first[1] = n;
        tile->first[0] = n_leaves;
        for (uint32_t i = 0; i < TN_TILE_EXITS; i++) {
            tile->column[i] = (uint8_t)(kernel_random(run) % columns);
            tile->cut[i] = (int16_t)random_rank(run, 1);
            const bool on = n < most && kernel_random(run) % 3 == 0;
            tile->exits[on] = (uint16_t)(tile->exits[on] | 1u << i);
            *(on ? &n : &n_leaves) += 1;
        }
    }
    return n;
}

static uint32_t walk_tiles(const struct tn_tile *tiles, const int16_t *row) {
    uint32_t at = 0;
    for (;;) {
        const struct tn_tile *tile = &tiles[at];
        uint32_t node = 1, link[2] = {0, 0};
        while (node < TN_TILE_EXITS)
            node = 2 * node + (row[tile->column[node]] > tile->cut[node]);
        node -= TN_TILE_EXITS;
        for (uint32_t e = 0; e < node; e++)
            link[tile->exits[1] >> e & 1]++;
        if (!(tile->exits[1] >> node & 1)) return tile->first[0] + link[0];
        at = tile->first[1] + link[1];
    }
}

static void check_tiles(struct kernel_run *run, const struct tn_tile_kernels *kernels,
    uint32_t most, uint32_t wide, size_t n, bool one_row) {
    const uint32_t columns = wide ? 64 : 32;
    kernel_case(run, "a tree of %u tiles, %u columns, %zu visits%s", most, columns, n,
        one_row ? " of one row" : "");
    struct tn_tile *tiles = kernel_memory(run, most * sizeof *tiles, 64);
    int16_t *ranks = kernel_memory(run, n * columns * sizeof *ranks, 64);
    uint32_t *leaf = kernel_memory(run, n * sizeof *leaf, sizeof *leaf);
    uint32_t *slots = kernel_memory(run, n * sizeof *slots, sizeof *slots);
    uint32_t *at = kernel_memory(run, n * sizeof *at, sizeof *at);
    grow(run, tiles, most, columns);
    for (size_t i = 0; i < n * columns; i++)
        ranks[i] = (int16_t)random_rank(run, 1);
    for (size_t i = 0; i < n; i++) {
        slots[i] = (uint32_t)(n - 1 - i);
        at[i] = 0;
    }
    for (size_t left = n; left > 0;)
        left = kernels->step[wide](
            leaf, slots, at, left, tiles, ranks, one_row ? 0 : columns);
    bool right = true;
    for (size_t i = 0; i < n; i++)
        right =
            right && leaf[i] == walk_tiles(tiles, ranks + (one_row ? 0 : i * columns));
    kernel_check(run, right, "a row reached another leaf");
}

void test_tree_tile(struct kernel_run *run) {
    static const size_t rows[] = {1, 2, 15, 16, 17, 100};
    struct tn_tile_kernels kernels;
    tn_tile_kernels_init(&kernels, run->isa);
    for (uint32_t most = 1; most <= 256; most *= 4) {
        for (uint32_t wide = 0; wide < 2; wide++) {
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                check_tiles(run, &kernels, most, wide, rows[r], false);
                check_tiles(run, &kernels, most, wide, rows[r], true);
            }
        }
    }
}

/* ---- ragged trees --------------------------------------------------------------------- */

static void check_ragged(struct kernel_run *run, const struct tn_ragged_kernels *kernels,
    uint32_t width, size_t n_steps, size_t n) {
    enum { COLUMNS = 3 };
    kernel_case(run, "%zu steps, %u-bit ranks, %zu rows", n_steps, 8 * (width + 1), n);
    const size_t size = width + 1;
    void *ranks = kernel_memory(run, COLUMNS * n * size, 64);
    struct tn_ragged_step *steps = kernel_memory(run, n_steps * sizeof *steps, 4);
    uint8_t *slots = kernel_memory(run, TN_RAGGED_SLOTS * n, 64);
    uint8_t *want = kernel_memory(run, TN_RAGGED_SLOTS * n, 64);
    for (size_t i = 0; i < COLUMNS * n; i++)
        put(ranks, width, i, random_rank(run, width));
    for (size_t i = 0; i < n_steps; i++) {
        steps[i] = (struct tn_ragged_step){
            .column = (uint32_t)(kernel_random(run) % COLUMNS * n * size),
            .cut = (int16_t)random_rank(run, width),
            .to = (uint8_t)(1 + kernel_random(run) % (TN_RAGGED_SLOTS - 1))};
        for (int side = 0; side < 2; side++) {
            if (kernel_random(run) % 2)
                steps[i].leaf[side] = (uint8_t)kernel_random(run);
            else
                steps[i].from[side] = (uint8_t)(kernel_random(run) % TN_RAGGED_SLOTS);
        }
    }
    for (size_t i = 0; i < TN_RAGGED_SLOTS * n; i++)
        slots[i] = want[i] = (uint8_t)kernel_random(run);
    kernels->run[width](slots, ranks, steps, n_steps, n);
    for (size_t r = 0; r < n; r++)
        want[r] = 0;
    for (size_t i = 0; i < n_steps; i++) {
        for (size_t r = 0; r < n; r++) {
            const char *column = (const char *)ranks + steps[i].column;
            const int side = get(column, width, r) > steps[i].cut;
            want[steps[i].to * n + r] =
                want[steps[i].from[side] * n + r] | steps[i].leaf[side];
        }
    }
    kernel_check_same(run, slots, want, TN_RAGGED_SLOTS * n);
}

void test_tree_ragged(struct kernel_run *run) {
    struct tn_ragged_kernels kernels;
    tn_ragged_kernels_init(&kernels, run->isa);
    for (uint32_t width = 0; width < 2; width++)
        for (size_t n_steps = 0; n_steps < 260; n_steps = 2 * n_steps + 1)
            for (size_t n = TN_RAGGED_GRAIN; n <= 5 * TN_RAGGED_GRAIN;
                 n += TN_RAGGED_GRAIN)
                check_ragged(run, &kernels, width, n_steps, n);
}

/* ---- single rows ---------------------------------------------------------------------- */

static void check_row(struct kernel_run *run, const struct tn_row_kernels *kernels,
    uint32_t wide, size_t n) {
    const uint32_t columns = wide ? 64 : 32;
    kernel_case(run, "one row of %u columns, %zu trees", columns, n);
    int16_t *row = kernel_memory(run, columns * sizeof *row, 64);
    uint8_t *column = kernel_memory(run, n * TN_ROW_NODES, 64);
    int16_t *cut = kernel_memory(run, n * TN_ROW_NODES * sizeof *cut, 64);
    uint8_t *leaf = kernel_memory(run, n, 1);
    for (uint32_t i = 0; i < columns; i++)
        row[i] = (int16_t)random_rank(run, 1);
    for (size_t i = 0; i < n * TN_ROW_NODES; i++) {
        column[i] = (uint8_t)(kernel_random(run) % columns);
        cut[i] = (int16_t)random_rank(run, 1);
    }
    kernels->descend[wide](leaf, row, column, cut, n);
    bool right = true;
    for (size_t t = 0; t < n; t++) {
        size_t at = 1;
        while (at < TN_ROW_NODES) {
            const size_t node = t * TN_ROW_NODES + at;
            at = 2 * at + (row[column[node]] > cut[node]);
        }
        right = right && leaf[t] == at - TN_ROW_NODES;
    }
    kernel_check(run, right, "a tree led to another leaf");
}

void test_tree_row(struct kernel_run *run) {
    static const size_t counts[] = {1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 200};
    struct tn_row_kernels kernels;
    tn_row_kernels_init(&kernels, run->isa);
    for (uint32_t wide = 0; wide < 2; wide++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (int again = 0; again < 5; again++)
                check_row(run, &kernels, wide, counts[i]);
}
