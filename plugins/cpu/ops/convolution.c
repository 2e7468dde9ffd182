/* Conv, and tenon.cpu.Conv: the same with a residual input, a clamp or an activation behind
 * it, and a choice of layout.
 *
 * The f32 kernels work on NHWC; a convolution that the layout pass did not reach goes through
 * the workspace. Weights are ONNX's (M, C/group, kernel…) for both layouts and are packed
 * once when constant. f64 runs on the plain loops of convolution_tmpl.h. */
#include "ops/convolution.h"
#include "ops/conv_method.h"
#include "ops/fused_activation.h"
#include "ops/narrow.h"
#include "ops/ops.h"
#include "ops/planes.h"
#include "ops/window.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define CONV_ATTRS(X, S)                                                                 \
    X(S, STRING, auto_pad, "NOTSET")                                                     \
    X(S, INTS, dilations, )                                                              \
    X(S, INT, group, 1)                                                                  \
    X(S, INTS, kernel_shape, )                                                           \
    X(S, INTS, pads, )                                                                   \
    X(S, INTS, strides, )
#define FUSED_CONV_ATTRS(X, S)                                                           \
    CONV_ATTRS(X, S)                                                                     \
    X(S, INT, fast, 0)                                                                   \
    X(S, STRING, layout, "NCHW")                                                         \
    X(S, FLOAT, lo, -INFINITY)                                                           \
    X(S, FLOAT, hi, INFINITY)                                                            \
    X(S, STRING, activation, "")                                                         \
    X(S, FLOATS, params, )
/* clang-format on */
TN_ATTR_TABLE(conv, CONV_ATTRS)
TN_ATTR_TABLE(fused_conv, FUSED_CONV_ATTRS)

/* ---- inference -------------------------------------------------------------------------- */

/* Output shape of a convolution; channels stand at axis 1 or last. */
tn_status tn__conv_infer(const struct tn_infer *infer, uint32_t x_input, uint32_t w_input,
    int32_t dtype, int64_t group, bool nhwc) {
    const struct tn_type *x = tn_infer_input(infer, x_input);
    const struct tn_type *w = tn_infer_input(infer, w_input);
    if (!dtype) return TN_OK;
    int32_t rank = x && x->rank >= 0 ? x->rank : w && w->rank >= 0 ? w->rank : -1;
    if (rank < 0) return tn_infer_set(infer, 0, dtype, -1, NULL);
    if (rank < 3 || rank > 2 + TN_CONV_MAX_AXES || (w && w->rank >= 0 && w->rank != rank))
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "input and weights have ranks %d and %d, expected the same from 3 to %d",
            rank, w ? w->rank : -1, 2 + TN_CONV_MAX_AXES);
    uint32_t axes = (uint32_t)rank - 2, first = nhwc ? 1 : 2;
    int64_t dims[2 + TN_CONV_MAX_AXES];
    for (int32_t i = 0; i < rank; i++)
        dims[i] = TN_DIM_UNKNOWN;
    uint32_t channel = nhwc ? (uint32_t)rank - 1 : 1;
    bool shaped = x && x->rank >= 0, weighted = w && w->rank >= 0;
    if (shaped) dims[0] = x->dims[0];
    if (weighted) dims[channel] = w->dims[0];
    if (weighted && w->dims[1] > 0 && group > INT64_MAX / w->dims[1])
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "attribute 'group' is %lld, more than the weights can have",
            (long long)group);
    if (shaped && weighted && x->dims[channel] >= 0 && w->dims[1] >= 0 &&
        (group < 1 || x->dims[channel] != w->dims[1] * group))
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "input has %lld channels, expected %lld: the weights take %lld for each of "
            "%lld groups",
            (long long)x->dims[channel], (long long)(w->dims[1] * group),
            (long long)w->dims[1], (long long)group);
    const int64_t *kernel = weighted ? w->dims + 2 : NULL;
    bool known = weighted;
    for (uint32_t i = 0; weighted && i < axes; i++)
        known &= kernel[i] >= 0;
    if (tn_node_attr(infer->node, "kernel_shape")) {
        kernel = NULL;
        known = true;
    }
    if (!shaped || !known) return tn_infer_set(infer, 0, dtype, rank, dims);
    struct tn_window window;
    TN_TRY(tn__window_parse(&window, infer->node, axes, kernel, infer->diag));
    for (uint32_t i = 0; i < axes; i++)
        TN_TRY(tn__window_infer(infer, &window, i, x->dims[first + i], &dims[first + i]));
    return tn_infer_set(infer, 0, dtype, rank, dims);
}

