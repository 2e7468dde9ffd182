/* Joining and dividing along one axis: Concat, Split. */
#include "loops/copy.h"
#include "ops/ops.h"

/* clang-format off */
#define CONCAT_ATTRS(X, S) X(S, INT_REQUIRED, axis, )
#define SPLIT_ATTRS(X, S) X(S, INT, axis, 0) X(S, INT, num_outputs, 0)
TN_ATTR_TABLE(concat, CONCAT_ATTRS)
TN_ATTR_TABLE(split, SPLIT_ATTRS)
/* clang-format on */

/* ---- upgrades ------------------------------------------------------------------------- */

static tn_status set_int(const struct tn_rewrite *rw, const char *name, int64_t value) {
    struct tn_attr attr = {
        .name = name, .type = TN_ATTR_INT, .count = 1, .as.ints = &value};
    return rw->api->set_attr(rw->graph, rw->node, &attr, rw->diag);
}

/* Concat-4: the axis, 1 when omitted until then, became required. */
static tn_status upgrade_concat_4(const struct tn_rewrite *rw) {
    if (tn_node_attr(rw->api->node(rw->graph, rw->node), "axis")) return TN_OK;
    return set_int(rw, "axis", 1);
}

static tn_status upgrade_split_13(const struct tn_rewrite *rw) {
    return tn__upgrade_ints_to_input(rw, "split", 1);
}

/* Split-18: equal parts need their number. */
static tn_status upgrade_split_18(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    if (tn_infer_has(node, 1)) return TN_OK;
    return set_int(rw, "num_outputs", node->n_outputs);
}

/* ---- Concat --------------------------------------------------------------------------- */

/* Contents of short integer vectors, one after the other. */
static tn_status concat_content(const struct tn_infer *infer) {
    int64_t content[TN_RANK_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < infer->node->n_inputs; i++) {
        const struct tn_type *in = tn_infer_input(infer, i);
        uint32_t n_in;
        const int64_t *part = tn_infer_ints(infer, i, &n_in);
        if (!in || in->rank != 1 || in->dims[0] < 0) return TN_OK;
        if (!part)
            n_in = (uint32_t)(in->dims[0] > TN_RANK_MAX ? TN_RANK_MAX + 1 : in->dims[0]);
        if (n_in > TN_RANK_MAX - n) return TN_OK;
        for (uint32_t k = 0; k < n_in; k++)
            content[n++] = part ? part[k] : TN_DIM_UNKNOWN;
    }
    return infer->set_dims_value(infer->self, 0, content, n);
}

/* Adds one input's shape to the result so far. */
static tn_status concat_merge(const struct tn_infer *infer, const struct tn_type *in,
    uint32_t axis, uint32_t index, int64_t *dims) {
    for (uint32_t i = 0; i < (uint32_t)in->rank; i++) {
        if (i == axis) {
            dims[i] = infer->dim_op(infer->self, TN_DIM_ADD, dims[i], in->dims[i]);
        } else if (dims[i] >= 0 && in->dims[i] >= 0 && dims[i] != in->dims[i]) {
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "input %u has size %lld at axis %u where the inputs before have %lld",
                index, (long long)in->dims[i], i, (long long)dims[i]);
        } else if (dims[i] < 0 && in->dims[i] >= 0) {
            dims[i] = in->dims[i];
        }
    }
    return TN_OK;
}

static tn_status infer_concat(const struct tn_infer *infer) {
    struct concat_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    int32_t rank = -1, dtype = 0;
    uint32_t axis = 0;
    bool known = true;
    TN_TRY(TN_ATTRS_READ(concat, infer->node, &attrs, infer->diag));
    for (uint32_t i = 0; i < infer->node->n_inputs; i++) {
        const struct tn_type *in = tn_infer_input(infer, i);
        if (in) dtype = in->dtype;
        if (!in || in->rank < 0) {
            known = false;
            continue;
        }
        if (rank < 0) {
            rank = in->rank;
            TN_TRY(tn_rank_check(rank, infer->diag));
            TN_TRY(tn_axis_fix(attrs.axis, rank, &axis, infer->diag));
            memcpy(dims, in->dims, (size_t)rank * sizeof *dims);
            continue;
        }
        if (in->rank != rank)
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "input %u has rank %d where the inputs before have %d", i, (int)in->rank,
                (int)rank);
        TN_TRY(concat_merge(infer, in, axis, i, dims));
    }
    if (!dtype) return TN_OK;
    if (!known && rank >= 0) dims[axis] = TN_DIM_UNKNOWN;
    TN_TRY(tn_infer_set(infer, 0, dtype, rank, dims));
    return known && rank == 1 ? concat_content(infer) : TN_OK;
}

static int32_t elide_concat(const struct tn_infer *infer) {
    return infer->node->n_inputs == 1 ? 0 : -1;
}

struct axis_kernel {
    struct tn__kernel base;
    int64_t axis;
};

