/* Made-up operators for tests: see fake_ops.h. Kernels are the plainest possible. */
#define TN_STATIC_PLUGIN tn__fake_plugin
#include "fake_ops.h"

#include "tenon/helper/claim.h"
#include "tenon/helper/diag.h"
#include "tenon/op.h"
#include "tenon/provider.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static int64_t count_of(const struct tn_tensor *t) {
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

static const struct tn_tensor *in(const struct tn_run_args *args, uint32_t i) {
    return args->inputs[i].as.tensor;
}

static struct tn_tensor *out(const struct tn_run_args *args, uint32_t o) {
    return args->outputs[o].as.tensor;
}

/* ---- inference ------------------------------------------------------- */

static struct tn_type tensor_type(int32_t dtype, int32_t rank, const int64_t *dims) {
    return (struct tn_type){
        .kind = TN_KIND_TENSOR, .dtype = dtype, .rank = rank, .dims = dims};
}

static tn_status infer_same(const struct tn_infer *infer) {
    uint32_t n;
    const int64_t *dims = infer->dims_value(infer->self, 0, &n);
    TN_TRY(infer->set_type(infer->self, 0, &infer->inputs[0]));
    return dims ? infer->set_dims_value(infer->self, 0, dims, n) : TN_OK;
}

static tn_status infer_pointwise(const struct tn_infer *infer, uint32_t op) {
    const struct tn_type *a = &infer->inputs[0], *b = &infer->inputs[1];
    uint32_t na, nb;
    TN_TRY(infer->set_type(infer->self, 0, a->rank == 0 ? b : a));
    if (a->rank > 0 && b->rank > 0 && a->rank != b->rank)
        return tn_fail(infer->diag, TN_INVALID_MODEL, "ranks %d and %d do not fit",
            a->rank, b->rank);
    const int64_t *x = infer->dims_value(infer->self, 0, &na);
    const int64_t *y = infer->dims_value(infer->self, 1, &nb);
    if (!x || !y || (na != nb && na != 1 && nb != 1)) return TN_OK;
    uint32_t n = na > nb ? na : nb;
    int64_t *sum = infer->scratch(infer->self, n * sizeof *sum);
    if (!sum) return TN_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < n; i++)
        sum[i] = infer->dim_op(infer->self, op, x[na == 1 ? 0 : i], y[nb == 1 ? 0 : i]);
    return infer->set_dims_value(infer->self, 0, sum, n);
}

static tn_status infer_plus(const struct tn_infer *infer) {
    return infer_pointwise(infer, TN_DIM_ADD);
}

static tn_status infer_times(const struct tn_infer *infer) {
    return infer_pointwise(infer, TN_DIM_MUL);
}

static int32_t elide_copy(const struct tn_infer *infer) {
    (void)infer;
    return 0;
}

static tn_status infer_const(const struct tn_infer *infer) {
    const struct tn_attr *value = tn_node_attr(infer->node, "value");
    return infer->set_value(infer->self, 0, value->as.tensors);
}

static tn_status infer_dims(const struct tn_infer *infer) {
    const struct tn_type *x = &infer->inputs[0];
    int64_t rank = x->rank < 0 ? TN_DIM_UNKNOWN : x->rank;
    struct tn_type type = tensor_type(TN_INT64, 1, &rank);
    TN_TRY(infer->set_type(infer->self, 0, &type));
    if (x->rank < 0) return TN_OK;
    return infer->set_dims_value(infer->self, 0, x->dims, (uint32_t)x->rank);
}

static tn_status infer_fill(const struct tn_infer *infer) {
    uint32_t n;
    const int64_t *dims = infer->dims_value(infer->self, 0, &n);
    struct tn_type type = tensor_type(TN_FLOAT, dims ? (int32_t)n : -1, dims);
    return infer->set_type(infer->self, 0, &type);
}

