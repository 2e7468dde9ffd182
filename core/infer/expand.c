/* Bodies in place of wholes: calls of the model's functions, and operators that their
 * definition expresses by others, where no kernel serves the whole. */
#include "core/base/alloc.h"
#include "core/infer/infer_impl.h"

#include <stdio.h>
#include <string.h>

/* ---- finding functions ----------------------------------------------- */

/* Parts joined by a character that no name contains; truncation only makes a name
 * unknown. */
static void write_key(
    char *key, size_t size, const char *domain, const char *name, const char *overload) {
    snprintf(key, size, "%s\x1f%s\x1f%s", domain, name, overload);
}

enum { MAX_KEY = 1024 };

const struct tn__function *tn__expand_find(
    const struct tn__inferer *inferer, const struct tn__node *node) {
    char key[MAX_KEY];
    if (!node->is_function) return NULL;
    write_key(key, sizeof key, node->view.domain, node->view.op_type, node->overload);
    uint32_t i = tn__map_get(&inferer->functions, key);
    return i == UINT32_MAX ? NULL : &inferer->model->functions[i];
}

tn_status tn__expand_prepare(struct tn__inferer *inferer, struct tn_diag *diag) {
    struct tn__model *model = inferer->model;
    for (uint32_t i = 0; i < model->n_functions; i++) {
        const struct tn__function *f = &model->functions[i];
        char key[MAX_KEY];
        write_key(key, sizeof key, f->domain, f->name, f->overload);
        char *copy = tn__arena_string(model->arena, key, strlen(key));
        if (!copy || !tn__map_put(&inferer->functions, copy, i))
            return tn__fail_memory(diag, "the functions of the model", strlen(key));
    }
    return TN_OK;
}

/* ---- a body in place of a call --------------------------------------- */

/* What a reference inside the body stands for: the call's attribute or the default. */
struct arguments {
    const struct tn_node *call;
    const struct tn__function *function;
};

static const struct tn_attr *find_argument(void *arg, const char *name) {
    const struct arguments *a = arg;
    const struct tn_attr *given = tn_node_attr(a->call, name);
    for (uint32_t i = 0; !given && i < a->function->n_attr_defaults; i++) {
        if (strcmp(a->function->attr_defaults[i].name, name) == 0)
            given = &a->function->attr_defaults[i];
    }
    return given;
}

static tn_status check_arity(const struct tn_node *call,
    const struct tn__function *function, struct tn_diag *diag) {
    const struct tn_graph *body = function->body;
    if (call->n_inputs <= body->n_inputs && call->n_outputs <= body->n_outputs)
        return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "the call of function '%s' has %u inputs and %u outputs, the function has %u and "
        "%u",
        function->name, call->n_inputs, call->n_outputs, body->n_inputs, body->n_outputs);
}

/* The call lets go of an output that a node of the body will produce. */
static void release_output(struct tn_graph *g, tn_node_id call, uint32_t o) {
    tn_value_id *slot = (tn_value_id *)(uintptr_t)&g->nodes[call].view.outputs[o];
    g->values[*slot].producer = TN_NO_ID;
    *slot = TN_NO_ID;
}

/* Formals stand for the call's values; a body value that is one output of the call takes
 * its place. */
static void map_formals(struct tn_graph *g, tn_node_id id, const struct tn_graph *body,
    tn_value_id *outputs, tn_value_id *map) {
    const struct tn_node *call = &g->nodes[id].view;
    for (tn_value_id v = 0; v < body->n_values; v++)
        map[v] = TN_NO_ID;
    for (uint32_t i = 0; i < call->n_inputs; i++)
        map[body->inputs[i]] = call->inputs[i];
    for (uint32_t o = 0; o < call->n_outputs; o++) {
        tn_value_id v = body->outputs[o];
        outputs[o] = call->outputs[o];
        if (outputs[o] == TN_NO_ID || map[v] != TN_NO_ID ||
            body->values[v].producer == TN_NO_ID)
            continue;
        map[v] = outputs[o];
        release_output(g, id, o);
    }
}

