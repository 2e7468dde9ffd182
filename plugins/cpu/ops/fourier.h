/* Discrete Fourier transforms of any length in f64: powers of two by halving, other lengths
 * as a convolution with a chirp, itself done by a power of two. */
#ifndef TENON_CPU_FOURIER_H
#define TENON_CPU_FOURIER_H

#include "tenon/op.h"

/* Tables for transforms of n complex numbers; they live until the end of the run. */
struct tn__fourier {
    size_t n, m;          /* m: the power of two at work, n itself when it is one */
    const double *turns;  /* [m / 2] e^(-2πi k/m) */
    const double *chirp;  /* [n] e^(-πi k²/n), NULL when m is n */
    const double *filter; /* [m] the transform of the conjugate chirp, over m */
};

/* n is at least 1. */
tn_status tn__fourier_make(struct tn__fourier *plan, const struct tn_run *run, int64_t n);
/* Doubles of scratch that one transform needs. */
size_t tn__fourier_scratch(const struct tn__fourier *plan);
/* Transforms x (n pairs of real and imaginary part) in place; `inverse` turns the other way
 * round, without the division by n. */
void tn__fourier_run(
    const struct tn__fourier *plan, double *x, double *scratch, int inverse);

#endif
