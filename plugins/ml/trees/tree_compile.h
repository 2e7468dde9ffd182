/* From a tree source to a canonical forest. */
#ifndef TENON_ML_TREE_COMPILE_H
#define TENON_ML_TREE_COMPILE_H

#include "trees/tree_source.h"

/* Compiles for inputs of element type `input`. The source may be freed afterwards (its
 * attributes are copied where the forest keeps them). Refuses cycles, by the name of a node
 * on them. Time and memory are linear in the source, but for sorting the sets and columns;
 * nothing recurses. aggregate: TN_AGGREGATE_*. [setup] */
tn_status tn__forest_compile(const struct tn_host *host, struct tn_tree_source *source,
    int32_t input, uint32_t aggregate, struct tn_forest **out, struct tn_diag *diag);

void tn__forest_destroy(struct tn_forest *forest); /* NULL is fine */
/* Frees the node arrays: when all models are built. */
void tn__forest_drop_nodes(struct tn_forest *forest);

#endif
