/* MatMulInteger, ConvInteger and their requantised forms QLinearMatMul and QLinearConv.
 *
 * Operands are widened to int32 with their zero points taken off, multiplied exactly (sums
 * wrap), and rounded to the 8-bit output where there is one: round(sum · scale) + zero. */
#include "kernels/conv.h"

#include "ops/convolution.h"
#include "ops/ops.h"
#include "ops/window.h"

#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define CONV_INTEGER_ATTRS(X, S)                                                         \
    X(S, STRING, auto_pad, "NOTSET")                                                     \
    X(S, INTS, dilations, )                                                              \
    X(S, INT, group, 1)                                                                  \
    X(S, INTS, kernel_shape, )                                                           \
    X(S, INTS, pads, )                                                                   \
    X(S, INTS, strides, )
/* clang-format on */
TN_ATTR_TABLE(conv_integer, CONV_INTEGER_ATTRS)

/* Where the operands of each operator stand: input numbers, 0 where there is none. */
struct places {
    const char *op_type;
    bool conv;
    uint32_t a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
};

static const struct places table[] = {
    {"MatMulInteger", false, 0, 0, 2, 1, 0, 3, 0, 0, 0},
    {"QLinearMatMul", false, 0, 1, 2, 3, 4, 5, 6, 7, 0},
    {"ConvInteger", true, 0, 0, 2, 1, 0, 3, 0, 0, 0},
    {"QLinearConv", true, 0, 1, 2, 3, 4, 5, 6, 7, 8},
};

static const struct places *find_places(const struct tn_node *node) {
    size_t i = 0;
    while (i + 1 < TN_COUNT(table) && strcmp(table[i].op_type, node->op_type) != 0)
        i++;
    return &table[i];
}

/* ---- inference -------------------------------------------------------------------------- */

static tn_status infer_integer(const struct tn_infer *infer) {
    const struct places *at = find_places(infer->node);
    int32_t dtype = TN_INT32;
    if (at->y_scale) {
        const struct tn_type *zero = tn_infer_input(infer, at->y_zero);
        if (!zero) return TN_OK;
        dtype = zero->dtype;
    }
    if (at->conv) {
        struct conv_integer_attrs attrs;
        TN_TRY(TN_ATTRS_READ(conv_integer, infer->node, &attrs, infer->diag));
        return tn__conv_infer(infer, at->a, at->b, dtype, attrs.group, false);
    }
    const struct tn_type *a = tn_infer_input(infer, at->a),
                         *b = tn_infer_input(infer, at->b);
    int64_t dims[TN_RANK_MAX + 2];
    uint32_t rank = 0;
    if (!a || !b || a->rank < 0 || b->rank < 0)
        return tn_infer_set(infer, 0, dtype, -1, NULL);
    TN_TRY(tn_rank_check(a->rank, infer->diag));
    TN_TRY(tn_rank_check(b->rank, infer->diag));
    if (a->rank < 1 || b->rank < 1)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "operands have ranks %d and %d, expected 1 or more", a->rank, b->rank);
    uint32_t ra = (uint32_t)a->rank, rb = (uint32_t)b->rank;
    TN_TRY(tn_broadcast_into(dims, &rank, a->dims, ra > 2 ? ra - 2 : 0, infer->diag));
    TN_TRY(tn_broadcast_into(dims, &rank, b->dims, rb > 2 ? rb - 2 : 0, infer->diag));
    if (ra > 1) dims[rank++] = a->dims[ra - 2];
    if (rb > 1) dims[rank++] = b->dims[rb - 1];
    return tn_infer_set(infer, 0, dtype, (int32_t)rank, dims);
}

/* ---- operands ---------------------------------------------------------------------------- */

struct integer {
    struct tn__kernel base;
    const struct tn_node *node;
    const struct places *at;
    int64_t group;
};

