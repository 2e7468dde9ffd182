/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
 *
 * Scores are (N, C, D): for each of N·D positions the loss is the logarithm of the sum of
 * exponentials over C (none for the likelihood, whose scores are logarithms already) minus
 * the score of the target class. Sums are f64, over blocks of fixed size. */
#include "ops/body.h"
#include "ops/narrow.h"
#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

#define LOSS_ATTRS(X, S) X(S, STRING, reduction, "mean") X(S, INT, ignore_index, 0)
TN_ATTR_TABLE(loss, LOSS_ATTRS)

enum reduction { REDUCE_NONE, REDUCE_SUM, REDUCE_MEAN };

static tn_status read_reduction(
    struct tn_string name, enum reduction *out, struct tn_diag *diag) {
    static const char *const names[] = {"none", "sum", "mean"};
    for (uint32_t i = 0; i < 3; i++) {
        if (!tn_string_is(name, names[i])) continue;
        *out = (enum reduction)i;
        return TN_OK;
    }
    return tn_fail(
        diag, TN_INVALID_MODEL, "attribute 'reduction' is none of none, sum, mean");
}

/* ---- inference -------------------------------------------------------------------------- */

static tn_status check_shapes(const int64_t *scores, int32_t rank, const int64_t *target,
    int32_t target_rank, struct tn_diag *diag) {
    if (rank < 2 || target_rank != rank - 1)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "scores have rank %d and targets %d, expected (N, C, …) and (N, …)",
            (int)rank, (int)target_rank);
    for (int32_t i = 0; i < target_rank; i++) {
        int64_t dim = scores[i ? i + 1 : 0];
        if (dim >= 0 && target[i] >= 0 && dim != target[i])
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "targets have size %lld at axis %d, expected %lld", (long long)target[i],
                (int)i, (long long)dim);
    }
    return TN_OK;
}

static tn_status infer_loss(const struct tn_infer *infer) {
    const struct tn_type *scores = tn_infer_input(infer, 0);
    const struct tn_type *target = tn_infer_input(infer, 1);
    struct loss_attrs attrs;
    enum reduction reduction;
    TN_TRY(TN_ATTRS_READ(loss, infer->node, &attrs, infer->diag));
    TN_TRY(read_reduction(attrs.reduction, &reduction, infer->diag));
    if (!scores) return TN_OK;
    if (scores->rank >= 0 && target && target->rank >= 0)
        TN_TRY(check_shapes(
            scores->dims, scores->rank, target->dims, target->rank, infer->diag));
    TN_TRY(tn_infer_like(infer, 1, 0));
    if (reduction != REDUCE_NONE) return tn_infer_set(infer, 0, scores->dtype, 0, NULL);
    return tn_infer_shape_like(infer, 0, 1, scores->dtype);
}

/* ---- kernel ----------------------------------------------------------------------------- */

struct loss {
    struct tn__kernel base;
    enum reduction reduction;
    bool softmax, ignores;
    int64_t ignore_index;
};

enum { BLOCK = 4096, LANES = 64 }; /* positions that are summed, worked on together */

static tn_status create_loss(const struct tn_kernel_ctx *ctx, void **out) {
    struct loss_attrs attrs;
    enum reduction reduction;
    TN_TRY(TN_ATTRS_READ(loss, ctx->node, &attrs, ctx->diag));
    TN_TRY(read_reduction(attrs.reduction, &reduction, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct loss), out));
    struct loss *loss = *out;
    loss->reduction = reduction;
    loss->softmax = ctx->node->op_type[0] == 'S';
    loss->ignores = tn_node_attr(ctx->node, "ignore_index") != NULL;
    loss->ignore_index = attrs.ignore_index;
    return TN_OK;
}

/* Sum of losses and of weights of one block. */
struct partial {
    double loss, weight;
};

struct job {
    const struct loss *loss;
    const struct tn_tensor *target;
    const void *scores, *weights;
    void *log_prob, *out; /* NULL: not wanted */
    double *totals;       /* [N·D] logarithms of the sums; NULL: scores are logarithms */
    struct partial *partials;
    tn_unary_fn *exp;
    int64_t n, classes, inner, positions;
    int64_t pieces; /* of LANES positions in one n */
};

static bool ignored(const struct loss *loss, int64_t target) {
    return loss->ignores && target == loss->ignore_index;
}

