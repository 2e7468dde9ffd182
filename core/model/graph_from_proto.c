/* Graphs: names first (inputs, initializers, what nodes produce), then nodes, so that they
 * may come in any order; subgraphs while their node is read. */
#include "core/base/checked.h"
#include "core/model/reader.h"

#include <string.h>

/* Name and operator of a node for a message that is about it. */
#define NODE_FORMAT "node '%.80s' (%.60s)"
#define NODE_ARGS(proto)                                                                 \
    tn__text_or_empty((proto)->name), tn__text_or_empty((proto)->op_type)

tn_status tn__define_value(struct tn__reader *r, struct tn_graph *g, const char *name,
    const char *what, uint32_t rule, tn_value_id *out, struct tn_diag *diag) {
    if (tn__graph_find(g, name) != TN_NO_ID) {
        if (diag) tn__diag_name(diag, diag->tensor, name);
        return tn__fail_rule(diag, rule, "graph '%.120s': %s '%.120s' is defined twice",
            g->name, what, name);
    }
    *out = tn__graph_add_value(g, name);
    if (*out == TN_NO_ID)
        return tn__fail_memory(diag, "a value", sizeof(struct tn__value));
    for (const struct tn_graph *scope = g->parent; scope; scope = scope->parent) {
        if (rule == TN_RULE_NAME_TWICE && tn__graph_find(scope, name) != TN_NO_ID)
            return tn__tolerate(r, diag, TN_RULE_NAME_SHADOWS,
                "graph '%.120s': %s '%.120s' has the name of a value of the enclosing "
                "graph '%.120s'",
                g->name, what, name, scope->name);
    }
    return TN_OK;
}

/* ---- inputs, outputs, initializers ---------------------------------------------------- */

static tn_status declare_type(struct tn__reader *r, struct tn_graph *g, tn_value_id v,
    const Onnx__TypeProto *proto, const char *what, struct tn_diag *diag) {
    struct tn_type type;
    const struct tn__value *value = tn__value_at(g, v);
    TN_TRY(tn__read_type(r, proto, what, value->name, &type, diag));
    if (type.kind == TN_KIND_ABSENT || value->constant) return TN_OK;
    if (value->flags & TN_VALUE_DECLARED && type.rank < 0) return TN_OK;
    TN_TRY(tn__graph_set_type(g, v, &type, diag));
    tn__value_at(g, v)->flags |= TN_VALUE_DECLARED;
    return TN_OK;
}

/* The main graph's inputs and outputs ought to have an element type and a rank. */
static tn_status check_io_type(struct tn__reader *r, const struct tn_graph *g,
    tn_value_id v, const char *what, uint32_t rule, struct tn_diag *diag) {
    const struct tn__value *value = tn__value_at(g, v);
    bool tensor = value->type.kind == TN_KIND_TENSOR;
    if (g->parent || r->function || value->constant) return TN_OK;
    if (value->type.kind != TN_KIND_ABSENT && (!tensor || value->type.rank >= 0))
        return TN_OK;
    if (rule == TN_RULE_INPUT_TYPE && value->type.kind == TN_KIND_ABSENT) {
        if (diag) tn__diag_name(diag, diag->tensor, value->name);
        return tn__fail_rule(diag, rule,
            "input '%.120s' of the model declares no element type; export the model with "
            "one",
            value->name);
    }
    return tn__tolerate(r, diag, rule, "%s '%.120s' of the model declares no %s", what,
        value->name, tensor ? "rank" : "type");
}

static tn_status read_inputs(struct tn__reader *r, struct tn_graph *g,
    Onnx__ValueInfoProto *const *infos, size_t n, struct tn_diag *diag) {
    for (size_t i = 0; i < n; i++) {
        tn_value_id v;
        if (!infos[i]->name || !infos[i]->name[0])
            return tn__fail_rule(diag, TN_RULE_INPUT_NAME,
                "graph '%.120s': input %zu has no name", g->name, i);
        TN_TRY(tn__define_value(
            r, g, infos[i]->name, "input", TN_RULE_INPUT_TWICE, &v, diag));
        TN_TRY(declare_type(r, g, v, infos[i]->type, "input", diag));
        TN_TRY(tn__graph_add_input(g, v, diag));
    }
    return TN_OK;
}

