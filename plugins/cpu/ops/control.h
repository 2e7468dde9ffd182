/* Shared by the operators that run subgraphs (If, Loop, Scan). */
#ifndef TENON_CPU_CONTROL_H
#define TENON_CPU_CONTROL_H

#include "ops/ops.h"

/* Output o of the call becomes a copy of this value. */
tn_status tn__control_emit(
    const struct tn_run_args *args, uint32_t o, const struct tn_value_ref *value);
/* Copies a tensor's elements to dst; strings with their bytes, which then live until the end
 * of the run. */
tn_status tn__control_copy(
    const struct tn_run *run, void *dst, const struct tn_tensor *src);
/* Gives the bytes of n strings memory that lives until the end of the run. */
tn_status tn__control_own(const struct tn_run *run, struct tn_string *strings, int64_t n);

/* Weakens *a to what also holds for b: unequal dims become unknown, unequal ranks too.
 * dims[] (TN_RANK_MAX) takes the result's dims. 1 when it changed. */
int tn__type_join(struct tn_type *a, const struct tn_type *b, int64_t *dims);
/* Infers a body whose first outputs feed back to inputs: n_in inputs, n_out outputs; outputs
 * out_types[out_at + i] go to inputs types[in_at + i], i < n_carried, whose types are
 * weakened until they hold for every turn. */
tn_status tn__infer_carried(const struct tn_infer *infer, struct tn_graph *body,
    struct tn_type *types, uint32_t n_in, uint32_t in_at, struct tn_type *out_types,
    uint32_t n_out, uint32_t out_at, uint32_t n_carried);

/* A subgraph attribute of the node, NULL when it is missing. */
static inline struct tn_graph *tn__control_graph(
    const struct tn_node *node, const char *name) {
    const struct tn_attr *attr = tn_node_attr(node, name);
    return attr && attr->type == TN_ATTR_GRAPH && attr->count == 1 ? attr->as.graphs[0]
                                                                   : NULL;
}

#endif
