/* DFT and STFT: lines of a signal through ops/fourier.h, in f64 whatever the element type. */
#include "ops/doubles.h"
#include "ops/fourier.h"
#include "tenon/helper/parallel.h"

/* clang-format off */
#define DFT_ATTRS(X, S) X(S, INT, inverse, 0) X(S, INT, onesided, 0)
#define STFT_ATTRS(X, S) X(S, INT, onesided, 1)
/* clang-format on */
TN_ATTR_TABLE(dft, DFT_ATTRS)
TN_ATTR_TABLE(stft, STFT_ATTRS)

struct dft {
    struct tn__kernel base;
    bool inverse, onesided;
};

/* What one call transforms: every line alike. */
struct lines {
    struct tn__fourier plan;
    const double *x, *window; /* window NULL: none */
    double *y, *scratch;
    size_t each;             /* doubles of scratch a worker */
    bool inverse, hermitian; /* hermitian: the input is half of a symmetric spectrum */
    int64_t used, out;       /* elements read and written of a line */
    int64_t in_parts, out_parts; /* numbers of an element */
    /* Line i = (a, b) begins at a * pitch[0] + b * pitch[1], b < inner; elements of a line
     * lie `step` apart; all in numbers. */
    int64_t inner;
    int64_t in_pitch[2], in_step, out_pitch[2], out_step;
};

static void read_line(const struct lines *l, const double *x, double *line) {
    size_t n = l->plan.n;
    memset(line, 0, 2 * n * sizeof *line);
    for (size_t k = 0; k < (size_t)l->used; k++) {
        const double *from = x + (int64_t)k * l->in_step;
        double weight = l->window ? l->window[k] : 1;
        line[2 * k] = from[0] * weight;
        if (l->in_parts == 2) line[2 * k + 1] = from[1] * weight;
    }
    if (!l->hermitian) return;
    line[1] = 0;
    if (n % 2 == 0) line[n + 1] = 0;
    for (size_t k = 1; k < (n + 1) / 2; k++) {
        line[2 * (n - k)] = line[2 * k];
        line[2 * (n - k) + 1] = -line[2 * k + 1];
    }
}

static void run_lines(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct lines *l = arg;
    double *line = l->scratch + worker * l->each;
    double scale = l->inverse ? 1.0 / (double)l->plan.n : 1;
    for (int64_t i = begin; i < end; i++) {
        int64_t a = i / l->inner, b = i % l->inner;
        double *y = l->y + a * l->out_pitch[0] + b * l->out_pitch[1];
        read_line(l, l->x + a * l->in_pitch[0] + b * l->in_pitch[1], line);
        tn__fourier_run(&l->plan, line, line + 2 * l->plan.n, l->inverse);
        for (int64_t k = 0; k < l->out; k++)
            for (int64_t part = 0; part < l->out_parts; part++)
                y[k * l->out_step + part] = line[2 * k + part] * scale;
    }
}

static tn_status transform_lines(struct lines *l, const struct tn_host *host,
    const struct tn_run_args *args, int64_t count) {
    uint32_t workers = host->worker_count(host->self);
    l->each = 2 * l->plan.n + tn__fourier_scratch(&l->plan);
    if (l->each > (size_t)INT64_MAX / 16 / workers)
        return tn_fail(args->run->diag, TN_LIMIT_EXCEEDED,
            "a transform of %zu numbers is too large", l->plan.n);
    TN_TRY(tn__doubles_room(args, (int64_t)(l->each * workers), &l->scratch));
    double bits = 1, m = (double)l->plan.m * (l->plan.chirp ? 2 : 1);
    for (size_t n = l->plan.m; n > 1; n /= 2)
        bits++;
    tn_parallel(host, count, 20 + m * bits, run_lines, l);
    return TN_OK;
}

/* ---- DFT --------------------------------------------------------------------------------- */

static tn_status read_dft(
    const struct tn_node *node, bool *inverse, bool *onesided, struct tn_diag *diag) {
    struct dft_attrs attrs;
    TN_TRY(TN_ATTRS_READ(dft, node, &attrs, diag));
    *inverse = attrs.inverse != 0;
    *onesided = attrs.onesided != 0;
    return TN_OK;
}

