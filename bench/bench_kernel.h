/* What the kernel benches share: the clock, the peak probe and the table that is printed.
 */
#ifndef TENON_BENCH_KERNEL_H
#define TENON_BENCH_KERNEL_H

#include "tenon/isa.h"

#include <stddef.h>

/* Work to be timed: one call of run(arg) does `flops` operations. */
struct bench_case {
    const char *area, *name;
    double flops;
    void (*run)(void *arg);
    void *arg;
    double ratio; /* its peak in units of the f32 multiply-add peak; 0 means 1 */
    double floor; /* the share of its peak that it must reach, in per cent; 0: none */
};

/* The f32 multiply-add peak of a level in operations a second, as measured on this
 * machine. */
double bench_peak(enum tn_isa isa);

/* Times a case (wall clock, best of many) and prints one row. A figure above the peak is
 * a measuring fault: it is thrown away and measured again. `effective` counts the
 * operations of the direct method, so it may pass the peak (Winograd). A vector level that misses its floor is
 * marked and makes the program fail. */
void bench_report(const struct bench_case *test, enum tn_isa isa, int effective);

const char *bench_isa_name(enum tn_isa isa);

/* Zero-initialised floats, 64-byte aligned, filled with small values; exits when out of
 * memory. */
float *bench_floats(size_t count);

void bench_gemm(enum tn_isa isa);
void bench_gemm_int(enum tn_isa isa);
void bench_conv(enum tn_isa isa);
void bench_depthwise(enum tn_isa isa);
void bench_winograd(enum tn_isa isa);

#endif
