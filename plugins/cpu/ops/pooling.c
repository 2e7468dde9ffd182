/* MaxPool, AveragePool, LpPool and their global forms; in the domain tenon.cpu the same over
 * NHWC.
 *
 * A tensor is taken as (outer, pixels, inner): NCHW has outer = N·C and inner 1, NHWC has
 * outer = N and inner = C. So one loop serves both layouts. */
#include "ops/narrow.h"
#include "ops/ops.h"
#include "ops/window.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define WINDOW_ATTRS(X, S)                                                               \
    X(S, STRING, auto_pad, "NOTSET")                                                     \
    X(S, INT, ceil_mode, 0)                                                              \
    X(S, INTS, dilations, )                                                              \
    X(S, INTS_REQUIRED, kernel_shape, )                                                  \
    X(S, INTS, pads, )                                                                   \
    X(S, INTS, strides, )
#define MAX_POOL_ATTRS(X, S) WINDOW_ATTRS(X, S) X(S, INT, storage_order, 0)
#define AVERAGE_POOL_ATTRS(X, S) WINDOW_ATTRS(X, S) X(S, INT, count_include_pad, 0)
#define LP_POOL_ATTRS(X, S) WINDOW_ATTRS(X, S) X(S, INT, p, 2)
#define GLOBAL_LP_ATTRS(X, S) X(S, INT, p, 2)
/* What the kernel reads of all of them. */
#define POOL_ATTRS(X, S)                                                                 \
    X(S, INT, storage_order, 0)                                                          \
    X(S, INT, count_include_pad, 0)                                                      \
    X(S, INT, p, 2)
/* clang-format on */
TN_ATTR_TABLE(max_pool, MAX_POOL_ATTRS)
TN_ATTR_TABLE(average_pool, AVERAGE_POOL_ATTRS)
TN_ATTR_TABLE(lp_pool, LP_POOL_ATTRS)
TN_ATTR_TABLE(global_lp, GLOBAL_LP_ATTRS)
TN_ATTR_TABLE(pool, POOL_ATTRS)

enum kind { POOL_MAX, POOL_AVERAGE, POOL_LP };

struct row {
    const char *op_type;
    enum kind kind;
    bool global;
};

static const struct row rows[] = {
    {"MaxPool", POOL_MAX, false},
    {"AveragePool", POOL_AVERAGE, false},
    {"LpPool", POOL_LP, false},
    {"GlobalMaxPool", POOL_MAX, true},
    {"GlobalAveragePool", POOL_AVERAGE, true},
    {"GlobalLpPool", POOL_LP, true},
};

static const struct row *find_row(const struct tn_node *node) {
    for (size_t i = 0; i + 1 < TN_COUNT(rows); i++)
        if (strcmp(rows[i].op_type, node->op_type) == 0) return &rows[i];
    return &rows[TN_COUNT(rows) - 1];
}

static bool is_nhwc(const struct tn_node *node) {
    return node->domain[0] != 0;
}

/* ---- inference -------------------------------------------------------------------------- */

static tn_status infer_pool(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    int64_t dims[2 + TN_WINDOW_RANK];
    if (!x) return TN_OK;
    if (x->rank < 0) {
        TN_TRY(tn_infer_set(infer, 1, TN_INT64, -1, NULL));
        return tn_infer_set(infer, 0, x->dtype, -1, NULL);
    }
    if (x->rank < 3 || x->rank > 2 + TN_WINDOW_RANK)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "input has rank %d, expected 3 to %d", x->rank, 2 + TN_WINDOW_RANK);
    const struct row *row = find_row(infer->node);
    uint32_t axes = (uint32_t)x->rank - 2, first = is_nhwc(infer->node) ? 1 : 2;
    struct tn_window window;
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    if (!row->global)
        TN_TRY(tn__window_parse(&window, infer->node, axes, NULL, infer->diag));
    for (uint32_t i = first; i < first + axes; i++) {
        if (row->global)
            dims[i] = 1;
        else
            TN_TRY(tn__window_infer(infer, &window, i - first, x->dims[i], &dims[i]));
    }
    TN_TRY(tn_infer_set(infer, 1, TN_INT64, x->rank, dims));
    return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
}

