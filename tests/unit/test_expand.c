/* Bodies in place of wholes: functions of the model and operators that others express. */
#include "core/infer/infer.h"
#include "core/model/model.h"

#include "fake_graph.h"

static const char *const fake[] = {"fake"};
static struct tn__infer_options options;

static void set_up(void) {
    options = (struct tn__infer_options){.native = true,
        .providers = fake,
        .n_providers = 1,
        .read_function = tn__text_read_function};
    set_up_registry();
}

/* The main graph and the functions behind it, in the text format. */
static tn_status read_model(const char *text) {
    tn__model_destroy(model);
    model = NULL;
    tn_status status = tn__text_read_model(text, strlen(text), NULL, &model, &diag);
    if (status == TN_OK) graph = model->graph;
    return status;
}

static tn_status infer(void) {
    return tn__infer_model(model, registry, &options, &diag);
}

#define HEAD "<ir_version: 10, opset_import: [\"fake\" : 3, \"f\" : 1]> "
#define BODY "<domain: \"f\", opset_import: [\"fake\" : 3, \"f\" : 1]> "

static void load(const char *text) {
    assert_ok(read_model(text), diag);
    assert_ok(infer(), diag);
    assert_ok(tn__graph_verify(graph, &diag), diag);
}

static const struct tn_node *nth(const struct tn_graph *g, uint32_t i) {
    uint32_t n;
    const tn_node_id *ids = tn__graph_order(g, &n);
    ck_assert_uint_lt(i, n);
    return &g->nodes[ids[i]].view;
}

static float gain_of(const struct tn_node *view) {
    const struct tn_attr *k = tn_node_attr(view, "k");
    ck_assert_ptr_nonnull(k);
    return k->as.floats[0];
}

START_TEST(an_operator_without_a_kernel_becomes_its_body) {
    load(HEAD "g (float[N] x) => (float[N] y) { y = fake.Twice (x) }");
    ck_assert_str_eq(ops_text(graph), "Plus");
    ck_assert_uint_eq(nth(graph, 0)->inputs[0], graph->inputs[0]);
    ck_assert_uint_eq(nth(graph, 0)->outputs[0], graph->outputs[0]);
    ck_assert_str_eq(graph->values[graph->outputs[0]].name, "y");
}
END_TEST

START_TEST(references_take_the_attribute_or_its_default) {
    load(HEAD "g (float[N] x) => (float[N] z)"
              " { y = fake.Boost <k = 7.0> (x) z = fake.Boost (y) }");
    ck_assert_str_eq(ops_text(graph), "Gain Plus Gain Plus");
    ck_assert(gain_of(nth(graph, 0)) == 7);
    ck_assert(gain_of(nth(graph, 2)) == 3);
}
END_TEST

START_TEST(a_builder_makes_the_body_or_declines) {
    load(HEAD "g (float[N] x) => (float[N] y) { y = fake.Swell <n = 2> (x) }");
    ck_assert_str_eq(ops_text(graph), "Plus Plus");
    ck_assert_str_eq(graph->output_names[0], "y");
    load(HEAD "g (float[N] x) => (float[N] y) { y = fake.Swell <n = -1> (x) }");
    ck_assert_str_eq(ops_text(graph), "Swell");
}
END_TEST

START_TEST(functions_are_inlined_with_what_they_call) {
    load(HEAD "g (float[N] x) => (float[N] y) { y = f.outer (x) }" BODY
              "outer (a) => (b) { t = f.inner (a) b = fake.Times (t, a) }" BODY
              "inner (a) => (b) { b = fake.Twice (a) }");
    ck_assert_str_eq(ops_text(graph), "Plus Times");
}
END_TEST

START_TEST(names_that_clash_are_made_new) {
    load(HEAD "g (float[N] t) => (float[N] y)"
              " { u = f.twice (t) y = f.twice (u) }" BODY
              "twice (a) => (b) { t = fake.Copy (a) b = fake.Plus (t, a) }");
    ck_assert_str_eq(ops_text(graph), "Copy Plus Copy Plus");
    ck_assert_uint_ne(nth(graph, 0)->outputs[0], nth(graph, 2)->outputs[0]);
}
END_TEST

