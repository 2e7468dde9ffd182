/* Tensors: all element types from typed, packed and raw storage, and the rules about types
 * and tensors. */
#include "model_bytes.h"
#include "unit.h"

#include "core/model/rules.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "
#define WITH_W(w) HEAD "g (float[2] x) => (float[2] y) <" w "> { y = F(x, w) }"
#define FLOATS WITH_W("float[2,3] w = {1, 2, 3, 4, 5, 6}")

/* ---- every type, every storage -------------------------------------------------------- */

enum {
    F_FLOAT = 4,
    F_INT32 = 5,
    F_STRING = 6,
    F_INT64 = 7,
    F_DOUBLE = 10,
    F_UINT64 = 11
};

/* Entries of the typed field and the bytes the runtime must see, by the format's table. */
static const struct {
    int32_t dtype;
    uint32_t field;
    int64_t n_elements, n_entries;
    int64_t entries[6];
    uint8_t bytes[16];
    uint32_t n_bytes;
} types[] = {
    /* clang-format off */
    {TN_UINT8, F_INT32, 2, 2, {1, 255}, {1, 255}, 2},
    {TN_INT8, F_INT32, 2, 2, {-1, 127}, {0xff, 0x7f}, 2},
    {TN_UINT16, F_INT32, 2, 2, {1, 65535}, {1, 0, 0xff, 0xff}, 4},
    {TN_INT16, F_INT32, 2, 2, {-2, 300}, {0xfe, 0xff, 0x2c, 0x01}, 4},
    {TN_INT32, F_INT32, 2, 2, {-1, 16909060}, {0xff, 0xff, 0xff, 0xff, 4, 3, 2, 1}, 8},
    {TN_INT64, F_INT64, 1, 1, {-2}, {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8},
    {TN_BOOL, F_INT32, 3, 3, {1, 0, 1}, {1, 0, 1}, 3},
    {TN_FLOAT16, F_INT32, 2, 2, {0x3c00, 0xc000}, {0x00, 0x3c, 0x00, 0xc0}, 4},
    {TN_BFLOAT16, F_INT32, 1, 1, {0x3f80}, {0x80, 0x3f}, 2},
    {TN_UINT32, F_UINT64, 1, 1, {4294967295}, {0xff, 0xff, 0xff, 0xff}, 4},
    {TN_UINT64, F_UINT64, 1, 1, {-1}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8},
    {TN_FLOAT8E4M3FN, F_INT32, 2, 2, {0x38, 0xb8}, {0x38, 0xb8}, 2},
    {TN_FLOAT8E4M3FNUZ, F_INT32, 1, 1, {0x80}, {0x80}, 1},
    {TN_FLOAT8E5M2, F_INT32, 1, 1, {0x7c}, {0x7c}, 1},
    {TN_FLOAT8E5M2FNUZ, F_INT32, 1, 1, {0x40}, {0x40}, 1},
    {TN_FLOAT8E8M0, F_INT32, 2, 2, {127, 255}, {127, 255}, 2},
    {TN_UINT4, F_INT32, 3, 2, {0x21, 0x03}, {0x21, 0x03}, 2},
    {TN_INT4, F_INT32, 4, 2, {0xf1, 0x87}, {0xf1, 0x87}, 2},
    {TN_FLOAT4E2M1, F_INT32, 2, 1, {0xa2}, {0xa2}, 1},
    {TN_UINT2, F_INT32, 5, 2, {0xe4, 0x01}, {0xe4, 0x01}, 2},
    {TN_INT2, F_INT32, 4, 1, {0x1b}, {0x1b}, 1},
    {TN_FLOAT, F_FLOAT, 1, 0, {0}, {0x00, 0x00, 0x80, 0x3f}, 4},
    {TN_COMPLEX64, F_FLOAT, 1, 0, {0}, {0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0x40}, 8},
    {TN_DOUBLE, F_DOUBLE, 1, 0, {0}, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, 8},
    {TN_COMPLEX128, F_DOUBLE, 1, 0, {0}, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0x40}, 16},
    /* clang-format on */
};

