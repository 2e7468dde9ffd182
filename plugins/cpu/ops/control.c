/* If and Loop, and what they share with Scan (scan.c). Bodies run through the host; here is
 * only what goes in and what comes out. */
#include "ops/control.h"

/* clang-format off */
#define IF_ATTRS(X, S) \
    X(S, GRAPH_REQUIRED, then_branch, ) X(S, GRAPH_REQUIRED, else_branch, )
#define LOOP_ATTRS(X, S) X(S, GRAPH_REQUIRED, body, )
TN_ATTR_TABLE(if, IF_ATTRS)
TN_ATTR_TABLE(loop, LOOP_ATTRS)
/* clang-format on */

/* ---- values ----------------------------------------------------------------------------- */

tn_status tn__control_own(
    const struct tn_run *run, struct tn_string *strings, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (strings[i].size == 0) continue;
        char *bytes = run->alloc(run, strings[i].size, 1);
        if (!bytes)
            return tn_fail(run->diag, TN_OUT_OF_MEMORY,
                "no memory for %llu bytes of text", (unsigned long long)strings[i].size);
        memcpy(bytes, strings[i].data, strings[i].size);
        strings[i].data = bytes;
    }
    return TN_OK;
}

tn_status tn__control_copy(
    const struct tn_run *run, void *dst, const struct tn_tensor *src) {
    if (src->size == 0) return TN_OK;
    memcpy(dst, src->data, src->size);
    return src->dtype == TN_STRING ? tn__control_own(run, dst, tn_tensor_count(src))
                                   : TN_OK;
}

tn_status tn__control_emit(
    const struct tn_run_args *args, uint32_t o, const struct tn_value_ref *value) {
    struct tn_tensor *out;
    if (args->outputs[o].kind == TN_KIND_ABSENT) return TN_OK; /* the node omits it */
    if (value->kind != TN_KIND_TENSOR)
        return args->run->output_set(args->run, args, o, value);
    const struct tn_tensor *in = value->as.tensor;
    TN_TRY(tn_out_shaped(args, o, in->dtype, in->dims, in->rank, &out));
    return tn__control_copy(args->run, out->data, in);
}

/* ---- types ------------------------------------------------------------------------------ */

int tn__type_join(struct tn_type *a, const struct tn_type *b, int64_t *dims) {
    int changed = 0;
    if (a->rank < 0 || a->kind == TN_KIND_ABSENT) return 0;
    if (b->kind != a->kind || b->rank != a->rank || a->rank > TN_RANK_MAX) {
        a->rank = -1;
        a->dims = NULL;
        return 1;
    }
    for (int32_t i = 0; i < a->rank; i++) {
        bool same = tn_dim_same(a->dims[i], b->dims[i]);
        if (!same && a->dims[i] != TN_DIM_UNKNOWN) changed = 1;
        dims[i] = same ? a->dims[i] : TN_DIM_UNKNOWN;
    }
    if (changed) a->dims = dims;
    return changed;
}

tn_status tn__infer_carried(const struct tn_infer *infer, struct tn_graph *body,
    struct tn_type *types, uint32_t n_in, uint32_t in_at, struct tn_type *out_types,
    uint32_t n_out, uint32_t out_at, uint32_t n_carried) {
    enum { TURNS = 4 };
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        bool changed = false;
        TN_TRY(infer->infer_subgraph(infer->self, body, types, n_in, out_types, n_out));
        for (uint32_t i = 0; i < n_carried; i++) {
            struct tn_type *in = &types[in_at + i];
            const struct tn_type *back = &out_types[out_at + i];
            if (in->kind == TN_KIND_ABSENT || in->rank < 0) continue;
            if (turn > 1 || in->rank > TN_RANK_MAX) { /* dims keep changing */
                int64_t unused[TN_RANK_MAX];
                struct tn_type probe = *in;
                if (tn__type_join(&probe, back, unused)) {
                    in->rank = -1;
                    in->dims = NULL;
                    changed = true;
                }
                continue;
            }
            int64_t *dims =
                infer->scratch(infer->self, (uint64_t)(in->rank + 1) * sizeof *dims);
            if (!dims)
                return tn_fail(infer->diag, TN_OUT_OF_MEMORY, "no memory for a shape");
            changed |= tn__type_join(in, back, dims) != 0;
        }
        if (!changed) return TN_OK;
    }
    return TN_OK;
}

