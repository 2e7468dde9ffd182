/* Dimensions, sizes and axes, for inference and for kernels.
 *
 * Dims are hostile until checked: products go through tn_shape_count, axes through
 * tn_axis_fix. In inference a dim < 0 is a symbol: see tn_infer_* below. */
#ifndef TENON_HELPER_SHAPE_H
#define TENON_HELPER_SHAPE_H

#include "tenon/helper/diag.h"
#include "tenon/op.h"

#include <string.h>

/* Highest rank that the helpers and the cpu kernels take. */
#define TN_RANK_MAX 64

/* ---- numbers ------------------------------------------------------------------------- */

/* Product of dims in *out; 0 when one is negative or it does not fit. */
static inline int tn_shape_count(const int64_t *dims, uint32_t rank, int64_t *out) {
    int64_t n = 1;
    int has_zero = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 0) return 0;
        if (dims[i] == 0)
            has_zero = 1;
        else if (n > INT64_MAX / dims[i])
            return 0;
        else
            n *= dims[i];
    }
    *out = has_zero ? 0 : n;
    return 1;
}

/* Bytes of n elements; 0 when the type is unknown or they do not fit. */
static inline int tn_dtype_size(int32_t dtype, int64_t n, uint64_t *out) {
    uint64_t bits = tn_dtype_bits(dtype), count = (uint64_t)n;
    if (bits == 0 || n < 0) return 0;
    if (bits < 8) {
        uint64_t per_byte = 8 / bits;
        *out = count / per_byte + (count % per_byte != 0);
        return 1;
    }
    if (count > UINT64_MAX / (bits / 8)) return 0;
    *out = count * (bits / 8);
    return 1;
}

/* Elements of a tensor that the host handed over: its size was checked when it was made. */
static inline int64_t tn_tensor_count(const struct tn_tensor *tensor) {
    int64_t n = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        n *= tensor->dims[i];
    return n;
}

/* Product of dims[begin .. end). */
static inline int64_t tn_dims_product(const int64_t *dims, uint32_t begin, uint32_t end) {
    int64_t n = 1;
    for (uint32_t i = begin; i < end; i++)
        n *= dims[i];
    return n;
}

static inline int tn_dims_equal(
    const int64_t *a, uint32_t rank_a, const int64_t *b, uint32_t rank_b) {
    return rank_a == rank_b && (rank_b == 0 || memcmp(a, b, rank_a * sizeof *a) == 0);
}

/* An axis of -rank .. rank-1 as 0 .. rank-1. */
static inline tn_status tn_axis_fix(
    int64_t axis, int64_t rank, uint32_t *out, struct tn_diag *diag) {
    if (axis < -rank || axis >= rank)
        return tn_fail(diag, TN_INVALID_MODEL,
            "axis %lld is outside [%lld, %lld] of a tensor of rank %lld", (long long)axis,
            (long long)-rank, (long long)(rank - 1), (long long)rank);
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
    return TN_OK;
}

/* Element i of an int32 or int64 tensor (other types: 0). */
static inline int64_t tn_tensor_int(const struct tn_tensor *tensor, int64_t i) {
    if (tensor->dtype == TN_INT64) {
        int64_t value;
        memcpy(&value, (const char *)tensor->data + i * 8, 8);
        return value;
    }
    if (tensor->dtype == TN_INT32) {
        int32_t value;
        memcpy(&value, (const char *)tensor->data + i * 4, 4);
        return value;
    }
    return 0;
}

/* ---- inference ----------------------------------------------------------------------- */

/* Type of input i, NULL when it is omitted or nothing is known of it. */
static inline const struct tn_type *tn_infer_input(
    const struct tn_infer *infer, uint32_t i) {
    if (i >= infer->node->n_inputs || infer->inputs[i].kind == TN_KIND_ABSENT)
        return NULL;
    return &infer->inputs[i];
}

/* Whether the node names input i (its type may still be unknown). */
static inline int tn_infer_has(const struct tn_node *node, uint32_t i) {
    return i < node->n_inputs && node->inputs[i] != TN_NO_ID;
}

/* Whether the node names output o. */
static inline int tn_infer_wants(const struct tn_node *node, uint32_t o) {
    return o < node->n_outputs && node->outputs[o] != TN_NO_ID;
}

/* Whether an element of a content (dims_value) is a symbol or unknown, not a number. */
static inline int tn_dim_is_symbol(int64_t value) {
    return value <= TN_DIM_SYMBOL_MAX;
}

static inline int tn_dim_same(int64_t a, int64_t b) {
    return a == b && a != TN_DIM_UNKNOWN;
}

/* Output o is a tensor of this type and shape; rank -1: unknown. An output that the node
 * does not name is passed over. */
static inline tn_status tn_infer_set(const struct tn_infer *infer, uint32_t o,
    int32_t dtype, int32_t rank, const int64_t *dims) {
    struct tn_type type;
    if (!tn_infer_wants(infer->node, o)) return TN_OK;
    memset(&type, 0, sizeof type);
    type.kind = TN_KIND_TENSOR;
    type.dtype = dtype;
    type.rank = rank;
    type.dims = rank > 0 ? dims : NULL;
    return infer->set_type(infer->self, o, &type);
}

/* Output o has the type and shape of input i. */
static inline tn_status tn_infer_like(
    const struct tn_infer *infer, uint32_t o, uint32_t i) {
    const struct tn_type *type = tn_infer_input(infer, i);
    if (!type || !tn_infer_wants(infer->node, o)) return TN_OK;
    return infer->set_type(infer->self, o, type);
}

/* Output o has the shape of input i and this element type. */
static inline tn_status tn_infer_shape_like(
    const struct tn_infer *infer, uint32_t o, uint32_t i, int32_t dtype) {
    const struct tn_type *type = tn_infer_input(infer, i);
    if (!type) return tn_infer_set(infer, o, dtype, -1, NULL);
    return tn_infer_set(infer, o, dtype, type->rank, type->dims);
}

/* Refuses ranks that fixed arrays of TN_RANK_MAX could not hold. */
static inline tn_status tn_rank_check(int64_t rank, struct tn_diag *diag) {
    if (rank <= TN_RANK_MAX) return TN_OK;
    return tn_fail(diag, TN_LIMIT_EXCEEDED, "rank %lld is above the supported %d",
        (long long)rank, TN_RANK_MAX);
}

/* Short integer content of input i: *out_n elements, symbols for what is not known; NULL
 * when nothing is. */
static inline const int64_t *tn_infer_ints(
    const struct tn_infer *infer, uint32_t i, uint32_t *out_n) {
    *out_n = 0;
    return tn_infer_has(infer->node, i) ? infer->dims_value(infer->self, i, out_n) : NULL;
}

/* Refuses a list input (axes, a shape, …) that is no vector. */
static inline tn_status tn_infer_vector(
    const struct tn_infer *infer, uint32_t i, const char *name) {
    const struct tn_type *type = tn_infer_input(infer, i);
    if (!type || type->rank <= 1) return TN_OK;
    return tn_fail(infer->diag, TN_INVALID_ARGUMENT, "'%s' has rank %d, expected 1", name,
        (int)type->rank);
}

/* Product of dims[begin .. end) with symbols. */
static inline int64_t tn_infer_product(
    const struct tn_infer *infer, const int64_t *dims, uint32_t begin, uint32_t end) {
    int64_t n = 1;
    for (uint32_t i = begin; i < end; i++)
        n = infer->dim_op(infer->self, TN_DIM_MUL, n, dims[i]);
    return n;
}

#endif
