/* Picking by index: Gather, GatherElements, GatherND. Indices are checked and turned into
 * positions first, so that the moves that follow cannot fail and may run in parallel. */
#include "loops/copy.h"
#include "ops/indices.h"
#include "ops/ops.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define AXIS_ATTRS(X, S) X(S, INT, axis, 0)
#define BATCH_ATTRS(X, S) X(S, INT, batch_dims, 0)
TN_ATTR_TABLE(axis, AXIS_ATTRS)
TN_ATTR_TABLE(batch, BATCH_ATTRS)
/* clang-format on */

struct gather_kernel {
    struct tn__kernel base;
    int64_t axis; /* GatherND: batch_dims */
};

static tn_status create_axis(const struct tn_kernel_ctx *ctx, void **out) {
    struct axis_attrs attrs;
    TN_TRY(TN_ATTRS_READ(axis, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct gather_kernel), out));
    ((struct gather_kernel *)*out)->axis = attrs.axis;
    return TN_OK;
}

static tn_status create_nd(const struct tn_kernel_ctx *ctx, void **out) {
    struct batch_attrs attrs;
    TN_TRY(TN_ATTRS_READ(batch, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct gather_kernel), out));
    ((struct gather_kernel *)*out)->axis = attrs.batch_dims;
    return TN_OK;
}

/* Room for one position an index. */
static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct tn_tensor *indices = tn_in(args, 1);
    (void)kernel;
    out->scratch = (uint64_t)tn_tensor_count(indices) * sizeof(int64_t);
    return TN_OK;
}

/* ---- moving ----------------------------------------------------------------------------- */

/* Output item i = `bytes` at src + positions[i] * bytes. */
struct pick_job {
    char *dst;
    const char *src;
    const int64_t *positions;
    uint64_t bytes;
    /* Gather: items come in rows of n, each row from its own part of the source. */
    int64_t n;
    uint64_t src_pitch;
};

static void pick_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct pick_job *job = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t row = job->n ? i / job->n : 0, k = i - row * job->n;
        const char *src = job->src + (uint64_t)row * job->src_pitch +
                          (uint64_t)job->positions[k] * job->bytes;
        memcpy(job->dst + (uint64_t)i * job->bytes, src, job->bytes);
    }
}

static void pick(
    const struct tn__kernel *kernel, const struct pick_job *job, int64_t items) {
    if (job->bytes == 0) return;
    tn_parallel(
        kernel->host, items, 3.0 + 0.05 * (double)job->bytes, pick_piece, (void *)job);
}

/* ---- Gather ----------------------------------------------------------------------------- */

static tn_status infer_gather(const struct tn_infer *infer) {
    const struct tn_type *data = tn_infer_input(infer, 0),
                         *idx = tn_infer_input(infer, 1);
    int64_t dims[TN_RANK_MAX];
    struct axis_attrs attrs;
    uint32_t axis = 0, rank = 0, n, n_idx;
    TN_TRY(TN_ATTRS_READ(axis, infer->node, &attrs, infer->diag));
    if (!data) return TN_OK;
    if (!idx || data->rank < 0 || idx->rank < 0)
        return tn_infer_set(infer, 0, data->dtype, -1, NULL);
    TN_TRY(tn_axis_fix(attrs.axis, data->rank, &axis, infer->diag));
    TN_TRY(tn_rank_check((int64_t)data->rank + idx->rank - 1, infer->diag));
    for (uint32_t i = 0; i < axis; i++)
        dims[rank++] = data->dims[i];
    for (int32_t i = 0; i < idx->rank; i++)
        dims[rank++] = idx->dims[i];
    for (uint32_t i = axis + 1; i < (uint32_t)data->rank; i++)
        dims[rank++] = data->dims[i];
    TN_TRY(tn_infer_set(infer, 0, data->dtype, (int32_t)rank, dims));
    const int64_t *content = tn_infer_ints(infer, 0, &n);
    const int64_t *index = tn_infer_ints(infer, 1, &n_idx);
    if (!content || !index || data->rank != 1 || idx->rank > 1 || n_idx > TN_RANK_MAX)
        return TN_OK;
    for (uint32_t i = 0; i < n_idx; i++) {
        int64_t at = index[i] < 0 ? index[i] + n : index[i];
        if (tn_dim_is_symbol(index[i])) return TN_OK;
        if (at < 0 || at >= n)
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "index %lld is outside an axis of size %u", (long long)index[i], n);
        dims[i] = content[at];
    }
    return infer->set_dims_value(infer->self, 0, dims, n_idx);
}