/* ---- kernel ------------------------------------------------------------------------------ */

struct pool {
    struct tn__kernel base;
    const struct tn_node *node;
    const struct row *row;
    bool nhwc, include_pad, column_major;
    int64_t p;
};

struct axis {
    int64_t in, out, kernel, stride, dilation, pad, pad_end;
};

/* One call; what the loops read. */
struct plan {
    enum kind kind;
    const struct tn_pool_kernels
        *pixels; /* f32 with channels to fill vectors, else NULL */
    bool include_pad;
    uint32_t axes;
    struct axis axis[TN_WINDOW_RANK];
    int64_t index_step[TN_WINDOW_RANK]; /* of a position in the Indices output */
    size_t outer, inner, in_plane, out_plane;
    int64_t p;
    int64_t grain;
};

/* Valid taps of one output position, and the position of tap 0. */
struct taps {
    int64_t lo[TN_WINDOW_RANK], hi[TN_WINDOW_RANK], origin[TN_WINDOW_RANK];
    int64_t counted; /* taps an average divides by */
};

static int64_t ceil_div(int64_t a, int64_t b) {
    return a <= 0 ? 0 : (a + b - 1) / b;
}

static void find_taps(const struct plan *plan, size_t position, struct taps *taps) {
    taps->counted = 1;
    for (uint32_t i = plan->axes; i-- > 0;) {
        const struct axis *axis = &plan->axis[i];
        int64_t o = (int64_t)(position % (size_t)axis->out);
        position /= (size_t)axis->out;
        int64_t origin = o * axis->stride - axis->pad;
        int64_t lo = ceil_div(-origin, axis->dilation);
        int64_t hi = ceil_div(axis->in - origin, axis->dilation);
        int64_t end = ceil_div(axis->in + axis->pad_end - origin, axis->dilation);
        if (hi > axis->kernel) hi = axis->kernel;
        if (end > axis->kernel) end = axis->kernel;
        if (lo > hi) lo = hi;
        taps->lo[i] = lo;
        taps->hi[i] = hi;
        taps->origin[i] = origin;
        taps->counted *= plan->include_pad ? end : hi - lo;
    }
}

/* Steps `at` through the outer axes of the box; the offset in pixels of the row it stands on,
 * -1 at the end. */
static int64_t next_row(
    const struct plan *plan, const struct taps *taps, int64_t *at, bool first) {
    uint32_t last = plan->axes - 1;
    if (first) {
        for (uint32_t i = 0; i < plan->axes; i++) {
            if (taps->lo[i] >= taps->hi[i]) return -1;
            at[i] = taps->lo[i];
        }
    } else {
        uint32_t i = last;
        while (i > 0 && ++at[i - 1] == taps->hi[i - 1]) {
            at[i - 1] = taps->lo[i - 1];
            i--;
        }
        if (i == 0) return -1;
    }
    int64_t offset = 0;
    for (uint32_t i = 0; i < last; i++)
        offset = (offset + taps->origin[i] + at[i] * plan->axis[i].dilation) *
                 plan->axis[i + 1].in;
    return offset;
}

enum {
    RUN = 256,        /* channels that are pooled together */
    PIXEL_MIN = 8,    /* channels that are worth a vector */
    PIXEL_TAPS = 256, /* pixels of a window that the kernels take at once */
};

#define IS_NAN(x) ((x) != (x))
#define T float
#define ACC double
#define LOWEST (-INFINITY)
#define NAME(x) x##_f32
#include "ops/pooling_max_tmpl.h"
#include "ops/pooling_mean_tmpl.h"
#undef T
#undef ACC
#undef LOWEST
#undef NAME

