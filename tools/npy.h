/* numpy's .npy and .npz, read from memory. The bytes may be hostile. */
#ifndef TENON_NPY_H
#define TENON_NPY_H

#include "tenon/tenon.h"

/* `path` is for messages. Big-endian and Fortran-ordered files are converted. */
tn_status npy_parse(const char *path, const char *data, uint64_t size,
    struct tn_value **out, struct tn_diag *diag);
/* The member `name`.npy, or the only member; stored or deflated. */
tn_status npz_parse(const char *path, const char *data, uint64_t size, const char *name,
    struct tn_value **out, struct tn_diag *diag);
/* The code point at *at (which advances), 0 behind the end, U+FFFD for malformed bytes. */
uint32_t npy_decode_utf8(const struct tn_string *string, uint64_t *at);

#endif