/* The signal axis, which is never the last, and what the last one holds. */
static tn_status fix_axis(int64_t axis, int64_t rank, int64_t parts, bool real_only,
    uint32_t *out, struct tn_diag *diag) {
    if (rank < 2 || (parts >= 0 && parts != 1 && parts != 2))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "a signal of rank %lld whose last axis has size %lld, expected rank 2 or "
            "more and 1 (real) or 2 (complex)",
            (long long)rank, (long long)parts);
    if (real_only && parts == 2)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "a one-sided spectrum needs a real signal; set onesided to 0");
    TN_TRY(tn_axis_fix(axis, rank, out, diag));
    if (*out == rank - 1)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "axis %lld is the last one, which holds real and imaginary parts",
            (long long)axis);
    return TN_OK;
}

/* Length of the transform when it is not given. */
static int64_t default_length(int64_t signal, bool half_spectrum) {
    return half_spectrum ? 2 * (signal - 1) : signal;
}

static tn_status infer_dft(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    bool inverse, onesided;
    uint32_t n = 0, at = 0;
    int64_t dims[TN_RANK_MAX], axis = -2, length;
    TN_TRY(read_dft(infer->node, &inverse, &onesided, infer->diag));
    if (!x) return TN_OK;
    if (x->rank < 0) return tn_infer_set(infer, 0, x->dtype, -1, NULL);
    TN_TRY(tn_rank_check(x->rank, infer->diag));
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = TN_DIM_UNKNOWN;
    if (x->rank > 0) dims[x->rank - 1] = inverse && onesided ? 1 : 2;
    if (tn_infer_has(infer->node, 2)) {
        const int64_t *content = tn_infer_ints(infer, 2, &n);
        if (!content || n != 1 || tn_dim_is_symbol(content[0]))
            return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
        axis = content[0];
    }
    TN_TRY(fix_axis(axis, x->rank, x->rank ? x->dims[x->rank - 1] : 0,
        onesided && !inverse, &at, infer->diag));
    memcpy(dims, x->dims, (size_t)(x->rank - 1) * sizeof *dims);
    void *self = infer->self;
    length = dims[at];
    if (tn_infer_has(infer->node, 1)) {
        const int64_t *content = tn_infer_ints(infer, 1, &n);
        length = content && n == 1 ? content[0] : TN_DIM_UNKNOWN;
        if (length < 1 && !tn_dim_is_symbol(length))
            return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
                "dft_length is %lld, expected 1 or more", (long long)length);
    } else if (inverse && onesided) {
        length = infer->dim_op(self, TN_DIM_SUB, length, 1);
        length = infer->dim_op(self, TN_DIM_MUL, length, 2);
    }
    if (onesided && !inverse) {
        length = infer->dim_op(self, TN_DIM_DIV, length, 2);
        length = infer->dim_op(self, TN_DIM_ADD, length, 1);
    }
    dims[at] = length;
    return tn_infer_set(infer, 0, x->dtype, x->rank, dims);
}

static tn_status create_dft(const struct tn_kernel_ctx *ctx, void **out) {
    bool inverse, onesided;
    TN_TRY(read_dft(ctx->node, &inverse, &onesided, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct dft), out));
    ((struct dft *)*out)->inverse = inverse;
    ((struct dft *)*out)->onesided = onesided;
    return TN_OK;
}

/* The scalar that input i holds, `absent` when it is omitted. */
static tn_status read_scalar(const struct tn_run_args *args, uint32_t i, const char *name,
    int64_t absent, int64_t *out) {
    const struct tn_tensor *tensor = tn_in(args, i);
    *out = absent;
    if (!tensor) return TN_OK;
    if (tn_tensor_count(tensor) != 1)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "'%s' has %lld elements, expected a scalar", name,
            (long long)tn_tensor_count(tensor));
    *out = tn_tensor_int(tensor, 0);
    return TN_OK;
}

