/* Running one node on constants, for constant folding: a kernel is made, called once, and
 * gone. Outputs go into the graph's arena under a budget. The node's types must have been
 * inferred after its inputs became constant: a known shape gets its memory in advance, an
 * unknown one must be allocated by the kernel. */
#include "core/registry/registry_impl.h"

#include "core/base/alloc.h"
#include "core/base/checked.h"

#include <string.h>

struct eval {
    struct tn_graph *g;
    const struct tn__node *node;
    const struct tn__plugin *plugin;
    const struct tn_kernel_def *def;
    void *kernel;
    struct tn_type *in_types, *out_types;
    struct tn_value_ref *inputs, *outputs;
    struct tn_tensor *out_tensors;
    void *scratch, *state;
    uint64_t budget; /* bytes left */
    struct tn_run run;
    struct tn_diag diag;
};

/* ---- memory ---------------------------------------------------------------------- */

static void *take(struct eval *e, uint64_t size) {
    uint64_t need;
    if (!tn_align_size(size, 64, &need) || !tn_add_size(need, 64, &need) ||
        need > e->budget)
        return NULL;
    void *data = tn__model_constant(e->g->model, size);
    if (data) e->budget -= need;
    return data;
}

static tn_status give_output(
    struct eval *e, uint32_t o, int32_t dtype, const int64_t *dims, uint32_t rank) {
    uint64_t size, extent;
    if (o >= e->node->view.n_outputs || !tn_tensor_bytes(dtype, dims, rank, &size) ||
        !tn_tensor_extent(dtype, dims, rank, &extent))
        return tn_fail(&e->diag, TN_INVALID_ARGUMENT,
            "output %u has a type or shape that cannot be", o);
    int64_t *dims_copy = tn__arena_array(e->g->arena, rank, sizeof *dims_copy);
    void *data = extent <= e->budget ? take(e, size) : NULL;
    if (!dims_copy || !data)
        return tn_fail(&e->diag, TN_LIMIT_EXCEEDED,
            "output %u takes %llu bytes, more than the %llu that are left", o,
            (unsigned long long)size, (unsigned long long)e->budget);
    if (rank) memcpy(dims_copy, dims, rank * sizeof *dims_copy);
    e->out_tensors[o] = (struct tn_tensor){.data = data,
        .dims = rank ? dims_copy : NULL,
        .size = size,
        .dtype = dtype,
        .rank = rank};
    return TN_OK;
}

/* ---- services of the run --------------------------------------------------------- */

static tn_status run_output_alloc(const struct tn_run *run,
    const struct tn_run_args *args, uint32_t o, int32_t dtype, const int64_t *dims,
    uint32_t rank) {
    (void)args;
    return give_output(run->self, o, dtype, dims, rank);
}

static tn_status run_output_set(const struct tn_run *run, const struct tn_run_args *args,
    uint32_t o, const struct tn_value_ref *value) {
    (void)args;
    (void)value;
    struct eval *e = run->self;
    return tn_fail(&e->diag, TN_UNSUPPORTED, "output %u is not a tensor", o);
}

static void *run_alloc(const struct tn_run *run, uint64_t size, uint64_t align) {
    return align <= 64 ? take(run->self, size) : NULL;
}

static tn_status run_subgraph(const struct tn_run *run, const struct tn_run_args *args,
    struct tn_graph *subgraph, const struct tn_value_ref *inputs, uint32_t n_inputs,
    struct tn_value_ref *outputs, uint32_t n_outputs) {
    (void)args;
    (void)subgraph;
    (void)inputs;
    (void)n_inputs;
    (void)outputs;
    (void)n_outputs;
    struct eval *e = run->self;
    return tn_fail(&e->diag, TN_UNSUPPORTED, "nodes with subgraphs are not evaluated");
}

static tn_status run_interrupted(const struct tn_run *run) {
    (void)run;
    return TN_OK;
}

