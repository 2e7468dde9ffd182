/* The optimiser's generic passes on small graphs of made-up operators. */
#include "core/opt/opt.h"

#include "core/base/alloc.h"
#include "core/infer/infer.h"

#include "fake_graph.h"

static const char *const fake[] = {"fake"};
static struct tn__opt_options options;
static struct tn__opt_log rewrites;

static void set_up(void) {
    options = (struct tn__opt_options){
        .level = TN_LEVEL_BASIC, .provider = "fake", .verify = true};
    set_up_registry();
}

static void infer(void) {
    struct tn__infer_options loading = {
        .native = true, .providers = fake, .n_providers = 1};
    assert_ok(tn__infer_model(model, registry, &loading, &diag), diag);
}

static void optimize(void) {
    infer();
    assert_ok(tn__optimize(model, registry, &options, &rewrites, &diag), diag);
    assert_ok(tn__graph_verify(graph, &diag), diag);
}

static void assert_floats(const struct tn_tensor *t, const float *wanted, int64_t n) {
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(t->dtype, TN_FLOAT);
    ck_assert_uint_eq(t->size, (uint64_t)n * sizeof *wanted);
    ck_assert_mem_eq(t->data, wanted, (size_t)n * sizeof *wanted);
}

static const float one_two[] = {1, 2};

START_TEST(nodes_on_constants_are_computed) {
    const float sums[] = {11, 22}, ten[] = {10, 20};
    input("x", TN_FLOAT, "2");
    constant("a", floats(one_two, 2));
    constant("b", floats(ten, 2));
    node("Plus", "a b", "sum");
    node("Copy", "sum", "same");
    node("Plus", "x same", "y");
    output("y");
    optimize();
    ck_assert_str_eq(ops_text(graph), "Plus");
    tn_value_id in = graph->nodes[graph->first].view.inputs[1];
    assert_floats(graph->values[in].constant, sums, 2);
    ck_assert_uint_ge(rewrites.folded_bytes, 8);
}
END_TEST

START_TEST(a_folded_output_keeps_its_name) {
    const float doubled[] = {2, 4};
    constant("a", floats(one_two, 2));
    node("Plus", "a a", "y");
    output("y");
    optimize();
    ck_assert_str_eq(ops_text(graph), "");
    ck_assert_str_eq(graph->output_names[0], "y");
    assert_floats(graph->values[graph->outputs[0]].constant, doubled, 2);
}
END_TEST

START_TEST(folding_stays_within_its_budgets) {
    const int64_t thousand = 1000;
    constant("n", ints(&thousand, 1));
    node_f("Fill", "n", "y", "value", 1);
    output("y");
    options.fold_node_bytes = 3999;
    optimize();
    ck_assert_str_eq(ops_text(graph), "Fill");
    options.fold_node_bytes = 100000;
    options.fold_total_bytes = 3999;
    assert_ok(tn__optimize(model, registry, &options, &rewrites, &diag), diag);
    ck_assert_str_eq(ops_text(graph), "Fill");
    options.fold_total_bytes = 100000;
    assert_ok(tn__optimize(model, registry, &options, &rewrites, &diag), diag);
    ck_assert_str_eq(ops_text(graph), "");
}
END_TEST

START_TEST(random_nodes_are_neither_folded_nor_shared) {
    constant("a", floats(one_two, 2));
    node("Noise", "a", "p");
    node("Noise", "a", "q");
    node("Plus", "p q", "y");
    output("y");
    optimize();
    ck_assert_str_eq(ops_text(graph), "Noise Noise Plus");
}
END_TEST

START_TEST(overridable_initializers_are_not_constants) {
    tn_value_id w = input("w", TN_FLOAT, "2");
    tn__value_at(graph, w)->constant = floats(one_two, 2);
    tn__value_at(graph, w)->flags |= TN_VALUE_INITIALIZER;
    node("Plus", "w w", "y");
    output("y");
    optimize();
    ck_assert_str_eq(ops_text(graph), "Plus");
}
END_TEST

START_TEST(a_folded_shape_settles_the_shapes_behind_it) {
    const float data[] = {1, 0, 1, 1};
    constant("d", floats(data, 4));
    node("Pick", "d", "shape"); /* 0 2 3: known only once it is computed */
    node_f("Fill", "shape", "f", "value", 1);
    node("Noise", "f", "y");
    output("y");
    optimize();
    const struct tn_type *y = &graph->values[graph->outputs[0]].type;
    ck_assert_int_eq(y->rank, 3);
    ck_assert_int_eq(y->dims[1], 2);
    ck_assert_int_eq(y->dims[2], 3);
}
END_TEST

