/* What the whole plugin shares: its state, one per host, handed to kernels as
 * ctx->plugin_state. Immutable after init. */
#ifndef TENON_CPU_H
#define TENON_CPU_H

#include "kernels/conv.h"
#include "kernels/convert.h"
#include "kernels/depthwise.h"
#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/gemm_f64.h"
#include "kernels/norm.h"
#include "kernels/pool.h"
#include "kernels/reduce_rows.h"
#include "kernels/softmax.h"
#include "kernels/transpose.h"
#include "kernels/vmath.h"
#include "kernels/winograd.h"
#include "tenon/ext/draft/gemm.h"
#include "tenon/helper/family.h"
#include "tenon/isa.h"
#include "tenon/op.h"
#include "tenon/plugin.h"

struct tn__cpu {
    struct tn_tables tables; /* of all families; first, as tn_tables_ops wants */
    const struct tn_host *host;
    enum tn_isa isa; /* features of the processor, bounded by the config key "isa" */
    struct tn_gemm_kernels gemm;
    struct tn_gemm_f64_kernels gemm_f64;
    struct tn_depthwise_kernels depthwise;
    struct tn_winograd_kernels winograd;
    struct tn_elementwise_kernels elementwise;
    struct tn_vmath_kernels vmath;
    struct tn_norm_kernels norm;
    struct tn_softmax_kernels softmax;
    struct tn_reduce_kernels reduce;
    struct tn_convert_kernels convert;
    struct tn_pool_kernels pool;
    struct tn_transpose_kernels transpose;
    struct tn_gemm_service gemm_service; /* lent to other plugins */
};

/* The provider "cpu" (provider.c). */
extern const struct tn_provider_def tn__cpu_provider;
/* What nodes cost, roughly, from their shapes (estimate.c). */
struct tn_group;
struct tn_estimate;
void tn__cpu_estimate(
    void *instance, const struct tn_group *group, struct tn_estimate *out);

#endif
