/* The ONNX text format: what is written is understood, what is printed reads back, and
 * errors name line and column. */
#include "model_bytes.h"
#include "unit.h"

#include "core/model/rules.h"

#include <locale.h>
#include <math.h>

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> "

static struct tn__model *read_model(const char *text) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    assert_ok(tn__text_read_model(text, strlen(text), NULL, &model, &diag), diag);
    return model;
}

static const struct tn__value *value(const struct tn_graph *g, const char *name) {
    tn_value_id v = tn__graph_find(g, name);
    ck_assert_msg(v != TN_NO_ID, "no value '%s'", name);
    return tn__value_at(g, v);
}

static const struct tn_attr *attr(
    const struct tn_graph *g, tn_node_id id, const char *name) {
    const struct tn_attr *found = tn_node_attr(&tn__node_at(g, id)->view, name);
    ck_assert_msg(found != NULL, "no attribute '%s'", name);
    return found;
}

/* Prints, reads back, prints again: both prints are the same. Returns the first. */
static char *round_trip(const char *text) {
    struct tn_text first = {0}, second = {0};
    struct tn__model *model = read_model(text);
    tn__text_print_model(model, UINT64_MAX, &first);
    ck_assert(!first.failed);
    tn__model_destroy(model);
    model = read_model(first.data);
    tn__text_print_model(model, UINT64_MAX, &second);
    tn__model_destroy(model);
    ck_assert_str_eq(first.data, second.data);
    tn__text_free(&second);
    char *copy = strdup(first.data);
    tn__text_free(&first);
    return copy;
}

START_TEST(a_model_has_what_its_text_says) {
    struct tn__model *model = read_model(
        "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 5], producer_name: "
        "\"p\","
        " producer_version: \"1.2\", domain: \"org\", model_version: 7, doc_string: "
        "\"say \\\"hi\\\"\","
        " metadata_props: [\"k\" : \"v\", \"l\" : \"\"]>\n"
        "# a comment\n"
        "main (float[N,3,?] x, int64 any, float[] scalar) => (float[M] \"y/1\")"
        " <float[2] w = {1.5, -2}> {\n"
        "  [\"first node\"] t, , u = ai.onnx.ml.Op <k = 3> (x, , w);\n"
        "  \"y/1\" = G(t, any, scalar) <late = 1>\n"
        "}");
    const struct tn_graph *g = model->graph;
    ck_assert_int_eq(model->ir_version, 10);
    ck_assert_int_eq(model->model_version, 7);
    ck_assert_str_eq(model->producer_name, "p");
    ck_assert_str_eq(model->doc, "say \"hi\"");
    ck_assert_uint_eq(model->n_metadata, 2);
    ck_assert_str_eq(model->opsets[1].domain, "ai.onnx.ml");
    ck_assert_uint_eq(g->n_inputs, 3);
    const struct tn_type *x = &value(g, "x")->type;
    ck_assert_int_eq(x->rank, 3);
    ck_assert_str_eq(tn__symbol_text(model->symbols, x->dims[0]), "N");
    ck_assert_int_eq(x->dims[1], 3);
    ck_assert_ptr_null(tn__symbol_text(model->symbols, x->dims[2]));
    ck_assert_int_eq(value(g, "any")->type.rank, -1);
    ck_assert_int_eq(value(g, "scalar")->type.rank, 0);
    ck_assert(((const float *)value(g, "w")->constant->data)[1] == -2);
    const struct tn_node *first = &tn__node_at(g, 0)->view;
    ck_assert_str_eq(first->name, "first node");
    ck_assert_str_eq(first->domain, "ai.onnx.ml");
    ck_assert_str_eq(first->op_type, "Op");
    ck_assert_uint_eq(first->n_outputs, 3);
    ck_assert_uint_eq(first->outputs[1], TN_NO_ID);
    ck_assert_uint_eq(first->inputs[1], TN_NO_ID);
    ck_assert_int_eq(attr(g, 1, "late")->as.ints[0], 1);
    tn__model_destroy(model);
}
END_TEST

