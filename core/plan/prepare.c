/* Units become callable: kernels are created, groups compiled. */
#include "core/base/alloc.h"
#include "core/plan/plan.h"

#include <string.h>

/* Types of a node's inputs or outputs as kernels see them. */
static struct tn_type *gather_types(
    struct tn__plan *plan, const struct tn_graph *g, const tn_value_id *ids, uint32_t n) {
    struct tn_type *types = tn__arena_array(plan->arena, n, sizeof *types);
    for (uint32_t i = 0; types && i < n; i++) {
        if (ids[i] != TN_NO_ID) types[i] = tn__value_at(g, ids[i])->type;
    }
    return types;
}

struct creating {
    const struct tn__unit *unit;
    const struct tn_node *node;
};

static const struct tn_tensor *constant_input(void *self, uint32_t i) {
    const struct creating *c = self;
    if (i >= c->node->n_inputs || c->node->inputs[i] == TN_NO_ID) return NULL;
    return tn__tensor_align(
        c->unit->graph->model, tn__constant_of(c->unit->graph, c->node->inputs[i]));
}

static tn_status add_plugin(
    struct tn__plan *plan, struct tn__unit *unit, struct tn_diag *diag) {
    for (uint32_t i = 0; i < plan->n_plugins; i++) {
        unit->plugin_index = i;
        if (plan->plugins[i] == unit->plugin) return TN_OK;
    }
    if (!tn__arena_grow(plan->arena, (void **)&plan->plugins, &plan->cap_plugins,
            plan->n_plugins + 1, sizeof *plan->plugins))
        return tn__fail_memory(diag, "plugins", sizeof *plan->plugins);
    unit->plugin_index = plan->n_plugins;
    plan->plugins[plan->n_plugins++] = unit->plugin;
    return TN_OK;
}

static tn_status add_serial_lock(
    struct tn__plan *plan, struct tn__unit *unit, struct tn_diag *diag) {
    if (!(unit->def->flags & TN_KERNEL_SERIAL)) return TN_OK;
    unit->serial = tn__arena_alloc(plan->arena, sizeof *unit->serial);
    if (!unit->serial) return tn__fail_memory(diag, "kernels", sizeof *unit->serial);
    pthread_mutex_init(unit->serial, NULL);
    return TN_OK;
}

/* Names the node and the plugin of a failure, and gives it a sentence if it has none. */
static tn_status explain(const struct tn__unit *unit, tn_status status, const char *what,
    struct tn_diag *diag) {
    tn_fail(diag, status, "%s of plugin %s failed without a reason: %s",
        tn__unit_kernel_name(unit), unit->plugin->desc->id, what);
    if (diag) tn__diag_name(diag, diag->plugin, unit->plugin->desc->id);
    return tn__node_context(diag, tn__unit_node(unit), status);
}

static tn_status create_kernel(
    struct tn__program *program, struct tn__unit *unit, struct tn_diag *diag) {
    struct tn__plan *plan = program->plan;
    const struct tn_node *node = &tn__unit_node(unit)->view;
    uint32_t reason = TN_REASON_OK;
    char detail[256] = "";
    unit->def = tn__registry_kernel(plan->registry, plan->providers[unit->provider].id,
        unit->graph, unit->nodes[0], &unit->plugin, &reason, detail, sizeof detail);
    if (!unit->def || !unit->def->compute)
        return tn__node_context(diag, tn__unit_node(unit),
            tn_fail(diag, TN_INTERNAL, "the kernel of node '%s' is gone: %s", node->name,
                detail));
    unit->inputs = node->inputs;
    unit->outputs = node->outputs;
    unit->n_inputs = node->n_inputs;
    unit->n_outputs = node->n_outputs;
    unit->compute = unit->def->compute;
    if (TN_HAS(unit->def, workspace)) unit->workspace = unit->def->workspace;
    if (TN_HAS(unit->def, prepare)) unit->prepare = unit->def->prepare;
    TN_TRY(add_plugin(plan, unit, diag));
    TN_TRY(add_serial_lock(plan, unit, diag));
    unit->created = true;
    if (!TN_HAS(unit->def, create)) return TN_OK;
    struct creating creating = {unit, node};
    struct tn_kernel_ctx ctx = {.struct_size = TN_KERNEL_CTX_SIZE,
        .self = &creating,
        .host = unit->plugin->host,
        .plugin_state = unit->plugin->state,
        .node = node,
        .inputs = gather_types(plan, unit->graph, node->inputs, node->n_inputs),
        .outputs = gather_types(plan, unit->graph, node->outputs, node->n_outputs),
        .diag = diag,
        .constant = constant_input};
    if (!ctx.inputs || !ctx.outputs) return tn__fail_memory(diag, "kernels", 64);
    tn_status status = unit->def->create(&ctx, &unit->kernel);
    if (status == TN_OK) return TN_OK;
    unit->created = false;
    return explain(unit, status, "create", diag);
}