static tn_status create_integer(const struct tn_kernel_ctx *ctx, void **out) {
    struct conv_integer_attrs attrs = {.group = 1};
    const struct places *at = find_places(ctx->node);
    if (at->conv) TN_TRY(TN_ATTRS_READ(conv_integer, ctx->node, &attrs, ctx->diag));
    if (attrs.group < 1)
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'group' is %lld, expected 1 or more", (long long)attrs.group);
    TN_TRY(tn__kernel_create(ctx, sizeof(struct integer), out));
    struct integer *kernel = *out;
    kernel->node = ctx->node;
    kernel->at = at;
    kernel->group = attrs.group;
    return TN_OK;
}

static const struct tn_tensor *optional(const struct tn_run_args *args, uint32_t i) {
    return i ? tn_in(args, i) : NULL;
}

/* t as int32 less its zero point; element i belongs to zero i / tail % count. */
static void widen(const struct tn__cpu *cpu, int32_t *dst, const struct tn_tensor *t,
    const struct tn_tensor *zero, size_t tail) {
    size_t n = (size_t)tn_tensor_count(t),
           count = zero ? (size_t)tn_tensor_count(zero) : 0;
    tn_convert_run(&cpu->convert, TN_INT32, dst, t->dtype, t->data, n, NULL);
    if (count == 0) return;
    bool is_signed = zero->dtype == TN_INT8;
    for (size_t i = 0; i < n; i++) {
        size_t at = count == 1 ? 0 : i / tail % count;
        dst[i] -= is_signed ? ((const int8_t *)zero->data)[at]
                            : ((const uint8_t *)zero->data)[at];
    }
}

/* The zero point has one element, or one for each of `n`. */
static tn_status check_count(const struct tn_run_args *args, uint32_t input, size_t n) {
    const struct tn_tensor *t = optional(args, input);
    size_t count = t ? (size_t)tn_tensor_count(t) : 1;
    if (count == 1 || (n > 0 && count % n == 0)) return TN_OK;
    return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
        "input %u has %zu elements, expected 1 or %zu", input, count, n);
}

/* Scales are read by index modulo their number. */
static tn_status check_scales(const struct integer *k, const struct tn_run_args *args) {
    const uint32_t inputs[] = {k->at->a_scale, k->at->b_scale, k->at->y_scale};
    for (size_t i = 0; i < TN_COUNT(inputs); i++) {
        const struct tn_tensor *t = optional(args, inputs[i]);
        if (t && tn_tensor_count(t) == 0)
            return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
                "input %u is empty, expected a scale", inputs[i]);
    }
    const struct tn_tensor *zero = optional(args, k->at->y_zero);
    if (zero && tn_tensor_count(zero) == 0)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "input %u is empty, expected a zero point", k->at->y_zero);
    return TN_OK;
}

static tn_status workspace_integer(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct integer *k = kernel;
    out->scratch = 4 * (uint64_t)(tn_tensor_count(args->inputs[k->at->a].as.tensor) +
                                  tn_tensor_count(args->inputs[k->at->b].as.tensor) +
                                  tn_tensor_count(args->outputs[0].as.tensor) + 1);
    return TN_OK;
}

static double float_at(const struct tn__cpu *cpu, const struct tn_tensor *t, size_t i) {
    float wide = 1;
    if (!t) return 1;
    size_t at = tn_tensor_count(t) == 1 ? 0 : i % (size_t)tn_tensor_count(t);
    tn_convert_run(&cpu->convert, TN_FLOAT, &wide, t->dtype,
        (const char *)t->data + at * tn_dtype_bits(t->dtype) / 8, 1, NULL);
    return (double)wide;
}

/* Rounds sums into the output. Row i / cols % rows has a scale of a, column or channel one of
 * b. */
