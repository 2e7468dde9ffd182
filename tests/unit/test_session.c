/* What a session says: inputs that do not fit, limits, cancellation, reports, placement,
 * and providers and kernels that break their word. */
#include "run_fixture.h"

#include "tenon/helper/diag.h"
#include "tenon/provider.h"

#include <pthread.h>

/* ---- inputs -------------------------------------------------------------------------- */

static const char image[] =
    FAKE_HEADER "g (float[N,3] x, float[N] z, float[1] one) => (float[N,3] y) {"
                " y = fake.Gain <k: float = 2.0> (x) w = fake.Plus(z, one) }";

START_TEST(an_input_that_does_not_fit_is_named_with_the_remedy) {
    static const float data[12];
    static const int64_t dims[] = {4, 3, 1};
    open_session(image);
    assert_fails(try_input(0, TN_INT64, data, dims, 1), diag, TN_INVALID_ARGUMENT,
        "input 'x' got int64[4], but the model wants float[N,3]: cast it to float");
    assert_fails(try_input(0, TN_FLOAT, data, dims, 3), diag, TN_INVALID_ARGUMENT,
        "got float[4,3,1], but the model wants float[N,3]: reshape it to 2 dimensions");
    assert_fails(try_input(0, TN_FLOAT, data, (int64_t[]){3, 4}, 2), diag,
        TN_INVALID_ARGUMENT, "dimension 1 is fixed at 3");
    assert_fails(try_input(2, TN_FLOAT, data, (int64_t[]){8}, 1), diag,
        TN_INVALID_ARGUMENT, "re-export the model with a dynamic axis");
    ck_assert_str_eq(diag.tensor, "one");
    assert_fails(try_input(7, TN_FLOAT, data, dims, 1), diag, TN_INVALID_ARGUMENT,
        "no input 7; it has 3 inputs");
    assert_fails(try_input(0, TN_FLOAT, NULL, dims, 2), diag, TN_INVALID_ARGUMENT,
        "has 0 bytes of data, but its shape needs 48");
    assert_fails(try_input(0, TN_FLOAT, (const char *)data + 1, dims, 2), diag,
        TN_INVALID_ARGUMENT, "aligned");
    assert_fails(try_input(0, TN_FLOAT, data, (int64_t[]){-1, 3}, 2), diag,
        TN_INVALID_ARGUMENT, "negative");
    assert_fails(tn_context_run(context, NULL, &diag), diag, TN_INVALID_ARGUMENT,
        "input 'x' is not set; the run needs float[N,3]");
}
END_TEST

START_TEST(one_symbol_has_one_size_in_a_run) {
    static const float data[12];
    open_session(image);
    assert_ok(try_input(0, TN_FLOAT, data, (int64_t[]){4, 3}, 2), diag);
    assert_ok(try_input(1, TN_FLOAT, data, (int64_t[]){5}, 1), diag);
    assert_ok(try_input(2, TN_FLOAT, data, (int64_t[]){1}, 1), diag);
    assert_fails(tn_context_run(context, NULL, &diag), diag, TN_INVALID_ARGUMENT,
        "dimension 'N' is 4 in input 'x' and 5 in input 'z'");
    assert_ok(try_input(1, TN_FLOAT, data, (int64_t[]){4}, 1), diag);
    run_context();
}
END_TEST

START_TEST(free_dimensions_are_fixed_by_a_setting) {
    assert_ok(try_session(image, "dims", "N=4"), diag);
    ck_assert_int_eq(tn_session_io(session, TN_INPUT, 0)->type.dims[0], 4);
    assert_fails(try_session(image, "dims", "N"), diag, TN_INVALID_ARGUMENT, "name=size");
}
END_TEST

/* Feeds a value to the input of a model that has only this one. */
static tn_status feed(uint32_t kind, void *value) {
    struct tn_value_ref ref = {.kind = kind, .as.ptr = value};
    memset(&diag, 0, sizeof diag);
    return tn_context_set_input(context, 0, &ref, &diag);
}

