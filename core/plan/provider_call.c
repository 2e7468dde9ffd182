#include "core/plan/provider_call.h"

#include "core/plan/owner.h"

#include <stdio.h>
#include <string.h>

tn_status tn__provider_explain(const struct tn__plan_provider *provider, tn_status status,
    const char *what, struct tn_diag *diag) {
    if (status == TN_OK || !diag) return status;
    if (diag->code == TN_OK) {
        tn_fail(diag, status, "provider '%s' could not %s, without a reason",
            provider->id, what);
    } else if (strncmp(diag->message, "provider '", 10) != 0) {
        char message[2 * TN_DIAG_MESSAGE_SIZE];
        snprintf(message, sizeof message, "provider '%.64s' could not %.96s: %.511s",
            provider->id, what, diag->message);
        message[TN_DIAG_MESSAGE_SIZE - 1] = '\0';
        memcpy(diag->message, message, TN_DIAG_MESSAGE_SIZE);
    }
    tn__diag_name(diag, diag->plugin, provider->reg->plugin->desc->id);
    return status;
}

tn_status tn__provider_check_head(const struct tn__plan_provider *provider,
    const char *what, uint32_t size, uint32_t flags, uint64_t least, uint32_t full,
    struct tn_diag *diag) {
    enum { MAX_STRUCT = 4096 }; /* what grows will not reach this in a lifetime */
    if (size < least || size > MAX_STRUCT)
        return tn_fail(diag, TN_PLUGIN,
            "provider '%s': its %s has %u bytes, expected %u (at least %u); set "
            "struct_size with the macro beside the struct",
            provider->id, what, (unsigned)size, (unsigned)full, (unsigned)least);
    if (flags & TN_CRITICAL_FLAGS)
        return tn_fail(diag, TN_PLUGIN,
            "provider '%s': its %s has flags 0x%x that this host does not know; update "
            "Tenon",
            provider->id, what, (unsigned)(flags & TN_CRITICAL_FLAGS));
    return TN_OK;
}

/* ---- life ----------------------------------------------------------------------------- */

struct open_call {
    struct tn__plan_provider *provider;
    const char *const *options;
    uint32_t n_options;
    struct tn_diag *diag;
    tn_status status;
};

static void call_open(void *arg) {
    struct open_call *call = arg;
    struct tn__plan_provider *provider = call->provider;
    const struct tn_provider_def *def = provider->reg->def;
    if (TN_HAS(def, create))
        call->status =
            def->create(provider->reg->plugin->state, provider->reg->plugin->host,
                call->options, call->n_options, &provider->instance, call->diag);
    if (call->status != TN_OK) return;
    if (TN_HAS(def, limits)) provider->limits = def->limits(provider->instance);
    if (TN_HAS(def, context_record))
        provider->record = def->context_record(provider->instance);
    if (TN_HAS(def, spaces))
        def->spaces(provider->instance, &provider->spaces, &provider->n_spaces);
}

tn_status tn__provider_open(struct tn__plan_provider *provider,
    const char *const *options, uint32_t n_options, struct tn_diag *diag) {
    const struct tn_provider_def *def = provider->reg->def;
    if (n_options > 0 && !TN_HAS(def, create))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "provider '%s' takes no options, but section [provider:%s] sets '%s'",
            provider->id, provider->id, options[0]);
    if (def->flags & TN_PROVIDER_OWNING_THREAD) {
        provider->owner = tn__owner_create();
        if (!provider->owner) return tn__fail_memory(diag, "a provider's thread", 0);
    }
    struct open_call call = {provider, options, n_options, diag, TN_OK};
    tn__owner_call(provider->owner, call_open, &call);
    if (call.status != TN_OK) {
        tn__owner_destroy(provider->owner);
        provider->owner = NULL;
    }
    return tn__provider_explain(provider, call.status, "be created", diag);
}

static void call_close(void *arg) {
    const struct tn__plan_provider *provider = arg;
    provider->reg->def->destroy(provider->instance);
}

