/* Single rows, AVX-512: two permutations of the row bring the ranks of a tree's nodes, two
 * comparisons give its 64 bits, and eight trees' bits are followed at once. The bits of one
 * chunk of trees are decoded while the next one's are made. */
#include "../tree_row.h"

#include <immintrin.h>

void tn__row_init_avx512(struct tn_row_kernels *kernels);

enum { CHUNK = 32, HALF = 32 };

static inline __m512i load_columns(const uint8_t *column) {
    return _mm512_cvtepu8_epi16(_mm256_load_si256((const __m256i *)(const void *)column));
}

static inline uint32_t half_32(
    const __m512i row[2], const uint8_t *column, const int16_t *cut) {
    return _mm512_cmpgt_epi16_mask(
        _mm512_permutexvar_epi16(load_columns(column), row[0]), _mm512_load_si512(cut));
}

static inline uint32_t half_64(
    const __m512i row[2], const uint8_t *column, const int16_t *cut) {
    return _mm512_cmpgt_epi16_mask(
        _mm512_permutex2var_epi16(row[0], load_columns(column), row[1]),
        _mm512_load_si512(cut));
}

/* The leaves of n trees from the bits of their nodes; room for CHUNK is written. */
static inline void decode(uint8_t *leaf, const uint64_t bits[CHUNK], size_t n) {
    const __m512i one = _mm512_set1_epi64(1);
    for (size_t i = 0; i < n; i += 8) {
        const __m512i all = _mm512_load_si512(bits + i);
        __m512i node = one;
        for (int level = 0; level < TN_ROW_LEVELS; level++) {
            __m512i bit = _mm512_and_si512(_mm512_srlv_epi64(all, node), one);
            node = _mm512_add_epi64(_mm512_add_epi64(node, node), bit);
        }
        node = _mm512_sub_epi64(node, _mm512_set1_epi64(TN_ROW_NODES));
        const size_t left = n - i;
        _mm512_mask_cvtepi64_storeu_epi8(
            leaf + i, (__mmask8)(left < 8 ? (1u << left) - 1 : 0xFF), node);
    }
}

#define DESCEND(columns)                                                                 \
    static void descend_##columns(uint8_t *leaf, const int16_t *ranks,                   \
        const uint8_t *column, const int16_t *cut, size_t n) {                           \
        _Alignas(64) uint64_t bits[2][CHUNK];                                            \
        const __m512i row[2] = {_mm512_load_si512(ranks),                                \
            _mm512_load_si512(ranks + (columns > HALF ? HALF : 0))};                     \
        size_t which = 0;                                                                \
        for (size_t first = 0; first < n + CHUNK; first += CHUNK, which ^= 1) {          \
            const size_t end = first + CHUNK < n ? first + CHUNK : n;                    \
            for (size_t t = first; t < end; t++) {                                       \
                const uint8_t *c = column + t * TN_ROW_NODES;                            \
                const int16_t *k = cut + t * TN_ROW_NODES;                               \
                bits[which][t - first] =                                                 \
                    half_##columns(row, c, k) |                                          \
                    (uint64_t)half_##columns(row, c + HALF, k + HALF) << HALF;           \
            }                                                                            \
            if (first == 0) continue;                                                    \
            decode(leaf + first - CHUNK, bits[which ^ 1],                                \
                first < n ? CHUNK : n + CHUNK - first);                                  \
        }                                                                                \
    }
DESCEND(32)
DESCEND(64)
#undef DESCEND

void tn__row_init_avx512(struct tn_row_kernels *kernels) {
    *kernels = (struct tn_row_kernels){{descend_32, descend_64}};
}
