/* Patterns in RE2's syntax, rewritten for PCRE2.
 *
 * Whatever the two read differently is spelled out: \s without the vertical tab, \v as one
 * character, scripts by \p, braces that are no counts. What RE2 refuses is refused here:
 * back references, looking around, possessive and stacked repetitions, unknown escapes,
 * groups and flags. Of RE2's own, \C (a single byte) is not known. */
#ifndef TENON_TEXT_PATTERN_H
#define TENON_TEXT_PATTERN_H

#include "tenon/plugin.h"

#include <stdbool.h>

struct tn__pattern {
    char *data; /* from the host */
    size_t size;
    bool is_run; /* one character or class, once or more: [a-z]+ */
};

tn_status tn__pattern_translate(const struct tn_host *host, struct tn_string pattern,
    struct tn__pattern *out, struct tn_diag *diag);

#endif
