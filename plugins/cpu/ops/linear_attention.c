/* LinearAttention: a matrix per head that every token updates and every query reads.
 *
 * Columns of the state do not depend on each other: the work is cut into blocks of columns
 * of one head, each of which walks through all tokens. The state lives in its output. */
#include "ops/narrow.h"
#include "ops/sizes.h"
#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdbool.h>

/* clang-format off */
#define LINEAR_ATTRS(X, S) \
    X(S, INT, chunk_size, 64) X(S, INT_REQUIRED, kv_num_heads, ) \
    X(S, INT_REQUIRED, q_num_heads, ) X(S, FLOAT, scale, 0) \
    X(S, STRING, update_rule, "gated_delta")
TN_ATTR_TABLE(linear, LINEAR_ATTRS)
/* clang-format on */

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA, N_INPUTS };
enum { COLUMNS = 64, RUN = 64 }; /* columns of a block, exponentials taken together */

static const char *const input_names[N_INPUTS] = {
    "query", "key", "value", "past_state", "decay", "beta"};

/* ---- attributes and sizes ---------------------------------------------------------------- */

struct rule {
    bool gated, delta;
};

static tn_status read_attrs(const struct tn_node *node, struct linear_attrs *attrs,
    struct rule *rule, struct tn_diag *diag) {
    static const char *const names[] = {"linear", "gated", "delta", "gated_delta"};
    uint32_t i = 0;
    TN_TRY(TN_ATTRS_READ(linear, node, attrs, diag));
    while (i < 4 && !tn_string_is(attrs->update_rule, names[i]))
        i++;
    if (i == 4)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'update_rule' is none of linear, gated, delta, gated_delta");
    *rule = (struct rule){(i & 1) != 0, (i & 2) != 0};
    if (attrs->kv_num_heads <= 0 || attrs->q_num_heads <= 0 ||
        attrs->q_num_heads % attrs->kv_num_heads != 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "%lld heads of queries do not share %lld heads of keys evenly",
            (long long)attrs->q_num_heads, (long long)attrs->kv_num_heads);
    if ((tn_infer_has(node, DECAY) != 0) != rule->gated ||
        (tn_infer_has(node, BETA) != 0) != rule->delta)
        return tn_fail(diag, TN_INVALID_MODEL, "the rule '%s' %s 'decay' and %s 'beta'",
            names[i], rule->gated ? "needs" : "excludes",
            rule->delta ? "needs" : "excludes");
    return TN_OK;
}

struct size {
    int64_t batch, length, key, value; /* key, value: length of a head; -1 unknown */
    bool decay_each;                   /* a decay for each key, not for each head */
    bool beta_each;                    /* a beta for each head, not for all */
};

static tn_status head_length(int64_t *length, int64_t hidden, int64_t heads,
    const char *name, struct tn_diag *diag) {
    if (hidden < 0) return TN_OK;
    if (hidden % heads != 0)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "%lld numbers of '%s' do not divide into %lld heads", (long long)hidden, name,
            (long long)heads);
    return tn__size_same(length, hidden / heads, "the length of a head", diag);
}

/* Adds what input i says; dims may hold symbols. */
static tn_status add_input(struct size *size, const struct linear_attrs *attrs,
    uint32_t i, const int64_t *dims, int32_t rank, struct tn_diag *diag) {
    int64_t heads = attrs->kv_num_heads, all = heads;
    if (rank != (i == PAST ? 4 : 3))
        return tn_fail(diag, TN_INVALID_ARGUMENT, "'%s' has rank %d, expected %d",
            input_names[i], (int)rank, i == PAST ? 4 : 3);
    TN_TRY(tn__size_same(&size->batch, dims[0], "the batch", diag));
    if (i == PAST) {
        TN_TRY(tn__size_same(&all, dims[1], "the number of heads of 'past_state'", diag));
        TN_TRY(tn__size_same(&size->key, dims[2], "the length of a head", diag));
        return tn__size_same(&size->value, dims[3], "the length of a head", diag);
    }
    TN_TRY(tn__size_same(&size->length, dims[1], "the sequence", diag));
    if (i == QUERY || i == KEY)
        return head_length(&size->key, dims[2], i == QUERY ? attrs->q_num_heads : heads,
            input_names[i], diag);
    if (i == VALUE) return head_length(&size->value, dims[2], heads, "value", diag);
    if (i == BETA) {
        size->beta_each = dims[2] != 1;
        return dims[2] == 1
                   ? TN_OK
                   : tn__size_same(&all, dims[2], "the last axis of 'beta'", diag);
    }
    size->decay_each = dims[2] != heads;
    return dims[2] == heads ? TN_OK
                            : head_length(&size->key, dims[2], heads, "decay", diag);
}

