/* Single numbers of any element type: for scalars that steer an operator (a depth, a limit,
 * a one to write), never for runs. */
#ifndef TENON_CPU_NUMBER_H
#define TENON_CPU_NUMBER_H

#include "tenon/types.h"

/* Element i of a block as a double; 0 for types that are no real numbers. */
double tn__number_get(int32_t dtype, const void *data, int64_t i);
/* Writes a double as element i: integers truncate and wrap, floats round to the nearest. */
void tn__number_put(int32_t dtype, void *data, int64_t i, double value);

#endif
