/* The loader rules about models, graphs, nodes and functions: each is broken once, and the
 * code, the rule's number and the whole sentence are what a user may rely on. */
#include "model_bytes.h"
#include "unit.h"

#include "core/model/rules.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "
#define MODEL HEAD "g (float[2] x) => (float[2] y) { [n] y = F <a = 1> (x) }"
#define MEMORY "the model from memory: "

/* ---- edits that the text format cannot express ---------------------------------------- */

static void no_ir(Onnx__ModelProto *m) {
    m->has_ir_version = 0;
}
static void no_graph(Onnx__ModelProto *m) {
    m->graph = NULL;
}
static void big_opset(Onnx__ModelProto *m) {
    m->opset_import[0]->version = INT64_C(1) << 31;
}
static void no_input_name(Onnx__ModelProto *m) {
    m->graph->input[0]->name = NULL;
}
static void no_output_name(Onnx__ModelProto *m) {
    m->graph->output[0]->name = NULL;
}
static void no_initializer_name(Onnx__ModelProto *m) {
    m->graph->initializer[0]->name = NULL;
}
static void no_op_type(Onnx__ModelProto *m) {
    m->graph->node[0]->op_type = NULL;
}
static void no_edges(Onnx__ModelProto *m) {
    m->graph->node[1]->n_input = m->graph->node[1]->n_output = 0;
}
static void no_attr_name(Onnx__ModelProto *m) {
    m->graph->node[0]->attribute[0]->name = NULL;
}
static void no_attr_type(Onnx__ModelProto *m) {
    m->graph->node[0]->attribute[0]->has_type = 0;
}
static void new_attr_type(Onnx__ModelProto *m) {
    m->graph->node[0]->attribute[0]->type = 15;
}
static void two_attr_values(Onnx__ModelProto *m) {
    m->graph->node[0]->attribute[0]->has_f = 1;
    m->graph->node[0]->attribute[0]->f = 2.5f;
}
static void other_attr_value(Onnx__ModelProto *m) {
    m->graph->node[0]->attribute[0]->type = TN_ATTR_FLOAT;
}
static void no_attr_tensor(Onnx__ModelProto *m) {
    m->graph->node[0]->attribute[0]->has_i = 0;
    m->graph->node[0]->attribute[0]->type = TN_ATTR_TENSOR;
}
static void ref_with_value(Onnx__ModelProto *m) {
    Onnx__AttributeProto *a = m->functions[0]->node[0]->attribute[0];
    a->has_i = 1;
    a->i = 3;
}
static void no_function_name(Onnx__ModelProto *m) {
    m->functions[0]->name = NULL;
}
static void no_function_opset(Onnx__ModelProto *m) {
    m->functions[0]->n_opset_import = 0;
}
static void no_type(Onnx__ModelProto *m) {
    m->graph->input[0]->type = NULL;
}

