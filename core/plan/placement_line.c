/* The placement in one line, and the counting behind it. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/plan/placement.h"
#include "core/plan/provider_call.h"

#include <string.h>

uint64_t tn__value_load_bytes(
    const struct tn_graph *g, tn_value_id v, bool *out_at_least) {
    const struct tn_type *type = &tn__value_at(g, v)->type;
    uint64_t n = 1, bits = tn_dtype_bits(type->dtype);
    if (type->rank < 0) *out_at_least = true;
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0) *out_at_least = true;
        uint64_t dim = type->dims[i] < 0 ? 1 : (uint64_t)type->dims[i];
        if (!tn_mul_size(n, dim, &n)) return UINT64_MAX / 4096;
    }
    return n > UINT64_MAX / 4096 ? UINT64_MAX / 4096 : (n * bits + 7) / 8;
}

/* ---- work ----------------------------------------------------------------------------- */

/* Bytes that a node touches: the measure when no provider has estimates. */
static double touched_bytes(const struct tn_graph *g, const struct tn_node *node) {
    double sum = 1;
    bool ignored;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != TN_NO_ID)
            sum += (double)tn__value_load_bytes(g, node->inputs[i], &ignored);
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] != TN_NO_ID)
            sum += (double)tn__value_load_bytes(g, node->outputs[i], &ignored);
    }
    return sum;
}

/* Nanoseconds of a node by itself, 0 when the provider does not know. */
static double node_ns(const struct tn__plan_provider *provider, const struct tn_graph *g,
    const struct tn_node *node) {
    struct tn_estimate estimate;
    struct tn_group group = {.struct_size = TN_GROUP_SIZE,
        .api = &tn__graph_api,
        .graph = g,
        .nodes = &node->id,
        .inputs = node->inputs,
        .outputs = node->outputs,
        .n_nodes = 1,
        .n_inputs = node->n_inputs,
        .n_outputs = node->n_outputs,
        .name = ""};
    return tn__provider_estimate(provider, &group, &estimate) ? estimate.ns : 0;
}

/* The last provider with an estimate for every node judges the work of all. */
static uint32_t find_judge(const struct tn__plan *plan) {
    for (uint32_t p = plan->n_providers; p-- > 0;) {
        bool all = plan->providers[p].reg != NULL;
        for (uint32_t i = 0; i < plan->n_programs && all; i++) {
            const struct tn_graph *g = plan->programs[i]->graph;
            uint32_t n;
            const tn_node_id *order = tn__graph_order(g, &n);
            for (uint32_t k = 0; k < n && all; k++)
                all =
                    node_ns(&plan->providers[p], g, &tn__node_at(g, order[k])->view) > 0;
        }
        if (all) return p;
    }
    return UINT32_MAX;
}

/* ---- counting ------------------------------------------------------------------------- */

struct counting {
    const struct tn__plan *plan;
    struct tn__share *shares;
    struct tn__placement_counts *out;
    uint32_t judge;
    double total;
};

static void count_unit(
    struct counting *c, const struct tn__program *program, const struct tn__unit *unit) {
    const struct tn_graph *g = program->graph;
    if (unit->transfer) {
        c->out->copies++;
        c->out->copied_bytes += tn__value_load_bytes(
            g, tn__original(program, unit->inputs[0]), &c->out->at_least);
        return;
    }
    struct tn__share *share = &c->shares[unit->provider];
    /* what is not compiled has no copies yet: what there will be at most */
    if (c->plan->dry && unit->group && c->plan->providers[unit->provider].n_spaces)
        c->out->copied_bytes += tn__group_border_bytes(program, unit, &c->out->at_least);
    share->groups += unit->group;
    for (uint32_t i = 0; i < unit->n_nodes; i++) {
        const struct tn_node *node = &tn__node_at(g, unit->nodes[i])->view;
        double work = c->judge == UINT32_MAX
                          ? touched_bytes(g, node)
                          : node_ns(&c->plan->providers[c->judge], g, node);
        share->nodes++;
        share->work += work;
        c->total += work;
        c->out->nodes++;
    }
}

/* Values that a node of another provider reads, each once a provider. */
static void count_borders(struct counting *c, const struct tn__program *program) {
    const struct tn_graph *g = program->graph;
    for (uint32_t v = 0; v < g->n_values; v++) {
        const struct tn__value *value = tn__value_at(g, v);
        if (value->producer == TN_NO_ID || tn__node_at(g, value->producer)->dead)
            continue;
        uint64_t seen = UINT64_C(1) << (program->owner[value->producer] & 63);
        for (uint32_t i = 0; i < value->n_uses; i++) {
            uint64_t bit = UINT64_C(1) << (program->owner[value->uses[i].node] & 63);
            if (!(seen & bit)) c->out->borders++;
            seen |= bit;
        }
    }
}

