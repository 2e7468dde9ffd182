/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
 *
 * Elements go through in blocks: converted to f32 (or int32), scaled, converted to the type
 * asked for. Scale and zero point belong to the tensor, to an axis or to blocks of an axis. */
#include "ops/ops.h"

#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define QUANTIZE_ATTRS(X, S)                                                             \
    X(S, INT, axis, 1)                                                                   \
    X(S, INT, block_size, 0)                                                             \
    X(S, INT, output_dtype, 0)                                                           \
    X(S, INT, precision, 0)                                                              \
    X(S, INT, saturate, 1)
#define DEQUANTIZE_ATTRS(X, S)                                                           \
    X(S, INT, axis, 1)                                                                   \
    X(S, INT, block_size, 0)                                                             \
    X(S, INT, output_dtype, 0)
/* clang-format on */
TN_ATTR_TABLE(quantize, QUANTIZE_ATTRS)
TN_ATTR_TABLE(dequantize, DEQUANTIZE_ATTRS)

static tn_status infer_quantize(const struct tn_infer *infer) {
    const struct tn_type *zero = tn_infer_input(infer, 2);
    struct quantize_attrs attrs;
    TN_TRY(TN_ATTRS_READ(quantize, infer->node, &attrs, infer->diag));
    int32_t dtype = zero                 ? zero->dtype
                    : attrs.output_dtype ? tn__dtype_of(attrs.output_dtype)
                                         : TN_UINT8;
    return tn_infer_shape_like(infer, 0, 0, dtype);
}

static tn_status infer_dequantize(const struct tn_infer *infer) {
    const struct tn_type *scale = tn_infer_input(infer, 1);
    struct dequantize_attrs attrs;
    TN_TRY(TN_ATTRS_READ(dequantize, infer->node, &attrs, infer->diag));
    int32_t dtype = attrs.output_dtype ? tn__dtype_of(attrs.output_dtype)
                    : scale            ? scale->dtype
                                       : 0;
    return dtype ? tn_infer_shape_like(infer, 0, 0, dtype) : TN_OK;
}

static tn_status infer_dynamic(const struct tn_infer *infer) {
    TN_TRY(tn_infer_shape_like(infer, 0, 0, TN_UINT8));
    TN_TRY(tn_infer_set(infer, 1, TN_FLOAT, 0, NULL));
    return tn_infer_set(infer, 2, TN_UINT8, 0, NULL);
}

/* ---- kernel ------------------------------------------------------------------------------ */

struct quantize {
    struct tn__kernel base;
    int64_t axis, block;
    bool saturate, backward;
};

enum { RUN = 256 }; /* elements of a block: a whole number of bytes of every type */

/* One call: element i has the scale ((i / tail / axis) · parts + (i / tail % axis) / block) ·
 * scale_tail + i % tail. */
struct job {
    const struct quantize *kernel;
    const struct tn_run_args *args;
    float *scales, *zeros;
    size_t n, axis, tail, block, parts;
    bool by_tensor, blocked, integer;
    float least, most; /* of the quantised type */
};

static tn_status create_quantize(const struct tn_kernel_ctx *ctx, void **out) {
    bool backward = ctx->node->op_type[0] == 'D';
    struct quantize_attrs attrs = {.saturate = 1};
    struct dequantize_attrs back;
    if (!backward)
        TN_TRY(TN_ATTRS_READ(quantize, ctx->node, &attrs, ctx->diag));
    else
        TN_TRY(TN_ATTRS_READ(dequantize, ctx->node, &back, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct quantize), out));
    struct quantize *kernel = *out;
    kernel->axis = backward ? back.axis : attrs.axis;
    kernel->block = backward ? back.block_size : attrs.block_size;
    kernel->saturate = attrs.saturate != 0;
    kernel->backward = backward;
    return TN_OK;
}

static tn_status workspace_quantize(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    uint64_t n = (uint64_t)tn_tensor_count(args->inputs[1].as.tensor);
    out->scratch = 2 * n * sizeof(float);
    return TN_OK;
}

/* Range of an integer type; 0 0 for floats, which the conversion bounds. */
static void integer_range(int32_t dtype, float *least, float *most) {
    uint32_t bits = tn_dtype_bits(dtype);
    *least = *most = 0;
    switch (dtype) {
    case TN_UINT8:
    case TN_UINT16:
    case TN_UINT4:
    case TN_UINT2: *most = (float)((1u << bits) - 1); return;
    case TN_INT8:
    case TN_INT16:
    case TN_INT4:
    case TN_INT2:
        *most = (float)((1u << (bits - 1)) - 1);
        *least = -(float)(1u << (bits - 1));
        return;
    case TN_INT32: *most = 1; return;
    default: return;
    }
}

