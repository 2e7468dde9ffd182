/* The plan of a session: one program for the main graph and one for every subgraph whose
 * node is run by a kernel. */
#include "core/plan/provider_call.h"

#include <string.h>

tn_value_id tn__origin_of(const struct tn_graph **g, tn_value_id v) {
    while ((tn__value_at(*g, v)->flags & TN_VALUE_CAPTURE) && (*g)->parent) {
        v = tn__value_at(*g, v)->outer;
        *g = (*g)->parent;
    }
    return v;
}

const struct tn_tensor *tn__constant_of(const struct tn_graph *g, tn_value_id v) {
    v = tn__origin_of(&g, v);
    const struct tn__value *value = tn__value_at(g, v);
    return value->flags & TN_VALUE_INPUT ? NULL : value->constant;
}

const char *tn__unit_kernel_name(const struct tn__unit *unit) {
    if (unit->def && unit->def->name) return unit->def->name;
    if (unit->def) return unit->def->op_type;
    if (unit->transfer) return unit->transfer->name;
    return unit->group ? unit->name : "none";
}

/* ---- building ------------------------------------------------------------------------- */

static tn_status find_externals(struct tn__program *program, struct tn_diag *diag) {
    const struct tn_graph *g = program->graph;
    tn_value_id *list = tn__arena_array(
        program->plan->arena, (uint64_t)g->n_inputs + g->n_values, sizeof *list);
    if (!list) return tn__fail_memory(diag, "program", g->n_values);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        list[n++] = g->inputs[i];
    program->n_inputs = n;
    for (uint32_t v = 0; v < g->n_values; v++) {
        const struct tn__value *value = tn__value_at(g, v);
        if ((value->flags & TN_VALUE_CAPTURE) && !tn__constant_of(g, v)) list[n++] = v;
    }
    program->externals = list;
    program->n_externals = n;
    return TN_OK;
}

struct capturing {
    struct tn__unit *unit;
    tn_value_id *list; /* NULL while counting */
    struct tn__program *program;
    uint32_t depth;
    struct tn_diag *diag;
};

static tn_status collect_captures(void *arg, struct tn_graph *sub) {
    struct capturing *c = arg;
    for (uint32_t v = 0; v < sub->n_values; v++) {
        if (!(sub->values[v].flags & TN_VALUE_CAPTURE)) continue;
        if (c->list) c->list[c->unit->n_captures] = sub->values[v].outer;
        c->unit->n_captures++;
    }
    if (!c->list) c->unit->n_subs++;
    return TN_OK;
}

static tn_status create_program(struct tn__plan *plan, struct tn_graph *g, uint32_t depth,
    struct tn__program **out, struct tn_diag *diag);

static tn_status plan_subgraph(void *arg, struct tn_graph *sub) {
    struct capturing *c = arg;
    struct tn__program **slot = &c->unit->subs[c->unit->n_subs];
    TN_TRY(create_program(c->program->plan, sub, c->depth + 1, slot, c->diag));
    c->unit->n_subs++;
    return TN_OK;
}

/* Captures and programs of the subgraphs of a unit's nodes. A compiled group runs its
 * subgraphs by itself, so only the captures count: they are inputs of the group. */
static tn_status plan_subgraphs(struct tn__program *program, struct tn__unit *unit,
    uint32_t depth, struct tn_diag *diag) {
    if (unit->group || unit->transfer) return TN_OK;
    struct tn__plan *plan = program->plan;
    const struct tn__node *node = tn__unit_node(unit);
    struct capturing c = {unit, NULL, program, depth, diag};
    TN_TRY(tn__node_subgraphs(node, collect_captures, &c));
    if (unit->n_subs == 0) return TN_OK;
    c.list = tn__arena_array(plan->arena, unit->n_captures, sizeof *c.list);
    unit->subs = tn__arena_array(plan->arena, unit->n_subs, sizeof *unit->subs);
    if (!c.list || !unit->subs) return tn__fail_memory(diag, "program", unit->n_captures);
    unit->captures = c.list;
    unit->n_captures = 0;
    TN_TRY(tn__node_subgraphs(node, collect_captures, &c));
    unit->n_subs = 0;
    return tn__node_subgraphs(node, plan_subgraph, &c);
}

static void note_use(struct tn__program *program, tn_value_id v, uint32_t unit) {
    if (v != TN_NO_ID) program->last_use[v] = unit;
}

