/* One node: the callbacks through which a definition reads what is known of its inputs
 * and says what follows for its outputs, on the symbols of a model. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/infer/infer_impl.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SCRATCH = 1 << 24, MAX_ASKED = 16, LABEL = 2 * TN_DIAG_NAME_SIZE };

struct block {
    struct block *next;
    uint64_t reserved;
};

/* One inference: `self` of the callbacks. */
struct call {
    struct tn__inferer *inferer;
    struct tn_graph *g;
    tn_node_id id;
    struct tn_infer api;
    struct block *blocks; /* scratch, freed when the inference ends */
    uint64_t scratch_used;
    const struct tn_graph *asked[MAX_ASKED]; /* subgraphs the definition inferred */
    uint32_t n_asked;
};

/* ---- scratch --------------------------------------------------------- */

static void *take_scratch(void *self, uint64_t size) {
    struct call *call = self;
    if (size > MAX_SCRATCH - call->scratch_used) return NULL;
    struct block *block = tn__alloc(sizeof *block + size, 0);
    if (!block) return NULL;
    block->next = call->blocks;
    call->blocks = block;
    call->scratch_used += size;
    return block + 1;
}

static void free_scratch(struct call *call) {
    while (call->blocks) {
        struct block *next = call->blocks->next;
        tn__free(call->blocks);
        call->blocks = next;
    }
}

/* ---- storing types --------------------------------------------------- */

static const struct tn_type unknown_type = {.rank = -1};

/* What the model declared for v: kept apart from what is inferred, so that an inference
 * with other inputs starts from it again. */
static const struct tn_type *declared_type(struct tn_graph *g, tn_value_id v) {
    struct tn__value *value = tn__value_at(g, v);
    if (value->declared) return value->declared;
    if (!(value->flags & TN_VALUE_DECLARED)) return &unknown_type;
    struct tn_type *copy = tn__arena_copy(g->arena, &value->type, sizeof value->type);
    if (!copy) return &value->type;
    if (copy->rank > 0) {
        copy->dims = tn__arena_copy(
            g->arena, value->type.dims, (uint64_t)copy->rank * sizeof *copy->dims);
        if (!copy->dims) return &value->type;
    }
    value->declared = copy;
    return copy;
}

static tn_status check_dims(const struct tn_graph *g, tn_value_id v,
    const struct tn_type *type, const char *who, struct tn_diag *diag) {
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] >= 0 || type->dims[i] <= TN_DIM_SYMBOL_MAX) continue;
        return tn_fail(diag, TN_INVALID_MODEL,
            "%s gives '%s' the size %lld in dimension %d, which must not be negative",
            who, g->values[v].name, (long long)type->dims[i], i);
    }
    return TN_OK;
}

/* The declaration and the node that makes the value do not agree: an error where the
 * elements differ. A shape alone is a warning, and the node is right: exporters of
 * scikit-learn and CatBoost declare [N] for what they make as [N, 1]. */
static tn_status settle_contradiction(struct tn_graph *g, tn_value_id v,
    const struct tn_type *declared, const struct tn_type *inferred, const char *who,
    int64_t *dims, struct tn_type *out, struct tn_diag *diag) {
    char wanted[128], found[128];
    struct tn__symbols *symbols = g->model->symbols;
    struct tn__value *value = tn__value_at(g, v);
    struct tn_type shapeless = *declared;
    tn__type_text(symbols, declared, wanted, sizeof wanted);
    tn__type_text(symbols, inferred, found, sizeof found);
    shapeless.rank = -1;
    if (!tn__type_merge(symbols, &shapeless, inferred, dims, out)) {
        if (diag) tn__diag_name(diag, diag->tensor, value->name);
        return tn_fail(diag, TN_INVALID_MODEL,
            "the model declares '%s' as %s, but %s makes it %s: correct or remove the "
            "declaration",
            value->name, wanted, who, found);
    }
    value->declared = tn__arena_copy(g->arena, &shapeless, sizeof shapeless);
    if (!value->declared ||
        tn__model_warn(g->model,
            "the model declares '%s' as %s, but %s makes it %s, which is used",
            value->name, wanted, who, found) != TN_OK)
        return tn__fail_memory(diag, "a warning", sizeof wanted + sizeof found);
    return TN_OK;
}

