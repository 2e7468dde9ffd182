/* RNN, GRU and LSTM.
 *
 * The products with the inputs are taken for all steps at once; then each step adds the
 * product with the state and runs the gates. Both layouts, peepholes, clipping, coupled
 * gates, lists of activations, sequences of unequal length and both directions. */
#include "ops/narrow.h"
#include "ops/ops.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define COMMON_ATTRS(X, S)                                                               \
    X(S, FLOATS, activation_alpha, )                                                     \
    X(S, FLOATS, activation_beta, )                                                      \
    X(S, STRINGS, activations, )                                                         \
    X(S, FLOAT, clip, 0.0f)                                                              \
    X(S, STRING, direction, "forward")                                                   \
    X(S, INT, hidden_size, 0)                                                            \
    X(S, INT, layout, 0)
#define RNN_ATTRS(X, S) COMMON_ATTRS(X, S)
#define GRU_ATTRS(X, S) COMMON_ATTRS(X, S) X(S, INT, linear_before_reset, 0)
#define LSTM_ATTRS(X, S) COMMON_ATTRS(X, S) X(S, INT, input_forget, 0)
/* What the kernel reads of all three. */
#define RECURRENT_ATTRS(X, S)                                                            \
    COMMON_ATTRS(X, S)                                                                   \
    X(S, INT, input_forget, 0)                                                           \
    X(S, INT, linear_before_reset, 0)
/* clang-format on */
TN_ATTR_TABLE(rnn, RNN_ATTRS)
TN_ATTR_TABLE(gru, GRU_ATTRS)
TN_ATTR_TABLE(lstm, LSTM_ATTRS)
TN_ATTR_TABLE(recurrent, RECURRENT_ATTRS)

enum cell { CELL_RNN, CELL_GRU, CELL_LSTM };

static enum cell cell_of(const struct tn_node *node) {
    return node->op_type[0] == 'R'   ? CELL_RNN
           : node->op_type[0] == 'G' ? CELL_GRU
                                     : CELL_LSTM;
}

static tn_status infer_recurrent(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0), *r = tn_infer_input(infer, 2);
    struct recurrent_attrs attrs;
    if (!x) return TN_OK;
    TN_TRY(TN_ATTRS_READ(recurrent, infer->node, &attrs, infer->diag));
    int64_t steps = TN_DIM_UNKNOWN, batch = TN_DIM_UNKNOWN, hidden = TN_DIM_UNKNOWN;
    int64_t directions = tn_string_is(attrs.direction, "bidirectional") ? 2 : 1;
    if (x->rank >= 0 && x->rank != 3)
        return tn_fail(
            infer->diag, TN_INVALID_MODEL, "input has rank %d, expected 3", x->rank);
    if (x->rank == 3) {
        steps = x->dims[attrs.layout ? 1 : 0];
        batch = x->dims[attrs.layout ? 0 : 1];
    }
    if (attrs.hidden_size > 0)
        hidden = attrs.hidden_size;
    else if (r && r->rank == 3)
        hidden = r->dims[2];
    int64_t y[4] = {steps, directions, batch, hidden},
            last[3] = {directions, batch, hidden};
    int64_t y1[4] = {batch, steps, directions, hidden},
            last1[3] = {batch, directions, hidden};
    TN_TRY(tn_infer_set(infer, 0, x->dtype, 4, attrs.layout ? y1 : y));
    TN_TRY(tn_infer_set(infer, 1, x->dtype, 3, attrs.layout ? last1 : last));
    return tn_infer_set(infer, 2, x->dtype, 3, attrs.layout ? last1 : last);
}

/* ---- activations -------------------------------------------------------------------------- */

enum act {
    AFFINE,
    ELU,
    HARD_SIGMOID,
    LEAKY,
    RELU,
    SCALED_TANH,
    SIGMOID,
    SOFTPLUS,
    SOFTSIGN,
    TANH,
    THRESHOLDED
};