static struct tn_type *type_array(const struct tn_infer *infer, uint32_t n) {
    struct tn_type *types =
        infer->scratch(infer->self, ((uint64_t)n + 1) * sizeof *types);
    if (types) memset(types, 0, ((size_t)n + 1) * sizeof *types);
    return types;
}

static tn_status no_memory(struct tn_diag *diag) {
    return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for the types of a subgraph");
}

/* ---- If --------------------------------------------------------------------------------- */

static tn_status set_joined(const struct tn_infer *infer, uint32_t o, struct tn_type *a,
    const struct tn_type *b) {
    int64_t dims[TN_RANK_MAX];
    if (!tn_infer_wants(infer->node, o) || a->kind == TN_KIND_ABSENT ||
        b->kind == TN_KIND_ABSENT)
        return TN_OK;
    if (a->kind != b->kind) return TN_OK; /* only the run can tell */
    if (a->dtype != b->dtype)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "output %u is %s in one branch and %s in the other", o,
            tn_dtype_name(a->dtype), tn_dtype_name(b->dtype));
    tn__type_join(a, b, dims);
    return infer->set_type(infer->self, o, a);
}

static tn_status infer_if(const struct tn_infer *infer) {
    uint32_t n = infer->node->n_outputs;
    struct tn_graph *branches[2] = {tn__control_graph(infer->node, "else_branch"),
        tn__control_graph(infer->node, "then_branch")};
    struct tn_type *types[2] = {type_array(infer, n), type_array(infer, n)};
    const struct tn_tensor *cond = infer->value(infer->self, 0);
    if (!branches[0] || !branches[1])
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "attributes 'then_branch' and 'else_branch' are required");
    if (!types[0] || !types[1]) return no_memory(infer->diag);
    for (uint32_t b = 0; b < 2; b++)
        TN_TRY(infer->infer_subgraph(infer->self, branches[b], NULL, 0, types[b], n));
    bool known = cond && cond->dtype == TN_BOOL && tn_tensor_count(cond) == 1;
    for (uint32_t o = 0; o < n; o++) {
        if (known) {
            struct tn_type *type = &types[*(const uint8_t *)cond->data != 0][o];
            if (tn_infer_wants(infer->node, o) && type->kind != TN_KIND_ABSENT)
                TN_TRY(infer->set_type(infer->self, o, type));
        } else {
            TN_TRY(set_joined(infer, o, &types[0][o], &types[1][o]));
        }
    }
    return TN_OK;
}

struct if_kernel {
    struct tn__kernel base;
    struct if_attrs attrs;
};

static tn_status create_if(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct if_kernel), out));
    struct if_kernel *kernel = *out;
    return tn_kernel_ready(TN_ATTRS_READ(if, ctx->node, &kernel->attrs, ctx->diag), out);
}

/* References for the outputs of a subgraph, kept until the end of the run. */
static struct tn_value_ref *ref_array(const struct tn_run *run, uint32_t n) {
    struct tn_value_ref *refs = run->alloc(run, ((uint64_t)n + 1) * sizeof *refs, 16);
    if (refs) memset(refs, 0, ((size_t)n + 1) * sizeof *refs);
    return refs;
}

static tn_status compute_if(void *object, const struct tn_run_args *args) {
    const struct if_kernel *kernel = object;
    const struct tn_tensor *cond = tn_in(args, 0);
    struct tn_value_ref *refs = ref_array(args->run, args->n_outputs);
    if (!refs) return no_memory(args->run->diag);
    if (!cond || tn_tensor_count(cond) != 1)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "'cond' is not one bool");
    const struct tn_attr_graph *branch = *(const uint8_t *)cond->data
                                             ? &kernel->attrs.then_branch
                                             : &kernel->attrs.else_branch;
    TN_TRY(args->run->subgraph_run(
        args->run, args, branch->v[0], NULL, 0, refs, args->n_outputs));
    for (uint32_t o = 0; o < args->n_outputs; o++)
        TN_TRY(tn__control_emit(args, o, &refs[o]));
    return TN_OK;
}

/* ---- Loop: inference --------------------------------------------------------------------- */

/* Turn number and condition: the first two inputs of a body. */
static void loop_head(struct tn_type *types) {
    types[0] = (struct tn_type){.kind = TN_KIND_TENSOR, .dtype = TN_INT64};
    types[1] = (struct tn_type){.kind = TN_KIND_TENSOR, .dtype = TN_BOOL};
}

