/* Drivers of the GEMM area: packing, and the blocking of a product into tiles. Which
 * blocks are chosen never changes the result, only where its operands are in the caches.
 */
#include "gemm.h"

#include "gemm_rows.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

enum {
    /* Rows whose stretch of A stays in the second-level cache while the panels pass by.
     */
    BLOCK_ROWS = 196,
    /* A stretch of A small enough to walk a panel through all of k at once. */
    SMALL_A = 64 * 1024,
    /* Fewer rows than this use a row-major B where it is: packing costs two passes over
       it. */
    PACK_MIN_ROWS = 8
};

static const struct tn_gemm_epilogue no_epilogue = TN_GEMM_EPILOGUE_INIT;
static const ptrdiff_t zero_tap;
static const size_t zero_tap_b;

void tn_gemm_kernels_init(struct tn_gemm_kernels *kernels, enum tn_isa isa) {
    tn__gemm_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__gemm_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__gemm_init_avx512(kernels);
#endif
    (void)isa;
}

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

size_t tn_gemm_panels(const struct tn_gemm_kernels *kernels, size_t n) {
    return n / kernels->nr + (n % kernels->nr != 0);
}

size_t tn_gemm_packed_size(const struct tn_gemm_kernels *kernels, size_t k, size_t n) {
    size_t panels = tn_gemm_panels(kernels, n),
           limit = SIZE_MAX / sizeof(float) / kernels->nr;
    if (k != 0 && panels > limit / k) return SIZE_MAX;
    return panels * k * kernels->nr;
}

static void pack_panel(const struct tn_gemm_kernels *kernels, float *dst,
    const float *src, size_t row_stride, size_t col_stride, size_t k, size_t cols) {
    const size_t nr = kernels->nr;
    if (cols < nr) memset(dst, 0, k * nr * sizeof(float));
    if (col_stride == 1) {
        for (size_t r = 0; r < k; r++) {
            memcpy(dst + r * nr, src + r * row_stride, cols * sizeof(float));
        }
    } else if (row_stride == 1) {
        kernels->transpose(dst, nr, src, col_stride, cols, k);
    } else {
        for (size_t r = 0; r < k; r++) {
            for (size_t c = 0; c < cols; c++) {
                dst[r * nr + c] = src[r * row_stride + c * col_stride];
            }
        }
    }
}

void tn_gemm_pack(const struct tn_gemm_kernels *kernels, float *dst, size_t panel_stride,
    const float *src, size_t row_stride, size_t col_stride, size_t k, size_t n, size_t p0,
    size_t p1) {
    if (k == 0) return;
    for (size_t p = p0; p < p1; p++) {
        size_t col = p * kernels->nr;
        pack_panel(kernels, dst + p * panel_stride, src + col * col_stride, row_stride,
            col_stride, k, min_size(kernels->nr, n - col));
    }
}

/* A stretch of k against one or more panels: where B is and which part of k this is. */
struct block {
    const float *b;
    size_t ldb, panel_stride;
    size_t panel, group; /* first panel and how many */
    size_t k0, k1;
};

/* Rows m0 .. m1-1, in tiles as equal as can be. */
static void run_block(const struct tn_gemm_kernels *kernels, const struct tn_gemm *g,
    const struct block *block, size_t m0, size_t m1) {
    const struct tn_gemm_epilogue *e = g->epilogue ? g->epilogue : &no_epilogue;
    const size_t col = block->panel * kernels->nr;
    const float *a[TN_GEMM_MAX_ROWS];
    float *c[TN_GEMM_MAX_ROWS];
    const float *residual[TN_GEMM_MAX_ROWS];
    struct tn_gemm_tile t = {.cols = min_size(block->group * kernels->nr, g->n - col),
        .taps = 1,
        .k = block->k1 - block->k0,
        .a = a,
        .a_tap = &zero_tap,
        .b_tap = &zero_tap_b,
        .b = block->b,
        .ldb = block->ldb,
        .panel_stride = block->panel_stride,
        .c = c,
        .alpha = e->alpha,
        .beta = e->beta,
        .lo = e->lo,
        .hi = e->hi,
        .residual = e->residual ? residual : NULL,
        .bias_col = e->bias_col ? e->bias_col + col : NULL,
        .accumulate = block->k0 > 0,
        .finish = block->k1 == g->k};
    size_t tiles = (m1 - m0 + kernels->rows - 1) / kernels->rows;
    for (size_t m = m0; m < m1; m += t.rows, tiles--) {
        t.rows = (m1 - m + tiles - 1) / tiles;
        t.bias_row = e->bias_row ? e->bias_row + m : NULL;
        for (size_t i = 0; i < t.rows; i++) {
            a[i] = g->a + (m + i) * g->lda + block->k0;
            c[i] = g->c + (m + i) * g->ldc + col;
            if (e->residual) residual[i] = e->residual + (m + i) * e->ld_residual + col;
        }
        kernels->tile(&t);
        if (t.finish && e->post) e->post(e->post_arg, c, t.rows, t.cols);
    }
}

