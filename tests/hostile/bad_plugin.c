/* An operator of a third party that misbehaves at run time: bad.Op doubles its input, and
 * its attribute `fault` says what it does wrong instead. Written against the installed
 * headers alone, in the common part of C11 and C++17. */
#include "bad_plugin.h"

#include "tenon/helper/diag.h"
#include "tenon/helper/shape.h"
#include "tenon/op.h"
#include "tenon/plugin.h"

#include <string.h>

struct bad {
    int64_t fault;
    uint64_t calls;
};

static struct bad pool[64];
static unsigned n_pool;

static int64_t fault_of(const struct tn_node *node) {
    const struct tn_attr *attr = tn_node_attr(node, "fault");
    return attr && attr->type == TN_ATTR_INT ? attr->as.ints[0] : 0;
}

static tn_status infer(const struct tn_infer *in) {
    const struct tn_type *x = tn_infer_input(in, 0);
    static const int64_t dims[] = {3, 2, 1};
    struct tn_type type;
    if (!x) return TN_OK;
    type = *x;
    switch (fault_of(in->node)) {
    case BAD_INFER_RANK: return tn_infer_set(in, 0, TN_FLOAT, 3, dims);
    case BAD_INFER_DTYPE: return tn_infer_set(in, 0, TN_INT32, x->rank, x->dims);
    case BAD_INFER_FAILS: return TN_INTERNAL;
    case BAD_INFER_STATUS: return 4711;
    case BAD_INFER_KIND: type.kind = 99; return in->set_type(in->self, 0, &type);
    case BAD_INFER_DIMS:
        type.dims = NULL;
        type.rank = 3;
        return in->set_type(in->self, 0, &type);
    case BAD_INFER_NEGATIVE: type.rank = -77; return in->set_type(in->self, 0, &type);
    case BAD_INFER_OUTPUT: return in->set_type(in->self, 9, &type);
    case BAD_LEAVES_OUTPUT:
    case BAD_ALLOC_DTYPE:
    case BAD_ALLOC_OUTPUT:
    case BAD_ALLOC_NEGATIVE:
    case BAD_ALLOC_HUGE: return tn_infer_set(in, 0, TN_FLOAT, -1, NULL);
    default: return tn_infer_like(in, 0, 0);
    }
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    struct bad *bad = &pool[n_pool++ % 64];
    bad->fault = fault_of(ctx->node);
    bad->calls = 0;
    *out = bad;
    return bad->fault == BAD_CREATE_FAILS ? TN_UNSUPPORTED : TN_OK;
}

static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct bad *bad = (const struct bad *)kernel;
    (void)args;
    if (bad->fault == BAD_WORKSPACE_OVERFLOWS) out->scratch = out->state = UINT64_MAX;
    if (bad->fault == BAD_WORKSPACE_HUGE) out->scratch = UINT64_C(1) << 50;
    if (bad->fault == BAD_STATE_HUGE) out->state = UINT64_C(1) << 50;
    return TN_OK;
}

static tn_status prepare(void *kernel, const struct tn_run_args *args, tn_compute_fn *fn,
    struct tn_diag *diag) {
    const struct bad *bad = (const struct bad *)kernel;
    (void)args;
    (void)diag;
    if (bad->fault == BAD_PREPARE_NULL) *fn = NULL;
    return TN_OK;
}