static tn_status create_concat(const struct tn_kernel_ctx *ctx, void **out) {
    struct concat_attrs attrs;
    TN_TRY(TN_ATTRS_READ(concat, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct axis_kernel), out));
    ((struct axis_kernel *)*out)->axis = attrs.axis;
    return TN_OK;
}

/* An input must agree with the output everywhere but along the axis. */
static tn_status check_part(const struct tn_tensor *whole, const struct tn_tensor *part,
    uint32_t axis, struct tn_diag *diag) {
    bool same = part->rank == whole->rank && part->dtype == whole->dtype;
    for (uint32_t i = 0; same && i < whole->rank; i++)
        if (i != axis && part->dims[i] != whole->dims[i]) same = false;
    if (same) return TN_OK;
    return tn_fail(
        diag, TN_INVALID_ARGUMENT, "the shapes differ in more than axis %u", axis);
}

static tn_status compute_concat(void *object, const struct tn_run_args *args) {
    const struct axis_kernel *kernel = object;
    struct tn_diag *diag = args->run->diag;
    struct tn_tensor *out = tn_out(args, 0);
    uint32_t axis = 0;
    if (!out) return tn_fail(diag, TN_INTERNAL, "the output's shape is not known");
    TN_TRY(tn_axis_fix(kernel->axis, out->rank, &axis, diag));
    int64_t rows = tn_dims_product(out->dims, 0, axis), done = 0;
    uint64_t pitch = rows ? out->size / (uint64_t)rows : 0, at = 0;
    for (uint32_t i = 0; i < args->n_inputs; i++) {
        const struct tn_tensor *in = args->inputs[i].as.tensor;
        TN_TRY(check_part(out, in, axis, diag));
        if (in->dims[axis] > out->dims[axis] - done)
            return tn_fail(diag, TN_INTERNAL, "the inputs are longer than the output");
        done += in->dims[axis];
        uint64_t bytes = rows ? in->size / (uint64_t)rows : 0;
        tn__copy_rows(kernel->base.host, (char *)out->data + at, pitch, in->data, bytes,
            bytes, rows);
        at += bytes;
    }
    return TN_OK;
}

/* ---- Split ---------------------------------------------------------------------------- */

/* Size of part `index` of `n` equal ones: the last may be smaller. */
static int64_t equal_part(
    const struct tn_infer *infer, int64_t dim, uint32_t n, uint32_t index) {
    int64_t chunk = infer->dim_op(infer->self, TN_DIM_CEIL_DIV, dim, n);
    if (dim < 0) {
        if (n == 1) return dim;
        int64_t exact = infer->dim_op(infer->self, TN_DIM_DIV, dim, n);
        int64_t back = infer->dim_op(infer->self, TN_DIM_MUL, exact, n);
        return back == dim ? exact : TN_DIM_UNKNOWN;
    }
    int64_t begin = chunk * index, end = begin + chunk;
    if (begin > dim) begin = dim;
    return (end > dim ? dim : end) - begin;
}

static tn_status split_sizes(const struct tn_infer *infer,
    const struct split_attrs *attrs, int64_t dim, int64_t *sizes) {
    uint32_t n, n_outputs = infer->node->n_outputs;
    const int64_t *wanted = tn_infer_ints(infer, 1, &n);
    int64_t total = 0;
    if (!tn_infer_has(infer->node, 1)) {
        if (attrs->num_outputs != 0 && attrs->num_outputs != n_outputs)
            return tn_fail(infer->diag, TN_INVALID_MODEL,
                "attribute 'num_outputs' is %lld but the node has %u outputs",
                (long long)attrs->num_outputs, n_outputs);
        for (uint32_t o = 0; o < n_outputs; o++)
            sizes[o] = equal_part(infer, dim, n_outputs, o);
        return TN_OK;
    }
    if (wanted && n != n_outputs)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "'split' has %u sizes but the node has %u outputs", n, n_outputs);
    for (uint32_t o = 0; o < n_outputs; o++) {
        sizes[o] = wanted ? wanted[o] : TN_DIM_UNKNOWN;
        if (sizes[o] < 0 && !tn_dim_is_symbol(sizes[o]))
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "'split' holds the size %lld", (long long)sizes[o]);
        if (sizes[o] > INT64_MAX - (total < 0 ? 0 : total))
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT, "'split' sums to no size");
        if (total >= 0) total = sizes[o] < 0 ? -1 : total + sizes[o];
    }
    if (total >= 0 && dim >= 0 && total != dim)
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "'split' sums to %lld but the axis has size %lld", (long long)total,
            (long long)dim);
    return TN_OK;
}

