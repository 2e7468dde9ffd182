/* The table of methods, best first. */
#include "trees/tree_methods.h"

#include "methods/methods.h"

const struct tn_tree_method *const tn__tree_methods[] = {
    &tn__tree_slice_avx512,
    &tn__tree_slice_avx2,
    &tn__tree_slice_neon,
    &tn__tree_row_avx512,
    &tn__tree_tile_avx512,
    &tn__tree_walk,
    &tn__tree_plain_walk,
};

const uint32_t tn__tree_method_count = sizeof tn__tree_methods / sizeof *tn__tree_methods;
