/* Copies of graph bodies: a function's nodes into the place of a call, with names made
 * new, attribute references replaced, and subgraphs copied along. */
#include "core/base/alloc.h"
#include "core/graph/graph.h"
#include "core/graph/graph_use.h"

#include <string.h>

enum { MAX_DEPTH = 100 };

struct copier {
    const struct tn__clone *clone;
    struct tn_graph *dst;
    const struct tn_graph *src;
    tn_node_id before;
    tn_value_id *map; /* [src->n_values] */
    uint32_t depth;   /* of subgraphs */
};

static tn_status copy_subgraph(const struct copier *outer, const struct tn_graph *src,
    const tn_value_id *outer_map, struct tn_graph **out, struct tn_diag *diag);

/* ---- values ---------------------------------------------------------- */

/* A value of dst for v of src, under this name when it is free. */
static tn_status copy_value(
    struct copier *c, tn_value_id v, const char *name, struct tn_diag *diag) {
    const struct tn__value *value = &c->src->values[v];
    bool taken = name && tn__graph_find(c->dst, name) != TN_NO_ID;
    tn_value_id copy = tn__graph_add_value(c->dst, taken ? NULL : name);
    if (copy == TN_NO_ID)
        return tn__fail_memory(diag, "a value", sizeof(struct tn__value));
    c->map[v] = copy;
    if (value->constant && !(value->flags & TN_VALUE_CAPTURE))
        return tn__graph_set_constant(c->dst, copy, value->constant, diag);
    return TN_OK;
}

/* Symbols of a body mean something else in each copy. */
static tn_status copy_type(struct copier *c, tn_value_id v, struct tn_diag *diag) {
    const struct tn__value *value = &c->src->values[v];
    struct tn__value *copy = &c->dst->values[c->map[v]];
    if (!(value->flags & TN_VALUE_DECLARED) || value->constant) return TN_OK;
    TN_TRY(tn__graph_set_type(c->dst, c->map[v], &value->type, diag));
    for (int32_t i = 0; i < copy->type.rank; i++) {
        if (copy->type.dims[i] < 0)
            ((int64_t *)(uintptr_t)copy->type.dims)[i] = TN_DIM_UNKNOWN;
    }
    copy->flags |= TN_VALUE_DECLARED;
    return TN_OK;
}

/* ---- attributes ------------------------------------------------------ */

static tn_status copy_graphs(const struct copier *c, const struct tn_attr *attr,
    const tn_value_id *outer_map, struct tn_attr *out, struct tn_diag *diag) {
    struct tn_graph **graphs =
        tn__arena_array(c->dst->arena, attr->count, sizeof *graphs);
    if (!graphs) return tn__fail_memory(diag, "subgraphs", attr->count * sizeof *graphs);
    for (uint32_t i = 0; i < attr->count; i++)
        TN_TRY(copy_subgraph(c, attr->as.graphs[i], outer_map, &graphs[i], diag));
    out->as.graphs = graphs;
    return TN_OK;
}

/* A subgraph that a call passes to a function may read what surrounds the call. */
static tn_status copy_passed_graphs(const struct copier *c, const struct tn_attr *attr,
    struct tn_attr *out, struct tn_diag *diag) {
    struct tn_graph *scope = c->dst;
    tn_value_id *same = tn__alloc((uint64_t)scope->n_values * sizeof *same, 0);
    if (!same) return tn__fail_memory(diag, "a subgraph", scope->n_values);
    for (tn_value_id v = 0; v < scope->n_values; v++)
        same[v] = v;
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < attr->count && status == TN_OK; i++) {
        if (attr->as.graphs[i]->parent != scope)
            status = tn_fail(diag, TN_UNSUPPORTED,
                "the graph attribute '%s' of a function call is used in a subgraph of "
                "the function",
                attr->name);
    }
    if (status == TN_OK) status = copy_graphs(c, attr, same, out, diag);
    tn__free(same);
    return status;
}

