/* Resize and Upsample.
 *
 * Every axis is resampled on its own: an output position is a weighted sum of neighbours
 * (one with weight 1 for nearest), whose table is made once for a call. Nearest moves
 * elements of any type; linear and cubic work in f64. */
#include "ops/ops.h"

#include "ops/resize_table.h"
#include "tenon/helper/parallel.h"

#include <math.h>

/* clang-format off */
#define RESIZE_ATTRS(X, S)                                                               \
    X(S, INT, antialias, 0)                                                              \
    X(S, INTS, axes, )                                                                   \
    X(S, STRING, coordinate_transformation_mode, "half_pixel")                           \
    X(S, FLOAT, cubic_coeff_a, -0.75f)                                                   \
    X(S, INT, exclude_outside, 0)                                                        \
    X(S, FLOAT, extrapolation_value, 0.0f)                                               \
    X(S, STRING, keep_aspect_ratio_policy, "stretch")                                    \
    X(S, STRING, mode, "nearest")                                                        \
    X(S, STRING, nearest_mode, "round_prefer_floor")
#define UPSAMPLE_ATTRS(X, S) X(S, STRING, mode, "nearest")
/* clang-format on */
TN_ATTR_TABLE(resize, RESIZE_ATTRS)
TN_ATTR_TABLE(upsample, UPSAMPLE_ATTRS)

struct resize {
    struct tn__kernel base;
    struct tn__resize_rule rule;
    uint32_t scales_at; /* input that holds scales */
    bool crop;
    enum { STRETCH, NOT_LARGER, NOT_SMALLER } policy;
    struct tn_attr_ints axes;
    double extrapolation;
};

static tn_status find_text(
    struct tn_string text, const char *const *names, int *out, struct tn_diag *diag) {
    for (int i = 0; names[i]; i++) {
        if (!tn_string_is(text, names[i])) continue;
        *out = i;
        return TN_OK;
    }
    return tn_fail(diag, TN_INVALID_MODEL, "'%.*s' is not a known mode of resizing",
        (int)(text.size < 60 ? text.size : 60), text.data);
}

/* What the attributes of either operator say. */
static tn_status read_rule(
    const struct tn_node *node, struct resize *r, struct tn_diag *diag) {
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear", NULL};
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    struct resize_attrs attrs;
    int mode = 0, policy = 0, coordinates = 0, nearest = 0;
    TN_TRY(TN_ATTRS_READ(resize, node, &attrs, diag));
    TN_TRY(find_text(attrs.mode, modes, &mode, diag));
    TN_TRY(find_text(attrs.keep_aspect_ratio_policy, policies, &policy, diag));
    TN_TRY(find_text(attrs.coordinate_transformation_mode, tn__resize_coordinates,
        &coordinates, diag));
    TN_TRY(find_text(attrs.nearest_mode, tn__resize_nearest, &nearest, diag));
    r->rule.mode = mode == 3 ? 1 : mode;
    r->rule.coordinates = coordinates;
    r->rule.nearest = nearest;
    r->rule.cubic = (double)attrs.cubic_coeff_a;
    r->rule.antialias = attrs.antialias != 0;
    r->rule.exclude_outside = attrs.exclude_outside != 0;
    r->policy = policy;
    r->axes = attrs.axes;
    r->extrapolation = (double)attrs.extrapolation_value;
    r->crop = coordinates == TN__RESIZE_CROP;
    r->scales_at = 2;
    if (strcmp(node->op_type, "Upsample") == 0) {
        r->scales_at = 1;
        r->rule.coordinates = TN__RESIZE_ASYMMETRIC;
        r->rule.nearest = TN__RESIZE_FLOOR;
    }
    return TN_OK;
}

/* ---- sizes ------------------------------------------------------------------------------- */

/* Axis that entry i of scales or sizes speaks of. */
static tn_status axis_of(const struct resize *r, uint32_t i, uint32_t rank, uint32_t *out,
    struct tn_diag *diag) {
    *out = i;
    return r->axes.present ? tn_axis_fix(r->axes.v[i], rank, out, diag) : TN_OK;
}

