/* Binarizer: 1 where x is greater than the threshold, else 0; NaN gives 0. Integers are
 * compared exactly, as doubles hold every float threshold and every integer that matters. */
#include "ml.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define BINARIZER_ATTRS(X, S) X(S, FLOAT, threshold, 0.0f)
/* clang-format on */
TN_ATTR_TABLE(binarizer, BINARIZER_ATTRS)

#define NS_AN_ELEMENT 0.2

typedef void (*binarize_fn)(
    const void *x, void *y, double threshold, int64_t begin, int64_t end);

struct binarizer {
    struct tn_kernel_head head;
    double threshold;
};

struct work {
    binarize_fn binarize;
    const void *x;
    void *y;
    double threshold;
};

/* A int64 above 2^53 rounds to a double on the same side of any float: it has fewer bits. */
#define BINARIZE(type)                                                                   \
    static void binarize_##type(                                                         \
        const void *x, void *y, double threshold, int64_t begin, int64_t end) {          \
        const type *from = x;                                                            \
        type *to = y;                                                                    \
        for (int64_t i = begin; i < end; i++)                                            \
            to[i] = (type)((double)from[i] > threshold);                                 \
    }
BINARIZE(float)
BINARIZE(double)
BINARIZE(int32_t)
BINARIZE(int64_t)

static const binarize_fn by_type[TN_DTYPE_COUNT] = {
    [TN_FLOAT] = binarize_float,
    [TN_DOUBLE] = binarize_double,
    [TN_INT32] = binarize_int32_t,
    [TN_INT64] = binarize_int64_t,
};

static tn_status infer(const struct tn_infer *in) {
    return tn_infer_like(in, 0, 0);
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    struct binarizer_attrs attrs;
    TN_TRY(TN_ATTRS_READ(binarizer, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn_kernel_create(ctx, sizeof(struct binarizer), out));
    ((struct binarizer *)*out)->threshold = (double)attrs.threshold;
    return TN_OK;
}

static void run_range(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct work *work = arg;
    (void)worker;
    work->binarize(work->x, work->y, work->threshold, begin, end);
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    const struct binarizer *self = kernel;
    const struct tn_tensor *x = tn_in(args, 0);
    struct work work = {
        by_type[x->dtype], x->data, tn_out(args, 0)->data, self->threshold};
    tn_parallel(self->head.host, tn_tensor_count(x), NS_AN_ELEMENT, run_range, &work);
    return TN_OK;
}

static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "Binarizer"), TN_VERSIONS({1}), TN_INPUTS({"X", "T"}),
        TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_TYPES_ML_NUMBERS}),
        TN_ATTRS(binarizer), .infer = infer},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL_OF(TN_ML_DOMAIN, "Binarizer", 1), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}),
        .create = create, .compute = compute},
};

TN_FAMILY(binarizer);
