/* Editing a graph: the public table, constants, and the removal of what nobody reads. */
#include "core/base/checked.h"
#include "core/graph/graph.h"
#include "core/graph/graph_use.h"

#include <string.h>

/* ---- removal -------------------------------------------------------------------------- */

static tn_status drop_captures(void *arg, struct tn_graph *sub) {
    (void)arg;
    for (tn_value_id v = 0; v < sub->n_values; v++)
        tn__capture_disconnect(sub, v);
    return TN_OK;
}

static void unlink_node(struct tn_graph *g, struct tn__node *node) {
    if (node->prev == TN_NO_ID)
        g->first = node->next;
    else
        g->nodes[node->prev].next = node->next;
    if (node->next == TN_NO_ID)
        g->last = node->prev;
    else
        g->nodes[node->next].prev = node->prev;
    node->prev = node->next = TN_NO_ID;
    node->dead = true;
    g->n_live--;
    g->order_dirty = true;
}

static void bury_node(struct tn_graph *g, struct tn__node *node) {
    tn__node_disconnect(g, node);
    (void)tn__node_subgraphs(node, drop_captures, NULL);
    for (uint32_t i = 0; i < node->view.n_outputs; i++) {
        tn_value_id v = node->view.outputs[i];
        if (v != TN_NO_ID) g->values[v].producer = TN_NO_ID;
    }
    unlink_node(g, node);
}

static bool is_read(const struct tn_graph *g, tn_value_id v) {
    return g->values[v].n_uses > 0 || (g->values[v].flags & TN_VALUE_OUTPUT);
}

static bool node_is_read(const struct tn_graph *g, const struct tn__node *node) {
    for (uint32_t i = 0; i < node->view.n_outputs; i++) {
        tn_value_id v = node->view.outputs[i];
        if (v != TN_NO_ID && is_read(g, v)) return true;
    }
    return false;
}

static tn_status sweep_subgraph(void *arg, struct tn_graph *sub) {
    *(uint32_t *)arg += tn__graph_sweep(sub);
    for (tn_value_id v = 0; v < sub->n_values; v++) {
        if ((sub->values[v].flags & TN_VALUE_CAPTURE) && !is_read(sub, v))
            tn__capture_disconnect(sub, v);
    }
    return TN_OK;
}

uint32_t tn__graph_sweep(struct tn_graph *g) {
    uint32_t removed = 0;
    for (tn_node_id id = g->last; id != TN_NO_ID;) {
        struct tn__node *node = &g->nodes[id];
        id = node->prev;
        if (node_is_read(g, node)) {
            (void)tn__node_subgraphs(node, sweep_subgraph, &removed);
            continue;
        }
        bury_node(g, node);
        removed++;
    }
    return removed;
}

/* ---- constants ------------------------------------------------------------------------ */

static void cut_producer(struct tn_graph *g, struct tn__value *value) {
    if (value->producer == TN_NO_ID) return;
    const struct tn__node *node = &g->nodes[value->producer];
    ((tn_value_id *)node->view.outputs)[value->producer_index] = TN_NO_ID;
    value->producer = TN_NO_ID;
}

/* Subgraphs that capture the value see its content too. */
static void share_constant(struct tn_graph *g, tn_value_id v) {
    const struct tn__value *value = &g->values[v];
    for (uint32_t i = 0; i < value->n_uses; i++) {
        const struct tn__use *use = &value->uses[i];
        if (!use->sub || use->sub->values[use->index].constant == value->constant)
            continue;
        use->sub->values[use->index].constant = value->constant;
        (void)tn__graph_set_type(use->sub, use->index, &value->type, NULL);
        share_constant(use->sub, use->index); /* as deep as scopes nest */
    }
}

tn_status tn__graph_set_constant(struct tn_graph *g, tn_value_id v,
    const struct tn_tensor *tensor, struct tn_diag *diag) {
    struct tn__value *value = &g->values[v];
    struct tn_type type = {.kind = TN_KIND_TENSOR,
        .dtype = tensor->dtype,
        .rank = (int32_t)tensor->rank,
        .dims = tensor->dims};
    TN_TRY(tn__graph_set_type(g, v, &type, diag));
    cut_producer(g, value);
    value->constant = tensor;
    value->flags |= TN_VALUE_INITIALIZER;
    share_constant(g, v);
    return TN_OK;
}

