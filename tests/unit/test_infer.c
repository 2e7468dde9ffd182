/* Inference of whole models: types, symbols, contents, declarations, subgraphs. */
#include "core/infer/infer.h"

#include "core/base/alloc.h"

#include "fake_graph.h"

static const char *const fake[] = {"fake"};
static struct tn__infer_options options;

static void set_up(void) {
    options =
        (struct tn__infer_options){.native = true, .providers = fake, .n_providers = 1};
    set_up_registry();
}

static tn_status infer(void) {
    return tn__infer_model(model, registry, &options, &diag);
}

#define assert_type(name, text)                                                          \
    do {                                                                                 \
        char buf_[128];                                                                  \
        ck_assert_str_eq(                                                                \
            tn__type_text(model->symbols, &value_of(name)->type, buf_, sizeof buf_),     \
            text);                                                                       \
    } while (0)

START_TEST(sizes_and_names_flow_from_inputs_to_outputs) {
    input("x", TN_FLOAT, "N 4");
    input("b", TN_FLOAT, "");
    node("Plus", "x b", "y");
    node("Copy", "y", "z");
    output("z");
    assert_ok(infer(), diag);
    assert_type("y", "float[N, 4]");
    assert_type("z", "float[N, 4]");
    assert_ok(tn__graph_verify(graph, &diag), diag);
}
END_TEST

START_TEST(contents_of_shape_tensors_become_dims) {
    const int64_t minus = -1, three = 3;
    input("x", TN_FLOAT, "N 4 6");
    constant("open", ints(&minus, 1));
    constant("three", ints(&three, 1));
    node("Dims", "x", "shape");
    node("Join", "open three", "wanted");
    node("Reform", "x wanted", "y");
    node("Fill", "shape", "same");
    node("Plus", "shape three", "longer");
    node("Fill", "longer", "z");
    output("y");
    output("same");
    output("z");
    assert_ok(infer(), diag);
    assert_type("shape", "int64[3]");
    assert_type("y", "float[8*N, 3]");
    assert_type("same", "float[N, 4, 6]");
    assert_type("z", "float[N + 3, 7, 9]");
}
END_TEST

START_TEST(a_content_of_known_length_gives_a_rank) {
    input("x", TN_FLOAT, "6");
    input("shape", TN_INT64, "2");
    node("Reform", "x shape", "y");
    output("y");
    assert_ok(infer(), diag);
    assert_type("y", "float[?, ?]");
    const struct tn_type *y = &value_of("y")->type;
    ck_assert_int_ne(y->dims[0], y->dims[1]);
}
END_TEST

START_TEST(values_of_attributes_are_constants_without_copy) {
    const int64_t sizes[] = {2, 3};
    struct tn_tensor *t = ints(sizes, 2);
    node_t("shape", t);
    node("Fill", "shape", "y");
    output("y");
    assert_ok(infer(), diag);
    assert_type("y", "float[2, 3]");
    ck_assert_ptr_eq(value_of("shape")->constant->data, t->data);
    ck_assert_str_eq(ops_text(graph), "Fill");
    assert_ok(tn__graph_verify(graph, &diag), diag);
}
END_TEST

START_TEST(declarations_and_results_complete_each_other) {
    input("x", TN_FLOAT, "N");
    node("Copy", "x", "y");
    node("Pick", "x", "i");
    node("Blind", "x", "z");
    declare(own("y"), TN_FLOAT, "8");
    declare(own("i"), TN_INT64, "found");
    declare(own("z"), TN_FLOAT, "M");
    output("y");
    output("i");
    output("z");
    assert_ok(infer(), diag);
    assert_type("y", "float[8]");
    assert_type("i", "int64[found]");
    assert_type("z", "float[M]");
}
END_TEST

