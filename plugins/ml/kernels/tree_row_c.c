/* Single rows, the reference: a walk down each tree. */
#include "tree_row.h"

void tn__row_init_c(struct tn_row_kernels *kernels);

static void descend(uint8_t *leaf, const int16_t *row, const uint8_t *column,
    const int16_t *cut, size_t n) {
    for (size_t t = 0; t < n; t++, column += TN_ROW_NODES, cut += TN_ROW_NODES) {
        size_t at = 1;
        for (int level = 0; level < TN_ROW_LEVELS; level++)
            at = 2 * at + (row[column[at]] > cut[at]);
        leaf[t] = (uint8_t)(at - TN_ROW_NODES);
    }
}

void tn__row_init_c(struct tn_row_kernels *kernels) {
    *kernels = (struct tn_row_kernels){{descend, descend}};
}
