/* What became of the providers' verdicts, in numbers. */
#ifndef TENON_PLACEMENT_H
#define TENON_PLACEMENT_H

#include "core/plan/plan.h"

/* Nodes and work of one provider. */
struct tn__share {
    uint64_t nodes, groups;
    double work; /* 0 … 1 of the model's */
};

struct tn__placement_counts {
    uint64_t nodes;
    uint64_t borders; /* values that pass from one provider to another */
    uint64_t copies, copied_bytes;
    bool at_least; /* sizes of some copies are not known at load */
};

/* Shares of plan->n_providers + 1, the last of nodes that nobody runs; the caller frees them by
 * tn__free. NULL when there is no memory. */
struct tn__share *tn__placement_count(
    const struct tn__plan *plan, struct tn__placement_counts *out);
/* One line: who runs how much, what is copied, what was refused and why. */
void tn__placement_line(const struct tn__plan *plan, struct tn_text *out);
/* Bytes that enter a group from others, and that others or the caller read (cost.c). */
uint64_t tn__group_border_bytes(
    const struct tn__program *program, const struct tn__unit *unit, bool *out_at_least);
/* Bytes of a value; sizes that are not known count as one and set *out_at_least. */
uint64_t tn__value_load_bytes(
    const struct tn_graph *g, tn_value_id v, bool *out_at_least);

#endif