enum storage { RAW, PACKED, SINGLE, N_STORAGES };

static void put_header(struct bytes *out, size_t i) {
    bytes_put_varint(out, 1 << 3);
    bytes_put_varint(out, (uint64_t)types[i].n_elements);
    bytes_put_varint(out, 2 << 3);
    bytes_put_varint(out, (uint64_t)types[i].dtype);
}

/* Floating entries are the bytes themselves; integers are varints. */
static void put_entries(struct bytes *out, size_t i, bool packed) {
    uint32_t field = types[i].field, width = field == F_FLOAT ? 4 : 8;
    struct bytes list = {0};
    if (types[i].n_entries == 0) {
        for (uint32_t b = 0; b < types[i].n_bytes; b += width) {
            if (!packed) bytes_put_varint(out, field << 3 | (width == 4 ? 5 : 1));
            bytes_put(packed ? &list : out, types[i].bytes + b, width);
        }
    }
    for (int64_t e = 0; e < types[i].n_entries; e++) {
        if (!packed) bytes_put_varint(out, field << 3);
        bytes_put_varint(packed ? &list : out, (uint64_t)types[i].entries[e]);
    }
    if (packed) bytes_put_field(out, field, list.data, list.size);
    bytes_free(&list);
}

START_TEST(every_type_reads_from_raw_packed_and_single_entries) {
    uint64_t seen = TN_BIT(STRING);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (int storage = RAW; storage < N_STORAGES; storage++) {
            struct bytes bytes = {0};
            struct tn_diag diag = {0};
            struct tn_value_ref value = {0};
            struct tn_arena *arena = tn__arena_create();
            put_header(&bytes, i);
            if (storage == RAW)
                bytes_put_field(&bytes, 9, types[i].bytes, types[i].n_bytes);
            else
                put_entries(&bytes, i, storage == PACKED);
            assert_ok(
                tn__value_decode(arena, bytes.data, bytes.size, NULL, &value, &diag),
                diag);
            const struct tn_tensor *tensor = value.as.tensor;
            ck_assert_uint_eq(value.kind, TN_KIND_TENSOR);
            ck_assert_int_eq(tensor->dtype, types[i].dtype);
            ck_assert_uint_eq(tensor->rank, 1);
            ck_assert_int_eq(tensor->dims[0], types[i].n_elements);
            ck_assert_uint_eq(tensor->size, types[i].n_bytes);
            ck_assert_msg(memcmp(tensor->data, types[i].bytes, tensor->size) == 0,
                "%s, storage %d", tn_dtype_name(types[i].dtype), storage);
            tn__arena_destroy(arena);
            bytes_free(&bytes);
        }
        seen |= UINT64_C(1) << types[i].dtype;
    }
    ck_assert_uint_eq(seen, (UINT64_C(1) << TN_DTYPE_COUNT) - 2);
}
END_TEST

START_TEST(strings_keep_their_nul_bytes) {
    struct bytes bytes = {0};
    struct tn_diag diag = {0};
    struct tn_value_ref value = {0};
    struct tn_arena *arena = tn__arena_create();
    bytes_put(&bytes, "\x08\x02\x10\x08", 4);
    bytes_put_field(&bytes, F_STRING, "a\0b", 3);
    bytes_put_field(&bytes, F_STRING, "", 0);
    assert_ok(tn__value_decode(arena, bytes.data, bytes.size, NULL, &value, &diag), diag);
    const struct tn_string *strings = value.as.tensor->data;
    ck_assert_uint_eq(strings[0].size, 3);
    ck_assert_mem_eq(strings[0].data, "a\0b", 3);
    ck_assert_uint_eq(strings[1].size, 0);
    tn__arena_destroy(arena);
    bytes_free(&bytes);
}
END_TEST

