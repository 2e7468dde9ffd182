/* Reading a graph: order, labels, attributes, subgraphs. */
#include "core/graph/graph.h"

#include "core/base/alloc.h"
#include "core/base/checked.h"

#include <stdio.h>
#include <string.h>

const tn_node_id *tn__graph_order(const struct tn_graph *g, uint32_t *out_n) {
    /* The array is a cache of the list: making it anew does not change the graph. */
    struct tn_graph *own = (struct tn_graph *)g;
    if (own->order_dirty) {
        if (!tn__arena_grow(own->arena, (void **)&own->order, &own->cap_order,
                own->n_live, sizeof *own->order)) {
            *out_n = 0;
            return NULL;
        }
        uint32_t n = 0;
        for (tn_node_id id = g->first; id != TN_NO_ID; id = g->nodes[id].next)
            own->order[n++] = id;
        own->n_order = n;
        own->order_dirty = false;
    }
    *out_n = own->n_order;
    return own->order;
}

tn_status tn__node_subgraphs(const struct tn__node *node, tn__subgraph_fn fn, void *arg) {
    for (uint32_t a = 0; a < node->view.n_attrs; a++) {
        const struct tn_attr *attr = &node->view.attrs[a];
        if (attr->type != TN_ATTR_GRAPH && attr->type != TN_ATTR_GRAPHS) continue;
        for (uint32_t i = 0; i < attr->count; i++)
            TN_TRY(fn(arg, attr->as.graphs[i]));
    }
    return TN_OK;
}

const char *tn__node_label(const struct tn__node *node, char *buf, size_t size) {
    if (node->view.name[0] != '\0')
        snprintf(buf, size, "'%s'", node->view.name);
    else
        snprintf(buf, size, "#%u", node->view.id);
    return buf;
}

const char *tn__node_op_label(const struct tn__node *node, char *buf, size_t size) {
    const struct tn_node *view = &node->view;
    const char *dot = view->domain[0] != '\0' ? "." : "";
    if (view->since > 0)
        snprintf(buf, size, "%s%s%s-%d", view->domain, dot, view->op_type, view->since);
    else
        snprintf(buf, size, "%s%s%s", view->domain, dot, view->op_type);
    return buf;
}

tn_status tn__node_context(
    struct tn_diag *diag, const struct tn__node *node, tn_status status) {
    char buf[2 * TN_DIAG_NAME_SIZE], op[2 * TN_DIAG_NAME_SIZE];
    if (status == TN_OK) return status;
    /* plugins may return any number, and forget the sentence */
    if (status < TN_OK || status > TN_INTERNAL) status = TN_PLUGIN;
    if (!diag) return status;
    if (diag->message[0] == '\0')
        (void)tn_fail(diag, status, "node %s (%s) failed, and its plugin gave no reason",
            tn__node_label(node, buf, sizeof buf),
            tn__node_op_label(node, op, sizeof op));
    diag->code = status;
    if (diag->node[0] == '\0') {
        bool named = node->view.name[0] != '\0';
        tn__diag_name(diag, diag->node,
            named ? node->view.name : tn__node_label(node, buf, sizeof buf));
    }
    if (diag->op[0] == '\0')
        tn__diag_name(diag, diag->op, tn__node_op_label(node, buf, sizeof buf));
    return status;
}

/* ---- copies --------------------------------------------------------------------------- */

/* Bytes of one element behind `as`, by attribute type. */
static const uint8_t attr_element_size[] = {
    [TN_ATTR_FLOAT] = sizeof(float),
    [TN_ATTR_FLOATS] = sizeof(float),
    [TN_ATTR_INT] = sizeof(int64_t),
    [TN_ATTR_INTS] = sizeof(int64_t),
    [TN_ATTR_STRING] = sizeof(struct tn_string),
    [TN_ATTR_STRINGS] = sizeof(struct tn_string),
    [TN_ATTR_TENSOR] = sizeof(struct tn_tensor),
    [TN_ATTR_TENSORS] = sizeof(struct tn_tensor),
    [TN_ATTR_GRAPH] = sizeof(struct tn_graph *),
    [TN_ATTR_GRAPHS] = sizeof(struct tn_graph *),
    [TN_ATTR_SPARSE_TENSOR] = sizeof(struct tn_sparse),
    [TN_ATTR_SPARSE_TENSORS] = sizeof(struct tn_sparse),
    [TN_ATTR_TYPE_PROTO] = sizeof(struct tn_type),
    [TN_ATTR_TYPE_PROTOS] = sizeof(struct tn_type),
};

static bool copy_dims(struct tn_arena *arena, const int64_t **dims, uint64_t rank) {
    if (rank == 0 || !*dims) return true;
    *dims = tn__arena_copy(arena, *dims, rank * sizeof **dims);
    return *dims != NULL;
}

static bool copy_string(struct tn_arena *arena, struct tn_string *string) {
    string->data = tn__arena_string(arena, string->data, string->size);
    return string->data != NULL;
}

/* Copies what one element points to, except tensor data and graphs. */
static bool copy_element(struct tn_arena *arena, uint32_t type, void *element) {
    switch (type) {
    case TN_ATTR_STRING:
    case TN_ATTR_STRINGS: return copy_string(arena, element);
    case TN_ATTR_TENSOR:
    case TN_ATTR_TENSORS: {
        struct tn_tensor *tensor = element;
        return copy_dims(arena, &tensor->dims, tensor->rank);
    }
    case TN_ATTR_SPARSE_TENSOR:
    case TN_ATTR_SPARSE_TENSORS: {
        struct tn_sparse *sparse = element;
        return copy_dims(arena, &sparse->dims, sparse->rank);
    }
    case TN_ATTR_TYPE_PROTO:
    case TN_ATTR_TYPE_PROTOS: {
        struct tn_type *tensor_type = element;
        return tensor_type->rank <= 0 ||
               copy_dims(arena, &tensor_type->dims, (uint64_t)tensor_type->rank);
    }
    default: return true;
    }
}

/* Long enough that asking for its arena costs less than copying it. */
static bool is_long_list(const struct tn_attr *attr) {
    return attr->count >= 4096 && !attr->ref &&
           (attr->type == TN_ATTR_FLOATS || attr->type == TN_ATTR_INTS ||
               attr->type == TN_ATTR_STRINGS);
}

tn_status tn__attr_copy(struct tn_arena *arena, const struct tn_attr *src,
    struct tn_attr *out, struct tn_diag *diag) {
    if (src->type >= sizeof attr_element_size || (src->type == 0 && !src->ref))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "attribute '%s' has the unknown type %u", src->name, src->type);
    uint64_t size = attr_element_size[src->type];
    struct tn_attr copy = *src;
    copy.name = tn__arena_string(arena, src->name, strlen(src->name));
    if (is_long_list(src) && tn__arena_owns(arena, src->as.ptr)) {
        *out = copy; /* attributes never change: it may be shared */
        return copy.name ? TN_OK : tn__fail_memory(diag, "an attribute", size);
    }
    copy.as.ptr = tn__arena_copy(arena, src->as.ptr, size * src->count);
    if (src->ref) copy.ref = tn__arena_string(arena, src->ref, strlen(src->ref));
    bool done = copy.name && copy.as.ptr && (!src->ref || copy.ref);
    for (uint32_t i = 0; done && i < src->count; i++)
        done = copy_element(arena, src->type, (char *)(uintptr_t)copy.as.ptr + i * size);
    if (!done) return tn__fail_memory(diag, "an attribute", size * src->count);
    *out = copy;
    return TN_OK;
}
