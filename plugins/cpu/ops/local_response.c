/* LRN: x / (bias + alpha / size · Σ x²)^beta over neighbouring channels; in the domain
 * tenon.cpu over NHWC. */
#include "ops/narrow.h"
#include "ops/ops.h"

#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define LRN_ATTRS(X, S)                                                                  \
    X(S, FLOAT, alpha, 1e-4f)                                                            \
    X(S, FLOAT, beta, 0.75f)                                                             \
    X(S, FLOAT, bias, 1.0f)                                                              \
    X(S, INT_REQUIRED, size, )
/* clang-format on */
TN_ATTR_TABLE(lrn, LRN_ATTRS)

static tn_status infer_lrn(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

struct lrn {
    struct tn__kernel base;
    double alpha, beta, bias;
    size_t before, after; /* neighbours on each side */
    bool nhwc;
};

enum { LANES = 256 };

/* The tensor as (outer, channels, inner). */
struct job {
    const struct lrn *lrn;
    const void *x;
    void *y;
    size_t channels, inner, pieces;
};

static tn_status create_lrn(const struct tn_kernel_ctx *ctx, void **out) {
    struct lrn_attrs attrs;
    TN_TRY(TN_ATTRS_READ(lrn, ctx->node, &attrs, ctx->diag));
    if (attrs.size < 1)
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'size' is %lld, expected 1 or more", (long long)attrs.size);
    TN_TRY(tn__kernel_create(ctx, sizeof(struct lrn), out));
    struct lrn *lrn = *out;
    lrn->alpha = (double)attrs.alpha / (double)attrs.size;
    lrn->beta = (double)attrs.beta;
    lrn->bias = (double)attrs.bias;
    lrn->before = (size_t)(attrs.size - 1) / 2;
    lrn->after = (size_t)(attrs.size - 1) - lrn->before;
    lrn->nhwc = ctx->node->domain[0] != 0;
    return TN_OK;
}

#define T float
#define NAME(x) x##_f32
#define POW(cpu) (cpu)->vmath.pow_f32
#define SQRT sqrtf
#include "ops/local_response_tmpl.h"
#define T double
#define NAME(x) x##_f64
#define POW(cpu) (cpu)->vmath.pow_f64
#define SQRT sqrt
#include "ops/local_response_tmpl.h"

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "LRN"), TN_VERSIONS({1}, {13}), TN_INPUTS({"X", "T"}), TN_OUTPUTS({"Y", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}), TN_ATTRS(lrn), .infer = infer_lrn},
    {TN_PRIVATE_DEF("LRN"), TN_VERSIONS({1}), TN_INPUTS({"X", "T"}), TN_OUTPUTS({"Y", "T"}),
        TN_TYPE_VARS({"T", TN_BIT(FLOAT)}), TN_ATTRS(lrn), .infer = infer_lrn,
        .doc = "LRN over NHWC"},
};

TN_NARROW(lrn, .create = create_lrn, .compute = lrn_f32)
static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "LRN", 13), TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)}), .create = create_lrn,
        .compute = lrn_f32},
    {TN_KERNEL("", "LRN", 13), TN_KERNEL_TYPES({"T", TN_BIT(DOUBLE)}), .create = create_lrn,
        .compute = lrn_f64},
    {TN_NARROW_KERNEL("", "LRN", 13, lrn), TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})},
    {TN_KERNEL("tenon.cpu", "LRN", 1), .create = create_lrn, .compute = lrn_f32},
};
/* clang-format on */

TN_FAMILY(lrn);
