/* ConvTranspose: every input element spreads its filter over the output.
 *
 * The padding follows from the attributes, from auto_pad or from output_shape; what lies
 * behind the last filter (output_padding) is bias alone. */
#include "ops/convolution.h"
#include "ops/narrow.h"
#include "ops/ops.h"

#include "ops/window.h"
#include "tenon/helper/parallel.h"

#include <stdbool.h>

/* clang-format off */
#define CONV_TRANSPOSE_ATTRS(X, S)                                                       \
    X(S, STRING, auto_pad, "NOTSET")                                                     \
    X(S, INTS, dilations, )                                                              \
    X(S, INT, group, 1)                                                                  \
    X(S, INTS, kernel_shape, )                                                           \
    X(S, INTS, output_padding, )                                                         \
    X(S, INTS, output_shape, )                                                           \
    X(S, INTS, pads, )                                                                   \
    X(S, INTS, strides, )
/* clang-format on */
TN_ATTR_TABLE(conv_transpose, CONV_TRANSPOSE_ATTRS)

/* One spatial axis: input i and tap t meet output i · stride + t · dilation - pad. */
struct axis {
    int64_t in, out, kernel, stride, dilation, pad;
};

static tn_status check_list(
    struct tn_attr_ints list, uint32_t axes, const char *name, struct tn_diag *diag) {
    if (!list.present || list.n >= axes) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL, "attribute '%s' has %u values for %u axes",
        name, list.n, axes);
}

/* Sizes and padding of axis i; `in` may be a symbol, then only out's formula applies. */
static tn_status fill_axis(struct axis *a, const struct tn_window *w,
    const struct conv_transpose_attrs *attrs, uint32_t i, int64_t in,
    struct tn_diag *diag) {
    int64_t extra = attrs->output_padding.present ? attrs->output_padding.v[i] : 0;
    *a =
        (struct axis){in, 0, w->kernel[i], w->stride[i], w->dilation[i], w->pad_begin[i]};
    bool upper = w->auto_pad == TN_PAD_SAME_UPPER;
    bool same = upper || w->auto_pad == TN_PAD_SAME_LOWER;
    const int64_t limit = INT64_C(1) << 31;
    if (in > limit || a->stride > limit || a->kernel > limit || a->dilation > limit ||
        w->pad_begin[i] > limit || w->pad_end[i] > limit || extra < 0 || extra > limit)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "axis %u is too large", i);
    int64_t full = a->stride * (in - 1) + extra + (a->kernel - 1) * a->dilation + 1;
    if (in == 0) full = 0;
    if (attrs->output_shape.present || same) {
        /* output_shape may hold the whole shape or the spatial part */
        uint32_t skip =
            attrs->output_shape.n > w->rank ? attrs->output_shape.n - w->rank : 0;
        a->out = attrs->output_shape.present ? attrs->output_shape.v[skip + i]
                                             : in * a->stride;
        int64_t total = a->out >= 0 && a->out < full ? full - a->out : 0;
        a->pad = upper ? total / 2 : total - total / 2;
    } else {
        a->out = full - w->pad_begin[i] - w->pad_end[i];
    }
    if (a->out < 0 || a->out > limit)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the output would have size %lld along spatial axis %u", (long long)a->out,
            i);
    return TN_OK;
}

static tn_status infer_conv_transpose(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0), *w = tn_infer_input(infer, 1);
    struct conv_transpose_attrs attrs;
    struct tn_window window;
    int64_t dims[2 + TN_WINDOW_RANK];
    TN_TRY(TN_ATTRS_READ(conv_transpose, infer->node, &attrs, infer->diag));
    if (!x) return TN_OK;
    if (x->rank < 0) return tn_infer_set(infer, 0, x->dtype, -1, NULL);
    if (x->rank < 3 || x->rank > 2 + TN_WINDOW_RANK ||
        (w && w->rank >= 0 && w->rank != x->rank))
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "input and weights have ranks %d and %d, expected the same, 3 or more",
            x->rank, w ? w->rank : -1);
    uint32_t axes = (uint32_t)x->rank - 2;
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = TN_DIM_UNKNOWN;
    dims[0] = x->dims[0];
    bool weighted = w && w->rank >= 0, sized = attrs.kernel_shape.present != 0;
    if (weighted && w->dims[1] >= 0 && attrs.group > 0 && w->dims[1] < INT32_MAX &&
        attrs.group < INT32_MAX)
        dims[1] = w->dims[1] * attrs.group;
    for (uint32_t i = 0; weighted && !sized && i < axes; i++)
        if (w->dims[2 + i] < 0) weighted = false;
    if (!weighted && !sized) return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
    TN_TRY(check_list(attrs.output_padding, axes, "output_padding", infer->diag));
    TN_TRY(check_list(attrs.output_shape, axes, "output_shape", infer->diag));
    TN_TRY(tn__window_parse(
        &window, infer->node, axes, sized ? NULL : w->dims + 2, infer->diag));
    for (uint32_t i = 0; i < axes; i++) {
        struct axis axis;
        if (x->dims[2 + i] < 0 && !attrs.output_shape.present) continue;
        TN_TRY(fill_axis(&axis, &window, &attrs, i,
            x->dims[2 + i] < 0 ? 1 : x->dims[2 + i], infer->diag));
        dims[2 + i] = axis.out;
    }
    return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
}

