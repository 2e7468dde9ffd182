/* The reference of the GEMM area: the specification of a tile. Portable C, kept plain; it
 * is also what machines without a faster row run. */
#include "gemm_rows.h"

#include <assert.h>

enum { NR = 8, ROWS = 4, KC = 256 };

static float clamp(float x, float lo, float hi) {
    /* written so that NaN fails both tests and passes through */
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

static void sum_row(
    const struct tn_gemm_tile *t, size_t i, const float *panel, float *sum) {
    for (size_t j = 0; j < NR; j++)
        sum[j] = 0.0f;
    for (size_t tap = 0; tap < t->taps; tap++) {
        const float *a = t->a[i] + t->a_tap[tap];
        const float *b = panel + t->b_tap[tap];
        for (size_t k = 0; k < t->k; k++, b += t->ldb) {
            for (size_t j = 0; j < NR; j++)
                sum[j] += a[k] * b[j];
        }
    }
}

static void tile_c(const struct tn_gemm_tile *t) {
    assert(t->rows >= 1 && t->rows <= ROWS && t->cols >= 1);
    for (size_t i = 0; i < t->rows; i++) {
        float row_bias = t->bias_row ? t->bias_row[i] : 0.0f;
        for (size_t col = 0; col < t->cols; col += NR) {
            float sum[NR];
            sum_row(t, i, t->b + col / NR * t->panel_stride, sum);
            for (size_t j = 0; j < NR && col + j < t->cols; j++) {
                float *c = t->c[i] + col + j;
                float base = t->bias_col ? t->bias_col[col + j] + row_bias : row_bias;
                if (t->residual) base += t->residual[i][col + j];
                float x = t->alpha * sum[j] + (t->accumulate ? *c : t->beta * base);
                *c = t->finish ? clamp(x, t->lo, t->hi) : x;
            }
        }
    }
}

static void transpose_c(
    float *dst, size_t ldd, const float *src, size_t lds, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            dst[c * ldd + r] = src[r * lds + c];
    }
}

void tn__gemm_init_c(struct tn_gemm_kernels *kernels) {
    kernels->nr = NR;
    kernels->rows = ROWS;
    kernels->kc = KC;
    for (size_t i = 0; i <= TN_GEMM_MAX_ROWS; i++)
        kernels->panels[i] = 1;
    kernels->tile = tile_c;
    kernels->transpose = transpose_c;
}
