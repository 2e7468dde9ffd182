/* Integer GEMM tiles for AVX2: pairs of 16-bit values, 6 rows × 16 columns. vpmaddubsw would take
 * bytes, but saturates. */
#include "../simd/vf.h"

static inline vi dot(vi sum, vi a, vi b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

#include "../gemm_int_pairs_tmpl.h"
#include "../gemm_int_tmpl.h"

enum { ROWS = 6 };

// clang-format off
TILE(tile_1, 1, 1) TILE(tile_2, 2, 1) TILE(tile_3, 3, 1)
TILE(tile_4, 4, 1) TILE(tile_5, 5, 1) TILE(tile_6, 6, 1)
TILE(wide_1, 1, 4)
    // clang-format on

    static void tile_avx2(const struct tn_gemm_int_tile *t) {
    static tile_fn *const tiles[ROWS + 1] = {
        NULL, tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};
    if (t->panels > 1) {
        wide_1(t);
    } else {
        tiles[t->rows](t);
    }
}

void tn__gemm_int_init_avx2(struct tn_gemm_int_kernels *kernels) {
    kernels->nr = NR;
    kernels->rows = ROWS;
    kernels->pack = PACK;
    kernels->panels[1] = 4;
    kernels->tile = tile_avx2;
    kernels->convert = convert_pairs;
    kernels->sum = sum_words;
    kernels->finish = finish_row;
}
