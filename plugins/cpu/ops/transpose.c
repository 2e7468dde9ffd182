/* Permutations of axes: Transpose, DepthToSpace, SpaceToDepth. All are one strided move. */
#include "loops/copy.h"
#include "ops/ops.h"

/* clang-format off */
#define TRANSPOSE_ATTRS(X, S) X(S, INTS, perm, )
#define BLOCK_ATTRS(X, S) X(S, INT_REQUIRED, blocksize, ) X(S, STRING, mode, "DCR")
TN_ATTR_TABLE(transpose, TRANSPOSE_ATTRS)
TN_ATTR_TABLE(block, BLOCK_ATTRS)
/* clang-format on */

struct permute_kernel {
    struct tn__kernel base;
    struct transpose_attrs transpose;
    struct block_attrs block;
    bool to_depth;
};

/* Axis i of the output is axis perm[i] of the input. */
static tn_status read_perm(
    const struct tn_attr_ints *perm, uint32_t rank, uint32_t *out, struct tn_diag *diag) {
    uint64_t seen = 0;
    TN_TRY(tn_rank_check(rank, diag));
    if (perm->present && perm->n != rank)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'perm' has %u entries, but the input has rank %u", perm->n, rank);
    for (uint32_t i = 0; i < rank; i++) {
        out[i] = rank - 1 - i;
        if (!perm->present) continue;
        TN_TRY(tn_axis_fix(perm->v[i], rank, &out[i], diag));
        if (seen >> out[i] & 1)
            return tn_fail(
                diag, TN_INVALID_MODEL, "attribute 'perm' names axis %u twice", out[i]);
        seen |= UINT64_C(1) << out[i];
    }
    return TN_OK;
}

/* ---- inference ------------------------------------------------------------------------ */

static tn_status infer_transpose(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct transpose_attrs attrs;
    uint32_t perm[TN_RANK_MAX], n;
    int64_t dims[TN_RANK_MAX];
    TN_TRY(TN_ATTRS_READ(transpose, infer->node, &attrs, infer->diag));
    if (!in) return TN_OK;
    if (in->rank < 0) return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    TN_TRY(read_perm(&attrs.perm, (uint32_t)in->rank, perm, infer->diag));
    for (int32_t i = 0; i < in->rank; i++)
        dims[i] = in->dims[perm[i]];
    TN_TRY(tn_infer_set(infer, 0, in->dtype, in->rank, dims));
    const int64_t *content = tn_infer_ints(infer, 0, &n);
    return content ? infer->set_dims_value(infer->self, 0, content, n) : TN_OK;
}

/* A transpose that keeps the order of all axes longer than 1 moves nothing, but only the
 * identity gives the same shape. */
static int32_t elide_transpose(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct transpose_attrs attrs;
    uint32_t perm[TN_RANK_MAX];
    if (!in || in->rank < 0) return -1;
    if (TN_ATTRS_READ(transpose, infer->node, &attrs, NULL) != TN_OK) return -1;
    if (read_perm(&attrs.perm, (uint32_t)in->rank, perm, NULL) != TN_OK) return -1;
    for (uint32_t i = 0; i < (uint32_t)in->rank; i++)
        if (perm[i] != i) return -1;
    return 0;
}

static tn_status check_block(
    const struct tn_type *in, int64_t blocksize, struct tn_diag *diag) {
    if (in->rank >= 0 && in->rank != 4)
        return tn_fail(
            diag, TN_INVALID_MODEL, "the input has rank %d, expected 4", (int)in->rank);
    if (blocksize < 1 || blocksize > INT32_MAX)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'blocksize' is %lld, expected at least 1", (long long)blocksize);
    return TN_OK;
}

/* A dim divided by a factor that must divide it. */
static tn_status split_dim(
    const struct tn_infer *infer, int64_t dim, int64_t factor, int64_t *out) {
    if (dim >= 0 && dim % factor != 0)
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "size %lld is not a multiple of %lld", (long long)dim, (long long)factor);
    *out = infer->dim_op(infer->self, TN_DIM_DIV, dim, factor);
    return TN_OK;
}

static tn_status infer_block(const struct tn_infer *infer, bool to_depth) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct block_attrs attrs;
    int64_t dims[4] = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN, TN_DIM_UNKNOWN, TN_DIM_UNKNOWN};
    TN_TRY(TN_ATTRS_READ(block, infer->node, &attrs, infer->diag));
    if (!in) return TN_OK;
    int64_t b = attrs.blocksize;
    TN_TRY(check_block(in, b, infer->diag));
    if (in->rank == 4) {
        dims[0] = in->dims[0];
        if (!to_depth)
            TN_TRY(split_dim(infer, in->dims[1], b * b, &dims[1]));
        else
            dims[1] = infer->dim_op(infer->self, TN_DIM_MUL, in->dims[1], b * b);
        for (uint32_t i = 2; i < 4; i++) {
            if (to_depth)
                TN_TRY(split_dim(infer, in->dims[i], b, &dims[i]));
            else
                dims[i] = infer->dim_op(infer->self, TN_DIM_MUL, in->dims[i], b);
        }
    }
    return tn_infer_set(infer, 0, in->dtype, 4, dims);
}

static tn_status infer_depth_to_space(const struct tn_infer *infer) {
    return infer_block(infer, false);
}

static tn_status infer_space_to_depth(const struct tn_infer *infer) {
    return infer_block(infer, true);
}

