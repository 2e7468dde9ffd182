/* Every scoring method of plugins/ml gives the bits of a walk node by node, added in tree
 * order: random forests of all shapes, on every instruction set, for batches and blocks of
 * awkward sizes, with rows on thresholds, one step beside them, NaN and infinities. */
#include "tenon/types.h"
#include "trees/tree_method.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 1 << 14, MOST_COLUMNS = 100, MOST_TREES = 40, MOST_ROWS = 1100 };

/* ---- a host with memory and nothing else ---------------------------------------------- */

static void *host_alloc(void *self, uint64_t size, uint64_t align, const char *tag) {
    (void)self;
    (void)tag;
    if (align < 64) align = 64;
    void *memory = aligned_alloc(align, (size + align - 1) / align * align + align);
    if (memory) memset(memory, 0xA5, size);
    return memory;
}

static void host_free(void *self, void *memory) {
    (void)self;
    free(memory);
}

static const struct tn_host host = {
    .struct_size = TN_HOST_SIZE, .alloc = host_alloc, .free = host_free};

/* ---- random forests ------------------------------------------------------------------- */

struct shape {
    const char *name;
    uint32_t n_trees, depth, n_features, n_outputs, leaf_form, flags;
    uint32_t leaf_in; /* one node in so many is a leaf before the last level */
    uint32_t steps;   /* distinct thresholds of a feature, roughly */
    bool twins;       /* nodes of a feature disagree on NaN */
    bool sets;        /* every third column asks whether the feature is in a set or NaN */
};

/* clang-format off */
static const struct shape shapes[] = {
    {"one stump",            1,  1,  1, 1, TN_LEAVES_ONE, 0, 0, 1, false},
    {"a leaf alone",         3,  0,  0, 1, TN_LEAVES_ONE, 0, 0, 1, false},
    {"depth 3",             10,  3,  5, 1, TN_LEAVES_ONE, 0, 6, 10, false},
    {"depth 6",             30,  6, 28, 1, TN_LEAVES_ONE, 0, 20, 200, false},
    {"depth 6, twins",      20,  6, 12, 1, TN_LEAVES_ONE, 0, 20, 100, true},
    {"depth 6, 16 bits",    40,  6,  3, 1, TN_LEAVES_ONE, 0, 20, 100000, true},
    {"depth 7, 3 classes",  21,  7, 28, 3, TN_LEAVES_ONE, 0, 9, 200, false},
    {"depth 8, rows of 4",  10,  8, 40, 4, TN_LEAVES_ROW, 0, 9, 200, true},
    {"depth 8, doubles",    10,  8, 20, 1, TN_LEAVES_ONE, TN_FOREST_WIDE | TN_FOREST_WIDE_SUM, 9, 90, true},
    {"depth 5, double sums", 9,  5, 20, 5, TN_LEAVES_ROW, TN_FOREST_WIDE_SUM, 9, 90, false},
    {"deep",                10, 30, 28, 1, TN_LEAVES_ONE, 0, 4, 5000, true},
    {"deep, rows of 3",      6, 25, 60, 3, TN_LEAVES_ROW, 0, 4, 5000, false},
    {"deep, doubles",        6, 22, 31, 2, TN_LEAVES_ROW, TN_FOREST_WIDE | TN_FOREST_WIDE_SUM, 4, 5000, false},
    {"sets",                20,  6, 18, 1, TN_LEAVES_ONE, TN_FOREST_SETS, 9, 40, false, true},
    {"sets, deep",           9, 20, 18, 2, TN_LEAVES_ROW, TN_FOREST_SETS, 4, 400, false, true},
    {"ragged, 31 leaves",   20, 31, 28, 1, TN_LEAVES_ONE, 0, 3, 200, true},
    {"ragged, 16 bits",     20, 40,  3, 2, TN_LEAVES_ROW, TN_FOREST_WIDE_SUM, 3, 99999, true},
    {"ragged to a side",     9, 60, 90, 1, TN_LEAVES_ONE, 0, 5, 200, false},
    {"wide",                10,  9, 79, 1, TN_LEAVES_ONE, 0, 5, 50, false},
    {"oblivious",           20,  6, 20, 1, TN_LEAVES_ONE, TN_FOREST_OBLIVIOUS, 0, 64, false},
    {"oblivious, 16 bits",  40,  8,  1, 2, TN_LEAVES_ROW, TN_FOREST_OBLIVIOUS, 0, 99999, true},
};
/* clang-format on */

static struct random_forest {
    struct tn_forest forest;
    struct tn_column columns[MOST_COLUMNS];
    struct tn_set set;
    struct tn_tree trees[MOST_TREES];
    uint32_t columns_of[MOST_NODES];
    union {
        float narrow[MOST_NODES];
        double wide[MOST_NODES];
    } thresholds;
    uint32_t children[MOST_NODES][2];
    double values_wide[MOST_NODES * 5];
    float values_narrow[MOST_NODES * 5];
} f;

