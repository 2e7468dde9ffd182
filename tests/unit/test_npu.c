/* A provider with memory of its own, in front of kernels on the host: partition, copies,
 * limits, streams, and what each policy makes of a failure. */
#include "npu_fixture.h"

#include "core/base/alloc.h"

START_TEST(groups_run_in_their_own_memory_with_planned_copies) {
    struct setup setup = {"fake.npu", "auto", {NULL}};
    assert_ok(try_setup(chain, &setup), diag);
    for (int i = 0; i < 3; i++)
        run_chain();
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 4 nodes");
    assert_says("[fake.npu: operator not implemented]");
    assert_says("copy to fake NPU memory");
    assert_says("copy to host memory");
    report(TN_FORMAT_JSON);
    assert_says("\"borders\": 2, \"copied_bytes\": 32");
}
END_TEST

START_TEST(neighbouring_groups_do_not_leave_the_memory) {
    struct setup setup = {"fake.npu", "auto", {"provider:fake.npu/group", "each", NULL}};
    assert_ok(try_setup(chain, &setup), diag);
    run_chain();
    report(TN_FORMAT_JSON);
    assert_says("\"copied_bytes\": 32"); /* x, b, c and y: no copies between a and b */
}
END_TEST

START_TEST(streams_are_waited_for_before_the_host_reads) {
    struct setup setup = {"fake.npu", "auto",
        {"provider:fake.npu/streams", "1", "provider:fake.npu/group", "each", NULL}};
    assert_ok(try_setup(chain, &setup), diag);
    for (int i = 0; i < 5; i++) {
        set_floats(0, FLOATS(2, 8), 2);
        run_context();
        assert_floats(0, FLOATS(2.828427125f, 11.313708499f), 2);
        set_floats(0, FLOATS(1, 0), 2);
        run_context();
        assert_floats(0, FLOATS(1.414213562f, 0), 2);
    }
}
END_TEST

START_TEST(calls_come_from_the_owning_thread) {
    struct setup setup = {"fake.npu.owned", "auto", {NULL}};
    assert_ok(try_setup(chain, &setup), diag);
    run_chain();
    run_chain();
}
END_TEST

START_TEST(a_shape_that_changes_is_declined_where_shapes_must_be_static) {
    struct setup setup = {"fake.npu", "auto", {NULL}};
    assert_ok(
        try_setup(ONNX_HEADER "g (float[N] x) => (float[N] y) { y = Neg(x) }", &setup),
        diag);
    report(TN_FORMAT_TEXT);
    assert_says("dynamic shape, the shape of input 0 is not known at load");
    setup.placement = "strict";
    assert_fails(
        try_setup(ONNX_HEADER "g (float[N] x) => (float[N] y) { y = Neg(x) }", &setup),
        diag, TN_UNSUPPORTED, "dynamic shape");
}
END_TEST

static const struct {
    const char *model, *part;
} refusals[] = {
    {ONNX_HEADER "g (double[2] x) => (double[2] y) { y = Neg(x) }",
        "element type, only float, int8 and int32"},
    {ONNX_HEADER "g (float16[2] x) => (float16[2] y) { y = Neg(x) }", "element type"},
    {ONNX_HEADER "g (float[1,1,1,1,2] x) => (float[1,1,1,1,2] y) { y = Neg(x) }",
        "rank, input 0 has rank 5, at most 4"},
    {ONNX_HEADER "g (float[2,3] x, float[3] z) => (float[2,3] y) { y = Add(x, z) }",
        "layout, broadcasts only scalars"},
    {ONNX_HEADER "g (float[600,600] x) => (float[600,600] y) { y = Neg(x) }",
        "memory, input 0 is larger than 1048576 bytes"},
};

