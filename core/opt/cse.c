/* Common subexpressions: of nodes with the same operator, inputs and attributes, the first
 * in the order serves all readers. Nodes with subgraphs or effects are left alone. */
#include "core/opt/content_table.h"
#include "core/opt/opt_impl.h"

#include <string.h>

enum { MOST_COMPARED = 16 };

/* ---- contents -------------------------------------------------------- */

static bool strings_equal(
    const struct tn_string *a, const struct tn_string *b, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        if (a[i].size != b[i].size) return false;
        if (a[i].size && memcmp(a[i].data, b[i].data, a[i].size) != 0) return false;
    }
    return true;
}

bool tn__tensor_equal(const struct tn_tensor *a, const struct tn_tensor *b) {
    if (a == b) return true;
    if (a->dtype != b->dtype || a->rank != b->rank || a->size != b->size || a->strides ||
        b->strides || a->space != b->space || a->layout != b->layout)
        return false;
    if (a->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0) return false;
    if (a->size == 0 || a->data == b->data) return true;
    if (a->dtype == TN_STRING)
        return strings_equal(a->data, b->data, a->size / sizeof(struct tn_string));
    return memcmp(a->data, b->data, a->size) == 0;
}

static bool tensors_equal(
    const struct tn_tensor *a, const struct tn_tensor *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!tn__tensor_equal(&a[i], &b[i])) return false;
    }
    return true;
}

static bool attrs_equal(const struct tn_attr *a, const struct tn_attr *b) {
    if (a->type != b->type || a->count != b->count) return false;
    switch (a->type) {
    case TN_ATTR_FLOAT:
    case TN_ATTR_FLOATS:
        return memcmp(a->as.floats, b->as.floats, a->count * sizeof(float)) == 0;
    case TN_ATTR_INT:
    case TN_ATTR_INTS:
        return memcmp(a->as.ints, b->as.ints, a->count * sizeof(int64_t)) == 0;
    case TN_ATTR_STRING:
    case TN_ATTR_STRINGS: return strings_equal(a->as.strings, b->as.strings, a->count);
    case TN_ATTR_TENSOR:
    case TN_ATTR_TENSORS: return tensors_equal(a->as.tensors, b->as.tensors, a->count);
    default: return false;
    }
}

/* ---- nodes ----------------------------------------------------------- */

/* Of a long list its beginning is enough: what collides is compared. */
static uint64_t hash_attr(const struct tn_attr *a) {
    enum { SAMPLE = 64 };
    const uint32_t n = a->count < SAMPLE ? a->count : SAMPLE;
    uint64_t h =
        tn__hash_bytes(a->name, strlen(a->name), a->type ^ (uint64_t)a->count << 8);
    if (a->type == TN_ATTR_INT || a->type == TN_ATTR_INTS)
        h = tn__hash_bytes(a->as.ints, n * sizeof(int64_t), h);
    else if (a->type == TN_ATTR_FLOAT || a->type == TN_ATTR_FLOATS)
        h = tn__hash_bytes(a->as.floats, n * sizeof(float), h);
    return h;
}

static uint64_t hash_node(const struct tn__node *node) {
    const struct tn_node *view = &node->view;
    uint64_t h = tn__hash_bytes(&node->def, sizeof node->def, (uint32_t)view->since);
    h = tn__hash_bytes(view->inputs, view->n_inputs * sizeof *view->inputs, h);
    for (uint32_t i = 0; i < view->n_attrs; i++)
        h += hash_attr(&view->attrs[i]); /* in any order */
    return h;
}

/* Every output that b has, a has too. */
static bool outputs_cover(const struct tn_node *a, const struct tn_node *b) {
    if (a->n_outputs != b->n_outputs) return false;
    for (uint32_t o = 0; o < b->n_outputs; o++) {
        if (b->outputs[o] != TN_NO_ID && a->outputs[o] == TN_NO_ID) return false;
    }
    return true;
}

struct pair {
    const struct tn_graph *g;
    tn_node_id id;
};

static bool same_node(void *arg, uint32_t other) {
    const struct pair *pair = arg;
    const struct tn__node *a = &pair->g->nodes[other], *b = &pair->g->nodes[pair->id];
    if (a->def != b->def || a->view.since != b->view.since ||
        a->view.n_inputs != b->view.n_inputs || a->view.n_attrs != b->view.n_attrs ||
        !outputs_cover(&a->view, &b->view))
        return false;
    if (a->view.n_inputs && memcmp(a->view.inputs, b->view.inputs,
                                a->view.n_inputs * sizeof *a->view.inputs) != 0)
        return false;
    for (uint32_t i = 0; i < a->view.n_attrs; i++) {
        const struct tn_attr *twin = tn_node_attr(&b->view, a->view.attrs[i].name);
        if (!twin || !attrs_equal(&a->view.attrs[i], twin)) return false;
    }
    return true;
}

static bool is_candidate(const struct tn__node *node) {
    return tn__node_is_pure(node) && node->view.n_outputs > 0 &&
           !tn__node_has_subgraphs(node);
}

static tn_status merge_nodes(
    struct tn_graph *g, tn_node_id first, tn_node_id again, struct tn_diag *diag) {
    for (uint32_t o = 0; o < g->nodes[again].view.n_outputs; o++) {
        tn_value_id from = g->nodes[again].view.outputs[o];
        if (from == TN_NO_ID) continue;
        TN_TRY(
            tn__graph_api.replace_uses(g, from, g->nodes[first].view.outputs[o], diag));
    }
    return tn__graph_api.remove_node(g, again, diag);
}

tn_status tn__pass_cse(struct tn__opt *opt, struct tn_graph *g, uint32_t *out_changes,
    struct tn_diag *diag) {
    struct tn__content_table table;
    tn_status status = TN_OK;
    (void)opt;
    if (!tn__content_create(&table, g->n_live))
        return tn__fail_memory(diag, "a table of nodes", g->n_live);
    for (tn_node_id id = g->first, next; id != TN_NO_ID && status == TN_OK; id = next) {
        next = g->nodes[id].next;
        if (!is_candidate(&g->nodes[id])) continue;
        struct pair pair = {g, id};
        uint32_t first = tn__content_find(
            &table, hash_node(&g->nodes[id]), id, MOST_COMPARED, same_node, &pair);
        if (first == UINT32_MAX) continue;
        status = merge_nodes(g, first, id, diag);
        (*out_changes)++;
    }
    tn__content_destroy(&table);
    return status;
}
