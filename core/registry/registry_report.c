/* Reports on plugins (what was seen, and what became of it) and on support (operator,
 * versions, kernels, types), for people and for programs. */
#include "core/registry/registry_impl.h"

#include "core/base/text.h"
#include "tenon/tenon.h"

#include <inttypes.h>
#include <string.h>

const char *tn__candidate_state(const struct tn__candidate *candidate) {
    static const char *const names[] = {"found", "loaded", "refused", "disabled"};
    return names[candidate->state];
}

/* ---- plugins --------------------------------------------------------------------- */

static void plugins_text(const struct tn__registry *registry, struct tn_text *out) {
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        const struct tn__candidate *c = registry->candidates[i];
        tn__text_printf(out, "%-8s  %s %s  %s\n", tn__candidate_state(c),
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

/* The providers that a manifest or a library names; their keys begin with a return. */
static void providers_json(const struct tn__candidate *c, struct tn_text *out) {
    const char *between = ",\"providers\":[";
    for (uint32_t i = 0; i < c->offers.n; i++) {
        if (c->offers.keys[i][0] != '\r') continue;
        json_field(out, between, c->offers.keys[i] + 1);
        between = ",";
    }
    tn__text_puts(out, between[1] ? "" : "]");
}

static void plugins_json(const struct tn__registry *registry, struct tn_text *out) {
    tn__text_puts(out, "{\"plugins\":[");
    for (uint32_t i = 0; i < registry->n_candidates; i++) {
        const struct tn__candidate *c = registry->candidates[i];
        json_field(out, i ? ",{\"id\":" : "{\"id\":", c->id);
        json_field(out, ",\"version\":", c->version);
        json_field(out, ",\"path\":", c->path);
        if (c->manifest) json_field(out, ",\"manifest\":", c->manifest);
        json_field(out, ",\"state\":", tn__candidate_state(c));
        providers_json(c, out);
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

/* "name":"float, int32" of a mask; the text is empty when the mask is. */
static void mask_json(
    struct tn_text *out, const char *before, const char *name, uint64_t types) {
    char text[400];
    json_field(out, before, name);
    json_field(out, ":", types ? tn__types_text(types, text, sizeof text) : "");
}

static void kernel_json(const struct tn__kernel_row *row, struct tn_text *out) {
    const struct tn_kernel_def *def = row->def;
    json_field(out, "{\"provider\":", def->provider);
    tn__text_printf(out, ",\"since\":%d", def->since);
    if (def->name) json_field(out, ",\"name\":", def->name);
    tn__text_puts(out, ",\"types\":{");
    for (uint32_t i = 0; i < def->n_types; i++)
        mask_json(out, i ? "," : "", def->types[i].name, def->types[i].types);
    json_field(out, "},\"plugin\":", row->plugin->desc->id);
    tn__text_puts(out, "}");
}

/* Versions that `wanted` picks: all, those that rewrite the version before, those whose
 * models are refused. */
enum { ALL_VERSIONS, UPGRADES, DEPRECATED };

static void versions_json(
    struct tn_text *out, const char *label, const struct tn_op_def *def, int wanted) {
    const char *between = "";
    tn__text_printf(out, ",\"%s\":[", label);
    for (uint32_t i = 0; i < def->n_versions; i++) {
        const struct tn_op_version *v = &def->versions[i];
        if (wanted == UPGRADES && !v->upgrade) continue;
        if (wanted == DEPRECATED && !(v->flags & TN_VERSION_DEPRECATED)) continue;
        tn__text_printf(out, "%s%d", between, v->since);
        between = ",";
    }
    tn__text_puts(out, "]");
}

/* What the newest version takes: formals with their variables, and what these range over.
 */
static void schema_json(const struct tn_op_def *def, struct tn_text *out) {
    const struct {
        const char *label;
        const struct tn_formal *formals;
        uint32_t n;
    } sides[] = {{"inputs", def->inputs, def->n_inputs},
        {"outputs", def->outputs, def->n_outputs}};
    for (size_t side = 0; side < 2; side++) {
        tn__text_printf(out, ",\"%s\":{", sides[side].label);
        for (uint32_t i = 0; i < sides[side].n; i++) {
            const struct tn_formal *f = &sides[side].formals[i];
            if (!f->type_var) {
                mask_json(out, i ? "," : "", f->name, f->types);
                continue;
            }
            json_field(out, i ? "," : "", f->name);
            json_field(out, ":", f->type_var);
        }
        tn__text_puts(out, "}");
    }
    tn__text_puts(out, ",\"type_vars\":{");
    for (uint32_t i = 0; i < def->n_type_vars; i++) {
        const struct tn_type_var *var = &def->type_vars[i];
        json_field(out, i ? "," : "", var->name);
        mask_json(out, ":{", "tensors", var->tensors);
        mask_json(out, ",", "sequences", var->sequences & ~TN_SEQUENCES_OF_MAPS);
        mask_json(out, ",", "optionals", var->optionals & ~(UINT64_C(1) << 63));
        mask_json(out, ",", "maps", var->maps & UINT32_MAX);
        mask_json(out, ",", "string_maps", var->maps >> 32);
        tn__text_printf(
            out, ",\"optional_sequences\":%s}", var->optionals >> 63 ? "true" : "false");
    }
    tn__text_puts(out, "}");
}

static void operator_json(const struct tn__op_entry *e, struct tn_text *out) {
    const struct tn_op_def *def = e->def;
    json_field(out, "\"domain\":", tn__domain_label(e->domain));
    json_field(out, ",\"name\":", e->op_type);
    versions_json(out, "versions", def, ALL_VERSIONS);
    tn__text_printf(out, ",\"expands\":%s,\"kernels\":[",
        def->expansion || def->expand ? "true" : "false");
    for (const struct tn__kernel_row *row = e->rows; row; row = row->older) {
        if (row != e->rows) tn__text_puts(out, ",");
        kernel_json(row, out);
    }
    json_field(out, "],\"plugin\":", e->def_plugin->desc->id);
    versions_json(out, "upgrades", def, UPGRADES);
    versions_json(out, "deprecated", def, DEPRECATED);
    schema_json(def, out);
}

static void support_json(const struct tn__registry *registry, struct tn_text *out) {
    const char *before = "{";
    tn__text_puts(out, "{\"operators\":[");
    for (uint32_t i = 0; i < registry->n_entries; i++) {
        if (!registry->entries[i]->def) continue;
        tn__text_puts(out, before);
        operator_json(registry->entries[i], out);
        tn__text_puts(out, "}");
        before = ",{";
    }
    tn__text_puts(out, "]}\n");
}

tn_status tn__registry_report(struct tn__registry *registry, uint32_t report,
    uint32_t format, struct tn_text *out, struct tn_diag *diag) {
    static const struct {
        uint32_t report, format;
        void (*write)(const struct tn__registry *registry, struct tn_text *out);
    } writers[] = {
        {TN_REPORT_PLUGINS, TN_FORMAT_TEXT, plugins_text},
        {TN_REPORT_PLUGINS, TN_FORMAT_JSON, plugins_json},
        {TN_REPORT_DOCTOR, TN_FORMAT_TEXT, tn__doctor_text},
        {TN_REPORT_DOCTOR, TN_FORMAT_JSON, tn__doctor_json},
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
