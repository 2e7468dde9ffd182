/* Windows onto a block: Slice cuts and strides, Pad grows (or crops) at the edges. */
#include "loops/copy.h"
#include "ops/ops.h"

/* clang-format off */
#define PAD_ATTRS(X, S) X(S, STRING, mode, "constant")
TN_ATTR_TABLE(pad, PAD_ATTRS)
/* clang-format on */

/* ---- upgrades ------------------------------------------------------------------------- */

/* Slice-10: the attributes became inputs. */
static tn_status upgrade_slice_10(const struct tn_rewrite *rw) {
    TN_TRY(tn__upgrade_ints_to_input(rw, "starts", 1));
    TN_TRY(tn__upgrade_ints_to_input(rw, "ends", 2));
    return tn__upgrade_ints_to_input(rw, "axes", 3);
}

/* Pad-2: `paddings` became `pads`. */
static tn_status upgrade_pad_2(const struct tn_rewrite *rw) {
    const struct tn_attr *old =
        tn_node_attr(rw->api->node(rw->graph, rw->node), "paddings");
    if (!old) return TN_OK;
    struct tn_attr attr = *old;
    attr.name = "pads";
    TN_TRY(rw->api->set_attr(rw->graph, rw->node, &attr, rw->diag));
    return rw->api->remove_attr(rw->graph, rw->node, "paddings");
}

/* Pad-11: pads and value became inputs; the value has the type of the data. */
static tn_status upgrade_pad_11(const struct tn_rewrite *rw) {
    TN_TRY(tn__upgrade_ints_to_input(rw, "pads", 1));
    const struct tn_attr *attr =
        tn_node_attr(rw->api->node(rw->graph, rw->node), "value");
    tn_value_id inputs[2], output;
    tn_node_id id;
    void *data;
    if (!attr) return TN_OK;
    if (attr->type != TN_ATTR_FLOAT || attr->count != 1)
        return tn_fail(rw->diag, TN_INVALID_MODEL, "attribute 'value' is not a float");
    float value = attr->as.floats[0];
    TN_TRY(rw->api->add_constant(
        rw->graph, "value", TN_FLOAT, NULL, 0, &inputs[0], &data, rw->diag));
    memcpy(data, &value, sizeof value);
    inputs[1] = rw->api->node(rw->graph, rw->node)->inputs[0];
    TN_TRY(rw->api->add_node(rw->graph, rw->node, rw->node, "", "CastLike", 0, inputs, 2,
        NULL, 0, &output, 1, &id, rw->diag));
    TN_TRY(rw->api->set_input(rw->graph, rw->node, 2, output, rw->diag));
    return rw->api->remove_attr(rw->graph, rw->node, "value");
}

/* ---- Slice: one axis -------------------------------------------------------------------- */

struct cut {
    int64_t start, step, count;
};

/* The standard's clamping for an axis of a known size. */
static tn_status cut_axis(int64_t dim, int64_t start, int64_t end, int64_t step,
    struct cut *out, struct tn_diag *diag) {
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? dim - 1 : dim;
    if (step == 0)
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "a step of 0 never arrives; use 1 or -1");
    if (start < 0) start = start < -dim ? -1 : start + dim;
    if (end < 0) end = end < -dim ? -1 : end + dim;
    if (start < 0) start = 0;
    if (start > high) start = high;
    if (end < low) end = low;
    if (end > high && step > 0) end = high;
    if (step < 0 && end > dim - 1) end = dim - 1;
    uint64_t distance = step > 0 ? (end > start ? (uint64_t)(end - start) : 0)
                                 : (start > end ? (uint64_t)(start - end) : 0);
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    *out = (struct cut){start, step, (int64_t)((distance + stride - 1) / stride)};
    if (out->count <= 1) out->step = 1;
    return TN_OK;
}

/* The same with symbols, for steps of 1; TN_DIM_UNKNOWN where it is not worth an
 * expression. */
