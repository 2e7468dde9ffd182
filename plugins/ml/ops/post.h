/* post_transform: what becomes of a row of scores before it is written. */
#ifndef TENON_ML_POST_H
#define TENON_ML_POST_H

#include "ml.h"

enum tn__post {
    TN__POST_NONE,
    TN__POST_SOFTMAX,
    TN__POST_LOGISTIC,
    TN__POST_SOFTMAX_ZERO,
    TN__POST_PROBIT
};

tn_status tn__post_read(struct tn_string text, enum tn__post *out, struct tn_diag *diag);
/* In place, in the type of the scores. */
void tn__post_f32(enum tn__post post, float *row, int64_t n);
void tn__post_f64(enum tn__post post, double *row, int64_t n);

/* Index of the largest score: the first of equals; NaN is greatest. */
int64_t tn__best_f32(const float *row, int64_t n);
int64_t tn__best_f64(const double *row, int64_t n);

#endif
