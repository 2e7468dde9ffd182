/* ZipMap: the scores of every row under the names of the classes. No map is built: the value
 * is a table (tenon/types.h), the names once and the plain matrix of scores. */
#include "ops/numbers.h"

/* clang-format off */
#define ZIPMAP_ATTRS(X, S)                                                               \
    X(S, INTS, classlabels_int64s, )                                                     \
    X(S, STRINGS, classlabels_strings, )
/* clang-format on */
TN_ATTR_TABLE(zipmap, ZIPMAP_ATTRS)

struct zipmap {
    struct tn_kernel_head head;
    struct tn_tensor keys;
    int64_t n;
};

static tn_status read_labels(
    const struct zipmap_attrs *attrs, struct tn_tensor *keys, struct tn_diag *diag) {
    bool strings = attrs->classlabels_strings.n > 0;
    if (strings == (attrs->classlabels_int64s.n > 0))
        return tn_fail(diag, TN_INVALID_MODEL,
            "%s of the attributes 'classlabels_int64s' and 'classlabels_strings' is "
            "given, expected one",
            strings ? "each" : "none");
    uint32_t n = strings ? attrs->classlabels_strings.n : attrs->classlabels_int64s.n;
    *keys = (struct tn_tensor){
        .data = strings ? (void *)(uintptr_t)attrs->classlabels_strings.v
                        : (void *)(uintptr_t)attrs->classlabels_int64s.v,
        .dtype = strings ? TN_STRING : TN_INT64,
        .size = n * (uint64_t)(strings ? sizeof(struct tn_string) : sizeof(int64_t)),
        .rank = 1};
    return TN_OK;
}

static int64_t label_count(const struct tn_tensor *keys) {
    return (int64_t)(keys->size / (tn_dtype_bits(keys->dtype) / 8));
}

static tn_status check_width(int64_t cols, int64_t n, struct tn_diag *diag) {
    if (cols == n) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "input 'X' has %lld columns, but there are %lld class labels", (long long)cols,
        (long long)n);
}

static tn_status infer(const struct tn_infer *in) {
    struct zipmap_attrs attrs;
    struct tn_tensor keys;
    struct tn__matrix matrix;
    const struct tn_type *x = tn_infer_input(in, 0);
    TN_TRY(TN_ATTRS_READ(zipmap, in->node, &attrs, in->diag));
    TN_TRY(read_labels(&attrs, &keys, in->diag));
    if (x && x->rank >= 0) {
        TN_TRY(tn__matrix_of(x->rank, x->dims, &matrix, in->diag));
        if (matrix.cols >= 0)
            TN_TRY(check_width(matrix.cols, label_count(&keys), in->diag));
    }
    const struct tn_type type = {.kind = TN_KIND_SEQUENCE,
        .elem_kind = TN_KIND_MAP,
        .dtype = TN_FLOAT,
        .key_dtype = keys.dtype,
        .rank = -1};
    return in->set_type(in->self, 0, &type);
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    struct zipmap_attrs attrs;
    TN_TRY(TN_ATTRS_READ(zipmap, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn_kernel_create(ctx, sizeof(struct zipmap), out));
    struct zipmap *self = *out;
    TN_TRY(tn_kernel_ready(read_labels(&attrs, &self->keys, ctx->diag), out));
    self->n = label_count(&self->keys);
    self->keys.dims = &self->n;
    return TN_OK;
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    const struct zipmap *self = kernel;
    const struct tn_tensor *x = tn_in(args, 0);
    struct tn__matrix matrix;
    TN_TRY(tn__matrix_of(x->rank, x->dims, &matrix, args->run->diag));
    TN_TRY(check_width(matrix.cols, self->n, args->run->diag));
    const int64_t dims[] = {matrix.rows, matrix.cols};
    struct tn_map table = {self->keys, *x};
    table.values.dims = dims;
    table.values.rank = 2;
    struct tn_sequence sequence = {
        NULL, (uint64_t)matrix.rows, TN_KIND_MAP, TN_FLOAT, &table};
    const struct tn_value_ref value = {TN_KIND_SEQUENCE, 0, {&sequence}};
    return args->run->output_set(args->run, args, 0, &value);
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "ZipMap"), TN_VERSIONS({1}), TN_INPUTS({"X", NULL, TN_BIT(FLOAT)}),
        TN_OUTPUTS({"Z", "T"}),
        TN_TYPE_VARS({"T", .sequences = TN_SEQUENCES_OF_MAPS,
            .maps = TN_BIT(FLOAT) | TN_STRING_KEYS(TN_BIT(FLOAT))}),
        TN_ATTRS(zipmap), .infer = infer},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL_OF(TN_ML_DOMAIN, "ZipMap", 1), .create = create, .compute = compute},
};
/* clang-format on */

TN_FAMILY(zipmap);
