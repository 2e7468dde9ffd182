/* The registry itself: one table of operators, with what is known of each, and the lists
 * of plugins, providers and passes. Lookups open the plugins that offer what is asked. */
#include "core/registry/registry_impl.h"

#include "core/base/alloc.h"
#include "core/os/processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys ------------------------------------------------------------------------ */

const char *tn__domain_name(const char *domain) {
    return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

const char *tn__domain_label(const char *domain) {
    return domain[0] ? domain : "ai.onnx";
}

bool tn__op_key(char *buf, const char *domain, const char *op_type) {
    domain = tn__domain_name(domain);
    if (strlen(domain) >= TN__NAME_MAX || strlen(op_type) >= TN__NAME_MAX) return false;
    snprintf(buf, TN__KEY_MAX, "%s\n%s", domain, op_type);
    return true;
}

bool tn__provider_key(char *buf, const char *id) {
    if (strlen(id) >= TN__NAME_MAX) return false;
    snprintf(buf, TN__KEY_MAX, "\r%s", id);
    return true;
}

bool tn__service_key(char *buf, const char *id) {
    if (strlen(id) >= TN__NAME_MAX) return false;
    snprintf(buf, TN__KEY_MAX, "\t%s", id);
    return true;
}

/* ---- operators ------------------------------------------------------------------- */

struct tn__op_entry *tn__entry_find(
    const struct tn__registry *registry, const char *domain, const char *op_type) {
    char key[TN__KEY_MAX];
    if (!tn__op_key(key, domain, op_type)) return NULL;
    uint32_t i = tn__map_get(&registry->entry_index, key);
    return i == UINT32_MAX ? NULL : registry->entries[i];
}

struct tn__op_entry *tn__entry_get(
    struct tn__registry *registry, const char *domain, const char *op_type) {
    struct tn__op_entry *entry = tn__entry_find(registry, domain, op_type);
    char buf[TN__KEY_MAX];
    if (entry || !tn__op_key(buf, domain, op_type)) return entry;
    struct tn_arena *arena = registry->arena;
    entry = tn__arena_alloc(arena, sizeof *entry);
    char *key = tn__arena_string(arena, buf, strlen(buf));
    char *domain_copy = tn__arena_string(arena, buf, strcspn(buf, "\n"));
    if (!entry || !key || !domain_copy ||
        !tn__arena_grow(arena, (void **)&registry->entries, &registry->cap_entries,
            registry->n_entries + 1, sizeof *registry->entries) ||
        !tn__map_put(&registry->entry_index, key, registry->n_entries))
        return NULL;
    entry->domain = domain_copy;
    entry->op_type = strchr(key, '\n') + 1;
    registry->entries[registry->n_entries++] = entry;
    return entry;
}

struct tn__op_entry *tn__entry_lookup(
    struct tn__registry *registry, const char *domain, const char *op_type) {
    char key[TN__KEY_MAX];
    if (!tn__op_key(key, domain, op_type)) return NULL;
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        struct tn__candidate *candidate = registry->candidates[i];
        if (candidate->state == TN__FOUND &&
            tn__map_get(&candidate->offers.index, key) != UINT32_MAX)
            tn__candidate_open(registry, candidate);
    }
    return tn__entry_find(registry, domain, op_type);
}

const struct tn_op_def *tn__registry_op(
    struct tn__registry *registry, const char *domain, const char *op_type) {
    pthread_mutex_lock(&registry->lock);
    const struct tn__op_entry *entry = tn__entry_lookup(registry, domain, op_type);
    const struct tn_op_def *def = entry ? entry->def : NULL;
    pthread_mutex_unlock(&registry->lock);
    return def;
}

const struct tn__plugin *tn__registry_op_plugin(
    struct tn__registry *registry, const struct tn_op_def *def) {
    pthread_mutex_lock(&registry->lock);
    const struct tn__op_entry *entry =
        tn__entry_find(registry, tn__domain_name(def->domain), def->op_type);
    const struct tn__plugin *plugin =
        entry && entry->def == def ? entry->def_plugin : NULL;
    pthread_mutex_unlock(&registry->lock);
    return plugin;
}

int32_t tn__op_version(const struct tn_op_def *def, int64_t opset) {
    int32_t row = -1;
    for (uint32_t i = 0; i < def->n_versions && def->versions[i].since <= opset; i++)
        row = (int32_t)i;
    return row;
}

int32_t tn__registry_domain_newest(struct tn__registry *registry, const char *domain) {
    int32_t newest = 0;
    domain = tn__domain_name(domain);
    pthread_mutex_lock(&registry->lock);
    for (uint32_t i = 0; i < registry->n_entries; i++) {
        const struct tn__op_entry *entry = registry->entries[i];
        if (!entry->def || strcmp(entry->domain, domain) != 0) continue;
        int32_t version = tn__op_newest(entry->def);
        if (version > newest) newest = version;
    }
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        const struct tn__candidate *candidate = registry->candidates[i];
        if (candidate->state != TN__FOUND) continue;
        for (uint32_t j = 0; j < candidate->n_domains; j++) {
            const struct tn__domain_offer *offer = &candidate->domains[j];
            if (offer->newest > newest && strcmp(offer->domain, domain) == 0)
                newest = offer->newest;
        }
    }
    pthread_mutex_unlock(&registry->lock);
    return newest;
}

/* ---- providers and passes -------------------------------------------------------- */

static const struct tn__registered_provider *find_provider(
    const struct tn__registry *registry, const char *id) {
    for (uint32_t i = 0; i < registry->n_providers; i++) {
        if (strcmp(registry->providers[i]->def->id, id) == 0)
            return registry->providers[i];
    }
    return NULL;
}

