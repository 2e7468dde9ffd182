/* Moves of n-d blocks of elements by their size: the one loop behind Transpose, Concat,
 * Slice, Pad, Expand, Tile and their like. Any element type: 1 to 16 bytes, strings by
 * their 16 bytes, and packed elements of 2 and 4 bits. */
#ifndef TENON_CPU_COPY_H
#define TENON_CPU_COPY_H

#include "loops/elementwise.h"
#include "tenon/types.h"

/* A planned move: dst[Σ c·dst_steps] = src[Σ c·src_steps] over all coordinates c. Operand 0
 * of ew is dst, operand 1 is src; a source step may be 0 (repeat) or negative. */
struct tn__copy {
    struct tn__ew ew;
    int64_t dst_offset, src_offset; /* elements */
    uint32_t bits;                  /* of an element */
    /* How planes are transposed; tn__copy_plan sets NULL: by plain loops. */
    const struct tn_transpose_kernels *planes;
};

/* Steps may be any that stay inside both blocks: the caller has checked. */
tn_status tn__copy_plan(struct tn__copy *copy, int32_t dtype, uint32_t rank,
    const int64_t *dims, const int64_t *dst_steps, const int64_t *src_steps,
    struct tn_diag *diag);
void tn__copy_run(
    const struct tn_host *host, const struct tn__copy *copy, void *dst, const void *src);

/* Copies `rows` stretches of `bytes`, each so many bytes after the one before. */
void tn__copy_rows(const struct tn_host *host, void *dst, uint64_t dst_pitch,
    const void *src, uint64_t src_pitch, uint64_t bytes, int64_t rows);

/* Steps of a dense block. */
void tn__dense_steps(const int64_t *dims, uint32_t rank, int64_t *steps);
/* Before the pieces of a tensor of packed elements are written: its spare bits are zero. */
void tn__copy_clear(const struct tn_tensor *dst);
/* Fills n elements from element `at` of dst with element `from` of src. */
void tn__fill(
    void *dst, int64_t at, const void *src, int64_t from, int64_t n, uint32_t bits);
/* Element i of a packed block, and its writing. */
uint8_t tn__packed_get(const void *src, int64_t i, uint32_t bits);
void tn__packed_put(void *dst, int64_t i, uint32_t bits, uint8_t value);

#endif
