/* Exports against PyTorch, on several shapes, at every optimisation level and instruction set:
 * transformer encoder layers of three exporters, a small convolutional network, a perceptron,
 * recurrent layers, a U-Net, and models with If and Loop. */
#include "e2e.h"

#include <stdio.h>

static const struct {
    const char *model, *data;
    unsigned shapes;
} exports[] = {{"encoder_13", "encoder", 3}, {"encoder_17", "encoder", 3},
    {"encoder_new", "encoder", 3}, {"layer_new", "layer", 3}, {"cnn", "cnn", 2},
    {"mlp_dynamo", "mlp_dynamo", 2}, {"lstm_13", "lstm_13", 2}, {"gru_17", "gru_17", 2},
    {"unet_11", "unet_11", 2}, {"unet_dynamo", "unet_dynamo", 2},
    {"loop_13", "loop_13", 2}, {"branch_11", "branch_11", 2},
    {"cond_dynamo_newest", "cond_dynamo_newest", 2}};
static const char *const levels[] = {"none", "basic", "all"};
static const char *const isas[] = {"scalar", "avx2", "best"};

enum { EXPORTS = sizeof exports / sizeof *exports, LEVELS = 3, ISAS = 3 };

static void compare_shape(struct tn_session *session, const char *data, unsigned shape) {
    char path[128];
    struct tn_context *context;
    struct tn_diag diag = {0};
    snprintf(path, sizeof path, "tests/data/%s_input_%u.npy", data, shape);
    struct tn_value *x = e2e_load(path);
    snprintf(path, sizeof path, "tests/data/%s_output_%u.npy", data, shape);
    struct tn_value *y = e2e_load(path);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    assert_ok(tn_context_set_input(context, 0, tn_value_get(x), &diag), diag);
    assert_ok(tn_context_run(context, NULL, &diag), diag);
    ck_assert_double_le(e2e_max_diff(tn_context_output(context, 0)->as.tensor,
                            tn_value_get(y)->as.tensor),
        2e-5);
    tn_context_destroy(context);
    tn_value_release(&x);
    tn_value_release(&y);
}

START_TEST(agrees_with_pytorch) {
    const char *model = exports[_i % EXPORTS].model, *data = exports[_i % EXPORTS].data;
    const char *level = levels[_i / EXPORTS % LEVELS], *isa = isas[_i / EXPORTS / LEVELS];
    char path[128];
    snprintf(path, sizeof path, "tests/data/%s.onnx", model);
    struct tn_runtime *runtime = e2e_runtime((const char *const[]){"cpu.isa", isa, NULL});
    struct tn_session *session =
        e2e_session(runtime, path, (const char *const[]){"level", level, NULL});
    for (unsigned shape = 0; shape < exports[_i % EXPORTS].shapes; shape++)
        compare_shape(session, data, shape);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_loop_test(tests, agrees_with_pytorch, 0, EXPORTS * LEVELS * ISAS);
}

UNIT_MAIN("exports")