/* Element type of a float convolution: that of either operand. */
static int32_t float_type(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0), *w = tn_infer_input(infer, 1);
    return x ? x->dtype : w ? w->dtype : TN_UNDEFINED;
}

static tn_status infer_conv(const struct tn_infer *infer) {
    struct conv_attrs attrs;
    TN_TRY(TN_ATTRS_READ(conv, infer->node, &attrs, infer->diag));
    return tn__conv_infer(infer, 0, 1, float_type(infer), attrs.group, false);
}

static tn_status infer_fused_conv(const struct tn_infer *infer) {
    struct fused_conv_attrs attrs;
    TN_TRY(TN_ATTRS_READ(fused_conv, infer->node, &attrs, infer->diag));
    return tn__conv_infer(
        infer, 0, 1, float_type(infer), attrs.group, tn_string_is(attrs.layout, "NHWC"));
}

/* ---- kernel ------------------------------------------------------------------------------ */

struct conv {
    struct tn__kernel base;
    const struct tn_node *node;
    int64_t group;
    bool nhwc, fast;
    float lo, hi;
    struct tn__activation activation;
    int64_t in[TN_CONV_MAX_AXES]; /* spatial sizes as far as the model says, else < 0 */
    const struct tn__conv_method *method;
    const float *packed; /* weights; NULL: they are dynamic */
};

/* Sizes of one call, and where things lie in the workspace (0 bytes: not needed). */
struct plan {
    struct tn_conv conv;
    const struct tn__conv_method *method;
    struct tn__conv_pieces pieces;
    size_t in_plane, out_plane; /* pixels of one image */
    uint64_t at_input, at_output, at_residual, at_weights, at_scratch;
};

static void store_sizes(struct conv *conv, const struct tn_type *x, uint32_t first) {
    for (uint32_t i = 0; i < TN_CONV_MAX_AXES; i++)
        conv->in[i] = (int32_t)i + 2 < x->rank ? x->dims[first + i] : -1;
}

static tn_status create_conv(const struct tn_kernel_ctx *ctx, void **out) {
    struct conv_attrs attrs;
    TN_TRY(TN_ATTRS_READ(conv, ctx->node, &attrs, ctx->diag));
    if (attrs.group < 1)
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'group' is %lld, expected 1 or more", (long long)attrs.group);
    TN_TRY(tn__kernel_create(ctx, sizeof(struct conv), out));
    struct conv *conv = *out;
    conv->node = ctx->node;
    conv->group = attrs.group;
    conv->lo = -INFINITY;
    conv->hi = INFINITY;
    store_sizes(conv, &ctx->inputs[0], 2);
    return TN_OK;
}

static tn_status create_fused_conv(const struct tn_kernel_ctx *ctx, void **out) {
    struct fused_conv_attrs attrs;
    struct tn__activation activation;
    TN_TRY(TN_ATTRS_READ(fused_conv, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__activation_find(
        ctx->plugin_state, attrs.activation, attrs.params, &activation, ctx->diag));
    TN_TRY(create_conv(ctx, out));
    struct conv *conv = *out;
    conv->nhwc = tn_string_is(attrs.layout, "NHWC");
    conv->fast = attrs.fast != 0;
    store_sizes(conv, &ctx->inputs[0], conv->nhwc ? 1 : 2);
    conv->lo = attrs.lo;
    conv->hi = attrs.hi;
    conv->activation = activation;
    return TN_OK;
}

/* The weights' part of a convolution: all that packing looks at. */
static tn_status weight_shape(struct tn_conv *c, const struct conv *conv,
    const struct tn_tensor *w, struct tn_diag *diag) {
    if (w->rank < 3 || w->rank > 2 + TN_CONV_MAX_AXES || w->dims[0] % conv->group != 0 ||
        conv->group > (w->dims[0] ? w->dims[0] : 1))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "weights of rank %u with %lld filters do not fit %lld groups", w->rank,
            (long long)(w->rank ? w->dims[0] : 0), (long long)conv->group);
    memset(c, 0, sizeof *c);
    c->axes = w->rank - 2;
    c->groups = (size_t)conv->group;
    c->out_channels = (size_t)w->dims[0];
    c->in_channels = (size_t)(w->dims[1] * conv->group);
    for (size_t i = 0; i < c->axes; i++) {
        c->axis[i] = (struct tn_conv_axis){1, 1, (size_t)w->dims[2 + i], 1, 1, 0};
        if (w->dims[2 + i] < 1)
            return tn_fail(diag, TN_INVALID_ARGUMENT, "weights have an empty kernel");
    }
    return TN_OK;
}