static tn_status store_type(struct tn_graph *g, tn_value_id v, const struct tn_type *type,
    int64_t *dims, const char *who, struct tn_diag *diag) {
    struct tn__symbols *symbols = g->model->symbols;
    const struct tn_type *declared = declared_type(g, v);
    struct tn_type merged;
    TN_TRY(check_dims(g, v, type, who, diag));
    if (!tn__type_merge(symbols, declared, type, dims, &merged))
        TN_TRY(settle_contradiction(g, v, declared, type, who, dims, &merged, diag));
    for (int32_t i = 0; i < merged.rank; i++) {
        int64_t dim = tn__symbol_resolve(symbols, dims[i]);
        dims[i] = dim == TN_DIM_UNKNOWN ? tn__symbol_fresh(symbols) : dim;
    }
    return tn__graph_set_type(g, v, &merged, diag);
}

tn_status tn__infer_set_type(struct tn_graph *g, tn_value_id v,
    const struct tn_type *type, const char *who, struct tn_diag *diag) {
    enum { USUAL = 16 };
    int64_t usual[USUAL], *dims = usual;
    int32_t declared = g->values[v].type.rank;
    int32_t rank = type->rank > declared ? type->rank : declared;
    if (g->values[v].declared && g->values[v].declared->rank > rank)
        rank = g->values[v].declared->rank;
    if (rank > USUAL) {
        uint64_t size;
        if (!tn_mul_size((uint64_t)rank, sizeof *dims, &size))
            return tn__fail_memory(diag, "a shape", (uint64_t)rank);
        dims = tn__alloc(size, 0);
        if (!dims) return tn__fail_memory(diag, "a shape", size);
    }
    tn_status status = store_type(g, v, type, dims, who, diag);
    if (dims != usual) tn__free(dims);
    return status;
}

/* ---- reading contents ------------------------------------------------ */

/* The value that v stands for, through the scopes it is captured from. */
static struct tn__value *source_of(struct tn_graph *g, tn_value_id v) {
    struct tn__value *value = tn__value_at(g, v);
    while ((value->flags & TN_VALUE_CAPTURE) && g->parent) {
        v = value->outer;
        g = g->parent;
        value = tn__value_at(g, v);
    }
    return value;
}

static const struct tn_tensor *constant_of(const struct tn__value *value) {
    return value->flags & TN_VALUE_INPUT ? NULL : value->constant;
}

static const struct tn_tensor *get_value(void *self, uint32_t i) {
    struct call *call = self;
    const struct tn_node *node = call->api.node;
    if (i >= node->n_inputs || node->inputs[i] == TN_NO_ID) return NULL;
    return tn__tensor_align(
        call->g->model, constant_of(source_of(call->g, node->inputs[i])));
}

/* Integers of a short tensor as dims; NULL when it is none. */
static const int64_t *dims_of_tensor(
    struct tn_arena *arena, const struct tn_tensor *tensor, uint32_t *out_n) {
    uint64_t n;
    if ((tensor->dtype != TN_INT32 && tensor->dtype != TN_INT64) || tensor->rank > 1 ||
        tensor->strides || !tn_count_elements(tensor->dims, tensor->rank, &n) ||
        n > TN__MAX_CONTENT)
        return NULL;
    int64_t *dims = tn__arena_array(arena, n, sizeof *dims);
    for (uint32_t i = 0; dims && i < n; i++) {
        int32_t narrow;
        int64_t wide;
        const char *at = (const char *)tensor->data;
        if (tensor->dtype == TN_INT32) {
            memcpy(&narrow, at + i * sizeof narrow, sizeof narrow);
            wide = narrow;
        } else {
            memcpy(&wide, at + i * sizeof wide, sizeof wide);
        }
        dims[i] = wide > TN_DIM_SYMBOL_MAX ? wide : TN_DIM_UNKNOWN;
    }
    *out_n = (uint32_t)n;
    return dims;
}

/* Unknown elements, as many as the type says. */
static const int64_t *unknown_dims(
    struct call *call, const struct tn_type *type, uint32_t *out_n) {
    bool integer = type->kind == TN_KIND_TENSOR &&
                   (type->dtype == TN_INT32 || type->dtype == TN_INT64);
    if (!integer || type->rank < 0 || type->rank > 1) return NULL;
    int64_t n = type->rank == 1 ? type->dims[0] : 1;
    if (n < 0 || n > TN__MAX_CONTENT) return NULL;
    int64_t *dims = take_scratch(call, (uint64_t)n * sizeof *dims);
    for (int64_t i = 0; dims && i < n; i++)
        dims[i] = TN_DIM_UNKNOWN;
    *out_n = (uint32_t)n;
    return dims;
}

