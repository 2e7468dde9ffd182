/* RotaryEmbedding: pairs of numbers of each head turned by the angle of their position. */
#include "ops/body.h"
#include "ops/indices.h"
#include "ops/narrow.h"
#include "tenon/helper/parallel.h"

#include <stdbool.h>

/* clang-format off */
#define ROTARY_ATTRS(X, S) \
    X(S, INT, interleaved, 0) X(S, INT, num_heads, 0) X(S, INT, rotary_embedding_dim, 0)
TN_ATTR_TABLE(rotary, ROTARY_ATTRS)
/* clang-format on */

enum { INPUT_X, INPUT_COS, INPUT_SIN, INPUT_POSITIONS };

/* ---- sizes ------------------------------------------------------------------------------ */

struct size {
    int64_t batch, heads, length, head, turned; /* turned: numbers of a head that turn */
};

static tn_status head_size(const struct rotary_attrs *attrs, const int64_t *dims,
    int32_t rank, struct size *out, struct tn_diag *diag) {
    if (rank != 3 && rank != 4)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "the input has rank %d, expected 3 or 4", (int)rank);
    *out = (struct size){dims[0], dims[1], dims[rank - 2], dims[rank - 1], 0};
    if (rank == 3) {
        out->heads = attrs->num_heads;
        if (out->heads <= 0)
            return tn_fail(diag, TN_INVALID_MODEL,
                "an input of rank 3 needs the attribute 'num_heads'");
        if (out->head >= 0 && out->head % out->heads != 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "%lld numbers do not divide into %lld heads", (long long)out->head,
                (long long)out->heads);
        if (out->head >= 0) out->head /= out->heads;
    }
    out->turned = attrs->rotary_embedding_dim ? attrs->rotary_embedding_dim : out->head;
    bool odd = (out->turned >= 0 || attrs->rotary_embedding_dim) && out->turned % 2 != 0;
    if (odd || attrs->rotary_embedding_dim < 0 ||
        (out->head >= 0 && out->turned > out->head))
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "%lld of %lld numbers of a head cannot turn in pairs", (long long)out->turned,
            (long long)out->head);
    return TN_OK;
}

/* Shape of one of the caches, or of the positions. */
static tn_status check_shape(const int64_t *dims, int32_t rank, const int64_t *want,
    int32_t n, const char *name, struct tn_diag *diag) {
    if (rank != n)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "'%s' has rank %d, expected %d", name,
            (int)rank, (int)n);
    for (int32_t i = 0; i < n; i++) {
        if (dims[i] < 0 || want[i] < 0 || dims[i] == want[i]) continue;
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "'%s' has size %lld at axis %d, expected %lld", name, (long long)dims[i],
            (int)i, (long long)want[i]);
    }
    return TN_OK;
}

static tn_status check_input(const struct size *size, uint32_t i, bool positions,
    const int64_t *dims, int32_t rank, struct tn_diag *diag) {
    static const char *const names[] = {"X", "cos_cache", "sin_cache", "position_ids"};
    int64_t half = size->turned >= 0 ? size->turned / 2 : -1;
    const int64_t table[2] = {-1, half}, each[3] = {size->batch, size->length, half};
    if (i == INPUT_POSITIONS) return check_shape(dims, rank, each, 2, names[i], diag);
    return check_shape(
        dims, rank, positions ? table : each, positions ? 2 : 3, names[i], diag);
}

static tn_status infer_rotary(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct rotary_attrs attrs;
    struct size size;
    TN_TRY(TN_ATTRS_READ(rotary, infer->node, &attrs, infer->diag));
    if (x && x->rank >= 0) {
        bool positions = tn_infer_has(infer->node, INPUT_POSITIONS) != 0;
        TN_TRY(head_size(&attrs, x->dims, x->rank, &size, infer->diag));
        for (uint32_t i = INPUT_COS; i <= INPUT_POSITIONS; i++) {
            const struct tn_type *type = tn_infer_input(infer, i);
            if (type && type->rank >= 0)
                TN_TRY(check_input(
                    &size, i, positions, type->dims, type->rank, infer->diag));
        }
    }
    return tn_infer_like(infer, 0, 0);
}

