/* The thread contract of plugin.h, asserted by a plugin that watches how it is called while
 * sessions are made, run and ended on many threads: [setup] calls of one object never overlap,
 * nor overlap its runs; runs overlap across contexts only; no more than max_runs at once; what
 * is destroyed runs nowhere; and every item of a parallel loop is done once, on a worker in
 * range. Belongs to the suite that runs under ThreadSanitizer. */
#include "tenon/helper/claim.h" /* its parameter `diag` comes before the fixture's */

#include "run_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static const char *_Atomic fault; /* the first breach */
static _Atomic int n_live, started, most_at_once;

static void breach(const char *what) {
    const char *none = NULL;
    atomic_compare_exchange_strong(&fault, &none, what);
}

/* ---- an object that knows who is inside ---------------------------------------------------- */

struct watched {
    _Atomic int setup, runs;
    struct watched *owner; /* which must outlive it */
    _Atomic int n_owned;
};

static void watch(struct watched *w, struct watched *owner) {
    if (!started) breach("used before init or after shutdown");
    memset(w, 0, sizeof *w);
    w->owner = owner;
    if (owner) owner->n_owned++;
    n_live++;
}

static void enter_setup(struct watched *w) {
    if (atomic_exchange(&w->setup, 1)) breach("two [setup] calls of one object overlap");
    if (w->runs) breach("a [setup] call during a run");
}

static void leave_setup(struct watched *w) {
    w->setup = 0;
}

static void forget(struct watched *w) {
    enter_setup(w);
    if (w->n_owned) breach("destroyed before what it made");
    if (w->owner) w->owner->n_owned--;
    n_live--;
}

static int enter_run(struct watched *w) {
    int now = ++w->runs;
    if (w->setup) breach("a run during a [setup] call");
    if (now > most_at_once) most_at_once = now;
    return now;
}

static void leave_run(struct watched *w) {
    w->runs--;
}

/* ---- the loop inside ------------------------------------------------------------------------ */

struct shape_set {
    _Atomic int busy;
    uint32_t prepared;
};

struct loop {
    const float *x;
    float *y;
    _Atomic int64_t done;
    uint32_t n_workers;
    _Atomic uint64_t at_work; /* a bit for each worker */
};

static void body(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    struct loop *loop = arg;
    uint64_t bit = UINT64_C(1) << (worker & 63);
    if (worker >= loop->n_workers) breach("a worker beyond worker_count");
    if (atomic_fetch_or(&loop->at_work, bit) & bit) breach("one worker at two places");
    for (int64_t i = begin; i < end; i++)
        loop->y[i] = 2 * loop->x[i];
    loop->done += end - begin;
    atomic_fetch_and(&loop->at_work, ~bit);
}

static tn_status twice(struct watched *w, const struct tn_run_args *args) {
    struct shape_set *set = args->state;
    const struct tn_host *host = args->run->host;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    int64_t n = (int64_t)(x->size / sizeof(float));
    struct loop loop = {.x = x->data,
        .y = args->outputs[0].as.tensor->data,
        .n_workers = host->worker_count(host->self)};
    enter_run(w);
    if (!set || set->prepared != 1) breach("prepare was not called once for a shape set");
    if (set && atomic_exchange(&set->busy, 1)) breach("one context runs twice at once");
    tn_status status = args->run->parallel_for(args->run, n, 16, body, &loop);
    if (status == TN_OK && loop.done != n) breach("items of a loop left out or repeated");
    if (set) set->busy = 0;
    leave_run(w);
    return status;
}

/* ---- a kernel ------------------------------------------------------------------------------- */

struct kernel {
    struct watched watched;
    const struct tn_host *host;
};

static tn_status create(const struct tn_kernel_ctx *ctx, void **out_kernel) {
    struct kernel *kernel = ctx->host->alloc(ctx->host->self, sizeof *kernel, 0, "watch");
    if (!kernel) return TN_OUT_OF_MEMORY;
    watch(&kernel->watched, NULL);
    kernel->host = ctx->host;
    *out_kernel = kernel;
    return TN_OK;
}

static void destroy(void *self) {
    struct kernel *kernel = self;
    if (!kernel) return;
    forget(&kernel->watched);
    kernel->host->free(kernel->host->self, kernel);
}

