/* The graph room: uses stay exact through every edit, order is stable, cycles are named. */
#include "unit.h"

#include "core/graph/graph.h"

#include <string.h>

static struct tn__model *model;
static struct tn_graph *g;

static void setup(void) {
    model = tn__model_create();
    ck_assert_ptr_nonnull(model);
    g = tn__graph_create(model, NULL);
    model->graph = g;
}

static void teardown(void) {
    tn__model_destroy(model);
}

static tn_value_id value(const char *name) {
    tn_value_id v = tn__graph_find(g, name);
    return v == TN_NO_ID ? tn__graph_add_value(g, name) : v;
}

/* A node op(a, b) -> out; b may be NULL. */
static tn_node_id node(const char *op, const char *a, const char *b, const char *out) {
    struct tn_diag diag = {0};
    tn_value_id in[2] = {value(a), b ? value(b) : TN_NO_ID}, result = value(out);
    tn_node_id id;
    assert_ok(tn__graph_add_node(g, TN_NO_ID, op, "", op, in, b ? 2 : 1, &result, 1, NULL,
                  0, &id, &diag),
        diag);
    return id;
}

static void chain(void) {
    struct tn_diag diag = {0};
    assert_ok(tn__graph_add_input(g, value("x"), &diag), diag);
    node("p", "x", NULL, "a");
    node("q", "a", "x", "b");
    node("r", "b", NULL, "y");
    assert_ok(tn__graph_add_output(g, value("y"), &diag), diag);
}

static void verify(void) {
    struct tn_diag diag = {0};
    assert_ok(tn__graph_verify(g, &diag), diag);
}

START_TEST(sort_leaves_a_sorted_graph_alone) {
    struct tn_diag diag = {0};
    bool changed = true;
    chain();
    assert_ok(tn__graph_sort(g, &changed, &diag), diag);
    ck_assert(!changed);
    verify();
}
END_TEST

START_TEST(sort_puts_producers_first) {
    struct tn_diag diag = {0};
    bool changed = false;
    assert_ok(tn__graph_add_input(g, value("x"), &diag), diag);
    node("r", "b", NULL, "y");
    node("q", "a", "x", "b");
    node("p", "x", NULL, "a");
    ck_assert_int_eq(tn__graph_verify(g, NULL), TN_INTERNAL);
    assert_ok(tn__graph_sort(g, &changed, &diag), diag);
    ck_assert(changed);
    verify();
    uint32_t n;
    const tn_node_id *order = tn__graph_order(g, &n);
    ck_assert_uint_eq(n, 3);
    ck_assert_str_eq(g->nodes[order[0]].view.name, "p");
    ck_assert_str_eq(g->nodes[order[2]].view.name, "r");
}
END_TEST

START_TEST(sort_names_the_nodes_of_a_cycle) {
    struct tn_diag diag = {0};
    node("p", "b", NULL, "a");
    node("q", "a", NULL, "b");
    node("r", "b", NULL, "c");
    ck_assert_int_eq(tn__graph_sort(g, NULL, &diag), TN_INVALID_MODEL);
    ck_assert_ptr_nonnull(strstr(diag.message, "'p'"));
    ck_assert_ptr_nonnull(strstr(diag.message, "'q'"));
    ck_assert_ptr_null(strstr(diag.message, "'r'"));
}
END_TEST

START_TEST(replace_uses_moves_readers_and_outputs) {
    struct tn_diag diag = {0};
    chain();
    assert_ok(tn__graph_api.replace_uses(g, value("b"), value("a"), &diag), diag);
    assert_ok(tn__graph_api.replace_uses(g, value("y"), value("a"), &diag), diag);
    ck_assert_uint_eq(g->outputs[0], value("a"));
    ck_assert_str_eq(g->output_names[0], "y");
    ck_assert_uint_eq(tn__graph_sweep(g), 2);
    ck_assert_uint_eq(g->n_live, 1);
    verify();
}
END_TEST

START_TEST(remove_node_refuses_while_it_is_read) {
    struct tn_diag diag = {0};
    chain();
    ck_assert_int_eq(tn__graph_api.remove_node(g, 0, &diag), TN_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(diag.message, "still read"));
    verify();
}
END_TEST

START_TEST(set_input_grows_and_shrinks) {
    struct tn_diag diag = {0};
    chain();
    assert_ok(tn__graph_api.set_input(g, 2, 3, value("x"), &diag), diag);
    ck_assert_uint_eq(g->nodes[2].view.n_inputs, 4);
    ck_assert_uint_eq(g->nodes[2].view.inputs[1], TN_NO_ID);
    verify();
    assert_ok(tn__graph_api.set_input(g, 2, 3, TN_NO_ID, &diag), diag);
    ck_assert_uint_eq(g->nodes[2].view.n_inputs, 1);
    verify();
    ck_assert_int_eq(tn__graph_api.set_input(g, 99, 0, 0, NULL), TN_INVALID_ARGUMENT);
    ck_assert_int_eq(tn__graph_api.set_input(g, 0, 0, 1000, NULL), TN_INVALID_ARGUMENT);
}
END_TEST

