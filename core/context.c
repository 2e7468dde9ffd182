/* A context: one caller's inputs, outputs and runs. */
#include "core/base/alloc.h"
#include "core/exec/fp_mode.h"
#include "core/objects.h"
#include "core/os/clock.h"
#include "core/plan/provider_call.h"

#include <string.h>

/* ---- streams -------------------------------------------------------------------------- */

void tn__streams_close(struct tn__exec *exec) {
    for (uint32_t p = 0; exec->streams && p < exec->plan->n_providers; p++)
        tn__provider_stream_end(&exec->plan->providers[p], exec->streams[p]);
    tn__free(exec->streams);
    exec->streams = NULL;
}

tn_status tn__streams_open(struct tn__exec *exec, struct tn_diag *diag) {
    uint32_t n = exec->plan->n_providers;
    exec->streams = tn__alloc_zero(n * sizeof *exec->streams, 0);
    if (!exec->streams) return tn__fail_memory(diag, "a context", n * 8);
    for (uint32_t p = 0; p < n; p++) {
        tn_status status =
            tn__provider_stream(&exec->plan->providers[p], &exec->streams[p], diag);
        if (status == TN_OK) continue;
        exec->failed_provider = p;
        return status;
    }
    return TN_OK;
}

/* ---- life ----------------------------------------------------------------------------- */

static tn_status fill_context(struct tn_context *context, struct tn_diag *diag) {
    if (!context->inputs)
        return tn__fail_memory(diag, "a context", context->n_inputs * 64);
    TN_TRY(tn__streams_open(&context->exec, diag));
    return tn__frame_create(
        &context->exec, context->exec.plan->programs[0], NULL, &context->frame, diag);
}

tn_status tn_context_create(
    struct tn_session *session, struct tn_context **out, struct tn_diag *diag) {
    if (!session || !out)
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "no session, or no place for a context");
    if (session->plan->dry)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the session was made with dry_run: it reports, but does not run");
    struct tn_context *context = tn__alloc_zero(sizeof *context, 0);
    if (!context) return tn__fail_memory(diag, "a context", sizeof *context);
    context->session = session;
    context->exec.plan = session->plan;
    context->exec.limits = session->limits;
    context->exec.recycler.limit = session->limits.run_bytes;
    context->exec.bump.limit = session->limits.run_bytes;
    context->exec.failed_provider = UINT32_MAX;
    context->n_inputs = session->io[TN_INPUT].n + session->io[TN_OVERRIDABLE].n;
    context->shapes_changed = context->pointers_changed = true;
    context->inputs = tn__alloc_zero(context->n_inputs * sizeof *context->inputs, 0);
    struct tn_diag own = {0};
    tn_status status = fill_context(context, &own);
    if (tn__fallback_wanted(context, status)) {
        struct tn_diag first = own;
        own = (struct tn_diag){0};
        status = tn__fallback_switch(context, first.message, &own);
    }
    if (diag && diag->code == TN_OK && status != TN_OK) *diag = own;
    if (status != TN_OK) {
        tn_context_destroy(context);
        return status;
    }
    *out = context;
    return TN_OK;
}

void tn_context_destroy(struct tn_context *context) {
    if (!context) return;
    for (uint32_t i = 0; context->inputs && i < context->n_inputs; i++)
        tn__free(context->inputs[i].dims);
    tn__free(context->inputs);
    tn__exec_drain(&context->exec);
    tn__frame_destroy(context->frame);
    tn__streams_close(&context->exec);
    tn__recycler_clear(&context->exec.recycler);
    tn__bump_free(&context->exec.bump);
    tn__profile_destroy(context->exec.profile);
    tn__free(context);
}

/* ---- binding -------------------------------------------------------------------------- */

/* Keeps the caller's tensor: its dims as a copy, its data as a pointer. */
static tn_status keep_tensor(struct tn_context *context, struct tn__bound *input,
    const struct tn_tensor *t, struct tn_diag *diag) {
    bool same =
        input->ref.kind == TN_KIND_TENSOR && input->tensor.rank == t->rank &&
        input->tensor.dtype == t->dtype &&
        (t->rank == 0 || memcmp(input->dims, t->dims, t->rank * sizeof *t->dims) == 0);
    if (same) {
        context->pointers_changed =
            context->pointers_changed || input->tensor.data != t->data;
        input->tensor.data = t->data;
        return TN_OK;
    }
    if (t->rank > input->cap_dims) {
        uint32_t cap = t->rank < 8 ? 8 : t->rank;
        int64_t *dims = tn__alloc(cap * sizeof *dims, 0);
        if (!dims) return tn__fail_memory(diag, "an input", cap * sizeof *dims);
        tn__free(input->dims);
        input->dims = dims;
        input->cap_dims = cap;
    }
    if (t->rank) memcpy(input->dims, t->dims, t->rank * sizeof *t->dims);
    input->tensor = *t;
    input->tensor.dims = t->rank ? input->dims : NULL;
    input->tensor.flags = 0;
    input->ref =
        (struct tn_value_ref){.kind = TN_KIND_TENSOR, .as.tensor = &input->tensor};
    context->shapes_changed = true;
    return TN_OK;
}

