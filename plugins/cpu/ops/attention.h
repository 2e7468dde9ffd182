/* Sizes of Attention, for inference (with symbols) and for the kernel. */
#ifndef TENON_CPU_ATTENTION_H
#define TENON_CPU_ATTENTION_H

#include "ops/ops.h"

/* clang-format off */
#define ATTENTION_ATTRS(X, S) \
    X(S, INT, is_causal, 0) X(S, INT, kv_num_heads, 0) X(S, INT, left_window_size, -1) \
    X(S, INT, q_num_heads, 0) X(S, INT, qk_matmul_output_mode, 0) \
    X(S, INT, right_window_size, -1) X(S, FLOAT, scale, 0) X(S, FLOAT, softcap, 0) \
    X(S, INT, softmax_precision, 0)
TN_ATTR_TABLE(attention, ATTENTION_ATTRS)
/* clang-format on */

enum attention_input {
    ATTENTION_Q,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_MASK,
    ATTENTION_PAST_KEY,
    ATTENTION_PAST_VALUE,
    ATTENTION_SEQLEN
};

/* Dimensions; those that are not known are symbols or TN_DIM_UNKNOWN. */
struct tn__attention_size {
    int64_t batch, q_heads, kv_heads;
    int64_t q_len, kv_len, past_len, total_len;
    int64_t head, v_head; /* length of a head of Q and K, and of V */
    bool packed;          /* heads lie side by side in rank 3 */
};

/* Reads the attributes and refuses what no input can make right. */
tn_status tn__attention_attrs(
    const struct tn_node *node, struct attention_attrs *out, struct tn_diag *diag);
/* Sizes from the types of the seven inputs (kind ABSENT where omitted); dim_op does the
 * arithmetic of symbols. *out_known is false when a rank is not known yet. */
tn_status tn__attention_size(const struct attention_attrs *attrs,
    const struct tn_type *inputs, uint32_t n_inputs,
    int64_t (*dim_op)(void *self, uint32_t op, int64_t a, int64_t b), void *self,
    struct tn__attention_size *out, bool *out_known, struct tn_diag *diag);
tn_status tn__attention_infer(const struct tn_infer *infer);
/* The body, for nodes whose heads are known. */
tn_status tn__attention_expand(const struct tn_rewrite *rw);

#endif
