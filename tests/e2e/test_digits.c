/* The digits example: PyTorch's answers, one sentence for every mistake. */
#include "e2e.h"

static struct tn_runtime *runtime;
static struct tn_session *session;
static struct tn_context *context;
static struct tn_value *images, *scores;
static struct tn_diag diag;

static void setup(void) {
    runtime = e2e_runtime(NULL);
    session = e2e_session(runtime, "examples/digits/digits.onnx", NULL);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    images = e2e_load("examples/digits/images.npy");
    scores = e2e_load("examples/digits/scores.npy");
}

static void teardown(void) {
    tn_context_destroy(context);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    tn_value_release(&images);
    tn_value_release(&scores);
}

static unsigned best(const float *row) {
    unsigned k = 0;
    for (unsigned i = 1; i < 10; i++)
        k = row[i] > row[k] ? i : k;
    return k;
}

START_TEST(batch_540_agrees_with_pytorch) {
    assert_ok(tn_context_set_input(context, 0, tn_value_get(images), &diag), diag);
    assert_ok(tn_context_run(context, NULL, &diag), diag);
    const struct tn_tensor *out = tn_context_output(context, 0)->as.tensor;
    const struct tn_tensor *want = tn_value_get(scores)->as.tensor;
    ck_assert_double_le(e2e_max_diff(out, want), 1e-5);
    for (unsigned r = 0; r < 540; r++)
        ck_assert_uint_eq(best((const float *)out->data + r * 10),
            best((const float *)want->data + r * 10));
}
END_TEST

START_TEST(batch_1_gives_the_same_bits_as_batch_540) {
    static float all[540 * 10];
    assert_ok(tn_context_set_input(context, 0, tn_value_get(images), &diag), diag);
    assert_ok(tn_context_run(context, NULL, &diag), diag);
    memcpy(all, tn_context_output(context, 0)->as.tensor->data, sizeof all);
    for (int64_t r = 0; r < 540; r++) {
        struct tn_tensor row;
        int64_t dims[2];
        struct tn_value_ref value = e2e_rows(images, r, r + 1, &row, dims);
        assert_ok(tn_context_set_input(context, 0, &value, &diag), diag);
        assert_ok(tn_context_run(context, NULL, &diag), diag);
        const struct tn_tensor *out = tn_context_output(context, 0)->as.tensor;
        ck_assert_int_eq(out->dims[0], 1);
        ck_assert_mem_eq(out->data, all + r * 10, 10 * sizeof(float));
    }
}
END_TEST

/* Sets input 0 to a tensor that is wrong; returns the message. */
static const char *mistake(int32_t dtype, const int64_t *dims, uint32_t rank) {
    static char data[1 << 16];
    uint64_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= (uint64_t)dims[i];
    struct tn_tensor tensor = {.data = data,
        .dims = dims,
        .size = n * tn_dtype_bits(dtype) / 8,
        .dtype = dtype,
        .rank = rank};
    struct tn_value_ref value = {.kind = TN_KIND_TENSOR, .as = {.tensor = &tensor}};
    memset(&diag, 0, sizeof diag);
    ck_assert_int_eq(
        tn_context_set_input(context, 0, &value, &diag), TN_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(diag.message, "'image'"));
    return diag.message;
}

START_TEST(a_wrong_type_names_input_got_and_wanted) {
    const char *message = mistake(TN_DOUBLE, (int64_t[]){1, 64}, 2);
    ck_assert_msg(strstr(message, "double") && strstr(message, "float"), "%s", message);
}
END_TEST

START_TEST(a_wrong_rank_names_input_got_and_wanted) {
    const char *message = mistake(TN_FLOAT, (int64_t[]){64}, 1);
    ck_assert_msg(
        strstr(message, "float[64]") && strstr(message, "2 dimensions"), "%s", message);
}
END_TEST

START_TEST(a_wrong_size_names_input_got_and_wanted) {
    const char *message = mistake(TN_FLOAT, (int64_t[]){1, 63}, 2);
    ck_assert_msg(strstr(message, "63") && strstr(message, "64"), "%s", message);
}
END_TEST

START_TEST(an_unset_input_is_named) {
    assert_fails(
        tn_context_run(context, NULL, &diag), diag, TN_INVALID_ARGUMENT, "'image'");
}
END_TEST

START_TEST(unknown_names_are_not_found) {
    ck_assert_uint_eq(tn_session_find(session, TN_INPUT, "image"), 0);
    ck_assert_uint_eq(tn_session_find(session, TN_INPUT, "imgae"), UINT32_MAX);
    ck_assert_uint_eq(tn_session_find(session, TN_OUTPUT, "scores"), 0);
    memset(&diag, 0, sizeof diag);
    struct tn_value_ref absent = {0};
    ck_assert_int_eq(
        tn_context_set_input(context, 7, &absent, &diag), TN_INVALID_ARGUMENT);
}
END_TEST

START_TEST(a_locked_batch_says_how_to_unlock) {
    struct tn_context *locked_context;
    struct tn_session *locked = e2e_session(runtime, "examples/digits/digits.onnx",
        (const char *const[]){"dims", "batch=1", NULL});
    assert_ok(tn_context_create(locked, &locked_context, &diag), diag);
    assert_fails(tn_context_set_input(locked_context, 0, tn_value_get(images), &diag),
        diag, TN_INVALID_ARGUMENT, "'image'");
    ck_assert_msg(
        strstr(diag.message, "540") && strstr(diag.message, "1"), "%s", diag.message);
    ck_assert_msg(strstr(diag.message, "dynamic") || strstr(diag.message, "dims"), "%s",
        diag.message);
    tn_context_destroy(locked_context);
    tn_session_destroy(locked);
}
END_TEST

START_TEST(io_is_described) {
    const struct tn_io *in = tn_session_io(session, TN_INPUT, 0);
    ck_assert_str_eq(in->name, "image");
    ck_assert_int_eq(in->type.dtype, TN_FLOAT);
    ck_assert_int_eq(in->type.rank, 2);
    ck_assert_str_eq(in->dim_names[0], "batch");
    ck_assert_int_eq(in->type.dims[1], 64);
    struct tn_model_info info;
    tn_session_info(session, &info);
    ck_assert_str_eq(info.producer_name, "pytorch");
    ck_assert_uint_eq(info.n_nodes, 5);
    ck_assert_uint_eq(
        info.n_parameters, 64 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, batch_540_agrees_with_pytorch);
    tcase_add_test(tests, batch_1_gives_the_same_bits_as_batch_540);
    tcase_add_test(tests, a_wrong_type_names_input_got_and_wanted);
    tcase_add_test(tests, a_wrong_rank_names_input_got_and_wanted);
    tcase_add_test(tests, a_wrong_size_names_input_got_and_wanted);
    tcase_add_test(tests, an_unset_input_is_named);
    tcase_add_test(tests, unknown_names_are_not_found);
    tcase_add_test(tests, a_locked_batch_says_how_to_unlock);
    tcase_add_test(tests, io_is_described);
}

UNIT_MAIN("digits")
