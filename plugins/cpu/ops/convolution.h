/* What the integer convolutions share with Conv. */
#ifndef TENON_CPU_CONVOLUTION_H
#define TENON_CPU_CONVOLUTION_H

#include "tenon/op.h"

#include <stdbool.h>

/* Output 0 is the convolution of inputs x and w, of element type dtype; channels stand at
 * axis 1, or last when nhwc. Does nothing while dtype is unknown (0). */
tn_status tn__conv_infer(const struct tn_infer *infer, uint32_t x_input, uint32_t w_input,
    int32_t dtype, int64_t group, bool nhwc);

#endif
