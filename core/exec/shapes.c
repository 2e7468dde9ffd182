/* Types of a shape set: each definition's inference, in order, with concrete sizes. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/exec/exec.h"
#include "core/infer/infer.h"

#include <string.h>

enum { SHORT = 64 }; /* elements of a short content */

struct env_state {
    struct tn__set *set;
    const struct tn_graph *graph;
    bool running;
    struct tn_diag *diag;
};

bool tn__type_is_concrete(const struct tn_type *type) {
    if (type->kind != TN_KIND_TENSOR || type->rank < 0 || tn_dtype_bits(type->dtype) == 0)
        return false;
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0) return false;
    }
    return true;
}

tn_status tn__set_type(struct tn__set *set, tn_value_id v, const struct tn_type *type) {
    struct tn_type *slot = &set->types[v];
    uint32_t cap = slot->reserved; /* dims the slot has room for */
    int64_t *dims = (int64_t *)(uintptr_t)slot->dims;
    uint32_t rank = type->rank > 0 ? (uint32_t)type->rank : 0;
    if (rank > cap) {
        cap = rank < 8 ? 8 : rank;
        dims = tn__arena_array(set->memory, cap, sizeof *dims);
        if (!dims) return TN_OUT_OF_MEMORY;
    }
    if (rank && dims != type->dims) memcpy(dims, type->dims, rank * sizeof *dims);
    *slot = *type;
    slot->dims = dims;
    slot->reserved = cap;
    return TN_OK;
}

static const struct tn_type *env_type(void *arg, tn_value_id v) {
    const struct env_state *env = arg;
    return &env->set->types[v];
}

static const struct tn_tensor *env_content(void *arg, tn_value_id v) {
    const struct env_state *env = arg;
    const struct tn_tensor *constant = tn__constant_of(env->graph, v);
    if (constant || !env->running) return constant;
    const struct tn_value_ref *ref = &env->set->refs[v];
    bool readable = ref->kind == TN_KIND_TENSOR && ref->as.tensor &&
                    ref->as.tensor->space == 0 &&
                    (ref->as.tensor->data || ref->as.tensor->size == 0);
    return readable ? ref->as.tensor : NULL;
}

static int64_t *content_slot(struct tn__set *set, tn_value_id v) {
    if (!set->dims_values[v])
        set->dims_values[v] = tn__arena_array(set->memory, SHORT, sizeof(int64_t));
    return set->dims_values[v];
}

/* A short integer tensor as numbers. */
static const int64_t *read_short(
    struct tn__set *set, tn_value_id v, const struct tn_tensor *t, uint32_t *out_n) {
    uint64_t n;
    if ((t->dtype != TN_INT64 && t->dtype != TN_INT32) || t->rank > 1 || t->strides ||
        !tn_count_elements(t->dims, t->rank, &n) || n > SHORT)
        return NULL;
    int64_t *slot = content_slot(set, v);
    if (!slot) return NULL;
    for (uint64_t i = 0; i < n; i++) {
        if (t->dtype == TN_INT64) {
            memcpy(&slot[i], (const char *)t->data + i * 8, 8);
        } else {
            int32_t x;
            memcpy(&x, (const char *)t->data + i * 4, 4);
            slot[i] = x;
        }
    }
    *out_n = (uint32_t)n;
    return slot;
}

static const int64_t *env_dims_value(void *arg, tn_value_id v, uint32_t *out_n) {
    struct env_state *env = arg;
    const struct tn_tensor *t = env_content(env, v);
    if (t) return read_short(env->set, v, t, out_n);
    if (env->set->n_dims_values[v] == UINT32_MAX) return NULL;
    *out_n = env->set->n_dims_values[v];
    return env->set->dims_values[v];
}

/* Kernels were made for the kind and element type that the load settled: inference now may
 * leave them open, but not change them. */
static tn_status env_set_type(void *arg, tn_value_id v, const struct tn_type *type) {
    struct env_state *env = arg;
    const struct tn_type *known = &tn__value_at(env->graph, v)->type;
    struct tn_type merged = *type;
    if (merged.kind == TN_KIND_ABSENT) merged.kind = known->kind;
    if (merged.dtype == TN_UNDEFINED) merged.dtype = known->dtype;
    if ((known->kind != TN_KIND_ABSENT && known->kind != merged.kind) ||
        (known->dtype != TN_UNDEFINED && known->dtype != merged.dtype))
        return tn_fail(env->diag, TN_PLUGIN,
            "its inference gives '%s' another type in a run than at load",
            tn__value_at(env->graph, v)->name);
    return tn__set_type(env->set, v, &merged);
}

