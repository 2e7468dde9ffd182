/* SHA-1 (FIPS 180-4), block by block over the mapped file. */
#include "core/model/sha1.h"

#include <stdio.h>
#include <string.h>

static uint32_t rotate(uint32_t x, unsigned n) {
    return x << n | x >> (32 - n);
}

static void add_block(uint32_t h[5], const uint8_t *block) {
    uint32_t w[80];
    for (unsigned i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
               (uint32_t)block[2] << 8 | block[3];
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (unsigned i = 0; i < 80; i++) {
        static const uint32_t constants[] = {
            0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        uint32_t choose = (b & c) | (~b & d), parity = b ^ c ^ d;
        uint32_t majority = (b & c) | (b & d) | (c & d);
        uint32_t f = i < 20 ? choose : i >= 40 && i < 60 ? majority : parity;
        uint32_t next = rotate(a, 5) + f + e + constants[i / 20] + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

void tn__sha1(const void *data, uint64_t size, char out[TN_SHA1_TEXT_SIZE]) {
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const uint8_t *at = data;
    uint64_t left = size;
    for (; left >= 64; left -= 64, at += 64)
        add_block(h, at);
    uint8_t tail[128] = {0}; /* the rest, a one bit, zeros, the length in bits */
    if (left) memcpy(tail, at, left);
    tail[left] = 0x80;
    unsigned end = left < 56 ? 64 : 128;
    for (unsigned i = 0; i < 8; i++)
        tail[end - 1 - i] = (uint8_t)(size * 8 >> (8 * i));
    for (unsigned i = 0; i < end; i += 64)
        add_block(h, tail + i);
    for (unsigned i = 0; i < 5; i++)
        snprintf(out + 8 * i, 9, "%08x", h[i]);
}
