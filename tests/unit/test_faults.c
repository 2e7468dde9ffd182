/* Kernels that break their contract, and those that use all of it: made-up operators whose
 * attribute says what they do. */
#include "run_fixture.h"

#include "tenon/helper/diag.h"
#include "tenon/op.h"

#include <stdatomic.h>

static const struct tn_tensor *in(const struct tn_run_args *args, uint32_t i) {
    return args->inputs[i].as.tensor;
}

/* ---- Lie: breaks the contract of outputs ---------------------------------------------- */

enum {
    LIE_NOTHING,
    LIE_FAIL,
    LIE_SILENT,
    LIE_NO_OUTPUT,
    LIE_TYPE,
    LIE_UNKNOWN_TYPE,
    LIE_INDEX,
    LIE_NEGATIVE,
    LIE_HUGE,
    LIE_TWICE,
    LIE_KIND,
    LIE_SHORT,
    LIE_STRIDED,
    LIE_NULL,
    LIE_SUBGRAPH,
    N_LIES
};

static tn_status create_number(const struct tn_kernel_ctx *ctx, void **out_kernel) {
    const struct tn_attr *mode = tn_node_attr(ctx->node, "mode");
    *out_kernel = (void *)(uintptr_t)(mode ? mode->as.ints[0] : 0);
    return TN_OK;
}

static tn_status lie_by_value(
    uintptr_t mode, const struct tn_run *run, const struct tn_run_args *args) {
    int64_t dims[1] = {2}, steps[1] = {1};
    float data[2] = {1, 2};
    struct tn_tensor t = {
        .data = data, .dims = dims, .size = 8, .dtype = TN_FLOAT, .rank = 1};
    struct tn_sequence sequence = {NULL, 0, TN_KIND_TENSOR, TN_FLOAT, NULL};
    struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as.tensor = &t};
    if (mode == LIE_KIND)
        ref = (struct tn_value_ref){.kind = TN_KIND_SEQUENCE, .as.sequence = &sequence};
    if (mode == LIE_SHORT) t.size = 4;
    if (mode == LIE_STRIDED) t.strides = steps;
    return run->output_set(run, args, 0, mode == LIE_NULL ? NULL : &ref);
}

static tn_status run_lie(void *kernel, const struct tn_run_args *args) {
    uintptr_t mode = (uintptr_t)kernel;
    const struct tn_run *run = args->run;
    int64_t two = 2, three = 3, minus = -1, huge[] = {INT64_MAX, 16};
    switch (mode) {
    case LIE_FAIL: return tn_fail(run->diag, TN_INTERNAL, "it is broken");
    case LIE_SILENT: return TN_INTERNAL;
    case LIE_NO_OUTPUT: return TN_OK;
    case LIE_TYPE: return run->output_alloc(run, args, 0, TN_INT64, &two, 1);
    case LIE_UNKNOWN_TYPE: return run->output_alloc(run, args, 0, 77, &two, 1);
    case LIE_INDEX: return run->output_alloc(run, args, 5, TN_FLOAT, &two, 1);
    case LIE_NEGATIVE: return run->output_alloc(run, args, 0, TN_FLOAT, &minus, 1);
    case LIE_HUGE: return run->output_alloc(run, args, 0, TN_FLOAT, huge, 2);
    case LIE_TWICE:
        TN_TRY(run->output_alloc(run, args, 0, TN_FLOAT, &two, 1));
        TN_TRY(run->output_alloc(run, args, 0, TN_FLOAT, &two, 1)); /* the same: fine */
        return run->output_alloc(run, args, 0, TN_FLOAT, &three, 1);
    case LIE_SUBGRAPH:
        return run->subgraph_run(
            run, args, (struct tn_graph *)(uintptr_t)&run, NULL, 0, NULL, 0);
    case LIE_NOTHING: {
        TN_TRY(run->output_alloc(run, args, 0, TN_FLOAT, &two, 1));
        memcpy(args->outputs[0].as.tensor->data, in(args, 0)->data, 8);
        return TN_OK;
    }
    default: return lie_by_value(mode, run, args);
    }
}

/* ---- Spread: a loop on the pool, with workspace, state and prepare -------------------- */

struct spread_state {
    int64_t n;
    uint32_t prepared;
};