static tn_status env_set_dims_value(
    void *arg, tn_value_id v, const int64_t *dims, uint32_t n) {
    struct env_state *env = arg;
    if (n > SHORT) return TN_OK;
    int64_t *slot = content_slot(env->set, v);
    if (!slot) return TN_OUT_OF_MEMORY;
    if (n && slot != dims) memmove(slot, dims, n * sizeof *slot);
    env->set->n_dims_values[v] = n;
    return TN_OK;
}

/* Before inference: what the graph itself knows, without shapes. */
static void forget_outputs(
    struct tn__set *set, const struct tn_graph *g, const struct tn__node *node) {
    for (uint32_t o = 0; o < node->view.n_outputs; o++) {
        tn_value_id v = node->view.outputs[o];
        if (v == TN_NO_ID) continue;
        const struct tn_type *known = &tn__value_at(g, v)->type;
        struct tn_type *slot = &set->types[v];
        struct tn_type bare = {known->kind, known->elem_kind, known->dtype,
            known->key_dtype, -1, slot->reserved, slot->dims};
        *slot = bare;
        set->n_dims_values[v] = UINT32_MAX;
    }
}

/* A copy gives what it takes. */
static tn_status infer_copy(
    struct tn__set *set, const struct tn__unit *unit, struct tn_diag *diag) {
    if (tn__set_type(set, unit->outputs[0], &set->types[unit->inputs[0]]) != TN_OK)
        return tn__fail_memory(diag, "types of a shape set", 64);
    return TN_OK;
}

/* What a group leaves in another memory space has the type of the graph's value. */
static tn_status infer_shadows(struct tn__set *set, const struct tn__program *program,
    const struct tn__unit *unit, struct tn_diag *diag) {
    for (uint32_t o = 0; o < unit->n_outputs; o++) {
        tn_value_id v = unit->outputs[o];
        if (v == TN_NO_ID || v < program->graph->n_values) continue;
        if (tn__set_type(set, v, &set->types[tn__original(program, v)]) != TN_OK)
            return tn__fail_memory(diag, "types of a shape set", 64);
    }
    return TN_OK;
}

/* What was compiled before has the types that the file declares. */
static tn_status infer_context(
    struct tn__set *set, const struct tn__unit *unit, struct tn_diag *diag) {
    for (uint32_t o = 0; o < unit->n_nodes; o++) {
        const struct tn_node *node = &tn__node_at(unit->graph, unit->nodes[o])->view;
        for (uint32_t i = 0; i < node->n_outputs; i++) {
            const struct tn_type *type =
                &tn__value_at(unit->graph, node->outputs[i])->type;
            if (tn__set_type(set, node->outputs[i], type) != TN_OK)
                return tn__fail_memory(diag, "types of a shape set", 64);
        }
    }
    return TN_OK;
}

tn_status tn__set_infer_unit(const struct tn__program *program, struct tn__set *set,
    const struct tn__unit *unit, bool running, struct tn_diag *diag) {
    if (unit->transfer) return infer_copy(set, unit, diag);
    if (unit->context) {
        TN_TRY(infer_context(set, unit, diag));
        return infer_shadows(set, program, unit, diag);
    }
    struct env_state state = {set, unit->graph, running, diag};
    const struct tn__shape_env env = {&state, env_type, env_content, env_dims_value,
        env_set_type, env_set_dims_value, set->infer_scratch, set->infer_scratch_size};
    for (uint32_t i = 0; i < unit->n_nodes; i++) {
        const struct tn__node *node = tn__node_at(unit->graph, unit->nodes[i]);
        forget_outputs(set, unit->graph, node);
        tn_status status = tn__infer_concrete(
            unit->plugin->host, unit->graph, unit->nodes[i], &env, diag);
        if (status != TN_OK) return tn__node_context(diag, node, status);
    }
    return infer_shadows(set, program, unit, diag);
}

/* ---- all units ------------------------------------------------------------------------ */

static tn_status set_constants(
    struct tn__frame *frame, struct tn__set *set, struct tn_diag *diag) {
    for (uint32_t v = 0; v < frame->program->n_values; v++) {
        set->n_dims_values[v] = UINT32_MAX;
        set->types[v].rank = -1;
        const struct tn_tensor *t = tn__program_constant(frame->program, v);
        if (!t) continue;
        struct tn_type type = {.kind = TN_KIND_TENSOR,
            .dtype = t->dtype,
            .rank = (int32_t)t->rank,
            .dims = t->dims};
        if (tn__set_type(set, v, &type) != TN_OK)
            return tn__fail_memory(diag, "types of a shape set", t->rank * 8);
    }
    return TN_OK;
}

