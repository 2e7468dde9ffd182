/* The table of rules: see scores.h. The transforms are computed in double and rounded once by
 * the caller. */
#include "trees/scores.h"

#include <math.h>
#include <string.h>

static const char *const names[TN_TRANSFORM_COUNT] = {
    "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};

int32_t tn__transform_find(const char *name, uint64_t size) {
    for (int32_t i = 0; i < TN_TRANSFORM_COUNT; i++)
        if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0) return i;
    return -1;
}

/* ---- transforms ----------------------------------------------------------------------- */

static double logistic(double x) {
    double e = exp(-fabs(x));
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

double tn__probit(double x, enum tn_compat compat) {
    double y = 2 * x - 1, sign = y < 0 ? -1 : 1, product = (1 - y) * (1 + y);
    if (product == 0) return compat == TN_COMPAT_ORT ? sign * INFINITY : 0;
    double l = log(product);
    double v = 2 / (3.14159265358979323846 * 0.147) + 0.5 * l;
    return 1.41421356 * sign * sqrt(sqrt(v * v - l / 0.147) - v);
}

static double largest(const double *row, uint32_t n) {
    double max = row[0];
    for (uint32_t i = 1; i < n; i++)
        if (row[i] > max) max = row[i];
    return max;
}

/* Entries next to zero count as x * exp(-max) when `zero`: they stay zeros. */
static void softmax(double *row, uint32_t n, bool zero, enum tn_compat compat) {
    double max = largest(row, n), sum = 0, scale = exp(-max);
    for (uint32_t i = 0; i < n; i++) {
        bool small = zero && fabs(row[i]) <= 1e-7;
        row[i] = small ? row[i] * scale : exp(row[i] - max);
        if (!small || compat == TN_COMPAT_ONNX) sum += row[i];
    }
    for (uint32_t i = 0; i < n; i++)
        row[i] = zero && sum == 0 ? 0.5 : row[i] / sum;
}

void tn__transform_row(
    enum tn_transform transform, enum tn_compat compat, double *row, uint32_t n) {
    if (n == 0) return;
    if (transform == TN_TRANSFORM_SOFTMAX || transform == TN_TRANSFORM_SOFTMAX_ZERO)
        softmax(row, n, transform == TN_TRANSFORM_SOFTMAX_ZERO, compat);
    for (uint32_t i = 0; i < n && transform == TN_TRANSFORM_LOGISTIC; i++)
        row[i] = logistic(row[i]);
    for (uint32_t i = 0; i < n && transform == TN_TRANSFORM_PROBIT; i++)
        row[i] = tn__probit(row[i], compat);
}

/* ---- binary classifiers with one voted class ------------------------------------------ */

enum complement {
    ONE_MINUS, /* the other class has 1 - s */
    NEGATED,   /* … -s */
    ZERO       /* the voted class stands first, 0 behind it */
};

/* s: the score of the voted class. */
struct pair_rule {
    double threshold; /* label 1 when s > threshold */
    uint8_t complement;
    uint8_t transform; /* what is applied to both */
};

/* clang-format off */
/* [compat][transform][no vote is negative]. Who relies on a row: votes that are shares of
 * class 1 without a transform, scikit-learn's trees and forests; margins, with or without
 * LOGISTIC, every gradient booster. */
static const struct pair_rule pair_rules[2][TN_TRANSFORM_COUNT][2] = {
    [TN_COMPAT_ONNX] = {
        [TN_TRANSFORM_NONE] = {
            {0.0, NEGATED, TN_TRANSFORM_NONE}, {0.5, ONE_MINUS, TN_TRANSFORM_NONE}},
        [TN_TRANSFORM_SOFTMAX] = {
            {0.0, NEGATED, TN_TRANSFORM_SOFTMAX}, {0.0, NEGATED, TN_TRANSFORM_SOFTMAX}},
        [TN_TRANSFORM_LOGISTIC] = {
            {0.0, NEGATED, TN_TRANSFORM_LOGISTIC}, {0.0, NEGATED, TN_TRANSFORM_LOGISTIC}},
        [TN_TRANSFORM_SOFTMAX_ZERO] = {
            {0.0, NEGATED, TN_TRANSFORM_SOFTMAX_ZERO},
            {0.0, NEGATED, TN_TRANSFORM_SOFTMAX_ZERO}},
        [TN_TRANSFORM_PROBIT] = {
            {0.5, ONE_MINUS, TN_TRANSFORM_PROBIT}, {0.5, ONE_MINUS, TN_TRANSFORM_PROBIT}},
    },
    [TN_COMPAT_ORT] = {
        [TN_TRANSFORM_NONE] = {
            {0.0, NEGATED, TN_TRANSFORM_NONE}, {0.5, ONE_MINUS, TN_TRANSFORM_NONE}},
        [TN_TRANSFORM_SOFTMAX] = {
            {0.0, NEGATED, TN_TRANSFORM_NONE}, {0.5, ONE_MINUS, TN_TRANSFORM_NONE}},
        [TN_TRANSFORM_LOGISTIC] = {
            {0.0, NEGATED, TN_TRANSFORM_LOGISTIC}, {0.5, NEGATED, TN_TRANSFORM_LOGISTIC}},
        [TN_TRANSFORM_SOFTMAX_ZERO] = {
            {0.0, NEGATED, TN_TRANSFORM_NONE}, {0.5, ONE_MINUS, TN_TRANSFORM_NONE}},
        [TN_TRANSFORM_PROBIT] = {
            {0.0, ZERO, TN_TRANSFORM_PROBIT}, {0.5, ZERO, TN_TRANSFORM_PROBIT}},
    },
};
/* clang-format on */

uint32_t tn__scores_pair(
    enum tn_transform transform, enum tn_compat compat, bool positive, double row[2]) {
    const struct pair_rule *rule = &pair_rules[compat][transform][positive];
    double s = row[0];
    if (rule->complement == ZERO) {
        tn__transform_row(rule->transform, compat, row, 1);
        row[1] = 0;
    } else {
        row[1] = s;
        row[0] = rule->complement == NEGATED ? -s : 1 - s;
        tn__transform_row(rule->transform, compat, row, 2);
    }
    return s > rule->threshold;
}