static int64_t cut_symbolic(
    const struct tn_infer *infer, int64_t dim, int64_t start, int64_t end, int64_t step) {
    bool open = end == INT64_MAX || end == INT32_MAX || tn_dim_same(end, dim);
    if (step == -1 && start == -1 && end < -INT64_C(1000000000) && end != TN_DIM_UNKNOWN)
        return dim;
    if (step != 1 || start == TN_DIM_UNKNOWN || end == TN_DIM_UNKNOWN)
        return TN_DIM_UNKNOWN;
    if (start < 0 && !tn_dim_is_symbol(start)) {
        if (!open || dim == TN_DIM_UNKNOWN) return TN_DIM_UNKNOWN;
        return infer->dim_op(infer->self, TN_DIM_MIN, dim, -start);
    }
    int64_t to = dim;
    if (!open && end < 0 && !tn_dim_is_symbol(end))
        to = infer->dim_op(
            infer->self, TN_DIM_MAX, 0, infer->dim_op(infer->self, TN_DIM_ADD, dim, end));
    else if (!open)
        to = infer->dim_op(infer->self, TN_DIM_MIN, dim, end);
    if (start == 0) return to;
    int64_t from = infer->dim_op(infer->self, TN_DIM_MIN, dim, start);
    return infer->dim_op(
        infer->self, TN_DIM_MAX, 0, infer->dim_op(infer->self, TN_DIM_SUB, to, from));
}

/* ---- Slice: inference ------------------------------------------------------------------- */

/* The four lists of Slice; a list whose content is not known has v NULL. */
struct slice_lists {
    const int64_t *starts, *ends, *axes, *steps;
    uint32_t n;
    bool has_axes, has_steps;
};

static tn_status slice_lists_read(
    const struct tn_infer *infer, struct slice_lists *lists, bool *out_known) {
    static const char *const names[] = {"data", "starts", "ends", "axes", "steps"};
    uint32_t n_starts, n_ends, n_axes, n_steps;
    for (uint32_t i = 1; i < TN_COUNT(names); i++)
        TN_TRY(tn_infer_vector(infer, i, names[i]));
    lists->starts = tn_infer_ints(infer, 1, &n_starts);
    lists->ends = tn_infer_ints(infer, 2, &n_ends);
    lists->axes = tn_infer_ints(infer, 3, &n_axes);
    lists->steps = tn_infer_ints(infer, 4, &n_steps);
    lists->has_axes = tn_infer_has(infer->node, 3);
    lists->has_steps = tn_infer_has(infer->node, 4);
    *out_known = false;
    if (lists->has_axes && !lists->axes) return TN_OK;
    if (!lists->starts && !lists->ends && !lists->axes) return TN_OK;
    lists->n = lists->axes ? n_axes : lists->starts ? n_starts : n_ends;
    if ((lists->starts && n_starts != lists->n) || (lists->ends && n_ends != lists->n) ||
        (lists->steps && n_steps != lists->n))
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "starts, ends, axes and steps differ in length (%u, %u, %u, %u)", n_starts,
            n_ends, n_axes, n_steps);
    *out_known = true;
    return TN_OK;
}

static int64_t list_at(const int64_t *list, bool there, uint32_t i, int64_t absent) {
    if (!there) return absent;
    return list ? list[i] : TN_DIM_UNKNOWN;
}

/* A start or end is a number unless it is a symbol; INT64_MIN itself, "from the very
 * front", is a number too when the content is fully known. */
static bool is_number(const struct tn_infer *infer, uint32_t input, int64_t value) {
    return !tn_dim_is_symbol(value) ||
           (tn_infer_has(infer->node, input) && infer->value(infer->self, input) != NULL);
}

/* Content of a sliced short vector. */
static tn_status slice_content(const struct tn_infer *infer, const struct cut *cut) {
    int64_t out[TN_RANK_MAX];
    uint32_t n;
    const int64_t *content = tn_infer_ints(infer, 0, &n);
    if (!content || cut->count > TN_RANK_MAX) return TN_OK;
    for (int64_t i = 0; i < cut->count; i++) {
        int64_t at = cut->start + i * cut->step;
        if (at < 0 || at >= n) return TN_OK;
        out[i] = content[at];
    }
    return infer->set_dims_value(infer->self, 0, out, (uint32_t)cut->count);
}

