/* Nodes that do nothing, and nodes that nobody reads. */
#include "core/infer/infer.h"
#include "core/opt/opt_impl.h"

/* A graph output keeps a node behind it: an input, a constant or an outer value is not
 * handed out directly. */
static bool may_replace(const struct tn__value *from, const struct tn__value *to) {
    return !(from->flags & TN_VALUE_OUTPUT) || to->producer != TN_NO_ID;
}

static bool other_outputs_read(const struct tn_graph *g, const struct tn_node *view) {
    for (uint32_t o = 1; o < view->n_outputs; o++) {
        if (view->outputs[o] == TN_NO_ID) continue;
        const struct tn__value *value = &g->values[view->outputs[o]];
        if (value->n_uses > 0 || (value->flags & TN_VALUE_OUTPUT)) return true;
    }
    return false;
}

/* The value that output 0 of a node repeats, TN_NO_ID when it does not. */
static tn_value_id repeated_input(struct tn_graph *g, tn_node_id id) {
    const struct tn__node *node = &g->nodes[id];
    const struct tn_node *view = &node->view;
    if (!node->def || !node->def->elide || !tn__node_is_pure(node) ||
        view->n_outputs == 0 || view->outputs[0] == TN_NO_ID ||
        other_outputs_read(g, view))
        return TN_NO_ID;
    int32_t i = tn__infer_elide(g, id);
    if (i < 0 || (uint32_t)i >= view->n_inputs || view->inputs[i] == TN_NO_ID)
        return TN_NO_ID;
    const struct tn__value *from = &g->values[view->outputs[0]];
    const struct tn__value *to = &g->values[view->inputs[i]];
    return may_replace(from, to) ? view->inputs[i] : TN_NO_ID;
}

tn_status tn__pass_no_op(struct tn__opt *opt, struct tn_graph *g, uint32_t *out_changes,
    struct tn_diag *diag) {
    (void)opt;
    for (tn_node_id id = g->first, next; id != TN_NO_ID; id = next) {
        next = g->nodes[id].next;
        tn_value_id to = repeated_input(g, id);
        if (to == TN_NO_ID) continue;
        tn_value_id from = g->nodes[id].view.outputs[0];
        TN_TRY(tn__graph_api.replace_uses(g, from, to, diag));
        TN_TRY(tn__graph_api.remove_node(g, id, diag));
        (*out_changes)++;
    }
    return TN_OK;
}

tn_status tn__pass_dead_code(struct tn__opt *opt, struct tn_graph *g,
    uint32_t *out_changes, struct tn_diag *diag) {
    (void)opt;
    (void)diag;
    if (!g->parent) *out_changes = tn__graph_sweep(g); /* subgraphs included */
    return TN_OK;
}
