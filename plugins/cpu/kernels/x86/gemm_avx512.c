/* GEMM tiles for AVX-512: 14 rows × 32 columns in 28 accumulators, so that a step of k is
 * 28 multiply-adds on 2 loads of B and 14 broadcasts of A. Fourteen and not twelve
 * because image sizes are multiples of 7. */
enum { TALL = 10 };
#include "../gemm_tile_tmpl.h"

enum { ROWS = 14, KC = 256 };

#define TILES_OF(rows)                                                                   \
    TILE(half_##rows, rows, 1, 1)                                                        \
    TILE(full_##rows, rows, 2, 1)

// clang-format off
TILES_OF(1) TILES_OF(2) TILES_OF(3) TILES_OF(4) TILES_OF(5) TILES_OF(6) TILES_OF(7)
TILES_OF(8) TILES_OF(9) TILES_OF(10) TILES_OF(11) TILES_OF(12) TILES_OF(13) TILES_OF(14)
TILE(wide_1, 1, 2, 4)
TILE(wide_2, 2, 2, 2)
TILE(wide_3, 3, 2, 2)

typedef void tile_fn(const struct tn_gemm_tile *tile);
static tile_fn *const half[ROWS + 1] = {NULL,
    half_1, half_2, half_3, half_4, half_5, half_6, half_7,
    half_8, half_9, half_10, half_11, half_12, half_13, half_14};
static tile_fn *const full[ROWS + 1] = {NULL,
    full_1, full_2, full_3, full_4, full_5, full_6, full_7,
    full_8, full_9, full_10, full_11, full_12, full_13, full_14};
static tile_fn *const wide[4] = {NULL, wide_1, wide_2, wide_3};
// clang-format on

static void tile_avx512(const struct tn_gemm_tile *t) {
    if (t->cols > NR) {
        wide[t->rows](t);
    } else if (t->cols > VF_LANES) {
        full[t->rows](t);
    } else {
        half[t->rows](t);
    }
}

void tn__gemm_init_avx512(struct tn_gemm_kernels *kernels) {
    kernels->nr = NR;
    kernels->rows = ROWS;
    kernels->kc = KC;
    kernels->panels[1] = 4;
    kernels->panels[2] = 2;
    kernels->panels[3] = 2;
    kernels->tile = tile_avx512;
}
