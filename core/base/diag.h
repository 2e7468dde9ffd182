/* The core's way to fill a diagnosis: the SDK's tn_fail and TN_TRY, plus context that a
 * layer adds once on the way up. */
#ifndef TENON_DIAG_H
#define TENON_DIAG_H

#include "tenon/helper/diag.h"

/* Copies text into one of the diag's name fields when it is still empty, cut at a UTF-8
 * character. A NULL diag or text is fine. */
void tn__diag_name(struct tn_diag *diag, char *field, const char *text);

/* As tn_fail, with the stable number of the loader rule that was broken. */
#define tn__fail_rule(diag, rule, ...)                                                   \
    (tn__diag_rule((diag), (rule), __VA_ARGS__), tn_status_of(TN_INVALID_MODEL))
void tn__diag_rule(struct tn_diag *diag, uint32_t rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "Not enough memory for <what> (<size> bytes)". */
static inline tn_status tn__fail_memory(
    struct tn_diag *diag, const char *what, uint64_t size) {
    return tn_fail(diag, TN_OUT_OF_MEMORY, "not enough memory for %s (%llu bytes)", what,
        (unsigned long long)size);
}

#endif
