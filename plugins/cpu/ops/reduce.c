/* Reductions over axes: Sum Mean Prod Max Min L1 L2 LogSum LogSumExp SumSquare. A row says
 * which kernel accumulates and what finishes the result. */
#include "loops/reduce.h"

#include "loops/convert_block.h"
#include "loops/number.h"
#include "ops/ops.h"
#include "tenon/helper/parallel.h"

#include <math.h>

/* clang-format off */
#define REDUCE_ATTRS(X, S) X(S, INT, keepdims, 1) X(S, INT, noop_with_empty_axes, 0)
TN_ATTR_TABLE(reduce, REDUCE_ATTRS)

enum finish { KEEP, DIVIDE, ROOT, LOGARITHM, LOG_SUM_EXP };

struct reduce_row {
    const char *op_type;
    enum tn_reduce op;
    enum finish finish;
    bool pure; /* over no axes it is the identity */
};
static const struct reduce_row rows[] = {
    {"ReduceSum", TN_REDUCE_SUM, KEEP, true},
    {"ReduceMean", TN_REDUCE_SUM, DIVIDE, true},
    {"ReduceProd", TN_REDUCE_PROD, KEEP, true},
    {"ReduceMax", TN_REDUCE_MAX, KEEP, true},
    {"ReduceMin", TN_REDUCE_MIN, KEEP, true},
    {"ReduceL1", TN_REDUCE_L1, KEEP, false},
    {"ReduceL2", TN_REDUCE_SUMSQ, ROOT, false},
    {"ReduceSumSquare", TN_REDUCE_SUMSQ, KEEP, false},
    {"ReduceLogSum", TN_REDUCE_SUM, LOGARITHM, false},
    {"ReduceLogSumExp", TN_REDUCE_MAX, LOG_SUM_EXP, false},
};
/* clang-format on */

static const struct reduce_row *find_row(const char *op_type) {
    for (uint32_t i = 0; i < TN_COUNT(rows); i++)
        if (strcmp(rows[i].op_type, op_type) == 0) return &rows[i];
    return &rows[0];
}

/* ---- inference ------------------------------------------------------------------------ */

/* Content of a reduced short vector. */
static tn_status reduce_content(const struct tn_infer *infer, int32_t out_rank) {
    static const struct {
        const char *op_type;
        uint32_t op;
        int64_t start;
    } folds[] = {{"ReduceSum", TN_DIM_ADD, 0}, {"ReduceProd", TN_DIM_MUL, 1},
        {"ReduceMax", TN_DIM_MAX, INT64_MAX}, {"ReduceMin", TN_DIM_MIN, INT64_MAX}};
    uint32_t n;
    const int64_t *content = tn_infer_ints(infer, 0, &n);
    if (!content || n == 0 || out_rank > 1) return TN_OK;
    for (uint32_t f = 0; f < TN_COUNT(folds); f++) {
        if (strcmp(folds[f].op_type, infer->node->op_type) != 0) continue;
        int64_t value = content[0];
        for (uint32_t i = 1; i < n; i++)
            value = infer->dim_op(infer->self, folds[f].op, value, content[i]);
        return infer->set_dims_value(infer->self, 0, &value, 1);
    }
    return TN_OK;
}

/* The axes as a set; *out_known = 0 when they are not known yet. */
static tn_status infer_axes(const struct tn_infer *infer,
    const struct reduce_attrs *attrs, int32_t rank, uint64_t *out_mask, bool *out_known) {
    const struct tn_type *type = tn_infer_input(infer, 1);
    uint32_t n = 0;
    const int64_t *axes = tn_infer_ints(infer, 1, &n);
    bool none =
        !tn_infer_has(infer->node, 1) || (type && type->rank == 1 && type->dims[0] == 0);
    *out_mask = 0;
    *out_known = axes || none;
    for (uint32_t i = 0; axes && i < n; i++) {
        uint32_t axis = 0;
        if (tn_dim_is_symbol(axes[i])) {
            *out_known = false;
            return TN_OK;
        }
        TN_TRY(tn_axis_fix(axes[i], rank, &axis, infer->diag));
        *out_mask |= UINT64_C(1) << axis;
    }
    if (n == 0 && !attrs->noop_with_empty_axes) *out_mask = ~UINT64_C(0);
    return TN_OK;
}

