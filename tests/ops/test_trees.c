/* Tree ensembles: the rules of labels and scores row by row, answers of every comparison with
 * awkward numbers, what is refused. Models are written in the text format; expected numbers
 * are worked out by hand from the operators' texts. */
#include "tenon/tenon.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { MOST = 8, TEXT = 8192 };

/* ---- one model, run once -------------------------------------------------------------- */

struct run {
    struct tn_runtime *runtime;
    struct tn_session *session;
    struct tn_context *context;
    struct tn_diag diag;
};

static tn_status open_model(struct run *r, const char *compat, const char *graph) {
    static char text[2 * TEXT];
    const struct tn_option option = {"plugin:org.tenon.ml/compat", compat};
    const struct tn_runtime_options runtime_options = {
        .struct_size = TN_RUNTIME_OPTIONS_SIZE,
        .options = &option,
        .n_options = compat ? 1 : 0};
    const struct tn_session_options options = {.struct_size = TN_SESSION_OPTIONS_SIZE};
    int n = snprintf(text, sizeof text,
        "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 5]>\n%s", graph);
    const struct tn_model model = {.data = text, .size = (uint64_t)n};
    memset(r, 0, sizeof *r);
    ck_assert_msg(tn_runtime_create(&runtime_options, &r->runtime, &r->diag) == TN_OK,
        "%s", r->diag.message);
    tn_status status =
        tn_session_create(r->runtime, &model, &options, &r->session, &r->diag);
    if (status != TN_OK) return status;
    return tn_context_create(r->session, &r->context, &r->diag);
}

static void run_on(
    struct run *r, int32_t dtype, const void *data, int64_t rows, int64_t columns) {
    const int64_t dims[2] = {rows, columns};
    struct tn_tensor x = {.data = (void *)(uintptr_t)data,
        .dims = dims,
        .rank = 2,
        .dtype = dtype,
        .size = (uint64_t)(rows * columns) * tn_dtype_bits(dtype) / 8};
    struct tn_value_ref value = {TN_KIND_TENSOR, 0, {&x}};
    ck_assert_msg(tn_context_set_input(r->context, 0, &value, &r->diag) == TN_OK, "%s",
        r->diag.message);
    ck_assert_msg(
        tn_context_run(r->context, NULL, &r->diag) == TN_OK, "%s", r->diag.message);
}

static const struct tn_tensor *output(const struct run *r, uint32_t o) {
    return tn_context_output(r->context, o)->as.tensor;
}

static void close_model(struct run *r) {
    tn_context_destroy(r->context);
    tn_session_destroy(r->session);
    tn_runtime_destroy(r->runtime);
}

/* ---- the rules of scores -------------------------------------------------------------- */

/* Trees of one leaf each: tree i votes weights[i] for class ids[i]. */
struct score_case {
    const char *name;
    const char *compat; /* NULL: the default */
    const char *transform;
    int n_classes, n_votes, n_base;
    int ids[MOST];
    double weights[MOST];
    double base[MOST];
    int label; /* index */
    double scores[MOST];
};

/* sigmoid(0.4) and the others were worked out apart; probit(0.8) from the formula with
 * 0.147 in the operator's reference, likewise. */
