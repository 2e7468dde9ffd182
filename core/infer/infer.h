/* Types and shapes: drives resolution, upgrades and each definition's inference in
 * topological order, subgraphs included, with symbolic dimensions and short integer
 * values.
 *
 * The same driver serves loading (symbols) and running (a shape set, concrete sizes). */
#ifndef TENON_INFER_ROOM_H
#define TENON_INFER_ROOM_H

#include "core/registry/registry.h"

struct tn__infer_options {
    const struct tn_option *dim_overrides; /* key: symbol name, value: size as text */
    uint64_t n_dim_overrides;
    bool strict; /* newer IR or opset than known is an error, not a warning */
    bool native; /* false: function operators are expanded even if a kernel exists */
    const char *const *providers; /* whose kernels count as "claims the whole" */
    uint32_t n_providers;
    uint32_t max_nodes; /* limits.nodes: after expansion and inlining */
};

/* Loading: resolves, upgrades, infers and (where no kernel serves the whole) expands
 * function operators and inlines the model's functions, for the main graph and all
 * subgraphs. Also installs the graph hooks, so that later edits are resolved and
 * inferred. */
tn_status tn__infer_model(struct tn__model *model, struct tn__registry *registry,
    const struct tn__infer_options *options, struct tn_diag *diag);

/* Infers one resolved node and stores the types of its outputs in the graph. */
tn_status tn__infer_node(struct tn__registry *registry, struct tn_graph *g, tn_node_id id,
    struct tn_diag *diag);

/* ---- running: types of one node from actual inputs ------------------------------------
 */

/* Where shapes of a shape set are kept: the caller's, indexed by value id. */
struct tn__shape_env {
    void *arg;
    /* Type (concrete dims) of a value; kind ABSENT while it is not known. */
    const struct tn_type *(*type)(void *arg, tn_value_id v);
    /* Content when known (constants; at run time, computed tensors), else NULL. */
    const struct tn_tensor *(*content)(void *arg, tn_value_id v);
    /* Short integer content, as in tn_infer.dims_value. */
    const int64_t *(*dims_value)(void *arg, tn_value_id v, uint32_t *out_n);
    /* dims may hold TN_DIM_UNKNOWN: depends on data. Copies. */
    tn_status (*set_type)(void *arg, tn_value_id v, const struct tn_type *type);
    tn_status (*set_dims_value)(
        void *arg, tn_value_id v, const int64_t *dims, uint32_t n);
};
/* Calls the node's inference against the environment; allocates nothing. Any symbol that
 * the definition leaves comes out as TN_DIM_UNKNOWN. Definitions without inference leave
 * types unknown. */
tn_status tn__infer_concrete(const struct tn_host *host, const struct tn_graph *g,
    tn_node_id id, const struct tn__shape_env *env, struct tn_diag *diag);

#endif
