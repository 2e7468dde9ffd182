/* ONNX Runtime's C API as far as a benchmark needs it, so that its library can be opened by
 * path: our own declaration of a published binary layout (a table of function pointers whose
 * places never change). */
#ifndef TENON_BENCH_ORT_API_H
#define TENON_BENCH_ORT_API_H

#include <stddef.h>
#include <stdint.h>

struct ort_status; /* NULL is success */

enum {
    ORT_API_VERSION_USED = 10,
    ORT_LOGGING_ERROR = 3,
    ORT_ALL_OPTIMIZATIONS = 99,
    ORT_DEVICE_ALLOCATOR = 0,
    ORT_MEM_DEFAULT = 0
};

/* Places in the table. */
enum ort_slot {
    ORT_GET_ERROR_MESSAGE = 2,
    ORT_CREATE_ENV = 3,
    ORT_CREATE_SESSION = 7,
    ORT_RUN = 9,
    ORT_CREATE_SESSION_OPTIONS = 10,
    ORT_SET_OPTIMIZATION_LEVEL = 23,
    ORT_SET_INTRA_THREADS = 24,
    ORT_SET_INTER_THREADS = 25,
    ORT_CREATE_TENSOR_WITH_DATA = 49,
    ORT_GET_TENSOR_DATA = 51,
    ORT_CREATE_CPU_MEMORY_INFO = 69,
    ORT_RELEASE_STATUS = 93,
    ORT_RELEASE_SESSION = 95,
    ORT_RELEASE_VALUE = 96
};

struct ort_base {
    const void *const *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

typedef const char *(*ort_get_error_message_fn)(const struct ort_status *status);
typedef void (*ort_release_fn)(void *object);
typedef struct ort_status *(*ort_create_env_fn)(int level, const char *id, void **out);
typedef struct ort_status *(*ort_create_options_fn)(void **out);
typedef struct ort_status *(*ort_set_int_fn)(void *options, int value);
typedef struct ort_status *(*ort_create_session_fn)(
    void *env, const char *path, void *options, void **out);
typedef struct ort_status *(*ort_create_memory_info_fn)(
    int allocator, int type, void **out);
typedef struct ort_status *(*ort_create_tensor_fn)(void *info, void *data, size_t size,
    const int64_t *dims, size_t rank, int dtype, void **out);
typedef struct ort_status *(*ort_run_fn)(void *session, void *run_options,
    const char *const *input_names, void *const *inputs, size_t n_inputs,
    const char *const *output_names, size_t n_outputs, void **outputs);
typedef struct ort_status *(*ort_get_data_fn)(void *value, void **out);

#endif
