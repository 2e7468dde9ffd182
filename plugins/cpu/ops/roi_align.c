/* RoiAlign: bilinear samples of a feature map, pooled over the bins of a region.
 *
 * Bilinear weights are products of a weight of the row and one of the column, and so are the
 * sums over a bin's grid of samples. So each region gets two short tables (taps along y and
 * along x), made once and used for all channels. */
#include "ops/narrow.h"
#include "ops/ops.h"
#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define ROI_ATTRS(X, S)                                                                  \
    X(S, STRING, coordinate_transformation_mode, "half_pixel")                           \
    X(S, STRING, mode, "avg")                                                            \
    X(S, INT, output_height, 1)                                                          \
    X(S, INT, output_width, 1)                                                           \
    X(S, INT, sampling_ratio, 0)                                                         \
    X(S, FLOAT, spatial_scale, 1.0f)
/* clang-format on */
TN_ATTR_TABLE(roi, ROI_ATTRS)

enum {
    SAMPLES_MAX = 1024,       /* of a bin along one axis, when the model names a number */
    BLOCK_BYTES = 1024 * 1024 /* tables of regions that are made at once */
};

struct tap {
    size_t at;
    double weight;
};

/* Taps of the bins along one axis: bin b has taps[begin[b] .. begin[b + 1]). */
struct table {
    size_t bins;
    size_t *begin;
    struct tap *taps;
};

struct region {
    struct table y, x;
    double samples; /* of a bin, the ones outside the map included */
    double count;   /* what a mean divides by */
    int64_t batch;
};

#define T float
#define NAME(x) x##_f32
#include "ops/roi_align_tmpl.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "ops/roi_align_tmpl.h"
#undef T
#undef NAME

typedef void pool_fn(const struct region *r, const void *plane, size_t width, void *out);

struct roi_align {
    struct tn__kernel base;
    struct roi_attrs attrs;
    bool half_pixel, max;
};

static tn_status setup(const struct tn_node *node, struct roi_attrs *attrs,
    bool *half_pixel, bool *max, struct tn_diag *diag) {
    TN_TRY(TN_ATTRS_READ(roi, node, attrs, diag));
    *half_pixel = tn_string_is(attrs->coordinate_transformation_mode, "half_pixel");
    *max = tn_string_is(attrs->mode, "max");
    if (!*half_pixel &&
        !tn_string_is(attrs->coordinate_transformation_mode, "output_half_pixel"))
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'coordinate_transformation_mode' is neither half_pixel nor "
            "output_half_pixel");
    if (!*max && !tn_string_is(attrs->mode, "avg"))
        return tn_fail(diag, TN_INVALID_MODEL, "attribute 'mode' is neither avg nor max");
    if (attrs->output_height < 1 || attrs->output_width < 1)
        return tn_fail(diag, TN_INVALID_MODEL,
            "output of %lld x %lld bins, expected 1 or more of both",
            (long long)attrs->output_height, (long long)attrs->output_width);
    if (attrs->sampling_ratio < 0 || attrs->sampling_ratio > SAMPLES_MAX)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'sampling_ratio' is %lld, expected 0 to %d",
            (long long)attrs->sampling_ratio, SAMPLES_MAX);
    return TN_OK;
}

static tn_status check_rank(
    const char *name, int64_t rank, int64_t expected, struct tn_diag *diag) {
    if (rank == expected || rank < 0) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT, "'%s' has rank %lld, expected %lld", name,
        (long long)rank, (long long)expected);
}

