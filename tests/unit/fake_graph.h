/* Small graphs of made-up operators, written as calls: values are made when they are first
 * named, node("Plus", "a b", "c") appends a node, "-" leaves an input out. */
#ifndef TENON_FAKE_GRAPH_H
#define TENON_FAKE_GRAPH_H

#include "core/graph/graph.h"
#include "core/registry/registry.h"
#include "fake_ops.h"

#include "unit.h"

#include <stdio.h>

static struct tn_diag diag;
static struct tn__registry *registry;
static struct tn__model *model;
static struct tn_graph *graph; /* the one that is being written */

static inline void start_model(int64_t opset) {
    static struct tn__opset opsets[1];
    memset(&diag, 0, sizeof diag);
    opsets[0] = (struct tn__opset){"fake", opset};
    tn__model_destroy(model);
    model = tn__model_create();
    model->opsets = opsets;
    model->n_opsets = 1;
    model->graph = graph = tn__graph_create(model, NULL);
    graph->name = "g";
}

static inline void set_up_registry(void) {
    assert_ok(tn__registry_create(NULL, NULL, &registry, &diag), diag);
    assert_ok(tn__registry_add_static(registry, tn__fake_plugin, &diag), diag);
    start_model(3);
}

static inline void tear_down_registry(void) {
    tn__model_destroy(model);
    tn__registry_destroy(registry);
}

/* A value by name; a subgraph takes it from outside when it is there. */
static inline tn_value_id val(const char *name) {
    tn_value_id v = tn__graph_find(graph, name);
    if (v == TN_NO_ID) v = tn__graph_capture(graph, name);
    if (v == TN_NO_ID) v = tn__graph_add_value(graph, name);
    ck_assert_uint_ne(v, TN_NO_ID);
    return v;
}

/* An output of a node: always of this graph. */
static inline tn_value_id own(const char *name) {
    tn_value_id v = tn__graph_find(graph, name);
    return v == TN_NO_ID ? tn__graph_add_value(graph, name) : v;
}

/* "2 N -1 ?" as dims of `v`: names are symbols, ? is unknown. */
static inline void declare(tn_value_id v, int32_t dtype, const char *shape) {
    char text[128], *save = NULL;
    int64_t dims[16];
    struct tn_type type = {.kind = TN_KIND_TENSOR, .dtype = dtype, .dims = dims};
    snprintf(text, sizeof text, "%s", shape);
    for (char *d = strtok_r(text, " ", &save); d; d = strtok_r(NULL, " ", &save)) {
        char *end;
        long long size = strtoll(d, &end, 10);
        dims[type.rank++] = *end == '\0' ? size
                            : *d == '?'  ? TN_DIM_UNKNOWN
                                         : tn__symbol_named(model->symbols, d);
    }
    if (strcmp(shape, "*") == 0) type.rank = -1;
    assert_ok(tn__graph_set_type(graph, v, &type, &diag), diag);
    graph->values[v].flags |= TN_VALUE_DECLARED;
}

static inline tn_value_id input(const char *name, int32_t dtype, const char *shape) {
    tn_value_id v = own(name);
    declare(v, dtype, shape);
    assert_ok(tn__graph_add_input(graph, v, &diag), diag);
    return v;
}

static inline void output(const char *name) {
    assert_ok(tn__graph_add_output(graph, val(name), &diag), diag);
}

static inline tn_node_id node_with(const char *op, const char *ins, const char *outs,
    const struct tn_attr *attrs, uint32_t n_attrs) {
    char text[256], *save = NULL;
    tn_value_id in[16], out[16];
    uint32_t n_in = 0, n_out = 0;
    tn_node_id id;
    snprintf(text, sizeof text, "%s", ins);
    for (char *v = strtok_r(text, " ", &save); v; v = strtok_r(NULL, " ", &save))
        in[n_in++] = *v == '-' ? TN_NO_ID : val(v);
    snprintf(text, sizeof text, "%s", outs);
    for (char *v = strtok_r(text, " ", &save); v; v = strtok_r(NULL, " ", &save))
        out[n_out++] = *v == '-' ? TN_NO_ID : own(v);
    assert_ok(tn__graph_add_node(graph, TN_NO_ID, op, "fake", op, in, n_in, out, n_out,
                  attrs, n_attrs, &id, &diag),
        diag);
    return id;
}

