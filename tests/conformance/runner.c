/* Answers one backend test through the public API. */
#include "conformance.h"

#include "number.h"
#include "tenon/tenon.h"
#include "tensor_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct runner {
    const struct options *options;
    struct tn_runtime *runtime;
};

/* One loaded model and its test. */
struct answer {
    struct test *test;
    struct tn_session *session;
    struct tn_context *context;
    char dir[3000]; /* of the data set */
    struct tn_diag diag;
};

enum { MOST_INPUTS = 64, MOST_SETS = 32 };

struct runner *runner_create(const struct options *options) {
    struct tn_diag diag = {0};
    struct tn_option isa = {"cpu.isa", options->isa};
    struct tn_runtime_options runtime_options = {
        .struct_size = TN_RUNTIME_OPTIONS_SIZE, .options = &isa, .n_options = 1};
    struct runner *runner = calloc(1, sizeof *runner);
    if (!runner) return NULL;
    runner->options = options;
    if (tn_runtime_create(&runtime_options, &runner->runtime, &diag) != TN_OK) {
        fprintf(stderr, "conformance: %s\n", diag.message);
        free(runner);
        return NULL;
    }
    return runner;
}

void runner_destroy(struct runner *runner) {
    tn_runtime_destroy(runner->runtime);
    free(runner);
}

static void settle(struct answer *a, enum outcome outcome) {
    a->test->outcome = outcome;
    snprintf(a->test->message, sizeof a->test->message, "%.390s", a->diag.message);
}

/* ---- comparing ------------------------------------------------------------------------ */

static bool same_value(const struct tn_value_ref *actual,
    const struct tn_value_ref *expected, unsigned depth, char *why, size_t size);

static bool same_tensor(const struct tn_tensor *actual, const struct tn_tensor *expected,
    char *why, size_t size) {
    struct number_diff diff;
    if (number_compare(actual, expected, 1e-3, 1e-7, &diff)) return true;
    if (!diff.same_type)
        snprintf(why, size, "type %s, expected %s", tn_dtype_name(actual->dtype),
            tn_dtype_name(expected->dtype));
    else if (!diff.same_shape)
        snprintf(why, size, "shape of rank %u, expected rank %u, or other sizes",
            actual->rank, expected->rank);
    else
        snprintf(why, size, "%llu of %llu differ, first at %llu: %g, expected %g",
            (unsigned long long)diff.mismatches, (unsigned long long)diff.count,
            (unsigned long long)diff.first,
            number_at(actual->dtype, actual->data, diff.first),
            number_at(expected->dtype, expected->data, diff.first));
    return false;
}

static bool same_sequence(const struct tn_sequence *actual,
    const struct tn_sequence *expected, unsigned depth, char *why, size_t size) {
    if (actual->count != expected->count) {
        snprintf(why, size, "%llu items, expected %llu",
            (unsigned long long)actual->count, (unsigned long long)expected->count);
        return false;
    }
    for (uint64_t i = 0; i < actual->count; i++) {
        struct tn_map maps[2];
        const struct tn_value_ref a = tn_sequence_item(actual, i, &maps[0]);
        const struct tn_value_ref b = tn_sequence_item(expected, i, &maps[1]);
        if (!same_value(&a, &b, depth + 1, why, size)) return false;
    }
    return true;
}

static bool same_value(const struct tn_value_ref *actual,
    const struct tn_value_ref *expected, unsigned depth, char *why, size_t size) {
    if (actual->kind != expected->kind || depth > 8) {
        snprintf(why, size, "kind %u, expected %u", actual->kind, expected->kind);
        return false;
    }
    switch (actual->kind) {
    case TN_KIND_TENSOR:
        return same_tensor(actual->as.tensor, expected->as.tensor, why, size);
    case TN_KIND_SEQUENCE:
        return same_sequence(
            actual->as.sequence, expected->as.sequence, depth, why, size);
    case TN_KIND_MAP:
        return same_tensor(&actual->as.map->keys, &expected->as.map->keys, why, size) &&
               same_tensor(&actual->as.map->values, &expected->as.map->values, why, size);
    case TN_KIND_OPTIONAL:
        return same_value(&actual->as.optional->value, &expected->as.optional->value,
            depth + 1, why, size);
    default: return actual->kind == TN_KIND_ABSENT;
    }
}

/* ---- one data set --------------------------------------------------------------------- */

static bool set_inputs(struct answer *a, struct tn_value **values) {
    uint32_t n = tn_session_io_count(a->session, TN_INPUT);
    for (uint32_t i = 0; i < n && i < MOST_INPUTS; i++) {
        char path[4096];
        const struct tn_io *io = tn_session_io(a->session, TN_INPUT, i);
        snprintf(path, sizeof path, "%s/input_%u.pb", a->dir, i);
        if (access(path, F_OK) != 0) continue;
        if (tensor_file_read(path, io->name, &io->type, &values[i], &a->diag) != TN_OK) {
            settle(a, OUTCOME_DATA);
            return false;
        }
        if (tn_context_set_input(a->context, i, tn_value_get(values[i]), &a->diag)) {
            settle(a, OUTCOME_RUN);
            return false;
        }
    }
    return true;
}

