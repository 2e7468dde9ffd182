/* Col2Im: columns of blocks, added up where they overlap in the image. */
#include "ops/doubles.h"
#include "ops/window.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define COL2IM_ATTRS(X, S) X(S, INTS, dilations, ) X(S, INTS, pads, ) X(S, INTS, strides, )
/* clang-format on */
TN_ATTR_TABLE(col2im, COL2IM_ATTRS)

struct col2im {
    struct tn__kernel base;
    const struct tn_node *node;
};

static tn_status infer_col2im(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    int64_t dims[2 + TN_WINDOW_RANK];
    uint32_t n_image = 0, n_block = 0;
    if (!x) return TN_OK;
    if (x->rank >= 0 && x->rank != 3)
        return tn_fail(
            infer->diag, TN_INVALID_MODEL, "input has rank %d, expected 3", (int)x->rank);
    TN_TRY(tn_infer_vector(infer, 1, "image_shape"));
    TN_TRY(tn_infer_vector(infer, 2, "block_shape"));
    const int64_t *image = tn_infer_ints(infer, 1, &n_image);
    const int64_t *block = tn_infer_ints(infer, 2, &n_block);
    if (!image || x->rank < 0 || n_image > TN_WINDOW_RANK)
        return tn_infer_set(infer, 0, x->dtype, -1, NULL);
    dims[0] = x->dims[0];
    dims[1] = TN_DIM_UNKNOWN;
    int64_t each = block && n_block ? tn_infer_product(infer, block, 0, n_block) : 0;
    if (each > 0) dims[1] = infer->dim_op(infer->self, TN_DIM_DIV, x->dims[1], each);
    for (uint32_t i = 0; i < n_image; i++) {
        dims[2 + i] = image[i];
        if (image[i] < 0 && !tn_dim_is_symbol(image[i]))
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "'image_shape' holds %lld, expected 0 or more", (long long)image[i]);
    }
    return tn_infer_set(infer, 0, x->dtype, (int32_t)n_image + 2, dims);
}

static tn_status create_col2im(const struct tn_kernel_ctx *ctx, void **out) {
    struct col2im_attrs attrs;
    TN_TRY(TN_ATTRS_READ(col2im, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct col2im), out));
    ((struct col2im *)*out)->node = ctx->node;
    return TN_OK;
}

/* ---- sums of each element type ----------------------------------------------------------- */

#define T uint8_t
#define NAME(x) x##_8
#include "ops/col2im_tmpl.h"
#undef T
#undef NAME
#define T uint16_t
#define NAME(x) x##_16
#include "ops/col2im_tmpl.h"
#undef T
#undef NAME
#define T uint32_t
#define NAME(x) x##_32
#include "ops/col2im_tmpl.h"
#undef T
#undef NAME
#define T uint64_t
#define NAME(x) x##_64
#include "ops/col2im_tmpl.h"
#undef T
#undef NAME
#define T float
#define NAME(x) x##_f32
#include "ops/col2im_tmpl.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "ops/col2im_tmpl.h"
#undef T
#undef NAME

/* The sum of truths is whether there is one. */
static void add_bool(void *dst, const void *src, size_t n, size_t stride, size_t parts) {
    uint8_t *y = dst;
    const uint8_t *x = src;
    (void)parts;
    for (size_t i = 0; i < n; i++)
        y[i * stride] |= x[i] != 0;
}

typedef void add_fn(void *dst, const void *src, size_t n, size_t stride, size_t parts);

static const struct sum {
    int32_t dtype;
    size_t parts, elem;
    add_fn *add;
} sums[] = {
    {TN_BOOL, 1, 1, add_bool}, {TN_UINT8, 1, 1, add_8}, {TN_INT8, 1, 1, add_8},
    {TN_UINT16, 1, 2, add_16}, {TN_INT16, 1, 2, add_16}, {TN_UINT32, 1, 4, add_32},
    {TN_INT32, 1, 4, add_32}, {TN_UINT64, 1, 8, add_64}, {TN_INT64, 1, 8, add_64},
    {TN_FLOAT, 1, 4, add_f32}, {TN_COMPLEX64, 2, 8, add_f32},
    {TN_COMPLEX128, 2, 16, add_f64},
    {TN_DOUBLE, 1, 8, add_f64}, /* the last: narrow floats are widened to it */
};

/* ---- run --------------------------------------------------------------------------------- */

struct job {
    const struct sum *sum;
    const char *columns;
    char *images;
    struct tn_window window;
    struct tn_window_geometry geometry;
    int64_t taps, blocks, pixels; /* of a block; of an image, before and after */
};

static int64_t ceil_div(int64_t a, int64_t b) {
    return a <= 0 ? 0 : (a - 1) / b + 1;
}

