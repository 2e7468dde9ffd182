/* The methods of this folder: rows for the table of trees/tree_method.h. */
#ifndef TENON_ML_METHODS_H
#define TENON_ML_METHODS_H

#include "trees/tree_method.h"

extern const struct tn_tree_method tn__tree_slice_avx512;
extern const struct tn_tree_method tn__tree_slice_avx2;
extern const struct tn_tree_method tn__tree_slice_neon;
extern const struct tn_tree_method tn__tree_row_avx512;
extern const struct tn_tree_method tn__tree_tile_avx512;

#endif