/* clang-format off */
static const struct rule_case cases[] = {
    {TN_RULE_IR_MISSING, TN_INVALID_MODEL, false, MODEL, no_ir,
        MEMORY "ir_version is 0, expected 1 to 14; this is no ONNX model or it is damaged"},
    {TN_RULE_IR_NEWER, TN_INVALID_MODEL, true,
        "<ir_version: 15, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = F(x) }", NULL,
        "the model has IR version 15, newer than the newest known, 14"},
    {TN_RULE_OPSET_MISSING, TN_INVALID_MODEL, false,
        "<ir_version: 3> g (float[2] x) => (float[2] y) { y = F(x) }", NULL,
        MEMORY "a model of IR 3 imports no opset, expected at least one"},
    {TN_RULE_OPSET_UNEXPECTED, TN_INVALID_MODEL, true,
        "<ir_version: 2, opset_import: [\"\" : 1]> g (float[2] x) => (float[2] y) { y = F(x) }", NULL,
        "the model imports opsets, which IR 2 does not know; they are used"},
    {TN_RULE_OPSET_VERSION, TN_INVALID_MODEL, false, MODEL, big_opset,
        "the model imports version 2147483648 of domain 'ai.onnx', expected 1 to 2147483647"},
    {TN_RULE_OPSET_TWICE, TN_INVALID_MODEL, false,
        "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx\" : 16]> g (float[2] x) => (float[2] y) { y = F(x) }", NULL,
        "the model imports domain 'ai.onnx' at two versions, 17 and 16"},
    {TN_RULE_METADATA_TWICE, TN_INVALID_MODEL, false,
        "<ir_version: 8, opset_import: [\"\" : 17], metadata_props: [\"k\": \"1\", \"j\": \"2\", \"k\": \"3\"]>"
        " g (float[2] x) => (float[2] y) { y = F(x) }", NULL,
        "the model has metadata 'k' twice"},
    {TN_RULE_GRAPH_MISSING, TN_INVALID_MODEL, false, MODEL, no_graph, MEMORY "the model has no graph"},

    {TN_RULE_INPUT_NAME, TN_INVALID_MODEL, false, MODEL, no_input_name, "graph 'g': input 0 has no name"},
    {TN_RULE_INPUT_TWICE, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x, float[2] x) => (float[2] y) { y = F(x) }", NULL,
        "graph 'g': input 'x' is defined twice"},
    {TN_RULE_INPUT_TYPE, TN_INVALID_MODEL, false, MODEL, no_type,
        "input 'x' of the model declares no element type; export the model with one"},
    {TN_RULE_INPUT_TYPE, TN_INVALID_MODEL, true,
        HEAD "g (float x) => (float[2] y) { y = F(x) }", NULL, "input 'x' of the model declares no rank"},
    {TN_RULE_OUTPUT_TYPE, TN_INVALID_MODEL, true,
        HEAD "g (float[2] x) => (y) { y = F(x) }", NULL, "output 'y' of the model declares no type"},
    {TN_RULE_INITIALIZER_NAME, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x) => (float[2] y) <float w = {1}> { y = F(x, w) }", no_initializer_name,
        "graph 'g': an initializer has no name"},
    {TN_RULE_INITIALIZER_TWICE, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x) => (float[2] y) <float w = {1}, sparse_tensor(float[1]) w = [0] {1}> { y = F(x, w) }", NULL,
        "graph 'g': initializer 'w' is defined twice"},
    {TN_RULE_INITIALIZER_INPUT, TN_INVALID_MODEL, true,
        "<ir_version: 3, opset_import: [\"\" : 8]> g (float[2] x) => (float[2] y) <float w = {1}> { y = F(x, w) }", NULL,
        "graph 'g': initializer 'w' is no input of the graph, as IR 3 asks for"},
    {TN_RULE_INITIALIZER_TYPE, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x, double w) => (float[2] y) <float w = {1}> { y = F(x, w) }", NULL,
        "graph 'g': initializer 'w' is float, the input of its name is double"},
    {TN_RULE_NAME_TWICE, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x) => (float[2] y) { y = F(x) y = G(x) }", NULL,
        "graph 'g': node output 'y' is defined twice"},
    {TN_RULE_NAME_TWICE, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x) => (float[2] y) { y = F(x) x = G(y) }", NULL,
        "graph 'g': node output 'x' is defined twice"},
    {TN_RULE_NAME_SHADOWS, TN_INVALID_MODEL, true,
        HEAD "g (float[2] x, bool[] c) => (float[2] y) { y = F <b: graph = s () => (x) { x = G(c) }> (c) }", NULL,
        "graph 's': node output 'x' has the name of a value of the enclosing graph 'g'"},
    {TN_RULE_OUTPUT_NAME, TN_INVALID_MODEL, false, MODEL, no_output_name, "graph 'g': output 0 has no name"},
    {TN_RULE_OUTPUT_UNDEFINED, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x) => (float[2] z) { y = F(x) }", NULL,
        "graph 'g': output 'z' is no input, initializer or node output of this graph"},
    {TN_RULE_OUTPUT_UNDEFINED, TN_INVALID_MODEL, false, /* an outer name is not enough */
        HEAD "g (float[2] x, bool[] c) => (float[2] y) { y = F <b: graph = s () => (x) { z = G(c) }> (c) }", NULL,
        "graph 's': output 'x' is no input, initializer or node output of this graph"},
    {TN_RULE_VALUE_UNDEFINED, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x) => (float[2] y) { [n] y = F(x, q) }", NULL,
        "node 'n' (F): input 1 is 'q', which no node, input or initializer defines"},
    {TN_RULE_CYCLE, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x) => (float[2] y) { [p] y = F(x, z) [q] z = G(y) }", NULL,
        "the graph 'g' has a cycle of 2 nodes: 'q' → 'p' waits for itself"},
    {TN_RULE_CYCLE, TN_INVALID_MODEL, false, /* through what a subgraph captures */
        HEAD "g (float[2] x) => (float[2] y) { [p] y = F <b: graph = s () => (z) { z = G(y) }> (x) }", NULL,
        "the graph 'g' has a cycle of 1 nodes: 'p' waits for itself"},
    {TN_RULE_ORDER, TN_INVALID_MODEL, true,
        HEAD "g (float[2] x) => (float[2] y) { y = F(t) t = G(x) }", NULL,
        "graph 'g': its nodes are not in topological order; they were sorted"},

    {TN_RULE_NODE_OP_TYPE, TN_INVALID_MODEL, false, MODEL, no_op_type, "node 'n' (): it names no operator"},
    {TN_RULE_NODE_EMPTY, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x) => (float[2] y) { y = F(x) [m] z = G(x) }", no_edges,
        "node 'm' (G): it has neither inputs nor outputs"},
    {TN_RULE_NODE_DOMAIN, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x) => (float[2] y) { [n] y = com.example.F(x) }", NULL,
        "node 'n' (F): its domain 'com.example' is not imported; add it to opset_import"},
    {TN_RULE_ATTR_NAME, TN_INVALID_MODEL, false, MODEL, no_attr_name, "an attribute has no name"},
    {TN_RULE_ATTR_TWICE, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x) => (float[2] y) { y = F <a = 1, b = 2, a = 3> (x) }", NULL,
        "attribute 'a' is given twice"},
    {TN_RULE_ATTR_TYPE, TN_INVALID_MODEL, false, MODEL, no_attr_type,
        "attribute 'a' has type 0, expected 1 to 14"},
    {TN_RULE_ATTR_TYPE, TN_INVALID_MODEL, false, MODEL, new_attr_type,
        "attribute 'a' has type 15, expected 1 to 14"},
    {TN_RULE_ATTR_VALUE, TN_INVALID_MODEL, false, MODEL, two_attr_values,
        "attribute 'a' of type 2 has 2 values set, expected the one of its type"},
    {TN_RULE_ATTR_VALUE, TN_INVALID_MODEL, false, MODEL, other_attr_value,
        "attribute 'a' of type 1 has 1 values set, expected the one of its type"},
    {TN_RULE_ATTR_VALUE, TN_INVALID_MODEL, false, MODEL, no_attr_tensor,
        "attribute 'a' of type 4 has 0 values set, expected the one of its type"},
    {TN_RULE_ATTR_REF_PLACE, TN_INVALID_MODEL, false,
        HEAD "g (float[2] x) => (float[2] y) { y = F <a: int = @b> (x) }", NULL,
        "attribute 'a' refers to 'b' outside of a function"},
    {TN_RULE_ATTR_REF_VALUE, TN_INVALID_MODEL, false,
        MODEL " <domain: \"d\", opset_import: [\"\" : 17]> f <b> (x) => (y) { y = F <a: int = @b> (x) }", ref_with_value,
        "attribute 'a' refers to 'b' and has a value too, expected one of them"},
    {TN_RULE_ATTR_REF_UNKNOWN, TN_INVALID_MODEL, false,
        MODEL " <domain: \"d\", opset_import: [\"\" : 17]> f <b> (x) => (y) { y = F <a: int = @c> (x) }", NULL,
        "attribute 'a' refers to 'c', which is no attribute of function 'f'"},

    {TN_RULE_FUNCTION_NAME, TN_INVALID_MODEL, false,
        MODEL " <domain: \"d\", opset_import: [\"\" : 17]> f (x) => (y) { y = F(x) }", no_function_name,
        "function 0 of the model has no name"},
    {TN_RULE_FUNCTION_TWICE, TN_INVALID_MODEL, false,
        MODEL " <domain: \"d\", opset_import: [\"\" : 17]> f (x) => (y) { y = F(x) }"
              " <domain: \"d\", opset_import: [\"\" : 17]> f (x) => (y) { y = F(x) }", NULL,
        "function 'f' of domain 'd' (overload '') is defined twice"},
    {TN_RULE_FUNCTION_FORMAL, TN_INVALID_MODEL, false,
        MODEL " <domain: \"d\", opset_import: [\"\" : 17]> f (x, x) => (y) { y = F(x) }", NULL,
        "function 'f': input 'x' is unnamed or given twice"},
    {TN_RULE_FUNCTION_FORMAL, TN_INVALID_MODEL, false,
        MODEL " <domain: \"d\", opset_import: [\"\" : 17]> f <a, a = 1> (x) => (y) { y = F(x) }", NULL,
        "function 'f': attribute 'a' is unnamed or given twice"},
    {TN_RULE_FUNCTION_OUTPUT, TN_INVALID_MODEL, false,
        MODEL " <domain: \"d\", opset_import: [\"\" : 17]> f (x) => (z) { y = F(x) }", NULL,
        "function 'f': nothing in it defines its output 'z'"},
    {TN_RULE_FUNCTION_RECURSION, TN_INVALID_MODEL, false,
        MODEL " <domain: \"d\", opset_import: [\"\" : 17, \"d\" : 1]> f (x) => (y) { y = d.h(x) }"
              " <domain: \"d\", opset_import: [\"\" : 17, \"d\" : 1]> h (x) => (y)"
              "   { y = F <b: graph = s () => (z) { z = d.f(x) }> (x) }", NULL,
        "function 'f' calls itself through 'h'"},
    {TN_RULE_FUNCTION_OPSET, TN_INVALID_MODEL, true,
        MODEL " <domain: \"d\", opset_import: [\"\" : 17]> f (x) => (y) { y = F(x) }", no_function_opset,
        "function 'f' imports no opset; the model's are used"},
};
/* clang-format on */

