/* Filling a diagnosis, the same way in the core and in plugins. */
#ifndef TENON_HELPER_DIAG_H
#define TENON_HELPER_DIAG_H

#include "tenon/status.h"

#include <stdarg.h>
#include <stdio.h>

/* Writes code and the formatted sentence into diag (when not NULL), unless diag already holds
 * an error: the first, deepest cause stays. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4), unused))
#endif
static void
tn_diag_write(struct tn_diag *diag, tn_status code, const char *format, ...) {
    if (diag && diag->code == TN_OK) {
        va_list args;
        va_start(args, format);
        diag->code = code;
        vsnprintf(diag->message, sizeof diag->message, format, args);
        va_end(args);
    }
}

static inline tn_status tn_status_of(tn_status code) {
    return code;
}

/* tn_fail(diag, code, format, …): writes, and is the code. A macro so that compilers and
 * analysers see that a failure is not TN_OK. */
#define tn_fail(diag, code, ...)                                                         \
    (tn_diag_write((diag), (code), __VA_ARGS__), tn_status_of(code))

/* Forwards a failure. */
#define TN_TRY(expr)                                                                     \
    do {                                                                                 \
        tn_status tn_try_status_ = (expr);                                               \
        if (tn_try_status_ != TN_OK) return tn_try_status_;                              \
    } while (0)

#endif
