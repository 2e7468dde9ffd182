/* The rules by which comparisons keep their exact meaning: see tree_question.h. */
#include "trees/tree_question.h"

#include <math.h>

struct tn_question_rules tn__question_rules(int32_t input, int32_t thresholds) {
    bool whole = input == TN_INT32 || input == TN_INT64;
    bool narrow = input == TN_FLOAT || input == TN_FLOAT16;
    /* doubles against floats are rounded onto the floats without a change of any answer;
     * floats against doubles let the thresholds be rounded */
    bool wide = thresholds == TN_DOUBLE && !narrow;
    bool rounded = wide ? input == TN_INT64 : !narrow;
    return (struct tn_question_rules){wide, rounded, whole};
}

/* The largest column value <= t, or < t when `below`. t is no NaN, and not -inf when below. */
static double at_most(bool wide, double t, bool below) {
    if (wide) return below ? nextafter(t, -INFINITY) : t;
    float f = (float)t;
    if ((double)f > t || (below && (double)f == t)) f = nextafterf(f, -INFINITY);
    return (double)f;
}

struct tn_question tn__question(const struct tn_question_rules *rules, uint32_t mode,
    double threshold, bool nan_true) {
    struct tn_question q = {.column = {.kind = TN_COLUMN_VALUE}};
    bool below = mode == TN_MODE_LT || mode == TN_MODE_GTE;  /* x < t, else x <= t */
    bool upward = mode == TN_MODE_GTE || mode == TN_MODE_GT; /* yes is the negation */
    uint8_t nan_child = nan_true ? 0 : 1;
    bool never = threshold != threshold || (below && threshold == -INFINITY);
    q.left = upward ? 1 : 0;
    q.right = upward ? 0 : 1;
    if (!never) q.threshold = at_most(rules->wide, threshold, below);
    if (!never && q.threshold < INFINITY) {
        q.column.rounding = !rules->rounded ? TN_ROUND_NONE
                            : below         ? TN_ROUND_DOWN
                                            : TN_ROUND_UP;
        q.column.nan_left = !rules->whole && q.left == nan_child;
        return q;
    }
    /* the same answer for every number: only a NaN can differ. Comparisons with a NaN
     * threshold do not hold, whatever their direction. */
    uint8_t always = threshold != threshold ? 1 : never ? q.right : q.left;
    q.column.kind = TN_COLUMN_IS_NAN;
    q.threshold = 0.5;
    q.left = rules->whole ? always : nan_child;
    q.right = always;
    return q;
}