static tn_status compute_gather(void *object, const struct tn_run_args *args) {
    const struct gather_kernel *kernel = object;
    const struct tn_tensor *data = tn_in(args, 0), *idx = tn_in(args, 1);
    struct tn_diag *diag = args->run->diag;
    int64_t dims[TN_RANK_MAX], n = tn_tensor_count(idx);
    int64_t *positions = args->workspace;
    uint32_t axis = 0, rank = 0;
    struct tn_tensor *out;
    TN_TRY(tn_axis_fix(kernel->axis, data->rank, &axis, diag));
    TN_TRY(tn_rank_check((int64_t)data->rank + idx->rank - 1, diag));
    for (uint32_t i = 0; i < axis; i++)
        dims[rank++] = data->dims[i];
    for (uint32_t i = 0; i < idx->rank; i++)
        dims[rank++] = idx->dims[i];
    for (uint32_t i = axis + 1; i < data->rank; i++)
        dims[rank++] = data->dims[i];
    TN_TRY(tn_out_shaped(args, 0, data->dtype, dims, rank, &out));
    TN_TRY(tn__indices_resolve(idx, data->dims[axis], positions, diag));
    int64_t outer = tn_dims_product(data->dims, 0, axis);
    int64_t inner = tn_dims_product(data->dims, axis + 1, data->rank);
    uint64_t size = tn_dtype_bits(data->dtype) / 8;
    struct pick_job job = {out->data, data->data, positions, (uint64_t)inner * size, n,
        (uint64_t)data->dims[axis] * (uint64_t)inner * size};
    pick(&kernel->base, &job, outer * n);
    return TN_OK;
}

/* ---- GatherElements --------------------------------------------------------------------- */

static tn_status infer_gather_elements(const struct tn_infer *infer) {
    const struct tn_type *data = tn_infer_input(infer, 0);
    if (!data) return TN_OK;
    return tn_infer_shape_like(infer, 0, 1, data->dtype);
}

/* The indices' shape may be smaller than the data's on every axis but `axis`. */
static tn_status check_elements(const struct tn_tensor *data, const struct tn_tensor *idx,
    uint32_t axis, struct tn_diag *diag) {
    if (data->rank != idx->rank)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the indices have rank %u, the data have rank %u", idx->rank, data->rank);
    for (uint32_t i = 0; i < data->rank; i++)
        if (i != axis && idx->dims[i] > data->dims[i])
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "the indices have size %lld at axis %u, the data %lld",
                (long long)idx->dims[i], i, (long long)data->dims[i]);
    return TN_OK;
}

tn_status tn__element_positions(const struct tn_tensor *data, const struct tn_tensor *idx,
    int64_t axis_attr, int64_t *positions, struct tn_diag *diag) {
    int64_t steps[TN_RANK_MAX], coords[TN_RANK_MAX] = {0}, n = tn_tensor_count(idx);
    uint32_t axis = 0, rank = data->rank;
    if (rank == 0) return tn__indices_resolve(idx, 1, positions, diag);
    TN_TRY(tn_rank_check(rank, diag));
    TN_TRY(tn_axis_fix(axis_attr, rank, &axis, diag));
    TN_TRY(check_elements(data, idx, axis, diag));
    tn__dense_steps(data->dims, rank, steps);
    int64_t base = 0; /* position without the axis */
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        TN_TRY(tn__index_at(idx, i, data->dims[axis], &at, diag));
        positions[i] = base + at * steps[axis];
        for (uint32_t d = rank; d-- > 0;) {
            coords[d]++;
            if (d != axis) base += steps[d];
            if (coords[d] < idx->dims[d]) break;
            if (d != axis) base -= coords[d] * steps[d];
            coords[d] = 0;
        }
    }
    return TN_OK;
}