START_TEST(each_broken_rule_is_named) {
    check_rule_cases(cases, sizeof cases / sizeof cases[0]);
}
END_TEST

START_TEST(every_rule_of_these_groups_is_tested) {
    static const uint32_t elsewhere[] = {0};
    size_t n = sizeof cases / sizeof cases[0];
    check_rule_coverage(cases, n, 200, 499, elsewhere);
    check_rule_coverage(cases, n, 700, 799, elsewhere);
}
END_TEST

START_TEST(rule_numbers_are_unique_and_have_a_text) {
    uint32_t number, last = 0;
    const char *name, *text;
    for (uint32_t i = 0; tn__rule_at(i, &number, &name, &text); i++) {
        ck_assert_msg(number > last, "rule %u (%s) is out of order", number, name);
        ck_assert_str_eq(tn__rule_text(number), text);
        last = number;
    }
    ck_assert_ptr_null(tn__rule_text(1));
}
END_TEST

START_TEST(what_is_tolerated_gives_one_warning_a_rule) {
    static const char text[] = "<ir_version: 15, opset_import: [\"\" : 17]> g (float x) "
                               "=> (y, z) { y = F(t) t = G(x) z = F(y) }";
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    assert_ok(tn__text_read_model(text, sizeof text - 1, NULL, &model, &diag), diag);
    ck_assert_uint_eq(
        model->n_warnings, 4); /* IR, input rank, output types once, order */
    ck_assert_str_eq(model->warnings[0],
        "the model has IR version 15, newer than the newest known, 14");
    tn__model_destroy(model);
}
END_TEST

