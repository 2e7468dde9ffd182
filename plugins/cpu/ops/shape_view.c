/* Operators that give the same elements another shape, or tell the shape: Reshape Flatten
 * Squeeze Unsqueeze Identity Shape Size. Nothing is computed here: views share memory, and
 * the kernels copy where the host could not let them. */
#include "ops/ops.h"

/* clang-format off */
#define RESHAPE_ATTRS(X, S) X(S, INT, allowzero, 0)
#define FLATTEN_ATTRS(X, S) X(S, INT, axis, 1)
#define SHAPE_ATTRS(X, S) X(S, INT, start, 0) X(S, INT, end, INT64_MAX)
TN_ATTR_TABLE(reshape, RESHAPE_ATTRS)
TN_ATTR_TABLE(flatten, FLATTEN_ATTRS)
TN_ATTR_TABLE(shape, SHAPE_ATTRS)
/* clang-format on */

/* ---- upgrades ------------------------------------------------------------------------- */

/* Reshape-5: the attribute became an input. */
static tn_status upgrade_reshape_5(const struct tn_rewrite *rw) {
    if (!tn_node_attr(rw->api->node(rw->graph, rw->node), "shape"))
        return tn_fail(rw->diag, TN_INVALID_MODEL,
            "attribute 'shape' is missing, which version 1 requires");
    TN_TRY(tn__upgrade_drop_consumed(rw));
    return tn__upgrade_ints_to_input(rw, "shape", 1);
}

/* Squeeze-13, Unsqueeze-13: likewise. */
static tn_status upgrade_axes_13(const struct tn_rewrite *rw) {
    return tn__upgrade_ints_to_input(rw, "axes", 1);
}

/* ---- inference ------------------------------------------------------------------------ */

/* Resolves a wanted shape against the input's; -1 takes what is left over. */
static tn_status reshape_dims(const struct tn_infer *infer, const int64_t *wanted,
    uint32_t n, int allowzero, int64_t *dims) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    int64_t left = in && in->rank >= 0
                       ? tn_infer_product(infer, in->dims, 0, (uint32_t)in->rank)
                       : TN_DIM_UNKNOWN;
    int64_t known = 1;
    int32_t rest = -1;
    TN_TRY(tn_rank_check(n, infer->diag));
    for (uint32_t i = 0; i < n; i++) {
        dims[i] = wanted[i];
        if (wanted[i] == -1) {
            if (rest >= 0)
                return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                    "the shape wants -1 twice, at %d and %u; one dimension can be "
                    "inferred",
                    (int)rest, i);
            rest = (int32_t)i;
            dims[i] = TN_DIM_UNKNOWN;
            continue;
        }
        if (wanted[i] == 0 && !allowzero) {
            if (in && in->rank >= 0 && i >= (uint32_t)in->rank)
                return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                    "the shape's 0 at %u copies a dimension that the input of rank %d "
                    "lacks",
                    i, (int)in->rank);
            dims[i] = in && in->rank >= 0 ? in->dims[i] : TN_DIM_UNKNOWN;
        } else if (wanted[i] < -1 && !tn_dim_is_symbol(wanted[i])) {
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "the shape holds %lld at %u; sizes are -1, 0 or positive",
                (long long)wanted[i], i);
        }
        known = infer->dim_op(infer->self, TN_DIM_MUL, known, dims[i]);
    }
    if (rest >= 0 && known == 0 && left == 0)
        dims[rest] = 0;
    else if (rest >= 0)
        dims[rest] = infer->dim_op(infer->self, TN_DIM_DIV, left, known);
    if (left >= 0 && known >= 0 &&
        (rest < 0 ? left != known : (known ? left % known != 0 : left != 0)))
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "%lld elements do not fit the wanted shape, whose known part has %lld",
            (long long)left, (long long)known);
    return TN_OK;
}

/* A 1-d content passes unchanged through views that keep it of rank 0 or 1. */
static tn_status forward_value(const struct tn_infer *infer, int32_t rank) {
    uint32_t n;
    const int64_t *content = tn_infer_ints(infer, 0, &n);
    if (!content || rank > 1 || (rank == 0 && n != 1)) return TN_OK;
    return infer->set_dims_value(infer->self, 0, content, n);
}