static tn_status infer_slice(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    int64_t dims[TN_RANK_MAX];
    struct slice_lists lists;
    struct cut cut = {0, 1, -1};
    bool known;
    if (!in) return TN_OK;
    if (in->rank < 0) return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    TN_TRY(tn_rank_check(in->rank, infer->diag));
    TN_TRY(slice_lists_read(infer, &lists, &known));
    for (int32_t i = 0; i < in->rank; i++)
        dims[i] = known ? in->dims[i] : TN_DIM_UNKNOWN;
    if (in->rank == 1) cut.count = in->dims[0];
    for (uint32_t i = 0; known && i < lists.n; i++) {
        uint32_t axis = i;
        if (lists.axes && tn_dim_is_symbol(lists.axes[i]))
            return tn_infer_set(infer, 0, in->dtype, -1, NULL);
        TN_TRY(tn_axis_fix(lists.axes ? lists.axes[i] : i, in->rank, &axis, infer->diag));
        int64_t start = list_at(lists.starts, true, i, 0);
        int64_t end = list_at(lists.ends, true, i, 0);
        int64_t step = list_at(lists.steps, lists.has_steps, i, 1), dim = in->dims[axis];
        bool numbers = lists.starts && lists.ends && is_number(infer, 1, start) &&
                       is_number(infer, 2, end) && !tn_dim_is_symbol(step);
        cut.count = -1;
        if (numbers && dim >= 0) {
            TN_TRY(cut_axis(dim, start, end, step, &cut, infer->diag));
            dims[axis] = cut.count;
        } else {
            if (numbers && end == INT64_MIN) end = -(INT64_C(1) << 40);
            dims[axis] = cut_symbolic(infer, dim, start, end, step);
        }
    }
    TN_TRY(tn_infer_set(infer, 0, in->dtype, in->rank, dims));
    return in->rank == 1 && cut.count >= 0 ? slice_content(infer, &cut) : TN_OK;
}

/* Every cut axis keeps all of its elements in order. */
static int32_t elide_slice(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct slice_lists lists;
    bool known;
    if (!in || in->rank < 0 || slice_lists_read(infer, &lists, &known) != TN_OK || !known)
        return -1;
    if (!lists.starts || !lists.ends) return -1;
    for (uint32_t i = 0; i < lists.n; i++) {
        int64_t axis = lists.axes ? lists.axes[i] : i;
        if (axis < 0) axis += in->rank;
        if (axis < 0 || axis >= in->rank) return -1;
        int64_t end = lists.ends[i], dim = in->dims[axis];
        bool all = end == INT64_MAX || tn_dim_same(end, dim) || (dim >= 0 && end > dim);
        if (lists.starts[i] != 0 || !all ||
            list_at(lists.steps, lists.has_steps, i, 1) != 1)
            return -1;
    }
    return 0;
}

/* ---- Slice: kernel ---------------------------------------------------------------------- */

static tn_status create_plain(const struct tn_kernel_ctx *ctx, void **out) {
    return tn__kernel_create(ctx, sizeof(struct tn__kernel), out);
}

/* Cuts of all axes from the inputs of this call. */
static tn_status read_cuts(
    const struct tn_run_args *args, struct cut *cuts, struct tn_diag *diag) {
    const struct tn_tensor *in = tn_in(args, 0), *starts = tn_in(args, 1);
    const struct tn_tensor *ends = tn_in(args, 2), *axes = tn_in(args, 3);
    const struct tn_tensor *steps = tn_in(args, 4);
    int64_t n = tn_tensor_count(starts);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < in->rank; i++)
        cuts[i] = (struct cut){0, 1, in->dims[i]};
    if (tn_tensor_count(ends) != n || (axes && tn_tensor_count(axes) != n) ||
        (steps && tn_tensor_count(steps) != n))
        return tn_fail(
            diag, TN_INVALID_ARGUMENT, "starts, ends, axes and steps differ in length");
    for (int64_t i = 0; i < n; i++) {
        uint32_t axis = 0;
        TN_TRY(tn_axis_fix(axes ? tn_tensor_int(axes, i) : i, in->rank, &axis, diag));
        if (seen >> axis & 1)
            return tn_fail(diag, TN_INVALID_ARGUMENT, "'axes' names axis %u twice", axis);
        seen |= UINT64_C(1) << axis;
        TN_TRY(cut_axis(in->dims[axis], tn_tensor_int(starts, i), tn_tensor_int(ends, i),
            steps ? tn_tensor_int(steps, i) : 1, &cuts[axis], diag));
    }
    return TN_OK;
}

