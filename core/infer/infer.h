/* Types and shapes: drives resolution, upgrades and each definition's inference in
 * topological order, subgraphs included, with symbolic dimensions and short integer
 * values.
 *
 * The same driver serves loading (symbols) and running (a shape set, concrete sizes). */
#ifndef TENON_INFER_ROOM_H
#define TENON_INFER_ROOM_H

#include "core/registry/registry.h"
#include "tenon/tenon.h"

/* Parses the body of an operator's expansion: tn__text_read_function of the model room,
 * which this room may not see. */
typedef tn_status (*tn__read_function_fn)(struct tn__model *model, const char *text,
    uint64_t size, struct tn__function *out, struct tn_diag *diag);

struct tn__infer_options {
    const struct tn_option *dim_overrides; /* key: symbol name, value: size as text */
    uint64_t n_dim_overrides;
    bool strict; /* newer IR or opset than known is an error, not a warning */
    bool native; /* false: function operators are expanded even if a kernel exists */
    bool whole;  /* function operators stay until tn__infer_finish */
    const char *const *providers; /* whose kernels count as "claims the whole" */
    uint32_t n_providers;
    uint32_t max_nodes; /* limits.nodes: after expansion and inlining; 0: 1,000,000 */
    tn__read_function_fn read_function; /* NULL: expansion texts are not used */
};

/* Loading: resolves, upgrades, infers and (where no kernel serves the whole) expands
 * function operators and inlines the model's functions, for the main graph and all
 * subgraphs. Also installs the graph hooks, so that later edits are resolved and
 * inferred: `registry` and the strings of `options` must outlive the model. */
tn_status tn__infer_model(struct tn__model *model, struct tn__registry *registry,
    const struct tn__infer_options *options, struct tn_diag *diag);

/* Expands what was kept whole and nobody reserved since; for models loaded with `whole`. */
tn_status tn__infer_finish(struct tn__model *model, struct tn_diag *diag);

/* Infers one resolved node of an inferred model anew and stores the types of its outputs;
 * what the model declared for them still holds. */
tn_status tn__infer_node(struct tn_graph *g, tn_node_id id, struct tn_diag *diag);

/* Index of the input that output 0 of a node repeats bit for bit, -1 when none: asks its
 * definition with what is known of the inputs. */
int32_t tn__infer_elide(struct tn_graph *g, tn_node_id id);

/* "float[N, 4]", "seq(int64)" into buf, for messages; returns buf. */
const char *tn__type_text(
    struct tn__symbols *symbols, const struct tn_type *type, char *buf, size_t size);

/* ---- running: types of one node from actual inputs (infer_run.c) ----- */

/* Where shapes of a shape set are kept: the caller's, indexed by value id. */
struct tn__shape_env {
    void *arg;
    /* Type (concrete dims) of a value; kind ABSENT while it is not known. */
    const struct tn_type *(*type)(void *arg, tn_value_id v);
    /* Content when known (constants; at run time, computed tensors), else NULL. */
    const struct tn_tensor *(*content)(void *arg, tn_value_id v);
    /* Short integer content, as in tn_infer.dims_value. May be NULL: taken from content.
     */
    const int64_t *(*dims_value)(void *arg, tn_value_id v, uint32_t *out_n);
    /* dims may hold TN_DIM_UNKNOWN: depends on data. Copies. */
    tn_status (*set_type)(void *arg, tn_value_id v, const struct tn_type *type);
    /* May be NULL: such contents are forgotten. Copies. */
    tn_status (*set_dims_value)(
        void *arg, tn_value_id v, const int64_t *dims, uint32_t n);
    /* Scratch of one inference, at least tn__infer_scratch_size(); NULL: 16 KiB of stack,
     * enough for a few hundred inputs. */
    void *scratch;
    uint64_t scratch_size;
};
/* Bytes of scratch that any node of the graph may want. */
uint64_t tn__infer_scratch_size(const struct tn_graph *g);
/* Calls the node's inference against the environment; allocates nothing. Any symbol that
 * the definition leaves comes out as TN_DIM_UNKNOWN. Definitions without inference leave
 * types unknown. Outputs of subgraphs have the types inferred at load. */
tn_status tn__infer_concrete(const struct tn_host *host, const struct tn_graph *g,
    tn_node_id id, const struct tn__shape_env *env, struct tn_diag *diag);

/* Refuses a type that no definition may give: its parts contradict each other. */
tn_status tn__type_check(const struct tn_type *type, struct tn_diag *diag);

#endif
