/* Attention: softmax(scale Q·Kᵀ + bias)·V for every head.
 *
 * The work is cut into blocks of query rows of one head of K. Query heads that share a head
 * of K are rows of one product where their rows are evenly spaced. A block multiplies,
 * masks, normalises and multiplies again in a buffer of its worker; keys that the causal
 * frontier, the windows or the cache's length exclude are not touched unless the scores
 * themselves are an output. */
#include "ops/attention.h"
#include "loops/copy.h"
#include "ops/attention_product.h"
#include "ops/narrow.h"
#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

enum { BLOCK_ROWS = 64 };
enum { SCORES_RAW, SCORES_CAPPED, SCORES_BIASED, SCORES_SOFTMAX };

struct attention {
    struct tn__kernel base;
    struct attention_attrs attrs;
    bool scaled; /* attribute scale is there */
};

static tn_status create_attention(const struct tn_kernel_ctx *ctx, void **out) {
    if (!tn_infer_wants(ctx->node, 0))
        return tn_fail(ctx->diag, TN_INVALID_MODEL, "output 0 'Y' is omitted");
    TN_TRY(tn__kernel_create(ctx, sizeof(struct attention), out));
    struct attention *attention = *out;
    attention->scaled = tn_node_attr(ctx->node, "scale") != NULL;
    return tn_kernel_ready(
        tn__attention_attrs(ctx->node, &attention->attrs, ctx->diag), out);
}

/* ---- the plan of a shape set ------------------------------------------------------------- */

struct plan {
    struct tn__attention_size size;
    int64_t heads, group; /* heads worked on by themselves; heads of Q in one of them */
    int64_t rows, blocks; /* rows of a head, blocks of rows */
    uint64_t key, value;  /* where the joined K and V lie in the workspace, in elements */
    uint64_t buffer, each; /* where the workers' buffers begin; elements of one */
};

static int64_t plain_op(void *self, uint32_t op, int64_t a, int64_t b) {
    (void)self;
    if (op == TN_DIM_DIV) return b > 0 ? a / b : 0;
    return op == TN_DIM_MUL ? a * b : a + b; /* sizes of tensors that exist */
}

static tn_status make_plan(const struct attention *attention,
    const struct tn_run_args *args, struct plan *plan, struct tn_diag *diag) {
    struct tn_type types[7];
    bool known;
    for (uint32_t i = 0; i < 7; i++) {
        const struct tn_tensor *t = tn_in(args, i);
        types[i] = (struct tn_type){.kind = t ? TN_KIND_TENSOR : TN_KIND_ABSENT,
            .dtype = t ? t->dtype : 0,
            .rank = t ? (int32_t)t->rank : -1,
            .dims = t ? t->dims : NULL};
    }
    TN_TRY(tn__attention_size(
        &attention->attrs, types, 7, plain_op, NULL, &plan->size, &known, diag));
    const struct tn__attention_size *s = &plan->size;
    bool even = !s->packed || s->q_len == 1;
    plan->group = even && s->kv_heads > 0 ? s->q_heads / s->kv_heads : 1;
    plan->heads = even ? s->kv_heads : s->q_heads;
    plan->rows = plan->group * s->q_len;
    plan->blocks = (plan->rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    return TN_OK;
}

/* K and V are joined with their past, in an output or in the workspace. */
static bool joins(const struct tn_run_args *args, uint32_t output, uint32_t past) {
    return !tn_out(args, output) && tn_in(args, past);
}

static uint64_t rounded(int64_t elements) {
    return ((uint64_t)elements + 63) / 64 * 64;
}

static tn_status place(const struct attention *attention, const struct tn_run_args *args,
    struct plan *plan, uint64_t *out_total, struct tn_diag *diag) {
    const struct tn_host *host = attention->base.host;
    TN_TRY(make_plan(attention, args, plan, diag));
    const struct tn__attention_size *s = &plan->size;
    int64_t lines = s->batch * s->kv_heads * s->total_len, buffer;
    int64_t height = plan->rows < BLOCK_ROWS ? plan->rows : BLOCK_ROWS;
    const int64_t dims[2] = {height + 2, s->total_len + 64};
    if (!tn_shape_count(dims, 2, &buffer) || buffer > INT64_MAX / 4096)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "the scores do not fit the memory");
    plan->key = 0;
    plan->value = joins(args, 1, ATTENTION_PAST_KEY) ? rounded(lines * s->head) : 0;
    plan->buffer = plan->value;
    if (joins(args, 2, ATTENTION_PAST_VALUE)) plan->buffer += rounded(lines * s->v_head);
    plan->each = rounded(buffer);
    *out_total = plan->buffer + plan->each * host->worker_count(host->self);
    return TN_OK;
}

static tn_status workspace_attention(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    struct plan plan;
    uint64_t total;
    TN_TRY(place(kernel, args, &plan, &total, NULL));
    out->state = sizeof(struct plan);
    out->scratch = total * (tn_dtype_bits(tn_in(args, 0)->dtype) / 8);
    return TN_OK;
}

