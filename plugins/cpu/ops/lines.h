/* A block seen as lines along one axis: outer · n · inner, the elements of a line `inner`
 * apart. Shared by what works line by line (ArgMax, CumSum, Unique, …). */
#ifndef TENON_CPU_LINES_H
#define TENON_CPU_LINES_H

#include "ops/ops.h"

struct tn__lines {
    int64_t outer, n, inner;
};

/* Lines along `axis` (may be negative). A scalar is one line of one element. */
static inline tn_status tn__lines_make(const struct tn_tensor *tensor, int64_t axis,
    struct tn__lines *out, struct tn_diag *diag) {
    uint32_t at = 0;
    *out = (struct tn__lines){1, 1, 1};
    if (tensor->rank == 0 && (axis == 0 || axis == -1)) return TN_OK;
    TN_TRY(tn_axis_fix(axis, tensor->rank, &at, diag));
    out->outer = tn_dims_product(tensor->dims, 0, at);
    out->n = tensor->dims[at];
    out->inner = tn_dims_product(tensor->dims, at + 1, tensor->rank);
    return TN_OK;
}

/* Index of the first element of line i, of outer * inner lines. */
static inline int64_t tn__line_at(const struct tn__lines *lines, int64_t i) {
    return i / lines->inner * lines->n * lines->inner + i % lines->inner;
}

#endif