START_TEST(what_is_refused_has_a_reason) {
    struct setup setup = {"fake.npu", "auto", {NULL}};
    assert_ok(try_setup(refusals[_i].model, &setup), diag);
    report(TN_FORMAT_TEXT);
    assert_says(refusals[_i].part);
    setup.placement = "strict";
    assert_fails(
        try_setup(refusals[_i].model, &setup), diag, TN_UNSUPPORTED, refusals[_i].part);
}
END_TEST

START_TEST(only_int8_means_only_int8) {
    struct setup setup = {"fake.npu", "auto", {"provider:fake.npu/mode", "int8", NULL}};
    assert_ok(try_setup(chain, &setup), diag);
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 0 nodes");
    assert_says("element type, input 0 is float");
    assert_ok(
        try_setup(ONNX_HEADER "g (int8[3] x) => (int8[3] y) { y = Add(x, x) }", &setup),
        diag);
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 1 nodes");
    const int8_t data[] = {1, -2, 100};
    assert_ok(try_input(0, TN_INT8, data, (const int64_t[]){3}, 1), diag);
    run_context();
    const int8_t *y = result(0)->data;
    ck_assert_int_eq(y[0], 2);
    ck_assert_int_eq(y[1], -4);
    ck_assert_int_eq(y[2], -56);
}
END_TEST

START_TEST(a_path_that_breaks_a_group_is_named) {
    struct setup setup = {"fake.npu", "auto", {NULL}};
    assert_ok(try_setup(ONNX_HEADER
                  "g (float[2] x) => (float[2] y) {"
                  " [first] a = Add(x, x) [middle] b = Sqrt(a) [last] y = Add(a, b) }",
                  &setup),
        diag);
    report(TN_FORMAT_TEXT);
    assert_says("the path 'first' → 'middle' → 'last' leaves it and comes back");
    set_floats(0, FLOATS(2, 8), 2);
    run_context();
    assert_floats(0, FLOATS(6, 20), 2);
}
END_TEST

/* ---- costs and limits ----------------------------------------------------------------- */

START_TEST(a_group_that_gains_nothing_is_left_to_the_next) {
    struct setup setup = {"fake.npu,fake.npu.owned", "auto",
        {"provider:fake.npu/ns", "1000", "provider:fake.npu/launch_ns", "900000",
            "provider:fake.npu.owned/ns", "2000", NULL}};
    assert_ok(try_setup(chain, &setup), diag);
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 0 nodes");
    assert_says("not worth the transfer");
    assert_says("µs on fake.npu.owned");
    run_chain();
    setup.pairs[3] = "10";
    assert_ok(try_setup(chain, &setup), diag);
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 4 nodes");
}
END_TEST

START_TEST(the_cpu_has_an_estimate_too) {
    struct setup setup = {"fake.npu", "auto",
        {"provider:fake.npu/ns", "1000", "provider:fake.npu/launch_ns", "900000", NULL}};
    static const char product[] =
        ONNX_HEADER "g (float[256,256] x, float[256,256] w) => (float[256,256] y) {"
                    " a = MatMul(x, w) b = Relu(a) c = Sqrt(b) y = Neg(c) }";
    assert_ok(try_setup(product, &setup), diag);
    report(TN_FORMAT_TEXT);
    assert_says("not worth the transfer");
    assert_says("µs on cpu");
    /* by hand: 938 µs for the product, 66 for each of the others */
    setup.pairs[0] = "provider:fake.npu/refuse";
    setup.pairs[1] = "Neg";
    setup.pairs[2] = NULL;
    assert_ok(try_setup(product, &setup), diag);
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 2 nodes, 88 %");
}
END_TEST

START_TEST(calibration_leaves_what_is_slower_to_the_cpu) {
    /* a product in plain loops against the cpu's kernels */
    static const char product[] =
        ONNX_HEADER "g (float[256,256] x, float[256,256] w) => (float[256,256] y) {"
                    " a = MatMul(x, w) b = Sqrt(a) y = Sqrt(b) }";
    struct setup setup = {"fake.npu", "auto", {NULL}};
    assert_ok(try_setup(product, &setup), diag);
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 1 nodes");
    setup.pairs[0] = "placement.calibrate";
    setup.pairs[1] = "1";
    assert_ok(try_setup(product, &setup), diag);
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 0 nodes");
    assert_says("not worth the transfer, measured");
    assert_ok(try_setup(chain, &setup), diag);
    run_chain();
}
END_TEST

