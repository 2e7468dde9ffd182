/* Steps whose shapes depend on data: inferred from the contents at hand, with memory from
 * the recycler, which is given back after the last use. */
#include "core/base/checked.h"
#include "core/exec/exec.h"

#include <string.h>

static uint32_t output_of(const struct tn__frame *frame, tn_value_id v) {
    const struct tn_graph *g = frame->program->graph;
    if (v >= g->n_values || !(tn__value_at(g, v)->flags & TN_VALUE_OUTPUT))
        return UINT32_MAX;
    for (uint32_t k = 0; k < g->n_outputs; k++) {
        if (g->outputs[k] == v) return k;
    }
    return UINT32_MAX;
}

/* Describes value v as a tensor at `data`. */
static tn_status describe(struct tn__set *set, tn_value_id v, int32_t dtype,
    const int64_t *dims, uint32_t rank, uint64_t bytes, void *data) {
    struct tn_type type = {
        .kind = TN_KIND_TENSOR, .dtype = dtype, .rank = (int32_t)rank, .dims = dims};
    TN_TRY(tn__set_type(set, v, &type));
    set->tensors[v] = (struct tn_tensor){.data = data,
        .dims = rank ? set->types[v].dims : NULL,
        .size = bytes,
        .dtype = dtype,
        .rank = rank};
    set->refs[v] =
        (struct tn_value_ref){.kind = TN_KIND_TENSOR, .as.tensor = &set->tensors[v]};
    return TN_OK;
}

/* Memory outside the host's for a value: it only grows, so that a warm run takes none. */
static tn_status device_alloc(struct tn__step_info *info, tn_value_id v, int32_t dtype,
    const int64_t *dims, uint32_t rank, uint64_t bytes, struct tn_diag *diag) {
    const struct tn__frame *frame = info->frame;
    struct tn__set *set = info->set;
    uint32_t region = tn__region_of(frame->program, v);
    bool moved;
    TN_TRY(tn__region_reserve(frame, region, bytes, &set->devices[v], &moved, diag));
    if (describe(set, v, dtype, dims, rank, bytes, set->devices[v].data) != TN_OK)
        return tn__fail_memory(diag, "an output", rank * sizeof *dims);
    set->tensors[v].space = frame->program->plan->regions[region].space->id;
    return TN_OK;
}

tn_status tn__dynamic_alloc(struct tn__step_info *info, tn_value_id v, int32_t dtype,
    const int64_t *dims, uint32_t rank, struct tn_diag *diag) {
    struct tn__frame *frame = info->frame;
    struct tn__set *set = info->set;
    struct tn__recycler *recycler = &frame->exec->recycler;
    uint64_t bytes;
    TN_TRY(tn__exec_bytes(frame->exec, dtype, dims, rank, &bytes, diag));
    if (tn__region_of(frame->program, v) != 0)
        return device_alloc(info, v, dtype, dims, rank, bytes, diag);
    uint32_t k = output_of(frame, v);
    struct tn_out *out = k == UINT32_MAX ? NULL : &tn__frame_outs(frame)[k];
    void *data = NULL;
    if (out && out->bound) {
        if (dtype == TN_STRING || bytes > out->bound_size)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "output '%s' takes %llu bytes of type %s, but its bound buffer has %llu; "
                "bind a larger one or none",
                frame->program->graph->output_names[k], (unsigned long long)bytes,
                tn_dtype_name(dtype), (unsigned long long)out->bound_size);
        out->detour = tn__frame_overlaps(frame, out->bound, bytes);
        if (!out->detour) data = out->bound;
    }
    tn__block_put(recycler, set->blocks[v]);
    set->blocks[v] = NULL;
    if (!data) {
        TN_TRY(tn__block_get(recycler, bytes, &set->blocks[v], diag));
        data = tn__block_data(set->blocks[v]);
        /* strings that a kernel leaves out must be readable */
        if (dtype == TN_STRING) memset(data, 0, bytes);
    }
    if (describe(set, v, dtype, dims, rank, bytes, data) != TN_OK)
        return tn__fail_memory(diag, "an output", rank * sizeof *dims);
    return TN_OK;
}