START_TEST(attributes_reach_nested_calls) {
    load(HEAD "g (float[N] x) => (float[N] y) { y = f.outer <s = 5.0> (x) }" BODY
              "outer <s> (a) => (b) { b = f.inner <r: float = @s> (a) }" BODY
              "inner <r: float = 2.0> (a) => (b) { b = fake.Gain <k: float = @r> (a) }");
    ck_assert_str_eq(ops_text(graph), "Gain");
    ck_assert(gain_of(nth(graph, 0)) == 5);
}
END_TEST

START_TEST(a_reference_to_nothing_leaves_the_attribute_out) {
    load(HEAD "g (float[N] x) => (float[N] y) { y = f.scale (x) }" BODY
              "scale <s> (a) => (b) { b = fake.Gain <k: float = @s> (a) }");
    ck_assert_str_eq(ops_text(graph), "Gain");
    ck_assert_uint_eq(nth(graph, 0)->n_attrs, 0);
}
END_TEST

START_TEST(a_function_may_return_its_input_or_a_value_twice) {
    load(HEAD "g (float[N] x) => (float[N] p, float[N] q, float[N] r)"
              " { p, q, r = f.many (x) }" BODY
              "many (a) => (a, t, t) { t = fake.Plus (a, a) }");
    ck_assert_str_eq(ops_text(graph), "Plus");
    ck_assert_uint_eq(graph->outputs[0], graph->inputs[0]);
    ck_assert_uint_eq(graph->outputs[1], graph->outputs[2]);
    ck_assert_str_eq(graph->output_names[0], "p");
    ck_assert_str_eq(graph->output_names[2], "r");
}
END_TEST

START_TEST(subgraphs_of_a_body_capture_and_take_references) {
    load(
        HEAD "g (float[N] x, bool c) => (float[N] y) { y = f.pick <s = 4.0> (c, x) }" BODY
             "pick <s> (cond, a) => (b) {"
             "  t = fake.Twice (a)"
             "  b = fake.Branch <then_branch = yes () => (float[N] p)"
             "      { p = fake.Gain <k: float = @s> (t) },"
             "    else_branch = no () => (float[N] q) { q = fake.Twice (a) }> (cond) }");
    ck_assert_str_eq(ops_text(graph), "Plus Branch");
    const struct tn_node *branch = nth(graph, 1);
    const struct tn_graph *yes = tn_node_attr(branch, "then_branch")->as.graphs[0];
    const struct tn_graph *no = tn_node_attr(branch, "else_branch")->as.graphs[0];
    ck_assert_str_eq(ops_text(yes), "Gain");
    ck_assert(gain_of(nth(yes, 0)) == 4);
    ck_assert_str_eq(ops_text(no), "Plus");
    ck_assert_ptr_eq(yes->parent, graph);
    ck_assert_uint_eq(yes->parent_node, branch->id);
    assert_ok(tn__graph_verify(yes, &diag), diag);
}
END_TEST

START_TEST(overloads_are_told_apart) {
    load(HEAD "g (float[N] x) => (float[N] y) { t = f.h:one (x) y = f.h:two (t) }"
              "<domain: \"f\", overload: \"one\", opset_import: [\"fake\" : 3]> "
              "h (a) => (b) { b = fake.Copy (a) }"
              "<domain: \"f\", overload: \"two\", opset_import: [\"fake\" : 3]> "
              "h (a) => (b) { b = fake.Gain (a) }");
    ck_assert_str_eq(ops_text(graph), "Copy Gain");
}
END_TEST

START_TEST(an_old_opset_of_a_function_is_its_own) {
    load(HEAD "g (float[N] x) => (float[N] y) { y = f.old (x) }"
              "<domain: \"f\", opset_import: [\"fake\" : 1]> "
              "old (a) => (b) { b = fake.Shift <amount = 2.0> (a) }");
    ck_assert_str_eq(ops_text(graph), "Shift");
    ck_assert_int_eq(nth(graph, 0)->since, 3);
    ck_assert_uint_eq(nth(graph, 0)->n_inputs, 2);
}
END_TEST

