/* Sessions over made-up operators, from models in the ONNX text format. */
#ifndef TENON_RUN_FIXTURE_H
#define TENON_RUN_FIXTURE_H

#include "core/base/checked.h"
#include "core/objects.h"
#include "fake_ops.h"

#include "unit.h"

#include <stdio.h>

#define FAKE_HEADER "<ir_version: 10, opset_import: [\"fake\" : 3]> "

static struct tn_diag diag;
static struct tn_runtime *runtime;
static struct tn_session *session;
static struct tn_context *context;

static inline void start_runtime(const char *threads) {
    struct tn_option options[] = {{"threads", threads}, {"placement.show", "0"}};
    struct tn_runtime_options setup = {
        .struct_size = TN_RUNTIME_OPTIONS_SIZE, .options = options, .n_options = 2};
    memset(&diag, 0, sizeof diag);
    assert_ok(tn_runtime_create(&setup, &runtime, &diag), diag);
    assert_ok(tn__registry_add_static(runtime->registry, tn__fake_plugin, &diag), diag);
}

static inline void set_up_runtime(void) {
    start_runtime("1");
}

static inline void close_session(void) {
    tn_context_destroy(context);
    tn_session_destroy(session);
    context = NULL;
    session = NULL;
}

static inline void tear_down_runtime(void) {
    close_session();
    tn_runtime_destroy(runtime);
    runtime = NULL;
}

/* Creates a session from text, with one more option when key is given. */
static inline tn_status try_session(
    const char *text, const char *key, const char *value) {
    struct tn_option options[] = {{"provider", "fake"}, {"level", "none"}, {key, value}};
    struct tn_session_options setup = {.struct_size = TN_SESSION_OPTIONS_SIZE,
        .options = options,
        .n_options = key ? 3 : 2};
    struct tn_model model = {.data = text, .size = strlen(text)};
    close_session();
    memset(&diag, 0, sizeof diag);
    return tn_session_create(runtime, &model, &setup, &session, &diag);
}

static inline void open_session(const char *text) {
    assert_ok(try_session(text, NULL, NULL), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
}

static inline tn_status try_input(
    uint32_t index, int32_t dtype, const void *data, const int64_t *dims, uint32_t rank) {
    uint64_t size = 0;
    (void)tn_tensor_bytes(dtype, dims, rank, &size);
    struct tn_tensor tensor = {.data = (void *)(uintptr_t)data,
        .dims = dims,
        .size = size,
        .dtype = dtype,
        .rank = rank};
    struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as.tensor = &tensor};
    memset(&diag, 0, sizeof diag);
    return tn_context_set_input(context, index, &ref, &diag);
}

/* A float vector as input `index`; the data is borrowed. */
static inline void set_floats(uint32_t index, const float *data, int64_t n) {
    assert_ok(try_input(index, TN_FLOAT, data, &n, 1), diag);
}

static inline void run_context(void) {
    memset(&diag, 0, sizeof diag);
    assert_ok(tn_context_run(context, NULL, &diag), diag);
}

static inline const struct tn_tensor *result(uint32_t index) {
    const struct tn_value_ref *ref = tn_context_output(context, index);
    ck_assert_ptr_nonnull(ref);
    ck_assert_uint_eq(ref->kind, TN_KIND_TENSOR);
    return ref->as.tensor;
}

static inline void assert_floats(uint32_t index, const float *want, int64_t n) {
    const struct tn_tensor *t = result(index);
    ck_assert_int_eq(t->dtype, TN_FLOAT);
    ck_assert_uint_eq(t->size, (uint64_t)n * sizeof *want);
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(((float *)t->data)[i] == want[i], "output %u [%d] is %g, not %g",
            index, (int)i, (double)((float *)t->data)[i], (double)want[i]);
}

/* A plugin of the test itself, linked in; what it offers follows. */
#define TEST_PLUGIN(plugin_id, ...)                                                      \
    static const struct tn_plugin odd_plugin = {.struct_size = TN_PLUGIN_SIZE,           \
        .abi_minor = TN_ABI_MINOR,                                                       \
        .host_minor_min = TN_ABI_MINOR,                                                  \
        .id = plugin_id,                                                                 \
        .name = plugin_id,                                                               \
        .version = "1.0.0",                                                              \
        .vendor = "tests",                                                               \
        .licence = "Apache-2.0",                                                         \
        .sanitizer = TN_SANITIZER_CURRENT,                                               \
        __VA_ARGS__};                                                                    \
    static tn_status odd_query(                                                          \
        const struct tn_host_info *host, const struct tn_plugin **out) {                 \
        (void)host;                                                                      \
        *out = &odd_plugin;                                                              \
        return TN_OK;                                                                    \
    }

#define FLOATS(...) ((const float[]){__VA_ARGS__})
#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

#endif
