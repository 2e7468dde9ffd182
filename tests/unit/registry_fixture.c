/* See registry_fixture.h. */
#include "registry_fixture.h"

#include "tenon/helper/diag.h"

#include <stdio.h>
#include <string.h>

int fixture_shutdowns;

#define F32 TN_BIT(FLOAT)
#define I32 TN_BIT(INT32)

/* ---- Sum ---- */

static tn_status shift_to_bias(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    const struct tn_attr *shift = tn_node_attr(node, "shift");
    if (!shift) return TN_OK;
    if (shift->as.ints[0] < 0)
        return tn_fail(rw->diag, TN_INVALID_MODEL, "shift is %d, expected >= 0",
            (int)shift->as.ints[0]);
    struct tn_attr bias = *shift;
    bias.name = "bias";
    TN_TRY(rw->api->set_attr(rw->graph, rw->node, &bias, rw->diag));
    return rw->api->remove_attr(rw->graph, rw->node, "shift");
}

static tn_status compute_sum(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    const float *a = args->inputs[0].as.tensor->data,
                *b = args->inputs[1].as.tensor->data;
    float *c = args->outputs[0].as.tensor->data;
    for (uint64_t i = 0; i < args->outputs[0].as.tensor->size / sizeof *c; i++)
        c[i] = a[i] + b[i];
    return TN_OK;
}

static const struct tn_type_var vars[] = {{"T", F32 | I32, 0, 0, 0}};
static const struct tn_formal sum_in[] = {{"A", "T", 0, 0, 0}, {"B", "T", 0, 0, 0}};
static const struct tn_formal sum_out[] = {{"C", "T", 0, 0, 0}};
static const struct tn_attr_def sum_attrs[] = {{"bias", TN_ATTR_INT, 0}};
static const struct tn_op_version sum_versions[] = {
    {1, 0, NULL}, {3, 0, shift_to_bias}, {5, 0, NULL}};
static const struct tn_op_def sum_def = {.struct_size = TN_OP_DEF_SIZE,
    .domain = "t",
    .op_type = "Sum",
    .versions = sum_versions,
    .n_versions = 3,
    .inputs = sum_in,
    .n_inputs = 2,
    .outputs = sum_out,
    .n_outputs = 1,
    .type_vars = vars,
    .n_type_vars = 1,
    .attrs = sum_attrs,
    .n_attrs = 1};

static const struct tn_type_constraint only_f32[] = {{"T", F32}},
                                       only_i32[] = {{"T", I32}};
static const struct tn_kernel_def sum_1 = {.struct_size = TN_KERNEL_DEF_SIZE,
    .provider = "cpu",
    .domain = "t",
    .op_type = "Sum",
    .name = "sum_1",
    .since = 1,
    .types = only_f32,
    .n_types = 1,
    .compute = compute_sum};
static const struct tn_kernel_def sum_3_f32 = {.struct_size = TN_KERNEL_DEF_SIZE,
    .provider = "cpu",
    .domain = "t",
    .op_type = "Sum",
    .name = "sum_3_f32",
    .since = 3,
    .types = only_f32,
    .n_types = 1,
    .compute = compute_sum};
static const struct tn_kernel_def sum_3_i32 = {.struct_size = TN_KERNEL_DEF_SIZE,
    .provider = "cpu",
    .domain = "t",
    .op_type = "Sum",
    .name = "sum_3_i32",
    .since = 3,
    .types = only_i32,
    .n_types = 1,
    .compute = compute_sum};

/* ---- Scale ---- */

static tn_status create_scale(const struct tn_kernel_ctx *ctx, void **out) {
    float *factor = ctx->host->alloc(ctx->host->self, sizeof *factor, 0, "test");
    if (!factor) return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory");
    *factor = tn_node_attr(ctx->node, "factor")->as.floats[0];
    *out = factor;
    return TN_OK;
}

static const struct tn_host *destroy_host;

static void destroy_scale(void *kernel) {
    destroy_host->free(destroy_host->self, kernel);
}

static tn_status compute_scale(void *kernel, const struct tn_run_args *args) {
    const float factor = *(const float *)kernel;
    const float *x = args->inputs[0].as.tensor->data;
    float *y = args->outputs[0].as.tensor->data;
    for (uint64_t i = 0; i < args->outputs[0].as.tensor->size / sizeof *y; i++)
        y[i] = factor * x[i];
    return TN_OK;
}

static const struct tn_formal scale_in[] = {
    {"X", "T", 0, 0, 0}, {"rest", "T", 0, TN_FORMAL_VARIADIC, 0}};
static const struct tn_formal scale_out[] = {{"Y", "T", 0, 0, 0}};
static const struct tn_attr_def scale_attrs[] = {
    {"factor", TN_ATTR_FLOAT, TN_ATTR_REQUIRED}, {"tag", TN_ATTR_STRING, 0}};
static const struct tn_op_version first_version[] = {{1, 0, NULL}};
static const struct tn_op_def scale_def = {.struct_size = TN_OP_DEF_SIZE,
    .domain = "t",
    .op_type = "Scale",
    .versions = first_version,
    .n_versions = 1,
    .inputs = scale_in,
    .n_inputs = 2,
    .outputs = scale_out,
    .n_outputs = 1,
    .type_vars = vars,
    .n_type_vars = 1,
    .attrs = scale_attrs,
    .n_attrs = 2};
static const struct tn_kernel_def scale_kernel = {.struct_size = TN_KERNEL_DEF_SIZE,
    .provider = "cpu",
    .domain = "t",
    .op_type = "Scale",
    .since = 1,
    .types = only_f32,
    .n_types = 1,
    .create = create_scale,
    .destroy = destroy_scale,
    .compute = compute_scale};

