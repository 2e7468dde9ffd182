/* What every provider must hold to, run against each one that is found, or the one named by
 * CTS_PROVIDER: what it claims runs and agrees with the cpu's plain C, what it declines
 * has a reason, copies, threads, sizes, shapes and interruptions do no harm. */
#include "../unit/unit.h"

#include "number.h"
#include "tenon/tenon.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const cases[] = {
#define CASE(graph) "<ir_version: 10, opset_import: [\"\" : 21]> " graph,
#include "rows.inc"
#undef CASE
};
enum { N_CASES = sizeof cases / sizeof *cases, MOST_PROVIDERS = 32, MOST_VALUES = 4 };

static struct tn_diag diag;
static char names[MOST_PROVIDERS][64];
static int n_names;

/* Outside of tests nothing may be asserted. */
static struct tn_runtime *try_runtime(const char *isa) {
    struct tn_option options[] = {
        {"cpu.isa", isa}, {"placement.show", "0"}, {"limits.run_bytes", "4M"}};
    struct tn_runtime_options setup = {
        .struct_size = TN_RUNTIME_OPTIONS_SIZE, .options = options, .n_options = 3};
    struct tn_runtime *runtime = NULL;
    const char *plugin = getenv("CTS_PLUGIN");
    memset(&diag, 0, sizeof diag);
    if (tn_runtime_create(&setup, &runtime, &diag) == TN_OK && plugin)
        (void)tn_runtime_load_plugin(runtime, plugin, &diag);
    return runtime;
}

static struct tn_runtime *open_runtime(const char *isa) {
    struct tn_runtime *runtime = try_runtime(isa);
    ck_assert_msg(runtime && diag.code == TN_OK, "%s", diag.message);
    return runtime;
}

static tn_status open_session(struct tn_runtime *runtime, const char *text,
    const char *provider, const char *placement, const char *dry,
    struct tn_session **out) {
    const char *option = getenv("CTS_OPTION"), *value = getenv("CTS_VALUE");
    struct tn_option options[] = {{"provider", provider}, {"placement", placement},
        {"level", "none"}, {"dry_run", dry}, {option, value}};
    struct tn_session_options setup = {.struct_size = TN_SESSION_OPTIONS_SIZE,
        .options = options,
        .n_options = option && strcmp(provider, "cpu") != 0 ? 5 : 4};
    struct tn_model model = {.data = text, .size = strlen(text)};
    memset(&diag, 0, sizeof diag);
    return tn_session_create(runtime, &model, &setup, out, &diag);
}

/* ---- which providers ------------------------------------------------------------------ */

/* The refusal of a provider that nobody has names those that exist. */
static void find_providers(void) {
    static const char mark[] = "providers found: ";
    const char *only = getenv("CTS_PROVIDER");
    if (only) {
        snprintf(names[n_names++], sizeof names[0], "%s", only);
        return;
    }
    struct tn_runtime *runtime = try_runtime("scalar");
    struct tn_session *session = NULL;
    if (runtime) open_session(runtime, cases[0], "nobody", "strict", "0", &session);
    const char *list = strstr(diag.message, mark);
    for (const char *p = list ? list + sizeof mark - 1 : NULL;
         p && *p && *p != ' ' && *p != '(' && n_names < MOST_PROVIDERS;) {
        size_t n = strcspn(p, ", (");
        snprintf(names[n_names++], sizeof names[0], "%.*s", (int)n, p);
        p += n + strspn(p + n, ", ");
    }
    tn_runtime_destroy(runtime);
}

/* ---- inputs and runs ------------------------------------------------------------------ */

struct values {
    struct tn_tensor tensors[MOST_VALUES];
    int64_t dims[MOST_VALUES][8];
    uint32_t n;
};

static uint64_t seed;

static double draw(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / (double)(UINT64_C(1) << 53) * 4 - 2;
}

/* A drawn number as element i; halves of one for float16. */
static void put(int32_t dtype, void *data, uint64_t i, double value) {
    static const uint16_t halves[] = {0xc000, 0xbc00, 0xb800, 0, 0x3800, 0x3c00, 0x4000};
    switch (dtype) {
    case TN_FLOAT: ((float *)data)[i] = (float)value; break;
    case TN_DOUBLE: ((double *)data)[i] = value; break;
    case TN_FLOAT16: ((uint16_t *)data)[i] = halves[(int)(value + 3)]; break;
    case TN_INT8: ((int8_t *)data)[i] = (int8_t)(value * 40); break;
    case TN_INT32: ((int32_t *)data)[i] = (int32_t)(value * 1000); break;
    case TN_INT64: ((int64_t *)data)[i] = (int64_t)(value * 1000); break;
    default: ck_abort_msg("no inputs of type %d", dtype);
    }
}

