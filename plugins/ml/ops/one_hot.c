/* OneHotEncoder: a new last axis with 1 at the place of the element's category. Floats are
 * truncated to integers; an unknown element gives zeros, or an error when `zeros` is 0. */
#include "ops/lookup.h"
#include "tenon/helper/parallel.h"

#include <stdatomic.h>

/* clang-format off */
#define ONE_HOT_ATTRS(X, S)                                                              \
    X(S, INTS, cats_int64s, )                                                            \
    X(S, STRINGS, cats_strings, )                                                        \
    X(S, INT, zeros, 1)
/* clang-format on */
TN_ATTR_TABLE(one_hot, ONE_HOT_ATTRS)

struct one_hot {
    struct tn_kernel_head head;
    struct tn__keys keys;
    tn__lookup_fn lookup;
    int64_t n; /* categories */
    int32_t dtype;
    bool zeros;
};

/* Number of categories for elements of this type; the others are of no use to them. */
static tn_status count_categories(const struct one_hot_attrs *attrs, int32_t dtype,
    uint32_t *out, struct tn_diag *diag) {
    bool strings = dtype == TN_STRING;
    *out = strings ? attrs->cats_strings.n : attrs->cats_int64s.n;
    if (*out) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "attribute '%s' is missing: input 'X' is of %s",
        strings ? "cats_strings" : "cats_int64s", tn_dtype_name(dtype));
}

static tn_status infer(const struct tn_infer *in) {
    struct one_hot_attrs attrs;
    const struct tn_type *x = tn_infer_input(in, 0);
    int64_t dims[TN_RANK_MAX + 1];
    uint32_t n;
    if (!x || x->dtype == TN_UNDEFINED) return tn_infer_set(in, 0, TN_FLOAT, -1, NULL);
    TN_TRY(TN_ATTRS_READ(one_hot, in->node, &attrs, in->diag));
    TN_TRY(count_categories(&attrs, x->dtype, &n, in->diag));
    if (x->rank < 0) return tn_infer_set(in, 0, TN_FLOAT, -1, NULL);
    TN_TRY(tn_rank_check(x->rank + 1, in->diag));
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    dims[x->rank] = n;
    return tn_infer_set(in, 0, TN_FLOAT, x->rank + 1, dims);
}

static void destroy(void *kernel) {
    struct one_hot *self = kernel;
    if (self) tn__keys_free(&self->keys);
    tn_kernel_destroy(kernel);
}

static tn_status make_keys(struct one_hot *self, const struct one_hot_attrs *attrs,
    uint32_t n, struct tn_diag *diag) {
    if (self->dtype == TN_STRING)
        return tn__keys_strings(
            &self->keys, self->head.host, attrs->cats_strings.v, n, TN__LAST_WINS, diag);
    return tn__keys_ints(
        &self->keys, self->head.host, attrs->cats_int64s.v, n, TN__LAST_WINS, diag);
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    struct one_hot_attrs attrs;
    uint32_t n;
    TN_TRY(TN_ATTRS_READ(one_hot, ctx->node, &attrs, ctx->diag));
    TN_TRY(count_categories(&attrs, ctx->inputs[0].dtype, &n, ctx->diag));
    TN_TRY(tn_kernel_create(ctx, sizeof(struct one_hot), out));
    struct one_hot *self = *out;
    self->n = n;
    self->dtype = ctx->inputs[0].dtype;
    self->zeros = attrs.zeros != 0;
    self->lookup = tn__lookup_truncated(self->dtype);
    tn_status status = make_keys(self, &attrs, n, ctx->diag);
    if (status == TN_OK) return TN_OK;
    destroy(self);
    *out = NULL;
    return status;
}

struct work {
    const struct one_hot *self;
    const void *x;
    float *y;
    _Atomic int64_t unknown; /* the first element that is no category, or INT64_MAX */
};

static void note_unknown(struct work *work, int64_t i) {
    int64_t first = atomic_load_explicit(&work->unknown, memory_order_relaxed);
    while (i < first && !atomic_compare_exchange_weak(&work->unknown, &first, i)) {
    }
}

static void encode_range(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    struct work *work = arg;
    const struct one_hot *self = work->self;
    int32_t at[TN__LOOKUP_BLOCK];
    (void)worker;
    for (int64_t i = begin; i < end; i += TN__LOOKUP_BLOCK) {
        int64_t n = end - i < TN__LOOKUP_BLOCK ? end - i : TN__LOOKUP_BLOCK;
        float *y = work->y + i * self->n;
        self->lookup(&self->keys, work->x, i, n, at);
        memset(y, 0, (size_t)(n * self->n) * sizeof *y);
        for (int64_t k = 0; k < n; k++) {
            if (at[k] >= 0)
                y[k * self->n + at[k]] = 1.0f;
            else if (!self->zeros)
                note_unknown(work, i + k);
        }
    }
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    const struct one_hot *self = kernel;
    const struct tn_tensor *x = tn_in(args, 0);
    struct work work = {self, x->data, tn_out(args, 0)->data, INT64_MAX};
    double cost = tn__lookup_cost(self->dtype) + 0.1 * (double)self->n;
    tn_parallel(self->head.host, tn_tensor_count(x), cost, encode_range, &work);
    int64_t unknown = atomic_load(&work.unknown);
    if (unknown == INT64_MAX) return TN_OK;
    return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
        "element %lld of 'X' is none of the %lld categories, and attribute 'zeros' is 0",
        (long long)unknown, (long long)self->n);
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "OneHotEncoder"), TN_VERSIONS({1}), TN_INPUTS({"X", "T"}),
        TN_OUTPUTS({"Y", NULL, TN_BIT(FLOAT)}),
        TN_TYPE_VARS({"T", TN_TYPES_ML_NUMBERS | TN_BIT(STRING)}),
        TN_ATTRS(one_hot), .infer = infer},
};

static const struct tn_kernel_def kernels[] = {
    {TN_ML_KERNEL("OneHotEncoder", 1, destroy), .create = create, .compute = compute},
};
/* clang-format on */

TN_FAMILY(one_hot);
