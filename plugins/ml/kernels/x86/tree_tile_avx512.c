/* Tiles, AVX-512: one vpermw brings the ranks of 15 nodes out of a row of 32 columns, one
 * vpermt2w out of 64. */
#include "../tree_tile.h"

#include <immintrin.h>

void tn__tile_init_avx512(struct tn_tile_kernels *kernels);

static inline __m512i columns(const struct tn_tile *tile) {
    return _mm512_castsi256_si512(_mm256_cvtepu8_epi16(
        _mm_load_si128((const __m128i *)(const void *)tile->column)));
}

static inline uint32_t above_cut(__m512i rank, const struct tn_tile *tile) {
    return _mm256_cmpgt_epi16_mask(_mm512_castsi512_si256(rank),
        _mm256_loadu_si256((const __m256i *)(const void *)tile->cut));
}

static inline uint32_t right_32(const struct tn_tile *tile, const int16_t *row) {
    return above_cut(
        _mm512_permutexvar_epi16(columns(tile), _mm512_load_si512(row)), tile);
}

static inline uint32_t right_64(const struct tn_tile *tile, const int16_t *row) {
    return above_cut(_mm512_permutex2var_epi16(_mm512_load_si512(row), columns(tile),
                         _mm512_load_si512(row + 32)),
        tile);
}

#define STEP step_32
#define RIGHT(tile, row) right_32(tile, row)
#define COUNT(mask, exit) (uint32_t) __builtin_popcount(_bzhi_u32(mask, exit))
#include "../tree_tile_tmpl.h"

#define STEP step_64
#define RIGHT(tile, row) right_64(tile, row)
#define COUNT(mask, exit) (uint32_t) __builtin_popcount(_bzhi_u32(mask, exit))
#include "../tree_tile_tmpl.h"

void tn__tile_init_avx512(struct tn_tile_kernels *kernels) {
    *kernels = (struct tn_tile_kernels){{step_32, step_64}};
}