/* What compute does with an output whose shape it may choose. */
static tn_status choose(const struct bad *bad, const struct tn_run_args *args) {
    const struct tn_run *run = args->run;
    static const int64_t two[] = {2}, minus[] = {-2},
                         huge[] = {INT64_C(1) << 40, INT64_C(1) << 40};
    switch (bad->fault) {
    case BAD_ALLOC_DTYPE: return run->output_alloc(run, args, 0, TN_DOUBLE, two, 1);
    case BAD_ALLOC_OUTPUT: return run->output_alloc(run, args, 7, TN_FLOAT, two, 1);
    case BAD_ALLOC_NEGATIVE: return run->output_alloc(run, args, 0, TN_FLOAT, minus, 1);
    case BAD_ALLOC_HUGE: return run->output_alloc(run, args, 0, TN_FLOAT, huge, 2);
    case BAD_ALLOC_OTHER: return run->output_alloc(run, args, 0, TN_FLOAT, huge, 2);
    case BAD_SETS_NULL: return run->output_set(run, args, 0, NULL);
    case BAD_RUNS_NO_GRAPH: return run->subgraph_run(run, args, NULL, NULL, 0, NULL, 0);
    case BAD_ALLOC_SCRATCH:
        return run->alloc(run, UINT64_MAX - 7, 64) ? TN_OK : TN_OUT_OF_MEMORY;
    default: return TN_OK;
    }
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    struct bad *bad = (struct bad *)kernel;
    TN_TRY(choose(bad, args));
    bad->calls++;
    if (bad->fault == BAD_THIRD_CALL && bad->calls % 3 == 0) return TN_PLUGIN;
    if (bad->fault == BAD_STATUS) return 12345;
    if (bad->fault == BAD_NEGATIVE_STATUS) return -7;
    if (bad->fault == BAD_LEAVES_OUTPUT) return TN_OK;
    const float *x = (const float *)args->inputs[0].as.tensor->data;
    const struct tn_tensor *out = args->outputs[0].as.tensor;
    uint64_t n = args->inputs[0].as.tensor->size / sizeof *x;
    if (out->size < n * sizeof *x) n = out->size / sizeof *x;
    for (uint64_t i = 0; i < n; i++)
        ((float *)out->data)[i] = 2 * x[i];
    return TN_OK;
}

/* ---- tables ------------------------------------------------------------------------------ */

static const struct tn_op_version versions[] = {{1, 0, NULL}};
static const struct tn_formal formal_x = {"X", "T", 0, 0, 0},
                              formal_y = {"Y", "T", 0, 0, 0};
static const struct tn_type_var var = {"T", TN_BIT(FLOAT), 0, 0, 0};
static struct tn_attr_def attr;
static struct tn_op_def op;
static struct tn_kernel_def row;
static struct tn_plugin plugin;

static tn_status get_ops(
    void *state, const struct tn_op_def *const **out_table, uint32_t *out_count) {
    static const struct tn_op_def *const table[] = {&op};
    (void)state;
    *out_table = table;
    *out_count = 1;
    return TN_OK;
}

static tn_status get_kernels(
    void *state, const struct tn_kernel_def *const **out_table, uint32_t *out_count) {
    static const struct tn_kernel_def *const table[] = {&row};
    (void)state;
    *out_table = table;
    *out_count = 1;
    return TN_OK;
}

/* Field by field, before anybody asks: nested designators are not C++. */
__attribute__((constructor)) static void fill_tables(void) {
    attr.name = "fault";
    attr.type = TN_ATTR_INT;
    op.struct_size = TN_OP_DEF_SIZE;
    op.domain = "bad";
    op.op_type = "Op";
    op.versions = versions;
    op.inputs = &formal_x;
    op.outputs = &formal_y;
    op.type_vars = &var;
    op.attrs = &attr;
    op.n_versions = op.n_inputs = op.n_outputs = op.n_type_vars = op.n_attrs = 1;
    op.infer = infer;
    row.struct_size = TN_KERNEL_DEF_SIZE;
    row.provider = "cpu";
    row.domain = "bad";
    row.op_type = "Op";
    row.since = 1;
    row.create = create;
    row.workspace = workspace;
    row.prepare = prepare;
    row.compute = compute;
    plugin.struct_size = TN_PLUGIN_SIZE;
    plugin.abi_minor = TN_ABI_MINOR;
    plugin.host_minor_min = TN_ABI_MINOR;
    plugin.id = "org.tenon.bad";
    plugin.name = "Bad";
    plugin.version = "1.0.0";
    plugin.vendor = "Tenon's tests";
    plugin.licence = "Apache-2.0";
    plugin.sanitizer = TN_SANITIZER_CURRENT;
    plugin.capabilities = TN_PLUGIN_HAS_OPS | TN_PLUGIN_HAS_KERNELS;
    plugin.ops = get_ops;
    plugin.kernels = get_kernels;
}

TN_DEFINE_PLUGIN(plugin, "org.tenon.bad");
