/* Index inputs: read, checked and resolved in one place for every operator that takes them.
 */
#ifndef TENON_CPU_INDICES_H
#define TENON_CPU_INDICES_H

#include "ops/ops.h"

/* Element i of an int32 or int64 tensor as an index into an axis of size dim; negative
 * counts from the back. */
static inline tn_status tn__index_at(const struct tn_tensor *indices, int64_t i,
    int64_t dim, int64_t *out, struct tn_diag *diag) {
    int64_t value = tn_tensor_int(indices, i);
    if (value < -dim || value >= dim)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "index %lld at position %lld is outside [%lld, %lld]", (long long)value,
            (long long)i, (long long)-dim, (long long)(dim - 1));
    *out = value < 0 ? value + dim : value;
    return TN_OK;
}

/* All n elements into out[]. */
static inline tn_status tn__indices_resolve(
    const struct tn_tensor *indices, int64_t dim, int64_t *out, struct tn_diag *diag) {
    int64_t n = tn_tensor_count(indices);
    for (int64_t i = 0; i < n; i++)
        TN_TRY(tn__index_at(indices, i, dim, &out[i], diag));
    return TN_OK;
}

/* Positions (in elements of the dense data) that the elements of idx name along an axis; an
 * element's other coordinates are its own. positions[] has one entry an index. (gather.c) */
tn_status tn__element_positions(const struct tn_tensor *data, const struct tn_tensor *idx,
    int64_t axis, int64_t *positions, struct tn_diag *diag);
/* Items (stretches of *out_item elements) that the tuples in the last axis of idx name,
 * after batch_dims common axes: *out_n positions in items. (gather.c) */
tn_status tn__nd_positions(const struct tn_tensor *data, const struct tn_tensor *idx,
    int64_t batch_dims, int64_t *positions, int64_t *out_n, int64_t *out_item,
    struct tn_diag *diag);

#endif