#define T double
#define ACC double
#define LOWEST (-(double)INFINITY)
#define NAME(x) x##_f64
#include "ops/pooling_max_tmpl.h"
#include "ops/pooling_mean_tmpl.h"
#undef T
#undef ACC
#undef LOWEST
#undef NAME

#undef IS_NAN
#define IS_NAN(x) 0
#define T int8_t
#define LOWEST INT8_MIN
#define NAME(x) x##_i8
#include "ops/pooling_max_tmpl.h"
#undef T
#undef LOWEST
#undef NAME

#define T uint8_t
#define LOWEST 0
#define NAME(x) x##_u8
#include "ops/pooling_max_tmpl.h"
#undef T
#undef LOWEST
#undef NAME

/* Pools output positions of one outer item into y (and indices, may be NULL). */
typedef void pool_fn(const struct plan *plan, const void *x, void *y, int64_t *indices,
    int64_t index_base, size_t position, size_t inner0, size_t inner1);

static const struct {
    int32_t dtype;
    pool_fn *fn[3]; /* by enum kind */
} types[] = {
    {TN_FLOAT, {max_f32, mean_f32, lp_f32}},
    {TN_DOUBLE, {max_f64, mean_f64, lp_f64}},
    {TN_INT8, {max_i8}},
    {TN_UINT8, {max_u8}},
};

static tn_status create_pool(const struct tn_kernel_ctx *ctx, void **out) {
    struct pool_attrs attrs;
    TN_TRY(TN_ATTRS_READ(pool, ctx->node, &attrs, ctx->diag));
    if (attrs.p < 1)
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'p' is %lld, expected 1 or more", (long long)attrs.p);
    TN_TRY(tn__kernel_create(ctx, sizeof(struct pool), out));
    struct pool *pool = *out;
    pool->node = ctx->node;
    pool->row = find_row(ctx->node);
    pool->nhwc = is_nhwc(ctx->node);
    pool->include_pad = attrs.count_include_pad != 0;
    pool->column_major = attrs.storage_order != 0;
    pool->p = attrs.p;
    return TN_OK;
}

static tn_status workspace_pool(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    (void)args;
    out->state = sizeof(struct plan);
    return TN_OK;
}

static tn_status plan_axes(
    struct plan *plan, const struct pool *pool, const int64_t *in, struct tn_diag *diag) {
    struct tn_window window;
    struct tn_window_geometry geometry;
    if (!pool->row->global) {
        TN_TRY(tn__window_parse(&window, pool->node, plan->axes, NULL, diag));
        TN_TRY(tn__window_geometry(&window, in, &geometry, diag));
    }
    plan->in_plane = plan->out_plane = 1;
    for (uint32_t i = 0; i < plan->axes; i++) {
        struct axis *axis = &plan->axis[i];
        *axis = (struct axis){in[i], 1, in[i], 1, 1, 0, 0};
        if (!pool->row->global)
            *axis =
                (struct axis){in[i], geometry.out[i], window.kernel[i], window.stride[i],
                    window.dilation[i], geometry.pad[i], geometry.pad_end[i]};
        plan->in_plane *= (size_t)axis->in;
        plan->out_plane *= (size_t)axis->out;
    }
    int64_t step = 1;
    for (uint32_t i = 0; i < plan->axes; i++) {
        uint32_t at = pool->column_major ? i : plan->axes - 1 - i;
        plan->index_step[at] = step;
        step *= plan->axis[at].in;
    }
    return TN_OK;
}