START_TEST(strict_does_not_weigh) {
    struct setup setup = {"fake.npu,fake.npu.owned,cpu", "strict",
        {"provider:fake.npu/ns", "1000", "provider:fake.npu/launch_ns", "900000",
            "provider:fake.npu.owned/ns", "2000", NULL}};
    assert_ok(try_setup(chain, &setup), diag);
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 4 nodes");
}
END_TEST

START_TEST(fallback_and_copies_have_limits) {
    struct setup setup = {"fake.npu", "require", {"limits.fallback_nodes", "0", NULL}};
    assert_fails(try_setup(chain, &setup), diag, TN_LIMIT_EXCEEDED,
        "1 nodes fall back to the provider 'cpu', more than limits.fallback_nodes (0)");
    setup.pairs[1] = "1";
    assert_ok(try_setup(chain, &setup), diag);
    setup.pairs[0] = "limits.copy_bytes";
    setup.pairs[1] = "31";
    assert_ok(try_setup(chain, &setup), diag);
    set_floats(0, FLOATS(2, 8), 2);
    assert_fails(tn_context_run(context, NULL, &diag), diag, TN_LIMIT_EXCEEDED,
        "copies 32 bytes between memory spaces");
    setup.pairs[1] = "32";
    assert_ok(try_setup(chain, &setup), diag);
    run_chain();
}
END_TEST

START_TEST(claimed_nodes_are_kept_from_the_passes_of_others) {
    /* cpu fuses Mul and Add behind a MatMul unless somebody else claims them */
    static const char dense[] = ONNX_HEADER
        "g (float[2,2] x, float[2,2] w, float[2,2] b) => (float[2,2] y) {"
        " m = MatMul(x, w) a = Add(m, b) r = Relu(a) s = Sqrt(r) y = Relu(s) }";
    struct setup setup = {"fake.npu", "auto", {"level", "all", NULL}};
    assert_ok(try_setup(dense, &setup), diag);
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 4 nodes");
    assert_says("MatMul-13                fake.npu");
    setup.pairs[2] = "provider:fake.npu/refuse";
    setup.pairs[3] = "MatMul,Add,Relu";
    assert_ok(try_setup(dense, &setup), diag);
    report(TN_FORMAT_TEXT);
    assert_says("provider fake.npu: 0 nodes");
    ck_assert_ptr_null(strstr(report_text, "MatMul-13                fake.npu"));
}
END_TEST

START_TEST(a_dry_run_places_and_does_not_run) {
    struct setup setup = {"fake.npu", "strict",
        {"dry_run", "1", "provider:fake.npu/fail", "compile", NULL}};
    assert_fails(try_setup(chain, &setup), diag, TN_INVALID_ARGUMENT, "dry_run");
    report(TN_FORMAT_JSON);
    assert_says("\"op\": \"Sqrt-13\", \"provider\": \"none\"");
    assert_says("\"reason\": 1, \"text\": \"operator not implemented\"");
}
END_TEST

/* ---- failures ------------------------------------------------------------------------- */

static const char *const load_calls[] = {"create", "capability", "compile", "compile:2"};
static const char *const run_calls[] = {"stream", "alloc", "workspace", "prepare", "run",
    "run:2", "copy", "copy:2", "copy:3", "sync", "sync:2"};