static uint32_t state;

static uint32_t dice(uint32_t sides) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % sides;
}

static uint32_t column_of(uint32_t feature, const struct shape *shape) {
    return shape->twins ? 2 * feature + dice(2) : feature;
}

static double threshold(const struct shape *shape) {
    double t = (double)dice(shape->steps) / shape->steps * 4 - 2;
    if (dice(50) == 0) t = 0.0;
    return shape->flags & TN_FOREST_WIDE ? t : (double)(float)t;
}

static uint32_t new_leaf(const struct shape *shape) {
    const uint32_t leaf = f.forest.n_leaves++;
    const uint32_t n = shape->leaf_form == TN_LEAVES_ROW ? shape->n_outputs : 1;
    ck_assert(f.forest.n_leaves < MOST_NODES);
    for (uint32_t o = 0; o < n; o++) {
        f.values_wide[leaf * n + o] = (dice(20001) - 10000.0) / 777.0;
        f.values_narrow[leaf * n + o] = (float)f.values_wide[leaf * n + o];
    }
    return leaf | TN_LEAF_BIT;
}

/* A node or leaf at `level`, in preorder. */
static uint32_t grow(const struct shape *shape, uint32_t level) {
    if (level == shape->depth ||
        (level > 0 && shape->leaf_in && dice(shape->leaf_in) == 0) ||
        f.forest.n_nodes + 300 > MOST_NODES)
        return new_leaf(shape);
    const uint32_t node = f.forest.n_nodes++;
    f.columns_of[node] = column_of(dice(shape->n_features), shape);
    const bool asks_set = f.columns[f.columns_of[node]].kind != TN_COLUMN_VALUE;
    const double t = asks_set ? 0.5 : threshold(shape);
    if (shape->flags & TN_FOREST_WIDE)
        f.thresholds.wide[node] = t;
    else
        f.thresholds.narrow[node] = (float)t;
    /* the deep ones lean to a side, or they would be too many */
    const bool lean = shape->depth > 9 && level > 5 && dice(3) > 0;
    f.children[node][0] = grow(shape, level + 1);
    f.children[node][1] = lean ? new_leaf(shape) : grow(shape, level + 1);
    return node;
}

/* All nodes of a level ask what its leftmost asks. */
static void make_oblivious(const struct tn_tree *tree) {
    uint32_t level[512] = {tree->root}, n = 1;
    for (uint32_t d = 0; d < tree->depth; d++, n *= 2) {
        for (uint32_t i = n; i-- > 0;) {
            const uint32_t node = level[i];
            f.columns_of[node] = f.columns_of[level[0]];
            f.thresholds.narrow[node] = f.thresholds.narrow[level[0]];
            level[2 * i + 1] = f.children[node][1];
            level[2 * i] = f.children[node][0];
        }
    }
}

static uint32_t depth_from(uint32_t node) {
    if (node & TN_LEAF_BIT) return 0;
    const uint32_t a = depth_from(f.children[node][0]),
                   b = depth_from(f.children[node][1]);
    return 1 + (a > b ? a : b);
}

static const double members[] = {-1.0, 0.25, 1.5};

static void make_forest(const struct shape *shape) {
    memset(&f, 0, sizeof f);
    state = 12345;
    f.forest = (struct tn_forest){
        .flags = shape->flags | (shape->twins ? TN_FOREST_TWINS : 0),
        .n_features = shape->n_features,
        .n_outputs = shape->n_outputs,
        .n_columns = shape->n_features * (shape->twins ? 2 : 1),
        .n_trees = shape->n_trees,
        .leaf_form = shape->leaf_form,
        .columns = f.columns,
        .trees = f.trees,
        .columns_of = f.columns_of,
        .thresholds = &f.thresholds,
        .children = (const uint32_t(*)[2])f.children,
        .leaf_values = shape->flags & TN_FOREST_WIDE_SUM ? (const void *)f.values_wide
                                                         : (const void *)f.values_narrow};
    for (uint32_t c = 0; c < f.forest.n_columns; c++)
        f.columns[c] = (struct tn_column){.feature = shape->twins ? c / 2 : c,
            .nan_left = shape->twins ? c & 1 : c % 3 == 0,
            .twin = shape->twins ? c / 2 * 2 : c};
    f.set = (struct tn_set){.values = members, .n_values = 3};
    f.forest.sets = &f.set;
    f.forest.n_sets = shape->sets;
    for (uint32_t c = 0; shape->sets && c < f.forest.n_columns; c += 3) {
        f.columns[c].kind = c % 2 ? TN_COLUMN_SET : TN_COLUMN_IS_NAN;
        f.columns[c].nan_left = c % 2 && c % 4 == 1;
    }
    for (uint32_t t = 0; t < shape->n_trees; t++) {
        struct tn_tree *tree = &f.trees[t];
        tree->first_node = f.forest.n_nodes;
        tree->first_leaf = f.forest.n_leaves;
        tree->root = grow(shape, 0);
        tree->depth = depth_from(tree->root);
        tree->n_nodes = f.forest.n_nodes - tree->first_node;
        tree->n_leaves = f.forest.n_leaves - tree->first_leaf;
        tree->target = shape->leaf_form == TN_LEAVES_ONE ? t % shape->n_outputs : 0;
        if (tree->depth > f.forest.depth) f.forest.depth = tree->depth;
        if (shape->flags & TN_FOREST_OBLIVIOUS) make_oblivious(tree);
    }
}