/* Lets output o of the step be the memory of one of its inputs, as the kernel allows. */
static bool share_block(struct tn__step_info *info, uint32_t o, bool *out_view) {
    const struct tn__unit *unit = info->unit;
    struct tn__set *set = info->set;
    const struct tn__program *program = info->frame->program;
    tn_value_id v = unit->outputs[o];
    const struct tn_type *type = &set->types[v];
    uint64_t bytes = 0;
    (void)tn_tensor_bytes(type->dtype, type->dims, (uint32_t)type->rank, &bytes);
    uint32_t k = output_of(info->frame, v);
    if (k != UINT32_MAX && tn__frame_outs(info->frame)[k].bound) return false;
    for (uint32_t r = 0; unit->def && r < unit->def->n_inplace; r++) {
        const struct tn_inplace *rule = &unit->def->inplace[r];
        if (rule->output != o || rule->input >= unit->n_inputs) continue;
        tn_value_id from = unit->inputs[rule->input];
        struct tn__block *block = from == TN_NO_ID ? NULL : set->blocks[from];
        if (!block || set->tensors[from].size != bytes) continue;
        bool view = rule->kind == TN_INPLACE_VIEW;
        if (view && unit->n_outputs != 1) continue;
        if (!view &&
            (block->refs != 1 || program->last_use[from] != info->unit_index ||
                unit->n_captures ||
                tn_dtype_bits(type->dtype) != tn_dtype_bits(set->tensors[from].dtype)))
            continue;
        bool twice = false;
        for (uint32_t i = 0; i < unit->n_inputs; i++)
            twice = twice || (i != rule->input && unit->inputs[i] == from);
        if (!view && twice) continue;
        if (describe(set, v, type->dtype, type->dims, (uint32_t)type->rank, bytes,
                set->tensors[from].data) != TN_OK)
            return false;
        block->refs++;
        set->blocks[v] = block;
        *out_view = view;
        return true;
    }
    return false;
}

/* Memory for the outputs whose shape is known before the kernel runs. */
static tn_status make_outputs(
    struct tn__step_info *info, struct tn_run_args *args, bool *out_view) {
    const struct tn__unit *unit = info->unit;
    struct tn__set *set = info->set;
    struct tn_diag *diag = info->frame->exec->diag;
    for (uint32_t o = 0; o < unit->n_outputs; o++) {
        tn_value_id v = unit->outputs[o];
        if (v == TN_NO_ID) continue;
        struct tn_type *type = &set->types[v];
        bool view = false;
        tn__block_put(&info->frame->exec->recycler, set->blocks[v]);
        set->blocks[v] = NULL;
        if (tn__type_is_concrete(type)) {
            if (!share_block(info, o, &view))
                TN_TRY(tn__dynamic_alloc(
                    info, v, type->dtype, type->dims, (uint32_t)type->rank, diag));
        } else {
            uint32_t kind = type->kind == TN_KIND_ABSENT ? TN_KIND_TENSOR : type->kind;
            set->tensors[v] = (struct tn_tensor){.dtype = type->dtype};
            set->refs[v] = (struct tn_value_ref){.kind = kind};
            if (kind == TN_KIND_TENSOR) set->refs[v].as.tensor = &set->tensors[v];
        }
        *out_view = *out_view || view;
        args->outputs[o] = set->refs[v];
    }
    return TN_OK;
}

static tn_status call_compute(struct tn__step_info *info, struct tn_run_args *args) {
    const struct tn__unit *unit = info->unit;
    struct tn_diag *diag = info->frame->exec->diag;
    tn_compute_fn fn = unit->compute;
    if (unit->prepare) TN_TRY(tn__unit_prepare(info, args, &fn, diag));
    if (!fn)
        return tn_fail(diag, TN_PLUGIN, "kernel %s chose no function for these shapes",
            tn__unit_kernel_name(unit));
    return tn__unit_call(info, fn, args);
}

