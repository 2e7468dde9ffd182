/* The driver: takes a model node by node through resolution, upgrades, expansion and
 * inference, and keeps doing so for the nodes that appear on the way. */
#include "core/infer/infer.h"

#include "core/base/alloc.h"
#include "core/infer/infer_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MAX_NODES = 1000000, STEPS_PER_NODE = 64, LEAST_STEPS = 100000 };

/* ---- one node -------------------------------------------------------- */

struct visit {
    struct tn__inferer *inferer;
    struct tn_graph *g;
    uint8_t *done; /* [cap] by node id */
    uint32_t cap;
};

static bool is_done(const struct visit *v, tn_node_id id) {
    return id < v->cap && v->done[id];
}

static tn_status set_done(struct visit *v, tn_node_id id, struct tn_diag *diag) {
    if (id >= v->cap) {
        uint32_t cap = v->g->n_nodes + v->g->n_nodes / 2 + 16;
        uint8_t *done = tn__alloc_zero(cap, 0);
        if (!done) return tn__fail_memory(diag, "inference", cap);
        if (v->cap) memcpy(done, v->done, v->cap);
        tn__free(v->done);
        v->done = done;
        v->cap = cap;
    }
    v->done[id] = 1;
    return TN_OK;
}

/* The newest definition of a node's operator at the version it says it follows, 0 =
 * newest: nodes that adapters and passes make. */
static tn_status adopt_definition(struct tn__inferer *inferer, struct tn__node *node,
    int32_t since, struct tn_diag *diag) {
    const struct tn_op_def *def =
        tn__registry_op(inferer->registry, node->view.domain, node->view.op_type);
    if (!def)
        return tn_fail(diag, TN_UNSUPPORTED,
            "no plugin defines the operator '%s' of domain '%s', which a rewrite of "
            "another node uses",
            node->view.op_type, node->view.domain);
    int32_t row = since == 0 ? (int32_t)def->n_versions - 1 : tn__op_version(def, since);
    if (row < 0)
        return tn_fail(diag, TN_UNSUPPORTED, "operator '%s' has no version %d",
            node->view.op_type, since);
    node->def = def;
    node->view.since = def->versions[row].since;
    return TN_OK;
}

/* Whether no upgrade is left: the newest version, or the last one of an operator that
 * ended. */
static bool is_current(const struct tn__node *node) {
    if (!node->def) return false;
    int32_t row = tn__op_version(node->def, node->view.since);
    if (row < 0 || (uint32_t)row + 1 >= node->def->n_versions) return row >= 0;
    const struct tn_op_version *next = &node->def->versions[row + 1];
    return (next->flags & TN_VERSION_DEPRECATED) && !next->upgrade;
}

static tn_status resolve(struct tn__inferer *inferer, struct tn_graph *g, tn_node_id id,
    struct tn_diag *diag) {
    struct tn__node *node = tn__node_at(g, id);
    if (node->def) return TN_OK;
    if (node->view.since > 0)
        return adopt_definition(inferer, node, node->view.since, diag);
    return tn__resolve_node(inferer->registry, g, id, diag);
}

/* A function of the model whose operator a plugin has too: the operator is taken when a
 * kernel runs it. */
static bool kernel_replaces_function(
    struct tn__inferer *inferer, struct tn_graph *g, tn_node_id id) {
    struct tn__node *node = tn__node_at(g, id);
    struct tn_diag ignored = {0};
    if (!inferer->options.native || node->overload[0] != '\0' ||
        !tn__registry_op(inferer->registry, node->view.domain, node->view.op_type) ||
        tn__resolve_node(inferer->registry, g, id, &ignored) != TN_OK)
        return false;
    if (is_current(node) && tn__infer_one(inferer, g, id, &ignored) == TN_OK &&
        tn__infer_has_kernel(inferer, g, id)) {
        node->is_function = false;
        return true;
    }
    node = tn__node_at(g, id);
    node->def = NULL;
    node->view.since = 0;
    return false;
}

