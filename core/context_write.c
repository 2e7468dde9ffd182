/* Writing a model whose compiled groups are kept: each group of the main graph becomes one
 * context node, with its binary in the node or in a file beside the model. */
#include "core/base/alloc.h"
#include "core/context_record.h"
#include "core/objects.h"
#include "core/plan/provider_call.h"

#include <stdio.h>
#include <string.h>

enum { N_ATTRS = 9 };

/* One context node in the making. */
struct made {
    struct tn_node node;
    struct tn_attr attrs[N_ATTRS];
    struct tn_string strings[N_ATTRS];
    int64_t ints[N_ATTRS];
};

struct writing {
    struct tn_session *session;
    const struct tn_op_def *def; /* of the context operator */
    const char *path;
    bool embed;
    struct made *made;             /* by unit of the main program */
    struct tn_text *blobs, *notes; /* by provider */
    struct tn_diag *diag;
};

static tn_status append(void *self, const void *data, uint64_t size) {
    struct tn_text *blob = self;
    tn__text_append(blob, data, size);
    return blob->failed ? TN_OUT_OF_MEMORY : TN_OK;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- nodes ---------------------------------------------------------------------------- */

static void add_int(struct made *made, const char *name, int64_t value) {
    uint32_t i = made->node.n_attrs++;
    made->ints[i] = value;
    made->attrs[i] = (struct tn_attr){
        .name = name, .type = TN_ATTR_INT, .count = 1, .as.ints = &made->ints[i]};
}

static void add_text(
    struct made *made, const char *name, const char *text, uint64_t size) {
    uint32_t i = made->node.n_attrs++;
    made->strings[i] = (struct tn_string){text, size};
    made->attrs[i] = (struct tn_attr){.name = name,
        .type = TN_ATTR_STRING,
        .count = 1,
        .as.strings = &made->strings[i]};
}

static tn_status make_node(
    struct writing *w, const struct tn__unit *unit, bool is_main, struct made *made) {
    const struct tn__plan *plan = w->session->plan;
    const struct tn__plan_provider *provider = &plan->providers[unit->provider];
    const struct tn__program *program = plan->programs[0];
    tn_value_id *ids = tn__arena_array(
        w->session->arena, (uint64_t)unit->n_inputs + unit->n_outputs, sizeof *ids);
    const char *file = tn__arena_format(
        w->session->arena, "%s.%s.bin", base_name(w->path), provider->id);
    if (!ids || !file) return tn__fail_memory(w->diag, "a context", 256);
    for (uint32_t i = 0; i < unit->n_inputs; i++)
        ids[i] = tn__original(program, unit->inputs[i]);
    for (uint32_t o = 0; o < unit->n_outputs; o++)
        ids[unit->n_inputs + o] = tn__original(program, unit->outputs[o]);
    made->node = (struct tn_node){.name = unit->name,
        .domain = w->def->domain,
        .op_type = w->def->op_type,
        .inputs = ids,
        .outputs = ids + unit->n_inputs,
        .attrs = made->attrs,
        .n_inputs = unit->n_inputs,
        .n_outputs = unit->n_outputs};
    const struct tn_text *blob = &w->blobs[unit->provider],
                         *notes = &w->notes[unit->provider];
    const struct tn_context_record *own = provider->record;
    add_int(made, "main_context", is_main);
    add_int(made, "embed_mode", w->embed);
    if (is_main && w->embed)
        add_text(made, "ep_cache_context", blob->data, blob->size);
    else if (is_main)
        add_text(made, "ep_cache_context", file, strlen(file));
    add_text(made, "partition_name", unit->name, strlen(unit->name));
    add_text(made, "source", provider->id, strlen(provider->id));
    if (own && own->sdk) add_text(made, "ep_sdk_version", own->sdk, strlen(own->sdk));
    if (own && own->arch)
        add_text(made, "hardware_architecture", own->arch, strlen(own->arch));
    if (is_main) add_text(made, "notes", notes->data, notes->size);
    return TN_OK;
}

/* ---- binaries ------------------------------------------------------------------------- */

/* Groups of one provider in the main graph. */
static uint32_t list_units(const struct tn__plan *plan, uint32_t provider,
    const struct tn__unit **units, const struct tn_compiled **compiled) {
    const struct tn__program *program = plan->programs[0];
    uint32_t n = 0;
    for (uint32_t u = 0; u < program->n_units; u++) {
        const struct tn__unit *unit = &program->units[u];
        if (!unit->compiled || unit->provider != provider) continue;
        units[n] = unit;
        compiled[n++] = unit->compiled;
    }
    return n;
}

static tn_status export_provider(struct writing *w, uint32_t index) {
    struct tn_session *session = w->session;
    struct tn__plan_provider *provider = &session->plan->providers[index];
    uint32_t n_units = session->plan->programs[0]->n_units;
    const struct tn__unit **units =
        tn__arena_array(session->arena, n_units, sizeof *units);
    const struct tn_compiled **compiled =
        tn__arena_array(session->arena, n_units, sizeof *compiled);
    if (!units || !compiled) return tn__fail_memory(w->diag, "a context", n_units * 16);
    uint32_t n = list_units(session->plan, index, units, compiled);
    if (n == 0) return TN_OK;
    if (!TN_HAS(provider->reg->def, context_export))
        return tn_fail(w->diag, TN_UNSUPPORTED,
            "provider '%s' cannot export what it compiled: it has no context binaries",
            provider->id);
    struct tn_text *blob = &w->blobs[index];
    struct tn_context_sink sink = {TN_CONTEXT_SINK_SIZE, 0, blob, append};
    TN_TRY(tn__provider_export(provider, compiled, n, &sink, w->diag));
    if (blob->failed) return tn__fail_memory(w->diag, "a context", blob->size);
    const struct tn_context_record *own = provider->record;
    struct tn_context_record record = {.struct_size = TN_CONTEXT_RECORD_SIZE,
        .provider = provider->id,
        .provider_version = provider->reg->plugin->desc->version,
        .sdk = own ? own->sdk : "",
        .driver = own ? own->driver : "",
        .arch = own ? own->arch : ""};
    memcpy(record.options_hash, provider->options_hash, 32);
    tn__record_hash_groups(units, n, &record);
    tn__record_hash_blob(blob->data, blob->size, &record);
    tn__record_print(&record, &w->notes[index]);
    for (uint32_t i = 0; i < n; i++) {
        struct made *made = &w->made[units[i] - session->plan->programs[0]->units];
        TN_TRY(make_node(w, units[i], i == 0, made));
    }
    return TN_OK;
}

/* ---- files ---------------------------------------------------------------------------- */

static tn_status write_file(
    const char *path, const struct tn_text *text, struct tn_diag *diag) {
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(text->data, 1, text->size, file) == text->size;
    if (file && fclose(file) != 0) good = false;
    return good ? TN_OK
                : tn_fail(diag, TN_IO, "the file '%.300s' could not be written", path);
}

static tn_status write_blobs(struct writing *w) {
    for (uint32_t p = 0; p < w->session->plan->n_providers && !w->embed; p++) {
        if (w->blobs[p].size == 0) continue;
        const char *path = tn__arena_format(
            w->session->arena, "%s.%s.bin", w->path, w->session->plan->providers[p].id);
        if (!path) return tn__fail_memory(w->diag, "a context", 256);
        TN_TRY(write_file(path, &w->blobs[p], w->diag));
    }
    return TN_OK;
}

/* Nodes in order of execution, groups as their context nodes. */
static uint32_t list_nodes(struct writing *w, const struct tn_node **out) {
    const struct tn__program *program = w->session->plan->programs[0];
    uint32_t n = 0;
    for (uint32_t u = 0; u < program->n_units; u++) {
        const struct tn__unit *unit = &program->units[u];
        if (unit->compiled)
            out[n++] = &w->made[u].node;
        else if (!unit->transfer)
            out[n++] = &tn__unit_node(unit)->view;
    }
    return n;
}

/* Versions that the nodes follow: the newest of each domain. */
static uint32_t list_opsets(struct writing *w, const struct tn_node *const *nodes,
    uint32_t n_nodes, struct tn__opset *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_nodes; i++) {
        uint32_t k = 0;
        while (k < n && strcmp(out[k].domain, nodes[i]->domain) != 0)
            k++;
        if (k < n) continue;
        out[n++] = (struct tn__opset){nodes[i]->domain,
            tn__registry_domain_newest(w->session->runtime->registry, nodes[i]->domain)};
    }
    return n;
}

