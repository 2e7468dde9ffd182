/* One case in all its variants. */
#include "probe.h"
#include "probe_value.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { THREADS = 3, RUNS_A_THREAD = 4 };
#define RUN_LIMIT_NS UINT64_C(5000000000)
/* Of each of several runs at once: what asks for more is refused. */
#define RUN_BYTES "128M"

/* The kernel in hand, without fusions. */
#define PLAIN(c)                                                                         \
    {                                                                                    \
        {"provider", (c)->target->kernel->provider}, {"placement", "auto"}, {            \
            "level", "basic"                                                             \
        }                                                                                \
    }

struct session {
    struct tn_session *session;
    struct tn_context *context;
    uint32_t n_outputs;
};

struct probing {
    const struct probe_case *c;
    struct probe_inputs inputs;
    struct probe_tally *tally;
    FILE *to;
    struct probe_snapshot expected; /* of the first run */
    struct session base;
};

/* ---- sessions -------------------------------------------------------------------------- */

static void session_close(struct session *s) {
    tn_context_destroy(s->context);
    tn_session_destroy(s->session);
    *s = (struct session){0};
}

static tn_status bind(const struct probing *p, struct tn_context *context, bool over,
    struct tn_diag *diag) {
    static bool truth = true;
    static struct tn_tensor which = {.data = &truth, .size = 1, .dtype = TN_BOOL};
    const struct tn_value_ref value = {.kind = TN_KIND_TENSOR, .as.tensor = &which};
    tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < p->inputs.n; i++)
        status = tn_context_set_input(context, i, &p->inputs.values[i], diag);
    if (status == TN_OK && over)
        status = tn_context_set_input(context, p->inputs.n, &value, diag);
    return status;
}

static tn_status run(struct tn_context *context, struct tn_diag *diag) {
    const struct tn_run_options options = {
        .struct_size = TN_RUN_OPTIONS_SIZE, .deadline_ns = RUN_LIMIT_NS};
    return tn_context_run(context, &options, diag);
}

/* Loads the case, binds its inputs and runs once. */
static tn_status session_open(const struct probing *p, struct tn_runtime *runtime,
    const struct tn_option *options, uint64_t n, bool over, struct session *out,
    struct tn_diag *diag) {
    char text[PROBE_TEXT];
    if (!probe_model(p->c, over, text, sizeof text)) return TN_LIMIT_EXCEEDED;
    const struct tn_model model = {.data = text, .size = strlen(text)};
    struct tn_option all[5] = {{"limits.run_bytes", RUN_BYTES}};
    for (uint64_t i = 0; i < n && i < 4; i++)
        all[i + 1] = options[i];
    const struct tn_session_options settings = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .options = all, .n_options = n + 1};
    *out = (struct session){0};
    tn_status status = tn_session_create(runtime, &model, &settings, &out->session, diag);
    if (status == TN_OK) status = tn_context_create(out->session, &out->context, diag);
    if (status == TN_OK) status = bind(p, out->context, over, diag);
    if (status == TN_OK) status = run(out->context, diag);
    if (status == TN_OK)
        out->n_outputs = tn_session_io_count(out->session, TN_OUTPUT);
    else
        session_close(out);
    return status;
}

/* ---- findings -------------------------------------------------------------------------- */

static void fault(struct probing *p, const char *what) {
    char inputs[512];
    probe_describe(p->c, inputs, sizeof inputs);
    p->tally->faults++;
    fprintf(p->to, "fault %s(%s): %s\n", p->c->target->def->op_type, inputs, what);
    fflush(p->to);
}

static void expect_same(struct probing *p, const struct session *s, const char *what) {
    struct probe_snapshot now = {0};
    probe_snapshot_take(&now, s->context, s->n_outputs);
    if (!probe_snapshot_equal(&p->expected, &now)) fault(p, what);
    probe_snapshot_free(&now);
}

/* ---- variants -------------------------------------------------------------------------- */

static void check_again(struct probing *p) {
    struct tn_diag diag = {0};
    if (run(p->base.context, &diag) != TN_OK)
        fault(p, "the second run fails, the first did not");
    else
        expect_same(p, &p->base, "the second run gives other bits than the first");
}

struct crowd {
    const struct probing *p;
    bool differs, fails;
};

static void *run_in_thread(void *arg) {
    struct crowd *crowd = arg;
    const struct probing *p = crowd->p;
    struct tn_context *context = NULL;
    struct tn_diag diag = {0};
    struct probe_snapshot now = {0};
    if (tn_context_create(p->base.session, &context, &diag) != TN_OK ||
        bind(p, context, false, &diag) != TN_OK)
        crowd->fails = true;
    for (int i = 0; !crowd->fails && i < RUNS_A_THREAD; i++) {
        crowd->fails = run(context, &diag) != TN_OK;
        if (crowd->fails) break;
        probe_snapshot_take(&now, context, p->base.n_outputs);
        crowd->differs |= !probe_snapshot_equal(&p->expected, &now);
    }
    probe_snapshot_free(&now);
    tn_context_destroy(context);
    return NULL;
}

