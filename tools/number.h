/* Elements of any type as numbers: printing and comparing tensors. */
#ifndef TENON_NUMBER_H
#define TENON_NUMBER_H

#include "tenon/types.h"

#include <stdbool.h>
#include <stdio.h>

/* Element i of a tensor's data as a double (the real part of a complex number; strings are
 * 0). Packed types count elements, not bytes. */
double number_at(int32_t dtype, const void *data, uint64_t i);
/* The imaginary part, 0 for real types. */
double number_imag_at(int32_t dtype, const void *data, uint64_t i);
/* Integers of 64 bits exactly; false for types that are not integers. */
bool number_integer_at(int32_t dtype, const void *data, uint64_t i, int64_t *out);
uint64_t number_count(const struct tn_tensor *tensor);
/* Writes one element for people. */
void number_print(FILE *to, const struct tn_tensor *tensor, uint64_t i);

struct number_diff {
    bool same_type, same_shape;
    uint64_t count, mismatches, first; /* index of the first mismatch */
    double max_abs, max_rel;
};

/* Official comparison of ONNX's backend tests: same type and shape, strings equal, numbers
 * within atol + rtol * |expected|, NaN equal to NaN. True when all agree. */
bool number_compare(const struct tn_tensor *actual, const struct tn_tensor *expected,
    double rtol, double atol, struct number_diff *out);

#endif
