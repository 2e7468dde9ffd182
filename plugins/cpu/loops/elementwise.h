/* Elementwise loops with broadcasting: the only place that knows how an n-d operand maps
 * onto the output. Dims are collapsed once; inner functions see 1-d runs (contiguous,
 * scalar or strided) of the kernel tables. Floats narrower than 32 bits are widened block
 * by block. */
#ifndef TENON_CPU_LOOP_ELEMENTWISE_H
#define TENON_CPU_LOOP_ELEMENTWISE_H

#include "cpu.h"
#include "kernels/run_fn.h"
#include "tenon/types.h"

enum {
    TN_EW_OPERANDS = 3,
    TN_EW_RANK = 16 /* groups of axes that broadcast differently, after collapsing */
};

/* The collapsed iteration of one output and its operands. */
struct tn__ew {
    int64_t count; /* elements of the output */
    uint32_t rank; /* of the collapsed dims, at least 1; the last one is the run */
    uint32_t n_operands;
    int64_t dims[TN_EW_RANK];
    int64_t steps[TN_EW_OPERANDS][TN_EW_RANK]; /* in elements */
};

/* Plans operands (dense tensors) against the output's shape, which each must broadcast to.
 */
tn_status tn__ew_plan(struct tn__ew *ew, const int64_t *dims, uint32_t rank,
    const struct tn_tensor *const *operands, uint32_t n_operands, struct tn_diag *diag);

/* Adds one axis inside those that ew has, with a step of each operand; it is joined to its
 * neighbour when every operand steps through both as one. For plans made by hand: start
 * with rank 0, set n_operands and count, leave out axes of size 1. */
tn_status tn__ew_append(
    struct tn__ew *ew, int64_t dim, const int64_t *steps, struct tn_diag *diag);

/* One run: output elements [dst, dst + n), operand i from offsets[i] by steps[i]. */
typedef void tn__ew_run_fn(
    void *arg, int64_t dst, const int64_t *offsets, const int64_t *steps, int64_t n);
/* Calls run for the output elements [begin, end), in order. */
void tn__ew_walk(
    const struct tn__ew *ew, int64_t begin, int64_t end, tn__ew_run_fn *run, void *arg);

/* An inner function with what surrounds it: `load` and `store` are NULL when the element
 * type is the kernel's own. */
struct tn__ew_fn {
    tn_unary_fn *unary;
    tn_binary_fn *binary;
    tn_convert_fn *load;        /* narrow operands to f32 */
    tn_convert_fn *store;       /* f32 to the narrow output */
    uint32_t size_in, size_out; /* bytes of an element of the operands and the output */
    double cost;                /* nanoseconds an element takes, roughly */
    const void *param;          /* of unary */
};

/* dst[i] = f(src[i]) over n elements, on the host's threads. */
void tn__ew_unary(const struct tn_host *host, const struct tn__ew_fn *fn, void *dst,
    const void *src, int64_t n);
/* One piece of it, on this thread. */
void tn__ew_unary_run(const struct tn__ew_fn *fn, void *dst, const void *src, int64_t n);
/* dst = f(a, b), broadcast as planned, on the host's threads. */
void tn__ew_binary(const struct tn_host *host, const struct tn__ew_fn *fn,
    const struct tn__ew *ew, void *dst, const void *a, const void *b);
/* The same for n elements of operands that have the output's shape. */
void tn__ew_binary_flat(const struct tn_host *host, const struct tn__ew_fn *fn, void *dst,
    const void *a, const void *b, int64_t n);
/* n contiguous elements of all three, on this thread; dst may be a. */
void tn__ew_binary_run(
    const struct tn__ew_fn *fn, void *dst, const void *a, const void *b, int64_t n);

#endif