/* The spatial part, for these input sizes. */
static tn_status spatial_shape(struct tn_conv *c, const struct conv *conv,
    const int64_t *in, const struct tn_tensor *w, struct tn_diag *diag) {
    struct tn_window window;
    struct tn_window_geometry g;
    TN_TRY(tn__window_parse(&window, conv->node, w->rank - 2, w->dims + 2, diag));
    TN_TRY(tn__window_geometry(&window, in, &g, diag));
    for (size_t i = 0; i < c->axes; i++) {
        if (window.kernel[i] != w->dims[2 + i])
            return tn_fail(diag, TN_INVALID_MODEL,
                "attribute 'kernel_shape' is %lld on axis %zu, the weights have %lld",
                (long long)window.kernel[i], i, (long long)w->dims[2 + i]);
        c->axis[i] = (struct tn_conv_axis){(size_t)g.in[i], (size_t)g.out[i],
            (size_t)window.kernel[i], (size_t)window.stride[i],
            (size_t)window.dilation[i], (size_t)g.pad[i]};
    }
    c->in_pixel = c->in_channels;
    c->out_pixel = c->residual_pixel = c->out_channels;
    c->lo = conv->lo;
    c->hi = conv->hi;
    if (conv->activation.fn) {
        c->post = tn__activation_post;
        c->post_arg = &conv->activation;
    }
    return TN_OK;
}

static tn_status prepack_conv(void *kernel, uint32_t input, const struct tn_tensor *w,
    const struct tn_prepack *sink, uint32_t *result, struct tn_diag *diag) {
    struct conv *conv = kernel;
    const struct tn__cpu *cpu = conv->base.cpu;
    struct tn_conv c;
    if (input != 1 || tn_tensor_count(w) == 0) return TN_OK;
    TN_TRY(weight_shape(&c, conv, w, diag));
    /* Unknown sizes: the method must not depend on them. */
    int64_t in[TN_CONV_MAX_AXES];
    bool sized = true;
    for (size_t i = 0; i < c.axes; i++)
        sized = sized && conv->in[i] >= 0;
    for (size_t i = 0; i < c.axes; i++)
        in[i] = sized ? conv->in[i] : INT32_MAX;
    c.batch = 1;
    TN_TRY(spatial_shape(&c, conv, in, w, diag));
    const struct tn__conv_method *method = tn__conv_choose(cpu, &c, conv->fast, sized);
    size_t floats = method->packed_size(cpu, &c);
    if (floats > SIZE_MAX / sizeof(float))
        return tn_fail(diag, TN_OUT_OF_MEMORY, "packed weights do not fit the memory");
    char layout[64];
    snprintf(layout, sizeof layout, "conv_f32 %s g%zu nr%zu isa%d", method->name,
        c.groups, cpu->gemm.nr, (int)cpu->isa);
    void *buffer = NULL;
    int32_t filled = 0;
    TN_TRY(
        sink->buffer(sink->self, layout, floats * sizeof(float), &buffer, &filled, diag));
    if (!filled) tn__conv_pack(cpu, method, &c, buffer, w->data);
    conv->method = method;
    conv->packed = buffer;
    *result = TN_PREPACK_DROP;
    return TN_OK;
}

/* What is added to the output has its shape. */
static tn_status check_residual(const struct tn_run_args *args, struct tn_diag *diag) {
    const struct tn_tensor *z = tn_in(args, 3), *y = args->outputs[0].as.tensor;
    if (!z || tn_dims_equal(z->dims, z->rank, y->dims, y->rank)) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT, "the residual has not the output's shape");
}