/* clang-format off */
static const struct score_case score_cases[] = {
    {"shares of class 1 stand against the rest", NULL, "NONE", 2, 2, 0, {0, 0}, {0.25, 0.5}, {0}, 1, {0.25, 0.75}},
    {"a share of one half is no majority", NULL, "NONE", 2, 1, 0, {0}, {0.5}, {0}, 0, {0.5, 0.5}},
    {"votes in float meet one half exactly", NULL, "NONE", 2, 5, 0, {0, 0, 0, 0, 0}, {0.1, 0.1, 0.1, 0.1, 0.1}, {0}, 0, {0.5, 0.5}},
    {"a margin stands against its negative", NULL, "NONE", 2, 2, 0, {0, 0}, {-0.5, 0.75}, {0}, 1, {-0.25, 0.25}},
    {"a margin of 0 is class 0", NULL, "NONE", 2, 2, 0, {0, 0}, {-0.5, 0.5}, {0}, 0, {0, 0}},
    {"a positive margin with LOGISTIC is class 1", NULL, "LOGISTIC", 2, 1, 0, {0}, {0.4}, {0}, 1, {0.40131233988754800, 0.59868766011245200}},
    {"… and class 0 below one half for ort", "ort", "LOGISTIC", 2, 1, 0, {0}, {0.4}, {0}, 0, {0.40131233988754800, 0.59868766011245200}},
    {"a mixed margin with LOGISTIC", NULL, "LOGISTIC", 2, 2, 0, {0, 0}, {-1.4, 1}, {0}, 0, {0.59868766011245200, 0.40131233988754800}},
    {"SOFTMAX of a margin", NULL, "SOFTMAX", 2, 2, 0, {0, 0}, {-0.5, 0.7}, {0}, 1, {0.40131233988754800, 0.59868766011245200}},
    {"SOFTMAX of a margin is left out by ort", "ort", "SOFTMAX", 2, 2, 0, {0, 0}, {-0.5, 0.75}, {0}, 1, {-0.25, 0.25}},
    {"SOFTMAX_ZERO of a margin", NULL, "SOFTMAX_ZERO", 2, 2, 0, {0, 0}, {-0.5, 0.7}, {0}, 1, {0.40131233988754800, 0.59868766011245200}},
    {"SOFTMAX_ZERO of nothing is one half", NULL, "SOFTMAX_ZERO", 2, 2, 0, {0, 0}, {-0.5, 0.5}, {0}, 0, {0.5, 0.5}},
    {"PROBIT of a share and of the rest", NULL, "PROBIT", 2, 1, 0, {0}, {0.8}, {0}, 1, {-0.84175593822931, 0.84175593822931}},
    {"PROBIT of all is 0 by the reference", NULL, "PROBIT", 2, 1, 0, {0}, {1}, {0}, 1, {0, 0}},
    {"class 1 alone has the margin", NULL, "LOGISTIC", 2, 2, 0, {1, 1}, {-0.6, 1}, {0}, 1, {0.40131233988754800, 0.59868766011245200}},
    {"one base value joins the margin", NULL, "LOGISTIC", 2, 2, 1, {0, 0}, {-1, 1}, {0.4}, 1, {0.40131233988754800, 0.59868766011245200}},
    {"of two base values the voted class has its own", NULL, "LOGISTIC", 2, 2, 2, {0, 0}, {-1, 1}, {0.4, 9}, 1, {0.40131233988754800, 0.59868766011245200}},
    {"two voted classes are no margin", NULL, "NONE", 2, 2, 0, {0, 1}, {1, 0}, {0}, 0, {1, 0}},
    {"a class that nobody votes for competes with 0", NULL, "NONE", 3, 2, 0, {0, 1}, {-1, -2}, {0}, 2, {-1, -2, 0}},
    {"the first of equal classes is the label", NULL, "NONE", 3, 2, 0, {1, 2}, {0.5, 0.5}, {0}, 1, {0, 0.5, 0.5}},
    {"the label is that of the raw scores where sigmoids saturate", NULL, "LOGISTIC", 3, 3, 0, {0, 1, 2}, {40, 50, 45}, {0}, 1, {1, 1, 1}},
    {"SOFTMAX of three", NULL, "SOFTMAX", 3, 2, 0, {0, 2}, {1, 2}, {0}, 2, {0.24472847105479765, 0.09003057317038046, 0.66524095577482189}},
    {"SOFTMAX_ZERO keeps zeros out", NULL, "SOFTMAX_ZERO", 3, 2, 0, {0, 2}, {1, 2}, {0}, 2, {0.26894142136999512, 0, 0.73105857863000488}},
    {"base values of all classes", NULL, "NONE", 3, 1, 3, {1}, {1}, {0.5, -1, 0.25}, 0, {0.5, 0, 0.25}},
    {"a single class", NULL, "NONE", 1, 1, 0, {0}, {0.3}, {0}, 0, {0.3}},
};
/* clang-format on */

static size_t list(
    char *out, size_t at, const char *name, const char *form, int n, const double *v) {
    at += (size_t)snprintf(out + at, TEXT - at, "%s = [", name);
    for (int i = 0; i < n; i++) {
        at += (size_t)snprintf(out + at, TEXT - at, "%s", i ? "," : "");
        at += (size_t)snprintf(out + at, TEXT - at, form, v[i]);
    }
    return at + (size_t)snprintf(out + at, TEXT - at, "], ");
}

