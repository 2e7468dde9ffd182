/* Models and graphs: creation, values, nodes and their uses. Whoever changes what a node
 * reads goes through connect and disconnect below, so that the uses of a value stay exact. */
#include "core/graph/graph.h"

#include "core/base/alloc.h"
#include "core/graph/graph_use.h"

#include <string.h>

/* ---- model ---------------------------------------------------------------------------- */

struct tn__model *tn__model_create(void) {
    struct tn_arena *arena = tn__arena_create();
    struct tn__model *model = arena ? tn__arena_alloc(arena, sizeof *model) : NULL;
    struct tn__symbols *symbols = model ? tn__symbols_create(arena) : NULL;
    if (!symbols) {
        tn__arena_destroy(arena);
        return NULL;
    }
    model->arena = arena;
    model->symbols = symbols;
    model->producer_name = model->producer_version = "";
    model->domain = model->doc = model->path = "";
    return model;
}

void tn__model_destroy(struct tn__model *model) {
    if (!model) return;
    for (struct tn_graph *g = model->graphs; g; g = g->next_graph)
        tn__map_clear(&g->names);
    for (struct tn__resource *r = model->resources; r; r = r->next)
        r->release(r->arg);
    tn__symbols_destroy(model->symbols);
    tn__arena_destroy(model->arena);
}

tn_status tn__model_own(
    struct tn__model *model, const struct tn__resource *resource, struct tn_diag *diag) {
    struct tn__resource *copy = tn__arena_copy(model->arena, resource, sizeof *resource);
    if (!copy) {
        resource->release(resource->arg);
        return tn__fail_memory(diag, "a resource of the model", sizeof *resource);
    }
    copy->next = model->resources;
    model->resources = copy;
    return TN_OK;
}

void tn__model_forget(struct tn__model *model, const void *data, uint64_t size) {
    uintptr_t at = (uintptr_t)data;
    for (const struct tn__resource *r = model->resources; r; r = r->next) {
        uintptr_t begin = (uintptr_t)r->data;
        if (r->forget && at >= begin && at - begin < r->size &&
            size <= r->size - (at - begin)) {
            r->forget(r->arg, data, size);
            return;
        }
    }
}

