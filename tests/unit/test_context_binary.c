/* What a provider compiled, written to a model file and read back: checked against its record
 * before the provider sees a byte. */
#include "npu_fixture.h"

#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/tenon-npu-XXXXXX", kept[64];

static void make_folder(void) {
    set_up();
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(kept, sizeof kept, "%s/kept.onnx", folder);
}

static void remove_folder(void) {
    char command[128];
    tear_down_runtime();
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void write_context(const char *embed) {
    struct setup setup = {
        "fake.npu", "auto", {"context.write", kept, "context.embed", embed, NULL}};
    assert_ok(try_setup(chain, &setup), diag);
}

static tn_status load_context(const struct setup *setup) {
    struct tn_option options[8] = {{"provider", setup->providers}, {"level", "none"},
        {"placement", setup->placement}};
    uint64_t n = 3;
    for (int i = 0; setup->pairs[i]; i += 2)
        options[n++] = (struct tn_option){setup->pairs[i], setup->pairs[i + 1]};
    struct tn_session_options o = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .options = options, .n_options = n};
    struct tn_model source = {.path = kept};
    close_session();
    memset(&diag, 0, sizeof diag);
    tn_status status = tn_session_create(runtime, &source, &o, &session, &diag);
    if (status == TN_OK) status = tn_context_create(session, &context, &diag);
    return status;
}

START_TEST(what_was_compiled_is_kept_and_loads_without_compiling) {
    const char *embed = _i ? "1" : "0";
    write_context(embed);
    /* compiling would fail */
    struct setup setup = {
        "fake.npu,cpu", "strict", {"provider:fake.npu/fail", "compile", NULL}};
    assert_fails(load_context(&setup), diag, TN_UNSUPPORTED, "other options");
    setup.pairs[0] = NULL;
    assert_ok(load_context(&setup), diag);
    for (int i = 0; i < 2; i++)
        run_chain();
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 2 nodes");
    assert_says("fake.npu_0");
}
END_TEST

/* Changes one byte behind the n-th `find` of a file. */
static void spoil(const char *path, const char *find, long shift) {
    static char data[1 << 16];
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t n = fread(data, 1, sizeof data, file);
    fclose(file);
    char *at = memmem(data, n, find, strlen(find));
    ck_assert_ptr_nonnull(at);
    at[shift] ^= 1;
    file = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(data, 1, n, file), n);
    fclose(file);
}

START_TEST(a_binary_that_is_not_the_records_is_refused_unseen) {
    struct setup setup = {"fake.npu,cpu", "strict", {NULL}};
    write_context("1");
    spoil(kept, "FAKENPU1", 40);
    assert_fails(load_context(&setup), diag, TN_UNSUPPORTED,
        "its binary is not the one that its record is of");
    write_context("0");
    char path[128];
    snprintf(path, sizeof path, "%s.fake.npu.bin", kept);
    spoil(path, "FAKENPU1", 40);
    assert_fails(load_context(&setup), diag, TN_UNSUPPORTED, "its record is of");
    ck_assert_int_eq(truncate(path, 10), 0);
    assert_fails(load_context(&setup), diag, TN_UNSUPPORTED, "has 10 bytes");
    ck_assert_int_eq(unlink(path), 0);
    assert_fails(load_context(&setup), diag, TN_UNSUPPORTED, "fake.npu.bin");
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    assert_fails(load_context(&setup), diag, TN_UNSUPPORTED, "symbolic link");
}
END_TEST

START_TEST(a_context_for_something_else_is_refused_with_the_reason) {
    struct setup setup = {"cpu", "strict", {NULL}};
    write_context("1");
    assert_fails(load_context(&setup), diag, TN_UNSUPPORTED, "a context of 'fake.npu'");
    setup.providers = "fake.npu,cpu";
    spoil(kept, "arch=fake-1", 10);
    assert_fails(load_context(&setup), diag, TN_UNSUPPORTED, "it is for another NPU");
    write_context("1");
    spoil(kept, "provider=fake.npu", 10);
    assert_fails(
        load_context(&setup), diag, TN_UNSUPPORTED, "its record is of the provider");
    write_context("1");
    spoil(kept, "sdk=1.0", 4); /* another version: works, with a warning */
    assert_ok(load_context(&setup), diag);
    run_chain();
}
END_TEST

START_TEST(a_changed_byte_anywhere_does_no_harm) {
    static char good[1 << 16], bad[1 << 16];
    uint64_t seed = 7;
    struct setup setup = {"fake.npu,cpu", "strict", {NULL}};
    write_context("1");
    FILE *file = fopen(kept, "rb");
    size_t n = fread(good, 1, sizeof good, file);
    fclose(file);
    ck_assert_uint_gt(n, 500);
    for (int i = 0; i < 600; i++) {
        memcpy(bad, good, n);
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bad[(seed >> 20) % n] ^= (char)(1 << (seed >> 60 & 7));
        file = fopen(kept, "wb");
        ck_assert_uint_eq(fwrite(bad, 1, n, file), n);
        fclose(file);
        if (load_context(&setup) != TN_OK) continue;
        if (try_input(0, TN_FLOAT, FLOATS(2, 8), (const int64_t[]){2}, 1) == TN_OK)
            (void)tn_context_run(context, NULL, &diag);
    }
}
END_TEST

static const char *const outside[] = {"../x.bin", "/x.bin", "a/../../x.bin", "a/.."};

START_TEST(a_binary_stays_in_the_models_folder) {
    char text[512];
    snprintf(text, sizeof text,
        "<ir_version: 10, opset_import: [\"com.microsoft\" : 1]> "
        "g (float[2] x) => (float[2] y) { y = com.microsoft.EPContext <embed_mode = 0, "
        "ep_cache_context = \"%s\", source = \"FakeNPU\", partition_name = \"p\"> (x) }",
        outside[_i]);
    struct setup setup = {"fake.npu,cpu", "strict", {NULL}};
    assert_fails(
        try_setup(text, &setup), diag, TN_UNSUPPORTED, "expected a relative path");
}
END_TEST

START_TEST(an_import_or_export_that_fails_is_an_error) {
    struct setup setup = {"fake.npu", "auto",
        {"context.write", kept, "provider:fake.npu/fail", "export", NULL}};
    assert_fails(try_setup(chain, &setup), diag, TN_PLUGIN,
        "provider 'fake.npu' could not export its groups: the fake NPU fails on cue");
    write_context("1");
    spoil(kept, "options_hash=", 20);
    setup.pairs[0] = NULL;
    assert_fails(load_context(&setup), diag, TN_UNSUPPORTED, "other options");
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_loop_test(
        tests, what_was_compiled_is_kept_and_loads_without_compiling, 0, 2);
    tcase_add_test(tests, a_binary_that_is_not_the_records_is_refused_unseen);
    tcase_add_test(tests, a_context_for_something_else_is_refused_with_the_reason);
    tcase_add_loop_test(tests, a_binary_stays_in_the_models_folder, 0, COUNT_OF(outside));
    tcase_add_test(tests, a_changed_byte_anywhere_does_no_harm);
    tcase_add_test(tests, an_import_or_export_that_fails_is_an_error);
}

UNIT_MAIN("context_binary")
