/* Calibration: each compiled group is timed once, copies included, against the nodes on the
 * last provider. Groups that lose are vetoed and the plan is made again. Inputs are zeros;
 * sizes that are not known are 1. */
#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/objects.h"

#include <stdio.h>
#include <string.h>

struct input {
    struct tn_tensor tensor;
    int64_t dims[16];
};

/* ---- timing --------------------------------------------------------------------------- */

static bool make_input(
    struct tn_session *session, const struct tn_io *io, struct input *out) {
    const struct tn_type *type = &io->type;
    uint64_t bytes;
    if (type->kind != TN_KIND_TENSOR || type->dtype == TN_STRING || type->rank < 0 ||
        type->rank > 16)
        return false;
    for (int32_t i = 0; i < type->rank; i++)
        out->dims[i] = type->dims[i] < 0 ? 1 : type->dims[i];
    if (!tn_tensor_bytes(type->dtype, out->dims, (uint32_t)type->rank, &bytes))
        return false;
    out->tensor = (struct tn_tensor){.data = tn__arena_alloc(session->arena, bytes),
        .dims = out->dims,
        .size = bytes,
        .dtype = type->dtype,
        .rank = (uint32_t)type->rank};
    return out->tensor.data != NULL;
}

static bool bind_zeros(
    struct tn_session *session, struct tn_context *context, struct tn_diag *diag) {
    for (uint32_t i = 0; i < session->io[TN_INPUT].n; i++) {
        struct input *input = tn__arena_alloc(session->arena, sizeof *input);
        if (!input || !make_input(session, &session->io[TN_INPUT].items[i], input))
            return false;
        struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as.tensor = &input->tensor};
        if (tn_context_set_input(context, i, &ref, diag) != TN_OK) return false;
    }
    return true;
}

/* Nanoseconds of every unit of a plan's second run; NULL when it cannot be run so. */
static uint64_t *time_units(struct tn_session *session, struct tn__plan *plan) {
    struct tn__plan *own = session->plan;
    struct tn_context *context = NULL;
    struct tn_diag diag = {0};
    struct tn_run_options options = {.struct_size = TN_RUN_OPTIONS_SIZE, .profile = 1};
    uint64_t *times = tn__alloc_zero(plan->n_units * sizeof *times, 0);
    session->plan = plan;
    bool good = times && tn_context_create(session, &context, &diag) == TN_OK &&
                bind_zeros(session, context, &diag) &&
                tn_context_run(context, NULL, &diag) == TN_OK &&
                tn_context_run(context, &options, &diag) == TN_OK &&
                context->exec.plan == plan;
    for (uint32_t u = 0; good && u < plan->n_units; u++)
        times[u] = tn__profile_unit_ns(context->exec.profile, u);
    tn_context_destroy(context);
    session->plan = own;
    if (good) return times;
    tn__free(times);
    return NULL;
}

/* ---- weighing ------------------------------------------------------------------------- */

struct weighing {
    struct tn_session *session;
    const struct tn__program *program, *other; /* with groups; on the last provider */
    const uint64_t *times, *other_times;
    struct tn__veto *vetoes;
    uint32_t n_vetoes;
};

/* A copy counts for the group that it is made for, or whose result it moves. */
static bool is_of(const struct tn__program *program, const struct tn__unit *copy,
    const struct tn__unit *group) {
    if (copy->transfer->dst_region != 0) return copy->nodes[0] == group->nodes[0];
    uint32_t from = program->def_unit[copy->inputs[0]];
    return from != UINT32_MAX && &program->units[from] == group;
}

static uint64_t group_ns(const struct weighing *w, const struct tn__unit *group) {
    uint64_t ns = w->times[group->id];
    for (uint32_t u = 0; u < w->program->n_units; u++) {
        const struct tn__unit *unit = &w->program->units[u];
        if (unit->transfer && is_of(w->program, unit, group)) ns += w->times[unit->id];
    }
    return ns;
}

static uint64_t nodes_ns(const struct weighing *w, const struct tn__unit *group) {
    uint64_t ns = 0;
    for (uint32_t u = 0; u < w->other->n_units; u++) {
        const struct tn__unit *unit = &w->other->units[u];
        for (uint32_t i = 0; i < group->n_nodes; i++) {
            if (unit->n_nodes == 1 && unit->nodes[0] == group->nodes[i])
                ns += w->other_times[unit->id];
        }
    }
    return ns;
}

static tn_status weigh(
    struct weighing *w, const struct tn__unit *group, struct tn_diag *diag) {
    uint64_t here = group_ns(w, group), there = nodes_ns(w, group);
    if (here < there) return TN_OK;
    const char *text = tn__arena_format(w->session->arena,
        "measured %.1f µs with copies, %.1f µs on the last provider", (double)here / 1e3,
        (double)there / 1e3);
    if (!text) return tn__fail_memory(diag, "calibration", 128);
    for (uint32_t i = 0; i < group->n_nodes; i++)
        w->vetoes[w->n_vetoes++] = (struct tn__veto){
            group->provider, group->graph, group->nodes[i], TN_REASON_COST, text};
    return TN_OK;
}

static tn_status weigh_all(
    struct weighing *w, struct tn__plan_options *options, struct tn_diag *diag) {
    w->vetoes =
        tn__arena_array(w->session->arena, w->program->graph->n_nodes, sizeof *w->vetoes);
    if (!w->vetoes) return tn__fail_memory(diag, "calibration", 4096);
    for (uint32_t u = 0; u < w->program->n_units; u++) {
        if (w->program->units[u].compiled) TN_TRY(weigh(w, &w->program->units[u], diag));
    }
    options->vetoes = w->vetoes;
    options->n_vetoes = w->n_vetoes;
    return TN_OK;
}

/* ---- the whole ------------------------------------------------------------------------ */

static bool has_groups(const struct tn__plan *plan) {
    for (uint32_t u = 0; u < plan->programs[0]->n_units; u++) {
        if (plan->programs[0]->units[u].compiled) return true;
    }
    return false;
}

static tn_status plan_anew(struct tn_session *session,
    const struct tn__plan_options *options, struct tn_diag *diag) {
    tn__plan_destroy(session->plan);
    session->plan = NULL;
    return tn__plan_create(
        session->model, session->runtime->registry, options, &session->plan, diag);
}

tn_status tn__calibrate(
    struct tn_session *session, struct tn__plan_options *options, struct tn_diag *diag) {
    if (options->n_providers < 2 || !has_groups(session->plan)) return TN_OK;
    struct tn__plan_options last = *options;
    struct tn__plan *plain = NULL;
    struct tn_diag ignored = {0};
    last.providers += last.n_providers - 1;
    last.n_providers = 1;
    if (tn__plan_create(
            session->model, session->runtime->registry, &last, &plain, &ignored) != TN_OK)
        return TN_OK; /* the last provider cannot have it all: nothing to choose */
    uint64_t *times = time_units(session, session->plan);
    uint64_t *other_times = time_units(session, plain);
    struct weighing w = {.session = session,
        .program = session->plan->programs[0],
        .other = plain->programs[0],
        .times = times,
        .other_times = other_times};
    tn_status status = TN_OK;
    if (times && other_times) status = weigh_all(&w, options, diag);
    tn__free(times);
    tn__free(other_times);
    tn__plan_destroy(plain);
    if (status != TN_OK || w.n_vetoes == 0) return status;
    return plan_anew(session, options, diag);
}