/* A model that makes two groups, with copies in and out of each. */
static void fail_at(const char *cue, const char *placement) {
    struct setup setup = {strcmp(placement, "strict") == 0 ? "fake.npu,cpu" : "fake.npu",
        placement,
        {"provider:fake.npu/fail", cue, "provider:fake.npu/streams",
            strncmp(cue, "s", 1) == 0 ? "1" : "0", NULL}};
    tn_status status = try_setup(chain, &setup);
    if (status != TN_OK) return;
    set_floats(0, FLOATS(2, 8), 2);
    memset(&diag, 0, sizeof diag);
    tn_context_run(context, NULL, &diag);
}

START_TEST(a_failure_under_strict_is_an_error_with_name_and_reason) {
    unsigned n = COUNT_OF(load_calls);
    const char *cue = (unsigned)_i < n ? load_calls[_i] : run_calls[_i - (int)n];
    fail_at(cue, "strict");
    ck_assert_msg(diag.code != TN_OK, "%s did not fail", cue);
    if (strcmp(cue, "workspace") != 0) { /* which has no diagnosis of its own */
        ck_assert_msg(strstr(diag.message, "fails on cue"), "%s: %s", cue, diag.message);
        ck_assert_msg(
            strstr(diag.message, "provider 'fake.npu'"), "%s: %s", cue, diag.message);
    }
    ck_assert_str_eq(diag.plugin, "org.tenon.fake-npu");
    /* the runtime is as good as new */
    struct setup setup = {"fake.npu,cpu", "strict", {NULL}};
    assert_ok(try_setup(chain, &setup), diag);
    run_chain();
}
END_TEST

START_TEST(a_failure_under_auto_is_a_fallback_that_is_reported) {
    unsigned n = COUNT_OF(load_calls);
    const char *cue = (unsigned)_i < n ? load_calls[_i] : run_calls[_i - (int)n];
    fail_at(cue, "auto");
    ck_assert_msg(diag.code == TN_OK, "%s: %s", cue, diag.message);
    assert_floats(0, FLOATS(2.828427125f, 11.313708499f), 2);
    report(TN_FORMAT_TEXT);
    if (strcmp(cue, "workspace") != 0) assert_says("fails on cue");
    if ((unsigned)_i >= n) assert_says("provider 'fake.npu' failed in a run");
    run_chain();
    ck_assert_ptr_nonnull(session);
}
END_TEST

/* The fake ends the process when anything of it is forgotten. */
START_TEST(no_memory_at_any_moment_is_an_error_and_nothing_else) {
    static const char *const policies[] = {"strict", "auto"};
    struct setup setup = {
        "fake.npu,cpu", policies[_i], {"provider:fake.npu/streams", "1", NULL}};
    uint64_t n = 0;
    for (tn_status status = TN_INTERNAL; status != TN_OK; n++) {
        ck_assert_uint_lt(n, 20000);
        close_session();
        tn__alloc_fail_at(n + 1);
        status = try_setup(chain, &setup);
        if (status == TN_OK) {
            status = try_input(0, TN_FLOAT, FLOATS(2, 8), (const int64_t[]){2}, 1);
            if (status == TN_OK) status = tn_context_run(context, NULL, &diag);
        }
        tn__alloc_fail_at(0);
        if (status != TN_OK) {
            ck_assert_msg(
                diag.code != TN_OK && diag.message[0], "%d without a reason", (int)n);
            continue;
        }
        run_chain();
        /* under auto a failure may have been survived: go on until none happens */
        uint64_t before = tn__alloc_count();
        (void)try_setup(chain, &setup);
        if (n < tn__alloc_count() - before) status = TN_INTERNAL;
    }
    ck_assert_uint_gt(n, 50);
    assert_ok(try_setup(chain, &setup), diag);
    run_chain();
}
END_TEST

START_TEST(a_bound_output_stays_bound_when_a_run_falls_back) {
    float y[2] = {0};
    struct setup setup = {"fake.npu", "auto", {"provider:fake.npu/fail", "run", NULL}};
    assert_ok(try_setup(chain, &setup), diag);
    assert_ok(tn_context_bind_output(context, 0, y, sizeof y, &diag), diag);
    set_floats(0, FLOATS(2, 8), 2);
    run_context();
    ck_assert(y[0] == 2.828427125f && y[1] == 11.313708499f);
}
END_TEST

