/* Odd calls of the public API: values that do not fit, memory that is too small, contexts
 * used after a failure. Each is refused with a sentence, and the context goes on working. */
#include "../unit/unit.h"

#include "tenon/tenon.h"
#include "trial.h"

#include <pthread.h>

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> g "

static const char twice[] =
    HEAD "(float[N] x, float[N] z) => (float[N] y) { y = Add (x, z) }";
static const char loose[] = HEAD "(float x) => (float y) { y = Neg (x) }";
static const char joined[] =
    HEAD "(seq(float) s) => (float y) { y = ConcatFromSequence <axis = 0> (s) }";
static const char upper[] = HEAD "(string[N] x) => (string[M] y) { y = StringNormalizer"
                                 " <case_change_action = \"UPPER\"> (x) }";

struct rig {
    struct tn_runtime *runtime;
    struct tn_session *session;
    struct tn_context *context;
    struct tn_diag diag;
};

static struct rig open_rig(const char *text) {
    struct rig rig = {.runtime = trial_runtime()};
    struct tn_model model = {.data = text, .size = strlen(text)};
    assert_ok(
        tn_session_create(rig.runtime, &model, NULL, &rig.session, &rig.diag), rig.diag);
    assert_ok(tn_context_create(rig.session, &rig.context, &rig.diag), rig.diag);
    return rig;
}

static void close_rig(struct rig *rig) {
    tn_context_destroy(rig->context);
    tn_session_destroy(rig->session);
    tn_runtime_destroy(rig->runtime);
}

static tn_status set(struct rig *rig, uint32_t index, struct tn_tensor *tensor) {
    struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as = {.tensor = tensor}};
    return tn_context_set_input(rig->context, index, &ref, &rig->diag);
}

START_TEST(tensors_that_do_not_fit_are_refused) {
    struct rig rig = open_rig(twice);
    float data[9] = {0};
    int64_t four[] = {4}, minus[] = {-4}, grid[] = {2, 2}, step[] = {2},
            huge[] = {INT64_MAX};
    const struct tn_tensor good = {
        .data = data, .dims = four, .size = 16, .dtype = TN_FLOAT, .rank = 1};
    struct tn_tensor t = good;
    t.size = 15;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "15 bytes");
    t = good;
    t.data = NULL;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "0 bytes");
    t = good;
    t.dims = NULL;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "no dims");
    t = good;
    t.rank = 0;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "1 dimensions");
    t = good;
    t.dims = grid;
    t.rank = 2;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "1 dimensions");
    t = good;
    t.dims = minus;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "negative");
    t = good;
    t.dims = huge;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "overflow");
    t = good;
    t.strides = step;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "strided");
    t = good;
    t.dtype = 999;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "element type");
    t = good;
    t.dtype = TN_DOUBLE;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "cast");
    t = good;
    t.data = (char *)data + 1;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "aligned");
    t = good;
    t.space = 7;
    assert_fails(set(&rig, 0, &t), rig.diag, TN_INVALID_ARGUMENT, "host memory");
    t = good;
    assert_fails(set(&rig, 2, &t), rig.diag, TN_INVALID_ARGUMENT, "no input 2");
    assert_fails(tn_context_set_input(rig.context, 0, NULL, &rig.diag), rig.diag,
        TN_INVALID_ARGUMENT, "");
    struct tn_value_ref odd = {.kind = 77, .as = {.tensor = &t}};
    assert_fails(tn_context_set_input(rig.context, 0, &odd, &rig.diag), rig.diag,
        TN_INVALID_ARGUMENT, "kind 77");
    close_rig(&rig);
}
END_TEST

START_TEST(ranks_above_the_limit_are_refused) {
    struct rig rig = open_rig(loose);
    static int64_t dims[1000];
    float one[64] = {1};
    for (int i = 0; i < 1000; i++)
        dims[i] = 1;
    struct tn_tensor t = {
        .data = one, .dims = dims, .size = 4, .dtype = TN_FLOAT, .rank = 1000};
    tn_status status = set(&rig, 0, &t);
    if (status == TN_OK) status = tn_context_run(rig.context, NULL, &rig.diag);
    ck_assert(status == TN_OK || rig.diag.message[0]);
    t.rank = 0;
    assert_ok(set(&rig, 0, &t), rig.diag);
    assert_ok(tn_context_run(rig.context, NULL, &rig.diag), rig.diag);
    ck_assert_uint_eq(tn_context_output(rig.context, 0)->as.tensor->rank, 0);
    close_rig(&rig);
}
END_TEST

