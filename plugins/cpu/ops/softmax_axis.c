/* Softmax, LogSoftmax and Hardmax along one axis.
 *
 * The tensor is (outer, n, inner). Before version 13 the axis began a flattened tail: the
 * upgrade makes that explicit. */
#include "ops/narrow.h"
#include "ops/ops.h"

#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

#define SOFTMAX_ATTRS(X, S) X(S, INT, axis, -1)
TN_ATTR_TABLE(softmax, SOFTMAX_ATTRS)

static tn_status infer_softmax(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct softmax_attrs attrs;
    TN_TRY(TN_ATTRS_READ(softmax, infer->node, &attrs, infer->diag));
    if (x && x->rank >= 0 && (attrs.axis < -x->rank || attrs.axis >= x->rank) &&
        !(x->rank == 0 && (attrs.axis == -1 || attrs.axis == 0)))
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "axis %lld is outside a tensor of rank %d", (long long)attrs.axis, x->rank);
    return tn_infer_like(infer, 0, 0);
}

enum kind { SOFTMAX, LOG_SOFTMAX, HARDMAX };

struct softmax {
    struct tn__kernel base;
    enum kind kind;
    int64_t axis;
};

struct plan {
    size_t outer, n, inner;
};

enum { LANES = 256 }; /* elements that are worked on together */

static tn_status create_softmax(const struct tn_kernel_ctx *ctx, void **out) {
    struct softmax_attrs attrs;
    TN_TRY(TN_ATTRS_READ(softmax, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct softmax), out));
    struct softmax *softmax = *out;
    char first = ctx->node->op_type[0];
    softmax->kind = first == 'S' ? SOFTMAX : first == 'L' ? LOG_SOFTMAX : HARDMAX;
    softmax->axis = attrs.axis;
    return TN_OK;
}

static tn_status workspace_softmax(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    (void)args;
    out->state = sizeof(struct plan);
    return TN_OK;
}

static tn_status prepare_softmax(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct softmax *softmax = kernel;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    struct plan *plan = args->state;
    uint32_t axis = 0;
    (void)fn;
    if (x->rank == 0) {
        *plan = (struct plan){1, 1, 1};
        return TN_OK;
    }
    TN_TRY(tn_axis_fix(softmax->axis, x->rank, &axis, diag));
    plan->outer = (size_t)tn_dims_product(x->dims, 0, axis);
    plan->n = (size_t)x->dims[axis];
    plan->inner = (size_t)tn_dims_product(x->dims, axis + 1, x->rank);
    return TN_OK;
}

struct job {
    const struct plan *plan;
    const void *x;
    void *y;
    tn_unary_fn *exp;
    const struct tn__cpu *cpu;
};

/* Sum of a run in eight interleaved parts: short chains, and an order of its own. */
static double sum_f64(const double *x, size_t n) {
    double part[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t j = 0; j < 8; j++)
            part[j] += x[i + j];
    for (size_t j = 0; i < n; i++, j++)
        part[j] += x[i];
    return ((part[0] + part[1]) + (part[2] + part[3])) +
           ((part[4] + part[5]) + (part[6] + part[7]));
}

static double greatest_f64(const double *x, size_t n) {
    double part[8];
    size_t i = 0;
    for (size_t j = 0; j < 8; j++)
        part[j] = -INFINITY;
    for (; i + 8 <= n; i += 8)
        for (size_t j = 0; j < 8; j++)
            part[j] = x[i + j] > part[j] ? x[i + j] : part[j];
    for (size_t j = 0; i < n; i++, j++)
        part[j] = x[i] > part[j] ? x[i] : part[j];
    for (size_t j = 1; j < 8; j++)
        part[0] = part[j] > part[0] ? part[j] : part[0];
    return part[0];
}

static void row_f64(const struct job *job, double *y, const double *x, bool log_of) {
    size_t n = job->plan->n;
    double top = greatest_f64(x, n), total = 0, e[LANES];
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] - top;
    if (log_of) {
        for (size_t i = 0; i < n; i += LANES) {
            size_t count = n - i < LANES ? n - i : LANES;
            job->exp(e, y + i, count, NULL);
            total += sum_f64(e, count);
        }
        total = log(total);
        for (size_t i = 0; i < n; i++)
            y[i] -= total;
        return;
    }
    job->exp(y, y, n, NULL);
    total = 1 / sum_f64(y, n);
    for (size_t i = 0; i < n; i++)
        y[i] *= total;
}

