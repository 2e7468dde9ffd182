/* GridSample: values of a map at the places that a grid names, in any number of dimensions.
 *
 * Every coordinate gives up to four taps along its axis; a point's taps are their products.
 * Points are taken in groups whose taps are made once and used for all channels. Nearest
 * moves elements of any type, linear and cubic add up in f64. A coordinate that is no finite
 * number lies outside: zeros gives 0, border the nearer edge (NaN: the first element),
 * reflection the first element. */
#include "ops/doubles.h"
#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define GRID_ATTRS(X, S)                                                                 \
    X(S, INT, align_corners, 0)                                                          \
    X(S, STRING, mode, "linear")                                                         \
    X(S, STRING, padding_mode, "zeros")
/* clang-format on */
TN_ATTR_TABLE(grid, GRID_ATTRS)

enum {
    AXES_MAX = 6,    /* spatial dimensions: a cubic point has 4^6 taps then */
    TAPS_MAX = 4096, /* of a group of points */
    GROUP_MAX = 64   /* points */
};
enum mode { NEAREST, LINEAR, CUBIC };
enum padding { ZEROS, BORDER, REFLECTION };

struct rule {
    enum mode mode;
    enum padding padding;
    bool align;
    bool single; /* coordinates are computed in f32, as the grid's own type is no wider */
};

struct grid_sample {
    struct tn__kernel base;
    struct rule rule;
};

static tn_status find_name(struct tn_string text, const char *attr,
    const char *const *names, int *out, struct tn_diag *diag) {
    for (int i = 0; i < 3; i++) {
        if (!tn_string_is(text, names[i])) continue;
        *out = i;
        return TN_OK;
    }
    return tn_fail(diag, TN_INVALID_MODEL,
        "attribute '%s' is '%.*s', expected %s, %s or %s", attr,
        (int)(text.size < 40 ? text.size : 40), text.data, names[0], names[1], names[2]);
}

static tn_status read_rule(
    const struct tn_node *node, struct rule *rule, struct tn_diag *diag) {
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    struct grid_attrs attrs;
    int mode = 0, padding = 0;
    TN_TRY(TN_ATTRS_READ(grid, node, &attrs, diag));
    TN_TRY(find_name(attrs.mode, "mode", modes, &mode, diag));
    TN_TRY(find_name(attrs.padding_mode, "padding_mode", paddings, &padding, diag));
    *rule = (struct rule){
        (enum mode)mode, (enum padding)padding, attrs.align_corners != 0, false};
    return TN_OK;
}

static tn_status check_ranks(int64_t x, int64_t grid, struct tn_diag *diag) {
    if (x == grid && x >= 3 && x <= 2 + AXES_MAX) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "X has rank %lld and the grid %lld, expected the same of 3 to %d", (long long)x,
        (long long)grid, 2 + AXES_MAX);
}

static tn_status infer_grid_sample(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0), *grid = tn_infer_input(infer, 1);
    struct rule rule;
    int64_t dims[2 + AXES_MAX];
    TN_TRY(read_rule(infer->node, &rule, infer->diag));
    if (!x) return TN_OK;
    if (x->rank < 0 || !grid || grid->rank < 0)
        return tn_infer_set(infer, 0, x->dtype, -1, NULL);
    TN_TRY(check_ranks(x->rank, grid->rank, infer->diag));
    int64_t depth = grid->dims[grid->rank - 1];
    if (depth >= 0 && depth != x->rank - 2)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "the grid has %lld coordinates a point for %d spatial dimensions",
            (long long)depth, (int)x->rank - 2);
    dims[0] = x->dims[0] >= 0 ? x->dims[0] : grid->dims[0];
    dims[1] = x->dims[1];
    for (int32_t i = 2; i < x->rank; i++)
        dims[i] = grid->dims[i - 1];
    return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
}