static tn_status write_model(struct writing *w) {
    struct tn_session *session = w->session;
    uint32_t n_units = session->plan->programs[0]->n_units;
    const struct tn_node **nodes =
        tn__arena_array(session->arena, n_units, sizeof *nodes);
    struct tn__opset *opsets = tn__arena_array(session->arena, n_units, sizeof *opsets);
    if (!nodes || !opsets) return tn__fail_memory(w->diag, "a model file", n_units * 24);
    struct tn__write_options options = {
        .nodes = nodes, .n_nodes = list_nodes(w, nodes), .opsets = opsets};
    options.n_opsets = list_opsets(w, nodes, options.n_nodes, opsets);
    struct tn_text text = {0};
    tn_status status = tn__model_write(session->model, &options, &text, w->diag);
    if (status == TN_OK) status = write_file(w->path, &text, w->diag);
    tn__text_free(&text);
    return status;
}

static tn_status write_all(struct writing *w) {
    const struct tn__plan *plan = w->session->plan;
    w->def = tn__registry_op_flagged(w->session->runtime->registry, TN_OP_CONTEXT);
    if (!w->def)
        return tn_fail(w->diag, TN_NOT_FOUND,
            "no plugin defines the operator that stands for compiled groups in a file");
    for (uint32_t p = 0; p < plan->n_providers; p++)
        TN_TRY(export_provider(w, p));
    TN_TRY(write_blobs(w));
    return write_model(w);
}

tn_status tn__contexts_write(
    struct tn_session *session, const char *path, bool embed, struct tn_diag *diag) {
    const struct tn__plan *plan = session->plan;
    struct writing w = {.session = session, .path = path, .embed = embed, .diag = diag};
    w.made = tn__alloc_zero(plan->programs[0]->n_units * sizeof *w.made, 0);
    w.blobs = tn__alloc_zero(2 * (uint64_t)plan->n_providers * sizeof *w.blobs, 0);
    w.notes = w.blobs ? w.blobs + plan->n_providers : NULL;
    tn_status status =
        w.made && w.blobs ? write_all(&w) : tn__fail_memory(diag, "a context", 4096);
    for (uint32_t p = 0; w.blobs && p < 2 * plan->n_providers; p++)
        tn__text_free(&w.blobs[p]);
    tn__free(w.blobs);
    tn__free(w.made);
    return status;
}
