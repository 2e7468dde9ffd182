/* The providers of a session: found by id, created with the options of their section. */
#include "core/plan/plan.h"

#include <stdio.h>
#include <string.h>

/* Pairs {key, value} of section [provider:<id>]. */
static tn_status collect_options(struct tn__plan *plan, const char *id,
    const char *const **out_pairs, uint32_t *out_n, struct tn_diag *diag) {
    char section[128];
    const struct tn__conf *conf = plan->options->conf;
    const char *key, *value;
    uint32_t n = 0;
    *out_pairs = NULL;
    *out_n = 0;
    if (!conf) return TN_OK;
    snprintf(section, sizeof section, "provider:%s", id);
    while (tn__conf_section_at(conf, section, n, &key, &value))
        n++;
    const char **pairs = tn__arena_array(plan->arena, 2 * (uint64_t)n, sizeof *pairs);
    if (!pairs) return tn__fail_memory(diag, "provider options", 2 * (uint64_t)n * 8);
    for (uint32_t i = 0; i < n; i++)
        tn__conf_section_at(conf, section, i, &pairs[2 * i], &pairs[2 * i + 1]);
    *out_pairs = pairs;
    *out_n = n;
    return TN_OK;
}

static tn_status open_provider(
    struct tn__plan *plan, struct tn__plan_provider *provider, struct tn_diag *diag) {
    const struct tn__registered_provider *reg =
        tn__registry_provider(plan->registry, provider->id, diag);
    if (!reg)
        return tn_fail(
            diag, TN_NOT_FOUND, "no plugin offers a provider '%s'", provider->id);
    const char *const *pairs;
    uint32_t n;
    TN_TRY(collect_options(plan, provider->id, &pairs, &n, diag));
    void *instance = NULL;
    if (TN_HAS(reg->def, create)) {
        tn_status status = reg->def->create(
            reg->plugin->state, reg->plugin->host, pairs, n, &instance, diag);
        if (status != TN_OK) {
            tn_fail(diag, status, "provider '%s' of %s could not be created",
                provider->id, reg->plugin->desc->id);
            tn__diag_name(diag, diag ? diag->plugin : NULL, reg->plugin->desc->id);
            return status;
        }
    } else if (n > 0) {
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "provider '%s' takes no options, but section [provider:%s] sets '%s'",
            provider->id, provider->id, pairs[0]);
    }
    provider->reg = reg;
    provider->instance = instance;
    return TN_OK;
}

tn_status tn__plan_open_providers(struct tn__plan *plan, struct tn_diag *diag) {
    const struct tn__plan_options *options = plan->options;
    plan->providers =
        tn__arena_array(plan->arena, options->n_providers, sizeof *plan->providers);
    if (!plan->providers) return tn__fail_memory(diag, "providers", options->n_providers);
    for (uint32_t i = 0; i < options->n_providers; i++) {
        struct tn__plan_provider *provider = &plan->providers[i];
        const char *id = options->providers[i];
        provider->id = tn__arena_string(plan->arena, id, strlen(id));
        provider->problem = "";
        if (!provider->id) return tn__fail_memory(diag, "providers", strlen(id));
        plan->n_providers = i + 1;
        struct tn_diag problem = {0};
        tn_status status = open_provider(plan, provider, &problem);
        if (status == TN_OK) continue;
        if (plan->policy != TN_POLICY_AUTO || status == TN_OUT_OF_MEMORY) {
            if (diag && diag->code == TN_OK) *diag = problem;
            return status;
        }
        provider->problem = tn__arena_format(plan->arena, "%s", problem.message);
        if (!provider->problem) return tn__fail_memory(diag, "providers", 512);
        TN_TRY(tn__model_warn(
            plan->model, "provider '%s' is not used: %s", provider->id, problem.message));
    }
    return TN_OK;
}
