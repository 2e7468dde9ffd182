/* C = alpha A·B on plain rows, A and C with rows of any pitch; `transposed`: the rows of B are
 * columns of the product. */
#ifndef TENON_CPU_ATTENTION_PRODUCT_H
#define TENON_CPU_ATTENTION_PRODUCT_H

#include "ops/ops.h"

#include <stdbool.h>

struct tn__product_f64 {
    size_t m, n, k;
    const double *a;
    size_t lda;
    const double *b;
    size_t ldb;
    double *c;
    size_t ldc;
};

static inline void product_f32(
    const struct tn__cpu *cpu, struct tn_gemm *gemm, double alpha, bool transposed) {
    const struct tn_gemm_kernels *kernels = &cpu->gemm;
    struct tn_gemm_epilogue epilogue = TN_GEMM_EPILOGUE_INIT;
    epilogue.alpha = (float)alpha;
    gemm->epilogue = &epilogue;
    tn_gemm_plain(
        kernels, gemm, transposed, 0, gemm->m, 0, tn_gemm_panels(kernels, gemm->n));
}

static inline void product_f64(
    const struct tn__cpu *cpu, struct tn__product_f64 *p, double alpha, bool transposed) {
    (void)cpu;
    for (size_t i = 0; i < p->m; i++) {
        double *c = p->c + i * p->ldc;
        const double *a = p->a + i * p->lda;
        for (size_t j = 0; j < p->n; j++)
            c[j] = 0;
        for (size_t j = 0; transposed && j < p->n; j++)
            for (size_t k = 0; k < p->k; k++)
                c[j] += a[k] * p->b[j * p->ldb + k];
        for (size_t k = 0; !transposed && k < p->k; k++)
            for (size_t j = 0; j < p->n; j++)
                c[j] += a[k] * p->b[k * p->ldb + j];
        for (size_t j = 0; j < p->n; j++)
            c[j] *= alpha;
    }
}

#endif
