/* Positions of a tensor's elements in a list of keys, block by block. */
#ifndef TENON_ML_LOOKUP_H
#define TENON_ML_LOOKUP_H

#include "ops/keys.h"

enum { TN__LOOKUP_BLOCK = 256 }; /* elements looked up at a time */

/* Positions (-1: unknown) of n elements from `begin` on. */
typedef void (*tn__lookup_fn)(
    const struct tn__keys *keys, const void *x, int64_t begin, int64_t n, int32_t *out);

/* The function for elements of this type whose keys were made by tn__keys_strings (strings),
 * tn__keys_ints (integers) or tn__keys_ints of tn__keys_of_double (floats); NULL: none. */
tn__lookup_fn tn__lookup_of(int32_t dtype);
/* The same for floats that stand for integers: they are truncated first. */
tn__lookup_fn tn__lookup_truncated(int32_t dtype);
/* Rough nanoseconds an element. */
double tn__lookup_cost(int32_t dtype);

#endif
