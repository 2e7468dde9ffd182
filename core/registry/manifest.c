/* Manifests: `<id>.plugin.ini`, written by the SDK's tool from a plugin's own tables, so
 * that nothing has to be opened to know what it offers.
 *
 *     [plugin]      id, name, version, library (beside the manifest), abi, triple, passes;
 *                   missing: it was not built for lack of this
 *     [services:0]  ids1 = tenon.x/1, …
 *     [domain:0]    name, newest, ops1 = A, B, … ops2 = …
 *     [kernels:0]   provider, domain, ops1 = …
 *     [provider:0]  id, name */
#include "core/registry/registry_impl.h"

#include "core/base/alloc.h"
#include "core/conf/ini.h"
#include "core/os/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct tn__registry *registry;
    struct tn__candidate *out;
    const struct tn__ini *ini;
    const char *domain; /* of the section being read */
    const char *library;
    struct tn_diag *diag;
};

static tn_status fail_entry(
    const struct reader *r, const struct tn__ini_entry *e, const char *what) {
    return tn_fail(r->diag, TN_PLUGIN,
        "%s:%u: %s; manifests are generated: make it anew with the SDK",
        tn__ini_path(r->ini), e->line, what);
}

tn_status tn__offers_add(struct tn_arena *arena, struct tn__offers *offers,
    const char *key, uint32_t kind, struct tn_diag *diag) {
    uint32_t known = tn__map_get(&offers->index, key);
    if (known == UINT32_MAX) {
        const char *copy = tn__arena_string(arena, key, strlen(key));
        if (!copy ||
            !tn__arena_grow(arena, (void **)&offers->keys, &offers->cap, offers->n + 1,
                sizeof *offers->keys) ||
            !tn__map_put(&offers->index, copy, kind))
            return tn__fail_memory(diag, "a manifest", 0);
        offers->keys[offers->n++] = copy;
        return TN_OK;
    }
    /* the key is in the table: replacing its value takes no memory, but the table keeps
     * the new pointer, so it must be the copy */
    for (uint32_t i = offers->n; (known & kind) != kind && i-- > 0;) {
        if (strcmp(offers->keys[i], key) != 0) continue;
        (void)tn__map_put(&offers->index, offers->keys[i], known | kind);
        break;
    }
    return TN_OK;
}

static tn_status add_offer(const struct reader *r, const char *key, uint32_t kind) {
    return tn__offers_add(r->registry->arena, &r->out->offers, key, kind, r->diag);
}

/* "A, B, C" of the current domain. */
static tn_status add_ops(struct reader *r, const struct tn__ini_entry *e, uint32_t kind) {
    if (!r->domain) return fail_entry(r, e, "operators without the name of their domain");
    for (const char *p = e->value; *p;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, ", ");
        char name[TN__NAME_MAX], key[TN__KEY_MAX];
        if (n == 0) break;
        if (n >= sizeof name) return fail_entry(r, e, "an operator name over 127 bytes");
        memcpy(name, p, n);
        name[n] = '\0';
        if (!tn__op_key(key, r->domain, name)) return fail_entry(r, e, "a name too long");
        TN_TRY(add_offer(r, key, kind));
        p += n;
    }
    return TN_OK;
}

/* "id, id" of what other plugins may ask for. */
static tn_status read_services(struct reader *r, const struct tn__ini_entry *e) {
    for (const char *p = e->value; *p;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, ", ");
        char id[TN__NAME_MAX], key[TN__KEY_MAX];
        if (n == 0) break;
        if (n >= sizeof id) return fail_entry(r, e, "an id over 127 bytes");
        memcpy(id, p, n);
        id[n] = '\0';
        (void)tn__service_key(key, id);
        TN_TRY(add_offer(r, key, TN__OFFER_SERVICE));
        p += n;
    }
    return TN_OK;
}

static tn_status copy_text(const struct reader *r, const char *value, const char **out) {
    *out = tn__arena_string(r->registry->arena, value, strlen(value));
    return *out ? TN_OK : tn__fail_memory(r->diag, "a manifest", 0);
}

static tn_status set_domain(struct reader *r, const char *value) {
    TN_TRY(copy_text(r, tn__domain_name(value), &r->domain));
    return TN_OK;
}

static tn_status read_domain(struct reader *r, const struct tn__ini_entry *e) {
    struct tn__candidate *c = r->out;
    if (strcmp(e->key, "name") == 0) {
        TN_TRY(set_domain(r, e->value));
        if (!tn__arena_grow(r->registry->arena, (void **)&c->domains, &c->cap_domains,
                c->n_domains + 1, sizeof *c->domains))
            return tn__fail_memory(r->diag, "a manifest", 0);
        c->domains[c->n_domains++] = (struct tn__domain_offer){r->domain, 0};
        return TN_OK;
    }
    if (strcmp(e->key, "newest") == 0) {
        if (!r->domain)
            return fail_entry(r, e, "a version without the name of its domain");
        c->domains[c->n_domains - 1].newest = (int32_t)strtol(e->value, NULL, 10);
        return TN_OK;
    }
    return strncmp(e->key, "ops", 3) == 0 ? add_ops(r, e, TN__OFFER_OP)
                                          : fail_entry(r, e, "an unknown key");
}

