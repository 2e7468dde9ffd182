/* A warm run allocates nothing, in the core or in a plugin: this program's own malloc and mmap
 * stand before the C library's for every library of the process. Built without sanitizers. */
#include "e2e.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static _Atomic uint64_t calls;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *ptr, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

/* Visible to the libraries, which is the point. */
#pragma GCC visibility push(default)

void *malloc(size_t size) {
    atomic_fetch_add(&calls, 1);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    atomic_fetch_add(&calls, 1);
    return __libc_calloc(n, size);
}

void *realloc(void *ptr, size_t size) {
    atomic_fetch_add(&calls, 1);
    return __libc_realloc(ptr, size);
}

void *aligned_alloc(size_t align, size_t size) {
    atomic_fetch_add(&calls, 1);
    return __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size) {
    atomic_fetch_add(&calls, 1);
    *out = __libc_memalign(align, size);
    return *out ? 0 : 12;
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset) {
    static void *(*next)(void *, size_t, int, int, int, off_t);
    atomic_fetch_add(&calls, 1);
    if (!next) {
        void *symbol = dlsym(RTLD_NEXT, "mmap");
        memcpy(&next, &symbol, sizeof next);
    }
    return next(addr, size, prot, flags, fd, offset);
}

#pragma GCC visibility pop

static struct tn_diag diag;

/* A hundred runs after the third. */
static void assert_warm(struct tn_context *context) {
    for (int i = 0; i < 3; i++)
        assert_ok(tn_context_run(context, NULL, &diag), diag);
    uint64_t before = atomic_load(&calls);
    tn_status status = TN_OK;
    for (int i = 0; i < 100 && status == TN_OK; i++)
        status = tn_context_run(context, NULL, &diag);
    uint64_t after = atomic_load(&calls);
    ck_assert_int_eq(status, TN_OK);
    ck_assert_uint_eq(after - before, 0);
}

static void count_warm_runs(const char *model, const char *threads, const char *input) {
    struct tn_runtime *runtime =
        e2e_runtime((const char *const[]){"threads", threads, NULL});
    struct tn_session *session = e2e_session(runtime, model, NULL);
    struct tn_context *context;
    struct tn_value *x = e2e_load(input);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    assert_ok(tn_context_set_input(context, 0, tn_value_get(x), &diag), diag);
    assert_warm(context);
    tn_context_destroy(context);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    tn_value_release(&x);
}

START_TEST(the_counter_counts) {
    uint64_t before = atomic_load(&calls);
    void *volatile block = malloc(10);
    free(block);
    ck_assert_uint_ge(atomic_load(&calls) - before, 1);
    struct tn_runtime *runtime = e2e_runtime(NULL);
    before = atomic_load(&calls);
    tn_session_destroy(e2e_session(runtime, "examples/digits/digits.onnx", NULL));
    ck_assert_uint_gt(atomic_load(&calls) - before, 5);
    tn_runtime_destroy(runtime);
}
END_TEST

START_TEST(digits_allocate_nothing) {
    count_warm_runs("examples/digits/digits.onnx", "1", "examples/digits/images.npy");
    count_warm_runs("examples/digits/digits.onnx", "2", "examples/digits/images.npy");
}
END_TEST

START_TEST(encoders_allocate_nothing) {
    count_warm_runs("tests/data/encoder_13.onnx", "2", "tests/data/encoder_input_2.npy");
    count_warm_runs("tests/data/layer_new.onnx", "2", "tests/data/layer_input_2.npy");
}
END_TEST

START_TEST(tables_and_maps_allocate_nothing) {
    count_warm_runs(
        "tests/data/ml_pipeline.onnx", "1", "tests/data/ml_pipeline_input.npy");
    count_warm_runs(
        "tests/data/ml_pipeline.onnx", "2", "tests/data/ml_pipeline_input.npy");
}
END_TEST

START_TEST(alternating_shapes_allocate_nothing_once_seen) {
    struct tn_runtime *runtime = e2e_runtime(NULL);
    struct tn_session *session = e2e_session(runtime, "tests/data/encoder_17.onnx", NULL);
    struct tn_context *context;
    struct tn_value *x[2] = {e2e_load("tests/data/encoder_input_1.npy"),
        e2e_load("tests/data/encoder_input_2.npy")};
    assert_ok(tn_context_create(session, &context, &diag), diag);
    uint64_t before = 0;
    for (int i = 0; i < 40; i++) {
        if (i == 8) before = atomic_load(&calls);
        tn_status status =
            tn_context_set_input(context, 0, tn_value_get(x[i % 2]), &diag);
        if (status == TN_OK) status = tn_context_run(context, NULL, &diag);
        if (status != TN_OK) ck_abort_msg("%s", diag.message);
    }
    ck_assert_uint_eq(atomic_load(&calls) - before, 0);
    tn_context_destroy(context);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    tn_value_release(&x[0]);
    tn_value_release(&x[1]);
}
END_TEST

/* Groups of a provider, with copies in and out of its memory and a step of the cpu between. */
static void count_group_runs(const char *provider, const char *streams) {
    static const char text[] = "<ir_version: 10, opset_import: [\"\" : 21]> "
                               "g (float[8,8] x, float[8,8] w) => (float[8,8] y) {"
                               " a = MatMul(x, w) b = Add(a, x) c = Sqrt(b) d = Mul(c, w)"
                               " y = Neg(d) }";
    static float data[2][64];
    static const int64_t dims[2] = {8, 8};
    struct tn_runtime *runtime = e2e_runtime((const char *const[]){"threads", "1", NULL});
    struct tn_option options[] = {{"provider", provider}, {"placement", "require"},
        {"provider:fake.npu/streams", streams}};
    struct tn_session_options setup = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .options = options, .n_options = 3};
    struct tn_model model = {.data = text, .size = strlen(text)};
    struct tn_session *session = NULL;
    struct tn_context *context = NULL;
    assert_ok(tn_runtime_load_plugin(runtime, getenv("FAKE_NPU"), &diag), diag);
    assert_ok(tn_session_create(runtime, &model, &setup, &session, &diag), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    for (uint32_t i = 0; i < 2; i++) {
        struct tn_tensor tensor = {.data = data[i],
            .dims = dims,
            .size = sizeof data[i],
            .dtype = TN_FLOAT,
            .rank = 2};
        struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as.tensor = &tensor};
        assert_ok(tn_context_set_input(context, i, &ref, &diag), diag);
    }
    assert_warm(context);
    tn_context_destroy(context);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
}

START_TEST(groups_and_copies_allocate_nothing) {
    if (!getenv("FAKE_NPU")) return;
    count_group_runs("fake.npu", "0");
    count_group_runs("fake.npu", "1");
    count_group_runs("fake.npu.owned", "0");
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, the_counter_counts);
    tcase_add_test(tests, digits_allocate_nothing);
    tcase_add_test(tests, encoders_allocate_nothing);
    tcase_add_test(tests, tables_and_maps_allocate_nothing);
    tcase_add_test(tests, groups_and_copies_allocate_nothing);
    tcase_add_test(tests, alternating_shapes_allocate_nothing_once_seen);
}

UNIT_MAIN("warm")
