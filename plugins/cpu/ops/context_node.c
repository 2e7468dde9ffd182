/* The operator of files that keep what a provider compiled: no kernel runs it, the host gives
 * its binary to the provider that made it (tenon/provider.h, TN_OP_CONTEXT). */
#include "ops/ops.h"

#define CONTEXT_ATTRS(X, S)                                                              \
    X(S, INT, main_context, 1)                                                           \
    X(S, STRING, ep_cache_context, "")                                                   \
    X(S, INT, embed_mode, 1)                                                             \
    X(S, STRING, ep_sdk_version, "")                                                     \
    X(S, STRING, onnx_model_filename, "")                                                \
    X(S, STRING, hardware_architecture, "")                                              \
    X(S, STRING, partition_name, "")                                                     \
    X(S, STRING, source, "")                                                             \
    X(S, STRING, notes, "")                                                              \
    X(S, INT, max_size, 0)
TN_ATTR_TABLE(context, CONTEXT_ATTRS)

/* clang-format off */
#define ANY_NUMBER (TN_FORMAL_VARIADIC | TN_FORMAL_HETEROGENEOUS)
static const struct tn_op_def defs[] = {
    {TN_DEF("com.microsoft", "EPContext"), .flags = TN_OP_CONTEXT, TN_VERSIONS({1}),
        TN_INPUTS({"inputs", "T", 0, ANY_NUMBER, 0}),
        TN_OUTPUTS({"outputs", "T", 0, ANY_NUMBER, 1}),
        TN_TYPE_VARS({"T", TN_TYPES_ALL}), TN_ATTRS(context)},
};
/* clang-format on */

const struct tn_family tn__family_context = {defs, NULL, TN_COUNT(defs), 0};
