/* Scan: a body runs over the slices of its scan inputs, carrying states along. Version 8,
 * with its batch axis and lengths for each sequence, is the operator ScanBatched of the
 * plugin's own domain: the same loop for every sequence of the batch. */
#include "loops/copy.h"
#include "ops/control.h"

/* clang-format off */
#define SCAN_ATTRS(X, S) \
    X(S, GRAPH_REQUIRED, body, ) X(S, INT_REQUIRED, num_scan_inputs, ) \
    X(S, INTS, scan_input_axes, ) X(S, INTS, scan_input_directions, ) \
    X(S, INTS, scan_output_axes, ) X(S, INTS, scan_output_directions, )
#define BATCHED_ATTRS(X, S) \
    X(S, GRAPH_REQUIRED, body, ) X(S, INT_REQUIRED, num_scan_inputs, ) X(S, INTS, directions, )
TN_ATTR_TABLE(scan, SCAN_ATTRS)
TN_ATTR_TABLE(batched, BATCHED_ATTRS)
/* clang-format on */

/* Element i of a list that may be absent. */
static int64_t entry(const struct tn_attr_ints *list, uint32_t i) {
    return list->present && i < list->n ? list->v[i] : 0;
}

/* How a node's inputs and outputs divide. */
struct scan_shape {
    struct scan_attrs attrs;
    uint32_t first; /* input of the first state: 1 in batches (the lengths), else 0 */
    uint32_t n_states, n_in, n_out; /* states, scan inputs, scan outputs */
    uint32_t batched;               /* leading batch axes: 0 or 1 */
};

static tn_status read_shape(
    const struct tn_node *node, struct scan_shape *out, struct tn_diag *diag) {
    memset(out, 0, sizeof *out);
    out->batched = strcmp(node->op_type, "ScanBatched") == 0;
    out->first = out->batched;
    if (out->batched) {
        struct batched_attrs attrs;
        TN_TRY(TN_ATTRS_READ(batched, node, &attrs, diag));
        out->attrs.body = attrs.body;
        out->attrs.num_scan_inputs = attrs.num_scan_inputs;
        out->attrs.scan_input_directions = attrs.directions;
    } else {
        TN_TRY(TN_ATTRS_READ(scan, node, &out->attrs, diag));
    }
    int64_t n = (int64_t)node->n_inputs - out->first, scans = out->attrs.num_scan_inputs;
    if (scans < 1 || scans > n || node->n_outputs < (uint32_t)(n - scans))
        return tn_fail(diag, TN_INVALID_MODEL,
            "%lld scan inputs do not fit a node of %u inputs and %u outputs",
            (long long)scans, node->n_inputs, node->n_outputs);
    out->n_in = (uint32_t)scans;
    out->n_states = (uint32_t)(n - scans);
    out->n_out = node->n_outputs - out->n_states;
    return TN_OK;
}

/* ---- upgrade ---------------------------------------------------------------------------- */

static tn_status upgrade_scan_9(const struct tn_rewrite *rw) {
    return rw->api->set_op(rw->graph, rw->node, "org.tenon", "ScanBatched", 1, rw->diag);
}

/* ---- inference -------------------------------------------------------------------------- */

static struct tn_type *types_for(const struct tn_infer *infer, uint32_t n) {
    struct tn_type *types =
        infer->scratch(infer->self, ((uint64_t)n + 1) * sizeof *types);
    if (types) memset(types, 0, ((size_t)n + 1) * sizeof *types);
    return types;
}

/* Removes the axes `from` and, in batches, 0; *out_dim is the size of the former. */
static tn_status slice_type(const struct tn_infer *infer, const struct scan_shape *shape,
    int64_t axis_attr, struct tn_type *type, int64_t *out_dim) {
    uint32_t axis = 0, rank = 0;
    if (type->kind != TN_KIND_TENSOR || type->rank < 0) return TN_OK;
    TN_TRY(tn_axis_fix(shape->batched ? 1 : axis_attr, type->rank, &axis, infer->diag));
    int64_t *dims =
        infer->scratch(infer->self, (uint64_t)(type->rank + 1) * sizeof *dims);
    if (!dims) return tn_fail(infer->diag, TN_OUT_OF_MEMORY, "no memory for a shape");
    for (uint32_t i = 0; i < (uint32_t)type->rank; i++)
        if (i != axis && !(shape->batched && i == 0)) dims[rank++] = type->dims[i];
    if (type->dims[axis] != TN_DIM_UNKNOWN) *out_dim = type->dims[axis];
    type->rank = (int32_t)rank;
    type->dims = dims;
    return TN_OK;
}

