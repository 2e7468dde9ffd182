/* The passes of the built-in plugins, before and after: every case is a small model in the text format
 * with pseudo-random weights, run as it stands and with all passes. The outputs must agree,
 * and the compiled graph must have, and must not have, the operators that the case names. */
#include "tenon/tenon.h"

#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct weight {
    const char *name;
    int rank;
    int64_t dims[4];
    float low, high; /* the range numbers are drawn from */
};

struct pass_case {
    const char *name;
    const char *header; /* graph with its inputs and outputs */
    const char *body;
    struct weight weights[8];
    const char *has[4];   /* texts of the compiled graph */
    const char *lacks[4]; /* … and texts that must be gone */
    int n_transposes;     /* -1: not looked at */
};

/* clang-format off */
static const struct pass_case cases[] = {
#include "pass_cases.inc"
#include "ml_pass_cases.inc"
};
/* clang-format on */

/* ---- text ------------------------------------------------------------------------------- */

struct text {
    char *data;
    size_t n, cap;
};

static void append(struct text *t, const char *format, ...) {
    va_list args;
    for (;;) {
        va_start(args, format);
        int n = vsnprintf(t->data ? t->data + t->n : NULL, t->cap - t->n, format, args);
        va_end(args);
        if (t->data && t->n + (size_t)n < t->cap) {
            t->n += (size_t)n;
            return;
        }
        t->cap = 2 * t->cap + (size_t)n + 256;
        t->data = realloc(t->data, t->cap);
        ck_assert_ptr_nonnull(t->data);
    }
}

static float draw(uint32_t *state, float low, float high) {
    *state = *state * 1664525u + 1013904223u;
    return low + (high - low) * (float)(*state >> 8) / 16777216.0f;
}

/* float[4,3] name = {…} */
static void append_weight(struct text *t, const struct weight *w, uint32_t *state) {
    int64_t n = 1;
    append(t, "float[");
    for (int i = 0; i < w->rank; i++) {
        append(t, "%s%lld", i ? "," : "", (long long)w->dims[i]);
        n *= w->dims[i];
    }
    append(t, "] %s = {", w->name);
    for (int64_t i = 0; i < n; i++)
        append(t, "%s%.6f", i ? "," : "", (double)draw(state, w->low, w->high));
    append(t, "}");
}

static void write_model(const struct pass_case *c, struct text *t) {
    uint32_t state = 7;
    append(t, "<ir_version: 8, opset_import: [\"\" : 18%s]>\n%s\n<",
        strstr(c->body, "ai.onnx.ml.") ? ", \"ai.onnx.ml\" : 3" : "", c->header);
    for (int i = 0; i < 8 && c->weights[i].name; i++) {
        if (i) append(t, ",\n");
        append_weight(t, &c->weights[i], &state);
    }
    append(t, ">\n{\n%s\n}\n", c->body);
}

static int collect(void *arg, const char *text, uint64_t size) {
    append(arg, "%.*s", (int)size, text);
    return 0;
}

static int occurrences(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        n++;
    return n;
}

/* ---- running ------------------------------------------------------------------------------ */

struct outcome {
    float *y;
    int64_t n;
    struct text graph;
};

static void assert_status(
    tn_status status, const struct pass_case *c, const struct tn_diag *diag) {
    ck_assert_msg(status == TN_OK, "%s: %s (node %s, %s)", c->name, diag->message,
        diag->node, diag->op);
}

