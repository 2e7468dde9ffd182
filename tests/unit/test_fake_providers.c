/* Providers that claim and then fail, claim twice, or claim what is not there: a sentence
 * each, through the public API, and the process goes on. */
#include "run_fixture.h"

static const char model[] = FAKE_HEADER "g (float[2] x) => (float[2] y) {"
                                        " a = fake.Gain <k: float = 2.0> (x)"
                                        " y = fake.Plus(a, x) }";

static void set_up(void) {
    set_up_runtime();
    assert_ok(
        tn_runtime_load_plugin(runtime, FAKES_DIR "/org.tenon.fake-provider.so", &diag),
        diag);
}

static tn_status try_placement(const char *providers, const char *placement) {
    struct tn_option options[] = {
        {"provider", providers}, {"level", "none"}, {"placement", placement}};
    struct tn_session_options setup = {.struct_size = TN_SESSION_OPTIONS_SIZE,
        .options = options,
        .n_options = COUNT_OF(options)};
    struct tn_model source = {.data = model, .size = strlen(model)};
    close_session();
    memset(&diag, 0, sizeof diag);
    return tn_session_create(runtime, &source, &setup, &session, &diag);
}

START_TEST(a_group_that_is_compiled_runs) {
    assert_ok(try_placement("fake.good", "strict"), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    set_floats(0, FLOATS(1, -2), 2);
    run_context();
    assert_floats(0, FLOATS(3, -6), 2);
}
END_TEST

static const struct {
    const char *provider;
    tn_status code;
    const char *part;
} misdeeds[] = {
    {"fake.range", TN_PLUGIN, "a node that does not exist (node #4000000000)"},
    {"fake.twice", TN_PLUGIN, "gave two verdicts on one node"},
    {"fake.rowless", TN_PLUGIN, "claims a node for which it has no kernel"},
    {"fake.hollow", TN_PLUGIN, "claims a group but cannot compile one"},
    {"fake.strange", TN_PLUGIN, "a node that does not exist"},
    {"fake.odd", TN_UNSUPPORTED, "unknown reason"},
    {"fake.silent", TN_UNSUPPORTED, "it gave no verdict"},
    {"fake.failing", TN_UNSUPPORTED, "the fake driver does not answer"},
    {"fake.nocreate", TN_NOT_FOUND, "there is no fake device in this machine"},
    {"fake.nocompile", TN_UNSUPPORTED, "the fake compiler gave up"},
    {"fake.empty", TN_PLUGIN, "compiled a group that cannot run"},
    {"fake.nothing", TN_PLUGIN, "compiled a group that cannot run"},
};

START_TEST(a_misdeed_is_an_error_that_names_it) {
    assert_fails(try_placement(misdeeds[_i].provider, "strict"), diag, misdeeds[_i].code,
        misdeeds[_i].part);
    ck_assert_ptr_null(session);
    /* nothing of it sticks to the runtime */
    assert_ok(try_placement("fake.good", "strict"), diag);
}
END_TEST

START_TEST(a_compiler_that_gives_up_leaves_the_nodes_to_the_next) {
    assert_ok(try_placement("fake.nocompile,fake", "auto"), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    set_floats(0, FLOATS(1, -2), 2);
    run_context();
    assert_floats(0, FLOATS(3, -6), 2);
}
END_TEST

START_TEST(a_group_that_fails_when_run_fails_that_run) {
    assert_ok(try_placement("fake.norun", "strict"), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    for (int i = 0; i < 3; i++) {
        set_floats(0, FLOATS(1, -2), 2);
        assert_fails(tn_context_run(context, NULL, &diag), diag, TN_INTERNAL,
            "the fake accelerator stopped");
    }
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, set_up, tear_down_runtime);
    tcase_add_test(tests, a_group_that_is_compiled_runs);
    tcase_add_loop_test(
        tests, a_misdeed_is_an_error_that_names_it, 0, COUNT_OF(misdeeds));
    tcase_add_test(tests, a_compiler_that_gives_up_leaves_the_nodes_to_the_next);
    tcase_add_test(tests, a_group_that_fails_when_run_fails_that_run);
}

UNIT_MAIN("fake_providers")
