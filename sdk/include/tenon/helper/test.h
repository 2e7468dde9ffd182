/* Tests of operators: rows of a table, in the plugin's own file.
 *
 *     TN_TESTS("com.example",
 *         {"g (float[2] x) => (float[2] y) { y = com.example.Cube (x) }",
 *             {TN_TENSOR(FLOAT, (2), 2, -3)}, {TN_TENSOR(FLOAT, (2), 8, -27)}},
 *         {"g (int64[2] x) => (int64[2] y) { y = com.example.Cube (x) }",
 *             {TN_TENSOR(INT64, (2), 2, -3)}, {}, "no kernel"})
 *
 * A row is a graph in the ONNX text format, the values of its inputs in order, the values
 * that must come out, or a text that the diagnosis must contain; a last text must stand in
 * the optimised graph (for passes). A row whose graph is NULL
 * runs the model of the row before once more, in the same context. Every row runs without
 * optimisation and with all of it.
 *
 * With TN_TEST_PROVIDER defined before as the name of a provider, that one runs every node
 * of the rows.
 *
 * With TN_PLUGIN_TEST defined, TN_TESTS is a program that loads the plugin named by its
 * first argument and runs the rows; without, it is nothing. */
#ifndef TENON_HELPER_TEST_H
#define TENON_HELPER_TEST_H

#include "tenon/tenon.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#ifndef TN_TEST_PROVIDER
#define TN_TEST_PROVIDER ""
#endif

enum { TN_TEST_RANK = 6, TN_TEST_NUMBERS = 64, TN_TEST_VALUES = 8 };

struct tn_test_value {
    int32_t dtype;                  /* 0: there is no such value */
    int64_t dims[TN_TEST_RANK + 1]; /* ends with -1 */
    double v[TN_TEST_NUMBERS];
};

struct tn_test {
    const char *graph;
    struct tn_test_value inputs[TN_TEST_VALUES];
    struct tn_test_value outputs[TN_TEST_VALUES];
    const char *fails;
    const char *becomes; /* a text of the graph that all optimisation makes */
};

/* TN_TENSOR(FLOAT, (2, 3), 1, 2, 3, 4, 5, 6): dims in brackets, then the elements. */
/* clang-format off */
#define TN_TENSOR(type, dims, ...) {TN_##type, {TN_TEST_LIST dims, -1}, {__VA_ARGS__}}
#define TN_SCALAR(type, value) {TN_##type, {-1}, {value}}
#define TN_TEST_LIST(...) __VA_ARGS__
/* clang-format on */

/* clang-format off */
#ifdef TN_PLUGIN_TEST
#define TN_TESTS(domain, ...) \
    _Pragma("GCC diagnostic push") \
    _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"") \
    static const struct tn_test tn_test_rows[] = {__VA_ARGS__}; \
    _Pragma("GCC diagnostic pop") \
    int main(int argc, char **argv) { \
        return tn_test_main(argc, argv, domain, tn_test_rows, \
            (uint32_t)(sizeof tn_test_rows / sizeof *tn_test_rows)); \
    } \
    TN_STATIC_ASSERT(1, "")
#else
#define TN_TESTS(domain, ...) TN_STATIC_ASSERT(1, "")
#endif
/* clang-format on */

/* ---- numbers ------------------------------------------------------------------------- */

/* X(name, C type) of the element types that rows can hold. */
#define TN_TEST_TYPES(X)                                                                 \
    X(FLOAT, float)                                                                      \
    X(DOUBLE, double)                                                                    \
    X(INT8, int8_t)                                                                      \
    X(INT16, int16_t)                                                                    \
    X(INT32, int32_t)                                                                    \
    X(INT64, int64_t)                                                                    \
    X(UINT8, uint8_t)                                                                    \
    X(UINT16, uint16_t)                                                                  \
    X(UINT32, uint32_t)                                                                  \
    X(UINT64, uint64_t)                                                                  \
    X(BOOL, uint8_t)