START_TEST(a_tensor_without_elements_has_no_data) {
    struct tn_diag diag = {0};
    struct tn_value_ref value = {0};
    struct tn_arena *arena = tn__arena_create();
    assert_ok(tn__value_decode(arena, "\x08\x00\x10\x01", 4, NULL, &value, &diag), diag);
    ck_assert_uint_eq(value.as.tensor->size, 0);
    /* a scalar is one element, so that it needs data */
    assert_fails(tn__value_decode(arena, "\x10\x01", 2, NULL, &value, &diag), diag,
        TN_INVALID_MODEL,
        "tensor '' (float[]): raw_data holds 0 bytes, its shape needs 4");
    tn__arena_destroy(arena);
}
END_TEST

/* ---- rules ---------------------------------------------------------------------------- */

static Onnx__TensorProto *w(Onnx__ModelProto *m) {
    return m->graph->initializer[0];
}
static void bad_type(Onnx__ModelProto *m) {
    w(m)->data_type = 27;
}
static void bad_input_type(Onnx__ModelProto *m) {
    m->graph->input[0]->type->tensor_type->elem_type = 99;
}
static void two_types(Onnx__ModelProto *m) {
    static Onnx__TypeProto__Opaque opaque = ONNX__TYPE_PROTO__OPAQUE__INIT;
    m->graph->input[0]->type->opaque_type = &opaque;
}
static void no_item_type(Onnx__ModelProto *m) {
    static Onnx__TypeProto__Sequence sequence = ONNX__TYPE_PROTO__SEQUENCE__INIT;
    m->graph->input[0]->type->tensor_type = NULL;
    m->graph->input[0]->type->sequence_type = &sequence;
}
static void negative_dim(Onnx__ModelProto *m) {
    w(m)->dims[1] = -3;
}
static void huge_dims(Onnx__ModelProto *m) {
    w(m)->dims[0] = w(m)->dims[1] = INT64_C(1) << 32;
}
static void huge_bytes(Onnx__ModelProto *m) { /* 2^62 elements of 4 bytes */
    w(m)->dims[0] = INT64_C(1) << 62;
    w(m)->dims[1] = 1;
}
static void petabyte(Onnx__ModelProto *m) {
    w(m)->dims[0] = INT64_C(1) << 48;
    w(m)->dims[1] = 1;
}
static void short_raw(Onnx__ModelProto *m) {
    w(m)->raw_data.len = 20;
}
static void long_raw(Onnx__ModelProto *m) {
    w(m)->dims[1] = 2;
}
static void short_list(Onnx__ModelProto *m) {
    static float five[5];
    w(m)->has_raw_data = 0;
    w(m)->float_data = five;
    w(m)->n_float_data = 5;
}
static void two_places(Onnx__ModelProto *m) {
    static float six[6];
    w(m)->float_data = six;
    w(m)->n_float_data = 6;
}
static void two_lists(Onnx__ModelProto *m) {
    static float six[6];
    static double doubles[6];
    w(m)->has_raw_data = 0;
    w(m)->float_data = six;
    w(m)->double_data = doubles;
    w(m)->n_float_data = w(m)->n_double_data = 6;
}
static void other_list(Onnx__ModelProto *m) {
    static double doubles[6];
    w(m)->has_raw_data = 0;
    w(m)->double_data = doubles;
    w(m)->n_double_data = 6;
}
static void raw_strings(Onnx__ModelProto *m) {
    w(m)->data_type = TN_STRING;
}
static void segment(Onnx__ModelProto *m) {
    static Onnx__TensorProto__Segment part = ONNX__TENSOR_PROTO__SEGMENT__INIT;
    w(m)->segment = &part;
}
static void many_dims(Onnx__ModelProto *m) {
    static int64_t ones[65];
    for (int i = 0; i < 65; i++)
        ones[i] = 1;
    w(m)->dims = ones;
    w(m)->n_dims = 65;
}
static void big_entry(Onnx__ModelProto *m) {
    static int32_t entries[6] = {1, 2, 300, 4, 5, 6};
    w(m)->has_raw_data = 0;
    w(m)->data_type = TN_UINT8;
    w(m)->int32_data = entries;
    w(m)->n_int32_data = 6;
}
static Onnx__SparseTensorProto *sparse(Onnx__ModelProto *m) {
    return m->graph->sparse_initializer[0];
}
static void no_indices(Onnx__ModelProto *m) {
    sparse(m)->indices = NULL;
}
static void few_indices(Onnx__ModelProto *m) {
    sparse(m)->indices->dims[0] = 1;
    sparse(m)->indices->n_int64_data = 1;
}
static void huge_sparse(Onnx__ModelProto *m) {
    sparse(m)->dims[0] = INT64_C(1) << 40;
}

