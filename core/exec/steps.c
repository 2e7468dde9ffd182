/* The steps of a shape set: arguments laid out flat, workspace asked for, state prepared.
 *
 * Pointers to data are filled in when the set is bound to an arena. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/exec/exec.h"

#include <string.h>

/* A unit whose calls go through a lock, a gate, a thread or a stream. */
static tn_status guarded_step(void *kernel, const struct tn_run_args *args) {
    const struct tn__step_info *info = kernel;
    return tn__unit_call(info, info->compute, args);
}

/* Tensors and references of every value; data comes with binding. */
static void fill_values(const struct tn__frame *frame, struct tn__set *set) {
    const struct tn__program *program = frame->program;
    for (uint32_t v = 0; v < program->n_values; v++) {
        const struct tn_type *type = &set->types[v];
        struct tn_tensor *t = &set->tensors[v];
        if (set->places[v].kind == TN_PLACE_NONE ||
            set->places[v].kind == TN_PLACE_DYNAMIC)
            continue;
        const struct tn_tensor *constant = tn__program_constant(program, v);
        if (constant) {
            *t = *constant;
            t->flags |= TN_TENSOR_CONST;
        } else {
            *t = (struct tn_tensor){.dims = type->rank ? type->dims : NULL,
                .dtype = type->dtype,
                .rank = (uint32_t)type->rank};
            (void)tn_tensor_bytes(t->dtype, t->dims, t->rank, &t->size);
            if (set->places[v].kind == TN_PLACE_CONSTANT) {
                t->data = tn__constant_of(program->graph, set->places[v].index)->data;
                t->flags = TN_TENSOR_CONST;
            }
        }
        set->refs[v].kind = TN_KIND_TENSOR;
        set->refs[v].as.tensor = t;
    }
}

static struct tn_value_ref *gather_refs(
    struct tn__set *set, const tn_value_id *ids, uint32_t n) {
    struct tn_value_ref *refs = tn__arena_array(set->memory, n, sizeof *refs);
    for (uint32_t i = 0; refs && i < n; i++) {
        if (ids[i] != TN_NO_ID) refs[i] = set->refs[ids[i]];
    }
    return refs;
}

static void *stream_of(const struct tn__frame *frame, const struct tn__unit *unit) {
    return unit->def || !frame->exec->streams ? NULL
                                              : frame->exec->streams[unit->provider];
}

/* Whether the host may read what a unit on a stream leaves. */
static bool leaves_to_host(const struct tn__frame *frame, const struct tn__unit *unit) {
    if (!stream_of(frame, unit)) return false;
    for (uint32_t o = 0; o < unit->n_outputs; o++) {
        if (unit->outputs[o] != TN_NO_ID &&
            tn__region_of(frame->program, unit->outputs[o]) == 0)
            return true;
    }
    return false;
}

static tn_status add_step(
    struct tn__frame *frame, struct tn__set *set, uint32_t u, struct tn_diag *diag) {
    const struct tn__unit *unit = &frame->program->units[u];
    struct tn__step *step = &set->steps[set->n_steps];
    struct tn__step_info *info = &set->infos[set->n_steps];
    struct tn_value_ref *outputs = gather_refs(set, unit->outputs, unit->n_outputs);
    *info = (struct tn__step_info){.frame = frame,
        .set = set,
        .unit = unit,
        .unit_index = u,
        .dynamic = set->dynamic_units[u] == 1,
        .sync = leaves_to_host(frame, unit),
        .compute = unit->compute,
        .inputs = gather_refs(set, unit->inputs, unit->n_inputs)};
    if (!outputs || !info->inputs) return tn__fail_memory(diag, "steps", unit->n_inputs);
    if (unit->transfer) set->copied_bytes += set->tensors[unit->inputs[0]].size;
    *step = (struct tn__step){.fn = unit->compute,
        .kernel = unit->kernel,
        .args = {.inputs = info->inputs,
            .outputs = outputs,
            .n_inputs = unit->n_inputs,
            .n_outputs = unit->n_outputs,
            .stream = stream_of(frame, unit),
            .step = info}};
    set->n_steps++;
    return TN_OK;
}

