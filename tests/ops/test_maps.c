/* Maps into, through and out of models: DictVectorizer, CastMap and ZipMap by the public API.
 * Expected values are from the operators' texts. */
#include "tenon/tenon.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct tn_runtime *runtime;
static struct tn_session *session;
static struct tn_context *context;
static struct tn_diag diag;

static void must(tn_status status) {
    ck_assert_msg(status == TN_OK, "%s", diag.message);
}

static void load(const char *graph) {
    char text[2048];
    int n = snprintf(text, sizeof text,
        "<ir_version: 8, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]>\n%s", graph);
    const struct tn_model model = {.data = text, .size = (uint64_t)n};
    must(tn_session_create(runtime, &model, NULL, &session, &diag));
    must(tn_context_create(session, &context, &diag));
}

static void unload(void) {
    tn_context_destroy(context);
    tn_session_destroy(session);
    context = NULL;
    session = NULL;
    diag = (struct tn_diag){0};
}

static void open_runtime(void) {
    must(tn_runtime_create(NULL, &runtime, &diag));
}

static void close_runtime(void) {
    unload();
    tn_runtime_destroy(runtime);
}

/* ---- making values ------------------------------------------------------------------------ */

static struct tn_tensor list(int32_t dtype, const void *data, int64_t *n) {
    return (struct tn_tensor){.data = (void *)(uintptr_t)data,
        .dims = n,
        .dtype = dtype,
        .rank = 1,
        .size = (uint64_t)*n * tn_dtype_bits(dtype) / 8};
}

#define TEXT(text)                                                                       \
    { text, sizeof(text) - 1 }

static tn_status run_map(struct tn_map *map) {
    const struct tn_value_ref value = {.kind = TN_KIND_MAP, .as.map = map};
    tn_status status = tn_context_set_input(context, 0, &value, &diag);
    return status == TN_OK ? tn_context_run(context, NULL, &diag) : status;
}

static const struct tn_tensor *output(void) {
    const struct tn_value_ref *value = tn_context_output(context, 0);
    ck_assert_ptr_nonnull(value);
    ck_assert_uint_eq(value->kind, TN_KIND_TENSOR);
    return value->as.tensor;
}

