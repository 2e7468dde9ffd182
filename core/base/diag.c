/* Diagnoses: see diag.h. */
#include "core/base/diag.h"

#include <string.h>

void tn__diag_name(struct tn_diag *diag, char *field, const char *text) {
    if (!diag || !text || field[0] != '\0') return;
    size_t n = strlen(text);
    if (n >= TN_DIAG_NAME_SIZE) {
        n = TN_DIAG_NAME_SIZE - 1;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    }
    memcpy(field, text, n);
    field[n] = '\0';
}

void tn__diag_rule(struct tn_diag *diag, uint32_t rule, const char *format, ...) {
    if (diag && diag->code == TN_OK) {
        va_list args;
        va_start(args, format);
        diag->code = TN_INVALID_MODEL;
        diag->rule = rule;
        vsnprintf(diag->message, sizeof diag->message, format, args);
        va_end(args);
    }
}