/* clang-format off */
static const struct {
    const char *name;
    float alpha, beta; /* defaults */
} acts[] = {
    [AFFINE] = {"Affine", 1.0f, 0}, [ELU] = {"Elu", 1.0f, 0},
    [HARD_SIGMOID] = {"HardSigmoid", 0.2f, 0.5f}, [LEAKY] = {"LeakyRelu", 0.01f, 0},
    [RELU] = {"Relu", 0, 0}, [SCALED_TANH] = {"ScaledTanh", 1.0f, 1.0f},
    [SIGMOID] = {"Sigmoid", 0, 0}, [SOFTPLUS] = {"Softplus", 0, 0},
    [SOFTSIGN] = {"Softsign", 0, 0}, [TANH] = {"Tanh", 0, 0},
    [THRESHOLDED] = {"ThresholdedRelu", 1.0f, 0},
};
/* clang-format on */

struct activation {
    enum act act;
    double alpha, beta;
};

static double activate_one(const struct activation *a, double x) {
    switch (a->act) {
    case AFFINE: return a->alpha * x + a->beta;
    case ELU: return x < 0 ? a->alpha * expm1(x) : x;
    case HARD_SIGMOID: return fmin(fmax(a->alpha * x + a->beta, 0), 1);
    case LEAKY: return x < 0 ? a->alpha * x : x;
    case RELU: return x > 0 ? x : 0;
    case SCALED_TANH: return a->alpha * tanh(a->beta * x);
    case SIGMOID: return 1 / (1 + exp(-x));
    case SOFTPLUS: return x > 30 ? x : log1p(exp(x));
    case SOFTSIGN: return x / (1 + fabs(x));
    case TANH: return tanh(x);
    default: return x > a->alpha ? x : 0;
    }
}

/* ---- kernel ------------------------------------------------------------------------------ */

struct recurrent {
    struct tn__kernel base;
    enum cell cell;
    bool batch_first, coupled, linear_first, forward, backward;
    double clip; /* 0: none */
    struct activation acts[2][3];
};

static tn_status read_activations(
    struct recurrent *r, const struct recurrent_attrs *attrs, struct tn_diag *diag) {
    static const enum act defaults[3][3] = {
        {TANH, TANH, TANH}, {SIGMOID, TANH, TANH}, {SIGMOID, TANH, TANH}};
    uint32_t per = r->cell == CELL_RNN ? 1 : r->cell == CELL_GRU ? 2 : 3;
    uint32_t alpha = 0, beta = 0, n = attrs->activations.n;
    for (uint32_t i = 0; i < 2 * per; i++) {
        struct activation *a = &r->acts[i / per][i % per];
        int found = (int)defaults[r->cell][i % per];
        if (i < n) {
            for (found = 0; found < (int)TN_COUNT(acts); found++)
                if (tn_string_is(attrs->activations.v[i], acts[found].name)) break;
            if (found == (int)TN_COUNT(acts))
                return tn_fail(diag, TN_UNSUPPORTED, "activation '%.*s' is not known",
                    (int)(attrs->activations.v[i].size < 40 ? attrs->activations.v[i].size
                                                            : 40),
                    attrs->activations.v[i].data);
        }
        a->act = (enum act)found;
        a->alpha = (double)acts[found].alpha;
        a->beta = (double)acts[found].beta;
        if (i >= n) continue;
        bool has_alpha = acts[found].alpha != 0;
        bool has_beta = found == AFFINE || acts[found].beta != 0;
        if (has_alpha && alpha < attrs->activation_alpha.n)
            a->alpha = (double)attrs->activation_alpha.v[alpha++];
        if (has_beta && beta < attrs->activation_beta.n)
            a->beta = (double)attrs->activation_beta.v[beta++];
    }
    return TN_OK;
}

static tn_status create_recurrent(const struct tn_kernel_ctx *ctx, void **out) {
    struct recurrent_attrs attrs;
    TN_TRY(TN_ATTRS_READ(recurrent, ctx->node, &attrs, ctx->diag));
    struct recurrent r = {.cell = cell_of(ctx->node)};
    r.batch_first = attrs.layout != 0;
    r.coupled = attrs.input_forget != 0;
    r.linear_first = attrs.linear_before_reset != 0;
    r.backward = !tn_string_is(attrs.direction, "forward");
    r.forward = !tn_string_is(attrs.direction, "reverse");
    r.clip = tn_node_attr(ctx->node, "clip") ? (double)attrs.clip : 0;
    TN_TRY(read_activations(&r, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct recurrent), out));
    r.base = *(struct tn__kernel *)*out;
    *(struct recurrent *)*out = r;
    return TN_OK;
}

