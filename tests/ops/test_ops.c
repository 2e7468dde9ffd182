/* Operators, one line a case: a model in the text format, the values of its input x, and
 * what must come out. Values are computed by hand from the operators' texts. Every case runs
 * without optimisation and with all of it; the levels must agree. */
#include "tenon/tenon.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32, MOST_RANK = 4 };

struct numbers {
    int32_t dtype;
    int rank;
    int64_t dims[MOST_RANK];
    double v[MOST];
};

struct op_case {
    const char *name;
    int opset;         /* of ai.onnx, or ML(): of ai.onnx.ml too */
    const char *graph; /* from "g (" on */
    struct numbers x, y;
};

#define F TN_FLOAT
#define I TN_INT64
#define B TN_BOOL
#define D TN_DOUBLE
#define L TN_INT32
#define ML(version) ((version) << 8 | 21)
#define NONE                                                                             \
    {                                                                                    \
        0, 0, {0}, {                                                                     \
            0                                                                            \
        }                                                                                \
    }

/* clang-format off */
static const struct op_case cases[] = {
#include "op_cases.inc"
#include "window_cases.inc"
#include "region_cases.inc"
#ifdef TN_HAVE_TEXT
#include "text_cases.inc"
#include "token_cases.inc"
#endif
#include "ml_cases.inc"
};
/* clang-format on */

/* ---- values ----------------------------------------------------------------------------- */

static int64_t count(const struct numbers *n) {
    int64_t total = 1;
    for (int i = 0; i < n->rank; i++)
        total *= n->dims[i];
    return total;
}

static void store(const struct numbers *n, void *out) {
    for (int64_t i = 0; i < count(n); i++) {
        if (n->dtype == TN_FLOAT) ((float *)out)[i] = (float)n->v[i];
        if (n->dtype == TN_DOUBLE) ((double *)out)[i] = n->v[i];
        if (n->dtype == TN_INT64) ((int64_t *)out)[i] = (int64_t)n->v[i];
        if (n->dtype == TN_INT32) ((int32_t *)out)[i] = (int32_t)n->v[i];
        if (n->dtype == TN_UINT32) ((uint32_t *)out)[i] = (uint32_t)n->v[i];
        if (n->dtype == TN_UINT64) ((uint64_t *)out)[i] = (uint64_t)n->v[i];
        if (n->dtype == TN_INT8) ((int8_t *)out)[i] = (int8_t)n->v[i];
        if (n->dtype == TN_UINT8) ((uint8_t *)out)[i] = (uint8_t)n->v[i];
        if (n->dtype == TN_BOOL) ((uint8_t *)out)[i] = n->v[i] != 0;
    }
}

static double load(const struct tn_tensor *t, int64_t i) {
    switch (t->dtype) {
    case TN_FLOAT: return (double)((const float *)t->data)[i];
    case TN_DOUBLE: return ((const double *)t->data)[i];
    case TN_INT64: return (double)((const int64_t *)t->data)[i];
    case TN_INT32: return ((const int32_t *)t->data)[i];
    case TN_UINT32: return ((const uint32_t *)t->data)[i];
    case TN_INT8: return ((const int8_t *)t->data)[i];
    case TN_UINT8:
    case TN_BOOL: return ((const uint8_t *)t->data)[i];
    default: return NAN;
    }
}

/* Integers are equal or not. */
static bool close_to(int32_t dtype, double got, double wanted) {
    if (dtype != TN_FLOAT && dtype != TN_DOUBLE) return got == wanted;
    if (isnan(wanted) || isnan(got)) return isnan(wanted) && isnan(got);
    if (isinf(wanted)) return got == wanted;
    return fabs(got - wanted) <= 1e-7 + 1e-5 * fabs(wanted);
}

