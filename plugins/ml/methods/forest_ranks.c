/* Ranks of a forest's thresholds: nodes grouped by column, each group sorted by radix. */
#include "methods/forest_ranks.h"

#include "tenon/helper/diag.h"

#include <math.h>
#include <string.h>

enum { FILL_ROWS = 128, SMALL_SORT = 48 };

struct item {
    uint64_t key; /* ordered as the thresholds are */
    uint32_t node;
};

void *tn__method_alloc(const struct tn_host *host, uint64_t n, uint64_t size) {
    if (size && n > (UINT64_MAX / 2) / size) return NULL;
    return host->alloc(host->self, n * size + 64, 64, "trees");
}

tn_status tn__method_build(const struct tn_forest *forest, struct tn_tree_build *build,
    size_t size,
    tn_status (*fill)(
        void *model, const struct tn_forest *forest, struct tn_tree_build *build),
    void (*destroy)(void *model, const struct tn_host *host)) {
    void *model = tn__method_alloc(build->host, 1, size);
    build->model = NULL;
    if (!model)
        return tn_fail(build->diag, TN_OUT_OF_MEMORY, "no memory for a forest's model");
    memset(model, 0, size);
    tn_status status = fill(model, forest, build);
    if (!build->model) destroy(model, build->host);
    return status;
}

enum tn_isa tn__forest_isa(uint64_t cpu) {
    if (cpu & TN_CPU_NEON) return TN_ISA_NEON;
    if (!(cpu & TN_CPU_AVX2)) return TN_ISA_SCALAR;
    return cpu & TN_CPU_AVX512 ? TN_ISA_AVX512 : TN_ISA_AVX2;
}

/* ---- sorting -------------------------------------------------------------------------- */

/* Keys whose unsigned order is that of the numbers; -0 and 0 are one. */
static uint64_t key_of(const struct tn_forest *forest, uint32_t node) {
    if (forest->flags & TN_FOREST_WIDE) {
        double value = ((const double *)forest->thresholds)[node] + 0.0;
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
    }
    float value = ((const float *)forest->thresholds)[node] + 0.0f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}

static void sort_few(struct item *items, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        struct item item = items[i];
        uint32_t at = i;
        for (; at > 0 && items[at - 1].key > item.key; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Sorts by key, with `spare` of the same size; bytes that all keys share are passed over.
 * Returns where the result is, one of the two. */
static struct item *sort_many(
    struct item *items, struct item *spare, uint32_t n, uint32_t key_bytes) {
    for (uint32_t byte = 0; byte < key_bytes; byte++) {
        uint32_t at[256] = {0}, sum = 0;
        for (uint32_t i = 0; i < n; i++)
            at[items[i].key >> 8 * byte & 255]++;
        if (at[items[0].key >> 8 * byte & 255] == n) continue;
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t count = at[i];
            at[i] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++)
            spare[at[items[i].key >> 8 * byte & 255]++] = items[i];
        struct item *sorted = spare;
        spare = items;
        items = sorted;
    }
    return items;
}

static struct item *sort_items(
    struct item *items, struct item *spare, uint32_t n, uint32_t key_bytes) {
    if (n > SMALL_SORT) return sort_many(items, spare, n, key_bytes);
    sort_few(items, n);
    return items;
}

/* ---- building ------------------------------------------------------------------------- */

struct builder {
    const struct tn_forest *forest;
    uint32_t *begin;       /* [n_columns + 1] first of each column's nodes */
    uint32_t *nodes;       /* [n_nodes] by column */
    uint32_t *counts;      /* [n_columns] distinct thresholds */
    struct item *items[2]; /* as many as the column with most nodes has */
    void *sorted; /* [n_nodes] distinct thresholds of column c from begin[c] on */
    uint16_t *cuts;
};

static void group_by_column(struct builder *b) {
    const struct tn_forest *forest = b->forest;
    memset(b->begin, 0, (forest->n_columns + (size_t)1) * sizeof *b->begin);
    for (uint32_t i = 0; i < forest->n_nodes; i++)
        b->begin[forest->columns_of[i] + 1]++;
    for (uint32_t c = 0; c < forest->n_columns; c++)
        b->begin[c + 1] += b->begin[c];
    for (uint32_t i = 0; i < forest->n_nodes; i++)
        b->nodes[b->begin[forest->columns_of[i]]++] = i;
    /* each begin has moved to the next one's place */
    memmove(b->begin + 1, b->begin, forest->n_columns * sizeof *b->begin);
    b->begin[0] = 0;
}

/* The distinct thresholds of a column in order, and the rank of each of its nodes. */
static void rank_column(struct builder *b, uint32_t column) {
    const struct tn_forest *forest = b->forest;
    const bool wide = (forest->flags & TN_FOREST_WIDE) != 0;
    const uint32_t first = b->begin[column], n = b->begin[column + 1] - first;
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = b->nodes[first + i];
        b->items[0][i] = (struct item){key_of(forest, node), node};
    }
    const struct item *items = sort_items(b->items[0], b->items[1], n, wide ? 8 : 4);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t node = items[i].node;
        if (i == 0 || items[i].key != items[i - 1].key) {
            if (wide)
                ((double *)b->sorted)[first + count] =
                    ((const double *)forest->thresholds)[node];
            else
                ((float *)b->sorted)[first + count] =
                    ((const float *)forest->thresholds)[node];
            count++;
        }
        b->cuts[node] = (uint16_t)(count - 1);
    }
    b->counts[column] = count;
}