static struct tn_tensor vector(int32_t dtype, void *data, const int64_t *n) {
    struct tn_tensor t = {.data = data, .dims = n, .dtype = dtype, .rank = 1};
    (void)tn_tensor_bytes(dtype, n, 1, &t.size);
    return t;
}

START_TEST(what_a_sequence_holds_is_checked_too) {
    int64_t two = 2, numbers[2] = {1, 2};
    struct tn_tensor good = vector(TN_FLOAT, numbers, &two),
                     bad = vector(TN_INT64, numbers, &two), cut = good;
    struct tn_value_ref items[2] = {{.kind = TN_KIND_TENSOR, .as.tensor = &good},
        {.kind = TN_KIND_TENSOR, .as.tensor = &bad}};
    struct tn_sequence sequence = {items, 2, TN_KIND_TENSOR, TN_FLOAT, NULL};
    open_session(FAKE_HEADER "g (seq(float[N]) x, float[2] z) => (float[2] y) {"
                             " y = fake.Noise(z) }");
    assert_fails(feed(TN_KIND_SEQUENCE, &sequence), diag, TN_INVALID_ARGUMENT,
        "input 'x' holds a int64[2], but the model wants sequence of float");
    cut.size = 4;
    items[1].as.tensor = &cut;
    assert_fails(feed(TN_KIND_SEQUENCE, &sequence), diag, TN_INVALID_ARGUMENT, "4 bytes");
    items[1] = (struct tn_value_ref){.kind = TN_KIND_SEQUENCE, .as.sequence = &sequence};
    assert_fails(
        feed(TN_KIND_SEQUENCE, &sequence), diag, TN_INVALID_ARGUMENT, "another kind");
    items[1] = (struct tn_value_ref){0};
    assert_fails(
        feed(TN_KIND_SEQUENCE, &sequence), diag, TN_INVALID_ARGUMENT, "another kind");
    assert_fails(feed(TN_KIND_TENSOR, &good), diag, TN_INVALID_ARGUMENT,
        "a value of kind 1, but the model wants sequence of float");
    items[1] = items[0];
    assert_ok(feed(TN_KIND_SEQUENCE, &sequence), diag);
}
END_TEST

START_TEST(a_map_needs_one_value_for_each_key) {
    int64_t two = 2, one = 1, keys[2] = {1, 2};
    float values[2] = {1, 2};
    struct tn_map map = {vector(TN_INT64, keys, &two), vector(TN_FLOAT, values, &one)};
    open_session(FAKE_HEADER "g (map(int64, float) x, float[2] z) => (float[2] y) {"
                             " y = fake.Noise(z) }");
    assert_fails(
        feed(TN_KIND_MAP, &map), diag, TN_INVALID_ARGUMENT, "one value for each key");
    map.keys.dtype = TN_FLOAT;
    assert_fails(feed(TN_KIND_MAP, &map), diag, TN_INVALID_ARGUMENT, "holds a float[2]");
    map.keys.dtype = TN_INT64;
    map.values = vector(TN_FLOAT, values, &two);
    assert_ok(feed(TN_KIND_MAP, &map), diag);
}
END_TEST

/* ---- limits, cancel, deadline -------------------------------------------------------- */

