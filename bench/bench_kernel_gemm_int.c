/* Bench rows of the integer GEMM area. */
#include "bench_kernel.h"

#include "gemm_int.h"

#include <stdio.h>
#include <stdlib.h>

struct product {
    struct tn_gemm_int_kernels kernels;
    struct tn_gemm_int gemm;
};

static void run_product(void *arg) {
    const struct product *p = arg;
    tn_gemm_int_run(&p->kernels, &p->gemm, 0, p->gemm.m, 0,
        tn_gemm_int_panels(&p->kernels, p->gemm.n));
}

void bench_gemm_int(enum tn_isa isa) {
    static const size_t shapes[][3] = {{128, 768, 768}, {128, 768, 3072}, {16, 768, 768},
        {512, 512, 512}, {1024, 1024, 1024}, {1, 256, 256}, {1, 1024, 1024}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const size_t m = shapes[i][0], k = shapes[i][1], n = shapes[i][2];
        struct product p;
        char name[64];
        tn_gemm_int_kernels_init(&p.kernels, isa);
        const size_t size = tn_gemm_int_packed_size(&p.kernels, k, n);
        float *a = bench_floats(m * k / 4), *b = bench_floats(k * n / 4);
        float *c = bench_floats(m * n), *packed = bench_floats(size / 4);
        const int32_t zero = 3;
        tn_gemm_int_pack(&p.kernels, packed, b, true, n, 1, k, n, 0,
            tn_gemm_int_panels(&p.kernels, n));
        p.gemm = (struct tn_gemm_int){.m = m,
            .n = n,
            .k = k,
            .a = a,
            .lda = k,
            .b_signed = true,
            .b = packed,
            .a_zero = &zero,
            .c = (int32_t *)(void *)c,
            .ldc = n};
        snprintf(name, sizeof(name), "u8 x s8 %zux%zux%zu", m, k, n);
        /* a word takes one multiply-add instruction, and for pairs an addition on another port */
        const struct bench_case test = {"gemm_int", name,
            2.0 * (double)m * (double)k * (double)n, run_product, &p,
            (double)p.kernels.pack, m >= 16 && p.kernels.pack == 4 ? 75 : 0};
        bench_report(&test, isa, isa == TN_ISA_SCALAR);
        free(a);
        free(b);
        free(c);
        free(packed);
    }
}
