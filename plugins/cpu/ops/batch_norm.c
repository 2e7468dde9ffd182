/* BatchNormalization and LpNormalization: statistics across rows, over a tensor taken as
 * (outer, channel, inner). */
#include "ops/narrow.h"
#include "ops/ops.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define BATCH_ATTRS(X, S)                                                                \
    X(S, FLOAT, epsilon, 1e-5f)                                                          \
    X(S, FLOAT, momentum, 0.9f)                                                          \
    X(S, INT, training_mode, 0)
#define MEAN_VARIANCE_ATTRS(X, S) X(S, INTS, axes, )
#define LP_ATTRS(X, S) X(S, INT, axis, -1) X(S, INT, p, 2)
/* clang-format on */
TN_ATTR_TABLE(batch, BATCH_ATTRS)
TN_ATTR_TABLE(lp, LP_ATTRS)
TN_ATTR_TABLE(mean_variance, MEAN_VARIANCE_ATTRS)

static tn_status infer_same(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

static tn_status infer_batch(const struct tn_infer *infer) {
    for (uint32_t o = 1; o < infer->node->n_outputs; o++)
        TN_TRY(tn_infer_like(infer, o, o + 2));
    return tn_infer_like(infer, 0, 0);
}

struct view {
    size_t outer, channels, inner;
};

struct batch_norm {
    struct tn__kernel base;
    double epsilon, momentum;
    bool training;
};

static tn_status create_batch(const struct tn_kernel_ctx *ctx, void **out) {
    struct batch_attrs attrs;
    TN_TRY(TN_ATTRS_READ(batch, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct batch_norm), out));
    struct batch_norm *norm = *out;
    norm->epsilon = (double)attrs.epsilon;
    norm->momentum = (double)attrs.momentum;
    norm->training = attrs.training_mode != 0;
    return TN_OK;
}

static struct view batch_view(const struct tn_tensor *x) {
    struct view v = {1, 1, 1};
    if (x->rank > 0) v.outer = (size_t)x->dims[0];
    if (x->rank > 1) v.channels = (size_t)x->dims[1];
    if (x->rank > 2) v.inner = (size_t)tn_dims_product(x->dims, 2, x->rank);
    return v;
}

/* Two factors a channel: a·x + b. */
static tn_status workspace_batch(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    out->scratch = 2 * sizeof(double) * batch_view(args->inputs[0].as.tensor).channels;
    return TN_OK;
}

static tn_status prepare_batch(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    static const char *const names[] = {"X", "scale", "B", "mean", "var"};
    int64_t channels = (int64_t)batch_view(args->inputs[0].as.tensor).channels;
    (void)kernel;
    (void)fn;
    for (uint32_t i = 1; i < 5; i++) {
        int64_t n = tn_tensor_count(args->inputs[i].as.tensor);
        if (n != channels)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "input '%s' has %lld elements, expected %lld: one for each channel",
                names[i], (long long)n, (long long)channels);
    }
    return TN_OK;
}

/* Element i of a float tensor of any width. */
static double element(const struct tn_tensor *t, size_t i) {
    if (t->dtype == TN_DOUBLE) return ((const double *)t->data)[i];
    if (t->dtype == TN_FLOAT) return (double)((const float *)t->data)[i];
    float wide;
    tn__widen(&wide, (const uint16_t *)t->data + i, t->dtype, 1);
    return (double)wide;
}

static void set_element(struct tn_tensor *t, size_t i, double x) {
    float narrow = (float)x;
    if (t->dtype == TN_DOUBLE)
        ((double *)t->data)[i] = x;
    else if (t->dtype == TN_FLOAT)
        ((float *)t->data)[i] = narrow;
    else
        tn__round((uint16_t *)t->data + i, &narrow, t->dtype, 1);
}

/* The factors of each channel from given statistics. */
static void batch_factors(const struct batch_norm *norm, const struct tn_run_args *args,
    size_t channel, double mean, double var, double *factors) {
    double a = element(args->inputs[1].as.tensor, channel) / sqrt(var + norm->epsilon);
    factors[2 * channel] = a;
    factors[2 * channel + 1] = element(args->inputs[2].as.tensor, channel) - mean * a;
}

static void update_running(const struct batch_norm *norm, const struct tn_run_args *args,
    uint32_t o, size_t channel, double batch) {
    struct tn_tensor *out = tn_out(args, o);
    if (!out) return;
    double running = element(args->inputs[o + 2].as.tensor, channel);
    set_element(out, channel, running * norm->momentum + batch * (1 - norm->momentum));
}

/* Outside of training the running statistics come out as they went in. */
static void keep_running(const struct tn_run_args *args, size_t channel) {
    for (uint32_t o = 1; o <= 2; o++) {
        struct tn_tensor *out = tn_out(args, o);
        if (out)
            set_element(out, channel, element(args->inputs[o + 2].as.tensor, channel));
    }
}

struct lp_norm {
    struct tn__kernel base;
    int64_t axis, p;
};

static tn_status create_lp(const struct tn_kernel_ctx *ctx, void **out) {
    struct lp_attrs attrs;
    TN_TRY(TN_ATTRS_READ(lp, ctx->node, &attrs, ctx->diag));
    if (attrs.p != 1 && attrs.p != 2)
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'p' is %lld, expected 1 or 2", (long long)attrs.p);
    TN_TRY(tn__kernel_create(ctx, sizeof(struct lp_norm), out));
    struct lp_norm *norm = *out;
    norm->axis = attrs.axis;
    norm->p = attrs.p;
    return TN_OK;
}

struct wide_job {
    const struct tn__cpu *cpu;
    const struct tn_run_args *args;
    struct view view;
    double *factors;
};