static tn_status infer_reform(const struct tn_infer *infer) {
    const struct tn_type *x = &infer->inputs[0];
    uint32_t n, open = UINT32_MAX;
    const int64_t *wanted = infer->dims_value(infer->self, 1, &n);
    int64_t *dims = wanted ? infer->scratch(infer->self, n * sizeof *dims) : NULL;
    int64_t whole = 1, known = 1;
    for (uint32_t i = 0; dims && i < n; i++) {
        dims[i] = wanted[i];
        if (wanted[i] == -1)
            open = i;
        else
            known = infer->dim_op(infer->self, TN_DIM_MUL, known, wanted[i]);
    }
    for (int32_t i = 0; i < x->rank; i++)
        whole = infer->dim_op(infer->self, TN_DIM_MUL, whole, x->dims[i]);
    if (dims && open != UINT32_MAX)
        dims[open] = x->rank < 0 ? TN_DIM_UNKNOWN
                                 : infer->dim_op(infer->self, TN_DIM_DIV, whole, known);
    struct tn_type type = tensor_type(x->dtype, dims ? (int32_t)n : -1, dims);
    return infer->set_type(infer->self, 0, &type);
}

static tn_status join_contents(const struct tn_infer *infer) {
    int64_t joined[64];
    uint32_t total = 0;
    for (uint32_t i = 0; i < infer->node->n_inputs; i++) {
        uint32_t n;
        const int64_t *dims = infer->dims_value(infer->self, i, &n);
        if (!dims || total + n > COUNT(joined)) return TN_OK;
        memcpy(joined + total, dims, n * sizeof *dims);
        total += n;
    }
    return infer->set_dims_value(infer->self, 0, joined, total);
}

static tn_status infer_join(const struct tn_infer *infer) {
    const struct tn_type *x = &infer->inputs[0];
    int64_t dims[8] = {0}, sum = 0;
    struct tn_type type = tensor_type(x->dtype, x->rank == 0 ? 1 : x->rank, dims);
    if (x->rank > 8) return TN_UNSUPPORTED;
    if (x->rank > 0) memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    for (uint32_t i = 0; i < infer->node->n_inputs; i++) {
        const struct tn_type *part = &infer->inputs[i];
        if (part->rank < 0) type.rank = -1;
        int64_t size = part->rank > 0 ? part->dims[0] : 1;
        sum = infer->dim_op(infer->self, TN_DIM_ADD, sum, size);
    }
    dims[0] = sum;
    TN_TRY(infer->set_type(infer->self, 0, &type));
    return join_contents(infer);
}

static tn_status infer_pick(const struct tn_infer *infer) {
    int64_t open = TN_DIM_UNKNOWN;
    struct tn_type type = tensor_type(TN_INT64, 1, &open);
    return infer->set_type(infer->self, 0, &type);
}

/* Equal sizes stay, others are open. */
static void join_types(struct tn_type *a, const struct tn_type *b, int64_t *dims) {
    if (a->rank != b->rank) a->rank = -1;
    for (int32_t i = 0; i < a->rank && i < 8; i++)
        dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : TN_DIM_UNKNOWN;
    a->dims = dims;
}

static tn_status infer_branch(const struct tn_infer *infer) {
    struct tn_type yes[4], no[4];
    int64_t dims[8];
    uint32_t n = infer->node->n_outputs;
    const struct tn_attr *a = tn_node_attr(infer->node, "then_branch");
    const struct tn_attr *b = tn_node_attr(infer->node, "else_branch");
    if (n > 4) return TN_UNSUPPORTED;
    TN_TRY(infer->infer_subgraph(infer->self, a->as.graphs[0], NULL, 0, yes, n));
    TN_TRY(infer->infer_subgraph(infer->self, b->as.graphs[0], NULL, 0, no, n));
    for (uint32_t o = 0; o < n; o++) {
        join_types(&yes[o], &no[o], dims);
        TN_TRY(infer->set_type(infer->self, o, &yes[o]));
    }
    return TN_OK;
}

static tn_status infer_repeat(const struct tn_infer *infer) {
    struct tn_type types[8], results[8];
    int64_t dims[8];
    uint32_t n = infer->node->n_outputs;
    struct tn_graph *body = tn_node_attr(infer->node, "body")->as.graphs[0];
    if (n > 7 || infer->node->n_inputs != n + 1) return TN_UNSUPPORTED;
    types[0] = tensor_type(TN_INT64, 0, NULL);
    memcpy(types + 1, infer->inputs + 1, n * sizeof *types);
    TN_TRY(infer->infer_subgraph(infer->self, body, types, n + 1, results, n));
    /* a state that changes its shape is open, and the body sees that too */
    for (uint32_t o = 0; o < n; o++) {
        join_types(&results[o], &types[o + 1], dims);
        TN_TRY(infer->set_type(infer->self, o, &results[o]));
        types[o + 1].rank = -1;
    }
    return infer->infer_subgraph(infer->self, body, types, n + 1, results, n);
}