/* ---- kernel ----------------------------------------------------------------------------- */

struct rotary {
    struct tn__kernel base;
    struct rotary_attrs attrs;
};

static tn_status create_rotary(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct rotary), out));
    struct rotary *rotary = *out;
    return tn_kernel_ready(
        TN_ATTRS_READ(rotary, ctx->node, &rotary->attrs, ctx->diag), out);
}

struct job {
    struct size size;
    bool packed, interleaved;
    const float *x, *cos, *sin;
    const struct tn_tensor *positions; /* NULL: the caches are in order */
    int64_t table;                     /* rows of the caches when there are positions */
    float *y;
};

static void turn(float *y, const float *x, const float *cos, const float *sin,
    int64_t half, bool interleaved) {
    int64_t apart = interleaved ? 1 : half, step = interleaved ? 2 : 1;
    for (int64_t i = 0; i < half; i++) {
        float a = x[i * step], b = x[i * step + apart];
        y[i * step] = cos[i] * a - sin[i] * b;
        y[i * step + apart] = sin[i] * a + cos[i] * b;
    }
}

/* Heads [begin, end) in the order of memory. */
static void turn_heads(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct size *s = &job->size;
    int64_t half = s->turned / 2;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t batch = i / (s->heads * s->length);
        int64_t at = job->packed ? i / s->heads % s->length : i % s->length;
        int64_t row = batch * s->length + at;
        if (job->positions) {
            row = tn_tensor_int(job->positions, row);
            if (row < 0) row += job->table;
        }
        const float *x = job->x + i * s->head;
        float *y = job->y + i * s->head;
        turn(y, x, job->cos + row * half, job->sin + row * half, half, job->interleaved);
        if (y == x || s->head == s->turned) continue;
        memcpy(y + s->turned, x + s->turned, (size_t)(s->head - s->turned) * sizeof *y);
    }
}

static tn_status compute_rotary(void *kernel, const struct tn_run_args *args) {
    const struct rotary *rotary = kernel;
    struct tn_diag *diag = args->run->diag;
    const struct tn_tensor *x = tn_in(args, INPUT_X), *cos = tn_in(args, INPUT_COS);
    struct job job = {.packed = x->rank == 3,
        .interleaved = rotary->attrs.interleaved != 0,
        .x = x->data,
        .cos = cos->data,
        .sin = tn_in(args, INPUT_SIN)->data,
        .positions = tn_in(args, INPUT_POSITIONS),
        .y = tn_out(args, 0)->data};
    TN_TRY(head_size(&rotary->attrs, x->dims, (int32_t)x->rank, &job.size, diag));
    for (uint32_t i = INPUT_COS; i <= INPUT_POSITIONS; i++) {
        const struct tn_tensor *t = tn_in(args, i);
        if (t)
            TN_TRY(check_input(
                &job.size, i, job.positions != NULL, t->dims, (int32_t)t->rank, diag));
    }
    job.table = cos->dims[0];
    if (job.positions && tn_in(args, INPUT_SIN)->dims[0] < job.table)
        job.table = tn_in(args, INPUT_SIN)->dims[0];
    for (int64_t i = 0; job.positions && i < tn_tensor_count(job.positions); i++) {
        int64_t position;
        TN_TRY(tn__index_at(job.positions, i, job.table, &position, diag));
    }
    tn_parallel(rotary->base.host, job.size.batch * job.size.heads * job.size.length,
        (double)job.size.head / 2 + 4, turn_heads, &job);
    return TN_OK;
}

/* ---- body ------------------------------------------------------------------------------- */

static tn_value_id part(
    struct tn__body *b, tn_value_id x, int64_t begin, int64_t end, int64_t step) {
    return TN_BODY_ADD(b, "Slice", x, TN_BODY_INTS(b, begin), TN_BODY_INTS(b, end),
        TN_BODY_INTS(b, 3), TN_BODY_INTS(b, step));
}

static tn_value_id swap_axes(struct tn__body *b, tn_value_id x) {
    static const int64_t order[] = {0, 2, 1, 3};
    const struct tn_attr perm = {"perm", TN_ATTR_INTS, 4, {.ints = order}, NULL};
    return tn__body_add(b, "Transpose", &x, 1, &perm, 1);
}

