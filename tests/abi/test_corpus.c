/* Plugins that were built when their ABI minor was new, in today's host: each loads, and a model
 * of each gives the values computed by hand. */
#include "tenon/tenon.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER                                                                           \
    "<ir_version: 10, opset_import: [\"\" : 21, \"kept\" : 1, \"com.example\" : 1]>\n"

static const struct {
    const char *file;
    const char *provider; /* NULL: as configured */
    const char *body;
    float x[4], y[4];
    int64_t n_x, n_y;
    const char *shown; /* stands in the placement report: who ran it */
} rows[] = {
    {"v0.1/org.tenon.kept-op.so", NULL,
        "g (float[3] x) => (float[3] y) { y = kept.Kept <slope = 0.0> (x) }", {4, -6, 0},
        {2, -3, 0}, 3, 3, "kept.Kept"},
    {"v0.1/org.tenon.kept-pass.so", NULL,
        "g (float[2] x) => (float[2] y) { s = Mul (x, x) y = Mul (s, x) }", {2, -3},
        {8, -27}, 2, 2, "kept.Kept"},
    {"v0.1/org.tenon.kept-provider.so", "kept_provider",
        "g (float[3] x) => (float[3] y) { a = Mul (x, x) b = Add (a, x) y = Relu (b) }",
        {1, -0.5f, -3}, {2, 0, 6}, 3, 3, "kept_provider"},
    /* attributes and shapes by hand; sizes known when run; an optional input left out; a function
     * of other operators; state; a body; packed weights; a provider's own kernel */
    {"v0.1/org.tenon.custom.so", NULL,
        "g (float[4] x) => (float[F,2] y) { y = com.example.Frames <size = 2, step = 2> "
        "(x) }",
        {1, 2, 3, 4}, {1, 2, 3, 4}, 4, 4, "com.example.Frames"},
    {"v0.1/org.tenon.custom.so", NULL,
        "g (float[2] x) => (float[2] y) { y = com.example.Mix (, x, x) }", {1, 2}, {2, 4},
        2, 2, "com.example.Mix"},
    {"v0.1/org.tenon.custom.so", NULL,
        "g (float[1] x) => (float[1] y) { y = com.example.Iterate <times = 3, body = f "
        "(float[1] s) => (float[1] r) { r = Add (s, s) }> (x) }",
        {1}, {8}, 1, 1, "com.example.Iterate"},
    {"v0.1/org.tenon.custom.so", "example",
        "g (float[1] x) => (float[1] y) { y = com.example.Cube (x) }", {-2}, {-8}, 1, 1,
        "cube_f32_example"},
};

static struct tn_runtime *runtime;
static struct tn_session *session;
static struct tn_context *context;
static struct tn_diag diag;

static void ok(tn_status status) {
    ck_assert_msg(status == TN_OK, "%s", diag.message);
}

static void set_up(void) {
    memset(&diag, 0, sizeof diag);
    ok(tn_runtime_create(NULL, &runtime, &diag));
}

static void tear_down(void) {
    tn_context_destroy(context);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
}

struct text {
    char data[8192];
    size_t n;
};

static int collect(void *arg, const char *part, uint64_t size) {
    struct text *text = arg;
    if (text->n + size >= sizeof text->data) return 1;
    memcpy(text->data + text->n, part, size);
    text->n += size;
    return 0;
}

static void assert_shown(const char *wanted) {
    struct text report = {{0}, 0};
    ok(tn_session_report(
        session, TN_REPORT_PLACEMENT, TN_FORMAT_TEXT, collect, &report, &diag));
    ck_assert_msg(
        strstr(report.data, wanted) != NULL, "no %s in:\n%s", wanted, report.data);
}

START_TEST(a_kept_plugin_loads_and_runs) {
    char path[1024], text[1024];
    const struct tn_option options[] = {{"provider", rows[_i].provider}};
    const struct tn_session_options setup = {.struct_size = TN_SESSION_OPTIONS_SIZE,
        .options = options,
        .n_options = rows[_i].provider ? 1 : 0};
    snprintf(path, sizeof path, "%s/%s", getenv("TENON_TEST_CORPUS"), rows[_i].file);
    snprintf(text, sizeof text, HEADER "%s", rows[_i].body);
    const struct tn_model model = {.data = text, .size = strlen(text)};
    ok(tn_runtime_load_plugin(runtime, path, &diag));
    ok(tn_session_create(runtime, &model, &setup, &session, &diag));
    assert_shown(rows[_i].shown);
    ok(tn_context_create(session, &context, &diag));
    struct tn_tensor tensor = {.data = (void *)(uintptr_t)rows[_i].x,
        .dims = &rows[_i].n_x,
        .rank = 1,
        .dtype = TN_FLOAT,
        .size = (uint64_t)rows[_i].n_x * sizeof(float)};
    const struct tn_value_ref ref = {TN_KIND_TENSOR, 0, {&tensor}};
    ok(tn_context_set_input(context, 0, &ref, &diag));
    for (int round = 0; round < 3; round++) {
        ok(tn_context_run(context, NULL, &diag));
        const struct tn_tensor *y = tn_context_output(context, 0)->as.tensor;
        ck_assert_uint_eq(y->size, (uint64_t)rows[_i].n_y * sizeof(float));
        ck_assert_int_eq(memcmp(y->data, rows[_i].y, y->size), 0);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("corpus");
    TCase *tests = tcase_create("corpus");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(
        tests, a_kept_plugin_loads_and_runs, 0, sizeof rows / sizeof *rows);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
