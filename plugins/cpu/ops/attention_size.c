/* Attention: attributes, sizes and inference. */
#include "ops/attention.h"

#include <math.h>

tn_status tn__attention_attrs(
    const struct tn_node *node, struct attention_attrs *out, struct tn_diag *diag) {
    TN_TRY(TN_ATTRS_READ(attention, node, out, diag));
    int64_t precision = out->softmax_precision;
    if (out->left_window_size < -1 || out->right_window_size < -1)
        return tn_fail(diag, TN_INVALID_MODEL,
            "a window of %lld to the left and %lld to the right: expected -1 or more",
            (long long)out->left_window_size, (long long)out->right_window_size);
    if (out->qk_matmul_output_mode < 0 || out->qk_matmul_output_mode > 3)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'qk_matmul_output_mode' is %lld, expected 0 to 3",
            (long long)out->qk_matmul_output_mode);
    if (precision < 0 || precision >= TN_DTYPE_COUNT ||
        (precision && !(TN_TYPES_FLOATS >> precision & 1)))
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'softmax_precision' is %lld, which is none of the float types",
            (long long)precision);
    if (!isfinite(out->scale) || !(out->softcap >= 0) || out->q_num_heads < 0 ||
        out->kv_num_heads < 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "scale %g, softcap %g and %lld and %lld heads: expected numbers that are "
            "finite and not negative",
            (double)out->scale, (double)out->softcap, (long long)out->q_num_heads,
            (long long)out->kv_num_heads);
    bool past = tn_infer_has(node, ATTENTION_PAST_KEY);
    if (past != (tn_infer_has(node, ATTENTION_PAST_VALUE) != 0))
        return tn_fail(
            diag, TN_INVALID_MODEL, "'past_key' and 'past_value' go together only");
    if (past && tn_infer_has(node, ATTENTION_SEQLEN))
        return tn_fail(diag, TN_INVALID_MODEL,
            "'nonpad_kv_seqlen' is for caches outside of the node: it excludes "
            "'past_key'");
    return TN_OK;
}

/* ---- sizes ------------------------------------------------------------------------------ */

struct sizer {
    int64_t (*dim_op)(void *self, uint32_t op, int64_t a, int64_t b);
    void *self;
    struct tn_diag *diag;
};

/* *a, which must be b too where both are known. */
static tn_status same(
    const struct sizer *s, int64_t *a, int64_t b, const char *what, const char *of) {
    if (*a >= 0 && b >= 0 && *a != b)
        return tn_fail(s->diag, TN_INVALID_ARGUMENT,
            "%s of '%s' is %lld where %lld was expected", what, of, (long long)b,
            (long long)*a);
    if (*a < 0 && b >= 0) *a = b;
    return TN_OK;
}

/* Length of a head when `heads` lie side by side. */
static tn_status head_length(
    const struct sizer *s, int64_t hidden, int64_t heads, const char *of, int64_t *out) {
    *out = s->dim_op(s->self, TN_DIM_DIV, hidden, heads);
    if (hidden < 0 || hidden % heads == 0) return TN_OK;
    return tn_fail(s->diag, TN_INVALID_ARGUMENT,
        "%lld numbers of '%s' do not divide into %lld heads", (long long)hidden, of,
        (long long)heads);
}

static tn_status packed_size(const struct sizer *s, const struct attention_attrs *attrs,
    const struct tn_type *q, const struct tn_type *k, const struct tn_type *v,
    struct tn__attention_size *out) {
    int64_t head = TN_DIM_UNKNOWN;
    if (attrs->q_num_heads == 0 || attrs->kv_num_heads == 0)
        return tn_fail(s->diag, TN_INVALID_MODEL,
            "inputs of rank 3 need the attributes 'q_num_heads' and 'kv_num_heads'");
    out->q_heads = attrs->q_num_heads;
    out->kv_heads = attrs->kv_num_heads;
    out->q_len = q->dims[1];
    out->kv_len = k->dims[1];
    TN_TRY(head_length(s, q->dims[2], out->q_heads, "Q", &out->head));
    TN_TRY(head_length(s, k->dims[2], out->kv_heads, "K", &head));
    TN_TRY(head_length(s, v->dims[2], out->kv_heads, "V", &out->v_head));
    TN_TRY(same(s, &out->head, head, "length of a head", "K"));
    return same(s, &out->kv_len, v->dims[1], "the sequence", "V");
}

