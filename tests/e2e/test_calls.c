/* A whole run in one call, outputs that leave their context, and the word that ends runs. */
#include "e2e.h"

static struct tn_runtime *runtime;
static struct tn_session *session;
static struct tn_context *context;
static struct tn_diag diag;

static void setup(void) {
    runtime = e2e_runtime(NULL);
}

static void teardown(void) {
    tn_context_destroy(context);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    context = NULL;
    session = NULL;
}

/* A session of a model in the text format, and its context. */
static void open_graph(const char *graph) {
    char text[1024];
    snprintf(text, sizeof text, "<ir_version: 10, opset_import: [\"\" : 18]> %s", graph);
    struct tn_model model = {.data = text, .size = strlen(text)};
    assert_ok(tn_session_create(runtime, &model, NULL, &session, &diag), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
}

/* A vector of floats as a value. */
struct vector {
    float data[16];
    int64_t n;
    struct tn_tensor tensor;
    struct tn_value_ref ref;
};

static void fill(struct vector *v, int64_t n, const float *data) {
    *v = (struct vector){.n = n};
    for (int64_t i = 0; i < n; i++)
        v->data[i] = data[i];
    v->tensor = (struct tn_tensor){.data = v->data,
        .dims = &v->n,
        .size = (uint64_t)n * 4,
        .dtype = TN_FLOAT,
        .rank = 1};
    v->ref = (struct tn_value_ref){.kind = TN_KIND_TENSOR, .as.tensor = &v->tensor};
}

static struct tn_call one_call(const struct tn_value_ref *input,
    struct tn_call_output *outputs, uint32_t n_outputs) {
    return (struct tn_call){.struct_size = TN_CALL_SIZE,
        .context = context,
        .inputs = input,
        .outputs = outputs,
        .n_inputs = 1,
        .n_outputs = n_outputs,
        .diag = &diag};
}

START_TEST(a_call_sets_runs_and_tells_what_is_fixed) {
    open_graph(
        "g (float[n] x) => (float[n] y, int64[1,k] z) { y = Neg (x) z = NonZero (x) }");
    struct vector x;
    struct tn_call_output outs[2] = {{0}};
    fill(&x, 3, (float[]){1, 0, 2});
    struct tn_call call = one_call(&x.ref, outs, 2);
    for (int turn = 0; turn < 3; turn++) {
        float buffer[3] = {0};
        outs[0].buffer = turn == 1 ? buffer : NULL;
        outs[0].size = turn == 1 ? sizeof buffer : 0;
        assert_ok(tn_call_run(&call), diag);
        const float *y = outs[0].value->as.tensor->data;
        ck_assert_int_eq(turn == 1, y == buffer);
        ck_assert(y[0] == -1 && y[2] == -2);
        ck_assert_uint_eq(outs[0].fixed, 1);
        ck_assert_uint_eq(outs[1].fixed, 0);
        ck_assert_int_eq(outs[1].value->as.tensor->dims[1], 2);
    }
    fill(&x, 2, (float[]){3, 4});
    assert_ok(tn_call_run(&call), diag);
    ck_assert_int_eq(outs[0].value->as.tensor->dims[0], 2);
}
END_TEST

START_TEST(a_call_that_does_not_fit_the_model_says_so) {
    open_graph("g (float[n] x) => (float[n] y) { y = Neg (x) }");
    struct vector x;
    struct tn_call_output outs[2] = {{0}};
    fill(&x, 1, (float[]){1});
    struct tn_call call = one_call(&x.ref, outs, 2);
    assert_fails(tn_call_run(&call), diag, TN_INVALID_ARGUMENT, "1 inputs and 2 outputs");
    call.n_outputs = 1;
    call.flags = 1;
    assert_fails(tn_call_run(&call), diag, TN_INVALID_ARGUMENT, "flags");
    call.flags = 0;
    call.context = NULL;
    assert_fails(tn_call_run(&call), diag, TN_INVALID_ARGUMENT, "without a context");
    ck_assert_int_eq(tn_call_run(NULL), TN_INVALID_ARGUMENT);
    call.context = context;
    outs[0] = (struct tn_call_output){.buffer = x.data, .size = 3};
    assert_fails(tn_call_run(&call), diag, TN_INVALID_ARGUMENT, "bound buffer has 3");
    struct tn_value_ref unset = {0};
    call.inputs = &unset;
    assert_fails(tn_call_run(&call), diag, TN_INVALID_ARGUMENT, "'x' is not set");
}
END_TEST

/* Takes output k, runs again with other data, and compares what was taken. */
static void take_and_run(
    uint32_t k, const struct tn_value_ref *again, struct tn_value **out) {
    const struct tn_value_ref *before = tn_context_output(context, k);
    const void *data = before->kind == TN_KIND_TENSOR ? before->as.tensor->data : NULL;
    assert_ok(tn_context_take_output(context, k, out, &diag), diag);
    const struct tn_value_ref *now = tn_value_get(*out);
    if (data && now->as.tensor->dtype != TN_STRING)
        ck_assert_ptr_eq(now->as.tensor->data, data); /* moved, not copied */
    ck_assert_uint_eq(tn_context_output(context, k)->kind, TN_KIND_ABSENT);
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(tn_context_set_input(context, 0, again, &diag), diag);
        assert_ok(tn_context_run(context, NULL, &diag), diag);
    }
}