/* One block of k over the panels. */
static void run_panels(const struct tn_gemm_kernels *kernels, const struct tn_gemm *g,
    size_t k0, size_t k1, size_t m0, size_t m1, size_t p0, size_t p1) {
    const size_t step = m1 - m0 <= kernels->rows ? kernels->panels[m1 - m0] : 1;
    struct block block = {
        .ldb = kernels->nr, .panel_stride = g->k * kernels->nr, .k0 = k0, .k1 = k1};
    for (size_t p = p0; p < p1; p += block.group) {
        block.panel = p;
        block.group = p1 - p >= step ? step : 1;
        block.b = g->b + p * block.panel_stride + k0 * kernels->nr;
        run_block(kernels, g, &block, m0, m1);
    }
}

static size_t next_k(const struct tn_gemm_kernels *kernels, size_t k0, size_t k) {
    return k - k0 > kernels->kc ? k0 + kernels->kc : k;
}

/* All of k, either panel by panel (B is read in its own order, A stays in cache) or block
 * by block. */
static void run_rows(const struct tn_gemm_kernels *kernels, const struct tn_gemm *g,
    size_t m0, size_t m1, size_t p0, size_t p1) {
    const size_t panels = m1 - m0 <= kernels->rows ? kernels->panels[m1 - m0] : 1;
    const bool small = g->k <= SMALL_A / (m1 - m0);
    const size_t step = small ? panels : p1 - p0;
    for (size_t p = p0; p < p1; p += step) {
        size_t k0 = 0, k1;
        do {
            k1 = next_k(kernels, k0, g->k);
            run_panels(kernels, g, k0, k1, m0, m1, p, min_size(p + step, p1));
            k0 = k1;
        } while (k1 < g->k);
    }
}

void tn_gemm_run(const struct tn_gemm_kernels *kernels, const struct tn_gemm *gemm,
    size_t m0, size_t m1, size_t p0, size_t p1) {
    if (p0 >= p1) return;
    for (size_t m = m0; m < m1;) {
        size_t next = m1 - m > BLOCK_ROWS + kernels->rows ? m + BLOCK_ROWS : m1;
        run_rows(kernels, gemm, m, next, p0, p1);
        m = next;
    }
}

void tn_gemm_plain(const struct tn_gemm_kernels *kernels, const struct tn_gemm *gemm,
    bool b_transposed, size_t m0, size_t m1, size_t p0, size_t p1) {
    alignas(TN_GEMM_ALIGN) float packed[TN_GEMM_MAX_KC * TN_GEMM_MAX_NR];
    const size_t nr = kernels->nr, ldb = gemm->ldb;
    const size_t row_stride = b_transposed ? 1 : ldb, col_stride = b_transposed ? ldb : 1;
    if (m0 >= m1) return;
    for (size_t p = p0; p < p1; p++) {
        const size_t col = p * nr, cols = min_size(nr, gemm->n - col);
        struct block block = {.panel = p, .group = 1};
        do {
            block.k1 = next_k(kernels, block.k0, gemm->k);
            block.b = gemm->b + block.k0 * row_stride + col * col_stride;
            block.ldb = ldb;
            if (b_transposed || cols < nr || m1 - m0 >= PACK_MIN_ROWS) {
                pack_panel(kernels, packed, block.b, row_stride, col_stride,
                    block.k1 - block.k0, cols);
                block.b = packed;
                block.ldb = nr;
            }
            run_block(kernels, gemm, &block, m0, m1);
            block.k0 = block.k1;
        } while (block.k1 < gemm->k);
    }
}
