/* What operators refuse, one line a case: a model in the text format, the integers of its
 * input x, and a part of the message that the load or the run must end with. */
#include "tenon/tenon.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, MOST_RANK = 4 };

struct integers {
    int rank;
    int64_t dims[MOST_RANK];
    int64_t v[MOST];
};

struct error_case {
    const char *name;
    int opset;
    const char *graph; /* from "g (" on */
    struct integers x;
    const char *message;
};

/* clang-format off */
static const struct error_case cases[] = {
#include "error_cases.inc"
#include "ml_error_cases.inc"
#ifdef TN_HAVE_TEXT
#include "text_error_cases.inc"
#endif
};
/* clang-format on */

static struct tn_runtime *runtime;

/* Loads and runs; the status of what failed first. */
static tn_status load_and_run(const struct error_case *c, struct tn_diag *diag) {
    struct tn_session *session = NULL;
    struct tn_context *context = NULL;
    struct integers x = c->x;
    char text[4096];
    int length = snprintf(text, sizeof text,
        "<ir_version: 8, opset_import: [\"\" : %d, \"tenon.cpu\" : 1%s%s]>\n%s", c->opset,
        strstr(c->graph, "ai.onnx.ml.") ? ", \"ai.onnx.ml\" : 4" : "",
        strstr(c->graph, "com.microsoft.") ? ", \"com.microsoft\" : 1" : "", c->graph);
    const struct tn_model model = {.data = text, .size = (uint64_t)length};
    tn_status status = tn_session_create(runtime, &model, NULL, &session, diag);
    if (status == TN_OK) status = tn_context_create(session, &context, diag);
    if (status == TN_OK) {
        struct tn_tensor tensor = {.data = x.v,
            .dims = x.dims,
            .rank = (uint32_t)x.rank,
            .dtype = TN_INT64,
            .size = sizeof(int64_t)};
        for (int i = 0; i < x.rank; i++)
            tensor.size *= (uint64_t)x.dims[i];
        struct tn_value_ref value = {TN_KIND_TENSOR, 0, {&tensor}};
        status = tn_context_set_input(context, 0, &value, diag);
    }
    if (status == TN_OK) status = tn_context_run(context, NULL, diag);
    tn_context_destroy(context);
    tn_session_destroy(session);
    return status;
}

START_TEST(operator_refuses_with_a_message) {
    const struct error_case *c = &cases[_i];
    struct tn_diag diag = {0};
    tn_status status = load_and_run(c, &diag);
    ck_assert_msg(status != TN_OK, "%s: accepted", c->name);
    ck_assert_msg(strstr(diag.message, c->message), "%s: '%s' does not say '%s'", c->name,
        diag.message, c->message);
}
END_TEST

static void open_runtime(void) {
    struct tn_diag diag = {0};
    ck_assert_msg(tn_runtime_create(NULL, &runtime, &diag) == TN_OK, "%s", diag.message);
}

static void close_runtime(void) {
    tn_runtime_destroy(runtime);
}

int main(void) {
    Suite *suite = suite_create("op_errors");
    TCase *tests = tcase_create("errors");
    tcase_add_unchecked_fixture(tests, open_runtime, close_runtime);
    tcase_add_loop_test(
        tests, operator_refuses_with_a_message, 0, (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
