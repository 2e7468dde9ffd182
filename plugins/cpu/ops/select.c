/* Selection whose result depends on data: NonZero, Compress, OneHot. (Unique is in
 * unique.c.) */
#include "loops/copy.h"
#include "loops/number.h"
#include "ops/lines.h"
#include "ops/ops.h"

#include <math.h>

/* clang-format off */
#define COMPRESS_ATTRS(X, S) X(S, INT, axis, INT64_MIN) /* the default: the input is flattened */
#define ONE_HOT_ATTRS(X, S) X(S, INT, axis, -1)
TN_ATTR_TABLE(compress, COMPRESS_ATTRS)
TN_ATTR_TABLE(one_hot, ONE_HOT_ATTRS)
/* clang-format on */

struct select_kernel {
    struct tn__kernel base;
    int64_t axis;
};

static tn_status create_plain(const struct tn_kernel_ctx *ctx, void **out) {
    return tn__kernel_create(ctx, sizeof(struct select_kernel), out);
}

/* ---- NonZero ---------------------------------------------------------------------------- */

static tn_status infer_nonzero(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    int64_t dims[2] = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN};
    if (in && in->rank >= 0) dims[0] = in->rank;
    return tn_infer_set(infer, 0, TN_INT64, 2, dims);
}

/* Whether element i of text or complex numbers is other than empty or zero. */
static bool is_set(const struct tn_tensor *tensor, int64_t i) {
    const double *x128 = tensor->data;
    const float *x64 = tensor->data;
    if (tensor->dtype == TN_STRING)
        return ((const struct tn_string *)tensor->data)[i].size > 0;
    if (tensor->dtype == TN_COMPLEX64)
        return x64[2 * i] != 0.0f || x64[2 * i + 1] != 0.0f;
    return x128[2 * i] != 0.0 || x128[2 * i + 1] != 0.0;
}

/* Which elements are not zero: minus zero is zero, NaN is not. */
static void set_flags(const struct tn_tensor *in, int64_t n, uint8_t *flags) {
    bool real = (TN_TYPES_FLOATS >> in->dtype & 1) != 0;
    bool plain = !(TN_TYPES_COMPLEX >> in->dtype & 1) && in->dtype != TN_STRING;
    /* clang-format off */
#define FLAGS(type, bits) \
    if (plain && tn_dtype_bits(in->dtype) == (bits)) { \
        const type *x = in->data; \
        type mask = real ? (type)~((type)1 << ((bits) - 1)) : (type)~(type)0; \
        for (int64_t i = 0; i < n; i++) flags[i] = (x[i] & mask) != 0; \
        return; \
    }
    FLAGS(uint8_t, 8)
    FLAGS(uint16_t, 16)
    FLAGS(uint32_t, 32)
    FLAGS(uint64_t, 64)
#undef FLAGS
    /* clang-format on */
    for (int64_t i = 0; i < n; i++)
        flags[i] = is_set(in, i);
}

/* One flag an element. */
static tn_status workspace_nonzero(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    out->scratch = (uint64_t)tn_tensor_count(tn_in(args, 0));
    return TN_OK;
}

static tn_status compute_nonzero(void *object, const struct tn_run_args *args) {
    const struct tn_tensor *in = tn_in(args, 0);
    int64_t n = tn_tensor_count(in), dims[2] = {in->rank, 0}, at = 0;
    int64_t coords[TN_RANK_MAX] = {0};
    uint8_t *flags = args->workspace;
    uint32_t last = in->rank ? in->rank - 1 : 0;
    int64_t row = in->rank ? in->dims[last] : 1;
    struct tn_tensor *out;
    (void)object;
    TN_TRY(tn_rank_check(in->rank, args->run->diag));
    set_flags(in, n, flags);
    for (int64_t i = 0; i < n; i++)
        dims[1] += flags[i];
    TN_TRY(tn_out_shaped(args, 0, TN_INT64, dims, 2, &out));
    int64_t *lists = out->data; /* one list of dims[1] coordinates an axis */
    for (int64_t i = 0; in->rank && i < n; i += row) {
        for (int64_t j = 0; j < row; j++) {
            if (!flags[i + j]) continue;
            for (uint32_t d = 0; d < last; d++)
                lists[d * dims[1] + at] = coords[d];
            lists[last * dims[1] + at++] = j;
        }
        for (uint32_t d = last; d-- > 0;) {
            if (++coords[d] < in->dims[d]) break;
            coords[d] = 0;
        }
    }
    return TN_OK;
}