START_TEST(attributes_have_the_type_of_their_value) {
    struct tn__model *model = read_model(HEAD
        "g (float[2] x) => (float[2] y) { y = F <i = -5, f = 1.5, s = \"a\\x00b\", is = "
        "[1, 2],"
        " fs = [1, 2.5], ss = [\"a\", \"b\"], none: ints = [], t = int8[3] {-1, 0, 1},"
        " whole: float = 3, inf = inf, ts = [float {1}, float[1] {2}],"
        " tp: type_proto = seq(map(string, float[N])), sp = sparse_tensor(float[2,2]) "
        "[3] {7}> (x) }");
    const struct tn_graph *g = model->graph;
    ck_assert_int_eq(attr(g, 0, "i")->as.ints[0], -5);
    ck_assert_uint_eq(attr(g, 0, "i")->type, TN_ATTR_INT);
    ck_assert(attr(g, 0, "f")->as.floats[0] == 1.5f);
    ck_assert_uint_eq(attr(g, 0, "s")->as.strings[0].size, 3);
    ck_assert_mem_eq(attr(g, 0, "s")->as.strings[0].data, "a\0b", 3);
    ck_assert_uint_eq(attr(g, 0, "is")->type, TN_ATTR_INTS);
    ck_assert_uint_eq(attr(g, 0, "fs")->type, TN_ATTR_FLOATS);
    ck_assert(
        attr(g, 0, "fs")->as.floats[0] == 1 && attr(g, 0, "fs")->as.floats[1] == 2.5f);
    ck_assert_uint_eq(attr(g, 0, "ss")->count, 2);
    ck_assert_uint_eq(attr(g, 0, "none")->type, TN_ATTR_INTS);
    ck_assert_uint_eq(attr(g, 0, "none")->count, 0);
    ck_assert_int_eq(((int8_t *)attr(g, 0, "t")->as.tensors[0].data)[0], -1);
    ck_assert(attr(g, 0, "whole")->as.floats[0] == 3);
    ck_assert(isinf(attr(g, 0, "inf")->as.floats[0]));
    ck_assert_uint_eq(attr(g, 0, "ts")->type, TN_ATTR_TENSORS);
    ck_assert_uint_eq(attr(g, 0, "ts")->as.tensors[0].rank, 0);
    ck_assert_uint_eq(attr(g, 0, "tp")->as.types[0].kind, TN_KIND_SEQUENCE);
    ck_assert_uint_eq(attr(g, 0, "tp")->as.types[0].elem_kind, TN_KIND_MAP);
    ck_assert_int_eq(attr(g, 0, "tp")->as.types[0].key_dtype, TN_STRING);
    ck_assert_int_eq(((int64_t *)attr(g, 0, "sp")->as.sparse[0].indices.data)[0], 3);
    tn__model_destroy(model);
}
END_TEST

START_TEST(a_subgraph_captures_outer_names) {
    struct tn__model *model =
        read_model(HEAD "g (float[2] x, bool[] c) => (float[2] y) <float[2] w = {1, 2}> {"
                        " y = If <then_branch: graph = then () => (a) { a = F(x, w) },"
                        " else_branch: graph = other () => (b) { b = G <deep: graph = d "
                        "() => (e) { e = H(x) }> (x) }> (c) }");
    const struct tn_graph *then = attr(model->graph, 0, "then_branch")->as.graphs[0];
    ck_assert_ptr_eq(then->parent, model->graph);
    ck_assert_uint_eq(then->parent_node, 0);
    ck_assert_uint_eq(value(then, "x")->flags, TN_VALUE_CAPTURE);
    ck_assert_uint_eq(value(then, "x")->outer, tn__graph_find(model->graph, "x"));
    ck_assert_ptr_eq(value(then, "w")->constant, value(model->graph, "w")->constant);
    for (struct tn_graph *g = model->graphs; g; g = g->next_graph) {
        struct tn_diag diag = {0};
        assert_ok(tn__graph_verify(g, &diag), diag);
    }
    tn__model_destroy(model);
}
END_TEST

START_TEST(functions_have_formals_defaults_and_overloads) {
    struct tn__model *model =
        read_model("<ir_version: 10, opset_import: [\"\" : 21, \"loc\" : 1]>"
                   " g (float[2] x) => (float[2] y) { y = loc.f:two <alpha = 2.0> (x) }\n"
                   "<domain: \"loc\", opset_import: [\"\" : 20], overload: \"two\">\n"
                   "f <alpha, beta: float = 3.5> (float[2] a) => (b) <float[2] t>"
                   " { t = F <k: float = @alpha> (a) b = G(t) }");
    const struct tn__function *f = &model->functions[0];
    ck_assert(tn__node_at(model->graph, 0)->is_function);
    ck_assert_str_eq(tn__node_at(model->graph, 0)->overload, "two");
    ck_assert_str_eq(f->overload, "two");
    ck_assert_uint_eq(f->n_attrs, 1);
    ck_assert_str_eq(f->attrs[0], "alpha");
    ck_assert(f->attr_defaults[0].as.floats[0] == 3.5f);
    ck_assert_int_eq(f->body->opsets[0].version, 20);
    ck_assert_str_eq(attr(f->body, 0, "k")->ref, "alpha");
    ck_assert_int_eq(value(f->body, "a")->type.rank, 1);
    tn__model_destroy(model);
}
END_TEST

