/* External data: where it may lie and where not, unaligned and shared files, readers, and
 * the mapping's life. Each test has its own folder. */
#include "model_bytes.h"
#include "unit.h"

#include "core/model/rules.h"
#include "core/model/sha1.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[128];

static void setup(void) {
    strcpy(folder, "/tmp/tenon-external-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.onnx", folder);
}

static void teardown(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static const char *inside(const char *name) {
    static char full[2][256];
    static int turn;
    turn = !turn;
    snprintf(full[turn], sizeof full[turn], "%s/%s", folder, name);
    return full[turn];
}

static void write_file(const char *name, const void *data, size_t size) {
    FILE *file = fopen(inside(name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

/* Writes the model whose tensor w (float[2]) has these external entries. */
static void write_model(const char *entries) {
    char text[512];
    snprintf(text, sizeof text,
        "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y)"
        " <float[2] w = [%s]> { y = F(x, w) }",
        entries);
    struct bytes bytes = bytes_from_text(text, NULL);
    write_file("m.onnx", bytes.data, bytes.size);
    bytes_free(&bytes);
}

static tn_status load(const struct tn__load_options *options, struct tn__model **out,
    struct tn_diag *diag) {
    return tn__model_load(&(struct tn_model){.path = path}, options, out, diag);
}

static const float *weights(const struct tn__model *model) {
    const struct tn_graph *g = model->graph;
    return g->values[tn__graph_find(g, "w")].constant->data;
}

static void expect_refusal(
    const char *entries, tn_status code, uint32_t rule, const char *message) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    write_model(entries);
    ck_assert_int_eq(load(NULL, &model, &diag), code);
    ck_assert_uint_eq(diag.rule, rule);
    ck_assert_str_eq(diag.message, message);
}

static const float data[4] = {1.5f, -2, 3, 4};

START_TEST(a_tensor_lies_in_place_in_its_file) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    write_file("w.bin", data, sizeof data);
    write_model("\"location\": \"w.bin\", \"offset\": \"8\", \"length\": \"8\", "
                "\"other\": \"x\"");
    assert_ok(load(NULL, &model, &diag), diag);
    ck_assert(weights(model)[0] == 3 && weights(model)[1] == 4);
    ck_assert_uint_eq((uintptr_t)weights(model) % 4096, 8); /* the mapping, no copy */
    tn__model_forget(model, weights(model), 8);
    ck_assert(weights(model)[0] == 3);
    tn__model_destroy(model);
}
END_TEST

START_TEST(an_unaligned_offset_works) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    char bytes[3 + sizeof data];
    memcpy(bytes + 3, data, sizeof data);
    write_file("w.bin", bytes, sizeof bytes);
    write_model("\"location\": \"w.bin\", \"offset\": \"3\"");
    assert_ok(load(NULL, &model, &diag), diag);
    ck_assert(weights(model)[0] == 1.5f && weights(model)[1] == -2);
    ck_assert_uint_eq((uintptr_t)weights(model) % sizeof(float), 0);
    tn__model_destroy(model);
}
END_TEST

/* Copied at loading when small; large ones wait until somebody reads them. */
START_TEST(a_large_unaligned_tensor_is_aligned_when_read) {
    enum { N = 100000 };
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    char *bytes = calloc(1, 1 + N * sizeof(float));
    for (int i = 0; i < N; i++)
        memcpy(bytes + 1 + (size_t)i * sizeof(float), &(float){(float)i}, sizeof(float));
    write_file("w.bin", bytes, 1 + N * sizeof(float));
    free(bytes);
    write_model(
        "\"location\": \"w.bin\", \"offset\": \"5\"], float[99999] v = [\"location\": "
        "\"w.bin\", \"offset\": \"5\"");
    assert_ok(load(NULL, &model, &diag), diag);
    const struct tn_graph *g = model->graph;
    tn_value_id v = tn__graph_find(g, "v");
    ck_assert(!tn__tensor_aligned(g->values[v].constant));
    const struct tn_tensor *tensor = tn__graph_api.constant(g, v);
    ck_assert_ptr_eq(tensor, g->values[v].constant);
    ck_assert(tn__tensor_aligned(tensor));
    ck_assert(((const float *)tensor->data)[0] == 1 &&
              ((const float *)tensor->data)[99998] == 99999);
    tn__model_destroy(model);
}
END_TEST

START_TEST(a_file_in_a_subfolder_serves_two_tensors) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    ck_assert_int_eq(mkdir(inside("sub"), 0700), 0);
    write_file("sub/w.bin", data, sizeof data);
    write_model(
        "\"location\": \"sub/w.bin\"], float[2] v = [\"location\": \"sub/w.bin\", "
        "\"offset\": \"8\"");
    assert_ok(load(NULL, &model, &diag), diag);
    const struct tn_graph *g = model->graph;
    const float *v = g->values[tn__graph_find(g, "v")].constant->data;
    ck_assert_ptr_eq(v, weights(model) + 2); /* one mapping */
    tn__model_destroy(model);
}
END_TEST