static tn_status compute_gather_elements(void *object, const struct tn_run_args *args) {
    const struct gather_kernel *kernel = object;
    const struct tn_tensor *data = tn_in(args, 0), *idx = tn_in(args, 1);
    struct tn_diag *diag = args->run->diag;
    struct tn_tensor *out;
    TN_TRY(tn_out_shaped(args, 0, data->dtype, idx->dims, idx->rank, &out));
    TN_TRY(tn__element_positions(data, idx, kernel->axis, args->workspace, diag));
    struct pick_job job = {.dst = out->data,
        .src = data->data,
        .positions = args->workspace,
        .bytes = tn_dtype_bits(data->dtype) / 8,
        .n = tn_tensor_count(idx)};
    pick(&kernel->base, &job, job.n);
    return TN_OK;
}

/* ---- GatherND --------------------------------------------------------------------------- */

static tn_status infer_gather_nd(const struct tn_infer *infer) {
    const struct tn_type *data = tn_infer_input(infer, 0),
                         *idx = tn_infer_input(infer, 1);
    int64_t dims[TN_RANK_MAX];
    struct batch_attrs attrs;
    uint32_t rank = 0;
    TN_TRY(TN_ATTRS_READ(batch, infer->node, &attrs, infer->diag));
    if (!data) return TN_OK;
    if (!idx || data->rank < 0 || idx->rank < 1 || idx->dims[idx->rank - 1] < 0)
        return tn_infer_set(infer, 0, data->dtype, -1, NULL);
    int64_t depth = idx->dims[idx->rank - 1];
    if (attrs.batch_dims < 0 || attrs.batch_dims >= idx->rank ||
        depth > data->rank - attrs.batch_dims)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "indices of depth %lld with %lld batch axes do not fit data of rank %d",
            (long long)depth, (long long)attrs.batch_dims, (int)data->rank);
    TN_TRY(tn_rank_check((int64_t)idx->rank + data->rank, infer->diag));
    for (int32_t i = 0; i < idx->rank - 1; i++)
        dims[rank++] = idx->dims[i];
    for (int64_t i = attrs.batch_dims + depth; i < data->rank; i++)
        dims[rank++] = data->dims[i];
    return tn_infer_set(infer, 0, data->dtype, (int32_t)rank, dims);
}

tn_status tn__nd_positions(const struct tn_tensor *data, const struct tn_tensor *idx,
    int64_t batch_dims, int64_t *positions, int64_t *out_n, int64_t *out_item,
    struct tn_diag *diag) {
    int64_t steps[TN_RANK_MAX], batch = 1, per_batch = 1;
    TN_TRY(tn_rank_check(data->rank, diag));
    if (idx->rank < 1 || batch_dims < 0 || batch_dims >= idx->rank ||
        idx->dims[idx->rank - 1] > (int64_t)data->rank - batch_dims)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "indices of rank %u with %lld batch axes do not fit data of rank %u",
            idx->rank, (long long)batch_dims, data->rank);
    uint32_t depth = (uint32_t)idx->dims[idx->rank - 1], b = (uint32_t)batch_dims;
    for (uint32_t i = 0; i < b; i++) {
        if (idx->dims[i] != data->dims[i])
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "batch axis %u has size %lld in the indices and %lld in the data", i,
                (long long)idx->dims[i], (long long)data->dims[i]);
        batch *= data->dims[i];
    }
    for (uint32_t i = b; i + 1 < idx->rank; i++)
        per_batch *= idx->dims[i];
    *out_item = tn_dims_product(data->dims, b + depth, data->rank);
    *out_n = batch * per_batch;
    tn__dense_steps(data->dims, data->rank, steps);
    int64_t batch_items = tn_dims_product(data->dims, b, b + depth);
    for (int64_t i = 0; i < *out_n; i++) {
        int64_t at = per_batch ? i / per_batch * batch_items : 0;
        for (uint32_t k = 0; k < depth; k++) {
            int64_t index = 0;
            TN_TRY(tn__index_at(idx, i * depth + k, data->dims[b + k], &index, diag));
            at += index * tn_dims_product(data->dims, b + k + 1, b + depth);
        }
        positions[i] = at;
    }
    return TN_OK;
}

