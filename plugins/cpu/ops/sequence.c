/* Sequences of tensors: making, reading and changing them. A changed sequence borrows the
 * tensors of the old one; the host copies it once. */
#include "ops/sequence.h"
#include "ops/control.h"

#define EMPTY_ATTRS(X, S) X(S, INT, dtype, TN_FLOAT)
TN_ATTR_TABLE(empty, EMPTY_ATTRS)

/* ---- shared ----------------------------------------------------------------------------- */

tn_status tn__sequence_in(
    const struct tn_run_args *args, uint32_t i, const struct tn_sequence **out) {
    struct tn_diag *diag = args->run->diag;
    if (i >= args->n_inputs || args->inputs[i].kind != TN_KIND_SEQUENCE)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "input %u is no sequence", i);
    const struct tn_sequence *sequence = args->inputs[i].as.sequence;
    if (tn_sequence_table(sequence))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "input %u is a sequence of maps, not of tensors", i);
    for (uint64_t k = 0; k < sequence->count; k++) {
        if (sequence->items[k].kind != TN_KIND_TENSOR)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "element %llu of the sequence is no tensor", (unsigned long long)k);
    }
    *out = sequence;
    return TN_OK;
}

tn_status tn__sequence_memory(
    const struct tn_run *run, uint64_t n, uint64_t size, void **out) {
    bool fits = size == 0 || n < INT64_MAX / size;
    *out = fits ? run->alloc(run, n * size + 1, 16) : NULL;
    if (*out) return TN_OK;
    return tn_fail(run->diag, TN_OUT_OF_MEMORY,
        "no memory for a sequence of %llu tensors", (unsigned long long)n);
}

tn_status tn__sequence_emit(const struct tn_run_args *args, uint32_t o,
    struct tn_value_ref *items, uint64_t count, int32_t dtype) {
    struct tn_sequence sequence = {items, count, TN_KIND_TENSOR, dtype, NULL};
    const struct tn_value_ref value = {TN_KIND_SEQUENCE, 0, {&sequence}};
    return args->run->output_set(args->run, args, o, &value);
}

tn_status tn__sequence_set_type(const struct tn_infer *infer, uint32_t o, int32_t dtype,
    int32_t rank, const int64_t *dims) {
    const struct tn_type type = {.kind = TN_KIND_SEQUENCE,
        .elem_kind = TN_KIND_TENSOR,
        .dtype = dtype,
        .rank = rank,
        .dims = rank > 0 ? dims : NULL};
    return tn_infer_wants(infer->node, o) ? infer->set_type(infer->self, o, &type)
                                          : TN_OK;
}

struct tn_type tn__sequence_element(const struct tn_type *sequence, int64_t *dims) {
    struct tn_type type = {
        .kind = TN_KIND_TENSOR, .dtype = sequence->dtype, .rank = sequence->rank};
    if (type.rank > TN_RANK_MAX) type.rank = -1;
    for (int32_t i = 0; i < type.rank; i++)
        dims[i] = sequence->dims[i] < 0 ? TN_DIM_UNKNOWN : sequence->dims[i];
    type.dims = type.rank > 0 ? dims : NULL;
    return type;
}

/* Type of input i when it is a sequence of tensors, else NULL. */
static const struct tn_type *infer_sequence(const struct tn_infer *infer, uint32_t i) {
    const struct tn_type *type = tn_infer_input(infer, i);
    return type && type->kind == TN_KIND_SEQUENCE && type->elem_kind == TN_KIND_TENSOR
               ? type
               : NULL;
}

/* The wanted position in [0, count): `absent` when the input is omitted. */
static tn_status read_position(const struct tn_run_args *args, uint32_t i, uint64_t count,
    uint64_t absent, uint64_t extra, uint64_t *out) {
    const struct tn_tensor *position = tn_in(args, i);
    int64_t n = (int64_t)count, at;
    *out = absent;
    if (!position) {
        if (absent < count + extra) return TN_OK;
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "the sequence is empty");
    }
    if (tn_tensor_count(position) != 1)
        return tn_fail(
            args->run->diag, TN_INVALID_ARGUMENT, "'position' is not one number");
    at = tn_tensor_int(position, 0);
    if (at < -n || at >= n + (int64_t)extra)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "position %lld is outside a sequence of %llu elements", (long long)at,
            (unsigned long long)count);
    *out = (uint64_t)(at < 0 ? at + n : at);
    return TN_OK;
}

/* ---- inference -------------------------------------------------------------------------- */

static tn_status infer_construct(const struct tn_infer *infer) {
    int64_t dims[TN_RANK_MAX];
    struct tn_type joined = {0};
    for (uint32_t i = 0; i < infer->node->n_inputs; i++) {
        const struct tn_type *type = tn_infer_input(infer, i);
        if (!type || type->kind != TN_KIND_TENSOR) return TN_OK;
        if (joined.kind == TN_KIND_ABSENT)
            joined = *type;
        else
            tn__type_join(&joined, type, dims);
    }
    if (joined.kind == TN_KIND_ABSENT) return TN_OK;
    return tn__sequence_set_type(infer, 0, joined.dtype, joined.rank, joined.dims);
}