START_TEST(locations_that_leave_the_folder_are_refused) {
    static const char *const bad[] = {"", "/etc/passwd", "../w.bin", "a/../../w.bin",
        "a/..", ".", "./", "a//b", "a\\\\b", "c:w", "w\\x01.bin"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char entries[128];
        struct tn_diag diag = {0};
        struct tn__model *model = NULL;
        snprintf(entries, sizeof entries, "\"location\": \"%s\"", bad[i]);
        write_model(entries);
        ck_assert_int_eq(load(NULL, &model, &diag), TN_INVALID_MODEL);
        ck_assert_msg(
            diag.rule == TN_RULE_EXTERNAL_LOCATION, "%s: %s", bad[i], diag.message);
    }
    expect_refusal("\"offset\": \"0\"", TN_INVALID_MODEL, TN_RULE_EXTERNAL_LOCATION,
        "tensor 'w': external data has location '', expected the relative path of a file "
        "inside the model's folder");
}
END_TEST

START_TEST(links_are_refused) {
    write_file("real.bin", data, sizeof data);
    ck_assert_int_eq(symlink("real.bin", inside("soft.bin")), 0);
    expect_refusal("\"location\": \"soft.bin\"", TN_INVALID_MODEL,
        TN_RULE_EXTERNAL_ESCAPE,
        "tensor 'w': its data file 'soft.bin' is reached through a symbolic link, which "
        "is "
        "not allowed; replace the link by the file");
    ck_assert_int_eq(symlink("/tmp", inside("elsewhere")), 0);
    expect_refusal("\"location\": \"elsewhere/w.bin\"", TN_INVALID_MODEL,
        TN_RULE_EXTERNAL_ESCAPE,
        "tensor 'w': its data file 'elsewhere/w.bin' is reached through a symbolic link, "
        "which is not allowed; replace the link by the file");
    ck_assert_int_eq(link(inside("real.bin"), inside("hard.bin")), 0);
    expect_refusal("\"location\": \"hard.bin\"", TN_INVALID_MODEL, TN_RULE_EXTERNAL_FILE,
        "tensor 'w': its data file 'hard.bin' has 2 hard links, expected 1; copy the "
        "file");
}
END_TEST

START_TEST(what_is_no_regular_file_is_refused) {
    ck_assert_int_eq(mkfifo(inside("fifo"), 0600), 0);
    expect_refusal("\"location\": \"fifo\"", TN_INVALID_MODEL, TN_RULE_EXTERNAL_FILE,
        "tensor 'w': its data file 'fifo' is not a regular file");
    ck_assert_int_eq(mkdir(inside("dir"), 0700), 0);
    expect_refusal("\"location\": \"dir\"", TN_INVALID_MODEL, TN_RULE_EXTERNAL_FILE,
        "tensor 'w': its data file 'dir' is not a regular file");
    expect_refusal("\"location\": \"missing.bin\"", TN_NOT_FOUND, TN_RULE_EXTERNAL_FILE,
        "tensor 'w': cannot open its data file 'missing.bin' beside the model: No such "
        "file "
        "or directory");
}
END_TEST

START_TEST(ranges_and_numbers_are_checked) {
    write_file("w.bin", data, sizeof data);
    expect_refusal("\"location\": \"w.bin\", \"offset\": \"12\"", TN_INVALID_MODEL,
        TN_RULE_EXTERNAL_RANGE,
        "tensor 'w': bytes 12 to 20 of 'w.bin' are wanted, but the file has 16; it is "
        "cut "
        "short or belongs to another model");
    expect_refusal("\"location\": \"w.bin\", \"offset\": \"9223372036854775807\"",
        TN_INVALID_MODEL, TN_RULE_EXTERNAL_RANGE,
        "tensor 'w': bytes 9223372036854775807 to 9223372036854775815 of 'w.bin' are "
        "wanted, but the file has 16; it is cut short or belongs to another model");
    static const char *const bad[] = {
        "-1", "", "0x10", " 8", "8 ", "18446744073709551616", "9223372036854775808"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char entries[128], message[256];
        snprintf(entries, sizeof entries, "\"location\": \"w.bin\", \"offset\": \"%s\"",
            bad[i]);
        snprintf(message, sizeof message,
            "tensor 'w': external data has offset '%s', expected a decimal number that "
            "is "
            "not negative",
            bad[i]);
        expect_refusal(entries, TN_INVALID_MODEL, TN_RULE_EXTERNAL_NUMBER, message);
    }
    expect_refusal("\"location\": \"w.bin\", \"length\": \"12\"", TN_INVALID_MODEL,
        TN_RULE_EXTERNAL_LENGTH,
        "tensor 'w': external data has 12 bytes, its shape needs 8");
}
END_TEST