static void requantize(const struct integer *k, const struct tn_run_args *args,
    const int32_t *sums, size_t rows, size_t cols) {
    const struct tn__cpu *cpu = k->base.cpu;
    struct tn_tensor *y = args->outputs[0].as.tensor;
    const struct tn_tensor *a_scale = optional(args, k->at->a_scale);
    const struct tn_tensor *b_scale = optional(args, k->at->b_scale);
    const struct tn_tensor *y_scale = optional(args, k->at->y_scale);
    const struct tn_tensor *zero = optional(args, k->at->y_zero);
    size_t n = (size_t)tn_tensor_count(y);
    bool is_signed = y->dtype == TN_INT8;
    double least = is_signed ? -128 : 0, most = is_signed ? 127 : 255;
    for (size_t i = 0; i < n; i++) {
        size_t row = i / cols % rows, col = i % cols;
        double scale = float_at(cpu, a_scale, k->at->conv ? 0 : row) *
                       float_at(cpu, b_scale, k->at->conv ? row : col) /
                       float_at(cpu, y_scale, 0);
        int32_t shift = !zero                    ? 0
                        : zero->dtype == TN_INT8 ? *(const int8_t *)zero->data
                                                 : *(const uint8_t *)zero->data;
        double q = rint((double)sums[i] * scale) + shift;
        q = q < least ? least : q > most ? most : q;
        if (is_signed)
            ((int8_t *)y->data)[i] = (int8_t)q;
        else
            ((uint8_t *)y->data)[i] = (uint8_t)q;
    }
}

/* ---- products ---------------------------------------------------------------------------- */

static void multiply(
    int32_t *c, const int32_t *a, const int32_t *b, size_t m, size_t n, size_t k) {
    for (size_t i = 0; i < m; i++) {
        uint32_t *row = (uint32_t *)c + i * n;
        memset(row, 0, n * sizeof *row);
        for (size_t l = 0; l < k; l++) {
            uint32_t x = (uint32_t)a[i * k + l];
            for (size_t j = 0; j < n; j++)
                row[j] += x * (uint32_t)b[l * n + j];
        }
    }
}

static tn_status compute_matmul(void *kernel, const struct tn_run_args *args) {
    const struct integer *k = kernel;
    const struct tn_tensor *a = args->inputs[k->at->a].as.tensor;
    const struct tn_tensor *b = args->inputs[k->at->b].as.tensor;
    const struct tn_tensor *y = args->outputs[0].as.tensor;
    if (a->rank < 1 || b->rank < 1)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "operands have ranks %u and %u, expected 1 or more", a->rank, b->rank);
    uint32_t batch_a = a->rank > 2 ? a->rank - 2 : 0,
             batch_b = b->rank > 2 ? b->rank - 2 : 0;
    uint32_t rank = batch_a > batch_b ? batch_a : batch_b;
    size_t m = a->rank > 1 ? (size_t)a->dims[a->rank - 2] : 1;
    size_t depth = (size_t)a->dims[a->rank - 1];
    size_t n = b->rank > 1 ? (size_t)b->dims[b->rank - 1] : 1;
    if (depth != (size_t)b->dims[b->rank > 1 ? b->rank - 2 : 0])
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "inner dimensions differ");
    if (tn_tensor_count(y) == 0) return TN_OK;
    int32_t *wide_a = args->workspace, *wide_b = wide_a + tn_tensor_count(a);
    int32_t *sums = k->at->y_scale ? wide_b + tn_tensor_count(b) : y->data;
    TN_TRY(check_count(args, k->at->a_zero, m));
    TN_TRY(check_count(args, k->at->b_zero, n));
    TN_TRY(check_scales(k, args));
    widen(k->base.cpu, wide_a, a, optional(args, k->at->a_zero), depth);
    const struct tn_tensor *b_zero = optional(args, k->at->b_zero);
    size_t zeros = b_zero ? (size_t)tn_tensor_count(b_zero) : 1;
    if (zeros <= n) {
        widen(k->base.cpu, wide_b, b, b_zero, 1);
    } else { /* a zero for each column of each matrix of the batch */
        widen(k->base.cpu, wide_b, b, NULL, 1);
        for (size_t i = 0; i < (size_t)tn_tensor_count(b); i++) {
            size_t at = i / (depth * n) * n + i % n;
            wide_b[i] -= b->dtype == TN_INT8
                             ? ((const int8_t *)b_zero->data)[at % zeros]
                             : ((const uint8_t *)b_zero->data)[at % zeros];
        }
    }
    size_t batch = (size_t)tn_tensor_count(y) / (m * n);
    for (size_t index = 0; index < batch; index++) {
        size_t rest = index, at_a = 0, at_b = 0, step_a = m * depth, step_b = depth * n;
        for (uint32_t i = 1; i <= rank; i++) {
            size_t da = i <= batch_a ? (size_t)a->dims[batch_a - i] : 1;
            size_t db = i <= batch_b ? (size_t)b->dims[batch_b - i] : 1;
            size_t dim = da == 1 ? db : da, at = rest % dim;
            rest /= dim;
            if (da > 1) at_a += at * step_a;
            if (db > 1) at_b += at * step_b;
            step_a *= da;
            step_b *= db;
        }
        multiply(sums + index * m * n, wide_a + at_a, wide_b + at_b, m, n, depth);
    }
    if (k->at->y_scale) requantize(k, args, sums, m, n);
    return TN_OK;
}

