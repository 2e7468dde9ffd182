/* The rewrites of this plugin, offered through "tenon.draft.pass/1". A pass is one file that
 * ends in TN_PASS_OF (tenon/helper/pass.h); one row of TN_ML_PASSES makes it known. */
#ifndef TENON_ML_PASSES_H
#define TENON_ML_PASSES_H

#include "tenon/helper/pass.h"

/* clang-format off */
#define TN_ML_PASSES(X) \
    X(column_views) \
    X(leaf_values) \
    X(tree_sum)

#define TN_PASS_DECLARE(name) extern const struct tn_pass_def tn__pass_##name;
TN_ML_PASSES(TN_PASS_DECLARE)
#undef TN_PASS_DECLARE
/* clang-format on */

extern const struct tn_pass_extension tn__ml_passes;

#endif
