/* Calls into a provider: on its owning thread where it wants that, and with failures that
 * name the provider and what it was asked for. */
#ifndef TENON_PROVIDER_CALL_H
#define TENON_PROVIDER_CALL_H

#include "core/plan/plan.h"

/* Prefixes the provider's sentence with its name and what failed, or makes one when it
 * gave none. Returns status. */
tn_status tn__provider_explain(const struct tn__plan_provider *provider, tn_status status,
    const char *what, struct tn_diag *diag);

/* Whether size and flags of a growable struct that the provider handed over can be: at
 * least `least` bytes, `full` today, no critical flag (none is defined in these). */
tn_status tn__provider_check_head(const struct tn__plan_provider *provider,
    const char *what, uint32_t size, uint32_t flags, uint64_t least, uint32_t full,
    struct tn_diag *diag);

/* [setup] Creates the instance and reads its limits and spaces. */
tn_status tn__provider_open(struct tn__plan_provider *provider,
    const char *const *options, uint32_t n_options, struct tn_diag *diag);
void tn__provider_close(struct tn__plan_provider *provider);
tn_status tn__provider_judge(const struct tn__plan_provider *provider,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *diag);
/* false when the provider has no estimate. */
bool tn__provider_estimate(const struct tn__plan_provider *provider,
    const struct tn_group *group, struct tn_estimate *out);
tn_status tn__provider_compile(const struct tn__plan_provider *provider,
    const struct tn_group *group, const struct tn_compiled **out, struct tn_diag *diag);
/* Context binaries: TN_CONTEXT_*; without a function everything is optimal. */
uint32_t tn__provider_validate(const struct tn__plan_provider *provider,
    const struct tn_context_record *record, const char **out_detail);
tn_status tn__provider_export(const struct tn__plan_provider *provider,
    const struct tn_compiled *const *compiled, uint32_t n,
    const struct tn_context_sink *sink, struct tn_diag *diag);
tn_status tn__provider_import(const struct tn__plan_provider *provider,
    const struct tn__context_node *context, const struct tn_group *const *groups,
    uint32_t n, const struct tn_compiled **out, struct tn_diag *diag);
void tn__provider_forget(
    const struct tn__plan_provider *provider, const struct tn_compiled *compiled);

/* [run] Memory of a space; address 0 is fine for free. */
tn_status tn__provider_alloc(const struct tn__plan_provider *provider,
    const struct tn_space *space, uint64_t size, void **out, struct tn_diag *diag);
void tn__provider_free(const struct tn__plan_provider *provider,
    const struct tn_space *space, void *address);
tn_status tn__provider_copy(const struct tn__plan_provider *provider,
    const struct tn_copy *copy, struct tn_diag *diag);
/* NULL when the provider has no streams. */
tn_status tn__provider_stream(
    const struct tn__plan_provider *provider, void **out, struct tn_diag *diag);
void tn__provider_stream_end(const struct tn__plan_provider *provider, void *stream);
tn_status tn__provider_sync(
    const struct tn__plan_provider *provider, void *stream, struct tn_diag *diag);
/* [run] What a compiled group or kernel needs, and what it prepares, for one shape set. */
tn_status tn__provider_workspace(const struct tn__plan_provider *provider,
    const struct tn__unit *unit, const struct tn_run_args *args, struct tn_workspace *out,
    struct tn_diag *diag);
tn_status tn__provider_prepare(const struct tn__plan_provider *provider,
    const struct tn__unit *unit, const struct tn_run_args *args, tn_compute_fn *fn,
    struct tn_diag *diag);
/* A compiled group's function, through the gate. */
tn_status tn__provider_run(const struct tn__plan_provider *provider, tn_compute_fn fn,
    void *kernel, const struct tn_run_args *args);

#endif
