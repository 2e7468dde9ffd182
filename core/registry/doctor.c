/* The report that says why something is not there: the folders in the order of search with what
 * was found in each, every plugin with its verdict, every provider with its devices, and the
 * number of problems. Each reason holds the remedy. */
#include "core/registry/elf_note.h"
#include "core/registry/registry_impl.h"

#include "core/base/text.h"
#include "core/os/file.h"
#include "tenon/provider.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_FILES = 4096, MAX_PATH = 4096 };

struct doctor {
    const struct tn__registry *registry;
    struct tn_text *out;
    bool json;
    uint32_t problems;
    uint32_t n_rows; /* of the list that is being written */
};

/* A field of JSON, the first of its object when it begins with a brace. */
static void field(struct doctor *d, const char *name, const char *value) {
    tn__text_printf(d->out, "%s\"%s\":", name[0] == '{' ? "{" : ",",
        name[0] == '{' ? name + 1 : name);
    tn__text_json(d->out, value ? value : "");
}

static void begin_list(struct doctor *d, const char *json, const char *text) {
    tn__text_puts(d->out, d->json ? json : text);
    d->n_rows = 0;
}

static void begin_row(struct doctor *d) {
    if (d->json) tn__text_puts(d->out, d->n_rows++ ? ",\n  " : "\n  ");
}

/* ---- folders ----------------------------------------------------------------------------- */

static const struct tn__candidate *candidate_of(
    const struct tn__registry *registry, const char *path) {
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        if (strcmp(registry->candidates[i]->path, path) == 0)
            return registry->candidates[i];
    }
    return NULL;
}

/* A plugin without a manifest beside it is never looked at. */
static void examine_strays(struct doctor *d, const char *folder) {
    struct tn__names names;
    struct tn_diag ignored = {0};
    uint32_t n = 0;
    if (tn__dir_list(folder, ".so", MOST_FILES, &names, &ignored) != TN_OK) return;
    for (uint32_t i = 0; i < names.n; i++) {
        char path[MAX_PATH];
        struct tn__elf_note note;
        if (snprintf(path, sizeof path, "%s/%s", folder, names.items[i]) >= MAX_PATH ||
            candidate_of(d->registry, path) ||
            tn__elf_read_note(path, &note, &ignored) != TN_OK)
            continue;
        d->problems++;
        if (d->json)
            tn__text_puts(d->out, n++ ? "," : ",\"without_manifest\":[");
        else
            tn__text_printf(d->out,
                "    problem: %s has no manifest and is not looked at; make one: "
                "tenon-manifest %s > %s/%s.plugin.ini\n",
                names.items[i], path, folder, note.id);
        if (d->json) tn__text_json(d->out, path);
    }
    if (n) tn__text_puts(d->out, "]");
    tn__names_free(&names);
}

static void examine_folder(struct doctor *d, const char *folder) {
    struct tn__names names;
    struct tn_diag why = {0};
    bool there = tn__dir_list(folder, ".plugin.ini", MOST_FILES, &names, &why) == TN_OK;
    begin_row(d);
    if (d->json) {
        field(d, "{path", folder);
        tn__text_printf(d->out, ",\"manifests\":%" PRIu32, there ? names.n : 0);
        if (!there) field(d, "reason", why.message);
    } else if (there) {
        tn__text_printf(d->out, "  %s: %" PRIu32 " %s\n", folder, names.n,
            names.n == 1 ? "manifest" : "manifests");
    } else {
        tn__text_printf(d->out, "  %s: nothing (%s)\n", folder, why.message);
    }
    if (there) {
        tn__names_free(&names);
        examine_strays(d, folder);
    }
    if (d->json) tn__text_puts(d->out, "}");
}

/* ---- plugins ----------------------------------------------------------------------------- */

static void examine_plugin(struct doctor *d, const struct tn__candidate *c) {
    const char *state = tn__candidate_state(c);
    d->problems += c->state == TN__REFUSED;
    begin_row(d);
    if (d->json) {
        field(d, "{state", state);
        field(d, "id", c->id);
        field(d, "version", c->version);
        field(d, "path", c->path);
        if (c->reason[0]) field(d, "reason", c->reason);
        tn__text_puts(d->out, "}");
        return;
    }
    tn__text_printf(d->out, "  %-8s  %s %s  %s\n", state, c->id[0] ? c->id : "?",
        c->version, c->path);
    if (c->reason[0]) tn__text_printf(d->out, "    %s\n", c->reason);
}

/* ---- devices ----------------------------------------------------------------------------- */

