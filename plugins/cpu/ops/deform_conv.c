/* DeformConv: a convolution whose taps are moved by an offset of their own at every output
 * position, and weighted by a mask.
 *
 * Positions are taken in blocks: first their taps are sampled into columns (linear between
 * neighbours, zero outside), then the columns are weighed. All in f64. */
#include "ops/doubles.h"
#include "ops/window.h"
#include "tenon/helper/parallel.h"

#include <math.h>

/* clang-format off */
#define DEFORM_ATTRS(X, S)                                                               \
    X(S, INTS, dilations, )                                                              \
    X(S, INT, group, 1)                                                                  \
    X(S, INTS, kernel_shape, )                                                           \
    X(S, INT, offset_group, 1)                                                           \
    X(S, INTS, pads, )                                                                   \
    X(S, INTS, strides, )
/* clang-format on */
TN_ATTR_TABLE(deform, DEFORM_ATTRS)

enum { COLUMN_NUMBERS = 1024 * 1024 }; /* of a block of positions */

struct deform {
    struct tn__kernel base;
    const struct tn_node *node;
    int64_t group, offset_group;
};

static tn_status read_groups(const struct tn_node *node, int64_t *group,
    int64_t *offset_group, struct tn_diag *diag) {
    struct deform_attrs attrs;
    TN_TRY(TN_ATTRS_READ(deform, node, &attrs, diag));
    *group = attrs.group;
    *offset_group = attrs.offset_group;
    if (attrs.group >= 1 && attrs.offset_group >= 1) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "group is %lld and offset_group %lld, expected 1 or more", (long long)attrs.group,
        (long long)attrs.offset_group);
}

static tn_status check_ranks(int64_t x, int64_t w, int64_t offset, struct tn_diag *diag) {
    if (x == w && x == offset && x >= 3 && x <= 2 + TN_WINDOW_RANK) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "X, W and offset have the ranks %lld, %lld and %lld, expected the same of 3 to "
        "%d",
        (long long)x, (long long)w, (long long)offset, 2 + TN_WINDOW_RANK);
}

static tn_status infer_deform(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0), *w = tn_infer_input(infer, 1);
    const struct tn_type *offset = tn_infer_input(infer, 2);
    struct tn_window window;
    int64_t dims[2 + TN_WINDOW_RANK], groups[2];
    TN_TRY(read_groups(infer->node, &groups[0], &groups[1], infer->diag));
    if (!x) return TN_OK;
    if (x->rank < 0 || !w || w->rank < 0 || !offset || offset->rank < 0)
        return tn_infer_set(infer, 0, x->dtype, -1, NULL);
    TN_TRY(check_ranks(x->rank, w->rank, offset->rank, infer->diag));
    bool known = true;
    for (int32_t i = 2; i < w->rank; i++)
        known = known && w->dims[i] >= 0;
    memcpy(dims, offset->dims, (size_t)x->rank * sizeof *dims);
    dims[0] = x->dims[0];
    dims[1] = w->dims[0];
    if (!known) return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
    TN_TRY(tn__window_parse(
        &window, infer->node, (uint32_t)x->rank - 2, w->dims + 2, infer->diag));
    for (uint32_t i = 0; i < window.rank; i++)
        TN_TRY(tn__window_infer(infer, &window, i, x->dims[2 + i], &dims[2 + i]));
    return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
}

static tn_status create_deform(const struct tn_kernel_ctx *ctx, void **out) {
    int64_t groups[2];
    TN_TRY(read_groups(ctx->node, &groups[0], &groups[1], ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct deform), out));
    struct deform *k = *out;
    k->node = ctx->node;
    k->group = groups[0];
    k->offset_group = groups[1];
    return TN_OK;
}

/* ---- run --------------------------------------------------------------------------------- */

struct job {
    const struct deform *kernel;
    struct tn_window window;
    struct tn_window_geometry geometry;
    const double *x, *w, *offset, *bias, *mask; /* bias and mask may be NULL */
    double *y, *columns;                        /* columns: [C, taps, block] */
    int64_t channels, out_channels, taps, in_plane, out_plane;
    int64_t batch, first, block; /* the block at work */
};

/* Neighbours of a place and their weights; those outside are left out. */
static uint32_t place_taps(
    const struct job *job, const double *place, int64_t *at, double *weight) {
    uint32_t n = 1;
    at[0] = 0;
    weight[0] = 1;
    for (uint32_t axis = 0; axis < job->window.rank; axis++) {
        int64_t size = job->geometry.in[axis];
        if (!(place[axis] > -1 && place[axis] < (double)size)) return 0;
        double low = floor(place[axis]), t = place[axis] - low;
        int64_t first = (int64_t)low;
        uint32_t m = 0;
        int64_t next[1 << TN_WINDOW_RANK];
        double factor[1 << TN_WINDOW_RANK];
        for (uint32_t i = 0; i < n; i++) {
            for (int64_t side = 0; side < 2; side++) {
                double w = side ? t : 1 - t;
                if (w == 0 || first + side < 0 || first + side >= size) continue;
                next[m] = at[i] * size + first + side;
                factor[m++] = weight[i] * w;
            }
        }
        memcpy(at, next, m * sizeof *at);
        memcpy(weight, factor, m * sizeof *weight);
        n = m;
    }
    return n;
}