static void score_model(const struct score_case *c, char *out) {
    double numbers[MOST], zeros[MOST] = {0}, ids[MOST], labels[MOST];
    for (int i = 0; i < MOST; i++) {
        numbers[i] = i;
        ids[i] = c->ids[i];
        labels[i] = 100 + i;
    }
    int n = c->n_votes;
    size_t at = (size_t)snprintf(out, TEXT,
        "g (float[n,1] X) => (int64[n] Y, float[n,c] Z) { Y, Z = "
        "ai.onnx.ml.TreeEnsembleClassifier <");
    at = list(out, at, "nodes_treeids", "%.0f", n, numbers);
    at = list(out, at, "nodes_nodeids", "%.0f", n, zeros);
    at = list(out, at, "nodes_featureids", "%.0f", n, zeros);
    at = list(out, at, "nodes_truenodeids", "%.0f", n, zeros);
    at = list(out, at, "nodes_falsenodeids", "%.0f", n, zeros);
    at = list(out, at, "nodes_values", "%.1f", n, zeros);
    at = list(out, at, "nodes_modes", "\"LEAF\"", n, zeros);
    at = list(out, at, "class_treeids", "%.0f", n, numbers);
    at = list(out, at, "class_nodeids", "%.0f", n, zeros);
    at = list(out, at, "class_ids", "%.0f", n, ids);
    at = list(out, at, "class_weights", "%.9f", n, c->weights);
    if (c->n_base) at = list(out, at, "base_values", "%.9f", c->n_base, c->base);
    at = list(out, at, "classlabels_int64s", "%.0f", c->n_classes, labels);
    snprintf(out + at, TEXT - at, "post_transform = \"%s\"> (X) }", c->transform);
}

START_TEST(scores) {
    static char graph[TEXT];
    const struct score_case *c = &score_cases[_i];
    const float x[2] = {0, 0};
    struct run r;
    score_model(c, graph);
    ck_assert_msg(
        open_model(&r, c->compat, graph) == TN_OK, "%s: %s", c->name, r.diag.message);
    run_on(&r, TN_FLOAT, x, 2, 1);
    for (int row = 0; row < 2; row++) {
        int64_t label = ((const int64_t *)output(&r, 0)->data)[row];
        ck_assert_msg(label == 100 + c->label, "%s: label %d", c->name, (int)label - 100);
        for (int k = 0; k < c->n_classes; k++) {
            double got =
                (double)((const float *)output(&r, 1)->data)[row * c->n_classes + k];
            ck_assert_msg(fabs(got - c->scores[k]) <= 2e-7 + 2e-6 * fabs(c->scores[k]),
                "%s: score %d is %.9g, expected %.9g", c->name, k, got, c->scores[k]);
        }
    }
    close_model(&r);
}
END_TEST

/* ---- comparisons ---------------------------------------------------------------------- */

/* A stump of one comparison for several inputs: 'y' where it leads to the true child. */
struct question_case {
    const char *mode;
    const char *threshold;
    int tracks;
    int32_t dtype;
    int n;
    double x[MOST];
    const char *answers;
};

