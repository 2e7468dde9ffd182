/* Drivers of the integer GEMM area: packing, blocking, and the terms of the zero points.
 *
 * Words hold a' = A + shift_a and b' = B - shift_b (the shifts are 0 for pairs, 128 for bytes of
 * the wrong sign). With pa = a_zero + shift_a and pb = b_zero - shift_b
 *   Σ (A - a_zero)(B - b_zero) = Σ a'b' - pa Σ b' - pb Σ a' + pa pb K,
 * where the sums of b' over a column are part of its panel. */
#include "gemm_int.h"

#include "gemm_int_rows.h"

#include <stdalign.h>
#include <string.h>

enum {
    BLOCK_WORDS =
        256,   /* a block of k: the tile's rows of A stay in the first-level cache */
    GROUP = 8, /* panels that share a converted block of A */
    SUMS_LD = GROUP * TN_GEMM_INT_MAX_NR
};

void tn_gemm_int_kernels_init(struct tn_gemm_int_kernels *kernels, enum tn_isa isa) {
    tn__gemm_int_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__gemm_int_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__gemm_int_init_avx512(kernels);
#endif
#ifdef TN_HAVE_AVX512VNNI
    if (isa >= TN_ISA_AVX512VNNI) tn__gemm_int_init_avx512vnni(kernels);
#endif
    (void)isa;
}

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t words_of(const struct tn_gemm_int_kernels *kernels, size_t k) {
    return k / kernels->pack + (k % kernels->pack != 0);
}

/* Words from one panel to the next: those of k and one more row, the sums of the columns. */
static size_t panel_words(const struct tn_gemm_int_kernels *kernels, size_t k) {
    return (words_of(kernels, k) + 1) * kernels->nr;
}

size_t tn_gemm_int_panels(const struct tn_gemm_int_kernels *kernels, size_t n) {
    return n / kernels->nr + (n % kernels->nr != 0);
}

size_t tn_gemm_int_packed_size(
    const struct tn_gemm_int_kernels *kernels, size_t k, size_t n) {
    const size_t panels = tn_gemm_int_panels(kernels, n);
    const size_t limit = SIZE_MAX / sizeof(int32_t) / kernels->nr;
    const size_t rows = words_of(kernels, k) + 1;
    if (panels > limit / rows) return SIZE_MAX;
    return panels * rows * kernels->nr * sizeof(int32_t);
}

/* How much is added to A, and taken from B, to make words. */
static int32_t shift_a(const struct tn_gemm_int_kernels *kernels, bool is_signed) {
    return kernels->pack == 4 && is_signed ? 128 : 0;
}

static int32_t shift_b(const struct tn_gemm_int_kernels *kernels, bool is_signed) {
    return kernels->pack == 4 && !is_signed ? 128 : 0;
}

void tn_gemm_int_pack(const struct tn_gemm_int_kernels *kernels, void *dst,
    const void *src, bool is_signed, size_t row_stride, size_t col_stride, size_t k,
    size_t n, size_t p0, size_t p1) {
    const size_t nr = kernels->nr, pack = kernels->pack, size = sizeof(int32_t) / pack;
    const size_t panel_bytes = panel_words(kernels, k) * sizeof(int32_t);
    const int32_t shift = shift_b(kernels, is_signed);
    for (size_t p = p0; p < p1; p++) {
        unsigned char *panel = (unsigned char *)dst + p * panel_bytes;
        const unsigned char *from = (const unsigned char *)src + p * nr * col_stride;
        const size_t cols = min_size(nr, n - p * nr);
        uint32_t sums[TN_GEMM_INT_MAX_NR] = {0};
        memset(panel, 0, panel_bytes);
        for (size_t r = 0; r < k; r++) {
            for (size_t c = 0; c < cols; c++) {
                const unsigned char byte = from[r * row_stride + c * col_stride];
                const int16_t value =
                    (int16_t)((is_signed ? (int8_t)byte : byte) - shift);
                const int8_t narrow = (int8_t)value;
                unsigned char *to =
                    panel + ((r / pack * nr + c) * pack + r % pack) * size;
                memcpy(
                    to, pack == 4 ? (const void *)&narrow : (const void *)&value, size);
                sums[c] += (uint32_t)value;
            }
        }
        memcpy(panel + panel_bytes - nr * sizeof(int32_t), sums, nr * sizeof(int32_t));
    }
}

/* What is the same for all rows of a group of panels. */
struct group {
    const struct tn_gemm_int_kernels *kernels;
    const struct tn_gemm_int *g;
    size_t p0, p1;
    size_t cols;
    const int32_t *panels;
    size_t panel_stride;
    bool any_zero; /* whether some column's zero point asks for the sums of rows */
    int32_t col_sums[SUMS_LD], col_zeros[SUMS_LD];
};