static void make_inputs(const struct tn_session *session, struct values *out) {
    out->n = tn_session_io_count(session, TN_INPUT);
    seed = 42;
    for (uint32_t i = 0; i < out->n; i++) {
        const struct tn_type *type = &tn_session_io(session, TN_INPUT, i)->type;
        uint64_t n = 1, bytes;
        for (int32_t d = 0; d < type->rank; d++) {
            out->dims[i][d] = type->dims[d] < 0 ? 3 : type->dims[d];
            n *= (uint64_t)out->dims[i][d];
        }
        bytes = n * tn_dtype_bits(type->dtype) / 8;
        out->tensors[i] = (struct tn_tensor){.data = calloc(bytes + 1, 1),
            .dims = out->dims[i],
            .size = bytes,
            .dtype = type->dtype,
            .rank = (uint32_t)type->rank};
        for (uint64_t k = 0; k < n; k++)
            put(type->dtype, out->tensors[i].data, k, draw());
    }
}

static void free_inputs(struct values *values) {
    for (uint32_t i = 0; i < values->n; i++)
        free(values->tensors[i].data);
}

static tn_status run(struct tn_context *context, struct values *inputs,
    const struct tn_run_options *options, struct tn_diag *own) {
    for (uint32_t i = 0; i < inputs->n; i++) {
        struct tn_value_ref ref = {
            .kind = TN_KIND_TENSOR, .as.tensor = &inputs->tensors[i]};
        tn_status status = tn_context_set_input(context, i, &ref, own);
        if (status != TN_OK) return status;
    }
    return tn_context_run(context, options, own);
}

static void compare(const struct tn_tensor *got, const struct tn_tensor *want,
    const char *provider, const char *text) {
    ck_assert_int_eq(got->dtype, want->dtype);
    ck_assert_uint_eq(got->rank, want->rank);
    ck_assert_uint_eq(got->size, want->size);
    double loose = want->dtype == TN_FLOAT16  ? 2e-3
                   : want->dtype == TN_DOUBLE ? 1e-12
                                              : 2e-5;
    for (uint64_t i = 0; i < number_count(want); i++) {
        double x = number_at(got->dtype, got->data, i),
               y = number_at(want->dtype, want->data, i);
        bool same = fabs(x - y) <= loose * (1 + fabs(y)) || (isnan(x) && isnan(y));
        ck_assert_msg(same, "%s: element %d is %g, the reference %g, of %s", provider,
            (int)i, x, y, text);
    }
}

/* ---- verdicts and numbers ------------------------------------------------------------- */

static char placement[1 << 16];
static size_t placement_size;

static int collect(void *arg, const char *text, uint64_t size) {
    (void)arg;
    if (placement_size + size >= sizeof placement) return 1;
    memcpy(placement + placement_size, text, size);
    placement_size += size;
    placement[placement_size] = '\0';
    return 0;
}

/* Every node of a dry run: 1 when the provider has all of them. Each refusal has a reason
 * that is not "other" alone. */
static int judge(struct tn_runtime *runtime, const char *text, const char *provider) {
    struct tn_session *session = NULL;
    assert_ok(open_session(runtime, text, provider, "strict", "1", &session), diag);
    placement_size = 0;
    assert_ok(tn_session_report(
                  session, TN_REPORT_PLACEMENT, TN_FORMAT_JSON, collect, NULL, &diag),
        diag);
    tn_session_destroy(session);
    ck_assert_msg(!strstr(placement, "it gave no verdict"),
        "%s is silent on a node of %s", provider, text);
    ck_assert_msg(!strstr(placement, "\"text\": \"other\", \"detail\": \"\""),
        "%s declines a node without a reason: %s", provider, text);
    for (const char *p = placement; (p = strstr(p, "\"claimed\": []")); p++) {
        const char *end = strstr(p, "]}");
        const char *reason = strstr(p, "\"reason\": ");
        ck_assert_msg(reason && end && reason < end,
            "a node that nobody claims has no reason: %s", text);
    }
    return !strstr(placement, "\"provider\": \"none\"");
}

