/* The peak probe: loops of independent multiply-adds that stay in registers. What a
 * kernel reaches is judged against this and not against a data sheet. */
#include "bench_kernel.h"

#include <stdint.h>
#include <time.h>

enum { STEPS = 20000, ROUNDS = 2000 };

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#define TEN(op, reg)                                                                     \
    op(reg, 0) op(reg, 1) op(reg, 2) op(reg, 3) op(reg, 4) op(reg, 5) op(reg, 6)         \
        op(reg, 7) op(reg, 8) op(reg, 9)
#define FMA(reg, i) "vfmadd231ps %%" #reg "15, %%" #reg "15, %%" #reg #i "\n"
#define CLEAR(reg, i) "vpxor %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n"
#define CLOBBERS                                                                         \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",      \
        "xmm15"

#if defined(__x86_64__)
static void loop_avx2(void) {
    uint64_t n = STEPS;
    __asm__ volatile("vpxor %%xmm15, %%xmm15, %%xmm15\n" TEN(CLEAR, xmm) "1:\n" TEN(
        FMA, ymm) "dec %0\njnz 1b\nvzeroupper\n"
                     : "+r"(n)
                     :
                     : CLOBBERS);
}

static void loop_avx512(void) {
    uint64_t n = STEPS;
    __asm__ volatile("vpxor %%xmm15, %%xmm15, %%xmm15\n" TEN(CLEAR, xmm) "1:\n" TEN(
        FMA, zmm) "dec %0\njnz 1b\nvzeroupper\n"
                     : "+r"(n)
                     :
                     : CLOBBERS);
}
#endif

static void loop_scalar(void) {
    /* ten chains of separate multiply and add, which is what plain C code is made of */
    volatile float seed = 0.0f;
    float x[40];
    for (int i = 0; i < 40; i++)
        x[i] = seed;
    const float y = seed;
    for (int n = 0; n < STEPS; n++) {
        for (int i = 0; i < 40; i++)
            x[i] = x[i] * y + y;
    }
    for (int i = 0; i < 40; i++)
        seed = x[i];
}

double bench_peak(enum tn_isa isa) {
    static double known[TN_ISA_COUNT];
    void (*loop)(void) = loop_scalar;
    double flops = 2.0 * 40 * STEPS, best = 1e9;
    if (known[isa] > 0) return known[isa];
#if defined(__x86_64__)
    if (isa == TN_ISA_AVX2) {
        loop = loop_avx2;
        flops = 2.0 * 8 * 10 * STEPS;
    } else if (isa > TN_ISA_AVX2) {
        loop = loop_avx512;
        flops = 2.0 * 16 * 10 * STEPS;
    }
#endif
    for (int round = 0; round < ROUNDS; round++) {
        double start = seconds();
        loop();
        double time = seconds() - start;
        if (time < best) best = time;
    }
    known[isa] = flops / best;
    return known[isa];
}