static tn_status plan_scales(struct job *job, struct tn_diag *diag) {
    const struct quantize *kernel = job->kernel;
    const struct tn_tensor *x = job->args->inputs[0].as.tensor;
    const struct tn_tensor *scale = job->args->inputs[1].as.tensor;
    int64_t count = tn_tensor_count(scale);
    uint32_t axis = 0;
    job->axis = job->tail = job->block = job->parts = 1;
    job->by_tensor = count == 1 && kernel->block == 0;
    if (job->by_tensor) return TN_OK;
    TN_TRY(tn_axis_fix(kernel->axis, x->rank, &axis, diag));
    job->axis = (size_t)x->dims[axis];
    job->tail = (size_t)tn_dims_product(x->dims, axis + 1, x->rank);
    job->blocked = kernel->block > 0;
    if (!job->blocked) {
        job->parts = job->axis;
        if ((size_t)count == job->axis) return TN_OK;
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "scale has %lld elements, expected 1 or %zu", (long long)count, job->axis);
    }
    job->block = (size_t)kernel->block;
    job->parts = (job->axis + job->block - 1) / job->block;
    size_t outer = (size_t)tn_dims_product(x->dims, 0, axis);
    if ((size_t)count == outer * job->parts * job->tail) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "scale has %lld elements, expected %zu: one for each block of %zu along axis %u",
        (long long)count, outer * job->parts * job->tail, job->block, axis);
}

static size_t scale_index(const struct job *job, size_t i) {
    size_t at = i / job->tail % job->axis;
    if (!job->blocked) return at;
    size_t outer = i / job->tail / job->axis;
    return (outer * job->parts + at / job->block) * job->tail + i % job->tail;
}

/* Scale and zero point of n elements from i on. */
static void spread(const struct job *job, size_t i, size_t n, float *scale, float *zero) {
    for (size_t j = 0; j < n; j++) {
        size_t at = job->by_tensor ? 0 : scale_index(job, i + j);
        scale[j] = job->scales[at];
        zero[j] = job->zeros[at];
    }
}

static const char *element(const struct tn_tensor *t, size_t i) {
    return (const char *)t->data + i * tn_dtype_bits(t->dtype) / 8;
}

static void run_forward(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct tn_convert_kernels *convert = &job->kernel->base.cpu->convert;
    const struct tn_tensor *x = job->args->inputs[0].as.tensor;
    const struct tn_tensor *y = job->args->outputs[0].as.tensor;
    struct tn_convert_options options = {job->kernel->saturate, TN_CONVERT_UP};
    float v[RUN], scale[RUN], zero[RUN];
    (void)worker;
    for (size_t i = (size_t)begin * RUN; i < (size_t)end * RUN && i < job->n; i += RUN) {
        size_t n = job->n - i < RUN ? job->n - i : RUN;
        spread(job, i, n, scale, zero);
        tn_convert_run(convert, TN_FLOAT, v, x->dtype, element(x, i), n, NULL);
        if (job->integer) {
            for (size_t j = 0; j < n; j++) {
                float q = rintf(v[j] / scale[j]) + zero[j];
                q = q > job->least ? q : job->least; /* NaN too */
                v[j] = q < job->most ? q : job->most;
            }
        } else {
            for (size_t j = 0; j < n; j++)
                v[j] = v[j] / scale[j] + zero[j];
        }
        tn_convert_run(convert, y->dtype, (char *)(uintptr_t)element(y, i), TN_FLOAT, v,
            n, &options);
    }
}

static void run_backward(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct tn_convert_kernels *convert = &job->kernel->base.cpu->convert;
    const struct tn_tensor *x = job->args->inputs[0].as.tensor;
    const struct tn_tensor *y = job->args->outputs[0].as.tensor;
    float v[RUN], scale[RUN], zero[RUN];
    int32_t whole[RUN];
    (void)worker;
    for (size_t i = (size_t)begin * RUN; i < (size_t)end * RUN && i < job->n; i += RUN) {
        size_t n = job->n - i < RUN ? job->n - i : RUN;
        spread(job, i, n, scale, zero);
        if (job->integer) {
            tn_convert_run(convert, TN_INT32, whole, x->dtype, element(x, i), n, NULL);
            for (size_t j = 0; j < n; j++)
                v[j] = (float)((int64_t)whole[j] - (int64_t)zero[j]) * scale[j];
        } else {
            tn_convert_run(convert, TN_FLOAT, v, x->dtype, element(x, i), n, NULL);
            for (size_t j = 0; j < n; j++)
                v[j] = (v[j] - zero[j]) * scale[j];
        }
        tn_convert_run(
            convert, y->dtype, (char *)(uintptr_t)element(y, i), TN_FLOAT, v, n, NULL);
    }
}