static tn_status infer_roi_align(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0), *rois = tn_infer_input(infer, 1);
    const struct tn_type *batch = tn_infer_input(infer, 2);
    struct roi_attrs attrs;
    bool half_pixel, max;
    int64_t dims[4] = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN, 0, 0};
    TN_TRY(setup(infer->node, &attrs, &half_pixel, &max, infer->diag));
    if (!x) return TN_OK;
    TN_TRY(check_rank("X", x->rank, 4, infer->diag));
    if (rois) TN_TRY(check_rank("rois", rois->rank, 2, infer->diag));
    if (batch) TN_TRY(check_rank("batch_indices", batch->rank, 1, infer->diag));
    if (rois && rois->rank == 2) dims[0] = rois->dims[0];
    if (batch && batch->rank == 1 && dims[0] < 0) dims[0] = batch->dims[0];
    if (x->rank == 4) dims[1] = x->dims[1];
    dims[2] = attrs.output_height;
    dims[3] = attrs.output_width;
    return tn_infer_set(infer, 0, x->dtype, 4, dims);
}

static tn_status create_roi_align(const struct tn_kernel_ctx *ctx, void **out) {
    struct roi_align k = {0};
    TN_TRY(setup(ctx->node, &k.attrs, &k.half_pixel, &k.max, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof k, out));
    k.base = *(struct tn__kernel *)*out;
    *(struct roi_align *)*out = k;
    return TN_OK;
}

/* ---- tables ------------------------------------------------------------------------------ */

/* A region along one axis of the map. */
struct span {
    double start, bin; /* pixels */
    double samples;    /* of a bin */
    int64_t size;      /* of the map */
};

static struct span make_span(
    const struct roi_align *k, double from, double to, int64_t size, size_t bins) {
    double scale = (double)k->attrs.spatial_scale, shift = k->half_pixel ? 0.5 : 0;
    double extent = to * scale - from * scale;
    if (!k->half_pixel && extent < 1) extent = 1;
    struct span span = {from * scale - shift, extent / (double)bins, 0, size};
    span.samples = k->attrs.sampling_ratio ? (double)k->attrs.sampling_ratio
                                           : ceil(extent / (double)bins);
    if (!(span.samples > 0)) span.samples = 0; /* a NaN too */
    return span;
}

/* Adaptive samples lie half a pixel apart or more: so many may fall on the map. */
static double most_samples(const struct span *span) {
    double limit = 2.0 * (double)span->size + 18;
    if (limit < SAMPLES_MAX) limit = SAMPLES_MAX;
    return span->samples < limit ? span->samples : limit;
}

/* Appends the taps of one bin. `merge` joins neighbours at one place and drops zeros. */
static size_t add_bin(
    struct tap *taps, size_t n, const struct span *span, size_t bin, bool merge) {
    double pitch = span->bin / span->samples, size = (double)span->size;
    double first = span->start + (double)bin * span->bin, skipped = 0;
    double most = most_samples(span);
    size_t begin = n;
    if (most < span->samples) skipped = floor((-1 - first) / pitch) - 2;
    if (!(skipped > 0)) skipped = 0;
    for (int64_t i = 0; i < (int64_t)most && skipped + (double)i < span->samples; i++) {
        double at = first + (skipped + (double)i + 0.5) * pitch;
        if (!(at >= -1 && at <= size) || span->size == 0) continue;
        if (at < 0) at = 0;
        size_t low = (size_t)at, high = low + 1;
        if (high >= (size_t)span->size) {
            low = high = (size_t)span->size - 1;
            at = (double)low;
        }
        const struct tap pair[2] = {
            {low, 1 - (at - (double)low)}, {high, at - (double)low}};
        for (int p = 0; p < 2; p++) {
            if (merge && pair[p].weight == 0) continue;
            if (merge && n > begin && taps[n - 1].at == pair[p].at)
                taps[n - 1].weight += pair[p].weight;
            else
                taps[n++] = pair[p];
        }
    }
    return n;
}

/* What one call works on. */
struct job {
    const struct roi_align *kernel;
    const struct tn_tensor *x, *y;
    const double *rois; /* [regions, 4] */
    const int64_t *batch;
    struct region *regions;
    int64_t first; /* region of the block's first */
    pool_fn *fn;
    size_t elem;
};

static void region_spans(
    const struct job *job, int64_t i, struct span *y, struct span *x) {
    const double *roi = job->rois + i * 4;
    const int64_t *out = job->y->dims, *in = job->x->dims;
    *x = make_span(job->kernel, roi[0], roi[2], in[3], (size_t)out[3]);
    *y = make_span(job->kernel, roi[1], roi[3], in[2], (size_t)out[2]);
}