static tn_status compute_slice(void *object, const struct tn_run_args *args) {
    const struct tn__kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0);
    struct tn_diag *diag = args->run->diag;
    struct cut cuts[TN_RANK_MAX];
    int64_t dims[TN_RANK_MAX], src_steps[TN_RANK_MAX], dst_steps[TN_RANK_MAX], offset = 0;
    struct tn_tensor *out;
    struct tn__copy copy;
    TN_TRY(tn_rank_check(in->rank, diag));
    TN_TRY(read_cuts(args, cuts, diag));
    tn__dense_steps(in->dims, in->rank, src_steps);
    for (uint32_t i = 0; i < in->rank; i++) {
        dims[i] = cuts[i].count;
        offset += cuts[i].start * src_steps[i];
        src_steps[i] *= cuts[i].step;
    }
    TN_TRY(tn_out_shaped(args, 0, in->dtype, dims, in->rank, &out));
    tn__dense_steps(dims, in->rank, dst_steps);
    TN_TRY(tn__copy_plan(&copy, in->dtype, in->rank, dims, dst_steps, src_steps, diag));
    copy.src_offset = offset;
    tn__copy_clear(out);
    tn__copy_run(kernel->host, &copy, out->data, in->data);
    return TN_OK;
}

/* ---- Pad: inference --------------------------------------------------------------------- */

static tn_status infer_pad(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    int64_t dims[TN_RANK_MAX];
    uint32_t n, n_axes;
    if (!in) return TN_OK;
    if (in->rank < 0) return tn_infer_set(infer, 0, in->dtype, -1, NULL);
    TN_TRY(tn_rank_check(in->rank, infer->diag));
    const int64_t *pads = tn_infer_ints(infer, 1, &n);
    const int64_t *axes = tn_infer_ints(infer, 3, &n_axes);
    bool has_axes = tn_infer_has(infer->node, 3), known = pads && (axes || !has_axes);
    for (int32_t i = 0; i < in->rank; i++)
        dims[i] = known ? in->dims[i] : TN_DIM_UNKNOWN;
    if (!has_axes) n_axes = (uint32_t)in->rank;
    if (known && n != 2 * n_axes)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "'pads' has %u entries, expected a begin and an end for each of %u axes", n,
            n_axes);
    for (uint32_t i = 0; known && i < n_axes; i++) {
        uint32_t axis = i;
        if (axes && tn_dim_is_symbol(axes[i]))
            return tn_infer_set(infer, 0, in->dtype, -1, NULL);
        TN_TRY(tn_axis_fix(axes ? axes[i] : i, in->rank, &axis, infer->diag));
        dims[axis] = infer->dim_op(infer->self, TN_DIM_ADD, dims[axis], pads[i]);
        dims[axis] = infer->dim_op(infer->self, TN_DIM_ADD, dims[axis], pads[n_axes + i]);
        if (dims[axis] < 0 && !tn_dim_is_symbol(dims[axis]))
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "negative pads remove more of axis %u than its size %lld", axis,
                (long long)in->dims[axis]);
    }
    return tn_infer_set(infer, 0, in->dtype, in->rank, dims);
}

static int32_t elide_pad(const struct tn_infer *infer) {
    uint32_t n;
    const int64_t *pads = tn_infer_ints(infer, 1, &n);
    if (!pads) return -1;
    for (uint32_t i = 0; i < n; i++)
        if (pads[i] != 0) return -1;
    return 0;
}

/* ---- Pad: kernel ------------------------------------------------------------------------ */

enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP, PAD_MODES };

struct pad_kernel {
    struct tn__kernel base;
    uint32_t mode;
};

static tn_status create_pad(const struct tn_kernel_ctx *ctx, void **out) {
    static const char *const names[PAD_MODES] = {"constant", "edge", "reflect", "wrap"};
    struct pad_attrs attrs;
    uint32_t mode = 0;
    TN_TRY(TN_ATTRS_READ(pad, ctx->node, &attrs, ctx->diag));
    while (mode < PAD_MODES && !tn_string_is(attrs.mode, names[mode]))
        mode++;
    if (mode == PAD_MODES)
        return tn_fail(ctx->diag, TN_INVALID_MODEL,
            "attribute 'mode' is none of constant, edge, reflect, wrap");
    TN_TRY(tn__kernel_create(ctx, sizeof(struct pad_kernel), out));
    ((struct pad_kernel *)*out)->mode = mode;
    return TN_OK;
}