/* *out_kept false: a reference to an attribute that the call leaves out. */
static tn_status copy_one_attr(const struct copier *c, const struct tn_attr *attr,
    struct tn_attr *out, bool *out_kept, struct tn_diag *diag) {
    const struct tn_attr *source = attr;
    *out_kept = true;
    if (attr->ref) {
        source = c->clone->attr ? c->clone->attr(c->clone->arg, attr->ref) : NULL;
        *out_kept = source != NULL;
        if (!source) return TN_OK;
        if (attr->type && source->type != attr->type)
            return tn_fail(diag, TN_INVALID_MODEL,
                "attribute '%s' has type %u where a function body expects type %u",
                attr->ref, source->type, attr->type);
    }
    *out = *source;
    out->name = attr->name;
    out->ref = NULL;
    if (out->type != TN_ATTR_GRAPH && out->type != TN_ATTR_GRAPHS) return TN_OK;
    return attr->ref ? copy_passed_graphs(c, source, out, diag)
                     : copy_graphs(c, source, c->map, out, diag);
}

/* ---- nodes ----------------------------------------------------------- */

static tn_status attach_subgraph(void *arg, struct tn_graph *sub) {
    tn__subgraph_attach(sub, *(const tn_node_id *)arg);
    return TN_OK;
}

static void map_ids(
    const struct copier *c, const tn_value_id *ids, uint32_t n, tn_value_id *out) {
    for (uint32_t i = 0; i < n; i++)
        out[i] = ids[i] == TN_NO_ID ? TN_NO_ID : c->map[ids[i]];
}

static tn_status insert_copy(struct copier *c, const struct tn__node *node,
    const struct tn_attr *attrs, uint32_t n_attrs, const tn_value_id *ids,
    struct tn_diag *diag) {
    const struct tn_node *view = &node->view;
    const char *prefix = c->depth == 0 ? c->clone->prefix : "";
    const char *name = view->name;
    if (prefix[0] != '\0')
        name = tn__arena_format(c->dst->arena, "%s/%s", prefix, view->name);
    if (!name) return tn__fail_memory(diag, "the name of a node", strlen(view->name));
    tn_node_id id;
    TN_TRY(tn__graph_add_node(c->dst, c->before, name, view->domain, view->op_type, ids,
        view->n_inputs, ids + view->n_inputs, view->n_outputs, attrs, n_attrs, &id,
        diag));
    struct tn__node *copy = &c->dst->nodes[id];
    copy->is_function = node->is_function;
    copy->overload = node->overload;
    return tn__node_subgraphs(copy, attach_subgraph, &id);
}

static tn_status copy_node(
    struct copier *c, const struct tn__node *node, struct tn_diag *diag) {
    const struct tn_node *view = &node->view;
    if (++*c->clone->n_nodes > c->clone->max_nodes)
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "the model has more than %llu nodes once its functions are expanded: raise "
            "the limit on nodes if the model is trusted",
            (unsigned long long)c->clone->max_nodes);
    struct tn_attr *attrs = tn__alloc(view->n_attrs * sizeof *attrs, 0);
    uint64_t n_ids = (uint64_t)view->n_inputs + view->n_outputs;
    tn_value_id *ids = tn__alloc(n_ids * sizeof *ids, 0);
    tn_status status =
        attrs && ids ? TN_OK : tn__fail_memory(diag, "a node", n_ids * sizeof *ids);
    uint32_t n = 0;
    for (uint32_t i = 0; i < view->n_attrs && status == TN_OK; i++) {
        bool kept = true;
        status = copy_one_attr(c, &view->attrs[i], &attrs[n], &kept, diag);
        n += kept;
    }
    if (status == TN_OK) {
        map_ids(c, view->inputs, view->n_inputs, ids);
        map_ids(c, view->outputs, view->n_outputs, ids + view->n_inputs);
        status = insert_copy(c, node, attrs, n, ids, diag);
    }
    tn__free(attrs);
    tn__free(ids);
    return status;
}

static tn_status copy_nodes(struct copier *c, struct tn_diag *diag) {
    for (tn_node_id id = c->src->first; id != TN_NO_ID; id = c->src->nodes[id].next) {
        tn_status status = copy_node(c, &c->src->nodes[id], diag);
        TN_TRY(tn__node_context(diag, &c->src->nodes[id], status));
    }
    return TN_OK;
}

/* ---- subgraphs ------------------------------------------------------- */

/* The subgraph's name for a value of the graph around it, which may have got a new one.
 */