/* ---- Old, Ring, Count ---- */

static const struct tn_op_version old_versions[] = {
    {1, 0, NULL}, {4, TN_VERSION_DEPRECATED, NULL}};
static const struct tn_op_def old_def = {.struct_size = TN_OP_DEF_SIZE,
    .domain = "t",
    .op_type = "Old",
    .versions = old_versions,
    .n_versions = 2};

static tn_status back_to_1(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    const char *other = strcmp(node->op_type, "Ring") == 0 ? "Ring2" : "Ring";
    return rw->api->set_op(rw->graph, rw->node, "t", other, 1, rw->diag);
}

static const struct tn_op_version ring_versions[] = {{1, 0, NULL}, {2, 0, back_to_1}};
static const struct tn_op_def ring_def = {.struct_size = TN_OP_DEF_SIZE,
    .domain = "t",
    .op_type = "Ring",
    .versions = ring_versions,
    .n_versions = 2};
static const struct tn_op_def ring2_def = {.struct_size = TN_OP_DEF_SIZE,
    .domain = "t",
    .op_type = "Ring2",
    .versions = ring_versions,
    .n_versions = 2};

static tn_status compute_count(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    const int64_t n = x->dims[0];
    TN_TRY(args->run->output_alloc(args->run, args, 0, TN_INT32, &n, 1));
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)args->outputs[0].as.tensor->data)[i] = (int32_t)i;
    return TN_OK;
}

static const struct tn_formal count_in[] = {{"X", "T", 0, 0, 0}};
static const struct tn_formal count_out[] = {{"N", NULL, I32, 0, 0}};
static const struct tn_op_def count_def = {.struct_size = TN_OP_DEF_SIZE,
    .domain = "t",
    .op_type = "Count",
    .versions = first_version,
    .n_versions = 1,
    .inputs = count_in,
    .n_inputs = 1,
    .outputs = count_out,
    .n_outputs = 1,
    .type_vars = vars,
    .n_type_vars = 1};
static const struct tn_kernel_def count_kernel = {.struct_size = TN_KERNEL_DEF_SIZE,
    .provider = "cpu",
    .domain = "t",
    .op_type = "Count",
    .since = 1,
    .compute = compute_count};

/* ---- the plugin ---- */

static tn_status get_ops(
    void *state, const struct tn_op_def *const **out_table, uint32_t *out_count) {
    static const struct tn_op_def *const table[] = {
        &sum_def, &scale_def, &old_def, &ring_def, &ring2_def, &count_def, &sum_def};
    (void)state;
    *out_table = table;
    *out_count = sizeof table / sizeof table[0];
    return TN_OK;
}

static tn_status get_kernels(
    void *state, const struct tn_kernel_def *const **out_table, uint32_t *out_count) {
    static const struct tn_kernel_def *const table[] = {
        &sum_1, &sum_3_f32, &sum_3_i32, &scale_kernel, &count_kernel};
    (void)state;
    *out_table = table;
    *out_count = sizeof table / sizeof table[0];
    return TN_OK;
}

static tn_status start(
    const struct tn_host *host, void **out_state, struct tn_diag *diag) {
    (void)diag;
    *out_state = (void *)(uintptr_t)host;
    destroy_host = host;
    return TN_OK;
}

static void stop(void *state) {
    (void)state;
    fixture_shutdowns++;
}

static const struct tn_plugin plugin = {.struct_size = TN_PLUGIN_SIZE,
    .abi_minor = TN_ABI_MINOR,
    .host_minor_min = TN_ABI_MINOR,
    .id = "org.tenon.fixture",
    .name = "fixture",
    .version = "1.0.0",
    .sanitizer = TN_SANITIZER_CURRENT,
    .capabilities = TN_PLUGIN_HAS_OPS | TN_PLUGIN_HAS_KERNELS,
    .init = start,
    .shutdown = stop,
    .ops = get_ops,
    .kernels = get_kernels};

tn_status fixture_query(const struct tn_host_info *host, const struct tn_plugin **out) {
    (void)host;
    *out = &plugin;
    return TN_OK;
}

/* ---- graphs ---- */

struct tn_graph *fixture_graph(const char *op_type, int64_t opset, const int32_t *dtypes,
    uint32_t n, const struct tn_attr *attrs, uint32_t n_attrs) {
    static const int64_t dims[] = {2};
    struct tn__model *model = tn__model_create();
    struct tn__opset *import = tn__arena_alloc(model->arena, sizeof *import);
    *import = (struct tn__opset){"t", opset};
    model->opsets = import;
    model->n_opsets = 1;
    struct tn_graph *g = model->graph = tn__graph_create(model, NULL);
    tn_value_id inputs[8], out = tn__graph_add_value(g, "out");
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "in%u", i);
        inputs[i] = tn__graph_add_value(g, name);
        const struct tn_type type = {
            .kind = TN_KIND_TENSOR, .dtype = dtypes[i], .rank = 1, .dims = dims};
        if (dtypes[i]) tn__graph_set_type(g, inputs[i], &type, NULL);
        tn__graph_add_input(g, inputs[i], NULL);
    }
    tn_node_id id;
    tn__graph_add_node(
        g, TN_NO_ID, "node", "t", op_type, inputs, n, &out, 1, attrs, n_attrs, &id, NULL);
    tn__graph_add_output(g, out, NULL);
    return g;
}

void fixture_graph_end(struct tn_graph *g) {
    tn__model_destroy(g->model);
}