void tn__provider_close(struct tn__plan_provider *provider) {
    if (provider->reg && TN_HAS(provider->reg->def, destroy))
        tn__owner_call(provider->owner, call_close, provider);
    tn__owner_destroy(provider->owner);
    tn__gate_destroy(provider->gate);
    provider->reg = NULL;
    provider->owner = NULL;
    provider->gate = NULL;
}

/* ---- judging and compiling ------------------------------------------------------------ */

struct judge_call {
    const struct tn__plan_provider *provider;
    const struct tn_graph *graph;
    const struct tn_verdict_sink *sink;
    struct tn_diag *diag;
    tn_status status;
};

static void call_judge(void *arg) {
    struct judge_call *call = arg;
    call->status = call->provider->reg->def->capability(
        call->provider->instance, &tn__graph_api, call->graph, call->sink, call->diag);
}

tn_status tn__provider_judge(const struct tn__plan_provider *provider,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *diag) {
    struct judge_call call = {provider, graph, sink, diag, TN_OK};
    tn__owner_call(provider->owner, call_judge, &call);
    return tn__provider_explain(provider, call.status, "judge the graph", diag);
}

struct group_call {
    const struct tn__plan_provider *provider;
    const struct tn_group *group;
    struct tn_estimate *estimate;
    const struct tn_compiled *compiled;
    struct tn_diag *diag;
    tn_status status;
};

static void call_estimate(void *arg) {
    struct group_call *call = arg;
    call->provider->reg->def->estimate(
        call->provider->instance, call->group, call->estimate);
}

bool tn__provider_estimate(const struct tn__plan_provider *provider,
    const struct tn_group *group, struct tn_estimate *out) {
    *out = (struct tn_estimate){0};
    if (!provider->reg || !TN_HAS(provider->reg->def, estimate)) return false;
    struct group_call call = {.provider = provider, .group = group, .estimate = out};
    tn__owner_call(provider->owner, call_estimate, &call);
    return out->ns > 0;
}

static void call_compile(void *arg) {
    struct group_call *call = arg;
    call->status = call->provider->reg->def->compile(
        call->provider->instance, call->group, &call->compiled, call->diag);
}

static tn_status check_compiled(const struct tn__plan_provider *provider,
    const struct tn_compiled *compiled, struct tn_diag *diag) {
    return tn__provider_check_head(provider, "compiled group", compiled->struct_size,
        compiled->flags, TN_END_OF(struct tn_compiled, self), TN_COMPILED_SIZE, diag);
}

tn_status tn__provider_compile(const struct tn__plan_provider *provider,
    const struct tn_group *group, const struct tn_compiled **out, struct tn_diag *diag) {
    struct group_call call = {.provider = provider, .group = group, .diag = diag};
    tn__owner_call(provider->owner, call_compile, &call);
    if (call.status == TN_OK && call.compiled) {
        call.status = check_compiled(provider, call.compiled, diag);
        if (call.status != TN_OK) tn__provider_forget(provider, call.compiled);
    }
    if (call.status == TN_OK && !(call.compiled && TN_HAS(call.compiled, run))) {
        tn__provider_forget(provider, call.compiled);
        return tn_fail(diag, TN_PLUGIN,
            "provider '%s' compiled a group that cannot run: it has no function",
            provider->id);
    }
    if (call.status == TN_OK) *out = call.compiled;
    return tn__provider_explain(provider, call.status, "compile a group", diag);
}

static void call_forget(void *arg) {
    const struct tn_compiled *compiled = arg;
    compiled->destroy(compiled->self);
}

void tn__provider_forget(
    const struct tn__plan_provider *provider, const struct tn_compiled *compiled) {
    if (compiled && TN_HAS(compiled, destroy))
        tn__owner_call(provider->owner, call_forget, (void *)(uintptr_t)compiled);
}

/* ---- context binaries ----------------------------------------------------------------- */

struct context_call {
    const struct tn__plan_provider *provider;
    const struct tn_context_record *record;
    const char *detail;
    const struct tn_compiled *const *compiled;
    const struct tn_context_sink *sink;
    const struct tn__context_node *context;
    const struct tn_group *const *groups;
    const struct tn_compiled **out;
    uint32_t n, verdict;
    struct tn_diag *diag;
    tn_status status;
};

