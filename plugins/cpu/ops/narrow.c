/* Serves f16 and bf16 with a kernel written for f32. */
#include "ops/narrow.h"

#include <stdbool.h>

enum { MOST_INPUTS = 16, MOST_OUTPUTS = 8, STATE_HEAD = 64 };

struct narrow {
    struct tn__kernel base;
    const struct tn_kernel_def *inner;
    void *kernel;
    uint32_t dropped; /* inputs whose original the inner kernel does not need */
};

/* The call as the inner kernel sees it. */
struct shadow {
    struct tn_run_args args;
    struct tn_value_ref inputs[MOST_INPUTS], outputs[MOST_OUTPUTS];
    struct tn_tensor tensors[MOST_INPUTS + MOST_OUTPUTS];
};

static bool is_narrow(int32_t dtype) {
    return dtype == TN_FLOAT16 || dtype == TN_BFLOAT16;
}

/* ---- numbers ----------------------------------------------------------------------------- */

static float from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t to_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* A half's exponent and fraction, moved to where f32 has them, make 2^-112 times its value:
 * subnormals are then normal numbers or zero. */
static float half_value(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff)
                                                            << 13;
    if (rest >= 0x0f800000) return from_bits(sign | 0x7f800000 | (rest & 0x007fffff));
    return from_bits(sign | to_bits(from_bits(rest) * 0x1p112f));
}

static uint16_t half_round(float x) {
    uint32_t bits = to_bits(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    /* Adding 0.5 leaves exactly the bits that a subnormal half has, rounded. */
    if (rest < 0x38800000)
        return (uint16_t)(sign | (to_bits(from_bits(rest) + 0.5f) - 0x3f000000));
    rest += 0xfff + (rest >> 13 & 1);
    return (uint16_t)(sign | ((rest - 0x38000000) >> 13));
}

static uint16_t bfloat_round(float x) {
    uint32_t bits = to_bits(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void tn__widen(float *dst, const void *src, int32_t dtype, size_t n) {
    const uint16_t *bits = src;
    if (dtype == TN_FLOAT16)
        for (size_t i = 0; i < n; i++)
            dst[i] = half_value(bits[i]);
    else
        for (size_t i = 0; i < n; i++)
            dst[i] = from_bits((uint32_t)bits[i] << 16);
}

void tn__round(void *dst, const float *src, int32_t dtype, size_t n) {
    uint16_t *bits = dst;
    if (dtype == TN_FLOAT16)
        for (size_t i = 0; i < n; i++)
            bits[i] = half_round(src[i]);
    else
        for (size_t i = 0; i < n; i++)
            bits[i] = bfloat_round(src[i]);
}

/* ---- creation ---------------------------------------------------------------------------- */

struct constant_self {
    const struct tn_kernel_ctx *ctx;
};

/* Constants of the narrow types are not f32: the inner kernel must not look at them. */
static const struct tn_tensor *wide_constant(void *self, uint32_t i) {
    const struct tn_kernel_ctx *ctx = ((struct constant_self *)self)->ctx;
    const struct tn_tensor *tensor = ctx->constant(ctx->self, i);
    return tensor && is_narrow(tensor->dtype) ? NULL : tensor;
}

static void widen_types(struct tn_type *dst, const struct tn_type *src, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        dst[i] = src[i];
        if (is_narrow(src[i].dtype)) dst[i].dtype = TN_FLOAT;
    }
}

tn_status tn__narrow_create(
    const struct tn_kernel_def *inner, const struct tn_kernel_ctx *ctx, void **out) {
    const struct tn_node *node = ctx->node;
    struct tn_type types[MOST_INPUTS + MOST_OUTPUTS];
    struct constant_self self = {ctx};
    if (node->n_inputs > MOST_INPUTS || node->n_outputs > MOST_OUTPUTS)
        return tn_fail(ctx->diag, TN_UNSUPPORTED, "%u inputs and %u outputs are too many",
            node->n_inputs, node->n_outputs);
    widen_types(types, ctx->inputs, node->n_inputs);
    widen_types(types + MOST_INPUTS, ctx->outputs, node->n_outputs);
    struct tn_kernel_ctx wide = *ctx;
    wide.self = &self;
    wide.inputs = types;
    wide.outputs = types + MOST_INPUTS;
    wide.constant = wide_constant;
    void *kernel = NULL;
    TN_TRY(inner->create(&wide, &kernel));
    tn_status status = tn__kernel_create(ctx, sizeof(struct narrow), out);
    if (status != TN_OK) {
        inner->destroy(kernel);
        return status;
    }
    struct narrow *narrow = *out;
    narrow->inner = inner;
    narrow->kernel = kernel;
    return TN_OK;
}

void tn__narrow_destroy(void *kernel) {
    struct narrow *narrow = kernel;
    if (!narrow) return;
    narrow->inner->destroy(narrow->kernel);
    tn_kernel_destroy(narrow);
}

tn_status tn__narrow_prepack(void *kernel, uint32_t input, const struct tn_tensor *tensor,
    const struct tn_prepack *sink, uint32_t *out_result, struct tn_diag *diag) {
    struct narrow *narrow = kernel;
    const struct tn_host *host = narrow->base.host;
    if (!narrow->inner->prepack || !is_narrow(tensor->dtype)) return TN_OK;
    int64_t n = tn_tensor_count(tensor);
    float *wide =
        host->alloc(host->self, (uint64_t)n * sizeof(float), 0, "widened weights");
    if (!wide)
        return tn_fail(
            diag, TN_OUT_OF_MEMORY, "no memory to widen %lld weights", (long long)n);
    tn__widen(wide, tensor->data, tensor->dtype, (size_t)n);
    struct tn_tensor shadow = *tensor;
    shadow.data = wide;
    shadow.dtype = TN_FLOAT;
    shadow.size = (uint64_t)n * sizeof(float);
    tn_status status =
        narrow->inner->prepack(narrow->kernel, input, &shadow, sink, out_result, diag);
    if (*out_result == TN_PREPACK_DROP && input < 32) narrow->dropped |= 1u << input;
    host->free(host->self, wide);
    return status;
}

/* ---- calls ------------------------------------------------------------------------------- */

static uint64_t wide_size(const struct tn_tensor *tensor) {
    return ((uint64_t)tn_tensor_count(tensor) * sizeof(float) + 63) / 64 * 64;
}

/* Makes f32 tensors of the narrow ones, in `memory` when it is there. Returns the bytes they
 * take. */
static uint64_t shadow_refs(struct tn_value_ref *dst, struct tn_tensor *tensors,
    const struct tn_value_ref *src, uint32_t n, char *memory, uint32_t dropped) {
    uint64_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        dst[i] = src[i];
        if (src[i].kind != TN_KIND_TENSOR) continue;
        tensors[i] = *src[i].as.tensor;
        dst[i].as.tensor = &tensors[i];
        if (!is_narrow(tensors[i].dtype)) continue;
        tensors[i].dtype = TN_FLOAT;
        tensors[i].size = (uint64_t)tn_tensor_count(&tensors[i]) * sizeof(float);
        tensors[i].data = memory ? memory + used : NULL;
        if (i < 32 && (dropped >> i & 1))
            tensors[i].data = NULL;
        else
            used += wide_size(&tensors[i]);
    }
    return used;
}

static uint64_t shadow_make(struct shadow *shadow, const struct narrow *narrow,
    const struct tn_run_args *args, char *memory) {
    shadow->args = *args;
    shadow->args.inputs = shadow->inputs;
    shadow->args.outputs = shadow->outputs;
    uint64_t in = shadow_refs(shadow->inputs, shadow->tensors, args->inputs,
        args->n_inputs, memory, narrow->dropped);
    uint64_t out = shadow_refs(shadow->outputs, shadow->tensors + MOST_INPUTS,
        args->outputs, args->n_outputs, memory ? memory + in : NULL, 0);
    if (args->state) shadow->args.state = (char *)args->state + STATE_HEAD;
    return in + out;
}

tn_status tn__narrow_workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct narrow *narrow = kernel;
    struct shadow shadow;
    struct tn_workspace inner = {0, 0};
    uint64_t bytes = shadow_make(&shadow, narrow, args, NULL);
    if (narrow->inner->workspace)
        TN_TRY(narrow->inner->workspace(narrow->kernel, &shadow.args, &inner));
    out->scratch = bytes + inner.scratch;
    out->state = STATE_HEAD + inner.state;
    return TN_OK;
}

