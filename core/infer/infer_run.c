/* Inference while running: the sizes of one shape set instead of symbols, in memory that
 * the caller gives. */
#include "core/base/checked.h"
#include "core/infer/infer.h"

#include <string.h>

enum {
    STACK_SCRATCH = 16 << 10,
    LARGEST_CONTENT = 256, /* elements of a tensor that are read as sizes */
    ROOM_FOR_OPS = 64 << 10
};

struct run {
    const struct tn_graph *g;
    const struct tn__shape_env *env;
    struct tn_infer api;
    char *scratch;
    uint64_t size, used;
};

uint64_t tn__infer_scratch_size(const struct tn_graph *g) {
    uint64_t most = 0;
    for (tn_node_id id = g->first; id != TN_NO_ID; id = g->nodes[id].next) {
        const struct tn_node *view = &g->nodes[id].view;
        uint64_t n = (uint64_t)view->n_inputs;
        if (n > most) most = n;
    }
    /* types and short contents of the inputs; variadic ones are mostly single numbers */
    return most * (sizeof(struct tn_type) + 4 * sizeof(int64_t)) + ROOM_FOR_OPS;
}

static void *take_scratch(void *self, uint64_t size) {
    struct run *run = self;
    uint64_t need;
    if (!tn_align_size(size, 16, &need) || need > run->size - run->used) return NULL;
    void *ptr = run->scratch + run->used;
    run->used += need;
    return ptr;
}

/* ---- reading --------------------------------------------------------- */

static tn_value_id input_of(const struct run *run, uint32_t i) {
    return i < run->api.node->n_inputs ? run->api.node->inputs[i] : TN_NO_ID;
}

static const struct tn_tensor *get_value(void *self, uint32_t i) {
    struct run *run = self;
    tn_value_id v = input_of(run, i);
    return v == TN_NO_ID ? NULL : run->env->content(run->env->arg, v);
}

