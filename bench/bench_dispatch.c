/* What a node costs beyond its arithmetic: chains of one-element operators, of a plugin's
 * (com.example.Cube of plugins/custom) and of the built-in ones, as they stand in the file
 * (level none). The two take turns; nanoseconds a further node are
 * (t(long chain) - t(short chain)) / nodes, best of the rounds.
 *
 * With the fake NPU of tests/fakes as a second plugin, also what a compiled group costs: one
 * of one node, in memory of its own, which the fake looks up under a lock.
 *
 *     bench_dispatch PLUGIN.so [NPU.so]    exits 1 when an operator is above 20 ns */
#include "tenon/tenon.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHORT = 1, LONG = 1001, ROUNDS = 60, RUNS = 200, MOST_NS = 20 };

/* One operator of the table, and the two chains of it. */
struct row {
    const char *name;
    const char *call;     /* the node's operator and attributes */
    const char *provider; /* NULL: the cpu */
    const char *streams;
    struct tn_session *sessions[2];
    struct tn_context *contexts[2];
    double best_ns[2];
};

static struct row rows[] = {
    {.name = "built in: Neg (cpu)", .call = "Neg"},
    {.name = "plugin: com.example.Cube", .call = "com.example.Cube"},
    {.name = "group of one: Neg (fake NPU)",
        .call = "Neg",
        .provider = "fake.npu",
        .streams = "0"},
    {.name = "the same on a stream",
        .call = "Neg",
        .provider = "fake.npu",
        .streams = "1"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static float input[1] = {0.5f};

static char *chain_text(const char *call, int nodes) {
    size_t size = 256 + (size_t)nodes * 64, at;
    char *text = malloc(size);
    if (!text) return NULL;
    at = (size_t)snprintf(text, size,
        "<ir_version: 10, opset_import: [\"\" : 21, \"com.example\" : 1]>\n"
        "g (float[1] v0) => (float[1] v%d) {\n",
        nodes);
    for (int i = 0; i < nodes; i++)
        at += (size_t)snprintf(text + at, size - at, "v%d = %s (v%d)\n", i + 1, call, i);
    snprintf(text + at, size - at, "}\n");
    return text;
}

static tn_status open_chain(
    struct tn_runtime *runtime, struct row *row, int which, struct tn_diag *diag) {
    char *text = chain_text(row->call, which ? LONG : SHORT);
    const struct tn_option options[] = {{"level", "none"}, {"placement.show", "0"},
        {"provider", row->provider}, {"provider:fake.npu/group", "each"},
        {"provider:fake.npu/streams", row->streams}};
    const struct tn_session_options setup = {.struct_size = TN_SESSION_OPTIONS_SIZE,
        .options = options,
        .n_options = row->provider ? 5 : 2};
    const struct tn_model model = {.data = text, .size = text ? strlen(text) : 0};
    const int64_t dims[] = {1};
    struct tn_tensor tensor = {
        .data = input, .dims = dims, .size = sizeof input, .dtype = TN_FLOAT, .rank = 1};
    const struct tn_value_ref ref = {TN_KIND_TENSOR, 0, {&tensor}};
    tn_status status =
        tn_session_create(runtime, &model, &setup, &row->sessions[which], diag);
    free(text);
    if (status == TN_OK)
        status = tn_context_create(row->sessions[which], &row->contexts[which], diag);
    if (status == TN_OK)
        status = tn_context_set_input(row->contexts[which], 0, &ref, diag);
    if (status == TN_OK) status = tn_context_run(row->contexts[which], NULL, diag);
    row->best_ns[which] = 1e18;
    return status;
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void measure(struct row *row, int which) {
    double start = now_ns();
    for (int i = 0; i < RUNS; i++)
        if (tn_context_run(row->contexts[which], NULL, NULL) != TN_OK) exit(2);
    double ns = (now_ns() - start) / RUNS;
    if (ns < row->best_ns[which]) row->best_ns[which] = ns;
}

static void close_row(struct row *row) {
    for (int which = 0; which < 2; which++) {
        tn_context_destroy(row->contexts[which]);
        tn_session_destroy(row->sessions[which]);
    }
}

int main(int argc, char **argv) {
    struct tn_diag diag = {0};
    struct tn_runtime *runtime = NULL;
    bool above = false;
    tn_status status = tn_runtime_create(NULL, &runtime, &diag);
    if (status == TN_OK && argc > 1)
        status = tn_runtime_load_plugin(runtime, argv[1], &diag);
    if (status == TN_OK && argc > 2)
        status = tn_runtime_load_plugin(runtime, argv[2], &diag);
    int n_rows = argc > 2 ? N_ROWS : 2;
    for (int i = 0; i < 2 * n_rows && status == TN_OK; i++)
        status = open_chain(runtime, &rows[i / 2], i % 2, &diag);
    if (status != TN_OK) {
        fprintf(stderr, "bench_dispatch: %s\n", diag.message);
        return 2;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 2 * n_rows; i++)
            measure(&rows[i / 2], i % 2);
    for (int i = 0; i < n_rows; i++) {
        double ns = (rows[i].best_ns[1] - rows[i].best_ns[0]) / (LONG - SHORT);
        printf("%-28s %6.2f ns a node, one node %7.1f ns\n", rows[i].name, ns,
            rows[i].best_ns[0]);
        above |= ns > MOST_NS && !rows[i].provider;
        close_row(&rows[i]);
    }
    tn_runtime_destroy(runtime);
    return above;
}
