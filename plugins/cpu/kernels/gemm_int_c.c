/* The reference of the integer GEMM area: words are pairs of 16-bit values. Sums are unsigned,
 * since they may wrap. */
#include "gemm_int_rows.h"

#include <string.h>

enum { NR = 8, ROWS = 4, PACK = 2 };

static uint32_t dot_pair(int32_t a, int32_t b) {
    int16_t x[PACK], y[PACK];
    memcpy(x, &a, sizeof(x));
    memcpy(y, &b, sizeof(y));
    return (uint32_t)(x[0] * y[0]) + (uint32_t)(x[1] * y[1]);
}

static void tile_c(const struct tn_gemm_int_tile *t) {
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < t->panels * NR; j++) {
            const int32_t *b = t->b + j / NR * t->panel_stride + j % NR;
            int32_t *to = t->sums + i * t->ld + j;
            uint32_t sum = t->accumulate ? (uint32_t)*to : 0;
            for (size_t w = 0; w < t->words; w++) {
                sum += dot_pair(t->a[i * t->lda + w], b[w * NR]);
            }
            *to = (int32_t)sum;
        }
    }
}

static void convert_c(int32_t *words, const void *a, size_t k, bool is_signed) {
    const uint8_t *from = a;
    for (size_t i = 0; i < k; i += PACK) {
        int16_t pair[PACK] = {0};
        for (size_t j = 0; j < PACK && i + j < k; j++) {
            pair[j] = is_signed ? (int8_t)from[i + j] : from[i + j];
        }
        memcpy(words++, pair, sizeof(pair));
    }
}

static int32_t sum_c(const int32_t *words, size_t count) {
    uint32_t sum = 0;
    for (size_t w = 0; w < count; w++)
        sum += dot_pair(words[w], 0x00010001);
    return (int32_t)sum;
}

static void finish_c(const struct tn_gemm_int_finish *f) {
    for (size_t j = 0; j < f->n; j++) {
        f->sums[j] = (int32_t)((uint32_t)f->sums[j] +
                               (uint32_t)f->by_col_sum * (uint32_t)f->col_sums[j] +
                               (uint32_t)f->by_col_zero * (uint32_t)f->col_zeros[j]);
    }
}

void tn__gemm_int_init_c(struct tn_gemm_int_kernels *kernels) {
    kernels->nr = NR;
    kernels->rows = ROWS;
    kernels->pack = PACK;
    for (size_t i = 0; i <= TN_GEMM_INT_MAX_ROWS; i++)
        kernels->panels[i] = 1;
    kernels->tile = tile_c;
    kernels->convert = convert_c;
    kernels->sum = sum_c;
    kernels->finish = finish_c;
}