START_TEST(equal_nodes_become_one) {
    input("x", TN_FLOAT, "N");
    node_f("Gain", "x", "a", "k", 2);
    node_f("Gain", "x", "b", "k", 2);
    node_f("Gain", "x", "c", "k", 3);
    node("Plus", "a b", "ab");
    node("Plus", "ab c", "y");
    output("y");
    optimize();
    ck_assert_str_eq(ops_text(graph), "Gain Gain Plus Plus");
    const struct tn_node *plus = NULL;
    for (tn_node_id id = graph->first; !plus; id = graph->nodes[id].next)
        if (strcmp(graph->nodes[id].view.op_type, "Plus") == 0)
            plus = &graph->nodes[id].view;
    ck_assert_uint_eq(plus->inputs[0], plus->inputs[1]);
}
END_TEST

START_TEST(two_outputs_of_equal_nodes_keep_their_names) {
    input("x", TN_FLOAT, "N");
    node("Plus", "x x", "p");
    node("Plus", "x x", "q");
    output("p");
    output("q");
    optimize();
    ck_assert_str_eq(ops_text(graph), "Plus");
    ck_assert_str_eq(graph->output_names[0], "p");
    ck_assert_str_eq(graph->output_names[1], "q");
    ck_assert_uint_eq(graph->outputs[0], graph->outputs[1]);
}
END_TEST

START_TEST(equal_constants_become_one) {
    const float other[] = {1, 3};
    input("x", TN_FLOAT, "2");
    constant("a", floats(one_two, 2));
    constant("b", floats(one_two, 2));
    constant("c", floats(other, 2));
    node("Plus", "x a", "p");
    node("Plus", "x b", "q");
    node("Plus", "x c", "r");
    node("Times", "p q", "pq");
    node("Times", "pq r", "y");
    output("y");
    optimize();
    ck_assert_str_eq(ops_text(graph), "Plus Plus Times Times");
}
END_TEST

START_TEST(nodes_that_return_their_input_go) {
    input("x", TN_FLOAT, "N");
    node("Copy", "x", "a");
    node("Plus", "a x", "b");
    node("Copy", "b", "y");
    output("y");
    optimize();
    ck_assert_str_eq(ops_text(graph), "Plus");
    ck_assert_str_eq(graph->output_names[0], "y");
}
END_TEST

START_TEST(an_output_that_is_an_input_keeps_the_node_between) {
    input("x", TN_FLOAT, "N");
    node("Copy", "x", "y");
    output("y");
    optimize();
    ck_assert_str_eq(ops_text(graph), "Copy");
}
END_TEST

START_TEST(what_nobody_reads_goes_in_subgraphs_too) {
    input("x", TN_FLOAT, "N");
    input("cond", TN_BOOL, "");
    node("Plus", "x x", "unread");
    struct tn_graph *yes = begin_subgraph("yes");
    node("Plus", "x x", "a");
    node("Noise", "x", "dead");
    output("a");
    end_subgraph();
    struct tn_graph *no = begin_subgraph("no");
    node("Noise", "x", "b");
    output("b");
    end_subgraph();
    node_g("Branch", "cond", "y", "then_branch", yes, "else_branch", no);
    output("y");
    optimize();
    ck_assert_str_eq(ops_text(graph), "Branch");
    ck_assert_str_eq(ops_text(yes), "Plus");
}
END_TEST

START_TEST(constants_are_folded_inside_subgraphs) {
    const float doubled[] = {2, 4};
    input("cond", TN_BOOL, "");
    constant("a", floats(one_two, 2));
    struct tn_graph *yes = begin_subgraph("yes");
    node("Plus", "a a", "s");
    output("s");
    end_subgraph();
    struct tn_graph *no = begin_subgraph("no");
    node("Noise", "a", "b");
    output("b");
    end_subgraph();
    node_g("Branch", "cond", "y", "then_branch", yes, "else_branch", no);
    output("y");
    optimize();
    ck_assert_str_eq(ops_text(yes), "");
    assert_floats(yes->values[yes->outputs[0]].constant, doubled, 2);
}
END_TEST

START_TEST(level_none_rewrites_nothing) {
    constant("a", floats(one_two, 2));
    node("Copy", "a", "b");
    node("Plus", "b b", "unread");
    node("Plus", "b b", "y");
    output("y");
    options.level = TN_LEVEL_NONE;
    optimize();
    ck_assert_str_eq(ops_text(graph), "Copy Plus Plus");
    ck_assert_uint_eq(rewrites.n_entries, 0);
}
END_TEST

START_TEST(passes_are_disabled_by_name) {
    const char *const names[] = {"no_op", "fold", "nonsense"};
    options.disabled = names;
    options.n_disabled = 3;
    constant("a", floats(one_two, 2));
    node("Copy", "a", "b");
    node("Plus", "b b", "y");
    output("y");
    optimize();
    ck_assert_str_eq(ops_text(graph), "Copy Plus");
    ck_assert_uint_eq(model->n_warnings, 1);
    ck_assert_ptr_nonnull(strstr(model->warnings[0], "nonsense"));
}
END_TEST

