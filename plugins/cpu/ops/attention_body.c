/* Attention by other operators, as ONNX defines it: when its kernel is not wanted, or for
 * mixtures of element types that no kernel takes. */
#include "ops/attention.h"
#include "ops/body.h"

#include <math.h>

struct build {
    struct tn__body b;
    struct attention_attrs attrs;
    struct tn__attention_size size;
    int32_t dtype;            /* T1 */
    tn_value_id q, k, v;      /* of rank 4, K and V with their past */
    tn_value_id q_len, total; /* int64[1] */
    tn_value_id none;         /* -inf */
};

static int64_t known_op(void *self, uint32_t op, int64_t a, int64_t b) {
    (void)self;
    if (a < 0 || b < 0) return TN_DIM_UNKNOWN;
    if (op == TN_DIM_DIV) return b > 0 ? a / b : TN_DIM_UNKNOWN;
    if (op == TN_DIM_MUL) return b > 0 && a > INT64_MAX / b ? TN_DIM_UNKNOWN : a * b;
    return a > INT64_MAX - b ? TN_DIM_UNKNOWN : a + b;
}

static tn_value_id transposed(struct tn__body *b, tn_value_id x, const int64_t *order) {
    const struct tn_attr perm = {"perm", TN_ATTR_INTS, 4, {.ints = order}, NULL};
    return tn__body_add(b, "Transpose", &x, 1, &perm, 1);
}

static const int64_t swap_middle[] = {0, 2, 1, 3}, swap_last[] = {0, 1, 3, 2};

/* Size of one axis as int64[1]. */
static tn_value_id axis_size(struct tn__body *b, tn_value_id x, int64_t axis) {
    const int64_t end = axis + 1;
    const struct tn_attr attrs[2] = {{"start", TN_ATTR_INT, 1, {.ints = &axis}, NULL},
        {"end", TN_ATTR_INT, 1, {.ints = &end}, NULL}};
    return tn__body_add(b, "Shape", &x, 1, attrs, 2);
}

static tn_value_id cast(struct tn__body *b, tn_value_id x, int64_t to) {
    return TN_BODY_INT(b, "Cast", "to", to, x);
}

/* Q, K or V of rank 4 and of type T1. */
static tn_value_id operand(struct build *s, enum attention_input i, int64_t heads) {
    tn_value_id x = s->b.inputs[i];
    if (tn__body_type(&s->b, i)->dtype != s->dtype) x = cast(&s->b, x, s->dtype);
    if (!s->size.packed) return x;
    x = TN_BODY_ADD(&s->b, "Reshape", x, TN_BODY_INTS(&s->b, 0, 0, heads, -1));
    return transposed(&s->b, x, swap_middle);
}

static tn_value_id with_past(struct build *s, enum attention_input i, tn_value_id x) {
    tn_value_id past = tn__body_input(&s->b, i);
    if (past == TN_NO_ID) return x;
    if (tn__body_type(&s->b, i)->dtype != s->dtype) past = cast(&s->b, past, s->dtype);
    return TN_BODY_INT(&s->b, "Concat", "axis", 2, past, x);
}

/* Each head of K or V as often as heads of Q share it. */
static tn_value_id shared(struct build *s, tn_value_id x, int64_t head) {
    int64_t group = s->size.kv_heads ? s->size.q_heads / s->size.kv_heads : 1;
    if (group == 1) return x;
    x = TN_BODY_ADD(&s->b, "Unsqueeze", x, TN_BODY_INTS(&s->b, 2));
    x = TN_BODY_ADD(&s->b, "Expand", x, TN_BODY_INTS(&s->b, 1, 1, group, 1, 1));
    return TN_BODY_ADD(
        &s->b, "Reshape", x, TN_BODY_INTS(&s->b, 0, s->size.q_heads, -1, head));
}

/* 0, 1, … as int64 of this length. */
static tn_value_id range(struct build *s, tn_value_id length) {
    tn_value_id zero = TN_BODY_ADD(&s->b, "Squeeze", TN_BODY_INTS(&s->b, 0));
    tn_value_id one = TN_BODY_ADD(&s->b, "Squeeze", TN_BODY_INTS(&s->b, 1));
    tn_value_id end = TN_BODY_ADD(&s->b, "Squeeze", length);
    return TN_BODY_ADD(&s->b, "Range", zero, end, one);
}