static void call_validate(void *arg) {
    struct context_call *call = arg;
    call->verdict = call->provider->reg->def->context_validate(
        call->provider->instance, call->record, &call->detail);
}

uint32_t tn__provider_validate(const struct tn__plan_provider *provider,
    const struct tn_context_record *record, const char **out_detail) {
    if (!TN_HAS(provider->reg->def, context_validate)) return TN_CONTEXT_OPTIMAL;
    struct context_call call = {.provider = provider, .record = record};
    tn__owner_call(provider->owner, call_validate, &call);
    *out_detail = call.detail;
    return call.verdict;
}

static void call_export(void *arg) {
    struct context_call *call = arg;
    call->status = call->provider->reg->def->context_export(
        call->provider->instance, call->compiled, call->n, call->sink, call->diag);
}

tn_status tn__provider_export(const struct tn__plan_provider *provider,
    const struct tn_compiled *const *compiled, uint32_t n,
    const struct tn_context_sink *sink, struct tn_diag *diag) {
    struct context_call call = {
        .provider = provider, .compiled = compiled, .n = n, .sink = sink, .diag = diag};
    tn__owner_call(provider->owner, call_export, &call);
    return tn__provider_explain(provider, call.status, "export its groups", diag);
}

static void call_import(void *arg) {
    struct context_call *call = arg;
    call->status = call->provider->reg->def->context_import(call->provider->instance,
        call->context->record, call->context->blob, call->context->size, call->groups,
        call->n, call->out, call->diag);
}

tn_status tn__provider_import(const struct tn__plan_provider *provider,
    const struct tn__context_node *context, const struct tn_group *const *groups,
    uint32_t n, const struct tn_compiled **out, struct tn_diag *diag) {
    struct context_call call = {.provider = provider,
        .context = context,
        .groups = groups,
        .n = n,
        .out = out,
        .diag = diag};
    tn__owner_call(provider->owner, call_import, &call);
    bool whole = call.status == TN_OK;
    for (uint32_t i = 0; i < n && whole; i++)
        whole = out[i] && check_compiled(provider, out[i], NULL) == TN_OK &&
                TN_HAS(out[i], run);
    if (call.status != TN_OK || whole)
        return tn__provider_explain(provider, call.status, "import a context", diag);
    for (uint32_t i = 0; i < n; i++)
        tn__provider_forget(provider, out[i]);
    return tn_fail(diag, TN_PLUGIN,
        "provider '%s' imported a context, but not all of its groups can run",
        provider->id);
}

/* ---- memory --------------------------------------------------------------------------- */

struct memory_call {
    const struct tn__plan_provider *provider;
    const struct tn_space *space;
    const struct tn_copy *copy;
    void *address; /* or a stream */
    uint64_t size;
    struct tn_diag *diag;
    tn_status status;
};

static void call_alloc(void *arg) {
    struct memory_call *call = arg;
    uint64_t align = call->space->align ? call->space->align : 64;
    call->status = call->provider->reg->def->space_alloc(call->provider->instance,
        call->space->id, call->size, align, &call->address, call->diag);
}

tn_status tn__provider_alloc(const struct tn__plan_provider *provider,
    const struct tn_space *space, uint64_t size, void **out, struct tn_diag *diag) {
    struct memory_call call = {
        .provider = provider, .space = space, .size = size, .diag = diag};
    tn__owner_call(provider->owner, call_alloc, &call);
    if (call.status == TN_OK) *out = call.address;
    char what[96];
    snprintf(
        what, sizeof what, "allocate %llu bytes of its memory", (unsigned long long)size);
    return tn__provider_explain(provider, call.status, what, diag);
}

static void call_free(void *arg) {
    struct memory_call *call = arg;
    call->provider->reg->def->space_free(
        call->provider->instance, call->space->id, call->address);
}

void tn__provider_free(const struct tn__plan_provider *provider,
    const struct tn_space *space, void *address) {
    struct memory_call call = {.provider = provider, .space = space, .address = address};
    if (address) tn__owner_call(provider->owner, call_free, &call);
}

static void call_copy(void *arg) {
    struct memory_call *call = arg;
    call->status =
        call->provider->reg->def->copy(call->provider->instance, call->copy, call->diag);
}

