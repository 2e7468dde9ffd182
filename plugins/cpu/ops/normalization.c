/* Normalisations: statistics over part of a tensor, then (x - mean) · scale + bias.
 *
 * Layer, RMS, instance and group normalisation are one kernel over rows: a row is what
 * shares its statistics, and scale and bias belong to its elements (layer, RMS) or to the
 * channels it is made of (instance, group). */
#include "ops/narrow.h"
#include "ops/ops.h"

#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define LAYER_ATTRS(X, S)                                                                \
    X(S, INT, axis, -1)                                                                  \
    X(S, FLOAT, epsilon, 1e-5f)                                                          \
    X(S, INT, stash_type, 1)
#define INSTANCE_ATTRS(X, S) X(S, FLOAT, epsilon, 1e-5f)
#define GROUP_ATTRS(X, S)                                                                \
    X(S, FLOAT, epsilon, 1e-5f)                                                          \
    X(S, INT_REQUIRED, num_groups, )                                                     \
    X(S, INT, stash_type, 1)
/* clang-format on */
TN_ATTR_TABLE(layer, LAYER_ATTRS)
TN_ATTR_TABLE(instance, INSTANCE_ATTRS)
TN_ATTR_TABLE(group, GROUP_ATTRS)

/* ---- inference -------------------------------------------------------------------------- */

static tn_status infer_same(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

static tn_status infer_layer(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct layer_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    if (!x) return TN_OK;
    TN_TRY(TN_ATTRS_READ(layer, infer->node, &attrs, infer->diag));
    TN_TRY(tn_infer_like(infer, 0, 0));
    int32_t stash = attrs.stash_type == TN_BFLOAT16 ? TN_BFLOAT16 : TN_FLOAT,
            rank = x->rank;
    if (rank >= 0) {
        uint32_t axis = 0;
        TN_TRY(tn_rank_check(rank, infer->diag));
        TN_TRY(tn_axis_fix(attrs.axis, rank, &axis, infer->diag));
        for (uint32_t i = 0; i < (uint32_t)rank; i++)
            dims[i] = i < axis ? x->dims[i] : 1;
    }
    TN_TRY(tn_infer_set(infer, 1, stash, rank, dims));
    return tn_infer_set(infer, 2, stash, rank, dims);
}

/* ---- rows: layer, RMS, instance, group --------------------------------------------------- */

enum row_kind { ROW_LAYER, ROW_RMS, ROW_INSTANCE, ROW_GROUP };

struct row_norm {
    struct tn__kernel base;
    enum row_kind kind;
    double epsilon;
    int64_t axis, groups;
};

struct row_plan {
    size_t rows, n;
    size_t segment; /* elements that share scale and bias; 0: each has its own */
    size_t segments, cycle, by_group;
};

static tn_status create_rows(const struct tn_kernel_ctx *ctx, enum row_kind kind,
    double epsilon, int64_t axis, int64_t groups, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct row_norm), out));
    struct row_norm *norm = *out;
    norm->kind = kind;
    norm->epsilon = epsilon;
    norm->axis = axis;
    norm->groups = groups;
    return TN_OK;
}

static tn_status create_layer(const struct tn_kernel_ctx *ctx, void **out) {
    struct layer_attrs attrs;
    TN_TRY(TN_ATTRS_READ(layer, ctx->node, &attrs, ctx->diag));
    bool rms = strcmp(ctx->node->op_type, "RMSNormalization") == 0;
    return create_rows(
        ctx, rms ? ROW_RMS : ROW_LAYER, (double)attrs.epsilon, attrs.axis, 1, out);
}

static tn_status create_instance(const struct tn_kernel_ctx *ctx, void **out) {
    struct instance_attrs attrs;
    TN_TRY(TN_ATTRS_READ(instance, ctx->node, &attrs, ctx->diag));
    return create_rows(ctx, ROW_INSTANCE, (double)attrs.epsilon, 0, 1, out);
}

