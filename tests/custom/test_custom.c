/* What the rows of custom_rows.c cannot show: several contexts, providers, limits. */
#include "tenon/tenon.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "<ir_version: 10, opset_import: [\"\" : 21, \"com.example\" : 1]>\n"

static struct tn_runtime *runtime;
static struct tn_session *session;
static struct tn_diag diag;

static void set_up(void) {
    memset(&diag, 0, sizeof diag);
    ck_assert_msg(tn_runtime_create(NULL, &runtime, &diag) == TN_OK, "%s", diag.message);
    ck_assert_msg(
        tn_runtime_load_plugin(runtime, getenv("TENON_TEST_CUSTOM"), &diag) == TN_OK,
        "%s", diag.message);
}

static void tear_down(void) {
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    session = NULL;
}

static tn_status open_model(const char *text, const char *key, const char *value) {
    const struct tn_option options[] = {{key, value}};
    const struct tn_session_options setup = {.struct_size = TN_SESSION_OPTIONS_SIZE,
        .options = options,
        .n_options = key ? 1 : 0};
    const struct tn_model model = {.data = text, .size = strlen(text)};
    memset(&diag, 0, sizeof diag);
    return tn_session_create(runtime, &model, &setup, &session, &diag);
}

static struct tn_context *open_context(void) {
    struct tn_context *context = NULL;
    ck_assert_msg(
        tn_context_create(session, &context, &diag) == TN_OK, "%s", diag.message);
    return context;
}

static tn_status run_floats(struct tn_context *context, const float *x, int64_t n) {
    struct tn_tensor tensor = {.data = (void *)(uintptr_t)x,
        .dims = &n,
        .rank = 1,
        .dtype = TN_FLOAT,
        .size = (uint64_t)n * sizeof *x};
    const struct tn_value_ref ref = {TN_KIND_TENSOR, 0, {&tensor}};
    memset(&diag, 0, sizeof diag);
    tn_status status = tn_context_set_input(context, 0, &ref, &diag);
    return status == TN_OK ? tn_context_run(context, NULL, &diag) : status;
}

static float first_output(struct tn_context *context) {
    return *(const float *)tn_context_output(context, 0)->as.tensor->data;
}

struct text {
    char data[4096];
    size_t n;
};

static int collect(void *arg, const char *part, uint64_t size) {
    struct text *text = arg;
    if (text->n + size >= sizeof text->data) return 1;
    memcpy(text->data + text->n, part, size);
    text->n += size;
    return 0;
}

START_TEST(contexts_keep_their_own_past) {
    const float one = 1, two = 2;
    ck_assert_msg(open_model(HEADER "g (float[1] x) => (float[1] y) "
                                    "{ y = com.example.Delay (x) }",
                      NULL, NULL) == TN_OK,
        "%s", diag.message);
    struct tn_context *a = open_context(), *b = open_context();
    ck_assert(run_floats(a, &one, 1) == TN_OK && run_floats(b, &two, 1) == TN_OK);
    ck_assert_float_eq(first_output(a), 0);
    ck_assert_float_eq(first_output(b), 0);
    ck_assert(run_floats(a, &two, 1) == TN_OK && run_floats(b, &one, 1) == TN_OK);
    ck_assert_float_eq(first_output(a), 1);
    ck_assert_float_eq(first_output(b), 2);
    tn_context_destroy(a);
    tn_context_destroy(b);
}
END_TEST

#define CUBE(type)                                                                       \
    HEADER "g (" type "[1] x) => (" type "[1] y) { y = com.example.Cube (x) }"

START_TEST(a_kernel_is_bound_to_its_provider) {
    const float x = -2;
    struct text report = {{0}, 0};
    ck_assert_msg(
        open_model(CUBE("float"), "provider", "example") == TN_OK, "%s", diag.message);
    ck_assert(tn_session_report(session, TN_REPORT_PLACEMENT, TN_FORMAT_TEXT, collect,
                  &report, &diag) == TN_OK);
    ck_assert_msg(strstr(report.data, "cube_f32_example") != NULL, "%s", report.data);
    struct tn_context *context = open_context();
    ck_assert_msg(run_floats(context, &x, 1) == TN_OK, "%s", diag.message);
    ck_assert_float_eq(first_output(context), -8);
    tn_context_destroy(context);
}
END_TEST

START_TEST(a_named_provider_does_not_fall_back_in_silence) {
    ck_assert(open_model(CUBE("double"), "provider", "example") == TN_UNSUPPORTED);
    ck_assert_msg(strstr(diag.message, "example") && strstr(diag.message, "double"), "%s",
        diag.message);
    ck_assert_ptr_null(session);
    ck_assert_msg(open_model(CUBE("double"), "provider", "example,cpu") == TN_OK, "%s",
        diag.message);
}
END_TEST

START_TEST(turns_of_a_subgraph_are_limited) {
    const float x = 1;
    ck_assert_msg(
        open_model(HEADER "g (float[1] x) => (float[1] y) { y = com.example.Iterate "
                          "<times = 9, body = f (float[1] s) => (float[1] r) "
                          "{ r = Add (s, s) }> (x) }",
            "limits.iterations", "8") == TN_OK,
        "%s", diag.message);
    struct tn_context *context = open_context();
    ck_assert(run_floats(context, &x, 1) == TN_LIMIT_EXCEEDED);
    ck_assert_msg(strstr(diag.message, "limits.iterations") != NULL, "%s", diag.message);
    tn_context_destroy(context);
}
END_TEST

START_TEST(sizes_of_frames_follow_the_input) {
    const float x[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    ck_assert_msg(open_model(HEADER "g (float[N] x) => (float[F,S] y) "
                                    "{ y = com.example.Frames <size = 3, step = 2> (x) }",
                      NULL, NULL) == TN_OK,
        "%s", diag.message);
    const struct tn_io *io = tn_session_io(session, TN_OUTPUT, 0);
    ck_assert_int_eq(io->type.dims[1], 3); /* known while N is not */
    struct tn_context *context = open_context();
    for (int64_t n = 3; n <= 9; n++) {
        ck_assert_msg(run_floats(context, x, n) == TN_OK, "%s", diag.message);
        const struct tn_tensor *y = tn_context_output(context, 0)->as.tensor;
        ck_assert_int_eq(y->dims[0], (n - 3) / 2 + 1);
        ck_assert_float_eq(((const float *)y->data)[3 * y->dims[0] - 1],
            (float)(2 * (y->dims[0] - 1) + 2));
    }
    tn_context_destroy(context);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("custom_api");
    TCase *tests = tcase_create("custom_api");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, contexts_keep_their_own_past);
    tcase_add_test(tests, a_kernel_is_bound_to_its_provider);
    tcase_add_test(tests, a_named_provider_does_not_fall_back_in_silence);
    tcase_add_test(tests, turns_of_a_subgraph_are_limited);
    tcase_add_test(tests, sizes_of_frames_follow_the_input);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