/* ---- rewrites -------------------------------------------------------- */

static tn_status upgrade_shift(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    const struct tn_attr *amount = tn_node_attr(node, "amount");
    float by = amount ? amount->as.floats[0] : 0;
    tn_value_id value;
    void *data;
    TN_TRY(rw->api->add_constant(
        rw->graph, "by", TN_FLOAT, NULL, 0, &value, &data, rw->diag));
    memcpy(data, &by, sizeof by);
    TN_TRY(rw->api->set_input(rw->graph, rw->node, 1, value, rw->diag));
    return rw->api->remove_attr(rw->graph, rw->node, "amount");
}

/* Version 1 gained nothing: a node behind this one takes over, appended at the end. */
static tn_status upgrade_trail(const struct tn_rewrite *rw) {
    tn_value_id fresh, old, result;
    tn_node_id id;
    TN_TRY(rw->api->detach_output(rw->graph, rw->node, 0, &fresh, &old, rw->diag));
    TN_TRY(rw->api->add_node(rw->graph, TN_NO_ID, rw->node, "fake", "Gain", 0, &fresh, 1,
        NULL, 0, &result, 1, &id, rw->diag));
    return rw->api->attach_output(rw->graph, id, 0, old, rw->diag);
}

static tn_status expand_swell(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    const struct tn_attr *attr = tn_node_attr(node, "n");
    int64_t n = attr ? attr->as.ints[0] : 1;
    tn_value_id x = node->inputs[0], sum = x, y = node->outputs[0];
    if (n < 0) return TN_UNSUPPORTED;
    for (int64_t i = 0; i < n; i++) {
        tn_value_id pair[2] = {sum, x};
        TN_TRY(rw->api->add_node(rw->graph, rw->node, rw->node, "fake", "Plus", 0, pair,
            2, NULL, 0, &sum, 1, NULL, rw->diag));
    }
    return rw->api->replace_uses(rw->graph, y, sum, rw->diag);
}

/* ---- kernels --------------------------------------------------------- */

static tn_status run_copy(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    if (out(args, 0)->data != in(args, 0)->data && in(args, 0)->size)
        memcpy(out(args, 0)->data, in(args, 0)->data, in(args, 0)->size);
    return TN_OK;
}

static tn_status run_blind(void *kernel, const struct tn_run_args *args) {
    const struct tn_tensor *x = in(args, 0);
    TN_TRY(args->run->output_alloc(args->run, args, 0, x->dtype, x->dims, x->rank));
    return run_copy(kernel, args);
}

/* One body for both types and both operators. */
static void pointwise(const struct tn_run_args *args, int times) {
    const struct tn_tensor *a = in(args, 0), *b = in(args, 1);
    struct tn_tensor *c = out(args, 0);
    int64_t n = count_of(c), sa = count_of(a) > 1, sb = count_of(b) > 1;
    for (int64_t i = 0; i < n; i++) {
        if (c->dtype == TN_FLOAT) {
            float x = ((float *)a->data)[i * sa], y = ((float *)b->data)[i * sb];
            ((float *)c->data)[i] = times ? x * y : x + y;
        } else {
            int64_t x = ((int64_t *)a->data)[i * sa], y = ((int64_t *)b->data)[i * sb];
            ((int64_t *)c->data)[i] = times ? x * y : x + y;
        }
    }
}

static tn_status run_plus(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    pointwise(args, 0);
    return TN_OK;
}

static tn_status run_times(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    pointwise(args, 1);
    return TN_OK;
}

static tn_status run_noise(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    for (int64_t i = 0; i < count_of(out(args, 0)); i++)
        ((float *)out(args, 0)->data)[i] = ((float *)in(args, 0)->data)[i] + 1;
    return TN_OK;
}

struct gain {
    const struct tn_host *host;
    float k;
};