/* One step of a node; *out_again when its place in the order is to be looked at anew. */
static tn_status visit_node(
    struct visit *v, tn_node_id id, bool *out_again, struct tn_diag *diag) {
    struct tn__inferer *inferer = v->inferer;
    struct tn_graph *g = v->g;
    const struct tn__function *function = tn__expand_find(inferer, tn__node_at(g, id));
    uint32_t added = 0;
    *out_again = true;
    if (function && !kernel_replaces_function(inferer, g, id))
        return tn__expand_call(inferer, g, id, function, diag);
    TN_TRY(resolve(inferer, g, id, diag));
    if (!is_current(tn__node_at(g, id))) {
        TN_TRY(tn__upgrade_node(inferer->registry, g, id, &added, diag));
        if (added > 0 || tn__node_at(g, id)->dead) return TN_OK;
    }
    TN_TRY(tn__infer_one(inferer, g, id, diag));
    TN_TRY(set_done(v, id, diag));
    return tn__expand_operator(inferer, g, id, out_again, diag);
}

/* ---- one graph ------------------------------------------------------- */

/* Types of what the graph starts from, with the sizes that were bound. */
static tn_status begin_graph(struct tn_graph *g, struct tn_diag *diag) {
    const char *who = "the model";
    for (tn_value_id v = 0; v < g->n_values; v++) {
        const struct tn__value *value = tn__value_at(g, v);
        if (value->flags & TN_VALUE_CAPTURE) {
            struct tn_type outer = tn__value_at(g->parent, value->outer)->type;
            TN_TRY(tn__graph_set_type(g, v, &outer, diag));
        } else if (value->constant && !(value->flags & TN_VALUE_INPUT)) {
            struct tn_type type = tn__type_of_tensor(value->constant);
            TN_TRY(tn__infer_set_type(g, v, &type, "its content", diag));
        } else if (value->flags & (TN_VALUE_DECLARED | TN_VALUE_INPUT)) {
            struct tn_type type = value->type;
            TN_TRY(tn__infer_set_type(g, v, &type, who, diag));
        }
    }
    return TN_OK;
}

static tn_node_id after(const struct tn_graph *g, tn_node_id prev) {
    bool lost = prev == TN_NO_ID || g->nodes[prev].dead;
    return lost ? g->first : g->nodes[prev].next;
}

/* Nodes that were appended at the end, behind their readers, come behind `anchor` and what
 * is new there instead: they stand for the node that was there. */
static tn_status pull_appended(
    struct tn_graph *g, tn_node_id first_new, tn_node_id anchor, struct tn_diag *diag) {
    tn_node_id from = g->last;
    if (from == TN_NO_ID || from < first_new) return TN_OK;
    if (anchor != TN_NO_ID && g->nodes[anchor].dead) return tn__graph_sort(g, NULL, diag);
    while (g->nodes[from].prev != TN_NO_ID && g->nodes[from].prev >= first_new)
        from = g->nodes[from].prev;
    for (;;) {
        tn_node_id next = anchor == TN_NO_ID ? g->first : g->nodes[anchor].next;
        if (next == TN_NO_ID || next == from || next < first_new) break;
        anchor = next;
    }
    if (g->nodes[from].prev != anchor) tn__graph_move_tail(g, from, anchor);
    return TN_OK;
}

static tn_status visit_all(struct visit *v, struct tn_diag *diag) {
    struct tn_graph *g = v->g;
    for (tn_node_id id = g->first; id != TN_NO_ID;) {
        if (is_done(v, id)) {
            id = g->nodes[id].next;
            continue;
        }
        tn_node_id prev = g->nodes[id].prev;
        uint32_t n_nodes = g->n_nodes;
        bool again;
        tn_status status = visit_node(v, id, &again, diag);
        TN_TRY(tn__node_context(diag, tn__node_at(g, id), status));
        if (v->inferer->budget > 0) v->inferer->budget--;
        TN_TRY(pull_appended(g, n_nodes, g->nodes[id].dead ? prev : id, diag));
        id = again ? after(g, prev) : g->nodes[id].next;
    }
    return TN_OK;
}

