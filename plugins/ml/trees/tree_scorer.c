/* Choosing methods, and the loop over blocks of rows: see tree_scorer.h. */
#include "trees/tree_scorer.h"

#include "trees/tree_methods.h"

#include "tenon/helper/diag.h"

#include <stdio.h>

enum { LEAST_BLOCK = 64, PARALLEL_NS = 32000, MOST_SUMS = 8 << 20 };

/* ---- choice --------------------------------------------------------------------------- */

static bool within(uint32_t value, uint32_t most) {
    return most == 0 || value <= most;
}

bool tn__tree_method_serves(
    const struct tn_tree_method *method, const struct tn_forest *forest, uint64_t cpu) {
    return (method->cpu & ~cpu) == 0 && (method->flags_needed & ~forest->flags) == 0 &&
           (method->flags_refused & forest->flags) == 0 &&
           (method->leaf_forms >> forest->leaf_form & 1) &&
           (method->aggregates >> forest->aggregate & 1) &&
           within(forest->depth, method->most_depth) &&
           within(forest->n_columns, method->most_columns) &&
           forest->n_trees >= method->least_trees;
}

/* Adds the method's model when it fits. */
static tn_status try_method(struct tn_tree_scorer *scorer,
    const struct tn_tree_method *method, uint64_t cpu, bool *keeps_nodes,
    struct tn_diag *diag) {
    struct tn_tree_build build = {.host = scorer->host, .cpu = cpu, .diag = diag};
    TN_TRY(method->build(scorer->forest, &build));
    if (!build.model) return TN_OK;
    scorer->models[scorer->n].method = method;
    scorer->models[scorer->n].model = build.model;
    memcpy(scorer->models[scorer->n].reason, build.reason, sizeof build.reason);
    scorer->n++;
    *keeps_nodes = *keeps_nodes || build.keeps_nodes;
    return TN_OK;
}

/* The best method for many rows, then those for fewer, until one serves a single row. */
static tn_status choose(
    struct tn_tree_scorer *scorer, uint64_t cpu, struct tn_diag *diag) {
    bool keeps_nodes = false, whole = false;
    for (uint32_t m = 0; m < tn__tree_method_count && !whole; m++) {
        const struct tn_tree_method *method = tn__tree_methods[m];
        uint32_t before = scorer->n;
        /* one place is the last rows': they serve every batch */
        if (method->least_rows > 1 && before == TN_SCORER_MOST - 1) continue;
        if (before && method->least_rows >= scorer->models[before - 1].method->least_rows)
            continue;
        if (!tn__tree_method_serves(method, scorer->forest, cpu)) continue;
        TN_TRY(try_method(scorer, method, cpu, &keeps_nodes, diag));
        whole = scorer->n > before && method->least_rows <= 1;
    }
    if (!keeps_nodes) tn__forest_drop_nodes(scorer->forest);
    return whole ? TN_OK : tn_fail(diag, TN_INTERNAL, "no method serves the trees");
}

tn_status tn__tree_scorer_create(const struct tn_host *host, uint64_t cpu,
    struct tn_forest *forest, struct tn_tree_scorer **out, struct tn_diag *diag) {
    struct tn_tree_scorer *scorer = host->alloc(host->self, sizeof *scorer, 0, "trees");
    if (!scorer) {
        tn__forest_destroy(forest);
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for a tree ensemble");
    }
    memset(scorer, 0, sizeof *scorer);
    scorer->host = host;
    scorer->forest = forest;
    for (uint32_t t = 0; t < forest->n_trees; t++)
        scorer->row_cost += 2 + forest->trees[t].depth;
    tn_status status = choose(scorer, cpu, diag);
    if (status == TN_OK)
        *out = scorer;
    else
        tn__tree_scorer_destroy(scorer);
    return status;
}

void tn__tree_scorer_destroy(struct tn_tree_scorer *scorer) {
    if (!scorer) return;
    for (uint32_t i = 0; i < scorer->n; i++)
        scorer->models[i].method->destroy(scorer->models[i].model, scorer->host);
    tn__forest_destroy(scorer->forest);
    scorer->host->free(scorer->host->self, scorer);
}

/* Index of the model for a batch. */
static uint32_t model_for(const struct tn_tree_scorer *scorer, int64_t n_rows) {
    uint32_t i = 0;
    while (i + 1 < scorer->n && n_rows < scorer->models[i].method->least_rows)
        i++;
    return i;
}

