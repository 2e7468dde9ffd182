/* Read-only file mappings that a model keeps open. */
#ifndef TENON_MAPPING_H
#define TENON_MAPPING_H

#include "core/graph/graph.h"

struct tn__mapping {
    const void *data; /* never NULL, also for an empty file */
    uint64_t size;
};

/* Maps what an open descriptor refers to, which may be closed afterwards. `label` names
 * it in messages. */
tn_status tn__mapping_create(
    int fd, const char *label, struct tn__mapping *out, struct tn_diag *diag);
void tn__mapping_destroy(const struct tn__mapping *mapping);
/* Hands the mapping over to the model. */
tn_status tn__mapping_give(
    const struct tn__mapping *mapping, struct tn__model *model, struct tn_diag *diag);

#endif