/* Most taps that a region's tables hold, as a double: it may be absurd. */
static double taps_of(const struct job *job, int64_t i) {
    struct span x, y;
    region_spans(job, i, &y, &x);
    return 2 * most_samples(&y) * (double)job->y->dims[2] +
           2 * most_samples(&x) * (double)job->y->dims[3];
}

static void make_region(
    const struct job *job, int64_t i, struct region *r, char *memory) {
    struct span x, y;
    bool merge = !job->kernel->max;
    size_t bins_y = (size_t)job->y->dims[2], bins_x = (size_t)job->y->dims[3], n = 0;
    region_spans(job, i, &y, &x);
    r->batch = job->batch[i];
    r->samples = y.samples * x.samples;
    r->count = r->samples > 1 ? r->samples : 1;
    r->y = (struct table){bins_y, (size_t *)memory, NULL};
    r->x = (struct table){bins_x, r->y.begin + bins_y + 1, NULL};
    r->y.taps = r->x.taps = (struct tap *)(r->x.begin + bins_x + 1);
    for (size_t bin = 0; bin < bins_y; bin++) {
        r->y.begin[bin] = n;
        n = add_bin(r->y.taps, n, &y, bin, merge);
    }
    r->y.begin[bins_y] = n;
    for (size_t bin = 0; bin < bins_x; bin++) {
        r->x.begin[bin] = n;
        n = add_bin(r->x.taps, n, &x, bin, merge);
    }
    r->x.begin[bins_x] = n;
}

/* ---- run --------------------------------------------------------------------------------- */

/* Planes [begin, end) of the block: region by region, channel by channel. */
static void run_planes(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    int64_t channels = job->x->dims[1];
    size_t in = (size_t)(job->x->dims[2] * job->x->dims[3]) * job->elem;
    size_t out = (size_t)(job->y->dims[2] * job->y->dims[3]) * job->elem;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const struct region *r = &job->regions[i / channels];
        const char *plane = (const char *)job->x->data +
                            (size_t)(r->batch * channels + i % channels) * in;
        job->fn(r, plane, (size_t)job->x->dims[3],
            (char *)job->y->data + (size_t)(job->first * channels + i) * out);
    }
}

static tn_status check_inputs(const struct tn_tensor *x, const struct tn_tensor *rois,
    const struct tn_tensor *batch, struct tn_diag *diag) {
    TN_TRY(check_rank("X", x->rank, 4, diag));
    TN_TRY(check_rank("rois", rois->rank, 2, diag));
    TN_TRY(check_rank("batch_indices", batch->rank, 1, diag));
    if (rois->dims[1] != 4 || rois->dims[0] != batch->dims[0])
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "rois is %lld x %lld with %lld batch indices, expected a batch index and 4 "
            "coordinates of each",
            (long long)rois->dims[0], (long long)rois->dims[1],
            (long long)batch->dims[0]);
    for (int64_t i = 0; i < batch->dims[0]; i++) {
        int64_t index = tn_tensor_int(batch, i);
        if (index < 0 || index >= x->dims[0])
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "batch index %lld of region %lld is outside [0, %lld)", (long long)index,
                (long long)i, (long long)x->dims[0]);
    }
    return TN_OK;
}