START_TEST(a_body_that_imports_nothing_follows_the_newest_definitions) {
    load("<ir_version: 10, opset_import: [\"fake\" : 1]> "
         "g (float[N] x) => (float[N] y) { y = fake.Lift (x) }");
    ck_assert_str_eq(ops_text(graph), "Shift");
    ck_assert_int_eq(nth(graph, 0)->since, 3);
    ck_assert_uint_eq(nth(graph, 0)->inputs[1], graph->inputs[0]);
    ck_assert_uint_eq(model->n_warnings, 0);
}
END_TEST

START_TEST(a_kernel_of_the_same_name_is_chosen_before_the_function) {
    const char *text = HEAD "g (float[N] x) => (float[N] y) { y = fake.Copy (x) }"
                            "<domain: \"fake\", opset_import: [\"fake\" : 3]> "
                            "Copy (a) => (b) { b = fake.Gain (a) }";
    load(text);
    ck_assert_str_eq(ops_text(graph), "Copy");
    options.native = false;
    load(text);
    ck_assert_str_eq(ops_text(graph), "Gain");
}
END_TEST

START_TEST(circles_and_floods_of_calls_end) {
    assert_fails(read_model(HEAD "g (float[N] x) => (float[N] y) { y = f.a (x) }" BODY
                                 "a (p) => (q) { q = f.b (p) }" BODY
                                 "b (p) => (q) { q = f.a (p) }"),
        diag, TN_INVALID_MODEL, "a");
    char text[4096];
    size_t used = (size_t)snprintf(
        text, sizeof text, HEAD "g (float[N] x) => (float[N] y) { y = f.f0 (x) }");
    for (int i = 0; i < 24; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
            BODY "f%d (a) => (b) { t = f.f%d (a) b = f.f%d (t) }", i, i + 1, i + 1);
    snprintf(
        text + used, sizeof text - used, BODY "f24 (a) => (b) { b = fake.Gain (a) }");
    options.max_nodes = 5000;
    assert_ok(read_model(text), diag);
    assert_fails(infer(), diag, TN_LIMIT_EXCEEDED, "more than 5000 nodes");
}
END_TEST

START_TEST(a_call_with_too_many_inputs_is_refused) {
    assert_ok(read_model(HEAD "g (float[N] x) => (float[N] y) { y = f.one (x, x) }" BODY
                              "one (a) => (b) { b = fake.Copy (a) }"),
        diag);
    assert_fails(infer(), diag, TN_INVALID_MODEL, "2 inputs");
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, set_up, tear_down_registry);
    tcase_add_test(tests, an_operator_without_a_kernel_becomes_its_body);
    tcase_add_test(tests, references_take_the_attribute_or_its_default);
    tcase_add_test(tests, a_builder_makes_the_body_or_declines);
    tcase_add_test(tests, functions_are_inlined_with_what_they_call);
    tcase_add_test(tests, names_that_clash_are_made_new);
    tcase_add_test(tests, attributes_reach_nested_calls);
    tcase_add_test(tests, a_reference_to_nothing_leaves_the_attribute_out);
    tcase_add_test(tests, a_function_may_return_its_input_or_a_value_twice);
    tcase_add_test(tests, subgraphs_of_a_body_capture_and_take_references);
    tcase_add_test(tests, overloads_are_told_apart);
    tcase_add_test(tests, an_old_opset_of_a_function_is_its_own);
    tcase_add_test(tests, a_body_that_imports_nothing_follows_the_newest_definitions);
    tcase_add_test(tests, a_kernel_of_the_same_name_is_chosen_before_the_function);
    tcase_add_test(tests, circles_and_floods_of_calls_end);
    tcase_add_test(tests, a_call_with_too_many_inputs_is_refused);
}

UNIT_MAIN("expand")
