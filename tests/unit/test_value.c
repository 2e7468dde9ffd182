/* Owned values: deep copies of every kind, and what cannot be copied. */
#include "unit.h"

#include "core/base/alloc.h"
#include "tenon/tenon.h"

static struct tn_diag diag;
static struct tn_value *value;

static void tear_down(void) {
    tn_value_release(&value);
    ck_assert_ptr_null(value);
}

START_TEST(a_tensor_is_copied_or_zeroed) {
    int64_t dims[] = {2, 3};
    float data[] = {1, 2, 3, 4, 5, 6};
    assert_ok(tn_value_tensor(TN_FLOAT, dims, 2, data, &value, &diag), diag);
    data[0] = 9;
    dims[0] = 7;
    const struct tn_tensor *t = tn_value_get(value)->as.tensor;
    ck_assert_int_eq(t->dims[0], 2);
    ck_assert_uint_eq(t->size, 24);
    ck_assert(((float *)t->data)[0] == 1 && ((float *)t->data)[5] == 6);
    ck_assert_uint_eq((uintptr_t)t->data % 64, 0);
    tn_value_release(&value);
    assert_ok(tn_value_tensor(TN_INT4, (int64_t[]){3}, 1, NULL, &value, &diag), diag);
    ck_assert_uint_eq(tn_value_get(value)->as.tensor->size, 2);
    ck_assert_int_eq(((char *)tn_value_get(value)->as.tensor->data)[1], 0);
}
END_TEST

START_TEST(string_elements_are_copied_with_their_bytes) {
    char bytes[] = "ab\0c";
    struct tn_string items[] = {{bytes, 4}, {NULL, 0}};
    assert_ok(tn_value_tensor(TN_STRING, (int64_t[]){2}, 1, items, &value, &diag), diag);
    bytes[0] = 'x';
    const struct tn_string *copy = tn_value_get(value)->as.tensor->data;
    ck_assert_uint_eq(copy[0].size, 4);
    ck_assert_int_eq(memcmp(copy[0].data, "ab\0c", 4), 0);
    ck_assert_uint_eq(copy[1].size, 0);
}
END_TEST

START_TEST(nested_values_are_copied_whole) {
    int64_t key = 5, one = 1;
    float x = 2.5f;
    struct tn_map map = {
        .keys = {.data = &key, .dims = &one, .size = 8, .dtype = TN_INT64, .rank = 1},
        .values = {.data = &x, .dims = &one, .size = 4, .dtype = TN_FLOAT, .rank = 1}};
    struct tn_value_ref items[] = {{.kind = TN_KIND_MAP, .as.map = &map}, {0}};
    struct tn_sequence sequence = {items, 2, TN_KIND_MAP, TN_FLOAT, NULL};
    struct tn_optional optional = {
        .value = {.kind = TN_KIND_SEQUENCE, .as.sequence = &sequence},
        .elem_kind = TN_KIND_SEQUENCE};
    struct tn_value_ref ref = {.kind = TN_KIND_OPTIONAL, .as.optional = &optional};
    assert_ok(tn_value_copy(&ref, &value, &diag), diag);
    key = 6;
    x = 0;
    items[0] = (struct tn_value_ref){0};
    const struct tn_sequence *copy = tn_value_get(value)->as.optional->value.as.sequence;
    ck_assert_uint_eq(copy->count, 2);
    ck_assert_uint_eq(copy->items[0].kind, TN_KIND_MAP);
    ck_assert_uint_eq(copy->items[1].kind, TN_KIND_ABSENT);
    ck_assert_int_eq(*(int64_t *)copy->items[0].as.map->keys.data, 5);
    ck_assert(*(float *)copy->items[0].as.map->values.data == 2.5f);
}
END_TEST

