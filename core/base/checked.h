/* Arithmetic on sizes that come from a model: each product that sizes memory goes through
 * here, and an overflow is a value the caller must look at. */
#ifndef TENON_CHECKED_H
#define TENON_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "tenon/types.h"

/* *out = a * b; false when it does not fit. */
static inline bool tn_mul_size(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool tn_add_size(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

/* Rounds up to a power of two; false when it does not fit. */
static inline bool tn_align_size(uint64_t size, uint64_t align, uint64_t *out) {
    if (!tn_add_size(size, align - 1, out)) return false;
    *out &= ~(align - 1);
    return true;
}

/* Number of elements of a shape, had each dimension of size 0 the size 1; false when a
 * dimension is negative or it does not fit into an int64_t. Products of any of the
 * dimensions fit then, so loops and steps over an empty tensor need no checks of their
 * own. */
static inline bool tn_count_extent(const int64_t *dims, uint32_t rank, uint64_t *out) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 0 || !tn_mul_size(n, dims[i] ? (uint64_t)dims[i] : 1, &n) ||
            n > INT64_MAX)
            return false;
    }
    *out = n;
    return true;
}

/* Number of elements of a shape; false when a dimension is negative or its extent does not
 * fit. */
static inline bool tn_count_elements(const int64_t *dims, uint32_t rank, uint64_t *out) {
    if (!tn_count_extent(dims, rank, out)) return false;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] == 0) *out = 0;
    }
    return true;
}

/* Bytes that n elements of a type take (sub-byte types packed, the tail padded); false
 * when it does not fit or the type is unknown. */
static inline bool tn_element_bytes(int32_t dtype, uint64_t n, uint64_t *out) {
    uint64_t bits = tn_dtype_bits(dtype);
    if (bits == 0) return false;
    if (bits >= 8) return tn_mul_size(n, bits / 8, out);
    uint64_t per_byte = 8 / bits;
    *out = n / per_byte + (n % per_byte != 0);
    return true;
}

/* Bytes of a dense tensor; false when it does not fit. */
static inline bool tn_tensor_bytes(
    int32_t dtype, const int64_t *dims, uint32_t rank, uint64_t *out) {
    uint64_t n;
    return tn_count_elements(dims, rank, &n) && tn_element_bytes(dtype, n, out);
}

/* Bytes of a dense tensor had each dimension of size 0 the size 1: what limits hold
 * against, since work on an empty tensor still walks its other dimensions. */
static inline bool tn_tensor_extent(
    int32_t dtype, const int64_t *dims, uint32_t rank, uint64_t *out) {
    uint64_t n;
    return tn_count_extent(dims, rank, &n) && tn_element_bytes(dtype, n, out);
}

#endif
