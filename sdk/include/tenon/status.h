/* Status codes and the diagnosis that explains them: one error idiom from a kernel to the
 * command line.
 *
 * A function that can fail returns a tn_status (0 is success) and takes a struct tn_diag
 * * which may be NULL. The place that knows the cause fills it once; everyone else
 * forwards the code. A diag belongs to its caller, has a fixed size, and holds no heap
 * memory: there is nothing to free and it may cross threads, the plugin ABI and a process
 * border.
 *
 * Includes nothing but libc. C11 and C++17. */
#ifndef TENON_STATUS_H
#define TENON_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t tn_status;

/* X(name, number, text): what the caller can do about each. The numbers are frozen. */
#define TN_STATUS_LIST(X)                                                                \
    X(OK, 0, "ok")                                                                       \
    X(INVALID_ARGUMENT, 1, "invalid argument") /* fix the call */                        \
    X(INVALID_MODEL, 2, "invalid model")       /* fix or re-export the model */          \
    X(UNSUPPORTED, 3, "unsupported")           /* another plugin, provider or version */ \
    X(NOT_FOUND, 4, "not found")               /* a file, name, plugin or provider */    \
    X(OUT_OF_MEMORY, 5, "out of memory")                                                 \
    X(LIMIT_EXCEEDED, 6, "limit exceeded") /* raise the limit if the model is trusted */ \
    X(PLUGIN, 7, "plugin error")           /* a plugin was refused or failed */          \
    X(IO, 8, "i/o error")                                                                \
    X(CANCELLED, 9, "cancelled")                                                         \
    X(DEADLINE, 10, "deadline exceeded")                                                 \
    X(INTERNAL, 11, "internal error") /* a defect of ours: report it */

/* clang-format off */
enum {
#define TN_STATUS_ENUM(name, number, text) TN_##name = number,
    TN_STATUS_LIST(TN_STATUS_ENUM)
#undef TN_STATUS_ENUM
};
/* clang-format on */

#define TN_DIAG_MESSAGE_SIZE 512
#define TN_DIAG_NAME_SIZE 96

/* Frozen layout. Strings are NUL-terminated UTF-8, cut at a character when too long, and
 * empty when unknown. */
struct tn_diag {
    tn_status code;
    uint32_t
        rule; /* stable number of the loader rule that was broken, 0 = none (model.h) */
    char message[TN_DIAG_MESSAGE_SIZE]; /* one sentence: culprit, found, wanted, remedy */
    char node[TN_DIAG_NAME_SIZE];       /* node name or "#index" */
    char op[TN_DIAG_NAME_SIZE];         /* "domain.Type-version" of that node */
    char tensor[TN_DIAG_NAME_SIZE];     /* input, output or value name */
    char plugin[TN_DIAG_NAME_SIZE];     /* plugin id or path */
};

#ifdef __cplusplus
}
#endif
#endif