static void check_taken(const char *graph, uint32_t size, const char *want) {
    struct vector x, other;
    struct tn_value *value = NULL;
    open_graph(graph);
    fill(&x, 4, (float[]){1, 0, 2, 0});
    fill(&other, 4, (float[]){7, 8, 9, 6});
    assert_ok(tn_context_set_input(context, 0, &x.ref, &diag), diag);
    assert_ok(tn_context_run(context, NULL, &diag), diag);
    take_and_run(0, &other.ref, &value);
    tn_context_destroy(context);
    context = NULL;
    const struct tn_tensor *t = tn_value_get(value)->as.tensor;
    ck_assert_uint_eq(t->size, size);
    ck_assert_mem_eq(t->data, want, size);
    tn_value_release(&value);
}

START_TEST(a_taken_output_outlives_runs_and_context) {
    check_taken("g (float[n] x) => (float[n] y) { y = Neg (x) }", 16,
        (const char *)(float[]){-1, -0.0f, -2, -0.0f});
}
END_TEST

START_TEST(a_taken_output_may_depend_on_data) {
    check_taken("g (float[n] x) => (int64[1,k] y) { y = NonZero (x) }", 16,
        (const char *)(int64_t[]){0, 2});
}
END_TEST

START_TEST(outputs_that_share_memory_are_copied) {
    open_graph("g (float[n] x) => (int64[1,k] y, int64[1,k] z) { y = NonZero (x) z = "
               "Identity (y) }");
    struct vector x;
    struct tn_value *y = NULL, *z = NULL;
    fill(&x, 4, (float[]){1, 0, 2, 0});
    assert_ok(tn_context_set_input(context, 0, &x.ref, &diag), diag);
    assert_ok(tn_context_run(context, NULL, &diag), diag);
    assert_ok(tn_context_take_output(context, 0, &y, &diag), diag);
    assert_ok(tn_context_take_output(context, 1, &z, &diag), diag);
    ck_assert_ptr_ne(tn_value_get(y)->as.tensor->data, tn_value_get(z)->as.tensor->data);
    assert_ok(tn_context_run(context, NULL, &diag), diag);
    ck_assert_mem_eq(tn_value_get(y)->as.tensor->data, ((int64_t[]){0, 2}), 16);
    ck_assert_mem_eq(tn_value_get(z)->as.tensor->data, ((int64_t[]){0, 2}), 16);
    tn_value_release(&y);
    tn_value_release(&z);
}
END_TEST

START_TEST(a_sequence_is_taken_whole) {
    open_graph("g (float[n] x) => (seq(float[2]) y) <int64 two = {2}> "
               "{ y = SplitToSequence (x, two) }");
    struct vector x;
    struct tn_value *value = NULL;
    fill(&x, 4, (float[]){1, 2, 3, 4});
    assert_ok(tn_context_set_input(context, 0, &x.ref, &diag), diag);
    assert_ok(tn_context_run(context, NULL, &diag), diag);
    take_and_run(0, &x.ref, &value);
    const struct tn_sequence *sequence = tn_value_get(value)->as.sequence;
    ck_assert_uint_eq(sequence->count, 2);
    ck_assert_mem_eq(sequence->items[1].as.tensor->data, ((float[]){3, 4}), 8);
    tn_value_release(&value);
}
END_TEST