static tn_status run_blocks(struct job *job, const struct tn_run *run, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, taps_of(job, i));
    double each = most * sizeof(struct tap) +
                  (double)(job->y->dims[2] + job->y->dims[3] + 2) * sizeof(size_t);
    if (!(each < 1e15))
        return tn_fail(
            run->diag, TN_LIMIT_EXCEEDED, "regions of %g samples are too many", most / 2);
    size_t bytes = ((size_t)each + 15) / 16 * 16;
    int64_t block = (int64_t)(BLOCK_BYTES / bytes) + 1;
    if (block > n) block = n;
    char *memory = run->alloc(run, (uint64_t)block * bytes, 64);
    job->regions = run->alloc(run, (uint64_t)block * sizeof(struct region), 64);
    if (!memory || !job->regions)
        return tn_fail(run->diag, TN_OUT_OF_MEMORY,
            "no memory for tables of %lld regions", (long long)block);
    double bins = (double)job->y->dims[2] * (double)job->y->dims[3];
    double cost = bins * 8 + most * most / 4;
    for (job->first = 0; job->first < n; job->first += block) {
        int64_t here = n - job->first < block ? n - job->first : block;
        for (int64_t i = 0; i < here; i++)
            make_region(
                job, job->first + i, &job->regions[i], memory + (size_t)i * bytes);
        TN_TRY(run->interrupted(run));
        tn_parallel(
            job->kernel->base.host, here * job->x->dims[1], cost, run_planes, job);
    }
    return TN_OK;
}

static tn_status compute_roi_align(void *object, const struct tn_run_args *args) {
    const struct roi_align *k = object;
    const struct tn_tensor *x = tn_in(args, 0), *rois = tn_in(args, 1);
    const struct tn_tensor *batch = tn_in(args, 2);
    const struct tn_run *run = args->run;
    struct tn_tensor *y;
    TN_TRY(check_inputs(x, rois, batch, run->diag));
    const int64_t dims[4] = {
        rois->dims[0], x->dims[1], k->attrs.output_height, k->attrs.output_width};
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, 4, &y));
    if (tn_tensor_count(y) == 0) return TN_OK;
    double *wide = run->alloc(run, (uint64_t)dims[0] * 4 * sizeof(double), 64);
    if (!wide)
        return tn_fail(run->diag, TN_OUT_OF_MEMORY, "no memory for %lld regions",
            (long long)dims[0]);
    for (int64_t i = 0; i < dims[0] * 4; i++)
        wide[i] = rois->dtype == TN_DOUBLE ? ((const double *)rois->data)[i]
                                           : (double)((const float *)rois->data)[i];
    bool is_double = x->dtype == TN_DOUBLE;
    struct job job = {k, x, y, wide, batch->data, NULL, 0,
        is_double ? (k->max ? max_f64 : mean_f64) : (k->max ? max_f32 : mean_f32),
        is_double ? sizeof(double) : sizeof(float)};
    return run_blocks(&job, run, dims[0]);
}

/* Version 16 shifts regions by half a pixel unless it is told not to. */
static tn_status upgrade_roi_16(const struct tn_rewrite *rw) {
    static const char mode[] = "output_half_pixel";
    struct tn_string text = {mode, sizeof mode - 1};
    struct tn_attr attr = {
        "coordinate_transformation_mode", TN_ATTR_STRING, 1, {.strings = &text}, NULL};
    return rw->api->set_attr(rw->graph, rw->node, &attr, rw->diag);
}

/* ---- tables ------------------------------------------------------------------------------ */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "RoiAlign"), TN_VERSIONS({10}, {16, 0, upgrade_roi_16}, {22}),
        TN_INPUTS({"X", "T1"}, {"rois", "T1"}, {"batch_indices", "T2"}),
        TN_OUTPUTS({"Y", "T1"}),
        TN_TYPE_VARS({"T1", TN_TYPES_FLOATS}, {"T2", TN_BIT(INT64)}), TN_ATTRS(roi),
        .infer = infer_roi_align},
};

#define ROI_SLOTS .create = create_roi_align, .compute = compute_roi_align
TN_NARROW(roi_align, ROI_SLOTS)

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "RoiAlign", 22),
        TN_KERNEL_TYPES({"T1", TN_BIT(FLOAT) | TN_BIT(DOUBLE)}), ROI_SLOTS},
    {TN_NARROW_KERNEL("", "RoiAlign", 22, roi_align),
        TN_KERNEL_TYPES({"T1", TN_NARROW_TYPES})},
};
/* clang-format on */

TN_FAMILY(roi_align);