static void expect_floats(const float *wanted, int64_t n) {
    const struct tn_tensor *y = output();
    ck_assert_uint_eq(y->rank, 2);
    ck_assert_int_eq(y->dims[0], 1);
    ck_assert_int_eq(y->dims[1], n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(((const float *)y->data)[i] == wanted[i], "%g at %d",
            (double)((const float *)y->data)[i], (int)i);
}

static void expect_texts(const char *const *wanted, int64_t n) {
    const struct tn_tensor *y = output();
    ck_assert_int_eq(y->dims[1], n);
    for (int64_t i = 0; i < n; i++) {
        const struct tn_string *s = (const struct tn_string *)y->data + i;
        ck_assert_msg(s->size == strlen(wanted[i]) &&
                          (!s->size || memcmp(s->data, wanted[i], s->size) == 0),
            "'%.*s' at %d", (int)s->size, s->data, (int)i);
    }
}

/* ---- DictVectorizer ----------------------------------------------------------------------- */

START_TEST(dict_vectorizer_orders_by_its_vocabulary) {
    load("g (map(string, float) x) => (float[1,3] y) { y = ai.onnx.ml.DictVectorizer "
         "<string_vocabulary = [\"b\",\"a\",\"c\"]> (x) }");
    struct tn_string keys[] = {TEXT("a"), TEXT("c"), TEXT("unknown")};
    float values[] = {1, 2, 9};
    int64_t n = 3;
    struct tn_map map = {list(TN_STRING, keys, &n), list(TN_FLOAT, values, &n)};
    must(run_map(&map));
    expect_floats((float[]){0, 1, 2}, 3);
    /* another map of another size in the same context */
    int64_t none = 0;
    map = (struct tn_map){list(TN_STRING, keys, &none), list(TN_FLOAT, values, &none)};
    must(run_map(&map));
    expect_floats((float[]){0, 0, 0}, 3);
}
END_TEST

START_TEST(dict_vectorizer_of_text_leaves_gaps_empty) {
    load("g (map(int64, string) x) => (string[1,2] y) { y = ai.onnx.ml.DictVectorizer "
         "<int64_vocabulary = [1000000007,-1]> (x) }");
    int64_t keys[] = {-1}, n = 1;
    struct tn_string values[] = {TEXT("v")};
    struct tn_map map = {list(TN_INT64, keys, &n), list(TN_STRING, values, &n)};
    must(run_map(&map));
    expect_texts((const char *[]){"", "v"}, 2);
}
END_TEST

static const struct {
    const char *key, *value, *vocabulary;
    int32_t key_dtype, dtype;
} pairs[] = {
    {"string", "int64", "string_vocabulary = [\"k\"]", TN_STRING, TN_INT64},
    {"string", "double", "string_vocabulary = [\"k\"]", TN_STRING, TN_DOUBLE},
    {"string", "float", "string_vocabulary = [\"k\"]", TN_STRING, TN_FLOAT},
    {"int64", "double", "int64_vocabulary = [4]", TN_INT64, TN_DOUBLE},
    {"int64", "float", "int64_vocabulary = [4]", TN_INT64, TN_FLOAT},
};

START_TEST(dict_vectorizer_takes_every_pair_of_types) {
    char graph[256];
    snprintf(graph, sizeof graph,
        "g (map(%s, %s) x) => (%s[1,1] y) { y = ai.onnx.ml.DictVectorizer <%s> (x) }",
        pairs[_i].key, pairs[_i].value, pairs[_i].value, pairs[_i].vocabulary);
    load(graph);
    struct tn_string text = TEXT("k");
    int64_t number = 4, n = 1, integer = 7;
    double real = 7;
    float single = 7;
    bool strings = pairs[_i].key_dtype == TN_STRING;
    const void *value = pairs[_i].dtype == TN_INT64    ? (void *)&integer
                        : pairs[_i].dtype == TN_DOUBLE ? (void *)&real
                                                       : (void *)&single;
    struct tn_map map = {
        list(pairs[_i].key_dtype, strings ? (void *)&text : (void *)&number, &n),
        list(pairs[_i].dtype, value, &n)};
    must(run_map(&map));
    ck_assert_int_eq(output()->dtype, pairs[_i].dtype);
    ck_assert_int_eq(memcmp(output()->data, value, output()->size), 0);
}
END_TEST

/* ---- CastMap ------------------------------------------------------------------------------ */

static void run_texts(const char *attributes) {
    char graph[256];
    snprintf(graph, sizeof graph,
        "g (map(int64, string) x) => (y) { y = ai.onnx.ml.CastMap <%s> (x) }",
        attributes);
    load(graph);
    static int64_t keys[] = {3, 0, 2}, n = 3;
    static struct tn_string values[] = {TEXT("3.5"), TEXT("-1"), TEXT("1e3")};
    struct tn_map map = {list(TN_INT64, keys, &n), list(TN_STRING, values, &n)};
    (void)run_map(&map);
}

START_TEST(cast_map_goes_by_ascending_keys) {
    run_texts("cast_to = \"TO_FLOAT\"");
    expect_floats((float[]){-1, 1000, 3.5f}, 3);
    unload();
    run_texts("cast_to = \"TO_STRING\", map_form = \"DENSE\"");
    expect_texts((const char *[]){"-1", "1e3", "3.5"}, 3);
}
END_TEST

START_TEST(cast_map_sparse_fills_gaps) {
    run_texts("cast_to = \"TO_FLOAT\", map_form = \"SPARSE\", max_map = 5");
    expect_floats((float[]){-1, 0, 1000, 3.5f, 0}, 5);
    unload();
    run_texts("cast_to = \"TO_STRING\", map_form = \"SPARSE\", max_map = 4");
    expect_texts((const char *[]){"-1", "", "1e3", "3.5"}, 4);
}
END_TEST

START_TEST(cast_map_writes_numbers_shortly) {
    load("g (map(int64, float) x) => (y) { y = ai.onnx.ml.CastMap <cast_to = "
         "\"TO_STRING\"> (x) }");
    int64_t keys[] = {1, 2, 3}, n = 3;
    float values[] = {0.1f, -16777216.0f, 3};
    struct tn_map map = {list(TN_INT64, keys, &n), list(TN_FLOAT, values, &n)};
    must(run_map(&map));
    expect_texts((const char *[]){"0.1", "-16777216", "3"}, 3);
    unload();
    load("g (map(int64, float) x) => (y) { y = ai.onnx.ml.CastMap <cast_to = "
         "\"TO_INT64\"> (x) }");
    values[0] = -2.9f;
    must(run_map(&map));
    ck_assert_int_eq(((const int64_t *)output()->data)[0], -2);
    ck_assert_int_eq(((const int64_t *)output()->data)[1], -16777216);
}
END_TEST

static const struct {
    const char *attributes, *part;
} refused[] = {
    {"cast_to = \"TO_INT64\"", "'1e3' is no integer"},
    {"map_form = \"SPARSE\", max_map = 3", "key 3 is outside"},
    {"map_form = \"SPARSE\", max_map = 0", "'max_map' is 0"},
    {"map_form = \"SPARSE\", max_map = 9223372036854775807", "'max_map' is"},
    {"map_form = \"THICK\"", "'map_form' is 'THICK'"},
    {"cast_to = \"TO_BOOL\"", "'cast_to' is 'TO_BOOL'"},
};

START_TEST(cast_map_refuses) {
    char graph[256];
    snprintf(graph, sizeof graph,
        "<ir_version: 8, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]>\n"
        "g (map(int64, string) x) => (y) { y = ai.onnx.ml.CastMap <%s> (x) }",
        refused[_i].attributes);
    const struct tn_model model = {.data = graph, .size = strlen(graph)};
    static int64_t keys[] = {3, 0, 2}, n = 3;
    static struct tn_string values[] = {TEXT("3.5"), TEXT("-1"), TEXT("1e3")};
    struct tn_map map = {list(TN_INT64, keys, &n), list(TN_STRING, values, &n)};
    tn_status status = tn_session_create(runtime, &model, NULL, &session, &diag);
    if (status == TN_OK) status = tn_context_create(session, &context, &diag);
    if (status == TN_OK) status = run_map(&map);
    ck_assert_int_ne(status, TN_OK);
    ck_assert_msg(strstr(diag.message, refused[_i].part), "%s", diag.message);
}
END_TEST

/* A NUL does not end a number, and none is cut to what fits. */
START_TEST(cast_map_takes_whole_numbers_only) {
    static const struct tn_string texts[] = {TEXT("5\0abc"), TEXT(""), TEXT("5 "),
        TEXT("99999999999999999999"), TEXT("-9223372036854775809"), TEXT("5")};
    load("g (map(int64, string) x) => (int64[a,b] y) { y = ai.onnx.ml.CastMap <cast_to = "
         "\"TO_INT64\"> (x) }");
    int64_t keys[] = {1}, n = 1;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct tn_map map = {list(TN_INT64, keys, &n), list(TN_STRING, &texts[i], &n)};
        bool sound = i + 1 == COUNT(texts);
        diag = (struct tn_diag){0};
        ck_assert_msg((run_map(&map) == TN_OK) == sound, "text %d", (int)i);
        ck_assert(sound || strstr(diag.message, "is no integer"));
    }
}
END_TEST

