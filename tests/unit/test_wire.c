/* The wire walker: every malformed byte has a rule, a byte offset and a field path; what is
 * no model at all is recognised. */
#include "model_bytes.h"
#include "unit.h"

#include "core/model/rules.h"
#include "core/model/sniff.h"
#include "core/model/wire.h"

#define MODEL                                                                            \
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = "   \
    "F(x) }"

/* Walks bytes as a message of a type; the result is thrown away. */
static tn_status walk(const ProtobufCMessageDescriptor *type, const void *data,
    size_t size, struct tn_diag *diag) {
    struct tn_arena *arena = tn__arena_create();
    ProtobufCMessage *message;
    struct tn__payloads payloads = {0};
    memset(diag, 0, sizeof *diag);
    tn_status status =
        tn__wire_parse(arena, arena, type, data, size, "t", &message, &payloads, diag);
    tn__arena_destroy(arena);
    return status;
}

/* A malformed ModelProto and what is said about it. */
static const struct {
    uint32_t rule;
    size_t size;
    const char *bytes, *message;
} cases[] = {
    /* clang-format off */
    {TN_RULE_WIRE_TRUNCATED, 1, "\x08",
        "t: byte 1, in ir_version: the data ends inside a number; the file is cut short or damaged"},
    {TN_RULE_WIRE_TRUNCATED, 3, "\x12\x05" "a",
        "t: byte 2, in producer_name: 5 bytes are announced where 1 are left; the file is cut short or damaged"},
    {TN_RULE_WIRE_TRUNCATED, 6, "\x3a\x04\x0a\x10" "ab", /* graph.node longer than the graph */
        "t: byte 4, in graph.node[0]: 16 bytes are announced where 2 are left; the file is cut short or damaged"},
    {TN_RULE_WIRE_VARINT, 12, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00",
        "t: byte 1, in ir_version: a number takes more than ten bytes or 64 bits; the file is damaged"},
    {TN_RULE_WIRE_TAG, 2, "\x00\x00",
        "t: byte 0, in the message itself: there is no field here (number 0, wire type 0); this is no ONNX file or it is damaged"},
    {TN_RULE_WIRE_TAG, 2, "\x0b\x00", /* a group */
        "t: byte 0, in the message itself: there is no field here (number 1, wire type 3); this is no ONNX file or it is damaged"},
    {TN_RULE_WIRE_TYPE, 3, "\x0a\x01\x08",
        "t: byte 1, in ir_version: the field has wire type 2, expected 0; this is no ONNX file or it is damaged"},
    {TN_RULE_WIRE_TYPE, 2, "\x38\x01",
        "t: byte 1, in graph: the field has wire type 0, expected 2; this is no ONNX file or it is damaged"},
    {TN_RULE_WIRE_TWICE, 4, "\x3a\x00\x3a\x00",
        "t: byte 4, in graph: the field occurs a second time; only one is allowed"},
    {TN_RULE_WIRE_NUL, 5, "\x12\x03" "a\0b",
        "t: byte 5, in producer_name: the string holds a NUL byte"},
    {TN_RULE_WIRE_TRUNCATED, 8, "\x3a\x06\x2a\x04\x3a\x02\x80\x80", /* initializer.int64_data */
        "t: byte 8, in graph.initializer[0].int64_data[0]: a packed list of 2 bytes ends inside a number; the file is damaged"},
    {TN_RULE_WIRE_TRUNCATED, 11, "\x3a\x09\x2a\x07\x22\x05" "12345", /* initializer.float_data */
        "t: byte 11, in graph.initializer[0].float_data[0]: a packed list of 5 bytes ends inside a number; the file is damaged"},
    {TN_RULE_WIRE_TRUNCATED, 11, "\x3a\x09\x2a\x07\x38\x01\x38\x80\x01\x38\x80", /* … not packed */
        "t: byte 10, in graph.initializer[0].int64_data[2]: the data ends inside a number; the file is cut short or damaged"},
    {TN_RULE_WIRE_PARSE, 18, "\x3a\x10\x2a\x0e\x0a\x0c\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
        "t: the parser refuses the message; the file is damaged"}, /* a long number in a packed list */
    /* clang-format on */
};

