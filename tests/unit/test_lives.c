/* Whole lives of a runtime with a plugin from a file: memory runs out at every allocation in
 * turn, those that the plugin asks of its host included, and a thousand lives one after another
 * leave nothing behind. */
#include "npu_fixture.h"

#include "core/base/alloc.h"
#include "tenon/helper/diag.h"

#include <unistd.h>

static int n_inits, n_shutdowns;

static tn_status count_init(
    const struct tn_host *host, void **out_state, struct tn_diag *odd_diag) {
    const struct tn_host **state = host->alloc(host->self, sizeof *state, 0, "counter");
    if (!state) return tn_fail(odd_diag, TN_OUT_OF_MEMORY, "no memory for the counter");
    *state = host;
    *out_state = state;
    n_inits++;
    return TN_OK;
}

static void count_shutdown(void *state) {
    const struct tn_host *host = *(const struct tn_host **)state;
    host->free(host->self, state);
    n_shutdowns++;
}

TEST_PLUGIN("org.tenon.counter", .init = count_init, .shutdown = count_shutdown)

/* ---- steps of a life: each may be tried again after it failed ---------------------------- */

static const char product[] = ONNX_HEADER "g (float[2] x) => (float[2] y) {"
                                          " a = Add(x, x) y = Mul(a, x) }";

static tn_status make_runtime(void) {
    struct tn_option options[] = {{"threads", "2"}, {"placement.show", "0"}};
    struct tn_runtime_options setup = {
        .struct_size = TN_RUNTIME_OPTIONS_SIZE, .options = options, .n_options = 2};
    return tn_runtime_create(&setup, &runtime, &diag);
}

static tn_status add_counter(void) {
    return tn__registry_add_static(runtime->registry, odd_query, &diag);
}

static tn_status load_npu(void) {
    return tn_runtime_load_plugin(runtime, FAKES_DIR "/org.tenon.fake-npu.so", &diag);
}

static tn_status make_session(void) {
    static const struct setup setup = {
        "fake.npu", "strict", {"provider:fake.npu/streams", "1", NULL}};
    return try_setup(product, &setup);
}

static tn_status run_once(void) {
    static const float x[] = {1, -2};
    static const int64_t n = 2;
    TN_TRY(try_input(0, TN_FLOAT, x, &n, 1));
    return tn_context_run(context, NULL, &diag);
}

static tn_status (*const steps[])(void) = {
    make_runtime, add_counter, load_npu, make_session, run_once};

/* Returns the number of steps that failed; each must go well the second time. */
static int live(uint64_t fail_at) {
    int failures = 0;
    tn__alloc_fail_at(fail_at);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        memset(&diag, 0, sizeof diag);
        tn_status status = steps[i]();
        if (status == TN_OK) continue;
        failures++;
        tn__alloc_fail_at(0);
        ck_assert_msg(status == TN_OUT_OF_MEMORY,
            "step %zu, allocation %llu: code %d: %s", i, (unsigned long long)fail_at,
            (int)status, diag.message);
        ck_assert_msg(diag.message[0], "step %zu: no sentence", i);
        memset(&diag, 0, sizeof diag);
        status = steps[i]();
        ck_assert_msg(status == TN_OK, "step %zu again, allocation %llu: code %d: %s", i,
            (unsigned long long)fail_at, (int)status, diag.message);
    }
    tn__alloc_fail_at(0);
    assert_floats(0, FLOATS(2, 8), 2);
    tear_down_runtime();
    return failures;
}

START_TEST(memory_that_runs_out_anywhere_in_a_life_is_survived) {
    uint64_t n = 1, last = 0;
    for (; n < 20000 && n < last + 200; n++) {
        if (live(n)) last = n;
        ck_assert_int_eq(n_inits, n_shutdowns);
    }
    ck_assert_uint_lt(n, 20000);
    ck_assert_uint_gt(last, 100);
}
END_TEST

/* ---- a thousand lives ------------------------------------------------------------------- */

static long resident_pages(void) {
    long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%ld %ld", &total, &resident), 2);
    fclose(f);
    return resident;
}

START_TEST(a_thousand_lives_take_no_more_than_a_hundred) {
    long after_hundred = 0;
    n_inits = n_shutdowns = 0;
    for (int i = 1; i <= 1000; i++) {
        ck_assert_int_eq(live(0), 0);
        ck_assert_int_eq(n_inits, i);
        ck_assert_int_eq(n_shutdowns, i);
        if (i == 100) after_hundred = resident_pages();
    }
    /* a sanitizer keeps what was freed */
    if (TN_SANITIZER_CURRENT != TN_SANITIZER_NONE) return;
    long grown = (resident_pages() - after_hundred) * sysconf(_SC_PAGESIZE);
    ck_assert_msg(grown < 1 << 20, "900 lives took %ld bytes", grown);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_set_timeout(tests, 170);
    tcase_add_test(tests, memory_that_runs_out_anywhere_in_a_life_is_survived);
    tcase_add_test(tests, a_thousand_lives_take_no_more_than_a_hundred);
}

UNIT_MAIN("lives")