/* One node: nothing but the kernel itself can see the deadline. */
START_TEST(a_long_kernel_of_the_cpu_sees_its_deadline) {
    static float data[2][1200 * 1200];
    struct setup setup = {"cpu", "strict", {NULL}};
    assert_ok(try_setup(ONNX_HEADER "g (float[1200,1200] x, float[1200,1200] w) => "
                                    "(float[1200,1200] y) { y = MatMul(x, w) }",
                  &setup),
        diag);
    for (uint32_t i = 0; i < 2; i++)
        assert_ok(
            try_input(i, TN_FLOAT, data[i], (const int64_t[]){1200, 1200}, 2), diag);
    run_context();
    struct tn_run_options options = {
        .struct_size = TN_RUN_OPTIONS_SIZE, .deadline_ns = 1000000};
    assert_fails(tn_context_run(context, &options, &diag), diag, TN_DEADLINE, "deadline");
    run_context();
}
END_TEST

START_TEST(a_run_that_hangs_is_cancelled) {
    struct setup setup = {"fake.npu", "auto", {"provider:fake.npu/hang", "1", NULL}};
    assert_ok(try_setup(chain, &setup), diag);
    set_floats(0, FLOATS(2, 8), 2);
    struct tn_run_options options = {
        .struct_size = TN_RUN_OPTIONS_SIZE, .deadline_ns = 20000000};
    assert_fails(tn_context_run(context, &options, &diag), diag, TN_DEADLINE, "deadline");
}
END_TEST

static void add_tests(TCase *tests) {
    int n_cues = COUNT_OF(load_calls) + COUNT_OF(run_calls);
    tcase_add_loop_test(
        tests, a_failure_under_strict_is_an_error_with_name_and_reason, 0, n_cues);
    tcase_add_loop_test(
        tests, a_failure_under_auto_is_a_fallback_that_is_reported, 0, n_cues);
    tcase_add_loop_test(
        tests, no_memory_at_any_moment_is_an_error_and_nothing_else, 0, 2);
    tcase_add_test(tests, a_bound_output_stays_bound_when_a_run_falls_back);
    tcase_add_test(tests, a_long_kernel_of_the_cpu_sees_its_deadline);
    tcase_add_test(tests, a_run_that_hangs_is_cancelled);
    tcase_add_checked_fixture(tests, set_up, tear_down_runtime);
    tcase_add_test(tests, groups_run_in_their_own_memory_with_planned_copies);
    tcase_add_test(tests, neighbouring_groups_do_not_leave_the_memory);
    tcase_add_test(tests, streams_are_waited_for_before_the_host_reads);
    tcase_add_test(tests, calls_come_from_the_owning_thread);
    tcase_add_test(tests, a_shape_that_changes_is_declined_where_shapes_must_be_static);
    tcase_add_loop_test(tests, what_is_refused_has_a_reason, 0, COUNT_OF(refusals));
    tcase_add_test(tests, only_int8_means_only_int8);
    tcase_add_test(tests, a_path_that_breaks_a_group_is_named);
    tcase_add_test(tests, a_group_that_gains_nothing_is_left_to_the_next);
    tcase_add_test(tests, the_cpu_has_an_estimate_too);
    tcase_add_test(tests, calibration_leaves_what_is_slower_to_the_cpu);
    tcase_add_test(tests, strict_does_not_weigh);
    tcase_add_test(tests, fallback_and_copies_have_limits);
    tcase_add_test(tests, claimed_nodes_are_kept_from_the_passes_of_others);
    tcase_add_test(tests, a_dry_run_places_and_does_not_run);
}

UNIT_MAIN("npu")
