/* TopK: the k greatest or least elements along an axis. NaN is the greatest, equal elements
 * keep the order of their indices. */
#include "ops/ops.h"

#include "ops/narrow.h"
#include "tenon/helper/parallel.h"

#include <stdbool.h>

#define TOPK_ATTRS(X, S) X(S, INT, axis, -1) X(S, INT, largest, 1) X(S, INT, sorted, 1)
TN_ATTR_TABLE(topk, TOPK_ATTRS)

static tn_status infer_topk(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct topk_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    uint32_t n = 0, axis = 0;
    if (!x) return TN_OK;
    TN_TRY(TN_ATTRS_READ(topk, infer->node, &attrs, infer->diag));
    if (x->rank >= 0) {
        TN_TRY(tn_rank_check(x->rank, infer->diag));
        TN_TRY(tn_axis_fix(attrs.axis, x->rank, &axis, infer->diag));
        const int64_t *k = tn_infer_ints(infer, 1, &n);
        for (int32_t i = 0; i < x->rank; i++)
            dims[i] = x->dims[i];
        dims[axis] = k && n == 1 ? k[0] : TN_DIM_UNKNOWN;
    }
    TN_TRY(tn_infer_set(infer, 0, x->dtype, x->rank, dims));
    return tn_infer_set(infer, 1, TN_INT64, x->rank, dims);
}

struct topk {
    struct tn__kernel base;
    int64_t axis;
    bool largest;
};

static tn_status create_topk(const struct tn_kernel_ctx *ctx, void **out) {
    struct topk_attrs attrs;
    TN_TRY(TN_ATTRS_READ(topk, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct topk), out));
    ((struct topk *)*out)->axis = attrs.axis;
    ((struct topk *)*out)->largest = attrs.largest != 0;
    return TN_OK;
}

/* The data of one axis: element j of line (o, i) stands at (o · n + j) · inner + i. */
struct job {
    const void *x;
    void *values;
    int64_t *indices;
    size_t n, k, inner;
    bool largest;
    uint32_t *heaps; /* k indices for each line */
};

/* One file of functions a type: whether element a comes before element b. */
#define T float
#define NAME(x) x##_f32
#define IS_NAN(x) ((x) != (x))
#include "ops/topk_tmpl.h"
#define T double
#define NAME(x) x##_f64
#define IS_NAN(x) ((x) != (x))
#include "ops/topk_tmpl.h"
#define T int8_t
#define NAME(x) x##_i8
#include "ops/topk_tmpl.h"
#define T uint8_t
#define NAME(x) x##_u8
#include "ops/topk_tmpl.h"
#define T int16_t
#define NAME(x) x##_i16
#include "ops/topk_tmpl.h"
#define T uint16_t
#define NAME(x) x##_u16
#include "ops/topk_tmpl.h"
#define T int32_t
#define NAME(x) x##_i32
#include "ops/topk_tmpl.h"
#define T uint32_t
#define NAME(x) x##_u32
#include "ops/topk_tmpl.h"
#define T int64_t
#define NAME(x) x##_i64
#include "ops/topk_tmpl.h"
#define T uint64_t
#define NAME(x) x##_u64
#include "ops/topk_tmpl.h"

static const struct {
    int32_t dtype;
    tn_parallel_fn run;
} types[] = {
    {TN_FLOAT, lines_f32},
    {TN_DOUBLE, lines_f64},
    {TN_INT8, lines_i8},
    {TN_UINT8, lines_u8},
    {TN_INT16, lines_i16},
    {TN_UINT16, lines_u16},
    {TN_INT32, lines_i32},
    {TN_UINT32, lines_u32},
    {TN_INT64, lines_i64},
    {TN_UINT64, lines_u64},
};

static tn_status read_k(const struct tn_run_args *args, size_t n, size_t *out) {
    const struct tn_tensor *k = args->inputs[1].as.tensor;
    int64_t value = tn_tensor_count(k) == 1 ? tn_tensor_int(k, 0) : -1;
    if (value < 0 || (size_t)value > n)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "K is %lld, expected one number from 0 to %zu, the size of the axis",
            (long long)value, n);
    *out = (size_t)value;
    return TN_OK;
}

