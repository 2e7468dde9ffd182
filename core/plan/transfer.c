/* Copies between memory spaces, planned as units of their own: where a group wants an
 * input in memory of its provider, or the host reads what a group left there, a copy
 * stands in front of the reader. A value that is in a region already is not copied again,
 * so a chain of groups of one provider leaves its memory only at the ends. */
#include "core/base/alloc.h"
#include "core/plan/plan.h"

#include <string.h>

struct placing {
    struct tn__program *program;
    struct tn__plan *plan;
    struct tn__unit *units; /* the new list */
    uint32_t n_units, cap_units;
    tn_value_id
        *where; /* [n_values * n_regions]: the value in a region, TN_NO_ID: not there */
    uint8_t *ready;                /* the same: 1 once a unit made it */
    const struct tn__unit *reader; /* whom copies are made for */
    struct tn_diag *diag;
};

static uint64_t slot(const struct placing *p, tn_value_id v, uint32_t region) {
    return (uint64_t)v * p->plan->n_regions + region;
}

/* Region of a space of the unit's provider. */
static uint32_t region_of(
    const struct placing *p, const struct tn__unit *unit, uint32_t space) {
    const struct tn__plan_provider *provider = &p->plan->providers[unit->provider];
    for (uint32_t i = 0; space && i < provider->n_spaces; i++) {
        if (provider->spaces[i]->id == space) return provider->first_region + i;
    }
    return 0;
}

/* The value's shadow in a region; the value itself in host memory. */
static tn_status shadow_of(
    struct placing *p, tn_value_id v, uint32_t region, tn_value_id *out) {
    struct tn__program *program = p->program;
    tn_value_id *known = &p->where[slot(p, v, region)];
    if (region == 0) *known = v;
    if (*known == TN_NO_ID) {
        if (!tn__arena_grow(p->plan->arena, (void **)&program->shadows,
                &program->cap_shadows, program->n_shadows + 1, sizeof *program->shadows))
            return tn__fail_memory(p->diag, "copies", sizeof *program->shadows);
        program->shadows[program->n_shadows] = (struct tn__shadow){v, region};
        *known = program->graph->n_values + program->n_shadows++;
    }
    *out = *known;
    return TN_OK;
}

static tn_status add_unit(struct placing *p, const struct tn__unit *unit) {
    if (!tn__arena_grow(p->plan->arena, (void **)&p->units, &p->cap_units, p->n_units + 1,
            sizeof *p->units))
        return tn__fail_memory(p->diag, "copies", sizeof *p->units);
    p->units[p->n_units++] = *unit;
    return TN_OK;
}

static const char *region_name(const struct tn__plan *plan, uint32_t region) {
    const struct tn_space *space = plan->regions[region].space;
    if (!space) return "host memory";
    return space->name ? space->name : plan->providers[plan->regions[region].provider].id;
}

/* A unit that copies v from one region to another; one of them may be host memory. */
static tn_status add_copy(struct placing *p, tn_value_id v, uint32_t from, uint32_t to) {
    struct tn__plan *plan = p->plan;
    const struct tn__unit *reader = p->reader;
    uint32_t index = plan->regions[from ? from : to].provider;
    const struct tn__plan_provider *provider = &plan->providers[index];
    tn_value_id *ends = tn__arena_array(plan->arena, 2, sizeof *ends);
    tn_node_id *node = tn__arena_copy(plan->arena, reader->nodes, sizeof *node);
    struct tn__transfer *transfer = tn__arena_alloc(plan->arena, sizeof *transfer);
    if (!ends || !node || !transfer)
        return tn__fail_memory(p->diag, "copies", sizeof *transfer);
    *transfer = (struct tn__transfer){.provider = provider,
        .src_region = from,
        .dst_region = to,
        .src_space = from ? plan->regions[from].space->id : 0,
        .dst_space = to ? plan->regions[to].space->id : 0,
        .name = tn__arena_format(plan->arena, "copy to %s", region_name(plan, to))};
    if (!transfer->name) return tn__fail_memory(p->diag, "copies", 64);
    TN_TRY(shadow_of(p, v, from, &ends[0]));
    TN_TRY(shadow_of(p, v, to, &ends[1]));
    struct tn__unit unit = {.graph = reader->graph,
        .nodes = node,
        .provider = index,
        .plugin = provider->reg->plugin,
        .transfer = transfer,
        .kernel = transfer,
        .compute = plan->options->copy,
        .inputs = &ends[0],
        .outputs = &ends[1],
        .n_inputs = 1,
        .n_outputs = 1};
    TN_TRY(tn__plan_add_plugin(plan, &unit, p->diag));
    p->ready[slot(p, v, to)] = 1;
    return add_unit(p, &unit);
}

/* Makes v readable in a region: from another region of the same provider if it is there,
 * else from host memory. Constants are host memory's. */
