/* Settings: layers, validation, names of other runtimes, and messages that help. */
#include "unit.h"

#include "core/conf/conf.h"

#include <stdio.h>
#include <unistd.h>

static struct tn_diag diag;
static char dir[] = "/tmp/tenon-conf-XXXXXX";
static char path[256];

static void setup(void) {
    strcpy(dir, "/tmp/tenon-conf-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    setenv("XDG_CONFIG_HOME", dir, 1);
    unsetenv("TENON_CONFIG");
    snprintf(path, sizeof path, "%s/own.ini", dir);
}

static void teardown(void) {
    unlink(path);
    rmdir(dir);
    unsetenv("TENON_THREADS");
    unsetenv("TENON_LIMITS_NODES");
    unsetenv("TENON_THREDS");
}

static void write_file(const char *text) {
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    setenv("TENON_CONFIG", path, 1);
}

START_TEST(defaults_hold_when_nothing_is_set) {
    struct tn__conf *conf;
    assert_ok(tn__conf_create(NULL, 0, &conf, &diag), diag);
    ck_assert_str_eq(tn__conf_text(conf, "level"), "all");
    ck_assert_int_eq(tn__conf_int(conf, "limits.tensor_bytes"), INT64_C(16) << 30);
    ck_assert(!tn__conf_bool(conf, "strict"));
    tn__conf_destroy(conf);
}
END_TEST

START_TEST(later_layers_win) {
    struct tn__conf *conf, *session;
    write_file("threads = 2\nlevel = none\n[limits]\nnodes = 7\ndepth = 5\n");
    setenv("TENON_LIMITS_NODES", "8", 1);
    struct tn_option runtime[] = {{"threads", "3"}}, own[] = {{"level", "basic"}};
    assert_ok(tn__conf_create(runtime, 1, &conf, &diag), diag);
    assert_ok(tn__conf_derive(conf, own, 1, &session, &diag), diag);
    ck_assert_int_eq(tn__conf_int(session, "limits.depth"), 5);
    ck_assert_int_eq(tn__conf_int(session, "limits.nodes"), 8);
    ck_assert_int_eq(tn__conf_int(session, "threads"), 3);
    ck_assert_str_eq(tn__conf_text(session, "level"), "basic");
    ck_assert_str_eq(tn__conf_text(conf, "level"), "none");
    tn__conf_destroy(session);
    tn__conf_destroy(conf);
}
END_TEST

START_TEST(unknown_keys_name_place_and_nearest) {
    struct tn__conf *conf;
    write_file("[limits]\nnodes = 7\n\nndoes = 7\n");
    assert_fails(tn__conf_create(NULL, 0, &conf, &diag), diag, TN_INVALID_ARGUMENT,
        "own.ini:4: unknown setting 'limits.ndoes'; did you mean 'limits.nodes'?");
    write_file("");
    setenv("TENON_THREDS", "1", 1);
    assert_fails(tn__conf_create(NULL, 0, &conf, &diag), diag, TN_INVALID_ARGUMENT,
        "environment: unknown setting 'TENON_THREDS'");
    unsetenv("TENON_THREDS");
    struct tn_option option = {"levle", "all"};
    assert_fails(tn__conf_create(&option, 1, &conf, &diag), diag, TN_INVALID_ARGUMENT,
        "option: unknown setting 'levle'; did you mean 'level'?");
}
END_TEST

START_TEST(values_are_checked) {
    static const struct {
        struct tn_option option;
        const char *message;
    } cases[] = {
        {{"threads", "many"}, "'threads' is 'many', expected a number in 0..1024"},
        {{"threads", "2000"}, "expected a number in 0..1024"},
        {{"threads", "-1"}, "expected a number in 0..1024"},
        {{"threads", ""}, "expected a number"},
        {{"level", "al"}, "expected one of none|basic|all"},
        {{"level", "none|basic"}, "expected one of none|basic|all"},
        {{"strict", "maybe"}, "expected 0 or 1"},
        {{"limits.run_bytes", "1X"}, "expected bytes in"},
        {{"limits.run_bytes", "99999999999T"}, "expected bytes in"},
    };
    struct tn__conf *conf;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(tn__conf_create(&cases[i].option, 1, &conf, &diag), diag,
            TN_INVALID_ARGUMENT, cases[i].message);
}
END_TEST

START_TEST(runtime_settings_are_refused_in_sessions) {
    struct tn__conf *conf, *session;
    struct tn_option option = {"threads", "1"};
    assert_ok(tn__conf_create(NULL, 0, &conf, &diag), diag);
    assert_fails(tn__conf_derive(conf, &option, 1, &session, &diag), diag,
        TN_INVALID_ARGUMENT, "a setting of the runtime");
    tn__conf_destroy(conf);
}
END_TEST

START_TEST(names_of_onnx_runtime_are_accepted) {
    struct tn__conf *conf;
    struct tn_option options[] = {{"session.disable_prepacking", "1"},
        {"session.disable_cpu_ep_fallback", "1"},
        {"session.intra_op.allow_spinning", "0"},
        {"session.inter_op.allow_spinning", "0"}, {"session.set_denormal_as_zero", "1"}};
    assert_ok(tn__conf_create(options, 5, &conf, &diag), diag);
    ck_assert(!tn__conf_bool(conf, "prepack"));
    ck_assert(tn__conf_bool(conf, "flush_denormals"));
    ck_assert_str_eq(tn__conf_text(conf, "placement"), "strict");
    ck_assert_int_eq(tn__conf_int(conf, "threads.spin_us"), 0);
    tn__conf_destroy(conf);
}
END_TEST

START_TEST(sections_of_plugins_are_free) {
    struct tn__conf *conf;
    const char *key, *value;
    write_file("[plugin:org.tenon.cpu]\nisa = avx2\n");
    struct tn_option option = {"provider:npu/mode", "fast"};
    assert_ok(tn__conf_create(&option, 1, &conf, &diag), diag);
    ck_assert_str_eq(tn__conf_section(conf, "plugin:org.tenon.cpu", "isa"), "avx2");
    ck_assert_str_eq(tn__conf_section(conf, "provider:npu", "mode"), "fast");
    ck_assert_ptr_null(tn__conf_section(conf, "provider:npu", "isa"));
    ck_assert(tn__conf_section_at(conf, "provider:npu", 0, &key, &value));
    ck_assert_str_eq(key, "mode");
    ck_assert(!tn__conf_section_at(conf, "provider:npu", 1, &key, &value));
    tn__conf_destroy(conf);
}
END_TEST

START_TEST(a_named_file_must_exist) {
    struct tn__conf *conf;
    setenv("TENON_CONFIG", "/nowhere/tenon.ini", 1);
    assert_fails(tn__conf_create(NULL, 0, &conf, &diag), diag, TN_NOT_FOUND, "/nowhere");
    unsetenv("TENON_CONFIG");
    struct tn_option option = {"config", "/nowhere/else.ini"};
    assert_fails(
        tn__conf_create(&option, 1, &conf, &diag), diag, TN_NOT_FOUND, "/nowhere/else");
}
END_TEST

START_TEST(report_says_where_a_value_came_from) {
    struct tn__conf *conf;
    struct tn_text text = {0};
    write_file("threads = 2\n");
    assert_ok(tn__conf_create(NULL, 0, &conf, &diag), diag);
    tn__conf_report(conf, TN_FORMAT_TEXT, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "own.ini:1"));
    tn__text_free(&text);
    tn__conf_report(conf, TN_FORMAT_JSON, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "{\"key\":\"threads\",\"value\":\"2\""));
    tn__text_free(&text);
    tn__conf_destroy(conf);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, defaults_hold_when_nothing_is_set);
    tcase_add_test(tests, later_layers_win);
    tcase_add_test(tests, unknown_keys_name_place_and_nearest);
    tcase_add_test(tests, values_are_checked);
    tcase_add_test(tests, runtime_settings_are_refused_in_sessions);
    tcase_add_test(tests, names_of_onnx_runtime_are_accepted);
    tcase_add_test(tests, sections_of_plugins_are_free);
    tcase_add_test(tests, a_named_file_must_exist);
    tcase_add_test(tests, report_says_where_a_value_came_from);
}

UNIT_MAIN("conf")
