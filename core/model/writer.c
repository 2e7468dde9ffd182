/* A model as ONNX bytes. The wire format is written straight into growing texts: a message
 * is its fields, a field is a tag and a value, and what is nested is written first. */
#include "core/base/checked.h"
#include "core/model/model.h"

#include <string.h>

enum { VARINT = 0, BYTES = 2, FIXED32 = 5 };

struct writer {
    const struct tn__model *model;
    struct tn_diag *diag;
};

/* ---- wire ----------------------------------------------------------------------------- */

static void put_varint(struct tn_text *out, uint64_t value) {
    char bytes[10];
    unsigned n = 0;
    do {
        bytes[n] = (char)(value & 127);
        value >>= 7;
        if (value) bytes[n] = (char)(bytes[n] | 128);
        n++;
    } while (value);
    tn__text_append(out, bytes, n);
}

static void put_int(struct tn_text *out, uint32_t field, int64_t value) {
    put_varint(out, field << 3 | VARINT);
    put_varint(out, (uint64_t)value);
}

static void put_float(struct tn_text *out, uint32_t field, float value) {
    put_varint(out, field << 3 | FIXED32);
    tn__text_append(out, (const char *)&value, sizeof value);
}

static void put_bytes(
    struct tn_text *out, uint32_t field, const void *data, uint64_t size) {
    put_varint(out, field << 3 | BYTES);
    put_varint(out, size);
    tn__text_append(out, data, size);
}

static void put_string(struct tn_text *out, uint32_t field, const char *text) {
    put_bytes(out, field, text, strlen(text));
}

/* A finished message as a field; frees it. */
static void put_message(struct tn_text *out, uint32_t field, struct tn_text *message) {
    put_bytes(out, field, message->data ? message->data : "", message->size);
    out->failed = out->failed || message->failed;
    tn__text_free(message);
}

/* ---- tensors and types ---------------------------------------------------------------- */

static void write_tensor(
    const struct tn_tensor *t, const char *name, struct tn_text *out) {
    for (uint32_t i = 0; i < t->rank; i++)
        put_int(out, 1, t->dims[i]);
    put_int(out, 2, t->dtype);
    const struct tn_string *strings = t->data;
    uint64_t n = t->dtype == TN_STRING ? t->size / sizeof *strings : 0;
    for (uint64_t i = 0; i < n; i++)
        put_bytes(out, 6, strings[i].data, strings[i].size);
    if (name) put_string(out, 8, name);
    if (t->dtype != TN_STRING) put_bytes(out, 9, t->data, t->size);
}

static void write_shape(
    const struct writer *w, const struct tn_type *type, struct tn_text *out) {
    for (int32_t i = 0; i < type->rank; i++) {
        struct tn_text dim = {0};
        const char *symbol =
            type->dims[i] < 0 ? tn__symbol_text(w->model->symbols, type->dims[i]) : NULL;
        if (type->dims[i] >= 0)
            put_int(&dim, 1, type->dims[i]);
        else if (symbol)
            put_string(&dim, 2, symbol);
        put_message(out, 1, &dim);
    }
}

/* Only tensors have a written form here: other kinds follow from inference. */
static bool write_type(
    const struct writer *w, const struct tn_type *type, struct tn_text *out) {
    if (type->kind != TN_KIND_TENSOR || type->dtype == TN_UNDEFINED) return false;
    struct tn_text tensor = {0}, shape = {0};
    put_int(&tensor, 1, type->dtype);
    write_shape(w, type, &shape);
    if (type->rank >= 0) put_message(&tensor, 2, &shape);
    tn__text_free(&shape);
    put_message(out, 1, &tensor);
    return true;
}

static void write_value_info(const struct writer *w, const struct tn_graph *g,
    tn_value_id v, const char *name, uint32_t field, bool always, struct tn_text *out) {
    struct tn_text info = {0}, type = {0};
    put_string(&info, 1, name);
    bool typed = write_type(w, &tn__value_at(g, v)->type, &type);
    if (typed) put_message(&info, 2, &type);
    tn__text_free(&type);
    if (typed || always)
        put_message(out, field, &info);
    else
        tn__text_free(&info);
}

