/* Sessions and contexts end to end: static shapes, shapes that depend on data, control
 * flow, memory that is shared and memory that must not be. */
#include "run_fixture.h"

#include "core/base/alloc.h"

#include <pthread.h>

/* ---- counting malloc: what a warm run must not call ---------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static uint64_t count_allocations(void) {
    return tn__alloc_count();
}
#else
static _Atomic uint64_t n_mallocs;
extern void *__libc_malloc(size_t size);
void *malloc(size_t size);
void *malloc(size_t size) {
    n_mallocs++;
    return __libc_malloc(size);
}

static uint64_t count_allocations(void) {
    return tn__alloc_count() + n_mallocs;
}
#endif

/* Assertions of Check allocate too: none between the two counts. */
static void assert_warm(int runs) {
    tn_status status = TN_OK;
    uint64_t before = count_allocations();
    for (int i = 0; i < runs && status == TN_OK; i++)
        status = tn_context_run(context, NULL, &diag);
    uint64_t made = count_allocations() - before;
    ck_assert_int_eq(status, TN_OK);
    ck_assert_uint_eq(made, 0);
}

/* ---- static shapes ------------------------------------------------------------------- */

static const char chain[] =
    FAKE_HEADER "g (float[N] x) => (float[N] y) {"
                " a = fake.Gain <k: float = 2.0> (x) b = fake.Plus(a, x)"
                " y = fake.Times(b, a) }";

START_TEST(a_chain_gives_what_its_operators_say) {
    open_session(chain);
    set_floats(0, FLOATS(1, 2, -3), 3);
    run_context();
    assert_floats(0, FLOATS(6, 24, 54), 3);
    run_context();
    assert_floats(0, FLOATS(6, 24, 54), 3);
    set_floats(0, FLOATS(1, 1), 2);
    run_context();
    assert_floats(0, FLOATS(6, 6), 2);
    assert_warm(10);
}
END_TEST

START_TEST(rebinding_an_input_needs_no_memory) {
    static float a[] = {1, 2}, b[] = {3, 4};
    static const int64_t n = 2;
    struct tn_tensor tensors[2] = {
        {.data = a, .dims = &n, .size = 8, .dtype = TN_FLOAT, .rank = 1},
        {.data = b, .dims = &n, .size = 8, .dtype = TN_FLOAT, .rank = 1}};
    int wrong = 0;
    open_session(chain);
    set_floats(0, a, 2);
    run_context();
    uint64_t before = count_allocations();
    for (int i = 0; i < 6; i++) {
        struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as.tensor = &tensors[i % 2]};
        wrong += tn_context_set_input(context, 0, &ref, &diag) != TN_OK;
        wrong += tn_context_run(context, NULL, &diag) != TN_OK;
        const float *y = tn_context_output(context, 0)->as.tensor->data;
        wrong += y[0] != (i % 2 ? 54 : 6);
    }
    uint64_t made = count_allocations() - before;
    ck_assert_int_eq(wrong, 0);
    ck_assert_uint_eq(made, 0);
}
END_TEST

START_TEST(many_shapes_keep_memory_bounded) {
    static float data[4096];
    open_session(chain);
    uint64_t most = 0;
    for (int round = 0; round < 3; round++) {
        for (int64_t n = 1; n <= 25; n++) {
            for (int64_t i = 0; i < n * 100; i++)
                data[i] = (float)n;
            set_floats(0, data, n * 100);
            run_context();
            ck_assert_uint_eq(result(0)->size, (uint64_t)n * 400);
            ck_assert(((float *)result(0)->data)[n * 100 - 1] == 6 * (float)(n * n));
        }
        uint64_t bytes = context->exec.arena_bytes + context->exec.recycler.in_use +
                         context->exec.recycler.idle;
        if (round == 0) most = bytes;
        ck_assert_uint_le(bytes, most);
        ck_assert_uint_le(context->frame->n_sets, 8);
    }
    tn_context_shrink(context);
    ck_assert_ptr_null(tn_context_output(context, 0));
    ck_assert_uint_eq(context->exec.arena_bytes, 0);
    set_floats(0, FLOATS(1), 1);
    run_context();
    assert_floats(0, FLOATS(6), 1);
}
END_TEST

START_TEST(outputs_that_are_inputs_constants_or_twice_the_same_are_copies) {
    static float x[] = {1, 2};
    open_session(FAKE_HEADER
        "g (float[2] x) => (float[2] x, float[2] c, float[2] y, float[2] y, float[2] v)"
        " <float[2] c = {5, 6}> { y = fake.Plus(x, c) v = fake.Copy(x) }");
    set_floats(0, x, 2);
    run_context();
    x[0] = 100;
    assert_floats(0, FLOATS(1, 2), 2);
    assert_floats(1, FLOATS(5, 6), 2);
    assert_floats(2, FLOATS(6, 8), 2);
    assert_floats(3, FLOATS(6, 8), 2);
    assert_floats(4, FLOATS(1, 2), 2);
    ck_assert_ptr_ne(result(2)->data, result(3)->data);
    x[0] = 1;
    assert_warm(3);
}
END_TEST

