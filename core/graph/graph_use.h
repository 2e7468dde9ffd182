/* The links between values and their readers: for the graph room alone. */
#ifndef TENON_GRAPH_USE_H
#define TENON_GRAPH_USE_H

#include "core/graph/graph.h"

/* Input `index` of a node (whose slot is empty) reads v; false when there is no memory. */
bool tn__input_connect(
    struct tn_graph *g, struct tn__node *node, uint32_t index, tn_value_id v);
/* The slot becomes empty. */
void tn__input_disconnect(struct tn_graph *g, struct tn__node *node, uint32_t index);
void tn__node_disconnect(struct tn_graph *g, struct tn__node *node);

/* Value v of a subgraph stands for `outer` of its parent; false when there is no memory. */
bool tn__capture_connect(struct tn_graph *sub, tn_value_id v, tn_value_id outer);
void tn__capture_disconnect(struct tn_graph *sub, tn_value_id v);

#endif
