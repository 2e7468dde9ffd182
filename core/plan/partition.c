/* Who serves each node: every provider gives a verdict on every node of a graph, and the
 * first in the configured order that claims it gets it. All verdicts are kept for the
 * report. */
#include "core/base/checked.h"
#include "core/plan/provider_call.h"

#include <stdio.h>
#include <string.h>

/* One capability call. */
struct asking {
    struct tn__program *program;
    uint32_t provider;
    struct tn__verdict *verdicts; /* this provider's, by node id */
    struct tn_diag *diag;
    tn_status status; /* the first misuse: stays even when the provider ignores it */
    char detail[256]; /* of the last kernel question */
};

static const struct tn__plan_provider *provider_of(const struct asking *a) {
    return &a->program->plan->providers[a->provider];
}

static tn_status misuse(struct asking *a, tn_node_id node, const char *what) {
    if (a->status != TN_OK) return a->status;
    a->status = tn_fail(a->diag, TN_PLUGIN, "provider '%s' %s (node #%u)",
        provider_of(a)->id, what, (unsigned)node);
    if (a->diag)
        tn__diag_name(a->diag, a->diag->plugin, provider_of(a)->reg->plugin->desc->id);
    return a->status;
}

static tn_status open_verdict(
    struct asking *a, tn_node_id node, struct tn__verdict **out) {
    const struct tn_graph *g = a->program->graph;
    if (node >= g->n_nodes || tn__node_at(g, node)->dead)
        return misuse(a, node, "gave a verdict on a node that does not exist");
    if (a->verdicts[node].given) return misuse(a, node, "gave two verdicts on one node");
    *out = &a->verdicts[node];
    return TN_OK;
}

/* ---- limits --------------------------------------------------------------------------- */

static uint32_t check_dims(
    const struct tn_type *type, const struct tn_provider_limits *limits, uint32_t flags) {
    if (!(flags & TN_LIMIT_STATIC_SHAPES)) return TN_REASON_OK;
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0) return TN_REASON_DYNAMIC_SHAPE;
    }
    uint64_t bytes;
    if (type->rank >= 0 && TN_HAS(limits, tensor_bytes) &&
        (!tn_tensor_bytes(type->dtype, type->dims, (uint32_t)type->rank, &bytes) ||
            bytes > limits->tensor_bytes))
        return TN_REASON_MEMORY;
    return TN_REASON_OK;
}

/* Whether one value is within the limits. */
static uint32_t check_value(
    const struct tn_type *type, const struct tn_provider_limits *limits) {
    uint32_t flags = limits->flags;
    if (TN_HAS(limits, dtypes) &&
        (type->kind != TN_KIND_TENSOR || type->dtype < 0 || type->dtype > 63 ||
            !(limits->dtypes >> type->dtype & 1)))
        return TN_REASON_DTYPE;
    if (type->kind != TN_KIND_TENSOR) return TN_REASON_OK;
    if ((flags & TN_LIMIT_STATIC_SHAPES) && type->rank < 0)
        return TN_REASON_DYNAMIC_SHAPE;
    if (TN_HAS(limits, max_rank) && type->rank > (int32_t)limits->max_rank)
        return TN_REASON_RANK;
    return check_dims(type, limits, flags);
}

static uint32_t check_values(
    struct asking *a, const char *what, const tn_value_id *ids, uint32_t n) {
    const struct tn_graph *g = a->program->graph;
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] == TN_NO_ID) continue;
        const struct tn_type *type = &tn__value_at(g, ids[i])->type;
        uint32_t reason = check_value(type, provider_of(a)->limits);
        if (reason == TN_REASON_OK) continue;
        if (reason == TN_REASON_RANK)
            snprintf(a->detail, sizeof a->detail, "%s %u has rank %d, at most %u", what,
                (unsigned)i, (int)type->rank, (unsigned)provider_of(a)->limits->max_rank);
        else if (reason == TN_REASON_DTYPE)
            snprintf(a->detail, sizeof a->detail, "%s %u is %s", what, (unsigned)i,
                type->kind == TN_KIND_TENSOR ? tn_dtype_name(type->dtype) : "no tensor");
        else if (reason == TN_REASON_MEMORY)
            snprintf(a->detail, sizeof a->detail, "%s %u is larger than %llu bytes", what,
                (unsigned)i, (unsigned long long)provider_of(a)->limits->tensor_bytes);
        else
            snprintf(a->detail, sizeof a->detail,
                "the shape of %s %u is not known at load", what, (unsigned)i);
        return reason;
    }
    return TN_REASON_OK;
}

