/* The graph in memory: one arena a model, 32-bit ids, no operator knowledge.
 *
 * A model owns its main graph, its functions and all subgraphs; everything lives in the
 * model's arena and goes at once. A subgraph (the body of a control-flow attribute) is a
 * graph with a parent; a name it takes from outside is a value of its own with `outer`
 * set.
 *
 * Building and editing keep the uses of each value exact. Not thread-safe while edited.
 */
#ifndef TENON_GRAPH_ROOM_H
#define TENON_GRAPH_ROOM_H

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/map.h"
#include "tenon/graph.h"

#include <stdbool.h>

struct tn_op_def;
struct tn__symbols;

/* ---- objects -------------------------------------------------------- */

/* Flags of a value: a graph input; has `constant` (with INPUT too: an overridable default); an
 * output of its graph; a subgraph's name for `outer` of the parent; `type` was declared. */
enum {
    TN_VALUE_INPUT = 1,
    TN_VALUE_INITIALIZER = 2,
    TN_VALUE_OUTPUT = 4,
    TN_VALUE_CAPTURE = 8,
    TN_VALUE_DECLARED = 16
};

/* One reader of a value: an input slot of a node, or a capture by a subgraph of a node. */
struct tn__use {
    tn_node_id node;
    uint32_t index;       /* input index, or the capturing value's id in `sub` */
    struct tn_graph *sub; /* the capturing subgraph, NULL for an input slot */
};

struct tn__value {
    const char *name;                 /* unique in its graph; "" never stored */
    struct tn_type type;              /* kind ABSENT = unknown yet */
    const struct tn_type *declared;   /* what the model said, once inference ran */
    const struct tn_tensor *constant; /* content, when it is known for good */
    const int64_t *dims_value; /* short integer content with symbols, [n_dims_value] */
    uint32_t n_dims_value;
    uint32_t flags; /* TN_VALUE_* */
    tn_node_id producer;
    uint32_t producer_index;
    tn_value_id outer;  /* CAPTURE: value id in graph->parent … */
    uint32_t outer_pos; /* … and the place among that value's uses */
    uint32_t n_uses, cap_uses;
    struct tn__use *uses;
};

struct tn__node {
    struct tn_node view;         /* what plugins see; arrays in the arena */
    const struct tn_op_def *def; /* set by resolution; NULL before */
    uint32_t cap_inputs, cap_outputs, cap_attrs;
    uint32_t *use_pos;     /* [cap_inputs]: place of input i among its value's uses */
    tn_node_id prev, next; /* neighbours in the order */
    uint32_t mark;         /* scratch of traversals */
    bool dead;             /* removed */
    bool reserved;    /* a named provider claims it: passes of plugins leave it alone */
    bool is_function; /* calls a function of the model */
    const char *overload; /* of a function call, "" */
};

struct tn_graph {
    struct tn_arena *arena; /* the model's */
    struct tn__model *model;
    struct tn_graph *parent; /* NULL for a main graph or a function body */
    tn_node_id parent_node;  /* in the parent: the node that has this as attribute */
    const struct tn__opset *opsets; /* of the model or the function it came from */
    uint32_t n_opsets;
    const char *name;
    struct tn__value *values;
    uint32_t n_values, cap_values;
    struct tn__node *nodes; /* by id, dead ones included */
    uint32_t n_nodes, cap_nodes;
    tn_node_id first, last; /* the order as a list … */
    tn_node_id *order; /* … and as an array, made anew when it is read after an edit */
    uint32_t n_order, cap_order;
    bool order_dirty;
    uint32_t n_live; /* nodes that are not dead */
    uint32_t stamp;  /* last value of a node's mark */
    tn_value_id *inputs;
    uint32_t n_inputs, cap_inputs;
    tn_value_id *outputs;
    const char **output_names; /* [n_outputs]: an edit may put another value there */
    uint32_t n_outputs, cap_outputs, cap_output_names;
    struct tn_str_map names;     /* value name → id; memory outside the arena */
    uint32_t fresh;              /* counter for invented names */
    struct tn_graph *next_graph; /* all graphs of the model, for destruction */
    tn_node_id *scratch_ids;     /* what consumers() last returned */
    uint32_t cap_scratch;
};

