/* From a node's domain, type and opset import to its definition and version. */
#include "core/registry/registry_impl.h"

#include "core/base/nearest.h"
#include "core/base/text.h"

#include <inttypes.h>
#include <string.h>

/* ---- messages -------------------------------------------------------------------- */

/* The folders that were searched, for "where should it have been?". */
static void folders_text(const struct tn__registry *registry, char *buf, size_t size) {
    size_t used = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < registry->n_folders && used < size; i++)
        used += (size_t)snprintf(
            buf + used, size - used, "%s%s", used ? ", " : "", registry->folders[i]);
    if (used == 0) snprintf(buf, size, "none");
}

/* Version of the domain that the graph imports, 0 when it does not. */
static int64_t imported(const struct tn_graph *g, const char *domain) {
    for (uint32_t i = 0; i < g->n_opsets; i++) {
        if (strcmp(tn__domain_name(g->opsets[i].domain), domain) == 0)
            return g->opsets[i].version;
    }
    return 0;
}

/* The usable plugins that have anything of the domain: those that were asked. */
static void asked_text(
    const struct tn__registry *registry, const char *domain, char *buf, size_t size) {
    size_t used = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < registry->n_candidates && used < size; i++) {
        const struct tn__candidate *c = registry->candidates[i];
        uint32_t d = 0;
        while (d < c->n_domains && strcmp(c->domains[d].domain, domain) != 0)
            d++;
        if (c->state >= TN__REFUSED || d == c->n_domains) continue;
        used += (size_t)snprintf(
            buf + used, size - used, "%s%s %s", used ? ", " : "", c->id, c->version);
    }
    if (used == 0) snprintf(buf, size, "none");
}

/* A plugin that offers the operator (or anything of the domain, op_type NULL) but was
 * refused or disabled, or had no memory to start. */
static const struct tn__candidate *find_refused(
    const struct tn__registry *registry, const char *domain, const char *op_type) {
    char key[TN__KEY_MAX];
    if (op_type && !tn__op_key(key, domain, op_type)) return NULL;
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        const struct tn__candidate *candidate = registry->candidates[i];
        if (candidate->state < TN__REFUSED && !tn__candidate_starved(candidate)) continue;
        if (op_type && tn__map_get(&candidate->offers.index, key) != UINT32_MAX)
            return candidate;
        for (uint32_t j = 0; !op_type && j < candidate->n_domains; j++) {
            if (strcmp(candidate->domains[j].domain, domain) == 0) return candidate;
        }
    }
    return NULL;
}

/* Offers the operator names of a domain; true when there is any. */
static bool offer_names(const struct tn__registry *registry, const char *domain,
    struct tn__nearest *nearest) {
    size_t n = strlen(domain);
    bool any = false;
    for (uint32_t i = 0; i < registry->n_entries; i++) {
        const struct tn__op_entry *entry = registry->entries[i];
        if (!entry->def || strcmp(entry->domain, domain) != 0) continue;
        tn__nearest_offer(nearest, entry->op_type);
        any = true;
    }
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        const struct tn__candidate *candidate = registry->candidates[i];
        if (candidate->state != TN__FOUND) continue;
        for (uint32_t j = 0; j < candidate->offers.n; j++) {
            const char *key = candidate->offers.keys[j];
            if (strncmp(key, domain, n) != 0 || key[n] != '\n') continue;
            tn__nearest_offer(nearest, key + n + 1);
            any = true;
        }
    }
    return any;
}

