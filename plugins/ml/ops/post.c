/* See post.h. */
#include "ops/post.h"

#include <math.h>

tn_status tn__post_read(
    struct tn_string text, enum tn_transform *out, struct tn_diag *diag) {
    int32_t found = tn__transform_find(text.data, text.size);
    if (found >= 0) {
        *out = (enum tn_transform)found;
        return TN_OK;
    }
    return tn_fail(diag, TN_INVALID_MODEL,
        "attribute 'post_transform' is '%.*s', expected NONE, SOFTMAX, LOGISTIC, "
        "SOFTMAX_ZERO or PROBIT",
        (int)(text.size < 60 ? text.size : 60), text.data);
}

int64_t tn__best(const double *row, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = row[i] > row[best] ? i : best;
    for (int64_t i = 0; i < n; i++) {
        if (row[i] != row[i]) return i;
    }
    return best;
}

/* spare = e^spare for n elements and what fills up the last vector. */
static void exponentials(
    const struct tn_rows_kernels *kernels, double *spare, int64_t n) {
    uint64_t filled = tn__post_spare(1, (uint64_t)n);
    for (uint64_t i = (uint64_t)n; i < filled; i++)
        spare[i] = 0;
    kernels->exp(spare, filled, 1.0);
}

static void logistic(
    const struct tn_rows_kernels *kernels, double *x, double *spare, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        spare[i] = -fabs(x[i]);
    exponentials(kernels, spare, n);
    for (int64_t i = 0; i < n; i++)
        x[i] = (x[i] < 0 ? spare[i] : 1) / (1 + spare[i]);
}

static double largest(const double *row, int64_t n) {
    double most = row[0];
    for (int64_t j = 1; j < n; j++)
        most = row[j] > most ? row[j] : most;
    return most;
}

static void softmax(const struct tn_rows_kernels *kernels, double *rows, double *spare,
    int64_t n_rows, int64_t width) {
    for (int64_t i = 0; i < n_rows; i++) {
        double most = largest(rows + i * width, width);
        for (int64_t j = i * width; j < (i + 1) * width; j++)
            spare[j] = rows[j] - most;
    }
    exponentials(kernels, spare, n_rows * width);
    for (int64_t i = 0; i < n_rows; i++) {
        double sum = 0;
        for (int64_t j = i * width; j < (i + 1) * width; j++)
            sum += spare[j];
        for (int64_t j = i * width; j < (i + 1) * width; j++)
            rows[j] = spare[j] / sum;
    }
}

/* As softmax, but scores that are 0 keep nothing of the exponential: they stay next to 0. */
static void softmax_zero(const struct tn_rows_kernels *kernels, double *rows,
    double *spare, int64_t n_rows, int64_t width) {
    for (int64_t i = 0; i < n_rows; i++) {
        double most = largest(rows + i * width, width);
        for (int64_t j = i * width; j < (i + 1) * width; j++)
            spare[j] = fabs(rows[j]) <= 1e-7 ? -most : rows[j] - most;
    }
    exponentials(kernels, spare, n_rows * width);
    for (int64_t i = 0; i < n_rows; i++) {
        double sum = 0;
        for (int64_t j = i * width; j < (i + 1) * width; j++) {
            rows[j] = fabs(rows[j]) <= 1e-7 ? rows[j] * spare[j] : spare[j];
            sum += rows[j];
        }
        for (int64_t j = i * width; j < (i + 1) * width; j++)
            rows[j] = sum == 0 ? 0.5 : rows[j] / sum;
    }
}

void tn__post_rows(const struct tn_rows_kernels *kernels, enum tn_transform post,
    double *rows, double *spare, int64_t n_rows, int64_t width) {
    int64_t n = n_rows * width;
    switch (post) {
    case TN_TRANSFORM_NONE:
    case TN_TRANSFORM_COUNT: break;
    case TN_TRANSFORM_SOFTMAX: softmax(kernels, rows, spare, n_rows, width); break;
    case TN_TRANSFORM_SOFTMAX_ZERO:
        softmax_zero(kernels, rows, spare, n_rows, width);
        break;
    case TN_TRANSFORM_LOGISTIC: logistic(kernels, rows, spare, n); break;
    case TN_TRANSFORM_PROBIT:
        for (int64_t i = 0; i < n; i++)
            rows[i] = tn__probit(rows[i], TN_COMPAT_ONNX);
        break;
    }
}