START_TEST(limits_stop_what_is_too_large) {
    static const char fill[] =
        FAKE_HEADER "g (int64[2] s) => (float[M,N] y) { y = fake.Fill(s) }";
    static int64_t shape[] = {1 << 20, 1 << 20};
    assert_ok(try_session(fill, "limits.tensor_bytes", "1M"), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    assert_ok(try_input(0, TN_INT64, shape, (int64_t[]){2}, 1), diag);
    assert_fails(tn_context_run(context, NULL, &diag), diag, TN_LIMIT_EXCEEDED,
        "limits.tensor_bytes");
    shape[0] = shape[1] = INT64_MAX;
    assert_fails(tn_context_run(context, NULL, &diag), diag, TN_LIMIT_EXCEEDED, "size");
    shape[0] = -5;
    ck_assert_int_ne(tn_context_run(context, NULL, &diag), TN_OK);
    shape[0] = shape[1] = 2;
    run_context();
    ck_assert_uint_eq(result(0)->size, 16);
    assert_ok(try_session(fill, "limits.run_bytes", "64K"), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    shape[0] = shape[1] = 512;
    assert_ok(try_input(0, TN_INT64, shape, (int64_t[]){2}, 1), diag);
    assert_fails(tn_context_run(context, NULL, &diag), diag, TN_LIMIT_EXCEEDED,
        "limits.run_bytes");
}
END_TEST

static int64_t turns;

static void open_endless(void) {
    static const float x[] = {1, 2};
    turns = INT64_MAX;
    open_session(FAKE_HEADER "g (int64 n, float[2] x) => (float[2] y) {"
                             " y = fake.Repeat(n, x) <body = t (int64 i, float[2] s) =>"
                             "   (float[2] r) { r = fake.Noise(s) }> }");
    assert_ok(try_input(0, TN_INT64, &turns, NULL, 0), diag);
    set_floats(1, x, 2);
}

static void *cancel_until_done(void *arg) {
    _Atomic int *done = arg;
    while (!*done)
        tn_context_cancel(context);
    return NULL;
}

START_TEST(a_loop_that_turns_too_often_is_stopped) {
    static const char text[] = FAKE_HEADER
        "g (int64 n, float[2] x) => (float[2] y) { y = fake.Repeat(n, x) <body = t ("
        "int64 i, float[2] s) => (float[2] r) { r = fake.Noise(s) }> }";
    static const float x[] = {1, 2};
    assert_ok(try_session(text, "limits.iterations", "10"), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    set_floats(1, x, 2);
    assert_ok(try_input(0, TN_INT64, &turns, NULL, 0), diag);
    for (turns = 9; turns <= 11; turns++) {
        memset(&diag, 0, sizeof diag);
        ck_assert_int_eq(tn_context_run(context, NULL, &diag),
            turns <= 10 ? TN_OK : TN_LIMIT_EXCEEDED);
    }
    ck_assert_ptr_nonnull(strstr(diag.message, "limits.iterations"));
}
END_TEST

START_TEST(a_run_is_cancelled_from_another_thread) {
    pthread_t thread;
    _Atomic int done = 0;
    open_endless();
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_until_done, &done), 0);
    memset(&diag, 0, sizeof diag);
    tn_status status = tn_context_run(context, NULL, &diag);
    done = 1;
    pthread_join(thread, NULL);
    ck_assert_int_eq(status, TN_CANCELLED);
    ck_assert_str_eq(diag.message, "the run was cancelled");
    turns = 3;
    run_context();
    assert_floats(0, FLOATS(4, 5), 2);
}
END_TEST

START_TEST(a_deadline_ends_a_run) {
    struct tn_run_options options = {
        .struct_size = TN_RUN_OPTIONS_SIZE, .deadline_ns = 2000000};
    open_endless();
    assert_fails(tn_context_run(context, &options, &diag), diag, TN_DEADLINE,
        "passed its deadline");
    turns = 1;
    options.deadline_ns = UINT64_MAX;
    assert_ok(tn_context_run(context, &options, &diag), diag);
    assert_floats(0, FLOATS(2, 3), 2);
}
END_TEST

START_TEST(options_of_an_unknown_kind_are_refused) {
    struct tn_run_options options = {.struct_size = 0};
    open_endless();
    assert_fails(tn_context_run(context, &options, &diag), diag, TN_INVALID_ARGUMENT,
        "struct_size of tn_run_options");
    options.struct_size = TN_RUN_OPTIONS_SIZE;
    options.flags = 4;
    assert_fails(
        tn_context_run(context, &options, &diag), diag, TN_INVALID_ARGUMENT, "flags 0x4");
}
END_TEST

/* ---- reports ------------------------------------------------------------------------- */

static char report_text[1 << 16];
static size_t report_size;

static int collect(void *arg, const char *text, uint64_t size) {
    (void)arg;
    if (report_size + size >= sizeof report_text) return 1;
    memcpy(report_text + report_size, text, size);
    report_size += size;
    report_text[report_size] = '\0';
    return 0;
}

static void report_session(uint32_t report, uint32_t format) {
    report_size = 0;
    assert_ok(tn_session_report(session, report, format, collect, NULL, &diag), diag);
}

static void report_context(uint32_t report, uint32_t format) {
    report_size = 0;
    assert_ok(tn_context_report(context, report, format, collect, NULL, &diag), diag);
}

static void assert_says(const char *part) {
    ck_assert_msg(strstr(report_text, part), "no '%s' in: %s", part, report_text);
}

static void run_profiled(void) {
    static const float data[12];
    struct tn_run_options options = {.struct_size = TN_RUN_OPTIONS_SIZE, .profile = 1};
    open_session(FAKE_HEADER "g (float[N,3] x) => (float[N,3] y) {"
                             " a = fake.Gain <k: float = 2.0> (x) y = fake.Plus(a, x) }");
    assert_ok(try_input(0, TN_FLOAT, data, (int64_t[]){4, 3}, 2), diag);
    for (int i = 0; i < 3; i++)
        assert_ok(tn_context_run(context, &options, &diag), diag);
    run_context(); /* not recorded */
}

START_TEST(a_profile_counts_calls_and_names_kernels_and_shapes) {
    run_profiled();
    report_context(TN_REPORT_PROFILE, TN_FORMAT_TEXT);
    assert_says("3 runs");
    assert_says("fake_Gain");
    assert_says("4x3 4x3 -> 4x3");
    report_context(TN_REPORT_PROFILE, TN_FORMAT_JSON);
    assert_says("{\"runs\": 3,");
    assert_says("\"calls\": 3");
    assert_says("\"op\": \"fake.Plus-1\"");
}
END_TEST

START_TEST(a_trace_has_the_fields_that_viewers_read) {
    run_profiled();
    report_context(TN_REPORT_TRACE, TN_FORMAT_JSON);
    ck_assert_int_eq(report_text[0], '[');
    assert_says("\"cat\":\"Session\"");
    assert_says("\"name\":\"model_loading\"");
    assert_says("\"name\":\"session_initialization\"");
    assert_says("\"name\":\"model_run\"");
    assert_says("\"cat\":\"Node\"");
    assert_says("_kernel_time\"");
    assert_says("\"op_name\":\"Gain\",\"provider\":\"fake\"");
    assert_says("\"input_type_shape\":[{\"float\":[4,3]},{\"float\":[4,3]}]");
    assert_says("\"output_type_shape\":[{\"float\":[4,3]}]");
}
END_TEST

START_TEST(reports_of_a_session_tell_what_was_built) {
    open_session(image);
    report_session(TN_REPORT_PLACEMENT, TN_FORMAT_TEXT);
    assert_says("provider fake: 2 nodes");
    assert_says("fake.Gain-1");
    report_session(TN_REPORT_PLACEMENT, TN_FORMAT_JSON);
    assert_says("\"kernel\": \"fake_Gain\"");
    report_session(TN_REPORT_OPERATORS, TN_FORMAT_TEXT);
    assert_says("org.tenon.fake 1.0.0");
    report_session(TN_REPORT_OPERATORS, TN_FORMAT_JSON);
    assert_says("{\"op\": \"fake.Plus-1\", \"count\": 1");
    report_session(TN_REPORT_GRAPH, TN_FORMAT_TEXT);
    assert_says("Gain");
    report_session(TN_REPORT_MEMORY, TN_FORMAT_JSON);
    assert_says("\"packed weights\": 0");
    assert_fails(tn_session_report(session, TN_REPORT_TRACE, 0, collect, NULL, &diag),
        diag, TN_INVALID_ARGUMENT, "no report 5");
    report_size = sizeof report_text;
    assert_fails(tn_session_report(session, TN_REPORT_GRAPH, 0, collect, NULL, &diag),
        diag, TN_CANCELLED, "stopped");
    struct tn_model_info info;
    tn_session_info(session, &info);
    ck_assert_uint_eq(info.n_nodes, 2);
    ck_assert_int_eq(info.ir_version, 10);
}
END_TEST

/* ---- a plugin whose provider and kernel do what a test wants ------------------------- */

static struct {
    tn_status (*capability)(const struct tn_graph_api *api, const struct tn_graph *graph,
        const struct tn_verdict_sink *sink, struct tn_diag *diag);
    tn_status compile_status, run_status;
    uint32_t n_compiled, n_destroyed, n_group_nodes, n_group_inputs, n_group_outputs;
} script;

static tn_status odd_capability(void *instance, const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *odd_diag) {
    (void)instance;
    return script.capability(api, graph, sink, odd_diag);
}

/* Every group of the tests is a sum of its inputs, plus one for each node. */
static tn_status odd_run(void *compiled, const struct tn_run_args *args) {
    (void)compiled;
    if (script.run_status) return script.run_status;
    struct tn_tensor *y = args->outputs[0].as.tensor;
    if (!y->data) return tn_fail(args->run->diag, TN_INTERNAL, "no memory was planned");
    for (uint64_t i = 0; i < y->size / 4; i++) {
        float sum = 100;
        for (uint32_t k = 0; k < args->n_inputs; k++)
            sum += ((float *)args->inputs[k].as.tensor->data)[i];
        ((float *)y->data)[i] = sum;
    }
    return TN_OK;
}

static void odd_destroy(void *compiled) {
    if (compiled) script.n_destroyed++;
}

static const struct tn_compiled odd_compiled = {.struct_size = TN_COMPILED_SIZE,
    .self = &script,
    .run = odd_run,
    .destroy = odd_destroy};

static tn_status odd_compile(void *instance, const struct tn_group *group,
    const struct tn_compiled **out, struct tn_diag *odd_diag) {
    (void)instance;
    if (script.compile_status)
        return tn_fail(odd_diag, script.compile_status, "the compiler is out of order");
    script.n_compiled++;
    script.n_group_nodes += group->n_nodes;
    script.n_group_inputs = group->n_inputs;
    script.n_group_outputs = group->n_outputs;
    *out = &odd_compiled;
    return TN_OK;
}

static const struct tn_provider_def odd_provider = {.struct_size = TN_PROVIDER_DEF_SIZE,
    .id = "odd",
    .name = "odd",
    .device_kind = TN_DEVICE_NPU,
    .capability = odd_capability,
    .compile = odd_compile};

static tn_status odd_providers(
    void *state, const struct tn_provider_def *const **out_table, uint32_t *out_count) {
    static const struct tn_provider_def *const table[] = {&odd_provider};
    (void)state;
    *out_table = table;
    *out_count = 1;
    return TN_OK;
}

TEST_PLUGIN(
    "org.tenon.odd", .capabilities = TN_PLUGIN_HAS_PROVIDERS, .providers = odd_providers)

static tn_status claim_in_group_1(const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink, const char *op) {
    const tn_node_id *ids;
    uint32_t n;
    api->nodes(graph, &ids, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(api->node(graph, ids[i])->op_type, op) == 0)
            TN_TRY(sink->claim(sink->self, ids[i], 1));
        else
            TN_TRY(sink->decline(sink->self, ids[i], TN_REASON_OP_UNKNOWN, "only sums"));
    }
    return TN_OK;
}

