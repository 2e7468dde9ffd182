/* Blocks put in another place: ReverseSequence, TensorScatter (a cache that takes an update),
 * CenterCropPad. */
#include "loops/copy.h"
#include "ops/lines.h"
#include "ops/ops.h"

/* clang-format off */
#define REVERSE_ATTRS(X, S) X(S, INT, batch_axis, 1) X(S, INT, time_axis, 0)
#define CACHE_ATTRS(X, S) X(S, INT, axis, -2) X(S, STRING, mode, "linear")
#define CENTER_ATTRS(X, S) X(S, INTS, axes, )
TN_ATTR_TABLE(reverse, REVERSE_ATTRS)
TN_ATTR_TABLE(cache, CACHE_ATTRS)
TN_ATTR_TABLE(center, CENTER_ATTRS)
/* clang-format on */

struct place_kernel {
    struct tn__kernel base;
    struct reverse_attrs reverse;
    struct cache_attrs cache;
    struct center_attrs center;
};

static tn_status infer_first(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

/* ---- ReverseSequence ---------------------------------------------------------------------- */

static tn_status create_reverse(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct place_kernel), out));
    struct place_kernel *kernel = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(reverse, ctx->node, &kernel->reverse, ctx->diag), out);
}

static tn_status compute_reverse(void *object, const struct tn_run_args *args) {
    const struct place_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0), *lens = tn_in(args, 1);
    struct tn_tensor *out = tn_out(args, 0);
    struct tn_diag *diag = args->run->diag;
    int64_t batch_axis = kernel->reverse.batch_axis,
            time_axis = kernel->reverse.time_axis;
    bool batch_first = batch_axis == 0 && time_axis == 1;
    if (in->rank < 2 || (!batch_first && !(batch_axis == 1 && time_axis == 0)))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the first two axes must be batch and time; batch_axis is %lld, time_axis "
            "%lld",
            (long long)batch_axis, (long long)time_axis);
    int64_t batch = in->dims[batch_axis], time = in->dims[time_axis];
    size_t bytes =
        (size_t)tn_dims_product(in->dims, 2, in->rank) * (tn_dtype_bits(in->dtype) / 8);
    if (tn_tensor_count(lens) != batch)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "%lld lengths for %lld sequences",
            (long long)tn_tensor_count(lens), (long long)batch);
    for (int64_t b = 0; b < batch; b++) {
        int64_t n = tn_tensor_int(lens, b);
        if (n < 0 || n > time)
            return tn_fail(diag, TN_INVALID_ARGUMENT, "length %lld is outside [0, %lld]",
                (long long)n, (long long)time);
        for (int64_t t = 0; t < time && bytes; t++) {
            int64_t from = t < n ? n - 1 - t : t;
            int64_t to_item = batch_first ? b * time + t : t * batch + b;
            int64_t from_item = batch_first ? b * time + from : from * batch + b;
            memcpy((char *)out->data + (size_t)to_item * bytes,
                (const char *)in->data + (size_t)from_item * bytes, bytes);
        }
    }
    return TN_OK;
}

/* ---- TensorScatter ------------------------------------------------------------------------ */

static tn_status create_cache(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct place_kernel), out));
    struct place_kernel *kernel = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(cache, ctx->node, &kernel->cache, ctx->diag), out);
}

/* Where the update of one sample begins in its cache. */
static tn_status write_index(const struct tn_tensor *starts, int64_t batch,
    int64_t length, int64_t room, bool circular, int64_t *out, struct tn_diag *diag) {
    *out = starts ? tn_tensor_int(starts, batch) : 0;
    if (circular && *out >= 0 && room > 0) *out %= room;
    if (*out >= 0 && *out <= room && (circular || length <= room - *out)) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "an update of %lld does not fit a cache of %lld from %lld on", (long long)length,
        (long long)room, (long long)*out);
}

static tn_status compute_cache(void *object, const struct tn_run_args *args) {
    const struct place_kernel *kernel = object;
    const struct tn_tensor *past = tn_in(args, 0), *update = tn_in(args, 1);
    const struct tn_tensor *starts = tn_in(args, 2);
    struct tn_tensor *out = tn_out(args, 0);
    struct tn_diag *diag = args->run->diag;
    bool circular = tn_string_is(kernel->cache.mode, "circular");
    struct tn__lines cache, news;
    TN_TRY(tn__lines_make(past, kernel->cache.axis, &cache, diag));
    TN_TRY(tn__lines_make(update, kernel->cache.axis, &news, diag));
    if (past->rank != update->rank || past->rank < 2 || cache.outer != news.outer ||
        cache.inner != news.inner || news.n > cache.n ||
        (starts && tn_tensor_count(starts) != past->dims[0]))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the update or its indices have not the shape of the cache");
    if (out->size > 0 && out->data != past->data)
        memcpy(out->data, past->data, past->size);
    int64_t per_sample = past->dims[0] ? cache.outer / past->dims[0] : 0;
    for (int64_t o = 0; o < cache.outer; o++) {
        int64_t at = 0;
        TN_TRY(write_index(starts, per_sample ? o / per_sample : 0, news.n, cache.n,
            circular, &at, diag));
        for (int64_t done = 0; done < news.n;) { /* in two parts where it wraps */
            int64_t n = news.n - done < cache.n - at ? news.n - done : cache.n - at;
            int64_t dims = n * cache.inner, one = 1;
            struct tn__copy copy;
            TN_TRY(tn__copy_plan(&copy, past->dtype, 1, &dims, &one, &one, diag));
            copy.dst_offset = (o * cache.n + at) * cache.inner;
            copy.src_offset = (o * news.n + done) * cache.inner;
            tn__copy_run(kernel->base.host, &copy, out->data, update->data);
            done += n;
            at = 0;
        }
    }
    return TN_OK;
}

