/* A growing text for reports and messages: append freely, look at `failed` once at the
 * end. */
#ifndef TENON_TEXT_H
#define TENON_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

struct tn_text {
    char *data; /* NUL-terminated once anything was appended, else NULL */
    uint64_t size, cap;
    bool failed; /* memory ran out: the content is cut */
};

void tn__text_free(struct tn_text *text);
void tn__text_append(struct tn_text *text, const char *data, uint64_t n);
void tn__text_puts(struct tn_text *text, const char *string);
void tn__text_printf(struct tn_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void tn__text_json(struct tn_text *text, const char *string);

#endif