/* clang-format off */
static const struct question_case question_cases[] = {
    {"LEQ", "1.0", 0, TN_FLOAT, 6, {1, 1.0000001192092896, 0.99999994039535522, NAN, -INFINITY, INFINITY}, "ynynyn"},
    {"LEQ", "1.0", 1, TN_FLOAT, 6, {1, 1.0000001192092896, 0.99999994039535522, NAN, -INFINITY, INFINITY}, "ynyyyn"},
    {"LT", "1.0", 0, TN_FLOAT, 6, {1, 1.0000001192092896, 0.99999994039535522, NAN, -INFINITY, INFINITY}, "nnynyn"},
    {"GTE", "1.0", 0, TN_FLOAT, 6, {1, 1.0000001192092896, 0.99999994039535522, NAN, -INFINITY, INFINITY}, "yynnny"},
    {"GT", "1.0", 1, TN_FLOAT, 6, {1, 1.0000001192092896, 0.99999994039535522, NAN, -INFINITY, INFINITY}, "nynyny"},
    {"EQ", "1.0", 0, TN_FLOAT, 6, {1, 1.0000001192092896, 0.99999994039535522, NAN, -INFINITY, INFINITY}, "ynnnnn"},
    {"EQ", "1.0", 1, TN_FLOAT, 4, {1, 2, NAN, -1}, "ynyn"},
    {"NEQ", "1.0", 0, TN_FLOAT, 4, {1, 2, NAN, -1}, "nyyy"},
    {"LEQ", "0.0", 0, TN_FLOAT, 4, {-0.0, 0.0, 1e-45, -1e-45}, "yyny"},
    {"LT", "0.0", 0, TN_FLOAT, 4, {-0.0, 0.0, 1e-45, -1e-45}, "nnny"},
    {"GT", "-0.0", 0, TN_FLOAT, 4, {-0.0, 0.0, 1e-45, -1e-45}, "nnyn"},
    {"EQ", "-0.0", 0, TN_FLOAT, 4, {-0.0, 0.0, 1e-45, -1e-45}, "yynn"},
    {"LEQ", "inf", 0, TN_FLOAT, 4, {INFINITY, 3e38, NAN, -INFINITY}, "yyny"},
    {"LEQ", "inf", 1, TN_FLOAT, 4, {INFINITY, 3e38, NAN, -INFINITY}, "yyyy"},
    {"LT", "inf", 0, TN_FLOAT, 4, {INFINITY, 3.4028234663852886e38, NAN, -INFINITY}, "nyny"},
    {"LT", "-inf", 1, TN_FLOAT, 4, {INFINITY, 0, NAN, -INFINITY}, "nnyn"},
    {"GTE", "-inf", 0, TN_FLOAT, 4, {INFINITY, 0, NAN, -INFINITY}, "yyny"},
    {"LEQ", "nan", 0, TN_FLOAT, 4, {INFINITY, 0, NAN, -INFINITY}, "nnnn"},
    {"GT", "nan", 1, TN_FLOAT, 4, {INFINITY, 0, NAN, -INFINITY}, "nnyn"},
    {"NEQ", "nan", 0, TN_FLOAT, 4, {INFINITY, 0, NAN, -INFINITY}, "yyyy"},
    /* doubles against a float threshold: one double away from it */
    {"LEQ", "1.0", 0, TN_DOUBLE, 5, {1, 1.0000000000000002, 0.99999999999999989, 1e300, NAN}, "ynynn"},
    {"LT", "1.0", 0, TN_DOUBLE, 5, {1, 1.0000000000000002, 0.99999999999999989, -1e300, NAN}, "nnyyn"},
    {"GTE", "1.0", 0, TN_DOUBLE, 4, {1, 1.0000000000000002, 0.99999999999999989, 1e300}, "yyny"},
    {"GT", "1.0", 0, TN_DOUBLE, 4, {1, 1.0000000000000002, 0.99999999999999989, 1e300}, "nyny"},
    {"EQ", "1.0", 0, TN_DOUBLE, 3, {1, 1.0000000000000002, 0.99999999999999989}, "ynn"},
    {"LT", "inf", 0, TN_DOUBLE, 4, {INFINITY, 1e300, -INFINITY, 3.5e38}, "nyyy"},
    /* integers that no float has */
    {"LEQ", "16777216.0", 0, TN_INT64, 4, {16777216, 16777217, 16777215, -1}, "ynyy"},
    {"LT", "16777218.0", 0, TN_INT64, 4, {16777217, 16777218, 16777219, 0}, "ynny"},
    {"GTE", "16777218.0", 0, TN_INT32, 4, {16777217, 16777218, 16777219, 0}, "nyyn"},
    {"GT", "16777216.0", 0, TN_INT32, 4, {16777216, 16777217, 16777215, -1}, "nynn"},
    {"EQ", "16777216.0", 0, TN_INT64, 3, {16777216, 16777217, 16777215}, "ynn"},
    {"LEQ", "0.5", 1, TN_INT64, 3, {0, 1, -1}, "yny"},
    {"LT", "9223372036854775808.0", 0, TN_INT64, 3, {9007199254740993.0, 0, -9.2e18}, "yyy"},
};
/* clang-format on */

static void store(int32_t dtype, void *out, int i, double v) {
    if (dtype == TN_FLOAT) ((float *)out)[i] = (float)v;
    if (dtype == TN_DOUBLE) ((double *)out)[i] = v;
    if (dtype == TN_INT64) ((int64_t *)out)[i] = (int64_t)v;
    if (dtype == TN_INT32) ((int32_t *)out)[i] = (int32_t)v;
}