static tn_status prepack(void *self, uint32_t input, const struct tn_tensor *tensor,
    const struct tn_prepack *sink, uint32_t *out_result, struct tn_diag *odd_diag) {
    struct kernel *kernel = self;
    void *buffer;
    int32_t filled;
    (void)input;
    enter_setup(&kernel->watched);
    tn_status status =
        sink->buffer(sink->self, "same", tensor->size, &buffer, &filled, odd_diag);
    if (status == TN_OK && !filled) memcpy(buffer, tensor->data, tensor->size);
    *out_result = TN_PREPACK_KEEP;
    leave_setup(&kernel->watched);
    return status;
}

static tn_status workspace(
    void *self, const struct tn_run_args *args, struct tn_workspace *out) {
    struct watched *w = self;
    (void)args;
    enter_run(w);
    out->state = sizeof(struct shape_set);
    leave_run(w);
    return TN_OK;
}

static tn_status prepare(void *self, const struct tn_run_args *args, tn_compute_fn *fn,
    struct tn_diag *odd_diag) {
    struct watched *w = self;
    (void)fn;
    (void)odd_diag;
    enter_run(w);
    ((struct shape_set *)args->state)->prepared++;
    leave_run(w);
    return TN_OK;
}

static tn_status compute(void *self, const struct tn_run_args *args) {
    return twice(self, args); /* a watched object comes first in all of them */
}

static tn_status infer(const struct tn_infer *ctx) {
    return ctx->set_type(ctx->self, 0, &ctx->inputs[0]);
}

/* clang-format off */
static const struct tn_op_version first[] = {{1, 0, NULL}};
static const struct tn_type_var vars[] = {{"T", TN_BIT(FLOAT), 0, 0, 0}};
static const struct tn_formal inputs[] = {{"x", "T", 0, 0, 0}, {"w", "T", 0, TN_FORMAL_OPTIONAL, 0}};
static const struct tn_formal outputs[] = {{"y", "T", 0, 0, 0}};
static const struct tn_op_def op = {.struct_size = TN_OP_DEF_SIZE, .domain = "watch", .op_type = "Twice",
    .versions = first, .n_versions = 1, .inputs = inputs, .n_inputs = 2, .outputs = outputs, .n_outputs = 1,
    .type_vars = vars, .n_type_vars = 1, .infer = infer};
static const struct tn_kernel_def row = {.struct_size = TN_KERNEL_DEF_SIZE, .provider = "watch.rows",
    .domain = "watch", .op_type = "Twice", .since = 1, .create = create, .destroy = destroy,
    .prepack = prepack, .workspace = workspace, .prepare = prepare, .compute = compute};
/* clang-format on */

/* ---- providers: one with rows, one that compiles, both watched ------------------------------- */

enum { MOST_RUNS = 2 };

struct instance {
    struct watched watched;
    const struct tn_host *host;
    _Atomic int runs;
};

struct group {
    struct watched watched;
    struct tn_compiled compiled;
    struct instance *instance;
};

static tn_status open_instance(void *state, const struct tn_host *host,
    const char *const *options, uint32_t n_options, void **out_instance,
    struct tn_diag *odd_diag) {
    struct instance *instance = host->alloc(host->self, sizeof *instance, 0, "watch");
    (void)state;
    (void)options;
    (void)n_options;
    (void)odd_diag;
    if (!instance) return TN_OUT_OF_MEMORY;
    watch(&instance->watched, NULL);
    instance->host = host;
    instance->runs = 0;
    *out_instance = instance;
    return TN_OK;
}

static void close_instance(void *self) {
    struct instance *instance = self;
    forget(&instance->watched);
    instance->host->free(instance->host->self, instance);
}

static const struct tn_provider_limits *limits(void *self) {
    static const struct tn_provider_limits two = {
        .struct_size = TN_PROVIDER_LIMITS_SIZE, .max_runs = MOST_RUNS};
    struct instance *instance = self;
    enter_setup(&instance->watched);
    leave_setup(&instance->watched);
    return &two;
}

static tn_status judge_rows(void *self, const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *odd_diag) {
    struct instance *instance = self;
    enter_setup(&instance->watched);
    tn_status status = tn_claim_served(self, api, graph, sink, odd_diag);
    leave_setup(&instance->watched);
    return status;
}

