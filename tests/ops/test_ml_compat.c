/* Option ml.compat: where the text of ai.onnx.ml and ONNX Runtime give two answers, both can be
 * had. Values of the second kind were observed from ONNX Runtime 1.30. */
#include "tenon/tenon.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 6 };

static const struct {
    const char *graph;
    float x, onnx[MOST], ort[MOST];
} cases[] = {
    {"g (float[1,1] x) => (y) { l, y = ai.onnx.ml.LinearClassifier <coefficients = "
     "[1.0], "
     "intercepts = [0.0], classlabels_ints = [0,1]> (x) }",
        0.25f, {-0.25f, 0.25f}, {0.75f, 0.25f}},
    {"g (float[1,1] x) => (y) { l, y = ai.onnx.ml.LinearClassifier <coefficients = "
     "[1.0], "
     "intercepts = [0.0], classlabels_ints = [0,1], post_transform = \"SOFTMAX\"> (x) }",
        -1, {0.880797f, 0.119203f}, {2, -1}},
    {"g (float[1,1] x) => (y) { l, y = ai.onnx.ml.LinearClassifier <coefficients = "
     "[1.0], "
     "intercepts = [0.0], classlabels_ints = [0,1], post_transform = \"LOGISTIC\"> (x) }",
        2, {0.119203f, 0.880797f}, {0.119203f, 0.880797f}},
    {"g (float[1,1] x) => (y) { y = ai.onnx.ml.LabelEncoder <keys_floats = [1.0,1.0], "
     "values_floats = [5.0,6.0]> (x) }",
        1, {6}, {5}},
};

static void run(size_t i, const char *compat, const float *wanted) {
    char text[1024];
    const struct tn_option option = {"plugin:org.tenon.ml/compat", compat};
    const struct tn_runtime_options options = {
        .struct_size = TN_RUNTIME_OPTIONS_SIZE, .options = &option, .n_options = 1};
    struct tn_runtime *runtime = NULL;
    struct tn_session *session = NULL;
    struct tn_context *context = NULL;
    struct tn_diag diag = {0};
    int n = snprintf(text, sizeof text,
        "<ir_version: 8, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]>\n%s",
        cases[i].graph);
    const struct tn_model model = {.data = text, .size = (uint64_t)n};
    const int64_t dims[] = {1, 1};
    float x = cases[i].x;
    struct tn_tensor tensor = {
        .data = &x, .dims = dims, .rank = 2, .dtype = TN_FLOAT, .size = 4};
    const struct tn_value_ref value = {.kind = TN_KIND_TENSOR, .as.tensor = &tensor};
    tn_status status = tn_runtime_create(&options, &runtime, &diag);
    if (status == TN_OK)
        status = tn_session_create(runtime, &model, NULL, &session, &diag);
    if (status == TN_OK) status = tn_context_create(session, &context, &diag);
    if (status == TN_OK) status = tn_context_set_input(context, 0, &value, &diag);
    if (status == TN_OK) status = tn_context_run(context, NULL, &diag);
    ck_assert_msg(status == TN_OK, "%s", diag.message);
    const struct tn_tensor *y =
        tn_context_output(context, tn_session_io_count(session, TN_OUTPUT) - 1)
            ->as.tensor;
    for (uint64_t k = 0; k < y->size / sizeof(float); k++)
        ck_assert_msg(fabsf(((const float *)y->data)[k] - wanted[k]) < 1e-6f,
            "case %d, %s: element %d is %g", (int)i, compat, (int)k,
            (double)((const float *)y->data)[k]);
    tn_context_destroy(context);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
}

START_TEST(both_answers_can_be_had) {
    run((size_t)_i, "onnx", cases[_i].onnx);
    run((size_t)_i, "ort", cases[_i].ort);
}
END_TEST

START_TEST(another_word_is_refused) {
    const struct tn_option option = {"plugin:org.tenon.ml/compat", "tensorflow"};
    const struct tn_runtime_options options = {
        .struct_size = TN_RUNTIME_OPTIONS_SIZE, .options = &option, .n_options = 1};
    struct tn_runtime *runtime = NULL;
    struct tn_session *session = NULL;
    struct tn_diag diag = {0};
    const char *text = "<ir_version: 8, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]>\n"
                       "g (float[1] x) => (y) { y = ai.onnx.ml.Binarizer (x) }";
    const struct tn_model model = {.data = text, .size = strlen(text)};
    tn_status status = tn_runtime_create(&options, &runtime, &diag);
    if (status == TN_OK)
        status = tn_session_create(runtime, &model, NULL, &session, &diag);
    ck_assert_int_ne(status, TN_OK);
    tn_runtime_destroy(runtime);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ml_compat");
    TCase *tests = tcase_create("compat");
    tcase_add_loop_test(
        tests, both_answers_can_be_had, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tests, another_word_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
