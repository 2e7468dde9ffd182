/* Constants are offered to the kernels that read them, many kernels at a time: packing is
 * bound by memory and page faults, which threads share. */
#include "core/base/alloc.h"
#include "core/plan/plan.h"

#include <stdatomic.h>
#include <string.h>

struct job {
    struct tn__unit *unit;
    tn_status status;
    struct tn_diag diag;
};

struct packing {
    struct tn__plan *plan;
    struct job *jobs;
    _Atomic uint32_t failed; /* later jobs are not begun */
    _Atomic(struct spare *) spare;
};

/* Room for an aligned copy while a constant is packed, kept for the next one. */
struct spare {
    uint64_t size;
    void *data;
};

/* The sink of one prepack call. */
struct sink_state {
    struct packing *packing;
    struct job *job;
    const struct tn_tensor *tensor;
};

static tn_status give_buffer(void *self, const char *layout, uint64_t size,
    void **out_buffer, int32_t *out_filled, struct tn_diag *diag) {
    struct sink_state *s = self;
    if (!layout || !out_buffer || !out_filled)
        return tn_fail(
            diag, TN_PLUGIN, "a kernel asks for a packed buffer without layout");
    return tn__weights_get(s->packing->plan->options->weights, s->tensor,
        s->job->unit->plugin->desc->id, layout, size,
        s->packing->plan->options->share_weights, &s->job->unit->weights, out_buffer,
        out_filled, diag);
}

static struct spare *take_spare(struct packing *packing, uint64_t size) {
    struct spare *spare = atomic_exchange(&packing->spare, NULL);
    if (!spare) spare = tn__alloc_zero(sizeof *spare, 0);
    if (!spare || spare->size >= size) return spare;
    tn__free(spare->data);
    spare->data = tn__alloc(size, 0);
    spare->size = spare->data ? size : 0;
    if (spare->data) return spare;
    tn__free(spare);
    return NULL;
}

static void give_spare(struct packing *packing, struct spare *spare) {
    struct spare *other = atomic_exchange(&packing->spare, spare);
    if (other) tn__free(other->data);
    tn__free(other);
}

static tn_status prepack_input(
    struct packing *packing, struct job *job, uint32_t input, const struct tn_tensor *t) {
    struct tn__unit *unit = job->unit;
    struct tn__weight_ref *before = unit->weights;
    struct sink_state state = {packing, job, t};
    struct tn_prepack sink = {TN_PREPACK_SIZE, 0, &state, give_buffer};
    uint32_t result = TN_PREPACK_NONE;
    struct tn_tensor aligned = *t; /* for the time of packing only */
    struct spare *copy = NULL;
    if (!tn__tensor_aligned(t)) {
        copy = take_spare(packing, t->size);
        if (!copy) return tn__fail_memory(&job->diag, "a constant to pack", t->size);
        aligned.data = memcpy(copy->data, t->data, t->size);
        /* before packing, so that three copies are never in memory at once */
        tn__model_forget(packing->plan->model, t->data, t->size);
    }
    tn_status status =
        unit->def->prepack(unit->kernel, input, &aligned, &sink, &result, &job->diag);
    if (copy) give_spare(packing, copy);
    if (status != TN_OK) return status;
    tn__weights_ready(unit->weights, before);
    if (result == TN_PREPACK_DROP && input < 64)
        unit->packed_inputs |= UINT64_C(1) << input;
    if (result == TN_PREPACK_DROP || copy) /* the sharing of weights looked at it too */
        tn__model_forget(packing->plan->model, t->data, t->size);
    return TN_OK;
}

static void prepack_unit(struct packing *packing, struct job *job) {
    struct tn__unit *unit = job->unit;
    for (uint32_t i = 0; i < unit->n_inputs; i++) {
        if (unit->inputs[i] == TN_NO_ID) continue;
        const struct tn_tensor *t = tn__constant_of(unit->graph, unit->inputs[i]);
        if (!t) continue;
        job->status = prepack_input(packing, job, i, t);
        if (job->status == TN_OK) continue;
        tn_fail(&job->diag, job->status,
            "kernel %s of plugin %s could not pack its constant input %u",
            tn__unit_kernel_name(unit), unit->plugin->desc->id, (unsigned)i);
        tn__diag_name(&job->diag, job->diag.plugin, unit->plugin->desc->id);
        tn__node_context(&job->diag, tn__unit_node(unit), job->status);
        atomic_store(&packing->failed, 1);
        return;
    }
}