static tn_status claim_sums(const struct tn_graph_api *api, const struct tn_graph *graph,
    const struct tn_verdict_sink *sink, struct tn_diag *odd_diag) {
    (void)odd_diag;
    return claim_in_group_1(api, graph, sink, "Plus");
}

static tn_status claim_twice(const struct tn_graph_api *api, const struct tn_graph *graph,
    const struct tn_verdict_sink *sink, struct tn_diag *odd_diag) {
    const tn_node_id *ids;
    uint32_t n;
    (void)odd_diag;
    api->nodes(graph, &ids, &n);
    sink->claim(sink->self, ids[0], 1);
    sink->claim(sink->self, ids[0], 1);
    return TN_OK;
}

static tn_status claim_nothing_real(const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *odd_diag) {
    (void)api;
    (void)graph;
    (void)odd_diag;
    sink->decline(sink->self, 12345, 0, NULL);
    return TN_OK;
}

static tn_status claim_without_kernel(const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *odd_diag) {
    const tn_node_id *ids;
    uint32_t n;
    (void)odd_diag;
    api->nodes(graph, &ids, &n);
    return sink->claim(sink->self, ids[0], 0);
}

static tn_status fail_to_judge(const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *odd_diag) {
    (void)api;
    (void)graph;
    (void)sink;
    return tn_fail(odd_diag, TN_PLUGIN, "cannot think today");
}

