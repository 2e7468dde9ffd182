/* Tensors made from little: Constant, ConstantOfShape, Range, EyeLike, and Trilu, which
 * blanks a triangle. */
#include "loops/copy.h"
#include "loops/number.h"
#include "ops/indices.h"
#include "ops/ops.h"
#include "tenon/helper/parallel.h"

#include <math.h>

/* clang-format off */
#define CONSTANT_ATTRS(X, S) \
    X(S, TENSOR, value, ) \
    X(S, SPARSE_TENSOR, sparse_value, ) \
    X(S, FLOAT, value_float, 0.0f) \
    X(S, FLOATS, value_floats, ) \
    X(S, INT, value_int, 0) \
    X(S, INTS, value_ints, ) \
    X(S, STRING, value_string, NULL) \
    X(S, STRINGS, value_strings, )
#define SHAPE_VALUE_ATTRS(X, S) X(S, TENSOR, value, )
#define RANGE_ATTRS(X, S) X(S, INT, stash_type, 1)
#define EYE_ATTRS(X, S) X(S, INT, dtype, 0) X(S, INT, k, 0)
#define TRILU_ATTRS(X, S) X(S, INT, upper, 1)
TN_ATTR_TABLE(constant, CONSTANT_ATTRS)
TN_ATTR_TABLE(shape_value, SHAPE_VALUE_ATTRS)
TN_ATTR_TABLE(range, RANGE_ATTRS)
TN_ATTR_TABLE(eye, EYE_ATTRS)
TN_ATTR_TABLE(trilu, TRILU_ATTRS)
/* clang-format on */

/* ---- Constant --------------------------------------------------------------------------- */

struct constant_kernel {
    struct tn__kernel base;
    struct tn_tensor tensor; /* borrows the attribute's data, dims is `dim` for lists */
    const struct tn_sparse *sparse;
    int64_t dim;
};

/* Describes the one attribute that holds the value. */
static tn_status read_constant(
    const struct tn_node *node, struct constant_kernel *c, struct tn_diag *diag) {
    static const struct {
        const char *name;
        int32_t dtype;
        uint32_t rank, size;
    } lists[] = {
        {"value_float", TN_FLOAT, 0, sizeof(float)},
        {"value_floats", TN_FLOAT, 1, sizeof(float)},
        {"value_int", TN_INT64, 0, sizeof(int64_t)},
        {"value_ints", TN_INT64, 1, sizeof(int64_t)},
        {"value_string", TN_STRING, 0, sizeof(struct tn_string)},
        {"value_strings", TN_STRING, 1, sizeof(struct tn_string)},
    };
    struct constant_attrs attrs;
    uint32_t found = 0;
    TN_TRY(TN_ATTRS_READ(constant, node, &attrs, diag));
    if (attrs.value.present) {
        c->tensor = attrs.value.v[0];
        found++;
    }
    if (attrs.sparse_value.present) {
        c->sparse = attrs.sparse_value.v;
        c->tensor = (struct tn_tensor){.dtype = c->sparse->values.dtype,
            .rank = (uint32_t)c->sparse->rank,
            .dims = c->sparse->dims};
        found++;
    }
    for (uint32_t i = 0; i < TN_COUNT(lists); i++) {
        const struct tn_attr *attr = tn_node_attr(node, lists[i].name);
        if (!attr) continue;
        c->dim = attr->count;
        c->tensor = (struct tn_tensor){.data = (void *)(uintptr_t)attr->as.ptr,
            .dims = lists[i].rank ? &c->dim : NULL,
            .size = (uint64_t)attr->count * lists[i].size,
            .dtype = lists[i].dtype,
            .rank = lists[i].rank};
        found++;
    }
    if (found == 1) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "the node has %u of the attributes value, value_*, sparse_value; expected one",
        found);
}

static tn_status infer_constant(const struct tn_infer *infer) {
    struct constant_kernel c = {0};
    TN_TRY(read_constant(infer->node, &c, infer->diag));
    TN_TRY(tn_infer_set(infer, 0, c.tensor.dtype, (int32_t)c.tensor.rank, c.tensor.dims));
    const struct tn_attr *value = tn_node_attr(infer->node, "value");
    if (value) return infer->set_value(infer->self, 0, value->as.tensors);
    if (c.tensor.dtype == TN_INT64 && !c.sparse && c.tensor.size <= TN_RANK_MAX * 8)
        return infer->set_dims_value(
            infer->self, 0, c.tensor.data, (uint32_t)(c.tensor.size / 8));
    return TN_OK;
}

