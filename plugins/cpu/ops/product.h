/* A batch of f32 matrix products, split over the pool.
 *
 * MatMul, Gemm and the convolutions that are products plan one of these once for a shape
 * set and then only put the data pointers in. The split depends on shapes alone, and the
 * kernels give each element the same bits however the work is cut. */
#ifndef TENON_CPU_PRODUCT_H
#define TENON_CPU_PRODUCT_H

#include "../kernels/gemm.h"
#include "tenon/op.h"

struct tn_product {
    const struct tn_gemm_kernels *kernels;
    struct tn_gemm gemm; /* the first product; b: packed panels if `packed` */
    struct tn_gemm_epilogue epilogue; /* gemm.epilogue points here when run */
    bool packed;
    bool b_transposed; /* not packed: B is N rows of K */
    /* Batch dimensions, outermost first, and the step of each operand in floats. */
    uint32_t rank;
    const int64_t *dims, *step_a, *step_b;
    size_t batch;
    size_t step_c; /* of C and of the residual */
    /* Pieces of one product. */
    size_t m_block, m_pieces;
    size_t p_block, p_pieces;
};

/* Work below this many multiply-adds stays on the calling thread (about 50 µs). */
#define TN_PRODUCT_SMALL 5e6

/* Chooses the pieces. kernels, gemm's m n k and batch are set. */
void tn__product_plan(struct tn_product *product);

/* Runs all products; ends early with a run (may be NULL) that is interrupted. */
tn_status tn__product_run(const struct tn_product *product, const struct tn_host *host,
    const struct tn_run *run);

/* Packs `count` matrices of k×n, `src_step` floats apart, into dst (packed_size apart) on the
 * pool. */
void tn__product_pack(const struct tn_gemm_kernels *kernels, const struct tn_host *host,
    float *dst, const float *src, size_t src_step, size_t row_stride, size_t col_stride,
    size_t k, size_t n, size_t count);

#endif