tn_status tn_context_set_input(struct tn_context *context, uint32_t index,
    const struct tn_value_ref *value, struct tn_diag *diag) {
    const struct tn_session *session = context->session;
    uint32_t n = session->io[TN_INPUT].n;
    if (index >= context->n_inputs || !value)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the model has no input %u; it has %u inputs and %u overridable initializers",
            (unsigned)index, (unsigned)n, (unsigned)(context->n_inputs - n));
    struct tn__bound *input = &context->inputs[index];
    if (value->kind == TN_KIND_ABSENT) {
        context->shapes_changed =
            context->shapes_changed || input->ref.kind != value->kind;
        input->ref = (struct tn_value_ref){0};
        return TN_OK;
    }
    const struct tn_io *io = index < n ? &session->io[TN_INPUT].items[index]
                                       : &session->io[TN_OVERRIDABLE].items[index - n];
    TN_TRY(tn__input_check(io, value, diag));
    if (value->kind == TN_KIND_TENSOR)
        return keep_tensor(context, input, value->as.tensor, diag);
    input->ref = *value;
    context->shapes_changed = true;
    return TN_OK;
}

tn_status tn_context_bind_output(struct tn_context *context, uint32_t index, void *buffer,
    uint64_t size, struct tn_diag *diag) {
    const struct tn__io_list *outputs = &context->session->io[TN_OUTPUT];
    if (index >= outputs->n)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "the model has no output %u; it has %u",
            (unsigned)index, (unsigned)outputs->n);
    const struct tn_io *io = &outputs->items[index];
    bool numeric = io->type.kind == TN_KIND_TENSOR || io->type.kind == TN_KIND_ABSENT;
    if (buffer && (!numeric || io->type.dtype == TN_STRING))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "output '%s' is not a numeric tensor: a buffer cannot be bound to it",
            io->name);
    uint64_t item = tn_dtype_bits(io->type.dtype) / 8;
    if (item > 8 || item == 0) item = 8;
    if ((uintptr_t)buffer % item != 0)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the buffer for output '%s' is not aligned to its elements; align it to 64 "
            "bytes",
            io->name);
    struct tn_out *out = &context->frame->outs[index];
    out->bound = buffer;
    out->bound_size = size;
    out->detour = false;
    context->pointers_changed = true;
    return TN_OK;
}

/* ---- running -------------------------------------------------------------------------- */

/* Brings the frame up to date with what was bound since the last run. */
static tn_status prepare_run(struct tn_context *context, struct tn_diag *diag) {
    struct tn_session *session = context->session;
    struct tn__frame *frame = context->frame;
    const struct tn_graph *g = frame->program->graph;
    if (context->shapes_changed) TN_TRY(tn__inputs_check(context, diag));
    for (uint32_t i = 0; i < context->n_inputs; i++) {
        struct tn_value_ref *slot = &frame->externals[session->externals[i]];
        *slot = context->inputs[i].ref;
        if (slot->kind != TN_KIND_ABSENT) continue;
        const struct tn__value *value = tn__value_at(g, g->inputs[session->externals[i]]);
        slot->kind = TN_KIND_TENSOR;
        slot->as.tensor = (struct tn_tensor *)(uintptr_t)value->constant;
    }
    TN_TRY(tn__frame_select(frame, diag));
    atomic_store_explicit(
        &session->arena_bytes, context->exec.arena_bytes, memory_order_relaxed);
    context->shapes_changed = context->pointers_changed = false;
    return TN_OK;
}

static tn_status start_profile(struct tn_context *context, struct tn_diag *diag) {
    if (context->exec.profile) return TN_OK;
    return tn__profile_create(context->exec.plan, &context->exec.profile, diag);
}

static tn_status read_options(struct tn_context *context,
    const struct tn_run_options *options, struct tn_diag *diag) {
    struct tn__exec *exec = &context->exec;
    exec->deadline_ns = 0;
    exec->terminate = NULL;
    exec->profiling = context->session->profile;
    if (options) {
        TN_TRY(tn__options_check(
            options->struct_size, options->flags, "tn_run_options", diag));
        if (TN_HAS(options, deadline_ns)) {
            uint64_t now = tn__clock_ns();
            exec->deadline_ns = options->deadline_ns > UINT64_MAX - now
                                    ? UINT64_MAX
                                    : now + options->deadline_ns;
        }
        if (TN_HAS(options, profile)) exec->profiling = true;
        if (TN_HAS(options, terminate)) exec->terminate = options->terminate;
    }
    return exec->profiling ? start_profile(context, diag) : TN_OK;
}

