/* Registration, resolution, upgrades, schema checks, kernel choice and evaluation, on
 * operators made for it. */
#include "core/registry/registry.h"

#include "core/base/alloc.h"
#include "registry_fixture.h"
#include "unit.h"

static struct tn_diag diag;
static struct tn__registry *registry;
static struct tn_graph *g;

static void setup(void) {
    fixture_shutdowns = 0;
    assert_ok(tn__registry_create(NULL, NULL, &registry, &diag), diag);
    assert_ok(tn__registry_add_static(registry, fixture_query, &diag), diag);
    g = NULL;
}

static void teardown(void) {
    if (g) fixture_graph_end(g);
    tn__registry_destroy(registry);
    ck_assert_int_eq(fixture_shutdowns, 1);
}

static const int32_t floats[] = {TN_FLOAT, TN_FLOAT}, ints[] = {TN_INT32, TN_INT32};
static const int64_t four = 4, minus = -1;
static const struct tn_attr shift_4 = {"shift", TN_ATTR_INT, 1, {.ints = &four}, NULL};
static const struct tn_attr shift_minus = {
    "shift", TN_ATTR_INT, 1, {.ints = &minus}, NULL};
static const float half = 0.5f;
static const struct tn_attr factor = {
    "factor", TN_ATTR_FLOAT, 1, {.floats = &half}, NULL};

/* One node, resolved. */
static struct tn__node *resolved(const char *op, int64_t opset, const int32_t *types,
    uint32_t n, const struct tn_attr *attrs, uint32_t n_attrs) {
    g = fixture_graph(op, opset, types, n, attrs, n_attrs);
    assert_ok(tn__resolve_node(registry, g, 0, &diag), diag);
    return tn__node_at(g, 0);
}

START_TEST(a_plugin_registers_once) {
    assert_ok(tn__registry_add_static(registry, fixture_query, &diag), diag);
    ck_assert_ptr_nonnull(tn__registry_op(registry, "t", "Sum"));
    ck_assert_ptr_null(tn__registry_op(registry, "u", "Sum"));
    ck_assert_ptr_null(tn__registry_op(registry, "t", "sum"));
    ck_assert_int_eq(tn__registry_domain_newest(registry, "t"), 5);
    ck_assert_int_eq(tn__registry_domain_newest(registry, "u"), 0);
}
END_TEST

