/* Attributes in the text format: <axis = 1, pads = [0, 1], value = float[2] {1, 2},
 * body = g (x) => (y) {…}, alpha: float = @slope>. */
#include "core/model/text_parser.h"
#include "tenon/graph.h"

#include <string.h>

static const char *const type_names[] = {"", "float", "int", "string", "tensor", "graph",
    "floats", "ints", "strings", "tensors", "graphs", "sparse_tensor", "sparse_tensors",
    "type_proto", "type_protos"};

enum { N_TYPES = sizeof type_names / sizeof type_names[0] };

static bool is_list(int32_t type) {
    return (type >= TN_ATTR_FLOATS && type <= TN_ATTR_GRAPHS) ||
           type == TN_ATTR_SPARSE_TENSORS || type == TN_ATTR_TYPE_PROTOS;
}

/* The list type of a single type. */
static int32_t list_of(int32_t type) {
    return type == TN_ATTR_SPARSE_TENSOR || type == TN_ATTR_TYPE_PROTO
               ? type + 1
               : type + TN_ATTR_FLOATS - TN_ATTR_FLOAT;
}

static int32_t single_of(int32_t type) {
    if (!is_list(type)) return type;
    return type == TN_ATTR_SPARSE_TENSORS || type == TN_ATTR_TYPE_PROTOS
               ? type - 1
               : type - TN_ATTR_FLOATS + TN_ATTR_FLOAT;
}

/* What the next token says about the type of a value. */
static int32_t guess_type(const struct tn__parser *p) {
    switch (p->lexer.token.kind) {
    case TN_TOKEN_INT: return TN_ATTR_INT;
    case TN_TOKEN_FLOAT: return TN_ATTR_FLOAT;
    case TN_TOKEN_STRING: return TN_ATTR_STRING;
    default: break;
    }
    if (tn__parser_at_id(p, "inf") || tn__parser_at_id(p, "nan")) return TN_ATTR_FLOAT;
    return tn__parser_at_type(p) ? TN_ATTR_TENSOR : TN_ATTR_GRAPH;
}

static tn_status parse_string(struct tn__parser *p, ProtobufCBinaryData *out) {
    const struct tn__token *token = &p->lexer.token;
    if (token->kind != TN_TOKEN_STRING)
        return tn__lexer_fail(&p->lexer, "a string in double quotes");
    *out = (ProtobufCBinaryData){token->size, (uint8_t *)(uintptr_t)token->text};
    return tn__lexer_next(&p->lexer);
}

/* A value that starts with a type: a tensor, a sparse tensor, or the type itself. What it
 * turned out to be is *io_type. */
static tn_status parse_typed(
    struct tn__parser *p, int32_t *io_type, void **out, const char *name) {
    Onnx__TypeProto *type = NULL;
    TN_TRY(tn__parse_type(p, &type));
    bool data = tn__parser_at(p, '{') || tn__parser_at(p, '[');
    bool named =
        p->lexer.token.kind == TN_TOKEN_ID || p->lexer.token.kind == TN_TOKEN_STRING;
    if (*io_type == TN_ATTR_TYPE_PROTO || (!data && !named)) {
        *io_type = TN_ATTR_TYPE_PROTO;
        *out = type;
        return TN_OK;
    }
    char *tensor_name = (char *)(uintptr_t)name;
    if (named) TN_TRY(tn__parser_name(p, false, &tensor_name));
    if (type->sparse_tensor_type) {
        *io_type = TN_ATTR_SPARSE_TENSOR;
        return tn__parse_sparse(p, type, (Onnx__SparseTensorProto **)out);
    }
    *io_type = TN_ATTR_TENSOR;
    return tn__parse_tensor(p, type, tensor_name, (Onnx__TensorProto **)out);
}

static tn_status append(struct tn__parser *p, void *list, size_t *n, void *item) {
    void **items;
    TN_TRY(tn__parser_grow(p, list, *n, sizeof item));
    memcpy(&items, list, sizeof items);
    items[(*n)++] = item;
    return TN_OK;
}

/* Parses one value into a list member of the attribute; *io_type may be refined. */
static tn_status parse_item(
    struct tn__parser *p, Onnx__AttributeProto *a, int32_t *io_type) {
    void *message = NULL;
    switch (*io_type) {
    case TN_ATTR_FLOAT:
        TN_TRY(tn__parser_grow(p, &a->floats, a->n_floats, sizeof *a->floats));
        return tn__parser_float(p, &a->floats[a->n_floats++]);
    case TN_ATTR_INT:
        TN_TRY(tn__parser_grow(p, &a->ints, a->n_ints, sizeof *a->ints));
        return tn__parser_int(p, &a->ints[a->n_ints++]);
    case TN_ATTR_STRING:
        TN_TRY(tn__parser_grow(p, &a->strings, a->n_strings, sizeof *a->strings));
        return parse_string(p, &a->strings[a->n_strings++]);
    case TN_ATTR_GRAPH:
        TN_TRY(tn__parse_graph(p, (Onnx__GraphProto **)&message));
        return append(p, &a->graphs, &a->n_graphs, message);
    default: TN_TRY(parse_typed(p, io_type, &message, "")); break;
    }
    if (*io_type == TN_ATTR_TENSOR) return append(p, &a->tensors, &a->n_tensors, message);
    if (*io_type == TN_ATTR_TYPE_PROTO)
        return append(p, &a->type_protos, &a->n_type_protos, message);
    return append(p, &a->sparse_tensors, &a->n_sparse_tensors, message);
}

