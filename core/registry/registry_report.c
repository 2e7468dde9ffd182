/* Reports on plugins (what was seen, and what became of it) and on support (operator,
 * versions, kernels, types), for people and for programs. */
#include "core/registry/registry_impl.h"

#include "core/base/text.h"
#include "tenon/tenon.h"

#include <inttypes.h>
#include <string.h>

static const char *state_name(uint32_t state) {
    static const char *const names[] = {"found", "loaded", "refused", "disabled"};
    return names[state];
}

/* ---- plugins --------------------------------------------------------------------- */

static void plugins_text(const struct tn__registry *registry, struct tn_text *out) {
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        const struct tn__candidate *c = registry->candidates[i];
        tn__text_printf(out, "%-8s  %s %s  %s\n", state_name(c->state),
            c->id[0] ? c->id : "?", c->version, c->path);
        if (c->reason[0]) tn__text_printf(out, "          %s\n", c->reason);
    }
    if (registry->n_candidates == 0) tn__text_puts(out, "no plugin found\n");
    tn__text_puts(out, "folders searched:");
    for (uint32_t i = 0; i < registry->n_folders; i++)
        tn__text_printf(out, " %s", registry->folders[i]);
    tn__text_puts(out, registry->n_folders ? "\n" : " none\n");
}

static void json_field(struct tn_text *out, const char *before, const char *value) {
    tn__text_puts(out, before);
    tn__text_json(out, value);
}

static void plugins_json(const struct tn__registry *registry, struct tn_text *out) {
    tn__text_puts(out, "{\"plugins\":[");
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        const struct tn__candidate *c = registry->candidates[i];
        json_field(out, i ? ",{\"id\":" : "{\"id\":", c->id);
        json_field(out, ",\"version\":", c->version);
        json_field(out, ",\"path\":", c->path);
        if (c->manifest) json_field(out, ",\"manifest\":", c->manifest);
        json_field(out, ",\"state\":", state_name(c->state));
        if (c->reason[0]) json_field(out, ",\"reason\":", c->reason);
        tn__text_puts(out, "}");
    }
    tn__text_puts(out, "],\"folders\":[");
    for (uint32_t i = 0; i < registry->n_folders; i++)
        json_field(out, i ? "," : "", registry->folders[i]);
    tn__text_puts(out, "]}\n");
}

/* ---- support --------------------------------------------------------------------- */

static void kernel_text(const struct tn__kernel_row *row, struct tn_text *out) {
    const struct tn_kernel_def *def = row->def;
    tn__text_printf(
        out, "    %s-%d %s", def->provider, def->since, def->name ? def->name : "");
    for (uint32_t i = 0; i < def->n_types; i++) {
        char types[400];
        tn__text_printf(out, "%s %s: %s", i ? ";" : "", def->types[i].name,
            tn__types_text(def->types[i].types, types, sizeof types));
    }
    tn__text_puts(out, "\n");
}

static void support_text(const struct tn__registry *registry, struct tn_text *out) {
    for (uint32_t i = 0; i < registry->n_entries; i++) {
        const struct tn__op_entry *e = registry->entries[i];
        if (!e->def) continue;
        tn__text_printf(out, "%s.%s ", tn__domain_label(e->domain), e->op_type);
        for (uint32_t v = 0; v < e->def->n_versions; v++)
            tn__text_printf(out, "%s%d", v ? "," : "", e->def->versions[v].since);
        tn__text_puts(out, e->rows                                 ? "\n"
                           : (e->def->expansion || e->def->expand) ? " (expanded)\n"
                                                                   : " (no kernel)\n");
        for (const struct tn__kernel_row *row = e->rows; row; row = row->older)
            kernel_text(row, out);
    }
}

static void kernel_json(const struct tn__kernel_row *row, struct tn_text *out) {
    const struct tn_kernel_def *def = row->def;
    json_field(out, "{\"provider\":", def->provider);
    tn__text_printf(out, ",\"since\":%d", def->since);
    if (def->name) json_field(out, ",\"name\":", def->name);
    tn__text_puts(out, ",\"types\":{");
    for (uint32_t i = 0; i < def->n_types; i++) {
        char types[400];
        json_field(out, i ? "," : "", def->types[i].name);
        json_field(out, ":", tn__types_text(def->types[i].types, types, sizeof types));
    }
    tn__text_puts(out, "}}");
}

static void support_json(const struct tn__registry *registry, struct tn_text *out) {
    const char *before = "{\"operators\":[{\"domain\":";
    for (uint32_t i = 0; i < registry->n_entries; i++) {
        const struct tn__op_entry *e = registry->entries[i];
        if (!e->def) continue;
        json_field(out, before, tn__domain_label(e->domain));
        before = ",{\"domain\":";
        json_field(out, ",\"name\":", e->op_type);
        tn__text_puts(out, ",\"versions\":[");
        for (uint32_t v = 0; v < e->def->n_versions; v++)
            tn__text_printf(out, "%s%d", v ? "," : "", e->def->versions[v].since);
        tn__text_printf(out, "],\"expands\":%s,\"kernels\":[",
            e->def->expansion || e->def->expand ? "true" : "false");
        for (const struct tn__kernel_row *row = e->rows; row; row = row->older) {
            if (row != e->rows) tn__text_puts(out, ",");
            kernel_json(row, out);
        }
        tn__text_puts(out, "]}");
    }
    tn__text_puts(out, before[0] == '{' ? "{\"operators\":[]}\n" : "]}\n");
}

tn_status tn__registry_report(struct tn__registry *registry, uint32_t report,
    uint32_t format, struct tn_text *out, struct tn_diag *diag) {
    static const struct {
        uint32_t report, format;
        void (*write)(const struct tn__registry *registry, struct tn_text *out);
    } writers[] = {
        {TN_REPORT_PLUGINS, TN_FORMAT_TEXT, plugins_text},
        {TN_REPORT_PLUGINS, TN_FORMAT_JSON, plugins_json},
        {TN_REPORT_SUPPORT, TN_FORMAT_TEXT, support_text},
        {TN_REPORT_SUPPORT, TN_FORMAT_JSON, support_json},
    };
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        if (writers[i].report != report || writers[i].format != format) continue;
        pthread_mutex_lock(&registry->lock);
        /* the table of support, like the verdict on a plugin, needs it opened */
        tn__candidates_open_all(registry);
        writers[i].write(registry, out);
        pthread_mutex_unlock(&registry->lock);
        return out->failed ? tn__fail_memory(diag, "a report", out->size) : TN_OK;
    }
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "the runtime has no report %" PRIu32 " in format %" PRIu32, report, format);
}
