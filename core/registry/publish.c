/* Services between plugins: one publishes a table under an id, others ask the host for it.
 * The publisher is opened when it is first asked. */
#include "core/registry/registry_impl.h"

#include <string.h>

static bool publishes(const struct tn_plugin *desc, const char *id) {
    enum { MOST = 256 };
    if (!TN_HAS(desc, services) || !TN_HAS(desc, get_extension)) return false;
    for (uint32_t i = 0; i < MOST && desc->services[i]; i++) {
        if (strcmp(desc->services[i], id) == 0) return true;
    }
    return false;
}

static const void *ask(const struct tn__registry *registry, const char *id) {
    for (uint32_t i = 0; i < registry->n_plugins; i++) {
        const struct tn__plugin *plugin = registry->plugins[i];
        if (!publishes(plugin->desc, id)) continue;
        const void *service = plugin->desc->get_extension(plugin->state, id);
        if (service) return service;
    }
    return NULL;
}

const void *tn__registry_service(struct tn__registry *registry, const char *id) {
    char key[TN__KEY_MAX];
    if (!tn__service_key(key, id)) return NULL;
    pthread_mutex_lock(&registry->lock);
    const void *service = ask(registry, id);
    for (uint32_t i = 0; !service && i < registry->n_candidates; i++) {
        struct tn__candidate *candidate = registry->candidates[i];
        if (candidate->state != TN__FOUND || candidate->opening ||
            tn__map_get(&candidate->offers.index, key) == UINT32_MAX)
            continue;
        tn__candidate_open(registry, candidate);
        service = ask(registry, id);
    }
    pthread_mutex_unlock(&registry->lock);
    return service;
}