static tn_status read_kernels(struct reader *r, const struct tn__ini_entry *e) {
    if (strcmp(e->key, "domain") == 0) return set_domain(r, e->value);
    if (strcmp(e->key, "provider") == 0) return TN_OK;
    return strncmp(e->key, "ops", 3) == 0 ? add_ops(r, e, TN__OFFER_KERNEL)
                                          : fail_entry(r, e, "an unknown key");
}

static tn_status read_provider(struct reader *r, const struct tn__ini_entry *e) {
    char key[TN__KEY_MAX];
    if (strcmp(e->key, "id") != 0) return TN_OK;
    if (!tn__provider_key(key, e->value)) return fail_entry(r, e, "an id over 127 bytes");
    return add_offer(r, key, TN__OFFER_PROVIDER);
}

static tn_status read_plugin(struct reader *r, const struct tn__ini_entry *e) {
    struct tn__candidate *c = r->out;
    if (strcmp(e->key, "id") == 0) return copy_text(r, e->value, &c->id);
    if (strcmp(e->key, "version") == 0) return copy_text(r, e->value, &c->version);
    if (strcmp(e->key, "missing") == 0) return copy_text(r, e->value, &c->missing);
    if (strcmp(e->key, "library") == 0) {
        if (e->value[0] == '\0' || e->value[0] == '/' || strstr(e->value, ".."))
            return fail_entry(r, e, "library must be a path below the manifest's folder");
        r->library = e->value;
    }
    if (strcmp(e->key, "passes") == 0) c->has_passes = strcmp(e->value, "0") != 0;
    return TN_OK;
}

static tn_status read_entries(struct reader *r) {
    static const struct {
        const char *prefix;
        tn_status (*read)(struct reader *r, const struct tn__ini_entry *e);
    } sections[] = {{"plugin", read_plugin}, {"domain:", read_domain},
        {"kernels:", read_kernels}, {"provider:", read_provider},
        {"services:", read_services}};
    enum { SECTIONS = sizeof sections / sizeof sections[0] };
    const char *section = "";
    for (uint32_t i = 0; i < tn__ini_count(r->ini); i++) {
        const struct tn__ini_entry *e = tn__ini_at(r->ini, i);
        if (strcmp(e->section, section) != 0) r->domain = NULL;
        section = e->section;
        size_t s = 0;
        while (s < SECTIONS &&
               strncmp(section, sections[s].prefix, strlen(sections[s].prefix)) != 0)
            s++;
        if (s == SECTIONS) return fail_entry(r, e, "an unknown section");
        TN_TRY(sections[s].read(r, e));
    }
    return TN_OK;
}

/* Folder of the manifest plus the library's name. */
static tn_status join_library(struct reader *r) {
    const char *manifest = r->out->manifest;
    if (r->out->id[0] == '\0' || !r->library)
        return tn_fail(r->diag, TN_PLUGIN,
            "manifest '%s' has no id or no library in [plugin]; make it anew with the "
            "SDK",
            manifest);
    const char *slash = strrchr(manifest, '/');
    r->out->path = tn__arena_format(r->registry->arena, "%.*s/%s",
        slash ? (int)(slash - manifest) : 1, slash ? manifest : ".", r->library);
    return r->out->path ? TN_OK : tn__fail_memory(r->diag, "a path", 0);
}

tn_status tn__manifest_read(struct tn__registry *registry, const char *path,
    struct tn__candidate *out, struct tn_diag *diag) {
    struct tn__ini *ini = NULL;
    TN_TRY(tn__file_check_safe(path, diag));
    TN_TRY(tn__ini_load(path, &ini, diag));
    struct reader r = {.registry = registry, .out = out, .ini = ini, .diag = diag};
    tn_status status = copy_text(&r, path, &out->manifest);
    if (status == TN_OK) status = read_entries(&r);
    if (status == TN_OK) status = join_library(&r);
    tn__ini_free(ini);
    return status;
}

/* ---- drift ----------------------------------------------------------------------- */

static tn_status fail_drift(const struct tn__candidate *c, const char *key,
    const char *what, struct tn_diag *diag) {
    const char *op = strchr(key, '\n'), *name = op ? op + 1 : key + 1;
    return tn_fail(diag, TN_PLUGIN,
        "manifest '%s' does not fit its library '%s': '%s' is %s; make it anew with the "
        "SDK",
        c->manifest, c->path, name, what);
}

tn_status tn__manifest_compare(const struct tn__candidate *candidate,
    const struct tn__offers *have, struct tn_diag *diag) {
    for (uint32_t i = 0; i < have->n; i++) {
        uint32_t kinds = tn__map_get(&have->index, have->keys[i]);
        uint32_t listed = tn__map_get(&candidate->offers.index, have->keys[i]);
        if (listed == UINT32_MAX || (kinds & ~listed))
            return fail_drift(
                candidate, have->keys[i], "in the library but not in the manifest", diag);
    }
    for (uint32_t i = 0; i < candidate->offers.n; i++) {
        const char *key = candidate->offers.keys[i];
        /* kernels may depend on the processor: fewer than listed are fine */
        uint32_t listed =
            tn__map_get(&candidate->offers.index, key) & ~(uint32_t)TN__OFFER_KERNEL;
        uint32_t kinds = tn__map_get(&have->index, key);
        if (listed && (kinds == UINT32_MAX || (listed & ~kinds)))
            return fail_drift(
                candidate, key, "in the manifest but not in the library", diag);
    }
    return TN_OK;
}
