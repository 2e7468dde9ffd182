/* f32 matrix product on packed panels: C = clamp(alpha * A·B + beta * (bias + residual)).
 *
 * B (K rows, N columns) is packed once into panels of `nr` columns: panel p holds K runs
 * of nr floats, the columns past N being zero. The packing depends on the instruction-set
 * level and on nothing else, so one packed weight serves every M. The same tile kernel
 * also carries convolutions: a row of A is a pointer, and a list of taps says which
 * stretches of A meet which stretches of B (batch-reduce).
 *
 * Every element of C is the same chain of operations whatever M, the position of its row
 * or the ranges into which callers split the work: products are added in ascending k
 * within blocks of `kc`, block results are added in ascending order. So any split over
 * threads and any batch position give the same bits at one level.
 *
 * NaN passes the clamp. Nothing outside the given matrices is read. Functions hold no
 * state and may run on any thread, with 64 KiB of stack; concurrent calls must write
 * disjoint parts of C. */
#ifndef TENON_CPU_GEMM_H
#define TENON_CPU_GEMM_H

#include "tenon/isa.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    TN_GEMM_ALIGN = 64,    /* of packed panels and of workspaces, in bytes */
    TN_GEMM_MAX_ROWS = 16, /* most rows any level's tile has */
    TN_GEMM_MAX_NR = 32,   /* widest panel of any level */
    TN_GEMM_MAX_KC = 256   /* longest block of k of any level */
};

/* Called on each finished piece of C while it is in cache: `count` runs of n floats. For
 * activations that are not a clamp; it may change the runs and nothing else. */
typedef void tn_gemm_post_fn(const void *arg, float *const *runs, size_t count, size_t n);

/* What happens to a product before it is stored. The bias and the residual are all scaled
 * by beta; pointers may be NULL. The residual may be C itself (same pointer and stride),
 * otherwise it must not overlap C. `post` comes after the clamp. */
struct tn_gemm_epilogue {
    float alpha, beta;
    float lo, hi;          /* result = min(hi, max(lo, x)); -INFINITY, INFINITY: none */
    const float *bias_col; /* N values */
    const float *bias_row; /* M values */
    const float *residual; /* like C, rows ld_residual apart */
    size_t ld_residual;
    tn_gemm_post_fn *post;
    const void *post_arg;
};

/* The epilogue that leaves the product as it is; start from this one. */
#define TN_GEMM_EPILOGUE_INIT                                                            \
    { 1.0f, 1.0f, -INFINITY, INFINITY, NULL, NULL, NULL, 0, NULL, NULL }

/* One product. Strides count floats; rows of A and C are contiguous. For tn_gemm_run, b
 * holds packed panels and ldb is not looked at. */
struct tn_gemm {
    size_t m, n, k;
    const float *a;
    size_t lda;
    const float *b;
    size_t ldb;
    float *c;
    size_t ldc;
    const struct tn_gemm_epilogue *epilogue; /* NULL: store the product */
};

/* The unit of work of a level: up to `rows` rows by a few panels. For each row i and
 * column j sum  = Σ over taps t, then k: a[i][a_tap[t] + k] * b[b_tap[t] + k * ldb + j]
 *   base = accumulate ? c[i][j] : beta * (bias_col[j] + bias_row[i] + residual[i][j])
 *   c[i][j] = alpha * sum + base, then clamped if `finish`.
 * Panel q of the tile starts at b + q * panel_stride. A tile has one panel or exactly
 * panels[rows] of them. */
struct tn_gemm_tile {
    size_t rows; /* 1 .. kernels' rows */
    size_t cols; /* columns that exist; more than nr if there are several panels */
    size_t taps; /* may be 0 */
    size_t k;    /* per tap; may be 0 */
    const float *const *a;
    const ptrdiff_t *a_tap;
    const size_t *b_tap;
    const float *b;
    const float *next; /* a stretch of B that is wanted soon: a hint, never read */
    size_t ldb;
    size_t panel_stride;
    float *const *c;
    const float *bias_col;
    const float *bias_row;
    const float *const *residual;
    float alpha, beta, lo, hi;
    bool accumulate, finish;
};

struct tn_gemm_kernels {
    size_t nr;   /* columns of a panel */
    size_t rows; /* rows of the largest tile */
    size_t kc;   /* length of the blocks of k */
    /* How many panels a tile of [rows] may cover. */
    unsigned char panels[TN_GEMM_MAX_ROWS + 1];
    void (*tile)(const struct tn_gemm_tile *tile);
    /* dst[c * ldd + r] = src[r * lds + c] */
    void (*transpose)(
        float *dst, size_t ldd, const float *src, size_t lds, size_t rows, size_t cols);
};

/* Fills the slots for a level (and below it, where that level adds nothing). */
void tn_gemm_kernels_init(struct tn_gemm_kernels *kernels, enum tn_isa isa);

/* Panels that N columns take: ceil(n / nr). The unit in which N is split. */
size_t tn_gemm_panels(const struct tn_gemm_kernels *kernels, size_t n);

/* Floats that a packed K×N matrix takes; SIZE_MAX if that cannot be represented in bytes.
 */
size_t tn_gemm_packed_size(const struct tn_gemm_kernels *kernels, size_t k, size_t n);

/* Packs panels p0 .. p1-1 of B. Element (r, c) of B is src[r * row_stride + c *
 * col_stride]: row-major B has strides (ldb, 1), transposed B (1, ldb), OIHW weights of
 * one tap (H*W, I*H*W). Panel p goes to dst + p * panel_stride; a whole matrix has
 * panel_stride = K * nr. */
void tn_gemm_pack(const struct tn_gemm_kernels *kernels, float *dst, size_t panel_stride,
    const float *src, size_t row_stride, size_t col_stride, size_t k, size_t n, size_t p0,
    size_t p1);

/* Computes rows m0 .. m1-1 and panels p0 .. p1-1 of C. */
void tn_gemm_run(const struct tn_gemm_kernels *kernels, const struct tn_gemm *gemm,
    size_t m0, size_t m1, size_t p0, size_t p1);

/* Both operands dynamic. B is row-major (K rows, ldb > 0 apart) with any N, or, if
 * b_transposed, N rows of K, ldb apart. The same bits as packing B and calling
 * tn_gemm_run; panels are packed on the stack, one block of k at a time, where that pays.
 */
void tn_gemm_plain(const struct tn_gemm_kernels *kernels, const struct tn_gemm *gemm,
    bool b_transposed, size_t m0, size_t m1, size_t p0, size_t p1);

#endif
