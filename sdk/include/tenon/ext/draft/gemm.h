/* "tenon.draft.gemm/1": matrix products that one plugin lends to others.
 *
 *     const struct tn_gemm_service *gemm = host->get_extension(host->self, TN_GEMM_SERVICE);
 *     if (gemm && gemm->struct_size == TN_GEMM_SERVICE_SIZE) …
 *
 * Published by the cpu plugin. C = A·B (+ bias), A with M rows of K, B with K rows of N,
 * packed once. Every element of C is summed in one order whatever M, the threads or the
 * position of its row; float at one level of instructions, double on every machine.
 *
 * Draft: its layout may change with any minor; use it on an exact match only.
 * Includes nothing but libc. C11 and C++17. */
#ifndef TENON_EXT_DRAFT_GEMM_H
#define TENON_EXT_DRAFT_GEMM_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TN_GEMM_SERVICE "tenon.draft.gemm/1"

/* B as it is given: element (r, c) is data[r * row_stride + c * col_stride]. */
struct tn_gemm_matrix {
    const void *data;
    uint64_t k, n;
    uint64_t row_stride, col_stride; /* in elements */
    int32_t dtype;                   /* TN_FLOAT or TN_DOUBLE */
    uint32_t reserved;
};

/* One product. Rows of A and C are contiguous; strides count elements. */
struct tn_gemm_product {
    uint64_t m, n, k;
    const void *a;
    uint64_t lda;
    const void *packed; /* what pack wrote */
    const void *bias;   /* [n] or NULL */
    void *c;
    uint64_t ldc;
    int32_t dtype;
    uint32_t reserved;
};

struct tn_gemm_service {
    uint32_t struct_size; /* TN_GEMM_SERVICE_SIZE */
    uint32_t flags;
    void *self;
    /* [any] Bytes of the packed form, 0 when the type is not served or they do not fit. */
    uint64_t (*packed_size)(void *self, const struct tn_gemm_matrix *b);
    /* [setup] Packs B into packed_size bytes aligned to 64. */
    void (*pack)(void *self, const struct tn_gemm_matrix *b, void *packed);
    /* [run] Computes C, on the host's pool where that pays. */
    void (*run)(void *self, const struct tn_gemm_product *product);
};
#define TN_GEMM_SERVICE_SIZE ((uint32_t)TN_END_OF(struct tn_gemm_service, run))

#ifdef __cplusplus
}
#endif
#endif