/* ---- kernels -------------------------------------------------------------------------- */

static tn_status create_transpose(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct permute_kernel), out));
    struct permute_kernel *kernel = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(transpose, ctx->node, &kernel->transpose, ctx->diag), out);
}

static tn_status setup_block(
    const struct tn_kernel_ctx *ctx, struct permute_kernel *kernel) {
    TN_TRY(TN_ATTRS_READ(block, ctx->node, &kernel->block, ctx->diag));
    kernel->to_depth = strcmp(ctx->node->op_type, "SpaceToDepth") == 0;
    if (!tn_string_is(kernel->block.mode, "DCR") &&
        !tn_string_is(kernel->block.mode, "CRD"))
        return tn_fail(
            ctx->diag, TN_INVALID_MODEL, "attribute 'mode' is neither 'DCR' nor 'CRD'");
    return TN_OK;
}

static tn_status create_block(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct permute_kernel), out));
    return tn_kernel_ready(setup_block(ctx, *out), out);
}

static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    (void)args;
    out->state = sizeof(struct tn__copy);
    return TN_OK;
}

/* Plans the output's axes over a view of the input: axis i of the output walks axis perm[i]
 * of the view. */
static tn_status plan_permuted(const struct tn_run_args *args, const int64_t *view,
    const uint32_t *perm, uint32_t rank, struct tn_diag *diag) {
    int64_t dims[TN_RANK_MAX], in_steps[TN_RANK_MAX], out_steps[TN_RANK_MAX];
    int64_t src_steps[TN_RANK_MAX], n;
    const struct tn_tensor *in = tn_in(args, 0), *out = tn_out(args, 0);
    tn__dense_steps(view, rank, in_steps);
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = view[perm[i]];
        src_steps[i] = in_steps[perm[i]];
    }
    tn__dense_steps(dims, rank, out_steps);
    if (!out || !tn_shape_count(dims, rank, &n) || n != tn_tensor_count(out))
        return tn_fail(diag, TN_INTERNAL, "the output's shape is not the expected one");
    return tn__copy_plan(args->state, in->dtype, rank, dims, out_steps, src_steps, diag);
}

static tn_status prepare_transpose(void *object, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct permute_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0);
    uint32_t perm[TN_RANK_MAX];
    (void)fn;
    TN_TRY(read_perm(&kernel->transpose.perm, in->rank, perm, diag));
    return plan_permuted(args, in->dims, perm, in->rank, diag);
}

/* The six axes of the standard's reshape: in which order the channel splits, and where its
 * parts go. */
static tn_status prepare_block(void *object, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    static const uint32_t to_space_dcr[6] = {0, 3, 4, 1, 5, 2};
    static const uint32_t to_space_crd[6] = {0, 1, 4, 2, 5, 3};
    static const uint32_t to_depth_dcr[6] = {0, 3, 5, 1, 2, 4};
    static const uint32_t to_depth_crd[6] = {0, 1, 3, 5, 2, 4};
    const struct permute_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0);
    const struct tn_type type = {.rank = (int32_t)in->rank};
    int64_t b = kernel->block.blocksize;
    bool dcr = tn_string_is(kernel->block.mode, "DCR");
    (void)fn;
    TN_TRY(check_block(&type, b, diag));
    const int64_t *d = in->dims;
    if (kernel->to_depth) {
        const int64_t view[6] = {d[0], d[1], d[2] / b, b, d[3] / b, b};
        return plan_permuted(args, view, dcr ? to_depth_dcr : to_depth_crd, 6, diag);
    }
    const int64_t dcr_view[6] = {d[0], b, b, d[1] / (b * b), d[2], d[3]};
    const int64_t crd_view[6] = {d[0], d[1] / (b * b), b, b, d[2], d[3]};
    return plan_permuted(
        args, dcr ? dcr_view : crd_view, dcr ? to_space_dcr : to_space_crd, 6, diag);
}

static tn_status compute(void *object, const struct tn_run_args *args) {
    const struct tn__kernel *kernel = object;
    struct tn_tensor *out = args->outputs[0].as.tensor;
    struct tn__copy *copy = args->state;
    copy->planes = &kernel->cpu->transpose;
    tn__copy_clear(out);
    tn__copy_run(kernel->host, copy, out->data, args->inputs[0].as.tensor->data);
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Transpose"), TN_VERSIONS({1}, {13}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"data", "T"}), TN_OUTPUTS({"transposed", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_ALL}), TN_ATTRS(transpose),
        .infer = infer_transpose, .elide = elide_transpose},
    {TN_DEF("", "DepthToSpace"), TN_VERSIONS({1}, {11}, {13}, {28}),
        TN_INPUTS({"input", "T"}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), TN_ATTRS(block), .infer = infer_depth_to_space},
    {TN_DEF("", "SpaceToDepth"), TN_VERSIONS({1}, {13}, {28}),
        TN_INPUTS({"input", "T"}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), TN_ATTRS(block), .infer = infer_space_to_depth},
};

#define BLOCK_KERNEL(name) \
    {TN_KERNEL("", name, 28), .create = create_block, .workspace = workspace, \
        .prepare = prepare_block, .compute = compute}
static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Transpose", 25), .create = create_transpose, .workspace = workspace,
        .prepare = prepare_transpose, .compute = compute},
    BLOCK_KERNEL("DepthToSpace"),
    BLOCK_KERNEL("SpaceToDepth"),
};
/* clang-format on */

TN_FAMILY(transpose);
