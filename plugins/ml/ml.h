/* What the whole plugin shares: its state, one per host, handed to kernels as
 * ctx->plugin_state. Immutable after init. */
#ifndef TENON_ML_H
#define TENON_ML_H

#include "compat.h"
#include "kernels/ml_rows.h"

#include "tenon/helper/args.h"
#include "tenon/helper/attrs.h"
#include "tenon/helper/diag.h"
#include "tenon/helper/family.h"
#include "tenon/helper/kernel.h"
#include "tenon/helper/rows.h"
#include "tenon/helper/shape.h"
#include "tenon/isa.h"
#include "tenon/op.h"
#include "tenon/plugin.h"

#define TN_ML_DOMAIN "ai.onnx.ml"

/* what most operators of the domain take */
#define TN_TYPES_ML_NUMBERS                                                              \
    (TN_BIT(FLOAT) | TN_BIT(DOUBLE) | TN_BIT(INT32) | TN_BIT(INT64))

/* The head of a kernel row whose object needs more than tn_kernel_destroy. */
#define TN_ML_KERNEL(name, version, destroy_fn)                                          \
    .struct_size = TN_KERNEL_DEF_SIZE, .provider = "cpu", .domain = TN_ML_DOMAIN,        \
    .op_type = name, .since = version, .destroy = destroy_fn

struct tn__ml {
    struct tn_tables tables; /* of all families; first, as tn_tables_ops wants */
    const struct tn_host *host;
    enum tn_isa isa; /* features of the processor, bounded by the config key "isa" */
    enum tn_compat compat; /* the config key "compat" */
    struct tn_rows_kernels rows;
};

/* clang-format off */
/* Operator families: one file each, which ends in TN_FAMILY(name). */
#define TN_ML_FAMILIES(X) \
    X(binarizer) \
    X(cdist) \
    X(columns) \
    X(dict) \
    X(label_encoder) \
    X(linear) \
    X(one_hot) \
    X(scale) \
    X(solve) \
    X(svm_machines) \
    X(tree_classifier) \
    X(tree_ensemble) \
    X(tree_regressor) \
    X(zipmap)
TN_ML_FAMILIES(TN_FAMILY_DECLARE)
/* clang-format on */

#endif