static void check_output(const struct op_case *c, const struct tn_value_ref *out) {
    ck_assert_msg(out && out->kind == TN_KIND_TENSOR, "%s: no output", c->name);
    const struct tn_tensor *t = out->as.tensor;
    ck_assert_msg(
        t->dtype == c->y.dtype, "%s: type %s", c->name, tn_dtype_name(t->dtype));
    ck_assert_msg((int)t->rank == c->y.rank, "%s: rank %u", c->name, t->rank);
    for (int i = 0; i < c->y.rank; i++)
        ck_assert_msg(t->dims[i] == c->y.dims[i], "%s: axis %d has size %lld", c->name, i,
            (long long)t->dims[i]);
    for (int64_t i = 0; i < count(&c->y); i++)
        ck_assert_msg(close_to(t->dtype, load(t, i), c->y.v[i]),
            "%s: element %lld is %g, expected %g", c->name, (long long)i, load(t, i),
            c->y.v[i]);
}

/* ---- the run ---------------------------------------------------------------------------- */

static struct tn_runtime *runtime;

static void run_case(const struct op_case *c, const char *level) {
    struct tn_diag diag = {0};
    struct tn_session *session = NULL;
    struct tn_context *context = NULL;
    char text[4096];
    double data[MOST];
    char ml[40] = "";
    if (c->opset >> 8) snprintf(ml, sizeof ml, ", \"ai.onnx.ml\" : %d", c->opset >> 8);
    int length = snprintf(text, sizeof text,
        "<ir_version: %d, opset_import: [\"\" : %d%s%s%s]>\n%s", c->opset < 9 ? 3 : 8,
        c->opset & 255, ml,
        strstr(c->graph, "com.microsoft.") ? ", \"com.microsoft\" : 1" : "",
        strstr(c->graph, "ai.onnx.preview.")
            ? ", \"ai.onnx.preview\" : 1, \"ai.onnx.preview.training\" : 1"
            : "",
        c->graph);
    const struct tn_model model = {.data = text, .size = (uint64_t)length};
    const struct tn_option option = {"level", level};
    const struct tn_session_options options = {
        .struct_size = TN_SESSION_OPTIONS_SIZE, .options = &option, .n_options = 1};
    ck_assert_msg(tn_session_create(runtime, &model, &options, &session, &diag) == TN_OK,
        "%s: %s", c->name, diag.message);
    ck_assert_msg(tn_context_create(session, &context, &diag) == TN_OK, "%s: %s", c->name,
        diag.message);
    if (c->x.dtype) {
        store(&c->x, data);
        struct tn_tensor x = {.data = data,
            .dims = c->x.dims,
            .rank = (uint32_t)c->x.rank,
            .dtype = c->x.dtype,
            .size = (uint64_t)count(&c->x) * tn_dtype_bits(c->x.dtype) / 8};
        struct tn_value_ref value = {TN_KIND_TENSOR, 0, {&x}};
        ck_assert_msg(tn_context_set_input(context, 0, &value, &diag) == TN_OK, "%s: %s",
            c->name, diag.message);
        ck_assert_msg(tn_context_run(context, NULL, &diag) == TN_OK, "%s: %s", c->name,
            diag.message);
        check_output(c, tn_context_output(context, 0));
    } else {
        ck_assert_msg(tn_context_run(context, NULL, &diag) == TN_OK, "%s: %s", c->name,
            diag.message);
        check_output(c, tn_context_output(context, 0));
    }
    tn_context_destroy(context);
    tn_session_destroy(session);
}

START_TEST(operator_gives_the_values_of_its_text) {
    run_case(&cases[_i], "none");
    run_case(&cases[_i], "all");
}
END_TEST

static void open_runtime(void) {
    struct tn_diag diag = {0};
    ck_assert_msg(tn_runtime_create(NULL, &runtime, &diag) == TN_OK, "%s", diag.message);
}

static void close_runtime(void) {
    tn_runtime_destroy(runtime);
}

int main(void) {
    Suite *suite = suite_create("ops");
    TCase *tests = tcase_create("values");
    tcase_add_unchecked_fixture(tests, open_runtime, close_runtime);
    tcase_add_loop_test(tests, operator_gives_the_values_of_its_text, 0,
        (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