/* Adds what tap `tap` of all blocks gives to one image. */
static void add_tap(const struct job *job, int64_t tap, const char *src, char *dst) {
    const struct tn_window *w = &job->window;
    const struct tn_window_geometry *g = &job->geometry;
    uint32_t last = w->rank - 1;
    int64_t origin[TN_WINDOW_RANK];
    for (uint32_t i = w->rank; i-- > 0;) {
        origin[i] = tap % w->kernel[i] * w->dilation[i] - g->pad[i];
        tap /= w->kernel[i];
    }
    int64_t stride = w->stride[last], begin = ceil_div(-origin[last], stride);
    int64_t end = ceil_div(g->in[last] - origin[last], stride);
    if (end > g->out[last]) end = g->out[last];
    if (begin >= end) return;
    for (int64_t row = 0; row < job->blocks / g->out[last]; row++) {
        int64_t rest = row, at = 0, step = 1;
        bool inside = true;
        for (uint32_t i = last; i-- > 0;) {
            step *= g->in[i + 1];
            int64_t pixel = rest % g->out[i] * w->stride[i] + origin[i];
            rest /= g->out[i];
            inside = inside && pixel >= 0 && pixel < g->in[i];
            at += pixel * step;
        }
        if (!inside) continue;
        at += begin * stride + origin[last];
        job->sum->add(dst + (size_t)at * job->sum->elem,
            src + (size_t)(row * g->out[last] + begin) * job->sum->elem,
            (size_t)(end - begin), (size_t)stride, job->sum->parts);
    }
}

static void run_images(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        char *image = job->images + (size_t)(i * job->pixels) * job->sum->elem;
        memset(image, 0, (size_t)job->pixels * job->sum->elem);
        for (int64_t tap = 0; tap < job->taps; tap++)
            add_tap(job, tap,
                job->columns +
                    (size_t)((i * job->taps + tap) * job->blocks) * job->sum->elem,
                image);
    }
}

/* Sizes of the call from its inputs, checked against each other. */
static tn_status plan(struct job *job, const struct tn_node *node,
    const struct tn_run_args *args, int64_t *dims) {
    const struct tn_tensor *x = tn_in(args, 0), *image = tn_in(args, 1);
    const struct tn_tensor *block = tn_in(args, 2);
    struct tn_diag *diag = args->run->diag;
    int64_t n = tn_tensor_count(image), kernel[TN_WINDOW_RANK];
    if (x->rank != 3 || n < 1 || n > TN_WINDOW_RANK || tn_tensor_count(block) != n)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "input of rank %u with %lld sizes of an image and %lld of a block, expected "
            "rank 3 and the same number of 1 to %d sizes",
            x->rank, (long long)n, (long long)tn_tensor_count(block), TN_WINDOW_RANK);
    for (int64_t i = 0; i < n; i++) {
        kernel[i] = tn_tensor_int(block, i);
        dims[2 + i] = tn_tensor_int(image, i);
        if (kernel[i] < 1 || dims[2 + i] < 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "dimension %lld has an image of %lld and a block of %lld", (long long)i,
                (long long)dims[2 + i], (long long)kernel[i]);
    }
    TN_TRY(tn__window_parse(&job->window, node, (uint32_t)n, kernel, diag));
    TN_TRY(tn__window_geometry(&job->window, dims + 2, &job->geometry, diag));
    if (!tn_shape_count(kernel, (uint32_t)n, &job->taps) ||
        !tn_shape_count(job->geometry.out, (uint32_t)n, &job->blocks) ||
        !tn_shape_count(dims + 2, (uint32_t)n, &job->pixels) ||
        x->dims[1] % job->taps != 0 || x->dims[2] != job->blocks)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "input of %lld x %lld does not hold whole blocks of %lld elements at the "
            "%lld places of the image",
            (long long)x->dims[1], (long long)x->dims[2], (long long)job->taps,
            (long long)job->blocks);
    dims[0] = x->dims[0];
    dims[1] = x->dims[1] / job->taps;
    return TN_OK;
}

static tn_status compute_col2im(void *object, const struct tn_run_args *args) {
    const struct col2im *k = object;
    const struct tn_tensor *x = tn_in(args, 0);
    const struct sum *wide = &sums[TN_COUNT(sums) - 1];
    struct job job = {.sum = wide};
    int64_t dims[2 + TN_WINDOW_RANK];
    struct tn_tensor *y;
    TN_TRY(plan(&job, k->node, args, dims));
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, job.window.rank + 2, &y));
    if (tn_tensor_count(y) == 0) return TN_OK;
    for (size_t i = 0; i < TN_COUNT(sums); i++)
        if (sums[i].dtype == x->dtype) job.sum = &sums[i];
    bool narrow = job.sum == wide && x->dtype != TN_DOUBLE;
    const double *numbers = x->data;
    double *target = y->data;
    if (narrow) {
        TN_TRY(tn__doubles_read(&k->base, args, x, &numbers));
        TN_TRY(tn__doubles_target(args, y, &target));
    }
    job.columns = (const char *)numbers;
    job.images = (char *)target;
    tn_parallel(k->base.host, dims[0] * dims[1],
        (double)job.taps * (double)job.blocks + (double)job.pixels, run_images, &job);
    if (narrow) tn__doubles_write(&k->base, y, target);
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Col2Im"), TN_VERSIONS({18}),
        TN_INPUTS({"input", "T"}, {"image_shape", NULL, TN_BIT(INT64)},
            {"block_shape", NULL, TN_BIT(INT64)}),
        TN_OUTPUTS({"output", "T"}), TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}),
        TN_ATTRS(col2im), .infer = infer_col2im},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Col2Im", 18),
        TN_KERNEL_TYPES({"T", TN_TYPES_NUMBERS | TN_TYPES_COMPLEX | TN_BIT(BOOL)}),
        .create = create_col2im, .compute = compute_col2im},
};
/* clang-format on */

TN_FAMILY(col2im);
