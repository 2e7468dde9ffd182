/* See numbers.h. */
#include "ops/numbers.h"

#define CONVERT(type, to)                                                                \
    do {                                                                                 \
        const type *from = (const type *)x->data + begin;                                \
        for (int64_t i = 0; i < n; i++)                                                  \
            out[i] = (to)from[i];                                                        \
    } while (0)

void tn__numbers_f64(const struct tn_tensor *x, int64_t begin, int64_t n, double *out) {
    switch (x->dtype) {
    case TN_FLOAT: CONVERT(float, double); break;
    case TN_DOUBLE: CONVERT(double, double); break;
    case TN_INT32: CONVERT(int32_t, double); break;
    default: CONVERT(int64_t, double); break;
    }
}

void tn__numbers_f32(const struct tn_tensor *x, int64_t begin, int64_t n, float *out) {
    switch (x->dtype) {
    case TN_FLOAT: CONVERT(float, float); break;
    case TN_DOUBLE: CONVERT(double, float); break;
    case TN_INT32: CONVERT(int32_t, float); break;
    default: CONVERT(int64_t, float); break;
    }
}