/* The place that a tap of an output position reads. */
static void find_place(
    const struct job *job, int64_t group, int64_t tap, int64_t position, double *place) {
    const struct tn_window *w = &job->window;
    int64_t row = ((job->batch * job->kernel->offset_group + group) * job->taps + tap);
    int64_t rest = position;
    for (uint32_t i = w->rank; i-- > 0;) {
        int64_t out = rest % job->geometry.out[i], k = tap % w->kernel[i];
        rest /= job->geometry.out[i];
        tap /= w->kernel[i];
        place[i] =
            (double)(out * w->stride[i] - job->geometry.pad[i] + k * w->dilation[i]) +
            job->offset[(row * w->rank + i) * job->out_plane + position];
    }
}

/* Samples rows [begin, end) of (offset group, tap) × positions of the block. */
static void sample(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    int64_t each = job->channels / job->kernel->offset_group;
    int64_t at[1 << TN_WINDOW_RANK];
    double place[TN_WINDOW_RANK], weight[1 << TN_WINDOW_RANK];
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t p = i % job->block, row = i / job->block;
        int64_t group = row / job->taps, tap = row % job->taps, position = job->first + p;
        int64_t mask_row =
            (job->batch * job->kernel->offset_group + group) * job->taps + tap;
        double scale = job->mask ? job->mask[mask_row * job->out_plane + position] : 1;
        find_place(job, group, tap, position, place);
        uint32_t n = place_taps(job, place, at, weight);
        for (int64_t c = group * each; c < (group + 1) * each; c++) {
            const double *plane =
                job->x + (job->batch * job->channels + c) * job->in_plane;
            double sum = 0;
            for (uint32_t k = 0; k < n; k++)
                sum += weight[k] * plane[at[k]];
            job->columns[(c * job->taps + tap) * job->block + p] = sum * scale;
        }
    }
}

/* Weighs the columns into output channels [begin, end). */
static void weigh(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    int64_t in_each = job->channels / job->kernel->group;
    int64_t out_each = job->out_channels / job->kernel->group, rows = in_each * job->taps;
    (void)worker;
    for (int64_t oc = begin; oc < end; oc++) {
        double *y =
            job->y + (job->batch * job->out_channels + oc) * job->out_plane + job->first;
        const double *columns = job->columns + oc / out_each * rows * job->block;
        for (int64_t p = 0; p < job->block; p++)
            y[p] = job->bias ? job->bias[oc] : 0;
        for (int64_t row = 0; row < rows; row++) {
            double factor = job->w[oc * rows + row];
            for (int64_t p = 0; p < job->block; p++)
                y[p] += factor * columns[row * job->block + p];
        }
    }
}

static tn_status run_blocks(
    struct job *job, const struct tn_run_args *args, int64_t batch) {
    const struct tn_host *host = job->kernel->base.host;
    int64_t rows = job->channels * job->taps,
            most = COLUMN_NUMBERS / (rows ? rows : 1) + 1;
    if (most > job->out_plane) most = job->out_plane;
    if (rows > INT64_MAX / 8 / most)
        return tn_fail(args->run->diag, TN_LIMIT_EXCEEDED, "%lld columns are too many",
            (long long)rows);
    TN_TRY(tn__doubles_room(args, rows * most, &job->columns));
    double per_tap = 30 + 6 * (double)job->channels / (double)job->kernel->offset_group;
    for (job->batch = 0; job->batch < batch; job->batch++) {
        for (job->first = 0; job->first < job->out_plane; job->first += most) {
            job->block = job->out_plane - job->first;
            if (job->block > most) job->block = most;
            TN_TRY(args->run->interrupted(args->run));
            tn_parallel(host, job->kernel->offset_group * job->taps * job->block, per_tap,
                sample, job);
            tn_parallel(host, job->out_channels,
                0.5 * (double)rows / (double)job->kernel->group * (double)job->block,
                weigh, job);
        }
    }
    return TN_OK;
}

/* Whether a tensor has batch and channel sizes n and c, and the output's spatial ones. */
static bool has_shape(const struct tn_tensor *t, int64_t n, int64_t c,
    const struct tn_window_geometry *g, uint32_t axes) {
    return t->rank == axes + 2 && t->dims[0] == n && t->dims[1] == c &&
           memcmp(t->dims + 2, g->out, axes * sizeof *g->out) == 0;
}