static uint32_t ask_limits(void *self, tn_node_id node, const char **out_detail) {
    struct asking *a = self;
    const struct tn_graph *g = a->program->graph;
    uint32_t reason = TN_REASON_OK;
    a->detail[0] = '\0';
    if (out_detail) *out_detail = a->detail;
    if (node >= g->n_nodes || tn__node_at(g, node)->dead) {
        snprintf(a->detail, sizeof a->detail, "no such node");
        return TN_REASON_OTHER;
    }
    if (!provider_of(a)->limits) return TN_REASON_OK;
    const struct tn_node *view = &tn__node_at(g, node)->view;
    reason = check_values(a, "input", view->inputs, view->n_inputs);
    if (reason == TN_REASON_OK)
        reason = check_values(a, "output", view->outputs, view->n_outputs);
    return reason;
}

/* ---- verdicts ------------------------------------------------------------------------- */

static uint32_t ask_kernel(void *self, tn_node_id node, const char **out_detail) {
    struct asking *a = self;
    const struct tn_graph *g = a->program->graph;
    const struct tn__plugin *plugin;
    uint32_t reason = TN_REASON_OTHER;
    a->detail[0] = '\0';
    if (node >= g->n_nodes || tn__node_at(g, node)->dead)
        snprintf(a->detail, sizeof a->detail, "no such node");
    else if (tn__registry_kernel(a->program->plan->registry, provider_of(a)->id, g, node,
                 &plugin, &reason, a->detail, sizeof a->detail))
        reason = TN_REASON_OK;
    if (out_detail) *out_detail = a->detail;
    return reason;
}

static tn_status write_decline(
    struct asking *a, struct tn__verdict *verdict, uint32_t reason, const char *detail) {
    const char *text =
        tn__arena_format(a->program->plan->arena, "%.400s", detail ? detail : "");
    if (!text) {
        a->status = tn__fail_memory(a->diag, "verdicts", 400);
        return a->status;
    }
    if (reason == TN_REASON_OK) reason = TN_REASON_OTHER;
    *verdict = (struct tn__verdict){true, false, 0, reason, text};
    return TN_OK;
}

static tn_status claim(void *self, tn_node_id node, uint32_t group) {
    struct asking *a = self;
    struct tn__verdict *verdict = NULL;
    TN_TRY(open_verdict(a, node, &verdict));
    const struct tn_provider_def *def = provider_of(a)->reg->def;
    if (group == 0 && ask_kernel(a, node, NULL) != TN_REASON_OK)
        return misuse(a, node, "claims a node for which it has no kernel");
    if (group != 0 && !TN_HAS(def, compile))
        return misuse(a, node, "claims a group but cannot compile one");
    const char *detail;
    uint32_t reason = ask_limits(a, node, &detail);
    if (reason != TN_REASON_OK) return write_decline(a, verdict, reason, detail);
    *verdict = (struct tn__verdict){true, true, group, TN_REASON_OK, ""};
    return TN_OK;
}

static tn_status decline(
    void *self, tn_node_id node, uint32_t reason, const char *detail) {
    struct asking *a = self;
    struct tn__verdict *verdict = NULL;
    TN_TRY(open_verdict(a, node, &verdict));
    return write_decline(a, verdict, reason, detail);
}

/* Without a capability function a provider serves what it has kernels for. */
static tn_status ask_rows(struct asking *a) {
    uint32_t n;
    const tn_node_id *order = tn__graph_order(a->program->graph, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *detail;
        uint32_t reason = ask_kernel(a, order[i], &detail);
        if (reason == TN_REASON_OK)
            TN_TRY(claim(a, order[i], 0));
        else
            TN_TRY(decline(a, order[i], reason, detail));
    }
    return TN_OK;
}

/* Every node that a provider said nothing of. */
static void fill_silence(struct tn__program *program, uint32_t provider, uint32_t reason,
    const char *detail, bool all) {
    for (uint32_t i = 0; i < program->graph->n_nodes; i++) {
        struct tn__verdict *verdict = tn__verdict_of(program, provider, i);
        if (all || !verdict->given)
            *verdict = (struct tn__verdict){true, false, 0, reason, detail};
    }
}

static bool is_vetoed(
    const struct tn__veto *veto, const struct tn__program *program, uint32_t provider) {
    return veto->provider == provider && (!veto->graph || veto->graph == program->graph);
}

