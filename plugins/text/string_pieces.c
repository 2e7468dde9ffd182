/* StringConcat and StringSplit. Pieces of a string share its bytes. */
#define _GNU_SOURCE /* memmem: linear whatever the delimiter */
#include "tenon/helper/broadcast.h"
#include "text.h"
#include "utf8.h"

/* clang-format off */
#define SPLIT_ATTRS(X, S) X(S, STRING, delimiter, "") X(S, INT, maxsplit, INT64_MAX)
/* clang-format on */
TN_ATTR_TABLE(split, SPLIT_ATTRS)

/* Bytes of the white space character that text begins with, 0 when it is none. */
static size_t space_at(const char *text, size_t size) {
    size_t n;
    uint32_t c = tn__utf8_decode(text, size, &n);
    bool space = (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 ||
                 c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
                 c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
    return space ? n : 0;
}

/* ---- StringConcat ------------------------------------------------------------------------ */

static tn_status infer_concat(const struct tn_infer *infer) {
    return tn_infer_broadcast(infer, TN_STRING, 0, 2);
}

static tn_status create_concat(const struct tn_kernel_ctx *ctx, void **out) {
    return tn_kernel_create(ctx, sizeof(struct tn_kernel_head), out);
}

/* An operand that is broadcast to the output: elements to step on each of its axes. */
struct operand {
    const struct tn_string *at;
    int64_t steps[TN_RANK_MAX];
};

static void broadcast(
    struct operand *operand, const struct tn_tensor *x, const struct tn_tensor *z) {
    int64_t step = 1;
    operand->at = x->data;
    for (uint32_t d = z->rank, i = x->rank; d-- > 0;) {
        int64_t dim = i > 0 ? x->dims[--i] : 1;
        operand->steps[d] = dim == 1 ? 0 : step;
        step *= dim;
    }
}

/* Joins all pairs; bytes NULL: only sums their sizes. */
static uint64_t concat(
    struct operand x, struct operand y, const struct tn_tensor *z, char *bytes) {
    struct tn_string *out = z->data;
    int64_t index[TN_RANK_MAX] = {0}, n = tn_tensor_count(z);
    uint64_t used = 0;
    for (int64_t i = 0; i < n; i++) {
        if (bytes) {
            char *to = bytes + used;
            if (x.at->size) memcpy(to, x.at->data, x.at->size);
            if (y.at->size) memcpy(to + x.at->size, y.at->data, y.at->size);
            out[i] = (struct tn_string){to, x.at->size + y.at->size};
        }
        used += x.at->size + y.at->size;
        for (uint32_t d = z->rank; i + 1 < n && d-- > 0;) {
            x.at += x.steps[d];
            y.at += y.steps[d];
            if (++index[d] < z->dims[d]) break;
            x.at -= x.steps[d] * z->dims[d];
            y.at -= y.steps[d] * z->dims[d];
            index[d] = 0;
        }
    }
    return used;
}

static tn_status compute_concat(void *object, const struct tn_run_args *args) {
    const struct tn_run *run = args->run;
    struct tn_tensor *z = tn_out(args, 0);
    struct operand x, y;
    (void)object;
    if (!z) return tn_fail(run->diag, TN_INTERNAL, "the output's shape is not known");
    broadcast(&x, tn_in(args, 0), z);
    broadcast(&y, tn_in(args, 1), z);
    uint64_t size = concat(x, y, z, NULL);
    char *bytes = run->alloc(run, size ? size : 1, 1);
    if (!bytes)
        return tn_fail(run->diag, TN_OUT_OF_MEMORY, "no memory for %llu bytes of text",
            (unsigned long long)size);
    (void)concat(x, y, z, bytes);
    return TN_OK;
}

/* ---- StringSplit ------------------------------------------------------------------------- */

struct split {
    struct tn_kernel_head base;
    struct tn_string delimiter;
    int64_t most; /* splits */
};

static tn_status infer_split(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    int64_t dims[TN_RANK_MAX];
    if (!x || x->rank < 0) {
        TN_TRY(tn_infer_set(infer, 1, TN_INT64, -1, NULL));
        return tn_infer_set(infer, 0, TN_STRING, -1, NULL);
    }
    TN_TRY(tn_rank_check((int64_t)x->rank + 1, infer->diag));
    if (x->rank) memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[x->rank] = TN_DIM_UNKNOWN;
    TN_TRY(tn_infer_set(infer, 1, TN_INT64, x->rank, dims));
    return tn_infer_set(infer, 0, TN_STRING, x->rank + 1, dims);
}

static tn_status create_split(const struct tn_kernel_ctx *ctx, void **out) {
    struct split_attrs attrs;
    TN_TRY(TN_ATTRS_READ(split, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn_kernel_create(ctx, sizeof(struct split), out));
    struct split *k = *out;
    k->delimiter = attrs.delimiter;
    k->most = attrs.maxsplit < 0 ? INT64_MAX : attrs.maxsplit;
    return TN_OK;
}

/* Splits at the delimiter; pieces[] may be NULL to count only. */
static int64_t split_at(
    const struct split *k, struct tn_string text, struct tn_string *pieces) {
    const char *from = text.data, *end = from + text.size;
    int64_t n = 0;
    while (n < k->most) {
        const char *hit =
            memmem(from, (size_t)(end - from), k->delimiter.data, k->delimiter.size);
        if (!hit) break;
        if (pieces) pieces[n] = (struct tn_string){from, (uint64_t)(hit - from)};
        n++;
        from = hit + k->delimiter.size;
    }
    if (pieces) pieces[n] = (struct tn_string){from, (uint64_t)(end - from)};
    return n + 1;
}

/* Splits at stretches of white space; the last piece of a full count keeps its own. */
static int64_t split_words(
    const struct split *k, struct tn_string text, struct tn_string *pieces) {
    const char *at = text.data, *end = at + text.size;
    int64_t n = 0;
    for (;;) {
        size_t space;
        while (at < end && (space = space_at(at, (size_t)(end - at))) > 0)
            at += space;
        if (at >= end) return n;
        const char *word = at;
        if (n == k->most) at = end;
        while (at < end && space_at(at, (size_t)(end - at)) == 0)
            at++;
        if (pieces) pieces[n] = (struct tn_string){word, (uint64_t)(at - word)};
        n++;
    }
}

static int64_t split_text(
    const struct split *k, struct tn_string text, struct tn_string *pieces) {
    static const char empty[] = "";
    if (text.size == 0) text.data = empty;
    return k->delimiter.size ? split_at(k, text, pieces) : split_words(k, text, pieces);
}

static tn_status compute_split(void *object, const struct tn_run_args *args) {
    const struct split *k = object;
    const struct tn_tensor *x = tn_in(args, 0);
    const struct tn_string *texts = x->data;
    int64_t dims[TN_RANK_MAX], n = tn_tensor_count(x), most = 0, total;
    struct tn_tensor *y, *z;
    TN_TRY(tn_rank_check((int64_t)x->rank + 1, args->run->diag));
    if (x->rank) memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (int64_t i = 0; i < n; i++) {
        int64_t pieces = split_text(k, texts[i], NULL);
        if (pieces > most) most = pieces;
    }
    dims[x->rank] = most;
    if (!tn_shape_count(dims, x->rank + 1, &total))
        return tn_fail(args->run->diag, TN_LIMIT_EXCEEDED, "too many pieces of text");
    TN_TRY(tn_out_shaped(args, 0, TN_STRING, dims, x->rank + 1, &y));
    struct tn_string *pieces = y->data;
    if (total > 0) memset(pieces, 0, (size_t)total * sizeof *pieces);
    int64_t *counts = NULL;
    if (args->n_outputs > 1 && args->outputs[1].kind == TN_KIND_TENSOR) {
        TN_TRY(tn_out_shaped(args, 1, TN_INT64, x->dims, x->rank, &z));
        counts = z->data;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t count = split_text(k, texts[i], pieces + i * most);
        if (counts) counts[i] = count;
    }
    return TN_OK;
}

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "StringConcat"), TN_VERSIONS({20}), TN_INPUTS({"X", "T"}, {"Y", "T"}),
        TN_OUTPUTS({"Z", "T"}), TN_TYPE_VARS({"T", TN_BIT(STRING)}), .infer = infer_concat},
    {TN_DEF("", "StringSplit"), TN_VERSIONS({20}), TN_INPUTS({"X", "T1"}),
        TN_OUTPUTS({"Y", "T2"}, {"Z", "T3"}),
        TN_TYPE_VARS({"T1", TN_BIT(STRING)}, {"T2", TN_BIT(STRING)}, {"T3", TN_BIT(INT64)}),
        TN_ATTRS(split), .infer = infer_split},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL_OF("", "StringConcat", 20), .create = create_concat, .compute = compute_concat},
    {TN_KERNEL_OF("", "StringSplit", 20), .create = create_split, .compute = compute_split},
};
/* clang-format on */

TN_FAMILY(string_pieces);
