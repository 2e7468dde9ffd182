/* The placement report: who runs each node, and why the others do not. */
#include "core/plan/plan.h"

static void print_reason(uint32_t reason, struct tn_text *out) {
    static const char *const texts[] = {
#define TN_REASON_TEXT(name, number, text) [number] = text,
        TN_REASON_LIST(TN_REASON_TEXT)
#undef TN_REASON_TEXT
    };
    if (reason < sizeof texts / sizeof *texts)
        tn__text_puts(out, texts[reason]);
    else
        tn__text_printf(out, "reason %u", (unsigned)reason);
}

/* One node of a report. */
struct line {
    const struct tn__program *program;
    const struct tn__unit *unit;
    const struct tn__node *node;
    char label[TN_DIAG_NAME_SIZE], op[TN_DIAG_NAME_SIZE];
    bool first;
};

static const struct tn__verdict *verdict_of(const struct line *line, uint32_t provider) {
    return &line->program->verdicts[(uint64_t)provider * line->program->graph->n_nodes +
                                    line->node->view.id];
}

static void print_text(struct line *line, struct tn_text *out) {
    const struct tn__plan *plan = line->program->plan;
    tn__text_printf(out, "%-28s %-24s %-8s %s", line->label, line->op,
        plan->providers[line->unit->provider].id, tn__unit_kernel_name(line->unit));
    if (line->unit->n_nodes > 1)
        tn__text_printf(out, " of %u nodes", (unsigned)line->unit->n_nodes);
    for (uint32_t p = 0; p < plan->n_providers; p++) {
        const struct tn__verdict *v = verdict_of(line, p);
        if (p == line->unit->provider || !plan->providers[p].reg || v->claimed) continue;
        tn__text_printf(out, "  [%s: ", plan->providers[p].id);
        print_reason(v->given ? v->reason : TN_REASON_OTHER, out);
        tn__text_printf(out, "%s%s]", v->detail[0] ? ", " : "", v->detail);
    }
    tn__text_puts(out, "\n");
}

static void print_json(struct line *line, struct tn_text *out) {
    const struct tn__plan *plan = line->program->plan;
    tn__text_puts(out, line->first ? "\n  {\"node\": " : ",\n  {\"node\": ");
    tn__text_json(out, line->node->view.name ? line->node->view.name : "");
    tn__text_printf(out,
        ", \"id\": %u, \"graph\": %u, \"op\": ", (unsigned)line->node->view.id,
        (unsigned)line->program->index);
    tn__text_json(out, line->op);
    tn__text_puts(out, ", \"provider\": ");
    tn__text_json(out, plan->providers[line->unit->provider].id);
    tn__text_puts(out, ", \"plugin\": ");
    tn__text_json(out, line->unit->plugin->desc->id);
    tn__text_puts(out, ", \"kernel\": ");
    tn__text_json(out, tn__unit_kernel_name(line->unit));
    tn__text_printf(out, ", \"unit\": %u, \"unit_nodes\": %u, \"declined\": [",
        (unsigned)line->unit->id, (unsigned)line->unit->n_nodes);
    bool first = true;
    for (uint32_t p = 0; p < plan->n_providers; p++) {
        const struct tn__verdict *v = verdict_of(line, p);
        if (p == line->unit->provider || !plan->providers[p].reg || v->claimed) continue;
        tn__text_puts(out, first ? "{\"provider\": " : ", {\"provider\": ");
        first = false;
        tn__text_json(out, plan->providers[p].id);
        uint32_t reason = v->given ? v->reason : TN_REASON_OTHER;
        tn__text_printf(out, ", \"reason\": %u, \"text\": \"", (unsigned)reason);
        print_reason(reason, out);
        tn__text_puts(out, "\", \"detail\": ");
        tn__text_json(out, v->detail);
        tn__text_puts(out, "}");
    }
    tn__text_puts(out, "]}");
}

static void print_providers(
    const struct tn__plan *plan, uint32_t format, struct tn_text *out) {
    for (uint32_t p = 0; p < plan->n_providers; p++) {
        uint32_t nodes = 0;
        for (uint32_t g = 0; g < plan->n_programs; g++) {
            const struct tn__program *program = plan->programs[g];
            for (uint32_t u = 0; u < program->n_units; u++) {
                if (program->units[u].provider == p) nodes += program->units[u].n_nodes;
            }
        }
        const struct tn__plan_provider *provider = &plan->providers[p];
        if (format == TN_FORMAT_JSON) {
            tn__text_puts(out, p ? ", {\"id\": " : "{\"id\": ");
            tn__text_json(out, provider->id);
            tn__text_printf(out, ", \"nodes\": %u, \"problem\": ", (unsigned)nodes);
            tn__text_json(out, provider->problem);
            tn__text_puts(out, "}");
        } else {
            tn__text_printf(out, "provider %s: %u nodes%s%s\n", provider->id,
                (unsigned)nodes, provider->problem[0] ? ", not used: " : "",
                provider->problem);
        }
    }
}

void tn__plan_report_placement(
    const struct tn__plan *plan, uint32_t format, struct tn_text *out) {
    bool json = format == TN_FORMAT_JSON;
    if (json) tn__text_puts(out, "{\"providers\": [");
    print_providers(plan, format, out);
    if (json) tn__text_puts(out, "],\n \"nodes\": [");
    struct line line = {.first = true};
    for (uint32_t g = 0; g < plan->n_programs; g++) {
        line.program = plan->programs[g];
        for (uint32_t u = 0; u < line.program->n_units; u++) {
            line.unit = &line.program->units[u];
            for (uint32_t i = 0; i < line.unit->n_nodes; i++) {
                line.node = tn__node_at(line.program->graph, line.unit->nodes[i]);
                tn__node_label(line.node, line.label, sizeof line.label);
                tn__node_op_label(line.node, line.op, sizeof line.op);
                if (json)
                    print_json(&line, out);
                else
                    print_text(&line, out);
                line.first = false;
            }
        }
    }
    if (json) tn__text_puts(out, "\n ]}\n");
}
