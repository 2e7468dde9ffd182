/* See tree_trial.h. Ensembles grow as sound trees, some with shared nodes; then some numbers
 * are replaced by others. */
#include "tree_trial.h"

#include "trees/tree_lists.h"
#include "trees/tree_scorer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, FEATURES = 5, ROWS = 37, TARGETS = 3 };

/* ---- a host --------------------------------------------------------------------------- */

static void *host_alloc(void *self, uint64_t size, uint64_t align, const char *tag) {
    (void)self;
    (void)tag;
    if (align < 64) align = 64;
    return aligned_alloc(align, (size + align) / align * align);
}

static void host_free(void *self, void *ptr) {
    (void)self;
    free(ptr);
}

static void host_parallel(
    void *self, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg) {
    (void)self;
    (void)grain;
    fn(arg, 0, n, 0);
}

static uint32_t host_workers(void *self) {
    (void)self;
    return 1;
}

static const struct tn_host host = {.struct_size = TN_HOST_SIZE,
    .alloc = host_alloc,
    .free = host_free,
    .parallel_for = host_parallel,
    .worker_count = host_workers};

static uint64_t features_here(void) {
    uint64_t cpu = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        cpu |= TN_CPU_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        cpu |= TN_CPU_AVX512;
#endif
    return cpu;
}

/* ---- choices -------------------------------------------------------------------------- */

struct bytes {
    const uint8_t *at, *end;
};

/* 0 … n - 1; 0 when the bytes are used up. */
static uint32_t choose(struct bytes *b, uint32_t n) {
    return b->at < b->end ? *b->at++ % n : 0;
}

static double some_value(struct bytes *b) {
    static const double values[] = {0, -0.0, 1, 2, 3, -1, 0.5, 1e-45, -1e-45, 1e30,
        16777217, 16777216, INFINITY, -INFINITY, NAN, 1.0000001192092896};
    return values[choose(b, sizeof values / sizeof *values)];
}

static int64_t some_id(struct bytes *b) {
    static const int64_t ids[] = {
        -1, 0, 1, 2, 3, 7, 63, 64, 1 << 22, INT32_MAX, INT64_MAX, INT64_MIN};
    return ids[choose(b, sizeof ids / sizeof *ids)];
}

/* ---- growing -------------------------------------------------------------------------- */

struct ensemble {
    uint32_t n, n_votes;
    int64_t treeids[MOST], nodeids[MOST], features[MOST], yes[MOST], no[MOST],
        tracks[MOST];
    struct tn_string modes[MOST];
    double values[MOST], weights[2 * MOST];
    float narrow_values[MOST], narrow_weights[2 * MOST];
    int64_t vote_trees[2 * MOST], vote_nodes[2 * MOST], vote_ids[2 * MOST];
};

static void add_vote(struct ensemble *e, struct bytes *b, uint32_t node) {
    uint32_t v = e->n_votes++;
    e->vote_trees[v] = e->treeids[node];
    e->vote_nodes[v] = e->nodeids[node];
    e->vote_ids[v] = choose(b, TARGETS);
    e->weights[v] = (double)choose(b, 200) / 7 - 10;
}

static const char *const mode_names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
    "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF", "BRANCH_EQ", "BRANCH_LEQ", "MEMBER"};

static void set_mode(struct ensemble *e, uint32_t node, uint32_t mode) {
    e->modes[node] = (struct tn_string){mode_names[mode], strlen(mode_names[mode])};
}

static void grow_tree(struct ensemble *e, struct bytes *b, int64_t tree) {
    uint32_t first = e->n, room = 1 + choose(b, MOST / 3), some_modes = 1 + choose(b, 9);
    for (uint32_t i = first; i < MOST && i < first + room; i++) {
        e->treeids[i] = tree;
        e->nodeids[i] = i - first;
        e->n = i + 1;
        uint32_t left = first + room - 1 - i;
        bool leaf = left < 2 || choose(b, 4) == 0;
        set_mode(e, i, leaf ? 6 : choose(b, some_modes > 6 ? 6 : some_modes));
        e->features[i] = choose(b, FEATURES);
        e->values[i] = some_value(b);
        e->tracks[i] = choose(b, 3) == 0;
        e->yes[i] = leaf ? 0 : i - first + 1 + choose(b, left);
        e->no[i] = leaf ? 0 : i - first + 1 + choose(b, left);
        for (uint32_t votes = leaf ? choose(b, 3) : 0; votes > 0; votes--)
            add_vote(e, b, i);
    }
}

static void spoil(struct ensemble *e, struct bytes *b) {
    int64_t *const lists[] = {e->treeids, e->nodeids, e->features, e->yes, e->no,
        e->vote_trees, e->vote_nodes, e->vote_ids};
    for (uint32_t times = choose(b, 6); times > 3; times--) {
        uint32_t list = choose(b, 8), i = choose(b, e->n);
        if (list < 5 || i < e->n_votes) lists[list][i] = some_id(b);
        if (choose(b, 8) == 0) set_mode(e, choose(b, e->n), choose(b, 10));
    }
}

/* ---- scoring -------------------------------------------------------------------------- */

struct rows {
    float f[ROWS * FEATURES];
    double d[ROWS * FEATURES];
    int64_t l[ROWS * FEATURES];
    int32_t i[ROWS * FEATURES];
};