static tn_status create_gain(const struct tn_kernel_ctx *ctx, void **out_kernel) {
    const struct tn_attr *k = tn_node_attr(ctx->node, "k");
    struct gain *gain = ctx->host->alloc(ctx->host->self, sizeof *gain, 0, "gain");
    if (!gain) return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for a kernel");
    *gain = (struct gain){ctx->host, k ? k->as.floats[0] : 1};
    *out_kernel = gain;
    return TN_OK;
}

static void destroy_gain(void *kernel) {
    struct gain *gain = kernel;
    if (gain) gain->host->free(gain->host->self, gain);
}

static tn_status run_gain(void *kernel, const struct tn_run_args *args) {
    const struct gain *gain = kernel;
    for (int64_t i = 0; i < count_of(out(args, 0)); i++)
        ((float *)out(args, 0)->data)[i] = ((float *)in(args, 0)->data)[i] * gain->k;
    return TN_OK;
}

static tn_status run_dims(void *kernel, const struct tn_run_args *args) {
    (void)kernel;
    if (in(args, 0)->rank)
        memcpy(out(args, 0)->data, in(args, 0)->dims, in(args, 0)->rank * 8);
    return TN_OK;
}

static tn_status create_fill(const struct tn_kernel_ctx *ctx, void **out_kernel) {
    const struct tn_attr *value = tn_node_attr(ctx->node, "value");
    *out_kernel = value ? (void *)(uintptr_t)value->as.floats : NULL;
    return TN_OK;
}

static tn_status run_fill(void *kernel, const struct tn_run_args *args) {
    struct tn_tensor *y = out(args, 0);
    const struct tn_tensor *shape = in(args, 0);
    if (!y->data)
        TN_TRY(args->run->output_alloc(
            args->run, args, 0, TN_FLOAT, shape->data, (uint32_t)count_of(shape)));
    for (int64_t i = 0; i < count_of(out(args, 0)); i++)
        ((float *)out(args, 0)->data)[i] = kernel ? *(const float *)kernel : 0;
    return TN_OK;
}

static tn_status run_join(void *kernel, const struct tn_run_args *args) {
    char *at = out(args, 0)->data;
    (void)kernel;
    for (uint32_t i = 0; i < args->n_inputs; i++) {
        if (in(args, i)->size) memcpy(at, in(args, i)->data, in(args, i)->size);
        at += in(args, i)->size;
    }
    return TN_OK;
}

static tn_status run_pick(void *kernel, const struct tn_run_args *args) {
    const float *x = in(args, 0)->data;
    int64_t n = count_of(in(args, 0)), found = 0;
    (void)kernel;
    for (int64_t i = 0; i < n; i++)
        found += x[i] != 0;
    TN_TRY(args->run->output_alloc(args->run, args, 0, TN_INT64, &found, 1));
    int64_t *y = out(args, 0)->data;
    for (int64_t i = 0; i < n; i++)
        if (x[i] != 0) *y++ = i;
    return TN_OK;
}

/* The node's attributes live as long as the graph: the kernel object is the graph. */
struct branches {
    const struct tn_host *host;
    struct tn_graph *yes, *no;
};

static tn_status create_branches(const struct tn_kernel_ctx *ctx, void **out_kernel) {
    const struct tn_attr *yes = tn_node_attr(ctx->node, "then_branch");
    const struct tn_attr *no = tn_node_attr(ctx->node, "else_branch");
    const struct tn_attr *body = tn_node_attr(ctx->node, "body");
    struct branches *b = ctx->host->alloc(ctx->host->self, sizeof *b, 0, "branches");
    if (!b) return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for a kernel");
    b->host = ctx->host;
    b->yes = (body ? body : yes)->as.graphs[0];
    b->no = (body ? body : no)->as.graphs[0];
    *out_kernel = b;
    return TN_OK;
}

static void destroy_branches(void *kernel) {
    struct branches *b = kernel;
    if (b) b->host->free(b->host->self, b);
}

static tn_status run_branch(void *kernel, const struct tn_run_args *args) {
    const struct branches *b = kernel;
    struct tn_value_ref results[4];
    uint8_t yes = *(const uint8_t *)in(args, 0)->data;
    TN_TRY(args->run->subgraph_run(
        args->run, args, yes ? b->yes : b->no, NULL, 0, results, args->n_outputs));
    for (uint32_t o = 0; o < args->n_outputs; o++)
        TN_TRY(args->run->output_set(args->run, args, o, &results[o]));
    return TN_OK;
}