static tn_status create_group(const struct tn_kernel_ctx *ctx, void **out) {
    struct group_attrs attrs;
    TN_TRY(TN_ATTRS_READ(group, ctx->node, &attrs, ctx->diag));
    return create_rows(ctx, ROW_GROUP, (double)attrs.epsilon, 0, attrs.num_groups, out);
}

static tn_status workspace_rows(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    (void)args;
    out->state = sizeof(struct row_plan);
    return TN_OK;
}

/* Scale or bias has as many elements as the plan reads. */
static tn_status check_affine(
    const struct tn_run_args *args, uint32_t input, size_t wanted, struct tn_diag *diag) {
    const struct tn_tensor *t = tn_in(args, input);
    if (!t || (size_t)tn_tensor_count(t) == wanted) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT, "%s has %lld elements, expected %zu",
        input == 1 ? "scale" : "bias", (long long)tn_tensor_count(t), wanted);
}

static tn_status plan_channels(struct row_plan *plan, const struct row_norm *norm,
    const struct tn_run_args *args, struct tn_diag *diag) {
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    if (x->rank < 2)
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "input has rank %u, expected 2 or more", x->rank);
    int64_t channels = x->dims[1];
    int64_t groups = norm->kind == ROW_GROUP ? norm->groups : channels;
    if (groups < 1 ? channels > 0 : channels % groups != 0)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "%lld channels do not make %lld groups",
            (long long)channels, (long long)groups);
    plan->segment = (size_t)tn_dims_product(x->dims, 2, x->rank);
    plan->segments = groups ? (size_t)(channels / groups) : 0;
    plan->cycle = (size_t)groups;
    plan->rows = (size_t)x->dims[0] * plan->cycle;
    plan->n = plan->segment * plan->segments;
    size_t wanted = (size_t)channels;
    /* Before version 21 scale and bias belonged to groups, not to channels. */
    if (norm->kind == ROW_GROUP && tn_tensor_count(args->inputs[1].as.tensor) == groups) {
        plan->by_group = 1;
        wanted = (size_t)groups;
    }
    TN_TRY(check_affine(args, 1, wanted, diag));
    return check_affine(args, 2, wanted, diag);
}

static tn_status prepare_rows(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct row_norm *norm = kernel;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    struct row_plan *plan = args->state;
    (void)fn;
    if (norm->kind <= ROW_RMS) {
        uint32_t axis = 0;
        TN_TRY(tn_axis_fix(norm->axis, x->rank, &axis, diag));
        plan->rows = (size_t)tn_dims_product(x->dims, 0, axis);
        plan->n = (size_t)tn_dims_product(x->dims, axis, x->rank);
        plan->cycle = 1;
        size_t affine = (size_t)tn_tensor_count(args->inputs[1].as.tensor);
        if (affine == 1 && plan->n != 1) {
            plan->segment = plan->n;
            plan->segments = 1;
        }
        TN_TRY(check_affine(args, 1, plan->segment ? 1 : plan->n, diag));
        TN_TRY(check_affine(args, 2, plan->segment ? 1 : plan->n, diag));
    } else {
        TN_TRY(plan_channels(plan, norm, args, diag));
    }
    return TN_OK;
}

struct row_job {
    const struct row_norm *norm;
    const struct row_plan *plan;
    const struct tn_run_args *args;
};

/* The statistics of a row, where the node names them as outputs. */
static void store_stash(
    const struct tn_run_args *args, uint32_t o, size_t row, double value) {
    struct tn_tensor *out = tn_out(args, o);
    float narrow = (float)value;
    if (!out) return;
    if (out->dtype == TN_FLOAT)
        ((float *)out->data)[row] = narrow;
    else
        tn__round((uint16_t *)out->data + row, &narrow, out->dtype, 1);
}