static tn_status workspace_loss(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    uint64_t positions = (uint64_t)tn_tensor_count(args->inputs[1].as.tensor);
    const struct loss *loss = kernel;
    out->scratch = (positions / BLOCK + 1) * sizeof(struct partial);
    if (loss->softmax) out->scratch += positions * sizeof(double);
    return TN_OK;
}

static tn_status bind(
    struct job *job, const struct loss *loss, const struct tn_run_args *args) {
    const struct tn_tensor *scores = tn_in(args, 0), *weights = tn_in(args, 2);
    struct tn_tensor *log_prob = tn_out(args, 1), *out = tn_out(args, 0);
    struct tn_diag *diag = args->run->diag;
    const struct tn_tensor *target = tn_in(args, 1);
    TN_TRY(check_shapes(
        scores->dims, (int32_t)scores->rank, target->dims, (int32_t)target->rank, diag));
    *job = (struct job){.loss = loss,
        .target = target,
        .scores = scores->data,
        .weights = weights ? weights->data : NULL,
        .log_prob = log_prob ? log_prob->data : NULL,
        .out = out ? out->data : NULL,
        .partials = args->workspace,
        .n = scores->dims[0],
        .classes = scores->dims[1],
        .inner = tn_dims_product(scores->dims, 2, scores->rank),
        .positions = tn_tensor_count(target)};
    job->pieces = (job->inner + LANES - 1) / LANES;
    if (loss->softmax)
        job->totals = (double *)(job->partials + job->positions / BLOCK + 1);
    if (weights && (weights->rank != 1 || weights->dims[0] != job->classes))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "weights are %lld numbers of rank %u, expected one for each of %lld classes",
            (long long)tn_tensor_count(weights), weights->rank, (long long)job->classes);
    for (int64_t i = 0; i < job->positions; i++) {
        int64_t t = tn_tensor_int(target, i);
        if ((t < 0 || t >= job->classes) && !ignored(loss, t))
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "target %lld at position %lld is outside [0, %lld)", (long long)t,
                (long long)i, (long long)job->classes);
    }
    return TN_OK;
}

/* Adds the blocks up, in their order. */
static double reduced(const struct job *job) {
    double loss = 0, weight = 0;
    for (int64_t b = 0; b * BLOCK < job->positions; b++) {
        loss += job->partials[b].loss;
        weight += job->partials[b].weight;
    }
    return job->loss->reduction == REDUCE_MEAN ? loss / weight : loss;
}

#define T float
#define NAME(x) x##_f32
#define EXP(cpu) (cpu)->vmath.f32[TN_VMATH_EXP]
#include "ops/losses_tmpl.h"
#define T double
#define NAME(x) x##_f64
#define EXP(cpu) (cpu)->vmath.f64[TN_VMATH_EXP]
#include "ops/losses_tmpl.h"

/* ---- bodies ----------------------------------------------------------------------------- */

static tn_value_id body_reduce(
    struct tn__body *body, const char *op_type, tn_value_id value) {
    return TN_BODY_INT(body, op_type, "keepdims", 0, value);
}