#define SPARSE WITH_W("sparse_tensor(float[3,4]) w = [2, 5] {1, 2}")

/* clang-format off */
static const struct rule_case cases[] = {
    {TN_RULE_TYPE_INVALID, TN_INVALID_MODEL, false, FLOATS, two_types,
        "input 'x': its type is several kinds at once, expected one"},
    {TN_RULE_TYPE_INVALID, TN_INVALID_MODEL, false, FLOATS, no_item_type,
        "input 'x': its type is a container of nothing, expected a type inside"},
    {TN_RULE_TYPE_ELEMENT, TN_INVALID_MODEL, false, FLOATS, bad_input_type,
        "input 'x': its type has element type 99, expected 1 to 26"},
    {TN_RULE_TYPE_ELEMENT, TN_INVALID_MODEL, false, FLOATS, bad_type,
        "tensor 'w' (undefined[2,3]): element type 27 is unknown, expected 1 to 26"},
    {TN_RULE_TENSOR_DIM, TN_INVALID_MODEL, false, FLOATS, negative_dim,
        "tensor 'w' (float[2,-3]): dimension 1 is -3, expected 0 or more"},
    {TN_RULE_TENSOR_OVERFLOW, TN_INVALID_MODEL, false, FLOATS, huge_dims,
        "tensor 'w' (float[4294967296,4294967296]): the product of its dimensions does not fit in 64 bits"},
    {TN_RULE_TENSOR_OVERFLOW, TN_INVALID_MODEL, false, FLOATS, huge_bytes,
        "tensor 'w' (float[4611686018427387904,1]): the product of its dimensions does not fit in 64 bits"},
    {TN_RULE_LIMIT_TENSOR, TN_LIMIT_EXCEEDED, false, FLOATS, petabyte,
        "tensor 'w' has 1125899906842624 bytes, the limit is 1099511627776"},
    {TN_RULE_TENSOR_SHORT, TN_INVALID_MODEL, false, FLOATS, short_raw,
        "tensor 'w' (float[2,3]): raw_data holds 20 bytes, its shape needs 24"},
    {TN_RULE_TENSOR_LONG, TN_INVALID_MODEL, false, FLOATS, long_raw,
        "tensor 'w' (float[2,2]): raw_data holds 24 bytes, its shape needs 16"},
    {TN_RULE_TENSOR_SHORT, TN_INVALID_MODEL, false, FLOATS, short_list,
        "tensor 'w' (float[2,3]): float_data holds 5 entries, its shape needs 6"},
    {TN_RULE_TENSOR_TWICE, TN_INVALID_MODEL, false, FLOATS, two_places,
        "tensor 'w' (float[2,3]): it keeps data in raw_data and in float_data, expected one of them"},
    {TN_RULE_TENSOR_TWICE, TN_INVALID_MODEL, false, FLOATS, two_lists,
        "tensor 'w' (float[2,3]): it keeps data in more than one place, expected one (found double_data too)"},
    {TN_RULE_TENSOR_FIELD, TN_INVALID_MODEL, false, FLOATS, other_list,
        "tensor 'w' (float[2,3]): double_data cannot hold its element type"},
    {TN_RULE_TENSOR_FIELD, TN_INVALID_MODEL, false, FLOATS, raw_strings,
        "tensor 'w' (string[2,3]): raw_data cannot hold its element type"},
    {TN_RULE_TENSOR_SEGMENT, TN_INVALID_MODEL, false, FLOATS, segment,
        "tensor 'w' (float[2,3]): it is a segment of a larger tensor, which is not supported"},
    {TN_RULE_TENSOR_RANK, TN_INVALID_MODEL, false, FLOATS, many_dims,
        "tensor 'w' (float[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]): "
        "it has 65 dimensions, at most 64 are supported"},
    {TN_RULE_TENSOR_VALUE, TN_INVALID_MODEL, false, FLOATS, big_entry,
        "tensor 'w' (uint8[2,3]): entry 2 of int32_data is 300, expected 0 to 255"},
    {TN_RULE_SPARSE_PARTS, TN_INVALID_MODEL, false, SPARSE, no_indices,
        "sparse tensor 'w': it has no indices, expected values of rank 1, and int64 indices of rank 1 or 2"},
    {TN_RULE_SPARSE_SHAPE, TN_INVALID_MODEL, false, SPARSE, few_indices,
        "sparse tensor 'w': 2 values in rank 2 need indices of shape [2] or [2,2], found [1]"},
    {TN_RULE_SPARSE_INDEX, TN_INVALID_MODEL, false,
        WITH_W("sparse_tensor(float[3,4]) w = [5, 5] {1, 2}"), NULL,
        "sparse tensor 'w': index 1 lies outside its shape or does not come after the one before it"},
    {TN_RULE_SPARSE_INDEX, TN_INVALID_MODEL, false,
        WITH_W("sparse_tensor(float[3,4]) w = [2, 12] {1, 2}"), NULL,
        "sparse tensor 'w': index 1 lies outside its shape or does not come after the one before it"},
    {TN_RULE_LIMIT_TENSOR, TN_LIMIT_EXCEEDED, false, SPARSE, huge_sparse,
        "sparse tensor 'w' has 17592186044416 bytes when dense, the limit is 4294967296"},
};
/* clang-format on */