/* The kernel with workspace and state of this one call. */
static tn_status call_kernel(struct tn__step_info *info, struct tn_run_args *args) {
    const struct tn__unit *unit = info->unit;
    struct tn__recycler *recycler = &info->frame->exec->recycler;
    struct tn_diag *diag = info->frame->exec->diag;
    struct tn_workspace need = {0, 0};
    if (unit->workspace) TN_TRY(tn__unit_workspace(info, args, &need, diag));
    uint64_t scratch, total;
    if (!tn_align_size(need.scratch, 64, &scratch) ||
        !tn_add_size(scratch, need.state, &total))
        return tn_fail(diag, TN_PLUGIN, "kernel %s asks for a workspace that overflows",
            tn__unit_kernel_name(unit));
    struct tn__block *block = NULL;
    if (total) {
        TN_TRY(tn__block_get(recycler, total, &block, diag));
        args->workspace = need.scratch ? tn__block_data(block) : NULL;
        args->workspace_size = need.scratch;
        args->state = need.state ? (char *)tn__block_data(block) + scratch : NULL;
        if (need.state) memset(args->state, 0, need.state);
    }
    tn_status status = call_compute(info, args);
    tn__block_put(recycler, block);
    args->workspace = args->state = NULL;
    args->workspace_size = 0;
    return status;
}

static tn_status check_outputs(const struct tn__step_info *info) {
    const struct tn__unit *unit = info->unit;
    const struct tn__set *set = info->set;
    for (uint32_t o = 0; o < unit->n_outputs; o++) {
        if (unit->outputs[o] == TN_NO_ID) continue;
        const struct tn_value_ref *ref = &set->refs[unit->outputs[o]];
        if (!ref->as.ptr || (ref->kind == TN_KIND_TENSOR && !ref->as.tensor->data))
            return tn_fail(info->frame->exec->diag, TN_PLUGIN,
                "kernel %s of plugin %s did not make output %u",
                tn__unit_kernel_name(unit), unit->plugin->desc->id, (unsigned)o);
    }
    return TN_OK;
}

static void release_value(struct tn__step_info *info, tn_value_id v) {
    if (v == TN_NO_ID) return;
    uint32_t last = info->frame->program->last_use[v];
    if (last != info->unit_index && last != UINT32_MAX) return;
    tn__block_put(&info->frame->exec->recycler, info->set->blocks[v]);
    info->set->blocks[v] = NULL;
}

static void release_used(struct tn__step_info *info) {
    const struct tn__unit *unit = info->unit;
    for (uint32_t i = 0; i < unit->n_inputs; i++)
        release_value(info, unit->inputs[i]);
    for (uint32_t i = 0; i < unit->n_captures; i++)
        release_value(info, unit->captures[i]);
    for (uint32_t o = 0; o < unit->n_outputs; o++)
        release_value(info, unit->outputs[o]);
}

tn_status tn__dynamic_step(void *kernel, const struct tn_run_args *shared) {
    (void)shared;
    struct tn__step_info *info = kernel;
    struct tn__set *set = info->set;
    const struct tn__unit *unit = info->unit;
    struct tn_run_args *args = &set->steps[info - set->infos].args;
    for (uint32_t i = 0; i < unit->n_inputs; i++) {
        if (unit->inputs[i] != TN_NO_ID) info->inputs[i] = set->refs[unit->inputs[i]];
    }
    TN_TRY(tn__set_infer_unit(
        info->frame->program, set, unit, true, info->frame->exec->diag));
    bool view = false;
    TN_TRY(make_outputs(info, args, &view));
    if (!view) TN_TRY(call_kernel(info, args));
    TN_TRY(check_outputs(info));
    release_used(info);
    return TN_OK;
}
