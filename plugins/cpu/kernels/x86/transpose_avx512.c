/* Transposition at the AVX-512 level: tiles whose sides are a cache line. */
#include "../transpose.h"
#include "../transpose_walk.h"
#include <immintrin.h>

/* 16 x 16 of 4 bytes, each line loaded and stored whole: when the step is a power of two all
 * lines of a tile fall into one set of the cache, and none would survive there until it is
 * touched again. */
static inline void tile_4(
    char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step) {
    __m512 row[16], pair[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        row[i] = _mm512_loadu_ps(src + i * src_step);
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        pair[i] = _mm512_unpacklo_ps(row[i], row[i + 1]);
        pair[i + 1] = _mm512_unpackhi_ps(row[i], row[i + 1]);
    }
    /* row[4 k + j]: column j of each quarter, of source rows 4 k … 4 k + 3 */
#pragma GCC unroll 4
    for (int k = 0; k < 16; k += 4) {
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            __m512d a = _mm512_castps_pd(pair[k + j]),
                    b = _mm512_castps_pd(pair[k + 2 + j]);
            row[k + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            row[k + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    }
    /* column j of quarter q gathers quarter q of rows j, 4 + j, 8 + j, 12 + j */
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        __m512 low_even = _mm512_shuffle_f32x4(row[j], row[4 + j], 0x88);
        __m512 low_odd = _mm512_shuffle_f32x4(row[j], row[4 + j], 0xdd);
        __m512 high_even = _mm512_shuffle_f32x4(row[8 + j], row[12 + j], 0x88);
        __m512 high_odd = _mm512_shuffle_f32x4(row[8 + j], row[12 + j], 0xdd);
        _mm512_storeu_ps(
            dst + j * dst_step, _mm512_shuffle_f32x4(low_even, high_even, 0x88));
        _mm512_storeu_ps(
            dst + (4 + j) * dst_step, _mm512_shuffle_f32x4(low_odd, high_odd, 0x88));
        _mm512_storeu_ps(
            dst + (8 + j) * dst_step, _mm512_shuffle_f32x4(low_even, high_even, 0xdd));
        _mm512_storeu_ps(
            dst + (12 + j) * dst_step, _mm512_shuffle_f32x4(low_odd, high_odd, 0xdd));
    }
}

TRANSPOSE_ROW(plane_4, 4, 16, tile_4)

void tn__transpose_init_avx512(struct tn_transpose_kernels *kernels);

void tn__transpose_init_avx512(struct tn_transpose_kernels *kernels) {
    kernels->plane[2] = plane_4;
}
