/* Every invariant of a graph, checked: for tests, and after each pass when asked for. */
#include "core/graph/graph.h"

static tn_status check_input(const struct tn_graph *g, const struct tn__node *node,
    uint32_t i, struct tn_diag *diag) {
    tn_value_id v = node->view.inputs[i];
    if (v == TN_NO_ID) return TN_OK;
    if (v >= g->n_values)
        return tn_fail(diag, TN_INTERNAL, "node #%u: input %u is the unknown value %u",
            node->view.id, i, v);
    const struct tn__value *value = &g->values[v];
    uint32_t pos = node->use_pos[i];
    if (pos >= value->n_uses || value->uses[pos].node != node->view.id ||
        value->uses[pos].index != i || value->uses[pos].sub)
        return tn_fail(diag, TN_INTERNAL, "node #%u: value '%s' does not know input %u",
            node->view.id, value->name, i);
    bool given = value->producer != TN_NO_ID || value->constant ||
                 (value->flags & (TN_VALUE_INPUT | TN_VALUE_CAPTURE));
    if (!given)
        return tn_fail(diag, TN_INTERNAL, "node #%u reads '%s', which nobody produces",
            node->view.id, value->name);
    if (value->producer != TN_NO_ID && g->nodes[value->producer].mark != g->stamp)
        return tn_fail(diag, TN_INTERNAL, "node #%u reads '%s' before it is produced",
            node->view.id, value->name);
    return TN_OK;
}

static tn_status check_outputs(
    const struct tn_graph *g, const struct tn__node *node, struct tn_diag *diag) {
    for (uint32_t i = 0; i < node->view.n_outputs; i++) {
        tn_value_id v = node->view.outputs[i];
        if (v != TN_NO_ID &&
            (g->values[v].producer != node->view.id || g->values[v].producer_index != i))
            return tn_fail(diag, TN_INTERNAL, "node #%u: value '%s' has another producer",
                node->view.id, g->values[v].name);
    }
    return TN_OK;
}

static tn_status check_use(const struct tn_graph *g, const struct tn__value *value,
    uint32_t pos, struct tn_diag *diag) {
    const struct tn__use *use = &value->uses[pos];
    const struct tn__node *node = use->node < g->n_nodes ? &g->nodes[use->node] : NULL;
    bool right = node && !node->dead &&
                 (use->sub ? use->sub->values[use->index].outer_pos == pos
                           : use->index < node->view.n_inputs &&
                                 &g->values[node->view.inputs[use->index]] == value);
    return right ? TN_OK
                 : tn_fail(diag, TN_INTERNAL, "value '%s': use %u points nowhere",
                       value->name, pos);
}

static tn_status check_sub(void *diag, struct tn_graph *sub) {
    return tn__graph_verify(sub, diag);
}

tn_status tn__graph_verify(const struct tn_graph *g, struct tn_diag *diag) {
    struct tn_graph *own = (struct tn_graph *)g; /* marks are scratch */
    uint32_t n = 0;
    own->stamp++;
    for (tn_node_id id = g->first; id != TN_NO_ID; id = g->nodes[id].next, n++) {
        struct tn__node *node = &own->nodes[id];
        for (uint32_t i = 0; i < node->view.n_inputs; i++)
            TN_TRY(check_input(g, node, i, diag));
        TN_TRY(check_outputs(g, node, diag));
        TN_TRY(tn__node_subgraphs(node, check_sub, diag));
        node->mark = g->stamp;
    }
    if (n != g->n_live)
        return tn_fail(diag, TN_INTERNAL, "graph '%s' counts %u nodes but lists %u",
            g->name, g->n_live, n);
    for (tn_value_id v = 0; v < g->n_values; v++) {
        for (uint32_t pos = 0; pos < g->values[v].n_uses; pos++)
            TN_TRY(check_use(g, &g->values[v], pos, diag));
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i] >= g->n_values ||
            !(g->values[g->outputs[i]].flags & TN_VALUE_OUTPUT))
            return tn_fail(diag, TN_INTERNAL,
                "graph '%s': output %u is not a value of it", g->name, i);
    }
    return TN_OK;
}
