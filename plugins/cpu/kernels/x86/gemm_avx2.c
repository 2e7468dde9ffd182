/* GEMM tiles for AVX2 and FMA: 6 rows × 16 columns in 12 of the 16 registers. */
enum { TALL = 5 };
#include "../gemm_tile_tmpl.h"

enum { ROWS = 6, KC = 256 };

#define TILES_OF(rows)                                                                   \
    TILE(half_##rows, rows, 1, 1)                                                        \
    TILE(full_##rows, rows, 2, 1)

// clang-format off
TILES_OF(1) TILES_OF(2) TILES_OF(3) TILES_OF(4) TILES_OF(5) TILES_OF(6)
TILE(wide_1, 1, 2, 4)
TILE(wide_2, 2, 2, 2)

typedef void tile_fn(const struct tn_gemm_tile *tile);
static tile_fn *const half[ROWS + 1] = {NULL,
    half_1, half_2, half_3, half_4, half_5, half_6};
static tile_fn *const full[ROWS + 1] = {NULL,
    full_1, full_2, full_3, full_4, full_5, full_6};
static tile_fn *const wide[3] = {NULL, wide_1, wide_2};
// clang-format on

static void tile_avx2(const struct tn_gemm_tile *t) {
    if (t->cols > NR) {
        wide[t->rows](t);
    } else if (t->cols > VF_LANES) {
        full[t->rows](t);
    } else {
        half[t->rows](t);
    }
}

/* Eight rows of eight at a time: pairs, quads, then halves change places. */
static void transpose_8x8(float *dst, size_t ldd, const float *src, size_t lds) {
    __m256 r[8], s[8];
    for (int i = 0; i < 8; i++)
        r[i] = vf_load(src + (size_t)i * lds);
    for (int i = 0; i < 8; i += 2) {
        s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        vf_store(dst + (size_t)i * ldd, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        vf_store(
            dst + (size_t)(i + 4) * ldd, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

static void transpose_avx2(
    float *dst, size_t ldd, const float *src, size_t lds, size_t rows, size_t cols) {
    const size_t full_rows = rows / 8 * 8, full_cols = cols / 8 * 8;
    for (size_t c = 0; c < full_cols; c += 8) {
        for (size_t r = 0; r < full_rows; r += 8) {
            transpose_8x8(dst + c * ldd + r, ldd, src + r * lds + c, lds);
        }
    }
    for (size_t c = 0; c < cols; c++) {
        for (size_t r = c < full_cols ? full_rows : 0; r < rows; r++) {
            dst[c * ldd + r] = src[r * lds + c];
        }
    }
}

void tn__gemm_init_avx2(struct tn_gemm_kernels *kernels) {
    kernels->nr = NR;
    kernels->rows = ROWS;
    kernels->kc = KC;
    kernels->panels[1] = 4;
    kernels->panels[2] = 2;
    kernels->tile = tile_avx2;
    kernels->transpose = transpose_avx2;
}
