/* Class probabilities from the probabilities of pairs of classes. */
#ifndef TENON_ML_SVM_COUPLE_H
#define TENON_ML_SVM_COUPLE_H

#include <stdint.h>

/* Doubles of scratch that tn__svm_couple wants for k classes. */
static inline uint64_t tn__svm_couple_size(uint64_t k) {
    return 2 * k * k + k;
}

/* p [k] from pair [k (k - 1) / 2]: the probability of i against j for i < j, row by row. */
void tn__svm_couple(int64_t k, const double *pair, double *p, double *scratch);

#endif
