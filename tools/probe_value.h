/* Values as a probe compares them: bit by bit, or number by number. */
#ifndef TENON_PROBE_VALUE_H
#define TENON_PROBE_VALUE_H

#include "tenon/tenon.h"

#include <stdbool.h>

/* A copy of all outputs of a context's last run, as bytes. */
struct probe_snapshot {
    unsigned char *bytes;
    size_t size, room;
    bool complete; /* false: out of memory, or a value of a kind that is not compared */
};

void probe_snapshot_take(
    struct probe_snapshot *out, const struct tn_context *context, uint32_t n_outputs);
bool probe_snapshot_equal(const struct probe_snapshot *a, const struct probe_snapshot *b);
void probe_snapshot_free(struct probe_snapshot *snapshot);

/* Whether output i of two contexts agrees as a reader of numbers wants it: equal shapes and
 * types, integers and strings equal, floats within the type's tolerance. *difference grows to
 * the largest difference of floats seen. Kinds other than tensors count as agreeing. */
bool probe_agrees(const struct tn_context *a, const struct tn_context *b, uint32_t i,
    double *difference);

#endif