static tn_status fail_unknown(const struct tn__registry *registry,
    const struct tn_graph *g, const struct tn__node *node, const char *label,
    struct tn_diag *diag) {
    const char *domain = tn__domain_name(node->view.domain);
    const char *op_type = node->view.op_type;
    const struct tn__candidate *refused = find_refused(registry, domain, op_type);
    struct tn__nearest nearest = tn__nearest_start(op_type);
    bool known = offer_names(registry, domain, &nearest);
    if (!refused && !known) refused = find_refused(registry, domain, NULL);
    if (refused)
        return tn_fail(diag, tn__candidate_starved(refused) ? refused->code : TN_PLUGIN,
            "node %s needs operator %.80s.%.80s, whose plugin cannot be used: %s", label,
            tn__domain_label(domain), op_type, refused->reason);
    char folders[200];
    folders_text(registry, folders, sizeof folders);
    if (!known)
        return tn_fail(diag, TN_UNSUPPORTED,
            "node %s needs operator %.80s of domain '%.80s', for which no plugin was "
            "found; folders searched: %s (set plugin.path)",
            label, op_type, tn__domain_label(domain), folders);
    const char *meant = tn__nearest_get(&nearest);
    char asked[200];
    asked_text(registry, domain, asked, sizeof asked);
    return tn_fail(diag, TN_UNSUPPORTED,
        "node %s: operator '%.80s' of domain '%.80s' version %" PRId64
        " is unknown to the plugins asked (%s)%s%s%s",
        label, op_type, tn__domain_label(domain), imported(g, domain), asked,
        meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

/* ---- resolution ------------------------------------------------------------------ */

static tn_status pick_version(const struct tn_graph *g, struct tn__node *node,
    const struct tn_op_def *def, const char *label, struct tn_diag *diag) {
    const char *domain = tn__domain_name(node->view.domain);
    int64_t opset = imported(g, domain);
    if (def->flags & TN_OP_PRIVATE)
        return tn_fail(diag, TN_INVALID_MODEL,
            "node %s: operator %s of domain '%s' is made by the plugin's own rewrites "
            "and "
            "may not stand in a model",
            label, def->op_type, tn__domain_label(domain));
    if (opset == 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "node %s (%s) is of domain '%s', which the model does not import; add it to "
            "opset_import",
            label, def->op_type, tn__domain_label(domain));
    int32_t row = tn__op_version(def, opset);
    if (row < 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "node %s: operator %s exists since version %d of '%s', the model imports "
            "version %" PRId64,
            label, def->op_type, def->versions[0].since, tn__domain_label(domain), opset);
    if (def->versions[row].flags & TN_VERSION_DEPRECATED)
        return tn_fail(diag, TN_INVALID_MODEL,
            "node %s: operator %s is deprecated since version %d of '%s', the model "
            "imports version %" PRId64 "; re-export it",
            label, def->op_type, def->versions[row].since, tn__domain_label(domain),
            opset);
    node->def = def;
    node->view.since = def->versions[row].since;
    return TN_OK;
}

tn_status tn__resolve_node(struct tn__registry *registry, struct tn_graph *g,
    tn_node_id id, struct tn_diag *diag) {
    struct tn__node *node = tn__node_at(g, id);
    char label[TN_DIAG_NAME_SIZE];
    tn__node_label(node, label, sizeof label);
    pthread_mutex_lock(&registry->lock);
    const struct tn__op_entry *entry =
        tn__entry_lookup(registry, node->view.domain, node->view.op_type);
    const struct tn_op_def *def = entry ? entry->def : NULL;
    tn_status status = def ? TN_OK : fail_unknown(registry, g, node, label, diag);
    pthread_mutex_unlock(&registry->lock);
    if (status == TN_OK) status = pick_version(g, node, def, label, diag);
    return status == TN_OK ? TN_OK : tn__node_context(diag, node, status);
}

const struct tn_op_def *tn__registry_op_flagged(
    struct tn__registry *registry, uint32_t flag) {
    const struct tn_op_def *found = NULL;
    pthread_mutex_lock(&registry->lock);
    tn__candidates_open_all(registry);
    for (uint32_t i = 0; i < registry->n_entries && !found; i++) {
        const struct tn_op_def *def = registry->entries[i]->def;
        if (def && (def->flags & flag)) found = def;
    }
    pthread_mutex_unlock(&registry->lock);
    return found;
}