static tn_status add_constant(struct tn_graph *g, const char *name, int32_t dtype,
    const int64_t *dims, uint32_t rank, tn_value_id *out_value, void **out_data,
    struct tn_diag *diag) {
    uint64_t size;
    if (!tn_tensor_bytes(dtype, dims, rank, &size))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "constant '%s': the shape or the element type %d is not valid",
            name ? name : "", dtype);
    struct tn_tensor *tensor = tn__arena_alloc(g->arena, sizeof *tensor);
    int64_t *own = tn__arena_copy(g->arena, dims, rank * sizeof *dims);
    void *data = tn__model_constant(g->model, size);
    if (!tensor || !own || !data) return tn__fail_memory(diag, "a constant", size);
    *tensor = (struct tn_tensor){.data = data,
        .dims = own,
        .size = size,
        .dtype = dtype,
        .rank = rank,
        .flags = TN_TENSOR_CONST};
    bool taken = name && *name && tn__graph_find(g, name) != TN_NO_ID;
    tn_value_id v = tn__graph_add_value(g, taken ? NULL : name);
    if (v == TN_NO_ID) return tn__fail_memory(diag, "a constant", size);
    TN_TRY(tn__graph_set_constant(g, v, tensor, diag));
    *out_value = v;
    *out_data = data;
    return TN_OK;
}

/* ---- reading through the table -------------------------------------------------------- */

static void api_nodes(
    const struct tn_graph *g, const tn_node_id **out_ids, uint32_t *out_n) {
    *out_ids = tn__graph_order(g, out_n);
}

static const struct tn_node *api_node(const struct tn_graph *g, tn_node_id id) {
    return id < g->n_nodes && !g->nodes[id].dead ? &g->nodes[id].view : NULL;
}

static void api_inputs(
    const struct tn_graph *g, const tn_value_id **out_ids, uint32_t *out_n) {
    *out_ids = g->inputs;
    *out_n = g->n_inputs;
}

static void api_outputs(
    const struct tn_graph *g, const tn_value_id **out_ids, uint32_t *out_n) {
    *out_ids = g->outputs;
    *out_n = g->n_outputs;
}

static const char *api_value_name(const struct tn_graph *g, tn_value_id v) {
    return v < g->n_values ? g->values[v].name : "";
}

static const struct tn_type *api_value_type(const struct tn_graph *g, tn_value_id v) {
    static const struct tn_type unknown = {.rank = -1};
    return v < g->n_values ? &g->values[v].type : &unknown;
}

static const struct tn_tensor *api_constant(const struct tn_graph *g, tn_value_id v) {
    if (v >= g->n_values || (g->values[v].flags & TN_VALUE_INPUT)) return NULL;
    return tn__tensor_align(g->model, g->values[v].constant);
}

static int32_t api_is_constant(const struct tn_graph *g, tn_value_id v) {
    return v < g->n_values && !(g->values[v].flags & TN_VALUE_INPUT) &&
           g->values[v].constant;
}

static tn_node_id api_producer(
    const struct tn_graph *g, tn_value_id v, uint32_t *out_index) {
    if (v >= g->n_values) return TN_NO_ID;
    if (out_index) *out_index = g->values[v].producer_index;
    return g->values[v].producer;
}

static void api_consumers(const struct tn_graph *g, tn_value_id v,
    const tn_node_id **out_ids, uint32_t *out_n) {
    struct tn_graph *own =
        (struct tn_graph *)g; /* the scratch is a cache, as the order is */
    uint32_t n = 0, uses = v < g->n_values ? g->values[v].n_uses : 0;
    bool room = tn__arena_grow(own->arena, (void **)&own->scratch_ids, &own->cap_scratch,
        uses, sizeof *own->scratch_ids);
    uint32_t stamp = ++own->stamp;
    for (uint32_t i = 0; room && i < uses; i++) {
        tn_node_id id = g->values[v].uses[i].node;
        if (id >= g->n_nodes || own->nodes[id].mark == stamp) continue;
        own->nodes[id].mark = stamp;
        own->scratch_ids[n++] = id;
    }
    *out_ids = own->scratch_ids;
    *out_n = n;
}

static int32_t api_is_visible(const struct tn_graph *g, tn_value_id v) {
    if (v >= g->n_values || (g->values[v].flags & TN_VALUE_OUTPUT)) return 1;
    for (uint32_t i = 0; i < g->values[v].n_uses; i++) {
        if (g->values[v].uses[i].sub) return 1;
    }
    return 0;
}

static int32_t api_opset(const struct tn_graph *g, const char *domain) {
    for (uint32_t i = 0; i < g->n_opsets; i++) {
        if (strcmp(g->opsets[i].domain, domain) == 0)
            return (int32_t)g->opsets[i].version;
    }
    return 0;
}

/* ---- editing through the table -------------------------------------------------------- */

