/* CausalConvWithState: each channel convolved with its own kernel over its past. */
#include "ops/body.h"
#include "ops/narrow.h"
#include "ops/sizes.h"
#include "tenon/helper/parallel.h"

#include <stdbool.h>

#define CAUSAL_ATTRS(X, S) X(S, STRING, activation, "none")
TN_ATTR_TABLE(causal, CAUSAL_ATTRS)

enum { INPUT, WEIGHT, BIAS, PAST, N_INPUTS };

/* ---- attributes and sizes ---------------------------------------------------------------- */

static tn_status read_activation(
    const struct tn_node *node, bool *out_silu, struct tn_diag *diag) {
    struct causal_attrs attrs;
    TN_TRY(TN_ATTRS_READ(causal, node, &attrs, diag));
    *out_silu =
        tn_string_is(attrs.activation, "silu") || tn_string_is(attrs.activation, "swish");
    if (*out_silu || tn_string_is(attrs.activation, "none")) return TN_OK;
    return tn_fail(
        diag, TN_INVALID_MODEL, "attribute 'activation' is none of silu, swish, none");
}

struct size {
    int64_t batch, channels, length, taps; /* -1 unknown */
};

static tn_status add_input(struct size *size, uint32_t i, const int64_t *dims,
    int32_t rank, struct tn_diag *diag) {
    static const char *const names[N_INPUTS] = {"input", "weight", "bias", "past_state"};
    int64_t one = 1;
    int32_t wanted = i == BIAS ? 1 : 3;
    if (rank != wanted)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "'%s' has rank %d, expected %d",
            names[i], (int)rank, (int)wanted);
    TN_TRY(tn__size_same(&size->channels, dims[i == INPUT || i == PAST ? 1 : 0],
        "the number of channels", diag));
    if (i == BIAS) return TN_OK;
    if (i == WEIGHT) {
        TN_TRY(tn__size_same(&one, dims[1], "the second axis of 'weight'", diag));
        if (dims[2] == 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT, "'weight' has no taps");
        return tn__size_same(&size->taps, dims[2], "the number of taps", diag);
    }
    TN_TRY(tn__size_same(&size->batch, dims[0], "the batch", diag));
    if (i == INPUT) return tn__size_same(&size->length, dims[2], "the length", diag);
    int64_t taps = dims[2] < 0 ? -1 : dims[2] + 1;
    return tn__size_same(&size->taps, taps, "the length of 'past_state' plus one", diag);
}

static tn_status infer_causal(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, INPUT);
    struct size size = {-1, -1, -1, -1};
    bool silu;
    TN_TRY(read_activation(infer->node, &silu, infer->diag));
    for (uint32_t i = 0; i < N_INPUTS; i++) {
        const struct tn_type *type = tn_infer_input(infer, i);
        if (type && type->rank >= 0)
            TN_TRY(add_input(&size, i, type->dims, type->rank, infer->diag));
    }
    if (!x) return TN_OK;
    TN_TRY(tn_infer_like(infer, 0, 0));
    if (x->rank != 3) return tn_infer_set(infer, 1, x->dtype, -1, NULL);
    const int64_t state[3] = {
        x->dims[0], x->dims[1], size.taps < 0 ? TN_DIM_UNKNOWN : size.taps - 1};
    return tn_infer_set(infer, 1, x->dtype, 3, state);
}

/* ---- kernel ----------------------------------------------------------------------------- */

struct causal {
    struct tn__kernel base;
    bool silu;
};

static tn_status create_causal(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct causal), out));
    return tn_kernel_ready(
        read_activation(ctx->node, &((struct causal *)*out)->silu, ctx->diag), out);
}

struct job {
    const struct causal *causal;
    const float *in[N_INPUTS];
    float *y, *present;
    struct size size;
};

/* What lies `at` before (negative) or in the line. */
static float sample(const float *x, const float *past, int64_t state, int64_t at) {
    return at >= 0 ? x[at] : past ? past[state + at] : 0.0f;
}

static void run_line(const struct job *job, int64_t line) {
    const struct size *s = &job->size;
    int64_t channel = line % s->channels, state = s->taps - 1;
    const float *x = job->in[INPUT] + line * s->length;
    const float *past = job->in[PAST] ? job->in[PAST] + line * state : NULL;
    const float *w = job->in[WEIGHT] + channel * s->taps;
    float *y = job->y + line * s->length,
          bias = job->in[BIAS] ? job->in[BIAS][channel] : 0;
    for (int64_t l = 0; l < s->length; l++)
        y[l] = bias;
    for (int64_t j = 0; j < s->taps; j++) {
        int64_t shift = j - state; /* <= 0 */
        int64_t edge = -shift < s->length ? -shift : s->length;
        for (int64_t l = 0; l < edge; l++)
            y[l] += w[j] * sample(x, past, state, l + shift);
        for (int64_t l = edge; l < s->length; l++)
            y[l] += w[j] * x[l + shift];
    }
    if (job->causal->silu)
        job->causal->base.cpu->vmath.f32[TN_VMATH_SILU](y, y, (size_t)s->length, NULL);
    for (int64_t i = 0; job->present && i < state; i++)
        job->present[line * state + i] = sample(x, past, state, s->length - state + i);
}