START_TEST(a_contradiction_of_elements_names_both_types_and_the_node) {
    input("x", TN_FLOAT, "N 4");
    node("Copy", "x", "y");
    declare(own("y"), TN_DOUBLE, "N 4");
    output("y");
    assert_fails(infer(), diag, TN_INVALID_MODEL, "double[N, 4]");
    ck_assert_ptr_nonnull(strstr(diag.message, "float[N, 4]"));
    ck_assert_str_eq(diag.node, "Copy");
    ck_assert_str_eq(diag.tensor, "y");
}
END_TEST

/* CatBoost's exporter declares [N] for what its model gives as [N, 1]. */
START_TEST(a_contradiction_of_shapes_is_a_warning_and_the_node_is_right) {
    input("x", TN_FLOAT, "N 4");
    node("Copy", "x", "y");
    node("Copy", "y", "z");
    declare(own("y"), TN_FLOAT, "N");
    declare(own("z"), TN_FLOAT, "N 5");
    output("z");
    assert_ok(infer(), diag);
    assert_type("y", "float[N, 4]");
    assert_type("z", "float[N, 4]");
    ck_assert_uint_eq(model->n_warnings, 2);
    ck_assert_ptr_nonnull(strstr(model->warnings[0], "float[N],"));
    ck_assert_ptr_nonnull(strstr(model->warnings[1], "float[N, 5]"));
}
END_TEST

START_TEST(free_dimensions_are_overridden_by_name) {
    const struct tn_option n = {"N", "16"};
    options.dim_overrides = &n;
    options.n_dim_overrides = 1;
    input("x", TN_FLOAT, "N 4");
    node("Copy", "x", "y");
    output("y");
    assert_ok(infer(), diag);
    assert_type("x", "float[16, 4]");
    assert_type("y", "float[16, 4]");
}
END_TEST

START_TEST(a_wrong_override_says_what_there_is) {
    struct tn_option bad = {"M", "16"};
    options.dim_overrides = &bad;
    options.n_dim_overrides = 1;
    input("x", TN_FLOAT, "N batch");
    node("Copy", "x", "y");
    output("y");
    assert_fails(infer(), diag, TN_INVALID_ARGUMENT, "N, batch");
    bad = (struct tn_option){"N", "many"};
    assert_fails(infer(), diag, TN_INVALID_ARGUMENT, "'many'");
}
END_TEST

START_TEST(old_versions_are_upgraded) {
    start_model(1);
    input("x", TN_FLOAT, "N");
    node_f("Shift", "x", "y", "amount", 2.5f);
    output("y");
    assert_ok(infer(), diag);
    assert_type("y", "float[N]");
    const struct tn_node *shift = &graph->nodes[graph->first].view;
    ck_assert_int_eq(shift->since, 3);
    ck_assert_uint_eq(shift->n_inputs, 2);
    const struct tn_tensor *by = graph->values[shift->inputs[1]].constant;
    ck_assert(*(const float *)by->data == 2.5f);
}
END_TEST

START_TEST(nodes_that_an_upgrade_appends_come_before_their_readers) {
    start_model(1);
    input("x", TN_FLOAT, "N 4");
    node("Trail", "x", "a");
    node("Trail", "a", "b");
    node("Plus", "a b", "y");
    output("y");
    assert_ok(infer(), diag);
    ck_assert_str_eq(ops_text(graph), "Trail Gain Trail Gain Plus");
    assert_type("y", "float[N, 4]");
    assert_ok(tn__graph_verify(graph, &diag), diag);
}
END_TEST

START_TEST(newer_opsets_load_with_a_warning_unless_strict) {
    start_model(99);
    input("x", TN_FLOAT, "N");
    node("Copy", "x", "y");
    output("y");
    options.strict = true;
    assert_fails(infer(), diag, TN_UNSUPPORTED, "version 99 of domain 'fake'");
    options.strict = false;
    assert_ok(infer(), diag);
    ck_assert_uint_eq(model->n_warnings, 1);
    ck_assert_ptr_nonnull(strstr(model->warnings[0], "99"));
}
END_TEST

