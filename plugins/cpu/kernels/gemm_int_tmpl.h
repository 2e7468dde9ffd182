/* Template of the integer GEMM tile over the vector layer, included once a level. The includer
 * defines ONES, a word of ones, and dot(sum, a, b), which multiplies words value by value and adds the products to a lane
 * of the sum. The register plan is that of the f32 tile (gemm_tile_tmpl.h). */
#include "gemm_int_rows.h"
#include "simd/unroll.h"

#include <string.h>

enum { NR = 2 * VF_LANES };

static TN_ALWAYS_INLINE void tile_body(
    const struct tn_gemm_int_tile *t, const int rows, const int panels) {
    const int width = 2 * panels;
    vi acc[2 * TN_GEMM_INT_MAX_ROWS];
    TN_UNROLL(32)
    for (int i = 0; i < rows * width; i++)
        acc[i] = vi_set1(0);
    const size_t words = t->words, panel_stride = t->panel_stride, lda = t->lda;
    const int32_t *a = t->a, *b = t->b;
    TN_UNROLL_BY(2)
    for (size_t w = 0; w < words; w++) {
        vi bv[8];
        TN_UNROLL(8)
        for (int v = 0; v < width; v++) {
            bv[v] = vi_load(b + (size_t)(v / 2) * panel_stride + v % 2 * VF_LANES);
        }
        TN_UNROLL(16)
        for (int i = 0; i < rows; i++) {
            const vi av = vi_set1(a[(size_t)i * lda + w]);
            TN_UNROLL(8)
            for (int v = 0; v < width; v++) {
                acc[i * width + v] = dot(acc[i * width + v], av, bv[v]);
            }
        }
        b += NR;
    }
    TN_UNROLL(16)
    for (int i = 0; i < rows; i++) {
        TN_UNROLL(8)
        for (int v = 0; v < width; v++) {
            int32_t *to = t->sums + (size_t)i * t->ld + (size_t)v * VF_LANES;
            vi sum = acc[i * width + v];
            if (t->accumulate) sum = vi_add(sum, vi_load(to));
            vi_store(to, sum);
        }
    }
}

static int32_t sum_words(const int32_t *words, size_t count) {
    int32_t lanes[VF_LANES];
    uint32_t sum = 0;
    vi acc = vi_set1(0);
    size_t w = 0;
    for (; w + VF_LANES <= count; w += VF_LANES) {
        acc = dot(acc, vi_load(words + w), vi_set1(ONES));
    }
    for (; w < count; w++) {
        /* one word in lane 0 */
        memset(lanes, 0, sizeof(lanes));
        lanes[0] = words[w];
        acc = dot(acc, vi_load(lanes), vi_set1(ONES));
    }
    vi_store(lanes, acc);
    for (size_t i = 0; i < VF_LANES; i++)
        sum += (uint32_t)lanes[i];
    return (int32_t)sum;
}

/* Plain loops, for the compiler to vectorise at the level. */
static void finish_row(const struct tn_gemm_int_finish *f) {
    const uint32_t by_sum = (uint32_t)f->by_col_sum, by_zero = (uint32_t)f->by_col_zero;
    const int32_t *restrict col_sums = f->col_sums, *restrict col_zeros = f->col_zeros;
    int32_t *restrict sums = f->sums;
    for (size_t j = 0; j < f->n; j++) {
        sums[j] = (int32_t)((uint32_t)sums[j] + by_sum * (uint32_t)col_sums[j] +
                            by_zero * (uint32_t)col_zeros[j]);
    }
}

#define TILE(name, rows, panels)                                                         \
    static void name(const struct tn_gemm_int_tile *t) {                                 \
        tile_body(t, rows, panels);                                                      \
    }
typedef void tile_fn(const struct tn_gemm_int_tile *tile);