static tn_status infer_empty(const struct tn_infer *infer) {
    struct empty_attrs attrs;
    TN_TRY(TN_ATTRS_READ(empty, infer->node, &attrs, infer->diag));
    if (attrs.dtype <= 0 || attrs.dtype >= TN_DTYPE_COUNT ||
        !(TN_TYPES_SEQUENCE >> attrs.dtype & 1))
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "attribute 'dtype' is %lld, which is no element type of sequences",
            (long long)attrs.dtype);
    return tn__sequence_set_type(infer, 0, (int32_t)attrs.dtype, -1, NULL);
}

static tn_status infer_at(const struct tn_infer *infer) {
    const struct tn_type *sequence = infer_sequence(infer, 0);
    int64_t dims[TN_RANK_MAX];
    if (!sequence) return TN_OK;
    struct tn_type type = tn__sequence_element(sequence, dims);
    return infer->set_type(infer->self, 0, &type);
}

static tn_status infer_insert(const struct tn_infer *infer) {
    const struct tn_type *sequence = infer_sequence(infer, 0);
    const struct tn_type *tensor = tn_infer_input(infer, 1);
    int64_t dims[TN_RANK_MAX];
    if (!sequence) return TN_OK;
    if (tensor && tensor->dtype > 0 && sequence->dtype > 0 &&
        tensor->dtype != sequence->dtype)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "a tensor of %s does not belong into a sequence of %s tensors",
            tn_dtype_name(tensor->dtype), tn_dtype_name(sequence->dtype));
    struct tn_type joined = *sequence;
    joined.kind = TN_KIND_TENSOR;
    if (tensor)
        tn__type_join(&joined, tensor, dims);
    else
        joined.rank = -1;
    return tn__sequence_set_type(infer, 0, joined.dtype, joined.rank, joined.dims);
}

static tn_status infer_erase(const struct tn_infer *infer) {
    return infer_sequence(infer, 0) ? tn_infer_like(infer, 0, 0) : TN_OK;
}

static tn_status infer_length(const struct tn_infer *infer) {
    return tn_infer_set(infer, 0, TN_INT64, 0, NULL);
}

/* ---- kernels ---------------------------------------------------------------------------- */

static tn_status compute_construct(void *object, const struct tn_run_args *args) {
    struct tn_diag *diag = args->run->diag;
    void *items;
    (void)object;
    TN_TRY(tn__sequence_memory(
        args->run, args->n_inputs, sizeof(struct tn_value_ref), &items));
    for (uint32_t i = 0; i < args->n_inputs; i++) {
        const struct tn_tensor *tensor = tn_in(args, i);
        if (!tensor)
            return tn_fail(diag, TN_INVALID_ARGUMENT, "input %u is no tensor", i);
        if (tensor->dtype != args->inputs[0].as.tensor->dtype)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "input %u is of %s where the inputs before are of %s", i,
                tn_dtype_name(tensor->dtype),
                tn_dtype_name(args->inputs[0].as.tensor->dtype));
        ((struct tn_value_ref *)items)[i] = args->inputs[i];
    }
    int32_t dtype = args->n_inputs ? args->inputs[0].as.tensor->dtype : TN_FLOAT;
    return tn__sequence_emit(args, 0, items, args->n_inputs, dtype);
}

struct empty_kernel {
    struct tn__kernel base;
    int32_t dtype;
};

static tn_status create_empty(const struct tn_kernel_ctx *ctx, void **out) {
    struct empty_attrs attrs;
    TN_TRY(TN_ATTRS_READ(empty, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct empty_kernel), out));
    ((struct empty_kernel *)*out)->dtype = (int32_t)attrs.dtype;
    return TN_OK;
}

static tn_status compute_empty(void *object, const struct tn_run_args *args) {
    const struct empty_kernel *kernel = object;
    return tn__sequence_emit(args, 0, NULL, 0, kernel->dtype);
}

static tn_status compute_at(void *object, const struct tn_run_args *args) {
    const struct tn_sequence *sequence;
    uint64_t at;
    (void)object;
    TN_TRY(tn__sequence_in(args, 0, &sequence));
    TN_TRY(read_position(args, 1, sequence->count, UINT64_MAX, 0, &at));
    return tn__control_emit(args, 0, &sequence->items[at]);
}