static tn_status copy_capture(
    struct copier *c, tn_value_id v, const tn_value_id *outer_map, struct tn_diag *diag) {
    tn_value_id outer = outer_map[c->src->values[v].outer];
    if (outer == TN_NO_ID) return TN_OK; /* an input that the call leaves out */
    TN_TRY(copy_value(c, v, c->dst->parent->values[outer].name, diag));
    if (!tn__capture_connect(c->dst, c->map[v], outer))
        return tn__fail_memory(diag, "a capture", sizeof(struct tn__use));
    return TN_OK;
}

static tn_status copy_interface(struct copier *c, struct tn_diag *diag) {
    for (uint32_t i = 0; i < c->src->n_inputs; i++)
        TN_TRY(tn__graph_add_input(c->dst, c->map[c->src->inputs[i]], diag));
    for (uint32_t i = 0; i < c->src->n_outputs; i++) {
        tn_value_id v = c->map[c->src->outputs[i]];
        if (v == TN_NO_ID)
            return tn_fail(diag, TN_INVALID_MODEL,
                "the subgraph '%s' returns an input that the function call leaves out",
                c->src->name);
        TN_TRY(tn__graph_add_output(c->dst, v, diag));
        c->dst->output_names[i] = c->src->output_names[i];
    }
    return TN_OK;
}

static tn_status fill_subgraph(
    struct copier *c, const tn_value_id *outer_map, struct tn_diag *diag) {
    const struct tn_graph *src = c->src;
    for (tn_value_id v = 0; v < src->n_values; v++) {
        c->map[v] = TN_NO_ID;
        if (src->values[v].flags & TN_VALUE_CAPTURE) continue;
        TN_TRY(copy_value(c, v, src->values[v].name, diag));
        TN_TRY(copy_type(c, v, diag));
    }
    for (tn_value_id v = 0; v < src->n_values; v++) {
        if (src->values[v].flags & TN_VALUE_CAPTURE)
            TN_TRY(copy_capture(c, v, outer_map, diag));
    }
    TN_TRY(copy_interface(c, diag));
    return copy_nodes(c, diag);
}

static tn_status copy_subgraph(const struct copier *outer, const struct tn_graph *src,
    const tn_value_id *outer_map, struct tn_graph **out, struct tn_diag *diag) {
    if (outer->depth >= MAX_DEPTH)
        return tn_fail(
            diag, TN_LIMIT_EXCEEDED, "subgraphs nest deeper than %d", MAX_DEPTH);
    struct copier c = {
        .clone = outer->clone, .src = src, .before = TN_NO_ID, .depth = outer->depth + 1};
    c.dst = tn__graph_create(outer->dst->model, outer->dst);
    c.map = tn__alloc((uint64_t)src->n_values * sizeof *c.map, 0);
    tn_status status = TN_OUT_OF_MEMORY;
    if (c.dst && c.map) {
        c.dst->name = src->name;
        c.dst->opsets = src->opsets;
        c.dst->n_opsets = src->n_opsets;
        status = fill_subgraph(&c, outer_map, diag);
    } else {
        (void)tn__fail_memory(diag, "a subgraph", src->n_values * sizeof *c.map);
    }
    tn__free(c.map);
    if (status == TN_OK) *out = c.dst;
    return status;
}

/* ---- a body in place of a call --------------------------------------- */

/* Values of the body that the call does not give: new ones, named after the call. */
static tn_status copy_inner_values(struct copier *c, struct tn_diag *diag) {
    for (tn_value_id v = 0; v < c->src->n_values; v++) {
        const struct tn__value *value = &c->src->values[v];
        if (c->map[v] != TN_NO_ID || (value->flags & TN_VALUE_INPUT)) continue;
        const char *name = value->name;
        if (c->clone->prefix[0] != '\0')
            name =
                tn__arena_format(c->dst->arena, "%s/%s", c->clone->prefix, value->name);
        TN_TRY(copy_value(c, v, name, diag));
    }
    return TN_OK;
}

tn_status tn__graph_clone_into(struct tn_graph *dst, tn_node_id before,
    const struct tn_graph *src, tn_value_id *map, const struct tn__clone *clone,
    struct tn_diag *diag) {
    struct copier c = {
        .clone = clone, .dst = dst, .src = src, .before = before, .map = map};
    TN_TRY(copy_inner_values(&c, diag));
    return copy_nodes(&c, diag);
}
