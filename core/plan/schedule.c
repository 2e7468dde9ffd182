/* Units and their order. A node with a kernel is a unit; the nodes that a provider claimed
 * under one group number become one unit as far as they can run in one go.
 *
 * Rounds: first every single node that is ready, in the graph's own order, then every
 * group that is ready as a whole. When neither moves, some path leaves a group and comes
 * back: the largest part of a group that is ready becomes a unit of its own. */
#include "core/base/alloc.h"
#include "core/plan/plan.h"

#include <stdlib.h>
#include <string.h>

struct scheduler {
    struct tn__program *program;
    struct tn_graph *g;
    struct tn_diag *diag;
    const tn_node_id *order;
    uint32_t n_order;
    uint32_t *group; /* by node id: 0 = single, else 1 + index of a group */
    uint8_t *done;   /* by node id: 1 scheduled, 2 chosen for the unit being formed */
    uint32_t n_groups;
    uint32_t *left; /* by group: nodes not scheduled */
    tn_node_id *picked;
    uint32_t n_picked;
    uint32_t n_left;
};

/* Whether node `id` may run once the scheduled and the chosen nodes have run. */
static bool is_ready(const struct scheduler *s, tn_node_id id) {
    const struct tn_graph *g = s->g;
    const struct tn__node *node = tn__node_at(g, id);
    for (uint32_t i = 0; i < node->view.n_inputs; i++) {
        tn_value_id v = node->view.inputs[i];
        if (v == TN_NO_ID) continue;
        tn_node_id from = tn__value_at(g, v)->producer;
        if (from != TN_NO_ID && !s->done[from]) return false;
    }
    for (uint32_t a = 0; a < node->view.n_attrs; a++) {
        const struct tn_attr *attr = &node->view.attrs[a];
        if (attr->type != TN_ATTR_GRAPH && attr->type != TN_ATTR_GRAPHS) continue;
        for (uint32_t k = 0; k < attr->count; k++) {
            const struct tn_graph *sub = attr->as.graphs[k];
            for (uint32_t v = 0; v < sub->n_values; v++) {
                if (!(sub->values[v].flags & TN_VALUE_CAPTURE)) continue;
                tn_node_id from = tn__value_at(g, sub->values[v].outer)->producer;
                if (from != TN_NO_ID && !s->done[from]) return false;
            }
        }
    }
    return true;
}

static tn_status emit_unit(struct scheduler *s) {
    struct tn__program *program = s->program;
    struct tn__unit *unit = &program->units[program->n_units++];
    tn_node_id *nodes =
        tn__arena_copy(program->plan->arena, s->picked, s->n_picked * sizeof *s->picked);
    if (!nodes) return tn__fail_memory(s->diag, "schedule", s->n_picked * 4);
    *unit = (struct tn__unit){.graph = s->g,
        .nodes = nodes,
        .n_nodes = s->n_picked,
        .provider = program->owner[nodes[0]]};
    uint32_t group = s->group[nodes[0]];
    unit->group = group != 0;
    for (uint32_t i = 0; i < s->n_picked; i++)
        s->done[nodes[i]] = 1;
    if (group) s->left[group - 1] -= s->n_picked;
    s->n_left -= s->n_picked;
    return TN_OK;
}

static tn_status emit_singles(struct scheduler *s) {
    for (uint32_t i = 0; i < s->n_order; i++) {
        tn_node_id id = s->order[i];
        if (s->group[id] || s->done[id] || !is_ready(s, id)) continue;
        s->picked[0] = id;
        s->n_picked = 1;
        TN_TRY(emit_unit(s));
    }
    return TN_OK;
}

/* Chooses the nodes of a group that can run now, one after another. */
static void pick_ready(struct scheduler *s, uint32_t group) {
    s->n_picked = 0;
    for (uint32_t i = 0; i < s->n_order; i++) {
        tn_node_id id = s->order[i];
        if (s->group[id] != group || s->done[id] || !is_ready(s, id)) continue;
        s->done[id] = 2;
        s->picked[s->n_picked++] = id;
    }
}

static void unpick(struct scheduler *s) {
    for (uint32_t i = 0; i < s->n_picked; i++)
        s->done[s->picked[i]] = 0;
}

/* ---- why a group breaks --------------------------------------------------------------- */

/* A producer that node `id` waits for: not scheduled, and not of its own group or, with
 * `chosen`, one chosen now. TN_NO_ID when there is none. */
static tn_node_id awaited(const struct scheduler *s, tn_node_id id, uint32_t group) {
    const struct tn_node *node = &tn__node_at(s->g, id)->view;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == TN_NO_ID) continue;
        tn_node_id from = tn__value_at(s->g, node->inputs[i])->producer;
        if (from == TN_NO_ID || s->done[from] == 1) continue;
        if (s->group[from] != group) return from;
    }
    return TN_NO_ID;
}

static tn_node_id chosen_producer(const struct scheduler *s, tn_node_id id) {
    const struct tn_node *node = &tn__node_at(s->g, id)->view;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == TN_NO_ID) continue;
        tn_node_id from = tn__value_at(s->g, node->inputs[i])->producer;
        if (from != TN_NO_ID && s->done[from] == 2) return from;
    }
    return TN_NO_ID;
}

/* The path from a chosen node through others back to a node of the group, in words. The
 * nodes are walked backwards from the first that could not be chosen. */