struct tn__share *tn__placement_count(
    const struct tn__plan *plan, struct tn__placement_counts *out) {
    struct tn__share *shares =
        tn__alloc(((uint64_t)plan->n_providers + 1) * sizeof *shares, 0);
    if (!shares) return NULL;
    struct counting c = {
        .plan = plan, .shares = shares, .out = out, .judge = find_judge(plan)};
    memset(shares, 0, ((uint64_t)plan->n_providers + 1) * sizeof *shares);
    *out = (struct tn__placement_counts){0};
    for (uint32_t p = 0; p < plan->n_programs; p++) {
        const struct tn__program *program = plan->programs[p];
        for (uint32_t u = 0; u < program->n_units; u++)
            count_unit(&c, program, &program->units[u]);
        count_borders(&c, program);
    }
    for (uint32_t p = 0; p <= plan->n_providers && c.total > 0; p++)
        shares[p].work /= c.total;
    return shares;
}

/* ---- the line ------------------------------------------------------------------------- */

static void print_bytes(uint64_t bytes, struct tn_text *out) {
    if (bytes >= 10000000)
        tn__text_printf(out, "%.1f MB", (double)bytes / 1e6);
    else if (bytes >= 10000)
        tn__text_printf(out, "%.1f kB", (double)bytes / 1e3);
    else
        tn__text_printf(out, "%llu bytes", (unsigned long long)bytes);
}

static void print_shares(
    const struct tn__plan *plan, const struct tn__share *shares, struct tn_text *out) {
    for (uint32_t p = 0; p <= plan->n_providers; p++) {
        const struct tn__share *share = &shares[p];
        if (p == plan->n_providers && share->nodes == 0) break;
        tn__text_printf(out, "%s%s %llu (%.0f %% of the work", p ? ", " : "",
            p == plan->n_providers ? "nobody" : plan->providers[p].id,
            (unsigned long long)share->nodes, 100 * share->work);
        if (share->groups)
            tn__text_printf(out, " in %llu group%s", (unsigned long long)share->groups,
                share->groups == 1 ? "" : "s");
        tn__text_puts(out, ")");
    }
}

/* An operator that a provider declined, with the first reason. */
struct refusal {
    const struct tn__node *node;
    const struct tn__verdict *verdict;
    uint32_t count;
};

enum { MOST_REFUSALS = 6 };

static void add_refusal(struct refusal *rows, uint32_t *n, const struct tn__node *node,
    const struct tn__verdict *verdict) {
    for (uint32_t i = 0; i < *n; i++) {
        const struct tn_node *known = &rows[i].node->view;
        if (strcmp(known->op_type, node->view.op_type) != 0 ||
            strcmp(known->domain, node->view.domain) != 0)
            continue;
        rows[i].count++;
        return;
    }
    if (*n <= MOST_REFUSALS) rows[(*n)++] = (struct refusal){node, verdict, 1};
}

static void print_refusals(
    const struct tn__plan *plan, uint32_t provider, struct tn_text *out) {
    struct refusal rows[MOST_REFUSALS + 1];
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->n_programs; i++) {
        const struct tn__program *program = plan->programs[i];
        uint32_t count;
        const tn_node_id *order = tn__graph_order(program->graph, &count);
        for (uint32_t k = 0; k < count; k++) {
            const struct tn__verdict *verdict =
                tn__verdict_of(program, provider, order[k]);
            if (!verdict->claimed)
                add_refusal(rows, &n, tn__node_at(program->graph, order[k]), verdict);
        }
    }
    if (n == 0) return;
    if (rows[0].verdict->reason == TN_REASON_UNAVAILABLE) {
        tn__text_printf(out, "; %s is not available: %s", plan->providers[provider].id,
            rows[0].verdict->detail);
        return;
    }
    tn__text_printf(out, "; %s refused ", plan->providers[provider].id);
    for (uint32_t i = 0; i < n; i++) {
        if (i == MOST_REFUSALS) {
            tn__text_puts(out, ", and others");
            break;
        }
        tn__text_printf(out, "%s%s", i ? ", " : "", rows[i].node->view.op_type);
        if (rows[i].count > 1) tn__text_printf(out, " ×%u", (unsigned)rows[i].count);
        const char *detail = rows[i].verdict->detail;
        tn__text_printf(out, " (%s%s%.120s)", tn__reason_text(rows[i].verdict->reason),
            detail[0] ? ": " : "", detail);
    }
}

void tn__placement_line(const struct tn__plan *plan, struct tn_text *out) {
    struct tn__placement_counts counts;
    struct tn__share *shares = tn__placement_count(plan, &counts);
    if (!shares) {
        out->failed = true;
        return;
    }
    tn__text_printf(out, "placement of %llu nodes: ", (unsigned long long)counts.nodes);
    print_shares(plan, shares, out);
    tn__text_printf(out, "; %llu border%s, ", (unsigned long long)counts.borders,
        counts.borders == 1 ? "" : "s");
    if (counts.at_least) tn__text_puts(out, "at least ");
    print_bytes(counts.copied_bytes, out);
    tn__text_puts(out, " copied a run");
    for (uint32_t p = 0; p + 1 < plan->n_providers || (p == 0 && plan->n_providers == 1);
         p++)
        print_refusals(plan, p, out);
    tn__free(shares);
}