static void check_crowd(struct probing *p) {
    pthread_t threads[THREADS];
    struct crowd crowds[THREADS];
    int n = 0;
    for (; n < THREADS; n++) {
        crowds[n] = (struct crowd){p, false, false};
        if (pthread_create(&threads[n], NULL, run_in_thread, &crowds[n]) != 0) break;
    }
    bool differs = false, fails = false;
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        differs |= crowds[i].differs;
        fails |= crowds[i].fails;
    }
    if (fails) fault(p, "fails when several threads run it, not when one does");
    if (differs) fault(p, "gives other bits when several threads run it");
}

/* What another way to run the case must give bit by bit; a refusal of it is none. */
static void check_same(struct probing *p, struct tn_runtime *runtime,
    const struct tn_option *options, uint64_t n, bool over, const char *what) {
    struct session other;
    struct tn_diag diag = {0};
    if (session_open(p, runtime, options, n, over, &other, &diag) != TN_OK) return;
    expect_same(p, &other, what);
    session_close(&other);
}

/* The operator's own definition in other operators, or the cpu's scalar kernels. */
static tn_status open_reference(const struct probing *p, const struct probe_bench *bench,
    struct session *out, const char **name, struct tn_diag *diag) {
    const struct tn_op_def *def = p->c->target->def;
    const struct tn_option body = {"functions.native", "0"}, cpu = {"provider", "cpu"};
    bool elsewhere = strcmp(p->c->target->kernel->provider, "cpu") != 0;
    bool has_body = !elsewhere && (def->expansion || def->expand);
    *name = has_body ? "body" : elsewhere ? "cpu" : "scalar";
    return session_open(p, has_body || elsewhere ? bench->shared : bench->scalar,
        has_body ? &body : &cpu, 1, false, out, diag);
}

static void check_reference(struct probing *p, const struct probe_bench *bench) {
    struct session other;
    struct tn_diag diag = {0};
    const char *name;
    char what[64];
    if (open_reference(p, bench, &other, &name, &diag) != TN_OK) return;
    p->tally->referenced++;
    snprintf(what, sizeof what, "disagrees with its reference (%s)", name);
    for (uint32_t i = 0; i < p->base.n_outputs; i++) {
        if (probe_agrees(p->base.context, other.context, i, &p->tally->difference))
            continue;
        fault(p, what);
        break;
    }
    session_close(&other);
}

/* The core says it for a kernel that says nothing. */
static bool is_mute(const struct tn_diag *diag) {
    return diag->message[0] == '\0' || strstr(diag->message, "failed without a reason");
}

void probe_run(const struct probe_bench *bench, const struct probe_case *c,
    struct probe_tally *tally, FILE *to) {
    struct probing p = {.c = c, .tally = tally, .to = to};
    const struct tn_op_def *def = c->target->def;
    const struct tn_option plain[] = PLAIN(c),
                           none[] = {plain[0], plain[1], {"level", "none"}};
    struct tn_diag diag = {0};
    if (!probe_inputs_make(c, &p.inputs)) return;
    tn_status status = session_open(&p, bench->shared, plain, 3, false, &p.base, &diag);
    if (status != TN_OK) {
        tally->refused++;
        snprintf(tally->why, sizeof tally->why, "%s", diag.message);
        if (is_mute(&diag)) fault(&p, "is refused without a sentence");
        if (status == TN_DEADLINE) fault(&p, "does not end within 5 s");
    } else {
        tally->ran++;
        probe_snapshot_take(&p.expected, p.base.context, p.base.n_outputs);
        if (!(def->flags & (TN_OP_NONDETERMINISTIC | TN_OP_STATEFUL))) {
            check_again(&p);
            check_crowd(&p);
            check_same(&p, bench->single, plain, 3, false,
                "gives other bits on one thread than on several");
            check_same(&p, bench->shared, none, 3, true,
                "gives other bits when it may write over its inputs");
            check_reference(&p, bench);
        }
        session_close(&p.base);
    }
    probe_snapshot_free(&p.expected);
    probe_inputs_free(&p.inputs);
}

/* ---- times ----------------------------------------------------------------------------- */

enum { TIMED_ROUNDS = 15 };

static double time_once(struct tn_context *context) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (run(context, NULL) != TN_OK) return 0;
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) * 1e9 +
           (double)(end.tv_nsec - begin.tv_nsec);
}

static void keep_best(double *best, double ns) {
    if (ns > 0 && (*best == 0 || ns < *best)) *best = ns;
}

bool probe_time(const struct probe_bench *bench, const struct probe_case *c,
    struct probe_times *out) {
    struct probing p = {.c = c};
    const struct tn_option plain[] = PLAIN(c);
    struct session own = {0}, other = {0};
    struct tn_diag diag = {0};
    *out = (struct probe_times){0};
    if (!probe_inputs_make(c, &p.inputs)) return false;
    bool runs = session_open(&p, bench->single, plain, 3, false, &own, &diag) == TN_OK;
    if (runs && open_reference(&p, bench, &other, &out->reference, &diag) != TN_OK)
        other.context = NULL;
    for (int i = 0; runs && i < TIMED_ROUNDS; i++) {
        keep_best(&out->own_ns, time_once(own.context));
        if (other.context) keep_best(&out->reference_ns, time_once(other.context));
    }
    session_close(&other);
    session_close(&own);
    probe_inputs_free(&p.inputs);
    return runs && out->own_ns > 0;
}
