/* com.example.Iterate: x ← body(x), `times` times. An operator with a subgraph: inference
 * asks the host what the body makes of these types, compute runs it. The body may use
 * values of the graph around it; those need no word here. */
#include "custom.h"

#define ITERATE_ATTRS(X, S) X(S, GRAPH_REQUIRED, body, ) X(S, INT, times, 1)
TN_ATTR_TABLE(iterate, ITERATE_ATTRS)

static tn_status infer_iterate(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct iterate_attrs attrs;
    struct tn_type y;
    TN_TRY(TN_ATTRS_READ(iterate, infer->node, &attrs, infer->diag));
    if (!x) return TN_OK;
    memset(&y, 0, sizeof y);
    TN_TRY(infer->infer_subgraph(infer->self, attrs.body.v[0], x, 1, &y, 1));
    if (y.kind != x->kind || y.dtype != x->dtype)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "the body turns %s into %s, expected the same type", tn_dtype_name(x->dtype),
            tn_dtype_name(y.dtype));
    return tn_infer_like(infer, 0, 0); /* the body keeps the shape: compute checks it */
}

struct iterate_kernel {
    struct tn_kernel_head head;
    struct iterate_attrs attrs;
};

static tn_status create_iterate(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct iterate_kernel), out));
    struct iterate_kernel *kernel = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(iterate, ctx->node, &kernel->attrs, ctx->diag), out);
}

static tn_status compute_iterate(void *object, const struct tn_run_args *args) {
    const struct iterate_attrs *attrs = &((const struct iterate_kernel *)object)->attrs;
    const struct tn_run *run = args->run;
    const struct tn_tensor *x = tn_in(args, 0);
    struct tn_value_ref state = args->inputs[0];
    for (int64_t i = 0; i < attrs->times; i++) {
        struct tn_value_ref next;
        TN_TRY(run->interrupted(run)); /* so that a long loop can be cancelled */
        TN_TRY(run->subgraph_run(run, args, attrs->body.v[0], &state, 1, &next, 1));
        const struct tn_tensor *y = next.as.tensor;
        if (next.kind != TN_KIND_TENSOR ||
            !tn_dims_equal(x->dims, x->rank, y->dims, y->rank))
            return tn_fail(
                run->diag, TN_INVALID_MODEL, "the body changes the shape of its input");
        state = next; /* lives until the next-but-one run of the body */
    }
    if (x->size) memcpy(tn_out(args, 0)->data, state.as.tensor->data, x->size);
    return TN_OK;
}

/* clang-format off */
const struct tn_op_def custom_iterate = {
    TN_DEF("com.example", "Iterate"),
    TN_VERSIONS({1}),
    TN_INPUTS({"X", "T"}),
    TN_OUTPUTS({"Y", "T"}),
    TN_TYPE_VARS({"T", TN_TYPES_NUMBERS}),
    TN_ATTRS(iterate),
    .infer = infer_iterate,
    .doc = "a subgraph applied to its own result"};
const struct tn_kernel_def custom_iterate_cpu = {
    TN_KERNEL_OF("com.example", "Iterate", 1),
    .create = create_iterate,
    .compute = compute_iterate};
/* clang-format on */