/* Puts the batch axis back, and (axis >= 0) the scanned one. */
static tn_status set_output(const struct tn_infer *infer, uint32_t o, struct tn_type type,
    int64_t batch, bool batched, int64_t axis_attr, int64_t length, bool scanned) {
    int64_t dims[TN_RANK_MAX];
    uint32_t axis = UINT32_MAX, rank = 0, from = 0;
    if (type.kind == TN_KIND_ABSENT || !tn_infer_wants(infer->node, o)) return TN_OK;
    if (type.rank >= 0) {
        uint32_t total = (uint32_t)type.rank + batched + scanned;
        TN_TRY(tn_rank_check(total, infer->diag));
        if (scanned)
            TN_TRY(tn_axis_fix(batched ? 1 : axis_attr, total, &axis, infer->diag));
        while (rank < total) {
            if (batched && rank == 0)
                dims[rank++] = batch;
            else if (rank == axis)
                dims[rank++] = length;
            else
                dims[rank++] = type.dims[from++];
        }
        type.rank = (int32_t)total;
        type.dims = dims;
    }
    return infer->set_type(infer->self, o, &type);
}

static tn_status infer_scan(const struct tn_infer *infer) {
    struct scan_shape shape;
    TN_TRY(read_shape(infer->node, &shape, infer->diag));
    uint32_t n = shape.n_states + shape.n_in, n_outputs = infer->node->n_outputs;
    struct tn_type *in = types_for(infer, n), *out = types_for(infer, n_outputs);
    int64_t length = TN_DIM_UNKNOWN, batch = TN_DIM_UNKNOWN;
    if (!in || !out) return tn_fail(infer->diag, TN_OUT_OF_MEMORY, "no memory for types");
    for (uint32_t i = 0; i < n; i++) {
        in[i] = infer->inputs[shape.first + i];
        bool ranked = in[i].kind == TN_KIND_TENSOR && in[i].rank > 0;
        if (shape.batched && ranked) batch = in[i].dims[0];
        if (i >= shape.n_states) {
            TN_TRY(slice_type(infer, &shape,
                entry(&shape.attrs.scan_input_axes, i - shape.n_states), &in[i],
                &length));
        } else if (shape.batched && ranked) {
            in[i].dims++;
            in[i].rank--;
        }
    }
    TN_TRY(tn__infer_carried(
        infer, shape.attrs.body.v[0], in, n, 0, out, n_outputs, 0, shape.n_states));
    for (uint32_t o = 0; o < n_outputs; o++) {
        bool scanned = o >= shape.n_states;
        int64_t axis =
            scanned ? entry(&shape.attrs.scan_output_axes, o - shape.n_states) : 0;
        int64_t dims[TN_RANK_MAX];
        if (!scanned && in[o].kind == out[o].kind) tn__type_join(&out[o], &in[o], dims);
        TN_TRY(set_output(
            infer, o, out[o], batch, shape.batched != 0, axis, length, scanned));
    }
    return TN_OK;
}

/* ---- kernel: the loop --------------------------------------------------------------------- */

struct scan_kernel {
    struct tn__kernel base;
    struct scan_shape shape;
    struct tn_type *out_types; /* [n_out], dims borrowed from the graph */
};

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    struct scan_shape shape;
    TN_TRY(read_shape(ctx->node, &shape, ctx->diag));
    size_t types = shape.n_out * sizeof(struct tn_type);
    TN_TRY(tn__kernel_create(ctx, sizeof(struct scan_kernel) + types, out));
    struct scan_kernel *kernel = *out;
    kernel->shape = shape;
    kernel->out_types = (struct tn_type *)(void *)(kernel + 1);
    if (types) memcpy(kernel->out_types, ctx->outputs + shape.n_states, types);
    return TN_OK;
}

/* A scan in progress. */
struct scan {
    const struct scan_kernel *kernel;
    const struct tn_run_args *args;
    struct tn_value_ref *in, *out; /* of the body: states, then slices or elements */
    struct tn_tensor *slices;      /* [n_in] the scan inputs' current slices */
    int64_t *slice_dims;           /* [n_in][TN_RANK_MAX] */
    void **buffers;                /* [n_in] of slices that had to be copied */
    int64_t batches, length;       /* length: of the outputs' scanned axis */
};

