/* Discrete Fourier transforms of any length in f64. */
#include "ops/fourier.h"

#include "tenon/helper/diag.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
#define LENGTH_MAX (INT64_C(1) << 31) /* squares of positions stay in range */

static double *room(const struct tn_run *run, size_t pairs) {
    return run->alloc(run, (uint64_t)pairs * 2 * sizeof(double), 64);
}

/* e^(-πi num/den), the angle brought near 0 first, where sin and cos are at their best. */
static void turn(uint64_t num, uint64_t den, double *out) {
    num %= 2 * den;
    double side = num > den ? 1 : -1;
    double angle = PI * (double)(num > den ? 2 * den - num : num) / (double)den;
    out[0] = cos(angle);
    out[1] = side * sin(angle);
}

/* Exchanges element i with the one whose index has the bits reversed. */
static void reverse_bits(double *x, size_t m) {
    for (size_t i = 1, j = 0; i < m; i++) {
        size_t bit = m >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i >= j) continue;
        double re = x[2 * i], im = x[2 * i + 1];
        x[2 * i] = x[2 * j];
        x[2 * i + 1] = x[2 * j + 1];
        x[2 * j] = re;
        x[2 * j + 1] = im;
    }
}

/* m, a power of two. */
static void transform(double *x, size_t m, const double *turns) {
    reverse_bits(x, m);
    for (size_t half = 1; half < m; half *= 2) {
        size_t stride = m / (2 * half);
        for (size_t base = 0; base < m; base += 2 * half) {
            for (size_t k = 0; k < half; k++) {
                const double *w = turns + 2 * k * stride;
                double *a = x + 2 * (base + k), *b = a + 2 * half;
                double re = b[0] * w[0] - b[1] * w[1], im = b[0] * w[1] + b[1] * w[0];
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
        }
    }
}

static void multiply(double *a, const double *b) {
    double re = a[0] * b[0] - a[1] * b[1];
    a[1] = a[0] * b[1] + a[1] * b[0];
    a[0] = re;
}

static tn_status make_chirp(struct tn__fourier *plan, const struct tn_run *run) {
    size_t n = plan->n, m = plan->m;
    double *chirp = room(run, n), *filter = room(run, m);
    if (!chirp || !filter)
        return tn_fail(
            run->diag, TN_OUT_OF_MEMORY, "no memory for a transform of %zu numbers", n);
    memset(filter, 0, m * 2 * sizeof(double));
    for (size_t k = 0; k < n; k++) {
        turn((uint64_t)k * k, n, chirp + 2 * k);
        double *const ends[2] = {filter + 2 * k, filter + 2 * (k ? m - k : 0)};
        for (int end = 0; end < 2; end++) {
            ends[end][0] = chirp[2 * k] / (double)m;
            ends[end][1] = -chirp[2 * k + 1] / (double)m;
        }
    }
    transform(filter, m, plan->turns);
    plan->chirp = chirp;
    plan->filter = filter;
    return TN_OK;
}

tn_status tn__fourier_make(
    struct tn__fourier *plan, const struct tn_run *run, int64_t n) {
    memset(plan, 0, sizeof *plan);
    if (n < 1 || n > LENGTH_MAX)
        return tn_fail(run->diag, TN_INVALID_ARGUMENT,
            "a transform of %lld numbers, expected 1 to %lld", (long long)n,
            (long long)LENGTH_MAX);
    plan->n = (size_t)n;
    plan->m = 1;
    while (plan->m < plan->n)
        plan->m *= 2;
    if (plan->m != plan->n)
        while (plan->m < 2 * plan->n - 1)
            plan->m *= 2;
    double *turns = room(run, plan->m / 2 + 1);
    if (!turns)
        return tn_fail(run->diag, TN_OUT_OF_MEMORY,
            "no memory for a transform of %lld numbers", (long long)n);
    for (size_t k = 0; k < plan->m / 2; k++)
        turn(2 * k, plan->m, turns + 2 * k);
    plan->turns = turns;
    return plan->m == plan->n ? TN_OK : make_chirp(plan, run);
}

size_t tn__fourier_scratch(const struct tn__fourier *plan) {
    return plan->chirp ? 2 * plan->m : 0;
}

/* x·chirp convolved with the conjugate chirp, times chirp: the squares complete k·l. */
static void convolve(const struct tn__fourier *plan, double *x, double *scratch) {
    size_t n = plan->n, m = plan->m;
    memset(scratch, 0, 2 * m * sizeof *scratch);
    memcpy(scratch, x, 2 * n * sizeof *x);
    for (size_t k = 0; k < n; k++)
        multiply(scratch + 2 * k, plan->chirp + 2 * k);
    transform(scratch, m, plan->turns);
    for (size_t k = 0; k < m; k++) {
        multiply(scratch + 2 * k, plan->filter + 2 * k);
        scratch[2 * k + 1] = -scratch[2 * k + 1];
    }
    transform(scratch, m, plan->turns); /* of the conjugate: the inverse's conjugate */
    for (size_t k = 0; k < n; k++) {
        x[2 * k] = scratch[2 * k];
        x[2 * k + 1] = -scratch[2 * k + 1];
        multiply(x + 2 * k, plan->chirp + 2 * k);
    }
}

static void conjugate(double *x, size_t n) {
    for (size_t k = 0; k < n; k++)
        x[2 * k + 1] = -x[2 * k + 1];
}

void tn__fourier_run(
    const struct tn__fourier *plan, double *x, double *scratch, int inverse) {
    if (inverse) conjugate(x, plan->n);
    if (plan->chirp)
        convolve(plan, x, scratch);
    else
        transform(x, plan->n, plan->turns);
    if (inverse) conjugate(x, plan->n);
}
