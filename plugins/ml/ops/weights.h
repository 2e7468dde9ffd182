/* A matrix of weights, packed at load for the product that the cpu plugin lends (service
 * "tenon.draft.gemm/1"); without the service a plain loop multiplies, and a warning says so. */
#ifndef TENON_ML_WEIGHTS_H
#define TENON_ML_WEIGHTS_H

#include "ml.h"
#include "tenon/ext/draft/gemm.h"

struct tn__weights {
    const struct tn_host *host;
    const struct tn_gemm_service *gemm; /* NULL: plain */
    void *packed;          /* the service's form, or k rows of n, or n lists for dots */
    tn_rows_dots_fn *dots; /* few columns of floats: no panel is worth filling */
    uint64_t k, n;
    int32_t dtype; /* TN_FLOAT or TN_DOUBLE */
};

/* Weight (r, c) of n columns and k rows is list[c * k + r] (a row of the list for each
 * column), taken as `dtype`. tn__weights_free in every case. */
tn_status tn__weights_pack(struct tn__weights *weights, const struct tn__ml *ml,
    const float *list, uint64_t k, uint64_t n, int32_t dtype, struct tn_diag *diag);
void tn__weights_free(struct tn__weights *weights);
/* c [m, n] = a [m, k] times the weights, plus bias [n] (NULL: none); all of the dtype. */
void tn__weights_multiply(const struct tn__weights *weights, uint64_t m, const void *a,
    const void *bias, void *c);

#endif
