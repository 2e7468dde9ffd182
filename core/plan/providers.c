/* The providers of a session: found by id, created with the options of their section. */
#include "core/plan/owner.h"
#include "core/plan/provider_call.h"

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

/* Size and flags of a growable struct that a provider hands over. */
static tn_status check_limits(
    const struct tn__plan_provider *provider, struct tn_diag *diag) {
    const struct tn_provider_limits *limits = provider->limits;
    if (!limits) return TN_OK;
    return tn__provider_check_head(provider, "limits", limits->struct_size, limits->flags,
        TN_END_OF(struct tn_provider_limits, flags), TN_PROVIDER_LIMITS_SIZE, diag);
}

static tn_status check_record(
    const struct tn__plan_provider *provider, struct tn_diag *diag) {
    const struct tn_context_record *record = provider->record;
    if (!record) return TN_OK;
    return tn__provider_check_head(provider, "context record", record->struct_size,
        record->flags, TN_END_OF(struct tn_context_record, arch), TN_CONTEXT_RECORD_SIZE,
        diag);
}

/* What a provider says of itself must hold before the plan relies on it. */
static tn_status check_spaces(
    const struct tn__plan_provider *provider, struct tn_diag *diag) {
    enum { MOST_SPACES = 16 };
    if (provider->n_spaces > MOST_SPACES || (provider->n_spaces && !provider->spaces))
        return tn_fail(diag, TN_PLUGIN,
            "provider '%s' has %u memory spaces, expected at most %d, with a table",
            provider->id, (unsigned)provider->n_spaces, MOST_SPACES);
    for (uint32_t i = 0; i < provider->n_spaces; i++) {
        const struct tn_space *space = provider->spaces[i];
        if (space)
            TN_TRY(tn__provider_check_head(provider, "memory space", space->struct_size,
                space->flags, TN_END_OF(struct tn_space, capacity), TN_SPACE_SIZE, diag));
        if (!space || space->id == 0 || space->reserved != 0 ||
            (space->align & (space->align - 1)) != 0 || space->align > (2u << 20))
            return tn_fail(diag, TN_PLUGIN,
                "provider '%s': memory space #%u needs an id other than 0, an "
                "alignment that is a power of two of at most 2 MiB, and 0 in what is "
                "reserved",
                provider->id, (unsigned)i);
        for (uint32_t k = 0; k < i; k++) {
            if (provider->spaces[k]->id == space->id)
                return tn_fail(diag, TN_PLUGIN,
                    "provider '%s' has two memory spaces with the id %u", provider->id,
                    (unsigned)space->id);
        }
    }
    return TN_OK;
}

static tn_status add_regions(
    struct tn__plan *plan, struct tn__plan_provider *provider, struct tn_diag *diag) {
    struct tn__region *regions = tn__arena_array(
        plan->arena, (uint64_t)plan->n_regions + provider->n_spaces, sizeof *regions);
    if (!regions) return tn__fail_memory(diag, "memory spaces", provider->n_spaces);
    if (plan->n_regions)
        memcpy(regions, plan->regions, plan->n_regions * sizeof *regions);
    provider->first_region = plan->n_regions;
    for (uint32_t i = 0; i < provider->n_spaces; i++)
        regions[plan->n_regions++] = (struct tn__region){
            (uint32_t)(provider - plan->providers), provider->spaces[i]};
    plan->regions = regions;
    return TN_OK;
}

static tn_status add_gate(struct tn__plan_provider *provider, struct tn_diag *diag) {
    const struct tn_provider_limits *limits = provider->limits;
    if (!limits || !TN_HAS(limits, max_runs)) return TN_OK;
    provider->gate = tn__gate_create(limits->max_runs);
    return provider->gate ? TN_OK : tn__fail_memory(diag, "a provider", 64);
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
    provider->reg = reg;
    tn__provider_hash_options(pairs, n, provider->options_hash);
    tn_status status = tn__provider_open(provider, pairs, n, diag);
    if (status != TN_OK) {
        provider->reg = NULL;
        return status;
    }
    status = check_limits(provider, diag);
    if (status == TN_OK) status = check_record(provider, diag);
    if (status == TN_OK) status = check_spaces(provider, diag);
    if (status == TN_OK) status = add_regions(plan, provider, diag);
    if (status == TN_OK) status = add_gate(provider, diag);
    if (status != TN_OK) tn__provider_close(provider);
    return status;
}

tn_status tn__plan_pass_over(struct tn__plan *plan, struct tn__plan_provider *provider,
    const char *why, struct tn_diag *diag) {
    provider->problem = tn__arena_format(plan->arena, "%s", why);
    if (!provider->problem) return tn__fail_memory(diag, "providers", 512);
    return tn__model_warn(
        plan->model, "provider '%s' is not used: %s", provider->id, why);
}

tn_status tn__plan_open_providers(struct tn__plan *plan, struct tn_diag *diag) {
    const struct tn__plan_options *options = plan->options;
    plan->providers =
        tn__arena_array(plan->arena, options->n_providers, sizeof *plan->providers);
    plan->regions = tn__arena_alloc(plan->arena, sizeof *plan->regions);
    if (!plan->providers || !plan->regions)
        return tn__fail_memory(diag, "providers", options->n_providers);
    plan->n_regions = 1;
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
        if (plan->policy != TN_POLICY_AUTO) {
            if (diag && diag->code == TN_OK) *diag = problem;
            return status;
        }
        TN_TRY(tn__plan_pass_over(plan, provider, problem.message, diag));
    }
    return TN_OK;
}