/* A single value was parsed as a list of one: moves it where it belongs. */
static void make_single(Onnx__AttributeProto *a) {
    if (a->n_floats) a->f = a->floats[0];
    a->has_f = a->n_floats != 0;
    if (a->n_ints) a->i = a->ints[0];
    a->has_i = a->n_ints != 0;
    if (a->n_strings) a->s = a->strings[0];
    a->has_s = a->n_strings != 0;
    if (a->n_tensors) a->t = a->tensors[0];
    if (a->n_graphs) a->g = a->graphs[0];
    if (a->n_type_protos) a->tp = a->type_protos[0];
    if (a->n_sparse_tensors) a->sparse_tensor = a->sparse_tensors[0];
    a->n_floats = a->n_ints = a->n_strings = a->n_tensors = a->n_graphs = 0;
    a->n_type_protos = a->n_sparse_tensors = 0;
}

/* [1, 2.5] is a list of floats though it begins with an integer. */
static void widen_ints(struct tn__parser *p, Onnx__AttributeProto *a, tn_status *status) {
    *status = TN_OK;
    for (size_t i = 0; i < a->n_ints && *status == TN_OK; i++) {
        *status = tn__parser_grow(p, &a->floats, a->n_floats, sizeof *a->floats);
        if (*status == TN_OK) a->floats[a->n_floats++] = (float)a->ints[i];
    }
    a->n_ints = 0;
}

static tn_status parse_list(
    struct tn__parser *p, Onnx__AttributeProto *a, int32_t stated) {
    bool more;
    TN_TRY(tn__parser_open(p, '[', ']', &more));
    int32_t type = stated ? single_of(stated) : guess_type(p);
    if (!more && !stated)
        return tn__lexer_fail(&p->lexer, "a type in front of an empty list");
    while (more) {
        if (!stated && type == TN_ATTR_INT && p->lexer.token.kind == TN_TOKEN_FLOAT) {
            tn_status status;
            type = TN_ATTR_FLOAT;
            widen_ints(p, a, &status);
            TN_TRY(status);
        }
        TN_TRY(parse_item(p, a, &type));
        TN_TRY(tn__parser_more(p, ']', &more));
    }
    a->type = list_of(type);
    return TN_OK;
}

static tn_status parse_value(
    struct tn__parser *p, Onnx__AttributeProto *a, int32_t stated) {
    bool taken;
    a->type = stated;
    TN_TRY(tn__parser_accept(p, '@', &taken));
    if (taken) {
        if (!stated) return tn__lexer_fail(&p->lexer, "a type in front of a reference");
        return tn__parser_name(p, false, &a->ref_attr_name);
    }
    if (tn__parser_at(p, '[')) return parse_list(p, a, stated);
    int32_t type = stated ? stated : guess_type(p);
    if (is_list(type)) return tn__lexer_fail(&p->lexer, "a list in brackets");
    TN_TRY(parse_item(p, a, &type));
    a->type = type;
    make_single(a);
    return TN_OK;
}

static tn_status parse_attr(struct tn__parser *p, Onnx__AttributeProto ***list, size_t *n,
    char ***formals, size_t *n_formals) {
    char *name;
    int32_t stated = 0;
    bool taken;
    TN_TRY(tn__parser_name(p, false, &name));
    TN_TRY(tn__parser_accept(p, ':', &taken));
    if (taken) {
        for (int32_t t = 1; t < N_TYPES && !stated; t++)
            stated = tn__parser_at_id(p, type_names[t]) ? t : 0;
        if (!stated) return tn__lexer_fail(&p->lexer, "an attribute type");
        TN_TRY(tn__lexer_next(&p->lexer));
    }
    if (formals && !tn__parser_at(p, '=')) return append(p, formals, n_formals, name);
    TN_TRY(tn__parser_expect(p, '='));
    Onnx__AttributeProto *a = NULL;
    TN_TRY(tn__parser_message(p, &onnx__attribute_proto__descriptor, &a));
    a->name = name;
    a->has_type = 1;
    TN_TRY(parse_value(p, a, stated));
    return append(p, list, n, a);
}

tn_status tn__parse_attrs(struct tn__parser *p, Onnx__AttributeProto ***list, size_t *n,
    char ***formals, size_t *n_formals) {
    bool more;
    TN_TRY(tn__parser_open(p, '<', '>', &more));
    while (more) {
        TN_TRY(parse_attr(p, list, n, formals, n_formals));
        TN_TRY(tn__parser_more(p, '>', &more));
    }
    return TN_OK;
}
