/* ArrayFeatureExtractor and FeatureVectorizer: columns picked from one tensor, or several
 * tensors side by side. */
#include "ops/numbers.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define VECTORIZER_ATTRS(X, S) X(S, INTS, inputdimensions, )
/* clang-format on */
TN_ATTR_TABLE(vectorizer, VECTORIZER_ATTRS)

#define NS_AN_ELEMENT 1.0

/* ---- ArrayFeatureExtractor ---------------------------------------------------------------- */

static tn_status infer_extractor(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0), *y = tn_infer_input(infer, 1);
    int64_t dims[TN_RANK_MAX];
    if (!x || x->dtype == TN_UNDEFINED) return TN_OK;
    if (x->rank < 0) return tn_infer_set(infer, 0, x->dtype, -1, NULL);
    if (x->rank == 0)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "input 'X' is a scalar, expected at least one axis");
    TN_TRY(tn_rank_check(x->rank, infer->diag));
    uint32_t last = x->rank > 1 ? (uint32_t)x->rank - 1 : 1;
    dims[0] = 1; /* a vector is one row */
    for (uint32_t i = 0; x->rank > 1 && i < last; i++)
        dims[i] = x->dims[i];
    dims[last] = y && y->rank >= 0
                     ? tn_infer_product(infer, y->dims, 0, (uint32_t)y->rank)
                     : TN_DIM_UNKNOWN;
    return tn_infer_set(infer, 0, x->dtype, (int32_t)last + 1, dims);
}

/* All columns in their order: nothing is picked. */
static int32_t elide_extractor(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    const struct tn_tensor *index = infer->value(infer->self, 1);
    if (!x || !index || x->rank < 2 || x->dims[x->rank - 1] < 0 ||
        tn_tensor_count(index) != x->dims[x->rank - 1])
        return -1;
    for (int64_t j = 0; j < x->dims[x->rank - 1]; j++) {
        if (((const int64_t *)index->data)[j] != j) return -1;
    }
    return 0;
}

struct extract {
    const struct tn_tensor *x;
    const int64_t *index;
    char *y;
    int64_t n, cols, run; /* run: columns that follow each other from index[0] on, or 0 */
    size_t width;         /* bytes of an element */
};

#define PICK(size)                                                                       \
    static void pick_##size(const struct extract *e, const char *row, char *y) {         \
        for (int64_t j = 0; j < e->n; j++)                                               \
            memcpy(y + j * size, row + e->index[j] * size, size);                        \
    }
PICK(4)
PICK(8)
PICK(16)
#undef PICK

static void extract_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct extract *e = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const char *row = (const char *)e->x->data + (size_t)(i * e->cols) * e->width;
        char *y = e->y + (size_t)(i * e->n) * e->width;
        if (e->run)
            memcpy(y, row + (size_t)e->index[0] * e->width, (size_t)e->n * e->width);
        else if (e->width == 4)
            pick_4(e, row, y);
        else if (e->width == 8)
            pick_8(e, row, y);
        else
            pick_16(e, row, y);
    }
}

static tn_status check_indices(struct extract *e, struct tn_diag *diag) {
    e->run = e->n;
    for (int64_t j = 0; j < e->n; j++) {
        if (e->index[j] < 0 || e->index[j] >= e->cols)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "index %lld (element %lld of 'Y') is outside the %lld columns of 'X'",
                (long long)e->index[j], (long long)j, (long long)e->cols);
        if (e->index[j] != e->index[0] + j) e->run = 0;
    }
    return TN_OK;
}

static tn_status compute_extractor(void *kernel, const struct tn_run_args *args) {
    const struct tn_kernel_head *self = kernel;
    const struct tn_tensor *x = tn_in(args, 0), *index = tn_in(args, 1);
    struct extract e = {.x = x,
        .index = index->data,
        .y = tn_out(args, 0)->data,
        .n = tn_tensor_count(index),
        .cols = x->dims[x->rank - 1],
        .width = tn_dtype_bits(x->dtype) / 8};
    TN_TRY(check_indices(&e, args->run->diag));
    if (e.n == 0 || e.cols == 0) return TN_OK;
    tn_parallel(self->host, tn_tensor_count(x) / e.cols, NS_AN_ELEMENT * (double)e.n,
        extract_rows, &e);
    return TN_OK;
}

/* ---- FeatureVectorizer -------------------------------------------------------------------- */

/* Columns that input i takes: those of inputdimensions, else its own. */
static tn_status width_of(const struct vectorizer_attrs *attrs, uint32_t i,
    uint32_t n_inputs, int64_t own, int64_t *out, struct tn_diag *diag) {
    const struct tn_attr_ints *widths = &attrs->inputdimensions;
    if (widths->n && widths->n != n_inputs)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'inputdimensions' has %u sizes for %u inputs", widths->n,
            n_inputs);
    *out = widths->n ? widths->v[i] : own;
    if (widths->n && (widths->v[i] < 0 || widths->v[i] > INT32_MAX))
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'inputdimensions' has the size %lld", (long long)widths->v[i]);
    return TN_OK;
}