static tn_status infer_reduce(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct reduce_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    uint64_t mask;
    bool known;
    int32_t rank = 0;
    TN_TRY(TN_ATTRS_READ(reduce, infer->node, &attrs, infer->diag));
    TN_TRY(tn_infer_vector(infer, 1, "axes"));
    if (!in) return TN_OK;
    if (in->rank < 0) return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    TN_TRY(tn_rank_check(in->rank, infer->diag));
    TN_TRY(infer_axes(infer, &attrs, in->rank, &mask, &known));
    for (int32_t i = 0; i < in->rank; i++) {
        if (!known)
            dims[rank++] = TN_DIM_UNKNOWN;
        else if (!(mask >> i & 1))
            dims[rank++] = in->dims[i];
        else if (attrs.keepdims)
            dims[rank++] = 1;
    }
    if (!known && !attrs.keepdims) rank = -1;
    TN_TRY(tn_infer_set(infer, 0, in->dtype, rank, dims));
    return known && (mask & 1) && in->rank == 1 ? reduce_content(infer, rank) : TN_OK;
}

/* A pure reduction over no axes. */
static int32_t elide_reduce(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct reduce_attrs attrs;
    uint64_t mask;
    bool known;
    if (!in || in->rank < 0 || !find_row(infer->node->op_type)->pure) return -1;
    if (TN_ATTRS_READ(reduce, infer->node, &attrs, NULL) != TN_OK) return -1;
    if (infer_axes(infer, &attrs, in->rank, &mask, &known) != TN_OK) return -1;
    return known && mask == 0 ? 0 : -1;
}

/* ---- kernel --------------------------------------------------------------------------- */

struct reduce_kernel {
    struct tn__kernel base;
    const struct reduce_row *row;
    struct reduce_attrs attrs;
    tn_reduce_row_fn *reduce_row;
    tn_reduce_column_fn *reduce_column;
    tn_convert_fn *load, *store; /* narrow floats */
    int32_t elem;
    uint32_t size;   /* of elem */
    bool axes_known; /* at creation: absent or constant */
    int64_t axes[TN_RANK_MAX];
    uint32_t n_axes;
};

static tn_status setup(const struct tn_kernel_ctx *ctx, struct reduce_kernel *kernel) {
    const struct tn__cpu *cpu = kernel->base.cpu;
    int32_t dtype = ctx->inputs[0].dtype;
    TN_TRY(TN_ATTRS_READ(reduce, ctx->node, &kernel->attrs, ctx->diag));
    kernel->row = find_row(ctx->node->op_type);
    kernel->elem = dtype;
    if (TN_TYPES_NARROW_FLOATS >> dtype & 1) {
        kernel->load = cpu->convert.load[dtype];
        kernel->store = cpu->convert.store[TN_CONVERT_F32][dtype];
        kernel->elem = TN_FLOAT;
    }
    kernel->size = tn_dtype_bits(kernel->elem) / 8;
    kernel->reduce_row = cpu->reduce.row[kernel->row->op][kernel->elem];
    kernel->reduce_column = cpu->reduce.column[kernel->row->op][kernel->elem];
    if (!kernel->reduce_row || !kernel->reduce_column)
        return tn_fail(
            ctx->diag, TN_UNSUPPORTED, "no kernel for type %s", tn_dtype_name(dtype));
    const struct tn_tensor *axes = NULL;
    if (tn_infer_has(ctx->node, 1)) axes = ctx->constant(ctx->self, 1);
    kernel->axes_known = axes || !tn_infer_has(ctx->node, 1);
    if (!axes) return TN_OK;
    if (axes->rank > 1)
        return tn_fail(
            ctx->diag, TN_INVALID_MODEL, "'axes' has rank %u, expected 1", axes->rank);
    TN_TRY(tn_rank_check(tn_tensor_count(axes), ctx->diag));
    kernel->n_axes = (uint32_t)tn_tensor_count(axes);
    for (uint32_t i = 0; i < kernel->n_axes; i++)
        kernel->axes[i] = tn_tensor_int(axes, i);
    return TN_OK;
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct reduce_kernel), out));
    return tn_kernel_ready(setup(ctx, *out), out);
}