static tn_status prepare_pool(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct pool *pool = kernel;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    struct plan *plan = args->state;
    (void)fn;
    if (x->rank < 3 || x->rank > 2 + TN_WINDOW_RANK)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "input has rank %u, expected 3 to %d",
            x->rank, 2 + TN_WINDOW_RANK);
    plan->kind = pool->row->kind;
    plan->include_pad = pool->include_pad;
    plan->p = pool->p;
    plan->axes = x->rank - 2;
    TN_TRY(plan_axes(plan, pool, x->dims + (pool->nhwc ? 1 : 2), diag));
    int64_t channels = x->dims[pool->nhwc ? x->rank - 1 : 1];
    plan->outer = (size_t)(pool->nhwc ? x->dims[0] : x->dims[0] * channels);
    plan->inner = (size_t)(pool->nhwc ? channels : 1);
    double each = 1;
    for (uint32_t i = 0; i < plan->axes; i++)
        each *= (double)plan->axis[i].kernel;
    each = pool->nhwc ? each * (double)plan->inner / 4 : each;
    bool wide = x->dtype == TN_FLOAT && plan->inner >= PIXEL_MIN && plan->kind != POOL_LP;
    plan->pixels = wide ? &pool->base.cpu->pool : NULL;
    plan->grain = each < 32768 ? (int64_t)(32768 / (each + 1)) + 1 : 1;
    return TN_OK;
}

struct job {
    const struct plan *plan;
    const struct tn_run_args *args;
    pool_fn *fn;
    size_t elem;
    const struct tn_pool_kernels *kernels;
};

/* One output pixel with all its channels; false when the window is too large for it. */
static bool run_pixel(
    const struct plan *plan, const float *x, float *y, size_t position) {
    const float *pixels[PIXEL_TAPS];
    uint32_t last = plan->axes - 1;
    struct taps taps;
    int64_t at[TN_WINDOW_RANK];
    size_t n = 0, count = 1;
    find_taps(plan, position, &taps);
    for (uint32_t i = 0; i < plan->axes; i++) {
        size_t length = (size_t)(taps.hi[i] - taps.lo[i]);
        if (length > PIXEL_TAPS || (count *= length) > PIXEL_TAPS) return false;
    }
    for (int64_t row = next_row(plan, &taps, at, true); row >= 0;
         row = next_row(plan, &taps, at, false)) {
        for (int64_t t = taps.lo[last]; t < taps.hi[last]; t++) {
            int64_t column = taps.origin[last] + t * plan->axis[last].dilation;
            pixels[n++] = x + (size_t)(row + column) * plan->inner;
        }
    }
    if (plan->kind == POOL_MAX)
        plan->pixels->max(y, pixels, n, plan->inner);
    else
        plan->pixels->mean(y, pixels, n, plan->inner, (double)taps.counted);
    return true;
}

/* Output positions [begin, end) over all outer items. */
static void run(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct plan *plan = job->plan;
    const struct tn_tensor *indices = tn_out(job->args, 1);
    const char *x = job->args->inputs[0].as.tensor->data;
    char *y = job->args->outputs[0].as.tensor->data;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        size_t outer = (size_t)i / plan->out_plane,
               position = (size_t)i % plan->out_plane;
        const char *from = x + outer * plan->in_plane * plan->inner * job->elem;
        char *to = y + (size_t)i * plan->inner * job->elem;
        int64_t *index =
            indices ? (int64_t *)indices->data + (size_t)i * plan->inner : NULL;
        int64_t base = (int64_t)(outer * plan->in_plane);
        if (plan->pixels && !index &&
            run_pixel(plan, (const float *)from, (float *)to, position))
            continue;
        for (size_t c = 0; c < plan->inner; c += RUN)
            job->fn(plan, from, to, index, base, position, c,
                c + RUN < plan->inner ? c + RUN : plan->inner);
    }
}

enum { MOST_TAPS = 1024 }; /* whose addresses are listed */

