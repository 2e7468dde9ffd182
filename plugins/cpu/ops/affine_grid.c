/* AffineGrid: the places at which an affine map of the unit square or cube samples an image.
 */
#include "ops/body.h"
#include "ops/doubles.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define AFFINE_ATTRS(X, S) X(S, INT, align_corners, 0)
/* clang-format on */
TN_ATTR_TABLE(affine, AFFINE_ATTRS)

struct affine {
    struct tn__kernel base;
    bool align;
};

static tn_status check_size_count(int64_t n, struct tn_diag *diag) {
    if (n == 4 || n == 5) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "'size' has %lld elements, expected 4 (N, C, H, W) or 5 (N, C, D, H, W)",
        (long long)n);
}

static tn_status infer_affine(const struct tn_infer *infer) {
    const struct tn_type *theta = tn_infer_input(infer, 0),
                         *size = tn_infer_input(infer, 1);
    uint32_t n = 0;
    int64_t dims[5];
    if (!theta) return TN_OK;
    TN_TRY(tn_infer_vector(infer, 1, "size"));
    const int64_t *sizes = tn_infer_ints(infer, 1, &n);
    if (!sizes && size && size->rank == 1 && size->dims[0] >= 0)
        n = (uint32_t)size->dims[0];
    if (n == 0) return tn_infer_set(infer, 0, theta->dtype, -1, NULL);
    TN_TRY(check_size_count(n, infer->diag));
    dims[0] = sizes ? sizes[0] : TN_DIM_UNKNOWN;
    for (uint32_t i = 2; i < n; i++)
        dims[i - 1] = sizes ? sizes[i] : TN_DIM_UNKNOWN;
    dims[n - 1] = n - 2;
    for (uint32_t i = 0; i < n; i++)
        if (dims[i] < 0 && !tn_dim_is_symbol(dims[i]))
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT, "size %lld is negative",
                (long long)dims[i]);
    return tn_infer_set(infer, 0, theta->dtype, (int32_t)n, dims);
}

static tn_status create_affine(const struct tn_kernel_ctx *ctx, void **out) {
    struct affine_attrs attrs;
    TN_TRY(TN_ATTRS_READ(affine, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct affine), out));
    ((struct affine *)*out)->align = attrs.align_corners != 0;
    return TN_OK;
}

struct job {
    const double *theta; /* [N, axes, axes + 1] */
    double *grid;        /* [N, sizes…, axes] */
    const int64_t *sizes;
    uint32_t axes;
    bool align;
    int64_t points;
};

/* Pixel i of n in [-1, 1]: from centre to centre of the outermost, or from edge to edge. */
static double normalize(int64_t i, int64_t n, bool align) {
    if (align) return n > 1 ? 2.0 * (double)i / (double)(n - 1) - 1 : -1;
    return (2.0 * (double)i + 1) / (double)n - 1;
}

static void place_points(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    uint32_t axes = job->axes;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const double *theta = job->theta + i / job->points * axes * (axes + 1);
        int64_t rest = i % job->points;
        double at[3]; /* x, y, z: the innermost axis first */
        for (uint32_t k = 0; k < axes; k++) {
            int64_t n = job->sizes[axes - 1 - k];
            at[k] = normalize(rest % n, n, job->align);
            rest /= n;
        }
        for (uint32_t row = 0; row < axes; row++, theta += axes + 1) {
            double sum = theta[axes];
            for (uint32_t k = 0; k < axes; k++)
                sum += theta[k] * at[k];
            job->grid[i * axes + row] = sum;
        }
    }
}

static tn_status compute_affine(void *kernel, const struct tn_run_args *args) {
    const struct affine *affine = kernel;
    const struct tn_tensor *theta = tn_in(args, 0), *size = tn_in(args, 1);
    struct tn_diag *diag = args->run->diag;
    struct tn_tensor *grid;
    int64_t dims[5], n = tn_tensor_count(size);
    TN_TRY(check_size_count(n, diag));
    uint32_t axes = (uint32_t)n - 2;
    for (int64_t i = 0; i < n; i++)
        if (tn_tensor_int(size, i) < 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT, "size %lld is negative",
                (long long)tn_tensor_int(size, i));
    dims[0] = tn_tensor_int(size, 0);
    if (theta->rank != 3 || theta->dims[0] != dims[0] || theta->dims[1] != axes ||
        theta->dims[2] != axes + 1)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "theta does not hold %lld matrices of %u x %u, as 'size' asks for",
            (long long)dims[0], axes, axes + 1);
    for (uint32_t i = 0; i < axes; i++)
        dims[1 + i] = tn_tensor_int(size, 2 + i);
    dims[1 + axes] = axes;
    TN_TRY(tn_out_shaped(args, 0, theta->dtype, dims, axes + 2, &grid));
    struct job job = {.sizes = dims + 1, .axes = axes, .align = affine->align};
    job.points = tn_dims_product(dims, 1, 1 + axes);
    if (tn_tensor_count(grid) == 0) return TN_OK;
    TN_TRY(tn__doubles_read(&affine->base, args, theta, &job.theta));
    TN_TRY(tn__doubles_target(args, grid, &job.grid));
    tn_parallel(affine->base.host, dims[0] * job.points, 15, place_points, &job);
    tn__doubles_write(&affine->base, grid, job.grid);
    return TN_OK;
}

