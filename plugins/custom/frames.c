/* com.example.Frames: cuts the last axis into overlapping frames of `size` elements, one
 * every `step`: [..., N] becomes [..., F, size], F = (N - size) / step + 1. Attributes, and
 * inference that computes with sizes that are not known yet (an N of "samples" gives an F of
 * "(samples - size) / step + 1"). */
#include "custom.h"

#define FRAMES_ATTRS(X, S) X(S, INT_REQUIRED, size, ) X(S, INT, step, 1)
TN_ATTR_TABLE(frames, FRAMES_ATTRS)

static tn_status read_frames(
    const struct tn_node *node, struct frames_attrs *out, struct tn_diag *diag) {
    TN_TRY(TN_ATTRS_READ(frames, node, out, diag));
    if (out->size >= 1 && out->step >= 1) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "size is %lld and step %lld, expected at least 1", (long long)out->size,
        (long long)out->step);
}

static tn_status infer_frames(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct frames_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    TN_TRY(read_frames(infer->node, &attrs, infer->diag));
    if (!x || x->rank < 0) return tn_infer_set(infer, 0, x ? x->dtype : 0, -1, NULL);
    TN_TRY(tn_rank_check((int64_t)x->rank + 1, infer->diag));
    if (x->rank < 1)
        return tn_fail(
            infer->diag, TN_INVALID_ARGUMENT, "X is a scalar, expected an axis");
    int64_t n = x->dims[x->rank - 1];
    if (n >= 0 && n < attrs.size)
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "the last axis has %lld elements, fewer than one frame of %lld", (long long)n,
            (long long)attrs.size);
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    n = infer->dim_op(infer->self, TN_DIM_SUB, n, attrs.size);
    n = infer->dim_op(infer->self, TN_DIM_DIV, n, attrs.step);
    dims[x->rank - 1] = infer->dim_op(infer->self, TN_DIM_ADD, n, 1);
    dims[x->rank] = attrs.size;
    return tn_infer_set(infer, 0, x->dtype, x->rank + 1, dims);
}

struct frames_kernel {
    struct tn_kernel_head head;
    struct frames_attrs attrs;
};

static tn_status create_frames(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct frames_kernel), out));
    struct frames_kernel *kernel = *out;
    return tn_kernel_ready(read_frames(ctx->node, &kernel->attrs, ctx->diag), out);
}

static tn_status compute_frames(void *object, const struct tn_run_args *args) {
    const struct frames_kernel *kernel = object;
    const struct tn_tensor *x = tn_in(args, 0);
    struct tn_tensor *y = tn_out(args, 0);
    int64_t n = x->dims[x->rank - 1], frames = y->dims[x->rank - 1];
    int64_t rows = tn_dims_product(x->dims, 0, x->rank - 1);
    size_t element = tn_dtype_bits(x->dtype) / 8;
    size_t bytes = (size_t)kernel->attrs.size * element;
    const char *src = x->data;
    char *dst = y->data;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t f = 0; f < frames; f++, dst += bytes)
            memcpy(dst, src + (size_t)(r * n + f * kernel->attrs.step) * element, bytes);
    }
    return TN_OK;
}

/* clang-format off */
const struct tn_op_def custom_frames = {
    TN_DEF("com.example", "Frames"),
    TN_VERSIONS({1}),
    TN_INPUTS({"X", "T"}),
    TN_OUTPUTS({"Y", "T"}),
    TN_TYPE_VARS({"T", TN_TYPES_NUMBERS}),
    TN_ATTRS(frames),
    .infer = infer_frames,
    .doc = "overlapping frames of the last axis"};
const struct tn_kernel_def custom_frames_cpu = {
    TN_KERNEL_OF("com.example", "Frames", 1),
    .create = create_frames,
    .compute = compute_frames};
/* clang-format on */