static tn_status compute_dft(void *object, const struct tn_run_args *args) {
    const struct dft *k = object;
    const struct tn_tensor *x = tn_in(args, 0);
    const struct tn_run *run = args->run;
    bool half_in = k->inverse && k->onesided, half_out = k->onesided && !k->inverse;
    int64_t dims[TN_RANK_MAX], axis, length;
    uint32_t at = 0, rank = x->rank;
    struct tn_tensor *y;
    TN_TRY(tn_rank_check(rank, run->diag));
    TN_TRY(read_scalar(args, 2, "axis", -2, &axis));
    TN_TRY(fix_axis(axis, rank, rank ? x->dims[rank - 1] : 0, half_out, &at, run->diag));
    TN_TRY(read_scalar(
        args, 1, "dft_length", default_length(x->dims[at], half_in), &length));
    if (length < 1)
        return tn_fail(run->diag, TN_INVALID_ARGUMENT,
            "a transform of length %lld, expected 1 or more", (long long)length);
    memcpy(dims, x->dims, rank * sizeof *dims);
    dims[at] = half_out ? length / 2 + 1 : length;
    dims[rank - 1] = half_in ? 1 : 2;
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, rank, &y));
    if (tn_tensor_count(y) == 0) return TN_OK;
    struct lines l = {.inverse = k->inverse, .hermitian = half_in};
    int64_t most = half_in ? length / 2 + 1 : length;
    l.used = x->dims[at] < most ? x->dims[at] : most;
    l.out = dims[at];
    l.in_parts = x->dims[rank - 1];
    l.out_parts = dims[rank - 1];
    l.inner = tn_dims_product(dims, at + 1, rank - 1);
    l.in_pitch[1] = l.in_parts;
    l.out_pitch[1] = l.out_parts;
    l.in_step = l.inner * l.in_parts;
    l.out_step = l.inner * l.out_parts;
    l.in_pitch[0] = x->dims[at] * l.in_step;
    l.out_pitch[0] = dims[at] * l.out_step;
    TN_TRY(tn__fourier_make(&l.plan, run, length));
    TN_TRY(tn__doubles_read(&k->base, args, x, &l.x));
    TN_TRY(tn__doubles_target(args, y, &l.y));
    TN_TRY(
        transform_lines(&l, k->base.host, args, tn_dims_product(dims, 0, at) * l.inner));
    tn__doubles_write(&k->base, y, l.y);
    return TN_OK;
}

/* Version 17 had the axis, 1 by default, in an attribute. */
static tn_status upgrade_dft_20(const struct tn_rewrite *rw) {
    const struct tn_attr *attr = tn_node_attr(rw->api->node(rw->graph, rw->node), "axis");
    tn_value_id value;
    void *data;
    if (attr && (attr->type != TN_ATTR_INT || attr->count != 1))
        return tn_fail(rw->diag, TN_INVALID_MODEL, "attribute 'axis' is no integer");
    int64_t axis = attr ? attr->as.ints[0] : 1;
    TN_TRY(rw->api->add_constant(
        rw->graph, "axis", TN_INT64, NULL, 0, &value, &data, rw->diag));
    memcpy(data, &axis, sizeof axis);
    TN_TRY(rw->api->set_input(rw->graph, rw->node, 2, value, rw->diag));
    if (attr) return rw->api->remove_attr(rw->graph, rw->node, "axis");
    return TN_OK;
}

/* ---- STFT -------------------------------------------------------------------------------- */

static tn_status check_signal(
    int64_t rank, int64_t parts, bool onesided, struct tn_diag *diag) {
    uint32_t axis = 0;
    if (rank != 3)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "the signal has rank %lld, expected 3",
            (long long)rank);
    return fix_axis(1, rank, parts, onesided, &axis, diag);
}

static int64_t known_scalar(const struct tn_infer *infer, uint32_t i) {
    uint32_t n = 0;
    const int64_t *content = tn_infer_ints(infer, i, &n);
    return content && n == 1 ? content[0] : TN_DIM_UNKNOWN;
}

static tn_status infer_stft(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0),
                         *window = tn_infer_input(infer, 2);
    struct stft_attrs attrs;
    int64_t dims[4] = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN, TN_DIM_UNKNOWN, 2};
    TN_TRY(TN_ATTRS_READ(stft, infer->node, &attrs, infer->diag));
    if (!x) return TN_OK;
    if (x->rank < 0) return tn_infer_set(infer, 0, x->dtype, 4, dims);
    TN_TRY(check_signal(
        x->rank, x->rank == 3 ? x->dims[2] : 0, attrs.onesided != 0, infer->diag));
    void *self = infer->self;
    int64_t step = known_scalar(infer, 1), length = x->dims[1];
    if (tn_infer_has(infer->node, 3))
        length = known_scalar(infer, 3);
    else if (tn_infer_has(infer->node, 2))
        length = window && window->rank == 1 ? window->dims[0] : TN_DIM_UNKNOWN;
    dims[0] = x->dims[0];
    dims[2] = length;
    if (attrs.onesided) {
        dims[2] = infer->dim_op(self, TN_DIM_DIV, length, 2);
        dims[2] = infer->dim_op(self, TN_DIM_ADD, dims[2], 1);
    }
    if (step >= 1) {
        int64_t room = infer->dim_op(self, TN_DIM_SUB, x->dims[1], length);
        room = infer->dim_op(self, TN_DIM_DIV, room, step);
        dims[1] = infer->dim_op(self, TN_DIM_ADD, room, 1);
    }
    for (int i = 1; i < 3; i++)
        if (dims[i] < 0 && !tn_dim_is_symbol(dims[i])) dims[i] = TN_DIM_UNKNOWN;
    return tn_infer_set(infer, 0, x->dtype, 4, dims);
}

