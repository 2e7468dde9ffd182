/* Operators in families: a file for each, which ends in TN_FAMILY(name) after its static tables
 * `defs` and `kernels`. The plugin lists its families once and hands the host flat tables:
 *
 *     #define TN_FAMILIES(X) X(linear) X(trees)
 *     TN_FAMILIES(TN_FAMILY_DECLARE)
 *     static const struct tn_family *const families[] = {TN_FAMILIES(TN_FAMILY_ADDRESS)}; */
#ifndef TENON_HELPER_FAMILY_H
#define TENON_HELPER_FAMILY_H

#include "tenon/helper/diag.h"
#include "tenon/helper/rows.h"
#include "tenon/op.h"
#include "tenon/plugin.h"

struct tn_family {
    const struct tn_op_def *defs;
    const struct tn_kernel_def *kernels;
    uint32_t n_defs, n_kernels;
};

#define TN_FAMILY_DECLARE(name) extern const struct tn_family tn__family_##name;
#define TN_FAMILY_ADDRESS(name) &tn__family_##name,

/* Publishes this file's static tables `defs` and `kernels`. */
#define TN_FAMILY(name)                                                                  \
    const struct tn_family tn__family_##name = {                                         \
        defs, kernels, TN_COUNT(defs), TN_COUNT(kernels)}

/* The tables of all families of a plugin, as pointers: what tn_plugin's ops and kernels give. */
struct tn_tables {
    const struct tn_op_def **ops;
    const struct tn_kernel_def **kernels;
    uint32_t n_ops, n_kernels;
};

/* tn_plugin's ops and kernels for a state that begins with its tables. */
static inline tn_status tn_tables_ops(
    void *state, const struct tn_op_def *const **out_table, uint32_t *out_count) {
    const struct tn_tables *tables = (const struct tn_tables *)state;
    *out_table = tables->ops;
    *out_count = tables->n_ops;
    return TN_OK;
}

static inline tn_status tn_tables_kernels(
    void *state, const struct tn_kernel_def *const **out_table, uint32_t *out_count) {
    const struct tn_tables *tables = (const struct tn_tables *)state;
    *out_table = tables->kernels;
    *out_count = tables->n_kernels;
    return TN_OK;
}

static inline void tn_tables_free(const struct tn_host *host, struct tn_tables *tables) {
    host->free(host->self, tables->ops);
    host->free(host->self, tables->kernels);
}

/* Fills tables (zero before) from n families. Setup; the caller frees, after a failure too. */
static inline tn_status tn_tables_collect(const struct tn_host *host,
    const struct tn_family *const *families, uint32_t n, struct tn_tables *tables,
    struct tn_diag *diag) {
    size_t n_ops = 0, n_kernels = 0;
    for (uint32_t f = 0; f < n; f++) {
        n_ops += families[f]->n_defs;
        n_kernels += families[f]->n_kernels;
    }
    tables->ops = (const struct tn_op_def **)host->alloc(
        host->self, n_ops * sizeof *tables->ops, 0, "plugin tables");
    tables->kernels = (const struct tn_kernel_def **)host->alloc(
        host->self, n_kernels * sizeof *tables->kernels, 0, "plugin tables");
    if (!tables->ops || !tables->kernels)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for the plugin's tables");
    for (uint32_t f = 0; f < n; f++) {
        for (uint32_t i = 0; i < families[f]->n_defs; i++)
            tables->ops[tables->n_ops++] = &families[f]->defs[i];
        for (uint32_t i = 0; i < families[f]->n_kernels; i++)
            tables->kernels[tables->n_kernels++] = &families[f]->kernels[i];
    }
    return TN_OK;
}

#endif
