/* Rewriting of an inferred model: generic passes of the core and operator-aware ones of
 * the plugins, in one order, by level and safety class, to a fixed point within bounds.
 *
 * The core's own passes are exact: no_op (100) lets readers of a node that returns its
 * input read the input, fold (200) computes nodes whose inputs are constant, dedupe (300)
 * keeps one of equal constants, cse (400) one of equal nodes, dead_code (9000) removes
 * what nobody reads. */
#ifndef TENON_OPT_ROOM_H
#define TENON_OPT_ROOM_H

#include "core/base/text.h"
#include "core/registry/registry.h"
#include "tenon/tenon.h"

#include <stdbool.h>

struct tn__opt_options {
    uint32_t level;              /* TN_LEVEL_*; NONE rewrites nothing */
    uint32_t safety;             /* TN_SAFETY_*: the least exact class allowed */
    const char *const *disabled; /* names of passes that do not run */
    uint32_t n_disabled;
    uint32_t max_rounds;       /* 0: 8 */
    const char *provider;      /* host provider whose kernels compute constants, "cpu" */
    uint64_t fold_node_bytes;  /* results of one node, 0: 512 MiB */
    uint64_t fold_total_bytes; /* of all, 0: 2 GiB */
    bool core_only;            /* no passes of plugins */
    bool append;               /* the log goes on */
    bool verify;               /* checks the graph's invariants after every pass */
};

/* One run of one pass that changed something. */
struct tn__opt_entry {
    const char *pass;
    const char *plugin; /* id, NULL for the core's own */
    uint32_t round;     /* from 1 */
    uint32_t changes;
    uint32_t nodes_before, nodes_after; /* of all graphs */
};

/* In the model's arena: nothing to free. */
struct tn__opt_log {
    struct tn__opt_entry *entries;
    uint32_t n_entries, cap_entries;
    uint32_t rounds;
    uint32_t nodes_before, nodes_after;
    uint64_t folded_bytes;
};

/* Rewrites the main graph and all subgraphs. On failure the model may be half rewritten:
 * it is to be destroyed. */
tn_status tn__optimize(struct tn__model *model, struct tn__registry *registry,
    const struct tn__opt_options *options, struct tn__opt_log *log, struct tn_diag *diag);

/* TN_REPORT_PASSES in TN_FORMAT_TEXT or TN_FORMAT_JSON. */
void tn__opt_report(const struct tn__opt_log *log, uint32_t format, struct tn_text *out);

#endif
