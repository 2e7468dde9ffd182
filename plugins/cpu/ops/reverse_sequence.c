/* ReverseSequence: the first sequence_lens[b] steps of each batch item, backwards. */
#include "ops/ops.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define REVERSE_ATTRS(X, S) X(S, INT, batch_axis, 1) X(S, INT, time_axis, 0)
/* clang-format on */
TN_ATTR_TABLE(reverse, REVERSE_ATTRS)

struct reverse {
    struct tn__kernel base;
    uint32_t time_axis;
};

static tn_status read_axes(
    const struct tn_node *node, uint32_t *time_axis, struct tn_diag *diag) {
    struct reverse_attrs attrs;
    TN_TRY(TN_ATTRS_READ(reverse, node, &attrs, diag));
    if ((attrs.time_axis != 0 && attrs.time_axis != 1) ||
        attrs.batch_axis != 1 - attrs.time_axis)
        return tn_fail(diag, TN_INVALID_MODEL,
            "time_axis %lld and batch_axis %lld, expected 0 and 1 or 1 and 0",
            (long long)attrs.time_axis, (long long)attrs.batch_axis);
    *time_axis = (uint32_t)attrs.time_axis;
    return TN_OK;
}

static tn_status infer_reverse(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    uint32_t time_axis;
    TN_TRY(read_axes(infer->node, &time_axis, infer->diag));
    if (x && x->rank >= 0 && x->rank < 2)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "input has rank %d, expected 2 or more", (int)x->rank);
    return tn_infer_like(infer, 0, 0);
}

static tn_status create_reverse(const struct tn_kernel_ctx *ctx, void **out) {
    uint32_t time_axis;
    TN_TRY(read_axes(ctx->node, &time_axis, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct reverse), out));
    ((struct reverse *)*out)->time_axis = time_axis;
    return TN_OK;
}

struct job {
    const struct tn_tensor *x, *y, *lens;
    uint32_t time_axis;
    size_t bytes; /* of one step of one batch item */
};

/* Steps [begin, end) of the output, counted in its own order. */
static void move_steps(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    int64_t inner = job->x->dims[1];
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t at[2] = {i / inner, i % inner};
        int64_t n = tn_tensor_int(job->lens, at[1 - job->time_axis]);
        int64_t *step = &at[job->time_axis];
        if (*step < n) *step = n - 1 - *step;
        memcpy((char *)job->y->data + (size_t)i * job->bytes,
            (const char *)job->x->data + (size_t)(at[0] * inner + at[1]) * job->bytes,
            job->bytes);
    }
}

static tn_status check_lens(const struct tn_tensor *x, const struct tn_tensor *lens,
    uint32_t time_axis, struct tn_diag *diag) {
    if (x->rank < 2)
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "input has rank %u, expected 2 or more", x->rank);
    int64_t steps = x->dims[time_axis], batch = x->dims[1 - time_axis];
    if (lens->rank != 1 || lens->dims[0] != batch)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "sequence_lens has %lld elements for a batch of %lld",
            (long long)tn_tensor_count(lens), (long long)batch);
    for (int64_t i = 0; i < batch; i++) {
        int64_t n = tn_tensor_int(lens, i);
        if (n < 0 || n > steps)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "sequence_lens[%lld] is %lld, expected 0 to %lld", (long long)i,
                (long long)n, (long long)steps);
    }
    return TN_OK;
}

static tn_status compute_reverse(void *kernel, const struct tn_run_args *args) {
    const struct reverse *reverse = kernel;
    const struct tn_tensor *x = tn_in(args, 0), *lens = tn_in(args, 1);
    struct tn_tensor *y;
    TN_TRY(check_lens(x, lens, reverse->time_axis, args->run->diag));
    TN_TRY(tn_out_shaped(args, 0, x->dtype, x->dims, x->rank, &y));
    if (tn_tensor_count(x) == 0) return TN_OK;
    struct job job = {x, y, lens, reverse->time_axis,
        (size_t)tn_dims_product(x->dims, 2, x->rank) * (tn_dtype_bits(x->dtype) / 8)};
    tn_parallel(reverse->base.host, x->dims[0] * x->dims[1], 4 + 0.05 * (double)job.bytes,
        move_steps, &job);
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "ReverseSequence"), TN_VERSIONS({10}, {28}),
        TN_INPUTS({"input", "T"}, {"sequence_lens", NULL, TN_BIT(INT64)}),
        TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}), TN_ATTRS(reverse),
        .infer = infer_reverse},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "ReverseSequence", 28), .create = create_reverse,
        .compute = compute_reverse},
};
/* clang-format on */

TN_FAMILY(reverse_sequence);