/* Elements of the largest output that any choice of axes gives. */
static uint64_t output_bound(const struct tn_tensor *in) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < in->rank; i++)
        if (in->dims[i] > 1) n *= (uint64_t)in->dims[i];
    return n;
}

static uint64_t round_up(uint64_t n) {
    return (n + 63) / 64 * 64;
}

/* Scratch: the widened input, the permuted input, the result before it is narrowed. */
static tn_status workspace(
    void *object, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct reduce_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0), *result = tn_out(args, 0);
    uint64_t block = round_up((uint64_t)tn_tensor_count(in) * kernel->size);
    out->scratch = block;
    if (kernel->load)
        out->scratch +=
            block + (result ? (uint64_t)tn_tensor_count(result) : output_bound(in)) *
                        sizeof(float);
    out->state = kernel->axes_known ? sizeof(struct tn__reduce) : 0;
    return TN_OK;
}

static tn_status axes_mask(const struct reduce_kernel *kernel, const int64_t *axes,
    uint32_t n, uint32_t rank, uint64_t *out_mask, struct tn_diag *diag) {
    *out_mask = n == 0 && !kernel->attrs.noop_with_empty_axes ? ~UINT64_C(0) : 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t axis = 0;
        TN_TRY(tn_axis_fix(axes[i], rank, &axis, diag));
        *out_mask |= UINT64_C(1) << axis;
    }
    return TN_OK;
}

static tn_status plan(const struct reduce_kernel *kernel, const struct tn_tensor *in,
    uint64_t mask, struct tn__reduce *out, struct tn_diag *diag) {
    return tn__reduce_plan(out, kernel->elem, in->dims, in->rank, mask,
        kernel->row->finish == LOG_SUM_EXP, diag);
}

static tn_status prepare(void *object, const struct tn_run_args *args, tn_compute_fn *fn,
    struct tn_diag *diag) {
    const struct reduce_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0);
    uint64_t mask;
    (void)fn;
    if (!kernel->axes_known) return TN_OK;
    TN_TRY(axes_mask(kernel, kernel->axes, kernel->n_axes, in->rank, &mask, diag));
    return plan(kernel, in, mask, args->state, diag);
}

/* log(sum(exp(x))) of rows with their maximum taken out. */
struct exp_job {
    const struct reduce_kernel *kernel;
    const void *src;
    void *dst; /* holds the maxima */
    int64_t n;
};

static void exp_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct exp_job *job = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        if (job->kernel->elem == TN_FLOAT) {
            float *out = (float *)job->dst + i;
            const float *row = (const float *)job->src + i * job->n;
            if (!isfinite(*out)) continue; /* the maximum is the answer */
            *out = (float)(log(job->kernel->base.cpu->reduce.sum_exp(
                               row, (size_t)job->n, *out)) +
                           (double)*out);
        } else {
            double *out = (double *)job->dst + i, sum = 0;
            const double *row = (const double *)job->src + i * job->n;
            if (!isfinite(*out)) continue;
            for (int64_t k = 0; k < job->n; k++)
                sum += exp(row[k] - *out);
            *out += log(sum);
        }
    }
}

/* One element of an integer result after its operation in floating point. */
static double finish_one(enum finish finish, double x, double n) {
    if (finish == DIVIDE) return x / n;
    return finish == ROOT ? sqrt(x) : log(x);
}