/* A row whose scale and bias belong to channels. */
static struct tn_norm_stats channels_f32(
    const struct row_job *job, size_t row, float *y, const float *x) {
    const struct row_plan *plan = job->plan;
    const struct tn_norm_kernels *kernels = &job->norm->base.cpu->norm;
    const struct tn_tensor *bias_in = tn_in(job->args, 2);
    const float *scale = job->args->inputs[1].as.tensor->data;
    const float *bias = bias_in ? bias_in->data : NULL;
    double mean = 0, squares = 0;
    kernels->moments(x, plan->n, &mean, &squares);
    if (job->norm->kind == ROW_RMS) {
        squares += (double)plan->n * mean * mean;
        mean = 0;
    }
    double inverse = 1 / sqrt(squares / (double)plan->n + job->norm->epsilon);
    for (size_t s = 0; s < plan->segments; s++) {
        size_t at = row % plan->cycle, from = s * plan->segment;
        if (!plan->by_group) at = at * plan->segments + s;
        double a = inverse * (double)scale[at], b = bias ? (double)bias[at] : 0;
        kernels->affine_scalar(
            y + from, x + from, plan->segment, (float)a, (float)(b - mean * a));
    }
    return (struct tn_norm_stats){(float)mean, (float)inverse};
}

static void run_rows_f32(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct row_job *job = arg;
    const struct row_plan *plan = job->plan;
    const struct tn_norm_kernels *kernels = &job->norm->base.cpu->norm;
    const struct tn_tensor *bias_in = tn_in(job->args, 2);
    const float *scale = job->args->inputs[1].as.tensor->data;
    const float *bias = bias_in ? bias_in->data : NULL;
    float epsilon = (float)job->norm->epsilon;
    (void)worker;
    for (size_t row = (size_t)begin; row < (size_t)end; row++) {
        const float *x =
            (const float *)job->args->inputs[0].as.tensor->data + row * plan->n;
        float *y = (float *)job->args->outputs[0].as.tensor->data + row * plan->n;
        struct tn_norm_stats stats;
        if (plan->segment)
            stats = channels_f32(job, row, y, x);
        else if (job->norm->kind == ROW_RMS)
            stats = kernels->rms(y, x, plan->n, scale, epsilon);
        else
            stats = kernels->layer(y, x, plan->n, scale, bias, epsilon);
        store_stash(job->args, 1, row, (double)stats.mean);
        store_stash(job->args, 2, row, (double)stats.inverse);
    }
}

static void run_rows_f64(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct row_job *job = arg;
    const struct row_plan *plan = job->plan;
    const struct tn_tensor *bias_in = tn_in(job->args, 2);
    const double *scale = job->args->inputs[1].as.tensor->data;
    const double *bias = bias_in ? bias_in->data : NULL;
    size_t n = plan->n;
    (void)worker;
    for (size_t row = (size_t)begin; row < (size_t)end; row++) {
        const double *x = (const double *)job->args->inputs[0].as.tensor->data + row * n;
        double *y = (double *)job->args->outputs[0].as.tensor->data + row * n;
        double mean = 0, square = 0;
        if (job->norm->kind != ROW_RMS) {
            for (size_t i = 0; i < n; i++)
                mean += x[i];
            mean /= (double)n;
        }
        for (size_t i = 0; i < n; i++)
            square += ((double)x[i] - mean) * ((double)x[i] - mean);
        double inv = 1 / sqrt(square / (double)n + job->norm->epsilon);
        store_stash(job->args, 1, row, mean);
        store_stash(job->args, 2, row, inv);
        if (plan->segment == 0) {
            double m = mean, k = inv;
            for (size_t i = 0; i < n; i++)
                y[i] = (x[i] - m) * k * scale[i] + (bias ? bias[i] : 0);
            continue;
        }
        for (size_t s = 0; s < plan->segments; s++) {
            size_t at = row % plan->cycle;
            if (!plan->by_group) at = at * plan->segments + s;
            double a = (inv * (double)scale[at]), m = mean, b = bias ? bias[at] : 0;
            for (size_t i = s * plan->segment; i < (s + 1) * plan->segment; i++)
                y[i] = (x[i] - m) * a + b;
        }
    }
}

static tn_status run_all_rows(
    void *kernel, const struct tn_run_args *args, tn_parallel_fn run) {
    const struct row_norm *norm = kernel;
    const struct row_plan *plan = args->state;
    struct row_job job = {norm, plan, args};
    tn_parallel(norm->base.host, (int64_t)plan->rows, (double)(plan->n + 1), run, &job);
    return TN_OK;
}