static tn_status infer_linear(const struct tn_infer *infer) {
    const struct tn_node *node = infer->node;
    const struct tn_type *query = tn_infer_input(infer, QUERY);
    struct linear_attrs attrs;
    struct rule rule;
    struct size size = {-1, -1, -1, -1, false, false};
    TN_TRY(read_attrs(node, &attrs, &rule, infer->diag));
    for (uint32_t i = 0; i < N_INPUTS; i++) {
        const struct tn_type *type = tn_infer_input(infer, i);
        if (type && type->rank >= 0)
            TN_TRY(add_input(&size, &attrs, i, type->dims, type->rank, infer->diag));
    }
    if (!query) return TN_OK;
    const struct tn_type *past = tn_infer_input(infer, PAST);
    int64_t batch = size.batch, length = size.length, hidden = TN_DIM_UNKNOWN;
    if (query->rank == 3) {
        batch = batch < 0 ? query->dims[0] : batch;
        length = length < 0 ? query->dims[1] : length;
    }
    if (size.value >= 0)
        hidden = infer->dim_op(infer->self, TN_DIM_MUL, attrs.q_num_heads, size.value);
    int64_t key = size.key < 0 ? TN_DIM_UNKNOWN : size.key;
    int64_t value = size.value < 0 ? TN_DIM_UNKNOWN : size.value;
    const int64_t out[3] = {batch < 0 && query->rank != 3 ? TN_DIM_UNKNOWN : batch,
        length < 0 && query->rank != 3 ? TN_DIM_UNKNOWN : length, hidden};
    const int64_t state[4] = {out[0], attrs.kv_num_heads, key, value};
    TN_TRY(tn_infer_set(infer, 0, query->dtype, 3, out));
    if (tn_infer_has(node, PAST) && !past) return TN_OK;
    return tn_infer_set(infer, 1, past ? past->dtype : query->dtype, 4, state);
}

/* ---- kernel ----------------------------------------------------------------------------- */

struct linear {
    struct tn__kernel base;
    struct linear_attrs attrs;
    struct rule rule;
};

static tn_status create_linear(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct linear), out));
    struct linear *linear = *out;
    return tn_kernel_ready(
        read_attrs(ctx->node, &linear->attrs, &linear->rule, ctx->diag), out);
}

static tn_status workspace_linear(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct linear *linear = kernel;
    const struct tn_tensor *query = tn_in(args, QUERY), *value = tn_in(args, VALUE);
    if (tn_out(args, 1) || query->rank != 3 || value->rank != 3) return TN_OK;
    /* the state when it is no output: at most the product of two rows for each head */
    uint64_t hidden = (uint64_t)(query->dims[2] / linear->attrs.q_num_heads);
    out->scratch = (uint64_t)query->dims[0] * hidden * (uint64_t)value->dims[2] * 4;
    return TN_OK;
}

struct job {
    const struct linear *linear;
    const float *in[N_INPUTS];
    float *out, *state;
    struct size size;
    float scale;
    int64_t blocks; /* of columns in one head */
};

/* Rows of the state, `n` columns at s, fade by the decay of this token. */
static void fade(const struct job *job, float *s, int64_t row, int64_t head, int64_t n) {
    const struct size *size = &job->size;
    int64_t heads = job->linear->attrs.kv_num_heads;
    tn_unary_fn *exp_run = job->linear->base.cpu->vmath.f32[TN_VMATH_EXP];
    float factor[RUN];
    for (int64_t d = 0; d < size->key; d += RUN) {
        int64_t count = size->key - d < RUN ? size->key - d : RUN;
        const float *g = job->in[DECAY] + row * heads + head;
        if (size->decay_each) g = job->in[DECAY] + (row * heads + head) * size->key + d;
        exp_run(factor, g, size->decay_each ? (size_t)count : 1, NULL);
        for (int64_t i = 0; i < count; i++) {
            float f = factor[size->decay_each ? i : 0];
            for (int64_t m = 0; m < n; m++)
                s[(d + i) * size->value + m] *= f;
        }
    }
}

/* y[m] = sum over d of x[d] * s[d][m]. */
static void read_state(
    const struct job *job, float *y, const float *x, const float *s, int64_t n) {
    for (int64_t m = 0; m < n; m++)
        y[m] = 0;
    for (int64_t d = 0; d < job->size.key; d++)
        for (int64_t m = 0; m < n; m++)
            y[m] += x[d] * s[d * job->size.value + m];
}