/* Two maps {5, 7} -> float, kept as a table. */
static struct tn_value_ref make_table(void) {
    static int64_t keys[] = {5, 7}, n_keys = 2, dims[] = {2, 2};
    static float values[] = {1, 2, 3, 4};
    static struct tn_map table;
    static struct tn_sequence sequence;
    table = (struct tn_map){
        .keys = {.data = keys, .dims = &n_keys, .size = 16, .dtype = TN_INT64, .rank = 1},
        .values = {
            .data = values, .dims = dims, .size = 16, .dtype = TN_FLOAT, .rank = 2}};
    sequence = (struct tn_sequence){NULL, 2, TN_KIND_MAP, TN_FLOAT, &table};
    return (struct tn_value_ref){.kind = TN_KIND_SEQUENCE, .as.sequence = &sequence};
}

START_TEST(a_table_of_maps_stays_one_or_is_spread) {
    struct tn_value_ref ref = make_table();
    struct tn_map storage;
    assert_ok(tn_value_copy(&ref, &value, &diag), diag);
    const struct tn_sequence *copy = tn_value_get(value)->as.sequence;
    const struct tn_map *table = tn_sequence_table(copy);
    ck_assert_ptr_nonnull(table);
    ck_assert_ptr_ne(table, ref.as.sequence->table);
    const struct tn_value_ref row = tn_sequence_item(copy, 1, &storage);
    ck_assert_uint_eq(row.kind, TN_KIND_MAP);
    ck_assert_uint_eq(row.as.map->values.size, 8);
    ck_assert(((float *)row.as.map->values.data)[1] == 4);
    ck_assert_ptr_eq(row.as.map->keys.data, table->keys.data);
    tn_value_release(&value);
    assert_ok(tn_value_spread(&ref, &value, &diag), diag);
    copy = tn_value_get(value)->as.sequence;
    ck_assert_ptr_null(tn_sequence_table(copy));
    ck_assert_int_eq(((int64_t *)copy->items[0].as.map->keys.data)[1], 7);
    ck_assert_int_eq(copy->items[1].as.map->values.dims[0], 2);
    ck_assert_uint_eq(copy->items[1].as.map->values.rank, 1);
    ck_assert(((float *)copy->items[1].as.map->values.data)[0] == 3);
}
END_TEST

START_TEST(a_table_that_lies_is_refused) {
    struct tn_value_ref ref = make_table();
    ref.as.sequence->count = 3;
    assert_fails(
        tn_value_copy(&ref, &value, &diag), diag, TN_UNSUPPORTED, "without its elements");
    ref = make_table();
    ref.as.sequence->table->values.size = 15;
    assert_fails(tn_value_spread(&ref, &value, &diag), diag, TN_UNSUPPORTED, "elements");
    ref = make_table();
    ref.as.sequence->table = NULL;
    assert_fails(tn_value_copy(&ref, &value, &diag), diag, TN_UNSUPPORTED, "elements");
    ck_assert_ptr_null(value);
}
END_TEST

START_TEST(a_serialised_map_is_parsed) {
    /* MapProto: key_type int64, keys 5 and 7, values: a sequence of two float scalars */
    static const unsigned char proto[] = {0x10, 7, 0x18, 5, 0x18, 7, 0x2a, 22, 0x10, 1,
        0x1a, 8, 0x10, 1, 0x4a, 4, 0, 0, 0x20, 0x40, 0x1a, 8, 0x10, 1, 0x4a, 4, 0, 0,
        0x80, 0x3f};
    const struct tn_type type = {.kind = TN_KIND_MAP,
        .elem_kind = TN_KIND_TENSOR,
        .dtype = TN_FLOAT,
        .key_dtype = TN_INT64,
        .rank = -1};
    assert_ok(tn_value_parse(proto, sizeof proto, &type, &value, &diag), diag);
    const struct tn_map *map = tn_value_get(value)->as.map;
    ck_assert_uint_eq(tn_value_get(value)->kind, TN_KIND_MAP);
    ck_assert_int_eq(map->keys.dims[0], 2);
    ck_assert_int_eq(((int64_t *)map->keys.data)[1], 7);
    ck_assert(((float *)map->values.data)[0] == 2.5f);
    ck_assert(((float *)map->values.data)[1] == 1.0f);
}
END_TEST