/* ---- body -------------------------------------------------------------------------------- */

static tn_value_id part(
    struct tn__body *b, tn_value_id list, int64_t begin, int64_t end) {
    return TN_BODY_ADD(b, "Slice", list, TN_BODY_INTS(b, begin), TN_BODY_INTS(b, end));
}

/* The coordinates along one spatial axis, of shape [1, …, size, …, 1, 1]. */
static tn_value_id axis_places(
    struct tn__body *b, int64_t axis, int64_t axes, int64_t dtype, bool align) {
    int64_t shape[4] = {1, 1, 1, 1};
    shape[axis] = -1;
    tn_value_id zero = TN_BODY_ADD(b, "Squeeze", TN_BODY_INTS(b, 0));
    tn_value_id one = TN_BODY_ADD(b, "Squeeze", TN_BODY_INTS(b, 1));
    tn_value_id size =
        TN_BODY_ADD(b, "Squeeze", part(b, tn__body_input(b, 1), 2 + axis, 3 + axis));
    tn_value_id index = TN_BODY_ADD(b, "Range", zero, size, one);
    tn_value_id twice = TN_BODY_ADD(b, "Add", index, index);
    tn_value_id span = size;
    if (align)
        span = TN_BODY_ADD(b, "Max", TN_BODY_ADD(b, "Sub", size, one), one);
    else
        twice = TN_BODY_ADD(b, "Add", twice, one);
    tn_value_id ratio = TN_BODY_ADD(b, "Div", TN_BODY_INT(b, "Cast", "to", dtype, twice),
        TN_BODY_INT(b, "Cast", "to", dtype, span));
    tn_value_id place =
        TN_BODY_ADD(b, "Sub", ratio, tn__body_number(b, (int32_t)dtype, 1));
    return TN_BODY_ADD(b, "Reshape", place, tn__body_ints(b, shape, (uint32_t)axes + 1));
}

/* For providers without a kernel of the whole: the places with a 1 behind, times theta. */
static tn_status expand_affine(const struct tn_rewrite *rw) {
    struct tn__body b;
    tn_value_id columns[4];
    static const int64_t order[] = {0, 2, 1};
    const struct tn_attr perm = {"perm", TN_ATTR_INTS, 3, {.ints = order}, NULL};
    TN_TRY(tn__body_begin(&b, rw));
    const struct tn_type *size_type = tn__body_type(&b, 1);
    const struct tn_attr *align = tn_node_attr(&b.node, "align_corners");
    int64_t dtype = tn__body_type(&b, 0)->dtype;
    if (size_type->rank != 1 || dtype <= 0) return TN_UNSUPPORTED;
    int64_t axes = size_type->dims[0] - 2;
    if (axes != 2 && axes != 3) return TN_UNSUPPORTED;
    bool aligned = align && align->type == TN_ATTR_INT && align->as.ints[0] != 0;
    tn_value_id theta = tn__body_input(&b, 0), size = tn__body_input(&b, 1);
    tn_value_id batch = part(&b, size, 0, 1), spatial = part(&b, size, 2, axes + 2);
    tn_value_id full = TN_BODY_INT(&b, "Concat", "axis", 0, spatial, TN_BODY_INTS(&b, 1));
    for (int64_t i = 0; i < axes; i++)
        columns[axes - 1 - i] =
            TN_BODY_ADD(&b, "Expand", axis_places(&b, i, axes, dtype, aligned), full);
    columns[axes] =
        TN_BODY_ADD(&b, "Expand", tn__body_number(&b, (int32_t)dtype, 1), full);
    tn_value_id places =
        tn__body_int(&b, "Concat", "axis", axes, columns, (uint32_t)axes + 1);
    places = TN_BODY_ADD(&b, "Reshape", places, TN_BODY_INTS(&b, -1, axes + 1));
    tn_value_id turned = tn__body_add(&b, "Transpose", &theta, 1, &perm, 1);
    tn_value_id grid = TN_BODY_ADD(&b, "MatMul", places, turned);
    tn_value_id shape =
        TN_BODY_INT(&b, "Concat", "axis", 0, batch, spatial, TN_BODY_INTS(&b, axes));
    tn__body_output(&b, 0, TN_BODY_ADD(&b, "Reshape", grid, shape));
    return b.status;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "AffineGrid"), TN_VERSIONS({20}),
        TN_INPUTS({"theta", "T1"}, {"size", "T2"}), TN_OUTPUTS({"grid", "T1"}),
        TN_TYPE_VARS({"T1", TN_TYPES_FLOATS}, {"T2", TN_BIT(INT64)}), TN_ATTRS(affine),
        .infer = infer_affine, .expand = expand_affine},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "AffineGrid", 20), .create = create_affine, .compute = compute_affine},
};
/* clang-format on */

TN_FAMILY(affine_grid);