static void add_raw(Onnx__ModelProto *m) {
    m->graph->initializer[0]->has_raw_data = 1;
    m->graph->initializer[0]->raw_data = (ProtobufCBinaryData){8, (uint8_t *)"12345678"};
}
static void make_strings(Onnx__ModelProto *m) {
    m->graph->initializer[0]->data_type = TN_STRING;
}

#define EXTERNAL                                                                         \
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y)"          \
    " <float[2] w = [\"location\": \"w.bin\"]> { y = F(x, w) }"

START_TEST(models_from_memory_need_a_folder_or_a_reader) {
    static const struct rule_case cases[] = {
        {TN_RULE_EXTERNAL_BASE, TN_INVALID_MODEL, false, EXTERNAL, NULL,
            "tensor 'w' is stored in the file 'w.bin', but the model came from memory: "
            "give "
            "a base folder or a reader"},
        {TN_RULE_EXTERNAL_TWICE, TN_INVALID_MODEL, false, EXTERNAL, add_raw,
            "tensor 'w' (float[2]): its data is external and in the model too, expected "
            "one "
            "of them"},
        {TN_RULE_EXTERNAL_STRING, TN_INVALID_MODEL, false, EXTERNAL, make_strings,
            "tensor 'w' (string[2]): strings cannot be stored in an external file"},
    };
    check_rule_cases(cases, sizeof cases / sizeof cases[0]);
}
END_TEST

START_TEST(a_base_folder_serves_a_model_from_memory) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    struct bytes bytes = bytes_from_text(EXTERNAL, NULL);
    write_file("w.bin", data, sizeof data);
    struct tn_model source = {.data = bytes.data, .size = bytes.size, .base_dir = folder};
    assert_ok(tn__model_load(&source, NULL, &model, &diag), diag);
    bytes_free(&bytes);
    ck_assert(weights(model)[0] == 1.5f);
    tn__model_destroy(model);
}
END_TEST

static tn_status read_twos(void *arg, const char *location, uint64_t offset,
    uint64_t size, void *buffer, struct tn_diag *diag) {
    int *calls = arg;
    ++*calls;
    if (*calls > 1) return tn_fail(diag, TN_IO, "the reader is tired");
    ck_assert_str_eq(location, "w.bin");
    ck_assert_uint_eq(offset, 0);
    ck_assert_uint_eq(size, 8);
    memcpy(buffer, (float[2]){2, 2}, size);
    return TN_OK;
}

START_TEST(a_reader_serves_a_model_from_memory) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    int calls = 0;
    struct bytes bytes = bytes_from_text(EXTERNAL, NULL);
    struct tn_model source = {
        .data = bytes.data, .size = bytes.size, .read = read_twos, .read_arg = &calls};
    assert_ok(tn__model_load(&source, NULL, &model, &diag), diag);
    ck_assert(weights(model)[1] == 2);
    tn__model_destroy(model);
    assert_fails(
        tn__model_load(&source, NULL, &model, &diag), diag, TN_IO, "the reader is tired");
    bytes_free(&bytes);
}
END_TEST

START_TEST(checksums_are_compared_when_asked) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    struct tn__load_options options = {.verify_checksums = true};
    char sum[TN_SHA1_TEXT_SIZE];
    tn__sha1("abc", 3, sum); /* the examples of FIPS 180 */
    ck_assert_str_eq(sum, "a9993e364706816aba3e25717850c26c9cd0d89d");
    tn__sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, sum);
    ck_assert_str_eq(sum, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    write_file("w.bin", "abcdefgh", 8);
    write_model("\"location\": \"w.bin\", "
                "\"checksum\": \"425AF12A0743502B322E93A015BCF868E324D56A\"");
    assert_ok(load(&options, &model, &diag), diag);
    tn__model_destroy(model);
    write_file("w.bin", "abcdefgH", 8);
    assert_ok(load(NULL, &model, &diag), diag);
    tn__model_destroy(model);
    assert_fails(load(&options, &model, &diag), diag, TN_INVALID_MODEL,
        "the model states '425AF12A0743502B322E93A015BCF868E324D56A'");
    ck_assert_uint_eq(diag.rule, TN_RULE_EXTERNAL_CHECKSUM);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_tensor_lies_in_place_in_its_file);
    tcase_add_test(tests, an_unaligned_offset_works);
    tcase_add_test(tests, a_large_unaligned_tensor_is_aligned_when_read);
    tcase_add_test(tests, a_file_in_a_subfolder_serves_two_tensors);
    tcase_add_test(tests, locations_that_leave_the_folder_are_refused);
    tcase_add_test(tests, links_are_refused);
    tcase_add_test(tests, what_is_no_regular_file_is_refused);
    tcase_add_test(tests, ranges_and_numbers_are_checked);
    tcase_add_test(tests, models_from_memory_need_a_folder_or_a_reader);
    tcase_add_test(tests, a_base_folder_serves_a_model_from_memory);
    tcase_add_test(tests, a_reader_serves_a_model_from_memory);
    tcase_add_test(tests, checksums_are_compared_when_asked);
}

UNIT_MAIN("external")