static tn_status bad_id(struct tn_diag *diag, const char *what, uint32_t id) {
    return tn_fail(diag, TN_INVALID_ARGUMENT, "the graph has no %s %u", what, id);
}

static tn_status find_node(
    struct tn_graph *g, tn_node_id id, struct tn__node **out, struct tn_diag *diag) {
    if (id >= g->n_nodes || g->nodes[id].dead) return bad_id(diag, "node", id);
    *out = &g->nodes[id];
    return TN_OK;
}

/* Attributes that come from a plugin may point to its stack: their tensors are copied. */
static tn_status copy_attr_data(
    struct tn_arena *arena, struct tn_attr *attr, struct tn_diag *diag) {
    if (attr->type != TN_ATTR_TENSOR && attr->type != TN_ATTR_TENSORS) return TN_OK;
    struct tn_tensor *tensors = (struct tn_tensor *)(uintptr_t)attr->as.tensors;
    for (uint32_t i = 0; i < attr->count; i++) {
        if (!tensors[i].data) continue;
        tensors[i].data = tn__arena_copy(arena, tensors[i].data, tensors[i].size);
        if (!tensors[i].data)
            return tn__fail_memory(diag, "an attribute", tensors[i].size);
    }
    return TN_OK;
}

static tn_status api_set_attr(
    struct tn_graph *g, tn_node_id id, const struct tn_attr *attr, struct tn_diag *diag) {
    struct tn__node *node = NULL;
    struct tn_attr copy;
    TN_TRY(find_node(g, id, &node, diag));
    TN_TRY(tn__attr_copy(g->arena, attr, &copy, diag));
    TN_TRY(copy_attr_data(g->arena, &copy, diag));
    struct tn_attr *old =
        (struct tn_attr *)(uintptr_t)tn_node_attr(&node->view, attr->name);
    if (old) {
        *old = copy;
        return TN_OK;
    }
    if (!tn__arena_grow(g->arena, (void **)&node->view.attrs, &node->cap_attrs,
            node->view.n_attrs + 1, sizeof copy))
        return tn__fail_memory(diag, "an attribute", sizeof copy);
    ((struct tn_attr *)(uintptr_t)node->view.attrs)[node->view.n_attrs++] = copy;
    return TN_OK;
}

static tn_status api_remove_attr(struct tn_graph *g, tn_node_id id, const char *name) {
    struct tn__node *node = NULL;
    TN_TRY(find_node(g, id, &node, NULL));
    struct tn_attr *attr = (struct tn_attr *)(uintptr_t)tn_node_attr(&node->view, name);
    if (attr) *attr = node->view.attrs[--node->view.n_attrs];
    return TN_OK;
}

/* "conv1", "conv1~2", …: the name of a node that came from another. */
static const char *derive_name(struct tn_graph *g, tn_node_id origin) {
    if (origin >= g->n_nodes) return "";
    const char *stem = g->nodes[origin].view.name;
    int n = (int)strcspn(stem, "~");
    if (n == 0) return "";
    const char *name = tn__arena_format(g->arena, "%.*s~%u", n, stem, ++g->fresh);
    return name ? name : "";
}

static tn_status fresh_outputs(
    struct tn_graph *g, tn_value_id *outputs, uint32_t n, struct tn_diag *diag) {
    for (uint32_t i = 0; i < n; i++) {
        outputs[i] = tn__graph_add_value(g, NULL);
        if (outputs[i] == TN_NO_ID)
            return tn__fail_memory(diag, "a value", sizeof(struct tn__value));
    }
    return TN_OK;
}

static tn_status insert_node(struct tn_graph *g, tn_node_id before, tn_node_id origin,
    const char *domain, const char *op_type, const tn_value_id *inputs, uint32_t n_inputs,
    const struct tn_attr *attrs, uint32_t n_attrs, tn_value_id *outputs,
    uint32_t n_outputs, tn_node_id *out_id, struct tn_diag *diag) {
    TN_TRY(fresh_outputs(g, outputs, n_outputs, diag));
    TN_TRY(tn__graph_add_node(g, before, derive_name(g, origin), domain, op_type, inputs,
        n_inputs, outputs, n_outputs, attrs, n_attrs, out_id, diag));
    struct tn__node *node = &g->nodes[*out_id];
    for (uint32_t i = 0; i < node->view.n_attrs; i++) {
        struct tn_attr *attr = (struct tn_attr *)(uintptr_t)&node->view.attrs[i];
        TN_TRY(copy_attr_data(g->arena, attr, diag));
    }
    return TN_OK;
}