static tn_status compute_topk(void *kernel, const struct tn_run_args *args) {
    const struct topk *topk = kernel;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    const struct tn_host *host = topk->base.host;
    struct tn_tensor *values = NULL, *indices = NULL;
    int64_t dims[TN_RANK_MAX];
    uint32_t axis = 0;
    TN_TRY(tn_rank_check(x->rank, args->run->diag));
    TN_TRY(tn_axis_fix(topk->axis, x->rank, &axis, args->run->diag));
    struct job job = {.x = x->data,
        .n = (size_t)x->dims[axis],
        .inner = (size_t)tn_dims_product(x->dims, axis + 1, x->rank),
        .largest = topk->largest};
    if (job.n > UINT32_MAX)
        return tn_fail(
            args->run->diag, TN_UNSUPPORTED, "axis %u has %zu elements", axis, job.n);
    TN_TRY(read_k(args, job.n, &job.k));
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[axis] = (int64_t)job.k;
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, x->rank, &values));
    TN_TRY(tn_out_shaped(args, 1, TN_INT64, dims, x->rank, &indices));
    int64_t lines = tn_dims_product(x->dims, 0, axis) * (int64_t)job.inner;
    if (lines == 0 || job.k == 0) return TN_OK;
    job.values = values->data;
    job.indices = indices->data;
    job.heaps =
        args->run->alloc(args->run, (uint64_t)lines * job.k * sizeof(uint32_t), 64);
    if (!job.heaps)
        return tn_fail(args->run->diag, TN_OUT_OF_MEMORY, "no memory for the indices");
    for (size_t i = 0; i < TN_COUNT(types); i++)
        if (types[i].dtype == x->dtype)
            tn_parallel(host, lines, (double)job.n * 2, types[i].run, &job);
    return TN_OK;
}

/* f16 and bf16: widening keeps the order, rounding back is exact. The inner outputs are asked
 * for by shape, so the whole is done here. */
static tn_status compute_narrow(void *kernel, const struct tn_run_args *args) {
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    int64_t n = tn_tensor_count(x);
    struct tn_tensor wide = *x, *values = NULL, *indices = NULL;
    struct tn_value_ref inputs[2] = {args->inputs[0], args->inputs[1]}, outputs[2];
    struct tn_run_args shadow = *args;
    struct tn_tensor wide_values;
    const struct topk *topk = kernel;
    uint32_t axis = 0;
    int64_t dims[TN_RANK_MAX];
    size_t k;
    TN_TRY(tn_rank_check(x->rank, args->run->diag));
    TN_TRY(tn_axis_fix(topk->axis, x->rank, &axis, args->run->diag));
    TN_TRY(read_k(args, (size_t)x->dims[axis], &k));
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[axis] = (int64_t)k;
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, x->rank, &values));
    TN_TRY(tn_out_shaped(args, 1, TN_INT64, dims, x->rank, &indices));
    int64_t m = tn_tensor_count(values);
    float *memory =
        args->run->alloc(args->run, (uint64_t)(n + m + 1) * sizeof(float), 64);
    if (!memory) return tn_fail(args->run->diag, TN_OUT_OF_MEMORY, "no memory to widen");
    tn__widen(memory, x->data, x->dtype, (size_t)n);
    wide.data = memory;
    wide.dtype = TN_FLOAT;
    wide_values = *values;
    wide_values.data = memory + n;
    wide_values.dtype = TN_FLOAT;
    inputs[0].as.tensor = &wide;
    outputs[0] = args->outputs[0];
    outputs[1] = args->outputs[1];
    outputs[0].as.tensor = &wide_values;
    shadow.inputs = inputs;
    shadow.outputs = outputs;
    TN_TRY(compute_topk(kernel, &shadow));
    tn__round(values->data, memory + n, x->dtype, (size_t)m);
    return TN_OK;
}

/* K was an attribute. */
static tn_status upgrade_topk_10(const struct tn_rewrite *rw) {
    const struct tn_attr *attr = tn_node_attr(rw->api->node(rw->graph, rw->node), "k");
    if (!attr || attr->type != TN_ATTR_INT)
        return tn_fail(rw->diag, TN_INVALID_MODEL, "required attribute 'k' is missing");
    int64_t k = attr->as.ints[0], one = 1;
    tn_value_id value;
    void *data;
    TN_TRY(rw->api->add_constant(
        rw->graph, "k", TN_INT64, &one, 1, &value, &data, rw->diag));
    memcpy(data, &k, sizeof k);
    TN_TRY(rw->api->set_input(rw->graph, rw->node, 1, value, rw->diag));
    return rw->api->remove_attr(rw->graph, rw->node, "k");
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "TopK"), TN_VERSIONS({1}, {10, 0, upgrade_topk_10}, {11}, {24}),
        TN_INPUTS({"X", "T"}, {"K", NULL, TN_BIT(INT64)}),
        TN_OUTPUTS({"Values", "T"}, {"Indices", "I"}),
        TN_TYPE_VARS({"T", TN_TYPES_NUMBERS}, {"I", TN_BIT(INT64)}),
        TN_ATTRS(topk), .infer = infer_topk},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "TopK", 24),
        TN_KERNEL_TYPES({"T", TN_TYPES_INTS | TN_BIT(FLOAT) | TN_BIT(DOUBLE)}),
        .create = create_topk, .compute = compute_topk},
    {TN_KERNEL("", "TopK", 24), TN_KERNEL_TYPES({"T", TN_NARROW_TYPES}), .create = create_topk,
        .compute = compute_narrow},
};
/* clang-format on */

TN_FAMILY(topk);