START_TEST(nodes_resolve_to_the_version_their_model_imports) {
    static const struct {
        int64_t opset;
        int32_t since;
    } rows[] = {{1, 1}, {2, 1}, {3, 3}, {4, 3}, {5, 5}, {1000, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_int_eq(resolved("Sum", rows[i].opset, floats, 2, NULL, 0)->view.since,
            rows[i].since);
        fixture_graph_end(g);
    }
    g = NULL;
}
END_TEST

START_TEST(what_does_not_resolve_says_why) {
    g = fixture_graph("sum", 1, floats, 2, NULL, 0);
    assert_fails(tn__resolve_node(registry, g, 0, &diag), diag, TN_UNSUPPORTED,
        "did you mean 'Sum'?");
    ck_assert_ptr_nonnull(
        strstr(diag.message, "version 1 is unknown to the plugins asked"));
    ck_assert_ptr_nonnull(strstr(diag.node, "node"));
    fixture_graph_end(g);
    g = fixture_graph("Old", 4, floats, 0, NULL, 0);
    assert_fails(tn__resolve_node(registry, g, 0, &diag), diag, TN_INVALID_MODEL,
        "deprecated since version 4");
    fixture_graph_end(g);
    g = fixture_graph("Sum", 0, floats, 2, NULL, 0);
    assert_fails(tn__resolve_node(registry, g, 0, &diag), diag, TN_INVALID_MODEL,
        "does not import");
    fixture_graph_end(g);
    g = fixture_graph("Sum", 1, floats, 2, NULL, 0);
    tn__node_at(g, 0)->view.domain = "nowhere";
    assert_fails(tn__resolve_node(registry, g, 0, &diag), diag, TN_UNSUPPORTED,
        "no plugin was found");
}
END_TEST

START_TEST(upgrades_lead_to_the_newest_version) {
    uint32_t added = 7;
    struct tn__node *node = resolved("Sum", 1, floats, 2, &shift_4, 1);
    assert_ok(tn__upgrade_node(registry, g, 0, &added, &diag), diag);
    ck_assert_int_eq(node->view.since, 5);
    ck_assert_ptr_null(tn_node_attr(&node->view, "shift"));
    ck_assert_int_eq(tn_node_attr(&node->view, "bias")->as.ints[0], 4);
    ck_assert_uint_eq(added, 0);
}
END_TEST

START_TEST(an_upgrade_that_fails_names_the_step) {
    uint32_t added;
    resolved("Sum", 1, floats, 2, &shift_minus, 1);
    assert_fails(tn__upgrade_node(registry, g, 0, &added, &diag), diag, TN_INVALID_MODEL,
        "from version 1 to 3: shift is -1, expected >= 0");
}
END_TEST

START_TEST(upgrades_that_go_in_a_circle_end) {
    uint32_t added;
    resolved("Ring", 1, floats, 0, NULL, 0);
    assert_fails(
        tn__upgrade_node(registry, g, 0, &added, &diag), diag, TN_PLUGIN, "do not end");
}
END_TEST

START_TEST(the_schema_names_what_is_wrong) {
    static const int32_t mixed[] = {TN_FLOAT, TN_INT32},
                         doubles[] = {TN_DOUBLE, TN_FLOAT};
    static const struct tn_string text = {"x", 1};
    const struct tn_attr tag = {"tag", TN_ATTR_STRING, 1, {.strings = &text}, NULL};
    const struct tn_attr typo = {"fctor", TN_ATTR_FLOAT, 1, {.floats = &half}, NULL};
    const struct tn_attr wrong = {"factor", TN_ATTR_INT, 1, {.ints = &four}, NULL};
    const struct {
        const char *op;
        const int32_t *types;
        uint32_t n;
        const struct tn_attr *attrs;
        uint32_t n_attrs;
        const char *part;
    } rows[] = {
        {"Sum", floats, 1, NULL, 0, "lacks input 1 'B'"},
        {"Count", floats, 2, NULL, 0, "has 2 inputs, expected at most 1"},
        {"Scale", floats, 1, &tag, 1, "lacks the attribute 'factor' (float)"},
        {"Scale", floats, 1, &typo, 1, "did you mean 'factor'?"},
        {"Scale", floats, 1, &wrong, 1,
            "attribute 'factor' is of type int, expected float"},
        {"Sum", mixed, 2, NULL, 0,
            "input 0 'A' is a tensor of float, input 1 'B' is a tensor of int32"},
        {"Sum", doubles, 2, NULL, 0,
            "input 0 'A' has element type double, expected float, int32"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        resolved(rows[i].op, 5, rows[i].types, rows[i].n, rows[i].attrs, rows[i].n_attrs);
        assert_fails(tn__check_node(g, 0, &diag), diag, TN_INVALID_MODEL, rows[i].part);
        fixture_graph_end(g);
    }
    static const int32_t unknown[] = {0, TN_INT32};
    resolved("Sum", 5, unknown, 2, NULL, 0);
    assert_ok(tn__check_node(g, 0, &diag), diag);
    fixture_graph_end(g);
    resolved("Scale", 5, floats, 2, &factor, 1);
    assert_ok(tn__check_node(g, 0, &diag), diag);
}
END_TEST

START_TEST(the_newest_row_that_fits_is_chosen) {
    const struct tn__plugin *plugin = NULL;
    uint32_t reason = 99;
    char why[256];
    resolved("Sum", 5, floats, 2, NULL, 0);
    const struct tn_kernel_def *row =
        tn__registry_kernel(registry, "cpu", g, 0, &plugin, &reason, why, sizeof why);
    ck_assert_str_eq(row->name, "sum_3_f32");
    ck_assert_str_eq(plugin->desc->id, "org.tenon.fixture");
    ck_assert_uint_eq(reason, TN_REASON_OK);
    fixture_graph_end(g);
    resolved("Sum", 5, ints, 2, NULL, 0);
    row = tn__registry_kernel(registry, "cpu", g, 0, NULL, NULL, NULL, 0);
    ck_assert_str_eq(row->name, "sum_3_i32");
    fixture_graph_end(g);
    /* a node that still follows version 1: the step to 3 has meaning */
    resolved("Sum", 1, floats, 2, NULL, 0);
    row = tn__registry_kernel(registry, "cpu", g, 0, NULL, NULL, NULL, 0);
    ck_assert_str_eq(row->name, "sum_1");
}
END_TEST

START_TEST(a_node_without_a_row_gets_a_reason) {
    static const int32_t doubles[] = {TN_DOUBLE, TN_DOUBLE}, unknown[] = {0, 0};
    uint32_t reason;
    char why[256];
    const struct {
        const char *op, *provider;
        int64_t opset;
        const int32_t *types;
        uint32_t reason;
        const char *part;
    } rows[] = {
        {"Sum", "cpu", 5, doubles, TN_REASON_DTYPE,
            "input 0 'A' is double; supported: float, int32"},
        {"Sum", "cpu", 5, unknown, TN_REASON_DTYPE, "of input 0 'A' is not known"},
        {"Sum", "gpu", 5, floats, TN_REASON_OP_UNKNOWN, "'gpu' has no kernel"},
        {"Sum", "cpu", 1, ints, TN_REASON_DTYPE, "input 0 'A' is int32"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        resolved(rows[i].op, rows[i].opset, rows[i].types, 2, NULL, 0);
        ck_assert_ptr_null(tn__registry_kernel(
            registry, rows[i].provider, g, 0, NULL, &reason, why, sizeof why));
        ck_assert_uint_eq(reason, rows[i].reason);
        ck_assert_msg(strstr(why, rows[i].part), "%s", why);
        fixture_graph_end(g);
    }
    g = NULL;
}
END_TEST

/* ---- evaluation ---- */

static float data[2][2] = {{1, 2}, {10, 20}};
static const int64_t two[] = {2};
static const struct tn_tensor tensors[] = {
    {.data = data[0], .dims = two, .size = 8, .dtype = TN_FLOAT, .rank = 1},
    {.data = data[1], .dims = two, .size = 8, .dtype = TN_FLOAT, .rank = 1}};

static void make_constant(uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        assert_ok(tn__graph_set_constant(g, g->inputs[i], &tensors[i], &diag), diag);
}

static void type_output(int32_t dtype, int32_t rank) {
    const struct tn_type type = {
        .kind = TN_KIND_TENSOR, .dtype = dtype, .rank = rank, .dims = two};
    assert_ok(tn__graph_set_type(g, g->outputs[0], &type, &diag), diag);
}

START_TEST(a_node_on_constants_is_evaluated) {
    const struct tn_tensor *out = NULL;
    resolved("Sum", 5, floats, 2, NULL, 0);
    make_constant(2);
    type_output(TN_FLOAT, 1);
    assert_ok(tn__eval_node(registry, "cpu", g, 0, 4096, &out, &diag), diag);
    ck_assert_uint_eq(out->size, 8);
    ck_assert_float_eq(((const float *)out->data)[0], 11);
    ck_assert_float_eq(((const float *)out->data)[1], 22);
    fixture_graph_end(g);
    resolved("Scale", 5, floats, 1, &factor, 1);
    make_constant(1);
    type_output(TN_FLOAT, 1);
    assert_ok(tn__eval_node(registry, "cpu", g, 0, 4096, &out, &diag), diag);
    ck_assert_float_eq(((const float *)out->data)[1], 1);
}
END_TEST

START_TEST(outputs_of_unknown_shape_are_made_by_the_kernel) {
    const struct tn_tensor *out = NULL;
    resolved("Count", 5, floats, 1, NULL, 0);
    make_constant(1);
    type_output(TN_INT32, -1);
    assert_ok(tn__eval_node(registry, "cpu", g, 0, 4096, &out, &diag), diag);
    ck_assert_int_eq(out->dims[0], 2);
    ck_assert_int_eq(((const int32_t *)out->data)[1], 1);
}
END_TEST

START_TEST(evaluation_keeps_to_its_budget_and_its_inputs) {
    const struct tn_tensor *out = NULL;
    resolved("Sum", 5, floats, 2, NULL, 0);
    type_output(TN_FLOAT, 1);
    assert_fails(tn__eval_node(registry, "cpu", g, 0, 4096, &out, &diag), diag,
        TN_INVALID_ARGUMENT, "input 0 is not constant");
    make_constant(2);
    assert_fails(tn__eval_node(registry, "cpu", g, 0, 4, &out, &diag), diag,
        TN_LIMIT_EXCEEDED, "output 0 takes 8 bytes");
    assert_fails(tn__eval_node(registry, "gpu", g, 0, 4096, &out, &diag), diag,
        TN_UNSUPPORTED, "no kernel");
    ck_assert_ptr_null(out);
}
END_TEST

/* ---- memory and reports ---- */

START_TEST(every_failing_allocation_leaves_nothing_behind) {
    for (uint64_t n = 1; n < 200; n++) {
        struct tn__registry *r = NULL;
        struct tn_diag d = {0};
        int before = fixture_shutdowns;
        tn__alloc_fail_at(n);
        tn_status status = tn__registry_create(NULL, NULL, &r, &d);
        if (status == TN_OK) status = tn__registry_add_static(r, fixture_query, &d);
        tn__alloc_fail_at(0);
        ck_assert_msg(status == TN_OK || status == TN_OUT_OF_MEMORY, "%s", d.message);
        tn__registry_destroy(r);
        ck_assert_int_le(fixture_shutdowns, before + 1);
        fixture_shutdowns = 0;
        if (status == TN_OK) return;
    }
    ck_abort_msg("no end");
}
END_TEST

START_TEST(reports_tell_plugins_and_operators) {
    struct tn_text text = {0};
    assert_ok(
        tn__registry_report(registry, TN_REPORT_PLUGINS, TN_FORMAT_TEXT, &text, &diag),
        diag);
    ck_assert_msg(
        strstr(text.data, "loaded    org.tenon.fixture 1.0.0"), "%s", text.data);
    tn__text_free(&text);
    assert_ok(
        tn__registry_report(registry, TN_REPORT_SUPPORT, TN_FORMAT_JSON, &text, &diag),
        diag);
    ck_assert_msg(
        strstr(text.data, "{\"domain\":\"t\",\"name\":\"Sum\",\"versions\":[1,3,"
                          "5],\"expands\":false,\"kernels\":[{\"provider\":"
                          "\"cpu\",\"since\":3,\"name\":\"sum_3_i32\","),
        "%s", text.data);
    tn__text_free(&text);
    assert_fails(tn__registry_report(registry, 99, TN_FORMAT_TEXT, &text, &diag), diag,
        TN_INVALID_ARGUMENT, "no report 99");
    ck_assert_ptr_null(tn__registry_provider(registry, "gpu", &diag));
    ck_assert_msg(strstr(diag.message, "no report") || diag.code, "%s", diag.message);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_plugin_registers_once);
    tcase_add_test(tests, nodes_resolve_to_the_version_their_model_imports);
    tcase_add_test(tests, what_does_not_resolve_says_why);
    tcase_add_test(tests, upgrades_lead_to_the_newest_version);
    tcase_add_test(tests, an_upgrade_that_fails_names_the_step);
    tcase_add_test(tests, upgrades_that_go_in_a_circle_end);
    tcase_add_test(tests, the_schema_names_what_is_wrong);
    tcase_add_test(tests, the_newest_row_that_fits_is_chosen);
    tcase_add_test(tests, a_node_without_a_row_gets_a_reason);
    tcase_add_test(tests, a_node_on_constants_is_evaluated);
    tcase_add_test(tests, outputs_of_unknown_shape_are_made_by_the_kernel);
    tcase_add_test(tests, evaluation_keeps_to_its_budget_and_its_inputs);
    tcase_add_test(tests, every_failing_allocation_leaves_nothing_behind);
    tcase_add_test(tests, reports_tell_plugins_and_operators);
}

UNIT_MAIN("registry")