static tn_status spread_workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    out->scratch = in(args, 0)->size;
    out->state = sizeof(struct spread_state);
    return TN_OK;
}

struct spread_job {
    const float *x;
    float *y;
};

static void spread_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct spread_job *job = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        float v = job->x[i];
        for (int k = 0; k < 20; k++)
            v = v * 1.0001f + 0.3f / (1 + v * v);
        job->y[i] = v;
    }
}

static tn_status run_spread(void *kernel, const struct tn_run_args *args) {
    const struct spread_state *state = args->state;
    struct spread_job job = {in(args, 0)->data, args->workspace};
    const struct tn_host *host = args->run->host;
    (void)kernel;
    if (state->prepared != 1) return TN_INTERNAL;
    if ((uintptr_t)args->workspace % 64 || args->workspace_size < in(args, 0)->size)
        return TN_INTERNAL;
    host->parallel_for(host->self, state->n, 64, spread_piece, &job);
    memcpy(args->outputs[0].as.tensor->data, job.y, in(args, 0)->size);
    return TN_OK;
}

static tn_status never(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    return tn_fail(args->run->diag, TN_INTERNAL, "prepare chose another function");
}

static tn_status spread_prepare(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *odd_diag) {
    struct spread_state *state = args->state;
    (void)kernel;
    (void)odd_diag;
    state->n = (int64_t)(in(args, 0)->size / 4);
    state->prepared++;
    *fn = run_spread;
    return TN_OK;
}

/* ---- Heavy: x times the sum of a packed constant -------------------------------------- */

static _Atomic int n_packed;

struct heavy {
    const struct tn_host *host;
    float *packed;
};

static tn_status create_heavy(const struct tn_kernel_ctx *ctx, void **out_kernel) {
    struct heavy *heavy = ctx->host->alloc(ctx->host->self, sizeof *heavy, 0, "heavy");
    if (!heavy) return TN_OUT_OF_MEMORY;
    *heavy = (struct heavy){ctx->host, NULL};
    *out_kernel = heavy;
    return TN_OK;
}

static void destroy_heavy(void *kernel) {
    struct heavy *heavy = kernel;
    if (heavy) heavy->host->free(heavy->host->self, heavy);
}

static tn_status prepack_heavy(void *kernel, uint32_t input, const struct tn_tensor *t,
    const struct tn_prepack *sink, uint32_t *out_result, struct tn_diag *odd_diag) {
    struct heavy *heavy = kernel;
    void *buffer = NULL;
    int32_t filled = 0;
    if (input != 1) return TN_OK;
    TN_TRY(sink->buffer(sink->self, "sum", 64, &buffer, &filled, odd_diag));
    heavy->packed = buffer;
    if (!filled) {
        n_packed++;
        heavy->packed[0] = 0;
        for (uint64_t i = 0; i < t->size / 4; i++)
            heavy->packed[0] += ((float *)t->data)[i];
    }
    *out_result = TN_PREPACK_DROP;
    return TN_OK;
}

static tn_status run_heavy(void *kernel, const struct tn_run_args *args) {
    const struct heavy *heavy = kernel;
    for (uint64_t i = 0; i < in(args, 0)->size / 4; i++)
        ((float *)args->outputs[0].as.tensor->data)[i] =
            ((float *)in(args, 0)->data)[i] * heavy->packed[0];
    return TN_OK;
}

/* ---- Bag and Total: a sequence of tensors, and the sum of its elements ----------------- */

static tn_status infer_bag(const struct tn_infer *infer) {
    struct tn_type type = {.kind = TN_KIND_SEQUENCE,
        .elem_kind = TN_KIND_TENSOR,
        .dtype = TN_FLOAT,
        .rank = -1};
    return infer->set_type(infer->self, 0, &type);
}

static tn_status run_bag(void *kernel, const struct tn_run_args *args) {
    struct tn_value_ref items[2] = {args->inputs[0], args->inputs[0]};
    struct tn_sequence sequence = {items, 2, TN_KIND_TENSOR, TN_FLOAT, NULL};
    struct tn_value_ref ref = {.kind = TN_KIND_SEQUENCE, .as.sequence = &sequence};
    (void)kernel;
    return args->run->output_set(args->run, args, 0, &ref);
}

