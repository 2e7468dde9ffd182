/* A run in one call, and outputs that leave their context. */
#include "core/base/alloc.h"
#include "core/objects.h"

/* ---- taking --------------------------------------------------------------------------- */

static bool lies_in(struct tn__block *block, const void *p) {
    return (uintptr_t)p - (uintptr_t)tn__block_data(block) < block->capacity;
}

/* Gives the block of output k to the caller; NULL when something else is in it too. */
static struct tn__block *release_block(struct tn_context *context, uint32_t k) {
    struct tn__frame *frame = context->frame;
    struct tn__set *set = frame->set;
    struct tn_out *out = &tn__frame_outs(frame)[k];
    struct tn__block *block = out->block,
                     **made = &set->blocks[frame->program->graph->outputs[k]];
    bool dynamic = *made == block;
    if (!block || block->refs != (dynamic ? 2u : 1u)) return NULL;
    if (dynamic) *made = NULL;
    out->block = NULL;
    out->ref = (struct tn_value_ref){0};
    context->exec.recycler.in_use -= block->capacity;
    context->pointers_changed = true;
    return block;
}

tn_status tn_context_take_output(struct tn_context *context, uint32_t index,
    struct tn_value **out, struct tn_diag *diag) {
    const struct tn_value_ref *found = tn_context_output(context, index);
    if (!out || !found)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "there is no output %u: the last run failed, or the model has fewer",
            (unsigned)index);
    struct tn_value_ref ref = *found;
    struct tn_out *slot = &tn__frame_outs(context->frame)[index];
    const struct tn_tensor *t = ref.kind == TN_KIND_TENSOR ? ref.as.tensor : NULL;
    bool packed = slot->block && ref.as.ptr && lies_in(slot->block, ref.as.ptr);
    bool plain =
        slot->block && t && t->dtype != TN_STRING && lies_in(slot->block, t->data);
    if (!packed && !plain) return tn_value_copy(&ref, out, diag);
    struct tn_value *value = NULL;
    TN_TRY(packed ? tn__value_point(&ref, &value, diag)
                  : tn__value_describe(t, &value, diag));
    struct tn__block *block = release_block(context, index);
    if (!block) {
        tn_value_release(&value);
        return tn_value_copy(&ref, out, diag);
    }
    tn__value_own(value, block);
    *out = value;
    return TN_OK;
}

/* ---- calling -------------------------------------------------------------------------- */

/* Whether the shape of output k follows from those of the inputs. */
static bool is_fixed(const struct tn_context *context, uint32_t k) {
    const struct tn__frame *frame = context->frame;
    tn_value_id v = frame->program->graph->outputs[k];
    const struct tn_type *type = &frame->set->types[v];
    return frame->set->places[v].kind != TN_PLACE_DYNAMIC && tn__type_is_concrete(type) &&
           type->dtype != TN_STRING;
}

static tn_status bind(const struct tn_call *call) {
    for (uint32_t i = 0; i < call->n_inputs; i++)
        TN_TRY(tn_context_set_input(call->context, i, &call->inputs[i], call->diag));
    for (uint32_t k = 0; k < call->n_outputs; k++) {
        const struct tn_call_output *want = &call->outputs[k];
        const struct tn_out *now = &tn__frame_outs(call->context->frame)[k];
        if (now->bound == want->buffer && now->bound_size == want->size) continue;
        TN_TRY(tn_context_bind_output(
            call->context, k, want->buffer, want->size, call->diag));
    }
    return TN_OK;
}

tn_status tn_call_run(const struct tn_call *call) {
    if (!call || !call->context)
        return tn_fail(
            call ? call->diag : NULL, TN_INVALID_ARGUMENT, "a call without a context");
    struct tn_context *context = call->context;
    TN_TRY(tn__options_check(call->struct_size, call->flags, "tn_call", call->diag));
    uint32_t n_outputs = context->session->io[TN_OUTPUT].n;
    if (call->n_inputs != context->n_inputs || call->n_outputs != n_outputs)
        return tn_fail(call->diag, TN_INVALID_ARGUMENT,
            "a call has %u inputs and %u outputs, but the model has %u and %u",
            (unsigned)call->n_inputs, (unsigned)call->n_outputs,
            (unsigned)context->n_inputs, (unsigned)n_outputs);
    TN_TRY(bind(call));
    TN_TRY(tn_context_run(context, call->options, call->diag));
    for (uint32_t k = 0; k < n_outputs; k++) {
        call->outputs[k].value = tn_context_output(context, k);
        call->outputs[k].fixed = is_fixed(context, k);
    }
    return TN_OK;
}