START_TEST(a_context_goes_on_after_every_failure) {
    struct rig rig = open_rig(twice);
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8];
    int64_t two[] = {2}, three[] = {3}, eight[] = {8};
    struct tn_tensor a = {
        .data = x, .dims = two, .size = 8, .dtype = TN_FLOAT, .rank = 1};
    struct tn_tensor b = a;
    ck_assert_ptr_null(tn_context_output(rig.context, 0));
    assert_fails(tn_context_run(rig.context, NULL, &rig.diag), rig.diag,
        TN_INVALID_ARGUMENT, "not set");
    assert_ok(set(&rig, 0, &a), rig.diag);
    assert_ok(set(&rig, 1, &b), rig.diag); /* the same memory twice */
    assert_ok(tn_context_run(rig.context, NULL, &rig.diag), rig.diag);
    b.dims = three;
    b.size = 12;
    assert_ok(set(&rig, 1, &b), rig.diag);
    assert_fails(tn_context_run(rig.context, NULL, &rig.diag), rig.diag,
        TN_INVALID_ARGUMENT, "'N'");
    ck_assert_ptr_null(tn_context_output(rig.context, 0));
    a.dims = b.dims = eight;
    a.size = b.size = 32;
    assert_ok(set(&rig, 0, &a), rig.diag);
    assert_ok(set(&rig, 1, &b), rig.diag);
    assert_ok(tn_context_bind_output(rig.context, 0, out, 31, &rig.diag), rig.diag);
    assert_fails(tn_context_run(rig.context, NULL, &rig.diag), rig.diag,
        TN_INVALID_ARGUMENT, "31");
    assert_ok(
        tn_context_bind_output(rig.context, 0, out, sizeof out, &rig.diag), rig.diag);
    tn_context_cancel(rig.context); /* no run in flight: nothing to end */
    assert_ok(tn_context_run(rig.context, NULL, &rig.diag), rig.diag);
    ck_assert(out[7] == 16);
    assert_ok(tn_context_bind_output(rig.context, 0, x, sizeof x, &rig.diag), rig.diag);
    assert_ok(
        tn_context_run(rig.context, NULL, &rig.diag), rig.diag); /* over its input */
    ck_assert(x[0] == 2 && x[7] == 16);
    struct tn_run_options late = {.struct_size = TN_RUN_OPTIONS_SIZE, .deadline_ns = 1};
    assert_fails(
        tn_context_run(rig.context, &late, &rig.diag), rig.diag, TN_DEADLINE, "");
    tn_context_shrink(rig.context);
    assert_ok(tn_context_bind_output(rig.context, 0, NULL, 0, &rig.diag), rig.diag);
    assert_ok(tn_context_run(rig.context, NULL, &rig.diag), rig.diag);
    struct tn_run_options odd = {.struct_size = 3};
    (void)tn_context_run(rig.context, &odd, &rig.diag);
    odd = (struct tn_run_options){.struct_size = TN_RUN_OPTIONS_SIZE, .flags = 4};
    assert_fails(
        tn_context_run(rig.context, &odd, &rig.diag), rig.diag, TN_INVALID_ARGUMENT, "");
    assert_ok(tn_context_run(rig.context, NULL, NULL) ? TN_INTERNAL : TN_OK, rig.diag);
    close_rig(&rig);
}
END_TEST

START_TEST(sequences_are_checked_to_their_last_item) {
    struct rig rig = open_rig(joined);
    float data[4] = {1, 2, 3, 4};
    int64_t two[] = {2}, minus[] = {-2};
    struct tn_tensor good = {
        .data = data, .dims = two, .size = 8, .dtype = TN_FLOAT, .rank = 1};
    struct tn_tensor bad[] = {good, good, good, good, good, good};
    bad[0].dtype = TN_DOUBLE;
    bad[1].dims = minus;
    bad[2].size = 7;
    bad[3].data = NULL;
    bad[4].strides = two;
    bad[5].dims = NULL;
    struct tn_value_ref items[2] = {{.kind = TN_KIND_TENSOR, .as = {.tensor = &good}}};
    struct tn_sequence sequence = {items, 2, TN_KIND_TENSOR, TN_FLOAT, NULL};
    struct tn_value_ref ref = {.kind = TN_KIND_SEQUENCE, .as = {.sequence = &sequence}};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        items[1] =
            (struct tn_value_ref){.kind = TN_KIND_TENSOR, .as = {.tensor = &bad[i]}};
        assert_fails(tn_context_set_input(rig.context, 0, &ref, &rig.diag), rig.diag,
            TN_INVALID_ARGUMENT, "'s'");
    }
    items[1] = (struct tn_value_ref){.kind = TN_KIND_TENSOR};
    assert_fails(tn_context_set_input(rig.context, 0, &ref, &rig.diag), rig.diag,
        TN_INVALID_ARGUMENT, "'s'");
    items[1] = ref; /* within itself */
    assert_fails(tn_context_set_input(rig.context, 0, &ref, &rig.diag), rig.diag,
        TN_INVALID_ARGUMENT, "'s'");
    sequence.items = NULL;
    assert_fails(tn_context_set_input(rig.context, 0, &ref, &rig.diag), rig.diag,
        TN_INVALID_ARGUMENT, "'s'");
    items[1] = items[0];
    sequence.items = items;
    assert_ok(tn_context_set_input(rig.context, 0, &ref, &rig.diag), rig.diag);
    assert_ok(tn_context_run(rig.context, NULL, &rig.diag), rig.diag);
    ck_assert_uint_eq(tn_context_output(rig.context, 0)->as.tensor->size, 16);
    close_rig(&rig);
}
END_TEST

