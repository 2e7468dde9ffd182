/* Bench rows of the GEMM area: constant B in panels, and both operands dynamic. */
#include "bench_kernel.h"

#include "gemm.h"

#include <stdio.h>
#include <stdlib.h>

struct product {
    struct tn_gemm_kernels kernels;
    struct tn_gemm gemm;
    int plain, transposed;
};

static void run_product(void *arg) {
    const struct product *p = arg;
    size_t panels = tn_gemm_panels(&p->kernels, p->gemm.n);
    if (p->plain) {
        tn_gemm_plain(&p->kernels, &p->gemm, p->transposed, 0, p->gemm.m, 0, panels);
    } else {
        tn_gemm_run(&p->kernels, &p->gemm, 0, p->gemm.m, 0, panels);
    }
}

static void bench_product(enum tn_isa isa, size_t m, size_t k, size_t n, int plain) {
    struct product p = {.plain = plain != 0, .transposed = plain == 2};
    char name[64];
    tn_gemm_kernels_init(&p.kernels, isa);
    float *a = bench_floats(m * k), *c = bench_floats(m * n), *b = bench_floats(k * n);
    float *packed = bench_floats(tn_gemm_packed_size(&p.kernels, k, n));
    tn_gemm_pack(&p.kernels, packed, k * p.kernels.nr, b, n, 1, k, n, 0,
        tn_gemm_panels(&p.kernels, n));
    p.gemm = (struct tn_gemm){
        m, n, k, a, k, plain ? b : packed, plain == 2 ? k : n, c, n, NULL};
    static const char *const kinds[] = {"", " plain", " plain, B transposed"};
    snprintf(name, sizeof(name), "%zux%zux%zu%s", m, k, n, kinds[plain]);
    const double floor = plain == 0 && m >= 16 && k >= 512 ? 80 : 0;
    const struct bench_case test = {
        "gemm", name, 2.0 * (double)m * (double)k * (double)n, run_product, &p, 1, floor};
    bench_report(&test, isa, 0);
    free(a);
    free(b);
    free(c);
    free(packed);
}

void bench_gemm(enum tn_isa isa) {
    // clang-format off
    static const struct { size_t m, k, n; int plain; } shapes[] = {
        {128, 768, 768, 0}, {128, 768, 3072, 0}, {128, 3072, 768, 0}, {16, 768, 768, 0},
        {512, 512, 512, 0}, {1024, 1024, 1024, 0}, {64, 64, 64, 0}, {1, 256, 256, 0},
        {1, 256, 10, 0}, {1, 1024, 1024, 0}, {1, 4096, 4096, 0}, {2, 1024, 1024, 0},
        {4, 1024, 1024, 0}, {128, 64, 128, 2}, {128, 128, 64, 1}, {1, 64, 512, 2},
        {1, 512, 64, 1},
    };
    // clang-format on
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        bench_product(isa, shapes[i].m, shapes[i].k, shapes[i].n, shapes[i].plain);
    }
}
