/* From a file to a registered plugin: judged by its note before any of its code runs, then
 * opened, held against its note and its manifest, and registered. Whatever is refused is
 * kept with the reason, for reports. */
#include "core/registry/elf_note.h"
#include "core/registry/registry_impl.h"

#include "core/base/alloc.h"
#include "core/os/dl.h"
#include "core/os/file.h"

#include <stdio.h>
#include <string.h>

static const char manifest_suffix[] = ".plugin.ini";

struct tn__candidate *tn__candidate_add(
    struct tn__registry *registry, const char *path, struct tn_diag *diag) {
    struct tn_arena *arena = registry->arena;
    struct tn__candidate *candidate = tn__arena_alloc(arena, sizeof *candidate);
    char *copy = tn__arena_string(arena, path, strlen(path));
    if (!candidate || !copy ||
        !tn__arena_grow(arena, (void **)&registry->candidates, &registry->cap_candidates,
            registry->n_candidates + 1, sizeof *registry->candidates)) {
        (void)tn__fail_memory(diag, "a plugin", sizeof *candidate);
        return NULL;
    }
    candidate->path = copy;
    candidate->id = candidate->version = candidate->reason = "";
    registry->candidates[registry->n_candidates++] = candidate;
    return candidate;
}

/* Records how it went. */
static void settle(struct tn__registry *registry, struct tn__candidate *candidate,
    tn_status status, const struct tn_diag *diag) {
    candidate->state = status == TN_OK ? TN__LOADED : TN__REFUSED;
    candidate->code = status;
    if (status != TN_OK) {
        candidate->reason =
            tn__arena_string(registry->arena, diag->message, strlen(diag->message));
        if (!candidate->reason) candidate->reason = "not enough memory";
    }
    if (registry->debug)
        fprintf(stderr, "tenon: loader: %s: %s%s\n", candidate->path,
            status == TN_OK ? "loaded" : "refused: ", candidate->reason);
}

/* ---- opening --------------------------------------------------------------------- */

static tn_status fail_open(const char *path, const char *why, struct tn_diag *diag) {
    struct tn_text missing = {0};
    tn__elf_missing(path, &missing);
    tn_status status =
        missing.size
            ? tn_fail(diag, TN_PLUGIN,
                  "plugin '%s' cannot be opened: it needs %s, which the "
                  "system does not find; install that or set "
                  "LD_LIBRARY_PATH (%s)",
                  path, missing.data, why)
            : tn_fail(diag, TN_PLUGIN, "plugin '%s' cannot be opened: %s", path, why);
    tn__text_free(&missing);
    return status;
}

static tn_status query_descriptor(struct tn__registry *registry, const char *path,
    const struct tn_plugin **out, struct tn_diag *diag) {
    char why[512];
    void *handle = tn__dl_open(path, why, sizeof why);
    if (!handle) return fail_open(path, why, diag);
    void *symbol = tn__dl_symbol(handle, TN_PLUGIN_ENTRY_NAME);
    if (!symbol)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' does not export " TN_PLUGIN_ENTRY_NAME
            ", the entry of ABI %u; link it with the SDK's plugin.map, or rebuild it for "
            "this ABI",
            path, TN_ABI_MAJOR);
    tn_plugin_query_fn query;
    memcpy(&query, &symbol, sizeof query);
    *out = NULL;
    tn_status status = query(&registry->host_info, out);
    if (status != TN_OK)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' declines this host (Tenon " TN_VERSION
            ", ABI %u.%u, %s): code %d",
            path, TN_ABI_MAJOR, TN_ABI_MINOR, TN_TRIPLE, status);
    return TN_OK;
}

/* A plugin of this id that is loaded already. */
static const struct tn__plugin *find_plugin(
    const struct tn__registry *registry, const char *id) {
    for (uint32_t i = 0; i < registry->n_plugins; i++) {
        if (strcmp(registry->plugins[i]->desc->id, id) == 0) return registry->plugins[i];
    }
    return NULL;
}

static tn_status hold_against_note(const struct tn_plugin *desc, const char *path,
    const struct tn__elf_note *note, struct tn_diag *diag) {
    struct tn_plugin copy;
    TN_TRY(tn__descriptor_check(desc, path, &copy, diag));
    if (strcmp(copy.id, note->id) != 0)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' calls itself '%s' in its descriptor but '%s' in its note; give "
            "TN_DEFINE_PLUGIN the descriptor's id",
            path, copy.id, note->id);
    if (copy.abi_minor != note->abi_minor)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' says ABI minor %u in its descriptor but %u in its note; rebuild "
            "it",
            path, copy.abi_minor, note->abi_minor);
    return TN_OK;
}

/* Opens the library at `real` (absolute, without links). */
static tn_status open_library(struct tn__registry *registry,
    struct tn__candidate *candidate, const char *real, struct tn_diag *diag) {
    struct tn__elf_note note;
    TN_TRY(tn__file_check_safe(real, diag));
    TN_TRY(tn__elf_read_note(real, &note, diag));
    TN_TRY(tn__abi_check(
        real, note.abi_major, note.abi_minor, note.host_minor_min, note.sanitizer, diag));
    if (candidate->id[0] && strcmp(candidate->id, note.id) != 0)
        return tn_fail(diag, TN_PLUGIN,
            "manifest '%s' is of plugin '%s' but names the library '%s', which is '%s'",
            candidate->manifest, candidate->id, real, note.id);
    candidate->id = tn__arena_string(registry->arena, note.id, strlen(note.id));
    if (!candidate->id) {
        candidate->id = "";
        return tn__fail_memory(diag, "a plugin", 0);
    }
    const struct tn__plugin *other = find_plugin(registry, note.id);
    if (other && strcmp(other->path, real) == 0) {
        candidate->plugin = other;
        return TN_OK;
    }
    if (other)
        return tn_fail(diag, TN_PLUGIN,
            "plugin '%s' at '%s' is not loaded: another of this id is in use, from '%s'",
            note.id, real, other->path);
    const struct tn_plugin *desc;
    TN_TRY(query_descriptor(registry, real, &desc, diag));
    TN_TRY(hold_against_note(desc, real, &note, diag));
    struct tn__plugin *plugin;
    TN_TRY(tn__plugin_register(registry, desc, real, candidate, &plugin, diag));
    candidate->plugin = plugin;
    candidate->version = plugin->desc->version;
    return TN_OK;
}

