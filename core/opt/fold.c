/* Constant folding: nodes whose inputs are known for good are computed now, within
 * budgets. What cannot be computed (no kernel, a failing kernel, too large a result)
 * stays as it is and says so when it runs. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/infer/infer.h"
#include "core/opt/opt_impl.h"

enum { MAX_OUTPUTS = 32 };

static bool inputs_constant(const struct tn_graph *g, const struct tn_node *view) {
    for (uint32_t i = 0; i < view->n_inputs; i++) {
        if (view->inputs[i] == TN_NO_ID) continue;
        if (!tn__value_constant(&g->values[view->inputs[i]])) return false;
    }
    return true;
}

/* Bytes of the outputs as far as their shapes are known; false when they do not fit. */
static bool outputs_fit(
    const struct tn_graph *g, const struct tn_node *view, uint64_t budget) {
    uint64_t total = 0;
    for (uint32_t o = 0; o < view->n_outputs; o++) {
        if (view->outputs[o] == TN_NO_ID) continue;
        const struct tn_type *type = &g->values[view->outputs[o]].type;
        uint64_t n = 1, size;
        if (type->kind != TN_KIND_TENSOR) return false;
        for (int32_t i = 0; i < type->rank; i++) {
            if (type->dims[i] <= 0) continue; /* the others are walked all the same */
            if (!tn_mul_size(n, (uint64_t)type->dims[i], &n)) return false;
        }
        if (type->rank < 0) continue;
        if (!tn_element_bytes(type->dtype, n, &size) ||
            !tn_add_size(total, size, &total) || total > budget)
            return false;
    }
    return true;
}

static bool is_foldable(const struct tn_graph *g, const struct tn__node *node) {
    return tn__node_is_pure(node) && node->view.n_outputs > 0 &&
           node->view.n_outputs <= MAX_OUTPUTS && inputs_constant(g, &node->view) &&
           !tn__node_has_subgraphs(node);
}

static bool is_static(const struct tn_type *type) {
    if (type->kind != TN_KIND_TENSOR || type->rank < 0) return false;
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0) return false;
    }
    return true;
}

static bool outputs_static(const struct tn_graph *g, const struct tn_node *view) {
    for (uint32_t o = 0; o < view->n_outputs; o++) {
        if (view->outputs[o] != TN_NO_ID && !is_static(&g->values[view->outputs[o]].type))
            return false;
    }
    return true;
}

/* One pass over one graph. */
struct fold {
    struct tn__opt *opt;
    struct tn_graph *g;
    uint8_t
        *fresh; /* [n_values]: more is known of it than when its readers were inferred */
    uint32_t n_values;
};

static void set_fresh(struct fold *fold, tn_value_id v) {
    if (v < fold->n_values) fold->fresh[v] = 1;
}

/* The results take the place of the node. */
static tn_status put_results(struct fold *fold, tn_node_id id,
    const struct tn_tensor *const *results, struct tn_diag *diag) {
    struct tn_graph *g = fold->g;
    uint64_t *left = &fold->opt->fold_left;
    uint32_t n = g->nodes[id].view.n_outputs;
    for (uint32_t o = 0; o < n; o++) {
        tn_value_id v = g->nodes[id].view.outputs[o];
        if (v == TN_NO_ID || !results[o]) continue;
        TN_TRY(tn__graph_set_constant(g, v, results[o], diag));
        g->values[v].dims_value = NULL; /* read from the content from now on */
        set_fresh(fold, v);
        fold->opt->log->folded_bytes += results[o]->size;
        *left -= results[o]->size < *left ? results[o]->size : *left;
    }
    return tn__graph_api.remove_node(g, id, diag);
}

static tn_status fold_node(
    struct fold *fold, tn_node_id id, bool *out_done, struct tn_diag *diag) {
    const struct tn_tensor *results[MAX_OUTPUTS] = {0};
    struct tn_graph *g = fold->g;
    const struct tn__opt_options *options = &fold->opt->options;
    struct tn_diag why = {0};
    uint64_t budget = options->fold_node_bytes;
    if (budget > fold->opt->fold_left) budget = fold->opt->fold_left;
    *out_done = false;
    tn_status status = TN_OK;
    if (!outputs_static(g, &g->nodes[id].view)) status = tn__infer_node(g, id, &why);
    if (status == TN_OK && !outputs_fit(g, &g->nodes[id].view, budget)) return TN_OK;
    if (status == TN_OK)
        status = tn__eval_node(
            fold->opt->registry, options->provider, g, id, budget, results, &why);
    if (status == TN_OUT_OF_MEMORY) {
        if (diag && diag->code == TN_OK) *diag = why;
        return status;
    }
    if (status != TN_OK) return TN_OK;
    *out_done = true;
    return put_results(fold, id, results, diag);
}

/* A new constant may settle the shapes of what reads it. */
static void infer_again(struct fold *fold, tn_node_id id) {
    struct tn_graph *g = fold->g;
    const struct tn_node *view = &g->nodes[id].view;
    struct tn_diag ignored = {0};
    bool wanted = false;
    for (uint32_t i = 0; i < view->n_inputs; i++) {
        tn_value_id v = view->inputs[i];
        wanted |= v < fold->n_values && fold->fresh[v];
    }
    if (!wanted || !g->nodes[id].def || outputs_static(g, view)) return;
    if (tn__infer_node(g, id, &ignored) != TN_OK) return;
    view = &g->nodes[id].view;
    for (uint32_t o = 0; o < view->n_outputs; o++)
        set_fresh(fold, view->outputs[o]);
}

static tn_status fold_all(
    struct fold *fold, uint32_t *out_changes, struct tn_diag *diag) {
    struct tn_graph *g = fold->g;
    for (tn_node_id id = g->first, next; id != TN_NO_ID; id = next) {
        bool done = false;
        next = g->nodes[id].next;
        if (is_foldable(g, &g->nodes[id])) TN_TRY(fold_node(fold, id, &done, diag));
        if (!done) infer_again(fold, id);
        *out_changes += done;
    }
    return TN_OK;
}

tn_status tn__pass_fold(struct tn__opt *opt, struct tn_graph *g, uint32_t *out_changes,
    struct tn_diag *diag) {
    struct fold fold = {.opt = opt, .g = g, .n_values = g->n_values};
    if (!opt->options.provider) return TN_OK;
    fold.fresh = tn__alloc_zero(g->n_values, 0);
    if (!fold.fresh) return tn__fail_memory(diag, "constant folding", g->n_values);
    tn_status status = fold_all(&fold, out_changes, diag);
    tn__free(fold.fresh);
    return status;
}