static tn_status read_outputs(struct tn__reader *r, struct tn_graph *g,
    Onnx__ValueInfoProto *const *infos, size_t n, struct tn_diag *diag) {
    for (size_t i = 0; i < n; i++) {
        const char *name = tn__text_or_empty(infos[i]->name);
        if (!name[0])
            return tn__fail_rule(diag, TN_RULE_OUTPUT_NAME,
                "graph '%.120s': output %zu has no name", g->name, i);
        tn_value_id v = tn__graph_find(g, name);
        if (v == TN_NO_ID) {
            if (diag) tn__diag_name(diag, diag->tensor, name);
            return tn__fail_rule(diag, TN_RULE_OUTPUT_UNDEFINED,
                "graph '%.120s': output '%.120s' is no input, initializer or node output "
                "of this graph",
                g->name, name);
        }
        TN_TRY(declare_type(r, g, v, infos[i]->type, "output", diag));
        TN_TRY(tn__graph_add_output(g, v, diag));
        TN_TRY(check_io_type(r, g, v, "output", TN_RULE_OUTPUT_TYPE, diag));
    }
    return TN_OK;
}

tn_status tn__read_value_infos(struct tn__reader *r, struct tn_graph *g,
    Onnx__ValueInfoProto *const *infos, size_t n, struct tn_diag *diag) {
    for (size_t i = 0; i < n; i++) {
        tn_value_id v = tn__graph_find(g, tn__text_or_empty(infos[i]->name));
        if (v != TN_NO_ID) TN_TRY(declare_type(r, g, v, infos[i]->type, "value", diag));
    }
    return TN_OK;
}

/* The value that an initializer fills: that of the input of its name, or a new one. */
static tn_status find_initialized(struct tn__reader *r, struct tn_graph *g,
    const char *name, int32_t dtype, tn_value_id *out, struct tn_diag *diag) {
    if (!name[0])
        return tn__fail_rule(diag, TN_RULE_INITIALIZER_NAME,
            "graph '%.120s': an initializer has no name", g->name);
    *out = tn__graph_find(g, name);
    const struct tn__value *value = *out == TN_NO_ID ? NULL : tn__value_at(g, *out);
    if (!value) {
        if (r->model->ir_version < 4)
            TN_TRY(tn__tolerate(r, diag, TN_RULE_INITIALIZER_INPUT,
                "graph '%.120s': initializer '%.120s' is no input of the graph, as IR "
                "%lld asks for",
                g->name, name, (long long)r->model->ir_version));
        return tn__define_value(
            r, g, name, "initializer", TN_RULE_INITIALIZER_TWICE, out, diag);
    }
    if (diag && (value->constant || value->type.dtype != dtype))
        tn__diag_name(diag, diag->tensor, name);
    if (value->constant)
        return tn__fail_rule(diag, TN_RULE_INITIALIZER_TWICE,
            "graph '%.120s': initializer '%.120s' is defined twice", g->name, name);
    if (value->type.kind != TN_KIND_ABSENT && value->type.dtype != dtype)
        return tn__fail_rule(diag, TN_RULE_INITIALIZER_TYPE,
            "graph '%.120s': initializer '%.120s' is %s, the input of its name is %s",
            g->name, name, tn_dtype_name(dtype), tn_dtype_name(value->type.dtype));
    return TN_OK;
}

static tn_status initialize(struct tn__reader *r, struct tn_graph *g, const char *name,
    const struct tn_tensor *tensor, struct tn_diag *diag) {
    tn_value_id v = 0;
    TN_TRY(find_initialized(r, g, name, tensor->dtype, &v, diag));
    bool declared = tn__value_at(g, v)->type.kind != TN_KIND_ABSENT;
    if (!declared || r->model->ir_version < 4) {
        struct tn_type type = {.kind = TN_KIND_TENSOR,
            .dtype = tensor->dtype,
            .rank = (int32_t)tensor->rank,
            .dims = tensor->dims};
        TN_TRY(tn__graph_set_type(g, v, &type, diag));
    }
    struct tn__value *value = tn__value_at(g, v);
    value->constant = tensor;
    value->flags |= TN_VALUE_INITIALIZER;
    return TN_OK;
}

