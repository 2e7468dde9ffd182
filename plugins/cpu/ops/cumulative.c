/* Running sums and products along an axis: CumSum, CumProd. Floats accumulate in double and
 * are rounded element by element; integers wrap. */
#include "loops/convert_block.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define CUMULATIVE_ATTRS(X, S) X(S, INT, exclusive, 0) X(S, INT, reverse, 0)
TN_ATTR_TABLE(cumulative, CUMULATIVE_ATTRS)

/* n elements `step` apart, which may be negative. */
typedef void cumulative_fn(void *dst, const void *src, int64_t step, int64_t n, bool exclusive);

#define CUMULATIVE(name, type, accumulator, start, OP) \
    static void name( \
        void *dst, const void *src, int64_t step, int64_t n, bool exclusive) { \
        accumulator sum = start; \
        type *out = dst; \
        const type *in = src; \
        for (int64_t i = 0; i < n; i++) { \
            type value = in[i * step]; \
            if (exclusive) out[i * step] = (type)sum; \
            sum = sum OP (accumulator)value; \
            if (!exclusive) out[i * step] = (type)sum; \
        } \
    }
CUMULATIVE(sum_f32, float, double, 0, +)
CUMULATIVE(sum_f64, double, double, 0, +)
CUMULATIVE(sum_32, uint32_t, uint32_t, 0, +)
CUMULATIVE(sum_64, uint64_t, uint64_t, 0, +)
CUMULATIVE(product_f32, float, double, 1, *)
CUMULATIVE(product_f64, double, double, 1, *)
CUMULATIVE(product_32, uint32_t, uint32_t, 1, *)
CUMULATIVE(product_64, uint64_t, uint64_t, 1, *)
#undef CUMULATIVE

static cumulative_fn *const functions[2][TN_DTYPE_COUNT] = {
    {[TN_FLOAT] = sum_f32, [TN_DOUBLE] = sum_f64, [TN_INT32] = sum_32, [TN_UINT32] = sum_32,
        [TN_INT64] = sum_64, [TN_UINT64] = sum_64},
    {[TN_FLOAT] = product_f32, [TN_DOUBLE] = product_f64, [TN_INT32] = product_32,
        [TN_UINT32] = product_32, [TN_INT64] = product_64, [TN_UINT64] = product_64},
};
/* clang-format on */

struct cumulative_kernel {
    struct tn__kernel base;
    struct cumulative_attrs attrs;
    cumulative_fn *fn;
    int32_t from, elem; /* narrow floats are widened */
};

static tn_status setup(
    const struct tn_kernel_ctx *ctx, struct cumulative_kernel *kernel) {
    bool product = strcmp(ctx->node->op_type, "CumProd") == 0;
    TN_TRY(TN_ATTRS_READ(cumulative, ctx->node, &kernel->attrs, ctx->diag));
    kernel->from = kernel->elem = ctx->inputs[0].dtype;
    if (TN_TYPES_NARROW_FLOATS >> kernel->from & 1) kernel->elem = TN_FLOAT;
    kernel->fn = functions[product][kernel->elem];
    if (kernel->fn) return TN_OK;
    return tn_fail(
        ctx->diag, TN_UNSUPPORTED, "no kernel for type %s", tn_dtype_name(kernel->from));
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct cumulative_kernel), out));
    return tn_kernel_ready(setup(ctx, *out), out);
}

static tn_status workspace(
    void *object, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct cumulative_kernel *kernel = object;
    if (kernel->elem != kernel->from)
        out->scratch = (uint64_t)tn_tensor_count(tn_in(args, 0)) * sizeof(float);
    return TN_OK;
}

struct cumulative_job {
    const struct cumulative_kernel *kernel;
    struct tn__lines lines;
    char *dst;
    const char *src;
};

static void cumulative_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct cumulative_job *job = arg;
    const struct cumulative_kernel *kernel = job->kernel;
    uint32_t size = tn_dtype_bits(kernel->elem) / 8;
    int64_t step = job->lines.inner, n = job->lines.n;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = tn__line_at(&job->lines, i);
        if (kernel->attrs.reverse && n > 0) at += (n - 1) * step;
        kernel->fn(job->dst + at * size, job->src + at * size,
            kernel->attrs.reverse ? -step : step, n, kernel->attrs.exclusive != 0);
    }
}

static tn_status compute(void *object, const struct tn_run_args *args) {
    const struct cumulative_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0), *axis = tn_in(args, 1);
    struct tn_tensor *out = tn_out(args, 0);
    struct cumulative_job job = {.kernel = kernel, .dst = out->data, .src = in->data};
    bool widened = kernel->elem != kernel->from;
    int64_t n = tn_tensor_count(in);
    if (!axis || tn_tensor_count(axis) != 1)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "'axis' is not one number");
    TN_TRY(tn__lines_make(in, tn_tensor_int(axis, 0), &job.lines, args->run->diag));
    if (widened) {
        tn__convert_block(kernel->base.cpu, kernel->elem, args->workspace, kernel->from,
            in->data, n, NULL);
        job.dst = args->workspace;
        job.src = args->workspace;
    }
    tn_parallel(kernel->base.host, job.lines.outer * job.lines.inner,
        2.0 + 1.5 * (double)job.lines.n, cumulative_piece, &job);
    if (widened)
        tn__convert_block(kernel->base.cpu, kernel->from, out->data, kernel->elem,
            args->workspace, n, NULL);
    return TN_OK;
}

static tn_status infer_cumulative(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

/* clang-format off */
#define CUMULATIVE_DEF(name, versions) \
    {TN_DEF("", name), versions, TN_INPUTS({"x", "T"}, {"axis", "T2"}), TN_OUTPUTS({"y", "T"}), \
        TN_TYPE_VARS({"T", TN_TYPES_WIDE}, {"T2", TN_TYPES_INDEX}), TN_ATTRS(cumulative), \
        .infer = infer_cumulative}
static const struct tn_op_def defs[] = {
    CUMULATIVE_DEF("CumSum", TN_VERSIONS({11}, {14})),
    CUMULATIVE_DEF("CumProd", TN_VERSIONS({26})),
};

#define CUMULATIVE_KERNEL(name, newest) \
    {TN_KERNEL("", name, newest), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}), .create = create, \
        .workspace = workspace, .compute = compute}
static const struct tn_kernel_def kernels[] = {
    CUMULATIVE_KERNEL("CumSum", 14), CUMULATIVE_KERNEL("CumProd", 26),
};
/* clang-format on */

TN_FAMILY(cumulative);