/* Sizes of one call. */
struct sizes {
    size_t steps, batch, input, hidden, gates, directions;
};

static tn_status read_sizes(struct sizes *s, const struct recurrent *r,
    const struct tn_run_args *args, struct tn_diag *diag) {
    const struct tn_tensor *x = args->inputs[0].as.tensor, *w = args->inputs[1].as.tensor;
    const struct tn_tensor *h = args->inputs[2].as.tensor;
    static const size_t gates[] = {1, 3, 4};
    s->gates = gates[r->cell];
    s->directions = r->forward && r->backward ? 2 : 1;
    bool shaped = x->rank == 3 && w->rank == 3 && h->rank == 3;
    if (shaped) {
        s->steps = (size_t)x->dims[r->batch_first ? 1 : 0];
        s->batch = (size_t)x->dims[r->batch_first ? 0 : 1];
        s->input = (size_t)x->dims[2];
        s->hidden = (size_t)h->dims[2];
    }
    if (!shaped || (size_t)w->dims[0] != s->directions ||
        (size_t)h->dims[0] != s->directions || (size_t)w->dims[2] != s->input ||
        (size_t)w->dims[1] != s->gates * s->hidden || w->dims[1] != h->dims[1])
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "X, W and R do not fit: expected W (%zu, %zu, input) and R (%zu, %zu, "
            "hidden)",
            s->directions, s->gates * s->hidden, s->directions, s->gates * s->hidden);
    static const struct {
        uint32_t input;
        size_t per_gate;
    } lists[] = {{3, 2}, {7, 0}};
    for (size_t i = 0; i < TN_COUNT(lists); i++) {
        const struct tn_tensor *t = tn_in(args, lists[i].input);
        size_t n = s->directions * s->hidden * (lists[i].per_gate ? 2 * s->gates : 3);
        if (t && (size_t)tn_tensor_count(t) != n)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "input %u has %lld elements, expected %zu", lists[i].input,
                (long long)tn_tensor_count(t), n);
    }
    for (uint32_t i = 5; i < 7; i++) {
        const struct tn_tensor *t = tn_in(args, i);
        if (t && (size_t)tn_tensor_count(t) != s->directions * s->batch * s->hidden)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "initial state %u has %lld elements", i, (long long)tn_tensor_count(t));
    }
    const struct tn_tensor *lens = tn_in(args, 4);
    if (lens && (size_t)tn_tensor_count(lens) != s->batch)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "sequence_lens has %lld elements, expected %zu",
            (long long)tn_tensor_count(lens), s->batch);
    return TN_OK;
}

/* Scratch in elements: products with the inputs, gates of a step, states, one more row set. */
static size_t scratch_elements(const struct sizes *s) {
    size_t row = s->batch * s->hidden;
    return s->steps * s->batch * s->gates * s->hidden + row * (s->gates + 4) +
           s->steps * s->batch * s->input + s->batch;
}

static tn_status workspace_recurrent(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    struct sizes s = {0};
    TN_TRY(read_sizes(&s, kernel, args, NULL));
    bool wide = args->inputs[0].as.tensor->dtype == TN_DOUBLE;
    out->scratch = scratch_elements(&s) * (wide ? sizeof(double) : sizeof(float));
    return TN_OK;
}

/* c += a · wᵀ: rows of a and w have k elements. */
static void multiply_f32(const struct tn__cpu *cpu, float *c, const float *a,
    const float *w, size_t rows, size_t n, size_t k) {
    struct tn_gemm_epilogue epilogue = TN_GEMM_EPILOGUE_INIT;
    struct tn_gemm gemm = {rows, n, k, a, k, w, k, c, n, &epilogue};
    epilogue.residual = c;
    epilogue.ld_residual = n;
    if (rows && n && k)
        tn_gemm_plain(&cpu->gemm, &gemm, true, 0, rows, 0, tn_gemm_panels(&cpu->gemm, n));
}

static void multiply_f64(const struct tn__cpu *cpu, double *c, const double *a,
    const double *w, size_t rows, size_t n, size_t k) {
    (void)cpu;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++)
                sum += a[i * k + l] * w[j * k + l];
            c[i * n + j] += sum;
        }
    }
}