START_TEST(each_broken_rule_is_named) {
    check_rule_cases(cases, sizeof cases / sizeof cases[0]);
}
END_TEST

START_TEST(every_rule_about_types_and_tensors_is_tested) {
    static const uint32_t elsewhere[] = {TN_RULE_VALUE_KIND, 0};
    check_rule_coverage(cases, sizeof cases / sizeof cases[0], 500, 599, elsewhere);
}
END_TEST

START_TEST(all_tensors_together_have_a_limit) {
    struct tn__load_options options = {.max_total_bytes = 40};
    struct tn_diag diag = {0};
    struct bytes bytes = bytes_from_text(
        WITH_W("float[6] v = {1, 2, 3, 4, 5, 6}, float[6] w = {1, 2, 3, 4, 5, 6}"), NULL);
    assert_fails(bytes_load(&bytes, &options, &diag), diag, TN_LIMIT_EXCEEDED,
        "the tensors up to 'w' have more bytes together than the limit of 40");
    ck_assert_uint_eq(diag.rule, TN_RULE_LIMIT_TOTAL);
    bytes_free(&bytes);
}
END_TEST

START_TEST(a_sparse_initializer_becomes_dense) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    static const float expected[12] = {0, 0, 1, 0, 0, 2};
    assert_ok(tn__text_read_model(SPARSE, sizeof SPARSE - 1, NULL, &model, &diag), diag);
    const struct tn_graph *g = model->graph;
    const struct tn_tensor *dense = g->values[tn__graph_find(g, "w")].constant;
    ck_assert_uint_eq(dense->size, sizeof expected);
    ck_assert_mem_eq(dense->data, expected, sizeof expected);
    tn__model_destroy(model);
}
END_TEST

/* ---- alignment ------------------------------------------------------------------------- */