START_TEST(a_bound_output_is_written_where_the_caller_says) {
    float out[3] = {0}, x[] = {1, 2, 3};
    open_session(chain);
    set_floats(0, x, 3);
    assert_ok(tn_context_bind_output(context, 0, out, sizeof out, &diag), diag);
    run_context();
    ck_assert_ptr_eq(result(0)->data, out);
    ck_assert(out[2] == 54);
    assert_ok(tn_context_bind_output(context, 0, out, 8, &diag), diag);
    assert_fails(tn_context_run(context, NULL, &diag), diag, TN_INVALID_ARGUMENT,
        "output 'y' takes 12 bytes, but its bound buffer has 8");
    ck_assert_ptr_null(tn_context_output(context, 0));
    /* the input's own memory */
    assert_ok(tn_context_bind_output(context, 0, x, sizeof x, &diag), diag);
    run_context();
    ck_assert(x[0] == 6 && x[1] == 24 && x[2] == 54);
    assert_ok(tn_context_bind_output(context, 0, NULL, 0, &diag), diag);
    x[0] = x[1] = x[2] = 1;
    run_context();
    assert_floats(0, FLOATS(6, 6, 6), 3);
}
END_TEST

START_TEST(views_have_no_step_and_dying_inputs_are_overwritten) {
    open_session(FAKE_HEADER "g (float[4] x) => (float[2,2] y) <int64[2] s = {2, 2}> {"
                             " a = fake.Noise(x) b = fake.Plus(a, x) c = fake.Plus(b, x)"
                             " d = fake.Copy(c) y = fake.Reform(d, s) }");
    set_floats(0, FLOATS(1, 2, 3, 4), 4);
    run_context();
    assert_floats(0, FLOATS(4, 7, 10, 13), 4);
    ck_assert_uint_eq(result(0)->rank, 2);
    ck_assert_uint_eq(context->frame->set->n_steps, 3);
    ck_assert_uint_eq(context->frame->set->region_bytes[0], 0);
}
END_TEST

/* Random graphs, each run with memory shared and with none shared. */
static uint64_t seed;

