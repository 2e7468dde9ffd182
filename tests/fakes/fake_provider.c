/* Providers that claim, and then do something else: "fake.good" compiles a group into one
 * that gives three times its input, each of the others breaks one rule of provider.h. */
#include "tenon/helper/diag.h"
#include "tenon/provider.h"

/* What a provider does with the nodes of a graph. */
typedef tn_status (*judge_fn)(
    const struct tn_verdict_sink *sink, const tn_node_id *ids, uint32_t n);

static tn_status claim_all(
    const struct tn_verdict_sink *sink, const tn_node_id *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        TN_TRY(sink->claim(sink->self, ids[i], 1));
    return TN_OK;
}

static tn_status claim_outside(
    const struct tn_verdict_sink *sink, const tn_node_id *ids, uint32_t n) {
    (void)ids;
    (void)n;
    (void)sink->claim(sink->self, 4000000000u, 1); /* and does not look at the answer */
    return TN_OK;
}

static tn_status claim_twice(
    const struct tn_verdict_sink *sink, const tn_node_id *ids, uint32_t n) {
    (void)claim_all(sink, ids, n);
    (void)sink->claim(sink->self, ids[0], 2);
    return TN_OK;
}

static tn_status claim_rowless(
    const struct tn_verdict_sink *sink, const tn_node_id *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        (void)sink->claim(sink->self, ids[i], 0);
    return TN_OK;
}

static tn_status decline_outside(
    const struct tn_verdict_sink *sink, const tn_node_id *ids, uint32_t n) {
    (void)ids;
    return sink->decline(sink->self, n + 7, 99, NULL);
}

static tn_status decline_oddly(
    const struct tn_verdict_sink *sink, const tn_node_id *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        TN_TRY(sink->decline(sink->self, ids[i], 4711, NULL)); /* an unknown reason */
    return TN_OK;
}

static tn_status stay_silent(
    const struct tn_verdict_sink *sink, const tn_node_id *ids, uint32_t n) {
    (void)sink;
    (void)ids;
    (void)n;
    return TN_OK;
}

/* capability has no room for more than its provider: each gets a function of its own. */
#define JUDGE(name, judge)                                                               \
    static tn_status judge_##name(void *instance, const struct tn_graph_api *api,        \
        const struct tn_graph *graph, const struct tn_verdict_sink *sink,                \
        struct tn_diag *diag) {                                                          \
        const tn_node_id *ids;                                                           \
        uint32_t n;                                                                      \
        (void)instance;                                                                  \
        (void)diag;                                                                      \
        api->nodes(graph, &ids, &n);                                                     \
        return judge(sink, ids, n);                                                      \
    }

JUDGE(all, claim_all)
JUDGE(range, claim_outside)
JUDGE(twice, claim_twice)
JUDGE(rowless, claim_rowless)
JUDGE(strange, decline_outside)
JUDGE(odd, decline_oddly)
JUDGE(silent, stay_silent)

static tn_status judge_failing(void *instance, const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *diag) {
    (void)instance;
    (void)api;
    (void)graph;
    (void)sink;
    return tn_fail(diag, TN_UNSUPPORTED, "the fake driver does not answer");
}

static tn_status refuse_create(void *plugin_state, const struct tn_host *host,
    const char *const *options, uint32_t n_options, void **out_instance,
    struct tn_diag *diag) {
    (void)plugin_state;
    (void)host;
    (void)options;
    (void)n_options;
    (void)out_instance;
    return tn_fail(diag, TN_NOT_FOUND, "there is no fake device in this machine");
}

static tn_status run(void *compiled, const struct tn_run_args *args) {
    (void)compiled;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    TN_TRY(args->run->output_alloc(args->run, args, 0, x->dtype, x->dims, x->rank));
    float *y = args->outputs[0].as.tensor->data;
    for (uint64_t i = 0; i < x->size / sizeof *y; i++)
        y[i] = 3 * ((const float *)x->data)[i];
    return TN_OK;
}

static tn_status refuse_run(void *compiled, const struct tn_run_args *args) {
    (void)compiled;
    return tn_fail(args->run->diag, TN_INTERNAL, "the fake accelerator stopped");
}

