/* MaxUnpool: values back at the places that MaxPool's Indices name, zeros elsewhere. */
#include "ops/ops.h"
#include "ops/window.h"

/* clang-format off */
#define UNPOOL_ATTRS(X, S)                                                               \
    X(S, INTS_REQUIRED, kernel_shape, ) X(S, INTS, pads, ) X(S, INTS, strides, )
/* clang-format on */
TN_ATTR_TABLE(unpool, UNPOOL_ATTRS)

struct unpool {
    struct tn__kernel base;
    const struct tn_node *node;
};

static tn_status check_rank(int64_t rank, struct tn_diag *diag) {
    if (rank >= 3 && rank <= 2 + TN_WINDOW_RANK) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT, "X has rank %lld, expected 3 to %d",
        (long long)rank, 2 + TN_WINDOW_RANK);
}

static tn_status infer_unpool(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct tn_window w;
    int64_t dims[2 + TN_WINDOW_RANK];
    uint32_t n = 0;
    if (!x) return TN_OK;
    if (x->rank < 0) return tn_infer_set(infer, 0, x->dtype, -1, NULL);
    TN_TRY(check_rank(x->rank, infer->diag));
    TN_TRY(tn__window_parse(&w, infer->node, (uint32_t)x->rank - 2, NULL, infer->diag));
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    const int64_t *wanted = tn_infer_ints(infer, 2, &n);
    if (tn_infer_has(infer->node, 2)) {
        for (int32_t i = 0; i < x->rank; i++) {
            dims[i] = wanted && n == (uint32_t)x->rank ? wanted[i] : TN_DIM_UNKNOWN;
            if (dims[i] < 0 && !tn_dim_is_symbol(dims[i])) dims[i] = TN_DIM_UNKNOWN;
        }
        return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
    }
    for (uint32_t i = 0; i < w.rank; i++) {
        int64_t less = infer->dim_op(infer->self, TN_DIM_SUB, x->dims[2 + i], 1);
        less = infer->dim_op(infer->self, TN_DIM_MUL, less, w.stride[i]);
        int64_t more = w.kernel[i] - w.pad_begin[i] - w.pad_end[i];
        dims[2 + i] = infer->dim_op(infer->self, TN_DIM_ADD, less, more);
        if (dims[2 + i] < 0 && !tn_dim_is_symbol(dims[2 + i]))
            dims[2 + i] = TN_DIM_UNKNOWN;
    }
    return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
}

static tn_status create_unpool(const struct tn_kernel_ctx *ctx, void **out) {
    struct unpool_attrs attrs;
    TN_TRY(TN_ATTRS_READ(unpool, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct unpool), out));
    ((struct unpool *)*out)->node = ctx->node;
    return TN_OK;
}

/* The shape that was pooled, which the indices count in. */
static tn_status pooled_shape(const struct unpool *k, const struct tn_tensor *x,
    int64_t *dims, struct tn_diag *diag) {
    struct tn_window w;
    int64_t count;
    TN_TRY(tn__window_parse(&w, k->node, x->rank - 2, NULL, diag));
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    for (uint32_t i = 0; i < w.rank; i++) {
        int64_t steps = x->dims[2 + i] - 1;
        if (steps > 0 && w.stride[i] > INT64_MAX / 4 / steps)
            return tn_fail(
                diag, TN_LIMIT_EXCEEDED, "spatial dimension %u is too large", i);
        dims[2 + i] = steps * w.stride[i] + w.kernel[i] - w.pad_begin[i] - w.pad_end[i];
        if (dims[2 + i] < 0) dims[2 + i] = 0;
    }
    if (!tn_shape_count(dims, x->rank, &count))
        return tn_fail(diag, TN_LIMIT_EXCEEDED, "the unpooled shape is too large");
    return TN_OK;
}

/* The shape that output_shape asks for, which must hold the pooled one. */
static tn_status wanted_shape(const struct tn_tensor *wanted, const int64_t *pooled,
    uint32_t rank, int64_t *dims, struct tn_diag *diag) {
    if (tn_tensor_count(wanted) != rank)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "output_shape has %lld elements, expected %u",
            (long long)tn_tensor_count(wanted), rank);
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = tn_tensor_int(wanted, i);
        if (dims[i] < pooled[i])
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "output_shape[%u] is %lld, expected %lld or more", i, (long long)dims[i],
                (long long)pooled[i]);
    }
    return TN_OK;
}

/* Position in a shape of the element that stands at `index` of a smaller one. */
static int64_t move_index(
    int64_t index, const int64_t *from, const int64_t *to, uint32_t rank) {
    int64_t at = 0, step = 1;
    for (uint32_t i = rank; i-- > 0;) {
        at += index % from[i] * step;
        index /= from[i];
        step *= to[i];
    }
    return at;
}

/* One after the other: of equal indices the last one wins. */
static tn_status compute_unpool(void *object, const struct tn_run_args *args) {
    const struct tn_tensor *x = tn_in(args, 0), *idx = tn_in(args, 1);
    const struct tn_tensor *wanted = tn_in(args, 2);
    struct tn_diag *diag = args->run->diag;
    struct tn_tensor *y;
    int64_t pooled[2 + TN_WINDOW_RANK], dims[2 + TN_WINDOW_RANK];
    TN_TRY(check_rank(x->rank, diag));
    if (!tn_dims_equal(x->dims, x->rank, idx->dims, idx->rank))
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "the indices have not the shape of the values");
    TN_TRY(pooled_shape(object, x, pooled, diag));
    memcpy(dims, pooled, sizeof dims);
    if (wanted) TN_TRY(wanted_shape(wanted, pooled, x->rank, dims, diag));
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, x->rank, &y));
    int64_t n = tn_tensor_count(x), places = tn_dims_product(pooled, 0, x->rank);
    size_t elem = tn_dtype_bits(x->dtype) / 8;
    if (y->size > 0) memset(y->data, 0, y->size);
    for (int64_t i = 0; i < n; i++) {
        int64_t index = tn_tensor_int(idx, i);
        if (index < 0 || index >= places)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "index %lld at position %lld is outside [0, %lld)", (long long)index,
                (long long)i, (long long)places);
        int64_t at = wanted ? move_index(index, pooled, dims, x->rank) : index;
        memcpy((char *)y->data + (size_t)at * elem,
            (const char *)x->data + (size_t)i * elem, elem);
    }
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "MaxUnpool"), TN_VERSIONS({9}, {11}, {22}),
        TN_INPUTS({"X", "T1"}, {"I", "T2"}, {"output_shape", "T2", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output", "T1"}),
        TN_TYPE_VARS({"T1", TN_TYPES_FLOATS}, {"T2", TN_BIT(INT64)}), TN_ATTRS(unpool),
        .infer = infer_unpool},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "MaxUnpool", 22), .create = create_unpool, .compute = compute_unpool},
};
/* clang-format on */

TN_FAMILY(max_unpool);