#define T int32_t
#define NAME(x) x##_i32
#include "ops/convolution_tmpl.h"

static tn_status plan_conv(struct tn_conv *c, const struct integer *k,
    const struct tn_tensor *x, const struct tn_tensor *w, struct tn_diag *diag) {
    struct tn_window window;
    struct tn_window_geometry g;
    if (x->rank < 3 || x->rank != w->rank || x->rank > 2 + TN_CONV_MAX_AXES ||
        x->dims[1] != w->dims[1] * k->group || w->dims[0] % k->group != 0)
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "input and weights do not fit each other");
    TN_TRY(tn__window_parse(&window, k->node, x->rank - 2, w->dims + 2, diag));
    TN_TRY(tn__window_geometry(&window, x->dims + 2, &g, diag));
    memset(c, 0, sizeof *c);
    c->axes = x->rank - 2;
    c->batch = (size_t)x->dims[0];
    c->groups = (size_t)k->group;
    c->in_channels = (size_t)x->dims[1];
    c->out_channels = (size_t)w->dims[0];
    for (size_t i = 0; i < c->axes; i++)
        c->axis[i] = (struct tn_conv_axis){(size_t)g.in[i], (size_t)g.out[i],
            (size_t)w->dims[2 + i], (size_t)window.stride[i], (size_t)window.dilation[i],
            (size_t)g.pad[i]};
    return TN_OK;
}

struct conv_job {
    struct tn_conv conv;
    int32_t *y;
    const int32_t *x, *w, *bias;
};

static void run_planes(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct conv_job *job = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        plane_i32(&job->conv, job->y, job->x, job->w, job->bias, (size_t)i);
}

static tn_status compute_conv(void *kernel, const struct tn_run_args *args) {
    const struct integer *k = kernel;
    const struct tn_tensor *x = args->inputs[k->at->a].as.tensor;
    const struct tn_tensor *w = args->inputs[k->at->b].as.tensor;
    const struct tn_tensor *y = args->outputs[0].as.tensor,
                           *bias = optional(args, k->at->bias);
    struct conv_job job = {0};
    TN_TRY(plan_conv(&job.conv, k, x, w, args->run->diag));
    size_t n = (size_t)tn_tensor_count(y), filters = job.conv.out_channels;
    if (n == 0) return TN_OK;
    TN_TRY(check_count(args, k->at->a_zero, 1));
    TN_TRY(check_count(args, k->at->b_zero, filters));
    TN_TRY(check_scales(k, args));
    if (bias) TN_TRY(tn__bias_check(args, k->at->bias, filters, args->run->diag));
    int32_t *wide_x = args->workspace, *wide_w = wide_x + tn_tensor_count(x);
    size_t filter = (size_t)tn_tensor_count(w) / filters;
    widen(k->base.cpu, wide_x, x, optional(args, k->at->a_zero), 1);
    widen(k->base.cpu, wide_w, w, optional(args, k->at->b_zero), filter ? filter : 1);
    job.x = wide_x;
    job.w = wide_w;
    job.y = k->at->y_scale ? wide_w + tn_tensor_count(w) : y->data;
    job.bias = bias ? bias->data : NULL;
    size_t plane = n / (job.conv.batch * filters);
    tn_parallel(k->base.host, (int64_t)(job.conv.batch * filters),
        (double)filter * (double)plane / 4, run_planes, &job);
    if (k->at->y_scale) requantize(k, args, job.y, filters, plane);
    return TN_OK;
}