/* ---- rows ----------------------------------------------------------------------------- */

static double row_values[MOST_ROWS * MOST_COLUMNS];
static float row_floats[MOST_ROWS * MOST_COLUMNS];

static double some_threshold(const struct shape *shape) {
    if (f.forest.n_nodes == 0) return 0.5;
    const uint32_t node = dice(f.forest.n_nodes);
    return shape->flags & TN_FOREST_WIDE ? f.thresholds.wide[node]
                                         : (double)f.thresholds.narrow[node];
}

static double step_beside(const struct shape *shape, double t, double to) {
    return shape->flags & TN_FOREST_WIDE ? nextafter(t, to)
                                         : (double)nextafterf((float)t, (float)to);
}

/* Rows as floats or, for wide forests, doubles. */
static void make_rows(const struct shape *shape, uint32_t n_features) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-42};
    for (uint32_t i = 0; i < MOST_ROWS * n_features; i++) {
        double x = dice(100001) / 25000.0 - 2.0;
        const double t = some_threshold(shape);
        switch (dice(8)) {
        case 0: x = t; break;
        case 1: x = step_beside(shape, t, 9.0); break;
        case 2: x = step_beside(shape, t, -9.0); break;
        case 4: x = members[dice(3)]; break;
        case 3: x = dice(3) ? x : special[dice(6)]; break;
        default: break;
        }
        row_floats[i] = (float)x;
        row_values[i] = shape->flags & TN_FOREST_WIDE ? x : (double)row_floats[i];
    }
}

/* ---- the walk that all are compared with ---------------------------------------------- */

static double column_value(uint32_t column, const double *row) {
    const double x = row[f.columns[column].feature];
    switch (f.columns[column].kind) {
    case TN_COLUMN_IS_NAN: return !isnan(x);
    case TN_COLUMN_SET:
        if (isnan(x)) return !f.columns[column].nan_left;
        return x != members[0] && x != members[1] && x != members[2];
    default: break;
    }
    if (isnan(x)) return f.columns[column].nan_left ? -INFINITY : INFINITY;
    return x;
}

static void add_tree(const struct shape *shape, const struct tn_tree *tree,
    const double *row, void *sums) {
    uint32_t at = tree->root;
    while (!(at & TN_LEAF_BIT)) {
        const double t = shape->flags & TN_FOREST_WIDE ? f.thresholds.wide[at]
                                                       : (double)f.thresholds.narrow[at];
        at = f.children[at][!(column_value(f.columns_of[at], row) <= t)];
    }
    const uint32_t leaf = at & ~TN_LEAF_BIT;
    const bool one = shape->leaf_form == TN_LEAVES_ONE;
    const uint32_t n = one ? 1 : shape->n_outputs, to = one ? tree->target : 0;
    for (uint32_t o = 0; o < n; o++) {
        if (shape->flags & TN_FOREST_WIDE_SUM)
            ((double *)sums)[to + o] += f.values_wide[leaf * n + o];
        else
            ((float *)sums)[to + o] += f.values_narrow[leaf * n + o];
    }
}

/* ---- the test ------------------------------------------------------------------------- */

static double want[MOST_ROWS * 5], got[MOST_ROWS * 5];

static void start(const struct shape *shape, double *sums, uint32_t n_rows) {
    for (uint32_t i = 0; i < n_rows * shape->n_outputs; i++) {
        if (shape->flags & TN_FOREST_WIDE_SUM)
            sums[i] = i % 7 / 3.0;
        else
            ((float *)sums)[i] = (float)(i % 7) / 3.0f;
    }
}

static size_t sums_size(const struct shape *shape, uint32_t n_rows) {
    return (size_t)n_rows * shape->n_outputs *
           (shape->flags & TN_FOREST_WIDE_SUM ? sizeof(double) : sizeof(float));
}

