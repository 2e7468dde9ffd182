/* The four number types of the domain as rows of float or double. */
#ifndef TENON_ML_NUMBERS_H
#define TENON_ML_NUMBERS_H

#include "ml.h"

/* n elements from `begin` on, converted (float to double exactly, the others rounded). */
void tn__numbers_f64(const struct tn_tensor *x, int64_t begin, int64_t n, double *out);
void tn__numbers_f32(const struct tn_tensor *x, int64_t begin, int64_t n, float *out);

/* A matrix as most operators of the domain see a tensor: a vector is one row. */
struct tn__matrix {
    int64_t rows, cols;
};

/* Refuses other ranks than 1 and 2; in inference sizes may be symbols. */
static inline tn_status tn__matrix_of(
    int64_t rank, const int64_t *dims, struct tn__matrix *out, struct tn_diag *diag) {
    if (rank != 1 && rank != 2)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "input 'X' has rank %lld, expected a matrix or a vector", (long long)rank);
    out->rows = rank == 1 ? 1 : dims[0];
    out->cols = dims[rank - 1];
    return TN_OK;
}

#endif