START_TEST(questions) {
    static char graph[TEXT];
    const struct question_case *c = &question_cases[_i];
    union {
        float f[MOST];
        double d[MOST];
        int64_t i[MOST];
    } x;
    struct run r;
    snprintf(graph, sizeof graph,
        "g (%s[n,1] X) => (float[n,1] Y) { Y = ai.onnx.ml.TreeEnsembleRegressor <"
        "nodes_treeids = [0,0,0], nodes_nodeids = [0,1,2], nodes_featureids = [0,0,0], "
        "nodes_modes = [\"BRANCH_%s\",\"LEAF\",\"LEAF\"], nodes_values = [%s,0.0,0.0], "
        "nodes_truenodeids = [1,0,0], nodes_falsenodeids = [2,0,0], "
        "nodes_missing_value_tracks_true = [%d,0,0], n_targets = 1, "
        "target_treeids = [0,0], target_nodeids = [1,2], target_ids = [0,0], "
        "target_weights = [1.0,-1.0]> (X) }",
        tn_dtype_name(c->dtype), c->mode, c->threshold, c->tracks);
    ck_assert_msg(open_model(&r, NULL, graph) == TN_OK, "%s %s: %s", c->mode,
        c->threshold, r.diag.message);
    for (int i = 0; i < c->n; i++)
        store(c->dtype, &x, i, c->x[i]);
    run_on(&r, c->dtype, &x, c->n, 1);
    for (int i = 0; i < c->n; i++) {
        float got = ((const float *)output(&r, 0)->data)[i];
        ck_assert_msg(got == (c->answers[i] == 'y' ? 1.0f : -1.0f),
            "%.17g %s %s (%s, tracks %d) gives %g", c->x[i], c->mode, c->threshold,
            tn_dtype_name(c->dtype), c->tracks, (double)got);
    }
    close_model(&r);
}
END_TEST

/* ---- refusals ------------------------------------------------------------------------- */

/* Parts of a regressor's attributes that replace those of a sound stump; what the message
 * says. */
struct error_case {
    const char *name;
    const char *attribute, *value;
    const char *message;
};

static const struct {
    const char *name, *value;
} sound[] = {
    {"nodes_treeids", "[7,7,7]"},
    {"nodes_nodeids", "[3,4,5]"},
    {"nodes_featureids", "[0,0,0]"},
    {"nodes_modes", "[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\"]"},
    {"nodes_values", "[1.0,0.0,0.0]"},
    {"nodes_truenodeids", "[4,0,0]"},
    {"nodes_falsenodeids", "[5,0,0]"},
    {"n_targets", "1"},
    {"target_treeids", "[7,7]"},
    {"target_nodeids", "[4,5]"},
    {"target_ids", "[0,0]"},
    {"target_weights", "[1.0,2.0]"},
    {"aggregate_function", "\"SUM\""},
    {"post_transform", "\"NONE\""},
};

/* clang-format off */
static const struct error_case error_cases[] = {
    {"a list too short", "nodes_featureids", "[0,0]", "nodes_featureids has 2 elements, expected 3"},
    {"values too short", "nodes_values", "[1.0]", "nodes_values has 1 elements, expected 3"},
    {"an unknown mode", "nodes_modes", "[\"BRANCH_LE\",\"LEAF\",\"LEAF\"]", "nodes_modes[0] of node 3 in tree 7 is 'BRANCH_LE'"},
    {"a negative feature", "nodes_featureids", "[-1,0,0]", "nodes_featureids[0] of node 3 in tree 7 is -1"},
    {"a huge feature", "nodes_featureids", "[9223372036854775807,0,0]", "nodes_featureids[0] of node 3 in tree 7 is 9223372036854775807"},
    {"a child that is not there", "nodes_truenodeids", "[6,0,0]", "nodes_truenodeids[0] of node 3 in tree 7 is 6"},
    {"a child of another sign", "nodes_falsenodeids", "[-9223372036854775808,0,0]", "nodes_falsenodeids[0] of node 3 in tree 7 is -9223372036854775808"},
    {"a node that leads to itself", "nodes_falsenodeids", "[3,0,0]", "node 3 of tree 7 is its own descendant"},
    {"a node listed twice", "nodes_nodeids", "[3,4,4]", "tree 7 has node 4 twice"},
    {"votes of a node that is not there", "target_nodeids", "[4,6]", "target_nodeids[1] is node 6 of tree 7"},
    {"votes of a tree that is not there", "target_treeids", "[7,8]", "target_nodeids[1] is node 5 of tree 8"},
    {"a target outside", "target_ids", "[0,1]", "target_ids[1] of node 5 in tree 7 is 1, expected 0 to 0"},
    {"a negative target", "target_ids", "[-1,0]", "target_ids[0] of node 4 in tree 7 is -1"},
    {"weights too few", "target_weights", "[1.0]", "target_weights has 1 elements, expected 2"},
    {"targets without number", "n_targets", "9000000000", "n_targets asks for 9000000000 targets"},
    {"a negative number of targets", "n_targets", "-2", "n_targets asks for -2 targets"},
    {"an unknown aggregate", "aggregate_function", "\"MEDIAN\"", "aggregate_function is 'MEDIAN'"},
    {"an unknown transform", "post_transform", "\"EXP\"", "post_transform is 'EXP'"},
};
/* clang-format on */