START_TEST(a_map_of_other_types_is_refused) {
    load("g (map(int64, string) x) => (y) { y = ai.onnx.ml.CastMap (x) }");
    int64_t keys[] = {1, 2}, n = 2, one = 1;
    float values[] = {1, 2};
    struct tn_string texts[] = {TEXT("a"), TEXT("b")};
    struct tn_map floats = {list(TN_INT64, keys, &n), list(TN_FLOAT, values, &n)};
    struct tn_map named = {list(TN_STRING, texts, &n), list(TN_STRING, texts, &n)};
    struct tn_map uneven = {list(TN_INT64, keys, &n), list(TN_STRING, texts, &one)};
    ck_assert_int_eq(run_map(&floats), TN_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(diag.message, "map"));
    ck_assert_int_eq(run_map(&named), TN_INVALID_ARGUMENT);
    ck_assert_int_eq(run_map(&uneven), TN_INVALID_ARGUMENT);
}
END_TEST

START_TEST(a_model_whose_keys_do_not_fit_is_refused_at_load) {
    const char *text = "<ir_version: 8, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]>\n"
                       "g (map(string, float) x) => (y) { y = ai.onnx.ml.CastMap (x) }";
    const struct tn_model model = {.data = text, .size = strlen(text)};
    ck_assert_int_eq(
        tn_session_create(runtime, &model, NULL, &session, &diag), TN_INVALID_MODEL);
    ck_assert_msg(strstr(diag.message, "a map of float"), "%s", diag.message);
}
END_TEST

/* ---- ZipMap ------------------------------------------------------------------------------- */

static const struct tn_sequence *zip(int64_t rows, float *x) {
    const int64_t dims[] = {rows, 2};
    struct tn_tensor tensor = {.data = x,
        .dims = dims,
        .dtype = TN_FLOAT,
        .rank = 2,
        .size = (uint64_t)rows * 8};
    const struct tn_value_ref value = {.kind = TN_KIND_TENSOR, .as.tensor = &tensor};
    must(tn_context_set_input(context, 0, &value, &diag));
    must(tn_context_run(context, NULL, &diag));
    const struct tn_value_ref *z = tn_context_output(context, 0);
    ck_assert_uint_eq(z->kind, TN_KIND_SEQUENCE);
    ck_assert_uint_eq(z->as.sequence->elem_kind, TN_KIND_MAP);
    ck_assert_uint_eq(z->as.sequence->count, (uint64_t)rows);
    return z->as.sequence;
}

