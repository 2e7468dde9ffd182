/* SHA-1, which ONNX's external data names as its checksum. It guards against damage, not
 * against an attacker. */
#ifndef TENON_SHA1_H
#define TENON_SHA1_H

#include <stdint.h>

enum { TN_SHA1_TEXT_SIZE = 41 };

/* The digest in lower-case hexadecimal. */
void tn__sha1(const void *data, uint64_t size, char out[TN_SHA1_TEXT_SIZE]);

#endif
