/* Reports on a session. */
#include "core/base/alloc.h"
#include "core/objects.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_KERNELS = 16 };  /* explained for each operator */
enum { SHOWN_ELEMENTS = 16 }; /* of a constant in a printed graph */

/* ---- operators ------------------------------------------------------------------------ */

struct operator_row {
    const struct tn__unit *unit;
    const struct tn__node *node;
    uint32_t count;
};

static bool same_operator(const struct operator_row *a, const struct operator_row *b) {
    const struct tn_node *x = &a->node->view, *y = &b->node->view;
    return x->since == y->since && a->unit->provider == b->unit->provider &&
           strcmp(x->op_type, y->op_type) == 0 && strcmp(x->domain, y->domain) == 0;
}

static int by_operator(const void *a, const void *b) {
    const struct operator_row *x = a, *y = b;
    int order = strcmp(x->node->view.domain, y->node->view.domain);
    if (order) return order;
    order = strcmp(x->node->view.op_type, y->node->view.op_type);
    return order ? order : (int)x->unit->id - (int)y->unit->id;
}

static void count_operator(struct operator_row *rows, uint32_t *n,
    const struct tn__unit *unit, const struct tn__node *node) {
    rows[*n] = (struct operator_row){unit, node, 0};
    uint32_t k = 0;
    while (!same_operator(&rows[k], &rows[*n]))
        k++;
    rows[k].count++;
    if (k == *n) (*n)++;
}

static uint32_t count_operators(const struct tn__plan *plan, struct operator_row *rows) {
    uint32_t n = 0;
    for (uint32_t p = 0; p < plan->n_programs; p++) {
        for (uint32_t u = 0; u < plan->programs[p]->n_units; u++) {
            const struct tn__unit *unit = &plan->programs[p]->units[u];
            for (uint32_t i = 0; i < unit->n_nodes && unit->plugin; i++)
                count_operator(rows, &n, unit, tn__node_at(unit->graph, unit->nodes[i]));
        }
    }
    qsort(rows, n, sizeof *rows, by_operator);
    return n;
}

static uint64_t count_nodes(const struct tn__plan *plan) {
    uint64_t n = 1;
    for (uint32_t p = 0; p < plan->n_programs; p++)
        n += plan->programs[p]->graph->n_live;
    return n;
}

/* What the kernels of one row's operator say of the ways they may go: each node that says
 * something, up to a bound. */
static void explain_operator(const struct tn__plan *plan, const struct operator_row *row,
    bool json, struct tn_text *out) {
    uint32_t shown = 0;
    for (uint32_t p = 0; p < plan->n_programs; p++) {
        for (uint32_t u = 0; u < plan->programs[p]->n_units && shown < SHOWN_KERNELS;
             u++) {
            const struct tn__unit *unit = &plan->programs[p]->units[u];
            char how[512], label[TN_DIAG_NAME_SIZE];
            if (!unit->def || !TN_HAS(unit->def, explain)) continue;
            const struct operator_row other = {unit, tn__unit_node(unit), 0};
            if (!same_operator(row, &other)) continue;
            unit->def->explain(unit->kernel, NULL, how, sizeof how);
            if (!how[0]) continue;
            tn__node_label(tn__unit_node(unit), label, sizeof label);
            if (!json) {
                tn__text_printf(out, "         %s: %s\n", label, how);
            } else {
                tn__text_puts(
                    out, shown ? ", {\"node\": " : ", \"explain\": [{\"node\": ");
                tn__text_json(out, label);
                tn__text_puts(out, ", \"how\": ");
                tn__text_json(out, how);
                tn__text_puts(out, "}");
            }
            shown++;
        }
    }
    if (json && shown) tn__text_puts(out, "]");
}

static void report_operators(
    const struct tn__plan *plan, uint32_t format, struct tn_text *out) {
    struct operator_row *rows = tn__alloc_zero(count_nodes(plan) * sizeof *rows, 0);
    if (!rows) {
        out->failed = true;
        return;
    }
    uint32_t n = count_operators(plan, rows);
    bool json = format == TN_FORMAT_JSON;
    tn__text_puts(
        out, json ? "[" : "   count operator                       provider plugin\n");
    for (uint32_t i = 0; i < n; i++) {
        char op[TN_DIAG_NAME_SIZE];
        const struct tn__unit *unit = rows[i].unit;
        const char *provider = plan->providers[unit->provider].id;
        tn__node_op_label(rows[i].node, op, sizeof op);
        if (!json) {
            tn__text_printf(out, "%8u %-30s %-8s %s %s\n", (unsigned)rows[i].count, op,
                provider, unit->plugin->desc->id, unit->plugin->desc->version);
            explain_operator(plan, &rows[i], false, out);
            continue;
        }
        tn__text_puts(out, i ? ",\n {\"op\": " : "\n {\"op\": ");
        tn__text_json(out, op);
        tn__text_printf(out, ", \"count\": %u, \"provider\": ", (unsigned)rows[i].count);
        tn__text_json(out, provider);
        tn__text_puts(out, ", \"plugin\": ");
        tn__text_json(out, unit->plugin->desc->id);
        explain_operator(plan, &rows[i], true, out);
        tn__text_puts(out, "}");
    }
    tn__text_puts(out, json ? "\n]\n" : "");
    tn__free(rows);
}

/* ---- memory and graph ----------------------------------------------------------------- */

static void report_memory(
    const struct tn_session *session, uint32_t format, struct tn_text *out) {
    const struct {
        const char *name;
        uint64_t bytes;
    } rows[] = {{"weights", session->info.weight_bytes},
        {"packed weights", session->plan->packed_bytes},
        {"graph", tn__arena_bytes(session->model->arena)},
        {"plan", tn__arena_bytes(session->plan->arena)},
        {"run", atomic_load(&session->arena_bytes)}};
    bool json = format == TN_FORMAT_JSON;
    tn__text_puts(out, json ? "{" : "");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        tn__text_printf(out, json ? "%s\"%s\": %llu" : "%s%-16s %12llu bytes\n",
            json && i ? ", " : "", rows[i].name, (unsigned long long)rows[i].bytes);
    tn__text_puts(out, json ? "}\n" : "");
}

static void report_graph(
    const struct tn_session *session, uint32_t format, struct tn_text *out) {
    if (format != TN_FORMAT_JSON) {
        tn__text_print_model(session->model, SHOWN_ELEMENTS, out);
        return;
    }
    struct tn_text text = {0};
    tn__text_print_model(session->model, SHOWN_ELEMENTS, &text);
    tn__text_puts(out, "{\"text\": ");
    tn__text_json(out, text.data ? text.data : "");
    tn__text_puts(out, "}\n");
    out->failed = out->failed || text.failed;
    tn__text_free(&text);
}

tn_status tn_session_report(const struct tn_session *session, uint32_t report,
    uint32_t format, tn_write_fn write, void *arg, struct tn_diag *diag) {
    struct tn_text text = {0};
    switch (report) {
    case TN_REPORT_PLACEMENT:
        tn__plan_report_placement(session->plan, session->run_failure, format, &text);
        break;
    case TN_REPORT_OPERATORS: report_operators(session->plan, format, &text); break;
    case TN_REPORT_PASSES: tn__opt_report(&session->passes, format, &text); break;
    case TN_REPORT_GRAPH: report_graph(session, format, &text); break;
    case TN_REPORT_MEMORY: report_memory(session, format, &text); break;
    default:
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "a session has no report %u; it has placement, operators, passes, graph and "
            "memory",
            (unsigned)report);
    }
    return tn__report_write(&text, write, arg, diag);
}