START_TEST(strings_may_be_empty_and_hold_zero_bytes) {
    struct rig rig = open_rig(upper);
    struct tn_string text[3] = {{"a\0b", 3}, {NULL, 0}, {"z", 1}};
    int64_t three[] = {3};
    struct tn_tensor t = {
        .data = text, .dims = three, .size = sizeof text, .dtype = TN_STRING, .rank = 1};
    assert_ok(set(&rig, 0, &t), rig.diag);
    assert_ok(tn_context_run(rig.context, NULL, &rig.diag), rig.diag);
    const struct tn_tensor *y = tn_context_output(rig.context, 0)->as.tensor;
    const struct tn_string *first = y->data;
    ck_assert_uint_eq(first->size, 3);
    ck_assert_mem_eq(first->data, "A\0B", 3);
    close_rig(&rig);
}
END_TEST

START_TEST(a_thousand_sessions_come_and_go) {
    struct tn_runtime *runtime = trial_runtime();
    struct tn_model model = {.data = twice, .size = sizeof twice - 1};
    for (int i = 0; i < 1000; i++) {
        struct tn_session *session = NULL;
        struct tn_context *context = NULL;
        ck_assert_int_eq(tn_session_create(runtime, &model, NULL, &session, NULL), TN_OK);
        ck_assert_int_eq(tn_context_create(session, &context, NULL), TN_OK);
        tn_context_destroy(context);
        tn_session_destroy(session);
    }
    tn_runtime_destroy(runtime);
}
END_TEST

static void *create_sessions(void *arg) {
    struct tn_model model = {.data = twice, .size = sizeof twice - 1};
    for (int i = 0; i < 50; i++) {
        struct tn_session *session = NULL;
        if (tn_session_create(arg, &model, NULL, &session, NULL) != TN_OK) return arg;
        (void)tn_runtime_load_plugin(arg, "/nonexistent.so", NULL);
        tn_session_destroy(session);
    }
    return NULL;
}

START_TEST(sessions_may_be_made_at_once) {
    struct tn_runtime *runtime = trial_runtime();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, create_sessions, runtime), 0);
    for (int i = 0; i < 4; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    tn_runtime_destroy(runtime);
}
END_TEST

START_TEST(missing_arguments_are_refused) {
    struct rig rig = open_rig(loose);
    struct tn_model none = {0};
    struct tn_session *session = NULL;
    struct tn_value *value = NULL;
    int64_t minus[] = {-1};
    assert_fails(tn_session_create(rig.runtime, &none, NULL, &session, &rig.diag),
        rig.diag, TN_INVALID_MODEL, "empty");
    assert_fails(tn_session_create(NULL, NULL, NULL, NULL, &rig.diag), rig.diag,
        TN_INVALID_ARGUMENT, "");
    assert_fails(
        tn_context_create(NULL, NULL, &rig.diag), rig.diag, TN_INVALID_ARGUMENT, "");
    assert_fails(tn_value_tensor(TN_FLOAT, minus, 1, NULL, &value, &rig.diag), rig.diag,
        TN_INVALID_ARGUMENT, "");
    assert_fails(tn_value_tensor(0, NULL, 0, NULL, &value, &rig.diag), rig.diag,
        TN_INVALID_ARGUMENT, "");
    ck_assert_ptr_null(tn_session_io(rig.session, 9, 9));
    ck_assert_uint_eq(tn_session_find(rig.session, TN_INPUT, "nobody"), UINT32_MAX);
    ck_assert_ptr_null(tn_context_output(rig.context, 99));
    tn_context_destroy(NULL);
    tn_session_destroy(NULL);
    tn_runtime_destroy(NULL);
    tn_value_release(NULL);
    tn_value_retain(NULL);
    close_rig(&rig);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, tensors_that_do_not_fit_are_refused);
    tcase_add_test(tests, ranks_above_the_limit_are_refused);
    tcase_add_test(tests, a_context_goes_on_after_every_failure);
    tcase_add_test(tests, sequences_are_checked_to_their_last_item);
    tcase_add_test(tests, strings_may_be_empty_and_hold_zero_bytes);
    tcase_add_test(tests, a_thousand_sessions_come_and_go);
    tcase_add_test(tests, sessions_may_be_made_at_once);
    tcase_add_test(tests, missing_arguments_are_refused);
}

UNIT_MAIN("hostile inputs")