/* Pixels with their channels together, through the kernels. */
static void run_pixels(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct plan *plan = job->plan;
    const float *x = job->args->inputs[0].as.tensor->data;
    float *y = job->args->outputs[0].as.tensor->data;
    const float *list[MOST_TAPS];
    uint32_t last = plan->axes - 1;
    (void)worker;
    for (size_t i = (size_t)begin; i < (size_t)end; i++) {
        const float *image = x + i / plan->out_plane * plan->in_plane * plan->inner;
        int64_t at[TN_WINDOW_RANK];
        struct taps taps;
        size_t n = 0;
        find_taps(plan, i % plan->out_plane, &taps);
        for (int64_t row = next_row(plan, &taps, at, true); row >= 0;
             row = next_row(plan, &taps, at, false))
            for (int64_t t = taps.lo[last]; t < taps.hi[last]; t++)
                list[n++] = image + (size_t)(row + taps.origin[last] +
                                             t * plan->axis[last].dilation) *
                                        plan->inner;
        if (plan->kind == POOL_MAX)
            job->kernels->max(y + i * plan->inner, list, n, plan->inner);
        else
            job->kernels->mean(
                y + i * plan->inner, list, n, plan->inner, (double)taps.counted);
    }
}

/* Whether the kernels can do this call. */
static bool fits_kernels(const struct plan *plan, int32_t dtype) {
    double taps = 1;
    for (uint32_t i = 0; i < plan->axes; i++)
        taps *= (double)plan->axis[i].kernel;
    return dtype == TN_FLOAT && plan->inner > 1 && plan->kind != POOL_LP &&
           taps <= MOST_TAPS;
}

static tn_status compute_pool(void *kernel, const struct tn_run_args *args) {
    const struct pool *pool = kernel;
    const struct plan *plan = args->state;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    struct job job = {
        plan, args, NULL, tn_dtype_bits(x->dtype) / 8, &pool->base.cpu->pool};
    for (size_t i = 0; i < TN_COUNT(types); i++)
        if (types[i].dtype == x->dtype) job.fn = types[i].fn[plan->kind];
    int64_t n = (int64_t)(plan->outer * plan->out_plane);
    tn_parallel_fn body = fits_kernels(plan, x->dtype) ? run_pixels : run;
    if (n <= plan->grain)
        body(&job, 0, n, 0);
    else
        pool->base.host->parallel_for(pool->base.host->self, n, plan->grain, body, &job);
    return TN_OK;
}

/* ---- upgrades: p was a float in the first versions ---------------------------------------- */

static tn_status upgrade_lp_2(const struct tn_rewrite *rw) {
    const struct tn_attr *p = tn_node_attr(rw->api->node(rw->graph, rw->node), "p");
    if (!p || p->type != TN_ATTR_FLOAT) return TN_OK;
    int64_t whole = (int64_t)p->as.floats[0];
    if ((float)whole != p->as.floats[0])
        return tn_fail(rw->diag, TN_UNSUPPORTED,
            "attribute 'p' is %g, expected a whole number", (double)p->as.floats[0]);
    struct tn_attr attr = {"p", TN_ATTR_INT, 1, {.ints = &whole}, NULL};
    return rw->api->set_attr(rw->graph, rw->node, &attr, rw->diag);
}

/* ---- tables ------------------------------------------------------------------------------ */