/* ---- nodes ---------------------------------------------------------------------------- */

static tn_status write_graph(struct writer *w, const struct tn_graph *g,
    const struct tn_node *const *nodes, uint32_t n_nodes, uint32_t depth,
    struct tn_text *out);

static tn_status write_sub(struct writer *w, const struct tn_graph *g, uint32_t field,
    uint32_t depth, struct tn_text *out) {
    enum { DEEPEST = 100 };
    struct tn_text text = {0};
    if (depth >= DEEPEST)
        return tn_fail(
            w->diag, TN_LIMIT_EXCEEDED, "subgraphs nest deeper than %d", DEEPEST);
    tn_status status = write_graph(w, g, NULL, 0, depth + 1, &text);
    put_message(out, field, &text);
    return status;
}

/* One element of an attribute; `list` says which of its two fields it goes to. */
static tn_status write_element(struct writer *w, const struct tn_attr *attr, uint32_t i,
    uint32_t depth, struct tn_text *out) {
    struct tn_text tensor = {0};
    switch (attr->type) {
    case TN_ATTR_FLOAT: put_float(out, 2, attr->as.floats[i]); return TN_OK;
    case TN_ATTR_FLOATS: put_float(out, 7, attr->as.floats[i]); return TN_OK;
    case TN_ATTR_INT: put_int(out, 3, attr->as.ints[i]); return TN_OK;
    case TN_ATTR_INTS: put_int(out, 8, attr->as.ints[i]); return TN_OK;
    case TN_ATTR_STRING:
    case TN_ATTR_STRINGS:
        put_bytes(out, attr->type == TN_ATTR_STRING ? 4 : 9, attr->as.strings[i].data,
            attr->as.strings[i].size);
        return TN_OK;
    case TN_ATTR_TENSOR:
    case TN_ATTR_TENSORS:
        write_tensor(&attr->as.tensors[i], NULL, &tensor);
        put_message(out, attr->type == TN_ATTR_TENSOR ? 5 : 10, &tensor);
        return TN_OK;
    case TN_ATTR_GRAPH: return write_sub(w, attr->as.graphs[i], 6, depth, out);
    case TN_ATTR_GRAPHS: return write_sub(w, attr->as.graphs[i], 11, depth, out);
    default:
        return tn_fail(w->diag, TN_UNSUPPORTED,
            "attribute '%s' has a type (%u) that is not written to a file", attr->name,
            (unsigned)attr->type);
    }
}

static tn_status write_attr(
    struct writer *w, const struct tn_attr *attr, uint32_t depth, struct tn_text *out) {
    struct tn_text text = {0};
    put_string(&text, 1, attr->name);
    put_int(&text, 20, attr->type);
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < attr->count && status == TN_OK; i++)
        status = write_element(w, attr, i, depth, &text);
    put_message(out, 5, &text);
    return status;
}

static const char *name_of(const struct tn_graph *g, tn_value_id v) {
    return v == TN_NO_ID ? "" : tn__value_at(g, v)->name;
}

static tn_status write_node(struct writer *w, const struct tn_graph *g,
    const struct tn_node *node, uint32_t depth, struct tn_text *out) {
    struct tn_text text = {0};
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        put_string(&text, 1, name_of(g, node->inputs[i]));
    for (uint32_t i = 0; i < node->n_outputs; i++)
        put_string(&text, 2, name_of(g, node->outputs[i]));
    if (node->name) put_string(&text, 3, node->name);
    put_string(&text, 4, node->op_type);
    for (uint32_t i = 0; i < node->n_attrs && status == TN_OK; i++)
        status = write_attr(w, &node->attrs[i], depth, &text);
    put_string(&text, 7, node->domain);
    put_message(out, 1, &text);
    return status;
}

/* ---- graphs --------------------------------------------------------------------------- */

