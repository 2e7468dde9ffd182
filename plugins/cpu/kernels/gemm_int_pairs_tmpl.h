/* Words of two 16-bit values, for levels without a dot product of bytes: a multiply-add of pairs
 * is exact for 8-bit values of either sign. */
#include <stdbool.h>
#include <string.h>

enum { PACK = 2, ONES = 0x00010001 };

static void convert_pairs(int32_t *words, const void *a, size_t k, bool is_signed) {
    const uint8_t *from = a;
    unsigned char *to = (unsigned char *)words;
    if (k % PACK) words[k / PACK] = 0;
    for (size_t i = 0; i < k; i++) {
        const int16_t value = is_signed ? (int8_t)from[i] : from[i];
        memcpy(to + i * sizeof(value), &value, sizeof(value));
    }
}