/* The mask as a bias of T1 over all keys; TN_NO_ID without a mask. */
static tn_value_id mask_bias(struct build *s) {
    struct tn__body *b = &s->b;
    tn_value_id mask = tn__body_input(b, ATTENTION_MASK);
    int64_t begin[7] = {0};
    if (mask == TN_NO_ID) return mask;
    const struct tn_type *type = tn__body_type(b, ATTENTION_MASK);
    int32_t rank = type->rank, dtype = type->dtype;
    tn_value_id width = axis_size(b, mask, rank - 1);
    if (dtype == TN_BOOL)
        mask = TN_BODY_ADD(b, "Where", mask, tn__body_number(b, s->dtype, 0), s->none);
    else if (dtype != s->dtype)
        mask = cast(b, mask, s->dtype);
    tn_value_id more = TN_BODY_ADD(b, "Sub", s->total, width);
    tn_value_id pads = TN_BODY_INT(
        b, "Concat", "axis", 0, tn__body_ints(b, begin, (uint32_t)(2 * rank - 1)), more);
    return TN_BODY_ADD(b, "Pad", mask, pads, s->none);
}

/* Adds -inf where `out` holds. */
static tn_value_id exclude(struct build *s, tn_value_id bias, tn_value_id out) {
    tn_value_id zero = tn__body_number(&s->b, s->dtype, 0);
    tn_value_id more = TN_BODY_ADD(&s->b, "Where", out, s->none, zero);
    return bias == TN_NO_ID ? more : TN_BODY_ADD(&s->b, "Add", bias, more);
}

/* Mask, causal frontier, windows and padding together; TN_NO_ID: none of them. */
static tn_value_id whole_bias(struct build *s) {
    enum { FAR = 1 << 30 };
    struct tn__body *b = &s->b;
    int64_t left = s->attrs.left_window_size, right = s->attrs.right_window_size;
    tn_value_id length = tn__body_input(b, ATTENTION_SEQLEN), bias = mask_bias(s);
    tn_value_id past = tn__body_input(b, ATTENTION_PAST_KEY), at = TN_NO_ID;
    if (s->attrs.is_causal) right = 0;
    if (left < 0 && right < 0 && length == TN_NO_ID) return bias;
    tn_value_id keys = range(s, s->total), rows = TN_BODY_INTS(b, 1);
    at = TN_BODY_ADD(b, "Unsqueeze", range(s, s->q_len), rows);
    if (past != TN_NO_ID) at = TN_BODY_ADD(b, "Add", at, axis_size(b, past, 2));
    if (length != TN_NO_ID) {
        length = TN_BODY_ADD(b, "Unsqueeze", length, TN_BODY_INTS(b, 1, 2, 3));
        at = TN_BODY_ADD(b, "Add", at, TN_BODY_ADD(b, "Sub", length, s->q_len));
        bias = exclude(s, bias, TN_BODY_ADD(b, "GreaterOrEqual", keys, length));
    }
    if (right >= 0) {
        tn_value_id reach = TN_BODY_INTS(b, right < FAR ? right : FAR);
        tn_value_id last = TN_BODY_ADD(b, "Add", at, reach);
        bias = exclude(s, bias, TN_BODY_ADD(b, "Greater", keys, last));
    }
    if (left >= 0) {
        tn_value_id reach = TN_BODY_INTS(b, left < FAR ? left : FAR);
        tn_value_id first = TN_BODY_ADD(b, "Sub", at, reach);
        bias = exclude(s, bias, TN_BODY_ADD(b, "Less", keys, first));
    }
    return bias;
}

/* Softmax of the biased scores; rows without a key are zero. */
static tn_value_id probabilities(struct build *s, tn_value_id scores, tn_value_id bias) {
    struct tn__body *b = &s->b;
    int64_t precision = s->attrs.softmax_precision;
    bool other = precision && precision != s->dtype;
    if (other) scores = cast(b, scores, precision);
    scores = TN_BODY_INT(b, "Softmax", "axis", -1, scores);
    if (other) scores = cast(b, scores, s->dtype);
    if (bias == TN_NO_ID) return scores;
    tn_value_id top = TN_BODY_ADD(b, "ReduceMax", bias, TN_BODY_INTS(b, -1));
    tn_value_id empty = TN_BODY_ADD(b, "Equal", top, s->none);
    return TN_BODY_ADD(b, "Where", empty, tn__body_number(b, s->dtype, 0), scores);
}

