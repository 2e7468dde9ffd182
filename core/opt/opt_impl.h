/* What the files of the optimiser share. */
#ifndef TENON_OPT_IMPL_H
#define TENON_OPT_IMPL_H

#include "core/opt/opt.h"

struct tn__opt {
    struct tn__model *model;
    struct tn__registry *registry;
    struct tn__opt_options options; /* defaults filled in */
    struct tn__opt_log *log;
    uint64_t fold_left; /* bytes */
};

typedef tn_status (*tn__core_pass_fn)(
    struct tn__opt *opt, struct tn_graph *g, uint32_t *out_changes, struct tn_diag *diag);

/* The table that passes of plugins get for a graph (reserved.c). */
struct tn_graph_api tn__pass_api(const struct tn_graph *g);

/* clean.c */
tn_status tn__pass_no_op(
    struct tn__opt *opt, struct tn_graph *g, uint32_t *out_changes, struct tn_diag *diag);
tn_status tn__pass_dead_code(
    struct tn__opt *opt, struct tn_graph *g, uint32_t *out_changes, struct tn_diag *diag);
/* fold.c */
tn_status tn__pass_fold(
    struct tn__opt *opt, struct tn_graph *g, uint32_t *out_changes, struct tn_diag *diag);
/* dedupe.c */
tn_status tn__pass_dedupe(
    struct tn__opt *opt, struct tn_graph *g, uint32_t *out_changes, struct tn_diag *diag);
/* cse.c */
tn_status tn__pass_cse(
    struct tn__opt *opt, struct tn_graph *g, uint32_t *out_changes, struct tn_diag *diag);

/* Whether a node gives the same outputs for the same inputs, and nothing else. */
static inline bool tn__node_is_pure(const struct tn__node *node) {
    return node->def && !(node->def->flags & (TN_OP_NONDETERMINISTIC | TN_OP_STATEFUL));
}

static inline bool tn__node_has_subgraphs(const struct tn__node *node) {
    for (uint32_t i = 0; i < node->view.n_attrs; i++) {
        uint32_t type = node->view.attrs[i].type;
        if (type == TN_ATTR_GRAPH || type == TN_ATTR_GRAPHS) return true;
    }
    return false;
}

/* Content that no run can replace, else NULL. */
static inline const struct tn_tensor *tn__value_constant(const struct tn__value *value) {
    return value->flags & TN_VALUE_INPUT ? NULL : value->constant;
}

/* Equal type, shape and bytes; strings by their text. */
bool tn__tensor_equal(const struct tn_tensor *a, const struct tn_tensor *b); /* cse.c */

#endif