void tn__tree_scorer_explain(
    const struct tn_tree_scorer *scorer, int64_t n_rows, char *out, uint64_t size) {
    uint64_t at = 0;
    uint32_t i = n_rows < 0 ? 0 : model_for(scorer, n_rows);
    uint32_t end = n_rows < 0 ? scorer->n : i + 1;
    if (size) out[0] = 0;
    for (; i < end && at < size; i++) {
        const struct tn_tree_method *method = scorer->models[i].method;
        char rows[48] = "";
        if (n_rows < 0 && method->least_rows > 1)
            snprintf(rows, sizeof rows, " (%u rows and more)", method->least_rows);
        int n = snprintf(out + at, size - at, "%s%s%s: %s", at ? "; " : "", method->name,
            rows, scorer->models[i].reason);
        at += n > 0 ? (uint64_t)n : 0;
    }
}

/* ---- scoring -------------------------------------------------------------------------- */

/* How a batch is cut. */
struct cut {
    const struct tn_tree_method *method;
    const void *model;
    int64_t block, n_blocks;
    uint64_t sums, spare, scratch; /* bytes for one worker, whole cache lines */
    uint32_t n_workers;
};

static uint64_t lines(uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static uint64_t sum_size(const struct tn_forest *forest) {
    return forest->flags & TN_FOREST_WIDE_SUM ? 8 : 4;
}

/* Blocks of the method's size, or smaller ones so that every worker gets as many as the
 * others. */
static struct cut cut_rows(const struct tn_tree_scorer *scorer, int64_t n_rows) {
    uint32_t i = model_for(scorer, n_rows);
    struct cut cut = {
        .method = scorer->models[i].method, .model = scorer->models[i].model};
    uint32_t n_workers = scorer->host->worker_count(scorer->host->self);
    bool parallel = n_workers > 1 && (double)n_rows * scorer->row_cost >= PARALLEL_NS;
    cut.block = cut.method->block(cut.model, n_rows);
    int64_t room =
        (int64_t)(MOST_SUMS / (scorer->forest->n_outputs * sum_size(scorer->forest)));
    if (cut.block > room) cut.block = room; /* of rows with many outputs */
    if (cut.block < 1) cut.block = 1;
    if (parallel) {
        int64_t n = (n_rows + cut.block - 1) / cut.block;
        n = (n + n_workers - 1) / n_workers * n_workers;
        int64_t even =
            ((n_rows + n - 1) / n + LEAST_BLOCK - 1) / LEAST_BLOCK * LEAST_BLOCK;
        if (even < cut.block) cut.block = even;
    }
    cut.n_workers = parallel ? n_workers : 1;
    cut.n_blocks = (n_rows + cut.block - 1) / cut.block;
    cut.sums =
        lines((uint64_t)cut.block * scorer->forest->n_outputs * sum_size(scorer->forest));
    cut.spare = lines((uint64_t)scorer->forest->n_outputs * sizeof(double));
    cut.scratch = lines(cut.method->scratch(cut.model, cut.block));
    return cut;
}

static uint64_t worker_bytes(const struct cut *cut) {
    return cut->sums + cut->spare + cut->scratch;
}

uint64_t tn__tree_scorer_workspace(const struct tn_tree_scorer *scorer, int64_t n_rows) {
    if (n_rows <= 0) return 0;
    struct cut cut = cut_rows(scorer, n_rows);
    return worker_bytes(&cut) * cut.n_workers;
}

struct job {
    const struct tn_tree_scorer *scorer;
    const struct cut *cut;
    const struct tn_forest_rows *rows;
    const void *init;
    char *workspace;
    tn_tree_finish_fn finish;
    void *arg;
};

static void start_sums(const struct job *job, void *sums, int64_t n) {
    const struct tn_forest *forest = job->scorer->forest;
    uint64_t row = forest->n_outputs * sum_size(forest);
    if (!job->init) {
        memset(sums, 0, (size_t)n * row);
        return;
    }
    for (int64_t r = 0; r < n; r++)
        memcpy((char *)sums + (size_t)r * row, job->init, row);
}

static void run_blocks(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct cut *cut = job->cut;
    char *sums = job->workspace + worker * worker_bytes(cut);
    char *spare = sums + cut->sums, *scratch = spare + cut->spare;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * cut->block, n = job->rows->n_rows - first;
        if (n > cut->block) n = cut->block;
        start_sums(job, sums, n);
        cut->method->score(cut->model, job->rows, first, n, sums, scratch);
        job->finish(job->arg, first, n, sums, (double *)(void *)spare);
    }
}

void tn__tree_scorer_run(const struct tn_tree_scorer *scorer,
    const struct tn_forest_rows *rows, const void *init, void *workspace,
    tn_tree_finish_fn finish, void *arg) {
    if (rows->n_rows <= 0) return;
    struct cut cut = cut_rows(scorer, rows->n_rows);
    struct job job = {scorer, &cut, rows, init, workspace, finish, arg};
    if (cut.n_workers == 1)
        run_blocks(&job, 0, cut.n_blocks, 0);
    else
        scorer->host->parallel_for(scorer->host->self, cut.n_blocks, 1, run_blocks, &job);
}