static int64_t read_integer(const struct tn_tensor *tensor, uint64_t i) {
    int32_t narrow;
    int64_t wide;
    if (tensor->dtype == TN_INT32) {
        memcpy(&narrow, (const char *)tensor->data + i * sizeof narrow, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, (const char *)tensor->data + i * sizeof wide, sizeof wide);
    return wide > TN_DIM_SYMBOL_MAX ? wide : TN_DIM_UNKNOWN;
}

static const int64_t *get_dims_value(void *self, uint32_t i, uint32_t *out_n) {
    struct run *run = self;
    tn_value_id v = input_of(run, i);
    uint64_t n;
    if (v == TN_NO_ID) return NULL;
    const struct tn__shape_env *env = run->env;
    const int64_t *known = env->dims_value ? env->dims_value(env->arg, v, out_n) : NULL;
    if (known) return known;
    const struct tn_tensor *t = env->content(env->arg, v);
    if (!t || (t->dtype != TN_INT32 && t->dtype != TN_INT64) || t->rank > 1 ||
        t->strides || !tn_count_elements(t->dims, t->rank, &n) || n > LARGEST_CONTENT)
        return NULL;
    int64_t *dims = take_scratch(run, n * sizeof *dims);
    for (uint64_t k = 0; dims && k < n; k++)
        dims[k] = read_integer(t, k);
    *out_n = (uint32_t)n;
    return dims;
}

/* ---- writing --------------------------------------------------------- */

static tn_value_id output_of(const struct run *run, uint32_t o) {
    return o < run->api.node->n_outputs ? run->api.node->outputs[o] : TN_NO_ID;
}

static tn_status fail_scratch(struct run *run, uint64_t size) {
    return tn__fail_memory(run->api.diag, "the inference of a node", size);
}

/* Sizes only: symbols become unknown. */
static tn_status make_concrete(struct run *run, struct tn_type *type) {
    if (type->rank <= 0) return TN_OK;
    uint64_t size = (uint64_t)type->rank * sizeof(int64_t);
    int64_t *dims = take_scratch(run, size);
    if (!dims) return fail_scratch(run, size);
    for (int32_t i = 0; i < type->rank; i++)
        dims[i] = type->dims[i] >= 0 ? type->dims[i] : TN_DIM_UNKNOWN;
    type->dims = dims;
    return TN_OK;
}

static tn_status set_type(void *self, uint32_t o, const struct tn_type *type) {
    struct run *run = self;
    tn_value_id v = output_of(run, o);
    struct tn_type concrete = *type;
    if (v == TN_NO_ID) return TN_OK;
    TN_TRY(tn__type_check(type, run->api.diag));
    uint64_t mark = run->used;
    TN_TRY(make_concrete(run, &concrete));
    tn_status status = run->env->set_type(run->env->arg, v, &concrete);
    run->used = mark;
    return status;
}

static tn_status set_dims_value(void *self, uint32_t o, const int64_t *dims, uint32_t n) {
    struct run *run = self;
    tn_value_id v = output_of(run, o);
    if (v == TN_NO_ID || !run->env->set_dims_value || n > LARGEST_CONTENT) return TN_OK;
    return run->env->set_dims_value(run->env->arg, v, dims, n);
}

static tn_status set_value(void *self, uint32_t o, const struct tn_tensor *tensor) {
    struct tn_type type = {.kind = TN_KIND_TENSOR,
        .dtype = tensor->dtype,
        .rank = (int32_t)tensor->rank,
        .dims = tensor->dims};
    return set_type(self, o, &type);
}

static int64_t dim_op(void *self, uint32_t op, int64_t a, int64_t b) {
    (void)self;
    return tn__symbol_op(NULL, op, a, b);
}

/* Bodies are inferred when they run; here they have the types they were loaded with. */
static tn_status infer_subgraph(void *self, struct tn_graph *subgraph,
    const struct tn_type *inputs, uint32_t n_inputs, struct tn_type *out_types,
    uint32_t n_outputs) {
    struct run *run = self;
    (void)inputs;
    (void)n_inputs;
    if (n_outputs > subgraph->n_outputs)
        return tn_fail(run->api.diag, TN_INVALID_MODEL,
            "the subgraph '%s' has %u outputs, expected %u", subgraph->name,
            subgraph->n_outputs, n_outputs);
    for (uint32_t i = 0; i < n_outputs; i++) {
        out_types[i] = subgraph->values[subgraph->outputs[i]].type;
        TN_TRY(make_concrete(run, &out_types[i]));
    }
    return TN_OK;
}

/* ---- the call -------------------------------------------------------- */

static tn_status run_infer(struct run *run) {
    static const struct tn_type absent = {.rank = -1};
    const struct tn_node *view = run->api.node;
    uint64_t size = (uint64_t)view->n_inputs * sizeof(struct tn_type);
    struct tn_type *inputs = take_scratch(run, size);
    if (!inputs) return fail_scratch(run, size);
    for (uint32_t i = 0; i < view->n_inputs; i++) {
        tn_value_id v = view->inputs[i];
        const struct tn_type *known =
            v == TN_NO_ID ? NULL : run->env->type(run->env->arg, v);
        inputs[i] = known ? *known : absent;
    }
    run->api.inputs = inputs;
    return tn__node_at(run->g, view->id)->def->infer(&run->api);
}

tn_status tn__infer_concrete(const struct tn_host *host, const struct tn_graph *g,
    tn_node_id id, const struct tn__shape_env *env, struct tn_diag *diag) {
    _Alignas(16) char stack[STACK_SCRATCH];
    const struct tn__node *node = tn__node_at(g, id);
    if (!node->def || !node->def->infer) return TN_OK;
    struct run run = {.g = g, .env = env, .scratch = stack, .size = sizeof stack};
    if (env->scratch) {
        run.scratch = env->scratch;
        run.size = env->scratch_size;
    }
    run.api = (struct tn_infer){.struct_size = TN_INFER_SIZE,
        .self = &run,
        .host = host,
        .node = &node->view,
        .diag = diag,
        .value = get_value,
        .dims_value = get_dims_value,
        .set_type = set_type,
        .set_dims_value = set_dims_value,
        .set_value = set_value,
        .dim_op = dim_op,
        .infer_subgraph = infer_subgraph,
        .scratch = take_scratch};
    return tn__node_context(diag, node, run_infer(&run));
}