static inline void tn_test_put(int32_t dtype, void *data, int64_t i, double number) {
#define TN_TEST_PUT(name, type)                                                          \
    if (dtype == TN_##name) ((type *)data)[i] = (type)number;
    TN_TEST_TYPES(TN_TEST_PUT)
#undef TN_TEST_PUT
}

static inline double tn_test_get(const struct tn_tensor *tensor, int64_t i) {
#define TN_TEST_GET(name, type)                                                          \
    if (tensor->dtype == TN_##name) return (double)((const type *)tensor->data)[i];
    TN_TEST_TYPES(TN_TEST_GET)
#undef TN_TEST_GET
    return (double)NAN;
}

/* Equal to about float's precision; NaN equals NaN. */
static inline int tn_test_close(double got, double want) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want)) return !(got < want) && !(want < got);
    return fabs(got - want) <= 1e-6 + 1e-5 * fabs(want);
}

/* ---- one run ------------------------------------------------------------------------- */

struct tn_test_run {
    struct tn_runtime *runtime;
    struct tn_session *session;
    struct tn_context *context;
    const struct tn_test *row;
    struct tn_diag diag;
    double data[TN_TEST_VALUES][TN_TEST_NUMBERS];
};

static inline uint32_t tn_test_rank(const struct tn_test_value *value) {
    uint32_t rank = 0;
    while (rank < TN_TEST_RANK && value->dims[rank] >= 0)
        rank++;
    return rank;
}

static inline tn_status tn_test_bind(struct tn_test_run *run, uint32_t i) {
    const struct tn_test_value *value = &run->row->inputs[i];
    struct tn_tensor tensor;
    struct tn_value_ref ref;
    int64_t n = 1;
    memset(&tensor, 0, sizeof tensor);
    memset(&ref, 0, sizeof ref);
    tensor.rank = tn_test_rank(value);
    for (uint32_t d = 0; d < tensor.rank; d++)
        n *= value->dims[d];
    for (int64_t k = 0; k < n && k < TN_TEST_NUMBERS; k++)
        tn_test_put(value->dtype, run->data[i], k, value->v[k]);
    tensor.data = run->data[i];
    tensor.dims = value->dims;
    tensor.dtype = value->dtype;
    tensor.size = (uint64_t)n * tn_dtype_bits(value->dtype) / 8;
    ref.kind = TN_KIND_TENSOR;
    ref.as.tensor = &tensor;
    return tn_context_set_input(run->context, i, &ref, &run->diag);
}

/* Closes what the row before left and opens the model of this row. */
static inline tn_status tn_test_open(
    struct tn_test_run *run, const char *domain, const char *level) {
    char text[4096];
    struct tn_model model;
    struct tn_option option[2];
    struct tn_session_options options;
    tn_context_destroy(run->context);
    tn_session_destroy(run->session);
    run->context = NULL;
    run->session = NULL;
    memset(&model, 0, sizeof model);
    memset(&options, 0, sizeof options);
    int n = snprintf(text, sizeof text,
        "<ir_version: 10, opset_import: [\"\" : 21, \"%s\" : 1]>\n%s", domain,
        run->row->graph);
    model.data = text;
    model.size = (uint64_t)n;
    option[0].key = "level";
    option[0].value = level;
    option[1].key = "provider";
    option[1].value = TN_TEST_PROVIDER;
    options.struct_size = TN_SESSION_OPTIONS_SIZE;
    options.options = option;
    options.n_options = TN_TEST_PROVIDER[0] ? 2 : 1;
    tn_status status =
        tn_session_create(run->runtime, &model, &options, &run->session, &run->diag);
    if (status != TN_OK) return status;
    return tn_context_create(run->session, &run->context, &run->diag);
}