static tn_status set_externals(
    struct tn__frame *frame, struct tn__set *set, struct tn_diag *diag) {
    const struct tn__program *program = frame->program;
    for (uint32_t i = 0; i < program->n_externals; i++) {
        const struct tn_value_ref *ref = &frame->externals[i];
        tn_value_id v = program->externals[i];
        const struct tn_type *known = &tn__value_at(program->graph, v)->type;
        struct tn_type type = {.kind = ref->kind,
            .elem_kind = known->elem_kind,
            .dtype = known->dtype,
            .key_dtype = known->key_dtype,
            .rank = -1};
        if (ref->kind == TN_KIND_TENSOR) {
            const struct tn_tensor *t = ref->as.tensor;
            uint64_t bytes;
            TN_TRY(tn__exec_bytes(frame->exec, t->dtype, t->dims, t->rank, &bytes, diag));
            type.dtype = t->dtype;
            if (!frame->generic) {
                type.rank = (int32_t)ref->as.tensor->rank;
                type.dims = ref->as.tensor->dims;
            }
        }
        if (tn__set_type(set, v, &type) != TN_OK)
            return tn__fail_memory(diag, "types of a shape set", 64);
    }
    return TN_OK;
}

static bool all_concrete(const struct tn__set *set, const tn_value_id *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] != TN_NO_ID && !tn__type_is_concrete(&set->types[ids[i]]))
            return false;
    }
    return true;
}

/* Whether memory of all inputs is planned: a dynamic step may make a value whose size is
 * known all the same. */
static bool all_planned(const struct tn__program *program, const struct tn__set *set,
    const struct tn__unit *unit) {
    for (uint32_t i = 0; i < unit->n_inputs; i++) {
        if (unit->inputs[i] == TN_NO_ID) continue;
        uint32_t from = program->def_unit[unit->inputs[i]];
        if (from != UINT32_MAX && set->dynamic_units[from]) return false;
    }
    return true;
}

/* Sizes the inference gave must stay within the limits before anything is planned. */
static tn_status check_sizes(struct tn__frame *frame, struct tn__set *set,
    const struct tn__unit *unit, struct tn_diag *diag) {
    for (uint32_t o = 0; o < unit->n_outputs; o++) {
        if (unit->outputs[o] == TN_NO_ID) continue;
        const struct tn_type *type = &set->types[unit->outputs[o]];
        uint64_t bytes;
        tn_status status = tn__exec_bytes(
            frame->exec, type->dtype, type->dims, (uint32_t)type->rank, &bytes, diag);
        if (status != TN_OK) return tn__node_context(diag, tn__unit_node(unit), status);
    }
    return TN_OK;
}

tn_status tn__set_infer(
    struct tn__frame *frame, struct tn__set *set, struct tn_diag *diag) {
    const struct tn__program *program = frame->program;
    TN_TRY(set_constants(frame, set, diag));
    TN_TRY(set_externals(frame, set, diag));
    for (uint32_t u = 0; u < program->n_units; u++) {
        const struct tn__unit *unit = &program->units[u];
        TN_TRY(tn__set_infer_unit(program, set, unit, false, diag));
        bool concrete = all_planned(program, set, unit) &&
                        all_concrete(set, unit->inputs, unit->n_inputs) &&
                        all_concrete(set, unit->outputs, unit->n_outputs);
        set->dynamic_units[u] = !concrete;
        if (concrete) TN_TRY(check_sizes(frame, set, unit, diag));
    }
    return TN_OK;
}

tn_status tn__exec_bytes(const struct tn__exec *exec, int32_t dtype, const int64_t *dims,
    uint32_t rank, uint64_t *out, struct tn_diag *diag) {
    uint64_t extent;
    if (!tn_tensor_bytes(dtype, dims, rank, out) ||
        !tn_tensor_extent(dtype, dims, rank, &extent))
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "a tensor of type %s and rank %u has a negative or overflowing size",
            tn_dtype_name(dtype), (unsigned)rank);
    if (exec->limits.tensor_bytes && extent > exec->limits.tensor_bytes)
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "a tensor of %llu bytes%s exceeds limits.tensor_bytes (%llu); raise it if "
            "the model is trusted",
            (unsigned long long)extent, extent == *out ? "" : ", were it not empty,",
            (unsigned long long)exec->limits.tensor_bytes);
    return TN_OK;
}