/* One axis of a call: in → out with this scale, cropped to [start, end]. */
struct axis {
    int64_t in, out;
    double scale, start, end;
};

static tn_status use_scales(const struct resize *r, struct axis *axes, uint32_t rank,
    const struct tn_tensor *scales, struct tn_diag *diag) {
    int64_t n = tn_tensor_count(scales);
    if (n != (r->axes.present ? (int64_t)r->axes.n : (int64_t)rank))
        return tn_fail(diag, TN_INVALID_ARGUMENT, "scales has %lld elements for %u axes",
            (long long)n, rank);
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
        uint32_t at = 0;
        TN_TRY(axis_of(r, i, rank, &at, diag));
        double scale = (double)((const float *)scales->data)[i];
        double out = floor(scale * (double)axes[at].in);
        if (!(scale > 0) || !(out < 9e15))
            return tn_fail(
                diag, TN_INVALID_ARGUMENT, "scale %g is not a positive number", scale);
        axes[at].scale = scale;
        axes[at].out = (int64_t)out;
    }
    return TN_OK;
}

static tn_status use_sizes(const struct resize *r, struct axis *axes, uint32_t rank,
    const int64_t *sizes, uint32_t n, struct tn_diag *diag) {
    double common = r->policy == NOT_LARGER ? INFINITY : 0;
    if (n != (r->axes.present ? r->axes.n : rank))
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "sizes has %u elements for %u axes", n, rank);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = 0;
        TN_TRY(axis_of(r, i, rank, &at, diag));
        if (sizes[i] < 0)
            return tn_fail(
                diag, TN_INVALID_ARGUMENT, "size %lld is negative", (long long)sizes[i]);
        axes[at].out = sizes[i];
        axes[at].scale = axes[at].in > 0 ? (double)sizes[i] / (double)axes[at].in : 1;
        common = r->policy == NOT_LARGER ? fmin(common, axes[at].scale)
                                         : fmax(common, axes[at].scale);
    }
    for (uint32_t i = 0; i < n && r->policy != STRETCH; i++) {
        uint32_t at = 0;
        TN_TRY(axis_of(r, i, rank, &at, diag));
        axes[at].scale = common;
        axes[at].out = (int64_t)floor(common * (double)axes[at].in + 0.5);
    }
    return TN_OK;
}

static tn_status infer_resize(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct resize r = {0};
    struct axis axes[TN_RANK_MAX] = {0};
    int64_t dims[TN_RANK_MAX];
    uint32_t n_sizes = 0;
    if (!x) return TN_OK;
    TN_TRY(read_rule(infer->node, &r, infer->diag));
    if (x->rank < 0) return tn_infer_set(infer, 0, x->dtype, -1, NULL);
    TN_TRY(tn_rank_check(x->rank, infer->diag));
    uint32_t rank = (uint32_t)x->rank;
    bool known = true;
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = TN_DIM_UNKNOWN;
        axes[i] = (struct axis){x->dims[i], x->dims[i], 1, 0, 1};
    }
    const struct tn_tensor *scales = tn_infer_has(infer->node, r.scales_at)
                                         ? infer->value(infer->self, r.scales_at)
                                         : NULL;
    const int64_t *sizes = r.scales_at == 2 ? tn_infer_ints(infer, 3, &n_sizes) : NULL;
    for (uint32_t i = 0; i < n_sizes; i++)
        known = known && sizes[i] >= 0;
    for (uint32_t i = 0; i < rank; i++)
        known = known && (x->dims[i] >= 0 || (n_sizes && r.policy == STRETCH));
    if (scales && tn_tensor_count(scales) > 0 && scales->dtype == TN_FLOAT) {
        /* A symbol times a whole scale is known; other products are not. */
        struct axis unit[TN_RANK_MAX];
        for (uint32_t i = 0; i < rank; i++)
            unit[i] = (struct axis){x->dims[i] < 0 ? 1 : x->dims[i], 0, 1, 0, 1};
        for (uint32_t i = 0; i < rank; i++)
            unit[i].out = unit[i].in;
        TN_TRY(use_scales(&r, unit, rank, scales, infer->diag));
        for (uint32_t i = 0; i < rank; i++) {
            bool whole = unit[i].scale == floor(unit[i].scale);
            if (x->dims[i] >= 0)
                dims[i] = unit[i].out;
            else if (whole)
                dims[i] = infer->dim_op(
                    infer->self, TN_DIM_MUL, x->dims[i], (int64_t)unit[i].scale);
        }
    } else if (n_sizes > 0 && known) {
        TN_TRY(use_sizes(&r, axes, rank, sizes, n_sizes, infer->diag));
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = axes[i].out;
    }
    return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
}

