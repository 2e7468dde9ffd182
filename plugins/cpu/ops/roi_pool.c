/* MaxRoiPool: the greatest element of each bin of a region. Edges of regions are rounded to
 * pixels; the edges of bins are whole numbers by exact division; an empty bin gives 0. */
#include "ops/doubles.h"
#include "tenon/helper/parallel.h"

#include <math.h>

/* clang-format off */
#define ROI_POOL_ATTRS(X, S)                                                             \
    X(S, INTS_REQUIRED, pooled_shape, ) X(S, FLOAT, spatial_scale, 1.0f)
/* clang-format on */
TN_ATTR_TABLE(roi_pool, ROI_POOL_ATTRS)

struct roi_pool {
    struct tn__kernel base;
    int64_t bins[2];
    double scale;
};

static tn_status read_attrs(
    const struct tn_node *node, int64_t *bins, double *scale, struct tn_diag *diag) {
    struct roi_pool_attrs attrs;
    TN_TRY(TN_ATTRS_READ(roi_pool, node, &attrs, diag));
    for (uint32_t i = 0; i < 2; i++) {
        bins[i] = attrs.pooled_shape.n == 2 ? attrs.pooled_shape.v[i] : 0;
        if (bins[i] < 1 || bins[i] > INT32_MAX)
            return tn_fail(diag, TN_INVALID_MODEL,
                "attribute 'pooled_shape' must hold two positive numbers");
    }
    *scale = (double)attrs.spatial_scale;
    return TN_OK;
}

static tn_status infer_roi_pool(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0), *rois = tn_infer_input(infer, 1);
    int64_t dims[4] = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN, 0, 0};
    double scale;
    TN_TRY(read_attrs(infer->node, dims + 2, &scale, infer->diag));
    if (!x) return TN_OK;
    if ((x->rank >= 0 && x->rank != 4) || (rois && rois->rank >= 0 && rois->rank != 2))
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "X has rank %d and rois %d, expected 4 and 2", (int)x->rank,
            rois ? (int)rois->rank : -1);
    if (rois && rois->rank == 2) dims[0] = rois->dims[0];
    if (x->rank == 4) dims[1] = x->dims[1];
    return tn_infer_set(infer, 0, x->dtype, 4, dims);
}

static tn_status create_roi_pool(const struct tn_kernel_ctx *ctx, void **out) {
    struct roi_pool k = {0};
    TN_TRY(read_attrs(ctx->node, k.bins, &k.scale, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof k, out));
    k.base = *(struct tn__kernel *)*out;
    *(struct roi_pool *)*out = k;
    return TN_OK;
}

struct job {
    const struct roi_pool *kernel;
    const double *x, *rois;
    double *y;
    const int64_t *dims; /* of x */
};

/* A coordinate of a region in pixels; far ones are brought near enough for whole numbers. */
static int64_t pixel(const struct roi_pool *k, double at) {
    return (int64_t)fmin(fmax(round(at * k->scale), -1e9), 1e9);
}

/* Elements [out[0], out[1]) of bin b along one axis. */
static void bin_edges(
    int64_t first, int64_t last, int64_t b, int64_t bins, int64_t size, int64_t out[2]) {
    int64_t extent = last - first + 1 > 1 ? last - first + 1 : 1;
    out[0] = first + b * extent / bins;
    out[1] = first + ((b + 1) * extent + bins - 1) / bins;
    for (int i = 0; i < 2; i++)
        out[i] = out[i] < 0 ? 0 : out[i] > size ? size : out[i];
}

static double greatest(
    const double *plane, int64_t width, const int64_t *rows, const int64_t *columns) {
    if (rows[0] >= rows[1] || columns[0] >= columns[1]) return 0;
    double best = -(double)INFINITY;
    for (int64_t i = rows[0]; i < rows[1]; i++) {
        for (int64_t j = columns[0]; j < columns[1]; j++) {
            double v = plane[i * width + j];
            if (v > best || v != v) best = v;
        }
    }
    return best;
}

/* Planes [begin, end): region by region, channel by channel. */
static void run_planes(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct roi_pool *k = job->kernel;
    int64_t channels = job->dims[1], height = job->dims[2], width = job->dims[3];
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const double *roi = job->rois + i / channels * 5;
        const double *plane =
            job->x + ((int64_t)roi[0] * channels + i % channels) * height * width;
        double *y = job->y + i * k->bins[0] * k->bins[1];
        int64_t rows[2], columns[2];
        for (int64_t b = 0; b < k->bins[0]; b++) {
            bin_edges(pixel(k, roi[2]), pixel(k, roi[4]), b, k->bins[0], height, rows);
            for (int64_t c = 0; c < k->bins[1]; c++) {
                bin_edges(
                    pixel(k, roi[1]), pixel(k, roi[3]), c, k->bins[1], width, columns);
                *y++ = greatest(plane, width, rows, columns);
            }
        }
    }
}

static tn_status check_rois(
    const struct tn_tensor *x, const double *rois, int64_t n, struct tn_diag *diag) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < 5; k++)
            if (!isfinite(rois[i * 5 + k]))
                return tn_fail(diag, TN_INVALID_ARGUMENT,
                    "number %lld of region %lld is not finite", (long long)k,
                    (long long)i);
        if (rois[i * 5] < 0 || rois[i * 5] >= (double)x->dims[0])
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "batch index %g of region %lld is outside [0, %lld)", rois[i * 5],
                (long long)i, (long long)x->dims[0]);
    }
    return TN_OK;
}

static tn_status compute_roi_pool(void *object, const struct tn_run_args *args) {
    const struct roi_pool *k = object;
    const struct tn_tensor *x = tn_in(args, 0), *rois = tn_in(args, 1);
    struct tn_diag *diag = args->run->diag;
    struct tn_tensor *y;
    if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 5)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "X has rank %u, expected 4; rois have rank %u, expected 2 with 5 columns",
            x->rank, rois->rank);
    const int64_t dims[4] = {rois->dims[0], x->dims[1], k->bins[0], k->bins[1]};
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, 4, &y));
    struct job job = {k, NULL, NULL, NULL, x->dims};
    TN_TRY(tn__doubles_read(&k->base, args, rois, &job.rois));
    TN_TRY(check_rois(x, job.rois, dims[0], diag));
    if (tn_tensor_count(y) == 0) return TN_OK;
    TN_TRY(tn__doubles_read(&k->base, args, x, &job.x));
    TN_TRY(tn__doubles_target(args, y, &job.y));
    double cost = 20 * (double)dims[2] * (double)dims[3] +
                  (double)x->dims[2] * (double)x->dims[3] / 4;
    tn_parallel(k->base.host, dims[0] * dims[1], cost, run_planes, &job);
    tn__doubles_write(&k->base, y, job.y);
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "MaxRoiPool"), TN_VERSIONS({1}, {22}),
        TN_INPUTS({"X", "T"}, {"rois", "T"}), TN_OUTPUTS({"Y", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}), TN_ATTRS(roi_pool), .infer = infer_roi_pool},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "MaxRoiPool", 22), .create = create_roi_pool,
        .compute = compute_roi_pool},
};
/* clang-format on */

TN_FAMILY(roi_pool);
