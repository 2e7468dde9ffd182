/* Names and texts of the loader rules, and the way to report one that is not a matter of
 * an invalid model. */
#ifndef TENON_RULES_H
#define TENON_RULES_H

#include "core/base/diag.h"

#include <stdbool.h>

/* Number, name and text of the i-th rule; false past the last. */
bool tn__rule_at(
    uint32_t i, uint32_t *out_number, const char **out_name, const char **out_text);
/* "a node names its operator"; NULL when there is no such rule. */
const char *tn__rule_text(uint32_t number);

/* As tn__fail_rule with another code (limits, missing files). */
tn_status tn__fail_as(struct tn_diag *diag, tn_status code, uint32_t rule,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