static tn_status infer_loop(const struct tn_infer *infer) {
    const struct tn_node *node = infer->node;
    struct tn_graph *body = tn__control_graph(node, "body");
    uint32_t n_carried = node->n_inputs > 2 ? node->n_inputs - 2 : 0;
    struct tn_type *in = type_array(infer, n_carried + 2);
    struct tn_type *out = type_array(infer, node->n_outputs + 1);
    if (!body)
        return tn_fail(infer->diag, TN_INVALID_MODEL, "attribute 'body' is required");
    if (!in || !out) return no_memory(infer->diag);
    if (node->n_outputs < n_carried)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "the node has %u outputs for %u carried values", node->n_outputs, n_carried);
    loop_head(in);
    for (uint32_t i = 0; i < n_carried; i++)
        in[2 + i] = infer->inputs[2 + i];
    TN_TRY(tn__infer_carried(
        infer, body, in, n_carried + 2, 2, out, node->n_outputs + 1, 1, n_carried));
    for (uint32_t o = 0; o < node->n_outputs; o++) {
        struct tn_type type = out[1 + o];
        int64_t dims[TN_RANK_MAX + 1];
        if (type.kind == TN_KIND_ABSENT || !tn_infer_wants(node, o)) continue;
        if (o < n_carried) { /* the first turn may be the last */
            if (in[2 + o].kind == type.kind) tn__type_join(&type, &in[2 + o], dims);
        } else if (type.rank >= 0 && type.rank < TN_RANK_MAX) {
            dims[0] = TN_DIM_UNKNOWN;
            for (int32_t i = 0; i < type.rank; i++)
                dims[i + 1] = type.dims[i];
            type.rank++;
            type.dims = dims;
        }
        TN_TRY(infer->set_type(infer->self, o, &type));
    }
    return TN_OK;
}

/* ---- Loop: kernel ------------------------------------------------------------------------ */

/* What is declared of one scan output, for loops that never turn. */
struct scan_type {
    int32_t dtype;
    uint32_t rank;
    int64_t dims[TN_RANK_MAX];
};

struct loop_kernel {
    struct tn__kernel base;
    struct loop_attrs attrs;
    uint32_t n_carried, n_scans;
    struct scan_type scans[];
};

static tn_status create_loop(const struct tn_kernel_ctx *ctx, void **out) {
    const struct tn_node *node = ctx->node;
    uint32_t n_carried = node->n_inputs > 2 ? node->n_inputs - 2 : 0;
    if (node->n_outputs < n_carried)
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "the node has %u outputs for %u carried values", node->n_outputs, n_carried);
    uint32_t n_scans = node->n_outputs - n_carried;
    TN_TRY(tn__kernel_create(
        ctx, sizeof(struct loop_kernel) + n_scans * sizeof(struct scan_type), out));
    struct loop_kernel *kernel = *out;
    kernel->n_carried = n_carried;
    kernel->n_scans = n_scans;
    for (uint32_t i = 0; i < n_scans; i++) {
        const struct tn_type *type = &ctx->outputs[n_carried + i];
        struct scan_type *scan = &kernel->scans[i];
        scan->dtype = type->dtype ? type->dtype : TN_FLOAT;
        scan->rank =
            type->rank > 0 && type->rank <= TN_RANK_MAX ? (uint32_t)type->rank : 1;
        for (uint32_t d = 1; d < scan->rank; d++)
            scan->dims[d] = type->rank > 0 && type->dims[d] >= 0 ? type->dims[d] : 0;
    }
    return tn_kernel_ready(
        TN_ATTRS_READ(loop, ctx->node, &kernel->attrs, ctx->diag), out);
}

/* One scan output as it grows: elements of one shape, one after the other. */
struct stack {
    char *data;
    uint64_t size, room;
    struct scan_type type; /* dims[0]: number of elements */
};