tn_status tn__model_warn(struct tn__model *model, const char *format, ...) {
    char sentence[TN_DIAG_MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    char *copy = tn__arena_string(model->arena, sentence, strlen(sentence));
    if (!copy ||
        !tn__arena_grow(model->arena, (void **)&model->warnings, &model->cap_warnings,
            model->n_warnings + 1, sizeof *model->warnings))
        return TN_OUT_OF_MEMORY;
    model->warnings[model->n_warnings++] = copy;
    return TN_OK;
}

/* ---- graph and values ----------------------------------------------------------------- */

struct tn_graph *tn__graph_create(struct tn__model *model, struct tn_graph *parent) {
    struct tn_graph *g = tn__arena_alloc(model->arena, sizeof *g);
    if (!g) return NULL;
    g->arena = model->arena;
    g->model = model;
    g->parent = parent;
    g->parent_node = TN_NO_ID;
    g->opsets = parent ? parent->opsets : model->opsets;
    g->n_opsets = parent ? parent->n_opsets : model->n_opsets;
    g->name = "";
    g->first = g->last = TN_NO_ID;
    g->next_graph = model->graphs;
    model->graphs = g;
    return g;
}

/* A name that no value of the graph or of an enclosing one has. */
static char *invent_name(struct tn_graph *g, const char *stem) {
    char name[64];
    for (;;) {
        snprintf(name, sizeof name, "%.40s%s%u", stem, *stem ? "_" : "_v", g->fresh++);
        const struct tn_graph *scope = g;
        while (scope && tn__graph_find(scope, name) == TN_NO_ID)
            scope = scope->parent;
        if (!scope) return tn__arena_string(g->arena, name, strlen(name));
    }
}

tn_value_id tn__graph_add_value(struct tn_graph *g, const char *name) {
    char *copy = name && *name ? tn__arena_string(g->arena, name, strlen(name))
                               : invent_name(g, "");
    if (!copy || g->n_values == TN_NO_ID - 1 ||
        !tn__arena_grow(g->arena, (void **)&g->values, &g->cap_values, g->n_values + 1,
            sizeof *g->values) ||
        !tn__map_put(&g->names, copy, g->n_values))
        return TN_NO_ID;
    g->values[g->n_values] = (struct tn__value){
        .name = copy, .type = {.rank = -1}, .producer = TN_NO_ID, .outer = TN_NO_ID};
    return g->n_values++;
}

tn_value_id tn__graph_find(const struct tn_graph *g, const char *name) {
    return tn__map_get(&g->names, name);
}

/* The value of a subgraph that stands for `outer` of its parent. */
static tn_value_id add_capture(struct tn_graph *g, const char *name, tn_value_id outer) {
    tn_value_id v = tn__graph_add_value(g, name);
    if (v == TN_NO_ID || !tn__capture_connect(g, v, outer)) return TN_NO_ID;
    return v;
}

tn_value_id tn__graph_capture(struct tn_graph *g, const char *name) {
    enum { MAX_SCOPES = 128 };
    struct tn_graph *scopes[MAX_SCOPES];
    uint32_t n = 0;
    tn_value_id found = TN_NO_ID;
    for (struct tn_graph *scope = g; scope && n < MAX_SCOPES; scope = scope->parent) {
        scopes[n++] = scope;
        found = tn__graph_find(scope, name);
        if (found != TN_NO_ID) break;
    }
    if (found == TN_NO_ID) return TN_NO_ID;
    while (--n > 0 && found != TN_NO_ID)
        found = add_capture(scopes[n - 1], name, found);
    return found;
}

static bool append_id(struct tn_arena *arena, tn_value_id **ids, uint32_t *n,
    uint32_t *cap, tn_value_id id) {
    if (!tn__arena_grow(arena, (void **)ids, cap, *n + 1, sizeof **ids)) return false;
    (*ids)[(*n)++] = id;
    return true;
}

tn_status tn__graph_add_input(struct tn_graph *g, tn_value_id v, struct tn_diag *diag) {
    if (!append_id(g->arena, &g->inputs, &g->n_inputs, &g->cap_inputs, v))
        return tn__fail_memory(diag, "graph inputs", sizeof v);
    g->values[v].flags |= TN_VALUE_INPUT;
    return TN_OK;
}

tn_status tn__graph_add_output(struct tn_graph *g, tn_value_id v, struct tn_diag *diag) {
    if (!tn__arena_grow(g->arena, (void **)&g->output_names, &g->cap_output_names,
            g->n_outputs + 1, sizeof *g->output_names) ||
        !append_id(g->arena, &g->outputs, &g->n_outputs, &g->cap_outputs, v))
        return tn__fail_memory(diag, "graph outputs", sizeof v);
    g->output_names[g->n_outputs - 1] = g->values[v].name;
    g->values[v].flags |= TN_VALUE_OUTPUT;
    return TN_OK;
}

tn_status tn__graph_set_type(
    struct tn_graph *g, tn_value_id v, const struct tn_type *type, struct tn_diag *diag) {
    struct tn_type *own = &g->values[v].type;
    int64_t *dims = NULL;
    if (type->rank > 0) {
        /* the old dims serve again when they are as many */
        dims = own->rank == type->rank
                   ? (int64_t *)own->dims
                   : tn__arena_array(g->arena, (uint64_t)type->rank, sizeof *dims);
        if (!dims)
            return tn__fail_memory(diag, "a shape", (uint64_t)type->rank * sizeof *dims);
        memmove(dims, type->dims, (size_t)type->rank * sizeof *dims);
    }
    *own = *type;
    own->dims = dims;
    return TN_OK;
}

/* ---- nodes ---------------------------------------------------------------------------- */

static void link_node(struct tn_graph *g, tn_node_id id, tn_node_id before) {
    struct tn__node *node = &g->nodes[id];
    tn_node_id prev = before == TN_NO_ID ? g->last : g->nodes[before].prev;
    node->prev = prev;
    node->next = before;
    if (prev == TN_NO_ID)
        g->first = id;
    else
        g->nodes[prev].next = id;
    if (before == TN_NO_ID)
        g->last = id;
    else
        g->nodes[before].prev = id;
    g->order_dirty = true;
}

static tn_status copy_attrs(struct tn_graph *g, struct tn__node *node,
    const struct tn_attr *attrs, uint32_t n, struct tn_diag *diag) {
    struct tn_attr *copy = tn__arena_array(g->arena, n, sizeof *copy);
    if (!copy) return tn__fail_memory(diag, "attributes", (uint64_t)n * sizeof *copy);
    for (uint32_t i = 0; i < n; i++)
        TN_TRY(tn__attr_copy(g->arena, &attrs[i], &copy[i], diag));
    node->view.attrs = copy;
    node->view.n_attrs = node->cap_attrs = n;
    return TN_OK;
}

/* Fills the arrays of a node that is not listed yet. */
static tn_status fill_node(struct tn_graph *g, struct tn__node *node,
    const tn_value_id *inputs, uint32_t n_inputs, const tn_value_id *outputs,
    uint32_t n_outputs, struct tn_diag *diag) {
    tn_value_id *in = tn__arena_array(g->arena, n_inputs, sizeof *in);
    tn_value_id *out =
        tn__arena_copy(g->arena, outputs, (uint64_t)n_outputs * sizeof *out);
    node->use_pos = tn__arena_array(g->arena, n_inputs, sizeof *node->use_pos);
    if (!in || !out || !node->use_pos)
        return tn__fail_memory(diag, "a node", (uint64_t)n_inputs * sizeof *in);
    for (uint32_t i = 0; i < n_inputs; i++)
        in[i] = TN_NO_ID;
    node->view.inputs = in;
    node->view.outputs = out;
    node->view.n_inputs = node->cap_inputs = n_inputs;
    node->view.n_outputs = node->cap_outputs = n_outputs;
    for (uint32_t i = 0; i < n_inputs; i++) {
        if (!tn__input_connect(g, node, i, inputs[i]))
            return tn__fail_memory(diag, "the uses of a value", sizeof(struct tn__use));
    }
    return TN_OK;
}

tn_status tn__graph_add_node(struct tn_graph *g, tn_node_id before, const char *name,
    const char *domain, const char *op_type, const tn_value_id *inputs, uint32_t n_inputs,
    const tn_value_id *outputs, uint32_t n_outputs, const struct tn_attr *attrs,
    uint32_t n_attrs, tn_node_id *out_id, struct tn_diag *diag) {
    tn_node_id id = g->n_nodes;
    if (id == TN_NO_ID - 1 || !tn__arena_grow(g->arena, (void **)&g->nodes, &g->cap_nodes,
                                  id + 1, sizeof *g->nodes))
        return tn__fail_memory(diag, "nodes", sizeof *g->nodes);
    struct tn__node *node = &g->nodes[id];
    *node = (struct tn__node){.view = {.struct_size = sizeof node->view, .id = id},
        .prev = TN_NO_ID,
        .next = TN_NO_ID,
        .overload = ""};
    node->view.name = tn__arena_string(g->arena, name, strlen(name));
    node->view.domain = tn__arena_string(g->arena, domain, strlen(domain));
    node->view.op_type = tn__arena_string(g->arena, op_type, strlen(op_type));
    if (!node->view.name || !node->view.domain || !node->view.op_type)
        return tn__fail_memory(diag, "the name of a node", strlen(name));
    TN_TRY(copy_attrs(g, node, attrs, n_attrs, diag));
    tn_status status = fill_node(g, node, inputs, n_inputs, outputs, n_outputs, diag);
    if (status != TN_OK) {
        tn__node_disconnect(g, node);
        return status;
    }
    for (uint32_t i = 0; i < n_outputs; i++) {
        if (outputs[i] == TN_NO_ID) continue;
        g->values[outputs[i]].producer = id;
        g->values[outputs[i]].producer_index = i;
    }
    g->n_nodes++;
    g->n_live++;
    link_node(g, id, before);
    *out_id = id;
    return TN_OK;
}

/* ---- uses ----------------------------------------------------------------------------- */

static bool add_use(
    struct tn_graph *g, tn_value_id v, struct tn__use use, uint32_t *out_pos) {
    struct tn__value *value = &g->values[v];
    if (!tn__arena_grow(g->arena, (void **)&value->uses, &value->cap_uses,
            value->n_uses + 1, sizeof *value->uses))
        return false;
    value->uses[value->n_uses] = use;
    *out_pos = value->n_uses++;
    return true;
}

/* The last use takes the place of the one that goes, and is told so. */
static void drop_use(struct tn_graph *g, tn_value_id v, uint32_t pos) {
    struct tn__value *value = &g->values[v];
    struct tn__use moved = value->uses[--value->n_uses];
    value->uses[pos] = moved;
    if (pos == value->n_uses) return;
    if (moved.sub)
        moved.sub->values[moved.index].outer_pos = pos;
    else
        g->nodes[moved.node].use_pos[moved.index] = pos;
}

bool tn__input_connect(
    struct tn_graph *g, struct tn__node *node, uint32_t index, tn_value_id v) {
    struct tn__use use = {node->view.id, index, NULL};
    if (v != TN_NO_ID && !add_use(g, v, use, &node->use_pos[index])) return false;
    ((tn_value_id *)node->view.inputs)[index] = v;
    return true;
}

void tn__input_disconnect(struct tn_graph *g, struct tn__node *node, uint32_t index) {
    tn_value_id *slot = (tn_value_id *)&node->view.inputs[index];
    if (*slot != TN_NO_ID) drop_use(g, *slot, node->use_pos[index]);
    *slot = TN_NO_ID;
}

void tn__node_disconnect(struct tn_graph *g, struct tn__node *node) {
    for (uint32_t i = 0; i < node->view.n_inputs; i++)
        tn__input_disconnect(g, node, i);
}

bool tn__capture_connect(struct tn_graph *sub, tn_value_id v, tn_value_id outer) {
    struct tn_graph *parent = sub->parent;
    struct tn__use use = {sub->parent_node, v, sub};
    if (!add_use(parent, outer, use, &sub->values[v].outer_pos)) return false;
    struct tn__value *value = &sub->values[v];
    const struct tn__value *source = &parent->values[outer];
    value->outer = outer;
    value->flags |= TN_VALUE_CAPTURE;
    value->constant = source->flags & TN_VALUE_INPUT ? NULL : source->constant;
    return tn__graph_set_type(sub, v, &source->type, NULL) == TN_OK;
}

void tn__capture_disconnect(struct tn_graph *sub, tn_value_id v) {
    struct tn__value *value = &sub->values[v];
    if (!(value->flags & TN_VALUE_CAPTURE)) return;
    drop_use(sub->parent, value->outer, value->outer_pos);
    value->flags &= ~(uint32_t)TN_VALUE_CAPTURE;
    value->outer = TN_NO_ID;
}

void tn__subgraph_attach(struct tn_graph *sub, tn_node_id parent_node) {
    sub->parent_node = parent_node;
    for (tn_value_id v = 0; v < sub->n_values; v++) {
        const struct tn__value *value = &sub->values[v];
        if (value->flags & TN_VALUE_CAPTURE)
            sub->parent->values[value->outer].uses[value->outer_pos].node = parent_node;
    }
}