START_TEST(a_function_text_joins_a_model) {
    static const char text[] = "<opset_import: [\"\" : 13]> f <axis> (x) => (y)"
                               " { t = F <a: int = @axis> (x) y = G(t, x) }";
    struct tn__model *model =
        read_model(HEAD "g (float[2] x) => (float[2] y) { y = F(x) }");
    struct tn__function f;
    struct tn_diag diag = {0};
    assert_ok(tn__text_read_function(model, text, sizeof text - 1, &f, &diag), diag);
    ck_assert_uint_eq(model->n_functions, 0);
    ck_assert_uint_eq(f.body->n_nodes, 2);
    ck_assert_int_eq(f.body->opsets[0].version, 13);
    assert_fails(tn__text_read_function(model, text, sizeof text - 2, &f, &diag), diag,
        TN_INVALID_MODEL,
        "the function text: line 1, column 88: the text ends, expected '='");
    tn__model_destroy(model);
}
END_TEST

START_TEST(what_is_printed_reads_back) {
    static const char *const texts[] = {
        HEAD "g (float[2] x) => (float[2] y) { y = F(x) }",
        "<ir_version: 2> g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = F(x, "
        "w) }",
        HEAD "\"a name\" (seq(float[N]) s, optional(seq(int8)) o, map(int64, string) m,"
             " sparse_tensor(float[2,2]) p, float[2] \"float\") => (float[2] y)"
             " <double[3] d = {0.1, nan, -inf}, complex64[1] c = {1, -2}, uint64[1] u ="
             " {18446744073709551615}, int64[1] i = {-9223372036854775808}, uint2[5] q ="
             " {3, 2, 1, 0, 3}, int2[2] r = {-2, 1}, bool[2] b = {true, false},"
             " bfloat16[1] h = {16256}, float8e8m0[1] e = {127}, float[0] none = {},"
             " string[2] z = {\"\\\"\\\\\\n\\x01\", \"\xc3\xa9\"}>"
             " { y = F(s, o, m, p, \"float\") }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(round_trip(texts[i]));
}
END_TEST

START_TEST(printed_text_is_as_expected) {
    char *text =
        round_trip("<ir_version: 10, opset_import: [\"\" : 21, \"loc\" : 1]>"
                   "g (float[N,2] x) => (float[?] y) <int64[2] w = {1, 2}>"
                   "{ [n] t = loc.f <a = [1, 2], b = 0.1> (x, , w) y = G(t) }"
                   "<domain: \"loc\", opset_import: [\"\" : 20]>"
                   "f <a, b = 1.0> (x, y, z) => (w) { w = F <k: ints = @a> (x) }");
    ck_assert_str_eq(text, "<\n"
                           "  ir_version: 10,\n"
                           "  opset_import: [\"\" : 21, \"loc\" : 1]\n"
                           ">\n"
                           "g (float[N,2] x) => (float[?] y) <\n"
                           "  int64[2] w = {1, 2}> {\n"
                           "  [n] t = loc.f <a = [1, 2], b = 0.1> (x, \"\", w)\n"
                           "  y = G(t)\n"
                           "}\n"
                           "\n"
                           "<\n"
                           "  opset_import: [\"\" : 20],\n"
                           "  domain: \"loc\"\n"
                           ">\n"
                           "f <a, b = 1.0> (x, y, z) => (w) {\n"
                           "  w = F <k: ints = @a> (x)\n"
                           "}\n");
    free(text);
}
END_TEST

START_TEST(every_number_reads_back_to_its_bits) {
    static const float floats[] = {
        0.1f, 1e-45f, 3.4028235e38f, -0.0f, 16777217.0f, 1.0f / 3};
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        char text[256];
        snprintf(text, sizeof text,
            HEAD "g (float[2] x) => (float[2] y) <float[1] w = {%.9g}> { y = F(x, w) }",
            (double)floats[i]);
        char *printed = round_trip(text);
        struct tn__model *model = read_model(printed);
        ck_assert_mem_eq(
            value(model->graph, "w")->constant->data, &floats[i], sizeof(float));
        tn__model_destroy(model);
        free(printed);
    }
}
END_TEST