static tn_value_id scaled(struct build *s, tn_value_id x) {
    bool given = tn_node_attr(&s->b.node, "scale") != NULL;
    double scale = given ? (double)s->attrs.scale : 1 / sqrt((double)s->size.head);
    return TN_BODY_ADD(&s->b, "Mul", x, tn__body_number(&s->b, s->dtype, sqrt(scale)));
}

static tn_status build_all(struct build *s) {
    struct tn__body *b = &s->b;
    int64_t mode = s->attrs.qk_matmul_output_mode;
    tn_value_id stages[4];
    s->none = tn__body_number(b, s->dtype, -INFINITY);
    s->q = operand(s, ATTENTION_Q, s->size.q_heads);
    s->k = with_past(s, ATTENTION_PAST_KEY, operand(s, ATTENTION_K, s->size.kv_heads));
    s->v = with_past(s, ATTENTION_PAST_VALUE, operand(s, ATTENTION_V, s->size.kv_heads));
    s->q_len = axis_size(b, s->q, 2);
    s->total = axis_size(b, s->k, 2);
    tn_value_id keys = transposed(b, shared(s, s->k, s->size.head), swap_last);
    stages[0] = TN_BODY_ADD(b, "MatMul", scaled(s, s->q), scaled(s, keys));
    stages[1] = stages[0];
    if (s->attrs.softcap > 0) {
        tn_value_id cap = tn__body_number(b, s->dtype, (double)s->attrs.softcap);
        tn_value_id part = TN_BODY_ADD(b, "Div", stages[0], cap);
        stages[1] = TN_BODY_ADD(b, "Mul", TN_BODY_ADD(b, "Tanh", part), cap);
    }
    tn_value_id bias = whole_bias(s);
    stages[2] = bias == TN_NO_ID ? stages[1] : TN_BODY_ADD(b, "Add", stages[1], bias);
    stages[3] = probabilities(s, stages[2], bias);
    tn_value_id y = TN_BODY_ADD(b, "MatMul", stages[3], shared(s, s->v, s->size.v_head));
    if (s->size.packed)
        y = TN_BODY_ADD(b, "Reshape", transposed(b, y, swap_middle),
            TN_BODY_INTS(b, 0, 0, s->size.q_heads * s->size.v_head));
    int64_t v_dtype = tn__body_type(b, ATTENTION_V)->dtype;
    if (tn__body_wants(b, 2) && v_dtype != s->dtype) s->v = cast(b, s->v, v_dtype);
    tn__body_output(b, 0, y);
    tn__body_output(b, 1, s->k);
    tn__body_output(b, 2, s->v);
    tn__body_output(b, 3, stages[mode]);
    return b->status;
}

tn_status tn__attention_expand(const struct tn_rewrite *rw) {
    struct build s = {0};
    struct tn_type types[7] = {{0}};
    bool known;
    TN_TRY(tn__body_begin(&s.b, rw));
    TN_TRY(tn__attention_attrs(&s.b.node, &s.attrs, rw->diag));
    for (uint32_t i = 0; i < 7 && i < s.b.node.n_inputs; i++) {
        if (s.b.inputs[i] == TN_NO_ID) continue;
        types[i] = *tn__body_type(&s.b, i);
        if (types[i].kind != TN_KIND_TENSOR || types[i].dtype <= 0) return TN_UNSUPPORTED;
    }
    TN_TRY(tn__attention_size(
        &s.attrs, types, 7, known_op, NULL, &s.size, &known, rw->diag));
    s.dtype = types[ATTENTION_Q].dtype;
    if (!known || s.size.head <= 0 || s.size.v_head < 0 || s.size.q_heads < 0 ||
        s.size.kv_heads < 0 || s.attrs.scale < 0 ||
        (types[ATTENTION_MASK].kind && types[ATTENTION_MASK].rank < 1))
        return TN_UNSUPPORTED;
    return build_all(&s);
}
