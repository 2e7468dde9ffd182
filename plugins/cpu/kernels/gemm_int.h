/* Exact integer matrix product: 8-bit A and B of either sign, 32-bit sums that wrap,
 *   C[i][j] = Σ over k: (A[i][k] - a_zero[i]) * (B[k][j] - b_zero[j]).
 *
 * No step saturates at any level. B is packed once into panels like those of gemm.h; the packing
 * depends on the level alone. Being exact, the result depends on nothing else. */
#ifndef TENON_CPU_GEMM_INT_H
#define TENON_CPU_GEMM_INT_H

#include "tenon/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TN_GEMM_INT_ALIGN = 64,    /* of packed panels, in bytes */
    TN_GEMM_INT_MAX_ROWS = 14, /* most rows any level's tile has */
    TN_GEMM_INT_MAX_NR = 32    /* widest panel of any level */
};

/* Called on each finished piece of C: rows row .. row+rows-1, columns col .. col+cols-1, whose
 * sums stand `ld` apart. For requantisation while they are in cache. */
typedef void tn_gemm_int_post_fn(const void *arg, const int32_t *sums, size_t ld,
    size_t row, size_t rows, size_t col, size_t cols);

/* One product. Strides count elements; rows of A and C are contiguous. */
struct tn_gemm_int {
    size_t m, n, k;
    const void *a;
    size_t lda;
    bool a_signed, b_signed;
    const void *b;         /* packed */
    const int32_t *a_zero; /* one, M if a_zero_by_row, or NULL for 0 */
    const int32_t *b_zero; /* one, N if b_zero_by_col, or NULL for 0 */
    bool a_zero_by_row, b_zero_by_col;
    int32_t *c; /* NULL: `post` alone gets the sums */
    size_t ldc;
    tn_gemm_int_post_fn *post; /* or NULL */
    const void *post_arg;
};

/* The unit of work. Words hold `pack` values of k that are multiplied and added in one step. For
 * each row i and column j of the panels
 *   sums[i * ld + j] (+)= Σ over words w: a[i * lda + w] · panel[w * nr + j]. */
struct tn_gemm_int_tile {
    size_t rows, panels; /* a tile has one panel or exactly panels[rows] of them */
    size_t words;
    const int32_t *a;
    size_t lda;
    const int32_t *b;
    size_t panel_stride;
    int32_t *sums;
    size_t ld;
    bool accumulate;
};

/* From sums of packed values to C: for each column
 *   sums += by_col_sum * col_sums + by_col_zero * col_zeros, wrapping. */
struct tn_gemm_int_finish {
    int32_t *sums;
    size_t n;
    const int32_t *col_sums, *col_zeros;
    int32_t by_col_sum, by_col_zero;
};

struct tn_gemm_int_kernels {
    size_t nr, rows;
    /* Values of k in a word: 4 (A as u8, B as s8) or 2 (both s16). */
    size_t pack;
    unsigned char panels[TN_GEMM_INT_MAX_ROWS + 1];
    void (*tile)(const struct tn_gemm_int_tile *tile);
    /* k values of A as words, filled up with zeros. */
    void (*convert)(int32_t *words, const void *a, size_t k, bool is_signed);
    /* The sum of the values of some words. */
    int32_t (*sum)(const int32_t *words, size_t count);
    void (*finish)(const struct tn_gemm_int_finish *finish);
};

void tn_gemm_int_kernels_init(struct tn_gemm_int_kernels *kernels, enum tn_isa isa);

/* Panels that N columns take: ceil(n / nr), the unit in which N is split. */
size_t tn_gemm_int_panels(const struct tn_gemm_int_kernels *kernels, size_t n);

/* Bytes that a packed K×N matrix takes; SIZE_MAX if that cannot be represented. */
size_t tn_gemm_int_packed_size(
    const struct tn_gemm_int_kernels *kernels, size_t k, size_t n);

/* Packs panels p0 .. p1-1 of B, element (r, c) being src[r * row_stride + c * col_stride]. */
void tn_gemm_int_pack(const struct tn_gemm_int_kernels *kernels, void *dst,
    const void *src, bool is_signed, size_t row_stride, size_t col_stride, size_t k,
    size_t n, size_t p0, size_t p1);

/* Computes rows m0 .. m1-1 and panels p0 .. p1-1 of C. */
void tn_gemm_int_run(const struct tn_gemm_int_kernels *kernels,
    const struct tn_gemm_int *gemm, size_t m0, size_t m1, size_t p0, size_t p1);

#endif