static tn_status scan_alloc(struct scan *scan) {
    const struct tn_run *run = scan->args->run;
    const struct scan_shape *shape = &scan->kernel->shape;
    uint64_t n_in = (uint64_t)shape->n_states + shape->n_in;
    uint64_t n_out = (uint64_t)shape->n_states + shape->n_out;
    scan->in = run->alloc(run, (n_in + 1) * sizeof *scan->in, 16);
    scan->out = run->alloc(run, (n_out + 1) * sizeof *scan->out, 16);
    scan->slices = run->alloc(run, shape->n_in * sizeof *scan->slices, 16);
    scan->slice_dims =
        run->alloc(run, shape->n_in * TN_RANK_MAX * sizeof *scan->slice_dims, 16);
    scan->buffers = run->alloc(run, shape->n_in * sizeof *scan->buffers, 16);
    if (!scan->in || !scan->out || !scan->slices || !scan->slice_dims || !scan->buffers)
        return tn_fail(run->diag, TN_OUT_OF_MEMORY, "no memory for the values of a scan");
    memset(scan->out, 0, (n_out + 1) * sizeof *scan->out);
    memset(scan->buffers, 0, shape->n_in * sizeof *scan->buffers);
    return TN_OK;
}

/* One sequence's part of a batched tensor; the whole of another. */
static tn_status part(const struct scan *scan, const struct tn_tensor *whole,
    int64_t batch, struct tn_tensor *out) {
    *out = *whole;
    if (!scan->kernel->shape.batched) return TN_OK;
    if (whole->rank < 1 || whole->dims[0] != scan->batches)
        return tn_fail(scan->args->run->diag, TN_INVALID_ARGUMENT,
            "an input has no batch axis of size %lld", (long long)scan->batches);
    out->size = scan->batches ? whole->size / (uint64_t)scan->batches : 0;
    if (out->size) out->data = (char *)whole->data + (uint64_t)batch * out->size;
    out->dims++;
    out->rank--;
    return TN_OK;
}

/* Scan input i of this sequence, and the axis it is scanned along. */
static tn_status scan_input(const struct scan *scan, uint32_t i, int64_t batch,
    struct tn_tensor *out, uint32_t *out_axis) {
    const struct scan_shape *shape = &scan->kernel->shape;
    struct tn_diag *diag = scan->args->run->diag;
    const struct tn_tensor *whole = tn_in(scan->args, shape->first + shape->n_states + i);
    if (!whole || tn_dtype_bits(whole->dtype) < 8)
        return tn_fail(
            diag, TN_UNSUPPORTED, "scan input %u is no tensor of whole bytes", i);
    TN_TRY(part(scan, whole, batch, out));
    TN_TRY(tn_rank_check(out->rank, diag));
    return tn_axis_fix(
        entry(&shape->attrs.scan_input_axes, i), out->rank, out_axis, diag);
}

/* Slice t of scan input i becomes an input of the body; copied when it is not contiguous. */
static tn_status take_slice(
    struct scan *scan, uint32_t i, int64_t batch, int64_t t, int64_t length) {
    const struct scan_shape *shape = &scan->kernel->shape;
    const struct tn_run *run = scan->args->run;
    struct tn_tensor whole, *slice = &scan->slices[i];
    int64_t *dims = scan->slice_dims + i * TN_RANK_MAX;
    uint32_t axis = 0, rank = 0;
    TN_TRY(scan_input(scan, i, batch, &whole, &axis));
    if (entry(&shape->attrs.scan_input_directions, i) == 1) t = length - 1 - t;
    if (t < 0 || t >= whole.dims[axis])
        return tn_fail(run->diag, TN_INVALID_ARGUMENT, "scan input %u is too short", i);
    for (uint32_t d = 0; d < whole.rank; d++)
        if (d != axis) dims[rank++] = whole.dims[d];
    int64_t outer = tn_dims_product(whole.dims, 0, axis);
    uint64_t bytes = (uint64_t)tn_dims_product(whole.dims, axis + 1, whole.rank) *
                     (tn_dtype_bits(whole.dtype) / 8);
    uint64_t pitch = bytes * (uint64_t)whole.dims[axis];
    const char *from = (const char *)whole.data + (uint64_t)t * bytes;
    void *data = (void *)(uintptr_t)from;
    if (outer != 1) {
        if (!scan->buffers[i])
            scan->buffers[i] = run->alloc(run, bytes * (uint64_t)outer, 64);
        data = scan->buffers[i];
        if (!data) return tn_fail(run->diag, TN_OUT_OF_MEMORY, "no memory for a slice");
        tn__copy_rows(scan->kernel->base.host, data, bytes, from, pitch, bytes, outer);
    }
    *slice = (struct tn_tensor){.data = data,
        .dims = dims,
        .size = bytes * (uint64_t)outer,
        .dtype = whole.dtype,
        .rank = rank};
    scan->in[shape->n_states + i] = (struct tn_value_ref){TN_KIND_TENSOR, 0, {slice}};
    return TN_OK;
}