START_TEST(detach_lets_another_node_produce_the_old_value) {
    struct tn_diag diag = {0};
    tn_value_id fresh, old, out;
    tn_node_id id;
    chain();
    assert_ok(tn__graph_api.detach_output(g, 2, 0, &fresh, &old, &diag), diag);
    ck_assert_uint_eq(old, value("y"));
    assert_ok(tn__graph_api.add_node(
                  g, TN_NO_ID, 2, "", "s", 0, &fresh, 1, NULL, 0, &out, 1, &id, &diag),
        diag);
    assert_ok(tn__graph_api.attach_output(g, id, 0, old, &diag), diag);
    ck_assert_uint_eq(g->values[old].producer, id);
    verify();
}
END_TEST

START_TEST(attributes_are_copied_with_their_data) {
    struct tn_diag diag = {0};
    chain();
    int64_t ints[2] = {4, 5};
    struct tn_attr attr = {"axes", TN_ATTR_INTS, 2, {.ints = ints}, NULL};
    assert_ok(tn__graph_api.set_attr(g, 0, &attr, &diag), diag);
    ints[0] = 99;
    const struct tn_attr *kept = tn_node_attr(&g->nodes[0].view, "axes");
    ck_assert_int_eq(kept->as.ints[0], 4);
    assert_ok(tn__graph_api.remove_attr(g, 0, "axes"), diag);
    ck_assert_ptr_null(tn_node_attr(&g->nodes[0].view, "axes"));
}
END_TEST

START_TEST(captures_link_scopes_and_go_with_their_readers) {
    struct tn_diag diag = {0};
    chain();
    struct tn_graph *sub = tn__graph_create(model, g);
    tn_value_id inner = tn__graph_capture(sub, "a"), out = tn__graph_add_value(sub, "z");
    ck_assert_uint_ne(inner, TN_NO_ID);
    ck_assert_uint_eq(tn__graph_capture(sub, "nowhere"), TN_NO_ID);
    tn_node_id id;
    assert_ok(tn__graph_add_node(
                  sub, TN_NO_ID, "s", "", "s", &inner, 1, &out, 1, NULL, 0, &id, &diag),
        diag);
    struct tn_attr attr = {"body", TN_ATTR_GRAPH, 1, {.graphs = &sub}, NULL};
    tn_value_id held = value("held");
    assert_ok(tn__graph_add_node(
                  g, TN_NO_ID, "h", "", "h", NULL, 0, &held, 1, &attr, 1, &id, &diag),
        diag);
    tn__subgraph_attach(sub, id);
    assert_ok(tn__graph_add_output(g, held, &diag), diag);
    verify();
    ck_assert_int_eq(tn__graph_api.is_visible(g, value("a")), 1);
    const tn_node_id *ids;
    uint32_t n;
    tn__graph_api.consumers(g, value("a"), &ids, &n);
    ck_assert_uint_eq(n, 2); /* q and the holder */
    /* the subgraph's node is dead (nobody reads z): the sweep takes node and capture */
    ck_assert_uint_eq(tn__graph_sweep(g), 1);
    ck_assert_int_eq(tn__graph_api.is_visible(g, value("a")), 0);
    verify();
}
END_TEST

START_TEST(a_value_with_many_readers_is_let_go_in_linear_time) {
    enum { READERS = 200000 };
    struct tn_diag diag = {0};
    tn_value_id x = value("x"), out;
    tn_node_id id;
    assert_ok(tn__graph_add_input(g, x, &diag), diag);
    for (uint32_t i = 0; i < READERS; i++) {
        out = tn__graph_add_value(g, NULL);
        assert_ok(tn__graph_add_node(
                      g, TN_NO_ID, "", "", "p", &x, 1, &out, 1, NULL, 0, &id, &diag),
            diag);
    }
    ck_assert_uint_eq(tn__graph_sweep(g), READERS);
    ck_assert_uint_eq(g->values[x].n_uses, 0);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, sort_leaves_a_sorted_graph_alone);
    tcase_add_test(tests, sort_puts_producers_first);
    tcase_add_test(tests, sort_names_the_nodes_of_a_cycle);
    tcase_add_test(tests, replace_uses_moves_readers_and_outputs);
    tcase_add_test(tests, remove_node_refuses_while_it_is_read);
    tcase_add_test(tests, set_input_grows_and_shrinks);
    tcase_add_test(tests, detach_lets_another_node_produce_the_old_value);
    tcase_add_test(tests, attributes_are_copied_with_their_data);
    tcase_add_test(tests, captures_link_scopes_and_go_with_their_readers);
    tcase_add_test(tests, a_value_with_many_readers_is_let_go_in_linear_time);
}

UNIT_MAIN("graph")
