/* What the integer convolutions share with Conv. */
#ifndef TENON_CPU_CONVOLUTION_H
#define TENON_CPU_CONVOLUTION_H

#include "ops/ops.h"

#include <stdbool.h>

/* Output 0 is the convolution of inputs x and w, of element type dtype; channels stand at
 * axis 1, or last when nhwc. Does nothing while dtype is unknown (0). */
tn_status tn__conv_infer(const struct tn_infer *infer, uint32_t x_input, uint32_t w_input,
    int32_t dtype, int64_t group, bool nhwc);

/* Refuses a bias (input `input`, when there is one) that is not one element a filter. */
static inline tn_status tn__bias_check(const struct tn_run_args *args, uint32_t input,
    size_t filters, struct tn_diag *diag) {
    const struct tn_tensor *bias = tn_in(args, input);
    if (!bias || (bias->rank == 1 && (size_t)bias->dims[0] == filters)) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "the bias has %lld elements and rank %u, expected a vector of %zu: one a filter",
        (long long)tn_tensor_count(bias), bias->rank, filters);
}

#endif