/* "cpu, other": registered ones and those that manifests offer. */
static void list_providers(const struct tn__registry *registry, char *buf, size_t size) {
    size_t used = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < registry->n_providers && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
            registry->providers[i]->def->id);
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        const struct tn__candidate *candidate = registry->candidates[i];
        if (candidate->state != TN__FOUND) continue;
        for (uint32_t j = 0; j < candidate->offers.n && used < size; j++) {
            if (candidate->offers.keys[j][0] == '\r')
                used += (size_t)snprintf(buf + used, size - used, "%s%s",
                    used ? ", " : "", candidate->offers.keys[j] + 1);
        }
    }
    if (used == 0) snprintf(buf, size, "none");
}

static tn_status fail_provider(
    const struct tn__registry *registry, const char *id, struct tn_diag *diag) {
    char key[TN__KEY_MAX], known[160];
    list_providers(registry, known, sizeof known);
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        const struct tn__candidate *candidate = registry->candidates[i];
        bool starved = tn__candidate_starved(candidate);
        if ((candidate->state < TN__REFUSED && !starved) || !tn__provider_key(key, id) ||
            tn__map_get(&candidate->offers.index, key) == UINT32_MAX)
            continue;
        if (diag) tn__diag_name(diag, diag->plugin, candidate->id);
        return tn_fail(diag, starved ? TN_OUT_OF_MEMORY : TN_PLUGIN,
            "provider '%s' cannot be used: %s", id, candidate->reason);
    }
    return tn_fail(diag, TN_NOT_FOUND,
        "there is no provider '%s'; providers found: %s (set plugin.path to the folder "
        "of its manifest)",
        id, known);
}

const struct tn__registered_provider *tn__registry_provider(
    struct tn__registry *registry, const char *id, struct tn_diag *diag) {
    char key[TN__KEY_MAX];
    pthread_mutex_lock(&registry->lock);
    const struct tn__registered_provider *provider = find_provider(registry, id);
    for (uint32_t i = 0; !provider && i < registry->n_candidates; i++) {
        struct tn__candidate *candidate = registry->candidates[i];
        if (candidate->state != TN__FOUND || !tn__provider_key(key, id) ||
            tn__map_get(&candidate->offers.index, key) == UINT32_MAX)
            continue;
        tn__candidate_open(registry, candidate);
        provider = find_provider(registry, id);
    }
    if (!provider) (void)fail_provider(registry, id, diag);
    pthread_mutex_unlock(&registry->lock);
    return provider;
}

const struct tn__registered_provider *tn__registry_provider_at(
    struct tn__registry *registry, uint32_t i) {
    pthread_mutex_lock(&registry->lock);
    const struct tn__registered_provider *provider =
        i < registry->n_providers ? registry->providers[i] : NULL;
    pthread_mutex_unlock(&registry->lock);
    return provider;
}

const struct tn__registered_pass *tn__registry_pass_at(
    struct tn__registry *registry, uint32_t i) {
    pthread_mutex_lock(&registry->lock);
    /* passes rewrite models that know nothing of their plugin: it is opened for them */
    for (uint32_t c = 0; i == 0 && c < registry->n_candidates; c++) {
        struct tn__candidate *candidate = registry->candidates[c];
        if (candidate->state == TN__FOUND && candidate->has_passes)
            tn__candidate_open(registry, candidate);
    }
    const struct tn__registered_pass *pass =
        i < registry->n_passes ? registry->passes[i] : NULL;
    pthread_mutex_unlock(&registry->lock);
    return pass;
}

/* ---- life ------------------------------------------------------------------------ */

static bool debug_asked(const char *what) {
    const char *debug = secure_getenv("TENON_DEBUG");
    return debug && strstr(debug, what);
}

tn_status tn__registry_create(const struct tn__conf *conf,
    const struct tn__host_services *services, struct tn__registry **out,
    struct tn_diag *diag) {
    struct tn_arena *arena = tn__arena_create();
    struct tn__registry *registry =
        arena ? tn__arena_alloc(arena, sizeof *registry) : NULL;
    if (!registry) {
        tn__arena_destroy(arena);
        return tn__fail_memory(diag, "the registry", sizeof *registry);
    }
    registry->arena = arena;
    registry->conf = conf;
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&registry->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    struct tn__cpu cpu;
    tn__cpu_detect(&cpu);
    registry->services.cpu_features = cpu.features;
    if (services) registry->services = *services;
    tn__host_services_complete(&registry->services);
    registry->host_info = tn__host_info_make(registry->services.cpu_features);
    registry->debug = debug_asked("loader");
    registry->watch_bodies = debug_asked("threads");
    tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && tn__static_plugins[i]; i++)
        status = tn__registry_add_static(registry, tn__static_plugins[i], diag);
    if (status == TN_OK && conf) status = tn__registry_search(registry, diag);
    if (status != TN_OK) {
        tn__registry_destroy(registry);
        return status;
    }
    *out = registry;
    return TN_OK;
}

void tn__registry_destroy(struct tn__registry *registry) {
    if (!registry) return;
    for (uint32_t i = registry->n_plugins; i-- > 0;) {
        const struct tn__plugin *plugin = registry->plugins[i];
        if (plugin->desc->shutdown) plugin->desc->shutdown(plugin->state);
    }
    for (uint32_t i = 0; i < registry->n_candidates; i++)
        tn__map_clear(&registry->candidates[i]->offers.index);
    tn__map_clear(&registry->entry_index);
    pthread_mutex_destroy(&registry->lock);
    tn__arena_destroy(registry->arena);
}