struct tn__opset {
    const char *domain; /* "" is ai.onnx ("ai.onnx" is stored as "") */
    int64_t version;
};

struct tn__pair {
    const char *key, *value;
};

/* A function of the model. Its body is a graph whose attributes may be references. */
struct tn__function {
    const char *domain, *name, *overload;
    struct tn_graph *body;    /* inputs and outputs are the formals */
    const char *const *attrs; /* formal attributes without default */
    const struct tn_attr *attr_defaults;
    uint32_t n_attrs, n_attr_defaults;
};

/* What the infer room adds to edits: called after a node was added or asked to be
 * inferred. The node is resolved (since 0: to the newest version) and its outputs get
 * types. */
struct tn__graph_hooks {
    tn_status (*node_added)(void *arg, struct tn_graph *g, tn_node_id id, int32_t since,
        struct tn_diag *diag);
    tn_status (*infer)(
        void *arg, struct tn_graph *g, tn_node_id id, struct tn_diag *diag);
    void *arg;
};

/* Something that must stay open while the model lives (a file mapping). */
struct tn__resource {
    struct tn__resource *next;
    void (*release)(void *arg);
    void *arg;
    /* Tells the system that [data, data + size) is not needed for now; may be NULL. */
    void (*forget)(void *arg, const void *data, uint64_t size);
    const void *data; /* extent, so that the resource of a pointer can be found */
    uint64_t size;
    bool is_block; /* its pages can go before the model does */
    bool needed;   /* scratch of the plan: somebody reads the block while running */
};

struct tn__model {
    struct tn_arena *arena;
    struct tn__symbols *symbols; /* dimension symbols of the whole model */
    int64_t ir_version, model_version;
    const char *producer_name, *producer_version, *domain, *doc;
    const char *path; /* for messages; "" when from memory */
    struct tn__opset *opsets;
    uint32_t n_opsets;
    struct tn__pair *metadata;
    uint32_t n_metadata;
    struct tn__function *functions;
    uint32_t n_functions;
    struct tn_graph *graph;
    struct tn_graph *graphs; /* all, linked by next_graph */
    struct tn__resource *resources;
    struct tn__graph_hooks hooks; /* functions NULL until the infer room sets them */
    const char **warnings;        /* sentences to show once */
    uint32_t n_warnings, cap_warnings;
};

/* ---- building (graph_build.c) --------------------------------------------------------
 */

/* NULL when there is no memory. */
struct tn__model *tn__model_create(void);
void tn__model_destroy(struct tn__model *model);
/* Takes over the release of a resource; on failure it is released at once. */
tn_status tn__model_own(
    struct tn__model *model, const struct tn__resource *resource, struct tn_diag *diag);
/* Lets the pages of a constant go, when a resource of the model backs them. */
void tn__model_forget(struct tn__model *model, const void *data, uint64_t size);
/* Memory for a constant that lives as long as the model: zeroed, aligned to 64; NULL when
 * there is none. A large one is a block, whose pages can be given back early. */