static tn_status fill_tables(const struct builder *b, const struct tn_tree_build *build,
    struct tn_forest_ranks *out) {
    const struct tn_forest *forest = b->forest;
    const bool wide = (forest->flags & TN_FOREST_WIDE) != 0;
    size_t size = 0, at = 0;
    for (uint32_t c = 0; c < forest->n_columns; c++)
        size += tn_rank_table_size(b->counts[c]);
    out->tables = tn__method_alloc(build->host, forest->n_columns, sizeof *out->tables);
    out->levels =
        tn__method_alloc(build->host, size, wide ? sizeof(double) : sizeof(float));
    if (!out->tables || !out->levels)
        return tn_fail(build->diag, TN_OUT_OF_MEMORY,
            "no memory for the thresholds of %u nodes", forest->n_nodes);
    for (uint32_t c = 0; c < forest->n_columns; c++) {
        if (wide)
            tn_rank_table_fill_f64(&out->tables[c], (double *)out->levels + at,
                (const double *)b->sorted + b->begin[c], b->counts[c]);
        else
            tn_rank_table_fill_f32(&out->tables[c], (float *)out->levels + at,
                (const float *)b->sorted + b->begin[c], b->counts[c]);
        at += tn_rank_table_size(b->counts[c]);
    }
    return TN_OK;
}

static int32_t direct_type(const struct tn_forest *forest) {
    if (forest->flags & TN_FOREST_SETS) return 0;
    for (uint32_t c = 0; c < forest->n_columns; c++)
        if (forest->columns[c].kind != TN_COLUMN_VALUE ||
            forest->columns[c].rounding != TN_ROUND_NONE)
            return 0;
    return forest->flags & TN_FOREST_WIDE ? TN_DOUBLE : TN_FLOAT;
}

static bool has_memory(const struct builder *b) {
    return b->begin && b->nodes && b->counts && b->sorted && b->cuts;
}

static tn_status rank_all(struct builder *b, const struct tn_tree_build *build,
    uint32_t most, struct tn_forest_ranks *out) {
    const struct tn_forest *forest = b->forest;
    uint32_t widest = 0;
    for (uint32_t c = 0; c < forest->n_columns; c++)
        if (b->begin[c + 1] - b->begin[c] > widest)
            widest = b->begin[c + 1] - b->begin[c];
    b->items[0] = tn__method_alloc(build->host, widest, sizeof *b->items[0]);
    b->items[1] = tn__method_alloc(build->host, widest, sizeof *b->items[1]);
    if (!b->items[0] || !b->items[1])
        return tn_fail(build->diag, TN_OUT_OF_MEMORY,
            "no memory to sort the %u thresholds of a column", widest);
    for (uint32_t c = 0; c < forest->n_columns; c++) {
        rank_column(b, c);
        if (b->counts[c] > out->most) out->most = b->counts[c];
        if (out->most > most) return TN_OK;
    }
    return fill_tables(b, build, out);
}

