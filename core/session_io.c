/* Inputs, outputs and facts of a session. */
#include "core/objects.h"

#include <stdio.h>
#include <string.h>

/* A description of one value; names of symbols come from the model's table. */
static tn_status describe(struct tn_session *session, const char *name,
    const struct tn_type *type, struct tn_io *out, struct tn_diag *diag) {
    uint32_t rank = type->rank > 0 ? (uint32_t)type->rank : 0;
    int64_t *dims = tn__arena_array(session->arena, rank, sizeof *dims);
    const char **names = tn__arena_array(session->arena, rank, sizeof *names);
    char *copy = tn__arena_string(session->arena, name, strlen(name));
    if (!dims || !names || !copy)
        return tn__fail_memory(diag, "inputs and outputs", rank);
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = type->dims[i];
        if (dims[i] >= 0) continue;
        const char *text = tn__symbol_text(session->model->symbols, dims[i]);
        names[i] = text ? tn__arena_string(session->arena, text, strlen(text)) : NULL;
    }
    *out = (struct tn_io){.name = copy, .type = *type, .dim_names = names};
    out->type.dims = dims;
    out->type.reserved = 0;
    return TN_OK;
}

static tn_status describe_inputs(struct tn_session *session, struct tn_diag *diag) {
    const struct tn_graph *g = session->model->graph;
    struct tn__io_list *inputs = &session->io[TN_INPUT],
                       *over = &session->io[TN_OVERRIDABLE];
    inputs->items = tn__arena_array(session->arena, g->n_inputs, sizeof *inputs->items);
    over->items = tn__arena_array(session->arena, g->n_inputs, sizeof *over->items);
    session->externals =
        tn__arena_array(session->arena, g->n_inputs, sizeof *session->externals);
    if (!inputs->items || !over->items || !session->externals)
        return tn__fail_memory(diag, "inputs", g->n_inputs);
    uint32_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < g->n_inputs; i++) {
            const struct tn__value *value = tn__value_at(g, g->inputs[i]);
            if ((value->constant != NULL) != (pass == 1)) continue;
            struct tn__io_list *list = pass ? over : inputs;
            struct tn_io *io = &list->items[list->n];
            TN_TRY(describe(session, value->name, &value->type, io, diag));
            io->optional = pass == 1;
            list->n++;
            session->externals[n++] = i;
        }
    }
    return TN_OK;
}

tn_status tn__session_describe(struct tn_session *session, struct tn_diag *diag) {
    const struct tn_graph *g = session->model->graph;
    struct tn__io_list *outputs = &session->io[TN_OUTPUT];
    TN_TRY(describe_inputs(session, diag));
    outputs->items =
        tn__arena_array(session->arena, g->n_outputs, sizeof *outputs->items);
    if (!outputs->items) return tn__fail_memory(diag, "outputs", g->n_outputs);
    for (uint32_t k = 0; k < g->n_outputs; k++)
        TN_TRY(describe(session, g->output_names[k],
            &tn__value_at(g, g->outputs[k])->type, &outputs->items[k], diag));
    outputs->n = g->n_outputs;
    return TN_OK;
}

const char *tn__io_text(const struct tn_io *io, char *buf, size_t size) {
    static const char *const kinds[] = {[TN_KIND_ABSENT] = "any value",
        [TN_KIND_TENSOR] = "",
        [TN_KIND_SEQUENCE] = "sequence of ",
        [TN_KIND_MAP] = "map of ",
        [TN_KIND_OPTIONAL] = "optional ",
        [TN_KIND_SPARSE] = "sparse "};
    const struct tn_type *type = &io->type;
    const char *kind =
        type->kind < sizeof kinds / sizeof *kinds ? kinds[type->kind] : "opaque value";
    bool maps = type->kind == TN_KIND_MAP || type->elem_kind == TN_KIND_MAP;
    int at = snprintf(buf, size, "%s%s%s%s%s", kind,
        type->elem_kind == TN_KIND_MAP ? "maps of " : "",
        maps ? tn_dtype_name(type->key_dtype) : "", maps ? " to " : "",
        type->kind == TN_KIND_ABSENT ? "" : tn_dtype_name(type->dtype));
    if (type->kind != TN_KIND_TENSOR || type->rank < 0) return buf;
    for (int32_t i = 0; i < type->rank && at > 0 && (size_t)at + 32 < size; i++) {
        const char *sep = i ? "," : "[";
        if (type->dims[i] >= 0)
            at += snprintf(
                buf + at, size - (size_t)at, "%s%lld", sep, (long long)type->dims[i]);
        else
            at += snprintf(buf + at, size - (size_t)at, "%s%.24s", sep,
                io->dim_names[i] ? io->dim_names[i] : "?");
    }
    if (at > 0 && (size_t)at + 3 < size)
        snprintf(buf + at, size - (size_t)at, type->rank ? "]" : "[]");
    return buf;
}

/* ---- questions ------------------------------------------------------------------------ */

uint32_t tn_session_io_count(const struct tn_session *session, uint32_t which) {
    return which <= TN_OVERRIDABLE ? session->io[which].n : 0;
}

const struct tn_io *tn_session_io(
    const struct tn_session *session, uint32_t which, uint32_t index) {
    if (which > TN_OVERRIDABLE || index >= session->io[which].n) return NULL;
    return &session->io[which].items[index];
}

uint32_t tn_session_find(
    const struct tn_session *session, uint32_t which, const char *name) {
    for (uint32_t i = 0; i < tn_session_io_count(session, which); i++) {
        if (strcmp(session->io[which].items[i].name, name) == 0) return i;
    }
    return UINT32_MAX;
}

void tn_session_info(const struct tn_session *session, struct tn_model_info *out) {
    *out = session->info;
    out->arena_bytes = atomic_load(&session->arena_bytes);
}

uint32_t tn_session_opset(const struct tn_session *session, uint32_t i,
    const char **out_domain, int64_t *out_version) {
    if (i >= session->model->n_opsets) return 0;
    *out_domain = session->model->opsets[i].domain;
    *out_version = session->model->opsets[i].version;
    return 1;
}

uint32_t tn_session_metadata(const struct tn_session *session, uint32_t i,
    const char **out_key, const char **out_value) {
    if (i >= session->model->n_metadata) return 0;
    *out_key = session->model->metadata[i].key;
    *out_value = session->model->metadata[i].value;
    return 1;
}