START_TEST(the_log_says_which_pass_did_what) {
    struct tn_text text = {0};
    input("x", TN_FLOAT, "N");
    node("Copy", "x", "a");
    node("Plus", "a x", "y");
    output("y");
    optimize();
    ck_assert_uint_eq(rewrites.n_entries, 1);
    ck_assert_str_eq(rewrites.entries[0].pass, "no_op");
    ck_assert_uint_eq(rewrites.nodes_before, 2);
    ck_assert_uint_eq(rewrites.nodes_after, 1);
    tn__opt_report(&rewrites, TN_FORMAT_JSON, &text);
    ck_assert_str_eq(text.data,
        "{\"rounds\":2,\"nodes_before\":2,\"nodes_after\":1,\"folded_bytes\":0,"
        "\"passes\":[{\"pass\":\"no_op\",\"plugin\":null,\"round\":1,\"changes\":1,"
        "\"nodes_before\":2,\"nodes_after\":1}]}\n");
    tn__text_free(&text);
}
END_TEST

/* ---- a plugin's pass: Plus(x, x) becomes Gain<k = 2>(x) ---- */

static tn_status double_to_gain(const struct tn_pass_ctx *ctx, uint32_t *out_changes) {
    const struct tn_graph_api *api = ctx->api;
    const tn_node_id *ids;
    uint32_t n;
    float two = 2;
    struct tn_attr k = {.name = "k", .type = TN_ATTR_FLOAT, .count = 1};
    k.as.floats = &two;
    api->nodes(ctx->graph, &ids, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct tn_node *plus = api->node(ctx->graph, ids[i]);
        if (!plus || strcmp(plus->op_type, "Plus") != 0 ||
            plus->inputs[0] != plus->inputs[1])
            continue;
        tn_value_id x = plus->inputs[0], old = plus->outputs[0], y;
        TN_TRY(api->add_node(ctx->graph, ids[i], ids[i], "fake", "Gain", 0, &x, 1, &k, 1,
            &y, 1, NULL, ctx->diag));
        TN_TRY(api->replace_uses(ctx->graph, old, y, ctx->diag));
        TN_TRY(api->remove_node(ctx->graph, ids[i], ctx->diag));
        ++*out_changes;
    }
    return TN_OK;
}

static tn_status always_fail(const struct tn_pass_ctx *ctx, uint32_t *out_changes) {
    (void)out_changes;
    return tn_fail(ctx->diag, TN_INTERNAL, "nothing works today");
}

static const struct tn_pass_def double_pass = {
    .struct_size = (uint32_t)TN_END_OF(struct tn_pass_def, run),
    .name = "double_to_gain",
    .doc = "x + x as a product",
    .level = TN_LEVEL_ALL,
    .safety = TN_SAFETY_REASSOCIATING,
    .order = 1000,
    .run = double_to_gain};
static const struct tn_pass_def broken_pass = {
    .struct_size = (uint32_t)TN_END_OF(struct tn_pass_def, run),
    .name = "broken",
    .doc = "fails",
    .level = TN_LEVEL_ALL,
    .safety = TN_SAFETY_APPROXIMATING,
    .order = 1001,
    .run = always_fail};
static const struct tn_pass_def *const pass_table[] = {&double_pass, &broken_pass};
static const struct tn_pass_extension passes = {
    .struct_size = (uint32_t)TN_END_OF(struct tn_pass_extension, passes),
    .count = 2,
    .passes = pass_table};

static const void *pass_extension(void *state, const char *id) {
    (void)state;
    return strcmp(id, TN_PASS_EXTENSION) == 0 ? &passes : NULL;
}

static tn_status pass_plugin(
    const struct tn_host_info *host, const struct tn_plugin **out) {
    static const struct tn_plugin plugin = {.struct_size = TN_PLUGIN_SIZE,
        .abi_minor = TN_ABI_MINOR,
        .host_minor_min = TN_ABI_MINOR,
        .id = "org.tenon.fakepass",
        .name = "a pass",
        .version = "1.0.0",
        .vendor = "tests",
        .licence = "Apache-2.0",
        .sanitizer = TN_SANITIZER_CURRENT,
        .get_extension = pass_extension};
    (void)host;
    *out = &plugin;
    return TN_OK;
}

static void build_double(void) {
    assert_ok(tn__registry_add_static(registry, pass_plugin, &diag), diag);
    input("x", TN_FLOAT, "N 4");
    node("Plus", "x x", "y");
    output("y");
}