/* ---- kernel ------------------------------------------------------------------------------ */

static tn_status create_resize(const struct tn_kernel_ctx *ctx, void **out) {
    struct resize r = {0};
    TN_TRY(read_rule(ctx->node, &r, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct resize), out));
    r.base = *(struct tn__kernel *)*out;
    *(struct resize *)*out = r;
    return TN_OK;
}

static double roi_number(const struct tn_tensor *roi, int64_t i) {
    float wide = 0;
    if (!roi || i >= tn_tensor_count(roi)) return 0;
    if (roi->dtype == TN_DOUBLE) return ((const double *)roi->data)[i];
    if (roi->dtype == TN_FLOAT) return (double)((const float *)roi->data)[i];
    return (double)wide;
}

static tn_status plan_axes(
    const struct resize *r, const struct tn_run_args *args, struct axis *axes) {
    struct tn_diag *diag = args->run->diag;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    const struct tn_tensor *scales = tn_in(args, r->scales_at);
    const struct tn_tensor *sizes = r->scales_at == 2 ? tn_in(args, 3) : NULL;
    const struct tn_tensor *roi = r->crop ? tn_in(args, 1) : NULL;
    int64_t wanted[TN_RANK_MAX];
    for (uint32_t i = 0; i < x->rank; i++)
        axes[i] = (struct axis){x->dims[i], x->dims[i], 1, 0, 1};
    if (sizes && tn_tensor_count(sizes) > 0) {
        int64_t n = tn_tensor_count(sizes);
        if (n > TN_RANK_MAX)
            return tn_fail(
                diag, TN_INVALID_ARGUMENT, "sizes has %lld elements", (long long)n);
        for (int64_t i = 0; i < n; i++)
            wanted[i] = tn_tensor_int(sizes, i);
        TN_TRY(use_sizes(r, axes, x->rank, wanted, (uint32_t)n, diag));
    } else if (scales && scales->dtype == TN_FLOAT) {
        TN_TRY(use_scales(r, axes, x->rank, scales, diag));
    } else {
        return tn_fail(diag, TN_INVALID_MODEL, "neither scales nor sizes are given");
    }
    uint32_t n = r->axes.present ? r->axes.n : x->rank;
    for (uint32_t i = 0; roi && i < n; i++) {
        uint32_t at = 0;
        TN_TRY(axis_of(r, i, x->rank, &at, diag));
        axes[at].start = roi_number(roi, i);
        axes[at].end = roi_number(roi, n + i);
    }
    return TN_OK;
}

/* One axis over all others: the tensor as (outer, in, inner). */
struct pass {
    const struct tn__resize_table *table;
    const void *src;
    void *dst;
    size_t in, out, inner, elem;
    double outside; /* what positions outside a crop give */
};

/* Lines [begin, end) of outer × out: whole elements. */
static void move_lines(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct pass *pass = arg;
    size_t bytes = pass->inner * pass->elem;
    (void)worker;
    for (size_t line = (size_t)begin; line < (size_t)end; line++) {
        size_t outer = line / pass->out, o = line % pass->out;
        size_t from = outer * pass->in + pass->table->index[o * pass->table->taps];
        memcpy((char *)pass->dst + line * bytes, (const char *)pass->src + from * bytes,
            bytes);
    }
}