/* Before IR 4 every initializer had to be listed as an input, so that being listed says
 * nothing about the wish to override it: such inputs are constants. */
static void drop_initialized_inputs(struct tn__reader *r, struct tn_graph *g) {
    uint32_t kept = 0;
    if (r->model->ir_version >= 4) return;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        struct tn__value *value = tn__value_at(g, g->inputs[i]);
        if (value->constant)
            value->flags &= ~(uint32_t)TN_VALUE_INPUT;
        else
            g->inputs[kept++] = g->inputs[i];
    }
    g->n_inputs = kept;
}

/* The caller's weights of a name in the main graph. */
static const struct tn_tensor *find_weights(
    const struct tn__reader *r, const struct tn_graph *g, const char *name) {
    for (uint64_t i = 0; !g->parent && !r->function && i < r->limits.n_weights; i++) {
        if (strcmp(r->limits.weights[i].name, name) == 0)
            return r->limits.weights[i].tensor;
    }
    return NULL;
}

/* Weights of the caller, in place: what they are must be what the model says. */
static tn_status take_weights(struct tn__reader *r, const Onnx__TensorProto *proto,
    const struct tn_tensor *weights, struct tn_tensor *out, struct tn_diag *diag) {
    uint64_t bytes, item = tn_dtype_bits(weights->dtype) / 8;
    bool same = weights->dtype == proto->data_type && weights->rank == proto->n_dims &&
                (!weights->rank || weights->dims) && !weights->strides &&
                weights->space == 0;
    for (size_t i = 0; same && i < proto->n_dims; i++)
        same = weights->dims[i] == proto->dims[i];
    if (!same)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the weights given for initializer '%.120s' are not a dense tensor of its "
            "element type and shape",
            tn__text_or_empty(proto->name));
    if (item > 8) item = 8;
    if (!tn_tensor_bytes(weights->dtype, weights->dims, weights->rank, &bytes) ||
        weights->size < bytes || (bytes && !weights->data) ||
        (item > 1 && (uintptr_t)weights->data % item != 0))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the weights given for initializer '%.120s' are too few, or not aligned to "
            "their elements",
            tn__text_or_empty(proto->name));
    *out = (struct tn_tensor){.data = weights->data,
        .size = bytes,
        .dtype = weights->dtype,
        .rank = weights->rank,
        .flags = TN_TENSOR_CONST};
    if (!weights->rank) return TN_OK;
    out->dims = tn__arena_copy(r->arena, weights->dims, weights->rank * sizeof(int64_t));
    return out->dims ? TN_OK : tn__fail_memory(diag, "initializers", weights->rank * 8);
}

static tn_status read_initializers(struct tn__reader *r, struct tn_graph *g,
    const Onnx__GraphProto *proto, struct tn_diag *diag) {
    size_t n = proto->n_initializer + proto->n_sparse_initializer;
    struct tn_tensor *tensors = tn__arena_array(r->arena, n, sizeof *tensors);
    if (!tensors) return tn__fail_memory(diag, "initializers", n * sizeof *tensors);
    for (size_t i = 0; i < proto->n_initializer; i++, tensors++) {
        const Onnx__TensorProto *t = proto->initializer[i];
        const char *name = tn__text_or_empty(t->name);
        const struct tn_tensor *weights = find_weights(r, g, name);
        TN_TRY(weights ? take_weights(r, t, weights, tensors, diag)
                       : tn__read_weight(r, t, tensors, diag));
        TN_TRY(initialize(r, g, name, tensors, diag));
    }
    for (size_t i = 0; i < proto->n_sparse_initializer; i++, tensors++) {
        const Onnx__SparseTensorProto *s = proto->sparse_initializer[i];
        const char *name = s->values ? tn__text_or_empty(s->values->name) : "";
        struct tn_sparse sparse;
        TN_TRY(tn__read_sparse(r, s, &sparse, diag));
        TN_TRY(tn__sparse_to_dense(r, &sparse, name, tensors, diag));
        TN_TRY(initialize(r, g, name, tensors, diag));
    }
    drop_initialized_inputs(r, g);
    return TN_OK;
}

