/* See svm.h. */
#include "ops/svm.h"

#include "tenon/helper/parallel.h"

#include <math.h>

static tn_status find_kernel(
    struct tn_string text, enum tn__svm_kernel *out, struct tn_diag *diag) {
    static const char *const names[] = {[TN__SVM_LINEAR] = "LINEAR",
        [TN__SVM_POLY] = "POLY",
        [TN__SVM_RBF] = "RBF",
        [TN__SVM_SIGMOID] = "SIGMOID"};
    for (uint32_t i = 0; i < TN_COUNT(names); i++) {
        if (!tn_string_is(text, names[i])) continue;
        *out = (enum tn__svm_kernel)i;
        return TN_OK;
    }
    return tn_fail(diag, TN_INVALID_MODEL,
        "attribute 'kernel_type' is '%.*s', expected LINEAR, POLY, RBF or SIGMOID",
        (int)(text.size < 60 ? text.size : 60), text.data);
}

tn_status tn__svm_check(struct tn_string kernel_type, struct tn_attr_floats params,
    struct tn_attr_floats vectors, int64_t n, struct tn_diag *diag) {
    enum tn__svm_kernel kernel;
    TN_TRY(find_kernel(kernel_type, &kernel, diag));
    if (params.n != 0 && params.n != 3)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'kernel_params' has %u values, expected gamma, coef0 and degree",
            params.n);
    if (n > 0 && (vectors.n == 0 || vectors.n % n != 0))
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'support_vectors' has %u values, which are no %lld vectors",
            vectors.n, (long long)n);
    return TN_OK;
}

int64_t tn__svm_width(struct tn_string kernel_type, int64_t n) {
    return tn_string_is(kernel_type, "RBF")
               ? (n + TN_ROWS_COLUMNS - 1) / TN_ROWS_COLUMNS * TN_ROWS_COLUMNS
               : n;
}

/* The vectors as columns, in double; what fills up the last columns is 0. */
static tn_status make_columns(
    struct tn__svm *svm, const float *list, struct tn_diag *diag) {
    uint64_t n = (uint64_t)svm->width, k = (uint64_t)svm->features;
    svm->vectors =
        svm->host->alloc(svm->host->self, n * k * sizeof(double) + 1, 64, "ml weights");
    if (!svm->vectors)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %llu support vectors",
            (unsigned long long)n);
    for (uint64_t r = 0; r < k; r++) {
        for (uint64_t c = 0; c < n; c++)
            svm->vectors[r * n + c] = c < (uint64_t)svm->n ? (double)list[c * k + r] : 0;
    }
    return TN_OK;
}

tn_status tn__svm_make(struct tn__svm *svm, const struct tn__ml *ml,
    struct tn_string kernel_type, struct tn_attr_floats params,
    struct tn_attr_floats vectors, int64_t n, struct tn_diag *diag) {
    *svm = (struct tn__svm){.host = ml->host,
        .n = n,
        .features = vectors.n / n,
        .width = tn__svm_width(kernel_type, n),
        .rows = &ml->rows};
    TN_TRY(tn__svm_check(kernel_type, params, vectors, n, diag));
    TN_TRY(find_kernel(kernel_type, &svm->kernel, diag));
    if (params.n) {
        svm->gamma = (double)params.v[0];
        svm->coef0 = (double)params.v[1];
        svm->degree = trunc((double)params.v[2]);
    }
    if (svm->kernel == TN__SVM_RBF) return make_columns(svm, vectors.v, diag);
    return tn__weights_pack(&svm->weights, ml, vectors.v, (uint64_t)svm->features,
        (uint64_t)n, TN_DOUBLE, diag);
}

void tn__svm_free(struct tn__svm *svm) {
    tn__weights_free(&svm->weights);
    if (svm->host) svm->host->free(svm->host->self, svm->vectors);
    svm->vectors = NULL;
}

struct work {
    const struct tn__svm *svm;
    const double *x;
    double *k;
};

/* x^n by squaring; the degree of a polynomial is small. */
static double power(double x, int64_t n) {
    double result = 1;
    for (; n > 0; n >>= 1, x *= x)
        result *= n & 1 ? x : 1;
    return result;
}

static double finish(const struct tn__svm *svm, double dot) {
    double at = svm->gamma * dot + svm->coef0;
    if (svm->kernel == TN__SVM_SIGMOID) return tanh(at);
    bool small = svm->degree >= 0 && svm->degree <= 64;
    return small ? power(at, (int64_t)svm->degree) : pow(at, svm->degree);
}

static void kernel_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct work *work = arg;
    (void)worker;
    const struct tn__svm *svm = work->svm;
    for (int64_t i = begin; i < end; i++) {
        double *k = work->k + i * svm->width;
        if (svm->kernel == TN__SVM_RBF) {
            size_t n = (size_t)svm->width;
            svm->rows->distances(
                work->x + i * svm->features, svm->vectors, n, (size_t)svm->features, k);
            svm->rows->exp(k, n, -svm->gamma);
        } else {
            for (int64_t j = 0; j < svm->n; j++)
                k[j] = finish(svm, k[j]);
        }
    }
}

void tn__svm_kernels(const struct tn__svm *svm, uint64_t m, const double *x, double *k) {
    if (svm->kernel != TN__SVM_RBF) tn__weights_multiply(&svm->weights, m, x, NULL, k);
    if (svm->kernel == TN__SVM_LINEAR) return;
    struct work work = {svm, x, k};
    bool rbf = svm->kernel == TN__SVM_RBF;
    double cost = (double)svm->n * (4.0 + (rbf ? 0.2 * (double)svm->features : 6.0));
    tn_parallel(svm->host, (int64_t)m, cost, kernel_rows, &work);
}