static tn_status infer_reshape(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    const struct tn_type *shape = tn_infer_input(infer, 1);
    struct reshape_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    uint32_t n;
    if (!in) return TN_OK;
    TN_TRY(TN_ATTRS_READ(reshape, infer->node, &attrs, infer->diag));
    TN_TRY(tn_infer_vector(infer, 1, "shape"));
    const int64_t *wanted = tn_infer_ints(infer, 1, &n);
    if (!wanted) { /* the length of the shape is at least the rank */
        bool ranked = shape && shape->rank == 1 && shape->dims[0] >= 0 &&
                      shape->dims[0] <= TN_RANK_MAX;
        int32_t rank = ranked ? (int32_t)shape->dims[0] : -1;
        for (int32_t i = 0; i < rank; i++)
            dims[i] = TN_DIM_UNKNOWN;
        return tn_infer_set(infer, 0, in->dtype, rank, dims);
    }
    TN_TRY(reshape_dims(infer, wanted, n, attrs.allowzero != 0, dims));
    TN_TRY(tn_infer_set(infer, 0, in->dtype, (int32_t)n, dims));
    return forward_value(infer, (int32_t)n);
}

static tn_status infer_flatten(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct flatten_attrs attrs;
    if (!in) return TN_OK;
    TN_TRY(TN_ATTRS_READ(flatten, infer->node, &attrs, infer->diag));
    int64_t dims[2] = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN};
    if (in->rank >= 0) {
        int64_t axis = attrs.axis < 0 ? attrs.axis + in->rank : attrs.axis;
        if (axis < 0 || axis > in->rank)
            return tn_fail(infer->diag, TN_INVALID_MODEL, "axis %lld is outside [%d, %d]",
                (long long)attrs.axis, (int)-in->rank, (int)in->rank);
        dims[0] = tn_infer_product(infer, in->dims, 0, (uint32_t)axis);
        dims[1] = tn_infer_product(infer, in->dims, (uint32_t)axis, (uint32_t)in->rank);
    }
    return tn_infer_set(infer, 0, in->dtype, 2, dims);
}

/* Marks the axes named by input 1 in a set of `rank` axes; *out_known = 0 when they are
 * not known. */
static tn_status axes_mask(const struct tn_infer *infer, int64_t rank, uint64_t *out_mask,
    uint32_t *out_count, int *out_known) {
    const int64_t *axes = tn_infer_ints(infer, 1, out_count);
    *out_mask = 0;
    *out_known = axes != NULL;
    for (uint32_t i = 0; axes && i < *out_count; i++) {
        uint32_t axis = 0;
        if (tn_dim_is_symbol(axes[i])) {
            *out_known = 0;
            return TN_OK;
        }
        TN_TRY(tn_axis_fix(axes[i], rank, &axis, infer->diag));
        if (*out_mask >> axis & 1)
            return tn_fail(infer->diag, TN_INVALID_MODEL, "axis %u is named twice", axis);
        *out_mask |= UINT64_C(1) << axis;
    }
    return TN_OK;
}

static tn_status infer_squeeze(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    int64_t dims[TN_RANK_MAX];
    uint64_t mask = 0;
    uint32_t n = 0, rank = 0;
    int known = 1, all = !tn_infer_has(infer->node, 1);
    if (!in) return TN_OK;
    TN_TRY(tn_infer_vector(infer, 1, "axes"));
    if (in->rank < 0) return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    TN_TRY(tn_rank_check(in->rank, infer->diag));
    if (!all) TN_TRY(axes_mask(infer, in->rank, &mask, &n, &known));
    for (uint32_t i = 0; i < (uint32_t)in->rank; i++) {
        int64_t dim = in->dims[i];
        if (all && dim < 0) known = 0;
        if (all ? dim == 1 : (mask >> i & 1) != 0) {
            if (dim >= 0 && dim != 1)
                return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                    "axis %u has size %lld and cannot be squeezed; only size 1 can", i,
                    (long long)dim);
        } else {
            dims[rank++] = dim;
        }
    }
    if (!known) return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    TN_TRY(tn_infer_set(infer, 0, in->dtype, (int32_t)rank, dims));
    return forward_value(infer, (int32_t)rank);
}

static tn_status infer_unsqueeze(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    int64_t dims[TN_RANK_MAX];
    uint64_t mask;
    uint32_t n = 0;
    int known;
    if (!in) return TN_OK;
    TN_TRY(tn_infer_vector(infer, 1, "axes"));
    tn_infer_ints(infer, 1, &n);
    if (in->rank < 0 || n == 0) {
        bool none = n == 0 && in->rank >= 0 && tn_infer_input(infer, 1) &&
                    tn_infer_input(infer, 1)->rank == 1 &&
                    tn_infer_input(infer, 1)->dims[0] == 0;
        if (none) return tn_infer_like(infer, 0, 0);
        return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    }
    uint32_t rank = (uint32_t)in->rank + n, from = 0;
    TN_TRY(tn_rank_check(rank, infer->diag));
    TN_TRY(axes_mask(infer, rank, &mask, &n, &known));
    for (uint32_t i = 0; i < rank; i++) {
        if (!known)
            dims[i] = TN_DIM_UNKNOWN;
        else
            dims[i] = mask >> i & 1 ? 1 : in->dims[from++];
    }
    TN_TRY(tn_infer_set(infer, 0, in->dtype, (int32_t)rank, dims));
    return forward_value(infer, (int32_t)rank);
}

