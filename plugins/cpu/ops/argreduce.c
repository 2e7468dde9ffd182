/* Position of the greatest or least element of each line: ArgMax, ArgMin. NaN counts as the
 * greatest; of equal elements the first wins, or the last when asked. */
#include "loops/convert_block.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define ARG_ATTRS(X, S) \
    X(S, INT, axis, 0) X(S, INT, keepdims, 1) X(S, INT, select_last_index, 0)
TN_ATTR_TABLE(arg, ARG_ATTRS)
/* clang-format on */

static tn_status infer_arg(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct arg_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    uint32_t axis = 0, rank = 0;
    TN_TRY(TN_ATTRS_READ(arg, infer->node, &attrs, infer->diag));
    if (!in || in->rank < 0) return tn_infer_set(infer, 0, TN_INT64, -1, NULL);
    if (in->rank == 0) return tn_infer_set(infer, 0, TN_INT64, 0, NULL);
    TN_TRY(tn_rank_check(in->rank, infer->diag));
    TN_TRY(tn_axis_fix(attrs.axis, in->rank, &axis, infer->diag));
    if (in->dims[axis] == 0)
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "axis %u has no elements, so none is the greatest", axis);
    for (uint32_t i = 0; i < (uint32_t)in->rank; i++) {
        if (i != axis)
            dims[rank++] = in->dims[i];
        else if (attrs.keepdims)
            dims[rank++] = 1;
    }
    return tn_infer_set(infer, 0, TN_INT64, (int32_t)rank, dims);
}

/* ---- lines by element type ----------------------------------------------------------------- */

/* Positions of the best elements of `lines` neighbouring lines of n elements each, whose
 * elements are `step` apart. */
typedef void arg_lines_fn(const void *src, int64_t step, int64_t n, bool least, bool last,
    int64_t *dst, int64_t lines);

/* Row after row, so that memory is read in order. x != x is NaN, for integers never true. */
/* clang-format off */
#define ARG_LINES(name, type) \
    static void arg_##name(const void *src, int64_t step, int64_t n, bool least, bool last, \
        int64_t *dst, int64_t lines) { \
        const type *x = src; \
        for (int64_t j = 0; j < lines; j++) dst[j] = 0; \
        for (int64_t i = 1; i < n; i++) \
            for (int64_t j = 0; j < lines; j++) { \
                type value = x[i * step + j], best = x[dst[j] * step + j]; \
                bool above = value > best || (value != value && best == best); \
                bool below = value < best || (best != best && value == value); \
                if ((least ? below : above) || (last && !above && !below)) dst[j] = i; \
            } \
    }
#define ARG_TYPES(X) \
    X(f32, float) X(f64, double) X(i8, int8_t) X(i16, int16_t) X(i32, int32_t) X(i64, int64_t) \
    X(u8, uint8_t) X(u16, uint16_t) X(u32, uint32_t) X(u64, uint64_t)
ARG_TYPES(ARG_LINES)
#undef ARG_LINES

static arg_lines_fn *const arg_lines[TN_DTYPE_COUNT] = {
    [TN_FLOAT] = arg_f32, [TN_DOUBLE] = arg_f64, [TN_INT8] = arg_i8, [TN_INT16] = arg_i16,
    [TN_INT32] = arg_i32, [TN_INT64] = arg_i64, [TN_UINT8] = arg_u8, [TN_UINT16] = arg_u16,
    [TN_UINT32] = arg_u32, [TN_UINT64] = arg_u64,
};
/* clang-format on */

/* ---- kernel --------------------------------------------------------------------------- */

struct arg_kernel {
    struct tn__kernel base;
    struct arg_attrs attrs;
    arg_lines_fn *lines;
    int32_t from,
        elem; /* type of the input and of the lines: narrow floats are widened */
    bool least;
};

static tn_status setup(const struct tn_kernel_ctx *ctx, struct arg_kernel *kernel) {
    TN_TRY(TN_ATTRS_READ(arg, ctx->node, &kernel->attrs, ctx->diag));
    kernel->from = kernel->elem = ctx->inputs[0].dtype;
    kernel->least = strcmp(ctx->node->op_type, "ArgMin") == 0;
    if (TN_TYPES_NARROW_FLOATS >> kernel->from & 1) kernel->elem = TN_FLOAT;
    kernel->lines = arg_lines[kernel->elem];
    if (kernel->lines) return TN_OK;
    return tn_fail(
        ctx->diag, TN_UNSUPPORTED, "no kernel for type %s", tn_dtype_name(kernel->from));
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct arg_kernel), out));
    return tn_kernel_ready(setup(ctx, *out), out);
}

static tn_status workspace(
    void *object, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct arg_kernel *kernel = object;
    if (kernel->elem != kernel->from)
        out->scratch = (uint64_t)tn_tensor_count(tn_in(args, 0)) * sizeof(float);
    return TN_OK;
}

enum { BLOCK = 256 };

struct arg_job {
    const struct arg_kernel *kernel;
    struct tn__lines lines;
    const char *src;
    int64_t *dst;
};

static void arg_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct arg_job *job = arg;
    const struct arg_kernel *kernel = job->kernel;
    uint32_t size = tn_dtype_bits(kernel->elem) / 8;
    (void)worker;
    for (int64_t i = begin; i < end;) { /* lines side by side go together */
        int64_t inner = job->lines.inner, lines = inner - i % inner;
        if (lines > end - i) lines = end - i;
        if (lines > BLOCK) lines = BLOCK; /* what the L1 cache holds of every row */
        kernel->lines(job->src + tn__line_at(&job->lines, i) * size, inner, job->lines.n,
            kernel->least, kernel->attrs.select_last_index != 0, job->dst + i, lines);
        i += lines;
    }
}

static tn_status compute(void *object, const struct tn_run_args *args) {
    const struct arg_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0);
    struct arg_job job = {
        .kernel = kernel, .src = in->data, .dst = args->outputs[0].as.tensor->data};
    TN_TRY(tn__lines_make(in, kernel->attrs.axis, &job.lines, args->run->diag));
    int64_t count = job.lines.outer * job.lines.inner;
    if (job.lines.n == 0 && count > 0)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "the axis has no elements");
    if (kernel->elem != kernel->from) {
        tn__convert_block(kernel->base.cpu, kernel->elem, args->workspace, kernel->from,
            in->data, tn_tensor_count(in), NULL);
        job.src = args->workspace;
    }
    tn_parallel(
        kernel->base.host, count, 2.0 + 1.0 * (double)job.lines.n, arg_piece, &job);
    return TN_OK;
}

/* clang-format off */
#define ARG(name) \
    {TN_DEF("", name), TN_VERSIONS({1}, {11}, {12}, {13}), TN_INPUTS({"data", "T"}), \
        TN_OUTPUTS({"reduced", NULL, TN_BIT(INT64)}), TN_TYPE_VARS({"T", TN_TYPES_NUMBERS}), \
        TN_ATTRS(arg), .infer = infer_arg}
static const struct tn_op_def defs[] = {ARG("ArgMax"), ARG("ArgMin")};

#define ARG_KERNEL(name) \
    {TN_KERNEL("", name, 13), .create = create, .workspace = workspace, .compute = compute}
static const struct tn_kernel_def kernels[] = {ARG_KERNEL("ArgMax"), ARG_KERNEL("ArgMin")};
/* clang-format on */

TN_FAMILY(argreduce);