/* ---- CenterCropPad ------------------------------------------------------------------------ */

/* Output dims: those of the input, with the wanted sizes along the axes. */
static tn_status center_dims(const struct center_attrs *attrs, const int64_t *in,
    uint32_t rank, const int64_t *wanted, int64_t n, int64_t *dims,
    struct tn_diag *diag) {
    int64_t n_axes = attrs->axes.present ? attrs->axes.n : rank;
    TN_TRY(tn_rank_check(rank, diag));
    if (n != n_axes)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "%lld sizes for %lld axes",
            (long long)n, (long long)n_axes);
    if (rank) memcpy(dims, in, rank * sizeof *dims);
    for (int64_t i = 0; i < n; i++) {
        uint32_t axis = 0;
        TN_TRY(
            tn_axis_fix(attrs->axes.present ? attrs->axes.v[i] : i, rank, &axis, diag));
        dims[axis] = wanted[i];
        if (wanted[i] < 0 && !tn_dim_is_symbol(wanted[i]))
            return tn_fail(diag, TN_INVALID_ARGUMENT, "the shape holds the size %lld",
                (long long)wanted[i]);
    }
    return TN_OK;
}

static tn_status infer_center(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct center_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    uint32_t n;
    TN_TRY(TN_ATTRS_READ(center, infer->node, &attrs, infer->diag));
    TN_TRY(tn_infer_vector(infer, 1, "shape"));
    if (!in) return TN_OK;
    const int64_t *wanted = tn_infer_ints(infer, 1, &n);
    if (in->rank < 0 || !wanted) return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    TN_TRY(
        center_dims(&attrs, in->dims, (uint32_t)in->rank, wanted, n, dims, infer->diag));
    return tn_infer_set(infer, 0, in->dtype, in->rank, dims);
}

static tn_status create_center(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct place_kernel), out));
    struct place_kernel *kernel = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(center, ctx->node, &kernel->center, ctx->diag), out);
}

static tn_status compute_center(void *object, const struct tn_run_args *args) {
    const struct place_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0), *shape = tn_in(args, 1);
    struct tn_diag *diag = args->run->diag;
    int64_t wanted[TN_RANK_MAX], dims[TN_RANK_MAX], kept[TN_RANK_MAX];
    int64_t src_steps[TN_RANK_MAX], dst_steps[TN_RANK_MAX], n = tn_tensor_count(shape);
    struct tn_tensor *out;
    struct tn__copy copy;
    TN_TRY(tn_rank_check(n, diag));
    for (int64_t i = 0; i < n; i++)
        wanted[i] = tn_tensor_int(shape, i);
    TN_TRY(center_dims(&kernel->center, in->dims, in->rank, wanted, n, dims, diag));
    TN_TRY(tn_out_shaped(args, 0, in->dtype, dims, in->rank, &out));
    if (out->size > 0) memset(out->data, 0, out->size);
    for (uint32_t i = 0; i < in->rank; i++)
        kept[i] = in->dims[i] < dims[i] ? in->dims[i] : dims[i];
    tn__dense_steps(in->dims, in->rank, src_steps);
    tn__dense_steps(dims, in->rank, dst_steps);
    TN_TRY(tn__copy_plan(&copy, in->dtype, in->rank, kept, dst_steps, src_steps, diag));
    for (uint32_t i = 0; i < in->rank; i++) {
        copy.src_offset += (in->dims[i] - kept[i]) / 2 * src_steps[i];
        copy.dst_offset += (dims[i] - kept[i]) / 2 * dst_steps[i];
    }
    tn__copy_run(kernel->base.host, &copy, out->data, in->data);
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
#define TYPES_CACHE (TN_TYPES_ALL & ~(TN_BIT(UINT2) | TN_BIT(INT2)))
static const struct tn_op_def defs[] = {
    {TN_DEF("", "ReverseSequence"), TN_VERSIONS({10}, {28}),
        TN_INPUTS({"input", "T"}, {"sequence_lens", NULL, TN_BIT(INT64)}), TN_OUTPUTS({"Y", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), TN_ATTRS(reverse), .infer = infer_first},
    {TN_DEF("", "TensorScatter"), TN_VERSIONS({24}),
        TN_INPUTS({"past_cache", "T"}, {"update", "T"},
            {"write_indices", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"present_cache", "T"}), TN_TYPE_VARS({"T", TYPES_CACHE}), TN_ATTRS(cache),
        .infer = infer_first},
    {TN_DEF("", "CenterCropPad"), TN_VERSIONS({18}),
        TN_INPUTS({"input_data", "T"}, {"shape", "Tind"}), TN_OUTPUTS({"output_data", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}, {"Tind", TN_TYPES_INDEX}), TN_ATTRS(center),
        .infer = infer_center},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "ReverseSequence", 28), .create = create_reverse, .compute = compute_reverse},
    {TN_KERNEL("", "TensorScatter", 24), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}),
        .create = create_cache, .compute = compute_cache},
    {TN_KERNEL("", "CenterCropPad", 18), .create = create_center, .compute = compute_center},
};
/* clang-format on */

TN_FAMILY(place);