static tn_status bring(struct placing *p, tn_value_id v, uint32_t to) {
    if (p->ready[slot(p, v, to)]) return TN_OK;
    const struct tn__region *regions = p->plan->regions;
    uint32_t from = 0;
    for (uint32_t r = 1; r < p->plan->n_regions; r++) {
        if (!p->ready[slot(p, v, r)]) continue;
        if (to == 0 || regions[r].provider == regions[to].provider) from = r;
    }
    if (from == 0 && to != 0 && !p->ready[slot(p, v, 0)]) TN_TRY(bring(p, v, 0));
    if (from == 0 && to == 0) return TN_OK; /* an external or a constant */
    return add_copy(p, v, from, to);
}

static tn_status bring_all(struct placing *p, const tn_value_id *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] != TN_NO_ID) TN_TRY(bring(p, ids[i], 0));
    }
    return TN_OK;
}

/* Inputs and outputs of a group in the spaces it wants them in. */
static tn_status place_group(struct placing *p, struct tn__unit *unit) {
    const struct tn_compiled *compiled = unit->compiled;
    const uint32_t *in = TN_HAS(compiled, input_spaces) ? compiled->input_spaces : NULL;
    const uint32_t *out =
        TN_HAS(compiled, output_spaces) ? compiled->output_spaces : NULL;
    tn_value_id *inputs = tn__arena_array(p->plan->arena, unit->n_inputs, sizeof *inputs);
    tn_value_id *outputs =
        tn__arena_array(p->plan->arena, unit->n_outputs, sizeof *outputs);
    if (!inputs || !outputs) return tn__fail_memory(p->diag, "copies", unit->n_inputs);
    for (uint32_t i = 0; i < unit->n_inputs; i++) {
        uint32_t region = region_of(p, unit, in ? in[i] : 0);
        TN_TRY(bring(p, unit->inputs[i], region));
        TN_TRY(shadow_of(p, unit->inputs[i], region, &inputs[i]));
    }
    for (uint32_t o = 0; o < unit->n_outputs; o++) {
        uint32_t region = region_of(p, unit, out ? out[o] : 0);
        p->ready[slot(p, unit->outputs[o], region)] = 1;
        TN_TRY(shadow_of(p, unit->outputs[o], region, &outputs[o]));
    }
    unit->inputs = inputs;
    unit->outputs = outputs;
    return TN_OK;
}

static tn_status capture_all(void *arg, struct tn_graph *sub) {
    struct placing *p = arg;
    for (uint32_t v = 0; v < sub->n_values; v++) {
        if (sub->values[v].flags & TN_VALUE_CAPTURE)
            TN_TRY(bring(p, sub->values[v].outer, 0));
    }
    return TN_OK;
}

/* A kernel reads and writes host memory, its subgraphs too. */
static tn_status place_kernel(struct placing *p, struct tn__unit *unit) {
    TN_TRY(bring_all(p, unit->inputs, unit->n_inputs));
    TN_TRY(tn__node_subgraphs(tn__unit_node(unit), capture_all, p));
    for (uint32_t o = 0; o < unit->n_outputs; o++) {
        if (unit->outputs[o] != TN_NO_ID) p->ready[slot(p, unit->outputs[o], 0)] = 1;
    }
    return TN_OK;
}

static tn_status place_all(struct placing *p) {
    struct tn__program *program = p->program;
    for (uint32_t v = 0; v < program->graph->n_values; v++) {
        if (tn__value_at(program->graph, v)->producer == TN_NO_ID)
            p->ready[slot(p, v, 0)] = 1;
    }
    for (uint32_t u = 0; u < program->n_units; u++) {
        struct tn__unit unit = program->units[u];
        p->reader = &program->units[u];
        TN_TRY(unit.compiled ? place_group(p, &unit) : place_kernel(p, &unit));
        TN_TRY(add_unit(p, &unit));
    }
    return bring_all(p, program->graph->outputs, program->graph->n_outputs);
}

static bool needs_transfers(const struct tn__program *program) {
    bool any = false;
    for (uint32_t u = 0; u < program->n_units; u++) {
        const struct tn_compiled *compiled = program->units[u].compiled;
        any = any || (compiled && (TN_HAS(compiled, input_spaces) ||
                                      TN_HAS(compiled, output_spaces)));
    }
    return any && program->plan->n_regions > 1;
}

tn_status tn__plan_transfers(struct tn__program *program, struct tn_diag *diag) {
    struct tn__plan *plan = program->plan;
    struct placing p = {.program = program, .plan = plan, .diag = diag};
    program->n_values = program->graph->n_values;
    if (!needs_transfers(program)) return TN_OK;
    uint64_t n = (uint64_t)program->graph->n_values * plan->n_regions;
    p.where = tn__alloc(n * (sizeof *p.where + 1), 0);
    if (!p.where) return tn__fail_memory(diag, "copies", n * 5);
    memset(p.where, 0xff, n * sizeof *p.where);
    p.ready = (uint8_t *)(p.where + n);
    memset(p.ready, 0, n);
    tn_status status = place_all(&p);
    tn__free(p.where);
    if (status != TN_OK) return status; /* the old list still owns what was compiled */
    program->units = p.units;
    program->n_units = p.n_units;
    program->n_values += program->n_shadows;
    return TN_OK;
}