static void finish(
    const struct reduce_kernel *kernel, void *data, int64_t count, double n) {
    enum finish what = kernel->row->finish;
    int32_t elem = kernel->elem;
    if (what == KEEP || what == LOG_SUM_EXP) return;
    for (int64_t i = 0; i < count; i++) {
        if (elem == TN_FLOAT) {
            float *x = (float *)data + i;
            *x = what == DIVIDE ? *x / (float)n : (float)finish_one(what, (double)*x, n);
        } else if (elem == TN_DOUBLE) {
            double *x = (double *)data + i;
            *x = finish_one(what, *x, n);
        } else if (what == DIVIDE && n >= 1 && elem == TN_INT64) {
            ((int64_t *)data)[i] /= (int64_t)n;
        } else if (what == DIVIDE && n >= 1 && elem == TN_UINT64) {
            ((uint64_t *)data)[i] /= (uint64_t)n;
        } else if (what != DIVIDE || n >= 1) {
            double x = tn__number_get(elem, data, i);
            tn__number_put(elem, data, i, finish_one(what, x, n));
        }
    }
}

static tn_status run(const struct reduce_kernel *kernel, const struct tn__reduce *reduce,
    const struct tn_run_args *args, struct tn_tensor *out) {
    const struct tn_tensor *in = tn_in(args, 0);
    const struct tn_host *host = kernel->base.host;
    int64_t n_in = tn_tensor_count(in), n_out = tn_tensor_count(out);
    uint64_t block = round_up((uint64_t)n_in * kernel->size);
    char *scratch = args->workspace;
    const void *src = in->data;
    void *dst = out->data;
    if (kernel->load) {
        tn__convert_block(
            kernel->base.cpu, TN_FLOAT, scratch + block, in->dtype, in->data, n_in, NULL);
        src = scratch + block;
        dst = scratch + 2 * block;
    }
    tn__reduce_run(host, reduce, kernel->reduce_row, kernel->reduce_column, kernel->size,
        dst, src, scratch);
    if (kernel->row->finish == LOG_SUM_EXP) {
        struct exp_job job = {
            kernel, reduce->permuted ? scratch : src, dst, reduce->reduced};
        tn_parallel(host, n_out, 5.0 + 2.0 * (double)reduce->reduced, exp_piece, &job);
    }
    finish(kernel, dst, n_out, (double)reduce->reduced);
    if (kernel->store) kernel->store(out->data, dst, (size_t)n_out, NULL);
    return TN_OK;
}

/* The axes are data: shape and plan are made now. */
static tn_status compute_late(const struct reduce_kernel *kernel,
    const struct tn_run_args *args, struct tn_diag *diag) {
    const struct tn_tensor *in = tn_in(args, 0), *list = tn_in(args, 1);
    int64_t axes[TN_RANK_MAX], dims[TN_RANK_MAX], n = tn_tensor_count(list);
    struct tn__reduce reduce;
    struct tn_tensor *out;
    uint32_t rank = 0;
    uint64_t mask;
    TN_TRY(tn_rank_check(n, diag));
    TN_TRY(tn_rank_check(in->rank, diag));
    for (int64_t i = 0; i < n; i++)
        axes[i] = tn_tensor_int(list, i);
    TN_TRY(axes_mask(kernel, axes, (uint32_t)n, in->rank, &mask, diag));
    for (uint32_t i = 0; i < in->rank; i++) {
        if (!(mask >> i & 1))
            dims[rank++] = in->dims[i];
        else if (kernel->attrs.keepdims)
            dims[rank++] = 1;
    }
    TN_TRY(tn_out_shaped(args, 0, in->dtype, dims, rank, &out));
    TN_TRY(plan(kernel, in, mask, &reduce, diag));
    return run(kernel, &reduce, args, out);
}

static tn_status compute(void *object, const struct tn_run_args *args) {
    const struct reduce_kernel *kernel = object;
    if (!kernel->axes_known) return compute_late(kernel, args, args->run->diag);
    return run(kernel, args->state, args, args->outputs[0].as.tensor);
}

/* ---- tables --------------------------------------------------------------------------- */

/* Until the step the axes were an attribute. */
static tn_status upgrade_axes(const struct tn_rewrite *rw) {
    return tn__upgrade_ints_to_input(rw, "axes", 1);
}