static tn_status create_constant(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct constant_kernel), out));
    return tn_kernel_ready(read_constant(ctx->node, *out, ctx->diag), out);
}

/* Writes the listed values into a cleared tensor; indices are linear or coordinates. */
static tn_status densify(
    const struct tn_sparse *sparse, struct tn_tensor *out, struct tn_diag *diag) {
    const struct tn_tensor *values = &sparse->values, *idx = &sparse->indices;
    int64_t n = tn_tensor_count(values), total = tn_tensor_count(out);
    uint32_t bits = tn_dtype_bits(out->dtype), width = idx->rank == 2 ? out->rank : 1;
    if (tn_tensor_count(idx) != n * (int64_t)width)
        return tn_fail(diag, TN_INVALID_MODEL, "%lld values have %lld indices",
            (long long)n, (long long)tn_tensor_count(idx));
    if (out->size > 0) memset(out->data, 0, out->size);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (uint32_t d = 0; d < width && idx->rank == 2; d++) {
            int64_t index = 0;
            TN_TRY(tn__index_at(idx, i * width + d, out->dims[d], &index, diag));
            at = at * out->dims[d] + index;
        }
        if (idx->rank != 2) TN_TRY(tn__index_at(idx, i, total, &at, diag));
        tn__fill(out->data, at, values->data, i, 1, bits);
    }
    return TN_OK;
}

static tn_status compute_constant(void *object, const struct tn_run_args *args) {
    const struct constant_kernel *kernel = object;
    const struct tn_tensor *in = &kernel->tensor;
    struct tn_tensor *out;
    TN_TRY(tn_out_shaped(args, 0, in->dtype, in->dims, in->rank, &out));
    if (kernel->sparse) return densify(kernel->sparse, out, args->run->diag);
    if (out->size > 0) memcpy(out->data, in->data, out->size);
    return TN_OK;
}

/* ---- ConstantOfShape ---------------------------------------------------------------------- */

struct fill_kernel {
    struct tn__kernel base;
    const void *value; /* one element */
    int32_t dtype;
};

static const float zero_f32 = 0.0f;

static tn_status read_fill(const struct tn_node *node, int32_t *dtype, const void **value,
    struct tn_diag *diag) {
    struct shape_value_attrs attrs;
    TN_TRY(TN_ATTRS_READ(shape_value, node, &attrs, diag));
    *dtype = TN_FLOAT;
    *value = &zero_f32;
    if (!attrs.value.present) return TN_OK;
    if (tn_tensor_count(attrs.value.v) != 1)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'value' has %lld elements, expected one",
            (long long)tn_tensor_count(attrs.value.v));
    *dtype = attrs.value.v->dtype;
    *value = attrs.value.v->data;
    return TN_OK;
}

static tn_status infer_constant_of_shape(const struct tn_infer *infer) {
    const struct tn_type *shape = tn_infer_input(infer, 0);
    int64_t dims[TN_RANK_MAX];
    const void *value;
    int32_t dtype;
    uint32_t n;
    TN_TRY(read_fill(infer->node, &dtype, &value, infer->diag));
    TN_TRY(tn_infer_vector(infer, 0, "input"));
    const int64_t *content = tn_infer_ints(infer, 0, &n);
    if (!content) {
        bool ranked = shape && shape->rank == 1 && shape->dims[0] >= 0 &&
                      shape->dims[0] <= TN_RANK_MAX;
        n = ranked ? (uint32_t)shape->dims[0] : 0;
        for (uint32_t i = 0; i < n; i++)
            dims[i] = TN_DIM_UNKNOWN;
        return tn_infer_set(infer, 0, dtype, ranked ? (int32_t)n : -1, dims);
    }
    TN_TRY(tn_rank_check(n, infer->diag));
    for (uint32_t i = 0; i < n; i++) {
        dims[i] = content[i];
        if (dims[i] < 0 && !tn_dim_is_symbol(dims[i]))
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "the shape holds the size %lld", (long long)dims[i]);
    }
    TN_TRY(tn_infer_set(infer, 0, dtype, (int32_t)n, dims));
    if (dtype != TN_INT64 || n > 1 || (n == 1 && (dims[0] < 0 || dims[0] > TN_RANK_MAX)))
        return TN_OK;
    uint32_t count = n ? (uint32_t)dims[0] : 1;
    for (uint32_t i = 0; i < count; i++)
        memcpy(&dims[i], value, sizeof *dims);
    return infer->set_dims_value(infer->self, 0, dims, count);
}