static tn_status run_repeat(void *kernel, const struct tn_run_args *args) {
    const struct branches *b = kernel;
    int64_t times = *(const int64_t *)in(args, 0)->data, i;
    struct tn_tensor counter = {
        .data = &i, .size = sizeof i, .dtype = TN_INT64, .rank = 0};
    struct tn_value_ref state[8];
    memcpy(state, args->inputs, args->n_inputs * sizeof *state);
    for (i = 0; i < times; i++) {
        TN_TRY(args->run->interrupted(args->run));
        state[0] = (struct tn_value_ref){.kind = TN_KIND_TENSOR, .as.tensor = &counter};
        TN_TRY(args->run->subgraph_run(
            args->run, args, b->yes, state, args->n_inputs, state + 1, args->n_outputs));
    }
    for (uint32_t o = 0; o < args->n_outputs; o++)
        TN_TRY(args->run->output_set(args->run, args, o, &state[o + 1]));
    return TN_OK;
}

/* ---- tables ---------------------------------------------------------- */

/* clang-format off */
#define ANY ((UINT64_C(1) << TN_DTYPE_COUNT) - 2)
#define NUMBER (TN_BIT(FLOAT) | TN_BIT(INT64))

static const struct tn_type_var any_t[] = {{"T", ANY, 0, 0, 0}};
static const struct tn_type_var number_t[] = {{"T", NUMBER, 0, 0, 0}};
static const struct tn_type_var float_t[] = {{"T", TN_BIT(FLOAT), 0, 0, 0}};
static const struct tn_formal x_in[] = {{"x", "T", 0, 0, 0}};
static const struct tn_formal y_out[] = {{"y", "T", 0, 0, 0}};
static const struct tn_formal ab_in[] = {{"a", "T", 0, 0, 0}, {"b", "T", 0, 0, 0}};
static const struct tn_formal i64_out[] = {{"y", NULL, TN_BIT(INT64), 0, 0}};
static const struct tn_formal shape_in[] = {{"shape", NULL, TN_BIT(INT64), 0, 0}};
static const struct tn_formal reform_in[] = {{"x", "T", 0, 0, 0}, {"shape", NULL, TN_BIT(INT64), 0, 0}};
static const struct tn_formal join_in[] = {{"x", "T", 0, TN_FORMAL_VARIADIC, 1}};
static const struct tn_formal cond_in[] = {{"cond", NULL, TN_BIT(BOOL), 0, 0}};
static const struct tn_formal repeat_in[] = {{"n", NULL, TN_BIT(INT64), 0, 0},
    {"state", NULL, ANY, TN_FORMAL_VARIADIC | TN_FORMAL_HETEROGENEOUS, 0}};
static const struct tn_formal many_out[] = {{"y", NULL, ANY, TN_FORMAL_VARIADIC | TN_FORMAL_HETEROGENEOUS, 0}};
static const struct tn_formal any_out[] = {{"y", NULL, ANY, 0, 0}};

static const struct tn_attr_def k_attr[] = {{"k", TN_ATTR_FLOAT, 0}};
static const struct tn_attr_def n_attr[] = {{"n", TN_ATTR_INT, 0}};
static const struct tn_attr_def const_attr[] = {{"value", TN_ATTR_TENSOR, TN_ATTR_REQUIRED}};
static const struct tn_attr_def fill_attr[] = {{"value", TN_ATTR_FLOAT, 0}};
static const struct tn_attr_def branch_attr[] = {{"then_branch", TN_ATTR_GRAPH, TN_ATTR_REQUIRED},
    {"else_branch", TN_ATTR_GRAPH, TN_ATTR_REQUIRED}};
static const struct tn_attr_def body_attr[] = {{"body", TN_ATTR_GRAPH, TN_ATTR_REQUIRED}};

static const struct tn_op_version one[] = {{1, 0, NULL}};
static const struct tn_op_version shift_versions[] = {{1, 0, NULL}, {2, 0, NULL}, {3, 0, upgrade_shift}};
static const struct tn_op_version trail_versions[] = {{1, 0, NULL}, {2, 0, upgrade_trail}};
static const struct tn_op_version gone_versions[] = {{1, 0, NULL}, {2, TN_VERSION_DEPRECATED, NULL}};