/* skl2onnx writes the same import twice. */
START_TEST(a_domain_imported_again_at_its_version_is_one_import) {
    static const char text[] = "<ir_version: 8, opset_import: [\"ai.onnx.ml\" : 1, \"\" "
                               ": 17, \"ai.onnx\" : 17]> "
                               "g (float[2] x) => (float[2] y) { y = F(x) }";
    struct tn_diag diag = {0};
    struct tn__model *model = NULL;
    assert_ok(tn__text_read_model(text, sizeof text - 1, NULL, &model, &diag), diag);
    ck_assert_uint_eq(model->n_opsets, 2);
    ck_assert_int_eq(model->opsets[1].version, 17);
    tn__model_destroy(model);
}
END_TEST

START_TEST(limits_are_named) {
    static const char deep[] =
        HEAD "g (float[2] x) => (float[2] y) { y = F <b: graph = s () => (z) {"
             " z = G <b: graph = t () => (w) { w = H(x) }> (x) }> (x) }";
    struct tn_diag diag = {0};
    struct bytes bytes = bytes_from_text(deep, NULL);
    struct tn__load_options options = {.max_depth = 1};
    assert_fails(bytes_load(&bytes, &options, &diag), diag, TN_LIMIT_EXCEEDED,
        "attribute 'b': subgraphs nest deeper than the limit of 1");
    ck_assert_uint_eq(diag.rule, TN_RULE_LIMIT_DEPTH);
    options = (struct tn__load_options){.max_nodes = 2};
    assert_fails(bytes_load(&bytes, &options, &diag), diag, TN_LIMIT_EXCEEDED,
        "the model has more nodes than the limit of 2");
    ck_assert_uint_eq(diag.rule, TN_RULE_LIMIT_NODES);
    options = (struct tn__load_options){.max_file_bytes = 10};
    assert_fails(bytes_load(&bytes, &options, &diag), diag, TN_LIMIT_EXCEEDED,
        "bytes, the limit is 10");
    ck_assert_uint_eq(diag.rule, TN_RULE_LIMIT_FILE);
    bytes_free(&bytes);
}
END_TEST

