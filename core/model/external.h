/* Tensor data in files beside the model, fenced in: a location never leaves the model's
 * folder, follows no symbolic link and names only a regular file without other names.
 * Each file is mapped once and handed over to the model. */
#ifndef TENON_EXTERNAL_H
#define TENON_EXTERNAL_H

#include "core/model/mapping.h"
#include "tenon/tenon.h"

struct tn__external_file {
    struct tn__external_file *next;
    const char *location;
    struct tn__mapping mapping;
    bool checked; /* its checksum was compared */
};

struct tn__externals {
    const struct tn_model *source; /* NULL: no external data here */
    struct tn__model *model;       /* owner of the mappings */
    struct tn_arena *temp;
    struct tn__external_file *files;
    bool verify; /* compare checksums */
};

/* The entries of TensorProto.external_data. */
struct tn__external_place {
    const char *location, *offset, *length, *checksum; /* NULL where absent */
};

/* Data of `size` bytes, the size that the tensor's shape asks for. `room` is called when
 * bytes come from a reader callback instead of a mapping. `tensor` names the tensor in
 * messages. */
struct tn__external_room {
    tn_status (*alloc)(void *arg, uint64_t size, void **out, struct tn_diag *diag);
    void *arg;
};
tn_status tn__external_data(struct tn__externals *externals,
    const struct tn__external_place *place, const char *tensor, uint64_t size,
    const struct tn__external_room *room, const void **out, struct tn_diag *diag);

#endif