START_TEST(malformed_bytes_are_named_by_rule_offset_and_path) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tn_diag diag;
        tn_status status =
            walk(&onnx__model_proto__descriptor, cases[i].bytes, cases[i].size, &diag);
        ck_assert_int_eq(status, TN_INVALID_MODEL);
        ck_assert_uint_eq(diag.rule, cases[i].rule);
        ck_assert_str_eq(diag.message, cases[i].message);
    }
}
END_TEST

START_TEST(unknown_fields_are_dropped) {
    struct bytes bytes = bytes_from_text(MODEL, NULL);
    struct tn_diag diag = {0};
    bytes_put_field(&bytes, 4000, "anything", 8);
    bytes_put_varint(&bytes, 4001 << 3 | 5);
    bytes_put(&bytes, "1234", 4);
    bytes_put_varint(&bytes, 4002 << 3 | 1);
    bytes_put(&bytes, "12345678", 8);
    bytes_put_varint(&bytes, 4003 << 3);
    bytes_put_varint(&bytes, UINT64_MAX);
    assert_ok(bytes_load(&bytes, NULL, &diag), diag);
    bytes_free(&bytes);
}
END_TEST

/* A tensor of four floats with its data in the file: only the place is kept. */
START_TEST(tensor_data_is_not_copied) {
    static const float data[4] = {1, 2, 3, 4};
    struct bytes bytes = {0};
    struct tn_diag diag = {0};
    struct tn_arena *arena = tn__arena_create();
    struct tn__payloads payloads = {0};
    ProtobufCMessage *message;
    bytes_put(&bytes, "\x08\x04\x10\x01", 4); /* dims, data_type */
    bytes_put_field(&bytes, 9, data, sizeof data);
    assert_ok(tn__wire_parse(arena, arena, &onnx__tensor_proto__descriptor, bytes.data,
                  bytes.size, "t", &message, &payloads, &diag),
        diag);
    ck_assert_uint_eq(payloads.n, 1);
    ck_assert_ptr_eq(payloads.items[0].raw, bytes.data + 6);
    ck_assert_uint_eq(payloads.items[0].raw_size, sizeof data);
    ck_assert(!((const Onnx__TensorProto *)message)->has_raw_data);
    ck_assert_uint_eq(((const Onnx__TensorProto *)message)->payload, 1);
    tn__arena_destroy(arena);
    bytes_free(&bytes);
}
END_TEST

/* Numbers that each have a tag, other fields between them and none at the end. */
START_TEST(lists_written_element_by_element_are_whole) {
    static const unsigned char minus_one[] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    enum { MANY = 3000 };
    static const float floats[] = {1.5f, -2.5f, 0.0f};
    struct bytes bytes = {0};
    struct tn_diag diag = {0};
    struct tn_arena *arena = tn__arena_create();
    struct tn__payloads payloads = {0};
    ProtobufCMessage *message;
    for (int i = 0; i < MANY; i++) {
        bytes_put_varint(&bytes, 8 << 3); /* ints */
        bytes_put_varint(&bytes, (uint64_t)i * 5);
    }
    bytes_put_varint(&bytes, 8 << 3);
    bytes_put(&bytes, minus_one, sizeof minus_one);
    bytes_put_field(&bytes, 1, "name", 4);
    for (int i = 0; i < 3; i++) {
        bytes_put_varint(&bytes, 7 << 3 | 5); /* floats */
        bytes_put(&bytes, &floats[i], sizeof *floats);
    }
    bytes_put_varint(&bytes, 8 << 3);
    bytes_put_varint(&bytes, 77);
    assert_ok(tn__wire_parse(arena, arena, &onnx__attribute_proto__descriptor, bytes.data,
                  bytes.size, "t", &message, &payloads, &diag),
        diag);
    const Onnx__AttributeProto *attr = (const Onnx__AttributeProto *)message;
    ck_assert_uint_eq(attr->n_ints, MANY + 2);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(attr->ints[i], i * 5);
    ck_assert_int_eq(attr->ints[MANY], -1);
    ck_assert_int_eq(attr->ints[MANY + 1], 77);
    ck_assert_uint_eq(attr->n_floats, 3);
    ck_assert_int_eq(memcmp(attr->floats, floats, sizeof floats), 0);
    ck_assert_str_eq(attr->name, "name");
    tn__arena_destroy(arena);
    bytes_free(&bytes);
}
END_TEST