/* Outputs that are an input of the function, a constant, or the same value again. */
static tn_status redirect_outputs(struct tn_graph *g, const struct tn__function *f,
    const tn_value_id *outputs, uint32_t n, const tn_value_id *map,
    struct tn_diag *diag) {
    for (uint32_t o = 0; o < n; o++) {
        tn_value_id to = map[f->body->outputs[o]];
        if (outputs[o] == TN_NO_ID || outputs[o] == to) continue;
        if (to == TN_NO_ID)
            return tn_fail(diag, TN_INVALID_MODEL,
                "function '%s' returns its input '%s', which the call leaves out",
                f->name, f->body->values[f->body->outputs[o]].name);
        TN_TRY(tn__graph_api.replace_uses(g, outputs[o], to, diag));
    }
    return TN_OK;
}

/* New nodes follow the opsets that the function imports. */
static tn_status resolve_body(struct tn__inferer *inferer, struct tn_graph *g,
    tn_node_id begin, const struct tn_graph *body, struct tn_diag *diag) {
    const struct tn__opset *opsets = g->opsets;
    uint32_t n_opsets = g->n_opsets;
    tn_status status = TN_OK;
    g->opsets = body->opsets;
    g->n_opsets = body->n_opsets;
    for (tn_node_id id = begin; id < g->n_nodes && status == TN_OK; id++) {
        if (tn__expand_find(inferer, &g->nodes[id])) continue;
        status = tn__resolve_node(inferer->registry, g, id, diag);
        status = tn__node_context(diag, &g->nodes[id], status);
    }
    g->opsets = opsets;
    g->n_opsets = n_opsets;
    return status;
}

static tn_status inline_body(struct tn__inferer *inferer, struct tn_graph *g,
    tn_node_id id, const struct tn__function *function, tn_value_id *map,
    tn_value_id *outputs, struct tn_diag *diag) {
    const struct tn_node call = g->nodes[id].view;
    struct arguments arguments = {&call, function};
    struct tn__clone clone = {.prefix = call.name,
        .attr = find_argument,
        .arg = &arguments,
        .n_nodes = &inferer->n_nodes,
        .max_nodes = inferer->options.max_nodes};
    tn_node_id begin = g->n_nodes;
    map_formals(g, id, function->body, outputs, map);
    TN_TRY(tn__graph_clone_into(g, id, function->body, map, &clone, diag));
    TN_TRY(redirect_outputs(g, function, outputs, call.n_outputs, map, diag));
    TN_TRY(tn__graph_api.remove_node(g, id, diag));
    return resolve_body(inferer, g, begin, function->body, diag);
}

tn_status tn__expand_call(struct tn__inferer *inferer, struct tn_graph *g, tn_node_id id,
    const struct tn__function *function, struct tn_diag *diag) {
    const struct tn_node *call = &g->nodes[id].view;
    TN_TRY(check_arity(call, function, diag));
    tn_value_id *map = tn__alloc((uint64_t)function->body->n_values * sizeof *map, 0);
    tn_value_id *outputs = tn__alloc((uint64_t)call->n_outputs * sizeof *outputs, 0);
    tn_status status = TN_OUT_OF_MEMORY;
    if (map && outputs)
        status = inline_body(inferer, g, id, function, map, outputs, diag);
    else
        (void)tn__fail_memory(diag, "a function call", function->body->n_values);
    tn__free(map);
    tn__free(outputs);
    return status;
}

/* ---- operators with a body ------------------------------------------- */

bool tn__infer_has_kernel(
    struct tn__inferer *inferer, struct tn_graph *g, tn_node_id id) {
    for (uint32_t i = 0; i < inferer->options.n_providers; i++) {
        const struct tn__plugin *plugin;
        uint32_t reason;
        if (tn__registry_kernel(inferer->registry, inferer->options.providers[i], g, id,
                &plugin, &reason, NULL, 0))
            return true;
    }
    return false;
}

/* A body that imports nothing follows the newest definitions, whatever the model imports:
 * it belongs to a definition, which is the newest itself. */
