/* The placement report: who runs each node, and why the others do not. */
#include "core/plan/placement.h"

#include "core/base/alloc.h"

/* One node of a report. */
struct line {
    const struct tn__program *program;
    const struct tn__unit *unit;
    const struct tn__node *node;
    char label[TN_DIAG_NAME_SIZE], op[TN_DIAG_NAME_SIZE];
    bool first;
};

static const char *provider_id(const struct tn__plan *plan, uint32_t provider) {
    return provider < plan->n_providers ? plan->providers[provider].id : "none";
}

static const struct tn__verdict *verdict_of(const struct line *line, uint32_t provider) {
    return tn__verdict_of(line->program, provider, line->node->view.id);
}

/* ---- text ----------------------------------------------------------------------------- */

static void print_text(struct line *line, struct tn_text *out) {
    const struct tn__plan *plan = line->program->plan;
    tn__text_printf(out, "%-28s %-24s %-8s %s", line->label, line->op,
        provider_id(plan, line->unit->provider), tn__unit_kernel_name(line->unit));
    if (line->unit->n_nodes > 1)
        tn__text_printf(out, " of %u nodes", (unsigned)line->unit->n_nodes);
    for (uint32_t p = 0; p < plan->n_providers; p++) {
        const struct tn__verdict *v = verdict_of(line, p);
        if (p == line->unit->provider || v->claimed) continue;
        tn__text_printf(out, "  [%s: %s%s%s]", plan->providers[p].id,
            tn__reason_text(v->reason), v->detail[0] ? ", " : "", v->detail);
    }
    tn__text_puts(out, "\n");
}

/* ---- JSON ----------------------------------------------------------------------------- */

static void print_names(const struct line *line, const char *key, const tn_value_id *ids,
    uint32_t n, struct tn_text *out) {
    const struct tn_graph *g = line->program->graph;
    bool first = true;
    tn__text_printf(out, ", \"%s\": [", key);
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] == TN_NO_ID) continue;
        if (!first) tn__text_puts(out, ", ");
        first = false;
        tn__text_json(out, tn__value_at(g, ids[i])->name);
    }
    tn__text_puts(out, "]");
}

static void print_verdicts(const struct line *line, struct tn_text *out) {
    const struct tn__plan *plan = line->program->plan;
    bool first = true;
    tn__text_puts(out, ", \"claimed\": [");
    for (uint32_t p = 0; p < plan->n_providers; p++) {
        if (!verdict_of(line, p)->claimed) continue;
        if (!first) tn__text_puts(out, ", ");
        first = false;
        tn__text_json(out, plan->providers[p].id);
    }
    tn__text_puts(out, "], \"declined\": [");
    first = true;
    for (uint32_t p = 0; p < plan->n_providers; p++) {
        const struct tn__verdict *v = verdict_of(line, p);
        if (v->claimed) continue;
        tn__text_puts(out, first ? "{\"provider\": " : ", {\"provider\": ");
        first = false;
        tn__text_json(out, plan->providers[p].id);
        tn__text_printf(out, ", \"reason\": %u, \"text\": ", (unsigned)v->reason);
        tn__text_json(out, tn__reason_text(v->reason));
        tn__text_puts(out, ", \"detail\": ");
        tn__text_json(out, v->detail);
        tn__text_puts(out, "}");
    }
    tn__text_puts(out, "]}");
}

static void print_json(struct line *line, struct tn_text *out) {
    const struct tn__plan *plan = line->program->plan;
    const struct tn_node *node = &line->node->view;
    tn__text_puts(out, line->first ? "\n  {\"node\": " : ",\n  {\"node\": ");
    tn__text_json(out, node->name ? node->name : "");
    tn__text_printf(out, ", \"id\": %u, \"graph\": %u, \"op\": ", (unsigned)node->id,
        (unsigned)line->program->index);
    tn__text_json(out, line->op);
    tn__text_puts(out, ", \"provider\": ");
    tn__text_json(out, provider_id(plan, line->unit->provider));
    tn__text_puts(out, ", \"plugin\": ");
    tn__text_json(out, line->unit->plugin ? line->unit->plugin->desc->id : "");
    tn__text_puts(out, ", \"kernel\": ");
    tn__text_json(out, tn__unit_kernel_name(line->unit));
    tn__text_printf(out, ", \"unit\": %u, \"unit_nodes\": %u", (unsigned)line->unit->id,
        (unsigned)line->unit->n_nodes);
    print_names(line, "inputs", node->inputs, node->n_inputs, out);
    print_names(line, "outputs", node->outputs, node->n_outputs, out);
    print_verdicts(line, out);
}

/* ---- what is not a node --------------------------------------------------------------- */

