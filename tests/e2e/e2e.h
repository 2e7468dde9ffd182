/* End-to-end tests: the public API, the built plugins, real models. */
#ifndef TENON_E2E_H
#define TENON_E2E_H

#include "../unit/unit.h"

#include "number.h"
#include "tenon/tenon.h"
#include "tensor_file.h"

/* A file of the repository: TENON_TEST_SOURCE/<path>, borrowed until the next four calls. */
const char *e2e_path(const char *path);
/* A .npy file of the repository; release it. */
struct tn_value *e2e_load(const char *path);
/* A runtime with these options (pairs of key and value, NULL ends). */
struct tn_runtime *e2e_runtime(const char *const *options);
struct tn_session *e2e_session(
    struct tn_runtime *runtime, const char *path, const char *const *options);
/* Rows [begin, end) of a value's tensor, as a view in *out. */
struct tn_value_ref e2e_rows(const struct tn_value *value, int64_t begin, int64_t end,
    struct tn_tensor *out, int64_t *dims);
/* Largest absolute difference of two f32 tensors of the same shape; asserts the shape. */
double e2e_max_diff(const struct tn_tensor *a, const struct tn_tensor *b);

#endif
