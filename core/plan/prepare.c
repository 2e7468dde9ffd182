/* Units become callable: kernels are created, groups compiled (group.c). */
#include "core/plan/provider_call.h"

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

tn_status tn__plan_add_plugin(
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
    unit->compute = unit->def->compute;
    if (TN_HAS(unit->def, workspace)) unit->workspace = unit->def->workspace;
    if (TN_HAS(unit->def, prepare)) unit->prepare = unit->def->prepare;
    TN_TRY(tn__plan_add_plugin(plan, unit, diag));
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

/* In a dry run: who would run it, without making it. */
static void look_up(struct tn__program *program, struct tn__unit *unit) {
    const struct tn__plan *plan = program->plan;
    uint32_t reason;
    if (unit->provider == plan->n_providers) return;
    unit->def = tn__registry_kernel(plan->registry, plan->providers[unit->provider].id,
        unit->graph, unit->nodes[0], &unit->plugin, &reason, NULL, 0);
}

static void set_operands(struct tn__unit *unit) {
    const struct tn_node *node = &tn__unit_node(unit)->view;
    unit->inputs = node->inputs;
    unit->outputs = node->outputs;
    unit->n_inputs = node->n_inputs;
    unit->n_outputs = node->n_outputs;
}

tn_status tn__plan_kernels(
    struct tn__program *program, bool *out_again, struct tn_diag *diag) {
    struct tn__plan *plan = program->plan;
    *out_again = false;
    for (uint32_t i = 0; i < program->n_units; i++) {
        struct tn__unit *unit = &program->units[i];
        unit->id = plan->n_units + i;
        if (!unit->group) set_operands(unit);
        if (!unit->group && plan->dry) {
            look_up(program, unit);
            continue;
        }
        if (!unit->group) {
            TN_TRY(create_kernel(program, unit, diag));
            continue;
        }
        struct tn_diag why = {0};
        tn_status status = tn__group_compile(program, unit, &why);
        if (status == TN_OK) continue;
        if (plan->policy != TN_POLICY_AUTO) {
            if (diag && diag->code == TN_OK) *diag = why;
            return status;
        }
        *out_again = true;
        TN_TRY(tn__group_withdraw(program, unit, TN_REASON_COMPILER, why.message, diag));
        return tn__model_warn(plan->model, "a group of %u nodes falls back: %s",
            (unsigned)unit->n_nodes, why.message);
    }
    return TN_OK;
}

void tn__plan_drop_kernels(struct tn__program *program) {
    for (uint32_t i = 0; i < program->n_units; i++) {
        struct tn__unit *unit = &program->units[i];
        if (unit->created && TN_HAS(unit->def, destroy)) unit->def->destroy(unit->kernel);
        if (unit->compiled)
            tn__provider_forget(
                &program->plan->providers[unit->provider], unit->compiled);
        unit->compiled = NULL;
        unit->created = false;
        if (unit->serial) pthread_mutex_destroy(unit->serial);
        unit->serial = NULL;
        tn__weights_release(&unit->weights, NULL);
    }
}