/* ---- nodes ---------------------------------------------------------------------------- */

static tn_status check_node(struct tn__reader *r, const struct tn_graph *g,
    const Onnx__NodeProto *proto, const char *domain, struct tn_diag *diag) {
    if (!proto->op_type || !proto->op_type[0])
        return tn__fail_rule(diag, TN_RULE_NODE_OP_TYPE,
            NODE_FORMAT ": it names no operator", NODE_ARGS(proto));
    if (proto->n_input == 0 && proto->n_output == 0)
        return tn__fail_rule(diag, TN_RULE_NODE_EMPTY,
            NODE_FORMAT ": it has neither inputs nor outputs", NODE_ARGS(proto));
    if (proto->n_input > UINT32_MAX / 2 || proto->n_output > UINT32_MAX / 2)
        return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_MESSAGES,
            NODE_FORMAT ": too many inputs or outputs", NODE_ARGS(proto));
    for (uint32_t i = 0; i < g->n_opsets; i++) {
        if (strcmp(g->opsets[i].domain, domain) == 0) return TN_OK;
    }
    if (tn__reader_has_function(
            r, domain, proto->op_type, tn__text_or_empty(proto->overload)))
        return TN_OK;
    return tn__fail_rule(diag, TN_RULE_NODE_DOMAIN,
        NODE_FORMAT ": its domain '%.80s' is not imported; add it to opset_import",
        NODE_ARGS(proto), domain[0] ? domain : "ai.onnx");
}

static tn_status find_inputs(struct tn_graph *g, const Onnx__NodeProto *proto,
    tn_value_id *ids, struct tn_diag *diag) {
    for (size_t i = 0; i < proto->n_input; i++) {
        const char *name = proto->input[i];
        ids[i] = TN_NO_ID;
        if (!name[0]) continue;
        ids[i] = tn__graph_find(g, name);
        if (ids[i] == TN_NO_ID) ids[i] = tn__graph_capture(g, name);
        if (ids[i] != TN_NO_ID) continue;
        if (diag) tn__diag_name(diag, diag->tensor, name);
        return tn__fail_rule(diag, TN_RULE_VALUE_UNDEFINED,
            NODE_FORMAT
            ": input %zu is '%.120s', which no node, input or initializer defines",
            NODE_ARGS(proto), i, name);
    }
    return TN_OK;
}

static tn_status attach(void *node_id, struct tn_graph *sub) {
    tn__subgraph_attach(sub, *(const tn_node_id *)node_id);
    return TN_OK;
}

static tn_status add_node(struct tn__reader *r, struct tn_graph *g,
    const Onnx__NodeProto *proto, struct tn_diag *diag) {
    const char *domain = tn__domain_name(proto->domain);
    const char *overload = tn__text_or_empty(proto->overload);
    TN_TRY(check_node(r, g, proto, domain, diag));
    tn_value_id *in = tn__arena_array(r->temp, proto->n_input, sizeof *in);
    tn_value_id *out = tn__arena_array(r->temp, proto->n_output, sizeof *out);
    if (!in || !out) return tn__fail_memory(diag, "a node", proto->n_input * sizeof *in);
    TN_TRY(find_inputs(g, proto, in, diag));
    for (size_t i = 0; i < proto->n_output; i++)
        out[i] = proto->output[i][0] ? tn__graph_find(g, proto->output[i]) : TN_NO_ID;
    struct tn_attr *attrs;
    TN_TRY(tn__read_attrs(r, g, proto->attribute, proto->n_attribute, &attrs, diag));
    tn_node_id id;
    TN_TRY(tn__graph_add_node(g, TN_NO_ID, tn__text_or_empty(proto->name), domain,
        proto->op_type, in, (uint32_t)proto->n_input, out, (uint32_t)proto->n_output,
        attrs, (uint32_t)proto->n_attribute, &id, diag));
    struct tn__node *node = tn__node_at(g, id);
    node->is_function = tn__reader_has_function(r, domain, proto->op_type, overload);
    if (overload[0])
        node->overload = tn__arena_string(g->arena, overload, strlen(overload));
    if (!node->overload) return tn__fail_memory(diag, "a name", strlen(overload));
    return tn__node_subgraphs(node, attach, &id);
}

