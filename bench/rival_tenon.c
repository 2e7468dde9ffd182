/* Tenon through its application API. */
#include "rival.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct rival {
    struct tn_runtime *runtime;
    struct tn_session *session;
    struct tn_context *context;
};

uint64_t rival_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct tn_session *rival_session(struct rival *rival) {
    return rival->session;
}

static bool good(tn_status status, const struct tn_diag *diag) {
    if (status != TN_OK) fprintf(stderr, "tenon: %s\n", diag->message);
    return status == TN_OK;
}

static void tenon_close(struct rival *rival) {
    if (!rival) return;
    tn_context_destroy(rival->context);
    tn_session_destroy(rival->session);
    tn_runtime_destroy(rival->runtime);
    free(rival);
}

static struct rival *tenon_open(
    const char *model, unsigned threads, const char *library) {
    char count[16];
    struct tn_diag diag = {0};
    struct rival *rival = calloc(1, sizeof *rival);
    (void)library;
    snprintf(count, sizeof count, "%u", threads);
    struct tn_option option = {"threads", count};
    struct tn_runtime_options options = {
        .struct_size = TN_RUNTIME_OPTIONS_SIZE, .options = &option, .n_options = 1};
    struct tn_model source = {.path = model};
    if (rival && good(tn_runtime_create(&options, &rival->runtime, &diag), &diag) &&
        good(tn_session_create(rival->runtime, &source, NULL, &rival->session, &diag),
            &diag) &&
        good(tn_context_create(rival->session, &rival->context, &diag), &diag))
        return rival;
    tenon_close(rival);
    return NULL;
}

static bool tenon_run(struct rival *rival) {
    struct tn_diag diag = {0};
    return good(tn_context_run(rival->context, NULL, &diag), &diag);
}

static bool tenon_bind(struct rival *rival, const struct rival_inputs *inputs) {
    struct tn_diag diag = {0};
    for (uint32_t i = 0; i < inputs->n_inputs; i++) {
        struct tn_value_ref value = {.kind = TN_KIND_TENSOR,
            .as = {.tensor = (struct tn_tensor *)&inputs->tensors[i]}};
        if (!good(tn_context_set_input(rival->context, i, &value, &diag), &diag))
            return false;
    }
    return tenon_run(rival);
}

static const float *tenon_output(struct rival *rival, uint32_t index) {
    const struct tn_value_ref *value = tn_context_output(rival->context, index);
    return value && value->kind == TN_KIND_TENSOR ? value->as.tensor->data : NULL;
}

const struct rival_face rival_tenon = {
    "tenon", tenon_open, tenon_bind, tenon_run, tenon_output, tenon_close};