static inline int tn_test_compare(const struct tn_test_run *run, uint32_t o) {
    const struct tn_test_value *want = &run->row->outputs[o];
    const struct tn_value_ref *ref = tn_context_output(run->context, o);
    const struct tn_tensor *got =
        ref && ref->kind == TN_KIND_TENSOR ? ref->as.tensor : NULL;
    uint32_t rank = tn_test_rank(want);
    int64_t n = 1;
    int same = got && got->dtype == want->dtype && got->rank == rank;
    for (uint32_t d = 0; same && d < rank; d++) {
        same = got->dims[d] == want->dims[d];
        n *= want->dims[d];
    }
    if (!same) {
        printf("  output %u has another type or shape than expected\n", o);
        return 0;
    }
    for (int64_t k = 0; k < n; k++) {
        if (tn_test_close(tn_test_get(got, k), want->v[k])) continue;
        printf("  output %u, element %d is %g, expected %g\n", o, (int)k,
            tn_test_get(got, k), want->v[k]);
        return 0;
    }
    return 1;
}

/* ---- the rows ------------------------------------------------------------------------ */

struct tn_test_text {
    char data[8192];
    uint64_t n;
};

static inline int tn_test_collect(void *arg, const char *text, uint64_t size) {
    struct tn_test_text *all = (struct tn_test_text *)arg;
    if (all->n + size >= sizeof all->data) return 1;
    memcpy(all->data + all->n, text, size);
    all->n += size;
    return 0;
}

/* Whether the compiled graph names what the row says. */
static inline int tn_test_became(struct tn_test_run *run) {
    struct tn_test_text text;
    memset(&text, 0, sizeof text);
    tn_session_report(run->session, TN_REPORT_GRAPH, TN_FORMAT_TEXT, tn_test_collect,
        &text, &run->diag);
    if (strstr(text.data, run->row->becomes)) return 1;
    printf("  the optimised graph has no '%s':\n%s\n", run->row->becomes, text.data);
    return 0;
}

static inline int tn_test_judge(
    struct tn_test_run *run, tn_status status, int optimised) {
    int passed = 1;
    if (run->row->fails) {
        if (status != TN_OK && strstr(run->diag.message, run->row->fails)) return 1;
        printf("  expected a failure with '%s', got: %s\n", run->row->fails,
            status == TN_OK ? "success" : run->diag.message);
        return 0;
    }
    if (status != TN_OK) {
        printf("  %s\n", run->diag.message);
        return 0;
    }
    for (uint32_t o = 0; o < TN_TEST_VALUES && run->row->outputs[o].dtype; o++)
        passed &= tn_test_compare(run, o);
    if (optimised && run->row->becomes) passed &= tn_test_became(run);
    return passed;
}

static inline int tn_test_row(
    struct tn_test_run *run, const char *domain, const char *level) {
    memset(&run->diag, 0, sizeof run->diag);
    tn_status status = TN_OK;
    if (run->row->graph) status = tn_test_open(run, domain, level);
    if (!run->context && status == TN_OK) status = TN_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < TN_TEST_VALUES && run->row->inputs[i].dtype; i++)
        if (status == TN_OK) status = tn_test_bind(run, i);
    if (status == TN_OK) status = tn_context_run(run->context, NULL, &run->diag);
    return tn_test_judge(run, status, strcmp(level, "all") == 0);
}

static inline int tn_test_main(int argc, char **argv, const char *domain,
    const struct tn_test *rows, uint32_t n_rows) {
    static const char *const levels[] = {"none", "all"};
    static struct tn_test_run run;
    uint32_t failed = 0;
    if (tn_runtime_create(NULL, &run.runtime, &run.diag) != TN_OK ||
        (argc > 1 && tn_runtime_load_plugin(run.runtime, argv[1], &run.diag) != TN_OK)) {
        printf("%s\n", run.diag.message);
        return 1;
    }
    for (uint32_t i = 0; i < 2 * n_rows; i++) {
        run.row = &rows[i % n_rows];
        if (tn_test_row(&run, domain, levels[i / n_rows])) continue;
        failed++;
        printf("row %u, level %s: FAILED\n", i % n_rows + 1, levels[i / n_rows]);
    }
    tn_context_destroy(run.context);
    tn_session_destroy(run.session);
    tn_runtime_destroy(run.runtime);
    printf("%u passed, %u failed\n", 2 * n_rows - failed, failed);
    return failed != 0;
}

#endif
