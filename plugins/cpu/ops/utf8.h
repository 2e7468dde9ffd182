/* UTF-8 of any origin: bytes that are no character stand for themselves. */
#ifndef TENON_CPU_UTF8_H
#define TENON_CPU_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Not a character: the byte is to be taken as it is. */
#define TN_UTF8_INVALID UINT32_MAX

/* The character at text (size > 0) and, in *length, its bytes: 1 when it is invalid. */
uint32_t tn__utf8_decode(const char *text, size_t size, size_t *length);
/* Writes a character, at most 4 bytes; returns how many. */
size_t tn__utf8_encode(uint32_t c, char *out);
/* Bytes of the white space character that text begins with, 0 when it is none. */
size_t tn__utf8_space(const char *text, size_t size);

#endif