static tn_status setup_fill(const struct tn_kernel_ctx *ctx, struct fill_kernel *kernel) {
    return read_fill(ctx->node, &kernel->dtype, &kernel->value, ctx->diag);
}

static tn_status create_fill(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct fill_kernel), out));
    return tn_kernel_ready(setup_fill(ctx, *out), out);
}

struct fill_job {
    const struct fill_kernel *kernel;
    void *dst;
};

static void fill_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct fill_job *job = arg;
    (void)worker;
    tn__fill(job->dst, begin, job->kernel->value, 0, end - begin,
        tn_dtype_bits(job->kernel->dtype));
}

static tn_status compute_fill(void *object, const struct tn_run_args *args) {
    const struct fill_kernel *kernel = object;
    const struct tn_tensor *shape = tn_in(args, 0);
    int64_t dims[TN_RANK_MAX], n = tn_tensor_count(shape);
    struct tn_tensor *out;
    TN_TRY(tn_rank_check(n, args->run->diag));
    for (int64_t i = 0; i < n; i++) {
        dims[i] = tn_tensor_int(shape, i);
        if (dims[i] < 0)
            return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
                "the shape holds the size %lld", (long long)dims[i]);
    }
    TN_TRY(tn_out_shaped(args, 0, kernel->dtype, dims, (uint32_t)n, &out));
    struct fill_job job = {kernel, out->data};
    uint32_t bits = tn_dtype_bits(kernel->dtype);
    tn__copy_clear(out);
    if (bits < 8)
        fill_piece(&job, 0, tn_tensor_count(out), 0);
    else
        tn_parallel(
            kernel->base.host, tn_tensor_count(out), 0.004 * bits, fill_piece, &job);
    return TN_OK;
}

/* ---- Range ------------------------------------------------------------------------------ */

/* ceil((limit - start) / delta), at least 0; integers exactly. */
static tn_status range_count(
    const struct tn_tensor *const *in, int64_t *out_n, struct tn_diag *diag) {
    int32_t dtype = in[0]->dtype;
    double start = tn__number_get(dtype, in[0]->data, 0);
    double limit = tn__number_get(dtype, in[1]->data, 0);
    double delta = tn__number_get(dtype, in[2]->data, 0);
    if (delta == 0.0) return tn_fail(diag, TN_INVALID_ARGUMENT, "delta is 0");
    double n = ceil((limit - start) / delta);
    if (!(n > 0)) {
        *out_n = 0;
        return TN_OK;
    }
    if (n > 4503599627370496.0)
        return tn_fail(
            diag, TN_LIMIT_EXCEEDED, "the range would have more than 2^52 elements");
    *out_n = (int64_t)n;
    if (TN_TYPES_INDEX >> dtype & 1) {
        int64_t s = tn_tensor_int(in[0], 0), l = tn_tensor_int(in[1], 0);
        int64_t d = tn_tensor_int(in[2], 0);
        uint64_t span = d > 0 ? (uint64_t)l - (uint64_t)s : (uint64_t)s - (uint64_t)l;
        uint64_t step = d > 0 ? (uint64_t)d : 0 - (uint64_t)d;
        *out_n = (int64_t)(span / step + (span % step != 0));
    }
    return TN_OK;
}

static tn_status infer_range(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    const struct tn_tensor *values[3];
    int64_t n = TN_DIM_UNKNOWN, content[TN_RANK_MAX];
    if (!in) return TN_OK;
    for (uint32_t i = 0; i < 3; i++) {
        values[i] = tn_infer_has(infer->node, i) ? infer->value(infer->self, i) : NULL;
        if (values[i] &&
            (tn_tensor_count(values[i]) != 1 || values[i]->dtype != in->dtype))
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "input %u is not a scalar of type %s", i, tn_dtype_name(in->dtype));
    }
    if (values[0] && values[1] && values[2]) {
        TN_TRY(range_count(values, &n, infer->diag));
    } else { /* from a known start by a known step up to a symbol */
        uint32_t n0, n1, n2;
        const int64_t *start = tn_infer_ints(infer, 0, &n0);
        const int64_t *limit = tn_infer_ints(infer, 1, &n1);
        const int64_t *delta = tn_infer_ints(infer, 2, &n2);
        if (start && limit && delta && n0 == 1 && n1 == 1 && n2 == 1 && *delta > 0) {
            n = infer->dim_op(infer->self, TN_DIM_SUB, *limit, *start);
            n = infer->dim_op(infer->self, TN_DIM_CEIL_DIV, n, *delta);
            if (n < 0 && !tn_dim_is_symbol(n)) n = 0;
        }
    }
    TN_TRY(tn_infer_set(infer, 0, in->dtype, 1, &n));
    if (!(TN_TYPES_INDEX >> in->dtype & 1) || !values[0] || !values[2] || n < 0 ||
        n > TN_RANK_MAX)
        return TN_OK;
    uint64_t start = (uint64_t)tn_tensor_int(values[0], 0);
    uint64_t delta = (uint64_t)tn_tensor_int(values[2], 0);
    for (int64_t i = 0; i < n; i++)
        content[i] = (int64_t)(start + (uint64_t)i * delta);
    return infer->set_dims_value(infer->self, 0, content, (uint32_t)n);
}