static tn_status say_nothing(const struct tn_graph_api *api, const struct tn_graph *graph,
    const struct tn_verdict_sink *sink, struct tn_diag *odd_diag) {
    (void)api;
    (void)graph;
    (void)sink;
    (void)odd_diag;
    return TN_OK;
}

static void set_up_odd(void) {
    set_up_runtime();
    memset(&script, 0, sizeof script);
    assert_ok(tn__registry_add_static(runtime->registry, odd_query, &diag), diag);
}

static tn_status try_odd(const char *text, const char *providers, const char *placement) {
    struct tn_option options[] = {
        {"provider", providers}, {"placement", placement}, {"level", "none"}};
    struct tn_session_options setup = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .options = options, .n_options = 3};
    struct tn_model model = {.data = text, .size = strlen(text)};
    close_session();
    memset(&diag, 0, sizeof diag);
    return tn_session_create(runtime, &model, &setup, &session, &diag);
}

static const char sums[] = FAKE_HEADER
    "g (float[2] x, float[2] z) => (float[2] y) { a = fake.Plus(x, z) b = fake.Plus(a, x)"
    " y = fake.Gain <k: float = 2.0> (b) }";

START_TEST(a_claimed_group_is_compiled_and_run_as_one) {
    script.capability = claim_sums;
    assert_ok(try_odd(sums, "odd,fake", "strict"), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    ck_assert_uint_eq(script.n_compiled, 1);
    ck_assert_uint_eq(script.n_group_nodes, 2);
    ck_assert_uint_eq(script.n_group_inputs, 2);
    ck_assert_uint_eq(script.n_group_outputs, 1);
    set_floats(0, FLOATS(1, 2), 2);
    set_floats(1, FLOATS(10, 20), 2);
    run_context();
    assert_floats(0, FLOATS(222, 244), 2);
    report_session(TN_REPORT_PLACEMENT, TN_FORMAT_TEXT);
    assert_says("odd_0 of 2 nodes");
    assert_says("[odd: operator not implemented, only sums]");
    close_session();
    ck_assert_uint_eq(script.n_destroyed, 1);
}
END_TEST

START_TEST(a_group_that_a_path_leaves_and_enters_again_is_split) {
    script.capability = claim_sums;
    assert_ok(
        try_odd(FAKE_HEADER "g (float[2] x, float[2] z) => (float[2] y) {"
                            " a = fake.Plus(x, z) b = fake.Gain <k: float = 2.0> (a)"
                            " y = fake.Plus(b, a) }",
            "odd,fake", "strict"),
        diag);
    ck_assert_uint_eq(script.n_compiled, 2);
    ck_assert_ptr_nonnull(session->plan->splits);
    ck_assert_ptr_null(session->plan->splits->next);
    ck_assert_str_eq(session->plan->splits->path, "#0 → #1 → #2");
    assert_ok(tn_context_create(session, &context, &diag), diag);
    set_floats(0, FLOATS(1, 2), 2);
    set_floats(1, FLOATS(10, 20), 2);
    run_context();
    assert_floats(0, FLOATS(433, 466), 2);
}
END_TEST

START_TEST(nodes_that_no_provider_runs_say_who_was_asked_and_why) {
    script.capability = claim_sums;
    assert_fails(try_odd(sums, "odd", "strict"), diag, TN_UNSUPPORTED,
        "allowed by the strict policy");
    ck_assert_ptr_nonnull(strstr(diag.message, "fake.Gain-1; inputs: float rank 1"));
    ck_assert_ptr_nonnull(
        strstr(diag.message, "odd (org.tenon.odd): operator not implemented, only sums"));
    script.capability = say_nothing;
    assert_fails(try_odd(sums, "odd", "strict"), diag, TN_UNSUPPORTED, "no verdict");
    assert_fails(try_odd(sums, "none", "strict"), diag, TN_NOT_FOUND, "none");
}
END_TEST

START_TEST(misuse_by_a_provider_is_an_error_that_names_it) {
    static const struct {
        tn_status (*capability)(const struct tn_graph_api *, const struct tn_graph *,
            const struct tn_verdict_sink *, struct tn_diag *);
        const char *part;
    } rows[] = {{claim_twice, "two verdicts"}, {claim_nothing_real, "does not exist"},
        {claim_without_kernel, "no kernel"}, {fail_to_judge, "cannot think today"}};
    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        script.capability = rows[i].capability;
        assert_fails(try_odd(sums, "odd,fake", "strict"), diag, TN_PLUGIN, rows[i].part);
        ck_assert_str_eq(diag.plugin, "org.tenon.odd");
        assert_ok(try_odd(sums, "odd,fake", "auto"), diag);
        report_session(TN_REPORT_PLACEMENT, TN_FORMAT_TEXT);
        assert_says(rows[i].part);
        assert_says("provider odd: 0 nodes");
    }
}
END_TEST

