/* SHA-256 (FIPS 180-4), for what must be recognised again. */
#ifndef TENON_SHA256_H
#define TENON_SHA256_H

#include <stdint.h>

struct tn_sha256 {
    uint32_t h[8];
    uint64_t size;
    uint8_t block[64];
};

void tn__sha256_begin(struct tn_sha256 *sha);
void tn__sha256_add(struct tn_sha256 *sha, const void *data, uint64_t size);
void tn__sha256_end(struct tn_sha256 *sha, uint8_t out[32]);

#endif
