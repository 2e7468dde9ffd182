/* An operator of a third party that lies and fails: each fault ends in a code and a
 * sentence, and the runtime goes on serving other models. */
#include "../unit/unit.h"

#include "bad_plugin.h"
#include "tenon/tenon.h"
#include "trial.h"

#include <stdio.h>

enum { RUNS = 4 };

/* Runs a model whose node has this fault; the first failure, or TN_OK. */
static tn_status run_fault(struct tn_runtime *runtime, int fault, struct tn_diag *diag) {
    char text[400];
    float x[] = {1, 2, 3};
    int64_t dims[] = {3};
    struct tn_tensor t = {
        .data = x, .dims = dims, .size = sizeof x, .dtype = TN_FLOAT, .rank = 1};
    struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as = {.tensor = &t}};
    struct tn_session *session = NULL;
    struct tn_context *context = NULL;
    snprintf(text, sizeof text,
        "<ir_version: 10, opset_import: [\"\" : 21, \"bad\" : 1]> g (float[3] x) => "
        "(float y)"
        " { z = bad.Op <fault = %d> (x) y = Neg (z) }",
        fault);
    struct tn_model model = {.data = text, .size = strlen(text)};
    memset(diag, 0, sizeof *diag);
    tn_status status = tn_session_create(runtime, &model, NULL, &session, diag);
    if (status == TN_OK) status = tn_context_create(session, &context, diag);
    if (status == TN_OK) status = tn_context_set_input(context, 0, &ref, diag);
    for (int i = 0; i < RUNS && status == TN_OK; i++) {
        status = tn_context_run(context, NULL, diag);
        const struct tn_value_ref *y = tn_context_output(context, 0);
        ck_assert((status == TN_OK) == (y != NULL));
        if (fault == BAD_NOTHING) ck_assert(((float *)y->as.tensor->data)[2] == -6);
    }
    tn_context_destroy(context);
    tn_session_destroy(session);
    return status;
}

START_TEST(a_fault_ends_in_a_sentence) {
    struct tn_runtime *runtime = trial_runtime();
    struct tn_diag diag = {0};
    assert_ok(
        tn_runtime_load_plugin(runtime, getenv("TENON_TEST_BAD_PLUGIN"), &diag), diag);
    tn_status status = run_fault(runtime, _i, &diag);
    ck_assert_msg(status == TN_OK || (diag.code == status && diag.message[0]),
        "fault %d: code %d without a sentence", _i, status);
    ck_assert_msg(status >= TN_OK && status <= TN_INTERNAL,
        "fault %d: code %d is none of ours: %s", _i, status, diag.message);
    ck_assert_msg((status == TN_OK) == (_i == BAD_NOTHING || _i == BAD_INFER_RANK),
        "fault %d: code %d: %s", _i, status, diag.message);
    assert_ok(run_fault(runtime, BAD_NOTHING, &diag), diag);
    tn_runtime_destroy(runtime);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_loop_test(tests, a_fault_ends_in_a_sentence, 0, BAD_COUNT);
}

UNIT_MAIN("hostile plugin")