#define DEF(name, ...) {.struct_size = TN_OP_DEF_SIZE, .domain = "fake", .op_type = name, __VA_ARGS__}
#define LIST(field, n_field, table) .field = table, .n_field = COUNT(table)
#define VERSIONS(table) LIST(versions, n_versions, table)
#define SHAPE(ins, outs, vars) LIST(inputs, n_inputs, ins), LIST(outputs, n_outputs, outs), LIST(type_vars, n_type_vars, vars)
#define ATTRS(table) LIST(attrs, n_attrs, table)

static const struct tn_op_def defs[] = {
    DEF("Copy", VERSIONS(one), SHAPE(x_in, y_out, any_t), .infer = infer_same, .elide = elide_copy),
    DEF("Plus", VERSIONS(one), SHAPE(ab_in, y_out, number_t), .infer = infer_plus),
    DEF("Times", VERSIONS(one), SHAPE(ab_in, y_out, number_t), .infer = infer_times),
    DEF("Gain", VERSIONS(one), SHAPE(x_in, y_out, float_t), ATTRS(k_attr), .infer = infer_same),
    DEF("Twice", VERSIONS(one), SHAPE(x_in, y_out, number_t), .infer = infer_same,
        .expansion = "<opset_import: [\"fake\" : 3]> Twice (x) => (y) { y = fake.Plus(x, x) }"),
    DEF("Boost", VERSIONS(one), SHAPE(x_in, y_out, float_t), ATTRS(k_attr), .infer = infer_same,
        .expansion = "<opset_import: [\"fake\" : 3]> Boost <k: float = 3.0> (x) => (y)"
                     " { g = fake.Gain <k: float = @k> (x) y = fake.Plus(g, x) }"),
    DEF("Lift", VERSIONS(one), SHAPE(x_in, y_out, float_t), .infer = infer_same,
        .expansion = "Lift (x) => (y) { y = fake.Shift(x, x) }"),
    DEF("Swell", VERSIONS(one), SHAPE(x_in, y_out, number_t), ATTRS(n_attr), .infer = infer_same, .expand = expand_swell),
    DEF("Const", VERSIONS(one), .outputs = any_out, .n_outputs = 1, ATTRS(const_attr), .infer = infer_const),
    DEF("Dims", VERSIONS(one), SHAPE(x_in, i64_out, any_t), .infer = infer_dims),
    DEF("Fill", VERSIONS(one), SHAPE(shape_in, y_out, float_t), ATTRS(fill_attr), .infer = infer_fill),
    DEF("Reform", VERSIONS(one), SHAPE(reform_in, y_out, any_t), .infer = infer_reform),
    DEF("Join", VERSIONS(one), SHAPE(join_in, y_out, any_t), .infer = infer_join),
    DEF("Pick", VERSIONS(one), SHAPE(x_in, i64_out, float_t), .infer = infer_pick),
    DEF("Branch", VERSIONS(one), SHAPE(cond_in, many_out, any_t), ATTRS(branch_attr), .infer = infer_branch),
    DEF("Repeat", VERSIONS(one), SHAPE(repeat_in, many_out, any_t), ATTRS(body_attr), .infer = infer_repeat),
    DEF("Noise", VERSIONS(one), SHAPE(x_in, y_out, float_t), .infer = infer_same, .flags = TN_OP_NONDETERMINISTIC),
    DEF("Shift", VERSIONS(shift_versions), SHAPE(ab_in, y_out, float_t), .infer = infer_plus),
    DEF("Trail", VERSIONS(trail_versions), SHAPE(x_in, y_out, float_t), .infer = infer_same),
    DEF("Gone", VERSIONS(gone_versions), SHAPE(x_in, y_out, any_t), .infer = infer_same),
    DEF("Blind", VERSIONS(one), SHAPE(x_in, y_out, any_t)),
};

static const struct tn_inplace view[] = {{0, 0, TN_INPLACE_VIEW}};
static const struct tn_inplace either[] = {{0, 0, TN_INPLACE_OVERWRITE}, {1, 0, TN_INPLACE_OVERWRITE}};

#define KERNEL(op, version, fn, ...) {.struct_size = TN_KERNEL_DEF_SIZE, .provider = "fake", .domain = "fake", \
    .op_type = op, .name = "fake_" op, .since = version, .compute = fn, __VA_ARGS__}