void tn__candidate_open(struct tn__registry *registry, struct tn__candidate *candidate) {
    struct tn_diag diag = {0};
    char *real = NULL;
    if (candidate->opening) return;
    candidate->opening = true;
    tn_status status = tn__path_real(candidate->path, &real, &diag);
    if (status == TN_OK) status = open_library(registry, candidate, real, &diag);
    candidate->opening = false;
    tn__free(real);
    settle(registry, candidate, status, &diag);
    /* nothing is wrong with the plugin: whoever needs it next tries again */
    if (status == TN_OUT_OF_MEMORY) candidate->state = TN__FOUND;
    if (status != TN_OK)
        tn__registry_log(registry, TN_LOG_WARNING, "%s", candidate->reason);
}

void tn__candidates_open_all(struct tn__registry *registry) {
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        if (registry->candidates[i]->state == TN__FOUND)
            tn__candidate_open(registry, registry->candidates[i]);
    }
}

/* ---- by path --------------------------------------------------------------------- */

static bool is_manifest(const char *path) {
    size_t n = strlen(path), m = sizeof manifest_suffix - 1;
    return n >= m && strcmp(path + n - m, manifest_suffix) == 0;
}

/* A manifest that lies beside the library is read too, and must agree with it. */
static tn_status read_beside(struct tn__registry *registry,
    struct tn__candidate *candidate, const char *real, struct tn_diag *diag) {
    struct tn__elf_note note;
    TN_TRY(tn__elf_read_note(real, &note, diag));
    const char *slash = strrchr(real, '/');
    char *manifest = tn__arena_format(registry->arena, "%.*s/%s%s",
        slash ? (int)(slash - real) : 0, real, note.id, manifest_suffix);
    if (!manifest) return tn__fail_memory(diag, "a path", strlen(real));
    char *found = NULL;
    struct tn_diag ignored = {0};
    bool there = tn__path_real(manifest, &found, &ignored) == TN_OK;
    tn__free(found);
    return there ? tn__manifest_read(registry, manifest, candidate, diag) : TN_OK;
}

static tn_status load_path(struct tn__registry *registry, struct tn__candidate *candidate,
    const char *path, struct tn_diag *diag) {
    if (is_manifest(path)) TN_TRY(tn__manifest_read(registry, path, candidate, diag));
    char *real = NULL;
    TN_TRY(tn__path_real(candidate->path, &real, diag));
    tn_status status = TN_OK;
    if (!candidate->manifest) status = read_beside(registry, candidate, real, diag);
    if (status == TN_OK) status = open_library(registry, candidate, real, diag);
    tn__free(real);
    return status;
}

tn_status tn__registry_load(
    struct tn__registry *registry, const char *path, struct tn_diag *diag) {
    struct tn_diag inner = {0};
    if (tn__static_plugins[0])
        return tn_fail(diag, TN_UNSUPPORTED,
            "plugin '%s' is not loaded: this build has its plugins linked in", path);
    pthread_mutex_lock(&registry->lock);
    struct tn__candidate *candidate = tn__candidate_add(registry, path, &inner);
    tn_status status = inner.code;
    if (candidate) {
        candidate->opening = true;
        status = load_path(registry, candidate, path, &inner);
        candidate->opening = false;
        settle(registry, candidate, status, &inner);
    }
    if (status != TN_OK && diag && diag->code == TN_OK) {
        *diag = inner;
        tn__diag_name(diag, diag->plugin, path);
    }
    pthread_mutex_unlock(&registry->lock);
    return status;
}

/* ---- linked in ------------------------------------------------------------------- */

static tn_status add_static(
    struct tn__registry *registry, tn_plugin_query_fn query, struct tn_diag *diag) {
    const struct tn_plugin *desc = NULL;
    tn_status status = query(&registry->host_info, &desc);
    if (status != TN_OK || !desc)
        return tn_fail(
            diag, TN_PLUGIN, "a built-in plugin declines this host: code %d", status);
    struct tn_plugin copy;
    TN_TRY(tn__descriptor_check(desc, "(built in)", &copy, diag));
    const struct tn__plugin *other = find_plugin(registry, copy.id);
    if (other && strcmp(other->path, "(built in)") == 0) return TN_OK;
    struct tn__candidate *candidate = tn__candidate_add(registry, "(built in)", diag);
    if (!candidate) return TN_OUT_OF_MEMORY;
    struct tn__plugin *plugin;
    struct tn_diag inner = {0};
    status = tn__plugin_register(registry, desc, "(built in)", NULL, &plugin, &inner);
    settle(registry, candidate, status, &inner);
    if (status != TN_OK) return tn_fail(diag, status, "%s", inner.message);
    candidate->plugin = plugin;
    candidate->id = plugin->desc->id;
    candidate->version = plugin->desc->version;
    return TN_OK;
}

tn_status tn__registry_add_static(
    struct tn__registry *registry, tn_plugin_query_fn query, struct tn_diag *diag) {
    pthread_mutex_lock(&registry->lock);
    tn_status status = add_static(registry, query, diag);
    pthread_mutex_unlock(&registry->lock);
    return status;
}