START_TEST(unknown_and_deprecated_operators_are_refused) {
    input("x", TN_FLOAT, "N");
    node("Gone", "x", "y");
    output("y");
    assert_fails(infer(), diag, TN_INVALID_MODEL, "Gone");
    start_model(3);
    input("x", TN_FLOAT, "N");
    node("Nowhere", "x", "y");
    output("y");
    assert_fails(infer(), diag, TN_UNSUPPORTED, "Nowhere");
}
END_TEST

/* then: y = x + x (captured), else: y = a content of another size */
static void build_branch(void) {
    input("x", TN_FLOAT, "N 4");
    input("cond", TN_BOOL, "");
    struct tn_graph *yes = begin_subgraph("yes");
    node("Plus", "x x", "sum");
    output("sum");
    end_subgraph();
    struct tn_graph *no = begin_subgraph("no");
    node("Dims", "x", "shape");
    node("Fill", "shape", "zeros");
    output("zeros");
    end_subgraph();
    node_g("Branch", "cond", "y", "then_branch", yes, "else_branch", no);
    output("y");
}

START_TEST(subgraphs_see_what_surrounds_them) {
    build_branch();
    assert_ok(infer(), diag);
    assert_type("y", "float[N, 4]");
}
END_TEST

START_TEST(a_loop_whose_state_grows_is_inferred_again_with_open_sizes) {
    const int64_t times = 3;
    input("x", TN_FLOAT, "4");
    constant("times", ints(&times, -1));
    struct tn_graph *body = begin_subgraph("body");
    assert_ok(tn__graph_add_input(graph, own("i"), &diag), diag);
    assert_ok(tn__graph_add_input(graph, own("s"), &diag), diag);
    node("Join", "s x", "longer");
    output("longer");
    end_subgraph();
    node_g("Repeat", "times x", "y", "body", body, NULL, NULL);
    output("y");
    assert_ok(infer(), diag);
    assert_type("y", "float[?]");
    const struct tn__value *inner = &body->values[tn__graph_find(body, "longer")];
    ck_assert_int_eq(inner->type.rank, -1);
}
END_TEST

START_TEST(subgraphs_that_nest_too_deep_are_refused) {
    input("x", TN_FLOAT, "N");
    input("cond", TN_BOOL, "");
    struct tn_graph *levels[130];
    for (int i = 0; i < 110; i++)
        levels[i] = begin_subgraph("level");
    node("Copy", "x", "y");
    output("y");
    for (int i = 109; i >= 0; i--) {
        end_subgraph();
        struct tn_graph *other = begin_subgraph("other");
        node("Copy", "x", "z");
        output("z");
        end_subgraph();
        node_g("Branch", "cond", "y", "then_branch", levels[i], "else_branch", other);
        output("y");
    }
    assert_fails(infer(), diag, TN_LIMIT_EXCEEDED, "nest deeper than 100");
}
END_TEST

START_TEST(edits_are_inferred_as_they_happen) {
    input("x", TN_FLOAT, "N 4");
    node("Copy", "x", "y");
    output("y");
    assert_ok(infer(), diag);
    tn_value_id x = tn__graph_find(graph, "x"), sum, pair[2] = {x, x};
    tn_node_id id;
    assert_ok(tn__graph_api.add_node(graph, graph->first, graph->first, "fake", "Plus", 0,
                  pair, 2, NULL, 0, &sum, 1, &id, &diag),
        diag);
    ck_assert_int_eq(graph->values[sum].type.rank, 2);
    ck_assert_int_eq(graph->values[sum].type.dims[1], 4);
    ck_assert_int_eq(graph->nodes[id].view.since, 1);
}
END_TEST

/* ---- sizes while running ---- */

struct sizes {
    struct tn_type types[16];
    int64_t dims[16][4];
    const struct tn_tensor *contents[16];
};