static tn_status infer_total(const struct tn_infer *infer) {
    struct tn_type type = {.kind = TN_KIND_TENSOR, .dtype = TN_FLOAT, .rank = 0};
    return infer->set_type(infer->self, 0, &type);
}

static tn_status run_total(void *kernel, const struct tn_run_args *args) {
    const struct tn_sequence *sequence = args->inputs[0].as.sequence;
    float total = 0;
    (void)kernel;
    for (uint64_t k = 0; k < sequence->count; k++) {
        const struct tn_tensor *t = sequence->items[k].as.tensor;
        for (uint64_t i = 0; i < t->size / 4; i++)
            total += ((float *)t->data)[i];
    }
    *(float *)args->outputs[0].as.tensor->data = total;
    return TN_OK;
}

/* ---- Alone: must not be run by two threads at once ------------------------------------- */

static _Atomic int inside, collisions;

static tn_status run_alone(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    if (inside++ != 0) collisions++;
    for (uint64_t i = 0; i < in(args, 0)->size / 4; i++)
        ((float *)args->outputs[0].as.tensor->data)[i] = ((float *)in(args, 0)->data)[i];
    inside--;
    return TN_OK;
}

/* ---- tables ---------------------------------------------------------------------------- */

static tn_status infer_same(const struct tn_infer *infer) {
    return infer->set_type(infer->self, 0, &infer->inputs[0]);
}

static tn_status infer_float(const struct tn_infer *infer) {
    int64_t open = TN_DIM_UNKNOWN;
    struct tn_type type = {
        .kind = TN_KIND_TENSOR, .dtype = TN_FLOAT, .rank = 1, .dims = &open};
    return infer->set_type(infer->self, 0, &type);
}

/* clang-format off */
static const struct tn_type_var vars[] = {{"T", TN_BIT(FLOAT), TN_BIT(FLOAT), 0, 0}};
static const struct tn_formal one_in[] = {{"x", "T", 0, 0, 0}};
static const struct tn_formal two_in[] = {{"x", "T", 0, 0, 0}, {"w", "T", 0, 0, 0}};
static const struct tn_formal one_out[] = {{"y", "T", 0, 0, 0}};
static const struct tn_attr_def mode_attr[] = {{"mode", TN_ATTR_INT, 0}};
static const struct tn_op_version first[] = {{1, 0, NULL}};

#define OP(name, ins, infer_fn) {.struct_size = TN_OP_DEF_SIZE, .domain = "odd", .op_type = name, \
    .versions = first, .n_versions = 1, .inputs = ins, .n_inputs = COUNT_OF(ins), .outputs = one_out, \
    .n_outputs = 1, .type_vars = vars, .n_type_vars = 1, .attrs = mode_attr, .n_attrs = 1, .infer = infer_fn}
#define KERNEL(op, fn, ...) {.struct_size = TN_KERNEL_DEF_SIZE, .provider = "fake", .domain = "odd", \
    .op_type = op, .name = "odd_" op, .since = 1, .compute = fn, __VA_ARGS__}

static const struct tn_op_def ops[] = {OP("Lie", one_in, infer_float), OP("Spread", one_in, infer_same),
    OP("Heavy", two_in, infer_same), OP("Bag", one_in, infer_bag), OP("Total", one_in, infer_total),
    OP("Alone", one_in, infer_same)};
static const struct tn_kernel_def kernels[] = {
    KERNEL("Lie", run_lie, .create = create_number),
    KERNEL("Spread", never, .workspace = spread_workspace, .prepare = spread_prepare),
    KERNEL("Heavy", run_heavy, .create = create_heavy, .destroy = destroy_heavy, .prepack = prepack_heavy),
    KERNEL("Bag", run_bag, .flags = 0), KERNEL("Total", run_total, .flags = 0),
    KERNEL("Alone", run_alone, .flags = TN_KERNEL_SERIAL)};
/* clang-format on */

static tn_status odd_ops(
    void *state, const struct tn_op_def *const **out_table, uint32_t *out_count) {
    static const struct tn_op_def *table[COUNT_OF(ops)];
    (void)state;
    for (uint32_t i = 0; i < COUNT_OF(ops); i++)
        table[i] = &ops[i];
    *out_table = table;
    *out_count = COUNT_OF(ops);
    return TN_OK;
}

