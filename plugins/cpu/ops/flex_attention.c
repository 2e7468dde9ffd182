/* ai.onnx.preview.FlexAttention: attention whose scores and probabilities pass through
 * subgraphs of the model.
 *
 * A subgraph sees all heads at once, so the whole tensor of scores is made; it is computed in
 * f64 where the inputs or the wanted precision are, else in f32. */
#include "ops/attention.h"
#include "ops/attention_product.h"
#include "ops/control.h"
#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define FLEX_ATTRS(X, S) \
    X(S, GRAPH, prob_mod, ) X(S, FLOAT, scale, 0.0f) X(S, GRAPH, score_mod, ) \
    X(S, INT, softmax_precision, 0)
TN_ATTR_TABLE(flex, FLEX_ATTRS)
/* clang-format on */

enum { BLOCK_ROWS = 64 };

/* ---- sizes and inference ------------------------------------------------------------------ */

/* Element type of what the subgraphs see. */
static tn_status read_attrs(const struct tn_node *node, int32_t input,
    struct flex_attrs *attrs, int32_t *out_precision, struct tn_diag *diag) {
    TN_TRY(TN_ATTRS_READ(flex, node, attrs, diag));
    int64_t precision = attrs->softmax_precision;
    if (precision == 0) precision = input == TN_DOUBLE ? TN_DOUBLE : TN_FLOAT;
    if (precision < 0 || precision >= TN_DTYPE_COUNT ||
        !(TN_TYPES_FLOATS >> precision & 1))
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'softmax_precision' is %lld, which is none of the float types",
            (long long)precision);
    if (!isfinite(attrs->scale))
        return tn_fail(diag, TN_INVALID_MODEL, "attribute 'scale' is not finite");
    *out_precision = (int32_t)precision;
    return TN_OK;
}

/* The sizes are Attention's, without its attributes and only of rank 4. */
static tn_status flex_size(const struct tn_type *inputs,
    int64_t (*dim_op)(void *self, uint32_t op, int64_t a, int64_t b), void *self,
    struct tn__attention_size *out, bool *out_known, struct tn_diag *diag) {
    static const struct attention_attrs none = {
        .left_window_size = -1, .right_window_size = -1};
    for (uint32_t i = 0; i < 3; i++) {
        if (inputs[i].kind == TN_KIND_TENSOR && inputs[i].rank >= 0 &&
            inputs[i].rank != 4)
            return tn_fail(diag, TN_INVALID_ARGUMENT, "input %u has rank %d, expected 4",
                i, (int)inputs[i].rank);
    }
    return tn__attention_size(&none, inputs, 3, dim_op, self, out, out_known, diag);
}

static tn_status infer_mod(
    const struct tn_infer *infer, const struct tn_attr_graph *mod, struct tn_type *type) {
    struct tn_type out;
    if (!mod->present) return TN_OK;
    TN_TRY(infer->infer_subgraph(infer->self, mod->v[0], type, 1, &out, 1));
    if (out.kind == TN_KIND_ABSENT || out.dtype <= 0 ||
        (out.kind == TN_KIND_TENSOR && out.dtype == type->dtype))
        return TN_OK;
    return tn_fail(infer->diag, TN_INVALID_MODEL,
        "a subgraph makes %s of %s, expected the type that it is given",
        tn_dtype_name(out.dtype), tn_dtype_name(type->dtype));
}

static tn_status infer_flex(const struct tn_infer *infer) {
    const struct tn_type *q = tn_infer_input(infer, 0);
    struct tn__attention_size s;
    struct flex_attrs attrs;
    int32_t precision;
    bool known;
    TN_TRY(read_attrs(infer->node, q ? q->dtype : 0, &attrs, &precision, infer->diag));
    TN_TRY(flex_size(infer->inputs, infer->dim_op, infer->self, &s, &known, infer->diag));
    struct tn_type type = {.kind = TN_KIND_TENSOR, .dtype = precision, .rank = -1};
    const int64_t scores[4] = {s.batch, s.q_heads, s.q_len, s.kv_len};
    const int64_t y[4] = {s.batch, s.q_heads, s.q_len, s.v_head};
    if (known) {
        type.rank = 4;
        type.dims = scores;
    }
    if (!q) return TN_OK;
    TN_TRY(infer_mod(infer, &attrs.score_mod, &type));
    TN_TRY(infer_mod(infer, &attrs.prob_mod, &type));
    return tn_infer_set(infer, 0, q->dtype, known ? 4 : -1, y);
}

/* ---- kernel ----------------------------------------------------------------------------- */

struct flex {
    struct tn__kernel base;
    struct flex_attrs attrs;
    int32_t precision;
    bool scaled;
};

static tn_status create_flex(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct flex), out));
    struct flex *flex = *out;
    flex->scaled = tn_node_attr(ctx->node, "scale") != NULL;
    return tn_kernel_ready(read_attrs(ctx->node, ctx->inputs[0].dtype, &flex->attrs,
                               &flex->precision, ctx->diag),
        out);
}