static void apply_vetoes(struct tn__program *program, uint32_t provider) {
    const struct tn__plan_options *options = program->plan->options;
    for (uint32_t i = 0; i < options->n_vetoes; i++) {
        const struct tn__veto *veto = &options->vetoes[i];
        if (!is_vetoed(veto, program, provider)) continue;
        if (!veto->graph) {
            fill_silence(program, provider, veto->reason, veto->detail, true);
            continue;
        }
        struct tn__verdict *verdict = tn__verdict_of(program, provider, veto->node);
        if (verdict->claimed)
            *verdict = (struct tn__verdict){true, false, 0, veto->reason, veto->detail};
    }
}

static tn_status ask_instance(
    struct tn__program *program, uint32_t index, struct tn_diag *diag) {
    struct asking a = {.program = program,
        .provider = index,
        .verdicts = program->verdicts + (uint64_t)index * program->graph->n_nodes,
        .diag = diag};
    const struct tn__plan_provider *provider = provider_of(&a);
    if (!TN_HAS(provider->reg->def, capability)) return ask_rows(&a);
    struct tn_verdict_sink sink = {
        TN_VERDICT_SINK_SIZE, 0, &a, claim, decline, ask_kernel, ask_limits};
    struct tn_diag own = {0};
    tn_status status = tn__provider_judge(provider, program->graph, &sink, &own);
    if (a.status == TN_OK && status != TN_OK && diag && diag->code == TN_OK) *diag = own;
    return a.status != TN_OK ? a.status : status;
}

static tn_status ask_provider(
    struct tn__program *program, uint32_t index, struct tn_diag *diag) {
    struct tn__plan *plan = program->plan;
    const struct tn__plan_provider *provider = &plan->providers[index];
    if (!provider->reg) {
        fill_silence(program, index, TN_REASON_UNAVAILABLE, provider->problem, true);
        return TN_OK;
    }
    struct tn_diag own = {0};
    tn_status status = ask_instance(program, index, &own);
    if (status == TN_OK) {
        fill_silence(program, index, TN_REASON_OTHER, "it gave no verdict", false);
        TN_TRY(tn__plan_judge_contexts(program, index, diag));
        apply_vetoes(program, index);
        return TN_OK;
    }
    if (plan->policy != TN_POLICY_AUTO) {
        if (diag && diag->code == TN_OK) *diag = own;
        return status;
    }
    const char *text = tn__arena_format(plan->arena, "%s", own.message);
    if (!text) return tn__fail_memory(diag, "verdicts", TN_DIAG_MESSAGE_SIZE);
    fill_silence(program, index, TN_REASON_UNAVAILABLE, text, true);
    return tn__model_warn(plan->model, "provider '%s' takes no node of graph '%s': %s",
        provider->id, program->graph->name ? program->graph->name : "", own.message);
}

/* "float[1,N] int64[]": the element types and ranks that decided. */
static void print_inputs(
    const struct tn_graph *g, const struct tn_node *node, char *buf, size_t size) {
    size_t at = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < node->n_inputs && at + 40 < size; i++) {
        if (node->inputs[i] == TN_NO_ID) continue;
        const struct tn_type *type = &tn__value_at(g, node->inputs[i])->type;
        if (type->kind != TN_KIND_TENSOR)
            at += (size_t)snprintf(buf + at, size - at, "%s?", at ? ", " : "");
        else if (type->rank < 0)
            at += (size_t)snprintf(
                buf + at, size - at, "%s%s", at ? ", " : "", tn_dtype_name(type->dtype));
        else
            at += (size_t)snprintf(buf + at, size - at, "%s%s rank %d", at ? ", " : "",
                tn_dtype_name(type->dtype), (int)type->rank);
    }
}

const char *tn__reason_text(uint32_t reason) {
    static const char *const texts[] = {
#define TN_REASON_TEXT(name, number, text) [number] = text,
        TN_REASON_LIST(TN_REASON_TEXT)
#undef TN_REASON_TEXT
    };
    return reason < sizeof texts / sizeof *texts && texts[reason] ? texts[reason]
                                                                  : "unknown reason";
}