/* ---- Compress --------------------------------------------------------------------------- */

static tn_status infer_compress(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct compress_attrs attrs;
    int64_t dims[TN_RANK_MAX] = {TN_DIM_UNKNOWN};
    uint32_t axis = 0;
    TN_TRY(TN_ATTRS_READ(compress, infer->node, &attrs, infer->diag));
    if (!in) return TN_OK;
    if (attrs.axis == INT64_MIN) return tn_infer_set(infer, 0, in->dtype, 1, dims);
    if (in->rank < 0) return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    TN_TRY(tn_rank_check(in->rank, infer->diag));
    TN_TRY(tn_axis_fix(attrs.axis, in->rank, &axis, infer->diag));
    for (int32_t i = 0; i < in->rank; i++)
        dims[i] = in->dims[i];
    dims[axis] = TN_DIM_UNKNOWN;
    return tn_infer_set(infer, 0, in->dtype, in->rank, dims);
}

static tn_status create_compress(const struct tn_kernel_ctx *ctx, void **out) {
    struct compress_attrs attrs;
    TN_TRY(TN_ATTRS_READ(compress, ctx->node, &attrs, ctx->diag));
    TN_TRY(create_plain(ctx, out));
    ((struct select_kernel *)*out)->axis = attrs.axis;
    return TN_OK;
}

static tn_status compute_compress(void *object, const struct tn_run_args *args) {
    const struct select_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0), *cond = tn_in(args, 1);
    const uint8_t *keep = cond->data;
    struct tn__lines lines = {1, tn_tensor_count(in), 1};
    int64_t dims[TN_RANK_MAX] = {0}, n = tn_tensor_count(cond), kept = 0;
    bool flat = kernel->axis == INT64_MIN;
    uint32_t axis = 0;
    struct tn_tensor *out;
    TN_TRY(tn_rank_check(in->rank, args->run->diag));
    if (!flat) {
        TN_TRY(tn__lines_make(in, kernel->axis, &lines, args->run->diag));
        TN_TRY(tn_axis_fix(kernel->axis, in->rank, &axis, args->run->diag));
        for (uint32_t i = 0; i < in->rank; i++)
            dims[i] = in->dims[i];
    }
    if (n > lines.n) n = lines.n;
    for (int64_t i = 0; i < n; i++)
        kept += keep[i] != 0;
    dims[axis] = kept;
    TN_TRY(tn_out_shaped(args, 0, in->dtype, dims, flat ? 1 : in->rank, &out));
    size_t bytes = (size_t)lines.inner * (tn_dtype_bits(in->dtype) / 8);
    char *dst = out->data;
    for (int64_t o = 0; o < lines.outer; o++)
        for (int64_t i = 0; i < n; i++) {
            if (!keep[i]) continue;
            if (bytes)
                memcpy(dst, (const char *)in->data + (size_t)(o * lines.n + i) * bytes,
                    bytes);
            dst += bytes;
        }
    return TN_OK;
}

/* ---- OneHot ----------------------------------------------------------------------------- */

static tn_status infer_one_hot(const struct tn_infer *infer) {
    const struct tn_type *idx = tn_infer_input(infer, 0),
                         *values = tn_infer_input(infer, 2);
    const struct tn_tensor *depth = infer->value(infer->self, 1);
    struct one_hot_attrs attrs;
    int64_t dims[TN_RANK_MAX];
    uint32_t axis = 0, rank = 0, n;
    TN_TRY(TN_ATTRS_READ(one_hot, infer->node, &attrs, infer->diag));
    if (!values) return TN_OK;
    if (!idx || idx->rank < 0) return tn_infer_set(infer, 0, values->dtype, -1, NULL);
    TN_TRY(tn_rank_check((int64_t)idx->rank + 1, infer->diag));
    TN_TRY(tn_axis_fix(attrs.axis, (int64_t)idx->rank + 1, &axis, infer->diag));
    const int64_t *content = tn_infer_ints(infer, 1, &n);
    int64_t size = content && n == 1 ? content[0] : TN_DIM_UNKNOWN;
    if (depth && tn_tensor_count(depth) == 1) {
        double d = tn__number_get(depth->dtype, depth->data, 0);
        if (!(d >= 0 && d < 4503599627370496.0))
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT, "depth is %g", d);
        size = (int64_t)d;
    }
    for (uint32_t i = 0; i <= (uint32_t)idx->rank; i++)
        dims[i] = i == axis ? size : idx->dims[rank++];
    return tn_infer_set(infer, 0, values->dtype, idx->rank + 1, dims);
}