static tn_status create_plain(const struct tn_kernel_ctx *ctx, void **out) {
    return tn__kernel_create(ctx, sizeof(struct tn__kernel), out);
}

static void range_fill(
    const struct tn_tensor *const *in, struct tn_tensor *out, int64_t n) {
    int32_t dtype = out->dtype;
    if (dtype == TN_INT64) {
        uint64_t start = (uint64_t)tn_tensor_int(in[0], 0);
        uint64_t delta = (uint64_t)tn_tensor_int(in[2], 0);
        for (int64_t i = 0; i < n; i++)
            ((int64_t *)out->data)[i] = (int64_t)(start + (uint64_t)i * delta);
        return;
    }
    double start = tn__number_get(dtype, in[0]->data, 0);
    double delta = tn__number_get(dtype, in[2]->data, 0);
    bool single = dtype == TN_FLOAT || dtype == TN_FLOAT16 || dtype == TN_BFLOAT16;
    for (int64_t i = 0; i < n; i++) {
        double x = start + (double)i * delta;
        if (single) x = (double)((float)start + (float)i * (float)delta);
        tn__number_put(dtype, out->data, i, x);
    }
}

static tn_status compute_range(void *object, const struct tn_run_args *args) {
    const struct tn_tensor *const in[3] = {
        tn_in(args, 0), tn_in(args, 1), tn_in(args, 2)};
    struct tn_tensor *out;
    int64_t n = 0;
    (void)object;
    for (uint32_t i = 0; i < 3; i++)
        if (tn_tensor_count(in[i]) != 1)
            return tn_fail(
                args->run->diag, TN_INVALID_ARGUMENT, "input %u is not a scalar", i);
    TN_TRY(range_count(in, &n, args->run->diag));
    TN_TRY(tn_out_shaped(args, 0, in[0]->dtype, &n, 1, &out));
    range_fill(in, out, n);
    return TN_OK;
}

/* ---- EyeLike ---------------------------------------------------------------------------- */

static tn_status infer_eye(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct eye_attrs attrs;
    TN_TRY(TN_ATTRS_READ(eye, infer->node, &attrs, infer->diag));
    if (!in) return TN_OK;
    if (in->rank >= 0 && in->rank != 2)
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "the input has rank %d, expected 2", (int)in->rank);
    return tn_infer_shape_like(
        infer, 0, 0, attrs.dtype ? tn__dtype_of(attrs.dtype) : in->dtype);
}

struct diagonal_kernel {
    struct tn__kernel base;
    struct eye_attrs eye;
    struct trilu_attrs trilu;
};

static tn_status create_eye(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct diagonal_kernel), out));
    struct diagonal_kernel *kernel = *out;
    return tn_kernel_ready(TN_ATTRS_READ(eye, ctx->node, &kernel->eye, ctx->diag), out);
}

static tn_status compute_eye(void *object, const struct tn_run_args *args) {
    const struct diagonal_kernel *kernel = object;
    struct tn_tensor *out = tn_out(args, 0);
    if (out->rank != 2)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "the input has rank %u, expected 2", out->rank);
    int64_t rows = out->dims[0], cols = out->dims[1], k = kernel->eye.k;
    if (out->size > 0) memset(out->data, 0, out->size);
    for (int64_t r = k < 0 && k > -rows ? -k : k < 0 ? rows : 0; r < rows; r++) {
        if (k >= cols || r + k >= cols) break;
        tn__number_put(out->dtype, out->data, r * cols + r + k, 1.0);
    }
    return TN_OK;
}

/* ---- Trilu ------------------------------------------------------------------------------ */

