/* Between a tensor and the sequence of its parts: SplitToSequence, ConcatFromSequence. */
#include "loops/copy.h"
#include "ops/control.h"
#include "ops/sequence.h"

/* clang-format off */
#define SPLIT_ATTRS(X, S) X(S, INT, axis, 0) X(S, INT, keepdims, 1)
#define CONCAT_ATTRS(X, S) X(S, INT_REQUIRED, axis, ) X(S, INT, new_axis, 0)
TN_ATTR_TABLE(split, SPLIT_ATTRS)
TN_ATTR_TABLE(concat, CONCAT_ATTRS)
/* clang-format on */

static void remove_axis(int64_t *dims, uint32_t rank, uint32_t axis) {
    for (uint32_t i = axis; i + 1 < rank; i++)
        dims[i] = dims[i + 1];
}

static void insert_axis(int64_t *dims, uint32_t rank, uint32_t axis, int64_t dim) {
    for (uint32_t i = rank; i > axis; i--)
        dims[i] = dims[i - 1];
    dims[axis] = dim;
}

/* ---- SplitToSequence -------------------------------------------------------------------- */

static tn_status infer_split(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0),
                         *split = tn_infer_input(infer, 1);
    struct split_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    uint32_t axis = 0, n;
    TN_TRY(TN_ATTRS_READ(split, infer->node, &attrs, infer->diag));
    TN_TRY(tn_infer_vector(infer, 1, "split"));
    if (!in) return TN_OK;
    if (in->rank < 0) return tn__sequence_set_type(infer, 0, in->dtype, -1, NULL);
    TN_TRY(tn_rank_check(in->rank, infer->diag));
    TN_TRY(tn_axis_fix(attrs.axis, in->rank, &axis, infer->diag));
    if (in->rank > 0) memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
    if (!tn_infer_has(infer->node, 1)) {
        dims[axis] = 1;
        if (!attrs.keepdims) remove_axis(dims, (uint32_t)in->rank, axis);
        return tn__sequence_set_type(
            infer, 0, in->dtype, in->rank - !attrs.keepdims, dims);
    }
    const int64_t *size = tn_infer_ints(infer, 1, &n);
    bool even = split && split->rank == 0 && size && n == 1 && size[0] > 0 &&
                dims[axis] >= 0 && dims[axis] % size[0] == 0;
    dims[axis] = even ? size[0] : TN_DIM_UNKNOWN;
    return tn__sequence_set_type(infer, 0, in->dtype, in->rank, dims);
}

struct split_kernel {
    struct tn__kernel base;
    int64_t axis;
    bool keep;
};

static tn_status create_split(const struct tn_kernel_ctx *ctx, void **out) {
    struct split_attrs attrs;
    TN_TRY(TN_ATTRS_READ(split, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct split_kernel), out));
    struct split_kernel *kernel = *out;
    kernel->axis = attrs.axis;
    kernel->keep = attrs.keepdims != 0 || tn_infer_has(ctx->node, 1);
    return TN_OK;
}

/* Number of parts; each has *out_size elements of the axis unless there is a list of
 * sizes (*out_size 0). */
static tn_status count_parts(const struct tn_run_args *args, int64_t length,
    int64_t *out_size, uint64_t *out_count) {
    const struct tn_tensor *split = tn_in(args, 1);
    struct tn_diag *diag = args->run->diag;
    int64_t left = length;
    *out_size = 1;
    if (split && split->rank > 1)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "'split' has rank %u, expected 0 or 1",
            split->rank);
    if (!split || split->rank == 0) {
        if (split) *out_size = tn_tensor_int(split, 0);
        if (*out_size <= 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "'split' is %lld, expected a positive number", (long long)*out_size);
        *out_count = (uint64_t)(length / *out_size + (length % *out_size != 0));
        return TN_OK;
    }
    *out_size = 0;
    *out_count = (uint64_t)split->dims[0];
    for (int64_t i = 0; i < split->dims[0]; i++) {
        int64_t size = tn_tensor_int(split, i);
        if (size < 0 || size > left)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "'split' takes %lld of the %lld elements left along the axis",
                (long long)size, (long long)left);
        left -= size;
    }
    if (left == 0) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "'split' leaves %lld of %lld elements along the axis", (long long)left,
        (long long)length);
}

