/* The second method of Wu, Lin and Weng, "Probability Estimates for Multi-class
 * Classification by Pairwise Coupling" (2004): minimises over p the sum over pairs of
 * (r_ji p_i - r_ij p_j)^2 by fixed-point steps. */
#include "ops/svm_couple.h"

#include <math.h>

enum { STEPS = 100 };

/* q[t][t] = sum over j of r_jt^2, q[t][j] = -r_jt r_tj. r[i][j] = 1 - r[j][i]. */
static void fill(int64_t k, const double *pair, double *r, double *q) {
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = i + 1; j < k; j++) {
            r[i * k + j] = *pair;
            r[j * k + i] = 1 - *pair++;
        }
    }
    for (int64_t t = 0; t < k; t++) {
        q[t * k + t] = 0;
        for (int64_t j = 0; j < k; j++) {
            if (j == t) continue;
            q[t * k + t] += r[j * k + t] * r[j * k + t];
            q[t * k + j] = -r[j * k + t] * r[t * k + j];
        }
    }
}

/* qp = q p; returns p q p. */
static double multiply(int64_t k, const double *q, const double *p, double *qp) {
    double pqp = 0;
    for (int64_t t = 0; t < k; t++) {
        qp[t] = 0;
        for (int64_t j = 0; j < k; j++)
            qp[t] += q[t * k + j] * p[j];
        pqp += p[t] * qp[t];
    }
    return pqp;
}

static double worst(int64_t k, const double *qp, double pqp) {
    double most = 0;
    for (int64_t t = 0; t < k; t++)
        most = fabs(qp[t] - pqp) > most ? fabs(qp[t] - pqp) : most;
    return most;
}

void tn__svm_couple(int64_t k, const double *pair, double *p, double *scratch) {
    double *r = scratch, *q = r + k * k, *qp = q + k * k;
    int64_t steps = k > STEPS ? k : STEPS;
    fill(k, pair, r, q);
    for (int64_t t = 0; t < k; t++)
        p[t] = 1.0 / (double)k;
    for (int64_t step = 0; step < steps; step++) {
        double pqp = multiply(k, q, p, qp);
        if (worst(k, qp, pqp) < 0.005 / (double)k) break;
        for (int64_t t = 0; t < k; t++) {
            double d = (pqp - qp[t]) / q[t * k + t], scale = 1 + d;
            p[t] += d;
            pqp = (pqp + d * (d * q[t * k + t] + 2 * qp[t])) / (scale * scale);
            for (int64_t j = 0; j < k; j++) {
                qp[j] = (qp[j] + d * q[t * k + j]) / scale;
                p[j] /= scale;
            }
        }
    }
}