static void run_context(
    struct tn_session *session, const struct pass_case *c, struct outcome *out) {
    struct tn_context *context = NULL;
    struct tn_diag diag = {0};
    struct tn_value *inputs[4] = {NULL};
    uint32_t state = 99, n_inputs = tn_session_io_count(session, TN_INPUT);
    assert_status(tn_context_create(session, &context, &diag), c, &diag);
    for (uint32_t i = 0; i < n_inputs; i++) {
        const struct tn_io *io = tn_session_io(session, TN_INPUT, i);
        int64_t n = 1;
        for (int32_t d = 0; d < io->type.rank; d++)
            n *= io->type.dims[d];
        float *x = malloc((size_t)n * sizeof *x);
        for (int64_t k = 0; k < n; k++)
            x[k] = draw(&state, -1, 1);
        assert_status(tn_value_tensor(TN_FLOAT, io->type.dims, (uint32_t)io->type.rank, x,
                          &inputs[i], &diag),
            c, &diag);
        free(x);
        assert_status(
            tn_context_set_input(context, i, tn_value_get(inputs[i]), &diag), c, &diag);
    }
    assert_status(tn_context_run(context, NULL, &diag), c, &diag);
    const struct tn_tensor *y = tn_context_output(context, 0)->as.tensor;
    ck_assert_int_eq(y->dtype, TN_FLOAT);
    out->n = (int64_t)(y->size / sizeof(float));
    out->y = malloc((size_t)y->size);
    memcpy(out->y, y->data, (size_t)y->size);
    tn_context_destroy(context);
    for (uint32_t i = 0; i < n_inputs; i++)
        tn_value_release(&inputs[i]);
}

static void run_level(struct tn_runtime *runtime, const struct pass_case *c,
    const char *level, struct outcome *out) {
    struct text model = {0};
    struct tn_session *session = NULL;
    struct tn_diag diag = {0};
    struct tn_option option = {"level", level};
    struct tn_session_options options = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .options = &option, .n_options = 1};
    write_model(c, &model);
    struct tn_model source = {.data = model.data, .size = model.n};
    assert_status(
        tn_session_create(runtime, &source, &options, &session, &diag), c, &diag);
    assert_status(tn_session_report(session, TN_REPORT_GRAPH, TN_FORMAT_TEXT, collect,
                      &out->graph, &diag),
        c, &diag);
    run_context(session, c, out);
    tn_session_destroy(session);
    free(model.data);
}

static void compare(
    const struct pass_case *c, const struct outcome *a, const struct outcome *b) {
    ck_assert_msg(a->n == b->n, "%s: %lld and %lld elements", c->name, (long long)a->n,
        (long long)b->n);
    for (int64_t i = 0; i < a->n; i++) {
        double x = (double)a->y[i], y = (double)b->y[i];
        ck_assert_msg(fabs(x - y) <= 1e-5 + 1e-4 * fabs(x),
            "%s: element %lld is %g, was %g", c->name, (long long)i, y, x);
    }
}

START_TEST(outputs_agree_and_the_graph_is_as_expected) {
    const struct pass_case *c = &cases[_i];
    struct tn_runtime *runtime = NULL;
    struct tn_diag diag = {0};
    struct outcome plain = {0}, passed = {0};
    assert_status(tn_runtime_create(NULL, &runtime, &diag), c, &diag);
    run_level(runtime, c, "none", &plain);
    run_level(runtime, c, "all", &passed);
    compare(c, &plain, &passed);
    for (int i = 0; i < 4 && c->has[i]; i++)
        ck_assert_msg(strstr(passed.graph.data, c->has[i]), "%s lacks %s:\n%s", c->name,
            c->has[i], passed.graph.data);
    for (int i = 0; i < 4 && c->lacks[i]; i++)
        ck_assert_msg(!strstr(passed.graph.data, c->lacks[i]), "%s still has %s:\n%s",
            c->name, c->lacks[i], passed.graph.data);
    int moves = occurrences(passed.graph.data, "= Transpose");
    ck_assert_msg(c->n_transposes < 0 || moves == c->n_transposes,
        "%s has %d Transposes, expected %d:\n%s", c->name, moves, c->n_transposes,
        passed.graph.data);
    free(plain.y);
    free(passed.y);
    free(plain.graph.data);
    free(passed.graph.data);
    tn_runtime_destroy(runtime);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("passes");
    TCase *all = tcase_create("cases");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, outputs_agree_and_the_graph_is_as_expected, 0,
        (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