static const char *find_path(struct scheduler *s, uint32_t group) {
    enum { MOST_STEPS = 64 };
    tn_node_id last = TN_NO_ID, steps[MOST_STEPS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_order && last == TN_NO_ID; i++) {
        tn_node_id id = s->order[i];
        if (s->group[id] == group && !s->done[id] && awaited(s, id, group) != TN_NO_ID)
            last = id;
    }
    tn_node_id at = last == TN_NO_ID ? last : awaited(s, last, group);
    while (at != TN_NO_ID && n < MOST_STEPS) {
        steps[n++] = at;
        tn_node_id from = chosen_producer(s, at);
        if (from != TN_NO_ID) {
            steps[n < MOST_STEPS ? n++ : MOST_STEPS - 1] = from;
            break;
        }
        at = awaited(s, at, group);
    }
    struct tn_text text = {0};
    char label[TN_DIAG_NAME_SIZE];
    for (uint32_t i = n; i-- > 0;)
        tn__text_printf(&text, "%s → ",
            tn__node_label(tn__node_at(s->g, steps[i]), label, sizeof label));
    tn__text_puts(&text,
        last == TN_NO_ID ? "?"
                         : tn__node_label(tn__node_at(s->g, last), label, sizeof label));
    const char *copy =
        text.failed ? NULL
                    : tn__arena_string(s->program->plan->arena, text.data, text.size);
    tn__text_free(&text);
    return copy;
}

static tn_status note_split(struct scheduler *s, uint32_t group) {
    struct tn__plan *plan = s->program->plan;
    struct tn__split *split = tn__arena_alloc(plan->arena, sizeof *split);
    const char *path = find_path(s, group);
    if (!split || !path) return tn__fail_memory(s->diag, "schedule", sizeof *split);
    *split = (struct tn__split){
        s->program, s->program->owner[s->picked[0]], path, plan->splits};
    plan->splits = split;
    return TN_OK;
}

/* Emits groups that are ready as a whole; if none is, the largest ready part of one. */
static tn_status emit_groups(struct scheduler *s) {
    uint32_t best = 0, best_size = 0;
    bool moved = false;
    for (uint32_t group = 1; group <= s->n_groups; group++) {
        if (s->left[group - 1] == 0) continue;
        pick_ready(s, group);
        if (s->n_picked == s->left[group - 1]) {
            TN_TRY(emit_unit(s));
            moved = true;
            continue;
        }
        if (s->n_picked > best_size) {
            best = group;
            best_size = s->n_picked;
        }
        unpick(s);
    }
    if (moved || s->n_left == 0) return TN_OK;
    if (best_size == 0)
        return tn_fail(s->diag, TN_INTERNAL,
            "the graph '%s' has a cycle through nodes of one provider group",
            s->g->name ? s->g->name : "");
    pick_ready(s, best);
    TN_TRY(note_split(s, best));
    return emit_unit(s);
}

/* Numbers the distinct (provider, group) pairs. */
static tn_status find_groups(struct scheduler *s) {
    struct tn__program *program = s->program;
    struct pair {
        uint32_t provider, group;
    } *pairs = tn__alloc((uint64_t)s->n_order * sizeof *pairs, 0);
    if (!pairs) return tn__fail_memory(s->diag, "schedule", s->n_order * sizeof *pairs);
    for (uint32_t i = 0; i < s->n_order; i++) {
        tn_node_id id = s->order[i];
        if (program->owner[id] == program->plan->n_providers) continue;
        struct pair pair = {program->owner[id],
            program->verdicts[(uint64_t)program->owner[id] * s->g->n_nodes + id].group};
        if (pair.group == 0) continue;
        uint32_t k = 0;
        while (k < s->n_groups && memcmp(&pairs[k], &pair, sizeof pair) != 0)
            k++;
        if (k == s->n_groups) pairs[s->n_groups++] = pair;
        s->group[id] = k + 1;
        s->left[k]++;
    }
    tn__free(pairs);
    return TN_OK;
}

static tn_status run_scheduler(struct scheduler *s) {
    TN_TRY(find_groups(s));
    while (s->n_left > 0) {
        TN_TRY(emit_singles(s));
        if (s->n_left > 0 && s->n_groups == 0)
            return tn_fail(s->diag, TN_INTERNAL,
                "the order of graph '%s' is not topological",
                s->g->name ? s->g->name : "");
        if (s->n_left > 0) TN_TRY(emit_groups(s));
    }
    return TN_OK;
}

/* Those of an earlier attempt. */
static void drop_splits(struct tn__program *program) {
    struct tn__split **at = &program->plan->splits;
    while (*at) {
        if ((*at)->program == program)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
}

tn_status tn__plan_schedule(struct tn__program *program, struct tn_diag *diag) {
    struct scheduler s = {.program = program, .g = program->graph, .diag = diag};
    s.order = tn__graph_order(s.g, &s.n_order);
    s.n_left = s.n_order;
    program->n_units = 0;
    drop_splits(program);
    program->units =
        tn__arena_array(program->plan->arena, s.n_order, sizeof *program->units);
    uint64_t n = s.g->n_nodes;
    char *scratch = tn__alloc_zero(n * 5 + (uint64_t)s.n_order * 8 + 64, 0);
    if (!scratch || !program->units) {
        tn__free(scratch);
        return tn__fail_memory(diag, "schedule", n * 5);
    }
    s.group = (uint32_t *)(void *)scratch;
    s.left = s.group + n;
    s.picked = s.left + s.n_order;
    s.done = (uint8_t *)(s.picked + s.n_order);
    tn_status status = run_scheduler(&s);
    tn__free(scratch);
    return status;
}