static tn_status stack_push(
    const struct tn_run *run, struct stack *stack, const struct tn_value_ref *value) {
    const struct tn_tensor *in = value->as.tensor;
    struct scan_type *type = &stack->type;
    if (value->kind != TN_KIND_TENSOR)
        return tn_fail(
            run->diag, TN_INVALID_MODEL, "a scan output of the body is no tensor");
    TN_TRY(tn_rank_check((int64_t)in->rank + 1, run->diag));
    if (type->dims[0] == 0) {
        type->dtype = in->dtype;
        type->rank = in->rank + 1;
        if (in->rank) memcpy(type->dims + 1, in->dims, in->rank * sizeof *in->dims);
    } else if (!tn_dims_equal(type->dims + 1, type->rank - 1, in->dims, in->rank) ||
               type->dtype != in->dtype) {
        return tn_fail(run->diag, TN_INVALID_ARGUMENT,
            "a scan output has another shape in turn %lld than before",
            (long long)type->dims[0]);
    }
    if (tn_dtype_bits(in->dtype) < 8)
        return tn_fail(run->diag, TN_UNSUPPORTED, "no scan outputs of type %s",
            tn_dtype_name(in->dtype));
    if (stack->size + in->size > stack->room) {
        uint64_t room = 2 * stack->room + 4 * in->size;
        char *data = run->alloc(run, room, 64);
        if (!data)
            return tn_fail(run->diag, TN_OUT_OF_MEMORY,
                "no memory for %llu bytes of scan output", (unsigned long long)room);
        if (stack->size) memcpy(data, stack->data, stack->size);
        stack->data = data;
        stack->room = room;
    }
    TN_TRY(tn__control_copy(run, stack->data + stack->size, in));
    stack->size += in->size;
    type->dims[0]++;
    return TN_OK;
}

/* A loop in progress. */
struct loop {
    const struct loop_kernel *kernel;
    const struct tn_run_args *args;
    struct tn_value_ref *in;  /* turn, condition, carried … */
    struct tn_value_ref *out; /* condition, carried …, scan elements */
    struct stack *stacks;
    struct tn_optional *optionals; /* [n_carried] */
    struct tn_tensor turn_tensor, cond_tensor;
    int64_t turn;
    uint8_t cond;
};

static tn_status loop_start(struct loop *loop) {
    const struct loop_kernel *kernel = loop->kernel;
    const struct tn_run_args *args = loop->args;
    const struct tn_run *run = args->run;
    const struct tn_tensor *cond = tn_in(args, 1);
    loop->in = ref_array(run, kernel->n_carried + 2);
    loop->out = ref_array(run, kernel->n_carried + kernel->n_scans + 1);
    loop->stacks = run->alloc(run, (kernel->n_scans + 1) * sizeof *loop->stacks, 16);
    loop->optionals =
        run->alloc(run, (kernel->n_carried + 1) * sizeof *loop->optionals, 16);
    if (!loop->in || !loop->out || !loop->stacks || !loop->optionals)
        return no_memory(run->diag);
    for (uint32_t i = 0; i < kernel->n_scans; i++) {
        memset(&loop->stacks[i], 0, sizeof loop->stacks[i]);
        loop->stacks[i].type = kernel->scans[i];
        loop->stacks[i].type.dims[0] = 0;
    }
    if (cond && tn_tensor_count(cond) != 1)
        return tn_fail(run->diag, TN_INVALID_ARGUMENT, "'cond' is not one bool");
    loop->cond = cond ? *(const uint8_t *)cond->data != 0 : 1;
    loop->turn_tensor =
        (struct tn_tensor){.data = &loop->turn, .size = 8, .dtype = TN_INT64};
    loop->cond_tensor =
        (struct tn_tensor){.data = &loop->cond, .size = 1, .dtype = TN_BOOL};
    loop->in[0] = (struct tn_value_ref){TN_KIND_TENSOR, 0, {&loop->turn_tensor}};
    loop->in[1] = (struct tn_value_ref){TN_KIND_TENSOR, 0, {&loop->cond_tensor}};
    for (uint32_t i = 0; i < kernel->n_carried; i++)
        loop->in[2 + i] = args->inputs[2 + i];
    return TN_OK;
}

/* Hands a carried value to the next turn; into an optional when the loop began with one. */
static void carry(struct loop *loop, uint32_t i) {
    const struct tn_value_ref *begun = &loop->args->inputs[2 + i];
    const struct tn_value_ref *value = &loop->out[1 + i];
    loop->in[2 + i] = *value;
    if (begun->kind != TN_KIND_OPTIONAL || value->kind == TN_KIND_OPTIONAL) return;
    loop->optionals[i] = *begun->as.optional;
    loop->optionals[i].value = *value;
    loop->in[2 + i] = (struct tn_value_ref){TN_KIND_OPTIONAL, 0, {&loop->optionals[i]}};
}