struct job {
    const struct flex *flex;
    const struct tn__cpu *cpu;
    const struct tn_run_args *args;
    struct tn__attention_size size;
    const void *q, *k, *v;
    void *scores, *y;
    const void *softmax_from; /* the scores, or what a subgraph made of them */
    double scale;
    int64_t blocks;
};

static int64_t plain_op(void *self, uint32_t op, int64_t a, int64_t b) {
    (void)self;
    (void)op; /* sizes of rank 4 only add up */
    return a + b;
}

static tn_status memory(const struct tn_run *run, int64_t n, uint32_t bytes, void **out) {
    *out = n < INT64_MAX / 16 ? run->alloc(run, (uint64_t)n * bytes + 1, 64) : NULL;
    if (*out) return TN_OK;
    return tn_fail(
        run->diag, TN_OUT_OF_MEMORY, "no memory for %lld scores", (long long)n);
}

/* n elements as type `to`: src itself when they are. */
static tn_status converted(const struct job *job, const void *src, int32_t from,
    int32_t to, int64_t n, const void **out) {
    void *data;
    *out = src;
    if (from == to) return TN_OK;
    TN_TRY(memory(job->args->run, n, tn_dtype_bits(to) / 8, &data));
    tn_convert_run(&job->cpu->convert, to, data, from, src, (size_t)n, NULL);
    *out = data;
    return TN_OK;
}

/* Runs a subgraph over all scores; *out is its result in the type `wide` of the scores. */
static tn_status run_mod(
    const struct job *job, struct tn_graph *mod, int32_t wide, const void **out) {
    const struct tn_run *run = job->args->run;
    const struct tn__attention_size *s = &job->size;
    const int64_t dims[4] = {s->batch, s->q_heads, s->q_len, s->kv_len};
    int64_t n = tn_dims_product(dims, 0, 4);
    const void *data;
    TN_TRY(converted(job, job->scores, wide, job->flex->precision, n, &data));
    struct tn_tensor tensor = {.data = (void *)(uintptr_t)data,
        .dims = dims,
        .size = (uint64_t)n * (tn_dtype_bits(job->flex->precision) / 8),
        .dtype = job->flex->precision,
        .rank = 4};
    const struct tn_value_ref in = {TN_KIND_TENSOR, 0, {&tensor}};
    struct tn_value_ref result = {0};
    TN_TRY(run->subgraph_run(run, job->args, mod, &in, 1, &result, 1));
    if (result.kind != TN_KIND_TENSOR || result.as.tensor->dtype != tensor.dtype ||
        !tn_dims_equal(result.as.tensor->dims, result.as.tensor->rank, dims, 4))
        return tn_fail(run->diag, TN_INVALID_ARGUMENT,
            "a subgraph does not return the type and shape that it is given");
    return converted(job, result.as.tensor->data, tensor.dtype, wide, n, out);
}

#define T float
#define ELEMENT TN_FLOAT
#define NAME(x) x##_f32
#define PRODUCT struct tn_gemm
#include "ops/flex_attention_tmpl.h"
#define T double
#define ELEMENT TN_DOUBLE
#define NAME(x) x##_f64
#define PRODUCT struct tn__product_f64
#include "ops/flex_attention_tmpl.h"

static tn_status compute_flex(void *kernel, const struct tn_run_args *args) {
    const struct flex *flex = kernel;
    struct tn_type types[3];
    struct job job = {.flex = flex, .cpu = flex->base.cpu, .args = args};
    bool known;
    for (uint32_t i = 0; i < 3; i++) {
        const struct tn_tensor *t = tn_in(args, i);
        types[i] = (struct tn_type){.kind = TN_KIND_TENSOR,
            .dtype = t->dtype,
            .rank = (int32_t)t->rank,
            .dims = t->dims};
    }
    TN_TRY(flex_size(types, plain_op, NULL, &job.size, &known, args->run->diag));
    job.scale = (double)flex->attrs.scale;
    if (!flex->scaled) job.scale = job.size.head ? 1 / sqrt((double)job.size.head) : 1;
    job.blocks = (job.size.q_len + BLOCK_ROWS - 1) / BLOCK_ROWS;
    bool wide = types[0].dtype == TN_DOUBLE || flex->precision == TN_DOUBLE;
    return wide ? flex_f64(&job) : flex_f32(&job);
}

/* ---- tables ----------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("ai.onnx.preview", "FlexAttention"), TN_VERSIONS({1}),
        TN_INPUTS({"Q", "T1"}, {"K", "T1"}, {"V", "T1"}), TN_OUTPUTS({"Y", "T1"}),
        TN_TYPE_VARS({"T1", TN_TYPES_FLOATS}), TN_ATTRS(flex), .infer = infer_flex},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("ai.onnx.preview", "FlexAttention", 1), .create = create_flex,
        .compute = compute_flex},
};
/* clang-format on */

TN_FAMILY(flex_attention);
