/* Filling a diagnosis, the same way in the core and in plugins. */
#ifndef TENON_HELPER_DIAG_H
#define TENON_HELPER_DIAG_H

#include "tenon/status.h"

#include <stdarg.h>
#include <stdio.h>

/* Returns code after writing it and the formatted sentence into diag (when not NULL),
 * unless diag already holds an error: the first, deepest cause stays. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4), unused))
#endif
static tn_status
tn_fail(struct tn_diag *diag, tn_status code, const char *format, ...) {
    if (diag && diag->code == TN_OK) {
        va_list args;
        va_start(args, format);
        diag->code = code;
        vsnprintf(diag->message, sizeof diag->message, format, args);
        va_end(args);
    }
    return code;
}

/* Forwards a failure. */
#define TN_TRY(expr)                                                                     \
    do {                                                                                 \
        tn_status tn_try_status_ = (expr);                                               \
        if (tn_try_status_ != TN_OK) return tn_try_status_;                              \
    } while (0)

#endif