static tn_status ask_workspace(
    struct tn__set *set, uint32_t i, uint64_t *state_bytes, struct tn_diag *diag) {
    struct tn__step_info *info = &set->infos[i];
    const struct tn__unit *unit = info->unit;
    if (info->dynamic || !unit->workspace) return TN_OK;
    struct tn_workspace *need = &info->workspace;
    tn_status status = tn__unit_workspace(info, &set->steps[i].args, need, diag);
    if (status != TN_OK) {
        tn_fail(diag, status, "kernel %s cannot size its workspace",
            tn__unit_kernel_name(unit));
        return tn__node_context(diag, tn__unit_node(unit), status);
    }
    info->state_offset = *state_bytes;
    uint64_t rounded;
    if (need->scratch > INT64_MAX || !tn_align_size(need->state, 64, &rounded) ||
        !tn_add_size(*state_bytes, rounded, state_bytes))
        return tn__node_context(diag, tn__unit_node(unit),
            tn_fail(diag, TN_PLUGIN, "kernel %s asks for a workspace that overflows",
                tn__unit_kernel_name(unit)));
    if (need->scratch > set->scratch_bytes) set->scratch_bytes = need->scratch;
    return TN_OK;
}

static tn_status prepare_step(struct tn__set *set, uint32_t i, struct tn_diag *diag) {
    struct tn__step *step = &set->steps[i];
    struct tn__step_info *info = &set->infos[i];
    const struct tn__unit *unit = info->unit;
    if (info->dynamic) {
        step->fn = tn__dynamic_step;
        step->kernel = info;
        return TN_OK;
    }
    step->args.workspace_size = info->workspace.scratch;
    if (info->workspace.state) step->args.state = set->state + info->state_offset;
    if (unit->prepare) {
        tn_status status = tn__unit_prepare(info, &step->args, &step->fn, diag);
        if (status != TN_OK) {
            tn_fail(diag, status, "kernel %s cannot prepare for these shapes",
                tn__unit_kernel_name(unit));
            return tn__node_context(diag, tn__unit_node(unit), status);
        }
    }
    if (!step->fn)
        return tn__node_context(diag, tn__unit_node(unit),
            tn_fail(diag, TN_PLUGIN, "kernel %s chose no function for these shapes",
                tn__unit_kernel_name(unit)));
    if (tn__unit_is_guarded(info)) {
        info->compute = step->fn;
        step->fn = guarded_step;
        step->kernel = info;
    }
    return TN_OK;
}

static tn_status size_memory(struct tn__frame *frame, struct tn__set *set,
    uint64_t state_bytes, struct tn_diag *diag) {
    uint64_t total, limit = frame->exec->limits.run_bytes, *bytes = set->region_bytes;
    set->scratch_offset = bytes[0];
    if (!tn_align_size(set->scratch_bytes, 64, &total) ||
        !tn_add_size(bytes[0], total, &bytes[0]) ||
        !tn_add_size(bytes[0], state_bytes, &total) || (limit && total > limit))
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "a run with these input shapes needs %llu bytes of memory, more than "
            "limits.run_bytes (%llu); raise it if the model is trusted",
            (unsigned long long)(bytes[0] + state_bytes), (unsigned long long)limit);
    if (state_bytes == 0) return TN_OK;
    set->state = tn__alloc_zero(state_bytes, 64);
    return set->state ? TN_OK : tn__fail_memory(diag, "state of kernels", state_bytes);
}

static tn_status check_copies(
    const struct tn__frame *frame, const struct tn__set *set, struct tn_diag *diag) {
    uint64_t limit = frame->exec->limits.copy_bytes;
    if (set->copied_bytes <= limit || limit == 0) return TN_OK;
    return tn_fail(diag, TN_LIMIT_EXCEEDED,
        "a run with these input shapes copies %llu bytes between memory spaces, more "
        "than "
        "limits.copy_bytes (%llu); see the placement report, or raise the limit",
        (unsigned long long)set->copied_bytes, (unsigned long long)limit);
}

tn_status tn__set_steps(
    struct tn__frame *frame, struct tn__set *set, struct tn_diag *diag) {
    const struct tn__program *program = frame->program;
    fill_values(frame, set);
    set->steps = tn__arena_array(set->memory, program->n_units, sizeof *set->steps);
    set->infos = tn__arena_array(set->memory, program->n_units, sizeof *set->infos);
    if (!set->steps || !set->infos)
        return tn__fail_memory(diag, "steps", program->n_units);
    uint64_t state_bytes = 0;
    for (uint32_t u = 0; u < program->n_units; u++) {
        if (set->dynamic_units[u] == 2) continue;
        TN_TRY(add_step(frame, set, u, diag));
        TN_TRY(ask_workspace(set, set->n_steps - 1, &state_bytes, diag));
    }
    TN_TRY(check_copies(frame, set, diag));
    TN_TRY(size_memory(frame, set, state_bytes, diag));
    for (uint32_t i = 0; i < set->n_steps; i++)
        TN_TRY(prepare_step(set, i, diag));
    for (uint32_t i = 0; i < set->n_steps; i++)
        set->steps[i].args.run = &frame->runs[set->infos[i].unit->plugin_index];
    return TN_OK;
}