START_TEST(a_provider_that_claims_and_then_fails_is_an_error_unless_auto) {
    script.capability = claim_sums;
    script.compile_status = TN_PLUGIN;
    assert_fails(try_odd(sums, "odd,fake", "strict"), diag, TN_PLUGIN,
        "the compiler is out of order");
    ck_assert_str_eq(diag.plugin, "org.tenon.odd");
    script.compile_status = TN_OK;
    script.run_status = TN_INTERNAL;
    assert_ok(try_odd(sums, "odd,fake", "strict"), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    set_floats(0, FLOATS(1, 2), 2);
    set_floats(1, FLOATS(10, 20), 2);
    assert_fails(tn_context_run(context, NULL, &diag), diag, TN_INTERNAL,
        "provider 'odd' could not run a group, without a reason");
    script.run_status = TN_OK;
    run_context();
}
END_TEST

START_TEST(without_provider_or_model_there_is_no_session) {
    assert_fails(tn_session_create(runtime, NULL, NULL, &session, &diag), diag,
        TN_INVALID_ARGUMENT, "needs a runtime");
    assert_fails(try_session("not a model", NULL, NULL), diag, TN_INVALID_MODEL, "");
    ck_assert_ptr_null(session);
    assert_fails(
        try_session(image, "colour", "blue"), diag, TN_INVALID_ARGUMENT, "colour");
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, set_up_odd, tear_down_runtime);
    tcase_add_test(tests, an_input_that_does_not_fit_is_named_with_the_remedy);
    tcase_add_test(tests, what_a_sequence_holds_is_checked_too);
    tcase_add_test(tests, a_map_needs_one_value_for_each_key);
    tcase_add_test(tests, one_symbol_has_one_size_in_a_run);
    tcase_add_test(tests, free_dimensions_are_fixed_by_a_setting);
    tcase_add_test(tests, limits_stop_what_is_too_large);
    tcase_add_test(tests, a_loop_that_turns_too_often_is_stopped);
    tcase_add_test(tests, a_run_is_cancelled_from_another_thread);
    tcase_add_test(tests, a_deadline_ends_a_run);
    tcase_add_test(tests, options_of_an_unknown_kind_are_refused);
    tcase_add_test(tests, a_profile_counts_calls_and_names_kernels_and_shapes);
    tcase_add_test(tests, a_trace_has_the_fields_that_viewers_read);
    tcase_add_test(tests, reports_of_a_session_tell_what_was_built);
    tcase_add_test(tests, a_claimed_group_is_compiled_and_run_as_one);
    tcase_add_test(tests, a_group_that_a_path_leaves_and_enters_again_is_split);
    tcase_add_test(tests, nodes_that_no_provider_runs_say_who_was_asked_and_why);
    tcase_add_test(tests, misuse_by_a_provider_is_an_error_that_names_it);
    tcase_add_test(tests, a_provider_that_claims_and_then_fails_is_an_error_unless_auto);
    tcase_add_test(tests, without_provider_or_model_there_is_no_session);
}

UNIT_MAIN("session")