static tn_status create_one_hot(const struct tn_kernel_ctx *ctx, void **out) {
    struct one_hot_attrs attrs;
    TN_TRY(TN_ATTRS_READ(one_hot, ctx->node, &attrs, ctx->diag));
    TN_TRY(create_plain(ctx, out));
    ((struct select_kernel *)*out)->axis = attrs.axis;
    return TN_OK;
}

static tn_status compute_one_hot(void *object, const struct tn_run_args *args) {
    const struct select_kernel *kernel = object;
    const struct tn_tensor *idx = tn_in(args, 0), *depth_in = tn_in(args, 1);
    const struct tn_tensor *values = tn_in(args, 2);
    struct tn_diag *diag = args->run->diag;
    int64_t dims[TN_RANK_MAX];
    uint32_t axis = 0, at = 0;
    struct tn_tensor *out;
    if (tn_tensor_count(depth_in) != 1 || tn_tensor_count(values) != 2)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "depth has %lld elements, expected 1; values %lld, expected 2",
            (long long)tn_tensor_count(depth_in), (long long)tn_tensor_count(values));
    double d = tn__number_get(depth_in->dtype, depth_in->data, 0);
    if (!(d >= 0 && d < 4503599627370496.0))
        return tn_fail(diag, TN_INVALID_ARGUMENT, "depth is %g", d);
    TN_TRY(tn_rank_check((int64_t)idx->rank + 1, diag));
    TN_TRY(tn_axis_fix(kernel->axis, (int64_t)idx->rank + 1, &axis, diag));
    int64_t depth = (int64_t)d, n = tn_tensor_count(idx);
    for (uint32_t i = 0; i <= idx->rank; i++)
        dims[i] = i == axis ? depth : idx->dims[at++];
    TN_TRY(tn_out_shaped(args, 0, values->dtype, dims, idx->rank + 1, &out));
    uint32_t bits = tn_dtype_bits(values->dtype);
    int64_t inner = tn_dims_product(dims, axis + 1, idx->rank + 1);
    if (tn_tensor_count(out) > 0)
        tn__fill(out->data, 0, values->data, 0, tn_tensor_count(out), bits);
    for (int64_t i = 0; i < n; i++) { /* beyond the depth: no element is on */
        double index = trunc(tn__number_get(idx->dtype, idx->data, i));
        if (index < 0) index += d;
        if (!(index >= 0 && index < d)) continue;
        int64_t to = i / inner * depth * inner + (int64_t)index * inner + i % inner;
        tn__fill(out->data, to, values->data, 1, 1, bits);
    }
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
#define TYPES_HOT (TN_TYPES_F16_UP | TN_TYPES_INTS)
static const struct tn_op_def defs[] = {
    {TN_DEF("", "NonZero"), TN_VERSIONS({9}, {13}), TN_INPUTS({"X", "T"}),
        TN_OUTPUTS({"Y", NULL, TN_BIT(INT64)}), TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}),
        .infer = infer_nonzero},
    {TN_DEF("", "Compress"), TN_VERSIONS({9}, {11}, {28}),
        TN_INPUTS({"input", "T"}, {"condition", "T1"}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}, {"T1", TN_BIT(BOOL)}), TN_ATTRS(compress),
        .infer = infer_compress},
    {TN_DEF("", "OneHot"), TN_VERSIONS({9}, {11}, {28}),
        TN_INPUTS({"indices", "T1"}, {"depth", "T2"}, {"values", "T3"}),
        TN_OUTPUTS({"output", "T3"}),
        TN_TYPE_VARS({"T1", TYPES_HOT}, {"T2", TYPES_HOT}, {"T3", TN_TYPES_CLASSIC}),
        TN_ATTRS(one_hot), .infer = infer_one_hot},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "NonZero", 13), .create = create_plain, .workspace = workspace_nonzero,
        .compute = compute_nonzero},
    {TN_KERNEL("", "Compress", 28), .create = create_compress, .compute = compute_compress},
    {TN_KERNEL("", "OneHot", 28), .create = create_one_hot, .compute = compute_one_hot},
};
/* clang-format on */

TN_FAMILY(select);