/* ---- long lists ----------------------------------------------------------------------- */

enum { LONG = 3 * TN_LIST_LONG };

/* Element i of a list: numbers of every length, zeros, and signs. */
static int64_t long_int(int64_t i) {
    return i % 3 == 0 ? 0 : i % 5 == 0 ? -i : i << i % 50;
}

/* The elements [begin, end) of an AttributeProto's ints, one by one or packed. */
static void put_ints(struct bytes *bytes, int64_t begin, int64_t end, bool packed) {
    struct bytes content = {0};
    for (int64_t i = begin; i < end; i++) {
        if (!packed) bytes_put_varint(bytes, 8u << 3);
        bytes_put_varint(packed ? &content : bytes, (uint64_t)long_int(i));
    }
    if (packed) bytes_put_field(bytes, 8, content.data, content.size);
    bytes_free(&content);
}

static const struct tn__list *parse_list(struct tn_arena *arena,
    const struct bytes *bytes, uint32_t kind, const Onnx__AttributeProto **out) {
    struct tn_diag diag = {0};
    struct tn__payloads payloads = {0};
    ProtobufCMessage *message;
    assert_ok(tn__wire_parse(arena, arena, &onnx__attribute_proto__descriptor,
                  bytes->data, bytes->size, "t", &message, &payloads, &diag),
        diag);
    *out = (const Onnx__AttributeProto *)message;
    return payloads.n ? &payloads.items[0].lists->of[kind] : NULL;
}

/* How a list may be written: its first half, what stands between, its second half. */
static const struct {
    bool packed[2];
    const char *between;
    uint32_t n_between;
} writings[] = {
    {{false, false}, "", 0},
    {{true, true}, "", 0},
    {{true, false}, "", 0},
    {{false, true}, "\x0a\x01n", 3}, /* the name between the halves */
    {{false, false}, "\x0a\x01n", 3},
};

START_TEST(long_lists_are_decoded_however_they_are_written) {
    struct bytes bytes = {0};
    struct tn_arena *arena = tn__arena_create();
    const Onnx__AttributeProto *proto;
    put_ints(&bytes, 0, LONG / 2, writings[_i].packed[0]);
    bytes_put(&bytes, writings[_i].between, writings[_i].n_between);
    put_ints(&bytes, LONG / 2, LONG, writings[_i].packed[1]);
    const struct tn__list *list = parse_list(arena, &bytes, TN_LIST_INTS, &proto);
    ck_assert_ptr_nonnull(list);
    ck_assert_uint_eq(list->n, LONG);
    ck_assert_uint_eq(proto->n_ints, 0);
    for (int64_t i = 0; i < LONG; i++)
        ck_assert_int_eq(((const int64_t *)list->items)[i], long_int(i));
    tn__arena_destroy(arena);
    bytes_free(&bytes);
}
END_TEST

START_TEST(a_list_that_begins_short_stays_with_the_parser) {
    struct bytes bytes = {0};
    struct tn_arena *arena = tn__arena_create();
    const Onnx__AttributeProto *proto;
    put_ints(&bytes, 0, 10, false);
    bytes_put(&bytes, "\x0a\x01n", 3);
    put_ints(&bytes, 10, LONG, false);
    ck_assert_ptr_null(parse_list(arena, &bytes, TN_LIST_INTS, &proto));
    ck_assert_uint_eq(proto->n_ints, LONG);
    for (int64_t i = 0; i < LONG; i++)
        ck_assert_int_eq(proto->ints[i], long_int(i));
    tn__arena_destroy(arena);
    bytes_free(&bytes);
}
END_TEST

