/* What the two SVM operators share: support vectors and the kernel function, in double. */
#ifndef TENON_ML_SVM_H
#define TENON_ML_SVM_H

#include "ops/weights.h"

enum tn__svm_kernel { TN__SVM_LINEAR, TN__SVM_POLY, TN__SVM_RBF, TN__SVM_SIGMOID };

struct tn__svm {
    const struct tn_host *host;
    enum tn__svm_kernel kernel;
    double gamma, coef0, degree;
    int64_t n, features;        /* support vectors and their length */
    struct tn__weights weights; /* vectors as columns: products with all at once */
    double *vectors;            /* RBF: features rows of n, for distances */
    int64_t width;              /* of a row of kernel values: n, and what fills it up */
    const struct tn_rows_kernels *rows;
};

/* kernel_type, kernel_params and n support vectors of `list`. tn__svm_free in every case. */
tn_status tn__svm_make(struct tn__svm *svm, const struct tn__ml *ml,
    struct tn_string kernel_type, struct tn_attr_floats params,
    struct tn_attr_floats vectors, int64_t n, struct tn_diag *diag);
tn_status tn__svm_check(struct tn_string kernel_type, struct tn_attr_floats params,
    struct tn_attr_floats vectors, int64_t n, struct tn_diag *diag);
void tn__svm_free(struct tn__svm *svm);
/* Doubles of a row of kernel values, of these vectors under this kernel. */
int64_t tn__svm_width(struct tn_string kernel_type, int64_t n);
/* k [m, width]: kernel of each row of x [m, features] with each support vector. */
void tn__svm_kernels(const struct tn__svm *svm, uint64_t m, const double *x, double *k);

#endif