static const int32_t dtypes[] = {TN_FLOAT, TN_DOUBLE, TN_INT64, TN_INT32};

static const void *make_rows(struct rows *rows, struct bytes *b, int32_t dtype) {
    for (uint32_t k = 0; k < ROWS * FEATURES; k++) {
        double value = some_value(b);
        bool whole = value == value && fabs(value) < 1e9;
        rows->f[k] = (float)value;
        rows->d[k] = value;
        rows->l[k] = whole ? (int64_t)value : INT64_MAX;
        rows->i[k] = whole ? (int32_t)value : INT32_MIN;
    }
    return dtype == TN_FLOAT    ? (const void *)rows->f
           : dtype == TN_DOUBLE ? (const void *)rows->d
           : dtype == TN_INT64  ? (const void *)rows->l
                                : (const void *)rows->i;
}

/* Sums of one method for all rows, by blocks of at most `most`. */
static void score(const struct tn_tree_method *method, const void *model,
    const struct tn_forest_rows *rows, int64_t most, double *sums, size_t row_size) {
    memset(sums, 0, ROWS * TARGETS * sizeof *sums);
    for (int64_t first = 0; first < ROWS;) {
        int64_t n = ROWS - first < most ? ROWS - first : most;
        int64_t block = method->block(model, n);
        if (block < n) n = block;
        void *scratch = host_alloc(NULL, method->scratch(model, n), 64, NULL);
        method->score(
            model, rows, first, n, (char *)sums + (size_t)first * row_size, scratch);
        free(scratch);
        first += n;
    }
}

static void compare_methods(
    const struct tn_forest *forest, const struct tn_forest_rows *rows) {
    double expected[ROWS * TARGETS], sums[ROWS * TARGETS];
    size_t size = forest->n_outputs * (forest->flags & TN_FOREST_WIDE_SUM ? 8u : 4u);
    uint64_t cpu = features_here();
    for (uint32_t m = tn__tree_method_count; m-- > 0;) {
        const struct tn_tree_method *method = tn__tree_methods[m];
        struct tn_diag diag = {0};
        struct tn_tree_build build = {.host = &host, .cpu = cpu, .diag = &diag};
        if (!tn__tree_method_serves(method, forest, cpu)) continue;
        if (method->build(forest, &build) != TN_OK) abort();
        if (!build.model) continue;
        if (m + 1 == tn__tree_method_count) /* the plain walk serves all: the reference */
            score(method, build.model, rows, ROWS, expected, size);
        for (int64_t most = 1; most <= ROWS; most += 9) {
            score(method, build.model, rows, most, sums, size);
            if (memcmp(sums, expected, ROWS * size) != 0) abort();
        }
        method->destroy(build.model, &host);
    }
}

static int run(struct ensemble *e, struct bytes *b) {
    struct tn_diag diag = {0};
    struct tn_tree_source source;
    struct tn_forest *forest;
    bool wide = choose(b, 2) == 1;
    for (uint32_t i = 0; i < e->n; i++)
        e->narrow_values[i] = (float)e->values[i];
    for (uint32_t v = 0; v < e->n_votes; v++)
        e->narrow_weights[v] = (float)e->weights[v];
    struct tn_tree_lists lists = {.treeids = {e->treeids, e->n, 1},
        .nodeids = {e->nodeids, e->n, 1},
        .featureids = {e->features, e->n, 1},
        .truenodeids = {e->yes, e->n, 1},
        .falsenodeids = {e->no, e->n, 1},
        .tracks_true = {e->tracks, choose(b, 2) ? e->n : 0, 1},
        .modes = {e->modes, e->n, 1},
        .values = {wide ? (void *)e->values : (void *)e->narrow_values,
            wide ? TN_DOUBLE : TN_FLOAT, e->n},
        .prefix = "target",
        .vote_treeids = {e->vote_trees, e->n_votes, 1},
        .vote_nodeids = {e->vote_nodes, e->n_votes, 1},
        .vote_ids = {e->vote_ids, e->n_votes, 1},
        .weights = {wide ? (void *)e->weights : (void *)e->narrow_weights,
            wide ? TN_DOUBLE : TN_FLOAT, e->n_votes},
        .n_targets = TARGETS};
    int32_t dtype = dtypes[choose(b, 4)];
    tn_status status = tn__tree_lists_read(&host, &lists, &source, &diag);
    if (status == TN_OK) {
        uint32_t aggregate = choose(b, 8) == 0 ? TN_AGGREGATE_MAX : TN_AGGREGATE_SUM;
        status = tn__forest_compile(&host, &source, dtype, aggregate, &forest, &diag);
        tn__tree_source_free(&source);
    }
    if (status != TN_OK) {
        if (diag.code != status || !diag.message[0]) abort();
        return 0;
    }
    static struct rows numbers;
    const struct tn_forest_rows rows = {
        make_rows(&numbers, b, dtype), dtype, ROWS, FEATURES};
    if (forest->n_features <= FEATURES) compare_methods(forest, &rows);
    tn__forest_destroy(forest);
    return 1;
}

int tree_trial(const uint8_t *data, size_t size) {
    struct bytes b = {data, data + size};
    static struct ensemble e;
    memset(&e, 0, sizeof e);
    for (uint32_t t = 1 + choose(&b, 4); t > 0; t--)
        grow_tree(&e, &b, t * 3);
    spoil(&e, &b);
    return run(&e, &b);
}