static tn_status write_nodes(struct writer *w, const struct tn_graph *g,
    const struct tn_node *const *nodes, uint32_t n_nodes, uint32_t depth,
    struct tn_text *out) {
    if (nodes) {
        for (uint32_t i = 0; i < n_nodes; i++)
            TN_TRY(write_node(w, g, nodes[i], depth, out));
        return TN_OK;
    }
    uint32_t n;
    const tn_node_id *order = tn__graph_order(g, &n);
    for (uint32_t i = 0; i < n; i++)
        TN_TRY(write_node(w, g, &tn__node_at(g, order[i])->view, depth, out));
    return TN_OK;
}

/* Whether a listed node reads the value, itself or from within a subgraph. */
static bool is_read(const struct tn_graph *g, tn_value_id v,
    const struct tn_node *const *nodes, uint32_t n_nodes) {
    const struct tn__value *value = tn__value_at(g, v);
    if (!nodes || (value->flags & TN_VALUE_OUTPUT)) return true;
    for (uint32_t i = 0; i < value->n_uses; i++) {
        for (uint32_t k = 0; k < n_nodes; k++) {
            if (nodes[k] == &tn__node_at(g, value->uses[i].node)->view) return true;
        }
    }
    return false;
}

static tn_status write_graph(struct writer *w, const struct tn_graph *g,
    const struct tn_node *const *nodes, uint32_t n_nodes, uint32_t depth,
    struct tn_text *out) {
    TN_TRY(write_nodes(w, g, nodes, n_nodes, depth, out));
    put_string(out, 2, g->name && g->name[0] ? g->name : "graph");
    for (uint32_t v = 0; v < g->n_values; v++) {
        const struct tn__value *value = tn__value_at(g, v);
        bool input = (value->flags & TN_VALUE_INPUT) != 0;
        if (!value->constant || (value->flags & TN_VALUE_CAPTURE) ||
            (!input && !is_read(g, v, nodes, n_nodes)))
            continue;
        struct tn_text tensor = {0};
        write_tensor(value->constant, value->name, &tensor);
        put_message(out, 5, &tensor);
    }
    for (uint32_t i = 0; i < g->n_inputs; i++)
        write_value_info(
            w, g, g->inputs[i], tn__value_at(g, g->inputs[i])->name, 11, true, out);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        write_value_info(w, g, g->outputs[i], g->output_names[i], 12, true, out);
    for (uint32_t v = 0; v < g->n_values; v++) {
        const struct tn__value *value = tn__value_at(g, v);
        if (value->producer != TN_NO_ID && !(value->flags & TN_VALUE_OUTPUT))
            write_value_info(w, g, v, value->name, 13, false, out);
    }
    return TN_OK;
}

/* ---- the model ------------------------------------------------------------------------ */

static void write_pair(
    const char *key, const char *value, uint32_t field, struct tn_text *out) {
    struct tn_text pair = {0};
    put_string(&pair, 1, key);
    put_string(&pair, 2, value);
    put_message(out, field, &pair);
}

tn_status tn__model_write(const struct tn__model *model,
    const struct tn__write_options *options, struct tn_text *out, struct tn_diag *diag) {
    struct writer w = {model, diag};
    struct tn_text graph = {0};
    put_int(out, 1, model->ir_version > 10 ? model->ir_version : 10);
    put_string(out, 2, model->producer_name ? model->producer_name : "");
    put_string(out, 3, model->producer_version ? model->producer_version : "");
    put_string(out, 4, model->domain ? model->domain : "");
    put_int(out, 5, model->model_version);
    tn_status status =
        write_graph(&w, model->graph, options->nodes, options->n_nodes, 0, &graph);
    put_message(out, 7, &graph);
    for (uint32_t i = 0; i < options->n_opsets; i++) {
        struct tn_text opset = {0};
        put_string(&opset, 1, options->opsets[i].domain);
        put_int(&opset, 2, options->opsets[i].version);
        put_message(out, 8, &opset);
    }
    for (uint32_t i = 0; i < model->n_metadata; i++)
        write_pair(model->metadata[i].key, model->metadata[i].value, 14, out);
    if (status == TN_OK && out->failed)
        return tn__fail_memory(diag, "a model file", out->size);
    if (status == TN_OK && out->size > INT32_MAX)
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "the model takes %llu bytes, more than a file of this format can hold",
            (unsigned long long)out->size);
    return status;
}
