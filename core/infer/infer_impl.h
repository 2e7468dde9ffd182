/* What the files of the infer room share. */
#ifndef TENON_INFER_IMPL_H
#define TENON_INFER_IMPL_H

#include "core/infer/infer.h"

enum { TN__MAX_SUBGRAPH_DEPTH = 100, TN__MAX_CONTENT = 256 };

/* A parsed expansion text of a definition. */
struct tn__expansion {
    const struct tn_op_def *def;
    struct tn__function function;
};

/* Lives in the model's arena, because the hooks of later edits need it. */
struct tn__inferer {
    struct tn__model *model;
    struct tn__registry *registry;
    struct tn__infer_options options;
    bool loading;     /* nodes that appear are visited by the driver, not by the hook */
    uint32_t depth;   /* of subgraphs being inferred */
    uint64_t budget;  /* inferences of nodes that may still happen */
    uint64_t n_nodes; /* of the model, counted against the limit */
    struct tn_str_map functions; /* key of a function → index, while loading */
    struct tn__expansion **expansions;
    uint32_t n_expansions, cap_expansions;
};

/* ---- infer_type.c ---------------------------------------------------- */

/* "float[N, 4]", "seq(int64)" into buf; returns buf. */
const char *tn__type_text(
    struct tn__symbols *symbols, const struct tn_type *type, char *buf, size_t size);
/* What both say together, dims written to `dims` ([max of the ranks]); false when they
 * contradict each other. Where one has a size it wins; of two symbols the second, unless
 * it has no name. */
bool tn__type_merge(struct tn__symbols *symbols, const struct tn_type *declared,
    const struct tn_type *inferred, int64_t *dims, struct tn_type *out);
/* Type of a constant. */
struct tn_type tn__type_of_tensor(const struct tn_tensor *tensor);

/* ---- infer_node.c ---------------------------------------------------- */

/* Merges `type` with what the model declared for v and stores it; unknown sizes become
 * new symbols. `who` begins the sentence when they contradict each other. */
tn_status tn__infer_set_type(struct tn_graph *g, tn_value_id v,
    const struct tn_type *type, const char *who, struct tn_diag *diag);
/* Infers a resolved node of the newest version. */
tn_status tn__infer_one(
    struct tn__inferer *inferer, struct tn_graph *g, tn_node_id id, struct tn_diag *diag);

/* ---- infer.c --------------------------------------------------------- */

/* Visits all nodes of a graph and of its subgraphs. */
tn_status tn__infer_graph(
    struct tn__inferer *inferer, struct tn_graph *g, struct tn_diag *diag);

/* ---- expand.c -------------------------------------------------------- */

/* Fills inferer->functions. That they do not call themselves is the loader's rule; here
 * the limit on nodes would end it. */
tn_status tn__expand_prepare(struct tn__inferer *inferer, struct tn_diag *diag);
/* The function of the model that a node calls, NULL when it calls none. */
const struct tn__function *tn__expand_find(
    const struct tn__inferer *inferer, const struct tn__node *node);
/* Whether a kernel of one of the wanted providers runs the node. */
bool tn__infer_has_kernel(struct tn__inferer *inferer, struct tn_graph *g, tn_node_id id);
/* Puts the nodes of a function body in place of the node. */
tn_status tn__expand_call(struct tn__inferer *inferer, struct tn_graph *g, tn_node_id id,
    const struct tn__function *function, struct tn_diag *diag);
/* Puts the body of its definition in place of the node, when there is one and no kernel
 * serves the whole. */
tn_status tn__expand_operator(struct tn__inferer *inferer, struct tn_graph *g,
    tn_node_id id, bool *out_done, struct tn_diag *diag);

#endif
