/* Whole texts: a model with its properties and functions, or one function. */
#include "core/model/reader.h"
#include "core/model/text_parser.h"

#include <string.h>

/* Properties in front of a model or function; each row says where its value goes. */
enum property_kind { PROPERTY_INT, PROPERTY_TEXT, PROPERTY_PAIRS, PROPERTY_OPSETS };

struct property {
    const char *name;
    enum property_kind kind;
    void *value;
    void *count; /* size_t of lists, protobuf_c_boolean of numbers */
};

static tn_status parse_opsets(
    struct tn__parser *p, Onnx__OperatorSetIdProto ***list, size_t *n) {
    bool more;
    TN_TRY(tn__parser_open(p, '[', ']', &more));
    while (more) {
        Onnx__OperatorSetIdProto *opset = NULL;
        TN_TRY(tn__parser_message(p, &onnx__operator_set_id_proto__descriptor, &opset));
        TN_TRY(tn__parser_string(p, &opset->domain));
        TN_TRY(tn__parser_expect(p, ':'));
        TN_TRY(tn__parser_int(p, &opset->version));
        opset->has_version = 1;
        TN_TRY(tn__parser_grow(p, list, *n, sizeof **list));
        (*list)[(*n)++] = opset;
        TN_TRY(tn__parser_more(p, ']', &more));
    }
    return TN_OK;
}

static tn_status parse_property(struct tn__parser *p, const struct property *property) {
    switch (property->kind) {
    case PROPERTY_INT:
        *(protobuf_c_boolean *)property->count = 1;
        return tn__parser_int(p, property->value);
    case PROPERTY_TEXT: return tn__parser_string(p, property->value);
    case PROPERTY_PAIRS: return tn__parser_pairs(p, property->value, property->count);
    default: return parse_opsets(p, property->value, property->count);
    }
}

static tn_status parse_properties(
    struct tn__parser *p, const struct property *properties, size_t n) {
    bool more;
    TN_TRY(tn__parser_open(p, '<', '>', &more));
    while (more) {
        size_t i = 0;
        while (i < n && !tn__parser_at_id(p, properties[i].name))
            i++;
        if (i == n) return tn__lexer_fail(&p->lexer, "a property such as opset_import");
        TN_TRY(tn__lexer_next(&p->lexer));
        TN_TRY(tn__parser_expect(p, ':'));
        TN_TRY(parse_property(p, &properties[i]));
        TN_TRY(tn__parser_more(p, '>', &more));
    }
    return TN_OK;
}

tn_status tn__parse_function(struct tn__parser *p, Onnx__FunctionProto **out) {
    Onnx__FunctionProto *f = NULL;
    char *doc;
    Onnx__StringStringEntryProto **metadata = NULL;
    size_t n_metadata = 0;
    TN_TRY(tn__parser_message(p, &onnx__function_proto__descriptor, &f));
    const struct property properties[] = {
        {"domain", PROPERTY_TEXT, &f->domain, NULL},
        {"overload", PROPERTY_TEXT, &f->overload, NULL},
        {"doc_string", PROPERTY_TEXT, &doc, NULL},
        {"metadata_props", PROPERTY_PAIRS, &metadata, &n_metadata},
        {"opset_import", PROPERTY_OPSETS, &f->opset_import, &f->n_opset_import},
    };
    if (tn__parser_at(p, '<'))
        TN_TRY(parse_properties(p, properties, sizeof properties / sizeof properties[0]));
    *out = f;
    return tn__parse_function_body(p, f);
}

tn_status tn__parse_model(struct tn__parser *p, Onnx__ModelProto **out) {
    Onnx__ModelProto *m = NULL;
    TN_TRY(tn__parser_message(p, &onnx__model_proto__descriptor, &m));
    const struct property properties[] = {
        {"ir_version", PROPERTY_INT, &m->ir_version, &m->has_ir_version},
        {"opset_import", PROPERTY_OPSETS, &m->opset_import, &m->n_opset_import},
        {"producer_name", PROPERTY_TEXT, &m->producer_name, NULL},
        {"producer_version", PROPERTY_TEXT, &m->producer_version, NULL},
        {"domain", PROPERTY_TEXT, &m->domain, NULL},
        {"model_version", PROPERTY_INT, &m->model_version, &m->has_model_version},
        {"doc_string", PROPERTY_TEXT, &m->doc_string, NULL},
        {"metadata_props", PROPERTY_PAIRS, &m->metadata_props, &m->n_metadata_props},
    };
    *out = m;
    TN_TRY(parse_properties(p, properties, sizeof properties / sizeof properties[0]));
    TN_TRY(tn__parse_graph(p, &m->graph));
    while (p->lexer.token.kind != TN_TOKEN_END) {
        TN_TRY(tn__parser_grow(p, &m->functions, m->n_functions, sizeof *m->functions));
        TN_TRY(tn__parse_function(p, &m->functions[m->n_functions]));
        m->n_functions++;
    }
    return TN_OK;
}

/* ---- entry points --------------------------------------------------------------------- */

tn_status tn__read_text(
    struct tn__reader *r, const char *text, uint64_t size, struct tn_diag *diag) {
    struct tn__parser p;
    Onnx__ModelProto *proto = NULL;
    tn_status status = tn__parser_start(&p, r->temp, text, size, r->label, diag);
    if (status == TN_OK) status = tn__parse_model(&p, &proto);
    tn__parser_end(&p);
    r->copy = true;
    return status == TN_OK ? tn__read_model(r, proto, diag) : status;
}

tn_status tn__text_read_model(const char *text, uint64_t size,
    const struct tn__load_options *options, struct tn__model **out,
    struct tn_diag *diag) {
    struct tn__reader r = {.label = "the model text"};
    TN_TRY(tn__reader_open(&r, options, diag));
    tn_status status = tn__read_text(&r, text, size, diag);
    struct tn__model *model = tn__reader_close(&r, status);
    if (status == TN_OK) *out = model;
    return status;
}

/* Calls of the model's functions are told from operators by their names. */
static tn_status note_functions(struct tn__reader *r, struct tn_diag *diag) {
    for (uint32_t i = 0; i < r->model->n_functions; i++) {
        const struct tn__function *f = &r->model->functions[i];
        TN_TRY(tn__note_function(r, f->domain, f->name, f->overload, i, diag));
    }
    return TN_OK;
}

tn_status tn__text_read_function(struct tn__model *model, const char *text, uint64_t size,
    struct tn__function *out, struct tn_diag *diag) {
    struct tn__reader r = {.label = "the function text",
        .model = model,
        .arena = model->arena,
        .limits = tn__load_limits(NULL),
        .copy = true};
    struct tn__parser p;
    Onnx__FunctionProto *proto = NULL;
    struct tn__function f = {0};
    r.temp = tn__arena_create();
    if (!r.temp) return tn__fail_memory(diag, "a function", size);
    tn_status status = tn__parser_start(&p, r.temp, text, size, r.label, diag);
    if (status == TN_OK) status = tn__parse_function(&p, &proto);
    if (status == TN_OK) status = tn__parser_expect_end(&p);
    tn__parser_end(&p);
    if (status == TN_OK) status = note_functions(&r, diag);
    if (status == TN_OK) status = tn__read_function(&r, proto, &f, diag);
    tn__map_clear(&r.functions);
    tn__arena_destroy(r.temp);
    if (status == TN_OK) *out = f;
    return status;
}
