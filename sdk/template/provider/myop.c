/* The provider "myop": takes chains of Add, Mul and Relu on tensors of one shape and runs
 * each as a single loop. */
#define TN_TEST_PROVIDER "myop"
#include "tenon/helper/plugin.h"
#include "tenon/helper/test.h"

/* ---- what it can take ------------------------------------------------------------------ */

enum { ADD, MUL, RELU, N_OPS };
static const char *const op_names[N_OPS] = {"Add", "Mul", "Relu"};

/* The host declines what is beyond the limits before capability is heard. */
static const struct tn_provider_limits myop_limits = {
    .struct_size = TN_PROVIDER_LIMITS_SIZE,
    .flags = TN_LIMIT_STATIC_SHAPES,
    .dtypes = TN_BIT(FLOAT)};

static const struct tn_provider_limits *limits_myop(void *instance) {
    (void)instance;
    return &myop_limits;
}

static uint32_t find_op(const struct tn_node *node) {
    uint32_t op = 0;
    while (op < N_OPS && (node->domain[0] || strcmp(op_names[op], node->op_type) != 0))
        op++;
    return op;
}

static int same_shape(const struct tn_type *a, const struct tn_type *b) {
    return a->rank == b->rank && a->rank >= 0 &&
           (a->rank == 0 ||
               memcmp(a->dims, b->dims, sizeof(int64_t) * (size_t)a->rank) == 0);
}

/* A verdict on every node: claimed into one group for each shape, or declined and why. */
static tn_status judge_myop(void *instance, const struct tn_graph_api *api,
    const struct tn_graph *graph, const struct tn_verdict_sink *sink,
    struct tn_diag *diag) {
    const tn_node_id *ids;
    uint32_t n;
    (void)instance;
    (void)diag;
    api->nodes(graph, &ids, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct tn_node *node = api->node(graph, ids[i]);
        const struct tn_type *y = api->value_type(graph, node->outputs[0]);
        uint32_t reason = find_op(node) == N_OPS ? TN_REASON_OP_UNKNOWN : TN_REASON_OK;
        uint32_t first = 0;
        for (uint32_t k = 0; k < node->n_inputs && reason == TN_REASON_OK; k++)
            if (!same_shape(y, api->value_type(graph, node->inputs[k])))
                reason = TN_REASON_LAYOUT;
        while (!same_shape(
                   y, api->value_type(graph, api->node(graph, ids[first])->outputs[0])) &&
               first < i)
            first++;
        TN_TRY(reason == TN_REASON_OK
                   ? sink->claim(sink->self, ids[i], first + 1)
                   : sink->decline(sink->self, ids[i], reason,
                         reason == TN_REASON_LAYOUT ? "it does not broadcast" : ""));
    }
    return TN_OK;
}

/* ---- what it makes of a group ---------------------------------------------------------- */

enum { MOST_VALUES = 64 };

struct step {
    uint32_t op, a, b, y; /* places in a row of values */
};

struct chain {
    struct tn_compiled compiled;
    const struct tn_host *host;
    tn_value_id ids[MOST_VALUES]; /* inputs, then constants and results as they come */
    const float *constants[MOST_VALUES]; /* NULL: no constant */
    uint32_t n_values, n_steps;
    uint32_t outputs[MOST_VALUES];
    struct step steps[MOST_VALUES];
};

static tn_status run_myop(void *self, const struct tn_run_args *args) {
    const struct chain *chain = self;
    float v[MOST_VALUES];
    for (int64_t i = 0; i < tn_tensor_count(tn_out(args, 0)); i++) {
        for (uint32_t k = 0; k < args->n_inputs; k++)
            v[k] = ((const float *)tn_in(args, k)->data)[i];
        for (uint32_t k = args->n_inputs; k < chain->n_values; k++)
            if (chain->constants[k]) v[k] = chain->constants[k][i];
        for (uint32_t s = 0; s < chain->n_steps; s++) {
            const struct step *step = &chain->steps[s];
            float a = v[step->a], b = v[step->b];
            v[step->y] = step->op == ADD   ? a + b
                         : step->op == MUL ? a * b
                         : a > 0           ? a
                                           : 0;
        }
        for (uint32_t o = 0; o < args->n_outputs; o++)
            ((float *)tn_out(args, o)->data)[i] = v[chain->outputs[o]];
    }
    return TN_OK;
}

static void destroy_chain(void *self) {
    const struct chain *chain = self;
    chain->host->free(chain->host->self, self);
}

