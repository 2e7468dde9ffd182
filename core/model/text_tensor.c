/* Types and tensors in the text format: float[N,3], seq(float[2]), int64[2] {1, 2}.
 *
 * Elements are written one by one: numbers for float and double, pairs for complex types,
 * bit patterns for the narrow floats, integers for the rest, quoted strings. */
#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/model/text_parser.h"

#include <string.h>

static const struct {
    const char *name;
    int32_t dtype;
} dtypes[] = {
#define TN_TYPE_ROW(name, number, bits, text) {text, number},
    TN_DTYPE_LIST(TN_TYPE_ROW)
#undef TN_TYPE_ROW
};

static const char *const containers[] = {
    "seq", "optional", "map", "sparse_tensor", "opaque"};

static int32_t find_dtype(const struct tn__parser *p) {
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (tn__parser_at_id(p, dtypes[i].name)) return dtypes[i].dtype;
    }
    return TN_UNDEFINED;
}

bool tn__parser_at_type(const struct tn__parser *p) {
    for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++) {
        if (tn__parser_at_id(p, containers[i])) return true;
    }
    return find_dtype(p) != TN_UNDEFINED;
}

static tn_status parse_dim(struct tn__parser *p, Onnx__TensorShapeProto *shape) {
    Onnx__TensorShapeProto__Dimension *dim = NULL;
    TN_TRY(tn__parser_message(p, &onnx__tensor_shape_proto__dimension__descriptor, &dim));
    TN_TRY(tn__parser_grow(p, &shape->dim, shape->n_dim, sizeof *shape->dim));
    shape->dim[shape->n_dim++] = dim;
    bool unknown;
    TN_TRY(tn__parser_accept(p, '?', &unknown));
    if (unknown) return TN_OK;
    if (p->lexer.token.kind == TN_TOKEN_INT) {
        dim->has_dim_value = 1;
        return tn__parser_int(p, &dim->dim_value);
    }
    return tn__parser_name(p, false, &dim->dim_param);
}

static tn_status parse_tensor_type(struct tn__parser *p, Onnx__TypeProto__Tensor **out) {
    Onnx__TypeProto__Tensor *tensor = NULL;
    TN_TRY(tn__parser_message(p, &onnx__type_proto__tensor__descriptor, &tensor));
    tensor->elem_type = find_dtype(p);
    tensor->has_elem_type = 1;
    if (tensor->elem_type == TN_UNDEFINED)
        return tn__lexer_fail(&p->lexer, "an element type");
    TN_TRY(tn__lexer_next(&p->lexer));
    *out = tensor;
    bool more;
    if (!tn__parser_at(p, '[')) return TN_OK;
    TN_TRY(tn__parser_message(p, &onnx__tensor_shape_proto__descriptor, &tensor->shape));
    TN_TRY(tn__parser_open(p, '[', ']', &more));
    while (more) {
        TN_TRY(parse_dim(p, tensor->shape));
        TN_TRY(tn__parser_more(p, ']', &more));
    }
    return TN_OK;
}

static tn_status parse_map_type(struct tn__parser *p, Onnx__TypeProto *type) {
    TN_TRY(tn__parser_message(p, &onnx__type_proto__map__descriptor, &type->map_type));
    type->map_type->has_key_type = 1;
    type->map_type->key_type = find_dtype(p);
    if (type->map_type->key_type == TN_UNDEFINED)
        return tn__lexer_fail(&p->lexer, "a key type");
    TN_TRY(tn__lexer_next(&p->lexer));
    TN_TRY(tn__parser_expect(p, ','));
    return tn__parse_type(p, &type->map_type->value_type);
}

static tn_status parse_container(struct tn__parser *p, Onnx__TypeProto *type) {
    const char *name = p->lexer.token.text;
    TN_TRY(tn__lexer_next(&p->lexer));
    TN_TRY(tn__parser_expect(p, '('));
    if (strcmp(name, "map") == 0) {
        TN_TRY(parse_map_type(p, type));
    } else if (strcmp(name, "seq") == 0) {
        TN_TRY(tn__parser_message(
            p, &onnx__type_proto__sequence__descriptor, &type->sequence_type));
        TN_TRY(tn__parse_type(p, &type->sequence_type->elem_type));
    } else if (strcmp(name, "optional") == 0) {
        TN_TRY(tn__parser_message(
            p, &onnx__type_proto__optional__descriptor, &type->optional_type));
        TN_TRY(tn__parse_type(p, &type->optional_type->elem_type));
    } else if (strcmp(name, "sparse_tensor") == 0) {
        TN_TRY(parse_tensor_type(p, &type->sparse_tensor_type));
    } else {
        TN_TRY(tn__parser_message(
            p, &onnx__type_proto__opaque__descriptor, &type->opaque_type));
    }
    return tn__parser_expect(p, ')');
}