static void prepack_range(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    (void)worker;
    struct packing *packing = arg;
    for (int64_t i = begin; i < end && !atomic_load(&packing->failed); i++)
        prepack_unit(packing, &packing->jobs[i]);
}

static uint32_t collect_jobs(struct tn__plan *plan, struct job *jobs) {
    uint32_t n = 0;
    for (uint32_t p = 0; p < plan->n_programs; p++) {
        for (uint32_t i = 0; i < plan->programs[p]->n_units; i++) {
            struct tn__unit *unit = &plan->programs[p]->units[i];
            if (!unit->def || !TN_HAS(unit->def, prepack)) continue;
            if (jobs) jobs[n].unit = unit;
            n++;
        }
    }
    return n;
}

static tn_status run_jobs(struct tn__plan *plan, struct packing *packing, uint32_t n) {
    const struct tn__host_services *services = plan->options->services;
    if (services)
        services->parallel_for(services->self, n, 1, prepack_range, packing);
    else
        prepack_range(packing, 0, n, 0);
    for (uint32_t i = 0; i < n; i++)
        TN_TRY(packing->jobs[i].status);
    return TN_OK;
}

static tn_status align_value(struct tn__plan *plan, const struct tn_graph *g,
    tn_value_id v, struct tn_diag *diag) {
    const struct tn_graph *home = g;
    if (v != TN_NO_ID) v = tn__origin_of(&home, v);
    const struct tn_tensor *t = v == TN_NO_ID ? NULL : tn__value_at(home, v)->constant;
    if (!t) return TN_OK;
    if (!tn__tensor_align(plan->model, t))
        return tn__fail_memory(diag, "a constant", t->size);
    struct tn__resource *block = tn__model_find_block(plan->model, t->data);
    if (block) block->needed = true;
    return TN_OK;
}

/* What kernels will read while they run, and what is an output or input as it is.
 * *out_opaque: a compiled group may have kept addresses that the plan does not see. */
static tn_status align_rest(
    struct tn__plan *plan, bool *out_opaque, struct tn_diag *diag) {
    for (uint32_t p = 0; p < plan->n_programs; p++) {
        const struct tn__program *program = plan->programs[p];
        const struct tn_graph *g = program->graph;
        for (uint32_t u = 0; u < program->n_units; u++) {
            const struct tn__unit *unit = &program->units[u];
            *out_opaque |=
                unit->compiled && !(unit->compiled->flags & TN_COMPILED_DROPS_WEIGHTS);
            if (unit->transfer || unit->compiled) continue;
            for (uint32_t i = 0; i < unit->n_inputs; i++) {
                if (i >= 64 || !(unit->packed_inputs >> i & 1))
                    TN_TRY(align_value(plan, g, unit->inputs[i], diag));
            }
        }
        for (uint32_t i = 0; i < g->n_outputs; i++)
            TN_TRY(align_value(plan, g, g->outputs[i], diag));
        for (uint32_t i = 0; i < g->n_inputs; i++)
            TN_TRY(align_value(plan, g, g->inputs[i], diag));
    }
    return TN_OK;
}

static tn_status pack_all(struct tn__plan *plan, struct tn_diag *diag) {
    uint32_t n = collect_jobs(plan, NULL);
    if (n == 0 || !plan->options->weights) return TN_OK;
    struct job *jobs = tn__alloc_zero((uint64_t)n * sizeof *jobs, 0);
    if (!jobs) return tn__fail_memory(diag, "packing weights", n * sizeof *jobs);
    collect_jobs(plan, jobs);
    struct packing packing = {.plan = plan, .jobs = jobs};
    tn_status status = run_jobs(plan, &packing, n);
    give_spare(&packing, NULL);
    for (uint32_t i = 0; i < n && status != TN_OK; i++) {
        if (jobs[i].status == TN_OK) continue;
        if (diag && diag->code == TN_OK) *diag = jobs[i].diag;
        break;
    }
    for (uint32_t i = 0; i < n && status == TN_OK; i++)
        plan->packed_bytes += tn__weights_list_bytes(jobs[i].unit->weights);
    tn__free(jobs);
    return status;
}

tn_status tn__plan_prepack(struct tn__plan *plan, struct tn_diag *diag) {
    bool opaque = plan->options->keep_weights;
    TN_TRY(pack_all(plan, diag));
    TN_TRY(align_rest(plan, &opaque, diag));
    if (!opaque) tn__model_drop_blocks(plan->model);
    return TN_OK;
}
