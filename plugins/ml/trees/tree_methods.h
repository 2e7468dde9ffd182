/* The rows of the table of methods: one line for each. */
#ifndef TENON_ML_TREE_METHODS_H
#define TENON_ML_TREE_METHODS_H

#include "trees/tree_method.h"

extern const struct tn_tree_method tn__tree_walk;       /* walk.c */
extern const struct tn_tree_method tn__tree_plain_walk; /* plain_walk.c */

#endif