static tn_status nobody(
    struct tn__program *program, tn_node_id id, struct tn_diag *diag) {
    const struct tn__plan *plan = program->plan;
    const struct tn__node *node = tn__node_at(program->graph, id);
    char label[TN_DIAG_NAME_SIZE], op[TN_DIAG_NAME_SIZE], inputs[160], why[300] = "";
    print_inputs(program->graph, &node->view, inputs, sizeof inputs);
    size_t at = 0;
    for (uint32_t p = 0; p < plan->n_providers && at < sizeof why; p++) {
        const struct tn__plan_provider *provider = &plan->providers[p];
        const struct tn__verdict *v =
            &program->verdicts[(uint64_t)p * program->graph->n_nodes + id];
        const char *detail = v->detail;
        at += (size_t)snprintf(why + at, sizeof why - at, "%s%s (%s): %s%s%s",
            at ? "; " : "", provider->id,
            provider->reg ? provider->reg->plugin->desc->id : "not loaded",
            tn__reason_text(v->reason), detail[0] ? ", " : "", detail);
    }
    tn_fail(diag, TN_UNSUPPORTED, "no provider%s runs node %s (%s; inputs: %s): %s",
        plan->policy == TN_POLICY_STRICT ? " allowed by the strict policy" : "",
        tn__node_label(node, label, sizeof label), tn__node_op_label(node, op, sizeof op),
        inputs, why);
    return tn__node_context(diag, node, TN_UNSUPPORTED);
}

tn_status tn__plan_assign(struct tn__program *program, struct tn_diag *diag) {
    const struct tn__plan *plan = program->plan;
    struct tn_graph *g = program->graph;
    uint32_t n;
    const tn_node_id *order = tn__graph_order(g, &n);
    memset(program->owner, 0xff, g->n_nodes * sizeof *program->owner);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = 0;
        while (p < plan->n_providers &&
               !program->verdicts[(uint64_t)p * g->n_nodes + order[i]].claimed)
            p++;
        if (p == plan->n_providers && !plan->dry) return nobody(program, order[i], diag);
        program->owner[order[i]] = p; /* n_providers: nobody */
    }
    return TN_OK;
}

static tn_status alloc_verdicts(struct tn__program *program, struct tn_diag *diag) {
    struct tn__plan *plan = program->plan;
    uint64_t n = (uint64_t)program->graph->n_nodes * plan->n_providers;
    program->verdicts = tn__arena_array(plan->arena, n, sizeof *program->verdicts);
    program->owner =
        tn__arena_array(plan->arena, program->graph->n_nodes, sizeof *program->owner);
    if (!program->verdicts || !program->owner)
        return tn__fail_memory(diag, "verdicts", n * sizeof *program->verdicts);
    for (uint64_t i = 0; i < n; i++)
        program->verdicts[i].detail = "";
    return TN_OK;
}

tn_status tn__plan_partition(struct tn__program *program, struct tn_diag *diag) {
    TN_TRY(alloc_verdicts(program, diag));
    for (uint32_t p = 0; p < program->plan->n_providers; p++)
        TN_TRY(ask_provider(program, p, diag));
    return tn__plan_assign(program, diag);
}

/* ---- reserving ------------------------------------------------------------------------ */

/* Asks one provider about one graph; under auto, one that fails is passed over for good. */
static tn_status reserve_for(
    struct tn__program *program, uint32_t index, struct tn_diag *diag) {
    struct tn__plan *plan = program->plan;
    struct tn__plan_provider *provider = &plan->providers[index];
    struct tn_diag own = {0};
    if (!provider->reg) return TN_OK;
    tn_status status = ask_instance(program, index, &own);
    if (status != TN_OK && plan->policy == TN_POLICY_AUTO) {
        TN_TRY(tn__plan_pass_over(plan, provider, own.message, diag));
        tn__provider_close(provider);
        return TN_OK;
    }
    if (status != TN_OK) {
        if (diag && diag->code == TN_OK) *diag = own;
        return status;
    }
    for (uint32_t i = 0; i < program->graph->n_nodes; i++)
        program->graph->nodes[i].reserved = program->graph->nodes[i].reserved ||
                                            tn__verdict_of(program, index, i)->claimed;
    return TN_OK;
}

/* Whether a graph is the main one or a subgraph of it, not of a function or a dead node. */
static bool is_reachable(const struct tn__plan *plan, const struct tn_graph *g) {
    for (; g->parent; g = g->parent) {
        if (g->parent_node == TN_NO_ID || tn__node_at(g->parent, g->parent_node)->dead)
            return false;
    }
    return g == plan->model->graph;
}

tn_status tn__plan_reserve(
    struct tn__plan *plan, const char *host, struct tn_diag *diag) {
    for (struct tn_graph *g = plan->model->graphs; g; g = g->next_graph) {
        struct tn__program program = {.plan = plan, .graph = g};
        if (g->n_live == 0 || !is_reachable(plan, g)) continue;
        TN_TRY(alloc_verdicts(&program, diag));
        for (uint32_t p = 0; p < plan->n_providers; p++) {
            if (strcmp(plan->providers[p].id, host) == 0) break;
            TN_TRY(reserve_for(&program, p, diag));
        }
    }
    return TN_OK;
}