static void run_lines(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    (void)worker;
    for (int64_t line = begin; line < end; line++)
        run_line(arg, line);
}

static tn_status compute_causal(void *kernel, const struct tn_run_args *args) {
    const struct causal *causal = kernel;
    struct tn_tensor *present = tn_out(args, 1);
    struct job job = {.causal = causal,
        .y = tn_out(args, 0)->data,
        .present = present ? present->data : NULL,
        .size = {-1, -1, -1, -1}};
    for (uint32_t i = 0; i < N_INPUTS; i++) {
        const struct tn_tensor *t = tn_in(args, i);
        if (!t) continue;
        job.in[i] = t->data;
        TN_TRY(add_input(&job.size, i, t->dims, (int32_t)t->rank, args->run->diag));
    }
    tn_parallel(causal->base.host, job.size.batch * job.size.channels,
        (double)job.size.length * (double)job.size.taps / 4 + 20, run_lines, &job);
    return TN_OK;
}

/* ---- body ------------------------------------------------------------------------------- */

/* The input behind its past, or behind zeros. */
static tn_value_id padded(struct tn__body *b, int64_t state) {
    tn_value_id past = tn__body_input(b, PAST);
    if (past != TN_NO_ID)
        return TN_BODY_INT(b, "Concat", "axis", 2, past, b->inputs[INPUT]);
    return TN_BODY_ADD(b, "Pad", b->inputs[INPUT], TN_BODY_INTS(b, 0, 0, state, 0, 0, 0));
}

static tn_status expand_causal(const struct tn_rewrite *rw) {
    struct tn__body b;
    bool silu;
    TN_TRY(tn__body_begin(&b, rw));
    TN_TRY(read_activation(&b.node, &silu, rw->diag));
    const struct tn_type *weight = tn__body_type(&b, WEIGHT);
    if (weight->kind != TN_KIND_TENSOR || weight->rank != 3 || weight->dims[0] < 0 ||
        weight->dims[2] < 1)
        return TN_UNSUPPORTED;
    int64_t channels = weight->dims[0], state = weight->dims[2] - 1;
    const struct tn_attr group = {"group", TN_ATTR_INT, 1, {.ints = &channels}, NULL};
    tn_value_id x = padded(&b, state), bias = tn__body_input(&b, BIAS);
    const tn_value_id inputs[3] = {x, b.inputs[WEIGHT], bias};
    tn_value_id y = tn__body_add(&b, "Conv", inputs, bias == TN_NO_ID ? 2 : 3, &group, 1);
    if (silu) {
        tn_value_id wide = TN_BODY_INT(&b, "Cast", "to", TN_FLOAT, y);
        tn_value_id gate = TN_BODY_ADD(&b, "Sigmoid", wide);
        y = TN_BODY_ADD(&b, "CastLike", TN_BODY_ADD(&b, "Mul", wide, gate), y);
    }
    tn__body_output(&b, 0, y);
    tn__body_output(&b, 1,
        TN_BODY_ADD(&b, "Slice", x, TN_BODY_INTS(&b, state ? -state : INT64_MAX),
            TN_BODY_INTS(&b, INT64_MAX), TN_BODY_INTS(&b, 2)));
    return b.status;
}

/* ---- tables ----------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "CausalConvWithState"), TN_VERSIONS({27}),
        TN_INPUTS({"input", "T"}, {"weight", "T"}, {"bias", "T", 0, TN_FORMAL_OPTIONAL},
            {"past_state", "T", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output", "T"}, {"present_state", "T"}),
        TN_TYPE_VARS({"T", TN_BIT(FLOAT) | TN_BIT(FLOAT16) | TN_BIT(BFLOAT16)}),
        TN_ATTRS(causal), .infer = infer_causal, .expand = expand_causal},
};

#define SLOTS .create = create_causal, .compute = compute_causal
TN_NARROW(causal, SLOTS)
static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "CausalConvWithState", 27), TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)}), SLOTS},
    {TN_NARROW_KERNEL("", "CausalConvWithState", 27, causal),
        TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})},
};
/* clang-format on */

TN_FAMILY(causal_conv);
