/* UTF-8 of any origin. */
#include "ops/utf8.h"

uint32_t tn__utf8_decode(const char *text, size_t size, size_t *length) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t n = s[0] < 0x80       ? 1
               : s[0] >> 5 == 6  ? 2
               : s[0] >> 4 == 14 ? 3
               : s[0] >> 3 == 30 ? 4
                                 : 0;
    *length = 1;
    if (n == 1) return s[0];
    if (n == 0 || n > size) return TN_UTF8_INVALID;
    uint32_t c = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2) return TN_UTF8_INVALID;
        c = c << 6 | (s[i] & 0x3fu);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return TN_UTF8_INVALID;
    *length = n;
    return c;
}

size_t tn__utf8_encode(uint32_t c, char *out) {
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(heads[n] | c);
    return n;
}

size_t tn__utf8_space(const char *text, size_t size) {
    size_t n;
    uint32_t c = tn__utf8_decode(text, size, &n);
    int space = (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 ||
                c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
                c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
    return space ? n : 0;
}