static tn_status infer_identity(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    TN_TRY(tn_infer_like(infer, 0, 0));
    if (!in || in->kind != TN_KIND_TENSOR) return TN_OK;
    return forward_value(infer, in->rank);
}

/* Start or end of Shape: from the back when negative, clamped to the rank. */
static int64_t clamp_position(int64_t position, int64_t rank) {
    if (position < 0) position = position < -rank ? 0 : position + rank;
    return position > rank ? rank : position;
}

static tn_status infer_shape(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct shape_attrs attrs;
    int64_t n = TN_DIM_UNKNOWN;
    TN_TRY(TN_ATTRS_READ(shape, infer->node, &attrs, infer->diag));
    if (!in || in->rank < 0) return tn_infer_set(infer, 0, TN_INT64, 1, &n);
    int64_t start = clamp_position(attrs.start, in->rank);
    int64_t end = clamp_position(attrs.end, in->rank);
    n = end > start ? end - start : 0;
    TN_TRY(tn_infer_set(infer, 0, TN_INT64, 1, &n));
    return infer->set_dims_value(infer->self, 0, n ? in->dims + start : &n, (uint32_t)n);
}

static tn_status infer_size(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    TN_TRY(tn_infer_set(infer, 0, TN_INT64, 0, NULL));
    if (!in || in->rank < 0) return TN_OK;
    int64_t n = tn_infer_product(infer, in->dims, 0, (uint32_t)in->rank);
    return infer->set_dims_value(infer->self, 0, &n, 1);
}

/* ---- what needs no node ---------------------------------------------------------------- */

static int32_t elide_always(const struct tn_infer *infer) {
    (void)infer;
    return 0;
}

/* Reshape to the shape the input has. */
static int32_t elide_reshape(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    uint32_t n;
    const int64_t *wanted = tn_infer_ints(infer, 1, &n);
    int unknown = 0;
    if (!in || !wanted || in->rank != (int32_t)n) return -1;
    for (uint32_t i = 0; i < n; i++) {
        if (tn_dim_same(wanted[i], in->dims[i])) continue;
        struct reshape_attrs attrs;
        if (TN_ATTRS_READ(reshape, infer->node, &attrs, NULL) != TN_OK) return -1;
        if (wanted[i] == 0 && !attrs.allowzero) continue;
        if (wanted[i] != -1 || unknown++) return -1;
        if (in->dims[i] < 0 && in->dims[i] == TN_DIM_UNKNOWN && n > 1) return -1;
    }
    return 0;
}

/* Squeeze and Unsqueeze that change no rank. */
static int32_t elide_no_axes(const struct tn_infer *infer) {
    uint32_t n;
    if (!tn_infer_has(infer->node, 1)) { /* Squeeze of everything of size 1 */
        const struct tn_type *in = tn_infer_input(infer, 0);
        if (!in || in->rank < 0) return -1;
        for (int32_t i = 0; i < in->rank; i++)
            if (in->dims[i] < 0 || in->dims[i] == 1) return -1;
        return 0;
    }
    return tn_infer_ints(infer, 1, &n) && n == 0 ? 0 : -1;
}

/* ---- kernels -------------------------------------------------------------------------- */

/* The output's shape was inferred, at the latest when the shape input was computed. */
static tn_status compute_view(void *kernel, const struct tn_run_args *args) {
    const struct tn_tensor *in = tn_in(args, 0);
    struct tn_tensor *out = tn_out(args, 0);
    (void)kernel;
    if (!in || !out || (out->rank == 0 && !out->data)) /* no inference has placed it */
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "the output's shape does not follow from the inputs");
    if (out->size != in->size)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "%llu bytes of input do not fill an output of %llu bytes",
            (unsigned long long)in->size, (unsigned long long)out->size);
    if (in->size > 0 && out->data != in->data) memmove(out->data, in->data, in->size);
    return TN_OK;
}