static inline tn_node_id node(const char *op, const char *ins, const char *outs) {
    return node_with(op, ins, outs, NULL, 0);
}

static inline tn_node_id node_f(
    const char *op, const char *ins, const char *outs, const char *attr, float value) {
    struct tn_attr a = {.name = attr, .type = TN_ATTR_FLOAT, .count = 1};
    a.as.floats = &value;
    return node_with(op, ins, outs, &a, 1);
}

static inline tn_node_id node_i(
    const char *op, const char *ins, const char *outs, const char *attr, int64_t value) {
    struct tn_attr a = {.name = attr, .type = TN_ATTR_INT, .count = 1};
    a.as.ints = &value;
    return node_with(op, ins, outs, &a, 1);
}

/* A tensor in the model's arena; rank 0 when n is -1. */
static inline struct tn_tensor *tensor(
    int32_t dtype, const void *data, int64_t n, uint64_t element) {
    struct tn_tensor *t = tn__arena_alloc(model->arena, sizeof *t);
    uint64_t size = (n < 0 ? 1 : (uint64_t)n) * element;
    t->data = tn__arena_copy(model->arena, data, size);
    t->dims = tn__arena_copy(model->arena, &n, sizeof n);
    t->size = size;
    t->dtype = dtype;
    t->rank = n >= 0;
    return t;
}

static inline struct tn_tensor *ints(const int64_t *data, int64_t n) {
    return tensor(TN_INT64, data, n, sizeof *data);
}

static inline struct tn_tensor *floats(const float *data, int64_t n) {
    return tensor(TN_FLOAT, data, n, sizeof *data);
}

static inline tn_value_id constant(const char *name, struct tn_tensor *t) {
    tn_value_id v = own(name);
    assert_ok(tn__graph_set_constant(graph, v, t, &diag), diag);
    return v;
}

/* A Const node. */
static inline tn_node_id node_t(const char *out, const struct tn_tensor *t) {
    struct tn_attr a = {.name = "value", .type = TN_ATTR_TENSOR, .count = 1};
    a.as.tensors = t;
    return node_with("Const", "", out, &a, 1);
}

/* Begins a subgraph; end_subgraph goes back to the graph around it. */
static inline struct tn_graph *begin_subgraph(const char *name) {
    graph = tn__graph_create(model, graph);
    graph->name = name;
    return graph;
}

static inline void end_subgraph(void) {
    graph = graph->parent;
}

/* A node with two or one graph attributes. */
static inline tn_node_id node_g(const char *op, const char *ins, const char *outs,
    const char *name_a, struct tn_graph *a, const char *name_b, struct tn_graph *b) {
    struct tn_graph *graphs[2] = {a, b};
    struct tn_attr attrs[2] = {{.name = name_a, .type = TN_ATTR_GRAPH, .count = 1},
        {.name = name_b, .type = TN_ATTR_GRAPH, .count = 1}};
    attrs[0].as.graphs = &graphs[0];
    attrs[1].as.graphs = &graphs[1];
    tn_node_id id = node_with(op, ins, outs, attrs, b ? 2 : 1);
    tn__subgraph_attach(a, id);
    if (b) tn__subgraph_attach(b, id);
    return id;
}

/* "float[N, 4]" of a value by name. */
static inline const struct tn__value *value_of(const char *name) {
    tn_value_id v = tn__graph_find(graph, name);
    ck_assert_msg(v != TN_NO_ID, "no value '%s'", name);
    return &graph->values[v];
}

/* Live nodes in order, "Plus Copy". */
static inline const char *ops_text(const struct tn_graph *g) {
    static char text[512];
    uint32_t n;
    const tn_node_id *ids = tn__graph_order(g, &n);
    text[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "",
            g->nodes[ids[i]].view.op_type);
    }
    return text;
}

#endif