static const int64_t *get_dims_value(void *self, uint32_t i, uint32_t *out_n) {
    struct call *call = self;
    const struct tn_node *node = call->api.node;
    if (i >= node->n_inputs || node->inputs[i] == TN_NO_ID) return NULL;
    struct tn__value *value = source_of(call->g, node->inputs[i]);
    const struct tn_tensor *constant = constant_of(value);
    if (!value->dims_value && constant)
        value->dims_value =
            dims_of_tensor(call->g->arena, constant, &value->n_dims_value);
    if (!value->dims_value) return unknown_dims(call, &call->api.inputs[i], out_n);
    *out_n = value->n_dims_value;
    return value->dims_value;
}

/* ---- writing results ------------------------------------------------- */

/* Output o, TN_NO_ID when the node does not produce it. */
static tn_value_id output_of(const struct call *call, uint32_t o) {
    const struct tn_node *node = call->api.node;
    return o < node->n_outputs ? node->outputs[o] : TN_NO_ID;
}

static tn_status set_type(void *self, uint32_t o, const struct tn_type *type) {
    struct call *call = self;
    tn_value_id v = output_of(call, o);
    char who[LABEL + 32], label[LABEL];
    if (v == TN_NO_ID) return TN_OK;
    TN_TRY(tn__type_check(type, call->api.diag));
    snprintf(who, sizeof who, "node %s",
        tn__node_label(tn__node_at(call->g, call->id), label, sizeof label));
    return tn__infer_set_type(call->g, v, type, who, call->api.diag);
}

static tn_status set_dims_value(void *self, uint32_t o, const int64_t *dims, uint32_t n) {
    struct call *call = self;
    tn_value_id v = output_of(call, o);
    if (v == TN_NO_ID || n > TN__MAX_CONTENT) return TN_OK;
    int64_t *copy = tn__arena_copy(call->g->arena, dims, n * sizeof *dims);
    if (!copy) return tn__fail_memory(call->api.diag, "a shape", n * sizeof *dims);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = tn__symbol_resolve(call->g->model->symbols, copy[i]);
    struct tn__value *value = tn__value_at(call->g, v);
    value->dims_value = copy;
    value->n_dims_value = n;
    return TN_OK;
}

static tn_status set_value(void *self, uint32_t o, const struct tn_tensor *tensor) {
    struct call *call = self;
    tn_value_id v = output_of(call, o);
    struct tn_type type = tn__type_of_tensor(tensor);
    if (v == TN_NO_ID) return TN_OK;
    TN_TRY(set_type(self, o, &type));
    return tn__graph_set_constant(call->g, v, tensor, call->api.diag);
}

static int64_t dim_op(void *self, uint32_t op, int64_t a, int64_t b) {
    struct call *call = self;
    return tn__symbol_op(call->g->model->symbols, op, a, b);
}

/* ---- subgraphs ------------------------------------------------------- */

static tn_status enter_subgraph(struct call *call, struct tn_graph *sub,
    const struct tn_type *inputs, uint32_t n_inputs) {
    struct tn_diag *diag = call->api.diag;
    char who[LABEL + 64], label[LABEL];
    snprintf(who, sizeof who, "the node %s that runs the subgraph",
        tn__node_label(tn__node_at(call->g, call->id), label, sizeof label));
    if (n_inputs > sub->n_inputs)
        return tn_fail(diag, TN_INVALID_MODEL, "%s gives %u inputs to '%s', which has %u",
            who, n_inputs, sub->name, sub->n_inputs);
    for (uint32_t i = 0; i < n_inputs; i++)
        TN_TRY(tn__infer_set_type(sub, sub->inputs[i], &inputs[i], who, diag));
    for (uint32_t i = n_inputs; inputs && i < sub->n_inputs; i++) {
        if (!sub->values[sub->inputs[i]].constant)
            return tn_fail(diag, TN_INVALID_MODEL,
                "%s gives %u inputs to '%s', which has %u", who, n_inputs, sub->name,
                sub->n_inputs);
    }
    if (call->n_asked < MAX_ASKED) call->asked[call->n_asked++] = sub;
    return tn__infer_graph(call->inferer, sub, diag);
}