static tn_status create_grid_sample(const struct tn_kernel_ctx *ctx, void **out) {
    struct rule rule;
    TN_TRY(read_rule(ctx->node, &rule, ctx->diag));
    rule.single = ctx->inputs[1].dtype != TN_DOUBLE;
    if (rule.mode != NEAREST && ctx->inputs[0].dtype == TN_STRING)
        return tn_fail(
            ctx->diag, TN_UNSUPPORTED, "strings cannot be mixed: mode must be nearest");
    TN_TRY(tn__kernel_create(ctx, sizeof(struct grid_sample), out));
    ((struct grid_sample *)*out)->rule = rule;
    return TN_OK;
}

/* ---- taps -------------------------------------------------------------------------------- */

struct tap {
    size_t at;
    double weight;
};

struct group {
    size_t n, most; /* points; room for taps of each */
    size_t count[GROUP_MAX];
    struct tap *taps; /* [n, most] */
};

/* The coordinate in pixels that a number of [-1, 1] names. */
static double denormalize(const struct rule *rule, double n, int64_t size) {
    if (rule->single) {
        float f = (float)n, length = (float)size;
        return (double)(rule->align ? (f + 1.0f) / 2.0f * (length - 1.0f)
                                    : ((f + 1.0f) * length - 1.0f) / 2.0f);
    }
    return rule->align ? (n + 1) / 2 * (double)(size - 1)
                       : ((n + 1) * (double)size - 1) / 2;
}

/* Folds x back between the borders. */
static double reflect(const struct rule *rule, double x, int64_t size) {
    double low = rule->align ? 0 : -0.5, range = (double)size - (rule->align ? 1 : 0);
    if (range == 0 || !isfinite(x)) return 0;
    double r = fmod(fabs(x - low), 2 * range);
    return low + (r > range ? 2 * range - r : r);
}

static double bring_inside(const struct rule *rule, double x, int64_t size) {
    double last = (double)size - 1;
    double low = rule->align ? 0 : -0.5, high = rule->align ? last : last + 0.5;
    if ((x >= low && x <= high) || rule->padding == ZEROS) return x;
    if (rule->padding == REFLECTION) return reflect(rule, x, size);
    return x > last ? last : 0;
}

