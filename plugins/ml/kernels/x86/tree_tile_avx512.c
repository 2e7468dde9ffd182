/* Tiles, AVX-512: one vpermw brings the ranks of 15 nodes out of a row of 32 columns, one
 * vpermt2w out of 64. Visits go in three short passes over CHUNK of them: comparisons, the
 * decoding of all their bits at once, and the links; in one pass the few visits whose long
 * chain the scheduler holds took twice as long. */
#include "../tree_tile.h"

#include <immintrin.h>

void tn__tile_init_avx512(struct tn_tile_kernels *kernels);

enum { CHUNK = 32 };

static inline __m512i columns(const struct tn_tile *tile) {
    return _mm512_castsi256_si512(_mm256_cvtepu8_epi16(
        _mm_load_si128((const __m128i *)(const void *)tile->column)));
}

static inline uint16_t above_cut(__m512i rank, const struct tn_tile *tile) {
    return _mm256_cmpgt_epi16_mask(_mm512_castsi512_si256(rank),
        _mm256_loadu_si256((const __m256i *)(const void *)tile->cut));
}

static inline uint16_t right_32(const struct tn_tile *tile, const int16_t *row) {
    return above_cut(
        _mm512_permutexvar_epi16(columns(tile), _mm512_load_si512(row)), tile);
}

static inline uint16_t right_64(const struct tn_tile *tile, const int16_t *row) {
    return above_cut(_mm512_permutex2var_epi16(_mm512_load_si512(row), columns(tile),
                         _mm512_load_si512(row + 32)),
        tile);
}

/* bits[i] becomes the exit that they lead to. */
static inline void decode(uint16_t bits[CHUNK]) {
    const __m512i one = _mm512_set1_epi16(1), all = _mm512_load_si512(bits);
    __m512i node = one;
    for (int level = 0; level < TN_TILE_LEVELS; level++) {
        __m512i bit = _mm512_and_si512(_mm512_srlv_epi16(all, node), one);
        node = _mm512_add_epi16(_mm512_add_epi16(node, node), bit);
    }
    _mm512_store_si512(bits, _mm512_sub_epi16(node, _mm512_set1_epi16(TN_TILE_EXITS)));
}

/* Where n visits go, from their exits; next visits are written from `next` on. */
static inline size_t follow(uint32_t *leaf, uint32_t *slots, uint32_t *at, size_t next,
    size_t first, size_t n, const struct tn_tile *tiles, const uint16_t *exits) {
    for (size_t i = 0; i < n; i++) {
        const struct tn_tile *tile = &tiles[at[first + i]];
        const uint32_t slot = slots[first + i], exit = exits[i];
        const uint32_t on = tile->exits[1] >> exit & 1;
        const uint32_t link = tile->first[on] + (uint32_t)__builtin_popcount(
                                                    _bzhi_u32(tile->exits[on], exit));
        leaf[slot] = link;
        slots[next] = slot;
        at[next] = link;
        next += on;
    }
    return next;
}

/* A chunk is decoded when the one after it is compared: by then its bits are in the cache,
 * from where alone they can be read as one vector. */
#define STEP(name, right)                                                                \
    static size_t name(uint32_t *leaf, uint32_t *slots, uint32_t *at, size_t n,          \
        const struct tn_tile *tiles, const int16_t *ranks, size_t step) {                \
        _Alignas(64) uint16_t bits[2][CHUNK] = {{0}};                                    \
        size_t next = 0, which = 0;                                                      \
        for (size_t first = 0; first < n + CHUNK; first += CHUNK, which ^= 1) {          \
            const size_t end = first + CHUNK < n ? first + CHUNK : n;                    \
            for (size_t i = first; i < end; i++)                                         \
                bits[which][i - first] = right(&tiles[at[i]], ranks + slots[i] * step);  \
            if (first == 0) continue;                                                    \
            decode(bits[which ^ 1]);                                                     \
            next = follow(leaf, slots, at, next, first - CHUNK,                          \
                first < n ? CHUNK : n + CHUNK - first, tiles, bits[which ^ 1]);          \
        }                                                                                \
        return next;                                                                     \
    }
STEP(step_32, right_32)
STEP(step_64, right_64)
#undef STEP

void tn__tile_init_avx512(struct tn_tile_kernels *kernels) {
    *kernels = (struct tn_tile_kernels){{step_32, step_64}};
}