static tn_status compute_insert(void *object, const struct tn_run_args *args) {
    const struct tn_sequence *sequence;
    const struct tn_tensor *tensor = tn_in(args, 1);
    uint64_t at;
    void *memory;
    (void)object;
    TN_TRY(tn__sequence_in(args, 0, &sequence));
    if (!tensor)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "input 1 is no tensor");
    int32_t dtype =
        sequence->count ? sequence->items[0].as.tensor->dtype : sequence->elem_dtype;
    if (dtype != TN_UNDEFINED && dtype != tensor->dtype)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "a tensor of %s does not belong into a sequence of %s tensors",
            tn_dtype_name(tensor->dtype), tn_dtype_name(dtype));
    TN_TRY(read_position(args, 2, sequence->count, sequence->count, 1, &at));
    TN_TRY(tn__sequence_memory(
        args->run, sequence->count + 1, sizeof(struct tn_value_ref), &memory));
    struct tn_value_ref *items = memory;
    for (uint64_t i = 0; i < at; i++)
        items[i] = sequence->items[i];
    items[at] = args->inputs[1];
    for (uint64_t i = at; i < sequence->count; i++)
        items[i + 1] = sequence->items[i];
    return tn__sequence_emit(args, 0, items, sequence->count + 1, tensor->dtype);
}

static tn_status compute_erase(void *object, const struct tn_run_args *args) {
    const struct tn_sequence *sequence;
    uint64_t at, n = 0;
    void *memory;
    (void)object;
    TN_TRY(tn__sequence_in(args, 0, &sequence));
    TN_TRY(read_position(args, 1, sequence->count, sequence->count - 1, 0, &at));
    TN_TRY(tn__sequence_memory(
        args->run, sequence->count, sizeof(struct tn_value_ref), &memory));
    struct tn_value_ref *items = memory;
    for (uint64_t i = 0; i < sequence->count; i++) {
        if (i != at) items[n++] = sequence->items[i];
    }
    return tn__sequence_emit(args, 0, items, n, sequence->elem_dtype);
}

static tn_status compute_length(void *object, const struct tn_run_args *args) {
    struct tn_tensor *out;
    (void)object;
    if (args->inputs[0].kind != TN_KIND_SEQUENCE)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "input 0 is no sequence");
    TN_TRY(tn_out_shaped(args, 0, TN_INT64, NULL, 0, &out));
    *(int64_t *)out->data = (int64_t)args->inputs[0].as.sequence->count;
    return TN_OK;
}

/* ---- tables ----------------------------------------------------------------------------- */

/* clang-format off */
#define TENSORS {"T", TN_TYPES_SEQUENCE}
#define SEQUENCES {"S", 0, TN_TYPES_SEQUENCE}
#define POSITIONS {"I", TN_TYPES_INDEX}
static const struct tn_op_def defs[] = {
    {TN_DEF("", "SequenceConstruct"), TN_VERSIONS({11}),
        TN_INPUTS({"inputs", "T", 0, TN_FORMAL_VARIADIC, 1}), TN_OUTPUTS({"output_sequence", "S"}),
        TN_TYPE_VARS(TENSORS, SEQUENCES), .infer = infer_construct},
    {TN_DEF("", "SequenceEmpty"), TN_VERSIONS({11}),
        TN_OUTPUTS({"output", "S"}), TN_TYPE_VARS(SEQUENCES),
        TN_ATTRS(empty), .infer = infer_empty},
    {TN_DEF("", "SequenceAt"), TN_VERSIONS({11}),
        TN_INPUTS({"input_sequence", "S"}, {"position", "I"}), TN_OUTPUTS({"tensor", "T"}),
        TN_TYPE_VARS(SEQUENCES, TENSORS, POSITIONS), .infer = infer_at},
    {TN_DEF("", "SequenceInsert"), TN_VERSIONS({11}),
        TN_INPUTS({"input_sequence", "S"}, {"tensor", "T"},
            {"position", "I", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output_sequence", "S"}),
        TN_TYPE_VARS(SEQUENCES, TENSORS, POSITIONS), .infer = infer_insert},
    {TN_DEF("", "SequenceErase"), TN_VERSIONS({11}),
        TN_INPUTS({"input_sequence", "S"}, {"position", "I", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output_sequence", "S"}),
        TN_TYPE_VARS(SEQUENCES, POSITIONS), .infer = infer_erase},
    {TN_DEF("", "SequenceLength"), TN_VERSIONS({11}),
        TN_INPUTS({"input_sequence", "S"}), TN_OUTPUTS({"length", NULL, TN_BIT(INT64)}),
        TN_TYPE_VARS(SEQUENCES), .infer = infer_length},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "SequenceConstruct", 11), .compute = compute_construct},
    {TN_KERNEL("", "SequenceEmpty", 11), .create = create_empty, .compute = compute_empty},
    {TN_KERNEL("", "SequenceAt", 11), .compute = compute_at},
    {TN_KERNEL("", "SequenceInsert", 11), .compute = compute_insert},
    {TN_KERNEL("", "SequenceErase", 11), .compute = compute_erase},
    {TN_KERNEL("", "SequenceLength", 11), .compute = compute_length},
};
/* clang-format on */

TN_FAMILY(sequence);
