/* SequenceMap: one run of the body for each element of the first sequence. */
#include "ops/control.h"
#include "ops/sequence.h"

#define MAP_ATTRS(X, S) X(S, GRAPH_REQUIRED, body, )
TN_ATTR_TABLE(map, MAP_ATTRS)

/* ---- inference -------------------------------------------------------------------------- */

static tn_status infer_map(const struct tn_infer *infer) {
    const struct tn_node *node = infer->node;
    struct tn_graph *body = tn__control_graph(node, "body");
    uint64_t n = node->n_inputs, n_out = node->n_outputs;
    struct tn_type *in = infer->scratch(infer->self, (n + n_out + 1) * sizeof *in);
    int64_t *dims = infer->scratch(infer->self, (n + 1) * TN_RANK_MAX * sizeof *dims);
    if (!body)
        return tn_fail(infer->diag, TN_INVALID_MODEL, "attribute 'body' is required");
    if (!in || !dims)
        return tn_fail(infer->diag, TN_OUT_OF_MEMORY, "no memory for types");
    struct tn_type *out = in + n;
    memset(in, 0, (n + n_out + 1) * sizeof *in);
    for (uint32_t i = 0; i < n; i++) {
        const struct tn_type *type = tn_infer_input(infer, i);
        if (type && type->kind == TN_KIND_SEQUENCE)
            in[i] = tn__sequence_element(type, dims + (uint64_t)i * TN_RANK_MAX);
        else if (type)
            in[i] = *type;
    }
    TN_TRY(infer->infer_subgraph(
        infer->self, body, in, node->n_inputs, out, node->n_outputs));
    for (uint32_t o = 0; o < node->n_outputs; o++) {
        if (out[o].kind == TN_KIND_TENSOR)
            TN_TRY(
                tn__sequence_set_type(infer, o, out[o].dtype, out[o].rank, out[o].dims));
    }
    return TN_OK;
}

/* ---- kernel ----------------------------------------------------------------------------- */

struct map_kernel {
    struct tn__kernel base;
    struct map_attrs attrs;
    int32_t dtypes[]; /* of the outputs, for sequences without an element */
};

static tn_status create_map(const struct tn_kernel_ctx *ctx, void **out) {
    uint32_t n = ctx->node->n_outputs;
    TN_TRY(tn__kernel_create(ctx, sizeof(struct map_kernel) + n * sizeof(int32_t), out));
    struct map_kernel *kernel = *out;
    for (uint32_t o = 0; o < n; o++)
        kernel->dtypes[o] = ctx->outputs[o].dtype ? ctx->outputs[o].dtype : TN_FLOAT;
    return tn_kernel_ready(TN_ATTRS_READ(map, ctx->node, &kernel->attrs, ctx->diag), out);
}

/* A copy that outlives the body's next runs. */
static tn_status keep(const struct tn_run *run, const struct tn_value_ref *value,
    struct tn_value_ref *out) {
    const struct tn_tensor *in = value->as.tensor;
    void *memory, *data, *dims;
    if (value->kind != TN_KIND_TENSOR)
        return tn_fail(run->diag, TN_INVALID_MODEL, "an output of the body is no tensor");
    TN_TRY(tn__sequence_memory(run, 1, sizeof *in, &memory));
    TN_TRY(tn__sequence_memory(run, in->rank, sizeof *in->dims, &dims));
    TN_TRY(tn__sequence_memory(run, in->size, 1, &data));
    if (in->rank) memcpy(dims, in->dims, in->rank * sizeof *in->dims);
    TN_TRY(tn__control_copy(run, data, in));
    struct tn_tensor *tensor = memory;
    *tensor = *in;
    tensor->dims = dims;
    tensor->data = data;
    tensor->flags = 0;
    *out = (struct tn_value_ref){TN_KIND_TENSOR, 0, {tensor}};
    return TN_OK;
}

/* Inputs of turn `turn`: elements of the sequences, tensors as they are. */
static tn_status turn_inputs(
    const struct tn_run_args *args, uint64_t turn, uint64_t n, struct tn_value_ref *in) {
    for (uint32_t i = 0; i < args->n_inputs; i++) {
        const struct tn_sequence *sequence = args->inputs[i].as.sequence;
        in[i] = args->inputs[i];
        if (in[i].kind != TN_KIND_SEQUENCE) continue;
        if (sequence->count != n)
            return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
                "input %u has %llu elements, the first sequence has %llu", i,
                (unsigned long long)sequence->count, (unsigned long long)n);
        in[i] = sequence->items[turn];
    }
    return TN_OK;
}

static tn_status compute_map(void *object, const struct tn_run_args *args) {
    const struct map_kernel *kernel = object;
    const struct tn_run *run = args->run;
    const struct tn_sequence *first;
    void *in, *out, *kept;
    TN_TRY(tn__sequence_in(args, 0, &first));
    uint64_t n = first->count, n_out = args->n_outputs;
    TN_TRY(tn__sequence_memory(run, args->n_inputs, sizeof(struct tn_value_ref), &in));
    TN_TRY(tn__sequence_memory(run, n_out, sizeof(struct tn_value_ref), &out));
    TN_TRY(tn__sequence_memory(run, n, n_out * sizeof(struct tn_value_ref), &kept));
    struct tn_value_ref *results = kept; /* [output][turn] */
    memset(out, 0, n_out * sizeof(struct tn_value_ref));
    for (uint64_t turn = 0; turn < n; turn++) {
        TN_TRY(run->interrupted(run));
        TN_TRY(turn_inputs(args, turn, n, in));
        TN_TRY(run->subgraph_run(run, args, kernel->attrs.body.v[0], in, args->n_inputs,
            out, args->n_outputs));
        for (uint64_t o = 0; o < n_out; o++)
            TN_TRY(keep(run, (struct tn_value_ref *)out + o, &results[o * n + turn]));
    }
    for (uint32_t o = 0; o < n_out; o++) {
        struct tn_value_ref *items = &results[o * n];
        int32_t dtype = n ? items[0].as.tensor->dtype : kernel->dtypes[o];
        if (args->outputs[o].kind == TN_KIND_ABSENT && o > 0) continue;
        TN_TRY(tn__sequence_emit(args, o, items, n, dtype));
    }
    return TN_OK;
}

/* ---- tables ----------------------------------------------------------------------------- */

/* clang-format off */
#define ANY_NUMBER (TN_FORMAL_VARIADIC | TN_FORMAL_HETEROGENEOUS)
static const struct tn_op_def defs[] = {
    {TN_DEF("", "SequenceMap"), TN_VERSIONS({17}),
        TN_INPUTS({"input_sequence", "S"}, {"additional_inputs", "V", 0, ANY_NUMBER, 0}),
        TN_OUTPUTS({"out_sequence", "S", 0, ANY_NUMBER, 1}),
        TN_TYPE_VARS({"S", 0, TN_TYPES_SEQUENCE}, {"V", TN_TYPES_SEQUENCE, TN_TYPES_SEQUENCE}),
        TN_ATTRS(map), .infer = infer_map},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "SequenceMap", 17), .create = create_map, .compute = compute_map},
};
/* clang-format on */

TN_FAMILY(sequence_map);
