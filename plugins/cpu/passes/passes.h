/* The operator-aware rewrites of this plugin, offered through "tenon.draft.pass/1".
 *
 * A pass is one file with a function that looks at one node and may rewrite what begins or
 * ends there; TN_PASS makes its record and one row of TN_PASSES makes it known. What every
 * pass checks stands in docs/add-a-pass.md. */
#ifndef TENON_CPU_PASSES_H
#define TENON_CPU_PASSES_H

#include "tenon/helper/pass.h"

/* clang-format off */
#define TN_PASSES(X) \
    X(cast_chain) \
    X(conv_affine) \
    X(conv_pad) \
    X(epilogue) \
    X(gelu) \
    X(layer_norm) \
    X(layout_nhwc) \
    X(matmul_add)

#define TN_PASS_DECLARE(name) extern const struct tn_pass_def tn__pass_##name;
TN_PASSES(TN_PASS_DECLARE)
#undef TN_PASS_DECLARE
/* clang-format on */

extern const struct tn_pass_extension tn__cpu_passes;

/* The record of a pass: `fn` looks at one node (tenon/helper/pass.h). */
#define TN_PASS(name, doc, level, safety, order, fn)                                     \
    TN_PASS_OF(tn__pass_##name, #name, doc, level, safety, order, fn)

#endif