START_TEST(large_tensors_may_be_left_out) {
    struct tn_text out = {0};
    struct tn__model *model = read_model(
        HEAD "g (float[2] x) => (float[2] y) <float[3] w = {1, 2, 3}> { y = F(x, w) }");
    tn__text_print_graph(model->graph, 2, &out);
    ck_assert_ptr_nonnull(strstr(out.data, "float[3] w = {...}"));
    tn__text_free(&out);
    tn__model_destroy(model);
}
END_TEST

START_TEST(a_comma_locale_changes_nothing) {
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", NULL};
    for (size_t i = 0; locales[i]; i++) {
        if (setlocale(LC_ALL, locales[i])) break;
    }
    struct tn__model *model = read_model(
        HEAD "g (float[2] x) => (float[2] y) <float[1] w = {1.5}> { y = F(x, w) }");
    ck_assert(*(float *)value(model->graph, "w")->constant->data == 1.5f);
    tn__model_destroy(model);
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(errors_name_line_and_column) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        /* clang-format off */
        {"<ir_version: 10", "line 1, column 16: the text ends, expected '>'"},
        {"<ir_versoin: 10>", "line 1, column 2: found 'ir_versoin', expected a property such as opset_import"},
        {HEAD "\ng (x) = (y) {}", "line 2, column 7: found '=', expected '=>'"},
        {HEAD "g (float[2] x) => (float[2] y)\n{ y = F <a = > (x) }", "line 2, column 14: found '>', expected a name"},
        {HEAD "g (float[2] x) => (float[2] y)\n{ y = F <a = []> (x) }", "line 2, column 16: found '>', expected a type in front of an empty list"},
        {HEAD "g (float[2] x) => (float[2] y) <uint8[1] w =\n {256}> { y = F(x) }", "line 2, column 3: found '256', expected a number that fits the element type"},
        {HEAD "g (float[2] x) => (float[2] y) <float[N] w =\n {2}> { y = F(x) }", "line 2, column 2: found '{', expected a shape of numbers in front of data"},
        {HEAD "g (float[2] x) => (float[2] y)\n{ y = F <s = \"abc> (x) }", "line 2, column 14: a string has no end"},
        {HEAD "g (float[2] x) => (float[2] y)\n{ y = F <s = \"\\xg1\"> (x) }", "line 2, column 14: a string has an escape without two hexadecimal digits"},
        {HEAD "g (float[2] x) => (float[2] y)\n{ y = F(x) } $", "line 2, column 14: a character that is not part of the text format"},
        {HEAD "g (float[2] x) => (float[2] y)\n{ y = F <a: integer = 1> (x) }", "line 2, column 13: found 'integer', expected an attribute type"},
        {HEAD "g (float[2] x) => (float[2] y)\n{ y = F <a = @b> (x) }", "line 2, column 15: found 'b', expected a type in front of a reference"},
        {HEAD "g (float[2] x) => (float[2] y)\n{ y = F <a = 99999999999999999999> (x) }", "line 2, column 14: found '99999999999999999999', expected an integer of 64 bits"},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tn_diag diag = {0};
        struct tn__model *model = NULL;
        assert_fails(tn__text_read_model(
                         cases[i].text, strlen(cases[i].text), NULL, &model, &diag),
            diag, TN_INVALID_MODEL, cases[i].message);
        ck_assert_uint_eq(diag.rule, TN_RULE_TEXT_SYNTAX);
    }
}
END_TEST

START_TEST(nesting_in_text_is_bounded) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    char *text = malloc(200000), *at = text;
    at += sprintf(at, HEAD "g (");
    for (int i = 0; i < 30000; i++)
        at += sprintf(at, "seq(");
    assert_fails(tn__text_read_model(text, strlen(text), NULL, &model, &diag), diag,
        TN_LIMIT_EXCEEDED, "graphs or types nest deeper than 32 levels");
    free(text);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, a_model_has_what_its_text_says);
    tcase_add_test(tests, attributes_have_the_type_of_their_value);
    tcase_add_test(tests, a_subgraph_captures_outer_names);
    tcase_add_test(tests, functions_have_formals_defaults_and_overloads);
    tcase_add_test(tests, a_function_text_joins_a_model);
    tcase_add_test(tests, what_is_printed_reads_back);
    tcase_add_test(tests, printed_text_is_as_expected);
    tcase_add_test(tests, every_number_reads_back_to_its_bits);
    tcase_add_test(tests, large_tensors_may_be_left_out);
    tcase_add_test(tests, a_comma_locale_changes_nothing);
    tcase_add_test(tests, errors_name_line_and_column);
    tcase_add_test(tests, nesting_in_text_is_bounded);
}

UNIT_MAIN("text_format")