static tn_status plan(struct job *job, const struct tn_run_args *args) {
    const struct tn_tensor *x = tn_in(args, 0), *w = tn_in(args, 1);
    const struct tn_tensor *offset = tn_in(args, 2), *bias = tn_in(args, 3);
    const struct tn_tensor *mask = tn_in(args, 4);
    const struct deform *k = job->kernel;
    struct tn_diag *diag = args->run->diag;
    uint32_t axes = x->rank - 2;
    TN_TRY(check_ranks(x->rank, w->rank, offset->rank, diag));
    TN_TRY(tn__window_parse(&job->window, k->node, axes, w->dims + 2, diag));
    TN_TRY(tn__window_geometry(&job->window, x->dims + 2, &job->geometry, diag));
    job->channels = x->dims[1];
    job->out_channels = w->dims[0];
    if (!tn_shape_count(w->dims + 2, axes, &job->taps) ||
        !tn_dims_equal(job->window.kernel, axes, w->dims + 2, axes) ||
        job->channels % k->group != 0 || job->out_channels % k->group != 0 ||
        job->channels % k->offset_group != 0 || w->dims[1] != job->channels / k->group)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "weights of %lld x %lld and %lld channels do not fit group %lld, "
            "offset_group %lld and kernel_shape",
            (long long)w->dims[0], (long long)w->dims[1], (long long)job->channels,
            (long long)k->group, (long long)k->offset_group);
    int64_t rows = 0;
    const int64_t factors[3] = {k->offset_group, job->taps, axes};
    if (!tn_shape_count(factors, 3, &rows) ||
        !has_shape(offset, x->dims[0], rows, &job->geometry, axes))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the offsets have not the shape (N, offset_group * taps * axes = %lld, "
            "output)",
            (long long)rows);
    if (mask && !has_shape(mask, x->dims[0], rows / axes, &job->geometry, axes))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the mask has not the shape (N, offset_group * taps = %lld, output)",
            (long long)(rows / axes));
    if (bias && (bias->rank != 1 || bias->dims[0] != job->out_channels))
        return tn_fail(diag, TN_INVALID_ARGUMENT, "the bias has not %lld elements",
            (long long)job->out_channels);
    job->in_plane = tn_dims_product(x->dims, 2, x->rank);
    job->out_plane = tn_dims_product(job->geometry.out, 0, axes);
    return TN_OK;
}

static tn_status read_optional(const struct deform *k, const struct tn_run_args *args,
    uint32_t i, const double **out) {
    const struct tn_tensor *tensor = tn_in(args, i);
    return tensor ? tn__doubles_read(&k->base, args, tensor, out) : TN_OK;
}

static tn_status compute_deform(void *object, const struct tn_run_args *args) {
    const struct deform *k = object;
    const struct tn_tensor *x = tn_in(args, 0);
    struct job job = {.kernel = k};
    int64_t dims[2 + TN_WINDOW_RANK];
    struct tn_tensor *y;
    TN_TRY(plan(&job, args));
    dims[0] = x->dims[0];
    dims[1] = job.out_channels;
    memcpy(dims + 2, job.geometry.out, job.window.rank * sizeof *dims);
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, x->rank, &y));
    if (tn_tensor_count(y) == 0) return TN_OK;
    TN_TRY(tn__doubles_read(&k->base, args, x, &job.x));
    TN_TRY(tn__doubles_read(&k->base, args, tn_in(args, 1), &job.w));
    TN_TRY(tn__doubles_read(&k->base, args, tn_in(args, 2), &job.offset));
    TN_TRY(read_optional(k, args, 3, &job.bias));
    TN_TRY(read_optional(k, args, 4, &job.mask));
    TN_TRY(tn__doubles_target(args, y, &job.y));
    TN_TRY(run_blocks(&job, args, dims[0]));
    tn__doubles_write(&k->base, y, job.y);
    return TN_OK;
}

/* clang-format off */
#define OPTIONAL TN_FORMAL_OPTIONAL
static const struct tn_op_def defs[] = {
    {TN_DEF("", "DeformConv"), TN_VERSIONS({19}, {22}),
        TN_INPUTS({"X", "T"}, {"W", "T"}, {"offset", "T"}, {"B", "T", 0, OPTIONAL},
            {"mask", "T", 0, OPTIONAL}),
        TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_TYPES_FLOATS}), TN_ATTRS(deform),
        .infer = infer_deform},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "DeformConv", 22), .create = create_deform, .compute = compute_deform},
};
/* clang-format on */

TN_FAMILY(deform_conv);