START_TEST(what_cannot_be_copied_is_refused) {
    struct tn_optional chain[20];
    for (int i = 0; i < 20; i++)
        chain[i] = (struct tn_optional){
            .value = {.kind = i < 19 ? TN_KIND_OPTIONAL : TN_KIND_ABSENT,
                .as.optional = i < 19 ? &chain[i + 1] : NULL}};
    struct tn_value_ref deep = {.kind = TN_KIND_OPTIONAL, .as.optional = chain};
    assert_fails(tn_value_copy(&deep, &value, &diag), diag, TN_UNSUPPORTED, "16 deep");
    struct tn_value_ref opaque = {.kind = TN_KIND_OPAQUE, .as.ptr = &deep};
    assert_fails(tn_value_copy(&opaque, &value, &diag), diag, TN_UNSUPPORTED, "plugin");
    int64_t dims[] = {INT64_MAX, 4}, steps[] = {2};
    float data[4] = {0};
    struct tn_tensor t = {
        .data = data, .dims = dims, .size = 16, .dtype = TN_FLOAT, .rank = 2};
    struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as.tensor = &t};
    assert_fails(tn_value_copy(&ref, &value, &diag), diag, TN_UNSUPPORTED, "shape");
    dims[0] = 2;
    t.rank = 1;
    t.strides = steps;
    assert_fails(tn_value_copy(&ref, &value, &diag), diag, TN_UNSUPPORTED, "strided");
    assert_fails(tn_value_tensor(TN_FLOAT, (int64_t[]){-1}, 1, NULL, &value, &diag), diag,
        TN_INVALID_ARGUMENT, "negative");
    assert_fails(tn_value_tensor(99, NULL, 0, NULL, &value, &diag), diag,
        TN_INVALID_ARGUMENT, "99");
    ck_assert_ptr_null(value);
}
END_TEST

START_TEST(serialised_tensors_are_parsed_and_garbage_is_not) {
    /* dims 2, data_type int64, raw_data of 16 bytes */
    static const unsigned char proto[] = {0x08, 2, 0x10, 7, 0x4a, 16, 1, 0, 0, 0, 0, 0, 0,
        0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const struct tn_type type = {.kind = TN_KIND_TENSOR, .dtype = TN_INT64, .rank = -1};
    assert_ok(tn_value_parse(proto, sizeof proto, &type, &value, &diag), diag);
    const int64_t *data = tn_value_get(value)->as.tensor->data;
    ck_assert_int_eq(data[0], 1);
    ck_assert_int_eq(data[1], -1);
    tn_value_release(&value);
    ck_assert_int_ne(tn_value_parse(proto, sizeof proto - 3, &type, &value, NULL), TN_OK);
    ck_assert_ptr_null(value);
}
END_TEST

START_TEST(owners_are_counted) {
    assert_ok(tn_value_tensor(TN_FLOAT, NULL, 0, NULL, &value, &diag), diag);
    struct tn_value *second = value;
    tn_value_retain(second);
    tn_value_release(&second);
    ck_assert_ptr_null(second);
    ck_assert_uint_eq(tn_value_get(value)->as.tensor->rank, 0);
    tn_value_release(&second);
    tn_value_release(NULL);
    ck_assert_ptr_null(tn_value_get(NULL));
}
END_TEST

START_TEST(no_memory_is_reported) {
    tn__alloc_fail_at(1);
    assert_fails(tn_value_tensor(TN_FLOAT, NULL, 0, NULL, &value, &diag), diag,
        TN_OUT_OF_MEMORY, "value");
    tn__alloc_fail_at(0);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_add_test(tests, a_tensor_is_copied_or_zeroed);
    tcase_add_test(tests, string_elements_are_copied_with_their_bytes);
    tcase_add_test(tests, nested_values_are_copied_whole);
    tcase_add_test(tests, a_table_of_maps_stays_one_or_is_spread);
    tcase_add_test(tests, a_table_that_lies_is_refused);
    tcase_add_test(tests, a_serialised_map_is_parsed);
    tcase_add_test(tests, what_cannot_be_copied_is_refused);
    tcase_add_test(tests, serialised_tensors_are_parsed_and_garbage_is_not);
    tcase_add_test(tests, owners_are_counted);
    tcase_add_test(tests, no_memory_is_reported);
}

UNIT_MAIN("value")