tn_status tn__narrow_prepare(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct narrow *narrow = kernel;
    struct shadow shadow;
    tn_compute_fn inner_fn = narrow->inner->compute;
    (void)fn;
    shadow_make(&shadow, narrow, args, NULL);
    if (narrow->inner->prepare)
        TN_TRY(narrow->inner->prepare(narrow->kernel, &shadow.args, &inner_fn, diag));
    memcpy(args->state, &inner_fn, sizeof inner_fn);
    return TN_OK;
}

tn_status tn__narrow_compute(void *kernel, const struct tn_run_args *args) {
    const struct narrow *narrow = kernel;
    struct shadow shadow;
    tn_compute_fn fn;
    memcpy(&fn, args->state, sizeof fn);
    uint64_t bytes = shadow_make(&shadow, narrow, args, args->workspace);
    shadow.args.workspace = (char *)args->workspace + bytes;
    shadow.args.workspace_size = args->workspace_size - bytes;
    for (uint32_t i = 0; i < args->n_inputs; i++) {
        const struct tn_tensor *src = tn_in(args, i);
        if (src && is_narrow(src->dtype) && shadow.tensors[i].data)
            tn__widen(shadow.tensors[i].data, src->data, src->dtype,
                (size_t)tn_tensor_count(src));
    }
    TN_TRY(fn(narrow->kernel, &shadow.args));
    for (uint32_t o = 0; o < args->n_outputs; o++) {
        struct tn_tensor *dst = tn_out(args, o);
        if (dst && is_narrow(dst->dtype))
            tn__round(dst->data, shadow.tensors[MOST_INPUTS + o].data, dst->dtype,
                (size_t)tn_tensor_count(dst));
    }
    return TN_OK;
}
