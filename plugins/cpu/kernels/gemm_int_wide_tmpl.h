/* The tiles of both AVX-512 levels: 14 rows × 32 columns. */
enum { ROWS = 14 };

// clang-format off
TILE(tile_1, 1, 1) TILE(tile_2, 2, 1) TILE(tile_3, 3, 1) TILE(tile_4, 4, 1)
TILE(tile_5, 5, 1) TILE(tile_6, 6, 1) TILE(tile_7, 7, 1) TILE(tile_8, 8, 1)
TILE(tile_9, 9, 1) TILE(tile_10, 10, 1) TILE(tile_11, 11, 1) TILE(tile_12, 12, 1)
TILE(tile_13, 13, 1) TILE(tile_14, 14, 1)
TILE(wide_1, 1, 4) TILE(wide_2, 2, 2)

static tile_fn *const tiles[ROWS + 1] = {NULL,
    tile_1, tile_2, tile_3, tile_4, tile_5, tile_6, tile_7,
    tile_8, tile_9, tile_10, tile_11, tile_12, tile_13, tile_14};
// clang-format on

static void tile_wide(const struct tn_gemm_int_tile *t) {
    if (t->panels == 4) {
        wide_1(t);
    } else if (t->panels == 2) {
        wide_2(t);
    } else {
        tiles[t->rows](t);
    }
}

static void init_wide(struct tn_gemm_int_kernels *kernels) {
    kernels->nr = NR;
    kernels->rows = ROWS;
    kernels->panels[1] = 4;
    kernels->panels[2] = 2;
    kernels->tile = tile_wide;
    kernels->sum = sum_words;
    kernels->finish = finish_row;
}