#define T float
#define NAME(x) x##_f32
#define EXP(cpu) (cpu)->vmath.f32[TN_VMATH_EXP]
#define ROW(job, y, x, log_of)                                                           \
    ((log_of) ? (job)->cpu->softmax.log_softmax : (job)->cpu->softmax.softmax)(          \
        y, x, (job)->plan->n)
#include "ops/softmax_axis_tmpl.h"
#define T double
#define NAME(x) x##_f64
#define EXP(cpu) (cpu)->vmath.f64[TN_VMATH_EXP]
#define ROW(job, y, x, log_of) row_f64(job, y, x, log_of)
#include "ops/softmax_axis_tmpl.h"

/* ---- 12 to 13: the axis began a flattened tail -------------------------------------------- */

static tn_status upgrade_softmax_13(const struct tn_rewrite *rw) {
    const struct tn_graph_api *api = rw->api;
    const struct tn_node *node = api->node(rw->graph, rw->node);
    const struct tn_attr *attr = tn_node_attr(node, "axis");
    const struct tn_type *type = api->value_type(rw->graph, node->inputs[0]);
    int64_t axis = attr && attr->type == TN_ATTR_INT ? attr->as.ints[0] : 1, last = -1;
    struct tn_attr new_axis = {"axis", TN_ATTR_INT, 1, {.ints = &last}, NULL};
    bool tail_is_one = type && type->kind == TN_KIND_TENSOR && type->rank >= 0 &&
                       (axis == type->rank - 1 || axis == -1);
    TN_TRY(api->set_attr(rw->graph, rw->node, &new_axis, rw->diag));
    if (tail_is_one) return TN_OK;
    /* Reshape(Softmax(Flatten(x, axis)), Shape(x)) */
    tn_value_id x = api->node(rw->graph, rw->node)->inputs[0], flat, shape, fresh, old;
    tn_node_id id;
    struct tn_attr flat_axis = {"axis", TN_ATTR_INT, 1, {.ints = &axis}, NULL};
    TN_TRY(api->add_node(rw->graph, rw->node, rw->node, "", "Shape", 0, &x, 1, NULL, 0,
        &shape, 1, &id, rw->diag));
    TN_TRY(api->add_node(rw->graph, rw->node, rw->node, "", "Flatten", 0, &x, 1,
        &flat_axis, 1, &flat, 1, &id, rw->diag));
    TN_TRY(api->set_input(rw->graph, rw->node, 0, flat, rw->diag));
    TN_TRY(api->detach_output(rw->graph, rw->node, 0, &fresh, &old, rw->diag));
    tn_value_id inputs[2] = {fresh, shape}, reshaped;
    int64_t yes = 1; /* an axis of size 0 is no axis to copy */
    struct tn_attr allow_zero = {"allowzero", TN_ATTR_INT, 1, {.ints = &yes}, NULL};
    TN_TRY(api->add_node(rw->graph, TN_NO_ID, rw->node, "", "Reshape", 0, inputs, 2,
        &allow_zero, 1, &reshaped, 1, &id, rw->diag));
    return api->attach_output(rw->graph, id, 0, old, rw->diag);
}

/* clang-format off */
#define ROW(name) \
    {TN_DEF("", name), TN_VERSIONS({1}, {11}, {13, 0, upgrade_softmax_13}), \
        TN_INPUTS({"input", "T"}), TN_OUTPUTS({"output", "T"}), \
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}), TN_ATTRS(softmax), .infer = infer_softmax}
static const struct tn_op_def defs[] = {ROW("Softmax"), ROW("LogSoftmax"), ROW("Hardmax")};

#define SLOTS(type) .create = create_softmax, .workspace = workspace_softmax, \
    .prepare = prepare_softmax, .compute = softmax_##type
#define F32 TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)})
#define F64 TN_KERNEL_TYPES({"T", TN_BIT(DOUBLE)})
#define NARROW TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})
#define INPLACE TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE})
TN_NARROW(softmax, SLOTS(f32))

#define KERNELS(name) \
    {TN_KERNEL("", name, 13), F32, INPLACE, SLOTS(f32)}, \
    {TN_KERNEL("", name, 13), F64, INPLACE, SLOTS(f64)}, \
    {TN_NARROW_KERNEL("", name, 13, softmax), NARROW}
static const struct tn_kernel_def kernels[] = {
    KERNELS("Softmax"), KERNELS("LogSoftmax"), KERNELS("Hardmax")};
/* clang-format on */

TN_FAMILY(softmax);