/* One axis: out[begin .. begin + kept) is in[from .. from + kept); the rest is padding. */
struct pad_axis {
    int64_t begin, from, kept, out;
};

/* Negative pads crop first. */
static tn_status read_pads(
    const struct tn_run_args *args, struct pad_axis *axes, struct tn_diag *diag) {
    const struct tn_tensor *in = tn_in(args, 0), *pads = tn_in(args, 1);
    const struct tn_tensor *list = tn_in(args, 3);
    int64_t n = list ? tn_tensor_count(list) : in->rank;
    if (tn_tensor_count(pads) != 2 * n)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "'pads' has %lld entries, expected %lld", (long long)tn_tensor_count(pads),
            (long long)(2 * n));
    for (uint32_t i = 0; i < in->rank; i++)
        axes[i] = (struct pad_axis){0, 0, in->dims[i], in->dims[i]};
    for (int64_t i = 0; i < n; i++) {
        const int64_t limit = INT64_C(1) << 48;
        int64_t begin = tn_tensor_int(pads, i), end = tn_tensor_int(pads, n + i);
        uint32_t axis = 0;
        TN_TRY(tn_axis_fix(list ? tn_tensor_int(list, i) : i, in->rank, &axis, diag));
        if (begin < -limit || begin > limit || end < -limit || end > limit)
            return tn_fail(diag, TN_INVALID_ARGUMENT, "'pads' holds %lld and %lld",
                (long long)begin, (long long)end);
        struct pad_axis *a = &axes[axis];
        int64_t cut_front = begin < 0 ? -begin : 0, cut_back = end < 0 ? -end : 0;
        a->out = a->out + begin + end;
        if (a->out < 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "negative pads remove more of axis %u than its size", axis);
        a->begin = begin > 0 ? begin : 0;
        a->from = cut_front < a->kept ? cut_front : a->kept;
        a->kept = a->kept - cut_front - cut_back;
        if (a->kept < 0) { /* one side crops into the other's padding */
            a->begin += a->kept;
            a->kept = 0;
            if (a->begin < 0) a->begin = 0;
        }
    }
    return TN_OK;
}

/* The source index within the kept part that output index i of an axis shows. */
static int64_t pad_source(const struct pad_axis *a, uint32_t mode, int64_t i) {
    int64_t at = i - a->begin, n = a->kept;
    if (mode == PAD_EDGE) at = at < 0 ? 0 : at >= n ? n - 1 : at;
    if (mode == PAD_WRAP) at = ((at % n) + n) % n;
    if (mode == PAD_REFLECT) {
        int64_t period = n > 1 ? 2 * (n - 1) : 1;
        at = ((at % period) + period) % period;
        if (at >= n) at = period - at;
    }
    return a->from + at;
}

/* Grows axis after axis: the part already there along one axis is copied to its padding,
 * slice by slice, from the last axis to the first. */
static tn_status pad_by_copies(const struct tn__kernel *kernel, struct tn_tensor *out,
    const struct pad_axis *axes, uint32_t mode, struct tn_diag *diag) {
    int64_t steps[TN_RANK_MAX], dims[TN_RANK_MAX];
    tn__dense_steps(out->dims, out->rank, steps);
    for (uint32_t axis = out->rank; axis-- > 0;) {
        const struct pad_axis *a = &axes[axis];
        for (uint32_t i = 0; i < out->rank; i++)
            dims[i] = i > axis ? axes[i].out : i == axis ? 1 : axes[i].kept;
        int64_t outer = 0;
        for (uint32_t i = 0; i < axis; i++)
            outer += axes[i].begin * steps[i];
        for (int64_t i = 0; i < a->out; i++) {
            struct tn__copy copy;
            if (i >= a->begin && i < a->begin + a->kept) {
                i = a->begin + a->kept - 1;
                continue;
            }
            int64_t from = pad_source(a, mode, i) - a->from + a->begin;
            TN_TRY(tn__copy_plan(&copy, out->dtype, out->rank, dims, steps, steps, diag));
            copy.dst_offset = outer + i * steps[axis];
            copy.src_offset = outer + from * steps[axis];
            tn__copy_run(kernel->host, &copy, out->data, out->data);
        }
    }
    return TN_OK;
}

