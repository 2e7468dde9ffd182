/* What the auto policy makes of a provider that fails in a run: the context goes on, and
 * repeats the run, on a plan without it, which says so once. Under the other policies the
 * run has failed. */
#include "core/base/alloc.h"
#include "core/objects.h"
#include "core/plan/provider_call.h"

#include <stdio.h>
#include <string.h>

bool tn__fallback_wanted(const struct tn_context *context, tn_status status) {
    const struct tn_session *session = context->session;
    const struct tn__plan *plan = session->plan;
    uint32_t failed = context->exec.failed_provider; /* UINT32_MAX: none of them */
    return status != TN_OK && status != TN_CANCELLED && status != TN_DEADLINE &&
           plan->policy == TN_POLICY_AUTO && context->exec.plan == plan &&
           failed != UINT32_MAX && failed + 1 < plan->n_providers;
}

/* The plan of the last provider alone, made by the first context that needs it. */
static tn_status spare_plan(
    struct tn_session *session, struct tn__plan **out, struct tn_diag *diag) {
    tn_status status = TN_OK;
    pthread_mutex_lock(&session->spare_lock);
    if (!session->spare) {
        struct tn__plan_options options;
        status = tn__session_plan_options(session, &options, diag);
        if (status == TN_OK) {
            options.providers += options.n_providers - 1;
            options.n_providers = 1;
            status = tn__plan_create(session->model, session->runtime->registry, &options,
                &session->spare, diag);
        }
    }
    *out = session->spare;
    pthread_mutex_unlock(&session->spare_lock);
    return status;
}

/* The failure as a warning and for the placement report. */
static void tell(struct tn_session *session, const char *id, const char *why) {
    const struct tn__host_services *services = &session->runtime->services;
    char message[TN_DIAG_MESSAGE_SIZE + 128];
    snprintf(message, sizeof message,
        "provider '%s' failed in a run, which is repeated without it: %s", id, why);
    services->log(services->self, TN_LOG_WARNING, message);
    pthread_mutex_lock(&session->spare_lock);
    if (session->run_failure[0] == '\0')
        snprintf(session->run_failure, sizeof session->run_failure, "%s", message);
    pthread_mutex_unlock(&session->spare_lock);
}

/* Memory that the caller bound stays bound. */
static void move_bindings(const struct tn__frame *from, struct tn__frame *to) {
    for (uint32_t k = 0; k < from->program->graph->n_outputs; k++) {
        to->outs[k].bound = from->outs[k].bound;
        to->outs[k].bound_size = from->outs[k].bound_size;
    }
}

tn_status tn__fallback_switch(
    struct tn_context *context, const char *why, struct tn_diag *diag) {
    struct tn_session *session = context->session;
    struct tn__exec *exec = &context->exec;
    struct tn__plan *spare = NULL;
    tell(session, session->plan->providers[exec->failed_provider].id, why);
    TN_TRY(spare_plan(session, &spare, diag));
    struct tn__frame *frame = NULL, *old = context->frame;
    tn__streams_close(exec);
    if (old) tn__frame_shrink(old);
    exec->plan = spare;
    tn_status status = tn__streams_open(exec, diag);
    if (status == TN_OK)
        status = tn__frame_create(exec, spare->programs[0], NULL, &frame, diag);
    if (status != TN_OK) {
        tn__streams_close(exec);
        exec->plan = session->plan;
        return status;
    }
    if (old) move_bindings(old, frame);
    tn__frame_destroy(old);
    context->frame = frame;
    tn__profile_destroy(exec->profile);
    exec->profile = NULL;
    context->shapes_changed = context->pointers_changed = true;
    return TN_OK;
}