/* ---- groups --------------------------------------------------------------------------- */

/* The border of a group, collected in two growing lists. */
struct border {
    const struct tn__unit *unit;
    uint8_t *inside; /* by node id */
    uint8_t *seen;   /* by value id: 1 input, 2 output */
    tn_value_id *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
};

static void add_border_input(struct border *b, tn_value_id v) {
    const struct tn_graph *g = b->unit->graph;
    if (v == TN_NO_ID || b->seen[v] || tn__constant_of(g, v)) return;
    tn_node_id from = tn__value_at(g, v)->producer;
    if (from != TN_NO_ID && b->inside[from]) return;
    b->seen[v] = 1;
    b->inputs[b->n_inputs++] = v;
}

static bool is_read_outside(const struct border *b, tn_value_id v) {
    const struct tn__value *value = tn__value_at(b->unit->graph, v);
    if (value->flags & TN_VALUE_OUTPUT) return true;
    for (uint32_t i = 0; i < value->n_uses; i++) {
        if (!b->inside[value->uses[i].node]) return true;
    }
    return false;
}

static tn_status add_captures_of(void *arg, struct tn_graph *sub) {
    struct border *b = arg;
    for (uint32_t v = 0; v < sub->n_values; v++) {
        if (sub->values[v].flags & TN_VALUE_CAPTURE)
            add_border_input(b, sub->values[v].outer);
    }
    return TN_OK;
}

static void walk_border(struct border *b) {
    const struct tn_graph *g = b->unit->graph;
    for (uint32_t i = 0; i < b->unit->n_nodes; i++)
        b->inside[b->unit->nodes[i]] = 1;
    for (uint32_t i = 0; i < b->unit->n_nodes; i++) {
        const struct tn__node *node = tn__node_at(g, b->unit->nodes[i]);
        for (uint32_t k = 0; k < node->view.n_inputs; k++)
            add_border_input(b, node->view.inputs[k]);
        (void)tn__node_subgraphs(node, add_captures_of, b);
        for (uint32_t k = 0; k < node->view.n_outputs; k++) {
            tn_value_id v = node->view.outputs[k];
            if (v != TN_NO_ID && is_read_outside(b, v)) b->outputs[b->n_outputs++] = v;
        }
    }
}

static tn_status find_border(
    struct tn__plan *plan, struct tn__unit *unit, struct tn_diag *diag) {
    const struct tn_graph *g = unit->graph;
    uint64_t size = (uint64_t)g->n_nodes + (uint64_t)g->n_values * 9 + 16;
    char *scratch = tn__alloc_zero(size, 0);
    if (!scratch) return tn__fail_memory(diag, "groups", size);
    struct border b = {.unit = unit, .inputs = (tn_value_id *)(void *)scratch};
    b.outputs = b.inputs + g->n_values;
    b.seen = (uint8_t *)(b.outputs + g->n_values);
    b.inside = b.seen + g->n_values;
    walk_border(&b);
    unit->inputs = tn__arena_copy(plan->arena, b.inputs, b.n_inputs * sizeof *b.inputs);
    unit->outputs =
        tn__arena_copy(plan->arena, b.outputs, b.n_outputs * sizeof *b.outputs);
    unit->n_inputs = b.n_inputs;
    unit->n_outputs = b.n_outputs;
    tn__free(scratch);
    return unit->inputs && unit->outputs ? TN_OK : tn__fail_memory(diag, "groups", size);
}