static uint32_t draw(uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static void write_random_graph(char *text, size_t size) {
    static const char *const binary[] = {"Plus", "Times", "Shift"};
    static const char *const unary[] = {"Copy", "Gain", "Noise", "Blind"};
    size_t at = (size_t)snprintf(text, size,
        FAKE_HEADER
        "g (float[8] v0, float[8] v1) => (float[8] v%u, float[8] v%u, float[8] "
        "v29) { ",
        2 + draw(27), draw(29));
    for (uint32_t v = 2; v < 30; v++) {
        uint32_t from = v > 6 ? v - 6 : 0;
        if (draw(2))
            at += (size_t)snprintf(text + at, size - at, "v%u = fake.%s(v%u, v%u) ", v,
                binary[draw(3)], from + draw(v - from), from + draw(v - from));
        else
            at += (size_t)snprintf(text + at, size - at, "v%u = fake.%s%s(v%u) ", v,
                unary[draw(4)], "", from + draw(v - from));
    }
    snprintf(text + at, size - at, "}");
}

START_TEST(sharing_memory_never_changes_a_result) {
    static char text[8192];
    static float x[8], y[8], want[3][8];
    seed = 7;
    for (int i = 0; i < 8; i++) {
        x[i] = (float)(i - 3);
        y[i] = 0.5f * (float)i;
    }
    for (int round = 0; round < 150; round++) {
        write_random_graph(text, sizeof text);
        for (int share = 0; share < 2; share++) {
            tn__exec_set_sharing(share);
            open_session(text);
            set_floats(0, x, 8);
            set_floats(1, y, 8);
            run_context();
            run_context();
            for (uint32_t o = 0; o < 3; o++) {
                if (!share)
                    memcpy(want[o], result(o)->data, sizeof want[o]);
                else
                    ck_assert_msg(memcmp(want[o], result(o)->data, sizeof want[o]) == 0,
                        "output %u differs in: %s", o, text);
            }
        }
        assert_warm(2);
    }
}
END_TEST

START_TEST(overridable_initializers_may_be_replaced) {
    open_session(FAKE_HEADER "g (float[2] x, float[2] k = {3, 4}) => (float[2] y) {"
                             " y = fake.Times(x, k) }");
    ck_assert_uint_eq(tn_session_io_count(session, TN_INPUT), 1);
    ck_assert_uint_eq(tn_session_io_count(session, TN_OVERRIDABLE), 1);
    ck_assert_uint_eq(tn_session_find(session, TN_OVERRIDABLE, "k"), 0);
    set_floats(0, FLOATS(1, 2), 2);
    run_context();
    assert_floats(0, FLOATS(3, 8), 2);
    set_floats(1, FLOATS(10, 100), 2);
    run_context();
    assert_floats(0, FLOATS(10, 200), 2);
    struct tn_value_ref unset = {0};
    assert_ok(tn_context_set_input(context, 1, &unset, &diag), diag);
    run_context();
    assert_floats(0, FLOATS(3, 8), 2);
}
END_TEST

/* ---- shapes that depend on data ------------------------------------------------------ */

static const char pick[] =
    FAKE_HEADER "g (float[N] x) => (int64[M] i, int64[K] n, float[P] f) {"
                " p = fake.Pick(x) i = fake.Plus(p, p) c = fake.Copy(i) n = fake.Dims(c)"
                " f = fake.Fill <value: float = 1.5> (n) }";

START_TEST(shapes_that_depend_on_data_follow_the_data) {
    static float x[] = {0, 1, 0, 2};
    open_session(pick);
    set_floats(0, x, 4);
    for (int round = 0; round < 3; round++) {
        x[0] = 0;
        run_context();
        ck_assert_uint_eq(result(0)->dims[0], 2);
        ck_assert_int_eq(((int64_t *)result(0)->data)[1], 6);
        ck_assert_int_eq(*(int64_t *)result(1)->data, 2);
        assert_floats(2, FLOATS(1.5f, 1.5f), 2);
        x[0] = 1;
        run_context();
        ck_assert_uint_eq(result(0)->dims[0], 3);
        assert_floats(2, FLOATS(1.5f, 1.5f, 1.5f), 3);
    }
    assert_warm(5);
    x[0] = x[1] = x[3] = 0;
    run_context();
    ck_assert_uint_eq(result(0)->size, 0);
    ck_assert_uint_eq(result(2)->dims[0], 0);
}
END_TEST

START_TEST(a_dynamic_output_goes_to_its_bound_buffer_or_says_what_it_needs) {
    int64_t out[3] = {0};
    open_session(pick);
    set_floats(0, FLOATS(1, 1, 0, 1), 4);
    assert_ok(tn_context_bind_output(context, 0, out, sizeof out, &diag), diag);
    run_context();
    ck_assert_ptr_eq(result(0)->data, out);
    ck_assert_int_eq(out[2], 6);
    assert_ok(tn_context_bind_output(context, 0, out, 16, &diag), diag);
    assert_fails(tn_context_run(context, NULL, &diag), diag, TN_INVALID_ARGUMENT,
        "output 'i' takes 24 bytes");
    ck_assert_str_ne(diag.node, "");
}
END_TEST

/* ---- control flow -------------------------------------------------------------------- */

static const char branch[] =
    FAKE_HEADER "g (bool c, float[N] x) => (float[M] y) { a = fake.Noise(x)"
                " y = fake.Branch(c) <then_branch = yes () => (float[P] t) {"
                "   t = fake.Plus(a, x) },"
                " else_branch = no () => (float[Q] e) { e = fake.Join(a, x) }> }";

START_TEST(branches_see_what_surrounds_them) {
    static uint8_t condition = 1;
    open_session(branch);
    assert_ok(try_input(0, TN_BOOL, &condition, NULL, 0), diag);
    set_floats(1, FLOATS(1, 2), 2);
    for (int round = 0; round < 3; round++) {
        condition = 1;
        run_context();
        assert_floats(0, FLOATS(3, 5), 2);
        condition = 0;
        run_context();
        assert_floats(0, FLOATS(2, 3, 1, 2), 4);
    }
    assert_warm(4);
}
END_TEST

START_TEST(a_loop_carries_its_state) {
    static int64_t turns = 5;
    open_session(
        FAKE_HEADER "g (int64 n, float[2] x) => (float[2] a, float[2] b) {"
                    " a, b = fake.Repeat(n, x, x) <body = t (int64 i, float[2] p,"
                    "   float[2] q) => (float[2] r, float[2] p) {"
                    "   r = fake.Plus(p, q) }> }");
    assert_ok(try_input(0, TN_INT64, &turns, NULL, 0), diag);
    set_floats(1, FLOATS(1, 10), 2);
    run_context(); /* Fibonacci */
    assert_floats(0, FLOATS(13, 130), 2);
    assert_floats(1, FLOATS(8, 80), 2);
    turns = 0;
    run_context();
    assert_floats(0, FLOATS(1, 10), 2);
    turns = 50;
    run_context();
    assert_warm(3);
}
END_TEST

START_TEST(a_loop_whose_state_grows_stays_warm) {
    static int64_t turns = 40;
    open_session(FAKE_HEADER "g (int64 n, float[2] x) => (float[M] y) {"
                             " y = fake.Repeat(n, x) <body = t (int64 i, float[P] s) =>"
                             "   (float[Q] r) { r = fake.Join(s, x) }> }");
    assert_ok(try_input(0, TN_INT64, &turns, NULL, 0), diag);
    set_floats(1, FLOATS(1, 2), 2);
    run_context();
    ck_assert_uint_eq(result(0)->dims[0], 82);
    ck_assert(((float *)result(0)->data)[81] == 2);
    run_context();
    run_context();
    assert_warm(2);
}
END_TEST

/* ---- several at once ----------------------------------------------------------------- */

static void *run_many(void *arg) {
    struct tn_context *own;
    float x[] = {1, 2, *(int *)arg};
    int64_t n = 3;
    struct tn_tensor tensor = {
        .data = x, .dims = &n, .size = sizeof x, .dtype = TN_FLOAT, .rank = 1};
    struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as.tensor = &tensor};
    if (tn_context_create(session, &own, NULL) ||
        tn_context_set_input(own, 0, &ref, NULL))
        return "no context";
    for (int i = 0; i < 2000; i++) {
        if (tn_context_run(own, NULL, NULL)) return "no run";
        const float *y = tn_context_output(own, 0)->as.tensor->data;
        if (y[0] != 6 || y[2] != 6 * x[2] * x[2]) return "wrong result";
    }
    tn_context_destroy(own);
    return NULL;
}