tn_status tn__forest_ranks_build(const struct tn_forest *forest,
    const struct tn_tree_build *build, uint32_t most, struct tn_forest_ranks *out,
    uint16_t **out_cuts) {
    const struct tn_host *host = build->host;
    const size_t size = forest->flags & TN_FOREST_WIDE ? sizeof(double) : sizeof(float);
    struct builder b = {.forest = forest};
    tn_status status;
    *out = (struct tn_forest_ranks){.forest = forest, .direct = direct_type(forest)};
    tn_rank_kernels_init(&out->kernels, tn__forest_isa(build->cpu));
    b.begin = tn__method_alloc(host, forest->n_columns + (uint64_t)1, sizeof *b.begin);
    b.nodes = tn__method_alloc(host, forest->n_nodes, sizeof *b.nodes);
    b.counts = tn__method_alloc(host, forest->n_columns, sizeof *b.counts);
    b.sorted = tn__method_alloc(host, forest->n_nodes, size);
    b.cuts = tn__method_alloc(host, forest->n_nodes, sizeof *b.cuts);
    if (has_memory(&b)) {
        group_by_column(&b);
        status = rank_all(&b, build, most, out);
    } else {
        status = tn_fail(build->diag, TN_OUT_OF_MEMORY,
            "no memory to rank the thresholds of %u nodes", forest->n_nodes);
    }
    void *const temporary[] = {
        b.begin, b.nodes, b.counts, b.sorted, b.items[0], b.items[1]};
    for (size_t i = 0; i < sizeof temporary / sizeof *temporary; i++)
        host->free(host->self, temporary[i]);
    if (status != TN_OK || out->most > most) {
        host->free(host->self, b.cuts);
        tn__forest_ranks_free(out, host);
        b.cuts = NULL;
    }
    *out_cuts = b.cuts;
    return status;
}

void tn__forest_ranks_free(struct tn_forest_ranks *ranks, const struct tn_host *host) {
    host->free(host->self, ranks->tables);
    host->free(host->self, ranks->levels);
    ranks->tables = NULL;
    ranks->levels = NULL;
}

/* ---- rows ----------------------------------------------------------------------------- */

uint64_t tn__forest_ranks_scratch(const struct tn_forest_ranks *ranks) {
    uint64_t size =
        ranks->forest->flags & TN_FOREST_WIDE ? sizeof(double) : sizeof(float);
    return FILL_ROWS * (uint64_t)ranks->forest->n_columns * size;
}

/* Columns straight from the input: rank[r * row_step] of each row, NaN on its side. */
static void fill_direct(const struct tn_forest_ranks *ranks,
    const struct tn_forest_rows *rows, int64_t first, int64_t n, enum tn_rank_width width,
    char *out, size_t row_step, size_t column_step) {
    const bool wide = ranks->direct == TN_DOUBLE;
    const size_t size = wide ? sizeof(double) : sizeof(float), rank_size = width + 1u;
    const size_t stride = (size_t)rows->n_features;
    const char *data = (const char *)rows->data + (size_t)first * stride * size;
    tn_rank_fn *rank = ranks->kernels.rank[wide ? TN_RANK_F64 : TN_RANK_F32][width];
    for (uint32_t c = 0; c < ranks->forest->n_columns; c++) {
        const struct tn_column *column = &ranks->forest->columns[c];
        rank(out + c * column_step * rank_size, row_step, data + column->feature * size,
            stride, (size_t)n, &ranks->tables[c], !column->nan_left);
    }
}

/* By way of the columns' values, FILL_ROWS at a time: they hold no NaN. */
static void fill_values(const struct tn_forest_ranks *ranks,
    const struct tn_forest_rows *rows, int64_t first, int64_t n, enum tn_rank_width width,
    char *out, size_t row_step, size_t column_step, char *scratch) {
    const bool wide = (ranks->forest->flags & TN_FOREST_WIDE) != 0;
    const size_t size = wide ? sizeof(double) : sizeof(float), rank_size = width + 1u;
    tn_rank_fn *rank = ranks->kernels.rank[wide ? TN_RANK_F64 : TN_RANK_F32][width];
    for (int64_t r = 0; r < n; r += FILL_ROWS) {
        const int64_t now = n - r < FILL_ROWS ? n - r : FILL_ROWS;
        tn__forest_fill(ranks->forest, rows, first + r, now, scratch, 1, FILL_ROWS);
        for (uint32_t c = 0; c < ranks->forest->n_columns; c++)
            rank(out + ((size_t)r * row_step + c * column_step) * rank_size, row_step,
                scratch + (size_t)c * FILL_ROWS * size, 1, (size_t)now, &ranks->tables[c],
                false);
    }
}

void tn__forest_ranks_fill(const struct tn_forest_ranks *ranks,
    const struct tn_forest_rows *rows, int64_t first, int64_t n, enum tn_rank_width width,
    void *out, size_t row_step, size_t column_step, void *scratch) {
    if (ranks->direct == rows->dtype)
        fill_direct(ranks, rows, first, n, width, out, row_step, column_step);
    else
        fill_values(ranks, rows, first, n, width, out, row_step, column_step, scratch);
}
