/* The graph as plugins see it: nodes, attributes, types, and the table to read and edit
 * it.
 *
 * Nodes and values are 32-bit handles, valid while the graph lives. Pointers returned by
 * the table are borrowed until the graph is next edited. The same table serves upgrade
 * adapters, expansion builders, optimiser passes and a provider's capability check (which
 * may only read).
 *
 * Includes nothing but libc. C11 and C++17. */
#ifndef TENON_GRAPH_H
#define TENON_GRAPH_H

#include "tenon/status.h"
#include "tenon/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_graph; /* opaque */
typedef uint32_t tn_node_id;
typedef uint32_t tn_value_id;
#define TN_NO_ID UINT32_MAX /* an absent optional input or output; no producer */

/* A dimension: >= 0 is its size, < 0 is a symbol. Two equal symbols are equal sizes. */
#define TN_DIM_UNKNOWN                                                                   \
    INT64_MIN /* a size nothing is known of; a new symbol where stored */
/* Symbols of the host lie at and below this number. In the content of a tensor
 * (dims_value) a negative number above it is that number, such as the -1 of a wanted
 * shape. */
#define TN_DIM_SYMBOL_MAX (-(INT64_C(1) << 62))

/* A type with its shape. Frozen. `rank` -1 = unknown rank (dims NULL). For a sequence,
 * map or optional, dtype, rank and dims describe the tensors inside. */
struct tn_type {
    uint32_t kind;      /* TN_KIND_*; ABSENT = unknown or not there */
    uint32_t elem_kind; /* sequence, optional: kind of what is inside */
    int32_t dtype;      /* element type; maps: of the values */
    int32_t key_dtype;  /* maps: TN_INT64 or TN_STRING */
    int32_t rank;
    uint32_t reserved;
    const int64_t *dims;
};

/* Attribute types, ONNX's AttributeProto numbers. */
enum {
    TN_ATTR_FLOAT = 1,
    TN_ATTR_INT = 2,
    TN_ATTR_STRING = 3,
    TN_ATTR_TENSOR = 4,
    TN_ATTR_GRAPH = 5,
    TN_ATTR_FLOATS = 6,
    TN_ATTR_INTS = 7,
    TN_ATTR_STRINGS = 8,
    TN_ATTR_TENSORS = 9,
    TN_ATTR_GRAPHS = 10,
    TN_ATTR_SPARSE_TENSOR = 11,
    TN_ATTR_SPARSE_TENSORS = 12,
    TN_ATTR_TYPE_PROTO = 13,
    TN_ATTR_TYPE_PROTOS = 14
};

/* One attribute. Frozen. A single value is a list of one: `as.ints[0]`. */
struct tn_attr {
    const char *name;
    uint32_t type;  /* TN_ATTR_* */
    uint32_t count; /* elements behind `as`; 1 for single values */
    union {
        const void *ptr;
        const float *floats;
        const int64_t *ints;
        const struct tn_string *strings;
        const struct tn_tensor *tensors;
        const struct tn_sparse *sparse;
        const struct tn_type *types;
        struct tn_graph *const *graphs;
    } as;
    const char
        *ref; /* inside a function body: the formal attribute it stands for, or NULL */
};

/* One node. Frozen prefix; read only. */
struct tn_node {
    uint32_t struct_size;
    uint32_t flags;
    tn_node_id id;
    int32_t since; /* version of the definition the node now follows */
    const char *name;
    const char *domain; /* "" is ai.onnx */
    const char *op_type;
    const tn_value_id *inputs; /* TN_NO_ID where omitted */
    const tn_value_id *outputs;
    const struct tn_attr *attrs;
    uint32_t n_inputs, n_outputs, n_attrs, reserved;
};

/* Reading and editing a graph. [setup]: one thread at a time per graph. */
struct tn_graph_api {
    uint32_t struct_size;
    uint32_t flags;