static tn_status api_add_node(struct tn_graph *g, tn_node_id before, tn_node_id origin,
    const char *domain, const char *op_type, int32_t since, const tn_value_id *inputs,
    uint32_t n_inputs, const struct tn_attr *attrs, uint32_t n_attrs,
    tn_value_id *outputs, uint32_t n_outputs, tn_node_id *out_id, struct tn_diag *diag) {
    enum { MAX_OUTPUTS = 256 };
    tn_value_id fresh[MAX_OUTPUTS];
    tn_node_id id;
    if (n_outputs > MAX_OUTPUTS)
        return bad_id(diag, "room for that many outputs:", n_outputs);
    if (before != TN_NO_ID && (before >= g->n_nodes || g->nodes[before].dead))
        return bad_id(diag, "node", before);
    for (uint32_t i = 0; i < n_inputs; i++) {
        if (inputs[i] != TN_NO_ID && inputs[i] >= g->n_values)
            return bad_id(diag, "value", inputs[i]);
    }
    TN_TRY(insert_node(g, before, origin, domain, op_type, inputs, n_inputs, attrs,
        n_attrs, fresh, n_outputs, &id, diag));
    const struct tn__graph_hooks *hooks = &g->model->hooks;
    tn_status status =
        hooks->node_added ? hooks->node_added(hooks->arg, g, id, since, diag) : TN_OK;
    if (status != TN_OK) {
        if (!g->nodes[id].dead) bury_node(g, &g->nodes[id]);
        return status;
    }
    if (n_outputs) memcpy(outputs, fresh, n_outputs * sizeof *outputs);
    if (out_id) *out_id = id;
    return TN_OK;
}

static tn_status api_remove_node(
    struct tn_graph *g, tn_node_id id, struct tn_diag *diag) {
    struct tn__node *node = NULL;
    TN_TRY(find_node(g, id, &node, diag));
    if (node_is_read(g, node))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "node '%s' (%s) cannot be removed: an output of its is still read",
            node->view.name, node->view.op_type);
    bury_node(g, node);
    return TN_OK;
}

static tn_status move_use(
    struct tn_graph *g, struct tn__use use, tn_value_id to, struct tn_diag *diag) {
    bool done;
    if (use.sub) {
        tn__capture_disconnect(use.sub, use.index);
        done = tn__capture_connect(use.sub, use.index, to);
    } else {
        struct tn__node *reader = &g->nodes[use.node];
        tn__input_disconnect(g, reader, use.index);
        done = tn__input_connect(g, reader, use.index, to);
    }
    return done ? TN_OK : tn__fail_memory(diag, "the uses of a value", sizeof use);
}

static tn_status api_replace_uses(
    struct tn_graph *g, tn_value_id from, tn_value_id to, struct tn_diag *diag) {
    if (from >= g->n_values || to >= g->n_values)
        return bad_id(diag, "value", from >= g->n_values ? from : to);
    if (from == to) return TN_OK;
    struct tn__value *source = &g->values[from];
    while (source->n_uses > 0)
        TN_TRY(move_use(g, source->uses[source->n_uses - 1], to, diag));
    if (!(source->flags & TN_VALUE_OUTPUT)) return TN_OK;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i] == from) g->outputs[i] = to;
    }
    source->flags &= ~(uint32_t)TN_VALUE_OUTPUT;
    g->values[to].flags |= TN_VALUE_OUTPUT;
    return TN_OK;
}

/* Makes room for input `index`; new slots are absent. */
static bool grow_inputs(struct tn_graph *g, struct tn__node *node, uint32_t index) {
    uint32_t cap = node->cap_inputs, cap_pos = node->cap_inputs;
    if (!tn__arena_grow(g->arena, (void **)&node->view.inputs, &cap, index + 1,
            sizeof(tn_value_id)) ||
        !tn__arena_grow(
            g->arena, (void **)&node->use_pos, &cap_pos, index + 1, sizeof(uint32_t)))
        return false;
    node->cap_inputs = cap;
    while (node->view.n_inputs <= index)
        ((tn_value_id *)node->view.inputs)[node->view.n_inputs++] = TN_NO_ID;
    return true;
}