static tn_status prepare_attention(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    uint64_t total;
    (void)fn;
    return place(kernel, args, args->state, &total, diag);
}

/* ---- one call ---------------------------------------------------------------------------- */

/* Rows of one operand: where head h of batch b begins, and from row to row. */
struct rows {
    char *data;
    int64_t batch, head, row; /* elements */
};

struct job {
    const struct attention *attention;
    const struct tn__cpu *cpu;
    const struct plan *plan;
    struct rows q, k, v, y;
    const struct tn_tensor *mask, *seqlen;
    int64_t mask_step[3], mask_len; /* per batch, head, row; length of a line */
    char *scores;                   /* output qk_matmul_output, NULL: not wanted */
    char *buffers;
    double scale;
};

static struct rows rows_of(
    const struct tn_tensor *tensor, int64_t heads, int64_t length, int64_t head) {
    if (tensor->rank == 3)
        return (struct rows){tensor->data, length * heads * head, head, heads * head};
    return (struct rows){tensor->data, heads * length * head, length * head, head};
}

/* Joins past and new rows into dst, (batch, heads, total, head). */
static struct rows join(const struct job *job, void *dst, const struct tn_tensor *past,
    const struct tn_tensor *tensor, int64_t head, uint32_t bytes) {
    const struct tn__attention_size *s = &job->plan->size;
    const struct tn_host *host = job->attention->base.host;
    struct rows from = rows_of(tensor, s->kv_heads, s->kv_len, head);
    uint64_t line = (uint64_t)head * bytes, old = (uint64_t)s->past_len * line;
    uint64_t pitch = (uint64_t)s->total_len * line;
    int64_t lines = s->batch * s->kv_heads;
    if (past) tn__copy_rows(host, dst, pitch, past->data, old, old, lines);
    for (int64_t i = 0; i < lines; i++) {
        int64_t b = i / s->kv_heads, h = i % s->kv_heads;
        const char *src = from.data + (b * from.batch + h * from.head) * (int64_t)bytes;
        tn__copy_rows(host, (char *)dst + (uint64_t)i * pitch + old, line, src,
            (uint64_t)from.row * bytes, line, s->kv_len);
    }
    return (struct rows){
        dst, s->kv_heads * s->total_len * head, s->total_len * head, head};
}

/* K or V with its past, where the output or the workspace wants it joined. */
static struct rows whole(const struct job *job, const struct tn_run_args *args,
    uint32_t input, uint32_t past, uint32_t output, uint64_t at, uint32_t bytes) {
    const struct tn__attention_size *s = &job->plan->size;
    const struct tn_tensor *tensor = tn_in(args, input), *old = tn_in(args, past);
    struct tn_tensor *present = tn_out(args, output);
    int64_t head = input == ATTENTION_K ? s->head : s->v_head;
    if (present) return join(job, present->data, old, tensor, head, bytes);
    if (old)
        return join(job, (char *)args->workspace + at * bytes, old, tensor, head, bytes);
    return rows_of(tensor, s->kv_heads, s->kv_len, head);
}

static void bind_mask(struct job *job, const struct tn_tensor *mask) {
    int64_t step = 1;
    job->mask = mask;
    job->mask_len = job->plan->size.total_len;
    if (!mask) return;
    job->mask_len = mask->dims[mask->rank - 1];
    for (uint32_t i = 1; i < mask->rank; i++) {
        uint32_t axis = mask->rank - 1 - i;
        step *= mask->dims[axis + 1];
        job->mask_step[3 - i] = mask->dims[axis] == 1 ? 0 : step;
    }
}

static tn_status bind(struct job *job, const struct attention *attention,
    const struct tn_run_args *args, uint32_t bytes) {
    const struct plan *plan = args->state;
    const struct tn__attention_size *s = &plan->size;
    const struct tn_tensor *seqlen = tn_in(args, ATTENTION_SEQLEN);
    struct tn_tensor *scores = tn_out(args, 3);
    *job = (struct job){.attention = attention,
        .cpu = attention->base.cpu,
        .plan = plan,
        .seqlen = seqlen,
        .scores = scores ? scores->data : NULL,
        .buffers = (char *)args->workspace + plan->buffer * bytes,
        .scale = (double)attention->attrs.scale};
    for (int64_t b = 0; seqlen && b < s->batch; b++) {
        int64_t length = tn_tensor_int(seqlen, b);
        if (length < 0 || length > s->total_len)
            return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
                "'nonpad_kv_seqlen' is %lld for a cache of %lld keys", (long long)length,
                (long long)s->total_len);
    }
    if (!attention->scaled) job->scale = s->head > 0 ? 1 / sqrt((double)s->head) : 1;
    bind_mask(job, tn_in(args, ATTENTION_MASK));
    job->q = rows_of(tn_in(args, ATTENTION_Q), s->q_heads, s->q_len, s->head);
    job->y = rows_of(tn_out(args, 0), s->q_heads, s->q_len, s->v_head);
    job->k = whole(job, args, ATTENTION_K, ATTENTION_PAST_KEY, 1, plan->key, bytes);
    job->v = whole(job, args, ATTENTION_V, ATTENTION_PAST_VALUE, 2, plan->value, bytes);
    return TN_OK;
}