static tn_status run_loop(
    const struct tn_run *run, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg) {
    run->host->parallel_for(run->host->self, n, grain, fn, arg);
    return TN_OK;
}

static const struct tn_tensor *constant_of(void *self, uint32_t i) {
    const struct eval *e = self;
    if (i >= e->node->view.n_inputs || e->node->view.inputs[i] == TN_NO_ID) return NULL;
    return tn__tensor_align(
        e->g->model, tn__value_at(e->g, e->node->view.inputs[i])->constant);
}

/* ---- steps ----------------------------------------------------------------------- */

static tn_status bind_inputs(struct eval *e) {
    const struct tn_node *node = &e->node->view;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == TN_NO_ID) continue;
        const struct tn__value *value = tn__value_at(e->g, node->inputs[i]);
        if (!value->constant)
            return tn_fail(&e->diag, TN_INVALID_ARGUMENT, "input %u is not constant", i);
        e->in_types[i] = value->type;
        e->inputs[i].kind = TN_KIND_TENSOR;
        const struct tn_tensor *tensor = tn__tensor_align(e->g->model, value->constant);
        if (!tensor)
            return tn__fail_memory(&e->diag, "a constant", value->constant->size);
        e->inputs[i].as.ptr = (void *)(uintptr_t)tensor;
    }
    return TN_OK;
}

static bool shape_known(const struct tn_type *type) {
    if (type->rank < 0) return false;
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0) return false;
    }
    return true;
}

static tn_status bind_outputs(struct eval *e) {
    const struct tn_node *node = &e->node->view;
    for (uint32_t o = 0; o < node->n_outputs; o++) {
        if (node->outputs[o] == TN_NO_ID) continue;
        const struct tn_type *type = &tn__value_at(e->g, node->outputs[o])->type;
        if (type->kind != TN_KIND_TENSOR)
            return tn_fail(&e->diag, TN_UNSUPPORTED, "output %u is not a tensor", o);
        e->out_types[o] = *type;
        e->outputs[o].kind = TN_KIND_TENSOR;
        e->outputs[o].as.tensor = &e->out_tensors[o];
        e->out_tensors[o].dtype = type->dtype;
        if (shape_known(type))
            TN_TRY(give_output(e, o, type->dtype, type->dims, (uint32_t)type->rank));
    }
    return TN_OK;
}

static tn_status make_kernel(struct eval *e) {
    if (!e->def->create) return TN_OK;
    const struct tn_kernel_ctx ctx = {
        .struct_size = TN_KERNEL_CTX_SIZE,
        .self = e,
        .host = e->plugin->host,
        .plugin_state = e->plugin->state,
        .node = &e->node->view,
        .inputs = e->in_types,
        .outputs = e->out_types,
        .diag = &e->diag,
        .constant = constant_of,
    };
    return e->def->create(&ctx, &e->kernel);
}

static tn_status call_kernel(struct eval *e) {
    struct tn_run_args args = {
        .inputs = e->inputs,
        .outputs = e->outputs,
        .n_inputs = e->node->view.n_inputs,
        .n_outputs = e->node->view.n_outputs,
    };
    struct tn_workspace sizes = {0};
    if (e->def->workspace) TN_TRY(e->def->workspace(e->kernel, &args, &sizes));
    if (sizes.scratch > e->budget || sizes.state > e->budget)
        return tn_fail(&e->diag, TN_LIMIT_EXCEEDED,
            "it needs %llu bytes of workspace, more than the %llu that are left",
            (unsigned long long)sizes.scratch, (unsigned long long)e->budget);
    e->scratch = sizes.scratch ? tn__alloc(sizes.scratch, 64) : NULL;
    e->state = sizes.state ? tn__alloc_zero(sizes.state, 64) : NULL;
    if ((sizes.scratch && !e->scratch) || (sizes.state && !e->state))
        return tn__fail_memory(&e->diag, "a kernel's workspace", sizes.scratch);
    args.workspace = e->scratch;
    args.workspace_size = sizes.scratch;
    args.state = e->state;
    tn_compute_fn compute = e->def->compute;
    if (e->def->prepare) TN_TRY(e->def->prepare(e->kernel, &args, &compute, &e->diag));
    if (!compute)
        return tn_fail(&e->diag, TN_PLUGIN, "its kernel chose no function to run");
    args.run = &e->run;
    TN_TRY(compute(e->kernel, &args));
    for (uint32_t o = 0; o < args.n_outputs; o++) {
        if (e->outputs[o].kind == TN_KIND_TENSOR && !e->out_tensors[o].data)
            return tn_fail(&e->diag, TN_PLUGIN, "its kernel left output %u empty", o);
    }
    return TN_OK;
}