/* ---- kernel ------------------------------------------------------------------------------ */

struct conv_transpose {
    struct tn__kernel base;
    const struct tn_node *node;
    int64_t group;
};

struct plan {
    uint32_t axes;
    struct axis axis[TN_WINDOW_RANK];
    size_t batch, channels, filters, group; /* channels and filters of one group */
    size_t in_plane, out_plane, taps;
};

static tn_status create_conv_transpose(const struct tn_kernel_ctx *ctx, void **out) {
    struct conv_transpose_attrs attrs;
    TN_TRY(TN_ATTRS_READ(conv_transpose, ctx->node, &attrs, ctx->diag));
    if (attrs.group < 1)
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'group' is %lld, expected 1 or more", (long long)attrs.group);
    TN_TRY(tn__kernel_create(ctx, sizeof(struct conv_transpose), out));
    ((struct conv_transpose *)*out)->node = ctx->node;
    ((struct conv_transpose *)*out)->group = attrs.group;
    return TN_OK;
}

static tn_status workspace_conv_transpose(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    (void)args;
    out->state = sizeof(struct plan);
    return TN_OK;
}

static tn_status prepare_conv_transpose(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct conv_transpose *conv = kernel;
    const struct tn_tensor *x = args->inputs[0].as.tensor, *w = args->inputs[1].as.tensor;
    struct plan *plan = args->state;
    struct conv_transpose_attrs attrs;
    struct tn_window window;
    (void)fn;
    TN_TRY(TN_ATTRS_READ(conv_transpose, conv->node, &attrs, diag));
    if (x->rank < 3 || x->rank != w->rank || x->dims[1] != w->dims[0] ||
        w->dims[0] % conv->group != 0)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "input of rank %u with %lld channels does not fit weights of rank %u for "
            "%lld channels in %lld groups",
            x->rank, (long long)(x->rank > 1 ? x->dims[1] : 0), w->rank,
            (long long)(w->rank ? w->dims[0] : 0), (long long)conv->group);
    plan->axes = x->rank - 2;
    TN_TRY(check_list(attrs.output_padding, plan->axes, "output_padding", diag));
    TN_TRY(check_list(attrs.output_shape, plan->axes, "output_shape", diag));
    TN_TRY(tn__window_parse(&window, conv->node, plan->axes, w->dims + 2, diag));
    if (w->dims[1] > INT64_MAX / conv->group)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "the groups have too many filters");
    TN_TRY(tn__bias_check(args, 2, (size_t)(w->dims[1] * conv->group), diag));
    plan->batch = (size_t)x->dims[0];
    plan->group = (size_t)conv->group;
    plan->channels = (size_t)(x->dims[1] / conv->group);
    plan->filters = (size_t)w->dims[1];
    plan->in_plane = plan->out_plane = plan->taps = 1;
    for (uint32_t i = 0; i < plan->axes; i++) {
        if (window.kernel[i] != w->dims[2 + i])
            return tn_fail(diag, TN_INVALID_MODEL,
                "attribute 'kernel_shape' differs from the weights");
        TN_TRY(fill_axis(&plan->axis[i], &window, &attrs, i, x->dims[2 + i], diag));
        plan->in_plane *= (size_t)plan->axis[i].in;
        plan->out_plane *= (size_t)plan->axis[i].out;
        plan->taps *= (size_t)plan->axis[i].kernel;
    }
    return TN_OK;
}

struct job {
    const struct plan *plan;
    const struct tn_run_args *args;
};

#define T float
#define NAME(x) x##_f32
#include "ops/conv_transpose_tmpl.h"
#define T double
#define NAME(x) x##_f64
#include "ops/conv_transpose_tmpl.h"

static tn_status run_all(
    void *kernel, const struct tn_run_args *args, tn_parallel_fn run) {
    const struct conv_transpose *conv = kernel;
    const struct plan *plan = args->state;
    struct job job = {plan, args};
    double each = (double)plan->channels * (double)plan->taps * (double)plan->in_plane;
    tn_parallel(conv->base.host, (int64_t)(plan->batch * plan->group * plan->filters),
        each / 4 + (double)plan->out_plane, run, &job);
    return TN_OK;
}

static tn_status compute_f32(void *kernel, const struct tn_run_args *args) {
    return run_all(kernel, args, planes_f32);
}

static tn_status compute_f64(void *kernel, const struct tn_run_args *args) {
    return run_all(kernel, args, planes_f64);
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "ConvTranspose"), TN_VERSIONS({1}, {11}, {22}),
        TN_INPUTS({"X", "T"}, {"W", "T"}, {"B", "T", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_TYPES_FLOATS}),
        TN_ATTRS(conv_transpose), .infer = infer_conv_transpose},
};

#define SLOTS(type) .create = create_conv_transpose, .workspace = workspace_conv_transpose, \
    .prepare = prepare_conv_transpose, .compute = compute_##type
TN_NARROW(conv_transpose, SLOTS(f32))
static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "ConvTranspose", 22), TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)}), SLOTS(f32)},
    {TN_KERNEL("", "ConvTranspose", 22), TN_KERNEL_TYPES({"T", TN_BIT(DOUBLE)}), SLOTS(f64)},
    {TN_NARROW_KERNEL("", "ConvTranspose", 22, conv_transpose),
        TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})},
};
/* clang-format on */

TN_FAMILY(conv_transpose);
