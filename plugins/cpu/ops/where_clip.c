/* Selection: Where takes one of two by a condition, Clip bounds between two scalars. */
#include "kernels/elementwise.h"
#include "loops/elementwise.h"
#include "ops/ops.h"
#include "tenon/helper/parallel.h"

#include <math.h>

/* ---- Where ------------------------------------------------------------------------------ */

/* Content when the condition is known: each element from one side or the other. */
static tn_status where_content(const struct tn_infer *infer) {
    const struct tn_tensor *cond =
        tn_infer_has(infer->node, 0) ? infer->value(infer->self, 0) : NULL;
    int64_t out[TN_RANK_MAX], n_cond = cond ? tn_tensor_count(cond) : 0;
    uint32_t n_x, n_y, n;
    const int64_t *x = tn_infer_ints(infer, 1, &n_x), *y = tn_infer_ints(infer, 2, &n_y);
    if (!cond || cond->rank > 1 || !x || !y) return TN_OK;
    n = n_x > n_y ? n_x : n_y;
    if (n_cond > n) n = (uint32_t)n_cond;
    if (n > TN_RANK_MAX || n_x == 0 || n_y == 0 || n_cond == 0) return TN_OK;
    for (uint32_t i = 0; i < n; i++) {
        bool take = ((const uint8_t *)cond->data)[n_cond == 1 ? 0 : i] != 0;
        out[i] = take ? x[n_x == 1 ? 0 : i] : y[n_y == 1 ? 0 : i];
    }
    return infer->set_dims_value(infer->self, 0, out, n);
}

static tn_status infer_where(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 1), *y = tn_infer_input(infer, 2);
    if (!x && !y) return TN_OK;
    TN_TRY(tn_infer_broadcast(infer, x ? x->dtype : y->dtype, 0, 3));
    return where_content(infer);
}

struct where_kernel {
    struct tn__kernel base;
    tn_where_fn *fn;
    uint32_t size;
};

static tn_status create_where(const struct tn_kernel_ctx *ctx, void **out) {
    uint32_t bits = tn_dtype_bits(ctx->inputs[1].dtype), log2 = 0;
    if (bits < 8)
        return tn_fail(ctx->diag, TN_UNSUPPORTED, "no kernel for type %s",
            tn_dtype_name(ctx->inputs[1].dtype));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct where_kernel), out));
    struct where_kernel *kernel = *out;
    while ((8u << log2) < bits)
        log2++;
    kernel->size = bits / 8;
    kernel->fn = kernel->base.cpu->elementwise.where[log2];
    return TN_OK;
}

static tn_status workspace_where(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    (void)args;
    out->state = sizeof(struct tn__ew);
    return TN_OK;
}

static tn_status prepare_where(void *object, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct tn_tensor *const operands[3] = {
        tn_in(args, 0), tn_in(args, 1), tn_in(args, 2)};
    const struct tn_tensor *out = tn_out(args, 0);
    (void)object;
    (void)fn;
    if (!out || !operands[0] || !operands[1] || !operands[2])
        return tn_fail(diag, TN_INTERNAL, "a shape is not known");
    return tn__ew_plan(args->state, out->dims, out->rank, operands, 3, diag);
}

struct where_job {
    const struct where_kernel *kernel;
    const struct tn__ew *ew;
    char *dst;
    const uint8_t *cond;
    const char *x, *y;
};

static void where_run(
    void *arg, int64_t dst, const int64_t *offsets, const int64_t *steps, int64_t n) {
    const struct where_job *job = arg;
    uint32_t size = job->kernel->size;
    job->kernel->fn(job->dst + dst * size, job->cond + offsets[0], steps[0],
        job->x + offsets[1] * size, steps[1], job->y + offsets[2] * size, steps[2],
        (size_t)n);
}

static void where_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct where_job *job = arg;
    (void)worker;
    tn__ew_walk(job->ew, begin, end, where_run, arg);
}

static tn_status compute_where(void *object, const struct tn_run_args *args) {
    const struct where_kernel *kernel = object;
    struct where_job job = {kernel, args->state, args->outputs[0].as.tensor->data,
        args->inputs[0].as.tensor->data, args->inputs[1].as.tensor->data,
        args->inputs[2].as.tensor->data};
    tn_parallel(
        kernel->base.host, job.ew->count, 0.1 + 0.03 * kernel->size, where_piece, &job);
    return TN_OK;
}

/* ---- Clip ------------------------------------------------------------------------------- */

/* Moves one bound, a float attribute until then, to an input of the data's type. */
static tn_status bound_to_input(
    const struct tn_rewrite *rw, const char *name, uint32_t index) {
    const struct tn_attr *attr = tn_node_attr(rw->api->node(rw->graph, rw->node), name);
    tn_value_id inputs[2], output;
    tn_node_id id;
    void *data;
    if (!attr) return TN_OK;
    if (attr->type != TN_ATTR_FLOAT || attr->count != 1)
        return tn_fail(rw->diag, TN_INVALID_MODEL, "attribute '%s' is not a float", name);
    float bound = attr->as.floats[0];
    TN_TRY(rw->api->add_constant(
        rw->graph, name, TN_FLOAT, NULL, 0, &inputs[0], &data, rw->diag));
    memcpy(data, &bound, sizeof bound);
    inputs[1] = rw->api->node(rw->graph, rw->node)->inputs[0];
    output = inputs[0];
    const struct tn_type *type = rw->api->value_type(rw->graph, inputs[1]);
    if (type->kind != TN_KIND_TENSOR || type->dtype != TN_FLOAT)
        TN_TRY(rw->api->add_node(rw->graph, rw->node, rw->node, "", "CastLike", 0, inputs,
            2, NULL, 0, &output, 1, &id, rw->diag));
    TN_TRY(rw->api->set_input(rw->graph, rw->node, index, output, rw->diag));
    return rw->api->remove_attr(rw->graph, rw->node, name);
}