START_TEST(long_lists_of_texts_keep_every_text) {
    static const char *const texts[] = {"LEAF", "BRANCH_LEQ", "", "a", "b", "c", "LEA"};
    struct bytes bytes = {0};
    struct tn_arena *arena = tn__arena_create();
    const Onnx__AttributeProto *proto;
    for (int i = 0; i < LONG; i++)
        bytes_put_field(&bytes, 9, texts[i % 7], strlen(texts[i % 7]));
    const struct tn__list *list = parse_list(arena, &bytes, TN_LIST_STRINGS, &proto);
    ck_assert_ptr_nonnull(list);
    ck_assert_uint_eq(list->n, LONG);
    for (int i = 0; i < LONG; i++) {
        struct tn_string text = ((const struct tn_string *)list->items)[i];
        ck_assert_uint_eq(text.size, strlen(texts[i % 7]));
        ck_assert_mem_eq(text.data, texts[i % 7], text.size);
    }
    tn__arena_destroy(arena);
    bytes_free(&bytes);
}
END_TEST

START_TEST(damage_in_a_long_list_is_found_at_its_byte) {
    struct bytes bytes = {0};
    struct tn_diag diag;
    put_ints(&bytes, 0, LONG, false);
    size_t sound = bytes.size;
    bytes_put(&bytes, "\x40\x80", 2);
    ck_assert_int_ne(
        walk(&onnx__attribute_proto__descriptor, bytes.data, bytes.size, &diag), TN_OK);
    char place[64];
    snprintf(place, sizeof place, "t: byte %zu, in ints[%d]", sound + 1, LONG);
    ck_assert_msg(strncmp(diag.message, place, strlen(place)) == 0, "%s", diag.message);
    bytes_free(&bytes);
}
END_TEST

/* The number of our own field inside a file must not be taken for a record of ours. */
START_TEST(a_payload_number_in_the_file_is_ignored) {
    static const char tensor[] = {0x08, 0x01, 0x10, 0x02}; /* dims 1, uint8 */
    struct bytes bytes = {0};
    struct tn_diag diag = {0};
    bytes_put(&bytes, tensor, sizeof tensor);
    bytes_put_varint(&bytes, 100000u << 3);
    bytes_put_varint(&bytes, 7);
    struct tn_arena *arena = tn__arena_create();
    struct tn_value_ref value = {0};
    assert_fails(tn__value_decode(arena, bytes.data, bytes.size, NULL, &value, &diag),
        diag, TN_INVALID_MODEL, "raw_data holds 0 bytes, its shape needs 1");
    tn__arena_destroy(arena);
    bytes_free(&bytes);
}
END_TEST

START_TEST(messages_nest_at_most_100_deep) {
    struct bytes inner = {0};
    struct tn_diag diag = {0};
    /* type.sequence_type.elem_type.sequence_type … */
    for (int depth = 1; depth < 100; depth++) {
        struct bytes outer = {0};
        bytes_put_field(
            &outer, depth % 2 ? 1 : 4, inner.data ? (void *)inner.data : "", inner.size);
        bytes_free(&inner);
        inner = outer;
    }
    ck_assert_int_eq(
        walk(&onnx__type_proto__sequence__descriptor, inner.data, inner.size, &diag),
        TN_OK);
    struct bytes outer = {0};
    bytes_put_field(&outer, 4, inner.data, inner.size);
    ck_assert_int_eq(walk(&onnx__type_proto__descriptor, outer.data, outer.size, &diag),
        TN_INVALID_MODEL);
    ck_assert_uint_eq(diag.rule, TN_RULE_WIRE_DEPTH);
    ck_assert_ptr_nonnull(strstr(diag.message, "messages nest deeper than 100 levels"));
    bytes_free(&outer);
    bytes_free(&inner);
}
END_TEST