static void add_context(
    const Onnx__NodeProto *proto, size_t index, struct tn_diag *diag) {
    char label[TN_DIAG_NAME_SIZE];
    if (!diag) return;
    snprintf(label, sizeof label, "#%zu", index);
    tn__diag_name(diag, diag->node, proto->name && proto->name[0] ? proto->name : label);
    const char *domain = tn__domain_name(proto->domain);
    snprintf(label, sizeof label, "%.40s%s%.50s", domain, domain[0] ? "." : "",
        tn__text_or_empty(proto->op_type));
    tn__diag_name(diag, diag->op, label);
}

static tn_status define_outputs(struct tn__reader *r, struct tn_graph *g,
    const Onnx__NodeProto *proto, struct tn_diag *diag) {
    for (size_t i = 0; i < proto->n_output; i++) {
        tn_value_id v;
        if (!proto->output[i][0]) continue;
        TN_TRY(tn__define_value(
            r, g, proto->output[i], "node output", TN_RULE_NAME_TWICE, &v, diag));
    }
    return TN_OK;
}

static tn_status count_nodes(struct tn__reader *r, size_t n, struct tn_diag *diag) {
    if (n <= r->limits.max_nodes - r->n_nodes) {
        r->n_nodes += (uint32_t)n;
        return TN_OK;
    }
    return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_NODES,
        "the model has more nodes than the limit of %u", r->limits.max_nodes);
}

tn_status tn__define_nodes(struct tn__reader *r, struct tn_graph *g,
    Onnx__NodeProto *const *protos, size_t n, struct tn_diag *diag) {
    TN_TRY(count_nodes(r, n, diag));
    for (size_t i = 0; i < n; i++) {
        tn_status status = define_outputs(r, g, protos[i], diag);
        if (status != TN_OK) {
            add_context(protos[i], i, diag);
            return status;
        }
    }
    return TN_OK;
}

tn_status tn__read_nodes(struct tn__reader *r, struct tn_graph *g,
    Onnx__NodeProto *const *protos, size_t n, struct tn_diag *diag) {
    for (size_t i = 0; i < n; i++) {
        tn_status status = add_node(r, g, protos[i], diag);
        if (status != TN_OK) {
            add_context(protos[i], i, diag);
            return status;
        }
    }
    bool changed = false;
    tn_status status = tn__graph_sort(g, &changed, diag);
    if (status == TN_INVALID_MODEL && diag && !diag->rule) diag->rule = TN_RULE_CYCLE;
    TN_TRY(status);
    if (!changed) return TN_OK;
    return tn__tolerate(r, diag, TN_RULE_ORDER,
        "graph '%.120s': its nodes are not in topological order; they were sorted",
        g->name);
}

tn_status tn__read_graph(struct tn__reader *r, const Onnx__GraphProto *proto,
    struct tn_graph *parent, struct tn_graph **out, struct tn_diag *diag) {
    struct tn_graph *g = tn__graph_create(r->model, parent);
    if (!g) return tn__fail_memory(diag, "a graph", sizeof *g);
    const char *name = tn__text_or_empty(proto->name);
    g->name = tn__arena_string(r->arena, name, strlen(name));
    if (!g->name) return tn__fail_memory(diag, "the name of a graph", strlen(name));
    TN_TRY(read_inputs(r, g, proto->input, proto->n_input, diag));
    TN_TRY(read_initializers(r, g, proto, diag));
    for (uint32_t i = 0; i < g->n_inputs; i++)
        TN_TRY(check_io_type(r, g, g->inputs[i], "input", TN_RULE_INPUT_TYPE, diag));
    TN_TRY(tn__define_nodes(r, g, proto->node, proto->n_node, diag));
    TN_TRY(tn__read_value_infos(r, g, proto->value_info, proto->n_value_info, diag));
    TN_TRY(read_outputs(r, g, proto->output, proto->n_output, diag));
    TN_TRY(tn__read_nodes(r, g, proto->node, proto->n_node, diag));
    *out = g;
    return TN_OK;
}