static void print_providers(const struct tn__plan *plan, const struct tn__share *shares,
    uint32_t format, struct tn_text *out) {
    for (uint32_t p = 0; p < plan->n_providers; p++) {
        const struct tn__plan_provider *provider = &plan->providers[p];
        if (format == TN_FORMAT_JSON) {
            tn__text_puts(out, p ? ", {\"id\": " : "{\"id\": ");
            tn__text_json(out, provider->id);
            tn__text_printf(out,
                ", \"nodes\": %llu, \"groups\": %llu, \"work\": %.6f, \"problem\": ",
                (unsigned long long)shares[p].nodes, (unsigned long long)shares[p].groups,
                shares[p].work);
            tn__text_json(out, provider->problem);
            tn__text_puts(out, "}");
        } else {
            tn__text_printf(out, "provider %s: %llu nodes, %.0f %% of the work%s%s\n",
                provider->id, (unsigned long long)shares[p].nodes, 100 * shares[p].work,
                provider->problem[0] ? ", not used: " : "", provider->problem);
        }
    }
}

static void print_splits(
    const struct tn__plan *plan, uint32_t format, struct tn_text *out) {
    bool json = format == TN_FORMAT_JSON;
    for (const struct tn__split *split = plan->splits; split; split = split->next) {
        const char *id = plan->providers[split->provider].id;
        if (!json) {
            tn__text_printf(out,
                "a group of %s cannot stay whole: the path %s leaves it and comes back\n",
                id, split->path);
            continue;
        }
        tn__text_puts(
            out, split == plan->splits ? "{\"provider\": " : ", {\"provider\": ");
        tn__text_json(out, id);
        tn__text_puts(out, ", \"path\": ");
        tn__text_json(out, split->path);
        tn__text_puts(out, "}");
    }
}

static void print_copy(const struct tn__program *program, const struct tn__unit *unit,
    uint32_t format, bool first, struct tn_text *out) {
    const struct tn_graph *g = program->graph;
    tn_value_id v = tn__original(program, unit->inputs[0]);
    const char *name = tn__value_at(g, v)->name, *to = tn__unit_kernel_name(unit);
    bool at_least = false;
    uint64_t bytes = tn__value_load_bytes(g, v, &at_least);
    if (format != TN_FORMAT_JSON) {
        tn__text_printf(out, "copy %-23s %-24s %-8s %s%llu bytes\n", name, to,
            unit->transfer->provider->id, at_least ? "at least " : "",
            (unsigned long long)bytes);
        return;
    }
    tn__text_puts(out, first ? "\n  {\"value\": " : ",\n  {\"value\": ");
    tn__text_json(out, name);
    tn__text_printf(out, ", \"graph\": %u, \"what\": ", (unsigned)program->index);
    tn__text_json(out, to);
    tn__text_puts(out, ", \"provider\": ");
    tn__text_json(out, unit->transfer->provider->id);
    tn__text_printf(out, ", \"bytes\": %llu, \"exact\": %s}", (unsigned long long)bytes,
        at_least ? "false" : "true");
}

static void print_copies(
    const struct tn__plan *plan, uint32_t format, struct tn_text *out) {
    bool first = true;
    for (uint32_t p = 0; p < plan->n_programs; p++) {
        const struct tn__program *program = plan->programs[p];
        for (uint32_t u = 0; u < program->n_units; u++) {
            if (!program->units[u].transfer) continue;
            print_copy(program, &program->units[u], format, first, out);
            first = false;
        }
    }
}

static void print_nodes(
    const struct tn__plan *plan, uint32_t format, struct tn_text *out) {
    struct line line = {.first = true};
    for (uint32_t g = 0; g < plan->n_programs; g++) {
        line.program = plan->programs[g];
        for (uint32_t u = 0; u < line.program->n_units; u++) {
            line.unit = &line.program->units[u];
            for (uint32_t i = 0; i < line.unit->n_nodes; i++) {
                line.node = tn__node_at(line.program->graph, line.unit->nodes[i]);
                tn__node_label(line.node, line.label, sizeof line.label);
                tn__node_op_label(line.node, line.op, sizeof line.op);
                if (format == TN_FORMAT_JSON)
                    print_json(&line, out);
                else
                    print_text(&line, out);
                line.first = false;
            }
        }
    }
}

void tn__plan_report_placement(const struct tn__plan *plan, const char *run_failure,
    uint32_t format, struct tn_text *out) {
    static const char *const policies[] = {"strict", "require", "auto"};
    bool json = format == TN_FORMAT_JSON;
    struct tn__placement_counts counts;
    struct tn__share *shares = tn__placement_count(plan, &counts);
    if (!shares) {
        out->failed = true;
        return;
    }
    if (json)
        tn__text_printf(out,
            "{\"policy\": \"%s\", \"borders\": %llu, \"copied_bytes\": %llu, "
            "\"run_failure\": ",
            policies[plan->policy], (unsigned long long)counts.borders,
            (unsigned long long)counts.copied_bytes);
    if (json)
        tn__text_json(out, run_failure);
    else if (run_failure[0])
        tn__text_printf(out, "%s\n", run_failure);
    if (json) tn__text_puts(out, ", \"providers\": [");
    print_providers(plan, shares, format, out);
    if (json) tn__text_puts(out, "],\n \"splits\": [");
    print_splits(plan, format, out);
    if (json) tn__text_puts(out, "],\n \"copies\": [");
    print_copies(plan, format, out);
    if (json) tn__text_puts(out, "],\n \"nodes\": [");
    print_nodes(plan, format, out);
    if (json) tn__text_puts(out, "\n ]}\n");
    tn__free(shares);
}