/* A chain of n functions, each calling the next. */
static char *function_chain(unsigned n) {
    char *text = malloc(200 * (size_t)n + 400);
    ck_assert_ptr_nonnull(text);
    size_t used = (size_t)sprintf(text, "<ir_version: 8, opset_import: [\"\" : 17, \"d\" "
                                        ": 1]> g (float[2] x) => (float[2] y)"
                                        " { y = d.f0(x) }");
    for (unsigned i = 0; i < n; i++)
        used += (size_t)sprintf(text + used,
            "<domain: \"d\", opset_import: [\"\" : 17, \"d\" : 1]> f%u (x) => (y) { y = "
            "%s%u(x) }\n",
            i, i + 1 < n ? "d.f" : "F", i + 1);
    return text;
}

START_TEST(calls_nest_at_most_100_deep) {
    struct tn_diag diag = {0};
    char *text = function_chain(100);
    struct bytes bytes = bytes_from_text(text, NULL);
    assert_ok(bytes_load(&bytes, NULL, &diag), diag);
    bytes_free(&bytes);
    free(text);
    text = function_chain(101);
    bytes = bytes_from_text(text, NULL);
    assert_fails(bytes_load(&bytes, NULL, &diag), diag, TN_LIMIT_EXCEEDED,
        "function 'f0' calls others more than 100 deep");
    ck_assert_uint_eq(diag.rule, TN_RULE_LIMIT_FUNCTIONS);
    bytes_free(&bytes);
    free(text);
}
END_TEST

START_TEST(a_failure_names_node_operator_and_tensor) {
    static const char text[] = "<ir_version: 8, opset_import: [\"com.example\" : 1]> g "
                               "(float[2] x) => (float[2] y)"
                               " { [the_node] y = com.example.F(x, missing) }";
    struct tn_diag diag = {0};
    struct bytes bytes = bytes_from_text(text, NULL);
    ck_assert_int_eq(bytes_load(&bytes, NULL, &diag), TN_INVALID_MODEL);
    ck_assert_str_eq(diag.node, "the_node");
    ck_assert_str_eq(diag.op, "com.example.F");
    ck_assert_str_eq(diag.tensor, "missing");
    bytes_free(&bytes);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, each_broken_rule_is_named);
    tcase_add_test(tests, every_rule_of_these_groups_is_tested);
    tcase_add_test(tests, rule_numbers_are_unique_and_have_a_text);
    tcase_add_test(tests, what_is_tolerated_gives_one_warning_a_rule);
    tcase_add_test(tests, a_domain_imported_again_at_its_version_is_one_import);
    tcase_add_test(tests, limits_are_named);
    tcase_add_test(tests, calls_nest_at_most_100_deep);
    tcase_add_test(tests, a_failure_names_node_operator_and_tensor);
}

UNIT_MAIN("rules")
