/* Transforms of a row of scores of one type: REAL, EXP, LOG, SQRT, ABS, NAME. */

static REAL NAME(logistic)(REAL x) {
    REAL e = EXP(-ABS(x));
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

/* Inverse of the error function by Winitzki's approximation (a = 0.147), as the trained
 * models' other runtimes have it; 0 at both ends. */
static REAL NAME(probit)(REAL p) {
    REAL x = 2 * p - 1, sign = x < 0 ? (REAL)-1 : (REAL)1;
    REAL rest = (1 - x) * (1 + x);
    if (rest == 0) return 0;
    REAL log_rest = LOG(rest);
    REAL v = (REAL)(2.0 / (3.14159265358979323846 * 0.147)) + (REAL)0.5 * log_rest;
    REAL under = v * v - (REAL)(1.0 / 0.147) * log_rest;
    return (REAL)1.41421356 * (sign * SQRT(SQRT(under) - v));
}

/* With `zero`, scores that are 0 keep nothing of the exponential: they stay 0. */
static void NAME(softmax)(REAL *row, int64_t n, bool zero) {
    REAL most = n ? row[NAME(tn__best)(row, n)] : 0, scale = EXP(-most), sum = 0;
    for (int64_t i = 0; i < n; i++) {
        bool is_zero = zero && ABS(row[i]) <= (REAL)1e-7;
        row[i] = is_zero ? row[i] * scale : EXP(row[i] - most);
        sum += row[i];
    }
    for (int64_t i = 0; i < n; i++)
        row[i] = zero && sum == 0 ? (REAL)0.5 : row[i] / sum;
}

int64_t NAME(tn__best)(const REAL *row, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        if (row[best] != row[best]) break;
        if (row[i] > row[best] || row[i] != row[i]) best = i;
    }
    return best;
}

void NAME(tn__post)(enum tn__post post, REAL *row, int64_t n) {
    switch (post) {
    case TN__POST_NONE: break;
    case TN__POST_SOFTMAX: NAME(softmax)(row, n, false); break;
    case TN__POST_SOFTMAX_ZERO: NAME(softmax)(row, n, true); break;
    case TN__POST_LOGISTIC:
        for (int64_t i = 0; i < n; i++)
            row[i] = NAME(logistic)(row[i]);
        break;
    case TN__POST_PROBIT:
        for (int64_t i = 0; i < n; i++)
            row[i] = NAME(probit)(row[i]);
        break;
    }
}

#undef REAL
#undef EXP
#undef LOG
#undef SQRT
#undef ABS
#undef NAME