/* clang-format off */
#define BYTES (TN_BIT(INT8) | TN_BIT(UINT8))
#define SCALES (TN_BIT(FLOAT) | TN_BIT(FLOAT16) | TN_BIT(BFLOAT16))
#define OPTIONAL 0, TN_FORMAL_OPTIONAL
static const struct tn_op_def defs[] = {
    {TN_DEF("", "MatMulInteger"), TN_VERSIONS({10}),
        TN_INPUTS({"A", "T1"}, {"B", "T2"}, {"a_zero_point", "T1", OPTIONAL},
            {"b_zero_point", "T2", OPTIONAL}),
        TN_OUTPUTS({"Y", "T3"}),
        TN_TYPE_VARS({"T1", BYTES}, {"T2", BYTES}, {"T3", TN_BIT(INT32)}), .infer = infer_integer},
    {TN_DEF("", "QLinearMatMul"), TN_VERSIONS({10}, {21}),
        TN_INPUTS({"a", "T1"}, {"a_scale", "TS"}, {"a_zero_point", "T1"}, {"b", "T2"},
            {"b_scale", "TS"}, {"b_zero_point", "T2"}, {"y_scale", "TS"}, {"y_zero_point", "T3"}),
        TN_OUTPUTS({"y", "T3"}),
        TN_TYPE_VARS({"TS", SCALES}, {"T1", BYTES | TN_TYPES_F8}, {"T2", BYTES | TN_TYPES_F8},
            {"T3", BYTES | TN_TYPES_F8}), .infer = infer_integer},
    {TN_DEF("", "ConvInteger"), TN_VERSIONS({10}),
        TN_INPUTS({"x", "T1"}, {"w", "T2"}, {"x_zero_point", "T1", OPTIONAL},
            {"w_zero_point", "T2", OPTIONAL}),
        TN_OUTPUTS({"y", "T3"}),
        TN_TYPE_VARS({"T1", BYTES}, {"T2", BYTES}, {"T3", TN_BIT(INT32)}),
        TN_ATTRS(conv_integer), .infer = infer_integer},
    {TN_DEF("", "QLinearConv"), TN_VERSIONS({10}),
        TN_INPUTS({"x", "T1"}, {"x_scale", NULL, TN_BIT(FLOAT)}, {"x_zero_point", "T1"},
            {"w", "T2"}, {"w_scale", NULL, TN_BIT(FLOAT)}, {"w_zero_point", "T2"},
            {"y_scale", NULL, TN_BIT(FLOAT)}, {"y_zero_point", "T3"}, {"B", "T4", OPTIONAL}),
        TN_OUTPUTS({"y", "T3"}),
        TN_TYPE_VARS({"T1", BYTES}, {"T2", BYTES}, {"T3", BYTES}, {"T4", TN_BIT(INT32)}),
        TN_ATTRS(conv_integer), .infer = infer_integer},
};

#define SLOTS(what) .create = create_integer, .workspace = workspace_integer, .compute = compute_##what
static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "MatMulInteger", 10), SLOTS(matmul)},
    {TN_KERNEL("", "QLinearMatMul", 21),
        TN_KERNEL_TYPES({"T1", BYTES}, {"T2", BYTES}, {"T3", BYTES}), SLOTS(matmul)},
    {TN_KERNEL("", "ConvInteger", 10), SLOTS(conv)},
    {TN_KERNEL("", "QLinearConv", 10), SLOTS(conv)},
};
/* clang-format on */

TN_FAMILY(integer_product);