START_TEST(an_empty_message_parses) {
    struct tn_diag diag;
    ck_assert_int_eq(walk(&onnx__graph_proto__descriptor, NULL, 0, &diag), TN_OK);
}
END_TEST

/* What is no ONNX model, and the remedy. */
static const struct {
    size_t size;
    const char *bytes, *part;
} others[] = {
    /* clang-format off */
    {0, "", "it is empty"},
    {41, "version https://git-lfs.github.com/spec/v1", "a Git LFS pointer, not the file itself; run 'git lfs pull'"},
    {15, "<!DOCTYPE html>", "an HTML page"},
    {12, "<html><body>", "an HTML page"},
    {8, "PK\3\4abcd", "a zip archive"},
    {8, "\x1f\x8b\x08\0\0\0\0\0", "compressed with gzip"},
    {8, "\x1c\0\0\0TFL3", "a TensorFlow Lite model"},
    {8, "\x20\0\0\0ORTM", ".ort format"},
    {8, "\x89HDF\r\n\x1a\n", "an HDF5 file"},
    {8, "GGUF\3\0\0\0", "a GGUF model"},
    {8, "\x93NUMPY\1\0", "a NumPy array"},
    {4, "\x80\x02}q", "a Python pickle"},
    {2, "{}", "JSON text"},
    /* clang-format on */
};

START_TEST(other_files_are_recognised) {
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct bytes bytes = {0};
        struct tn_diag diag = {0};
        bytes_put(&bytes, others[i].bytes, others[i].size);
        assert_fails(
            bytes_load(&bytes, NULL, &diag), diag, TN_INVALID_MODEL, others[i].part);
        ck_assert_uint_eq(diag.rule, TN_RULE_NOT_A_MODEL);
        bytes_free(&bytes);
    }
}
END_TEST

START_TEST(a_text_model_is_recognised) {
    static const char text[] = "# a model\n" MODEL;
    struct bytes bytes = {0};
    struct tn_diag diag = {0};
    bytes_put(&bytes, text, sizeof text - 1);
    assert_ok(bytes_load(&bytes, NULL, &diag), diag);
    bytes_free(&bytes);
}
END_TEST

START_TEST(a_missing_file_is_named) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    assert_fails(tn__model_load(
                     &(struct tn_model){.path = "/nowhere/m.onnx"}, NULL, &model, &diag),
        diag, TN_NOT_FOUND, "cannot open '/nowhere/m.onnx': No such file or directory");
    assert_fails(tn__model_load(&(struct tn_model){.path = "/"}, NULL, &model, &diag),
        diag, TN_IO, "'/' is not a regular file");
    assert_fails(tn__model_load(&(struct tn_model){.size = 1}, NULL, &model, &diag), diag,
        TN_INVALID_ARGUMENT, "a model has neither path nor data");
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, malformed_bytes_are_named_by_rule_offset_and_path);
    tcase_add_test(tests, unknown_fields_are_dropped);
    tcase_add_test(tests, tensor_data_is_not_copied);
    tcase_add_test(tests, lists_written_element_by_element_are_whole);
    tcase_add_loop_test(tests, long_lists_are_decoded_however_they_are_written, 0,
        sizeof writings / sizeof *writings);
    tcase_add_test(tests, a_list_that_begins_short_stays_with_the_parser);
    tcase_add_test(tests, long_lists_of_texts_keep_every_text);
    tcase_add_test(tests, damage_in_a_long_list_is_found_at_its_byte);
    tcase_add_test(tests, a_payload_number_in_the_file_is_ignored);
    tcase_add_test(tests, messages_nest_at_most_100_deep);
    tcase_add_test(tests, an_empty_message_parses);
    tcase_add_test(tests, other_files_are_recognised);
    tcase_add_test(tests, a_text_model_is_recognised);
    tcase_add_test(tests, a_missing_file_is_named);
}

UNIT_MAIN("wire")