static tn_status infer_subgraph(void *self, struct tn_graph *subgraph,
    const struct tn_type *inputs, uint32_t n_inputs, struct tn_type *out_types,
    uint32_t n_outputs) {
    struct call *call = self;
    struct tn_diag *diag = call->api.diag;
    if (subgraph->parent != call->g || subgraph->parent_node != call->id)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the definition asks for a subgraph that is not an attribute of its node");
    if (n_outputs > subgraph->n_outputs)
        return tn_fail(diag, TN_INVALID_MODEL,
            "the subgraph '%s' has %u outputs, expected %u", subgraph->name,
            subgraph->n_outputs, n_outputs);
    TN_TRY(enter_subgraph(call, subgraph, inputs, n_inputs));
    for (uint32_t i = 0; i < n_outputs; i++) {
        const struct tn_type *type = &subgraph->values[subgraph->outputs[i]].type;
        out_types[i] = *type;
        if (type->rank <= 0) continue;
        uint64_t size = (uint64_t)type->rank * sizeof *type->dims;
        out_types[i].dims = tn__arena_copy(call->g->arena, type->dims, size);
        if (!out_types[i].dims) return tn__fail_memory(diag, "a shape", size);
    }
    return TN_OK;
}

/* A subgraph that the definition never asked for is resolved all the same. */
static tn_status infer_unasked(void *self, struct tn_graph *sub) {
    struct call *call = self;
    for (uint32_t i = 0; i < call->n_asked; i++) {
        if (call->asked[i] == sub) return TN_OK;
    }
    return enter_subgraph(call, sub, NULL, 0);
}

/* ---- the call -------------------------------------------------------- */

/* Results of an earlier inference go, declarations and constants stay. */
static tn_status forget_outputs(struct call *call) {
    const struct tn_node *node = call->api.node;
    for (uint32_t o = 0; o < node->n_outputs; o++) {
        tn_value_id v = node->outputs[o];
        if (v == TN_NO_ID) continue;
        TN_TRY(
            tn__infer_set_type(call->g, v, &unknown_type, "the model", call->api.diag));
        tn__value_at(call->g, v)->dims_value = NULL;
        tn__value_at(call->g, v)->n_dims_value = 0;
    }
    return TN_OK;
}

/* Types of the inputs as they are now. */
static tn_status read_inputs(struct call *call) {
    const struct tn_node *view = call->api.node;
    struct tn_type *inputs = take_scratch(call, view->n_inputs * sizeof *inputs);
    if (!inputs)
        return tn__fail_memory(
            call->api.diag, "inference", view->n_inputs * sizeof *inputs);
    for (uint32_t i = 0; i < view->n_inputs; i++)
        inputs[i] = view->inputs[i] == TN_NO_ID ? unknown_type
                                                : call->g->values[view->inputs[i]].type;
    call->api.inputs = inputs;
    return TN_OK;
}

static tn_status run_call(struct call *call) {
    const struct tn_op_def *def = tn__node_at(call->g, call->id)->def;
    TN_TRY(read_inputs(call));
    TN_TRY(forget_outputs(call));
    if (def->infer) TN_TRY(def->infer(&call->api));
    TN_TRY(tn__check_outputs(call->g, call->id, call->api.diag));
    return tn__node_subgraphs(tn__node_at(call->g, call->id), infer_unasked, call);
}

static void begin_call(struct call *call, struct tn__inferer *inferer, struct tn_graph *g,
    tn_node_id id, struct tn_diag *diag) {
    const struct tn__node *node = tn__node_at(g, id);
    const struct tn__plugin *plugin =
        tn__registry_op_plugin(inferer->registry, node->def);
    *call = (struct call){.inferer = inferer, .g = g, .id = id};
    call->api = (struct tn_infer){.struct_size = TN_INFER_SIZE,
        .self = call,
        .host = plugin ? plugin->host : NULL,
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
}

tn_status tn__infer_one(struct tn__inferer *inferer, struct tn_graph *g, tn_node_id id,
    struct tn_diag *diag) {
    struct call call;
    if (inferer->budget == 0)
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "type inference of '%s' takes too many steps: its subgraphs nest too deep",
            g->name);
    inferer->budget--;
    begin_call(&call, inferer, g, id, diag);
    tn_status status = tn__check_node(g, id, diag);
    if (status == TN_OK) status = run_call(&call);
    free_scratch(&call);
    return tn__node_context(diag, tn__node_at(g, id), status);
}

int32_t tn__infer_elide(struct tn_graph *g, tn_node_id id) {
    const struct tn__node *node = tn__node_at(g, id);
    struct tn_diag ignored = {0};
    struct call call;
    int32_t input = -1;
    if (!node->def || !node->def->elide || !g->model->hooks.arg) return -1;
    begin_call(&call, g->model->hooks.arg, g, id, &ignored);
    if (read_inputs(&call) == TN_OK) input = node->def->elide(&call.api);
    free_scratch(&call);
    return input;
}