/* Output i is the carried value, taken out of such an optional again. */
static tn_status emit_carried(const struct loop *loop, uint32_t i) {
    const struct tn_value_ref *value = &loop->in[2 + i];
    uint32_t wanted = loop->args->outputs[i].kind;
    if (value->kind == TN_KIND_OPTIONAL && wanted != TN_KIND_OPTIONAL &&
        value->as.optional->value.kind == wanted)
        value = &value->as.optional->value;
    return tn__control_emit(loop->args, i, value);
}

static tn_status loop_turn(struct loop *loop) {
    const struct loop_kernel *kernel = loop->kernel;
    const struct tn_run *run = loop->args->run;
    uint32_t n_out = kernel->n_carried + kernel->n_scans + 1;
    TN_TRY(run->interrupted(run));
    TN_TRY(run->subgraph_run(run, loop->args, kernel->attrs.body.v[0], loop->in,
        kernel->n_carried + 2, loop->out, n_out));
    const struct tn_value_ref *cond = &loop->out[0];
    if (cond->kind != TN_KIND_TENSOR || cond->as.tensor->dtype != TN_BOOL ||
        tn_tensor_count(cond->as.tensor) != 1)
        return tn_fail(run->diag, TN_INVALID_MODEL,
            "the body's first output, the condition, is not one bool");
    for (uint32_t i = 0; i < kernel->n_scans; i++)
        TN_TRY(stack_push(run, &loop->stacks[i], &loop->out[1 + kernel->n_carried + i]));
    for (uint32_t i = 0; i < kernel->n_carried; i++)
        carry(loop, i);
    loop->cond = *(const uint8_t *)cond->as.tensor->data != 0;
    loop->turn++;
    return TN_OK;
}

static tn_status compute_loop(void *object, const struct tn_run_args *args) {
    struct loop loop = {.kernel = object, .args = args};
    const struct tn_tensor *trips = tn_in(args, 0);
    if (trips && tn_tensor_count(trips) != 1)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "'M' is not one number");
    int64_t n = trips ? tn_tensor_int(trips, 0) : INT64_MAX;
    TN_TRY(loop_start(&loop));
    while (loop.turn < n && loop.cond)
        TN_TRY(loop_turn(&loop));
    for (uint32_t i = 0; i < loop.kernel->n_carried; i++)
        TN_TRY(emit_carried(&loop, i));
    for (uint32_t i = 0; i < loop.kernel->n_scans; i++) {
        const struct stack *stack = &loop.stacks[i];
        struct tn_tensor *out;
        if (args->outputs[loop.kernel->n_carried + i].kind == TN_KIND_ABSENT) continue;
        TN_TRY(tn_out_shaped(args, loop.kernel->n_carried + i, stack->type.dtype,
            stack->type.dims, stack->type.rank, &out));
        if (stack->size) memcpy(out->data, stack->data, stack->size);
    }
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
#define ANY_VALUE {"V", TN_TYPES_ALL, TN_TYPES_ALL, TN_TYPES_ALL | UINT64_C(1) << 63}
#define SINCE_1_25 TN_VERSIONS({1}, {11}, {13}, {16}, {19}, {21}, {23}, {24}, {25})
#define ANY_NUMBER (TN_FORMAL_VARIADIC | TN_FORMAL_HETEROGENEOUS)
static const struct tn_op_def defs[] = {
    {TN_DEF("", "If"), SINCE_1_25, TN_INPUTS({"cond", "B"}),
        TN_OUTPUTS({"outputs", "V", 0, ANY_NUMBER, 1}),
        TN_TYPE_VARS(ANY_VALUE, {"B", TN_BIT(BOOL)}), TN_ATTRS(if), .infer = infer_if},
    {TN_DEF("", "Loop"), SINCE_1_25,
        TN_INPUTS({"M", "I", 0, TN_FORMAL_OPTIONAL}, {"cond", "B", 0, TN_FORMAL_OPTIONAL},
            {"v_initial", "V", 0, ANY_NUMBER, 0}),
        TN_OUTPUTS({"v_final_and_scan_outputs", "V", 0, ANY_NUMBER, 1}),
        TN_TYPE_VARS(ANY_VALUE, {"I", TN_BIT(INT64)}, {"B", TN_BIT(BOOL)}), TN_ATTRS(loop),
        .infer = infer_loop},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "If", 25), .create = create_if, .compute = compute_if},
    {TN_KERNEL("", "Loop", 25), .create = create_loop, .compute = compute_loop},
};
/* clang-format on */

TN_FAMILY(control);