/* Before the steps: what the last run left is let go. */
static tn_status run_frame(struct tn_context *context, struct tn_diag *diag) {
    struct tn__exec *exec = &context->exec;
    exec->diag = diag;
    if (exec->bump.first) tn__bump_reset(&exec->bump);
    if (context->shapes_changed || context->pointers_changed)
        TN_TRY(prepare_run(context, diag));
    if (context->frame->set->n_dynamic) tn__frame_release(context->frame);
    if (!exec->profiling) return tn__frame_run(context->frame);
    uint64_t start = tn__clock_ns();
    tn_status status = tn__frame_run(context->frame);
    tn__profile_run(exec->profile, start, tn__clock_ns());
    return status;
}

/* Once more, on the plan without the provider that failed; its diagnosis is a warning then. */
static tn_status repeat_run(struct tn_context *context, struct tn_diag *diag) {
    struct tn_diag first = *diag;
    *diag = (struct tn_diag){0};
    TN_TRY(tn__fallback_switch(context, first.message, diag));
    if (context->exec.profiling) TN_TRY(start_profile(context, diag));
    return run_frame(context, diag);
}

tn_status tn_context_run(struct tn_context *context, const struct tn_run_options *options,
    struct tn_diag *diag) {
    struct tn__exec *exec = &context->exec;
    context->valid = false;
    exec->n_runs++;
    if (!diag) {
        diag = &context->diag;
        diag->code = TN_OK;
    }
    atomic_store_explicit(&exec->cancelled, 0, memory_order_relaxed);
    exec->failed_provider = UINT32_MAX;
    TN_TRY(read_options(context, options, diag));
    bool flush = context->session->flush_denormals;
    uint64_t mode = flush ? tn__fp_get() : 0;
    if (flush) tn__fp_set(mode | TN_FP_FLUSH);
    tn_status status = run_frame(context, diag);
    if (tn__fallback_wanted(context, status)) status = repeat_run(context, diag);
    if (flush) tn__fp_set(mode);
    if (exec->recycler.peak) tn__recycler_trim(&exec->recycler);
    context->valid = status == TN_OK;
    return status;
}

const struct tn_value_ref *tn_context_output(
    const struct tn_context *context, uint32_t index) {
    if (!context->valid || index >= context->session->io[TN_OUTPUT].n) return NULL;
    return &tn__frame_outs(context->frame)[index].ref;
}

void tn_context_cancel(struct tn_context *context) {
    if (context) atomic_store_explicit(&context->exec.cancelled, 1, memory_order_relaxed);
}

void tn_context_shrink(struct tn_context *context) {
    context->valid = false;
    context->shapes_changed = true;
    tn__frame_shrink(context->frame);
    tn__recycler_clear(&context->exec.recycler);
    tn__bump_free(&context->exec.bump);
}

/* ---- reports -------------------------------------------------------------------------- */

static void report_memory(
    const struct tn_context *context, uint32_t format, struct tn_text *out) {
    const struct tn__exec *exec = &context->exec;
    const struct {
        const char *name;
        uint64_t bytes;
    } rows[] = {{"arenas", exec->arena_bytes}, {"values in use", exec->recycler.in_use},
        {"values idle", exec->recycler.idle}, {"kernel scratch", exec->bump.bytes},
        {"profile", tn__profile_bytes(exec->profile)}};
    bool json = format == TN_FORMAT_JSON;
    tn__text_puts(out, json ? "{" : "");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        tn__text_printf(out, json ? "%s\"%s\": %llu" : "%s%-16s %12llu bytes\n",
            json && i ? ", " : "", rows[i].name, (unsigned long long)rows[i].bytes);
    tn__text_puts(out, json ? "}\n" : "");
}

tn_status tn_context_report(const struct tn_context *context, uint32_t report,
    uint32_t format, tn_write_fn write, void *arg, struct tn_diag *diag) {
    struct tn_text text = {0};
    if (report == TN_REPORT_PROFILE)
        tn__profile_table(context->exec.profile, format, &text);
    else if (report == TN_REPORT_TRACE)
        tn__profile_trace(context->exec.profile, &context->session->times, &text);
    else if (report == TN_REPORT_MEMORY)
        report_memory(context, format, &text);
    else
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "a context has no report %u; it has profile, trace and memory",
            (unsigned)report);
    return tn__report_write(&text, write, arg, diag);
}