START_TEST(errors) {
    static char graph[TEXT];
    const struct error_case *c = &error_cases[_i];
    size_t at = (size_t)snprintf(graph, TEXT,
        "g (float[n,1] X) => (float[n,t] Y) { Y = ai.onnx.ml.TreeEnsembleRegressor <");
    for (int i = 0; i < COUNT(sound); i++) {
        bool here = strcmp(c->attribute, sound[i].name) == 0;
        at += (size_t)snprintf(graph + at, TEXT - at, "%s%s = %s", i ? ", " : "",
            sound[i].name, here ? c->value : sound[i].value);
    }
    snprintf(graph + at, TEXT - at, "> (X) }");
    struct run r;
    ck_assert_msg(open_model(&r, NULL, graph) != TN_OK, "%s: accepted", c->name);
    ck_assert_msg(
        strstr(r.diag.message, c->message) != NULL, "%s: '%s'", c->name, r.diag.message);
    close_model(&r);
}
END_TEST

START_TEST(too_few_columns) {
    static char graph[TEXT];
    const float x[2] = {0, 0};
    const int64_t dims[2] = {2, 1};
    struct run r;
    snprintf(graph, TEXT,
        "g (float[n,c] X) => (float[n,1] Y) { Y = ai.onnx.ml.TreeEnsembleRegressor <"
        "nodes_treeids = [0,0,0], nodes_nodeids = [0,1,2], nodes_featureids = [4,0,0], "
        "nodes_modes = [\"BRANCH_LT\",\"LEAF\",\"LEAF\"], nodes_values = [0.0,0.0,0.0], "
        "nodes_truenodeids = [1,0,0], nodes_falsenodeids = [2,0,0], n_targets = 1, "
        "target_treeids = [0,0], target_nodeids = [1,2], target_ids = [0,0], "
        "target_weights = [1.0,-1.0]> (X) }");
    ck_assert_int_eq(open_model(&r, NULL, graph), TN_OK);
    struct tn_tensor tensor = {.data = (void *)(uintptr_t)x,
        .dims = dims,
        .rank = 2,
        .dtype = TN_FLOAT,
        .size = 8};
    struct tn_value_ref value = {TN_KIND_TENSOR, 0, {&tensor}};
    ck_assert_int_eq(tn_context_set_input(r.context, 0, &value, &r.diag), TN_OK);
    ck_assert_int_eq(tn_context_run(r.context, NULL, &r.diag), TN_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(r.diag.message, "asks about feature 4"));
    close_model(&r);
}
END_TEST

START_TEST(compat_is_checked) {
    struct run r;
    ck_assert_int_ne(
        open_model(&r, "tensorflow",
            "g (float[n,1] X) => (float[n,1] Y) { Y = ai.onnx.ml.Binarizer (X) }"),
        TN_OK);
    close_model(&r);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trees");
    TCase *tests = tcase_create("trees");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, scores, 0, COUNT(score_cases));
    tcase_add_loop_test(tests, questions, 0, COUNT(question_cases));
    tcase_add_loop_test(tests, errors, 0, COUNT(error_cases));
    tcase_add_test(tests, too_few_columns);
    tcase_add_test(tests, compat_is_checked);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
