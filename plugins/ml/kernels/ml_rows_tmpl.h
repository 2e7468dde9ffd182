/* Rows of ml_rows.h in the compiler's vectors, which every level lowers to its own registers:
 * the same operations on the same lanes everywhere. Products are not fused with sums (the
 * build says so), which is what keeps the bits alike. */
#include "ml_rows.h"

#include <stdint.h>
#include <string.h>

typedef double doubles __attribute__((vector_size(64)));
typedef int64_t integers __attribute__((vector_size(64)));
typedef uint64_t naturals __attribute__((vector_size(64)));

#define LOAD(vector, from) memcpy(&(vector), (from), sizeof(vector))
#define STORE(to, vector) memcpy((to), &(vector), sizeof(vector))

/* ---- distances: four vectors of columns at a time ------------------------------------------ */

static void distances(
    const double *x, const double *columns, size_t n, size_t k, double *out) {
    size_t j = 0;
    for (; j + 32 <= n; j += 32) {
        doubles s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, c0, c1, c2, c3;
        const double *column = columns + j;
        for (size_t r = 0; r < k; r++, column += n) {
            LOAD(c0, column);
            LOAD(c1, column + 8);
            LOAD(c2, column + 16);
            LOAD(c3, column + 24);
            c0 = x[r] - c0;
            c1 = x[r] - c1;
            c2 = x[r] - c2;
            c3 = x[r] - c3;
            s0 += c0 * c0;
            s1 += c1 * c1;
            s2 += c2 * c2;
            s3 += c3 * c3;
        }
        STORE(out + j, s0);
        STORE(out + j + 8, s1);
        STORE(out + j + 16, s2);
        STORE(out + j + 24, s3);
    }
    for (; j < n; j += 8) {
        doubles sum = {0}, c;
        for (size_t r = 0; r < k; r++) {
            LOAD(c, columns + r * n + j);
            c = x[r] - c;
            sum += c * c;
        }
        STORE(out + j, sum);
    }
}

/* ---- e^x: x = k ln 2 + r, a polynomial for e^r, k into the exponent ------------------------- */

static void exps(double *v, size_t n, double factor) {
    /* 1 / i! from i = 13 down */
    static const double terms[] = {1.0 / 6227020800.0, 1.0 / 479001600.0,
        1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
        1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0};
    const double log2e = 1.4426950408889634, magic = 6755399441055744.0; /* 1.5 * 2^52 */
    const double ln2_high = 0.693147180369123816490, ln2_low = 1.90821492927058770002e-10;
    const double least = -707.0, most = 709.0, huge = 1e308 * 10;
    for (size_t j = 0; j < n; j += 8) {
        doubles x, y, k, r, p;
        integers tiny, large, none, bits;
        LOAD(x, v + j);
        x *= factor;
        tiny = x < least;
        large = x > most;
        none = x != x;
        /* what is outside is computed as 0 and replaced below */
        bits = (integers)x & ~(tiny | large | none);
        y = (doubles)bits;
        k = y * log2e + magic;
        naturals power = (naturals)k << 52; /* k is in the last bits of the sum */
        k -= magic;
        r = y - k * ln2_high - k * ln2_low;
        p = terms[0] + r * 0.0;
        for (size_t t = 1; t < sizeof terms / sizeof *terms; t++)
            p = p * r + terms[t];
        p = (doubles)((naturals)p + power);
        doubles infinite = y * 0.0 + huge;
        bits = ((integers)p & ~(tiny | large | none)) | ((integers)infinite & large) |
               ((integers)x & none);
        STORE(v + j, bits);
    }
}

/* ---- dot products --------------------------------------------------------------------------- */

static void dots(const float *x, size_t rows, size_t k, const float *w, float bias,
    float *y, size_t y_step) {
    typedef float four __attribute__((vector_size(16)));
    size_t whole = k / TN_ROWS_LANES * TN_ROWS_LANES;
    for (size_t i = 0; i < rows; i++, x += k) {
        four even = {0}, odd = {0}, a, b;
        float rest = bias;
        for (size_t r = 0; r < whole; r += TN_ROWS_LANES) {
            LOAD(a, x + r);
            LOAD(b, w + r);
            even += a * b;
            LOAD(a, x + r + 4);
            LOAD(b, w + r + 4);
            odd += a * b;
        }
        for (size_t r = whole; r < k; r++)
            rest += x[r] * w[r];
        even += odd;
        y[i * y_step] = ((even[0] + even[2]) + (even[1] + even[3])) + rest;
    }
}

#undef LOAD
#undef STORE
