/* Tensors in files: .npy, .npz, raw .bin, and ONNX's .pb. */
#ifndef TENON_TENSOR_FILE_H
#define TENON_TENSOR_FILE_H

#include "tenon/tenon.h"

/* The whole of a file, NUL-terminated; free() it. */
tn_status file_read(
    const char *path, char **out_data, uint64_t *out_size, struct tn_diag *diag);
/* Reads by the ending of the name. `type` is what the model wants: it gives .bin its type
 * and (all sizes known) shape, .pb its kind. .npz: the member of that name, or the only one. */
tn_status tensor_file_read(const char *path, const char *name, const struct tn_type *type,
    struct tn_value **out, struct tn_diag *diag);
/* Writes a dense tensor as .npy; narrow floats become float32, packed integers int8. */
tn_status tensor_file_write(
    const char *path, const struct tn_tensor *tensor, struct tn_diag *diag);

#endif
