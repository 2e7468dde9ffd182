/* Steps of training: Adagrad, Adam and Momentum of ai.onnx.preview.training.
 *
 * The inputs are the rate R, the turn T, and then lists of equal length: tensors X, their
 * gradients G, and one or two states of each; the outputs are the new X and states. */
#include "ops/ops.h"
#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define ADAGRAD_ATTRS(X, S) \
    X(S, FLOAT, decay_factor, 0.0f) X(S, FLOAT, epsilon, 1e-6f) X(S, FLOAT, norm_coefficient, 0.0f)
#define ADAM_ATTRS(X, S) \
    X(S, FLOAT, alpha, 0.9f) X(S, FLOAT, beta, 0.999f) X(S, FLOAT, epsilon, 1e-6f) \
    X(S, FLOAT, norm_coefficient, 0.0f) X(S, FLOAT, norm_coefficient_post, 0.0f)
#define MOMENTUM_ATTRS(X, S) \
    X(S, FLOAT_REQUIRED, alpha, ) X(S, FLOAT_REQUIRED, beta, ) X(S, STRING_REQUIRED, mode, ) \
    X(S, FLOAT_REQUIRED, norm_coefficient, )
#define GRADIENT_ATTRS(X, S) X(S, STRINGS, xs, ) X(S, STRING_REQUIRED, y, ) X(S, STRINGS, zs, )
TN_ATTR_TABLE(adagrad, ADAGRAD_ATTRS)
TN_ATTR_TABLE(adam, ADAM_ATTRS)
TN_ATTR_TABLE(momentum, MOMENTUM_ATTRS)
TN_ATTR_TABLE(gradient, GRADIENT_ATTRS)
/* clang-format on */

enum kind { ADAGRAD, ADAM, MOMENTUM, NESTEROV };

/* Numbers of one step, adjusted to the turn. */
struct step {
    double rate, norm, norm_post, alpha, beta, epsilon, decay;
    int64_t turn;
};

struct training {
    struct tn__kernel base;
    enum kind kind;
    struct step step;
};

/* ---- inference -------------------------------------------------------------------------- */

/* States of each tensor; the lists are X, G and these. */
static uint32_t n_states(const struct tn_node *node) {
    return strcmp(node->op_type, "Adam") == 0 ? 2 : 1;
}

static tn_status infer_training(const struct tn_infer *infer) {
    const struct tn_node *node = infer->node;
    uint32_t states = n_states(node), lists = 2 + states,
             n = (node->n_inputs - 2) / lists;
    if (node->n_inputs < 2 + lists || (node->n_inputs - 2) % lists != 0 ||
        node->n_outputs != n * (1 + states))
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "%u inputs and %u outputs do not form %u lists of tensors behind R and T",
            node->n_inputs, node->n_outputs, lists);
    for (uint32_t i = 0; i < n; i++) {
        TN_TRY(tn_infer_like(infer, i, 2 + i));
        for (uint32_t s = 0; s < states; s++)
            TN_TRY(tn_infer_like(infer, n * (1 + s) + i, 2 + n * (2 + s) + i));
    }
    return TN_OK;
}

/* The domain is known, so that this says more than an unknown name would. */
static tn_status refuse_gradient(const struct tn_infer *infer) {
    return tn_fail(infer->diag, TN_UNSUPPORTED,
        "Gradient asks to differentiate the graph, which this runtime does not: export "
        "the model with its gradient as operators");
}

/* ---- kernels ---------------------------------------------------------------------------- */

static tn_status create(const struct tn_kernel_ctx *ctx, enum kind kind,
    const struct step *step, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct training), out));
    struct training *training = *out;
    training->kind = kind;
    training->step = *step;
    return TN_OK;
}

static tn_status create_adagrad(const struct tn_kernel_ctx *ctx, void **out) {
    struct adagrad_attrs attrs;
    TN_TRY(TN_ATTRS_READ(adagrad, ctx->node, &attrs, ctx->diag));
    const struct step step = {.norm = (double)attrs.norm_coefficient,
        .epsilon = (double)attrs.epsilon,
        .decay = (double)attrs.decay_factor};
    return create(ctx, ADAGRAD, &step, out);
}

static tn_status create_adam(const struct tn_kernel_ctx *ctx, void **out) {
    struct adam_attrs attrs;
    TN_TRY(TN_ATTRS_READ(adam, ctx->node, &attrs, ctx->diag));
    const struct step step = {.norm = (double)attrs.norm_coefficient,
        .norm_post = (double)attrs.norm_coefficient_post,
        .alpha = (double)attrs.alpha,
        .beta = (double)attrs.beta,
        .epsilon = (double)attrs.epsilon};
    return create(ctx, ADAM, &step, out);
}

static tn_status create_momentum(const struct tn_kernel_ctx *ctx, void **out) {
    struct momentum_attrs attrs;
    TN_TRY(TN_ATTRS_READ(momentum, ctx->node, &attrs, ctx->diag));
    bool standard = tn_string_is(attrs.mode, "standard");
    const struct step step = {.norm = (double)attrs.norm_coefficient,
        .alpha = (double)attrs.alpha,
        .beta = (double)attrs.beta};
    if (!standard && !tn_string_is(attrs.mode, "nesterov"))
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'mode' is neither standard nor nesterov");
    return create(ctx, standard ? MOMENTUM : NESTEROV, &step, out);
}

