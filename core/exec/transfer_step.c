/* Units that belong to a provider: copies between memory spaces, calls that go through its
 * gate, thread or stream, and the memory of its spaces. */
#include "core/base/alloc.h"
#include "core/exec/exec.h"
#include "core/plan/provider_call.h"

tn_status tn__transfer_step(void *transfer, const struct tn_run_args *args) {
    const struct tn__transfer *t = transfer;
    const struct tn__step_info *info = args->step;
    const struct tn_tensor *src = args->inputs[0].as.tensor;
    if (src->size == 0) return TN_OK;
    struct tn_copy copy = {.dst = args->outputs[0].as.tensor->data,
        .src = src->data,
        .size = src->size,
        .dst_space = t->dst_space,
        .src_space = t->src_space,
        .stream = args->stream};
    return tn__provider_copy(t->provider, &copy, info->frame->exec->diag);
}

static const struct tn__plan_provider *provider_of(const struct tn__step_info *info) {
    return &info->frame->program->plan->providers[info->unit->provider];
}

bool tn__unit_is_guarded(const struct tn__step_info *info) {
    const struct tn__plan_provider *provider = provider_of(info);
    return info->unit->serial || info->sync ||
           (info->unit->compiled && (provider->gate || provider->owner)) ||
           (info->unit->def && provider->owner);
}

tn_status tn__unit_call(
    const struct tn__step_info *info, tn_compute_fn fn, const struct tn_run_args *args) {
    const struct tn__unit *unit = info->unit;
    const struct tn__plan_provider *provider = provider_of(info);
    if (unit->serial) pthread_mutex_lock(unit->serial);
    tn_status status = unit->transfer
                           ? fn(unit->kernel, args)
                           : tn__provider_run(provider, fn, unit->kernel, args);
    if (unit->serial) pthread_mutex_unlock(unit->serial);
    if (status == TN_OK && info->sync)
        status = tn__provider_sync(provider, args->stream, info->frame->exec->diag);
    return status;
}

static tn_status note_failure(const struct tn__step_info *info, tn_status status) {
    if (status != TN_OK) info->frame->exec->failed_provider = info->unit->provider;
    return status;
}

tn_status tn__unit_workspace(const struct tn__step_info *info,
    const struct tn_run_args *args, struct tn_workspace *out, struct tn_diag *diag) {
    return note_failure(
        info, tn__provider_workspace(provider_of(info), info->unit, args, out, diag));
}

tn_status tn__unit_prepare(const struct tn__step_info *info,
    const struct tn_run_args *args, tn_compute_fn *fn, struct tn_diag *diag) {
    return note_failure(
        info, tn__provider_prepare(provider_of(info), info->unit, args, fn, diag));
}

void tn__exec_drain(const struct tn__exec *exec) {
    for (uint32_t p = 0; exec->streams && p < exec->plan->n_providers; p++) {
        struct tn_diag ignored = {0};
        if (exec->streams[p])
            (void)tn__provider_sync(
                &exec->plan->providers[p], exec->streams[p], &ignored);
    }
}

/* ---- memory --------------------------------------------------------------------------- */

void tn__region_free(
    const struct tn__plan *plan, uint32_t region, struct tn__pool_block *block) {
    const struct tn__region *r = &plan->regions[region];
    if (!r->space)
        tn__free(block->data);
    else
        tn__provider_free(&plan->providers[r->provider], r->space, block->data);
    *block = (struct tn__pool_block){0};
}

tn_status tn__region_reserve(const struct tn__frame *frame, uint32_t region,
    uint64_t size, struct tn__pool_block *block, bool *out_moved, struct tn_diag *diag) {
    const struct tn__plan *plan = frame->program->plan;
    const struct tn__region *r = &plan->regions[region];
    if (block->data && block->size >= size) return TN_OK;
    tn__region_free(plan, region, block);
    *out_moved = true;
    if (size == 0) size = 64;
    void *data = NULL;
    if (!r->space) {
        data = tn__alloc(size, 64);
        if (!data) return tn__fail_memory(diag, "the run", size);
    } else {
        frame->exec->failed_provider = r->provider;
        TN_TRY(tn__provider_alloc(
            &plan->providers[r->provider], r->space, size, &data, diag));
        frame->exec->failed_provider = UINT32_MAX;
        if (!data)
            return tn_fail(diag, TN_PLUGIN, "provider '%s' gave memory at address 0",
                plan->providers[r->provider].id);
    }
    *block = (struct tn__pool_block){data, size};
    return TN_OK;
}