/* One part: a view of the input when it is contiguous there, else a copy. */
static tn_status make_part(const struct split_kernel *kernel,
    const struct tn_run_args *args, uint32_t axis, int64_t at, struct tn_tensor *part) {
    const struct tn_tensor *in = tn_in(args, 0);
    int64_t rows = tn_dims_product(in->dims, 0, axis), *dims = (int64_t *)part->dims;
    uint64_t pitch = rows ? in->size / (uint64_t)rows : 0;
    uint64_t item = in->dims[axis] ? pitch / (uint64_t)in->dims[axis] : 0;
    uint64_t bytes = item * (uint64_t)dims[axis];
    const char *from = (const char *)in->data + item * (uint64_t)at;
    part->size = bytes * (uint64_t)rows;
    part->data = (void *)(uintptr_t)from;
    if (rows > 1 && bytes > 0) {
        TN_TRY(tn__sequence_memory(args->run, part->size, 1, &part->data));
        tn__copy_rows(kernel->base.host, part->data, bytes, from, pitch, bytes, rows);
    }
    if (!kernel->keep) {
        remove_axis(dims, part->rank, axis);
        part->rank--;
    }
    return TN_OK;
}

static tn_status compute_split(void *object, const struct tn_run_args *args) {
    const struct split_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0), *split = tn_in(args, 1);
    uint32_t axis = 0;
    int64_t size, at = 0;
    uint64_t n;
    void *tensors, *shapes, *refs;
    TN_TRY(tn_rank_check(in->rank, args->run->diag));
    TN_TRY(tn_axis_fix(kernel->axis, in->rank, &axis, args->run->diag));
    TN_TRY(count_parts(args, in->dims[axis], &size, &n));
    TN_TRY(tn__sequence_memory(args->run, n, sizeof(struct tn_tensor), &tensors));
    TN_TRY(tn__sequence_memory(args->run, n, sizeof(struct tn_value_ref), &refs));
    TN_TRY(tn__sequence_memory(args->run, n, in->rank * sizeof(int64_t), &shapes));
    for (uint64_t i = 0; i < n; i++) {
        struct tn_tensor *part = (struct tn_tensor *)tensors + i;
        int64_t *dims = (int64_t *)shapes + i * in->rank;
        int64_t left = in->dims[axis] - at;
        int64_t wanted = size ? size : tn_tensor_int(split, (int64_t)i);
        memcpy(dims, in->dims, in->rank * sizeof *dims);
        dims[axis] = wanted < left ? wanted : left;
        *part = (struct tn_tensor){.dims = dims, .dtype = in->dtype, .rank = in->rank};
        int64_t taken = dims[axis];
        TN_TRY(make_part(kernel, args, axis, at, part));
        ((struct tn_value_ref *)refs)[i] =
            (struct tn_value_ref){TN_KIND_TENSOR, 0, {part}};
        at += taken;
    }
    return tn__sequence_emit(args, 0, refs, n, in->dtype);
}

/* ---- ConcatFromSequence ------------------------------------------------------------------ */

/* The axis in the result; with new_axis that has one more than the parts. */
static tn_status result_axis(
    const struct concat_attrs *attrs, int32_t rank, uint32_t *out, struct tn_diag *diag) {
    if (attrs->new_axis != 0 && attrs->new_axis != 1)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'new_axis' is %lld, expected 0 or 1", (long long)attrs->new_axis);
    TN_TRY(tn_rank_check(rank + (int64_t)attrs->new_axis, diag));
    return tn_axis_fix(attrs->axis, rank + attrs->new_axis, out, diag);
}

static tn_status infer_concat(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct concat_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    uint32_t axis = 0;
    TN_TRY(TN_ATTRS_READ(concat, infer->node, &attrs, infer->diag));
    if (!in || in->kind != TN_KIND_SEQUENCE) return TN_OK;
    if (in->rank < 0) return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    TN_TRY(result_axis(&attrs, in->rank, &axis, infer->diag));
    if (in->rank > 0) memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
    if (attrs.new_axis)
        insert_axis(dims, (uint32_t)in->rank, axis, TN_DIM_UNKNOWN);
    else
        dims[axis] = TN_DIM_UNKNOWN;
    return tn_infer_set(infer, 0, in->dtype, in->rank + (int32_t)attrs.new_axis, dims);
}