static tn_status expand_likelihood(const struct tn_rewrite *rw) {
    struct tn__body b;
    struct loss_attrs attrs;
    enum reduction reduction;
    TN_TRY(tn__body_begin(&b, rw));
    TN_TRY(TN_ATTRS_READ(loss, &b.node, &attrs, rw->diag));
    TN_TRY(read_reduction(attrs.reduction, &reduction, rw->diag));
    bool ignores = tn_node_attr(&b.node, "ignore_index") != NULL;
    int32_t dtype = tn__body_type(&b, 0)->dtype;
    if (dtype <= 0) return TN_UNSUPPORTED;
    tn_value_id axes = TN_BODY_INTS(&b, 1), weights = tn__body_input(&b, 2);
    tn_value_id target = TN_BODY_ADD(&b, "Unsqueeze", b.inputs[1], axes);
    tn_value_id none = TN_NO_ID, zero = tn__body_number(&b, dtype, 0), sum = TN_NO_ID;
    if (ignores) {
        tn_value_id wide = TN_BODY_INT(&b, "Cast", "to", TN_INT64, target);
        none = TN_BODY_ADD(&b, "Equal", wide, TN_BODY_INTS(&b, attrs.ignore_index));
        tn_value_id first = TN_BODY_ADD(&b, "Sub", target, target);
        target = TN_BODY_ADD(&b, "Where", none, first, target);
    }
    tn_value_id value = TN_BODY_INT(&b, "GatherElements", "axis", 1, b.inputs[0], target);
    value = TN_BODY_ADD(&b, "Neg", value);
    if (ignores) value = TN_BODY_ADD(&b, "Where", none, zero, value);
    if (weights == TN_NO_ID && ignores)
        sum = TN_BODY_ADD(&b, "Where", none, zero, tn__body_number(&b, dtype, 1));
    if (weights != TN_NO_ID) {
        sum = TN_BODY_ADD(&b, "Gather", weights, target);
        if (ignores) sum = TN_BODY_ADD(&b, "Where", none, zero, sum);
        value = TN_BODY_ADD(&b, "Mul", value, sum);
    }
    if (reduction == REDUCE_NONE) value = TN_BODY_ADD(&b, "Squeeze", value, axes);
    if (reduction == REDUCE_SUM) value = body_reduce(&b, "ReduceSum", value);
    if (reduction == REDUCE_MEAN && sum == TN_NO_ID)
        value = body_reduce(&b, "ReduceMean", value);
    else if (reduction == REDUCE_MEAN)
        value = TN_BODY_ADD(&b, "Div", body_reduce(&b, "ReduceSum", value),
            body_reduce(&b, "ReduceSum", sum));
    tn__body_output(&b, 0, value);
    return b.status;
}

static tn_status expand_entropy(const struct tn_rewrite *rw) {
    struct tn__body b;
    struct tn_attr attrs[2];
    TN_TRY(tn__body_begin(&b, rw));
    uint32_t n = 0;
    for (uint32_t i = 0; i < b.node.n_attrs && n < 2; i++)
        attrs[n++] = b.node.attrs[i];
    tn_value_id logs = TN_BODY_INT(&b, "LogSoftmax", "axis", 1, b.inputs[0]);
    tn_value_id inputs[3] = {logs, b.inputs[1], tn__body_input(&b, 2)};
    tn_value_id loss = tn__body_add(
        &b, "NegativeLogLikelihoodLoss", inputs, inputs[2] == TN_NO_ID ? 2 : 3, attrs, n);
    tn__body_output(&b, 0, loss);
    tn__body_output(&b, 1, logs);
    return b.status;
}

/* ---- tables ----------------------------------------------------------------------------- */

/* clang-format off */
#define LOSS_TYPES TN_TYPE_VARS({"T", TN_TYPES_FLOATS}, {"Tind", TN_TYPES_INDEX})
static const struct tn_op_def defs[] = {
    {TN_DEF("", "NegativeLogLikelihoodLoss"), TN_VERSIONS({12}, {13}, {22}),
        TN_INPUTS({"input", "T"}, {"target", "Tind"}, {"weight", "T", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"loss", "T"}), LOSS_TYPES, TN_ATTRS(loss), .infer = infer_loss,
        .expand = expand_likelihood},
    {TN_DEF("", "SoftmaxCrossEntropyLoss"), TN_VERSIONS({12}, {13}),
        TN_INPUTS({"scores", "T"}, {"labels", "Tind"}, {"weights", "T", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output", "T"}, {"log_prob", "T", 0, TN_FORMAL_OPTIONAL}),
        LOSS_TYPES, TN_ATTRS(loss), .infer = infer_loss, .expand = expand_entropy},
};

#define SLOTS(type) .create = create_loss, .workspace = workspace_loss, .compute = loss_##type
TN_NARROW(loss, SLOTS(f32))

#define KERNELS(name, version) \
    {TN_KERNEL("", name, version), TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)}), SLOTS(f32)}, \
    {TN_KERNEL("", name, version), TN_KERNEL_TYPES({"T", TN_BIT(DOUBLE)}), SLOTS(f64)}, \
    {TN_NARROW_KERNEL("", name, version, loss), TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})}
static const struct tn_kernel_def kernels[] = {
    KERNELS("NegativeLogLikelihoodLoss", 22), KERNELS("SoftmaxCrossEntropyLoss", 13)};
/* clang-format on */

TN_FAMILY(losses);