static tn_status upgrade_clip_11(const struct tn_rewrite *rw) {
    TN_TRY(bound_to_input(rw, "min", 1));
    return bound_to_input(rw, "max", 2);
}

/* Min(max, Max(input, min)). */
static tn_status expand_clip(const struct tn_rewrite *rw) {
    static const char *const ops[] = {"Max", "Min"};
    tn_value_id value = rw->api->node(rw->graph, rw->node)->inputs[0];
    for (uint32_t i = 0; i < 2; i++) {
        const struct tn_node *node = rw->api->node(rw->graph, rw->node);
        if (tn_infer_has(node, 1 + i))
            TN_TRY(tn__expand_node(rw, ops[i], value, node->inputs[1 + i], &value));
    }
    return tn__expand_done(rw, value);
}

static int32_t elide_clip(const struct tn_infer *infer) {
    return tn_infer_has(infer->node, 1) || tn_infer_has(infer->node, 2) ? -1 : 0;
}

static tn_status infer_clip(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

struct clip_kernel {
    struct tn__kernel base;
    struct tn__ew_fn fn;
    int32_t elem;
};

static tn_status setup_clip(const struct tn_kernel_ctx *ctx, struct clip_kernel *kernel) {
    int32_t dtype = ctx->inputs[0].dtype;
    const struct tn__cpu *cpu = kernel->base.cpu;
    uint32_t bits = tn_dtype_bits(dtype);
    kernel->elem = dtype;
    kernel->fn.size_in = kernel->fn.size_out = bits / 8;
    kernel->fn.cost = 0.1;
    if (TN_TYPES_NARROW_FLOATS >> dtype & 1) {
        kernel->fn.load = cpu->convert.load[dtype];
        kernel->fn.store = cpu->convert.store[TN_CONVERT_F32][dtype];
        kernel->elem = TN_FLOAT;
    }
    kernel->fn.unary = cpu->elementwise.unary[TN_UNARY_CLAMP][kernel->elem];
    if (!kernel->fn.unary)
        return tn_fail(
            ctx->diag, TN_UNSUPPORTED, "no kernel for type %s", tn_dtype_name(dtype));
    return TN_OK;
}

static tn_status create_clip(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct clip_kernel), out));
    return tn_kernel_ready(setup_clip(ctx, *out), out);
}

/* What an omitted bound is: the least or greatest value of the kernel's element type. */
static void open_bound(int32_t elem, bool high, void *out) {
    uint32_t size = tn_dtype_bits(elem) / 8;
    bool is_signed = (TN_TYPES_SIGNED >> elem & 1) != 0;
    uint64_t bits = high ? ~UINT64_C(0) : 0;
    if (elem == TN_FLOAT) {
        float bound = high ? INFINITY : -INFINITY;
        memcpy(out, &bound, sizeof bound);
        return;
    }
    if (elem == TN_DOUBLE) {
        double bound = high ? (double)INFINITY : -(double)INFINITY;
        memcpy(out, &bound, sizeof bound);
        return;
    }
    if (is_signed) bits ^= UINT64_C(1) << (8 * size - 1);
    memcpy(out, &bits, size);
}

static tn_status compute_clip(void *object, const struct tn_run_args *args) {
    const struct clip_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0);
    uint32_t size = tn_dtype_bits(kernel->elem) / 8;
    struct tn__ew_fn fn = kernel->fn;
    union {
        double align;
        uint8_t bytes[16];
    } bounds;
    for (uint32_t i = 0; i < 2; i++) {
        const struct tn_tensor *bound = tn_in(args, 1 + i);
        uint8_t *at = bounds.bytes + i * size;
        if (bound && tn_tensor_count(bound) != 1)
            return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
                "'%s' has %lld elements, expected a scalar", i ? "max" : "min",
                (long long)tn_tensor_count(bound));
        if (!bound)
            open_bound(kernel->elem, i == 1, at);
        else if (fn.load)
            fn.load(at, bound->data, 1, NULL);
        else
            memcpy(at, bound->data, size);
    }
    fn.param = bounds.bytes;
    tn__ew_unary(kernel->base.host, &fn, args->outputs[0].as.tensor->data, in->data,
        (int64_t)(in->size / fn.size_in));
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Where"), TN_VERSIONS({9}, {16}),
        TN_INPUTS({"condition", "B"}, {"X", "T"}, {"Y", "T"}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"B", TN_BIT(BOOL)}, {"T", TN_TYPES_CLASSIC}), .infer = infer_where},
    {TN_DEF("", "Clip"),
        TN_VERSIONS({1}, {6, 0, tn__upgrade_drop_consumed}, {11, 0, upgrade_clip_11}, {12}, {13}),
        TN_INPUTS({"input", "T"}, {"min", "T", 0, TN_FORMAL_OPTIONAL},
            {"max", "T", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output", "T"}), TN_TYPE_VARS({"T", TN_TYPES_NUMBERS}),
        .infer = infer_clip, .elide = elide_clip, .expand = expand_clip},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Where", 16), TN_INPLACE({1, 0, TN_INPLACE_OVERWRITE}, {2, 0, TN_INPLACE_OVERWRITE}),
        .create = create_where, .workspace = workspace_where, .prepare = prepare_where,
        .compute = compute_where},
    {TN_KERNEL("", "Clip", 13), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}),
        .create = create_clip, .compute = compute_clip},
};
/* clang-format on */

TN_FAMILY(where_clip);
