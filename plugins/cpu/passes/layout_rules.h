/* What the rules of the layout pass see: values and their NHWC twins. */
#ifndef TENON_CPU_LAYOUT_H
#define TENON_CPU_LAYOUT_H

#include "passes/passes.h"

struct tn__layout {
    const struct tn_pass_ctx *ctx;
    tn_value_id *twins; /* by value: the same content with channels last, or TN_NO_ID */
    uint32_t n_twins;
    tn_node_id
        *moves; /* Transposes that were added: those without readers go at the end */
    uint32_t n_moves, cap_moves;
    uint32_t changes;
};

/* The twin of a value that has one, else TN_NO_ID. */
tn_value_id tn__layout_twin(const struct tn__layout *layout, tn_value_id v);

/* The twin, made by a Transpose before node `before` when there is none yet. */
tn_status tn__layout_want(
    struct tn__layout *layout, tn_value_id v, tn_node_id before, tn_value_id *out);

/* Output 0 of node `id` has the twin `twin`: readers get a Transpose of it, the node goes. */
tn_status tn__layout_replace(struct tn__layout *layout, tn_node_id id, tn_value_id twin);

/* Looks at one node and rewrites it to channels last when it can. */
tn_status tn__layout_rule(struct tn__layout *layout, tn_node_id id);

#endif