static tn_status plain_size(const struct sizer *s, const struct tn_type *q,
    const struct tn_type *k, const struct tn_type *v, struct tn__attention_size *out) {
    out->q_heads = q->dims[1];
    out->kv_heads = k->dims[1];
    out->q_len = q->dims[2];
    out->kv_len = k->dims[2];
    out->head = q->dims[3];
    out->v_head = v->dims[3];
    TN_TRY(same(s, &out->kv_heads, v->dims[1], "number of heads", "V"));
    TN_TRY(same(s, &out->head, k->dims[3], "length of a head", "K"));
    return same(s, &out->kv_len, v->dims[2], "the sequence", "V");
}

/* A past of four axes: (batch, heads, past, head). */
static tn_status add_past(const struct sizer *s, const struct tn_type *past,
    int64_t *head, const char *name, struct tn__attention_size *out) {
    if (past->rank < 0) {
        out->past_len = TN_DIM_UNKNOWN;
        return TN_OK;
    }
    if (past->rank != 4)
        return tn_fail(s->diag, TN_INVALID_ARGUMENT, "'%s' has rank %d, expected 4", name,
            (int)past->rank);
    TN_TRY(same(s, &out->batch, past->dims[0], "the batch", name));
    TN_TRY(same(s, &out->kv_heads, past->dims[1], "number of heads", name));
    TN_TRY(same(s, head, past->dims[3], "length of a head", name));
    if (out->past_len == 0 && head == &out->head) out->past_len = past->dims[2];
    return same(s, &out->past_len, past->dims[2], "the sequence", name);
}

static tn_status check_mask(const struct sizer *s, const struct tn_type *mask,
    const struct tn__attention_size *size) {
    const int64_t dims[4] = {size->batch, size->q_heads, size->q_len, size->total_len};
    if (mask->rank < 0) return TN_OK;
    if (mask->rank < 1 || mask->rank > 4)
        return tn_fail(s->diag, TN_INVALID_ARGUMENT,
            "'attn_mask' has rank %d, expected 1 to 4", (int)mask->rank);
    for (int32_t i = 0; i < mask->rank; i++) {
        int64_t is = mask->dims[i], want = dims[4 - mask->rank + i];
        bool last = i == mask->rank - 1;
        if (is < 0 || want < 0 || is == want || (is == 1 && !last) || (last && is < want))
            continue;
        return tn_fail(s->diag, TN_INVALID_ARGUMENT,
            "'attn_mask' has size %lld at axis %d where the scores have %lld",
            (long long)is, (int)i, (long long)want);
    }
    return TN_OK;
}

static const struct tn_type *given(
    const struct tn_type *inputs, uint32_t n, enum attention_input i) {
    return i < n && inputs[i].kind == TN_KIND_TENSOR ? &inputs[i] : NULL;
}

static tn_status check_heads(const struct sizer *s, const struct attention_attrs *attrs,
    struct tn__attention_size *size) {
    if (!size->packed && attrs->q_num_heads)
        TN_TRY(same(s, &size->q_heads, attrs->q_num_heads, "'q_num_heads'", "Q"));
    if (!size->packed && attrs->kv_num_heads)
        TN_TRY(same(s, &size->kv_heads, attrs->kv_num_heads, "'kv_num_heads'", "K"));
    if (size->q_heads < 0 || size->kv_heads < 0 ||
        (size->kv_heads > 0 && size->q_heads % size->kv_heads == 0) ||
        (size->kv_heads == 0 && size->q_heads == 0))
        return TN_OK;
    return tn_fail(s->diag, TN_INVALID_ARGUMENT,
        "%lld heads of Q do not share %lld heads of K evenly", (long long)size->q_heads,
        (long long)size->kv_heads);
}

