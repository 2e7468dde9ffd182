/* A plugin that is linked in, with operators of the domain "t" made for tests of the
 * registry, and a graph to try them in. */
#ifndef TENON_REGISTRY_FIXTURE_H
#define TENON_REGISTRY_FIXTURE_H

#include "core/registry/registry.h"

/* Sum(A: T, B: T) -> C: T; versions 1, 3 (attribute "shift" turned into "bias"), 5 (wider
 *   types). Kernels of "cpu": since 1 float; since 3 float, "sum_3_f32"; since 3 int32.
 * Scale(X: T, rest: T variadic) -> Y: T; attributes factor (float, required), tag
 *   (string). Kernel "cpu": y = factor * x for float.
 * Old: version 1, deprecated in 4. Ring: its upgrade makes it Ring at version 1 again.
 * Count(X) -> N: shape depends on data; its kernel allocates the output. */
tn_status fixture_query(const struct tn_host_info *host, const struct tn_plugin **out);

extern int fixture_shutdowns; /* how often shutdown ran */

/* A model with opset `opset` of the domain "t" and one node of this operator, whose inputs
 * are n tensors "in0", "in1" … of the given types (0 = of unknown type) and rank 1, 2
 * elements; its one output is "out". */
struct tn_graph *fixture_graph(const char *op_type, int64_t opset, const int32_t *dtypes,
    uint32_t n, const struct tn_attr *attrs, uint32_t n_attrs);
/* Ends the model of the graph. */
void fixture_graph_end(struct tn_graph *g);

#endif