/* Scores rows as a kernel does, block by block, the first row not the input's first. */
static void score(const struct shape *shape, const struct tn_tree_method *method,
    const void *model, const struct tn_forest_rows *rows, uint32_t n_rows, int64_t most) {
    int64_t block = method->block(model, n_rows);
    if (block > most) block = most;
    const uint64_t size = method->scratch(model, block);
    char *scratch = host_alloc(NULL, size + 64, 64, "scratch");
    memset(scratch + size, 0x5A, 64);
    start(shape, got, n_rows);
    for (int64_t r = 0; r < n_rows; r += block) {
        const int64_t n = n_rows - r < block ? n_rows - r : block;
        method->score(
            model, rows, r, n, (char *)got + sums_size(shape, (uint32_t)r), scratch);
    }
    for (int i = 0; i < 64; i++)
        ck_assert_msg(scratch[size + (uint64_t)i] == 0x5A, "%s wrote past its scratch",
            method->name);
    free(scratch);
}

static void check_rows(const struct shape *shape, const struct tn_tree_method *method,
    const void *model, const struct tn_forest_rows *rows, const char *type) {
    static const uint32_t batches[] = {1, 2, 15, 16, 17, 63, 128, 129, 511, 513, 1100};
    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        const uint32_t n = batches[b];
        for (int64_t most = 1 << 20; most > 60; most = most > 1000 ? 65 : 0) {
            score(shape, method, model, rows, n, most);
            ck_assert_msg(memcmp(want, got, sums_size(shape, n)) == 0,
                "%s, %s rows: %s differs in a batch of %u, blocks of %lld", shape->name,
                type, method->name, n, (long long)most);
        }
    }
}

static void walk_all(const struct shape *shape) {
    start(shape, want, MOST_ROWS);
    for (uint32_t t = 0; t < f.forest.n_trees; t++)
        for (uint32_t r = 0; r < MOST_ROWS; r++)
            add_tree(shape, &f.trees[t], row_values + r * f.forest.n_features,
                (char *)want + sums_size(shape, r));
}

static bool may_serve(
    const struct tn_tree_method *method, const struct tn_forest *forest, uint64_t cpu) {
    return (method->cpu & ~cpu) == 0 && (method->flags_refused & forest->flags) == 0 &&
           (method->flags_needed & ~forest->flags) == 0 &&
           method->leaf_forms >> forest->leaf_form & 1 &&
           (method->most_depth == 0 || forest->depth <= method->most_depth) &&
           (method->most_columns == 0 || forest->n_columns <= method->most_columns) &&
           forest->n_trees >= method->least_trees;
}

static uint64_t cpu_bits(void) {
    uint64_t bits = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        bits |= TN_CPU_AVX2;
    if (bits && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        bits |= TN_CPU_AVX512;
#elif defined(__aarch64__)
    bits |= TN_CPU_NEON;
#endif
    return bits;
}

static void check_method(
    const struct shape *shape, const struct tn_tree_method *method, uint64_t cpu) {
    struct tn_diag diag = {0};
    struct tn_tree_build build = {.host = &host, .cpu = cpu, .diag = &diag};
    const bool wide = (shape->flags & TN_FOREST_WIDE) != 0;
    ck_assert_msg(method->build(&f.forest, &build) == TN_OK, "%s", diag.message);
    if (!build.model) return;
    ck_assert_msg(build.reason[0], "%s gives no reason", method->name);
    struct tn_forest_rows rows = {.data = wide ? (const void *)row_values : row_floats,
        .dtype = wide ? TN_DOUBLE : TN_FLOAT,
        .n_rows = MOST_ROWS,
        .n_features = f.forest.n_features};
    check_rows(shape, method, build.model, &rows, wide ? "double" : "float");
    if (!wide) { /* the same numbers in a wider type */
        rows.data = row_values;
        rows.dtype = TN_DOUBLE;
        check_rows(shape, method, build.model, &rows, "widened");
    }
    method->destroy(build.model, &host);
}

START_TEST(every_method_gives_the_bits_of_a_plain_walk) {
    const struct shape *shape = &shapes[_i];
    const uint64_t all = cpu_bits(), masks[] = {all, all & ~TN_CPU_AVX512, 0};
    make_forest(shape);
    if (f.forest.n_features == 0) f.forest.n_features = 1;
    make_rows(shape, f.forest.n_features);
    walk_all(shape);
    unsigned served = 0;
    for (uint32_t m = 0; m < tn__tree_method_count; m++) {
        for (size_t k = 0; k < sizeof masks / sizeof *masks; k++) {
            if (!may_serve(tn__tree_methods[m], &f.forest, masks[k])) continue;
            check_method(shape, tn__tree_methods[m], masks[k]);
            served++;
        }
    }
    ck_assert_msg(served > 0, "%s: no method serves it", shape->name);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("tree_methods");
    TCase *cases = tcase_create("bits");
    tcase_set_timeout(cases, 300);
    tcase_add_loop_test(cases, every_method_gives_the_bits_of_a_plain_walk, 0,
        sizeof shapes / sizeof *shapes);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