/* Room for one position a tuple of indices. */
static tn_status workspace_nd(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct tn_tensor *idx = tn_in(args, 1);
    int64_t n = idx->rank ? tn_dims_product(idx->dims, 0, idx->rank - 1) : 0;
    (void)kernel;
    out->scratch = (uint64_t)n * sizeof(int64_t);
    return TN_OK;
}

static tn_status compute_gather_nd(void *object, const struct tn_run_args *args) {
    const struct gather_kernel *kernel = object;
    const struct tn_tensor *data = tn_in(args, 0), *idx = tn_in(args, 1);
    struct tn_diag *diag = args->run->diag;
    int64_t dims[TN_RANK_MAX], n = 0, item = 0;
    uint32_t rank = 0;
    struct tn_tensor *out;
    TN_TRY(tn_rank_check((int64_t)idx->rank + data->rank, diag));
    TN_TRY(tn__nd_positions(data, idx, kernel->axis, args->workspace, &n, &item, diag));
    for (uint32_t i = 0; i + 1 < idx->rank; i++)
        dims[rank++] = idx->dims[i];
    for (int64_t i = kernel->axis + idx->dims[idx->rank - 1]; i < data->rank; i++)
        dims[rank++] = data->dims[i];
    TN_TRY(tn_out_shaped(args, 0, data->dtype, dims, rank, &out));
    struct pick_job job = {.dst = out->data,
        .src = data->data,
        .positions = args->workspace,
        .bytes = (uint64_t)item * (tn_dtype_bits(data->dtype) / 8),
        .n = n};
    pick(&kernel->base, &job, n);
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
#define GATHER_TYPES TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}, {"Tind", TN_TYPES_INDEX})
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Gather"), TN_VERSIONS({1}, {11}, {13}),
        TN_INPUTS({"data", "T"}, {"indices", "Tind"}), TN_OUTPUTS({"output", "T"}),
        GATHER_TYPES, TN_ATTRS(axis), .infer = infer_gather},
    {TN_DEF("", "GatherElements"), TN_VERSIONS({11}, {13}),
        TN_INPUTS({"data", "T"}, {"indices", "Tind"}), TN_OUTPUTS({"output", "T"}),
        GATHER_TYPES, TN_ATTRS(axis), .infer = infer_gather_elements},
    {TN_DEF("", "GatherND"), TN_VERSIONS({11}, {12}, {13}),
        TN_INPUTS({"data", "T"}, {"indices", NULL, TN_BIT(INT64)}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), TN_ATTRS(batch), .infer = infer_gather_nd},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Gather", 13), .create = create_axis, .workspace = workspace,
        .compute = compute_gather},
    {TN_KERNEL("", "GatherElements", 13), .create = create_axis, .workspace = workspace,
        .compute = compute_gather_elements},
    {TN_KERNEL("", "GatherND", 13), .create = create_nd, .workspace = workspace_nd,
        .compute = compute_gather_nd},
};
/* clang-format on */

TN_FAMILY(gather);
