/* Worked examples of operators, one of each kind, in the domain com.example: docs/add-an-op.md
 * goes through them. Each file is a complete operator, which custom_plugin.c lists. */
#ifndef TENON_CUSTOM_H
#define TENON_CUSTOM_H

#include "tenon/helper/plugin.h"

/* clang-format off */
/* X(operator, …): the operators, and the kernels */
#define TN_CUSTOM_OPS(X) \
    X(above) X(cube) X(delay) X(frames) X(iterate) X(mix) X(rms_scale) X(sparse_matmul)
#define TN_CUSTOM_KERNELS(X) \
    X(above_cpu) X(cube_cpu) X(cube_example) X(delay_cpu) X(frames_cpu) X(iterate_cpu) \
    X(mix_cpu) X(sparse_matmul_cpu)

#define TN_CUSTOM_DECLARE_OP(name) extern const struct tn_op_def custom_##name;
#define TN_CUSTOM_DECLARE_KERNEL(name) extern const struct tn_kernel_def custom_##name;
TN_CUSTOM_OPS(TN_CUSTOM_DECLARE_OP)
TN_CUSTOM_KERNELS(TN_CUSTOM_DECLARE_KERNEL)
extern const struct tn_provider_def custom_provider;
/* clang-format on */

#endif