static tn_status infer_split(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    uint32_t axis = 0, n_content, n = infer->node->n_outputs;
    struct split_attrs attrs;
    int64_t dims[TN_RANK_MAX], at = 0;
    TN_TRY(TN_ATTRS_READ(split, infer->node, &attrs, infer->diag));
    if (!in) return TN_OK;
    if (in->rank < 0) {
        for (uint32_t o = 0; o < n; o++)
            TN_TRY(tn_infer_set(infer, o, in->dtype, -1, NULL));
        return TN_OK;
    }
    TN_TRY(tn_rank_check(in->rank, infer->diag));
    TN_TRY(tn_axis_fix(attrs.axis, in->rank, &axis, infer->diag));
    int64_t *sizes = infer->scratch(infer->self, n * sizeof *sizes);
    if (!sizes) return tn_fail(infer->diag, TN_OUT_OF_MEMORY, "no memory for sizes");
    TN_TRY(split_sizes(infer, &attrs, in->dims[axis], sizes));
    memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
    const int64_t *content = tn_infer_ints(infer, 0, &n_content);
    for (uint32_t o = 0; o < n; o++) {
        dims[axis] = sizes[o];
        TN_TRY(tn_infer_set(infer, o, in->dtype, in->rank, dims));
        if (!content || in->rank != 1 || sizes[o] < 0 || at + sizes[o] > n_content) {
            content = NULL;
        } else {
            if (tn_infer_wants(infer->node, o))
                TN_TRY(infer->set_dims_value(
                    infer->self, o, content + at, (uint32_t)sizes[o]));
            at += sizes[o];
        }
    }
    return TN_OK;
}

static int32_t elide_split(const struct tn_infer *infer) {
    return infer->node->n_outputs == 1 ? 0 : -1;
}

static tn_status create_split(const struct tn_kernel_ctx *ctx, void **out) {
    struct split_attrs attrs;
    TN_TRY(TN_ATTRS_READ(split, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct axis_kernel), out));
    ((struct axis_kernel *)*out)->axis = attrs.axis;
    return TN_OK;
}

/* Size of output o: as planned, else what the second input says. */
static tn_status part_size(
    const struct tn_run_args *args, uint32_t o, uint32_t axis, int64_t *out_size) {
    const struct tn_tensor *in = tn_in(args, 0), *split = tn_in(args, 1);
    const struct tn_tensor *part = tn_out(args, o);
    if (split && tn_tensor_count(split) == args->n_outputs) {
        *out_size = tn_tensor_int(split, o);
    } else if (part && part->rank == in->rank) {
        *out_size = part->dims[axis];
    } else {
        int64_t n = args->n_outputs, chunk = (in->dims[axis] + n - 1) / n;
        int64_t begin = chunk * o < in->dims[axis] ? chunk * o : in->dims[axis];
        int64_t left = in->dims[axis] - begin;
        *out_size = left < chunk ? left : chunk;
    }
    return TN_OK;
}

static tn_status compute_split(void *object, const struct tn_run_args *args) {
    const struct axis_kernel *kernel = object;
    struct tn_diag *diag = args->run->diag;
    const struct tn_tensor *in = tn_in(args, 0);
    int64_t dims[TN_RANK_MAX], done = 0;
    uint32_t axis = 0;
    uint64_t at = 0;
    TN_TRY(tn_rank_check(in->rank, diag));
    TN_TRY(tn_axis_fix(kernel->axis, in->rank, &axis, diag));
    memcpy(dims, in->dims, in->rank * sizeof *dims);
    int64_t rows = tn_dims_product(in->dims, 0, axis);
    uint64_t pitch = rows ? in->size / (uint64_t)rows : 0;
    uint64_t item = in->dims[axis] ? pitch / (uint64_t)in->dims[axis] : 0;
    for (uint32_t o = 0; o < args->n_outputs; o++) {
        struct tn_tensor *out;
        TN_TRY(part_size(args, o, axis, &dims[axis]));
        if (dims[axis] < 0 || dims[axis] > in->dims[axis] - done)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "output %u would take %lld of the %lld left along axis %u", o,
                (long long)dims[axis], (long long)(in->dims[axis] - done), axis);
        uint64_t bytes = item * (uint64_t)dims[axis];
        done += dims[axis];
        if (args->outputs[o].kind != TN_KIND_ABSENT || o == 0) {
            TN_TRY(tn_out_shaped(args, o, in->dtype, dims, in->rank, &out));
            tn__copy_rows(kernel->base.host, out->data, bytes,
                (const char *)in->data + at, pitch, bytes, rows);
        }
        at += bytes;
    }
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Concat"), TN_VERSIONS({1}, {4, 0, upgrade_concat_4}, {11}, {13}),
        TN_INPUTS({"inputs", "T", 0, TN_FORMAL_VARIADIC, 1}), TN_OUTPUTS({"concat_result", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), TN_ATTRS(concat),
        .infer = infer_concat, .elide = elide_concat},
    {TN_DEF("", "Split"),
        TN_VERSIONS({1}, {2}, {11}, {13, 0, upgrade_split_13}, {18, 0, upgrade_split_18}),
        TN_INPUTS({"input", "T"}, {"split", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"outputs", "T", 0, TN_FORMAL_VARIADIC, 1}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), TN_ATTRS(split),
        .infer = infer_split, .elide = elide_split},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Concat", 13), .create = create_concat, .compute = compute_concat},
    {TN_KERNEL("", "Split", 18), .create = create_split, .compute = compute_split},
};
/* clang-format on */

TN_FAMILY(concat_split);