/* One of the caches with an axis for the heads. */
static tn_value_id cache(struct tn__body *b, tn_value_id value) {
    tn_value_id positions = tn__body_input(b, INPUT_POSITIONS);
    if (positions != TN_NO_ID) value = TN_BODY_ADD(b, "Gather", value, positions);
    return TN_BODY_ADD(b, "Unsqueeze", value, TN_BODY_INTS(b, 2));
}

static tn_status expand_rotary(const struct tn_rewrite *rw) {
    struct tn__body b;
    struct rotary_attrs attrs;
    struct size size;
    TN_TRY(tn__body_begin(&b, rw));
    TN_TRY(TN_ATTRS_READ(rotary, &b.node, &attrs, rw->diag));
    const struct tn_type *type = tn__body_type(&b, 0);
    if (type->kind != TN_KIND_TENSOR || type->rank < 0) return TN_UNSUPPORTED;
    bool packed = type->rank == 3;
    TN_TRY(head_size(&attrs, type->dims, type->rank, &size, rw->diag));
    if (size.turned < 0) return TN_UNSUPPORTED;
    int64_t half = size.turned / 2;
    tn_value_id shape = TN_BODY_ADD(&b, "Shape", b.inputs[0]);
    tn_value_id x = packed ? TN_BODY_ADD(&b, "Reshape", b.inputs[0],
                                 TN_BODY_INTS(&b, 0, 0, attrs.num_heads, -1))
                           : swap_axes(&b, b.inputs[0]);
    tn_value_id c = cache(&b, b.inputs[INPUT_COS]), s = cache(&b, b.inputs[INPUT_SIN]);
    bool mixed = attrs.interleaved != 0;
    tn_value_id x1 = part(&b, x, 0, mixed ? size.turned : half, mixed ? 2 : 1);
    tn_value_id x2 = part(&b, x, mixed ? 1 : half, size.turned, mixed ? 2 : 1);
    tn_value_id rest = part(&b, x, size.turned, INT64_MAX, 1);
    tn_value_id real = TN_BODY_ADD(
        &b, "Sub", TN_BODY_ADD(&b, "Mul", c, x1), TN_BODY_ADD(&b, "Mul", s, x2));
    tn_value_id imaginary = TN_BODY_ADD(
        &b, "Add", TN_BODY_ADD(&b, "Mul", s, x1), TN_BODY_ADD(&b, "Mul", c, x2));
    if (mixed) {
        tn_value_id last = TN_BODY_INTS(&b, -1);
        real = TN_BODY_ADD(&b, "Unsqueeze", real, last);
        imaginary = TN_BODY_ADD(&b, "Unsqueeze", imaginary, last);
    }
    tn_value_id y = TN_BODY_INT(&b, "Concat", "axis", -1, real, imaginary);
    if (mixed) y = TN_BODY_ADD(&b, "Reshape", y, TN_BODY_INTS(&b, 0, 0, 0, size.turned));
    y = TN_BODY_INT(&b, "Concat", "axis", -1, y, rest);
    y = packed ? TN_BODY_ADD(&b, "Reshape", y, shape) : swap_axes(&b, y);
    tn__body_output(&b, 0, y);
    return b.status;
}

/* ---- tables ----------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "RotaryEmbedding"), TN_VERSIONS({23}),
        TN_INPUTS({"X", "T"}, {"cos_cache", "T"}, {"sin_cache", "T"},
            {"position_ids", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"Y", "T"}),
        TN_TYPE_VARS({"T", TN_BIT(FLOAT) | TN_BIT(FLOAT16) | TN_BIT(BFLOAT16)}),
        TN_ATTRS(rotary), .infer = infer_rotary, .expand = expand_rotary},
};

#define SLOTS .create = create_rotary, .compute = compute_rotary
TN_NARROW(rotary, SLOTS)
static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "RotaryEmbedding", 23), TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)}), SLOTS},
    {TN_NARROW_KERNEL("", "RotaryEmbedding", 23, rotary),
        TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})},
};
/* clang-format on */

TN_FAMILY(rotary);