static void activate_f32(
    const struct tn__cpu *cpu, const struct activation *a, float *x, size_t n) {
    if (a->act == SIGMOID)
        cpu->vmath.f32[TN_VMATH_SIGMOID](x, x, n, NULL);
    else if (a->act == TANH)
        cpu->vmath.f32[TN_VMATH_TANH](x, x, n, NULL);
    else
        for (size_t i = 0; i < n; i++)
            x[i] = (float)activate_one(a, (double)x[i]);
}

static void activate_f64(
    const struct tn__cpu *cpu, const struct activation *a, double *x, size_t n) {
    (void)cpu;
    for (size_t i = 0; i < n; i++)
        x[i] = activate_one(a, x[i]);
}

#define T float
#define NAME(x) x##_f32
#include "ops/recurrent_tmpl.h"
#define T double
#define NAME(x) x##_f64
#include "ops/recurrent_tmpl.h"

/* Version 1 of GRU and RNN could leave out Y by an attribute. */
static tn_status upgrade_recurrent_7(const struct tn_rewrite *rw) {
    if (!tn_node_attr(rw->api->node(rw->graph, rw->node), "output_sequence"))
        return TN_OK;
    return rw->api->remove_attr(rw->graph, rw->node, "output_sequence");
}

/* clang-format off */
#define OPTIONAL 0, TN_FORMAL_OPTIONAL
#define LENS {"sequence_lens", NULL, TN_BIT(INT32), TN_FORMAL_OPTIONAL}
#define T_FLOATS TN_TYPE_VARS({"T", TN_TYPES_FLOATS})
static const struct tn_op_def defs[] = {
    {TN_DEF("", "RNN"), TN_VERSIONS({1}, {7, 0, upgrade_recurrent_7}, {14}, {22}),
        TN_INPUTS({"X", "T"}, {"W", "T"}, {"R", "T"}, {"B", "T", OPTIONAL}, LENS,
            {"initial_h", "T", OPTIONAL}),
        TN_OUTPUTS({"Y", "T", OPTIONAL}, {"Y_h", "T", OPTIONAL}), T_FLOATS, TN_ATTRS(rnn),
        .infer = infer_recurrent},
    {TN_DEF("", "GRU"), TN_VERSIONS({1}, {3}, {7, 0, upgrade_recurrent_7}, {14}, {22}),
        TN_INPUTS({"X", "T"}, {"W", "T"}, {"R", "T"}, {"B", "T", OPTIONAL}, LENS,
            {"initial_h", "T", OPTIONAL}),
        TN_OUTPUTS({"Y", "T", OPTIONAL}, {"Y_h", "T", OPTIONAL}), T_FLOATS, TN_ATTRS(gru),
        .infer = infer_recurrent},
    {TN_DEF("", "LSTM"), TN_VERSIONS({1}, {7, 0, upgrade_recurrent_7}, {14}, {22}),
        TN_INPUTS({"X", "T"}, {"W", "T"}, {"R", "T"}, {"B", "T", OPTIONAL}, LENS,
            {"initial_h", "T", OPTIONAL}, {"initial_c", "T", OPTIONAL}, {"P", "T", OPTIONAL}),
        TN_OUTPUTS({"Y", "T", OPTIONAL}, {"Y_h", "T", OPTIONAL}, {"Y_c", "T", OPTIONAL}),
        T_FLOATS, TN_ATTRS(lstm), .infer = infer_recurrent},
};

#define SLOTS(type) .create = create_recurrent, .workspace = workspace_recurrent, \
    .compute = recurrent_##type
TN_NARROW(recurrent, SLOTS(f32))
#define KERNELS(name) \
    {TN_KERNEL("", name, 22), TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)}), SLOTS(f32)}, \
    {TN_KERNEL("", name, 22), TN_KERNEL_TYPES({"T", TN_BIT(DOUBLE)}), SLOTS(f64)}, \
    {TN_NARROW_KERNEL("", name, 22, recurrent), TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})}
static const struct tn_kernel_def kernels[] = {KERNELS("RNN"), KERNELS("GRU"), KERNELS("LSTM")};
/* clang-format on */

TN_FAMILY(recurrent);
