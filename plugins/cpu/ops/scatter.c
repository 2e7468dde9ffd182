/* Writing by index: ScatterElements (and its older name Scatter), ScatterND, with reductions.
 * Updates are applied one after the other, so equal indices have a defined result. */
#include "ops/broadcast.h"
#include "ops/indices.h"

/* clang-format off */
#define ELEMENTS_ATTRS(X, S) X(S, INT, axis, 0) X(S, STRING, reduction, "none")
#define SCATTER_ATTRS(X, S) X(S, INT, axis, 0)
#define ND_ATTRS(X, S) X(S, STRING, reduction, "none")
TN_ATTR_TABLE(elements, ELEMENTS_ATTRS)
TN_ATTR_TABLE(scatter, SCATTER_ATTRS)
TN_ATTR_TABLE(nd, ND_ATTRS)

static const struct tn__binary_row reductions[] = {
    {"add", TN_BINARY_ADD, 5, false}, {"mul", TN_BINARY_MUL, 5, false},
    {"max", TN_BINARY_MAX, 5, false}, {"min", TN_BINARY_MIN, 5, false},
};
/* clang-format on */

struct scatter_kernel {
    struct tn__kernel base;
    struct elements_attrs attrs;
    struct tn__ew_fn reduce; /* binary NULL: overwrite */
};

static tn_status setup(const struct tn_kernel_ctx *ctx, struct scatter_kernel *kernel) {
    TN_TRY(TN_ATTRS_READ(elements, ctx->node, &kernel->attrs, ctx->diag));
    if (tn_string_is(kernel->attrs.reduction, "none")) return TN_OK;
    for (uint32_t i = 0; i < TN_COUNT(reductions); i++)
        if (tn_string_is(kernel->attrs.reduction, reductions[i].op_type))
            return tn__binary_setup(kernel->base.cpu, &reductions[i],
                ctx->inputs[0].dtype, &kernel->reduce, ctx->diag);
    return tn_fail(ctx->diag, TN_INVALID_MODEL,
        "attribute 'reduction' is none of none, add, mul, max, min");
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct scatter_kernel), out));
    return tn_kernel_ready(setup(ctx, *out), out);
}

/* Room for one position an index. */
static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    out->scratch = (uint64_t)tn_tensor_count(tn_in(args, 1)) * sizeof(int64_t);
    return TN_OK;
}

static struct tn_tensor *copy_data(const struct tn_run_args *args) {
    const struct tn_tensor *data = tn_in(args, 0);
    struct tn_tensor *out = tn_out(args, 0);
    if (out->size > 0 && out->data != data->data)
        memcpy(out->data, data->data, data->size);
    return out;
}

/* Items of `item` elements go from updates to positions of out. */
static void apply(const struct scatter_kernel *kernel, const struct tn_tensor *out,
    const struct tn_tensor *updates, const int64_t *positions, int64_t n, int64_t item) {
    size_t bytes = (size_t)item * (tn_dtype_bits(out->dtype) / 8);
    for (int64_t i = 0; i < n; i++) {
        char *dst = (char *)out->data + (size_t)positions[i] * bytes;
        const char *src = (const char *)updates->data + (size_t)i * bytes;
        if (kernel->reduce.binary)
            tn__ew_binary_run(&kernel->reduce, dst, dst, src, item);
        else
            memcpy(dst, src, bytes);
    }
}

static tn_status compute_elements(void *object, const struct tn_run_args *args) {
    const struct scatter_kernel *kernel = object;
    const struct tn_tensor *data = tn_in(args, 0), *idx = tn_in(args, 1);
    const struct tn_tensor *updates = tn_in(args, 2);
    if (!tn_dims_equal(idx->dims, idx->rank, updates->dims, updates->rank))
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "the updates have not the shape of the indices");
    TN_TRY(tn__element_positions(
        data, idx, kernel->attrs.axis, args->workspace, args->run->diag));
    apply(kernel, copy_data(args), updates, args->workspace, tn_tensor_count(idx), 1);
    return TN_OK;
}

static tn_status compute_nd(void *object, const struct tn_run_args *args) {
    const struct scatter_kernel *kernel = object;
    const struct tn_tensor *updates = tn_in(args, 2);
    int64_t n = 0, item = 0;
    TN_TRY(tn__nd_positions(
        tn_in(args, 0), tn_in(args, 1), 0, args->workspace, &n, &item, args->run->diag));
    if (tn_tensor_count(updates) != n * item)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "%lld updates for %lld places of %lld elements",
            (long long)tn_tensor_count(updates), (long long)n, (long long)item);
    apply(kernel, copy_data(args), updates, args->workspace, n, item);
    return TN_OK;
}

/* Room for one position a tuple of indices. */
static tn_status workspace_nd(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct tn_tensor *idx = tn_in(args, 1);
    (void)kernel;
    if (idx->rank > 0)
        out->scratch =
            (uint64_t)tn_dims_product(idx->dims, 0, idx->rank - 1) * sizeof(int64_t);
    return TN_OK;
}

static tn_status infer_scatter(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

/* clang-format off */
#define SCATTER_INPUTS TN_INPUTS({"data", "T"}, {"indices", "Tind"}, {"updates", "T"})
#define SCATTER_TYPES TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}, {"Tind", TN_TYPES_INDEX})
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Scatter"), TN_VERSIONS({9}, {11}), SCATTER_INPUTS, TN_OUTPUTS({"output", "T"}),
        SCATTER_TYPES, TN_ATTRS(scatter), .infer = infer_scatter},
    {TN_DEF("", "ScatterElements"), TN_VERSIONS({11}, {13}, {16}, {18}), SCATTER_INPUTS,
        TN_OUTPUTS({"output", "T"}), SCATTER_TYPES, TN_ATTRS(elements), .infer = infer_scatter},
    {TN_DEF("", "ScatterND"), TN_VERSIONS({11}, {13}, {16}, {18}),
        TN_INPUTS({"data", "T"}, {"indices", NULL, TN_BIT(INT64)}, {"updates", "T"}),
        TN_OUTPUTS({"output", "T"}), TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), TN_ATTRS(nd),
        .infer = infer_scatter},
};

#define OVER_DATA TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE})
static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Scatter", 11), OVER_DATA, .create = create, .workspace = workspace,
        .compute = compute_elements},
    {TN_KERNEL("", "ScatterElements", 18), OVER_DATA, .create = create, .workspace = workspace,
        .compute = compute_elements},
    {TN_KERNEL("", "ScatterND", 18), OVER_DATA, .create = create, .workspace = workspace_nd,
        .compute = compute_nd},
};
/* clang-format on */

TN_FAMILY(scatter);