tn_status tn__provider_copy(const struct tn__plan_provider *provider,
    const struct tn_copy *copy, struct tn_diag *diag) {
    struct memory_call call = {.provider = provider, .copy = copy, .diag = diag};
    tn__owner_call(provider->owner, call_copy, &call);
    return tn__provider_explain(provider, call.status, "copy a tensor", diag);
}

/* ---- streams and runs ----------------------------------------------------------------- */

static void call_stream(void *arg) {
    struct memory_call *call = arg;
    call->status = call->provider->reg->def->stream_create(
        call->provider->instance, &call->address, call->diag);
}

tn_status tn__provider_stream(
    const struct tn__plan_provider *provider, void **out, struct tn_diag *diag) {
    *out = NULL;
    if (!provider->reg || !TN_HAS(provider->reg->def, stream_create)) return TN_OK;
    struct memory_call call = {.provider = provider, .diag = diag};
    tn__owner_call(provider->owner, call_stream, &call);
    if (call.status == TN_OK) *out = call.address;
    return tn__provider_explain(provider, call.status, "make a stream", diag);
}

static void call_stream_end(void *arg) {
    struct memory_call *call = arg;
    call->provider->reg->def->stream_destroy(call->provider->instance, call->address);
}

void tn__provider_stream_end(const struct tn__plan_provider *provider, void *stream) {
    struct memory_call call = {.provider = provider, .address = stream};
    if (stream) tn__owner_call(provider->owner, call_stream_end, &call);
}

static void call_sync(void *arg) {
    struct memory_call *call = arg;
    call->status = call->provider->reg->def->stream_sync(
        call->provider->instance, call->address, call->diag);
}

tn_status tn__provider_sync(
    const struct tn__plan_provider *provider, void *stream, struct tn_diag *diag) {
    if (!stream) return TN_OK;
    struct memory_call call = {.provider = provider, .address = stream, .diag = diag};
    tn__owner_call(provider->owner, call_sync, &call);
    return tn__provider_explain(provider, call.status, "finish its work", diag);
}

struct prepare_call {
    const struct tn__unit *unit;
    const struct tn_run_args *args;
    struct tn_workspace *need;
    tn_compute_fn *fn;
    struct tn_diag *diag;
    tn_status status;
};

static void call_workspace(void *arg) {
    struct prepare_call *call = arg;
    call->status = call->unit->workspace(call->unit->kernel, call->args, call->need);
}

tn_status tn__provider_workspace(const struct tn__plan_provider *provider,
    const struct tn__unit *unit, const struct tn_run_args *args, struct tn_workspace *out,
    struct tn_diag *diag) {
    struct prepare_call call = {.unit = unit, .args = args, .need = out};
    tn__owner_call(provider->owner, call_workspace, &call);
    if (unit->def) return call.status;
    return tn__provider_explain(
        provider, call.status, "size the workspace of a group", diag);
}

static void call_prepare(void *arg) {
    struct prepare_call *call = arg;
    call->status =
        call->unit->prepare(call->unit->kernel, call->args, call->fn, call->diag);
}

tn_status tn__provider_prepare(const struct tn__plan_provider *provider,
    const struct tn__unit *unit, const struct tn_run_args *args, tn_compute_fn *fn,
    struct tn_diag *diag) {
    struct prepare_call call = {.unit = unit, .args = args, .fn = fn, .diag = diag};
    tn__owner_call(provider->owner, call_prepare, &call);
    if (unit->def) return call.status;
    return tn__provider_explain(provider, call.status, "prepare a group", diag);
}

struct run_call {
    tn_compute_fn fn;
    void *kernel;
    const struct tn_run_args *args;
    tn_status status;
};

static void call_run(void *arg) {
    struct run_call *call = arg;
    call->status = call->fn(call->kernel, call->args);
}

tn_status tn__provider_run(const struct tn__plan_provider *provider, tn_compute_fn fn,
    void *kernel, const struct tn_run_args *args) {
    struct run_call call = {fn, kernel, args, TN_OK};
    tn__gate_enter(provider->gate);
    tn__owner_call(provider->owner, call_run, &call);
    tn__gate_leave(provider->gate);
    return call.status;
}