static tn_status create_trilu(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct diagonal_kernel), out));
    struct diagonal_kernel *kernel = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(trilu, ctx->node, &kernel->trilu, ctx->diag), out);
}

static tn_status infer_trilu(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    if (in && in->rank >= 0 && in->rank < 2)
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "the input has rank %d, expected at least 2", (int)in->rank);
    return tn_infer_like(infer, 0, 0);
}

static tn_status compute_trilu(void *object, const struct tn_run_args *args) {
    const struct diagonal_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0), *k_in = tn_in(args, 1);
    struct tn_tensor *out = tn_out(args, 0);
    int64_t k = k_in && tn_tensor_count(k_in) == 1 ? tn_tensor_int(k_in, 0) : 0;
    if (in->rank < 2)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "the input has rank %u, expected at least 2", in->rank);
    int64_t rows = in->dims[in->rank - 2], cols = in->dims[in->rank - 1];
    int64_t total = tn_dims_product(in->dims, 0, in->rank - 1);
    size_t size = tn_dtype_bits(in->dtype) / 8;
    if (k < -rows) k = -rows;
    if (k > cols) k = cols;
    for (int64_t i = 0; i < total; i++) {
        /* the kept part of a row is on one side of the column of the diagonal */
        int64_t edge = i % rows + k + (kernel->trilu.upper ? 0 : 1);
        if (edge < 0) edge = 0;
        if (edge > cols) edge = cols;
        char *dst = (char *)out->data + (uint64_t)(i * cols) * size;
        const char *src = (const char *)in->data + (uint64_t)(i * cols) * size;
        int64_t from = kernel->trilu.upper ? edge : 0,
                to = kernel->trilu.upper ? cols : edge;
        if (dst != src)
            memcpy(dst + (size_t)from * size, src + (size_t)from * size,
                (size_t)(to - from) * size);
        memset(dst, 0, (size_t)from * size);
        memset(dst + (size_t)to * size, 0, (size_t)(cols - to) * size);
    }
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
#define TYPES_RANGE (TN_TYPES_FLOATS | TN_BIT(INT16) | TN_TYPES_INDEX)
#define TYPES_EYE (TN_TYPES_NUMBERS | TN_BIT(BOOL))
#define TYPES_FILL (TN_TYPES_ALL & ~(TN_TYPES_COMPLEX | TN_BIT(STRING)))
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Constant"),
        TN_VERSIONS({1}, {9}, {11}, {12}, {13}, {19}, {21}, {23}, {24}, {25}),
        TN_OUTPUTS({"output", "T"}), TN_TYPE_VARS({"T", TN_TYPES_ALL}), TN_ATTRS(constant),
        .infer = infer_constant},
    {TN_DEF("", "ConstantOfShape"), TN_VERSIONS({9}, {20}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"input", "T1"}), TN_OUTPUTS({"output", "T2"}),
        TN_TYPE_VARS({"T1", TN_BIT(INT64)}, {"T2", TYPES_FILL}), TN_ATTRS(shape_value),
        .infer = infer_constant_of_shape},
    {TN_DEF("", "Range"), TN_VERSIONS({11}, {27}),
        TN_INPUTS({"start", "T"}, {"limit", "T"}, {"delta", "T"}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TYPES_RANGE}), TN_ATTRS(range), .infer = infer_range},
    {TN_DEF("", "EyeLike"), TN_VERSIONS({9}, {22}),
        TN_INPUTS({"input", "T1"}), TN_OUTPUTS({"output", "T2"}),
        TN_TYPE_VARS({"T1", TYPES_EYE}, {"T2", TYPES_EYE}), TN_ATTRS(eye), .infer = infer_eye},
    {TN_DEF("", "Trilu"), TN_VERSIONS({14}),
        TN_INPUTS({"input", "T"}, {"k", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output", "T"}), TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), TN_ATTRS(trilu),
        .infer = infer_trilu},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Constant", 25), .create = create_constant, .compute = compute_constant},
    {TN_KERNEL("", "ConstantOfShape", 25), .create = create_fill, .compute = compute_fill},
    {TN_KERNEL("", "Range", 27), .create = create_plain, .compute = compute_range},
    {TN_KERNEL("", "EyeLike", 22), .create = create_eye, .compute = compute_eye},
    {TN_KERNEL("", "Trilu", 14), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}),
        .create = create_trilu, .compute = compute_trilu},
};
/* clang-format on */

TN_FAMILY(fill);