static tn_status api_set_input(struct tn_graph *g, tn_node_id id, uint32_t index,
    tn_value_id v, struct tn_diag *diag) {
    enum { MAX_INPUTS = 1 << 16 };
    struct tn__node *node = NULL;
    TN_TRY(find_node(g, id, &node, diag));
    if (index >= MAX_INPUTS || (v != TN_NO_ID && v >= g->n_values))
        return bad_id(diag, index >= MAX_INPUTS ? "input" : "value",
            index >= MAX_INPUTS ? index : v);
    if (index >= node->view.n_inputs && !grow_inputs(g, node, index))
        return tn__fail_memory(diag, "the inputs of a node", sizeof v);
    tn__input_disconnect(g, node, index);
    if (!tn__input_connect(g, node, index, v))
        return tn__fail_memory(diag, "the uses of a value", sizeof(struct tn__use));
    while (
        node->view.n_inputs > 0 && node->view.inputs[node->view.n_inputs - 1] == TN_NO_ID)
        node->view.n_inputs--;
    return TN_OK;
}

static tn_status api_set_op(struct tn_graph *g, tn_node_id id, const char *domain,
    const char *op_type, int32_t since, struct tn_diag *diag) {
    struct tn__node *node = NULL;
    TN_TRY(find_node(g, id, &node, diag));
    const char *own_domain = tn__arena_string(g->arena, domain, strlen(domain));
    const char *own_type = tn__arena_string(g->arena, op_type, strlen(op_type));
    if (!own_domain || !own_type)
        return tn__fail_memory(diag, "the type of a node", strlen(op_type));
    node->view.domain = own_domain;
    node->view.op_type = own_type;
    node->view.since = since;
    node->def = NULL;
    return TN_OK;
}

static tn_status find_output(struct tn_graph *g, tn_node_id id, uint32_t index,
    struct tn__node **out, struct tn_diag *diag) {
    TN_TRY(find_node(g, id, out, diag));
    return index < (*out)->view.n_outputs ? TN_OK : bad_id(diag, "output", index);
}

static tn_status api_attach_output(struct tn_graph *g, tn_node_id id, uint32_t index,
    tn_value_id v, struct tn_diag *diag) {
    struct tn__node *node = NULL;
    TN_TRY(find_output(g, id, index, &node, diag));
    if (v >= g->n_values || g->values[v].producer != TN_NO_ID ||
        (g->values[v].flags & (TN_VALUE_INPUT | TN_VALUE_INITIALIZER | TN_VALUE_CAPTURE)))
        return bad_id(diag, "value without a producer:", v);
    tn_value_id *slot = (tn_value_id *)&node->view.outputs[index];
    if (*slot != TN_NO_ID) g->values[*slot].producer = TN_NO_ID;
    *slot = v;
    g->values[v].producer = id;
    g->values[v].producer_index = index;
    return TN_OK;
}

static tn_status api_detach_output(struct tn_graph *g, tn_node_id id, uint32_t index,
    tn_value_id *out_fresh, tn_value_id *out_old, struct tn_diag *diag) {
    struct tn__node *node = NULL;
    tn_value_id fresh;
    TN_TRY(find_output(g, id, index, &node, diag));
    tn_value_id old = node->view.outputs[index];
    if (old == TN_NO_ID) return bad_id(diag, "value at output", index);
    TN_TRY(fresh_outputs(g, &fresh, 1, diag));
    TN_TRY(tn__graph_set_type(g, fresh, &g->values[old].type, diag));
    TN_TRY(api_attach_output(g, id, index, fresh, diag));
    *out_fresh = fresh;
    *out_old = old;
    return TN_OK;
}

static tn_status api_infer_node(struct tn_graph *g, tn_node_id id, struct tn_diag *diag) {
    struct tn__node *node = NULL;
    TN_TRY(find_node(g, id, &node, diag));
    const struct tn__graph_hooks *hooks = &g->model->hooks;
    return hooks->infer ? hooks->infer(hooks->arg, g, id, diag) : TN_OK;
}

const struct tn_graph_api tn__graph_api = {
    .struct_size = TN_GRAPH_API_SIZE,
    .nodes = api_nodes,
    .node = api_node,
    .inputs = api_inputs,
    .outputs = api_outputs,
    .value_name = api_value_name,
    .value_type = api_value_type,
    .constant = api_constant,
    .producer = api_producer,
    .consumers = api_consumers,
    .is_visible = api_is_visible,
    .opset = api_opset,
    .add_node = api_add_node,
    .add_constant = add_constant,
    .remove_node = api_remove_node,
    .replace_uses = api_replace_uses,
    .set_input = api_set_input,
    .set_attr = api_set_attr,
    .remove_attr = api_remove_attr,
    .set_op = api_set_op,
    .detach_output = api_detach_output,
    .attach_output = api_attach_output,
    .infer_node = api_infer_node,
    .is_constant = api_is_constant,
};

void tn__model_set_hooks(struct tn__model *model, const struct tn__graph_hooks *hooks) {
    model->hooks = *hooks;
}