static tn_status rows_f32(void *kernel, const struct tn_run_args *args) {
    return run_all_rows(kernel, args, run_rows_f32);
}

static tn_status rows_f64(void *kernel, const struct tn_run_args *args) {
    return run_all_rows(kernel, args, run_rows_f64);
}

/* ---- tables ------------------------------------------------------------------------------ */

/* clang-format off */
#define OPTIONAL 0, TN_FORMAL_OPTIONAL
static const struct tn_op_def defs[] = {
    {TN_DEF("", "LayerNormalization"), TN_VERSIONS({17}),
        TN_INPUTS({"X", "T"}, {"Scale", "T"}, {"B", "T", OPTIONAL}),
        TN_OUTPUTS({"Y", "T"}, {"Mean", "U", OPTIONAL}, {"InvStdDev", "U", OPTIONAL}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}, {"U", TN_BIT(FLOAT) | TN_BIT(BFLOAT16)}),
        TN_ATTRS(layer), .infer = infer_layer},
    {TN_DEF("", "RMSNormalization"), TN_VERSIONS({23}),
        TN_INPUTS({"X", "T"}, {"scale", "V"}), TN_OUTPUTS({"Y", "V"}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}, {"V", TN_TYPES_FLOATS}),
        TN_ATTRS(layer), .infer = infer_same},
    {TN_DEF("", "InstanceNormalization"), TN_VERSIONS({1}, {6, 0, tn__upgrade_drop_consumed}, {22}),
        TN_INPUTS({"input", "T"}, {"scale", "T"}, {"B", "T"}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}), TN_ATTRS(instance), .infer = infer_same},
    {TN_DEF("", "GroupNormalization"), TN_VERSIONS({18}, {21}),
        TN_INPUTS({"X", "T"}, {"scale", "T"}, {"bias", "T"}), TN_OUTPUTS({"Y", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}), TN_ATTRS(group), .infer = infer_same},
};

#define ROWS(type) .workspace = workspace_rows, .prepare = prepare_rows, .compute = rows_##type
#define F32 TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)})
#define F64 TN_KERNEL_TYPES({"T", TN_BIT(DOUBLE)})
#define NARROW TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})
#define SAME(name, type) TN_KERNEL_TYPES({"T", type}, {name, type})
TN_NARROW(layer, .create = create_layer, ROWS(f32))
TN_NARROW(instance, .create = create_instance, ROWS(f32))
TN_NARROW(group, .create = create_group, ROWS(f32))

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "LayerNormalization", 17), F32, .create = create_layer, ROWS(f32)},
    {TN_KERNEL("", "LayerNormalization", 17), F64, .create = create_layer, ROWS(f64)},
    {TN_NARROW_KERNEL("", "LayerNormalization", 17, layer), NARROW},
    {TN_KERNEL("", "RMSNormalization", 23), SAME("V", TN_BIT(FLOAT)), .create = create_layer, ROWS(f32)},
    {TN_KERNEL("", "RMSNormalization", 23), SAME("V", TN_BIT(DOUBLE)), .create = create_layer, ROWS(f64)},
    {TN_NARROW_KERNEL("", "RMSNormalization", 23, layer), SAME("V", TN_NARROW_TYPES)},
    {TN_KERNEL("", "InstanceNormalization", 22), F32, .create = create_instance, ROWS(f32)},
    {TN_KERNEL("", "InstanceNormalization", 22), F64, .create = create_instance, ROWS(f64)},
    {TN_NARROW_KERNEL("", "InstanceNormalization", 22, instance), NARROW},
    {TN_KERNEL("", "GroupNormalization", 21), F32, .create = create_group, ROWS(f32)},
    {TN_KERNEL("", "GroupNormalization", 21), F64, .create = create_group, ROWS(f64)},
    {TN_NARROW_KERNEL("", "GroupNormalization", 21, group), NARROW},
};
/* clang-format on */

TN_FAMILY(norm);