static tn_status compute_identity(void *kernel, const struct tn_run_args *args) {
    if (args->inputs[0].kind != TN_KIND_TENSOR)
        return args->run->output_set(args->run, args, 0, &args->inputs[0]);
    return compute_view(kernel, args);
}

struct shape_kernel {
    struct tn__kernel base;
    struct shape_attrs attrs;
};

static tn_status create_shape(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct shape_kernel), out));
    struct shape_kernel *kernel = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(shape, ctx->node, &kernel->attrs, ctx->diag), out);
}

static tn_status compute_shape(void *object, const struct tn_run_args *args) {
    const struct shape_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0);
    int64_t start = clamp_position(kernel->attrs.start, in->rank);
    int64_t end = clamp_position(kernel->attrs.end, in->rank);
    int64_t n = end > start ? end - start : 0;
    struct tn_tensor *out;
    TN_TRY(tn_out_shaped(args, 0, TN_INT64, &n, 1, &out));
    if (n > 0) memcpy(out->data, in->dims + start, (size_t)n * sizeof(int64_t));
    return TN_OK;
}

static tn_status compute_size(void *kernel, const struct tn_run_args *args) {
    int64_t n = tn_tensor_count(tn_in(args, 0));
    (void)kernel;
    memcpy(tn_out(args, 0)->data, &n, sizeof n);
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Reshape"),
        TN_VERSIONS({1}, {5, 0, upgrade_reshape_5}, {13}, {14}, {19}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"data", "T"}, {"shape", NULL, TN_BIT(INT64)}),
        TN_OUTPUTS({"reshaped", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_ALL}),
        TN_ATTRS(reshape), .infer = infer_reshape, .elide = elide_reshape},
    {TN_DEF("", "Flatten"),
        TN_VERSIONS({1}, {9}, {11}, {13}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"input", "T"}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_ALL}),
        TN_ATTRS(flatten), .infer = infer_flatten},
    {TN_DEF("", "Squeeze"),
        TN_VERSIONS({1}, {11}, {13, 0, upgrade_axes_13}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"data", "T"}, {"axes", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"squeezed", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_ALL}),
        .infer = infer_squeeze, .elide = elide_no_axes},
    {TN_DEF("", "Unsqueeze"),
        TN_VERSIONS({1}, {11}, {13, 0, upgrade_axes_13}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"data", "T"}, {"axes", NULL, TN_BIT(INT64)}),
        TN_OUTPUTS({"expanded", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_ALL}),
        .infer = infer_unsqueeze, .elide = elide_no_axes},
    {TN_DEF("", "Identity"),
        TN_VERSIONS({1}, {13}, {14}, {16}, {19}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"input", "V"}), TN_OUTPUTS({"output", "V"}),
        TN_TYPE_VARS({"V", TN_TYPES_ALL, TN_TYPES_ALL, TN_TYPES_ALL | UINT64_C(1) << 63}),
        .infer = infer_identity, .elide = elide_always},
    {TN_DEF("", "Shape"),
        TN_VERSIONS({1}, {13}, {15}, {19}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"data", "T"}), TN_OUTPUTS({"shape", "T1"}),
        TN_TYPE_VARS({"T", TN_TYPES_ALL}, {"T1", TN_BIT(INT64)}),
        TN_ATTRS(shape), .infer = infer_shape},
    {TN_DEF("", "Size"),
        TN_VERSIONS({1}, {13}, {19}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"data", "T"}), TN_OUTPUTS({"size", "T1"}),
        TN_TYPE_VARS({"T", TN_TYPES_ALL}, {"T1", TN_BIT(INT64)}),
        .infer = infer_size},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Reshape", 25), TN_INPLACE({0, 0, TN_INPLACE_VIEW}), .compute = compute_view},
    {TN_KERNEL("", "Flatten", 25), TN_INPLACE({0, 0, TN_INPLACE_VIEW}), .compute = compute_view},
    {TN_KERNEL("", "Squeeze", 25), TN_INPLACE({0, 0, TN_INPLACE_VIEW}), .compute = compute_view},
    {TN_KERNEL("", "Unsqueeze", 25), TN_INPLACE({0, 0, TN_INPLACE_VIEW}), .compute = compute_view},
    {TN_KERNEL("", "Identity", 25), TN_INPLACE({0, 0, TN_INPLACE_VIEW}), .compute = compute_identity},
    {TN_KERNEL("", "Shape", 25), .create = create_shape, .compute = compute_shape},
    {TN_KERNEL("", "Size", 25), .compute = compute_size},
};
/* clang-format on */

TN_FAMILY(shape_view);