/* The place of a value; new ones are added. MOST_VALUES: the group is too large. */
static uint32_t place_of(
    struct chain *chain, const struct tn_group *group, tn_value_id id) {
    uint32_t k = 0;
    while (k < chain->n_values && chain->ids[k] != id)
        k++;
    if (k < chain->n_values || k == MOST_VALUES) return k;
    const struct tn_tensor *constant = group->api->constant(group->graph, id);
    chain->ids[k] = id;
    chain->constants[k] = constant ? (const float *)constant->data : NULL;
    return chain->n_values++;
}

static int add_step(struct chain *chain, const struct tn_group *group, tn_node_id id) {
    const struct tn_node *node = group->api->node(group->graph, id);
    struct step step = {find_op(node), place_of(chain, group, node->inputs[0]), 0, 0};
    step.b = place_of(chain, group, node->inputs[node->n_inputs - 1]);
    step.y = place_of(chain, group, node->outputs[0]);
    if (step.a == MOST_VALUES || step.b == MOST_VALUES || step.y == MOST_VALUES) return 0;
    chain->steps[chain->n_steps++] = step;
    return 1;
}

static tn_status compile_myop(void *instance, const struct tn_group *group,
    const struct tn_compiled **out, struct tn_diag *diag) {
    const struct tn_host *host = instance;
    struct chain *chain = host->alloc(host->self, sizeof *chain, 0, "myop");
    if (!chain) return tn_fail(diag, TN_OUT_OF_MEMORY, "myop: no memory for a chain");
    memset(chain, 0, sizeof *chain);
    chain->host = host;
    chain->compiled.struct_size = TN_COMPILED_SIZE;
    chain->compiled.self = chain;
    chain->compiled.run = run_myop;
    chain->compiled.destroy = destroy_chain;
    int fits = group->n_inputs <= MOST_VALUES;
    for (uint32_t i = 0; i < group->n_inputs && fits; i++)
        place_of(chain, group, group->inputs[i]);
    for (uint32_t i = 0; i < group->n_nodes && fits; i++)
        fits = add_step(chain, group, group->nodes[i]);
    for (uint32_t i = 0; i < group->n_outputs && fits; i++)
        chain->outputs[i] = place_of(chain, group, group->outputs[i]);
    if (!fits) {
        destroy_chain(chain);
        return tn_fail(diag, TN_UNSUPPORTED,
            "myop: a group of %u nodes has more than %d values", group->n_nodes,
            MOST_VALUES);
    }
    *out = &chain->compiled;
    return TN_OK;
}

/* ---- the provider ----------------------------------------------------------------------- */

static tn_status create_myop(void *plugin_state, const struct tn_host *host,
    const char *const *options, uint32_t n_options, void **out, struct tn_diag *diag) {
    (void)plugin_state;
    if (n_options)
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "provider 'myop' has no option '%s'", options[0]);
    *out = (void *)(uintptr_t)host;
    return TN_OK;
}

static const struct tn_provider_def myop_provider = {.struct_size = TN_PROVIDER_DEF_SIZE,
    .id = "myop",
    .name = "MyOp",
    .device_kind = TN_DEVICE_OTHER,
    .create = create_myop,
    .limits = limits_myop,
    .capability = judge_myop,
    .compile = compile_myop};

TN_PLUGIN_FULL("com.example.myop", "1.0.0", TN_ABI_MINOR, (), (), (&myop_provider), NULL,
    NULL, NULL);

TN_TESTS("com.example",
    {"g (float[3] x, float[3] z) => (float[3] y) { a = Mul (x, z) b = Add (a, x) y = "
     "Relu (b) }",
        {TN_TENSOR(FLOAT, (3), 1, 2, -3), TN_TENSOR(FLOAT, (3), 4, -5, 6)},
        {TN_TENSOR(FLOAT, (3), 5, 0, 0)}},
    {"g (float[2] x) => (float[2] y, float[2] a) <float[2] w = {10, 20}> {"
     " a = Add (x, w) y = Mul (a, a) }",
        {TN_TENSOR(FLOAT, (2), 1, 2)},
        {TN_TENSOR(FLOAT, (2), 121, 484), TN_TENSOR(FLOAT, (2), 11, 22)}},
    {"g (float[2] x) => (float[2] y) { y = Sqrt (x) }", {TN_TENSOR(FLOAT, (2), 4, 9)}, {},
        "operator not implemented"},
    {"g (double[2] x) => (double[2] y) { y = Add (x, x) }",
        {TN_TENSOR(DOUBLE, (2), 4, 9)}, {}, "element type"},
    {"g (float[n] x) => (float[n] y) { y = Add (x, x) }", {TN_TENSOR(FLOAT, (2), 4, 9)},
        {}, "dynamic shape"});