static tn_status compute_quantize(void *kernel, const struct tn_run_args *args) {
    const struct quantize *quantize = kernel;
    const struct tn__cpu *cpu = quantize->base.cpu;
    const struct tn_tensor *scale = args->inputs[1].as.tensor, *zero = tn_in(args, 2);
    struct job job = {.kernel = quantize, .args = args};
    size_t count = (size_t)tn_tensor_count(scale);
    job.n = (size_t)tn_tensor_count(args->inputs[0].as.tensor);
    job.scales = args->workspace;
    job.zeros = job.scales + count;
    TN_TRY(plan_scales(&job, args->run->diag));
    if (zero && (size_t)tn_tensor_count(zero) != count)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "zero point has %lld elements, scale has %zu",
            (long long)tn_tensor_count(zero), count);
    if (job.n == 0) return TN_OK;
    tn_convert_run(
        &cpu->convert, TN_FLOAT, job.scales, scale->dtype, scale->data, count, NULL);
    if (zero)
        tn_convert_run(
            &cpu->convert, TN_FLOAT, job.zeros, zero->dtype, zero->data, count, NULL);
    else
        for (size_t i = 0; i < count; i++)
            job.zeros[i] = 0;
    int32_t dtype = quantize->backward ? args->inputs[0].as.tensor->dtype
                                       : args->outputs[0].as.tensor->dtype;
    integer_range(dtype, &job.least, &job.most);
    job.integer = job.most > 0;
    tn_parallel(quantize->base.host, (int64_t)((job.n + RUN - 1) / RUN), RUN,
        quantize->backward ? run_backward : run_forward, &job);
    return TN_OK;
}

static tn_status compute_dynamic(void *kernel, const struct tn_run_args *args) {
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    const float *src = x->data;
    uint8_t *y = args->outputs[0].as.tensor->data;
    size_t n = (size_t)tn_tensor_count(x);
    float low = 0, high = 0;
    (void)kernel;
    for (size_t i = 0; i < n; i++) {
        low = src[i] < low ? src[i] : low;
        high = src[i] > high ? src[i] : high;
    }
    float scale = (high - low) / 255.0f;
    if (scale == 0) scale = 1; /* all zero: any scale is right */
    float zero = rintf(fminf(fmaxf(-low / scale, 0), 255));
    *(float *)args->outputs[1].as.tensor->data = scale;
    *(uint8_t *)args->outputs[2].as.tensor->data = (uint8_t)zero;
    for (size_t i = 0; i < n; i++) {
        float q = rintf(src[i] / scale) + zero;
        q = q > 0 ? q : 0;
        y[i] = (uint8_t)(q < 255 ? q : 255);
    }
    return TN_OK;
}

/* clang-format off */
#define QUANT_TYPES (TN_BIT(INT8) | TN_BIT(UINT8) | TN_BIT(INT16) | TN_BIT(UINT16) | \
    TN_TYPES_F8 | TN_TYPES_SUB_BYTE)
#define F32_DOWN (TN_BIT(FLOAT) | TN_BIT(FLOAT16) | TN_BIT(BFLOAT16))
static const struct tn_op_def defs[] = {
    {TN_DEF("", "QuantizeLinear"), TN_VERSIONS({10}, {13}, {19}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"x", "T1"}, {"y_scale", "T2"}, {"y_zero_point", "T3", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"y", "T3"}),
        TN_TYPE_VARS({"T1", F32_DOWN | TN_BIT(INT32)},
            {"T2", F32_DOWN | TN_BIT(INT32) | TN_BIT(FLOAT8E8M0)}, {"T3", QUANT_TYPES}),
        TN_ATTRS(quantize), .infer = infer_quantize},
    {TN_DEF("", "DequantizeLinear"), TN_VERSIONS({10}, {13}, {19}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"x", "T1"}, {"x_scale", "T2"}, {"x_zero_point", "T1", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"y", "T3"}),
        TN_TYPE_VARS({"T1", QUANT_TYPES | TN_BIT(INT32)}, {"T2", F32_DOWN | TN_BIT(FLOAT8E8M0)},
            {"T3", F32_DOWN}),
        TN_ATTRS(dequantize), .infer = infer_dequantize},
    {TN_DEF("", "DynamicQuantizeLinear"), TN_VERSIONS({11}),
        TN_INPUTS({"x", "T1"}),
        TN_OUTPUTS({"y", "T2"}, {"y_scale", NULL, TN_BIT(FLOAT)}, {"y_zero_point", "T2"}),
        TN_TYPE_VARS({"T1", TN_BIT(FLOAT)}, {"T2", TN_BIT(UINT8)}), .infer = infer_dynamic},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "QuantizeLinear", 25), .create = create_quantize,
        .workspace = workspace_quantize, .compute = compute_quantize},
    {TN_KERNEL("", "DequantizeLinear", 25), .create = create_quantize,
        .workspace = workspace_quantize, .compute = compute_quantize},
    {TN_KERNEL("", "DynamicQuantizeLinear", 11), .compute = compute_dynamic},
};
/* clang-format on */

TN_FAMILY(quantize);