static const struct tn_type *env_type(void *arg, tn_value_id v) {
    return &((struct sizes *)arg)->types[v];
}

static const struct tn_tensor *env_content(void *arg, tn_value_id v) {
    return ((struct sizes *)arg)->contents[v];
}

static tn_status env_set_type(void *arg, tn_value_id v, const struct tn_type *type) {
    struct sizes *sizes = arg;
    sizes->types[v] = *type;
    sizes->types[v].dims = sizes->dims[v];
    if (type->rank > 0)
        memcpy(sizes->dims[v], type->dims, (size_t)type->rank * sizeof(int64_t));
    return TN_OK;
}

START_TEST(runs_infer_sizes_without_symbols_or_memory) {
    static struct sizes sizes;
    const int64_t minus_two[] = {-1, 2};
    tn_value_id x = input("x", TN_FLOAT, "N 4"), w = own("w");
    constant("w", ints(minus_two, 2));
    node("Reform", "x w", "y");
    node("Pick", "y", "i");
    output("i");
    assert_ok(infer(), diag);
    const int64_t dims[] = {3, 4};
    struct tn_type type = {
        .kind = TN_KIND_TENSOR, .dtype = TN_FLOAT, .rank = 2, .dims = dims};
    (void)env_set_type(&sizes, x, &type);
    sizes.contents[w] = value_of("w")->constant;
    struct tn__shape_env env = {.arg = &sizes,
        .type = env_type,
        .content = env_content,
        .set_type = env_set_type};
    uint64_t before = tn__alloc_count();
    for (tn_node_id id = graph->first; id != TN_NO_ID; id = graph->nodes[id].next)
        assert_ok(tn__infer_concrete(NULL, graph, id, &env, &diag), diag);
    ck_assert_uint_eq(tn__alloc_count(), before);
    tn_value_id y = tn__graph_find(graph, "y"), i = tn__graph_find(graph, "i");
    ck_assert_int_eq(sizes.types[y].rank, 2);
    ck_assert_int_eq(sizes.dims[y][0], 6);
    ck_assert_int_eq(sizes.dims[y][1], 2);
    ck_assert_int_eq(sizes.types[i].dtype, TN_INT64);
    ck_assert_int_eq(sizes.dims[i][0], TN_DIM_UNKNOWN);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, set_up, tear_down_registry);
    tcase_add_test(tests, sizes_and_names_flow_from_inputs_to_outputs);
    tcase_add_test(tests, contents_of_shape_tensors_become_dims);
    tcase_add_test(tests, a_content_of_known_length_gives_a_rank);
    tcase_add_test(tests, values_of_attributes_are_constants_without_copy);
    tcase_add_test(tests, declarations_and_results_complete_each_other);
    tcase_add_test(tests, a_contradiction_of_elements_names_both_types_and_the_node);
    tcase_add_test(tests, a_contradiction_of_shapes_is_a_warning_and_the_node_is_right);
    tcase_add_test(tests, free_dimensions_are_overridden_by_name);
    tcase_add_test(tests, a_wrong_override_says_what_there_is);
    tcase_add_test(tests, old_versions_are_upgraded);
    tcase_add_test(tests, nodes_that_an_upgrade_appends_come_before_their_readers);
    tcase_add_test(tests, newer_opsets_load_with_a_warning_unless_strict);
    tcase_add_test(tests, unknown_and_deprecated_operators_are_refused);
    tcase_add_test(tests, subgraphs_see_what_surrounds_them);
    tcase_add_test(tests, a_loop_whose_state_grows_is_inferred_again_with_open_sizes);
    tcase_add_test(tests, subgraphs_that_nest_too_deep_are_refused);
    tcase_add_test(tests, edits_are_inferred_as_they_happen);
    tcase_add_test(tests, runs_infer_sizes_without_symbols_or_memory);
}

UNIT_MAIN("infer")