tn_status tn__infer_graph(
    struct tn__inferer *inferer, struct tn_graph *g, struct tn_diag *diag) {
    if (inferer->depth >= TN__MAX_SUBGRAPH_DEPTH)
        return tn_fail(diag, TN_LIMIT_EXCEEDED, "subgraphs nest deeper than %d",
            TN__MAX_SUBGRAPH_DEPTH);
    struct visit visit = {.inferer = inferer, .g = g};
    TN_TRY(begin_graph(g, diag));
    inferer->depth++;
    tn_status status = visit_all(&visit, diag);
    inferer->depth--;
    tn__free(visit.done);
    return status;
}

/* ---- hooks of later edits -------------------------------------------- */

static void refill_budget(struct tn__inferer *inferer) {
    if (inferer->loading || inferer->depth > 0) return;
    inferer->budget = inferer->n_nodes * STEPS_PER_NODE + LEAST_STEPS;
}

static tn_status hook_infer(
    void *arg, struct tn_graph *g, tn_node_id id, struct tn_diag *diag) {
    struct tn__inferer *inferer = arg;
    struct tn__node *node = tn__node_at(g, id);
    refill_budget(inferer);
    if (!node->def) TN_TRY(adopt_definition(inferer, node, node->view.since, diag));
    return is_current(node) ? tn__infer_one(inferer, g, id, diag) : TN_OK;
}

static tn_status hook_added(
    void *arg, struct tn_graph *g, tn_node_id id, int32_t since, struct tn_diag *diag) {
    struct tn__inferer *inferer = arg;
    struct tn__node *node = tn__node_at(g, id);
    inferer->n_nodes++;
    TN_TRY(adopt_definition(inferer, node, since, diag));
    if (!inferer->loading && !is_current(node)) {
        uint32_t added;
        TN_TRY(tn__upgrade_node(inferer->registry, g, id, &added, diag));
    }
    return tn__node_at(g, id)->dead ? TN_OK : hook_infer(arg, g, id, diag);
}

tn_status tn__infer_node(struct tn_graph *g, tn_node_id id, struct tn_diag *diag) {
    const struct tn__graph_hooks *hooks = &g->model->hooks;
    return hooks->infer ? hooks->infer(hooks->arg, g, id, diag) : TN_OK;
}

/* ---- one model ------------------------------------------------------- */

/* Whether a node of any graph belongs to the domain. */
static bool domain_is_used(const struct tn__model *model, const char *domain) {
    for (const struct tn_graph *g = model->graphs; g; g = g->next_graph) {
        for (tn_node_id id = g->first; id != TN_NO_ID; id = g->nodes[id].next) {
            if (strcmp(g->nodes[id].view.domain, domain) == 0) return true;
        }
    }
    return false;
}

static tn_status check_opsets(
    struct tn__model *model, const struct tn__inferer *inferer, struct tn_diag *diag) {
    enum { MOST = 1000 };
    for (uint32_t i = 0; i < model->n_opsets && i < MOST; i++) {
        const struct tn__opset *opset = &model->opsets[i];
        const char *label = opset->domain[0] ? opset->domain : "ai.onnx";
        if (!domain_is_used(model, opset->domain)) continue;
        int32_t newest = tn__registry_domain_newest(inferer->registry, opset->domain);
        if (newest == 0 || opset->version <= newest) continue;
        if (inferer->options.strict)
            return tn_fail(diag, TN_UNSUPPORTED,
                "the model imports version %lld of domain '%s', newer than %d, the "
                "newest that is known here: turn 'strict' off to load it as far as its "
                "operators are known",
                (long long)opset->version, label, newest);
        (void)tn__model_warn(model,
            "the model imports version %lld of domain '%s', newer than %d, the newest "
            "that is known here: operators are taken to mean what they meant then",
            (long long)opset->version, label, newest);
    }
    return TN_OK;
}

static tn_status fail_unknown_symbol(
    struct tn__symbols *symbols, const char *name, struct tn_diag *diag) {
    char list[256] = "";
    for (uint32_t i = 0; i < tn__symbols_count(symbols); i++) {
        const char *known = tn__symbol_name(symbols, i);
        size_t used = strlen(list);
        if (!known || used + strlen(known) + 3 > sizeof list) continue;
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", known);
    }
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "the model has no free dimension '%s'; it has %s%s", name,
        list[0] ? "these: " : "none", list);
}