static void check_case(struct tn_runtime *runtime, struct tn_runtime *plain,
    const char *text, const char *provider, const char *policy) {
    struct tn_session *session = NULL, *reference = NULL;
    struct tn_context *context = NULL, *wanted = NULL;
    struct values inputs;
    assert_ok(open_session(runtime, text, provider, policy, "0", &session), diag);
    assert_ok(open_session(plain, text, "cpu", "strict", "0", &reference), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    assert_ok(tn_context_create(reference, &wanted, &diag), diag);
    make_inputs(session, &inputs);
    assert_ok(run(wanted, &inputs, NULL, &diag), diag);
    for (int turn = 0; turn < 2; turn++) {
        memset(&diag, 0, sizeof diag);
        tn_status status = run(context, &inputs, NULL, &diag);
        ck_assert_msg(status == TN_OK, "%s: %s, of %s", provider, diag.message, text);
        for (uint32_t o = 0; o < tn_session_io_count(session, TN_OUTPUT); o++)
            compare(tn_context_output(context, o)->as.tensor,
                tn_context_output(wanted, o)->as.tensor, provider, text);
    }
    tn_context_destroy(context);
    tn_context_destroy(wanted);
    tn_session_destroy(session);
    tn_session_destroy(reference);
    free_inputs(&inputs);
}

START_TEST(what_is_claimed_runs_and_agrees_and_what_is_not_has_a_reason) {
    struct tn_runtime *runtime = open_runtime("best"), *plain = open_runtime("scalar");
    int claimed = 0;
    for (int c = 0; c < N_CASES; c++) {
        if (judge(runtime, cases[c], names[_i])) {
            check_case(runtime, plain, cases[c], names[_i], "strict");
            claimed++;
            continue;
        }
        struct tn_session *session = NULL;
        assert_fails(open_session(runtime, cases[c], names[_i], "strict", "0", &session),
            diag, TN_UNSUPPORTED, names[_i]);
        check_case(runtime, plain, cases[c], names[_i], "require");
    }
    printf("%s claims %d of %d cases whole\n", names[_i], claimed, N_CASES);
    ck_assert_int_gt(claimed, 0);
    tn_runtime_destroy(runtime);
    tn_runtime_destroy(plain);
}
END_TEST

/* ---- threads, sizes, shapes, interruptions -------------------------------------------- */

static const char chain[] = "<ir_version: 10, opset_import: [\"\" : 21]> "
                            "g (float[64,64] x, float[64,64] w) => (float[64,64] y) {"
                            " a = MatMul(x, w) b = Relu(a) c = Sqrt(b) d = Mul(c, x)"
                            " y = Add(d, w) }";

struct worker {
    struct tn_session *session;
    struct values *inputs;
    const struct tn_tensor *want;
    tn_status status;
    int differs;
    struct tn_diag diag;
};

static void *work(void *arg) {
    struct worker *worker = arg;
    struct tn_context *context = NULL;
    worker->status = tn_context_create(worker->session, &context, &worker->diag);
    for (int i = 0; i < 30 && worker->status == TN_OK; i++) {
        worker->status = run(context, worker->inputs, NULL, &worker->diag);
        if (worker->status != TN_OK) break;
        const struct tn_tensor *y = tn_context_output(context, 0)->as.tensor;
        worker->differs |= memcmp(y->data, worker->want->data, y->size) != 0;
    }
    tn_context_destroy(context);
    return NULL;
}

START_TEST(runs_at_the_same_time_give_the_same) {
    enum { THREADS = 4 };
    struct tn_runtime *runtime = open_runtime("best");
    struct tn_session *session = NULL;
    struct tn_context *context = NULL;
    struct values inputs;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    assert_ok(open_session(runtime, chain, names[_i], "require", "0", &session), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    make_inputs(session, &inputs);
    assert_ok(run(context, &inputs, NULL, &diag), diag);
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (struct worker){.session = session,
            .inputs = &inputs,
            .want = tn_context_output(context, 0)->as.tensor};
        ck_assert_int_eq(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        ck_assert_msg(workers[t].status == TN_OK, "%s", workers[t].diag.message);
        ck_assert_msg(!workers[t].differs, "%s gives other bits", names[_i]);
    }
    tn_context_destroy(context);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    free_inputs(&inputs);
}
END_TEST

START_TEST(what_does_not_fit_is_refused_not_tried) {
    struct tn_runtime *runtime = open_runtime("best");
    struct tn_session *session = NULL;
    struct tn_context *context = NULL;
    /* a tensor that a device may take, and a run of them that is more than it may */
    static const char huge[] = "<ir_version: 10, opset_import: [\"\" : 21]> "
                               "g (float[1] x) => (float[2000000] y)"
                               " <int64[1] s = {2000000}> {"
                               " a = Expand(x, s) b = Neg(a) c = Neg(b) y = Abs(c) }";
    tn_status status = open_session(runtime, huge, names[_i], "require", "0", &session);
    if (status == TN_OK) status = tn_context_create(session, &context, &diag);
    if (status == TN_OK) {
        struct values inputs;
        make_inputs(session, &inputs);
        status = run(context, &inputs, NULL, &diag);
        free_inputs(&inputs);
    }
    ck_assert_msg(status == TN_LIMIT_EXCEEDED || status == TN_OUT_OF_MEMORY,
        "code %d: %s", status, diag.message);
    tn_context_destroy(context);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
}
END_TEST

START_TEST(other_shapes_than_the_models_are_refused) {
    struct tn_runtime *runtime = open_runtime("best");
    struct tn_session *session = NULL;
    struct tn_context *context = NULL;
    struct values inputs;
    assert_ok(open_session(runtime, chain, names[_i], "require", "0", &session), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    make_inputs(session, &inputs);
    inputs.dims[0][0] = 63;
    ck_assert_int_eq(run(context, &inputs, NULL, &diag), TN_INVALID_ARGUMENT);
    inputs.dims[0][0] = 64;
    inputs.tensors[0].dtype = TN_INT32;
    memset(&diag, 0, sizeof diag);
    ck_assert_int_eq(run(context, &inputs, NULL, &diag), TN_INVALID_ARGUMENT);
    inputs.tensors[0].dtype = TN_FLOAT;
    assert_ok(run(context, &inputs, NULL, &diag), diag);
    tn_context_destroy(context);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    free_inputs(&inputs);
}
END_TEST

static void *cancel_often(void *arg) {
    for (int i = 0; i < 20000; i++)
        tn_context_cancel(arg);
    return NULL;
}

START_TEST(an_interrupted_run_leaves_the_next_one_whole) {
    struct tn_runtime *runtime = open_runtime("best");
    struct tn_session *session = NULL;
    struct tn_context *context = NULL;
    struct values inputs;
    pthread_t thread;
    assert_ok(open_session(runtime, chain, names[_i], "require", "0", &session), diag);
    assert_ok(tn_context_create(session, &context, &diag), diag);
    make_inputs(session, &inputs);
    struct tn_run_options now = {.struct_size = TN_RUN_OPTIONS_SIZE, .deadline_ns = 1};
    ck_assert_int_eq(run(context, &inputs, &now, &diag), TN_DEADLINE);
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_often, context), 0);
    for (int i = 0; i < 50; i++) {
        memset(&diag, 0, sizeof diag);
        tn_status status = run(context, &inputs, NULL, &diag);
        ck_assert_msg(status == TN_OK || status == TN_CANCELLED, "%s", diag.message);
    }
    pthread_join(thread, NULL);
    assert_ok(run(context, &inputs, NULL, &diag), diag);
    tn_context_destroy(context);
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    free_inputs(&inputs);
}
END_TEST

START_TEST(a_provider_is_found) {
    ck_assert_msg(n_names > 0, "no provider was found");
}
END_TEST

static void add_tests(TCase *tests) {
    find_providers();
    tcase_add_test(tests, a_provider_is_found);
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(
        tests, what_is_claimed_runs_and_agrees_and_what_is_not_has_a_reason, 0, n_names);
    tcase_add_loop_test(tests, runs_at_the_same_time_give_the_same, 0, n_names);
    tcase_add_loop_test(tests, what_does_not_fit_is_refused_not_tried, 0, n_names);
    tcase_add_loop_test(tests, other_shapes_than_the_models_are_refused, 0, n_names);
    tcase_add_loop_test(tests, an_interrupted_run_leaves_the_next_one_whole, 0, n_names);
}

UNIT_MAIN("provider_cts")
