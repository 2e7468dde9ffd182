/* From raw sums to labels and scores: the rules of post_transform and of binary classifiers,
 * in one table. */
#ifndef TENON_ML_SCORES_H
#define TENON_ML_SCORES_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

/* TreeEnsemble's numbers. */
enum tn_transform {
    TN_TRANSFORM_NONE = 0,
    TN_TRANSFORM_SOFTMAX = 1,
    TN_TRANSFORM_LOGISTIC = 2,
    TN_TRANSFORM_SOFTMAX_ZERO = 3,
    TN_TRANSFORM_PROBIT = 4,
    TN_TRANSFORM_COUNT = 5
};

/* A transform's number by its name ("SOFTMAX"), -1: none has it. */
int32_t tn__transform_find(const char *name, uint64_t size);

/* sqrt(2) * the inverse of erf at 2x - 1, by the approximation that ONNX's reference and ONNX
 * Runtime both use. At the ends the reference gives 0. */
double tn__probit(double x, enum tn_compat compat);

/* In place over a row of n scores. */
void tn__transform_row(
    enum tn_transform transform, enum tn_compat compat, double *row, uint32_t n);

/* Two classes of which the votes know one: row holds its raw score in row[0] on entry, the
 * scores of both classes afterwards. positive: no vote is negative. Returns the label's
 * index. */
uint32_t tn__scores_pair(
    enum tn_transform transform, enum tn_compat compat, bool positive, double row[2]);

#endif