static void mix_lines(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct pass *pass = arg;
    const struct tn__resize_table *t = pass->table;
    (void)worker;
    for (size_t line = (size_t)begin; line < (size_t)end; line++) {
        size_t outer = line / pass->out, o = line % pass->out;
        double *y = (double *)pass->dst + line * pass->inner;
        for (size_t i = 0; i < pass->inner; i++)
            y[i] = t->outside[o] ? pass->outside : 0;
        for (size_t k = 0; k < t->taps && !t->outside[o]; k++) {
            double w = t->weight[o * t->taps + k];
            const double *x =
                (const double *)pass->src +
                (outer * pass->in + t->index[o * t->taps + k]) * pass->inner;
            if (w == 0) continue;
            for (size_t i = 0; i < pass->inner; i++)
                y[i] += w * x[i];
        }
    }
}

/* Resamples axis after axis, the last first; the memory of each result is asked of the run. */
static tn_status run_axes(const struct resize *r, const struct tn_run_args *args,
    const struct axis *axes, const void *src, void *dst, size_t elem, bool move) {
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    int64_t dims[TN_RANK_MAX], left = 0;
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t i = 0; i < x->rank; i++)
        left += axes[i].in != axes[i].out || axes[i].scale != 1 || r->crop;
    if (left == 0) memcpy(dst, src, (size_t)tn_tensor_count(x) * elem);
    for (uint32_t i = x->rank; i-- > 0;) {
        struct tn__resize_table table;
        if (axes[i].in == axes[i].out && axes[i].scale == 1 && !r->crop) continue;
        TN_TRY(tn__resize_table_make(&table, args->run, &r->rule, (size_t)axes[i].in,
            (size_t)axes[i].out, axes[i].scale, axes[i].start, axes[i].end));
        dims[i] = axes[i].out;
        size_t outer = (size_t)tn_dims_product(dims, 0, i);
        struct pass pass = {&table, src, dst, (size_t)axes[i].in, (size_t)axes[i].out,
            (size_t)tn_dims_product(dims, i + 1, x->rank), elem, r->extrapolation};
        if (--left > 0) {
            uint64_t bytes = (uint64_t)outer * pass.out * pass.inner * elem;
            pass.dst = args->run->alloc(args->run, bytes, 64);
            if (!pass.dst)
                return tn_fail(
                    args->run->diag, TN_OUT_OF_MEMORY, "no memory for an axis");
        }
        tn_parallel(r->base.host, (int64_t)(outer * pass.out),
            (double)pass.inner * (move ? 0.3 : (double)table.taps) + 5,
            move ? move_lines : mix_lines, &pass);
        src = pass.dst;
    }
    return TN_OK;
}

static tn_status compute_resize(void *kernel, const struct tn_run_args *args) {
    const struct resize *r = kernel;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    struct axis axes[TN_RANK_MAX];
    int64_t dims[TN_RANK_MAX], n_out = 0;
    struct tn_tensor *y = NULL;
    TN_TRY(tn_rank_check(x->rank, args->run->diag));
    TN_TRY(plan_axes(r, args, axes));
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = axes[i].out;
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, x->rank, &y));
    int64_t n_in = tn_tensor_count(x);
    if (!tn_shape_count(dims, x->rank, &n_out) || n_out == 0) return TN_OK;
    if (n_in == 0)
        return tn_fail(
            args->run->diag, TN_INVALID_ARGUMENT, "an empty tensor cannot grow");
    size_t elem = tn_dtype_bits(x->dtype) / 8;
    if (r->rule.mode == 0 && !r->crop)
        return run_axes(r, args, axes, x->data, y->data, elem, true);
    const struct tn_convert_kernels *convert = &r->base.cpu->convert;
    if (!tn_convert_exists(convert, TN_DOUBLE, x->dtype))
        return tn_fail(args->run->diag, TN_UNSUPPORTED,
            "elements of type %s cannot be mixed", tn_dtype_name(x->dtype));
    double *memory =
        args->run->alloc(args->run, (uint64_t)(n_in + n_out) * sizeof(double), 64);
    if (!memory)
        return tn_fail(args->run->diag, TN_OUT_OF_MEMORY, "no memory for numbers");
    tn_convert_run(convert, TN_DOUBLE, memory, x->dtype, x->data, (size_t)n_in, NULL);
    TN_TRY(run_axes(r, args, axes, memory, memory + n_in, sizeof(double), false));
    tn_convert_run(
        convert, x->dtype, y->data, TN_DOUBLE, memory + n_in, (size_t)n_out, NULL);
    return TN_OK;
}

