/* Growing text: see text.h. */
#include "core/base/text.h"

#include "core/base/alloc.h"
#include "core/base/checked.h"

#include <stdio.h>
#include <string.h>

void tn__text_free(struct tn_text *text) {
    tn__free(text->data);
    *text = (struct tn_text){0};
}

static bool reserve(struct tn_text *text, uint64_t more) {
    uint64_t need;
    if (text->failed || !tn_add_size(text->size, more + 1, &need)) {
        text->failed = true;
        return false;
    }
    if (need <= text->cap) return true;
    uint64_t cap = text->cap ? text->cap : 256;
    while (cap < need)
        cap *= 2;
    char *data = tn__alloc(cap, 0);
    if (!data) {
        text->failed = true;
        return false;
    }
    if (text->size) memcpy(data, text->data, text->size);
    tn__free(text->data);
    text->data = data;
    text->cap = cap;
    return true;
}

void tn__text_append(struct tn_text *text, const char *data, uint64_t n) {
    if (!reserve(text, n)) return;
    if (n) memcpy(text->data + text->size, data, n);
    text->size += n;
    text->data[text->size] = '\0';
}

void tn__text_puts(struct tn_text *text, const char *string) {
    tn__text_append(text, string, strlen(string));
}

void tn__text_printf(struct tn_text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !reserve(text, (uint64_t)n)) return;
    va_start(args, format);
    vsnprintf(text->data + text->size, (size_t)n + 1, format, args);
    va_end(args);
    text->size += (uint64_t)n;
}

/* Length of the UTF-8 character at p, 0 when it is malformed. */
static unsigned utf8_length(const unsigned char *p) {
    static const struct {
        unsigned char mask, lead, low, length;
    } forms[] = {{0x80, 0, 0, 1}, {0xe0, 0xc0, 0xc2, 2}, {0xf0, 0xe0, 0xe0, 3},
        {0xf8, 0xf0, 0xf0, 4}};
    for (unsigned f = 0; f < 4; f++) {
        if ((p[0] & forms[f].mask) != forms[f].lead || p[0] < forms[f].low) continue;
        for (unsigned i = 1; i < forms[f].length; i++) {
            if ((p[i] & 0xc0) != 0x80) return 0;
        }
        return forms[f].length;
    }
    return 0;
}

void tn__text_json(struct tn_text *text, const char *string) {
    tn__text_append(text, "\"", 1);
    for (const unsigned char *p = (const unsigned char *)string; *p;) {
        unsigned n = utf8_length(p);
        if (n == 0) {
            tn__text_puts(text, "\\ufffd");
            p++;
            continue;
        }
        if (*p == '"' || *p == '\\')
            tn__text_printf(text, "\\%c", *p);
        else if (*p < 0x20)
            tn__text_printf(text, "\\u%04x", *p);
        else
            tn__text_append(text, (const char *)p, n);
        p += n;
    }
    tn__text_append(text, "\"", 1);
}