/* clang-format off */
#define REDUCTION(name, types, ...) \
    TN_DEF("", name), TN_VERSIONS(__VA_ARGS__), \
        TN_INPUTS({"data", "T"}, {"axes", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL}), \
        TN_OUTPUTS({"reduced", "T"}), TN_TYPE_VARS({"T", types}), TN_ATTRS(reduce), \
        .infer = infer_reduce, .elide = elide_reduce
#define UP_TO_18 {1}, {11}, {13}, {18, 0, upgrade_axes}
#define TYPES_BOUND (TN_TYPES_WIDE | TN_BIT(INT8) | TN_BIT(UINT8) | TN_BIT(BOOL))
#define BODY(text) \
    TN_BODY "f <keepdims: int = 1, noop_with_empty_axes: int = 0> (data, axes) => (reduced) {\n" text "\n}"
#define SUM(to, from) \
    to " = ReduceSum <keepdims: int = @keepdims, noop_with_empty_axes: int = @noop_with_empty_axes> (" \
    from ", axes)\n"
static const struct tn_op_def defs[] = {
    {REDUCTION("ReduceSum", TN_TYPES_WIDE, {1}, {11}, {13, 0, upgrade_axes})},
    {REDUCTION("ReduceMean", TN_TYPES_WIDE, UP_TO_18)},
    {REDUCTION("ReduceProd", TN_TYPES_WIDE, UP_TO_18)},
    {REDUCTION("ReduceMax", TYPES_BOUND, {1}, {11}, {12}, {13}, {18, 0, upgrade_axes}, {20})},
    {REDUCTION("ReduceMin", TYPES_BOUND, {1}, {11}, {12}, {13}, {18, 0, upgrade_axes}, {20})},
    {REDUCTION("ReduceL1", TN_TYPES_WIDE, UP_TO_18),
        .expansion = BODY("magnitude = Abs (data)\n" SUM("reduced", "magnitude"))},
    {REDUCTION("ReduceL2", TN_TYPES_WIDE, UP_TO_18),
        .expansion = BODY("square = Mul (data, data)\n" SUM("sum", "square")
            "sum_d = Cast <to: int = 11> (sum)\nroot = Sqrt (sum_d)\nreduced = CastLike (root, data)")},
    {REDUCTION("ReduceSumSquare", TN_TYPES_WIDE, UP_TO_18),
        .expansion = BODY("square = Mul (data, data)\n" SUM("reduced", "square"))},
    {REDUCTION("ReduceLogSum", TN_TYPES_WIDE, UP_TO_18, {28}),
        .expansion = BODY(SUM("sum", "data")
            "sum_d = Cast <to: int = 11> (sum)\nl = Log (sum_d)\nreduced = CastLike (l, data)")},
    {REDUCTION("ReduceLogSumExp", TN_TYPES_WIDE, UP_TO_18, {28}),
        .expansion = BODY("data_d = Cast <to: int = 11> (data)\ne = Exp (data_d)\n" SUM("sum", "e")
            "l = Log (sum)\nreduced = CastLike (l, data)")},
};

#define REDUCTION_KERNEL(name, newest) \
    {TN_KERNEL("", name, newest), .create = create, .workspace = workspace, .prepare = prepare, \
        .compute = compute}
static const struct tn_kernel_def kernels[] = {
    REDUCTION_KERNEL("ReduceSum", 13), REDUCTION_KERNEL("ReduceMean", 18),
    REDUCTION_KERNEL("ReduceProd", 18), REDUCTION_KERNEL("ReduceMax", 20),
    REDUCTION_KERNEL("ReduceMin", 20), REDUCTION_KERNEL("ReduceL1", 18),
    REDUCTION_KERNEL("ReduceL2", 18), REDUCTION_KERNEL("ReduceSumSquare", 18),
    REDUCTION_KERNEL("ReduceLogSum", 28),
    {TN_KERNEL("", "ReduceLogSumExp", 28), TN_KERNEL_TYPES({"T", TN_TYPES_FLOATS}), .create = create,
        .workspace = workspace, .prepare = prepare, .compute = compute},
};
/* clang-format on */

TN_FAMILY(reduce);
