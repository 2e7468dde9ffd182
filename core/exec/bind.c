/* From places to pointers: the arena, the caller's inputs, the outputs' memory. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/exec/exec.h"

#include <string.h>

/* The arenas of the frame, at least as large as the set needs. */
static tn_status ensure_arenas(
    struct tn__frame *frame, const struct tn__set *set, struct tn_diag *diag) {
    struct tn__exec *exec = frame->exec;
    bool moved = false;
    for (uint32_t r = 1; r < frame->program->plan->n_regions; r++) {
        if (set->region_bytes[r] == 0) continue;
        tn_status status = tn__region_reserve(
            frame, r, set->region_bytes[r], &frame->arenas[r], &moved, diag);
        if (moved) frame->epoch++;
        if (status != TN_OK) return status;
    }
    struct tn__pool_block *arena = &frame->arenas[0];
    if (arena->data && arena->size >= set->region_bytes[0]) return TN_OK;
    uint64_t size = set->region_bytes[0] ? set->region_bytes[0] : 64;
    uint64_t others = exec->arena_bytes - arena->size;
    if (exec->limits.run_bytes && others + size > exec->limits.run_bytes)
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "the run needs %llu bytes of memory, more than limits.run_bytes (%llu); "
            "raise it if the model is trusted",
            (unsigned long long)(others + size),
            (unsigned long long)exec->limits.run_bytes);
    exec->arena_bytes = others;
    frame->epoch++;
    TN_TRY(tn__region_reserve(frame, 0, size, arena, &moved, diag));
    exec->arena_bytes += size;
    return TN_OK;
}

tn_status tn__out_describe(
    struct tn_out *out, const struct tn_tensor *tensor, struct tn_diag *diag) {
    if (tensor->rank > out->cap_dims) {
        uint32_t cap = tensor->rank < 8 ? 8 : tensor->rank;
        int64_t *dims = tn__alloc(cap * sizeof *dims, 0);
        if (!dims) return tn__fail_memory(diag, "an output", cap * sizeof *dims);
        tn__free(out->dims);
        out->dims = dims;
        out->cap_dims = cap;
    }
    out->tensor = *tensor;
    out->tensor.flags &= ~TN_TENSOR_CONST;
    out->tensor.dims = tensor->rank ? out->dims : NULL;
    if (tensor->rank) memcpy(out->dims, tensor->dims, tensor->rank * sizeof *out->dims);
    out->ref = (struct tn_value_ref){.kind = TN_KIND_TENSOR, .as.tensor = &out->tensor};
    return TN_OK;
}

bool tn__frame_overlaps(
    const struct tn__frame *frame, const void *buffer, uint64_t size) {
    const char *from = buffer;
    for (uint32_t i = 0; i < frame->program->n_externals; i++) {
        const struct tn_value_ref *ref = &frame->externals[i];
        if (ref->kind != TN_KIND_TENSOR) continue;
        const char *data = ref->as.tensor->data;
        if (data < from + size && from < data + ref->as.tensor->size) return true;
    }
    return false;
}

static tn_status too_small(
    const struct tn__frame *frame, uint32_t k, uint64_t need, struct tn_diag *diag) {
    const char *name = frame->program->graph->output_names[k];
    if (diag) tn__diag_name(diag, diag->tensor, name);
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "output '%s' takes %llu bytes, but its bound buffer has %llu; bind a larger one "
        "or none",
        name, (unsigned long long)need,
        (unsigned long long)tn__frame_outs(frame)[k].bound_size);
}

/* Memory of output k for `size` bytes: bound, or a block. A subgraph takes a new block
 * each time, so that the outputs of its last run stay. */
static tn_status output_memory(struct tn__frame *frame, uint32_t k, uint64_t size,
    void **out_data, struct tn_diag *diag) {
    struct tn_out *out = &tn__frame_outs(frame)[k];
    out->detour = out->bound && tn__frame_overlaps(frame, out->bound, size);
    if (out->bound) {
        if (size > out->bound_size) return too_small(frame, k, size, diag);
        *out_data = out->bound;
        if (!out->detour) return TN_OK;
    }
    struct tn__recycler *recycler = &frame->exec->recycler;
    if (frame->parent || !out->block || out->block->refs > 1 ||
        out->block->capacity < size) {
        tn__block_put(recycler, out->block);
        out->block = NULL;
        TN_TRY(tn__block_get(recycler, size, &out->block, diag));
    }
    *out_data = tn__block_data(out->block);
    return TN_OK;
}

