/* Template of the GEMM tile over the vector layer (simd/vf.h), included once a level.
 *
 * Register plan: rows × (2 vectors of a panel) accumulators, the two vectors of B loaded
 * once a step, an element of A broadcast a row. A tile of one or two rows covers several
 * panels so that the chains of multiply-adds are enough to fill both ports over their
 * latency. The includer names the bodies it wants through TILE() and puts them into its
 * table. */
#include "gemm_rows.h"
#include "simd/unroll.h"
#include "simd/vf.h"

enum { NR = 2 * VF_LANES, MAX_VECS = 32 };

/* What the end of a tile reads again and again, copied: vector stores may alias anything, so the
 * compiler would read the tile's own fields after each of them. */
struct ends {
    size_t cols;
    const float *bias_col, *bias_row;
    const float *const *residual;
    float *const *c;
    bool accumulate;
};

/* One vector of columns of all rows: from sums to what is stored. The sums are `width` apart. */
static TN_ALWAYS_INLINE void finish_column(const struct tn_gemm_tile *t,
    const struct ends *ends, vf *acc, const int rows, const int width, size_t col,
    size_t n) {
    const vf bias = ends->bias_col ? vf_load_part(ends->bias_col + col, n) : vf_set1(0);
    if (ends->accumulate || ends->bias_row || ends->residual || t->alpha != 1 ||
        t->beta != 1) {
        const vf alpha = vf_set1(t->alpha), beta = vf_set1(t->beta);
        TN_UNROLL(16)
        for (int i = 0; i < rows; i++) {
            vf base = bias;
            if (ends->accumulate) {
                base = vf_load_part(ends->c[i] + col, n);
            } else {
                if (ends->bias_row) base = vf_add(base, vf_set1(ends->bias_row[i]));
                if (ends->residual)
                    base = vf_add(base, vf_load_part(ends->residual[i] + col, n));
                base = vf_mul(beta, base);
            }
            acc[i * width] = vf_fma(alpha, acc[i * width], base);
        }
    } else {
        TN_UNROLL(16)
        for (int i = 0; i < rows; i++)
            acc[i * width] = vf_add(acc[i * width], bias);
    }
    if (t->finish && (t->lo > -INFINITY || t->hi < INFINITY)) {
        const vf lo = vf_set1(t->lo), hi = vf_set1(t->hi);
        TN_UNROLL(16)
        for (int i = 0; i < rows; i++)
            acc[i * width] = vf_between(acc[i * width], lo, hi);
    }
    TN_UNROLL(16)
    for (int i = 0; i < rows; i++)
        vf_store_part(ends->c[i] + col, acc[i * width], n);
}

static TN_ALWAYS_INLINE void tile_body(
    const struct tn_gemm_tile *t, const int rows, const int vecs, const int panels) {
    vf acc[MAX_VECS];
    const int width = vecs * panels;
    const float *a[TN_GEMM_MAX_ROWS];
    TN_UNROLL(32)
    for (int i = 0; i < rows * width; i++)
        acc[i] = vf_set1(0);
    TN_UNROLL(16)
    for (int i = 0; i < rows; i++)
        a[i] = t->a[i];

    const float *next = t->next;
    const size_t ldb = t->ldb, panel_stride = t->panel_stride, count = t->k;
    for (size_t tap = 0; tap < t->taps; tap++) {
        const float *b = t->b + t->b_tap[tap];
        const ptrdiff_t at = t->a_tap[tap];
        TN_UNROLL_BY(4)
        for (size_t k = 0; k < count; k++) {
            vf bv[8];
            TN_UNROLL(8)
            for (int v = 0; v < width; v++) {
                bv[v] =
                    vf_load(b + (size_t)(v / vecs) * panel_stride + v % vecs * VF_LANES);
            }
            TN_UNROLL(16)
            for (int i = 0; i < rows; i++) {
                vf av = vf_set1(a[i][at + (ptrdiff_t)k]);
                TN_UNROLL(8)
                for (int v = 0; v < width; v++) {
                    acc[i * width + v] = vf_fma(av, bv[v], acc[i * width + v]);
                }
            }
            if (rows >= TALL) __builtin_prefetch(next, 0, 2);
            b += ldb;
            next += 16;
        }
    }

    const struct ends ends = {
        t->cols, t->bias_col, t->bias_row, t->residual, t->c, t->accumulate};
    TN_UNROLL(8)
    for (int v = 0; v < width; v++) {
        const size_t col = (size_t)(v / vecs) * NR + (size_t)(v % vecs) * VF_LANES;
        if (col < ends.cols) {
            finish_column(t, &ends, acc + v, rows, width, col, ends.cols - col);
        }
    }
}

#define TILE(name, rows, vecs, panels)                                                   \
    static void name(const struct tn_gemm_tile *t) {                                     \
        tile_body(t, rows, vecs, panels);                                                \
    }