static void make_group(struct group *group, size_t p0, size_t p1) {
    const struct tn_gemm_int_kernels *kernels = group->kernels;
    const struct tn_gemm_int *g = group->g;
    const size_t nr = kernels->nr, words = words_of(kernels, g->k);
    const int32_t shift = shift_b(kernels, g->b_signed);
    group->p0 = p0;
    group->p1 = p1;
    group->panel_stride = panel_words(kernels, g->k);
    group->panels = (const int32_t *)g->b + p0 * group->panel_stride;
    group->cols = min_size((p1 - p0) * nr, g->n - p0 * nr);
    group->any_zero = false;
    for (size_t j = 0; j < group->cols; j++) {
        const int32_t *zero = g->b_zero;
        if (zero && g->b_zero_by_col) zero += p0 * nr + j;
        group->col_zeros[j] = (zero ? *zero : 0) - shift;
        group->any_zero |= group->col_zeros[j] != 0;
        group->col_sums[j] =
            group->panels[j / nr * group->panel_stride + words * nr + j % nr];
    }
}

/* The sums of words of `rows` rows, and the sums of their values. */
static void multiply(
    const struct group *group, size_t m, size_t rows, int32_t *sums, uint32_t *row_sums) {
    alignas(TN_GEMM_INT_ALIGN) int32_t words[TN_GEMM_INT_MAX_ROWS * BLOCK_WORDS];
    const struct tn_gemm_int_kernels *kernels = group->kernels;
    const struct tn_gemm_int *g = group->g;
    const size_t block = BLOCK_WORDS * kernels->pack, panels = group->p1 - group->p0;
    size_t k = 0;
    do {
        const size_t depth = min_size(block, g->k - k);
        struct tn_gemm_int_tile t = {.rows = rows,
            .words = words_of(kernels, depth),
            .a = words,
            .lda = BLOCK_WORDS,
            .panel_stride = group->panel_stride,
            .ld = SUMS_LD,
            .accumulate = k > 0};
        for (size_t i = 0; i < rows; i++) {
            const uint8_t *a = (const uint8_t *)g->a + (m + i) * g->lda + k;
            kernels->convert(words + i * BLOCK_WORDS, a, depth, g->a_signed);
            if (group->any_zero) {
                row_sums[i] += (uint32_t)kernels->sum(words + i * BLOCK_WORDS, t.words);
            }
        }
        for (size_t p = 0; p < panels; p += t.panels) {
            t.panels = panels - p >= kernels->panels[rows] ? kernels->panels[rows] : 1;
            t.b =
                group->panels + p * group->panel_stride + k / kernels->pack * kernels->nr;
            t.sums = sums + p * kernels->nr;
            kernels->tile(&t);
        }
        k += depth;
    } while (k < g->k);
}

static void run_rows(const struct group *group, size_t m, size_t rows) {
    alignas(TN_GEMM_INT_ALIGN) int32_t sums[TN_GEMM_INT_MAX_ROWS * SUMS_LD];
    uint32_t row_sums[TN_GEMM_INT_MAX_ROWS] = {0};
    const struct tn_gemm_int *g = group->g;
    const size_t col = group->p0 * group->kernels->nr;
    const int32_t shift = shift_a(group->kernels, g->a_signed);
    multiply(group, m, rows, sums, row_sums);
    for (size_t i = 0; i < rows; i++) {
        const int32_t *zero = g->a_zero;
        if (zero && g->a_zero_by_row) zero += m + i;
        const uint32_t a_zero = (uint32_t)(zero ? *zero : 0) + (uint32_t)shift;
        const struct tn_gemm_int_finish finish = {sums + i * SUMS_LD, group->cols,
            group->col_sums, group->col_zeros, (int32_t)(0 - a_zero),
            (int32_t)(a_zero * (uint32_t)g->k - row_sums[i])};
        if (a_zero != 0 || group->any_zero) group->kernels->finish(&finish);
        if (g->c) {
            memcpy(g->c + (m + i) * g->ldc + col, finish.sums,
                group->cols * sizeof(int32_t));
        }
    }
    if (g->post) g->post(g->post_arg, sums, SUMS_LD, m, rows, col, group->cols);
}

void tn_gemm_int_run(const struct tn_gemm_int_kernels *kernels,
    const struct tn_gemm_int *gemm, size_t m0, size_t m1, size_t p0, size_t p1) {
    struct group group = {.kernels = kernels, .g = gemm};
    for (size_t p = p0; p < p1 && m0 < m1; p += GROUP) {
        make_group(&group, p, min_size(p + GROUP, p1));
        size_t m = m0;
        for (size_t tiles = (m1 - m0 + kernels->rows - 1) / kernels->rows; tiles > 0;
             tiles--) {
            const size_t rows = (m1 - m + tiles - 1) / tiles;
            run_rows(&group, m, rows);
            m += rows;
        }
    }
}