tn_status tn__attention_size(const struct attention_attrs *attrs,
    const struct tn_type *inputs, uint32_t n_inputs,
    int64_t (*dim_op)(void *self, uint32_t op, int64_t a, int64_t b), void *self,
    struct tn__attention_size *out, bool *out_known, struct tn_diag *diag) {
    const struct sizer s = {dim_op, self, diag};
    const struct tn_type *q = given(inputs, n_inputs, ATTENTION_Q);
    const struct tn_type *k = given(inputs, n_inputs, ATTENTION_K);
    const struct tn_type *v = given(inputs, n_inputs, ATTENTION_V);
    const struct tn_type *mask = given(inputs, n_inputs, ATTENTION_MASK);
    const struct tn_type *past_key = given(inputs, n_inputs, ATTENTION_PAST_KEY);
    const struct tn_type *past_value = given(inputs, n_inputs, ATTENTION_PAST_VALUE);
    const struct tn_type *seqlen = given(inputs, n_inputs, ATTENTION_SEQLEN);
    *out_known = q && k && v && q->rank >= 0 && k->rank >= 0 && v->rank >= 0;
    if (!*out_known) return TN_OK;
    if ((q->rank != 3 && q->rank != 4) || k->rank != q->rank || v->rank != q->rank)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "Q, K and V have ranks %d, %d and %d, expected 3 or 4 for all", (int)q->rank,
            (int)k->rank, (int)v->rank);
    *out = (struct tn__attention_size){.batch = q->dims[0], .packed = q->rank == 3};
    TN_TRY(same(&s, &out->batch, k->dims[0], "the batch", "K"));
    TN_TRY(same(&s, &out->batch, v->dims[0], "the batch", "V"));
    TN_TRY(out->packed ? packed_size(&s, attrs, q, k, v, out)
                       : plain_size(&s, q, k, v, out));
    if (past_key) TN_TRY(add_past(&s, past_key, &out->head, "past_key", out));
    if (past_value) TN_TRY(add_past(&s, past_value, &out->v_head, "past_value", out));
    out->total_len = dim_op(self, TN_DIM_ADD, out->past_len, out->kv_len);
    TN_TRY(check_heads(&s, attrs, out));
    if (mask) TN_TRY(check_mask(&s, mask, out));
    if (seqlen && seqlen->rank >= 0) {
        int64_t rows = out->batch;
        if (seqlen->rank != 1)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "'nonpad_kv_seqlen' has rank %d, expected 1", (int)seqlen->rank);
        TN_TRY(same(&s, &rows, seqlen->dims[0], "the batch", "nonpad_kv_seqlen"));
    }
    return TN_OK;
}

tn_status tn__attention_infer(const struct tn_infer *infer) {
    const struct tn_node *node = infer->node;
    const struct tn_type *q = tn_infer_input(infer, 0), *v = tn_infer_input(infer, 2);
    struct tn__attention_size s;
    struct attention_attrs attrs;
    bool known;
    TN_TRY(tn__attention_attrs(node, &attrs, infer->diag));
    TN_TRY(tn__attention_size(&attrs, infer->inputs, node->n_inputs, infer->dim_op,
        infer->self, &s, &known, infer->diag));
    if (q && v && !known) {
        for (uint32_t o = 0; o < 4; o++)
            TN_TRY(tn_infer_set(infer, o, o == 2 ? v->dtype : q->dtype, -1, NULL));
        return TN_OK;
    }
    if (!known) return TN_OK;
    int64_t width = infer->dim_op(infer->self, TN_DIM_MUL, s.q_heads, s.v_head);
    const int64_t packed[3] = {s.batch, s.q_len, width};
    const int64_t plain[4] = {s.batch, s.q_heads, s.q_len, s.v_head};
    const int64_t key[4] = {s.batch, s.kv_heads, s.total_len, s.head};
    const int64_t value[4] = {s.batch, s.kv_heads, s.total_len, s.v_head};
    const int64_t scores[4] = {s.batch, s.q_heads, s.q_len, s.total_len};
    TN_TRY(tn_infer_set(infer, 0, q->dtype, s.packed ? 3 : 4, s.packed ? packed : plain));
    TN_TRY(tn_infer_set(infer, 1, q->dtype, 4, key));
    TN_TRY(tn_infer_set(infer, 2, v->dtype, 4, value));
    return tn_infer_set(infer, 3, q->dtype, 4, scores);
}
