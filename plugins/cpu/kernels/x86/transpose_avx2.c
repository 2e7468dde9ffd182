/* Transposition at the AVX2 level: 8 x 8 tiles of 1, 2 and 4 bytes, 4 x 4 of 8 bytes. */
#include "../transpose.h"
#include "../transpose_walk.h"
#include <immintrin.h>

static inline __m128i load_8(const char *src) {
    return _mm_loadl_epi64((const __m128i *)src);
}

static inline void tile_1(
    char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step) {
    __m128i pair[4], four[4];
    for (int i = 0; i < 4; i++)
        pair[i] = _mm_unpacklo_epi8(
            load_8(src + 2 * i * src_step), load_8(src + (2 * i + 1) * src_step));
    four[0] = _mm_unpacklo_epi16(pair[0], pair[1]);
    four[1] = _mm_unpackhi_epi16(pair[0], pair[1]);
    four[2] = _mm_unpacklo_epi16(pair[2], pair[3]);
    four[3] = _mm_unpackhi_epi16(pair[2], pair[3]);
    for (int i = 0; i < 4; i++) {
        __m128i rows = i % 2 == 0 ? _mm_unpacklo_epi32(four[i / 2], four[2 + i / 2])
                                  : _mm_unpackhi_epi32(four[i / 2], four[2 + i / 2]);
        _mm_storel_epi64((__m128i *)(dst + 2 * i * dst_step), rows);
        _mm_storel_epi64(
            (__m128i *)(dst + (2 * i + 1) * dst_step), _mm_unpackhi_epi64(rows, rows));
    }
}

static inline void tile_2(
    char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step) {
    __m128i row[8], pair[8], four[8];
    for (int i = 0; i < 8; i++)
        row[i] = _mm_loadu_si128((const __m128i *)(src + i * src_step));
    for (int i = 0; i < 4; i++) {
        pair[i] = _mm_unpacklo_epi16(row[2 * i], row[2 * i + 1]);
        pair[4 + i] = _mm_unpackhi_epi16(row[2 * i], row[2 * i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        four[i] = _mm_unpacklo_epi32(pair[i], pair[i + 1]);
        four[i + 1] = _mm_unpackhi_epi32(pair[i], pair[i + 1]);
        four[i + 2] = _mm_unpacklo_epi32(pair[i + 2], pair[i + 3]);
        four[i + 3] = _mm_unpackhi_epi32(pair[i + 2], pair[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        const int at = i / 2 * 4 + i % 2;
        _mm_storeu_si128((__m128i *)(dst + 2 * i * dst_step),
            _mm_unpacklo_epi64(four[at], four[at + 2]));
        _mm_storeu_si128((__m128i *)(dst + (2 * i + 1) * dst_step),
            _mm_unpackhi_epi64(four[at], four[at + 2]));
    }
}

/* Rows i and i + 4 of the source share a register, so that no lane is crossed later. */
static inline void tile_4(
    char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step) {
    for (int half = 0; half < 2; half++) {
        __m256 row[4], pair[4];
        for (int i = 0; i < 4; i++) {
            __m128 low = _mm_loadu_ps((const float *)(src + i * src_step) + 4 * half);
            __m128 high =
                _mm_loadu_ps((const float *)(src + (i + 4) * src_step) + 4 * half);
            row[i] = _mm256_set_m128(high, low);
        }
        pair[0] = _mm256_unpacklo_ps(row[0], row[1]);
        pair[1] = _mm256_unpackhi_ps(row[0], row[1]);
        pair[2] = _mm256_unpacklo_ps(row[2], row[3]);
        pair[3] = _mm256_unpackhi_ps(row[2], row[3]);
        for (int i = 0; i < 4; i++) {
            __m256d a = _mm256_castps_pd(pair[i / 2]);
            __m256d b = _mm256_castps_pd(pair[2 + i / 2]);
            __m256d out =
                i % 2 == 0 ? _mm256_unpacklo_pd(a, b) : _mm256_unpackhi_pd(a, b);
            _mm256_storeu_ps(
                (float *)(dst + (4 * half + i) * dst_step), _mm256_castpd_ps(out));
        }
    }
}

static inline void tile_8(
    char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step) {
    for (int half = 0; half < 2; half++) {
        __m256d row[2];
        for (int i = 0; i < 2; i++) {
            __m128d low = _mm_loadu_pd((const double *)(src + i * src_step) + 2 * half);
            __m128d high =
                _mm_loadu_pd((const double *)(src + (i + 2) * src_step) + 2 * half);
            row[i] = _mm256_set_m128d(high, low);
        }
        _mm256_storeu_pd(
            (double *)(dst + 2 * half * dst_step), _mm256_unpacklo_pd(row[0], row[1]));
        _mm256_storeu_pd((double *)(dst + (2 * half + 1) * dst_step),
            _mm256_unpackhi_pd(row[0], row[1]));
    }
}

TRANSPOSE_ROW(plane_1, 1, 8, tile_1)
TRANSPOSE_ROW(plane_2, 2, 8, tile_2)
TRANSPOSE_ROW(plane_4, 4, 8, tile_4)
TRANSPOSE_ROW(plane_8, 8, 4, tile_8)

void tn__transpose_init_avx2(struct tn_transpose_kernels *kernels);

void tn__transpose_init_avx2(struct tn_transpose_kernels *kernels) {
    kernels->plane[0] = plane_1;
    kernels->plane[1] = plane_2;
    kernels->plane[2] = plane_4;
    kernels->plane[3] = plane_8;
}