static tn_status create_stft(const struct tn_kernel_ctx *ctx, void **out) {
    struct stft_attrs attrs;
    TN_TRY(TN_ATTRS_READ(stft, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct dft), out));
    ((struct dft *)*out)->onesided = attrs.onesided != 0;
    return TN_OK;
}

/* Step and length of the frames. */
static tn_status read_frames(
    const struct tn_run_args *args, int64_t *step, int64_t *length) {
    const struct tn_tensor *x = tn_in(args, 0), *window = tn_in(args, 2);
    struct tn_diag *diag = args->run->diag;
    TN_TRY(read_scalar(args, 1, "frame_step", 0, step));
    TN_TRY(read_scalar(args, 3, "frame_length",
        window && window->rank == 1 ? window->dims[0] : x->dims[1], length));
    if (*step < 1 || *length < 1 || *length > x->dims[1])
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "frames of %lld, %lld apart, in a signal of %lld: expected 1 or more of "
            "both, and frames no longer than the signal",
            (long long)*length, (long long)*step, (long long)x->dims[1]);
    if (window && (window->rank != 1 || window->dims[0] != *length))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the window has %lld elements for frames of %lld",
            (long long)tn_tensor_count(window), (long long)*length);
    return TN_OK;
}

static tn_status compute_stft(void *object, const struct tn_run_args *args) {
    const struct dft *k = object;
    const struct tn_tensor *x = tn_in(args, 0), *window = tn_in(args, 2);
    int64_t step, length;
    struct tn_tensor *y;
    TN_TRY(check_signal(
        x->rank, x->rank == 3 ? x->dims[2] : 0, k->onesided, args->run->diag));
    TN_TRY(read_frames(args, &step, &length));
    int64_t frames = (x->dims[1] - length) / step + 1;
    const int64_t dims[4] = {
        x->dims[0], frames, k->onesided ? length / 2 + 1 : length, 2};
    TN_TRY(tn_out_shaped(args, 0, x->dtype, dims, 4, &y));
    if (tn_tensor_count(y) == 0) return TN_OK;
    struct lines l = {.used = length, .out = dims[2], .out_parts = 2, .inner = frames};
    l.in_parts = l.in_step = x->dims[2];
    l.out_step = 2;
    l.in_pitch[0] = x->dims[1] * l.in_parts;
    l.in_pitch[1] = step * l.in_parts;
    l.out_pitch[1] = dims[2] * 2;
    l.out_pitch[0] = frames * l.out_pitch[1];
    TN_TRY(tn__fourier_make(&l.plan, args->run, length));
    TN_TRY(tn__doubles_read(&k->base, args, x, &l.x));
    if (window) TN_TRY(tn__doubles_read(&k->base, args, window, &l.window));
    TN_TRY(tn__doubles_target(args, y, &l.y));
    TN_TRY(transform_lines(&l, k->base.host, args, dims[0] * frames));
    tn__doubles_write(&k->base, y, l.y);
    return TN_OK;
}

/* ---- tables ------------------------------------------------------------------------------ */

/* clang-format off */
#define OPTIONAL TN_FORMAL_OPTIONAL
#define SIGNAL_TYPES TN_TYPE_VARS({"T1", TN_TYPES_FLOATS}, {"T2", TN_TYPES_INDEX})
static const struct tn_op_def defs[] = {
    {TN_DEF("", "DFT"), TN_VERSIONS({17}, {20, 0, upgrade_dft_20}),
        TN_INPUTS({"input", "T1"}, {"dft_length", "T2", 0, OPTIONAL},
            {"axis", NULL, TN_BIT(INT64), OPTIONAL}),
        TN_OUTPUTS({"output", "T1"}), SIGNAL_TYPES, TN_ATTRS(dft), .infer = infer_dft},
    {TN_DEF("", "STFT"), TN_VERSIONS({17}),
        TN_INPUTS({"signal", "T1"}, {"frame_step", "T2"}, {"window", "T1", 0, OPTIONAL},
            {"frame_length", "T2", 0, OPTIONAL}),
        TN_OUTPUTS({"output", "T1"}), SIGNAL_TYPES, TN_ATTRS(stft), .infer = infer_stft},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "DFT", 20), .create = create_dft, .compute = compute_dft},
    {TN_KERNEL("", "STFT", 17), .create = create_stft, .compute = compute_stft},
};
/* clang-format on */

TN_FAMILY(dft);