tn_status tn__parse_type(struct tn__parser *p, Onnx__TypeProto **out) {
    TN_TRY(tn__parser_deeper(p));
    TN_TRY(tn__parser_message(p, &onnx__type_proto__descriptor, out));
    if (find_dtype(p) != TN_UNDEFINED || !tn__parser_at_type(p))
        TN_TRY(parse_tensor_type(p, &(*out)->tensor_type));
    else
        TN_TRY(parse_container(p, *out));
    p->depth--;
    return TN_OK;
}

/* ---- data ----------------------------------------------------------------------------- */

/* Raw bytes that elements are appended to, low bits first. */
struct sink {
    struct tn_text bytes;
    uint64_t n; /* elements; parts of complex ones count alone */
};

static tn_status put_int(
    struct tn__parser *p, struct sink *sink, int32_t dtype, uint32_t bits) {
    int64_t value = 0, low = 0, high;
    bool is_signed = dtype == TN_INT8 || dtype == TN_INT16 || dtype == TN_INT32 ||
                     dtype == TN_INT4 || dtype == TN_INT2;
    high = bits == 64 ? INT64_MAX : (int64_t)(UINT64_C(1) << bits) - 1;
    if (dtype == TN_BOOL) high = 1;
    if (is_signed) {
        low = -(INT64_C(1) << (bits - 1));
        high = -low - 1;
    }
    struct tn__token token = p->lexer.token;
    if (dtype == TN_BOOL &&
        (tn__parser_at_id(p, "true") || tn__parser_at_id(p, "false"))) {
        value = token.text[0] == 't';
        TN_TRY(tn__lexer_next(&p->lexer));
    } else {
        TN_TRY(tn__parser_int(p, &value));
    }
    bool over = dtype == TN_INT64 && token.text[0] != '-' && value < 0;
    if (over || (bits < 64 && (value < low || value > high))) {
        p->lexer.token = token;
        return tn__lexer_fail(&p->lexer, "a number that fits the element type");
    }
    if (bits >= 8) {
        tn__text_append(&sink->bytes, (const char *)&value, bits / 8);
        return TN_OK;
    }
    uint32_t shift = (uint32_t)(sink->n % (8 / bits)) * bits;
    if (shift == 0) tn__text_append(&sink->bytes, "", 1);
    if (!sink->bytes.failed)
        sink->bytes.data[sink->bytes.size - 1] |=
            (char)((value & ((1 << bits) - 1)) << shift);
    return TN_OK;
}

static tn_status put_element(struct tn__parser *p, struct sink *sink, int32_t dtype) {
    if (dtype == TN_FLOAT || dtype == TN_COMPLEX64) {
        float value = 0;
        TN_TRY(tn__parser_float(p, &value));
        tn__text_append(&sink->bytes, (const char *)&value, sizeof value);
        return TN_OK;
    }
    if (dtype == TN_DOUBLE || dtype == TN_COMPLEX128) {
        double value = 0;
        TN_TRY(tn__parser_double(p, &value));
        tn__text_append(&sink->bytes, (const char *)&value, sizeof value);
        return TN_OK;
    }
    return put_int(p, sink, dtype, tn_dtype_bits(dtype));
}

static tn_status put_string(struct tn__parser *p, Onnx__TensorProto *tensor) {
    const struct tn__token *token = &p->lexer.token;
    if (token->kind != TN_TOKEN_STRING)
        return tn__lexer_fail(&p->lexer, "a string in double quotes");
    TN_TRY(tn__parser_grow(
        p, &tensor->string_data, tensor->n_string_data, sizeof *tensor->string_data));
    tensor->string_data[tensor->n_string_data++] =
        (ProtobufCBinaryData){token->size, (uint8_t *)(uintptr_t)token->text};
    return tn__lexer_next(&p->lexer);
}

static tn_status parse_elements(
    struct tn__parser *p, Onnx__TensorProto *tensor, struct sink *sink) {
    bool more;
    TN_TRY(tn__parser_open(p, '{', '}', &more));
    for (; more; sink->n++) {
        if (tensor->data_type == TN_STRING)
            TN_TRY(put_string(p, tensor));
        else
            TN_TRY(put_element(p, sink, tensor->data_type));
        TN_TRY(tn__parser_more(p, '}', &more));
    }
    return TN_OK;
}