static const char *availability_text(uint32_t availability) {
    static const char *const texts[] = {"available", "a dependency is missing",
        "the driver is too old", "not supported", "no permission"};
    return availability < sizeof texts / sizeof *texts ? texts[availability]
                                                       : "not available";
}

static const char *kind_text(uint32_t kind) {
    static const char *const texts[] = {"CPU", "GPU", "NPU"};
    return kind < sizeof texts / sizeof *texts ? texts[kind] : "other";
}

struct device_list {
    struct doctor *doctor;
    uint32_t n, n_available;
};

static void examine_device(void *arg, const struct tn_device *device) {
    struct device_list *list = arg;
    struct doctor *d = list->doctor;
    if (!device || device->struct_size < TN_END_OF(struct tn_device, name)) return;
    const char *state = availability_text(device->availability);
    const char *detail = TN_HAS(device, detail) ? device->detail : "";
    const char *driver = TN_HAS(device, driver) ? device->driver : "";
    const char *sdk = TN_HAS(device, sdk) ? device->sdk : "";
    const char *arch = TN_HAS(device, arch) ? device->arch : "";
    const char *name = device->name ? device->name : "?";
    list->n_available += device->availability == TN_DEVICE_OK;
    if (d->json) {
        tn__text_puts(d->out, list->n++ ? "," : "");
        field(d, "{name", name);
        field(d, "kind", kind_text(device->kind));
        tn__text_printf(d->out, ",\"available\":%s",
            device->availability == TN_DEVICE_OK ? "true" : "false");
        field(d, "state", state);
        field(d, "detail", detail);
        field(d, "arch", arch);
        field(d, "driver", driver);
        field(d, "sdk", sdk);
        tn__text_puts(d->out, "}");
        return;
    }
    list->n++;
    tn__text_printf(d->out, "    %s (%s%s%s): %s%s%s", name, kind_text(device->kind),
        arch[0] ? " " : "", arch, state, detail[0] ? ", " : "", detail);
    if (driver[0]) tn__text_printf(d->out, "; driver %s", driver);
    if (sdk[0]) tn__text_printf(d->out, "; sdk %s", sdk);
    tn__text_puts(d->out, "\n");
}

static void examine_provider(
    struct doctor *d, const struct tn__registered_provider *provider) {
    const struct tn_provider_def *def = provider->def;
    struct device_list list = {d, 0, 0};
    begin_row(d);
    if (d->json) {
        field(d, "{id", def->id);
        field(d, "plugin", provider->plugin->desc->id);
        tn__text_puts(d->out, ",\"devices\":[");
    } else {
        tn__text_printf(d->out, "  %s, of %s\n", def->id, provider->plugin->desc->id);
    }
    if (TN_HAS(def, devices))
        def->devices(provider->plugin->state, examine_device, &list);
    d->problems += TN_HAS(def, devices) && list.n_available == 0;
    if (d->json)
        tn__text_puts(d->out, "]}");
    else if (!TN_HAS(def, devices))
        tn__text_puts(d->out, "    lists no devices: it needs none\n");
    else if (list.n_available == 0)
        tn__text_puts(d->out, "    problem: none of its devices is available\n");
}

/* ---- the report -------------------------------------------------------------------------- */

static void examine(struct doctor *d) {
    const struct tn__registry *registry = d->registry;
    begin_list(d, "{\"folders\":[", "folders, in the order of search:\n");
    for (uint32_t i = 0; i < registry->n_folders; i++)
        examine_folder(d, registry->folders[i]);
    begin_list(d, "],\n\"plugins\":[", "plugins:\n");
    for (uint32_t i = 0; i < registry->n_candidates; i++)
        examine_plugin(d, registry->candidates[i]);
    begin_list(d, "],\n\"providers\":[", "providers:\n");
    for (uint32_t i = 0; i < registry->n_providers; i++)
        examine_provider(d, registry->providers[i]);
    if (d->json)
        tn__text_printf(d->out, "],\n\"problems\":%" PRIu32 "}\n", d->problems);
    else if (d->problems)
        tn__text_printf(d->out, "problems: %" PRIu32 "\n", d->problems);
    else
        tn__text_puts(d->out, "no problems\n");
}

void tn__doctor_text(const struct tn__registry *registry, struct tn_text *out) {
    struct doctor doctor = {.registry = registry, .out = out};
    examine(&doctor);
}

void tn__doctor_json(const struct tn__registry *registry, struct tn_text *out) {
    struct doctor doctor = {.registry = registry, .out = out, .json = true};
    examine(&doctor);
}
