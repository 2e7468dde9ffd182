/* The table of passes. */
#include "passes/ml_passes.h"

/* clang-format off */
static const struct tn_pass_def *const table[] = {
#define PASS_ADDRESS(name) &tn__pass_##name,
    TN_ML_PASSES(PASS_ADDRESS)
#undef PASS_ADDRESS
};
/* clang-format on */

const struct tn_pass_extension tn__ml_passes = {
    .struct_size = sizeof(struct tn_pass_extension),
    .count = sizeof table / sizeof *table,
    .passes = table,
};
