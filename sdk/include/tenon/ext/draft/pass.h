/* "tenon.draft.pass/1": operator-aware optimiser passes that a plugin offers.
 *
 * Draft: its layout may change with any minor; hosts serve it on an exact match only. */
#ifndef TENON_EXT_DRAFT_PASS_H
#define TENON_EXT_DRAFT_PASS_H

#include "tenon/op.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TN_PASS_EXTENSION "tenon.draft.pass/1"

enum { TN_LEVEL_NONE = 0, TN_LEVEL_BASIC = 1, TN_LEVEL_ALL = 2 };

/* What a rewrite may do to results. */
enum {
    TN_SAFETY_EXACT = 0,         /* same bits */
    TN_SAFETY_REASSOCIATING = 1, /* same mathematics, other rounding */
    TN_SAFETY_APPROXIMATING = 2
};

struct tn_pass_ctx {
    uint32_t struct_size;
    uint32_t flags;
    const struct tn_host *host;
    void *plugin_state;
    const struct tn_graph_api *api;
    struct tn_graph *graph;
    struct tn_diag *diag;
};

struct tn_pass_def {
    uint32_t struct_size;
    uint32_t flags;
    const char *name; /* "conv_bn" */
    const char *doc;  /* one line */
    uint32_t level;   /* runs at this level and above */
    uint32_t safety;
    uint32_t order; /* passes run in ascending order, ties by name */
    uint32_t reserved;
    /* [setup] Rewrites the graph; *out_changes counts rewrites. On failure the graph must
     * still be valid. */
    tn_status (*run)(const struct tn_pass_ctx *ctx, uint32_t *out_changes);
};

struct tn_pass_extension {
    uint32_t struct_size;
    uint32_t count;
    const struct tn_pass_def *const *passes;
};

#ifdef __cplusplus
}
#endif
#endif