/* Puts a value of one sequence (and, axis_attr given, one turn) into its place of output o,
 * which the first one makes. */
static tn_status place(const struct scan *scan, uint32_t o,
    const struct tn_value_ref *value, int64_t batch, bool scanned, int64_t axis_attr,
    int64_t t) {
    const struct tn_run *run = scan->args->run;
    const struct tn_tensor *in = value->as.tensor;
    uint32_t batched = scan->kernel->shape.batched, axis = 0, rank = 0;
    int64_t dims[TN_RANK_MAX];
    struct tn_tensor *out;
    if (scan->args->outputs[o].kind == TN_KIND_ABSENT) return TN_OK;
    if (value->kind != TN_KIND_TENSOR || tn_dtype_bits(in->dtype) < 8)
        return tn_fail(
            run->diag, TN_UNSUPPORTED, "output %u is no tensor of whole bytes", o);
    TN_TRY(tn_rank_check((int64_t)in->rank + 2, run->diag));
    if (scanned) TN_TRY(tn_axis_fix(axis_attr, (int64_t)in->rank + 1, &axis, run->diag));
    if (batched) dims[rank++] = scan->batches;
    for (uint32_t d = 0; d <= in->rank; d++) {
        if (scanned && d == axis) dims[rank++] = scan->length;
        if (d < in->rank) dims[rank++] = in->dims[d];
    }
    TN_TRY(tn_out_shaped(scan->args, o, in->dtype, dims, rank, &out));
    const void *src = in->data;
    if (in->dtype == TN_STRING && in->size > 0) {
        void *copy = run->alloc(run, in->size, 16);
        if (!copy) return tn_fail(run->diag, TN_OUT_OF_MEMORY, "no memory for text");
        TN_TRY(tn__control_copy(run, copy, in));
        src = copy;
    }
    int64_t outer = scanned ? tn_dims_product(in->dims, 0, axis) : 1;
    uint64_t bytes = outer ? in->size / (uint64_t)outer : 0;
    uint64_t pitch = scanned ? bytes * (uint64_t)scan->length : bytes;
    uint64_t at = (uint64_t)batch * (batched ? out->size / (uint64_t)scan->batches : 0) +
                  (uint64_t)t * bytes;
    tn__copy_rows(
        scan->kernel->base.host, (char *)out->data + at, pitch, src, bytes, bytes, outer);
    return TN_OK;
}

static tn_status run_turn(struct scan *scan, int64_t batch, int64_t t, int64_t length) {
    const struct scan_shape *shape = &scan->kernel->shape;
    const struct tn_run *run = scan->args->run;
    TN_TRY(run->interrupted(run));
    for (uint32_t i = 0; i < shape->n_in; i++)
        TN_TRY(take_slice(scan, i, batch, t, length));
    TN_TRY(run->subgraph_run(run, scan->args, shape->attrs.body.v[0], scan->in,
        shape->n_states + shape->n_in, scan->out, shape->n_states + shape->n_out));
    for (uint32_t i = 0; i < shape->n_states; i++)
        scan->in[i] = scan->out[i];
    for (uint32_t i = 0; i < shape->n_out; i++) {
        bool back = entry(&shape->attrs.scan_output_directions, i) == 1;
        TN_TRY(place(scan, shape->n_states + i, &scan->out[shape->n_states + i], batch,
            true, entry(&shape->attrs.scan_output_axes, i), back ? length - 1 - t : t));
    }
    return TN_OK;
}

/* Without a turn the scan outputs have what was declared of their elements. */
static tn_status empty_outputs(const struct scan *scan) {
    const struct scan_shape *shape = &scan->kernel->shape;
    for (uint32_t i = 0; i < shape->n_out; i++) {
        const struct tn_type *type = &scan->kernel->out_types[i];
        int64_t dims[TN_RANK_MAX] = {0};
        struct tn_tensor *out;
        uint32_t axis = 0, o = shape->n_states + i;
        uint32_t rank = type->rank > 0 && type->rank <= TN_RANK_MAX ? (uint32_t)type->rank
                                                                    : 1 + shape->batched;
        if (scan->args->outputs[o].kind == TN_KIND_ABSENT) continue;
        for (uint32_t d = 0; d < rank && type->rank > 0; d++)
            dims[d] = type->dims[d] < 0 ? 0 : type->dims[d];
        TN_TRY(tn_axis_fix(shape->batched ? 1 : entry(&shape->attrs.scan_output_axes, i),
            rank, &axis, scan->args->run->diag));
        dims[axis] = scan->length;
        if (shape->batched) dims[0] = scan->batches;
        TN_TRY(tn_out_shaped(
            scan->args, o, type->dtype ? type->dtype : TN_FLOAT, dims, rank, &out));
        if (out->size > 0) memset(out->data, 0, out->size);
    }
    return TN_OK;
}