START_TEST(zip_map_keeps_the_matrix) {
    load("g (float[n,2] x) => (seq(map(int64, float)) z) { z = ai.onnx.ml.ZipMap "
         "<classlabels_int64s = [3,4]> (x) }");
    const struct tn_type *type = &tn_session_io(session, TN_OUTPUT, 0)->type;
    ck_assert_uint_eq(type->kind, TN_KIND_SEQUENCE);
    ck_assert_uint_eq(type->elem_kind, TN_KIND_MAP);
    ck_assert_int_eq(type->key_dtype, TN_INT64);
    ck_assert_int_eq(type->dtype, TN_FLOAT);
    float x[] = {0.25f, 0.75f, 1, 0};
    const struct tn_sequence *z = zip(2, x);
    const struct tn_map *table = tn_sequence_table(z);
    ck_assert_ptr_nonnull(table);
    ck_assert_int_eq(memcmp(table->values.data, x, sizeof x), 0);
    struct tn_map storage;
    struct tn_value_ref row = tn_sequence_item(z, 1, &storage);
    ck_assert_int_eq(((const int64_t *)row.as.map->keys.data)[1], 4);
    ck_assert(((const float *)row.as.map->values.data)[0] == 1);
    /* maps of their own, for who wants them */
    struct tn_value *spread = NULL;
    must(tn_value_spread(tn_context_output(context, 0), &spread, &diag));
    const struct tn_sequence *maps = tn_value_get(spread)->as.sequence;
    ck_assert_ptr_null(tn_sequence_table(maps));
    ck_assert(((const float *)maps->items[0].as.map->values.data)[1] == 0.75f);
    tn_value_release(&spread);
    ck_assert_uint_eq(zip(0, x)->count, 0);
    ck_assert(((float *)tn_sequence_table(zip(1, x))->values.data)[1] == 0.75f);
}
END_TEST

START_TEST(zip_map_of_a_vector_is_one_map_under_names) {
    load("g (float[2] x) => (seq(map(string, float)) z) { z = ai.onnx.ml.ZipMap "
         "<classlabels_strings = [\"no\",\"yes\"]> (x) }");
    float x[] = {0.5f, 2};
    int64_t two = 2;
    struct tn_tensor tensor = list(TN_FLOAT, x, &two);
    const struct tn_value_ref value = {.kind = TN_KIND_TENSOR, .as.tensor = &tensor};
    must(tn_context_set_input(context, 0, &value, &diag));
    must(tn_context_run(context, NULL, &diag));
    const struct tn_sequence *z = tn_context_output(context, 0)->as.sequence;
    struct tn_map storage;
    ck_assert_uint_eq(z->count, 1);
    struct tn_value_ref row = tn_sequence_item(z, 0, &storage);
    const struct tn_string *keys = row.as.map->keys.data;
    ck_assert_uint_eq(keys[1].size, 3);
    ck_assert_int_eq(memcmp(keys[1].data, "yes", 3), 0);
    ck_assert(((const float *)row.as.map->values.data)[1] == 2);
}
END_TEST

static tn_status append(void *arg, const char *text, uint64_t size) {
    char *all = arg;
    size_t used = strlen(all);
    if (used + size < 2000) {
        memcpy(all + used, text, size);
        all[used + size] = '\0';
    }
    return 0;
}

START_TEST(the_text_format_tells_types_of_maps) {
    char text[2048] = "";
    load("g (float[n,2] x) => (seq(map(int64, float)) z) { z = ai.onnx.ml.ZipMap "
         "<classlabels_int64s = [3,4]> (x) }");
    must(
        tn_session_report(session, TN_REPORT_GRAPH, TN_FORMAT_TEXT, append, text, &diag));
    ck_assert_msg(strstr(text, "seq(map(int64, float))"), "%s", text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("maps");
    TCase *tests = tcase_create("maps");
    tcase_add_checked_fixture(tests, open_runtime, close_runtime);
    tcase_add_test(tests, dict_vectorizer_orders_by_its_vocabulary);
    tcase_add_test(tests, dict_vectorizer_of_text_leaves_gaps_empty);
    tcase_add_loop_test(
        tests, dict_vectorizer_takes_every_pair_of_types, 0, (int)COUNT(pairs));
    tcase_add_test(tests, cast_map_goes_by_ascending_keys);
    tcase_add_test(tests, cast_map_sparse_fills_gaps);
    tcase_add_test(tests, cast_map_writes_numbers_shortly);
    tcase_add_loop_test(tests, cast_map_refuses, 0, (int)COUNT(refused));
    tcase_add_test(tests, cast_map_takes_whole_numbers_only);
    tcase_add_test(tests, a_map_of_other_types_is_refused);
    tcase_add_test(tests, a_model_whose_keys_do_not_fit_is_refused_at_load);
    tcase_add_test(tests, zip_map_keeps_the_matrix);
    tcase_add_test(tests, zip_map_of_a_vector_is_one_map_under_names);
    tcase_add_test(tests, the_text_format_tells_types_of_maps);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