/* Everything an evaluation needs beside outputs, in the arena: small and rare. */
static tn_status set_up(struct eval *e) {
    const struct tn_node *node = &e->node->view;
    struct tn_arena *arena = e->g->arena;
    e->in_types = tn__arena_array(arena, node->n_inputs, sizeof *e->in_types);
    e->inputs = tn__arena_array(arena, node->n_inputs, sizeof *e->inputs);
    e->out_types = tn__arena_array(arena, node->n_outputs, sizeof *e->out_types);
    e->outputs = tn__arena_array(arena, node->n_outputs, sizeof *e->outputs);
    e->out_tensors = tn__arena_array(arena, node->n_outputs, sizeof *e->out_tensors);
    if (!e->in_types || !e->inputs || !e->out_types || !e->outputs || !e->out_tensors)
        return tn__fail_memory(&e->diag, "constant folding", 0);
    e->run = (struct tn_run){
        .struct_size = TN_RUN_SIZE,
        .self = e,
        .host = e->plugin->host,
        .diag = &e->diag,
        .output_alloc = run_output_alloc,
        .output_set = run_output_set,
        .alloc = run_alloc,
        .subgraph_run = run_subgraph,
        .interrupted = run_interrupted,
        .parallel_for = run_loop,
    };
    TN_TRY(bind_inputs(e));
    return bind_outputs(e);
}

static tn_status evaluate(struct eval *e) {
    TN_TRY(set_up(e));
    TN_TRY(make_kernel(e));
    tn_status status = call_kernel(e);
    if (e->def->destroy) e->def->destroy(e->kernel);
    tn__free(e->scratch);
    tn__free(e->state);
    return status;
}

tn_status tn__eval_node(struct tn__registry *registry, const char *provider,
    struct tn_graph *g, tn_node_id id, uint64_t max_bytes,
    const struct tn_tensor **out_tensors, struct tn_diag *diag) {
    struct eval e = {.g = g, .node = tn__node_at(g, id), .budget = max_bytes};
    char detail[256];
    uint32_t reason;
    e.def = tn__registry_kernel(
        registry, provider, g, id, &e.plugin, &reason, detail, sizeof detail);
    tn_status status =
        e.def ? evaluate(&e) : tn_fail(&e.diag, TN_UNSUPPORTED, "%s", detail);
    if (status != TN_OK) {
        char label[TN_DIAG_NAME_SIZE], op[TN_DIAG_NAME_SIZE];
        (void)tn_fail(diag, status, "node %s (%s) cannot be evaluated: %s",
            tn__node_label(e.node, label, sizeof label),
            tn__node_op_label(e.node, op, sizeof op),
            e.diag.message[0] ? e.diag.message : "its kernel gave no reason");
        return tn__node_context(diag, e.node, status);
    }
    for (uint32_t o = 0; o < e.node->view.n_outputs; o++) {
        bool made = e.outputs[o].kind == TN_KIND_TENSOR;
        if (made) e.out_tensors[o].flags |= TN_TENSOR_CONST;
        out_tensors[o] = made ? &e.out_tensors[o] : NULL;
    }
    return TN_OK;
}