/* ---- upgrades ---------------------------------------------------------------------------- */

static tn_status set_text(
    const struct tn_rewrite *rw, const char *name, const char *text) {
    struct tn_string string = {text, strlen(text)};
    struct tn_attr attr = {name, TN_ATTR_STRING, 1, {.strings = &string}, NULL};
    return rw->api->set_attr(rw->graph, rw->node, &attr, rw->diag);
}

/* Version 10 had scales at input 1 and one way to place pixels. */
static tn_status upgrade_resize_11(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    if (!tn_infer_has(node, 1))
        return tn_fail(rw->diag, TN_INVALID_MODEL, "required input 'scales' is missing");
    tn_value_id scales = node->inputs[1];
    TN_TRY(rw->api->set_input(rw->graph, rw->node, 2, scales, rw->diag));
    TN_TRY(rw->api->set_input(rw->graph, rw->node, 1, TN_NO_ID, rw->diag));
    TN_TRY(set_text(rw, "coordinate_transformation_mode", "asymmetric"));
    return set_text(rw, "nearest_mode", "floor");
}

/* Scales were an attribute; before version 7 two numbers. */
static tn_status upgrade_upsample_9(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    const struct tn_attr *list = tn_node_attr(node, "scales");
    const struct tn_attr *height = tn_node_attr(node, "height_scale");
    const struct tn_attr *width = tn_node_attr(node, "width_scale");
    if (!list && !(height && width))
        return tn_fail(
            rw->diag, TN_INVALID_MODEL, "required attribute 'scales' is missing");
    if ((list && list->type != TN_ATTR_FLOATS) ||
        (height && height->type != TN_ATTR_FLOAT) ||
        (width && width->type != TN_ATTR_FLOAT))
        return tn_fail(rw->diag, TN_INVALID_MODEL, "the scales are no floats");
    float pair[4] = {
        1, 1, height ? height->as.floats[0] : 1, width ? width->as.floats[0] : 1};
    int64_t n = list ? list->count : 4;
    tn_value_id value;
    void *data;
    TN_TRY(rw->api->add_constant(
        rw->graph, "scales", TN_FLOAT, &n, 1, &value, &data, rw->diag));
    if (n > 0) memcpy(data, list ? list->as.floats : pair, (size_t)n * sizeof(float));
    TN_TRY(rw->api->set_input(rw->graph, rw->node, 1, value, rw->diag));
    (void)rw->api->remove_attr(rw->graph, rw->node, "scales");
    (void)rw->api->remove_attr(rw->graph, rw->node, "height_scale");
    (void)rw->api->remove_attr(rw->graph, rw->node, "width_scale");
    return TN_OK;
}

/* clang-format off */
#define OPTIONAL TN_FORMAL_OPTIONAL
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Resize"), TN_VERSIONS({10}, {11, 0, upgrade_resize_11}, {13}, {18}, {19}),
        TN_INPUTS({"X", "T1"}, {"roi", "T2", 0, OPTIONAL},
            {"scales", NULL, TN_BIT(FLOAT), OPTIONAL}, {"sizes", NULL, TN_BIT(INT64), OPTIONAL}),
        TN_OUTPUTS({"Y", "T1"}),
        TN_TYPE_VARS({"T1", TN_TYPES_CLASSIC}, {"T2", TN_TYPES_F16_UP}),
        TN_ATTRS(resize), .infer = infer_resize},
    {TN_DEF("", "Upsample"), TN_VERSIONS({1}, {7}, {9, 0, upgrade_upsample_9}),
        TN_INPUTS({"X", "T"}, {"scales", NULL, TN_BIT(FLOAT)}), TN_OUTPUTS({"Y", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), TN_ATTRS(upsample), .infer = infer_resize},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Resize", 19), .create = create_resize, .compute = compute_resize},
    {TN_KERNEL("", "Upsample", 9), .create = create_resize, .compute = compute_resize},
};
/* clang-format on */

TN_FAMILY(resize);
