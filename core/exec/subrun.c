/* Subgraphs: a control-flow kernel hands over inputs and gets outputs; the run happens in
 * the subgraph's own frame, which is made at the first call and kept. */
#include "core/exec/exec.h"
#include "core/exec/profile.h"

#include <string.h>

static tn_status wrong(
    const struct tn__step_info *info, const char *what, uint32_t index) {
    return tn_fail(info->frame->exec->diag, TN_PLUGIN,
        "kernel %s runs a subgraph with %s (input %u)", tn__unit_kernel_name(info->unit),
        what, (unsigned)index);
}

static tn_status find_frame(
    struct tn__step_info *info, const struct tn_graph *subgraph, struct tn__frame **out) {
    const struct tn__unit *unit = info->unit;
    struct tn__frame *parent = info->frame;
    uint32_t k = 0;
    while (k < unit->n_subs && unit->subs[k]->graph != subgraph)
        k++;
    if (k == unit->n_subs)
        return tn_fail(parent->exec->diag, TN_PLUGIN,
            "kernel %s runs a subgraph that is not an attribute of its node",
            tn__unit_kernel_name(unit));
    struct tn__frame **slot = &parent->subs[parent->first_sub[info->unit_index] + k];
    if (!*slot)
        TN_TRY(tn__frame_create(
            parent->exec, unit->subs[k], parent, slot, parent->exec->diag));
    *out = *slot;
    return TN_OK;
}

/* Kernels inside were created for the types that inference promised. */
static tn_status check_input(const struct tn__step_info *info, const struct tn_type *want,
    const struct tn_value_ref *got, uint32_t i) {
    if (want->kind != TN_KIND_ABSENT && got->kind != want->kind)
        return wrong(info, "a value of another kind than it was made for", i);
    if (got->kind == TN_KIND_ABSENT || !got->as.ptr) return wrong(info, "no value", i);
    if (got->kind != TN_KIND_TENSOR) return TN_OK;
    if (want->dtype != TN_UNDEFINED && want->kind == TN_KIND_TENSOR &&
        want->dtype != got->as.tensor->dtype)
        return wrong(info, "a tensor of another type than it was made for", i);
    if (got->as.tensor->strides) return wrong(info, "a strided tensor", i);
    return TN_OK;
}

static tn_status set_externals(struct tn__step_info *info, struct tn__frame *frame,
    const struct tn_value_ref *inputs, uint32_t n_inputs) {
    const struct tn__program *program = frame->program;
    const struct tn_graph *g = program->graph;
    if (n_inputs > program->n_inputs) return wrong(info, "too many inputs", n_inputs - 1);
    for (uint32_t i = 0; i < program->n_externals; i++) {
        const struct tn__value *value = tn__value_at(g, program->externals[i]);
        struct tn_value_ref *slot = &frame->externals[i];
        if (i < n_inputs) {
            TN_TRY(check_input(info, &value->type, &inputs[i], i));
            *slot = inputs[i];
        } else if (i >= program->n_inputs) {
            *slot = info->set->refs[value->outer];
        } else if (value->constant) {
            slot->kind = TN_KIND_TENSOR;
            slot->as.tensor = (struct tn_tensor *)(uintptr_t)value->constant;
        } else {
            return wrong(info, "too few inputs", i);
        }
    }
    return TN_OK;
}

/* The kernel was made for the shapes that the subgraph declares. */
static tn_status check_output(
    const struct tn__frame *frame, uint32_t k, const struct tn_value_ref *got) {
    const struct tn_graph *g = frame->program->graph;
    const struct tn_type *want = &tn__value_at(g, g->outputs[k])->type;
    if (got->kind != TN_KIND_TENSOR || want->kind != TN_KIND_TENSOR || want->rank < 0)
        return TN_OK;
    const struct tn_tensor *t = got->as.tensor;
    bool fits = t->rank == (uint32_t)want->rank;
    for (uint32_t i = 0; fits && i < t->rank; i++)
        fits = want->dims[i] < 0 || want->dims[i] == t->dims[i];
    if (fits) return TN_OK;
    return tn_fail(frame->exec->diag, TN_INVALID_MODEL,
        "output '%s' of the subgraph '%s' has another shape than the model declares",
        g->output_names[k], g->name ? g->name : "");
}

/* Swaps generations: the outputs of the run before last give up their memory. */
static void next_generation(struct tn__frame *frame) {
    tn__frame_release(frame);
    frame->generation ^= 1;
    struct tn_out *outs = tn__frame_outs(frame);
    for (uint32_t k = 0; k < frame->program->graph->n_outputs; k++) {
        tn__block_put(&frame->exec->recycler, outs[k].block);
        outs[k].block = NULL;
    }
}

static tn_status count_turn(struct tn__step_info *info, struct tn__frame *frame) {
    struct tn__exec *exec = frame->exec;
    if (frame->run_number != exec->n_runs) {
        frame->run_number = exec->n_runs;
        frame->n_turns = 0;
    }
    if (exec->limits.iterations == 0 || frame->n_turns++ < exec->limits.iterations)
        return TN_OK;
    return tn_fail(exec->diag, TN_LIMIT_EXCEEDED,
        "kernel %s ran its subgraph %llu times in one run, which is limits.iterations; "
        "raise it if the model is trusted",
        tn__unit_kernel_name(info->unit), (unsigned long long)exec->limits.iterations);
}

tn_status tn__subgraph_run(const struct tn_run *run, const struct tn_run_args *args,
    struct tn_graph *subgraph, const struct tn_value_ref *inputs, uint32_t n_inputs,
    struct tn_value_ref *outputs, uint32_t n_outputs) {
    (void)run;
    struct tn__step_info *info = args->step;
    struct tn__exec *exec = info->frame->exec;
    struct tn__frame *frame = NULL;
    TN_TRY(find_frame(info, subgraph, &frame));
    if (n_outputs > frame->program->graph->n_outputs)
        return tn_fail(exec->diag, TN_PLUGIN,
            "kernel %s wants %u outputs of a subgraph that has %u",
            tn__unit_kernel_name(info->unit), (unsigned)n_outputs,
            (unsigned)frame->program->graph->n_outputs);
    TN_TRY(count_turn(info, frame));
    next_generation(frame);
    TN_TRY(set_externals(info, frame, inputs, n_inputs));
    TN_TRY(tn__frame_select(frame, exec->diag));
    TN_TRY(tn__frame_run(frame));
    for (uint32_t k = 0; k < n_outputs; k++) {
        outputs[k] = tn__frame_outs(frame)[k].ref;
        TN_TRY(check_output(frame, k, &outputs[k]));
    }
    return TN_OK;
}