START_TEST(nothing_is_taken_where_nothing_is) {
    struct tn_value *value = NULL;
    open_graph("g (float[n] x) => (float[n] y) { y = Neg (x) }");
    assert_fails(tn_context_take_output(context, 0, &value, &diag), diag,
        TN_INVALID_ARGUMENT, "no output 0");
    ck_assert_ptr_null(value);
}
END_TEST

START_TEST(the_callers_word_ends_runs) {
    open_graph("g (float[n] x) => (float[n] y) { y = Neg (x) }");
    struct vector x;
    uint32_t word = 0;
    struct tn_run_options options = {
        .struct_size = TN_RUN_OPTIONS_SIZE, .terminate = &word};
    fill(&x, 1, (float[]){1});
    assert_ok(tn_context_set_input(context, 0, &x.ref, &diag), diag);
    assert_ok(tn_context_run(context, &options, &diag), diag);
    word = 1;
    assert_fails(
        tn_context_run(context, &options, &diag), diag, TN_CANCELLED, "cancelled");
    word = 0;
    assert_ok(tn_context_run(context, &options, &diag), diag);
}
END_TEST

/* ---- weights of the caller ------------------------------------------------------------ */

static const char weighted[] = "<ir_version: 10, opset_import: [\"\" : 18]> "
                               "g (float[2] x) => (float[2] y) <float[2] w = "
                               "[\"location\": \"nowhere.bin\"]> { y = Add (x, w) }";

static tn_status open_weighted(const char *name, const struct tn_tensor *tensor) {
    struct tn_model model = {.data = weighted, .size = strlen(weighted)};
    struct tn_weights weights = {name, tensor};
    struct tn_session_options options = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .weights = &weights, .n_weights = 1};
    return tn_session_create(runtime, &model, &options, &session, &diag);
}

START_TEST(weights_of_the_caller_need_no_file) {
    struct vector x, w;
    fill(&x, 2, (float[]){1, 2});
    fill(&w, 2, (float[]){10, 20});
    assert_ok(open_weighted("w", &w.tensor), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    assert_ok(tn_context_set_input(context, 0, &x.ref, &diag), diag);
    assert_ok(tn_context_run(context, NULL, &diag), diag);
    const float *y = tn_context_output(context, 0)->as.tensor->data;
    ck_assert(y[0] == 11 && y[1] == 22);
}
END_TEST

START_TEST(weights_that_do_not_fit_are_refused) {
    struct vector w;
    fill(&w, 2, (float[]){10, 20});
    assert_fails(open_weighted(NULL, &w.tensor), diag, TN_INVALID_ARGUMENT, "no name");
    assert_fails(open_weighted("w", NULL), diag, TN_INVALID_ARGUMENT, "no tensor");
    w.tensor.dims = NULL;
    assert_fails(open_weighted("w", &w.tensor), diag, TN_INVALID_ARGUMENT, "shape");
    fill(&w, 3, (float[]){10, 20, 30});
    assert_fails(open_weighted("w", &w.tensor), diag, TN_INVALID_ARGUMENT, "shape");
    fill(&w, 2, (float[]){10, 20});
    w.tensor.size = 7;
    assert_fails(open_weighted("w", &w.tensor), diag, TN_INVALID_ARGUMENT, "too few");
    w.tensor.size = 8;
    w.tensor.dtype = TN_INT32;
    assert_fails(
        open_weighted("w", &w.tensor), diag, TN_INVALID_ARGUMENT, "element type");
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_call_sets_runs_and_tells_what_is_fixed);
    tcase_add_test(tests, a_call_that_does_not_fit_the_model_says_so);
    tcase_add_test(tests, a_taken_output_outlives_runs_and_context);
    tcase_add_test(tests, a_taken_output_may_depend_on_data);
    tcase_add_test(tests, outputs_that_share_memory_are_copied);
    tcase_add_test(tests, a_sequence_is_taken_whole);
    tcase_add_test(tests, nothing_is_taken_where_nothing_is);
    tcase_add_test(tests, the_callers_word_ends_runs);
    tcase_add_test(tests, weights_of_the_caller_need_no_file);
    tcase_add_test(tests, weights_that_do_not_fit_are_refused);
}

UNIT_MAIN("calls")