static tn_status parse_data(struct tn__parser *p, Onnx__TensorProto *tensor) {
    struct sink sink = {0};
    tn_status status = parse_elements(p, tensor, &sink);
    if (status == TN_OK && tensor->data_type != TN_STRING) {
        tensor->has_raw_data = 1;
        tensor->raw_data.len = sink.bytes.size;
        tensor->raw_data.data =
            tn__arena_copy(p->arena, sink.bytes.data, sink.bytes.size);
        if (sink.bytes.failed || !tensor->raw_data.data)
            status = tn__fail_memory(p->lexer.diag, "a tensor", sink.bytes.size);
    }
    tn__text_free(&sink.bytes);
    return status;
}

static tn_status take_shape(struct tn__parser *p, const Onnx__TypeProto__Tensor *type,
    int64_t **out_dims, size_t *out_n) {
    size_t n = type->shape ? type->shape->n_dim : 0;
    int64_t *dims = tn__arena_array(p->arena, n, sizeof *dims);
    if (!dims) return tn__fail_memory(p->lexer.diag, "a shape", n);
    for (size_t i = 0; i < n; i++) {
        if (!type->shape->dim[i]->has_dim_value)
            return tn__lexer_fail(&p->lexer, "a shape of numbers in front of data");
        dims[i] = type->shape->dim[i]->dim_value;
    }
    *out_dims = dims;
    *out_n = n;
    return TN_OK;
}

tn_status tn__parse_tensor(struct tn__parser *p, const Onnx__TypeProto *type,
    const char *name, Onnx__TensorProto **out) {
    Onnx__TensorProto *tensor = NULL;
    if (!type->tensor_type) return tn__lexer_fail(&p->lexer, "a tensor type");
    TN_TRY(tn__parser_message(p, &onnx__tensor_proto__descriptor, &tensor));
    tensor->name = (char *)(uintptr_t)name;
    tensor->has_data_type = 1;
    tensor->data_type = type->tensor_type->elem_type;
    TN_TRY(take_shape(p, type->tensor_type, &tensor->dims, &tensor->n_dims));
    *out = tensor;
    if (!tn__parser_at(p, '[')) return parse_data(p, tensor);
    tensor->has_data_location = 1;
    tensor->data_location = 1;
    return tn__parser_pairs(p, &tensor->external_data, &tensor->n_external_data);
}

static tn_status parse_indices(struct tn__parser *p, Onnx__TensorProto *indices) {
    bool more;
    TN_TRY(tn__parser_open(p, '[', ']', &more));
    while (more) {
        TN_TRY(tn__parser_grow(
            p, &indices->int64_data, indices->n_int64_data, sizeof *indices->int64_data));
        TN_TRY(tn__parser_int(p, &indices->int64_data[indices->n_int64_data++]));
        TN_TRY(tn__parser_more(p, ']', &more));
    }
    return TN_OK;
}

/* The shape [n] of values and indices. */
static tn_status set_length(struct tn__parser *p, Onnx__TensorProto *tensor, size_t n) {
    tensor->dims = tn__arena_alloc(p->arena, sizeof *tensor->dims);
    if (!tensor->dims) return tn__fail_memory(p->lexer.diag, "a shape", 1);
    tensor->dims[0] = (int64_t)n;
    tensor->n_dims = 1;
    return TN_OK;
}

tn_status tn__parse_sparse(
    struct tn__parser *p, const Onnx__TypeProto *type, Onnx__SparseTensorProto **out) {
    Onnx__SparseTensorProto *sparse = NULL;
    Onnx__TensorProto *values = NULL, *indices = NULL;
    TN_TRY(tn__parser_message(p, &onnx__sparse_tensor_proto__descriptor, &sparse));
    TN_TRY(tn__parser_message(p, &onnx__tensor_proto__descriptor, &values));
    TN_TRY(tn__parser_message(p, &onnx__tensor_proto__descriptor, &indices));
    TN_TRY(take_shape(p, type->sparse_tensor_type, &sparse->dims, &sparse->n_dims));
    sparse->values = values;
    sparse->indices = indices;
    indices->data_type = TN_INT64;
    values->data_type = type->sparse_tensor_type->elem_type;
    indices->has_data_type = values->has_data_type = 1;
    TN_TRY(parse_indices(p, indices));
    TN_TRY(set_length(p, indices, indices->n_int64_data));
    TN_TRY(set_length(p, values, indices->n_int64_data));
    *out = sparse;
    return parse_data(p, values);
}