/* clang-format off */
#define X_TO_Y(types) TN_INPUTS({"X", "T"}), TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", types})
#define MAX_TYPES (TN_TYPES_FLOATS | TN_BIT(INT8) | TN_BIT(UINT8))
static const struct tn_op_def defs[] = {
    {TN_DEF("", "MaxPool"), TN_VERSIONS({1}, {8}, {10}, {11}, {12}, {22}),
        TN_INPUTS({"X", "T"}),
        TN_OUTPUTS({"Y", "T"}, {"Indices", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL}),
        TN_TYPE_VARS({"T", MAX_TYPES}), TN_ATTRS(max_pool), .infer = infer_pool},
    {TN_DEF("", "AveragePool"), TN_VERSIONS({1}, {7}, {10}, {11}, {19}, {22}),
        X_TO_Y(TN_TYPES_FLOATS), TN_ATTRS(average_pool), .infer = infer_pool},
    {TN_DEF("", "LpPool"), TN_VERSIONS({1}, {2, 0, upgrade_lp_2}, {11}, {18}, {22}),
        X_TO_Y(TN_TYPES_FLOATS), TN_ATTRS(lp_pool), .infer = infer_pool},
    {TN_DEF("", "GlobalMaxPool"), TN_VERSIONS({1}, {22}), X_TO_Y(TN_TYPES_FLOATS),
        .infer = infer_pool},
    {TN_DEF("", "GlobalAveragePool"), TN_VERSIONS({1}, {22}), X_TO_Y(TN_TYPES_FLOATS),
        .infer = infer_pool},
    {TN_DEF("", "GlobalLpPool"), TN_VERSIONS({1}, {2, 0, upgrade_lp_2}, {22}),
        X_TO_Y(TN_TYPES_FLOATS), TN_ATTRS(global_lp), .infer = infer_pool},
    {TN_PRIVATE_DEF("MaxPool"), TN_VERSIONS({1}), X_TO_Y(TN_BIT(FLOAT)),
        TN_ATTRS(max_pool), .infer = infer_pool, .doc = "MaxPool over NHWC"},
    {TN_PRIVATE_DEF("AveragePool"), TN_VERSIONS({1}), X_TO_Y(TN_BIT(FLOAT)),
        TN_ATTRS(average_pool), .infer = infer_pool, .doc = "AveragePool over NHWC"},
    {TN_PRIVATE_DEF("GlobalMaxPool"), TN_VERSIONS({1}), X_TO_Y(TN_BIT(FLOAT)),
        .infer = infer_pool, .doc = "GlobalMaxPool over NHWC"},
    {TN_PRIVATE_DEF("GlobalAveragePool"), TN_VERSIONS({1}), X_TO_Y(TN_BIT(FLOAT)),
        .infer = infer_pool, .doc = "GlobalAveragePool over NHWC"},
};

#define POOL_SLOTS .create = create_pool, .workspace = workspace_pool, \
    .prepare = prepare_pool, .compute = compute_pool
#define WIDE TN_KERNEL_TYPES({"T", TN_BIT(FLOAT) | TN_BIT(DOUBLE)})
#define NARROW TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})
TN_NARROW(pool, POOL_SLOTS)

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "MaxPool", 22),
        TN_KERNEL_TYPES({"T", TN_BIT(FLOAT) | TN_BIT(DOUBLE) | TN_BIT(INT8) | TN_BIT(UINT8)}),
        POOL_SLOTS},
    {TN_KERNEL("", "AveragePool", 22), WIDE, POOL_SLOTS},
    {TN_KERNEL("", "LpPool", 22), WIDE, POOL_SLOTS},
    {TN_KERNEL("", "GlobalMaxPool", 22), WIDE, POOL_SLOTS},
    {TN_KERNEL("", "GlobalAveragePool", 22), WIDE, POOL_SLOTS},
    {TN_KERNEL("", "GlobalLpPool", 22), WIDE, POOL_SLOTS},
    {TN_NARROW_KERNEL("", "MaxPool", 22, pool), NARROW},
    {TN_NARROW_KERNEL("", "AveragePool", 22, pool), NARROW},
    {TN_NARROW_KERNEL("", "LpPool", 22, pool), NARROW},
    {TN_NARROW_KERNEL("", "GlobalMaxPool", 22, pool), NARROW},
    {TN_NARROW_KERNEL("", "GlobalAveragePool", 22, pool), NARROW},
    {TN_NARROW_KERNEL("", "GlobalLpPool", 22, pool), NARROW},
    {TN_KERNEL("tenon.cpu", "MaxPool", 1), POOL_SLOTS},
    {TN_KERNEL("tenon.cpu", "AveragePool", 1), POOL_SLOTS},
    {TN_KERNEL("tenon.cpu", "GlobalMaxPool", 1), POOL_SLOTS},
    {TN_KERNEL("tenon.cpu", "GlobalAveragePool", 1), POOL_SLOTS},
};
/* clang-format on */

TN_FAMILY(pool);