/* Fills the sizes of this call. */
static tn_status plan_sizes(struct plan *plan, const struct conv *conv,
    const struct tn_run_args *args, struct tn_diag *diag) {
    const struct tn_tensor *x = args->inputs[0].as.tensor, *w = args->inputs[1].as.tensor;
    struct tn_conv *c = &plan->conv;
    TN_TRY(weight_shape(c, conv, w, diag));
    uint32_t first = conv->nhwc ? 1 : 2, channel = conv->nhwc ? x->rank - 1 : 1;
    if (x->rank != w->rank || x->dims[channel] != (int64_t)c->in_channels)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "input of rank %u with %lld channels does not fit weights of rank %u for %zu "
            "channels",
            x->rank, (long long)(x->rank > 2 ? x->dims[channel] : 0), w->rank,
            c->in_channels);
    TN_TRY(tn__bias_check(args, 2, c->out_channels, diag));
    TN_TRY(check_residual(args, diag));
    c->batch = (size_t)x->dims[0];
    TN_TRY(spatial_shape(c, conv, x->dims + first, w, diag));
    plan->in_plane = plan->out_plane = 1;
    for (size_t i = 0; i < c->axes; i++) {
        plan->in_plane *= c->axis[i].in;
        plan->out_plane *= c->axis[i].out;
    }
    plan->method =
        conv->packed ? conv->method : tn__conv_choose(conv->base.cpu, c, false, true);
    return TN_OK;
}

static uint64_t reserve(uint64_t *used, size_t floats) {
    uint64_t at = *used;
    *used += (floats * sizeof(float) + 63) / 64 * 64;
    return at;
}

/* Lays out the workspace; returns its size. */
static uint64_t plan_scratch(
    struct plan *plan, const struct conv *conv, const struct tn_run_args *args) {
    const struct tn_conv *c = &plan->conv;
    uint64_t used = 0;
    if (!conv->nhwc) {
        plan->at_input = reserve(&used, c->batch * plan->in_plane * c->in_channels);
        plan->at_output = reserve(&used, c->batch * plan->out_plane * c->out_channels);
        if (tn_in(args, 3))
            plan->at_residual =
                reserve(&used, c->batch * plan->out_plane * c->out_channels);
    }
    const struct tn__cpu *cpu = conv->base.cpu;
    tn__conv_cut(cpu, plan->method, c, &plan->pieces);
    if (!conv->packed)
        plan->at_weights = reserve(&used, plan->method->packed_size(cpu, c));
    if (plan->pieces.scratch)
        plan->at_scratch = reserve(
            &used, plan->pieces.scratch * cpu->host->worker_count(cpu->host->self));
    return used;
}

static tn_status workspace_conv(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    struct plan plan;
    memset(&plan, 0, sizeof plan);
    TN_TRY(plan_sizes(&plan, kernel, args, NULL));
    out->scratch = plan_scratch(&plan, kernel, args);
    out->state = sizeof plan;
    return TN_OK;
}

/* Packs dynamic weights; puts bias and weights in their places. */
static void bind_weights(
    const struct conv *conv, struct tn_conv *c, const struct tn_run_args *args) {
    const struct plan *plan = args->state;
    const struct tn_tensor *bias = tn_in(args, 2);
    c->bias = bias ? bias->data : NULL;
    c->weights = conv->packed;
    if (conv->packed) return;
    float *packed = (float *)((char *)args->workspace + plan->at_weights);
    tn__conv_pack(
        conv->base.cpu, plan->method, c, packed, args->inputs[1].as.tensor->data);
    c->weights = packed;
}

static tn_status compute_nhwc(void *kernel, const struct tn_run_args *args) {
    const struct conv *conv = kernel;
    const struct plan *plan = args->state;
    const struct tn_tensor *residual = tn_in(args, 3);
    struct tn_conv c = plan->conv;
    bind_weights(conv, &c, args);
    c.input = args->inputs[0].as.tensor->data;
    c.output = args->outputs[0].as.tensor->data;
    c.residual = residual ? residual->data : NULL;
    return tn__conv_run(conv->base.cpu, plan->method, &c, &plan->pieces,
        (float *)((char *)args->workspace + plan->at_scratch), args->run);
}

static tn_status compute_nchw(void *kernel, const struct tn_run_args *args) {
    const struct conv *conv = kernel;
    const struct plan *plan = args->state;
    const struct tn_tensor *residual = tn_in(args, 3);
    const struct tn__cpu *cpu = conv->base.cpu;
    char *scratch = args->workspace;
    struct tn_conv c = plan->conv;
    bind_weights(conv, &c, args);
    c.input = tn__planes_inward(cpu, (float *)(scratch + plan->at_input),
        args->inputs[0].as.tensor->data, c.batch, c.in_channels, plan->in_plane);
    if (residual)
        c.residual = tn__planes_inward(cpu, (float *)(scratch + plan->at_residual),
            residual->data, c.batch, c.out_channels, plan->out_plane);
    float *y = args->outputs[0].as.tensor->data;
    bool flat = c.out_channels == 1 || plan->out_plane == 1;
    c.output = flat ? y : (float *)(scratch + plan->at_output);
    TN_TRY(tn__conv_run(cpu, plan->method, &c, &plan->pieces,
        (float *)(scratch + plan->at_scratch), args->run));
    if (!flat)
        tn__planes_outward(cpu, y, c.output, c.batch, c.out_channels, plan->out_plane);
    return TN_OK;
}