static tn_status odd_kernels(
    void *state, const struct tn_kernel_def *const **out_table, uint32_t *out_count) {
    static const struct tn_kernel_def *table[COUNT_OF(kernels)];
    (void)state;
    for (uint32_t i = 0; i < COUNT_OF(kernels); i++)
        table[i] = &kernels[i];
    *out_table = table;
    *out_count = COUNT_OF(kernels);
    return TN_OK;
}

TEST_PLUGIN("org.tenon.odd", .capabilities = TN_PLUGIN_HAS_OPS | TN_PLUGIN_HAS_KERNELS,
    .ops = odd_ops, .kernels = odd_kernels)

static void start_odd(const char *threads) {
    start_runtime(threads);
    assert_ok(tn__registry_add_static(runtime->registry, odd_query, &diag), diag);
}

static void set_up_odd(void) {
    start_odd("1");
}

#define ODD_HEADER "<ir_version: 10, opset_import: [\"fake\" : 3, \"odd\" : 1]> "

/* ---- tests ----------------------------------------------------------------------------- */

START_TEST(every_broken_promise_is_an_error_and_the_context_lives_on) {
    static const struct {
        tn_status status;
        const char *part;
    } wanted[N_LIES] = {[LIE_FAIL] = {TN_INTERNAL, "it is broken"},
        [LIE_SILENT] = {TN_INTERNAL, "odd_Lie of plugin org.tenon.odd failed without"},
        [LIE_NO_OUTPUT] = {TN_PLUGIN, "did not make output 0"},
        [LIE_TYPE] = {TN_PLUGIN, "another type than it declared"},
        [LIE_UNKNOWN_TYPE] = {TN_PLUGIN, "unknown element type"},
        [LIE_INDEX] = {TN_PLUGIN, "an output that it does not have"},
        [LIE_NEGATIVE] = {TN_LIMIT_EXCEEDED, "negative or overflowing"},
        [LIE_HUGE] = {TN_LIMIT_EXCEEDED, "negative or overflowing"},
        [LIE_TWICE] = {TN_PLUGIN, "another shape"},
        [LIE_KIND] = {TN_PLUGIN, "another kind"},
        [LIE_SHORT] = {TN_PLUGIN, "smaller than its shape"},
        [LIE_STRIDED] = {TN_PLUGIN, "strided"},
        [LIE_NULL] = {TN_PLUGIN, "sets no value"},
        [LIE_SUBGRAPH] = {TN_PLUGIN, "not an attribute of its node"}};
    static const float x[] = {5, 6};
    for (int mode = 0; mode < N_LIES; mode++) {
        char text[256];
        snprintf(text, sizeof text,
            ODD_HEADER
            "g (float[2] x) => (float[M] y) { y = odd.Lie <mode: int = %d> (x) }",
            mode);
        open_session(text);
        set_floats(0, x, 2);
        for (int round = 0; round < 3; round++) {
            memset(&diag, 0, sizeof diag);
            tn_status status = tn_context_run(context, NULL, &diag);
            ck_assert_msg(status == wanted[mode].status, "mode %d gives %d: %s", mode,
                status, diag.message);
            if (status == TN_OK) {
                assert_floats(0, x, 2);
                continue;
            }
            ck_assert_msg(strstr(diag.message, wanted[mode].part), "mode %d: %s", mode,
                diag.message);
            ck_assert_str_eq(diag.op, "odd.Lie-1");
            ck_assert_str_eq(diag.plugin, "org.tenon.odd");
            ck_assert_ptr_null(tn_context_output(context, 0));
        }
    }
}
END_TEST

START_TEST(any_number_of_threads_gives_the_same_bits) {
    enum { N = 20000 };
    static float x[N], want[N];
    static const char *const threads[] = {"1", "2", "4"};
    for (int i = 0; i < N; i++)
        x[i] = (float)i * 0.37f - 11;
    for (int t = 0; t < 3; t++) {
        tear_down_runtime();
        start_odd(threads[t]);
        open_session(ODD_HEADER "g (float[N] x) => (float[N] y) { a = odd.Spread(x)"
                                " y = odd.Spread(a) }");
        set_floats(0, x, N);
        for (int round = 0; round < 5; round++) {
            run_context();
            if (t == 0 && round == 0) memcpy(want, result(0)->data, sizeof want);
            ck_assert_int_eq(memcmp(want, result(0)->data, sizeof want), 0);
        }
    }
}
END_TEST