static tn_status pad_fill(
    const struct tn_run_args *args, struct tn_tensor *out, struct tn_diag *diag) {
    static const uint64_t zero[2] = {0, 0};
    static const struct tn_string empty = {"", 0};
    const struct tn_tensor *value = tn_in(args, 2);
    const void *src = out->dtype == TN_STRING ? (const void *)&empty : (const void *)zero;
    if (value && (value->dtype != out->dtype || tn_tensor_count(value) < 1))
        return tn_fail(diag, TN_INVALID_ARGUMENT, "'constant_value' is not one %s",
            tn_dtype_name(out->dtype));
    if (value) src = value->data;
    tn__fill(out->data, 0, src, 0, tn_tensor_count(out), tn_dtype_bits(out->dtype));
    return TN_OK;
}

static tn_status compute_pad(void *object, const struct tn_run_args *args) {
    const struct pad_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0);
    struct tn_diag *diag = args->run->diag;
    struct pad_axis axes[TN_RANK_MAX];
    int64_t dims[TN_RANK_MAX], kept[TN_RANK_MAX], src_steps[TN_RANK_MAX],
        dst_steps[TN_RANK_MAX];
    struct tn_tensor *out;
    struct tn__copy copy;
    TN_TRY(tn_rank_check(in->rank, diag));
    TN_TRY(read_pads(args, axes, diag));
    for (uint32_t i = 0; i < in->rank; i++) {
        dims[i] = axes[i].out;
        kept[i] = axes[i].kept;
        if (kernel->mode != PAD_CONSTANT && kept[i] == 0 && dims[i] > 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "axis %u has no elements to pad with; use mode 'constant'", i);
    }
    TN_TRY(tn_out_shaped(args, 0, in->dtype, dims, in->rank, &out));
    if (tn_tensor_count(out) == 0) return TN_OK;
    tn__copy_clear(out);
    if (kernel->mode == PAD_CONSTANT) TN_TRY(pad_fill(args, out, diag));
    tn__dense_steps(in->dims, in->rank, src_steps);
    tn__dense_steps(dims, in->rank, dst_steps);
    TN_TRY(tn__copy_plan(&copy, in->dtype, in->rank, kept, dst_steps, src_steps, diag));
    for (uint32_t i = 0; i < in->rank; i++) {
        copy.dst_offset += axes[i].begin * dst_steps[i];
        copy.src_offset += axes[i].from * src_steps[i];
    }
    tn__copy_run(kernel->base.host, &copy, out->data, in->data);
    if (kernel->mode == PAD_CONSTANT) return TN_OK;
    return pad_by_copies(&kernel->base, out, axes, kernel->mode, diag);
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Slice"), TN_VERSIONS({1}, {10, 0, upgrade_slice_10}, {11}, {13}),
        TN_INPUTS({"data", "T"}, {"starts", "Tind"}, {"ends", "Tind"},
            {"axes", "Tind", 0, TN_FORMAL_OPTIONAL}, {"steps", "Tind", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_CLASSIC}, {"Tind", TN_TYPES_INDEX}),
        .infer = infer_slice, .elide = elide_slice},
    {TN_DEF("", "Pad"),
        TN_VERSIONS({1}, {2, 0, upgrade_pad_2}, {11, 0, upgrade_pad_11}, {13}, {18}, {19}, {21},
            {23}, {24}, {25}),
        TN_INPUTS({"data", "T"}, {"pads", NULL, TN_BIT(INT64)},
            {"constant_value", "T", 0, TN_FORMAL_OPTIONAL}, {"axes", "Tind", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_ALL}, {"Tind", TN_TYPES_INDEX}), TN_ATTRS(pad),
        .infer = infer_pad, .elide = elide_pad},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Slice", 13), .create = create_plain, .compute = compute_slice},
    {TN_KERNEL("", "Pad", 25), .create = create_pad, .compute = compute_pad},
};
/* clang-format on */

TN_FAMILY(slice_pad);