void *tn__model_constant(struct tn__model *model, uint64_t size);
/* Gives back the pages of every block that is not `needed`: nobody reads them any more. */
void tn__model_drop_blocks(struct tn__model *model);
/* The block that holds this address, NULL when it is elsewhere. */
struct tn__resource *tn__model_find_block(struct tn__model *model, const void *data);
tn_status tn__model_warn(struct tn__model *model, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An empty graph of the model; parent may be NULL. Opsets are the model's until changed.
 */
struct tn_graph *tn__graph_create(struct tn__model *model, struct tn_graph *parent);
/* A value of this name (copied); TN_NO_ID on no memory. The name must be new in the
 * graph; NULL or "" invents one. */
tn_value_id tn__graph_add_value(struct tn_graph *g, const char *name);
/* Value of a name in this graph, TN_NO_ID when there is none. */
tn_value_id tn__graph_find(const struct tn_graph *g, const char *name);
/* As find, and when an enclosing graph has the name, a capture is made in every graph on
 * the way. TN_NO_ID when no scope has it or there is no memory. */
tn_value_id tn__graph_capture(struct tn_graph *g, const char *name);
/* Says which node of the parent has this subgraph as attribute: after the node was added, as
 * the subgraph was built first. */
void tn__subgraph_attach(struct tn_graph *sub, tn_node_id parent_node);
tn_status tn__graph_add_input(struct tn_graph *g, tn_value_id v, struct tn_diag *diag);
/* Under the value's name. The same value may be listed twice. */
tn_status tn__graph_add_output(struct tn_graph *g, tn_value_id v, struct tn_diag *diag);
/* Inserts a node in front of `before`, TN_NO_ID = at the end; names, domain and ids are
 * copied, attributes deep-copied except tensor data and graphs. The producers of its
 * outputs are set: each must be a value without one. */
tn_status tn__graph_add_node(struct tn_graph *g, tn_node_id before, const char *name,
    const char *domain, const char *op_type, const tn_value_id *inputs, uint32_t n_inputs,
    const tn_value_id *outputs, uint32_t n_outputs, const struct tn_attr *attrs,
    uint32_t n_attrs, tn_node_id *out_id, struct tn_diag *diag);
tn_status tn__graph_set_type(
    struct tn_graph *g, tn_value_id v, const struct tn_type *type, struct tn_diag *diag);
/* Deep copy of an attribute into the arena, except tensor data and graphs. */
tn_status tn__attr_copy(struct tn_arena *arena, const struct tn_attr *src,
    struct tn_attr *out, struct tn_diag *diag);

/* ---- reading -------------------------------------------------------- */

static inline struct tn__value *tn__value_at(const struct tn_graph *g, tn_value_id v) {
    return &g->values[v];
}

static inline struct tn__node *tn__node_at(const struct tn_graph *g, tn_node_id id) {
    return &g->nodes[id];
}

/* Live nodes in topological order: a snapshot, which stays readable while the graph is
 * edited but then lists removed nodes and misses new ones. */
const tn_node_id *tn__graph_order(const struct tn_graph *g, uint32_t *out_n);
/* Attributes of type GRAPH(S) of a node, called for each subgraph. */
typedef tn_status (*tn__subgraph_fn)(void *arg, struct tn_graph *sub);
tn_status tn__node_subgraphs(const struct tn__node *node, tn__subgraph_fn fn, void *arg);
/* "'name'" or "#id" of a node for messages, into buf. */
const char *tn__node_label(const struct tn__node *node, char *buf, size_t size);
/* "domain.Type-version", "Type-version" in ai.onnx. */
const char *tn__node_op_label(const struct tn__node *node, char *buf, size_t size);
/* Fills diag's node and op fields from the node when they are still empty; returns
 * status. */
tn_status tn__node_context(
    struct tn_diag *diag, const struct tn__node *node, tn_status status);

/* ---- alignment (align.c) --------------------------------------------------------------
 */

/* Data of a large constant may lie at any address of a mapped file: whoever hands it to a
 * plugin, or reads elements, aligns it first. */
bool tn__tensor_aligned(const struct tn_tensor *tensor);
/* The tensor, its data moved when it is not aligned to its elements; NULL for NULL and on
 * no memory. [setup only] */
const struct tn_tensor *tn__tensor_align(
    struct tn__model *model, const struct tn_tensor *tensor);

/* ---- topology (topo.c) ---------------------------------------------------------------
 */

/* Sorts the order topologically, stable with respect to the present one. A cycle is
 * TN_INVALID_MODEL that names its nodes. *out_changed may be NULL. Subgraphs of nodes
 * count through their captures. */
tn_status tn__graph_sort(struct tn_graph *g, bool *out_changed, struct tn_diag *diag);

/* Moves the nodes from `from` to the end of the order, which follow another node than
 * `after`, behind that one (TN_NO_ID: to the front). */
void tn__graph_move_tail(struct tn_graph *g, tn_node_id from, tn_node_id after);

/* ---- editing (graph_edit.c) ----------------------------------------------------------
 */

/* The public table. Without model->hooks added nodes stay unresolved and untyped. */
extern const struct tn_graph_api tn__graph_api;

void tn__model_set_hooks(struct tn__model *model, const struct tn__graph_hooks *hooks);

/* Makes a value a constant: `tensor` must live as long as the model. Its producer, if
 * any, loses this output. */
tn_status tn__graph_set_constant(struct tn_graph *g, tn_value_id v,
    const struct tn_tensor *tensor, struct tn_diag *diag);
/* Removes nodes none of whose outputs is read, in subgraphs too, and captures without
 * readers; returns how many nodes. */
uint32_t tn__graph_sweep(struct tn_graph *g);
/* Checks every invariant (uses, producers, order); for tests and debug builds. */
tn_status tn__graph_verify(const struct tn_graph *g, struct tn_diag *diag);

/* ---- copying (graph_clone.c) ----------------------------------------- */

struct tn__clone {
    const char *prefix; /* begins the names of what is new; "" = none */
    /* What a reference inside the body stands for, NULL: the attribute is left out. */
    const struct tn_attr *(*attr)(void *arg, const char *name);
    void *arg;
    uint64_t *n_nodes;  /* counted up, … */
    uint64_t max_nodes; /* … at most to here */
};
/* Copies the nodes of src in front of `before`, subgraphs included. map [src->n_values]
 * says which values of dst stand for values of src, TN_NO_ID for the rest: an input is
 * then absent, anything else gets a new value. */
tn_status tn__graph_clone_into(struct tn_graph *dst, tn_node_id before,
    const struct tn_graph *src, tn_value_id *map, const struct tn__clone *clone,
    struct tn_diag *diag);

/* ---- symbols (symdim.c) --------------------------------------------------------------
 */

struct tn__symbols *tn__symbols_create(struct tn_arena *arena);
void tn__symbols_destroy(struct tn__symbols *symbols);
/* The symbol of a name (made when new); TN_DIM_UNKNOWN on no memory. */
int64_t tn__symbol_named(struct tn__symbols *symbols, const char *name);
/* The symbol of a name, TN_DIM_UNKNOWN when there is none. */
int64_t tn__symbol_find(const struct tn__symbols *symbols, const char *name);
/* Name of the index-th symbol, index < tn__symbols_count; NULL for a nameless one. */
const char *tn__symbol_name(const struct tn__symbols *symbols, uint32_t index);
/* A new symbol without a name. */
int64_t tn__symbol_fresh(struct tn__symbols *symbols);
/* Interned arithmetic, op is TN_DIM_ADD …: canonical sums of products, so that N + 2 + 3
 * and 5 + N are one symbol, (N * 4) / 4 is N. With `symbols` NULL only numbers are known.
 */
int64_t tn__symbol_op(struct tn__symbols *symbols, uint32_t op, int64_t a, int64_t b);
/* "N", "N + 5" …, NULL for a nameless symbol; borrowed. */
const char *tn__symbol_text(struct tn__symbols *symbols, int64_t dim);
/* Gives a symbol a size for good; a different size before is false. */
bool tn__symbol_bind(struct tn__symbols *symbols, int64_t symbol, int64_t size);
/* The size of a symbol or expression once its parts are bound; the symbol itself when
 * not. */
int64_t tn__symbol_resolve(struct tn__symbols *symbols, int64_t dim);
uint32_t tn__symbols_count(const struct tn__symbols *symbols);

#endif
