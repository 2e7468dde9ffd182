/* The graph as the operator-aware passes of plugins see it: nodes that a named provider
 * claims are not theirs to rewrite. They are left out of the list, what they produce looks
 * like an input, and what they read or produce must keep existing. */
#include "core/opt/opt_impl.h"

static bool is_reserved(const struct tn_graph *g, tn_node_id id) {
    return id != TN_NO_ID && tn__node_at(g, id)->reserved;
}

/* A list of its own each time, since the one before may still be read. */
static void list_nodes(
    const struct tn_graph *g, const tn_node_id **out_ids, uint32_t *out_n) {
    const tn_node_id *ids;
    uint32_t n, kept = 0;
    tn__graph_api.nodes(g, &ids, &n);
    tn_node_id *own = tn__arena_array(g->arena, n, sizeof *own);
    for (uint32_t i = 0; own && i < n; i++) {
        if (!is_reserved(g, ids[i])) own[kept++] = ids[i];
    }
    *out_ids = own;
    *out_n = kept;
}

static tn_node_id find_producer(
    const struct tn_graph *g, tn_value_id v, uint32_t *out_index) {
    tn_node_id id = tn__graph_api.producer(g, v, out_index);
    return is_reserved(g, id) ? TN_NO_ID : id;
}

static int32_t is_visible(const struct tn_graph *g, tn_value_id v) {
    const struct tn__value *value = tn__value_at(g, v);
    bool reserved = is_reserved(g, value->producer);
    for (uint32_t i = 0; i < value->n_uses && !reserved; i++)
        reserved = is_reserved(g, value->uses[i].node);
    return reserved || tn__graph_api.is_visible(g, v);
}

struct tn_graph_api tn__pass_api(const struct tn_graph *g) {
    struct tn_graph_api api = tn__graph_api;
    bool any = false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        any = any || (!g->nodes[i].dead && g->nodes[i].reserved);
    if (!any) return api;
    api.nodes = list_nodes;
    api.producer = find_producer;
    api.is_visible = is_visible;
    return api;
}
