/* Groups of nodes that a provider compiles: their border, and the call. */
#include "core/base/alloc.h"
#include "core/plan/provider_call.h"

#include <string.h>

/* ---- border --------------------------------------------------------------------------- */

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

tn_status tn__plan_borders(struct tn__program *program, struct tn_diag *diag) {
    struct tn__plan *plan = program->plan;
    for (uint32_t i = 0; i < program->n_units; i++) {
        struct tn__unit *unit = &program->units[i];
        if (!unit->group) continue;
        if (tn__unit_set_context(program, unit)) continue;
        TN_TRY(find_border(plan, unit, diag));
        unit->name = tn__arena_format(plan->arena, "%s_%u",
            plan->providers[unit->provider].id, (unsigned)plan->n_groups++);
        if (!unit->name) return tn__fail_memory(diag, "groups", 64);
    }
    return TN_OK;
}

struct tn_group tn__group_view(const struct tn__unit *unit) {
    return (struct tn_group){.struct_size = TN_GROUP_SIZE,
        .api = &tn__graph_api,
        .graph = unit->graph,
        .nodes = unit->nodes,
        .inputs = unit->inputs,
        .outputs = unit->outputs,
        .n_nodes = unit->n_nodes,
        .n_inputs = unit->n_inputs,
        .n_outputs = unit->n_outputs,
        .id = unit->id,
        .name = unit->name};
}

/* ---- compiling ------------------------------------------------------------------------ */

/* Spaces that the provider does not have would be found out in a run, too late. */
static tn_status check_spaces(const struct tn__plan_provider *provider,
    const struct tn__unit *unit, const uint32_t *spaces, uint32_t n,
    struct tn_diag *diag) {
    for (uint32_t i = 0; spaces && i < n; i++) {
        uint32_t k = 0;
        while (k < provider->n_spaces && provider->spaces[k]->id != spaces[i])
            k++;
        if (spaces[i] != 0 && k == provider->n_spaces)
            return tn_fail(diag, TN_PLUGIN,
                "provider '%s' wants a border of group '%s' in memory space %u, which it "
                "does not have",
                provider->id, unit->name, (unsigned)spaces[i]);
    }
    return TN_OK;
}

/* Compiles the group, or imports it with its neighbours; one of them may have done so. */
static tn_status make_compiled(
    struct tn__program *program, struct tn__unit *unit, struct tn_diag *diag) {
    if (unit->compiled) return TN_OK;
    if (unit->context) return tn__context_import(program, unit, diag);
    struct tn_group group = tn__group_view(unit);
    return tn__provider_compile(
        &program->plan->providers[unit->provider], &group, &unit->compiled, diag);
}

tn_status tn__group_compile(
    struct tn__program *program, struct tn__unit *unit, struct tn_diag *diag) {
    struct tn__plan *plan = program->plan;
    const struct tn__plan_provider *provider = &plan->providers[unit->provider];
    unit->plugin = provider->reg->plugin;
    TN_TRY(tn__plan_add_plugin(plan, unit, diag));
    if (plan->dry) return TN_OK;
    tn_status status = make_compiled(program, unit, diag);
    if (status != TN_OK) return tn__node_context(diag, tn__unit_node(unit), status);
    const struct tn_compiled *compiled = unit->compiled;
    unit->kernel = compiled->self;
    unit->compute = compiled->run;
    if (TN_HAS(compiled, workspace)) unit->workspace = compiled->workspace;
    if (TN_HAS(compiled, prepare)) unit->prepare = compiled->prepare;
    if (TN_HAS(compiled, input_spaces))
        TN_TRY(
            check_spaces(provider, unit, compiled->input_spaces, unit->n_inputs, diag));
    if (TN_HAS(compiled, output_spaces))
        TN_TRY(
            check_spaces(provider, unit, compiled->output_spaces, unit->n_outputs, diag));
    return TN_OK;
}

tn_status tn__group_withdraw(struct tn__program *program, const struct tn__unit *unit,
    uint32_t reason, const char *text, struct tn_diag *diag) {
    const char *copy = tn__arena_format(program->plan->arena, "%s", text);
    if (!copy) return tn__fail_memory(diag, "verdicts", TN_DIAG_MESSAGE_SIZE);
    for (uint32_t i = 0; i < unit->n_nodes; i++)
        *tn__verdict_of(program, unit->provider, unit->nodes[i]) =
            (struct tn__verdict){true, false, 0, reason, copy};
    return TN_OK;
}
