/* The same bits for 1, 2 and 4 threads, in repeated and in concurrent runs. */
#include "e2e.h"

#include <pthread.h>

enum { RUNS = 5, CALLERS = 4, MOST_FLOATS = 1 << 20 };

static const struct {
    const char *model, *input;
} cases[] = {{"examples/digits/digits.onnx", "examples/digits/images.npy"},
    {"tests/data/encoder_13.onnx", "tests/data/encoder_input_2.npy"},
    {"tests/data/layer_new.onnx", "tests/data/layer_input_2.npy"},
    {"tests/data/cnn.onnx", "tests/data/cnn_input_0.npy"},
    {"tests/data/ml_pipeline.onnx", "tests/data/ml_pipeline_input.npy"}};

static float reference[MOST_FLOATS];
static uint64_t reference_size;

/* The first answer becomes the reference; every other must equal it bit for bit. */
static bool same_bits(const struct tn_context *context) {
    const struct tn_tensor *out = tn_context_output(context, 0)->as.tensor;
    if (reference_size == 0) {
        reference_size = out->size;
        memcpy(reference, out->data, out->size);
    }
    return out->size == reference_size && memcmp(out->data, reference, out->size) == 0;
}

static void run_alone(
    struct tn_session *session, const struct tn_value *x, unsigned runs) {
    struct tn_diag diag = {0};
    struct tn_context *context;
    assert_ok(tn_context_create(session, &context, &diag), diag);
    assert_ok(tn_context_set_input(context, 0, tn_value_get(x), &diag), diag);
    for (unsigned i = 0; i < runs; i++) {
        assert_ok(tn_context_run(context, NULL, &diag), diag);
        ck_assert(same_bits(context));
    }
    tn_context_destroy(context);
}

struct caller {
    pthread_t thread;
    struct tn_session *session;
    const struct tn_value *x;
    bool good;
};

static void *call(void *arg) {
    struct caller *caller = arg;
    struct tn_context *context = NULL;
    caller->good =
        tn_context_create(caller->session, &context, NULL) == TN_OK &&
        tn_context_set_input(context, 0, tn_value_get(caller->x), NULL) == TN_OK;
    for (unsigned i = 0; i < RUNS && caller->good; i++)
        caller->good = tn_context_run(context, NULL, NULL) == TN_OK && same_bits(context);
    tn_context_destroy(context);
    return NULL;
}

static void run_concurrently(struct tn_session *session, const struct tn_value *x) {
    struct caller callers[CALLERS];
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.session = session, .x = x};
        ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        ck_assert(callers[i].good);
    }
}

START_TEST(bits_do_not_depend_on_threads) {
    /* the pool is the process's; each runtime takes at most its own number of threads */
    static const char *const counts[] = {"1", "2", "4"};
    struct tn_value *x = e2e_load(cases[_i].input);
    reference_size = 0;
    for (unsigned c = 0; c < 3; c++) {
        struct tn_runtime *runtime =
            e2e_runtime((const char *const[]){"threads", counts[c], NULL});
        struct tn_session *session = e2e_session(runtime, cases[_i].model, NULL);
        run_alone(session, x, RUNS);
        run_concurrently(session, x);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
    }
    tn_value_release(&x);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_loop_test(
        tests, bits_do_not_depend_on_threads, 0, sizeof cases / sizeof *cases);
}

UNIT_MAIN("threads")