struct concat_kernel {
    struct tn__kernel base;
    struct concat_attrs attrs;
};

static tn_status create_concat(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct concat_kernel), out));
    struct concat_kernel *kernel = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(concat, ctx->node, &kernel->attrs, ctx->diag), out);
}

/* Adds element i to the result's shape, which element 0 began. */
static tn_status add_part(const struct tn_tensor *first, const struct tn_tensor *part,
    uint64_t i, uint32_t axis, bool stack, int64_t *length, struct tn_diag *diag) {
    bool same = part->rank == first->rank && part->dtype == first->dtype;
    for (uint32_t d = 0; same && d < first->rank; d++)
        same = part->dims[d] == first->dims[d] || (d == axis && !stack);
    int64_t more = !same || stack ? 1 : part->dims[axis];
    if (!same)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "element %llu of the sequence does not have the type and shape of the first",
            (unsigned long long)i);
    if (*length > INT64_MAX - more)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "the result is too large");
    *length += more;
    return TN_OK;
}

static tn_status compute_concat(void *object, const struct tn_run_args *args) {
    const struct concat_kernel *kernel = object;
    struct tn_diag *diag = args->run->diag;
    const struct tn_sequence *sequence;
    struct tn_tensor *out;
    int64_t dims[TN_RANK_MAX + 1], length = 0;
    uint32_t axis = 0;
    bool stack = kernel->attrs.new_axis != 0;
    TN_TRY(tn__sequence_in(args, 0, &sequence));
    if (sequence->count == 0)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "an empty sequence has no shape");
    const struct tn_tensor *first = sequence->items[0].as.tensor;
    TN_TRY(tn_rank_check(first->rank, diag));
    TN_TRY(result_axis(&kernel->attrs, (int32_t)first->rank, &axis, diag));
    for (uint64_t i = 0; i < sequence->count; i++)
        TN_TRY(
            add_part(first, sequence->items[i].as.tensor, i, axis, stack, &length, diag));
    if (first->rank) memcpy(dims, first->dims, first->rank * sizeof *dims);
    if (stack)
        insert_axis(dims, first->rank, axis, length);
    else
        dims[axis] = length;
    TN_TRY(tn_out_shaped(args, 0, first->dtype, dims, first->rank + stack, &out));
    int64_t rows = tn_dims_product(dims, 0, axis);
    uint64_t pitch = rows ? out->size / (uint64_t)rows : 0, at = 0;
    for (uint64_t i = 0; i < sequence->count; i++) {
        const struct tn_tensor *part = sequence->items[i].as.tensor;
        uint64_t bytes = rows ? part->size / (uint64_t)rows : 0;
        tn__copy_rows(kernel->base.host, (char *)out->data + at, pitch, part->data, bytes,
            bytes, rows);
        at += bytes;
    }
    return out->dtype == TN_STRING
               ? tn__control_own(args->run, out->data, tn_tensor_count(out))
               : TN_OK;
}

/* ---- tables ----------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "SplitToSequence"), TN_VERSIONS({11}, {24}),
        TN_INPUTS({"input", "T"}, {"split", "I", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output_sequence", "S"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}, {"I", TN_TYPES_INDEX}, {"S", 0, TN_TYPES_CLASSIC}),
        TN_ATTRS(split), .infer = infer_split},
    {TN_DEF("", "ConcatFromSequence"), TN_VERSIONS({11}),
        TN_INPUTS({"input_sequence", "S"}), TN_OUTPUTS({"concat_result", "T"}),
        TN_TYPE_VARS({"S", 0, TN_TYPES_SEQUENCE}, {"T", TN_TYPES_SEQUENCE}),
        TN_ATTRS(concat), .infer = infer_concat},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "SplitToSequence", 24), .create = create_split, .compute = compute_split},
    {TN_KERNEL("", "ConcatFromSequence", 11), .create = create_concat,
        .compute = compute_concat},
};
/* clang-format on */

TN_FAMILY(sequence_split);
