/* Sizes that several inputs of an operator share, gathered from one after the other: in
 * inference, where a size < 0 is not known yet, and in kernels. */
#ifndef TENON_CPU_SIZES_H
#define TENON_CPU_SIZES_H

#include "ops/ops.h"

/* *a becomes b when it is not known; both known must be equal. `what` begins a sentence. */
static inline tn_status tn__size_same(
    int64_t *a, int64_t b, const char *what, struct tn_diag *diag) {
    if (*a >= 0 && b >= 0 && *a != b)
        return tn_fail(diag, TN_INVALID_ARGUMENT, "%s is %lld where %lld was expected",
            what, (long long)b, (long long)*a);
    if (*a < 0) *a = b;
    return TN_OK;
}

#endif
