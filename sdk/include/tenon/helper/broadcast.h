/* Multidirectional (numpy) broadcasting of shapes: in inference with symbols, in kernels
 * with sizes. */
#ifndef TENON_HELPER_BROADCAST_H
#define TENON_HELPER_BROADCAST_H

#include "tenon/helper/shape.h"

/* Result of two dims; a symbol against another symbol is not known: either may be 1. */
static inline tn_status tn_broadcast_dim(
    int64_t a, int64_t b, int64_t *out, struct tn_diag *diag) {
    if (tn_dim_same(a, b) || b == 1)
        *out = a;
    else if (a == 1)
        *out = b;
    else if (a >= 0 && b >= 0)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "dimensions %lld and %lld do not broadcast: they must be equal or one be 1",
            (long long)a, (long long)b);
    else if (a > 1 || b > 1)
        *out = a > 1 ? a : b; /* the symbol is 1 or the same */
    else
        *out = TN_DIM_UNKNOWN;
    return TN_OK;
}

/* Broadcasts dims into the shape that out[] already holds; *out_rank grows. */
static inline tn_status tn_broadcast_into(int64_t *out, uint32_t *out_rank,
    const int64_t *dims, uint32_t rank, struct tn_diag *diag) {
    TN_TRY(tn_rank_check(rank, diag));
    if (rank > *out_rank) {
        uint32_t grow = rank - *out_rank;
        memmove(out + grow, out, *out_rank * sizeof *out);
        for (uint32_t i = 0; i < grow; i++)
            out[i] = 1;
        *out_rank = rank;
    }
    for (uint32_t i = 0; i < rank; i++) {
        int64_t *dim = &out[*out_rank - rank + i];
        TN_TRY(tn_broadcast_dim(*dim, dims[i], dim, diag));
    }
    return TN_OK;
}

/* Output 0 has element type dtype and the broadcast shape of inputs [first, first + n);
 * an unknown rank among them makes it unknown. */
static inline tn_status tn_infer_broadcast(
    const struct tn_infer *infer, int32_t dtype, uint32_t first, uint32_t n) {
    int64_t dims[TN_RANK_MAX];
    uint32_t rank = 0;
    for (uint32_t i = first; i < first + n; i++) {
        const struct tn_type *type = tn_infer_input(infer, i);
        if (!type || type->rank < 0) return tn_infer_set(infer, 0, dtype, -1, NULL);
        TN_TRY(tn_broadcast_into(
            dims, &rank, type->dims, (uint32_t)type->rank, infer->diag));
    }
    return tn_infer_set(infer, 0, dtype, (int32_t)rank, dims);
}

#endif
