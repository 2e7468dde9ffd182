/* Drivers of the GEMM area: packing, and the blocking of a product into tiles. Which
 * blocks are chosen never changes the result, only where its operands are in the caches.
 */
#include "gemm.h"

#include "gemm_rows.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

enum {
    /* Floats of a group of panels, one block of k deep: stays in the second-level cache
     * while all rows pass by. */
    GROUP_B = 64 * 1024,
    /* Rows a multiple of this many floats apart fall into the same sets of the
     * first-level cache; more of them than it has ways throw each other out. They are
     * copied apart if enough panels share the copy. */
    ALIASING = 1024,
    COPY_MIN_PANELS = 4,
    COPY_STRIDE = TN_GEMM_MAX_KC + 16,
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
        /* columns outside: the strides of convolution weights put all columns of a row into
         * a few sets of the cache, while a short run down one column stays in its lines */
        enum { RUN = 16 };
        for (size_t r0 = 0; r0 < k; r0 += RUN) {
            const size_t r1 = min_size(r0 + RUN, k);
            for (size_t c = 0; c < cols; c++) {
                const float *column = src + c * col_stride;
                for (size_t r = r0; r < r1; r++)
                    dst[r * nr + c] = column[r * row_stride];
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

/* A stretch of k against a group of panels: where B is and which part of k this is. */
struct block {
    const float *b;
    const float *next; /* what is wanted after this block, laid out like b */
    size_t ldb, panel_stride;
    size_t p0, p1;
    size_t k0, k1;
};

/* One tile of rows against the panels of a block. `rows` holds what does not change on
 * the way. */
static void run_tile(const struct tn_gemm_kernels *kernels, const struct tn_gemm *g,
    const struct block *block, const struct tn_gemm_tile *rows, size_t m, size_t ahead) {
    const struct tn_gemm_epilogue *e = g->epilogue ? g->epilogue : &no_epilogue;
    float *c[TN_GEMM_MAX_ROWS];
    const float *residual[TN_GEMM_MAX_ROWS];
    const size_t most = kernels->panels[rows->rows];
    struct tn_gemm_tile t = *rows;
    size_t count;
    t.bias_row = e->bias_row ? e->bias_row + m : NULL;
    t.residual = e->residual ? residual : NULL;
    t.c = c;
    for (size_t p = block->p0; p < block->p1; p += count) {
        const size_t col = p * kernels->nr;
        count = block->p1 - p >= most ? most : 1;
        t.cols = min_size(count * kernels->nr, g->n - col);
        t.b = block->b + (p - block->p0) * block->panel_stride;
        t.next = block->next + (p - block->p0) * block->panel_stride + ahead;
        t.bias_col = e->bias_col ? e->bias_col + col : NULL;
        for (size_t i = 0; i < t.rows; i++)
            c[i] = g->c + (m + i) * g->ldc + col;
        for (size_t i = 0; i < t.rows && e->residual; i++) {
            residual[i] = e->residual + (m + i) * e->ld_residual + col;
        }
        kernels->tile(&t);
        if (t.finish && e->post) e->post(e->post_arg, c, t.rows, t.cols);
    }
}

/* Rows m0 .. m1-1, in tiles as equal as can be: a tile's rows stay in the first-level
 * cache while the group of panels passes by. */
static void run_block(const struct tn_gemm_kernels *kernels, const struct tn_gemm *g,
    const struct block *block, size_t m0, size_t m1) {
    const struct tn_gemm_epilogue *e = g->epilogue ? g->epilogue : &no_epilogue;
    alignas(TN_GEMM_ALIGN) float copy[TN_GEMM_MAX_ROWS * COPY_STRIDE];
    const float *a[TN_GEMM_MAX_ROWS];
    const size_t depth = block->k1 - block->k0;
    const bool aliasing =
        g->lda % ALIASING == 0 && block->p1 - block->p0 >= COPY_MIN_PANELS;
    struct tn_gemm_tile t = {.taps = 1,
        .k = depth,
        .a = a,
        .a_tap = &zero_tap,
        .b_tap = &zero_tap_b,
        .ldb = block->ldb,
        .panel_stride = block->panel_stride,
        .alpha = e->alpha,
        .beta = e->beta,
        .lo = e->lo,
        .hi = e->hi,
        .accumulate = block->k0 > 0,
        .finish = block->k1 == g->k};
    size_t ahead = 0;
    size_t tiles = (m1 - m0 + kernels->rows - 1) / kernels->rows;
    for (size_t m = m0; m < m1; m += t.rows, tiles--) {
        t.rows = (m1 - m + tiles - 1) / tiles;
        for (size_t i = 0; i < t.rows; i++)
            a[i] = g->a + (m + i) * g->lda + block->k0;
        for (size_t i = 0; i < t.rows && aliasing; i++) {
            memcpy(copy + i * COPY_STRIDE, a[i], depth * sizeof(float));
            a[i] = copy + i * COPY_STRIDE;
        }
        run_tile(kernels, g, block, &t, m, ahead);
        ahead += 16 * depth;
        if (ahead >= depth * kernels->nr) ahead = 0;
    }
}

static size_t next_k(const struct tn_gemm_kernels *kernels, size_t k0, size_t k) {
    return k - k0 > kernels->kc ? k0 + kernels->kc : k;
}

/* All of k for one group of panels. */
static void run_group(const struct tn_gemm_kernels *kernels, const struct tn_gemm *g,
    size_t m0, size_t m1, size_t p0, size_t p1, size_t next_p) {
    const size_t stride = g->k * kernels->nr;
    struct block block = {.ldb = kernels->nr, .panel_stride = stride, .p0 = p0, .p1 = p1};
    do {
        block.k1 = next_k(kernels, block.k0, g->k);
        block.b = g->b + p0 * stride + block.k0 * kernels->nr;
        block.next = block.k1 < g->k ? g->b + p0 * stride + block.k1 * kernels->nr
                                     : g->b + next_p * stride;
        run_block(kernels, g, &block, m0, m1);
        block.k0 = block.k1;
    } while (block.k1 < g->k);
}

void tn_gemm_run(const struct tn_gemm_kernels *kernels, const struct tn_gemm *gemm,
    size_t m0, size_t m1, size_t p0, size_t p1) {
    if (m0 >= m1) return;
    /* a few rows: all of k for as many panels as one tile has, so that B is read in its
     * order */
    const bool few = m1 - m0 <= kernels->rows;
    const size_t group =
        few ? kernels->panels[m1 - m0] : GROUP_B / (kernels->kc * kernels->nr);
    for (size_t p = p0; p < p1; p += group) {
        run_group(kernels, gemm, m0, m1, p, min_size(p + group, p1),
            p + group < p1 ? p + group : p);
    }
}

void tn_gemm_plain(const struct tn_gemm_kernels *kernels, const struct tn_gemm *gemm,
    bool b_transposed, size_t m0, size_t m1, size_t p0, size_t p1) {
    alignas(TN_GEMM_ALIGN) float packed[TN_GEMM_MAX_KC * TN_GEMM_MAX_NR];
    const size_t nr = kernels->nr, ldb = gemm->ldb, full = gemm->n / nr;
    const size_t row_stride = b_transposed ? 1 : ldb, col_stride = b_transposed ? ldb : 1;
    const bool in_place = !b_transposed && m1 - m0 < PACK_MIN_ROWS;
    const size_t depth = min_size(gemm->k, kernels->kc);
    const size_t fits = in_place ? kernels->panels[1] : kernels->kc / (depth ? depth : 1);
    if (m0 >= m1) return;
    struct block block = {.p0 = p0};
    for (; block.p0 < p1; block.p0 = block.p1) {
        const bool pack = !in_place || block.p0 >= full;
        block.p1 = min_size(block.p0 + fits, pack ? p1 : min_size(p1, full));
        block.k0 = 0;
        do {
            block.k1 = next_k(kernels, block.k0, gemm->k);
            const size_t k = block.k1 - block.k0;
            const float *b = gemm->b + block.k0 * row_stride + block.p0 * nr * col_stride;
            block.b = pack ? packed : b;
            block.next = block.b;
            block.ldb = pack ? nr : ldb;
            block.panel_stride = pack ? k * nr : nr;
            if (pack) {
                tn_gemm_pack(kernels, packed, k * nr, b, row_stride, col_stride, k,
                    gemm->n - block.p0 * nr, 0, block.p1 - block.p0);
            }
            run_block(kernels, gemm, &block, m0, m1);
            block.k0 = block.k1;
        } while (block.k1 < gemm->k);
    }
}