static const struct tn_kernel_def kernels[] = {
    KERNEL("Copy", 1, run_copy, LIST(inplace, n_inplace, view)),
    KERNEL("Plus", 1, run_plus, LIST(inplace, n_inplace, either)),
    KERNEL("Times", 1, run_times, LIST(inplace, n_inplace, either)),
    KERNEL("Gain", 1, run_gain, .create = create_gain, .destroy = destroy_gain),
    KERNEL("Dims", 1, run_dims),
    KERNEL("Fill", 1, run_fill, .create = create_fill),
    KERNEL("Reform", 1, run_copy, LIST(inplace, n_inplace, view)),
    KERNEL("Join", 1, run_join),
    KERNEL("Pick", 1, run_pick),
    KERNEL("Branch", 1, run_branch, .create = create_branches, .destroy = destroy_branches),
    KERNEL("Repeat", 1, run_repeat, .create = create_branches, .destroy = destroy_branches),
    KERNEL("Noise", 1, run_noise),
    KERNEL("Shift", 3, run_plus),
    KERNEL("Trail", 2, run_copy),
    KERNEL("Blind", 1, run_blind),
};
/* clang-format on */

/* ---- provider and plugin --------------------------------------------- */

static void fake_devices(void *plugin_state,
    void (*emit)(void *arg, const struct tn_device *device), void *arg) {
    (void)plugin_state;
    const struct tn_device device = {.struct_size = TN_DEVICE_SIZE,
        .kind = TN_DEVICE_CPU,
        .name = "made up",
        .arch = "any"};
    emit(arg, &device);
}

static tn_status fake_create(void *plugin_state, const struct tn_host *host,
    const char *const *options, uint32_t n_options, void **out_instance,
    struct tn_diag *diag) {
    (void)plugin_state;
    (void)host;
    if (n_options > 0)
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "provider 'fake' has no option '%s'", options[0]);
    *out_instance = NULL;
    return TN_OK;
}

static void fake_destroy(void *instance) {
    (void)instance;
}

static const struct tn_provider_def provider = {.struct_size = TN_PROVIDER_DEF_SIZE,
    .id = "fake",
    .name = "made up",
    .device_kind = TN_DEVICE_CPU,
    .devices = fake_devices,
    .create = fake_create,
    .destroy = fake_destroy,
    .capability = tn_claim_served};

static const struct tn_op_def *def_table[COUNT(defs)];
static const struct tn_kernel_def *kernel_table[COUNT(kernels)];
static const struct tn_provider_def *const provider_table[] = {&provider};

static tn_status fake_ops(
    void *state, const struct tn_op_def *const **out_table, uint32_t *out_count) {
    (void)state;
    for (uint32_t i = 0; i < COUNT(defs); i++)
        def_table[i] = &defs[i];
    *out_table = def_table;
    *out_count = COUNT(defs);
    return TN_OK;
}

static tn_status fake_kernels(
    void *state, const struct tn_kernel_def *const **out_table, uint32_t *out_count) {
    (void)state;
    for (uint32_t i = 0; i < COUNT(kernels); i++)
        kernel_table[i] = &kernels[i];
    *out_table = kernel_table;
    *out_count = COUNT(kernels);
    return TN_OK;
}

static tn_status fake_providers(
    void *state, const struct tn_provider_def *const **out_table, uint32_t *out_count) {
    (void)state;
    *out_table = provider_table;
    *out_count = COUNT(provider_table);
    return TN_OK;
}

static const struct tn_plugin plugin = {.struct_size = TN_PLUGIN_SIZE,
    .abi_minor = TN_ABI_MINOR,
    .host_minor_min = TN_ABI_MINOR,
    .id = "org.tenon.fake",
    .name = "made-up operators",
    .version = "1.0.0",
    .vendor = "tests",
    .licence = "Apache-2.0",
    .sanitizer = TN_SANITIZER_CURRENT,
    .capabilities = TN_PLUGIN_HAS_OPS | TN_PLUGIN_HAS_KERNELS | TN_PLUGIN_HAS_PROVIDERS,
    .ops = fake_ops,
    .kernels = fake_kernels,
    .providers = fake_providers};

TN_DEFINE_PLUGIN(plugin, "org.tenon.fake");