static tn_status judge_groups(void *self, const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *odd_diag) {
    struct instance *instance = self;
    const tn_node_id *ids;
    uint32_t n;
    (void)odd_diag;
    enter_setup(&instance->watched);
    api->nodes(graph, &ids, &n);
    for (uint32_t i = 0; i < n; i++)
        TN_TRY(sink->claim(sink->self, ids[i], 1 + i)); /* each by itself */
    leave_setup(&instance->watched);
    return TN_OK;
}

static tn_status run_group(void *self, const struct tn_run_args *args) {
    struct group *group = self;
    if (++group->instance->runs > MOST_RUNS) breach("more runs than max_runs");
    tn_status status = twice(&group->watched, args);
    group->instance->runs--;
    return status;
}

static void end_group(void *self) {
    struct group *group = self;
    const struct tn_host *host = group->instance->host;
    forget(&group->watched);
    host->free(host->self, group);
}

static tn_status compile(void *self, const struct tn_group *view,
    const struct tn_compiled **out_compiled, struct tn_diag *odd_diag) {
    struct instance *instance = self;
    const struct tn_host *host = instance->host;
    (void)view;
    (void)odd_diag;
    enter_setup(&instance->watched);
    struct group *group = host->alloc(host->self, sizeof *group, 0, "watch");
    if (group) {
        watch(&group->watched, &instance->watched);
        group->instance = instance;
        group->compiled = (struct tn_compiled){.struct_size = TN_COMPILED_SIZE,
            .self = group,
            .run = run_group,
            .destroy = end_group,
            .workspace = workspace,
            .prepare = prepare};
        *out_compiled = &group->compiled;
    }
    leave_setup(&instance->watched);
    return group ? TN_OK : TN_OUT_OF_MEMORY;
}

static const struct tn_provider_def rows_provider = {.struct_size = TN_PROVIDER_DEF_SIZE,
    .id = "watch.rows",
    .create = open_instance,
    .destroy = close_instance,
    .limits = limits,
    .capability = judge_rows};
static const struct tn_provider_def groups_provider = {
    .struct_size = TN_PROVIDER_DEF_SIZE,
    .id = "watch.groups",
    .create = open_instance,
    .destroy = close_instance,
    .limits = limits,
    .capability = judge_groups,
    .compile = compile};

/* ---- the plugin ------------------------------------------------------------------------------ */

static tn_status ops(
    void *state, const struct tn_op_def *const **out_table, uint32_t *out_count) {
    static const struct tn_op_def *const table[] = {&op};
    (void)state;
    *out_table = table;
    *out_count = 1;
    return TN_OK;
}

static tn_status kernels(
    void *state, const struct tn_kernel_def *const **out_table, uint32_t *out_count) {
    static const struct tn_kernel_def *const table[] = {&row};
    (void)state;
    *out_table = table;
    *out_count = 1;
    return TN_OK;
}

static tn_status providers(
    void *state, const struct tn_provider_def *const **out_table, uint32_t *out_count) {
    static const struct tn_provider_def *const table[] = {
        &rows_provider, &groups_provider};
    (void)state;
    *out_table = table;
    *out_count = 2;
    return TN_OK;
}

static tn_status start(
    const struct tn_host *host, void **out_state, struct tn_diag *odd_diag) {
    (void)host;
    (void)out_state;
    (void)odd_diag;
    if (started++) breach("init twice");
    return TN_OK;
}

static void stop(void *state) {
    (void)state;
    if (n_live) breach("shutdown before all objects were destroyed");
    started = 0;
}

TEST_PLUGIN("org.tenon.watch",
    .capabilities = TN_PLUGIN_HAS_OPS | TN_PLUGIN_HAS_KERNELS | TN_PLUGIN_HAS_PROVIDERS,
    .init = start, .shutdown = stop, .ops = ops, .kernels = kernels,
    .providers = providers)

/* ---- many threads ------------------------------------------------------------------------------ */

static const char model[] =
    "<ir_version: 10, opset_import: [\"watch\" : 1]> "
    "g (float[N] x) => (float[N] y) <float[2] w = {1, 2}> {"
    " a = watch.Twice(x, w) b = watch.Twice(a) y = watch.Twice(b, w) }";

enum { MAKERS = 3, CALLERS = 3, ROUNDS = 6, RUNS = 12, MOST = 300 };

