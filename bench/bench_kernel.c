/* Kernel floors: each f32 kernel as a share of the multiply-add peak that was measured on
 * the same core a moment before. Usage: bench_kernels [area [level]]; area may be "all". The exit
 * status is 1 if a row misses its floor. */
#include "bench_kernel.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Over the peak by more than the noise of the probe itself: not possible, so not
 * believed. */
#define IMPOSSIBLE 1.02

/* Rows that missed their floors, for the exit status. */
static int rows_missed;

static const char *const isa_names[TN_ISA_COUNT] = {
    "scalar", "avx2", "avx512", "avx512vnni"};

const char *bench_isa_name(enum tn_isa isa) {
    return isa_names[isa];
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

float *bench_floats(size_t count) {
    size_t bytes = (count * sizeof(float) + 2 * 64) / 64 * 64;
    float *data = aligned_alloc(64, bytes);
    if (!data) {
        fprintf(stderr, "bench_kernels: out of memory for %zu floats\n", count);
        exit(1);
    }
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (float)(state >> 8) / (float)(1 << 24) - 0.5f;
    }
    return data;
}

void bench_report(const struct bench_case *test, enum tn_isa isa, int effective) {
    const double peak = bench_peak(isa) * (test->ratio > 0 ? test->ratio : 1);
    double best = 1e9, spent = 0;
    double start = seconds();
    test->run(test->arg);
    double once = seconds() - start;
    int repeat = once > 2e-5 ? 1 : (int)(4e-5 / (once + 1e-8)) + 1;
    while (spent < 0.25) {
        start = seconds();
        for (int i = 0; i < repeat; i++)
            test->run(test->arg);
        double time = seconds() - start;
        spent += time;
        time /= repeat;
        if (!effective && test->flops / time > peak * IMPOSSIBLE) continue;
        if (time < best) best = time;
    }
    const double share = 100 * test->flops / best / peak;
    const bool missed = isa != TN_ISA_SCALAR && share < test->floor;
    rows_missed += missed;
    printf("%-10s %-10s %-34s %10.2f us %8.1f GF/s %6.1f %%%s\n", test->area,
        isa_names[isa], test->name, best * 1e6, test->flops / best * 1e-9, share,
        missed ? "  below its floor" : "");
    fflush(stdout);
}

static int machine_has(enum tn_isa isa) {
#if defined(__x86_64__)
    if (isa == TN_ISA_AVX2) return __builtin_cpu_supports("avx2");
    if (isa == TN_ISA_AVX512) return __builtin_cpu_supports("avx512bw");
    if (isa == TN_ISA_AVX512VNNI) return __builtin_cpu_supports("avx512vnni");
#endif
    return isa == TN_ISA_SCALAR;
}

static const struct {
    const char *name;
    void (*run)(enum tn_isa isa);
    enum tn_isa highest; /* the last level that raises a row of the area */
} areas[] = {
    {"gemm", bench_gemm, TN_ISA_AVX512},
    {"gemm_int", bench_gemm_int, TN_ISA_AVX512VNNI},
    {"conv", bench_conv, TN_ISA_AVX512},
    {"depthwise", bench_depthwise, TN_ISA_AVX512},
    {"winograd", bench_winograd, TN_ISA_AVX512},
};

int main(int argc, char **argv) {
    for (int isa = TN_ISA_COUNT - 1; isa >= TN_ISA_SCALAR; isa--) {
        if (!machine_has((enum tn_isa)isa)) continue;
        if (argc > 2 && strcmp(argv[2], isa_names[isa]) != 0) continue;
        printf("%-10s %-10s %-34s %24.1f GF/s\n", "peak", isa_names[isa], "multiply-add",
            bench_peak((enum tn_isa)isa) * 1e-9);
        for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
            if (argc > 1 && strcmp(argv[1], areas[i].name) != 0 &&
                strcmp(argv[1], "all") != 0)
                continue;
            if (isa > (int)areas[i].highest) continue;
            areas[i].run((enum tn_isa)isa);
        }
    }
    return rows_missed > 0;
}