#define T float
#define PLANE(job, y, x, n, a, b) (job)->cpu->norm.affine_scalar(y, x, n, a, b)
#define NAME(x) x##_f32
#include "ops/batch_norm_tmpl.h"
#define T double
#define PLANE(job, y, x, n, a, b)                                                        \
    for (size_t i = 0; i < (n); i++)                                                     \
    (y)[i] = (x)[i] * (a) + (b)
#define NAME(x) x##_f64
#include "ops/batch_norm_tmpl.h"

/* ---- upgrades ---------------------------------------------------------------------------- */

/* is_test said which of two modes a node was in; so does the number of its outputs. */
static tn_status upgrade_batch_7(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    TN_TRY(tn__upgrade_drop_consumed(rw));
    return tn_node_attr(node, "is_test")
               ? rw->api->remove_attr(rw->graph, rw->node, "is_test")
               : TN_OK;
}

static tn_status upgrade_batch_9(const struct tn_rewrite *rw) {
    const struct tn_attr *spatial =
        tn_node_attr(rw->api->node(rw->graph, rw->node), "spatial");
    if (!spatial) return TN_OK;
    if (spatial->type != TN_ATTR_INT || spatial->as.ints[0] == 0)
        return tn_fail(rw->diag, TN_UNSUPPORTED,
            "BatchNormalization with spatial = 0 has statistics for each element; only "
            "statistics for each channel are supported");
    return rw->api->remove_attr(rw->graph, rw->node, "spatial");
}

/* Training was told by the optional outputs; saved_mean and saved_var are gone. */
static tn_status upgrade_batch_14(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    int64_t training = 0;
    for (uint32_t o = 1; o < node->n_outputs; o++) {
        if (node->outputs[o] == TN_NO_ID) continue;
        training = 1;
        const tn_node_id *readers;
        uint32_t n;
        rw->api->consumers(rw->graph, node->outputs[o], &readers, &n);
        if (o > 2 && (n > 0 || rw->api->is_visible(rw->graph, node->outputs[o])))
            return tn_fail(rw->diag, TN_UNSUPPORTED,
                "output %u (a saved statistic of training) is used; it is not computed",
                o);
    }
    if (!training) return TN_OK;
    struct tn_attr attr = {"training_mode", TN_ATTR_INT, 1, {.ints = &training}, NULL};
    return rw->api->set_attr(rw->graph, rw->node, &attr, rw->diag);
}

/* ---- tables ------------------------------------------------------------------------------ */

/* clang-format off */
/* Distances from the mean before they are squared: E(x²) - E(x)² would cancel. */
static const char mean_variance_text[] =
    TN_BODY "f <axes: ints = [0, 2, 3]> (X) => (Y) {\nk = Constant <value_ints: ints = @axes> ()\n"
    "wide = Constant <value: tensor = float {1e-9}> ()\neps = CastLike (wide, X)\n"
    "mean = ReduceMean (X, k)\nd = Sub (X, mean)\nsquare = Mul (d, d)\n"
    "variance = ReduceMean (square, k)\ndeviation = Sqrt (variance)\n"
    "divisor = Add (deviation, eps)\nY = Div (d, divisor)\n}";

#define OPTIONAL 0, TN_FORMAL_OPTIONAL
static const struct tn_op_def defs[] = {
    {TN_DEF("", "BatchNormalization"),
        TN_VERSIONS({1}, {6, 0, tn__upgrade_drop_consumed}, {7, 0, upgrade_batch_7},
            {9, 0, upgrade_batch_9}, {14, 0, upgrade_batch_14}, {15}),
        TN_INPUTS({"X", "T"}, {"scale", "T1"}, {"B", "T1"}, {"input_mean", "T2"},
            {"input_var", "T2"}),
        TN_OUTPUTS({"Y", "T"}, {"running_mean", "T2", OPTIONAL}, {"running_var", "T2", OPTIONAL}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}, {"T1", TN_TYPES_FLOATS}, {"T2", TN_TYPES_FLOATS}),
        TN_ATTRS(batch), .infer = infer_batch},
    {TN_DEF("", "MeanVarianceNormalization"), TN_VERSIONS({9}, {13}),
        TN_INPUTS({"X", "T"}), TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_TYPES_FLOATS}),
        TN_ATTRS(mean_variance), .infer = infer_same, .expansion = mean_variance_text},
    {TN_DEF("", "LpNormalization"), TN_VERSIONS({1}, {22}),
        TN_INPUTS({"input", "T"}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}), TN_ATTRS(lp), .infer = infer_same},
};

#define BATCH(type) .create = create_batch, .workspace = workspace_batch, \
    .prepare = prepare_batch, .compute = batch_##type
#define LP(type) .create = create_lp, .compute = lp_##type
#define F32 TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)})
#define F64 TN_KERNEL_TYPES({"T", TN_BIT(DOUBLE)})
#define NARROW TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})
TN_NARROW(batch, BATCH(f32))
TN_NARROW(lp, LP(f32))


static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "BatchNormalization", 15), F32, BATCH(f32)},
    {TN_KERNEL("", "BatchNormalization", 15), F64, BATCH(f64)},
    {TN_NARROW_KERNEL("", "BatchNormalization", 15, batch), NARROW},
    {TN_KERNEL("", "LpNormalization", 22), F32, LP(f32)},
    {TN_KERNEL("", "LpNormalization", 22), F64, LP(f64)},
    {TN_NARROW_KERNEL("", "LpNormalization", 22, lp), NARROW},
};
/* clang-format on */

TN_FAMILY(batch_norm);