enum { LARGE = 70000 };

static void enlarge(Onnx__TensorProto *tensor, size_t width) {
    static uint8_t zeros[LARGE * 8];
    tensor->dims[0] = LARGE;
    tensor->n_float_data = 0;
    tensor->has_raw_data = 1;
    tensor->raw_data = (ProtobufCBinaryData){LARGE * width, zeros};
}

static void enlarge_attribute(Onnx__ModelProto *model) {
    enlarge(model->graph->node[0]->attribute[0]->t, sizeof(float));
}

/* A file puts them anywhere: whatever its first byte's address, they are aligned. */
START_TEST(large_tensors_of_attributes_are_aligned) {
    struct bytes bytes = bytes_from_text(HEAD
        "g (float[2] x) => (float[2] y) { y = F <t = float[1] {1}> (x) }",
        enlarge_attribute);
    uint8_t *room = malloc(bytes.size + 4);
    for (size_t shift = 0; shift < 4; shift++) {
        struct tn_diag diag = {0};
        struct tn__model *model = NULL;
        const struct tn_model source = {
            .data = room + shift, .size = bytes.size, .keep = 1};
        memcpy(room + shift, bytes.data, bytes.size);
        assert_ok(tn__model_load(&source, NULL, &model, &diag), diag);
        const struct tn_attr *t = tn_node_attr(&model->graph->nodes[0].view, "t");
        ck_assert_uint_eq(t->as.tensors->size, LARGE * sizeof(float));
        ck_assert(tn__tensor_aligned(t->as.tensors));
        tn__model_destroy(model);
    }
    free(room);
    bytes_free(&bytes);
}
END_TEST

/* ---- values ---------------------------------------------------------------------------- */

static void put_tensor(struct bytes *out, uint32_t number, uint8_t content) {
    const uint8_t tensor[] = {0x08, 1, 0x10, TN_UINT8, 0x4a, 1, content};
    bytes_put_field(out, number, tensor, sizeof tensor);
}

START_TEST(a_sequence_a_map_and_optionals_decode) {
    struct tn_arena *arena = tn__arena_create();
    struct tn_diag diag = {0};
    struct tn_value_ref value = {0};
    struct bytes sequence = {0}, map = {0}, optional = {0};
    struct tn_type type = {
        .kind = TN_KIND_SEQUENCE, .elem_kind = TN_KIND_TENSOR, .rank = -1};
    bytes_put(&sequence, "\x10\x01", 2);
    put_tensor(&sequence, 3, 7);
    put_tensor(&sequence, 3, 9);
    assert_ok(tn__value_decode(arena, sequence.data, sequence.size, &type, &value, &diag),
        diag);
    ck_assert_uint_eq(value.as.sequence->count, 2);
    ck_assert_int_eq(value.as.sequence->elem_dtype, TN_UINT8);
    ck_assert_uint_eq(*(uint8_t *)value.as.sequence->items[1].as.tensor->data, 9);

    type.kind = TN_KIND_MAP;
    bytes_put(&map, "\x10\x08", 2); /* string keys */
    bytes_put_field(&map, 4, "a", 1);
    bytes_put_field(&map, 4, "b", 1);
    bytes_put_field(&map, 5, sequence.data, sequence.size);
    assert_ok(tn__value_decode(arena, map.data, map.size, &type, &value, &diag), diag);
    ck_assert_int_eq(value.as.map->keys.dtype, TN_STRING);
    ck_assert_uint_eq(((uint8_t *)value.as.map->values.data)[0], 7);
    ck_assert_uint_eq(((uint8_t *)value.as.map->values.data)[1], 9);

    type = (struct tn_type){.kind = TN_KIND_OPTIONAL,
        .elem_kind = TN_KIND_TENSOR,
        .dtype = TN_FLOAT,
        .rank = -1};
    assert_ok(tn__value_decode(arena, NULL, 0, &type, &value, &diag), diag);
    ck_assert_uint_eq(value.as.optional->value.kind, TN_KIND_ABSENT);
    ck_assert_uint_eq(value.as.optional->elem_kind, TN_KIND_TENSOR);
    ck_assert_int_eq(value.as.optional->elem_dtype, TN_FLOAT);
    bytes_put(&optional, "\x10\x03", 2);
    bytes_put_field(&optional, 5, sequence.data, sequence.size);
    assert_ok(tn__value_decode(arena, optional.data, optional.size, &type, &value, &diag),
        diag);
    ck_assert_uint_eq(value.as.optional->value.as.sequence->count, 2);

    optional.data[1] = 1; /* says tensor, holds a sequence */
    assert_fails(
        tn__value_decode(arena, optional.data, optional.size, &type, &value, &diag), diag,
        TN_INVALID_MODEL, "an optional of element kind 1 has items of another kind");
    ck_assert_uint_eq(diag.rule, TN_RULE_VALUE_KIND);
    bytes_free(&sequence);
    bytes_free(&map);
    bytes_free(&optional);
    tn__arena_destroy(arena);
}
END_TEST