START_TEST(passes_of_plugins_run_by_level_and_safety) {
    build_double();
    options.safety = TN_SAFETY_REASSOCIATING;
    optimize();
    ck_assert_str_eq(ops_text(graph), "Plus");
    options.level = TN_LEVEL_ALL;
    options.safety = TN_SAFETY_EXACT;
    assert_ok(tn__optimize(model, registry, &options, &rewrites, &diag), diag);
    ck_assert_str_eq(ops_text(graph), "Plus");
    options.safety = TN_SAFETY_REASSOCIATING;
    assert_ok(tn__optimize(model, registry, &options, &rewrites, &diag), diag);
    ck_assert_str_eq(ops_text(graph), "Gain");
    ck_assert_str_eq(graph->output_names[0], "y");
    ck_assert_int_eq(graph->values[graph->outputs[0]].type.dims[1], 4);
    ck_assert_str_eq(rewrites.entries[0].pass, "double_to_gain");
    ck_assert_str_eq(rewrites.entries[0].plugin, "org.tenon.fakepass");
}
END_TEST

START_TEST(a_pass_that_fails_is_named) {
    build_double();
    infer();
    options.level = TN_LEVEL_ALL;
    options.safety = TN_SAFETY_APPROXIMATING;
    assert_fails(tn__optimize(model, registry, &options, &rewrites, &diag), diag,
        TN_INTERNAL, "'broken' of plugin 'org.tenon.fakepass'");
    ck_assert_ptr_nonnull(strstr(diag.message, "nothing works today"));
}
END_TEST

/* ---- memory that runs out ---- */

static void build_mixture(void) {
    const int64_t sizes[] = {2, 3};
    input("x", TN_FLOAT, "N 4");
    input("cond", TN_BOOL, "");
    node_t("shape", ints(sizes, 2));
    node_f("Fill", "shape", "f", "value", 1);
    node("Copy", "f", "g");
    struct tn_graph *yes = begin_subgraph("yes");
    node("Plus", "x x", "p");
    node("Plus", "x x", "q");
    node("Plus", "p q", "r");
    output("r");
    end_subgraph();
    struct tn_graph *no = begin_subgraph("no");
    node("Copy", "x", "s");
    output("s");
    end_subgraph();
    node_g("Branch", "cond", "y", "then_branch", yes, "else_branch", no);
    node_i("Swell", "y", "z", "n", 2);
    output("z");
    output("g");
}

START_TEST(memory_that_runs_out_anywhere_is_an_error_and_no_crash) {
    struct tn__infer_options loading = {
        .native = true, .providers = fake, .n_providers = 1};
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        ck_assert_uint_lt(n, 5000);
        start_model(3);
        build_mixture();
        uint64_t before = tn__alloc_count();
        tn__alloc_fail_at(n);
        memset(&diag, 0, sizeof diag);
        tn_status status = tn__infer_model(model, registry, &loading, &diag);
        if (status == TN_OK)
            status = tn__optimize(model, registry, &options, &rewrites, &diag);
        done = tn__alloc_count() - before < n;
        tn__alloc_fail_at(0);
        ck_assert_msg(status == TN_OK || status == TN_OUT_OF_MEMORY, "%d: %s", status,
            diag.message);
    }
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, set_up, tear_down_registry);
    tcase_add_test(tests, nodes_on_constants_are_computed);
    tcase_add_test(tests, a_folded_output_keeps_its_name);
    tcase_add_test(tests, folding_stays_within_its_budgets);
    tcase_add_test(tests, random_nodes_are_neither_folded_nor_shared);
    tcase_add_test(tests, overridable_initializers_are_not_constants);
    tcase_add_test(tests, a_folded_shape_settles_the_shapes_behind_it);
    tcase_add_test(tests, equal_nodes_become_one);
    tcase_add_test(tests, two_outputs_of_equal_nodes_keep_their_names);
    tcase_add_test(tests, equal_constants_become_one);
    tcase_add_test(tests, nodes_that_return_their_input_go);
    tcase_add_test(tests, an_output_that_is_an_input_keeps_the_node_between);
    tcase_add_test(tests, what_nobody_reads_goes_in_subgraphs_too);
    tcase_add_test(tests, constants_are_folded_inside_subgraphs);
    tcase_add_test(tests, level_none_rewrites_nothing);
    tcase_add_test(tests, passes_are_disabled_by_name);
    tcase_add_test(tests, the_log_says_which_pass_did_what);
    tcase_add_test(tests, passes_of_plugins_run_by_level_and_safety);
    tcase_add_test(tests, a_pass_that_fails_is_named);
    tcase_add_test(tests, memory_that_runs_out_anywhere_is_an_error_and_no_crash);
}

UNIT_MAIN("opt")