static tn_status infer_vectorizer(const struct tn_infer *infer) {
    struct vectorizer_attrs attrs;
    int64_t dims[2] = {TN_DIM_UNKNOWN, 0};
    TN_TRY(TN_ATTRS_READ(vectorizer, infer->node, &attrs, infer->diag));
    for (uint32_t i = 0; i < infer->node->n_inputs; i++) {
        const struct tn_type *x = tn_infer_input(infer, i);
        struct tn__matrix matrix = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN};
        int64_t width;
        if (x && x->rank >= 0)
            TN_TRY(tn__matrix_of(x->rank, x->dims, &matrix, infer->diag));
        TN_TRY(
            width_of(&attrs, i, infer->node->n_inputs, matrix.cols, &width, infer->diag));
        dims[1] = infer->dim_op(infer->self, TN_DIM_ADD, dims[1], width);
        if (dims[0] < 0) dims[0] = matrix.rows;
        if (matrix.rows >= 0 && dims[0] != matrix.rows)
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "input %u has %lld rows where the inputs before have %lld", i,
                (long long)matrix.rows, (long long)dims[0]);
    }
    return tn_infer_set(infer, 0, TN_FLOAT, 2, dims);
}

struct vectorizer {
    struct tn_kernel_head head;
    struct vectorizer_attrs attrs;
};

static tn_status create_vectorizer(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct vectorizer), out));
    struct vectorizer *self = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(vectorizer, ctx->node, &self->attrs, ctx->diag), out);
}

/* Rows of x into columns [at, at + width) of y, cut or filled up with zeros. */
static void put_columns(const struct tn_tensor *x, struct tn__matrix from, float *y,
    int64_t stride, int64_t at, int64_t width) {
    int64_t n = from.cols < width ? from.cols : width;
    for (int64_t i = 0; i < from.rows; i++) {
        float *row = y + i * stride + at;
        tn__numbers_f32(x, i * from.cols, n, row);
        for (int64_t j = n; j < width; j++)
            row[j] = 0.0f;
    }
}

static tn_status compute_vectorizer(void *kernel, const struct tn_run_args *args) {
    const struct vectorizer *self = kernel;
    struct tn_diag *diag = args->run->diag;
    int64_t dims[2] = {0, 0}, at = 0, width;
    for (uint32_t i = 0; i < args->n_inputs; i++) {
        struct tn__matrix from;
        TN_TRY(tn__matrix_of(tn_in(args, i)->rank, tn_in(args, i)->dims, &from, diag));
        TN_TRY(width_of(&self->attrs, i, args->n_inputs, from.cols, &width, diag));
        if (i && from.rows != dims[0])
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "input %u has %lld rows where the inputs before have %lld", i,
                (long long)from.rows, (long long)dims[0]);
        dims[0] = from.rows;
        dims[1] += width;
    }
    struct tn_tensor *y;
    TN_TRY(tn_out_shaped(args, 0, TN_FLOAT, dims, 2, &y));
    for (uint32_t i = 0; i < args->n_inputs; i++) {
        struct tn__matrix from;
        TN_TRY(tn__matrix_of(tn_in(args, i)->rank, tn_in(args, i)->dims, &from, diag));
        TN_TRY(width_of(&self->attrs, i, args->n_inputs, from.cols, &width, diag));
        put_columns(tn_in(args, i), from, y->data, dims[1], at, width);
        at += width;
    }
    return TN_OK;
}

/* ---- tables ------------------------------------------------------------------------------- */

static tn_status create_extractor(const struct tn_kernel_ctx *ctx, void **out) {
    return tn_kernel_create(ctx, sizeof(struct tn_kernel_head), out);
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "ArrayFeatureExtractor"), TN_VERSIONS({1}),
        TN_INPUTS({"X", "T"}, {"Y", NULL, TN_BIT(INT64)}), TN_OUTPUTS({"Z", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_ML_NUMBERS | TN_BIT(STRING)}), .infer = infer_extractor,
        .elide = elide_extractor},
    {TN_DEF(TN_ML_DOMAIN, "FeatureVectorizer"), TN_VERSIONS({1}),
        TN_INPUTS({"X", "T1", 0, TN_FORMAL_VARIADIC | TN_FORMAL_HETEROGENEOUS, 1}),
        TN_OUTPUTS({"Y", NULL, TN_BIT(FLOAT)}), TN_TYPE_VARS({"T1", TN_TYPES_ML_NUMBERS}),
        TN_ATTRS(vectorizer), .infer = infer_vectorizer},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL_OF(TN_ML_DOMAIN, "ArrayFeatureExtractor", 1),
        .create = create_extractor, .compute = compute_extractor},
    {TN_KERNEL_OF(TN_ML_DOMAIN, "FeatureVectorizer", 1),
        .create = create_vectorizer, .compute = compute_vectorizer},
};
/* clang-format on */

TN_FAMILY(columns);
