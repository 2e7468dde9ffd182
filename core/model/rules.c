/* The table of loader rules: see rules.h. */
#include "core/model/rules.h"

static const struct {
    uint32_t number;
    const char *name, *text;
} rules[] = {
#define X(name, number, text) {number, #name, text},
#include "core/model/rules.inc"
#undef X
};

enum { N_RULES = sizeof rules / sizeof rules[0] };

bool tn__rule_at(
    uint32_t i, uint32_t *out_number, const char **out_name, const char **out_text) {
    if (i >= N_RULES) return false;
    *out_number = rules[i].number;
    *out_name = rules[i].name;
    *out_text = rules[i].text;
    return true;
}

const char *tn__rule_text(uint32_t number) {
    for (uint32_t i = 0; i < N_RULES; i++) {
        if (rules[i].number == number) return rules[i].text;
    }
    return NULL;
}

tn_status tn__fail_as(
    struct tn_diag *diag, tn_status code, uint32_t rule, const char *format, ...) {
    if (diag && diag->code == TN_OK) {
        va_list args;
        va_start(args, format);
        diag->code = code;
        diag->rule = rule;
        vsnprintf(diag->message, sizeof diag->message, format, args);
        va_end(args);
    }
    return code;
}
