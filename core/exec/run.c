/* The loop. Three of them in fact: the plain one polls a flag and calls; the checked one
 * also looks at the clock and the caller's word; the recording one times every step. */
#include "core/exec/exec.h"
#include "core/exec/profile.h"
#include "core/exec/value_pack.h"
#include "core/os/clock.h"
#include "core/plan/provider_call.h"

#include <string.h>

tn_status tn__exec_interrupted(const struct tn__exec *exec) {
    if (atomic_load_explicit(&exec->cancelled, memory_order_relaxed)) return TN_CANCELLED;
    if (exec->terminate && __atomic_load_n(exec->terminate, __ATOMIC_RELAXED))
        return TN_CANCELLED;
    if (exec->deadline_ns && tn__clock_ns() >= exec->deadline_ns) return TN_DEADLINE;
    return TN_OK;
}

static tn_status stopped(struct tn__exec *exec, tn_status status) {
    return tn_fail(exec->diag, status,
        status == TN_CANCELLED ? "the run was cancelled"
                               : "the run passed its deadline; allow it more time");
}

/* Gives a failure its node and plugin, and a sentence when the kernel gave none. */
static tn_status step_failed(
    struct tn__exec *exec, const struct tn__step_info *info, tn_status status) {
    const struct tn__unit *unit = info->unit;
    if (status == TN_CANCELLED || status == TN_DEADLINE) return stopped(exec, status);
    if (!unit->def)
        (void)tn__provider_explain(
            &exec->plan->providers[unit->provider], status, "run a group", exec->diag);
    else
        tn_fail(exec->diag, status, "kernel %s of plugin %s failed without a reason",
            tn__unit_kernel_name(unit), unit->plugin->desc->id);
    if (exec->diag) tn__diag_name(exec->diag, exec->diag->plugin, unit->plugin->desc->id);
    exec->failed_provider = unit->provider;
    return tn__node_context(exec->diag, tn__unit_node(unit), status);
}

static tn_status run_plain(struct tn__exec *exec, const struct tn__set *set) {
    const struct tn__step *step = set->steps, *end = step + set->n_steps;
    for (; step != end; step++) {
        if (atomic_load_explicit(&exec->cancelled, memory_order_relaxed))
            return stopped(exec, TN_CANCELLED);
        tn_status status = step->fn(step->kernel, &step->args);
        if (status != TN_OK) return step_failed(exec, step->args.step, status);
    }
    return TN_OK;
}

static tn_status run_checked(struct tn__exec *exec, const struct tn__set *set) {
    for (uint32_t i = 0; i < set->n_steps; i++) {
        const struct tn__step *step = &set->steps[i];
        tn_status status = tn__exec_interrupted(exec);
        if (status != TN_OK) return stopped(exec, status);
        uint64_t start = exec->profiling ? tn__clock_ns() : 0;
        status = step->fn(step->kernel, &step->args);
        if (exec->profiling)
            tn__profile_step(exec->profile, &set->infos[i], step, start, tn__clock_ns());
        if (status != TN_OK) return step_failed(exec, step->args.step, status);
    }
    return TN_OK;
}

/* ---- outputs -------------------------------------------------------------------------- */

static tn_status output_is_not_dense(
    const struct tn__frame *frame, uint32_t k, struct tn_diag *diag) {
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "output '%s' is not a numeric tensor: a buffer cannot be bound to it",
        frame->program->graph->output_names[k]);
}

/* A copy of a value as output k, in the bound buffer or a block. */
static tn_status copy_output(
    struct tn__frame *frame, const struct tn__copy *copy, struct tn_diag *diag) {
    struct tn_out *out = &tn__frame_outs(frame)[copy->output];
    const struct tn_value_ref *ref = &frame->set->refs[copy->value];
    bool plain = ref->kind == TN_KIND_TENSOR && ref->as.tensor->dtype != TN_STRING;
    if (out->bound && !plain) return output_is_not_dense(frame, copy->output, diag);
    if (out->bound) {
        const struct tn_tensor *t = ref->as.tensor;
        if (t->size > out->bound_size)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "output '%s' takes %llu bytes, but its bound buffer has %llu; bind a "
                "larger one or none",
                frame->program->graph->output_names[copy->output],
                (unsigned long long)t->size, (unsigned long long)out->bound_size);
        if (t->size) memmove(out->bound, t->data, t->size);
        TN_TRY(tn__out_describe(out, t, diag));
        out->tensor.data = out->bound;
        return TN_OK;
    }
    uint64_t bytes;
    TN_TRY(tn__value_bytes(ref, &bytes, diag));
    struct tn__recycler *recycler = &frame->exec->recycler;
    tn__block_put(recycler, out->block);
    out->block = NULL;
    TN_TRY(tn__block_get(recycler, bytes, &out->block, diag));
    tn__value_pack(ref, tn__block_data(out->block), &out->ref);
    return TN_OK;
}

/* An output that a dynamic step made. */
static tn_status take_dynamic(
    struct tn__frame *frame, uint32_t k, tn_value_id v, struct tn_diag *diag) {
    struct tn__set *set = frame->set;
    struct tn_out *out = &tn__frame_outs(frame)[k];
    const struct tn_value_ref *ref = &set->refs[v];
    struct tn__block *block = set->blocks[v];
    if (out->block != block) {
        tn__block_put(&frame->exec->recycler, out->block);
        out->block = block;
        if (block) block->refs++;
    }
    out->ref = *ref;
    if (ref->kind != TN_KIND_TENSOR) return TN_OK;
    TN_TRY(tn__out_describe(out, ref->as.tensor, diag));
    if (out->detour) {
        memcpy(out->bound, ref->as.tensor->data, ref->as.tensor->size);
        out->tensor.data = out->bound;
    }
    return TN_OK;
}

static tn_status finish_outputs(struct tn__frame *frame) {
    const struct tn__set *set = frame->set;
    const struct tn_graph *g = frame->program->graph;
    struct tn_diag *diag = frame->exec->diag;
    for (uint32_t i = 0; i < set->n_copies; i++)
        TN_TRY(copy_output(frame, &set->copies[i], diag));
    uint32_t copied = 0;
    for (uint32_t k = 0; k < g->n_outputs; k++) {
        if (copied < set->n_copies && set->copies[copied].output == k) {
            copied++;
            continue;
        }
        tn_value_id v = g->outputs[k];
        struct tn_out *out = &tn__frame_outs(frame)[k];
        if (set->places[v].kind == TN_PLACE_DYNAMIC)
            TN_TRY(take_dynamic(frame, k, v, diag));
        else if (out->detour)
            memcpy(out->bound, set->tensors[v].data, set->tensors[v].size);
    }
    return TN_OK;
}

tn_status tn__frame_run(struct tn__frame *frame) {
    struct tn__exec *exec = frame->exec;
    const struct tn__plan *plan = frame->program->plan;
    for (uint32_t p = 0; p < plan->n_plugins; p++)
        frame->runs[p].diag = exec->diag;
    tn_status status = exec->profiling || exec->deadline_ns || exec->terminate
                           ? run_checked(exec, frame->set)
                           : run_plain(exec, frame->set);
    if (status == TN_OK) return finish_outputs(frame);
    tn__exec_drain(exec);
    return status;
}