START_TEST(contexts_of_one_session_run_at_once) {
    pthread_t threads[4];
    int numbers[4] = {1, 2, 3, 4};
    open_session(chain);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_many, &numbers[i]), 0);
    for (int i = 0; i < 4; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        ck_assert_msg(!problem, "%s", (char *)problem);
    }
}
END_TEST

START_TEST(memory_that_runs_out_anywhere_is_survived) {
    static uint8_t condition = 0;
    static const float x[] = {1, 2};
    static const int64_t two = 2;
    for (uint64_t n = 1; n < 100000; n++) {
        tn__alloc_fail_at(n);
        tn_status status = try_session(branch, NULL, NULL);
        if (status == TN_OK) status = tn_context_create(session, &context, &diag);
        if (status == TN_OK) status = try_input(0, TN_BOOL, &condition, NULL, 0);
        if (status == TN_OK) status = try_input(1, TN_FLOAT, x, &two, 1);
        if (status == TN_OK) status = tn_context_run(context, NULL, &diag);
        tn__alloc_fail_at(0);
        if (status != TN_OK) {
            ck_assert_msg(
                status == TN_OUT_OF_MEMORY, "code %d: %s", status, diag.message);
            continue;
        }
        assert_floats(0, FLOATS(2, 3, 1, 2), 4);
        ck_assert_uint_gt(n, 20);
        return;
    }
    ck_abort_msg("never enough memory");
}
END_TEST

static void share_again(void) {
    tn__exec_set_sharing(true);
    tear_down_runtime();
}

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, set_up_runtime, share_again);
    tcase_add_test(tests, a_chain_gives_what_its_operators_say);
    tcase_add_test(tests, rebinding_an_input_needs_no_memory);
    tcase_add_test(tests, many_shapes_keep_memory_bounded);
    tcase_add_test(tests, outputs_that_are_inputs_constants_or_twice_the_same_are_copies);
    tcase_add_test(tests, a_bound_output_is_written_where_the_caller_says);
    tcase_add_test(tests, views_have_no_step_and_dying_inputs_are_overwritten);
    tcase_add_test(tests, sharing_memory_never_changes_a_result);
    tcase_add_test(tests, overridable_initializers_may_be_replaced);
    tcase_add_test(tests, shapes_that_depend_on_data_follow_the_data);
    tcase_add_test(
        tests, a_dynamic_output_goes_to_its_bound_buffer_or_says_what_it_needs);
    tcase_add_test(tests, branches_see_what_surrounds_them);
    tcase_add_test(tests, a_loop_carries_its_state);
    tcase_add_test(tests, a_loop_whose_state_grows_stays_warm);
    tcase_add_test(tests, contexts_of_one_session_run_at_once);
    tcase_add_test(tests, memory_that_runs_out_anywhere_is_survived);
}

UNIT_MAIN("run")
