/* Topological order of a graph's nodes: a depth-first walk with its own stack, which keeps
 * the present order wherever it is already right. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/graph/graph.h"

#include <string.h>

/* For each node, the nodes it waits for: rows of one array. */
struct deps {
    uint32_t *start; /* [n_nodes + 1] */
    tn_node_id *ids;
};

enum { UNSEEN = 0, OPEN = 1, DONE = 2 };

struct walk {
    struct tn_graph *g;
    struct deps deps;
    uint8_t *state;     /* [n_nodes] */
    uint32_t *cursor;   /* [n_nodes]: next dependency to look at */
    tn_node_id *stack;  /* [n_nodes] */
    tn_node_id *sorted; /* [n_live] */
    uint32_t n_sorted;
};

struct counter {
    struct walk *w;
    tn_node_id node;
    bool store;
};

static void note_dep(struct counter *c, tn_value_id v) {
    tn_node_id producer = v == TN_NO_ID ? TN_NO_ID : c->w->g->values[v].producer;
    if (producer == TN_NO_ID) return;
    uint32_t at = c->w->deps.start[c->node + 1]++;
    if (c->store) c->w->deps.ids[at] = producer;
}

static tn_status note_captures(void *arg, struct tn_graph *sub) {
    for (tn_value_id v = 0; v < sub->n_values; v++) {
        if (sub->values[v].flags & TN_VALUE_CAPTURE) note_dep(arg, sub->values[v].outer);
    }
    return TN_OK;
}

static void note_node(struct walk *w, tn_node_id id, bool store) {
    struct counter c = {w, id, store};
    const struct tn__node *node = &w->g->nodes[id];
    for (uint32_t i = 0; i < node->view.n_inputs; i++)
        note_dep(&c, node->view.inputs[i]);
    (void)tn__node_subgraphs(node, note_captures, &c);
}

/* Counts, sums up, then fills: start[i + 1] serves as the write cursor of row i. */
static bool build_deps(struct walk *w) {
    const struct tn_graph *g = w->g;
    uint32_t *start = w->deps.start;
    for (tn_node_id id = g->first; id != TN_NO_ID; id = g->nodes[id].next)
        note_node(w, id, false);
    uint64_t total = 0;
    for (uint32_t i = 1; i <= g->n_nodes; i++) {
        uint32_t n = start[i];
        start[i] = (uint32_t)total;
        total += n;
    }
    if (total > UINT32_MAX) return false;
    w->deps.ids = tn__alloc(total * sizeof *w->deps.ids, 0);
    if (!w->deps.ids) return false;
    for (tn_node_id id = g->first; id != TN_NO_ID; id = g->nodes[id].next)
        note_node(w, id, true);
    return true;
}

static tn_status fail_cycle(
    const struct walk *w, uint32_t depth, tn_node_id again, struct tn_diag *diag) {
    enum { MOST = 6 };
    char list[TN_DIAG_MESSAGE_SIZE / 2] = "", label[TN_DIAG_NAME_SIZE];
    uint32_t begin = depth;
    while (begin > 0 && w->stack[begin - 1] != again)
        begin--;
    begin -= begin > 0;
    for (uint32_t i = depth, n = 0; i-- > begin && n < MOST; n++) {
        size_t used = strlen(list);
        tn__node_label(&w->g->nodes[w->stack[i]], label, sizeof label);
        snprintf(list + used, sizeof list - used, "%s%s", used ? " → " : "", label);
    }
    return tn_fail(diag, TN_INVALID_MODEL,
        "the graph '%s' has a cycle of %u nodes: %s%s waits for itself", w->g->name,
        depth - begin, list, depth - begin > MOST ? " → …" : "");
}

static tn_status visit(struct walk *w, tn_node_id root, struct tn_diag *diag) {
    uint32_t depth = 0;
    if (w->state[root] == DONE) return TN_OK;
    w->stack[depth++] = root;
    w->state[root] = OPEN;
    while (depth > 0) {
        tn_node_id id = w->stack[depth - 1];
        if (w->deps.start[id] + w->cursor[id] == w->deps.start[id + 1]) {
            w->state[id] = DONE;
            w->sorted[w->n_sorted++] = id;
            depth--;
            continue;
        }
        tn_node_id dep = w->deps.ids[w->deps.start[id] + w->cursor[id]++];
        if (w->state[dep] == OPEN) return fail_cycle(w, depth, dep, diag);
        if (w->state[dep] == UNSEEN) {
            w->state[dep] = OPEN;
            w->stack[depth++] = dep;
        }
    }
    return TN_OK;
}

static void relink(struct walk *w) {
    struct tn_graph *g = w->g;
    tn_node_id prev = TN_NO_ID;
    g->first = TN_NO_ID;
    for (uint32_t i = 0; i < w->n_sorted; i++) {
        tn_node_id id = w->sorted[i];
        g->nodes[id].prev = prev;
        g->nodes[id].next = TN_NO_ID;
        if (prev == TN_NO_ID)
            g->first = id;
        else
            g->nodes[prev].next = id;
        prev = id;
    }
    g->last = prev;
    g->order_dirty = true;
}

static tn_status walk_all(struct walk *w, bool *out_changed, struct tn_diag *diag) {
    const struct tn_graph *g = w->g;
    if (!w->state || !w->cursor || !w->stack || !w->sorted || !w->deps.start ||
        !build_deps(w))
        return tn__fail_memory(diag, "sorting the graph", g->n_nodes * 20ull);
    for (tn_node_id id = g->first; id != TN_NO_ID; id = g->nodes[id].next)
        TN_TRY(visit(w, id, diag));
    bool changed = false;
    tn_node_id old = g->first;
    for (uint32_t i = 0; i < w->n_sorted && !changed; i++) {
        changed = w->sorted[i] != old;
        old = g->nodes[old].next;
    }
    if (changed) relink(w);
    if (out_changed) *out_changed = changed;
    return TN_OK;
}

tn_status tn__graph_sort(struct tn_graph *g, bool *out_changed, struct tn_diag *diag) {
    struct walk w = {.g = g};
    w.deps.start = tn__alloc_zero(((uint64_t)g->n_nodes + 1) * sizeof *w.deps.start, 0);
    w.state = tn__alloc_zero(g->n_nodes, 0);
    w.cursor = tn__alloc_zero((uint64_t)g->n_nodes * sizeof *w.cursor, 0);
    w.stack = tn__alloc((uint64_t)g->n_nodes * sizeof *w.stack, 0);
    w.sorted = tn__alloc((uint64_t)g->n_live * sizeof *w.sorted, 0);
    tn_status status = walk_all(&w, out_changed, diag);
    tn__free(w.deps.start);
    tn__free(w.deps.ids);
    tn__free(w.state);
    tn__free(w.cursor);
    tn__free(w.stack);
    tn__free(w.sorted);
    return status;
}

void tn__graph_move_tail(struct tn_graph *g, tn_node_id from, tn_node_id after) {
    tn_node_id before = g->nodes[from].prev, last = g->last;
    tn_node_id next = after == TN_NO_ID ? g->first : g->nodes[after].next;
    g->nodes[before].next = TN_NO_ID;
    g->last = before;
    g->nodes[from].prev = after;
    g->nodes[last].next = next;
    g->nodes[next].prev = last;
    if (after == TN_NO_ID)
        g->first = from;
    else
        g->nodes[after].next = from;
    g->order_dirty = true;
}