static tn_status prepare_conv(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct conv *conv = kernel;
    struct plan *plan = args->state;
    TN_TRY(plan_sizes(plan, conv, args, diag));
    plan_scratch(plan, conv, args);
    if (conv->nhwc) *fn = compute_nhwc;
    return TN_OK;
}

static void cost_conv(void *kernel, const struct tn_run_args *args, struct tn_cost *out) {
    const struct tn_tensor *x = args->inputs[0].as.tensor, *w = args->inputs[1].as.tensor;
    const struct tn_tensor *y = args->outputs[0].as.tensor;
    double filter = w->dims[0] ? (double)tn_tensor_count(w) / (double)w->dims[0] : 0;
    (void)kernel;
    out->flops = 2 * filter * (double)tn_tensor_count(y);
    out->bytes = 4 * ((double)tn_tensor_count(x) + (double)tn_tensor_count(w) +
                         (double)tn_tensor_count(y));
}

/* ---- other element types ----------------------------------------------------------------- */

#define T double
#define NAME(x) x##_f64
#include "ops/convolution_tmpl.h"

static tn_status workspace_plain(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    (void)args;
    out->state = sizeof(struct plan);
    return TN_OK;
}

static tn_status prepare_plain(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    (void)fn;
    return plan_sizes(args->state, kernel, args, diag);
}

struct job_f64 {
    const struct plan *plan;
    const struct tn_run_args *args;
};

static void run_f64(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job_f64 *job = arg;
    const struct tn_tensor *bias = tn_in(job->args, 2);
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        plane_f64(&job->plan->conv, job->args->outputs[0].as.tensor->data,
            job->args->inputs[0].as.tensor->data, job->args->inputs[1].as.tensor->data,
            bias ? bias->data : NULL, (size_t)i);
}

static tn_status compute_f64(void *kernel, const struct tn_run_args *args) {
    const struct conv *conv = kernel;
    const struct plan *plan = args->state;
    struct job_f64 job = {plan, args};
    int64_t planes = (int64_t)(plan->conv.batch * plan->conv.out_channels);
    if (plan->out_plane == 0) return TN_OK;
    conv->base.host->parallel_for(conv->base.host->self, planes, 1, run_f64, &job);
    return TN_OK;
}

/* ---- tables ------------------------------------------------------------------------------ */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Conv"), TN_VERSIONS({1}, {11}, {22}),
        TN_INPUTS({"X", "T"}, {"W", "T"}, {"B", "T", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_TYPES_FLOATS}),
        TN_ATTRS(conv), .infer = infer_conv},
    {TN_PRIVATE_DEF("Conv"), TN_VERSIONS({1}),
        TN_INPUTS({"X", "T"}, {"W", "T"}, {"B", "T", 0, TN_FORMAL_OPTIONAL},
            {"Z", "T", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_BIT(FLOAT)}),
        TN_ATTRS(fused_conv), .infer = infer_fused_conv,
        .doc = "activation(clamp(Conv(X, W, B) + Z)), layout NCHW or NHWC"},
};

#define CONV_SLOTS .prepack = prepack_conv, .workspace = workspace_conv, \
    .prepare = prepare_conv, .compute = compute_nchw, .cost = cost_conv
TN_NARROW(conv, .create = create_conv, CONV_SLOTS)

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Conv", 22), TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)}),
        .create = create_conv, CONV_SLOTS},
    {TN_KERNEL("", "Conv", 22), TN_KERNEL_TYPES({"T", TN_BIT(DOUBLE)}),
        .create = create_conv, .workspace = workspace_plain, .prepare = prepare_plain,
        .compute = compute_f64, .cost = cost_conv},
    {TN_NARROW_KERNEL("", "Conv", 22, conv), TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})},
    {TN_KERNEL("tenon.cpu", "Conv", 1), .create = create_fused_conv, CONV_SLOTS},
};
/* clang-format on */

TN_FAMILY(conv);