START_TEST(sessions_share_weights_that_are_equal) {
    static const char text[] = ODD_HEADER "g (float[2] x) => (float[2] y)"
                                          " <float[4] w = {1, 2, 3, 4}> {"
                                          " y = odd.Heavy(x, w) }";
    struct tn_option options[] = {{"provider", "fake"}};
    struct tn_session_options setup = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .options = options, .n_options = 1};
    struct tn_model model = {.data = text, .size = strlen(text)};
    struct tn_session *second;
    n_packed = 0;
    open_session(text);
    assert_ok(tn_session_create(runtime, &model, &setup, &second, &diag), diag);
    ck_assert_int_eq(n_packed, 1);
    ck_assert_uint_eq(tn__weights_bytes(runtime->weights), 64);
    set_floats(0, FLOATS(1, 2), 2);
    run_context();
    assert_floats(0, FLOATS(10, 20), 2);
    close_session();
    assert_ok(tn_context_create(second, &context, &diag), diag);
    set_floats(0, FLOATS(3, 4), 2);
    run_context();
    assert_floats(0, FLOATS(30, 40), 2);
    tn_context_destroy(context);
    context = NULL;
    tn_session_destroy(second);
    ck_assert_uint_eq(tn__weights_bytes(runtime->weights), 0);
    assert_ok(try_session(text, "weights.share", "0"), diag);
    ck_assert_int_eq(n_packed, 2);
}
END_TEST

START_TEST(sequences_flow_between_kernels_and_out_of_the_model) {
    open_session(ODD_HEADER "g (float[2] x) => (seq(float) s, float t) {"
                            " s = odd.Bag(x) t = odd.Total(s) }");
    set_floats(0, FLOATS(1, 2), 2);
    for (int round = 0; round < 3; round++) {
        run_context();
        const struct tn_value_ref *ref = tn_context_output(context, 0);
        ck_assert_uint_eq(ref->kind, TN_KIND_SEQUENCE);
        ck_assert_uint_eq(ref->as.sequence->count, 2);
        const struct tn_tensor *item = ref->as.sequence->items[1].as.tensor;
        ck_assert(((float *)item->data)[1] == 2);
        ck_assert(*(float *)result(1)->data == 6);
    }
    char buffer[64];
    assert_fails(tn_context_bind_output(context, 0, buffer, sizeof buffer, &diag), diag,
        TN_INVALID_ARGUMENT, "not a numeric tensor");
}
END_TEST

static void *run_alone_often(void *arg) {
    struct tn_context *own;
    static const float x[64];
    int64_t n = 64;
    struct tn_tensor tensor = {.data = (void *)(uintptr_t)x,
        .dims = &n,
        .size = sizeof x,
        .dtype = TN_FLOAT,
        .rank = 1};
    struct tn_value_ref ref = {.kind = TN_KIND_TENSOR, .as.tensor = &tensor};
    (void)arg;
    if (tn_context_create(session, &own, NULL) ||
        tn_context_set_input(own, 0, &ref, NULL))
        return "no context";
    for (int i = 0; i < 5000; i++) {
        if (tn_context_run(own, NULL, NULL)) return "no run";
    }
    tn_context_destroy(own);
    return NULL;
}

START_TEST(a_kernel_that_is_not_reentrant_runs_alone) {
    pthread_t threads[4];
    collisions = 0;
    open_session(ODD_HEADER "g (float[N] x) => (float[N] y) { y = odd.Alone(x) }");
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_alone_often, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        ck_assert_ptr_null(problem);
    }
    ck_assert_int_eq(collisions, 0);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, set_up_odd, tear_down_runtime);
    tcase_add_test(tests, every_broken_promise_is_an_error_and_the_context_lives_on);
    tcase_add_test(tests, any_number_of_threads_gives_the_same_bits);
    tcase_add_test(tests, sessions_share_weights_that_are_equal);
    tcase_add_test(tests, sequences_flow_between_kernels_and_out_of_the_model);
    tcase_add_test(tests, a_kernel_that_is_not_reentrant_runs_alone);
}

UNIT_MAIN("faults")