static tn_status compile_group(
    struct tn__program *program, struct tn__unit *unit, struct tn_diag *diag) {
    struct tn__plan *plan = program->plan;
    const struct tn__plan_provider *provider = &plan->providers[unit->provider];
    unit->plugin = provider->reg->plugin;
    TN_TRY(find_border(plan, unit, diag));
    TN_TRY(add_plugin(plan, unit, diag));
    struct tn_group group = {.struct_size = TN_GROUP_SIZE,
        .api = &tn__graph_api,
        .graph = unit->graph,
        .nodes = unit->nodes,
        .inputs = unit->inputs,
        .outputs = unit->outputs,
        .n_nodes = unit->n_nodes,
        .n_inputs = unit->n_inputs,
        .n_outputs = unit->n_outputs,
        .id = unit->id};
    const struct tn_compiled *compiled = NULL;
    tn_status status =
        provider->reg->def->compile(provider->instance, &group, &compiled, diag);
    if (status == TN_OK && !(compiled && TN_HAS(compiled, run)))
        status = tn_fail(diag, TN_PLUGIN,
            "provider '%s' compiled a group that cannot run", provider->id);
    if (status != TN_OK) return explain(unit, status, "compile", diag);
    unit->compiled = compiled;
    unit->kernel = compiled->self;
    unit->compute = compiled->run;
    if (TN_HAS(compiled, workspace)) unit->workspace = compiled->workspace;
    if (TN_HAS(compiled, prepare)) unit->prepare = compiled->prepare;
    unit->created = true;
    return TN_OK;
}

/* Withdraws the claim on a group, so that the next provider is asked. */
static tn_status withdraw(struct tn__program *program, const struct tn__unit *unit,
    const struct tn_diag *why, struct tn_diag *diag) {
    const struct tn__plan_provider *provider = &program->plan->providers[unit->provider];
    const char *text = tn__arena_format(program->plan->arena, "%s", why->message);
    if (!text) return tn__fail_memory(diag, "verdicts", TN_DIAG_MESSAGE_SIZE);
    for (uint32_t i = 0; i < unit->n_nodes; i++)
        program->verdicts[(uint64_t)unit->provider * program->graph->n_nodes +
                          unit->nodes[i]] =
            (struct tn__verdict){true, false, 0, TN_REASON_COMPILER, text};
    return tn__model_warn(program->plan->model,
        "provider '%s' could not compile a group of %u nodes, which fall back: %s",
        provider->id, (unsigned)unit->n_nodes, why->message);
}

tn_status tn__plan_kernels(
    struct tn__program *program, bool *out_again, struct tn_diag *diag) {
    struct tn__plan *plan = program->plan;
    *out_again = false;
    for (uint32_t i = 0; i < program->n_units; i++) {
        struct tn__unit *unit = &program->units[i];
        uint64_t row = (uint64_t)unit->provider * program->graph->n_nodes;
        bool single = program->verdicts[row + unit->nodes[0]].group == 0;
        unit->id = plan->n_units + i;
        if (single) {
            TN_TRY(create_kernel(program, unit, diag));
            continue;
        }
        struct tn_diag why = {0};
        tn_status status = compile_group(program, unit, &why);
        if (status == TN_OK) continue;
        if (plan->policy != TN_POLICY_AUTO || status == TN_OUT_OF_MEMORY) {
            if (diag && diag->code == TN_OK) *diag = why;
            return status;
        }
        *out_again = true;
        return withdraw(program, unit, &why, diag);
    }
    plan->n_units += program->n_units;
    return TN_OK;
}

void tn__plan_drop_kernels(struct tn__program *program) {
    for (uint32_t i = 0; i < program->n_units; i++) {
        struct tn__unit *unit = &program->units[i];
        if (unit->created && unit->def && TN_HAS(unit->def, destroy))
            unit->def->destroy(unit->kernel);
        else if (unit->compiled && TN_HAS(unit->compiled, destroy))
            unit->compiled->destroy(unit->kernel);
        unit->compiled = NULL;
        unit->created = false;
        if (unit->serial) pthread_mutex_destroy(unit->serial);
        unit->serial = NULL;
        tn__weights_release(&unit->weights, NULL);
    }
}