static tn_status bind_outputs(struct tn__frame *frame, struct tn_diag *diag) {
    struct tn__set *set = frame->set;
    const struct tn_graph *g = frame->program->graph;
    for (uint32_t k = 0; k < g->n_outputs; k++) {
        const struct tn__place *place = &set->places[g->outputs[k]];
        if (place->kind != TN_PLACE_OUTPUT || place->index != k) continue;
        struct tn_tensor *t = &set->tensors[g->outputs[k]];
        struct tn_out *out = &tn__frame_outs(frame)[k];
        TN_TRY(output_memory(frame, k, t->size, &t->data, diag));
        TN_TRY(tn__out_describe(out, t, diag));
        if (out->detour) out->tensor.data = out->bound;
    }
    return TN_OK;
}

/* Externals whose shape the set does not know take theirs from the run. */
static tn_status bind_dynamic_external(
    struct tn__frame *frame, uint32_t i, tn_value_id v, struct tn_diag *diag) {
    struct tn__set *set = frame->set;
    const struct tn_value_ref *ref = &frame->externals[i];
    set->refs[v] = *ref;
    if (ref->kind != TN_KIND_TENSOR) return TN_OK;
    struct tn_type type = {.kind = TN_KIND_TENSOR,
        .dtype = ref->as.tensor->dtype,
        .rank = (int32_t)ref->as.tensor->rank,
        .dims = ref->as.tensor->dims};
    if (tn__set_type(set, v, &type) != TN_OK)
        return tn__fail_memory(diag, "an input", ref->as.tensor->rank * 8);
    set->tensors[v] = *ref->as.tensor;
    set->tensors[v].dims = type.rank ? set->types[v].dims : NULL;
    set->refs[v].as.tensor = &set->tensors[v];
    return TN_OK;
}

static tn_status bind_externals(struct tn__frame *frame, struct tn_diag *diag) {
    struct tn__set *set = frame->set;
    const struct tn__program *program = frame->program;
    for (uint32_t i = 0; i < program->n_externals; i++) {
        tn_value_id v = program->externals[i];
        if (set->places[v].kind == TN_PLACE_DYNAMIC)
            TN_TRY(bind_dynamic_external(frame, i, v, diag));
    }
    for (uint32_t p = 0; p < set->n_patches; p++) {
        tn_value_id v = set->patches[p];
        const struct tn__place *place = &set->places[v];
        if (place->kind == TN_PLACE_EXTERNAL)
            set->tensors[v].data = frame->externals[place->index].as.tensor->data;
        else
            set->tensors[v].data =
                set->tensors[program->graph->outputs[place->index]].data;
    }
    return TN_OK;
}

static void bind_arenas(struct tn__frame *frame) {
    struct tn__set *set = frame->set;
    const struct tn__region *regions = frame->program->plan->regions;
    char *arena = frame->arenas[0].data;
    for (uint32_t v = 0; v < frame->program->n_values; v++) {
        const struct tn__place *place = &set->places[v];
        if (place->kind != TN_PLACE_ARENA) continue;
        struct tn_tensor *t = &set->tensors[v];
        t->data = (void *)((uintptr_t)frame->arenas[place->index].data + place->offset);
        t->space = place->index ? regions[place->index].space->id : 0;
    }
    for (uint32_t i = 0; i < set->n_steps; i++)
        set->steps[i].args.workspace =
            set->infos[i].workspace.scratch ? arena + set->scratch_offset : NULL;
    set->bound = frame->epoch;
}

tn_status tn__frame_bind(struct tn__frame *frame, struct tn_diag *diag) {
    TN_TRY(ensure_arenas(frame, frame->set, diag));
    if (frame->set->bound != frame->epoch) bind_arenas(frame);
    TN_TRY(bind_outputs(frame, diag));
    return bind_externals(frame, diag);
}