static uint32_t weigh(enum mode mode, double t, double *w) {
    const double a = -0.75;
    if (mode == NEAREST) {
        w[0] = 1;
        return 1;
    }
    if (mode == LINEAR) {
        w[0] = 1 - t;
        w[1] = t;
        return 2;
    }
    for (int i = 0; i < 4; i++) {
        double d = fabs(t + 1 - i);
        w[i] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                      : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
    return 4;
}

/* Taps of one coordinate along its axis; those outside zeros padding are left out. */
static size_t axis_taps(
    const struct rule *rule, double n, int64_t size, struct tap out[4]) {
    double x = denormalize(rule, n, size), w[4];
    if (rule->mode == NEAREST) x = rint(x);
    x = bring_inside(rule, x, size);
    if (!(x > -4 && x < (double)size + 4)) return 0;
    double floor_x = rule->mode == NEAREST ? trunc(x) : floor(x);
    uint32_t taps = weigh(rule->mode, x - floor_x, w);
    int64_t first = (int64_t)floor_x - (rule->mode == CUBIC);
    size_t count = 0;
    for (uint32_t i = 0; i < taps; i++) {
        int64_t at = first + i;
        if (at < 0 || at >= size) {
            if (rule->padding == ZEROS) continue;
            if (rule->padding == REFLECTION)
                at = (int64_t)reflect(rule, (double)at, size);
            at = at < 0 ? 0 : at >= size ? size - 1 : at;
        }
        if (w[i] != 0) out[count++] = (struct tap){(size_t)at, w[i]};
    }
    return count;
}

/* Taps of one point, whose coordinates stand from the innermost axis outwards. */
static size_t point_taps(const struct rule *rule, const double *point, uint32_t axes,
    const int64_t *sizes, struct tap *out) {
    struct tap along[4];
    size_t n = 1;
    out[0] = (struct tap){0, 1};
    for (uint32_t axis = 0; axis < axes; axis++) {
        size_t m = axis_taps(rule, point[axes - 1 - axis], sizes[axis], along);
        for (size_t i = n; i-- > 0;) { /* the last first: room grows to the right */
            struct tap base = out[i];
            for (size_t k = m; k-- > 0;)
                out[i * m + k] = (struct tap){base.at * (size_t)sizes[axis] + along[k].at,
                    base.weight * along[k].weight};
        }
        n *= m;
    }
    return n;
}

/* ---- run --------------------------------------------------------------------------------- */

#define T float
#define NAME(x) x##_f32
#include "ops/grid_sample_tmpl.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "ops/grid_sample_tmpl.h"
#undef T
#undef NAME

typedef void mix_fn(
    const struct group *group, const void *plane, void *out, size_t parts);

struct job {
    const struct rule *rule;
    const double *grid;
    const char *x;
    char *y;
    mix_fn *mix;        /* NULL: elements are moved */
    size_t elem, parts; /* bytes of an element, numbers in it */
    size_t channels, points, in_plane, most;
    uint32_t axes;
    const int64_t *sizes;
};

static void move_group(
    const struct group *group, const char *plane, char *out, size_t elem) {
    for (size_t p = 0; p < group->n; p++) {
        if (group->count[p])
            memcpy(out + p * elem, plane + group->taps[p * group->most].at * elem, elem);
        else
            memset(out + p * elem, 0, elem);
    }
}

/* One group of points of batch item `batch`, the first being `point`. */
static void run_group(
    const struct job *job, struct group *group, size_t batch, size_t point) {
    for (size_t p = 0; p < group->n; p++)
        group->count[p] = point_taps(job->rule,
            job->grid + (batch * job->points + point + p) * job->axes, job->axes,
            job->sizes, group->taps + p * group->most);
    for (size_t c = 0; c < job->channels; c++) {
        size_t channel = batch * job->channels + c;
        const char *plane = job->x + channel * job->in_plane * job->elem;
        char *out = job->y + (channel * job->points + point) * job->elem;
        size_t part_size = job->elem / job->parts;
        for (size_t part = 0; job->mix && part < job->parts; part++)
            job->mix(group, plane + part * part_size, out + part * part_size, job->parts);
        if (!job->mix) move_group(group, plane, out, job->elem);
    }
}

/* Points [begin, end) of all batch items. */
static void run_points(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    struct tap taps[TAPS_MAX];
    size_t fit = TAPS_MAX / job->most;
    struct group group = {.most = job->most, .taps = taps};
    (void)worker;
    if (fit > GROUP_MAX) fit = GROUP_MAX;
    for (size_t i = (size_t)begin; i < (size_t)end; i += group.n) {
        size_t batch = i / job->points, point = i % job->points;
        group.n = job->points - point;
        if (group.n > fit) group.n = fit;
        if (group.n > (size_t)end - i) group.n = (size_t)end - i;
        run_group(job, &group, batch, point);
    }
}

static tn_status check_inputs(
    const struct tn_tensor *x, const struct tn_tensor *grid, struct tn_diag *diag) {
    TN_TRY(check_ranks(x->rank, grid->rank, diag));
    if (grid->dims[grid->rank - 1] != (int64_t)x->rank - 2)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the grid has %lld coordinates a point for %u spatial dimensions",
            (long long)grid->dims[grid->rank - 1], x->rank - 2);
    if (grid->dims[0] != x->dims[0])
        return tn_fail(diag, TN_INVALID_ARGUMENT, "a batch of %lld with %lld grids",
            (long long)x->dims[0], (long long)grid->dims[0]);
    for (uint32_t i = 2; i < x->rank; i++)
        if (x->dims[i] == 0 && tn_tensor_count(grid) > 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "spatial dimension %u of X is empty: there is nothing to sample", i - 2);
    return TN_OK;
}

