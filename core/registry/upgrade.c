/* Rewriting a node to the newest version of its operator, step by step, by the adapters
 * that the definition brings. What a step means is the domain's business; here is only
 * the order of steps and the proof that it ends. */
#include "core/registry/registry_impl.h"

#include <string.h>

/* A node may become another operator on the way; this bounds a plugin that goes in a
 * circle. */
enum { MAX_STEPS = 256 };

/* Row of the version a node follows, -1 when the definition has none such. */
static int32_t row_of(const struct tn_op_def *def, int32_t since) {
    int32_t row = tn__op_version(def, since);
    return row >= 0 && def->versions[row].since == since ? row : -1;
}

/* A first input that is required is so in every version; adapters build on it. */
static tn_status check_first(
    const struct tn__node *node, const struct tn_op_def *def, struct tn_diag *diag) {
    char label[TN_DIAG_NAME_SIZE], op[TN_DIAG_NAME_SIZE];
    if (def->n_inputs == 0 ||
        (def->inputs[0].flags & (TN_FORMAL_OPTIONAL | TN_FORMAL_VARIADIC)) ||
        (node->view.n_inputs > 0 && node->view.inputs[0] != TN_NO_ID))
        return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "node %s (%s) lacks input 0 '%s', which is required",
        tn__node_label(node, label, sizeof label), tn__node_op_label(node, op, sizeof op),
        def->inputs[0].name);
}

static tn_status run_step(const struct tn__registry *registry, struct tn_graph *g,
    tn_node_id id, const struct tn_op_version *to, struct tn_diag *diag) {
    const struct tn__op_entry *entry = tn__entry_find(
        registry, tn__node_at(g, id)->view.domain, tn__node_at(g, id)->view.op_type);
    const struct tn__plugin *plugin = entry ? entry->def_plugin : NULL;
    struct tn_diag inner = {0};
    struct tn_rewrite rw = {
        .struct_size = TN_REWRITE_SIZE,
        .host = plugin ? plugin->host : NULL,
        .api = &tn__graph_api,
        .graph = g,
        .node = id,
        .from = tn__node_at(g, id)->view.since,
        .to = to->since,
        .diag = &inner,
    };
    tn_status status = to->upgrade(&rw);
    if (status == TN_OK) return TN_OK;
    char label[TN_DIAG_NAME_SIZE], op[TN_DIAG_NAME_SIZE];
    const struct tn__node *node = tn__node_at(g, id);
    return tn_fail(diag, status,
        "node %s (%s) cannot be brought from version %d to %d: %s",
        tn__node_label(node, label, sizeof label), tn__node_op_label(node, op, sizeof op),
        rw.from, rw.to, inner.message[0] ? inner.message : "the adapter gave no reason");
}

/* The definition of what the node now is; resolves anew when a step made it another
 * operator. */
static tn_status follow(struct tn__registry *registry, struct tn_graph *g, tn_node_id id,
    struct tn_diag *diag) {
    struct tn__node *node = tn__node_at(g, id);
    const struct tn_op_def *def = node->def;
    if (def && strcmp(def->op_type, node->view.op_type) == 0 &&
        strcmp(tn__domain_name(def->domain), tn__domain_name(node->view.domain)) == 0)
        return TN_OK;
    int32_t since = node->view.since;
    def = tn__registry_op(registry, node->view.domain, node->view.op_type);
    if (!def)
        return tn_fail(diag, TN_PLUGIN,
            "an upgrade made a node operator %.80s, which no plugin defines",
            node->view.op_type);
    node->def = def;
    node->view.since = since > 0 ? since : tn__op_newest(def);
    return TN_OK;
}

static tn_status upgrade(struct tn__registry *registry, struct tn_graph *g, tn_node_id id,
    struct tn_diag *diag) {
    for (uint32_t step = 0; step < MAX_STEPS; step++) {
        TN_TRY(follow(registry, g, id, diag));
        struct tn__node *node = tn__node_at(g, id);
        const struct tn_op_def *def = node->def;
        int32_t row = row_of(def, node->view.since);
        if (row < 0)
            return tn_fail(diag, TN_PLUGIN, "operator %.80s has no version %d",
                node->view.op_type, node->view.since);
        if ((uint32_t)row + 1 == def->n_versions) return TN_OK;
        const struct tn_op_version *next = &def->versions[row + 1];
        if (next->flags & TN_VERSION_DEPRECATED) {
            /* the end of an operator: its last live version stands unless the step turns
             * it into its successor */
            if (!next->upgrade) return TN_OK;
        }
        if (next->upgrade) TN_TRY(check_first(node, def, diag));
        if (next->upgrade) TN_TRY(run_step(registry, g, id, next, diag));
        node = tn__node_at(g, id); /* a step may have moved the table of nodes */
        if (node->dead) return TN_OK;
        if (strcmp(node->view.op_type, def->op_type) == 0 &&
            strcmp(tn__domain_name(node->view.domain), tn__domain_name(def->domain)) == 0)
            node->view.since = next->since;
    }
    return tn_fail(diag, TN_PLUGIN, "its upgrades do not end after %d steps", MAX_STEPS);
}

tn_status tn__upgrade_node(struct tn__registry *registry, struct tn_graph *g,
    tn_node_id id, uint32_t *out_added, struct tn_diag *diag) {
    uint32_t before = g->n_nodes;
    struct tn_diag inner = {0};
    tn_status status = upgrade(registry, g, id, &inner);
    struct tn__node *node = tn__node_at(g, id);
    if (status == TN_OK && !node->dead) status = tn__check_node(g, id, &inner);
    if (status != TN_OK) {
        (void)tn_fail(diag, status, "%s", inner.message);
        return tn__node_context(diag, node, status);
    }
    *out_added = g->n_nodes - before;
    return TN_OK;
}
