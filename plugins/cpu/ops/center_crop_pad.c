/* CenterCropPad: the middle of a tensor, or the tensor in the middle of zeros. */
#include "loops/copy.h"
#include "ops/body.h"
#include "ops/ops.h"

/* clang-format off */
#define CROP_ATTRS(X, S) X(S, INTS, axes, )
/* clang-format on */
TN_ATTR_TABLE(crop, CROP_ATTRS)

struct crop {
    struct tn__kernel base;
    struct tn_attr_ints axes;
};

/* The axis that each of n wanted sizes speaks of: no axis twice. */
static tn_status resolve_axes(const struct tn_attr_ints *axes, uint32_t rank, int64_t n,
    uint32_t *out, struct tn_diag *diag) {
    uint64_t seen = 0;
    int64_t expected = axes->present ? (int64_t)axes->n : (int64_t)rank;
    TN_TRY(tn_rank_check(rank, diag));
    if (n != expected || n > (int64_t)rank)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "'shape' has %lld elements for %lld axes of a tensor of rank %u",
            (long long)n, (long long)expected, rank);
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
        out[i] = i;
        if (axes->present) TN_TRY(tn_axis_fix(axes->v[i], rank, &out[i], diag));
        if (seen >> out[i] & 1)
            return tn_fail(
                diag, TN_INVALID_MODEL, "attribute 'axes' names axis %u twice", out[i]);
        seen |= UINT64_C(1) << out[i];
    }
    return TN_OK;
}

static tn_status check_size(int64_t size, struct tn_diag *diag) {
    if (size >= 0) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT, "'shape' holds %lld, expected 0 or more",
        (long long)size);
}

static tn_status infer_crop(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct crop_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    uint32_t axes[TN_RANK_MAX], n = 0;
    TN_TRY(TN_ATTRS_READ(crop, infer->node, &attrs, infer->diag));
    if (!x) return TN_OK;
    if (x->rank < 0) return tn_infer_set(infer, 0, x->dtype, -1, NULL);
    TN_TRY(tn_rank_check(x->rank, infer->diag));
    TN_TRY(tn_infer_vector(infer, 1, "shape"));
    const int64_t *sizes = tn_infer_ints(infer, 1, &n);
    if (x->rank) memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    if (!sizes) n = attrs.axes.present ? attrs.axes.n : (uint32_t)x->rank;
    TN_TRY(resolve_axes(&attrs.axes, (uint32_t)x->rank, n, axes, infer->diag));
    for (uint32_t i = 0; i < n; i++) {
        dims[axes[i]] = sizes ? sizes[i] : TN_DIM_UNKNOWN;
        if (!tn_dim_is_symbol(dims[axes[i]]))
            TN_TRY(check_size(dims[axes[i]], infer->diag));
    }
    return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
}

static tn_status create_crop(const struct tn_kernel_ctx *ctx, void **out) {
    struct crop_attrs attrs;
    TN_TRY(TN_ATTRS_READ(crop, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct crop), out));
    ((struct crop *)*out)->axes = attrs.axes;
    return TN_OK;
}

static tn_status compute_crop(void *object, const struct tn_run_args *args) {
    const struct crop *crop = object;
    const struct tn_tensor *x = tn_in(args, 0), *shape = tn_in(args, 1);
    struct tn_diag *diag = args->run->diag;
    int64_t dims[TN_RANK_MAX], kept[TN_RANK_MAX], dst[TN_RANK_MAX], src[TN_RANK_MAX];
    uint32_t axes[TN_RANK_MAX];
    struct tn_tensor *y;
    struct tn__copy copy;
    TN_TRY(resolve_axes(&crop->axes, x->rank, tn_tensor_count(shape), axes, diag));
    if (x->rank) memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (int64_t i = 0; i < tn_tensor_count(shape); i++) {
        dims[axes[i]] = tn_tensor_int(shape, i);
        TN_TRY(check_size(dims[axes[i]], diag));
    }
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, x->rank, &y));
    if (tn_tensor_count(y) == 0) return TN_OK;
    memset(y->data, 0, y->size);
    for (uint32_t i = 0; i < x->rank; i++)
        kept[i] = dims[i] < x->dims[i] ? dims[i] : x->dims[i];
    tn__dense_steps(x->dims, x->rank, src);
    tn__dense_steps(dims, x->rank, dst);
    TN_TRY(tn__copy_plan(&copy, x->dtype, x->rank, kept, dst, src, diag));
    for (uint32_t i = 0; i < x->rank; i++) { /* the odd pixel lies at the end */
        copy.dst_offset += (dims[i] - kept[i]) / 2 * dst[i];
        copy.src_offset += (x->dims[i] - kept[i]) / 2 * src[i];
    }
    tn__copy_run(crop->base.host, &copy, y->data, x->data);
    return TN_OK;
}

/* For providers without a kernel of the whole: Slice what is kept, then Pad it. */
static tn_status expand_crop(const struct tn_rewrite *rw) {
    struct tn__body b;
    int64_t all[TN_RANK_MAX];
    TN_TRY(tn__body_begin(&b, rw));
    const struct tn_attr *attr = tn_node_attr(&b.node, "axes");
    int32_t rank = tn__body_type(&b, 0)->rank;
    if (!attr && (rank < 0 || rank > TN_RANK_MAX)) return TN_UNSUPPORTED;
    for (int32_t i = 0; !attr && i < rank; i++)
        all[i] = i;
    tn_value_id x = tn__body_input(&b, 0);
    tn_value_id axes = attr ? tn__body_ints(&b, attr->as.ints, attr->count)
                            : tn__body_ints(&b, all, (uint32_t)rank);
    tn_value_id wanted = TN_BODY_INT(&b, "Cast", "to", TN_INT64, tn__body_input(&b, 1));
    tn_value_id shape = TN_BODY_ADD(&b, "Shape", x);
    tn_value_id size = TN_BODY_ADD(&b, "Gather", shape, axes);
    tn_value_id kept = TN_BODY_ADD(&b, "Min", size, wanted);
    tn_value_id two = TN_BODY_INTS(&b, 2);
    tn_value_id start = TN_BODY_ADD(&b, "Div", TN_BODY_ADD(&b, "Sub", size, kept), two);
    tn_value_id end = TN_BODY_ADD(&b, "Add", start, kept);
    tn_value_id middle = TN_BODY_ADD(&b, "Slice", x, start, end, axes);
    tn_value_id more = TN_BODY_ADD(&b, "Sub", wanted, kept);
    tn_value_id before = TN_BODY_ADD(&b, "Div", more, two);
    tn_value_id after = TN_BODY_ADD(&b, "Sub", more, before);
    tn_value_id pads = TN_BODY_INT(&b, "Concat", "axis", 0, before, after);
    tn__body_output(&b, 0, TN_BODY_ADD(&b, "Pad", middle, pads, TN_NO_ID, axes));
    return b.status;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "CenterCropPad"), TN_VERSIONS({18}),
        TN_INPUTS({"input_data", "T"}, {"shape", "Tind"}), TN_OUTPUTS({"output_data", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}, {"Tind", TN_TYPES_INDEX}), TN_ATTRS(crop),
        .infer = infer_crop, .expand = expand_crop},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "CenterCropPad", 18), .create = create_crop, .compute = compute_crop},
};
/* clang-format on */

TN_FAMILY(center_crop_pad);
