/* Context nodes in a plan: which provider may have one, and importing what belongs
 * together in one call. */
#include "core/base/alloc.h"
#include "core/base/sha256.h"
#include "core/plan/provider_call.h"

#include <stdio.h>
#include <string.h>

static const struct tn__context_node *find_context(
    const struct tn__program *program, tn_node_id node) {
    const struct tn__plan_options *options = program->plan->options;
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        if (options->contexts[i].graph == program->graph &&
            options->contexts[i].node == node)
            return &options->contexts[i];
    }
    return NULL;
}

static bool is_source(const struct tn__plan_provider *provider, const char *source) {
    if (strcmp(source, provider->id) == 0) return true;
    const char *const *names = TN_HAS(provider->reg->def, context_sources)
                                   ? provider->reg->def->context_sources
                                   : NULL;
    for (; names && *names; names++) {
        if (strcmp(*names, source) == 0) return true;
    }
    return false;
}

void tn__provider_hash_options(const char *const *pairs, uint32_t n, uint8_t out[32]) {
    struct tn_sha256 sha;
    tn__sha256_begin(&sha);
    for (uint32_t i = 0; i < 2 * n; i++)
        tn__sha256_add(&sha, pairs[i], strlen(pairs[i]) + 1);
    tn__sha256_end(&sha, out);
}

/* Why the provider cannot have the context, "" when it can. */
static const char *refuse(struct tn__program *program,
    const struct tn__plan_provider *provider, const struct tn__context_node *context) {
    static const uint8_t unknown[32];
    struct tn_arena *arena = program->plan->arena;
    const struct tn_context_record *record = context->record;
    const char *text = "", *detail = NULL;
    if (!is_source(provider, context->source))
        text = tn__arena_format(arena, "it is a context of '%.64s'", context->source);
    else if (!TN_HAS(provider->reg->def, context_import))
        text = "it imports no contexts";
    else if (context->problem[0])
        text = context->problem;
    else if (record->provider[0] && strcmp(record->provider, provider->id) != 0)
        text = tn__arena_format(
            arena, "its record is of the provider '%.64s'", record->provider);
    else if (memcmp(record->options_hash, unknown, 32) != 0 &&
             memcmp(record->options_hash, provider->options_hash, 32) != 0)
        text = "it was compiled with other options of the provider";
    if (!text || text[0]) return text;
    uint32_t verdict = tn__provider_validate(provider, record, &detail);
    if (verdict == TN_CONTEXT_OPTIMAL) return "";
    if (verdict == TN_CONTEXT_USABLE)
        (void)tn__model_warn(program->plan->model,
            "provider '%s' takes the context '%s', but compiling again is advised%s%s",
            provider->id, context->name, detail ? ": " : "", detail ? detail : "");
    if (verdict == TN_CONTEXT_USABLE) return "";
    return tn__arena_format(arena, "%.200s", detail ? detail : "the provider refuses it");
}

tn_status tn__plan_judge_contexts(
    struct tn__program *program, uint32_t index, struct tn_diag *diag) {
    const struct tn__plan_provider *provider = &program->plan->providers[index];
    for (uint32_t id = 0; id < program->graph->n_nodes; id++) {
        const struct tn__node *node = tn__node_at(program->graph, id);
        if (node->dead || !node->def || !(node->def->flags & TN_OP_CONTEXT)) continue;
        const struct tn__context_node *context = find_context(program, id);
        const char *why =
            context ? refuse(program, provider, context) : "its binary was not read";
        if (!why) return tn__fail_memory(diag, "verdicts", 256);
        *tn__verdict_of(program, index, id) =
            why[0] ? (struct tn__verdict){true, false, 0, TN_REASON_CONTEXT, why}
                   : (struct tn__verdict){true, true, UINT32_MAX - id, TN_REASON_OK, ""};
    }
    return TN_OK;
}

/* ---- importing ------------------------------------------------------------------------ */

bool tn__unit_set_context(const struct tn__program *program, struct tn__unit *unit) {
    const struct tn__node *node = tn__unit_node(unit);
    if (!node->def || !(node->def->flags & TN_OP_CONTEXT)) return false;
    unit->context = find_context(program, node->view.id);
    if (!unit->context) return false;
    unit->name = unit->context->name;
    unit->inputs = node->view.inputs;
    unit->outputs = node->view.outputs;
    unit->n_inputs = node->view.n_inputs;
    unit->n_outputs = node->view.n_outputs;
    return true;
}

struct importing {
    struct tn__unit **units;
    struct tn_group *views;
    const struct tn_group **groups;
    const struct tn_compiled **compiled;
    uint32_t n;
};

static bool belongs(const struct tn__unit *a, const struct tn__unit *b) {
    return b->context && b->provider == a->provider && !b->compiled &&
           b->context->blob == a->context->blob;
}

static tn_status import_all(struct tn__program *program, const struct tn__unit *unit,
    struct importing *job, struct tn_diag *diag) {
    for (uint32_t u = 0; u < program->n_units; u++) {
        if (!belongs(unit, &program->units[u])) continue;
        job->units[job->n] = &program->units[u];
        job->views[job->n] = tn__group_view(&program->units[u]);
        job->groups[job->n] = &job->views[job->n];
        job->n++;
    }
    TN_TRY(tn__provider_import(&program->plan->providers[unit->provider], unit->context,
        job->groups, job->n, job->compiled, diag));
    for (uint32_t i = 0; i < job->n; i++)
        job->units[i]->compiled = job->compiled[i];
    return TN_OK;
}

tn_status tn__context_import(
    struct tn__program *program, struct tn__unit *unit, struct tn_diag *diag) {
    struct importing job = {0};
    uint64_t each =
        sizeof *job.units + sizeof *job.views + sizeof *job.groups + sizeof *job.compiled;
    char *memory = tn__alloc_zero(program->n_units * each, 0);
    if (!memory) return tn__fail_memory(diag, "contexts", program->n_units * each);
    job.views = (struct tn_group *)(void *)memory;
    job.units = (struct tn__unit **)(void *)(job.views + program->n_units);
    job.groups = (const struct tn_group **)(void *)(job.units + program->n_units);
    job.compiled = (const struct tn_compiled **)(void *)(job.groups + program->n_units);
    tn_status status = import_all(program, unit, &job, diag);
    tn__free(memory);
    return status;
}