START_TEST(a_map_without_entries_has_the_declared_types) {
    static const struct tn_type type = {
        .kind = TN_KIND_MAP, .dtype = TN_DOUBLE, .key_dtype = TN_STRING, .rank = -1};
    struct tn_arena *arena = tn__arena_create();
    struct tn_value_ref value = {0};
    struct tn_diag diag = {0};
    assert_ok(tn__value_decode(arena, "\x10\x08", 2, &type, &value, &diag), diag);
    ck_assert_int_eq(value.as.map->keys.dtype, TN_STRING);
    ck_assert_int_eq(value.as.map->keys.dims[0], 0);
    ck_assert_int_eq(value.as.map->values.dtype, TN_DOUBLE);
    ck_assert_int_eq(value.as.map->values.dims[0], 0);
    tn__arena_destroy(arena);
}
END_TEST

static const struct {
    const char *bytes, *message;
} bad_keys[] = {
    {"\x18\x05", "keys of element type 0"},
    {"\x10\x01", "keys of element type 1,"},
    {"\x10\x63", "keys of element type 99"},
    {"\x10\x07\x22\x01k", "keys of int64 has keys of the other kind"},
    {"\x10\x08\x18\x05", "keys of string has keys of the other kind"},
};

START_TEST(keys_of_maps_are_integers_or_texts) {
    static const struct tn_type type = {
        .kind = TN_KIND_MAP, .dtype = TN_FLOAT, .key_dtype = TN_INT64, .rank = -1};
    struct tn_arena *arena = tn__arena_create();
    struct tn_value_ref value = {0};
    struct tn_diag diag = {0};
    assert_fails(tn__value_decode(arena, bad_keys[_i].bytes, strlen(bad_keys[_i].bytes),
                     &type, &value, &diag),
        diag, TN_INVALID_MODEL, bad_keys[_i].message);
    tn__arena_destroy(arena);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, every_type_reads_from_raw_packed_and_single_entries);
    tcase_add_test(tests, strings_keep_their_nul_bytes);
    tcase_add_test(tests, a_tensor_without_elements_has_no_data);
    tcase_add_test(tests, each_broken_rule_is_named);
    tcase_add_test(tests, every_rule_about_types_and_tensors_is_tested);
    tcase_add_test(tests, all_tensors_together_have_a_limit);
    tcase_add_test(tests, a_sparse_initializer_becomes_dense);
    tcase_add_test(tests, large_tensors_of_attributes_are_aligned);
    tcase_add_test(tests, a_sequence_a_map_and_optionals_decode);
    tcase_add_test(tests, a_map_without_entries_has_the_declared_types);
    tcase_add_loop_test(
        tests, keys_of_maps_are_integers_or_texts, 0, sizeof bad_keys / sizeof *bad_keys);
}

UNIT_MAIN("tensor_read")