/* ---- a block of rows ---------------------------------------------------------------------- */

/* Rows of one block and the keys that any of them may see. */
struct block {
    int64_t batch, head; /* head: of K where heads are grouped, else of Q */
    int64_t first, rows;
    int64_t begin, end; /* keys */
    int64_t offset;     /* of query 0 among the keys */
    int64_t length;     /* keys that are no padding */
};

/* Keys [*begin, *end) that query i may see as far as positions tell. */
static void visible(const struct job *job, const struct block *block, int64_t i,
    int64_t *begin, int64_t *end) {
    const struct attention_attrs *attrs = &job->attention->attrs;
    int64_t at = block->offset + i, left = attrs->left_window_size;
    int64_t right = attrs->right_window_size, last = block->length;
    if (job->mask_len < last) last = job->mask_len;
    if (attrs->is_causal) right = 0;
    if (right >= 0 && right < last - at && at + right + 1 < last) last = at + right + 1;
    *end = last < 0 ? 0 : last;
    *begin = left >= 0 && at > left ? at - left : 0;
    if (*begin > *end) *begin = *end;
}

static struct block make_block(const struct job *job, int64_t index) {
    const struct plan *plan = job->plan;
    const struct tn__attention_size *s = &plan->size;
    int64_t head = index / plan->blocks, first = index % plan->blocks * BLOCK_ROWS, end;
    struct block block = {.batch = head / plan->heads,
        .head = head % plan->heads,
        .first = first,
        .rows = plan->rows - first < BLOCK_ROWS ? plan->rows - first : BLOCK_ROWS,
        .offset = s->past_len,
        .length = s->total_len};
    if (job->seqlen) {
        block.length = tn_tensor_int(job->seqlen, block.batch);
        block.offset = block.length - s->q_len;
    }
    block.end = s->total_len;
    if (job->scores) return block; /* all scores are wanted */
    int64_t from = first % s->q_len, to = from + block.rows - 1;
    if (to >= s->q_len) { /* rows of several heads */
        from = 0;
        to = s->q_len - 1;
    }
    visible(job, &block, from, &block.begin, &end);
    visible(job, &block, to, &end, &block.end);
    if (block.begin > block.end) block.begin = block.end;
    return block;
}

/* Elements before the line of the mask for head h and query i. */
static int64_t mask_at(
    const struct job *job, const struct block *block, int64_t h, int64_t i) {
    return block->batch * job->mask_step[0] + h * job->mask_step[1] +
           i * job->mask_step[2];
}

#define T float
#define ELEMENT TN_FLOAT
#define NAME(x) x##_f32
#define VMATH(cpu, name) (cpu)->vmath.f32[TN_VMATH_##name]
#define PRODUCT struct tn_gemm
#include "ops/attention_tmpl.h"
#define T double
#define ELEMENT TN_DOUBLE
#define NAME(x) x##_f64
#define VMATH(cpu, name) (cpu)->vmath.f64[TN_VMATH_##name]
#define PRODUCT struct tn__product_f64
#include "ops/attention_tmpl.h"

/* ---- tables ------------------------------------------------------------------------------ */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Attention"), TN_VERSIONS({23}, {24}, {25}),
        TN_INPUTS({"Q", "T1"}, {"K", "T1"}, {"V", "T2"},
            {"attn_mask", "U", 0, TN_FORMAL_OPTIONAL}, {"past_key", "T1", 0, TN_FORMAL_OPTIONAL},
            {"past_value", "T2", 0, TN_FORMAL_OPTIONAL},
            {"nonpad_kv_seqlen", NULL, TN_BIT(INT64), TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"Y", "T1"}, {"present_key", "T1", 0, TN_FORMAL_OPTIONAL},
            {"present_value", "T2", 0, TN_FORMAL_OPTIONAL},
            {"qk_matmul_output", "T1", 0, TN_FORMAL_OPTIONAL}),
        TN_TYPE_VARS({"T1", TN_TYPES_FLOATS}, {"T2", TN_TYPES_FLOATS},
            {"U", TN_TYPES_NUMBERS | TN_BIT(BOOL)}),
        TN_ATTRS(attention), .infer = tn__attention_infer, .expand = tn__attention_expand},
};

#define SLOTS(type) .create = create_attention, .workspace = workspace_attention, \
    .prepare = prepare_attention, .compute = attention_##type
#define BOTH(types) TN_KERNEL_TYPES({"T1", types}, {"T2", types})
TN_NARROW(attention, SLOTS(f32))
static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Attention", 25), BOTH(TN_BIT(FLOAT)), SLOTS(f32)},
    {TN_KERNEL("", "Attention", 25), BOTH(TN_BIT(DOUBLE)), SLOTS(f64)},
    {TN_NARROW_KERNEL("", "Attention", 25, attention), BOTH(TN_NARROW_TYPES | TN_BIT(FLOAT))},
};
/* clang-format on */

TN_FAMILY(attention);