static tn_status bind_overrides(struct tn__model *model,
    const struct tn__infer_options *options, struct tn_diag *diag) {
    for (uint64_t i = 0; i < options->n_dim_overrides; i++) {
        const struct tn_option *o = &options->dim_overrides[i];
        int64_t symbol = tn__symbol_find(model->symbols, o->key);
        if (symbol == TN_DIM_UNKNOWN)
            return fail_unknown_symbol(model->symbols, o->key, diag);
        char *end;
        errno = 0;
        long long size = strtoll(o->value, &end, 10);
        if (errno || end == o->value || *end || size < 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "the size of dimension '%s' is '%s', expected a number that is not "
                "negative",
                o->key, o->value);
        if (!tn__symbol_bind(model->symbols, symbol, size))
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "dimension '%s' is given two sizes, %lld and %lld", o->key,
                (long long)tn__symbol_resolve(model->symbols, symbol), size);
    }
    return TN_OK;
}

/* Nodes whose outputs all became constants while they were inferred have nothing left to
 * do. */
static void remove_hollow(struct tn__model *model) {
    for (struct tn_graph *g = model->graphs; g; g = g->next_graph) {
        for (tn_node_id id = g->first, next; id != TN_NO_ID; id = next) {
            const struct tn_node *view = &g->nodes[id].view;
            uint32_t left = 0;
            next = g->nodes[id].next;
            for (uint32_t o = 0; o < view->n_outputs; o++)
                left += view->outputs[o] != TN_NO_ID;
            if (view->n_outputs > 0 && left == 0)
                (void)tn__graph_api.remove_node(g, id, NULL);
        }
    }
}

static struct tn__inferer *create_inferer(struct tn__model *model,
    struct tn__registry *registry, const struct tn__infer_options *options) {
    struct tn__inferer *inferer = tn__arena_alloc(model->arena, sizeof *inferer);
    if (!inferer) return NULL;
    inferer->model = model;
    inferer->registry = registry;
    inferer->options = *options;
    inferer->options.providers = tn__arena_copy(model->arena, options->providers,
        options->n_providers * sizeof *options->providers);
    if (!inferer->options.providers) return NULL;
    if (inferer->options.max_nodes == 0) inferer->options.max_nodes = DEFAULT_MAX_NODES;
    for (const struct tn_graph *g = model->graphs; g; g = g->next_graph)
        inferer->n_nodes += g->n_live;
    return inferer;
}

static tn_status visit_model(struct tn__inferer *inferer, struct tn_diag *diag) {
    refill_budget(inferer);
    inferer->loading = true;
    tn_status status = tn__infer_graph(inferer, inferer->model->graph, diag);
    inferer->loading = false;
    if (status == TN_OK) remove_hollow(inferer->model);
    return status;
}

static tn_status run_driver(struct tn__inferer *inferer, struct tn_diag *diag) {
    struct tn__model *model = inferer->model;
    struct tn__graph_hooks hooks = {
        .node_added = hook_added, .infer = hook_infer, .arg = inferer};
    TN_TRY(check_opsets(model, inferer, diag));
    TN_TRY(bind_overrides(model, &inferer->options, diag));
    TN_TRY(tn__expand_prepare(inferer, diag));
    tn__model_set_hooks(model, &hooks);
    return visit_model(inferer, diag);
}

tn_status tn__infer_finish(struct tn__model *model, struct tn_diag *diag) {
    struct tn__inferer *inferer = model->hooks.arg;
    inferer->options.whole = false;
    return visit_model(inferer, diag);
}

tn_status tn__infer_model(struct tn__model *model, struct tn__registry *registry,
    const struct tn__infer_options *options, struct tn_diag *diag) {
    struct tn__inferer *inferer = create_inferer(model, registry, options);
    if (!inferer) return tn__fail_memory(diag, "inference", sizeof *inferer);
    tn_status status = run_driver(inferer, diag);
    tn__map_clear(&inferer->functions);
    inferer->options.dim_overrides = NULL;
    return status;
}