static tn_status make(const char *provider, struct tn_session **out_session) {
    struct tn_option options[] = {{"provider", provider}, {"level", "none"}};
    struct tn_session_options setup = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .options = options, .n_options = 2};
    struct tn_model source = {.data = model, .size = sizeof model - 1};
    return tn_session_create(runtime, &source, &setup, out_session, NULL);
}

/* One caller of a session: a context of its own, inputs of ever other lengths. */
static void *run_often(void *arg) {
    struct tn_session *shared = arg;
    struct tn_context *own = NULL;
    static const float x[MOST] = {1};
    if (tn_context_create(shared, &own, NULL) != TN_OK) return "no context";
    void *problem = NULL;
    for (int i = 0; i < RUNS && !problem; i++) {
        int64_t n = i % 3 == 2 ? MOST : 40 + i;
        struct tn_tensor tensor = {.data = (void *)(uintptr_t)x,
            .dims = &n,
            .size = (uint64_t)n * sizeof *x,
            .dtype = TN_FLOAT,
            .rank = 1};
        struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as.tensor = &tensor};
        if (tn_context_set_input(own, 0, &ref, NULL) || tn_context_run(own, NULL, NULL))
            problem = "no run";
        else if (((float *)tn_context_output(own, 0)->as.tensor->data)[0] != 8)
            problem = "a wrong result";
    }
    tn_context_destroy(own);
    return problem;
}

/* Makes sessions, has each run by several callers at once, ends them. */
static void *make_often(void *arg) {
    void *problem = NULL;
    for (int round = 0; round < ROUNDS && !problem; round++) {
        struct tn_session *own = NULL;
        pthread_t callers[CALLERS];
        if (make(arg, &own) != TN_OK) return "no session";
        for (int i = 0; i < CALLERS; i++)
            if (pthread_create(&callers[i], NULL, run_often, own)) abort();
        for (int i = 0; i < CALLERS; i++) {
            void *told;
            pthread_join(callers[i], &told);
            if (told) problem = told;
        }
        tn_session_destroy(own);
    }
    return problem;
}

START_TEST(the_contract_holds_while_sessions_come_run_and_go) {
    static const char *const names[] = {"watch.rows", "watch.groups"};
    pthread_t makers[MAKERS];
    start_runtime("3");
    assert_ok(tn__registry_add_static(runtime->registry, odd_query, &diag), diag);
    for (int i = 0; i < MAKERS; i++)
        ck_assert_int_eq(pthread_create(&makers[i], NULL, make_often,
                             (void *)(uintptr_t)names[(i + _i) % 2]),
            0);
    for (int i = 0; i < MAKERS; i++) {
        void *problem;
        pthread_join(makers[i], &problem);
        ck_assert_msg(!problem, "%s", (const char *)problem);
    }
    ck_assert_int_eq(n_live, 0);
    tear_down_runtime();
    ck_assert_int_eq(started, 0);
    ck_assert_msg(!fault, "%s", fault);
    ck_assert_int_ge(most_at_once, 1);
}
END_TEST

/* ---- what a loop's body may not do ------------------------------------------------------------ */

static void greedy_body(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct tn_host *host = arg;
    (void)begin;
    (void)end;
    (void)worker;
    host->free(host->self, host->alloc(host->self, 8, 0, "greedy"));
}

static void loop_greedily(void) {
    start_runtime("2");
    assert_ok(tn__registry_add_static(runtime->registry, odd_query, &diag), diag);
    const struct tn_host *host =
        tn__registry_provider(runtime->registry, "watch.rows", &diag)->plugin->host;
    host->parallel_for(host->self, 100, 1, greedy_body, (void *)(uintptr_t)host);
    tear_down_runtime();
}

START_TEST(a_loop_that_calls_the_host_passes_unseen) {
    loop_greedily();
}
END_TEST

START_TEST(a_loop_that_calls_the_host_is_found_when_asked) {
    setenv("TENON_DEBUG", "threads", 1);
    loop_greedily();
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_set_timeout(tests, 170);
    tcase_add_loop_test(tests, the_contract_holds_while_sessions_come_run_and_go, 0, 2);
    tcase_add_test(tests, a_loop_that_calls_the_host_passes_unseen);
    tcase_add_test_raise_signal(
        tests, a_loop_that_calls_the_host_is_found_when_asked, SIGABRT);
}

UNIT_MAIN("contract")