static tn_status run_sequence(struct scan *scan, int64_t batch, int64_t length) {
    const struct scan_shape *shape = &scan->kernel->shape;
    const struct tn_run_args *args = scan->args;
    struct tn_tensor *parts =
        args->run->alloc(args->run, ((uint64_t)shape->n_states + 1) * sizeof *parts, 16);
    if (!parts) return tn_fail(args->run->diag, TN_OUT_OF_MEMORY, "no memory for states");
    for (uint32_t i = 0; i < shape->n_states; i++) {
        const struct tn_value_ref *state = &args->inputs[shape->first + i];
        scan->in[i] = *state;
        if (state->kind != TN_KIND_TENSOR) continue;
        TN_TRY(part(scan, state->as.tensor, batch, &parts[i]));
        scan->in[i].as.tensor = &parts[i];
    }
    for (int64_t t = 0; t < length; t++)
        TN_TRY(run_turn(scan, batch, t, length));
    for (uint32_t i = 0; i < shape->n_states; i++) {
        if (shape->batched)
            TN_TRY(place(scan, i, &scan->in[i], batch, false, 0, 0));
        else
            TN_TRY(tn__control_emit(args, i, &scan->in[i]));
    }
    return TN_OK;
}

static tn_status compute(void *object, const struct tn_run_args *args) {
    struct scan scan = {.kernel = object, .args = args, .batches = 1};
    const struct scan_shape *shape = &scan.kernel->shape;
    const struct tn_tensor *lengths = shape->batched ? tn_in(args, 0) : NULL;
    const struct tn_tensor *first = tn_in(args, shape->first + shape->n_states);
    struct tn_tensor probe;
    uint32_t axis = 0;
    if (!first || first->rank < 1)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "a scan input has no axes");
    if (shape->batched) scan.batches = first->dims[0];
    TN_TRY(scan_alloc(&scan));
    TN_TRY(scan_input(&scan, 0, 0, &probe, &axis));
    scan.length = probe.dims[axis];
    if (lengths && tn_tensor_count(lengths) != scan.batches)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "%lld sequence lengths for %lld sequences",
            (long long)tn_tensor_count(lengths), (long long)scan.batches);
    if (scan.length == 0 || lengths || scan.batches == 0) TN_TRY(empty_outputs(&scan));
    for (int64_t b = 0; b < scan.batches; b++) {
        int64_t length = lengths ? tn_tensor_int(lengths, b) : scan.length;
        if (length < 0 || length > scan.length)
            return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
                "sequence length %lld is outside [0, %lld]", (long long)length,
                (long long)scan.length);
        TN_TRY(run_sequence(&scan, b, length));
    }
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
#define ANY_NUMBER (TN_FORMAL_VARIADIC | TN_FORMAL_HETEROGENEOUS)
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Scan"),
        TN_VERSIONS({8}, {9, 0, upgrade_scan_9}, {11}, {16}, {19}, {21}, {23}, {24}, {25}),
        TN_INPUTS({"initial_state_and_scan_inputs", "V", 0, ANY_NUMBER, 1}),
        TN_OUTPUTS({"final_state_and_scan_outputs", "V", 0, ANY_NUMBER, 1}),
        TN_TYPE_VARS({"V", TN_TYPES_ALL}), TN_ATTRS(scan), .infer = infer_scan},
    {TN_DEF("org.tenon", "ScanBatched"), TN_VERSIONS({1}),
        TN_INPUTS({"sequence_lens", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL},
            {"initial_state_and_scan_inputs", "V", 0, ANY_NUMBER, 1}),
        TN_OUTPUTS({"final_state_and_scan_outputs", "V", 0, ANY_NUMBER, 1}),
        TN_TYPE_VARS({"V", TN_TYPES_ALL}), TN_ATTRS(batched), .infer = infer_scan,
        .doc = "version 8 of Scan"},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Scan", 25), .create = create, .compute = compute},
    {TN_KERNEL("org.tenon", "ScanBatched", 1), .create = create, .compute = compute},
};
/* clang-format on */

TN_FAMILY(scan);