/* One tensor. */
struct job {
    enum kind kind;
    struct step step;
    const void *x, *g, *v, *h; /* h: the second state */
    void *x_new, *v_new, *h_new;
};

#define T float
#define NAME(x) x##_f32
#define SQRT(x) sqrtf(x)
#include "ops/training_tmpl.h"
#define T double
#define NAME(x) x##_f64
#define SQRT(x) sqrt(x)
#include "ops/training_tmpl.h"

static double scalar(const struct tn_tensor *tensor) {
    return tensor->dtype == TN_DOUBLE ? *(const double *)tensor->data
                                      : (double)*(const float *)tensor->data;
}

/* What R and T make of the attributes. */
static tn_status read_step(
    const struct training *training, const struct tn_run_args *args, struct step *step) {
    const struct tn_tensor *rate = tn_in(args, 0), *turn = tn_in(args, 1);
    if (!rate || !turn || tn_tensor_count(rate) != 1 || tn_tensor_count(turn) != 1)
        return tn_fail(
            args->run->diag, TN_INVALID_ARGUMENT, "'R' and 'T' are not one number each");
    *step = training->step;
    step->rate = scalar(rate);
    step->turn = tn_tensor_int(turn, 0);
    double t = (double)step->turn;
    if (training->kind == ADAGRAD) step->rate /= 1 + t * step->decay;
    if (training->kind == ADAM && t > 0)
        step->rate *= sqrt(1 - pow(step->beta, t)) / (1 - pow(step->alpha, t));
    if (training->kind >= MOMENTUM && t <= 0) step->beta = 1;
    return TN_OK;
}

/* Tensors of one place in all lists must agree. */
static tn_status check_same(
    const struct tn_run_args *args, uint32_t first, uint32_t other) {
    const struct tn_tensor *a = tn_in(args, first), *b = tn_in(args, other);
    if (a && b && a->dtype == b->dtype &&
        tn_dims_equal(a->dims, a->rank, b->dims, b->rank))
        return TN_OK;
    return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
        "inputs %u and %u differ in type or shape", first, other);
}

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    const struct training *training = kernel;
    uint32_t lists = training->kind == ADAM ? 4 : 3, n = (args->n_inputs - 2) / lists;
    struct job job = {.kind = training->kind};
    TN_TRY(read_step(training, args, &job.step));
    for (uint32_t i = 0; i < n; i++) {
        const struct tn_tensor *x = tn_in(args, 2 + i), *in[4];
        struct tn_tensor *out[3] = {NULL, NULL, NULL};
        for (uint32_t k = 0; k < lists; k++) {
            TN_TRY(check_same(args, 2 + i, 2 + k * n + i));
            in[k] = tn_in(args, 2 + k * n + i);
            if (k > 0) out[k - 1] = tn_out(args, (k - 1) * n + i);
        }
        job.x = x->data;
        job.g = in[1]->data;
        job.v = in[2]->data;
        job.h = lists == 4 ? in[3]->data : NULL;
        job.x_new = out[0] ? out[0]->data : NULL;
        job.v_new = out[1] ? out[1]->data : NULL;
        job.h_new = out[2] ? out[2]->data : NULL;
        tn_parallel(training->base.host, tn_tensor_count(x), 2.0,
            x->dtype == TN_DOUBLE ? update_f64 : update_f32, &job);
    }
    return TN_OK;
}

/* ---- tables ----------------------------------------------------------------------------- */

/* clang-format off */
#define DOMAIN "ai.onnx.preview.training"
#define TWO (TN_BIT(FLOAT) | TN_BIT(DOUBLE))
#define ANY_NUMBER (TN_FORMAL_VARIADIC | TN_FORMAL_HETEROGENEOUS)
#define ROW(name, table) \
    {TN_DEF(DOMAIN, name), TN_VERSIONS({1}), \
        TN_INPUTS({"R", "T1"}, {"T", "T2"}, {"inputs", "T3", 0, ANY_NUMBER, 1}), \
        TN_OUTPUTS({"outputs", "T3", 0, ANY_NUMBER, 1}), \
        TN_TYPE_VARS({"T1", TWO}, {"T2", TN_BIT(INT64)}, {"T3", TWO}), \
        TN_ATTRS(table), .infer = infer_training}
static const struct tn_op_def defs[] = {
    ROW("Adagrad", adagrad), ROW("Adam", adam), ROW("Momentum", momentum),
    {TN_DEF(DOMAIN, "Gradient"), TN_VERSIONS({1}),
        TN_INPUTS({"Inputs", "T1", 0, ANY_NUMBER, 1}),
        TN_OUTPUTS({"Outputs", "T2", 0, ANY_NUMBER, 1}),
        TN_TYPE_VARS({"T1", TN_TYPES_ALL}, {"T2", TN_TYPES_FLOATS}), TN_ATTRS(gradient),
        .infer = refuse_gradient},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL(DOMAIN, "Adagrad", 1), .create = create_adagrad, .compute = compute},
    {TN_KERNEL(DOMAIN, "Adam", 1), .create = create_adam, .compute = compute},
    {TN_KERNEL(DOMAIN, "Momentum", 1), .create = create_momentum, .compute = compute},
};
/* clang-format on */

TN_FAMILY(training);