static bool check_output(struct answer *a, uint32_t i, const char *path) {
    struct tn_value *expected = NULL;
    const struct tn_io *io = tn_session_io(a->session, TN_OUTPUT, i);
    char why[300] = "";
    if (tensor_file_read(path, io->name, &io->type, &expected, &a->diag) != TN_OK) {
        settle(a, OUTCOME_DATA);
        return false;
    }
    bool same = same_value(
        tn_context_output(a->context, i), tn_value_get(expected), 0, why, sizeof why);
    tn_value_release(&expected);
    if (!same) {
        snprintf(a->diag.message, sizeof a->diag.message, "output %u: %s", i, why);
        settle(a, OUTCOME_MISMATCH);
    }
    return same;
}

static bool run_set(struct answer *a) {
    struct tn_value *values[MOST_INPUTS] = {0};
    bool good = set_inputs(a, values);
    if (good && tn_context_run(a->context, NULL, &a->diag) != TN_OK) {
        settle(a, OUTCOME_RUN);
        good = false;
    }
    for (uint32_t i = 0; good && i < tn_session_io_count(a->session, TN_OUTPUT); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/output_%u.pb", a->dir, i);
        good = access(path, F_OK) != 0 || check_output(a, i, path);
    }
    for (uint32_t i = 0; i < MOST_INPUTS; i++) {
        (void)tn_context_set_input(a->context, i, &(struct tn_value_ref){0}, NULL);
        tn_value_release(&values[i]);
    }
    return good;
}

/* light/: one input, arange(n)/n, and one output. */
static void run_light(struct answer *a, const char *data) {
    const struct tn_io *io = tn_session_io(a->session, TN_INPUT, 0);
    char path[4096];
    uint64_t n = 1;
    for (int32_t i = 0; i < io->type.rank; i++)
        n *= (uint64_t)io->type.dims[i];
    float *x = malloc((n + 1) * sizeof *x);
    struct tn_tensor tensor = {.data = x,
        .dims = io->type.dims,
        .size = n * sizeof *x,
        .dtype = TN_FLOAT,
        .rank = (uint32_t)io->type.rank};
    struct tn_value_ref value = {.kind = TN_KIND_TENSOR, .as = {.tensor = &tensor}};
    for (uint64_t i = 0; x && i < n; i++)
        x[i] = (float)i / (float)n;
    snprintf(path, sizeof path, "%s/light/%.*s_output_0.pb", data,
        (int)(strlen(a->test->name) - 5), a->test->name);
    if (!x || tn_context_set_input(a->context, 0, &value, &a->diag) != TN_OK ||
        tn_context_run(a->context, NULL, &a->diag) != TN_OK)
        settle(a, OUTCOME_RUN);
    else if (check_output(a, 0, path))
        settle(a, OUTCOME_PASS);
    tn_context_destroy(a->context);
    a->context = NULL;
    free(x);
}

static void run_folder(struct answer *a, const char *data) {
    unsigned sets = 0;
    for (unsigned s = 0; s < MOST_SETS; s++) {
        snprintf(a->dir, sizeof a->dir, "%.2000s/%s/%s/test_data_set_%u", data,
            a->test->kind, a->test->name, s);
        if (access(a->dir, F_OK) != 0) break;
        sets++;
        if (!run_set(a)) return;
    }
    snprintf(a->diag.message, sizeof a->diag.message, sets ? "" : "no data set");
    settle(a, sets ? OUTCOME_PASS : OUTCOME_DATA);
}

/* ---- one test ------------------------------------------------------------------------- */

static unsigned session_options(const struct options *options, struct tn_option *out) {
    static char key[64];
    unsigned n = 0;
    out[n++] = (struct tn_option){"level", options->level};
    const char *equals = options->setting ? strchr(options->setting, '=') : NULL;
    if (equals) {
        snprintf(
            key, sizeof key, "%.*s", (int)(equals - options->setting), options->setting);
        out[n++] = (struct tn_option){key, equals + 1};
    }
    return n;
}

void runner_run(struct runner *runner, struct test *test) {
    char path[4096];
    struct tn_option options[2];
    struct answer a = {.test = test};
    bool light = strcmp(test->kind, "light") == 0;
    snprintf(path, sizeof path, "%s/%s/%s%s", runner->options->data, test->kind,
        test->name, light ? "" : "/model.onnx");
    struct tn_model model = {.path = path};
    struct tn_session_options session = {.struct_size = TN_SESSION_OPTIONS_SIZE,
        .options = options,
        .n_options = session_options(runner->options, options)};
    if (tn_session_create(runner->runtime, &model, &session, &a.session, &a.diag) !=
        TN_OK) {
        settle(&a, OUTCOME_LOAD);
        return;
    }
    if (tn_context_create(a.session, &a.context, &a.diag) != TN_OK)
        settle(&a, OUTCOME_RUN);
    else if (light)
        run_light(&a, runner->options->data);
    else
        run_folder(&a, runner->options->data);
    tn_context_destroy(a.context);
    tn_session_destroy(a.session);
}
