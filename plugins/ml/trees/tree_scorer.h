/* A forest with the methods that were chosen for it: what the operators score rows with. */
#ifndef TENON_ML_TREE_SCORER_H
#define TENON_ML_TREE_SCORER_H

#include "trees/tree_compile.h"
#include "trees/tree_method.h"

#include "tenon/op.h"

enum { TN_SCORER_MOST = 4 };

/* Whether a forest lies within a method's bounds; its build may still find that it does not
 * fit. [any] */
bool tn__tree_method_serves(
    const struct tn_tree_method *method, const struct tn_forest *forest, uint64_t cpu);

struct tn_tree_scorer {
    const struct tn_host *host;
    struct tn_forest *forest;
    double row_cost; /* ns that a row takes, roughly */
    uint32_t n;
    struct {
        const struct tn_tree_method *method;
        void *model;
        char reason[160];
    } models[TN_SCORER_MOST]; /* the first whose least_rows a batch has serves it */
};

/* Takes over the forest, also on failure. cpu: TN_CPU_* bits that may be used. [setup] */
tn_status tn__tree_scorer_create(const struct tn_host *host, uint64_t cpu,
    struct tn_forest *forest, struct tn_tree_scorer **out, struct tn_diag *diag);
void tn__tree_scorer_destroy(struct tn_tree_scorer *scorer); /* NULL is fine */

/* What is done with the raw sums of rows [first, first + n). sums may be changed; spare has
 * room for a row of sums as doubles. [worker] */
typedef void (*tn_tree_finish_fn)(
    void *arg, int64_t first, int64_t n, void *sums, double *spare);

/* Bytes of workspace that scoring n_rows needs. [run] */
uint64_t tn__tree_scorer_workspace(const struct tn_tree_scorer *scorer, int64_t n_rows);
/* Scores all rows, block by block on the host's threads. init: numbers that the sums start
 * from, [n_outputs], in their type; NULL: zeros. [run] */
void tn__tree_scorer_run(const struct tn_tree_scorer *scorer,
    const struct tn_forest_rows *rows, const void *init, void *workspace,
    tn_tree_finish_fn finish, void *arg);

/* "walk: 100 trees of depth up to 6, …": which method a batch gets, n_rows < 0: any. */
void tn__tree_scorer_explain(
    const struct tn_tree_scorer *scorer, int64_t n_rows, char *out, uint64_t size);

#endif
