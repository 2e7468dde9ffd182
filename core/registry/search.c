/* Where plugins are looked for: the folders of the configuration (plugin.path), those of
 * TENON_PLUGIN_PATH, and the one beside the library itself. Only manifests are read. The
 * current folder is never searched. */
#include "core/registry/registry_impl.h"

#include "core/base/alloc.h"
#include "core/os/dl.h"
#include "core/os/file.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MANIFESTS = 256, MAX_PATH = 4096 };

/* ---- select and disable ---------------------------------------------------------- */

/* Whether an id matches one of the patterns of a list. */
static bool matches(const char *list, const char *id) {
    while (*list) {
        list += strspn(list, ", :");
        size_t n = strcspn(list, ", :");
        char pattern[TN__NAME_MAX];
        if (n && n < sizeof pattern) {
            memcpy(pattern, list, n);
            pattern[n] = '\0';
            if (fnmatch(pattern, id, 0) == 0) return true;
        }
        list += n;
    }
    return false;
}

bool tn__plugin_enabled(
    const struct tn__registry *registry, const char *id, char *why, size_t why_size) {
    if (!registry->conf) return true;
    const char *select = tn__conf_text(registry->conf, "plugin.select");
    const char *disable = tn__conf_text(registry->conf, "plugin.disable");
    if (select[0] && !matches(select, id)) {
        snprintf(
            why, why_size, "plugin '%s' is not among plugin.select (%s)", id, select);
        return false;
    }
    if (matches(disable, id)) {
        snprintf(
            why, why_size, "plugin '%s' is disabled by plugin.disable (%s)", id, disable);
        return false;
    }
    return true;
}

/* ---- folders --------------------------------------------------------------------- */

static bool was_searched(const struct tn__registry *registry, const char *folder) {
    for (uint32_t i = 0; i < registry->n_folders; i++) {
        if (strcmp(registry->folders[i], folder) == 0) return true;
    }
    return false;
}

static void debug_line(
    const struct tn__registry *registry, const char *path, const char *text) {
    if (registry->debug) fprintf(stderr, "tenon: loader: %s: %s\n", path, text);
}

static void set_state(struct tn__registry *registry, struct tn__candidate *candidate,
    uint32_t state, tn_status code, const char *reason) {
    candidate->state = state;
    candidate->code = code;
    candidate->reason = tn__arena_string(registry->arena, reason, strlen(reason));
    if (!candidate->reason) candidate->reason = "not enough memory";
}

/* An earlier candidate of the same id takes precedence, unless it was never built. */
static const struct tn__candidate *find_earlier(
    const struct tn__registry *registry, const struct tn__candidate *candidate) {
    for (uint32_t i = 0; registry->candidates[i] != candidate; i++) {
        const struct tn__candidate *other = registry->candidates[i];
        if (other->state != TN__DISABLED && !other->missing &&
            strcmp(other->id, candidate->id) == 0)
            return other;
    }
    return NULL;
}

static tn_status add_manifest(
    struct tn__registry *registry, const char *path, struct tn_diag *diag) {
    struct tn__candidate *candidate = tn__candidate_add(registry, path, diag);
    if (!candidate) return TN_OUT_OF_MEMORY;
    struct tn_diag inner = {0};
    char why[512];
    tn_status status = tn__manifest_read(registry, path, candidate, &inner);
    if (status == TN_OUT_OF_MEMORY) return tn_fail(diag, status, "%s", inner.message);
    const struct tn__candidate *earlier =
        status == TN_OK ? find_earlier(registry, candidate) : NULL;
    if (status != TN_OK) {
        set_state(registry, candidate, TN__REFUSED, status, inner.message);
    } else if (earlier) {
        snprintf(why, sizeof why, "'%s' comes earlier in the search order",
            earlier->manifest ? earlier->manifest : earlier->path);
        set_state(registry, candidate, TN__DISABLED, TN_PLUGIN, why);
    } else if (candidate->missing) {
        snprintf(why, sizeof why,
            "plugin '%s' was not built for lack of %s; install that and build again",
            candidate->id, candidate->missing);
        set_state(registry, candidate, TN__REFUSED, TN_PLUGIN, why);
    } else if (!tn__plugin_enabled(registry, candidate->id, why, sizeof why)) {
        set_state(registry, candidate, TN__DISABLED, TN_PLUGIN, why);
    }
    debug_line(
        registry, path, candidate->state == TN__FOUND ? "found" : candidate->reason);
    return TN_OK;
}

static tn_status search_folder(
    struct tn__registry *registry, const char *folder, struct tn_diag *diag) {
    if (folder[0] != '/') {
        tn__registry_log(registry, TN_LOG_WARNING,
            "plugin folder '%s' is not an absolute path; it is not searched", folder);
        return TN_OK;
    }
    if (was_searched(registry, folder)) return TN_OK;
    const char *copy = tn__arena_string(registry->arena, folder, strlen(folder));
    if (!copy ||
        !tn__arena_grow(registry->arena, (void **)&registry->folders,
            &registry->cap_folders, registry->n_folders + 1, sizeof *registry->folders))
        return tn__fail_memory(diag, "the plugin search", 0);
    registry->folders[registry->n_folders++] = copy;
    struct tn__names names;
    struct tn_diag inner = {0};
    tn_status status = tn__dir_list(folder, ".plugin.ini", MAX_MANIFESTS, &names, &inner);
    if (status != TN_OK) {
        debug_line(registry, folder, inner.message);
        return status == TN_OUT_OF_MEMORY ? tn_fail(diag, status, "%s", inner.message)
                                          : TN_OK;
    }
    for (uint32_t i = 0; i < names.n && status == TN_OK; i++) {
        char *path = tn__path_join(folder, names.items[i]);
        status = path ? add_manifest(registry, path, diag)
                      : tn__fail_memory(diag, "a path", 0);
        tn__free(path);
    }
    tn__names_free(&names);
    return status;
}

/* Folders of a list separated by colons or commas; empty items would mean the current
 * folder and are skipped. */
static tn_status search_list(
    struct tn__registry *registry, const char *list, struct tn_diag *diag) {
    while (*list) {
        size_t n = strcspn(list, ":,");
        char folder[MAX_PATH];
        if (n && n < sizeof folder) {
            memcpy(folder, list, n);
            folder[n] = '\0';
            TN_TRY(search_folder(registry, folder, diag));
        }
        list += n + (list[n] != '\0');
    }
    return TN_OK;
}

/* The folder that lies beside this library wherever it was moved. */
static tn_status search_beside(struct tn__registry *registry, struct tn_diag *diag) {
    static const char anchor = 0;
    const char *file = tn__dl_file_of(&anchor);
    char *real = NULL;
    struct tn_diag ignored = {0};
    if (!file || tn__path_real(file, &real, &ignored) != TN_OK) return TN_OK;
    *strrchr(real, '/') = '\0';
    char *folder = tn__path_join(real, "tenon/plugins");
    tn_status status = folder ? search_folder(registry, folder, diag)
                              : tn__fail_memory(diag, "a path", 0);
    tn__free(folder);
    tn__free(real);
    return status;
}

tn_status tn__registry_search(struct tn__registry *registry, struct tn_diag *diag) {
    if (tn__static_plugins[0]) return TN_OK; /* such a build opens no libraries */
    TN_TRY(search_list(registry, tn__conf_text(registry->conf, "plugin.path"), diag));
    const char *environment = secure_getenv("TENON_PLUGIN_PATH");
    if (environment) TN_TRY(search_list(registry, environment, diag));
    TN_TRY(search_beside(registry, diag));
    return search_folder(registry, TN_PLUGIN_DIR, diag);
}