static tn_status find_uses(struct tn__program *program, struct tn_diag *diag) {
    const struct tn_graph *g = program->graph;
    uint64_t bytes = (uint64_t)program->n_values * sizeof(uint32_t);
    program->last_use = tn__arena_alloc(program->plan->arena, bytes);
    program->def_unit = tn__arena_alloc(program->plan->arena, bytes);
    if (!program->last_use || !program->def_unit)
        return tn__fail_memory(diag, "program", 2 * bytes);
    memset(program->last_use, 0xff, bytes);
    memset(program->def_unit, 0xff, bytes);
    for (uint32_t u = 0; u < program->n_units; u++) {
        const struct tn__unit *unit = &program->units[u];
        for (uint32_t i = 0; i < unit->n_inputs; i++)
            note_use(program, unit->inputs[i], u);
        for (uint32_t i = 0; i < unit->n_captures; i++)
            note_use(program, unit->captures[i], u);
        for (uint32_t i = 0; i < unit->n_outputs; i++) {
            if (unit->outputs[i] != TN_NO_ID) program->def_unit[unit->outputs[i]] = u;
        }
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        program->last_use[g->outputs[i]] = program->n_units;
    return TN_OK;
}

static tn_status build_units(struct tn__program *program, struct tn_diag *diag) {
    TN_TRY(tn__plan_partition(program, diag));
    for (bool again = true; again;) {
        TN_TRY(tn__plan_schedule(program, diag));
        TN_TRY(tn__plan_borders(program, diag));
        TN_TRY(tn__plan_weigh(program, &again, diag));
        if (!again) TN_TRY(tn__plan_kernels(program, &again, diag));
        if (!again) break;
        tn__plan_drop_kernels(program);
        TN_TRY(tn__plan_assign(program, diag));
    }
    TN_TRY(tn__plan_transfers(program, diag));
    for (uint32_t u = 0; u < program->n_units; u++)
        program->units[u].id = program->plan->n_units++;
    return TN_OK;
}

static tn_status create_program(struct tn__plan *plan, struct tn_graph *g, uint32_t depth,
    struct tn__program **out, struct tn_diag *diag) {
    enum { DEEPEST = 100 };
    if (depth > DEEPEST)
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "subgraphs are nested more than %d deep; flatten the model", DEEPEST);
    struct tn__program *program = tn__arena_alloc(plan->arena, sizeof *program);
    if (!program ||
        !tn__arena_grow(plan->arena, (void **)&plan->programs, &plan->cap_programs,
            plan->n_programs + 1, sizeof *plan->programs))
        return tn__fail_memory(diag, "program", sizeof *program);
    program->plan = plan;
    program->graph = g;
    program->index = plan->n_programs;
    plan->programs[plan->n_programs++] = program;
    *out = program;
    TN_TRY(find_externals(program, diag));
    TN_TRY(build_units(program, diag));
    for (uint32_t u = 0; u < program->n_units; u++)
        TN_TRY(plan_subgraphs(program, &program->units[u], depth, diag));
    return find_uses(program, diag);
}

tn_status tn__plan_check_fallback(const struct tn__plan *plan, struct tn_diag *diag) {
    const struct tn__plan_options *options = plan->options;
    uint64_t n = 0;
    if (!options->has_fallback || options->n_providers < 2) return TN_OK;
    for (uint32_t g = 0; g < plan->n_programs; g++) {
        const struct tn__program *program = plan->programs[g];
        for (uint32_t u = 0; u < program->n_units; u++) {
            if (program->units[u].provider + 1 == plan->n_providers)
                n += program->units[u].n_nodes;
        }
    }
    if (n <= options->max_fallback_nodes) return TN_OK;
    return tn_fail(diag, TN_LIMIT_EXCEEDED,
        "%llu nodes fall back to the provider '%s', more than limits.fallback_nodes "
        "(%llu); see the placement report, or raise the limit",
        (unsigned long long)n, plan->providers[plan->n_providers - 1].id,
        (unsigned long long)options->max_fallback_nodes);
}

/* ---- life ----------------------------------------------------------------------------- */

tn_status tn__plan_open(struct tn__model *model, struct tn__registry *registry,
    const struct tn__plan_options *options, struct tn__plan **out, struct tn_diag *diag) {
    struct tn_arena *arena = tn__arena_create();
    struct tn__plan *plan = arena ? tn__arena_alloc(arena, sizeof *plan) : NULL;
    if (!plan) {
        tn__arena_destroy(arena);
        return tn__fail_memory(diag, "plan", sizeof *plan);
    }
    plan->model = model;
    plan->registry = registry;
    plan->arena = arena;
    plan->options = options;
    plan->policy = options->policy;
    plan->dry = options->dry_run;
    tn_status status = tn__plan_open_providers(plan, diag);
    if (status != TN_OK) {
        tn__plan_destroy(plan);
        return status;
    }
    *out = plan;
    return TN_OK;
}

tn_status tn__plan_build(struct tn__plan *plan, struct tn_diag *diag) {
    struct tn__program *main_program;
    tn_status status = create_program(plan, plan->model->graph, 0, &main_program, diag);
    if (status == TN_OK) status = tn__plan_check_fallback(plan, diag);
    if (status == TN_OK && !plan->dry) status = tn__plan_prepack(plan, diag);
    plan->options = NULL;
    return status;
}

tn_status tn__plan_create(struct tn__model *model, struct tn__registry *registry,
    const struct tn__plan_options *options, struct tn__plan **out, struct tn_diag *diag) {
    struct tn__plan *plan = NULL;
    TN_TRY(tn__plan_open(model, registry, options, &plan, diag));
    tn_status status = tn__plan_build(plan, diag);
    if (status != TN_OK) {
        tn__plan_destroy(plan);
        return status;
    }
    *out = plan;
    return TN_OK;
}

void tn__plan_destroy(struct tn__plan *plan) {
    if (!plan) return;
    for (uint32_t p = plan->n_programs; p-- > 0;)
        tn__plan_drop_kernels(plan->programs[p]);
    for (uint32_t i = 0; i < plan->n_providers; i++)
        tn__provider_close(&plan->providers[i]);
    tn__arena_destroy(plan->arena);
}
