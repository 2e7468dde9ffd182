/* UTF-8 of any origin: bytes that are no character stand for themselves. */
#ifndef TENON_TEXT_UTF8_H
#define TENON_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <utf8proc.h>

/* Not a character: the byte is to be taken as it is. */
#define TN_UTF8_INVALID UINT32_MAX

/* The character at text (size > 0) and, in *length, its bytes: 1 when it is invalid. */
static inline uint32_t tn__utf8_decode(const char *text, size_t size, size_t *length) {
    utf8proc_int32_t c = (unsigned char)text[0];
    *length = 1;
    if (c < 0x80) return (uint32_t)c;
    utf8proc_ssize_t n = utf8proc_iterate(
        (const utf8proc_uint8_t *)text, (utf8proc_ssize_t)(size < 4 ? size : 4), &c);
    if (n <= 0) return TN_UTF8_INVALID;
    *length = (size_t)n;
    return (uint32_t)c;
}

/* Writes a character, at most 4 bytes; returns how many. */
static inline size_t tn__utf8_encode(uint32_t c, char *out) {
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)c, (utf8proc_uint8_t *)out);
}

/* Characters of a text; SIZE_MAX when it is not UTF-8. */
static inline size_t tn__utf8_count(const char *text, size_t size) {
    size_t count = 0;
    for (size_t at = 0, n; at < size; at += n, count++)
        if (tn__utf8_decode(text + at, size - at, &n) == TN_UTF8_INVALID) return SIZE_MAX;
    return count;
}

#endif
