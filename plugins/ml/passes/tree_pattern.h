/* What the passes over tree regressors look at. */
#ifndef TENON_ML_TREE_PATTERN_H
#define TENON_ML_TREE_PATTERN_H

#include "tenon/helper/pass.h"

#include "ml.h"

/* A regressor of one target whose result is the plain sum of float weights: nothing is added,
 * averaged or transformed. NULL when the node is none. */
bool tn__is_plain_regressor(const struct tn_node *node);
/* Whether all its nodes are of one tree, and every leaf has one weight. */
bool tn__is_single_tree(const struct tn_node *node);

/* A list attribute, or NULL when it is absent, of another type or of another length
 * (`count` 0: any). */
const struct tn_attr *tn__list_attr(
    const struct tn_node *node, const char *name, uint32_t type, uint32_t count);

#endif