#define COMPILED(variable, fn)                                                           \
    static const struct tn_compiled variable = {                                         \
        .struct_size = TN_COMPILED_SIZE, .run = fn}

COMPILED(good_group, run);
COMPILED(stopped_group, refuse_run);
COMPILED(empty_group, NULL);

static tn_status compile(void *instance, const struct tn_group *group,
    const struct tn_compiled **out, struct tn_diag *diag) {
    (void)instance;
    if (group->n_inputs != 1 || group->n_outputs != 1)
        return tn_fail(diag, TN_UNSUPPORTED, "a group with %u inputs", group->n_inputs);
    *out = &good_group;
    return TN_OK;
}

static tn_status compile_stopped(void *instance, const struct tn_group *group,
    const struct tn_compiled **out, struct tn_diag *diag) {
    (void)instance;
    (void)group;
    (void)diag;
    *out = &stopped_group;
    return TN_OK;
}

static tn_status compile_empty(void *instance, const struct tn_group *group,
    const struct tn_compiled **out, struct tn_diag *diag) {
    (void)instance;
    (void)group;
    (void)diag;
    *out = &empty_group;
    return TN_OK;
}

static tn_status compile_nothing(void *instance, const struct tn_group *group,
    const struct tn_compiled **out, struct tn_diag *diag) {
    (void)instance;
    (void)group;
    (void)out;
    (void)diag;
    return TN_OK;
}

static tn_status refuse_compile(void *instance, const struct tn_group *group,
    const struct tn_compiled **out, struct tn_diag *diag) {
    (void)instance;
    (void)group;
    (void)out;
    return tn_fail(diag, TN_UNSUPPORTED, "the fake compiler gave up");
}

#define PROVIDER(variable, name, ...)                                                    \
    static const struct tn_provider_def variable = {                                     \
        .struct_size = TN_PROVIDER_DEF_SIZE, .id = name, __VA_ARGS__}

PROVIDER(good, "fake.good", .capability = judge_all, .compile = compile);
PROVIDER(range, "fake.range", .capability = judge_range, .compile = compile);
PROVIDER(twice, "fake.twice", .capability = judge_twice, .compile = compile);
PROVIDER(rowless, "fake.rowless", .capability = judge_rowless);
PROVIDER(hollow, "fake.hollow", .capability = judge_all);
PROVIDER(strange, "fake.strange", .capability = judge_strange);
PROVIDER(odd, "fake.odd", .capability = judge_odd);
PROVIDER(silent, "fake.silent", .capability = judge_silent);
PROVIDER(failing, "fake.failing", .capability = judge_failing);
PROVIDER(nocreate, "fake.nocreate", .create = refuse_create, .capability = judge_all);
PROVIDER(nocompile, "fake.nocompile", .capability = judge_all, .compile = refuse_compile);
PROVIDER(empty, "fake.empty", .capability = judge_all, .compile = compile_empty);
PROVIDER(nothing, "fake.nothing", .capability = judge_all, .compile = compile_nothing);
PROVIDER(norun, "fake.norun", .capability = judge_all, .compile = compile_stopped);

static tn_status providers(
    void *state, const struct tn_provider_def *const **out_table, uint32_t *out_count) {
    static const struct tn_provider_def *const table[] = {&good, &range, &twice, &rowless,
        &hollow, &strange, &odd, &silent, &failing, &nocreate, &nocompile, &norun, &empty,
        &nothing};
    (void)state;
    *out_table = table;
    *out_count = sizeof table / sizeof table[0];
    return TN_OK;
}

static const struct tn_plugin plugin = {.struct_size = TN_PLUGIN_SIZE,
    .abi_minor = TN_ABI_MINOR,
    .host_minor_min = TN_ABI_MINOR,
    .id = "org.tenon.fake-provider",
    .name = "Providers that misbehave",
    .version = "1.0.0",
    .sanitizer = TN_SANITIZER_CURRENT,
    .capabilities = TN_PLUGIN_HAS_PROVIDERS,
    .providers = providers};

TN_DEFINE_PLUGIN(plugin, "org.tenon.fake-provider");