    /* -- reading -- */
    /* Node ids in topological order; valid until the next edit. */
    void (*nodes)(const struct tn_graph *g, const tn_node_id **out_ids, uint32_t *out_n);
    const struct tn_node *(*node)(const struct tn_graph *g, tn_node_id id);
    void (*inputs)(
        const struct tn_graph *g, const tn_value_id **out_ids, uint32_t *out_n);
    void (*outputs)(
        const struct tn_graph *g, const tn_value_id **out_ids, uint32_t *out_n);
    const char *(*value_name)(const struct tn_graph *g, tn_value_id v);
    const struct tn_type *(*value_type)(const struct tn_graph *g, tn_value_id v);
    /* The content when it is a constant (and not an overridable initializer), else NULL.
     */
    const struct tn_tensor *(*constant)(const struct tn_graph *g, tn_value_id v);
    /* Producing node and its output index; TN_NO_ID for inputs and initializers. */
    tn_node_id (*producer)(const struct tn_graph *g, tn_value_id v, uint32_t *out_index);
    /* Nodes that read v, each once, those whose subgraphs capture it included. */
    void (*consumers)(const struct tn_graph *g, tn_value_id v, const tn_node_id **out_ids,
        uint32_t *out_n);
    /* 1 when v is an output of the graph or captured by a subgraph: it must keep
     * existing. */
    int32_t (*is_visible)(const struct tn_graph *g, tn_value_id v);
    /* Version of `domain` that the model (or function) imports, 0 when it does not. */
    int32_t (*opset)(const struct tn_graph *g, const char *domain);

    /* -- editing: out-params are untouched on failure -- */
    /* Appends a node before `before` (TN_NO_ID: at the end), following the newest
     * definition of its operator (`since` 0) or the given one; creates n_outputs fresh
     * values. The name is derived from `origin` (may be TN_NO_ID), for messages and
     * profiles. Types of the outputs are inferred at once. */
    tn_status (*add_node)(struct tn_graph *g, tn_node_id before, tn_node_id origin,
        const char *domain, const char *op_type, int32_t since, const tn_value_id *inputs,
        uint32_t n_inputs, const struct tn_attr *attrs, uint32_t n_attrs,
        tn_value_id *outputs, uint32_t n_outputs, tn_node_id *out_id,
        struct tn_diag *diag);
    /* A constant of this type whose data the caller fills at once; out_data has `size` of
     * the dense tensor. */
    tn_status (*add_constant)(struct tn_graph *g, const char *name, int32_t dtype,
        const int64_t *dims, uint32_t rank, tn_value_id *out_value, void **out_data,
        struct tn_diag *diag);
    /* Removes a node whose outputs have no readers. */
    tn_status (*remove_node)(struct tn_graph *g, tn_node_id id, struct tn_diag *diag);
    /* Every reader of `from`, graph outputs included, reads `to`. A graph output keeps
     * its name. */
    tn_status (*replace_uses)(
        struct tn_graph *g, tn_value_id from, tn_value_id to, struct tn_diag *diag);
    tn_status (*set_input)(struct tn_graph *g, tn_node_id id, uint32_t index,
        tn_value_id v,
        struct tn_diag *diag); /* index may be n_inputs (and beyond): the list grows */
    tn_status (*set_attr)(struct tn_graph *g, tn_node_id id, const struct tn_attr *attr,
        struct tn_diag *diag); /* deep copy; replaces one of the same name */
    tn_status (*remove_attr)(struct tn_graph *g, tn_node_id id, const char *name);
    /* The node becomes another operator at version `since`; inputs and attributes stay.
     */
    tn_status (*set_op)(struct tn_graph *g, tn_node_id id, const char *domain,
        const char *op_type, int32_t since, struct tn_diag *diag);
    /* Makes output `index` of the node a fresh value and returns the value that stood
     * there, so that nodes appended behind can produce it. */
    tn_status (*detach_output)(struct tn_graph *g, tn_node_id id, uint32_t index,
        tn_value_id *out_fresh, tn_value_id *out_old, struct tn_diag *diag);
    /* Lets output `index` of the node produce `v`, a value without a producer. */
    tn_status (*attach_output)(struct tn_graph *g, tn_node_id id, uint32_t index,
        tn_value_id v, struct tn_diag *diag);
    /* Infers the node's output types anew after its inputs or attributes changed. */
    tn_status (*infer_node)(struct tn_graph *g, tn_node_id id, struct tn_diag *diag);
    /* 1 when constant() would give the content: asking for the content may cost a copy of
     * it, asking this does not. */
    int32_t (*is_constant)(const struct tn_graph *g, tn_value_id v);
};
#define TN_GRAPH_API_SIZE ((uint32_t)TN_END_OF(struct tn_graph_api, is_constant))

/* The attribute of that name, or NULL. */
static inline const struct tn_attr *tn_node_attr(
    const struct tn_node *node, const char *name) {
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        const char *a = node->attrs[i].name, *b = name;
        while (*a && *a == *b) {
            a++;
            b++;
        }
        if (*a == *b) return &node->attrs[i];
    }
    return NULL;
}

#ifdef __cplusplus
}
#endif
#endif