/* One token: row = batch * length + time. */
static void token(const struct job *job, float *s, int64_t row, int64_t head,
    int64_t column, int64_t n) {
    const struct size *size = &job->size;
    const struct linear_attrs *attrs = &job->linear->attrs;
    int64_t heads = attrs->kv_num_heads, group = attrs->q_num_heads / heads;
    const float *k = job->in[KEY] + (row * heads + head) * size->key;
    const float *v = job->in[VALUE] + (row * heads + head) * size->value + column;
    float fresh[COLUMNS];
    if (job->linear->rule.gated) fade(job, s, row, head, n);
    if (job->linear->rule.delta) {
        float beta = job->in[BETA][size->beta_each ? row * heads + head : row];
        read_state(job, fresh, k, s, n);
        for (int64_t m = 0; m < n; m++)
            fresh[m] = beta * (v[m] - fresh[m]);
        v = fresh;
    }
    for (int64_t d = 0; d < size->key; d++)
        for (int64_t m = 0; m < n; m++)
            s[d * size->value + m] += k[d] * v[m];
    for (int64_t h = head * group; h < (head + 1) * group; h++) {
        int64_t at = row * attrs->q_num_heads + h;
        float *y = job->out + at * size->value + column;
        read_state(job, y, job->in[QUERY] + at * size->key, s, n);
        for (int64_t m = 0; m < n; m++)
            y[m] *= job->scale;
    }
}

static void run_blocks(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct size *size = &job->size;
    int64_t heads = job->linear->attrs.kv_num_heads;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t line = i / job->blocks, column = i % job->blocks * COLUMNS;
        int64_t n = size->value - column < COLUMNS ? size->value - column : COLUMNS;
        int64_t at = line * size->key * size->value + column;
        for (int64_t d = 0; d < size->key; d++) {
            float *s = job->state + at + d * size->value;
            const float *past = job->in[PAST] ? job->in[PAST] + (s - job->state) : NULL;
            if (past)
                memcpy(s, past, (size_t)n * sizeof *s);
            else
                memset(s, 0, (size_t)n * sizeof *s);
        }
        for (int64_t t = 0; t < size->length; t++)
            token(job, job->state + at, line / heads * size->length + t, line % heads,
                column, n);
    }
}

static tn_status compute_linear(void *kernel, const struct tn_run_args *args) {
    const struct linear *linear = kernel;
    struct tn_tensor *state = tn_out(args, 1);
    struct job job = {.linear = linear,
        .out = tn_out(args, 0)->data,
        .state = state ? state->data : args->workspace,
        .size = {-1, -1, -1, -1, false, false},
        .scale = linear->attrs.scale};
    struct size *size = &job.size;
    for (uint32_t i = 0; i < N_INPUTS; i++) {
        const struct tn_tensor *t = tn_in(args, i);
        if (!t) continue;
        job.in[i] = t->data;
        TN_TRY(add_input(
            size, &linear->attrs, i, t->dims, (int32_t)t->rank, args->run->diag));
    }
    if (job.scale == 0) job.scale = 1 / sqrtf((float)size->key);
    job.blocks = (size->value + COLUMNS - 1) / COLUMNS;
    double each = (double)size->length * (double)size->key * COLUMNS / 2;
    tn_parallel(linear->base.host, size->batch * linear->attrs.kv_num_heads * job.blocks,
        each, run_blocks, &job);
    return TN_OK;
}

/* ---- tables ----------------------------------------------------------------------------- */

/* clang-format off */
#define THREE (TN_BIT(FLOAT) | TN_BIT(FLOAT16) | TN_BIT(BFLOAT16))
static const struct tn_op_def defs[] = {
    {TN_DEF("", "LinearAttention"), TN_VERSIONS({27}),
        TN_INPUTS({"query", "T"}, {"key", "T"}, {"value", "T"},
            {"past_state", "S", 0, TN_FORMAL_OPTIONAL}, {"decay", "T", 0, TN_FORMAL_OPTIONAL},
            {"beta", "T", 0, TN_FORMAL_OPTIONAL}),
        TN_OUTPUTS({"output", "T"}, {"present_state", "S"}),
        TN_TYPE_VARS({"T", THREE}, {"S", THREE}), TN_ATTRS(linear), .infer = infer_linear},
};

#define SLOTS .create = create_linear, .workspace = workspace_linear, .compute = compute_linear
TN_NARROW(linear, SLOTS)
static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "LinearAttention", 27),
        TN_KERNEL_TYPES({"T", TN_BIT(FLOAT)}, {"S", TN_BIT(FLOAT)}), SLOTS},
    {TN_NARROW_KERNEL("", "LinearAttention", 27, linear),
        TN_KERNEL_TYPES({"T", THREE}, {"S", THREE})},
};
/* clang-format on */

TN_FAMILY(linear_attention);