static tn_status follow_newest(struct tn__model *model, const struct tn_op_def *def,
    const struct tn_graph *last_before, struct tn_diag *diag) {
    struct tn__opset *opsets = tn__arena_array(model->arena, 2, sizeof *opsets);
    if (!opsets) return tn__fail_memory(diag, "opset imports", 2 * sizeof *opsets);
    opsets[0] = (struct tn__opset){"", INT32_MAX};
    opsets[1] = (struct tn__opset){def->domain, INT32_MAX};
    for (struct tn_graph *g = model->graphs; g != last_before; g = g->next_graph) {
        if (g->opsets != model->opsets) continue;
        g->opsets = opsets;
        g->n_opsets = 2;
    }
    return TN_OK;
}

/* The parsed body of a definition, parsed when first wanted. */
static tn_status find_expansion(struct tn__inferer *inferer, const struct tn_op_def *def,
    const struct tn__function **out, struct tn_diag *diag) {
    for (uint32_t i = 0; i < inferer->n_expansions; i++) {
        if (inferer->expansions[i]->def != def) continue;
        *out = &inferer->expansions[i]->function;
        return TN_OK;
    }
    struct tn_arena *arena = inferer->model->arena;
    struct tn__expansion *e = tn__arena_alloc(arena, sizeof *e);
    if (!e || !tn__arena_grow(arena, (void **)&inferer->expansions,
                  &inferer->cap_expansions, inferer->n_expansions + 1, sizeof e))
        return tn__fail_memory(diag, "the body of an operator", sizeof *e);
    const struct tn_graph *last_before = inferer->model->graphs;
    uint32_t n_warnings = inferer->model->n_warnings;
    e->def = def;
    TN_TRY(inferer->options.read_function(
        inferer->model, def->expansion, strlen(def->expansion), &e->function, diag));
    inferer->model->n_warnings = n_warnings; /* they are not about the model */
    TN_TRY(follow_newest(inferer->model, def, last_before, diag));
    inferer->expansions[inferer->n_expansions++] = e;
    *out = &e->function;
    return TN_OK;
}

/* A builder that has no body for this node says TN_UNSUPPORTED. */
static tn_status run_builder(struct tn__inferer *inferer, struct tn_graph *g,
    tn_node_id id, bool *out_done, struct tn_diag *diag) {
    const struct tn_op_def *def = g->nodes[id].def;
    const struct tn__plugin *plugin = tn__registry_op_plugin(inferer->registry, def);
    struct tn_diag own = {0};
    struct tn_rewrite rewrite = {.struct_size = TN_REWRITE_SIZE,
        .host = plugin ? plugin->host : NULL,
        .api = &tn__graph_api,
        .graph = g,
        .node = id,
        .from = g->nodes[id].view.since,
        .to = g->nodes[id].view.since,
        .diag = &own};
    tn_status status = def->expand(&rewrite);
    if (status == TN_UNSUPPORTED) return TN_OK;
    if (status != TN_OK) {
        if (diag && diag->code == TN_OK) *diag = own;
        return status;
    }
    if (inferer->n_nodes > inferer->options.max_nodes)
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "the model has more than %u nodes once its operators are expanded: raise "
            "the limit on nodes if the model is trusted",
            inferer->options.max_nodes);
    (void)tn__graph_api.remove_node(g, id, NULL); /* unless the builder did, or kept it */
    *out_done = g->nodes[id].dead || g->nodes[id].def != def;
    return TN_OK;
}

tn_status tn__expand_operator(struct tn__inferer *inferer, struct tn_graph *g,
    tn_node_id id, bool *out_done, struct tn_diag *diag) {
    const struct tn_op_def *def = g->nodes[id].def;
    bool has_text = def->expansion && inferer->options.read_function;
    *out_done = false;
    if (!has_text && !def->expand) return TN_OK;
    if (inferer->options.whole || g->nodes[id].reserved) return TN_OK;
    if (inferer->options.native && tn__infer_has_kernel(inferer, g, id)) return TN_OK;
    if (def->expand) TN_TRY(run_builder(inferer, g, id, out_done, diag));
    if (*out_done || !has_text) return TN_OK;
    const struct tn__function *function = NULL;
    TN_TRY(find_expansion(inferer, def, &function, diag));
    *out_done = true;
    return tn__expand_call(inferer, g, id, function, diag);
}
