/* Whether a group is worth its transfers: the provider's estimate, launch and copies
 * included, against that of the next provider which would take all its nodes. Without both
 * estimates the preference decides alone. */
#include "core/plan/placement.h"
#include "core/plan/provider_call.h"

#include <stdio.h>

/* The next provider that claims every node of the unit; n_providers when none does. */
static uint32_t find_successor(
    const struct tn__program *program, const struct tn__unit *unit) {
    const struct tn__plan *plan = program->plan;
    uint32_t p = unit->provider + 1;
    for (; p < plan->n_providers; p++) {
        uint32_t i = 0;
        while (i < unit->n_nodes && tn__verdict_of(program, p, unit->nodes[i])->claimed)
            i++;
        if (i == unit->n_nodes) break;
    }
    return p;
}

uint64_t tn__group_border_bytes(
    const struct tn__program *program, const struct tn__unit *unit, bool *out_at_least) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < unit->n_inputs; i++) {
        tn_node_id from = tn__value_at(unit->graph, unit->inputs[i])->producer;
        if (from == TN_NO_ID || program->owner[from] != unit->provider)
            bytes += tn__value_load_bytes(unit->graph, unit->inputs[i], out_at_least);
    }
    for (uint32_t o = 0; o < unit->n_outputs; o++) {
        const struct tn__value *value = tn__value_at(unit->graph, unit->outputs[o]);
        bool outside = (value->flags & TN_VALUE_OUTPUT) != 0;
        for (uint32_t k = 0; k < value->n_uses; k++)
            outside = outside || program->owner[value->uses[k].node] != unit->provider;
        if (outside)
            bytes += tn__value_load_bytes(unit->graph, unit->outputs[o], out_at_least);
    }
    return bytes;
}

static double transfer_ns(
    const struct tn__program *program, const struct tn__unit *unit) {
    const struct tn__plan_provider *provider = &program->plan->providers[unit->provider];
    const struct tn_space *space = provider->n_spaces ? provider->spaces[0] : NULL;
    uint64_t rate = space && TN_HAS(space, copy_rate) ? space->copy_rate : 0;
    bool ignored = false;
    if (rate == 0) return 0;
    return (double)tn__group_border_bytes(program, unit, &ignored) * 1000 / (double)rate;
}

/* *out_keep: nothing is known, or it is faster here. */
static tn_status weigh_unit(struct tn__program *program, const struct tn__unit *unit,
    bool *out_keep, struct tn_diag *diag) {
    const struct tn__plan *plan = program->plan;
    uint32_t next = find_successor(program, unit);
    struct tn_group group = tn__group_view(unit);
    struct tn_estimate here, there;
    *out_keep = true;
    if (next == plan->n_providers ||
        !tn__provider_estimate(&plan->providers[unit->provider], &group, &here) ||
        !tn__provider_estimate(&plan->providers[next], &group, &there))
        return TN_OK;
    double moving = here.transfer_ns > 0 ? here.transfer_ns : transfer_ns(program, unit);
    double cost = here.ns + here.launch_ns + moving, other = there.ns + there.launch_ns;
    if (cost < other) return TN_OK;
    char text[256];
    snprintf(text, sizeof text,
        "%.1f µs here (%.1f of them start and %.1f transfers), %.1f µs on %s", cost / 1e3,
        here.launch_ns / 1e3, moving / 1e3, other / 1e3, plan->providers[next].id);
    *out_keep = false;
    return tn__group_withdraw(program, unit, TN_REASON_COST, text, diag);
}

tn_status tn__plan_weigh(
    struct tn__program *program, bool *out_again, struct tn_diag *diag) {
    const struct tn__plan *plan = program->plan;
    *out_again = false;
    if (!plan->options->by_cost || plan->policy == TN_POLICY_STRICT) return TN_OK;
    for (uint32_t i = 0; i < program->n_units; i++) {
        bool keep = true;
        if (program->units[i].group)
            TN_TRY(weigh_unit(program, &program->units[i], &keep, diag));
        *out_again = *out_again || !keep;
    }
    return TN_OK;
}