/* How elements of the type are mixed: as they are, or as f64. */
static void choose_mix(struct job *job, int32_t dtype) {
    bool is_single = dtype == TN_FLOAT || dtype == TN_COMPLEX64;
    job->parts = dtype == TN_COMPLEX64 || dtype == TN_COMPLEX128 ? 2 : 1;
    job->mix = is_single ? mix_f32 : mix_f64;
    job->elem = (is_single ? sizeof(float) : sizeof(double)) * job->parts;
}

static tn_status compute_grid_sample(void *object, const struct tn_run_args *args) {
    const struct grid_sample *k = object;
    const struct tn_tensor *x = tn_in(args, 0), *grid = tn_in(args, 1);
    struct tn_tensor *y;
    int64_t dims[2 + AXES_MAX];
    double *target = NULL;
    TN_TRY(check_inputs(x, grid, args->run->diag));
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    memcpy(dims + 2, grid->dims + 1, (x->rank - 2) * sizeof *dims);
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, x->rank, &y));
    if (tn_tensor_count(y) == 0) return TN_OK;
    struct job job = {
        .rule = &k->rule, .x = x->data, .y = y->data, .parts = 1, .axes = x->rank - 2};
    TN_TRY(tn__doubles_read(&k->base, args, grid, &job.grid));
    job.elem = tn_dtype_bits(x->dtype) / 8;
    if (k->rule.mode != NEAREST) choose_mix(&job, x->dtype);
    bool convert = job.mix == mix_f64 && job.parts == 1 && x->dtype != TN_DOUBLE;
    if (convert) {
        const double *wide;
        TN_TRY(tn__doubles_read(&k->base, args, x, &wide));
        TN_TRY(tn__doubles_target(args, y, &target));
        job.x = (const char *)wide;
        job.y = (char *)target;
    }
    job.channels = (size_t)x->dims[1];
    job.sizes = x->dims + 2;
    job.in_plane = (size_t)tn_dims_product(x->dims, 2, x->rank);
    job.points = (size_t)tn_dims_product(dims, 2, x->rank);
    job.most = 1;
    for (uint32_t i = 0; i < job.axes && k->rule.mode != NEAREST; i++)
        job.most *= k->rule.mode == LINEAR ? 2 : 4;
    double cost = (double)job.most * (10 + 1.5 * (double)job.channels);
    tn_parallel(k->base.host, dims[0] * (int64_t)job.points, cost, run_points, &job);
    if (convert) tn__doubles_write(&k->base, y, target);
    return TN_OK;
}

/* Version 20 names the modes for any number of dimensions. */
static tn_status upgrade_grid_20(const struct tn_rewrite *rw) {
    static const struct {
        const char *old, *name;
    } names[] = {{"bilinear", "linear"}, {"bicubic", "cubic"}};
    const struct tn_attr *mode = tn_node_attr(rw->api->node(rw->graph, rw->node), "mode");
    if (!mode || mode->type != TN_ATTR_STRING || mode->count != 1) return TN_OK;
    for (size_t i = 0; i < TN_COUNT(names); i++) {
        if (!tn_string_is(mode->as.strings[0], names[i].old)) continue;
        struct tn_string text = {names[i].name, strlen(names[i].name)};
        struct tn_attr attr = {"mode", TN_ATTR_STRING, 1, {.strings = &text}, NULL};
        return rw->api->set_attr(rw->graph, rw->node, &attr, rw->diag);
    }
    return TN_OK;
}

/* ---- tables ------------------------------------------------------------------------------ */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "GridSample"), TN_VERSIONS({16}, {20, 0, upgrade_grid_20}, {22}),
        TN_INPUTS({"X", "T1"}, {"grid", "T2"}), TN_OUTPUTS({"Y", "T1"}),
        TN_TYPE_VARS({"T1", TN_TYPES_CLASSIC}, {"T2", TN_TYPES_FLOATS}), TN_ATTRS(grid),
        .infer = infer_grid_sample},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "GridSample", 22), .create = create_grid_sample,
        .compute = compute_grid_sample},
};
/* clang-format on */

TN_FAMILY(grid_sample);
