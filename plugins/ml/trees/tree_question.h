/* ONNX's comparisons as the one that forests know: value <= threshold. */
#ifndef TENON_ML_TREE_QUESTION_H
#define TENON_ML_TREE_QUESTION_H

#include "trees/tree_source.h"

/* How an input's type meets that of the thresholds. */
struct tn_question_rules {
    bool wide;    /* columns are double */
    bool rounded; /* … and narrower than the input: VALUE columns need a rounding */
    bool whole;   /* the input holds integers: no NaN */
};

/* The rules for an input of one type and thresholds of another. */
struct tn_question_rules tn__question_rules(int32_t input, int32_t thresholds);

/* What a comparing node asks: its column without the feature's number, its threshold, and
 * which of the node's children (0: yes, 1: no) stands at the forest's sides. When both sides
 * are the same child the answer never depends on the row, and column and threshold say
 * nothing. */
struct tn_question {
    struct tn_column column; /* kind, rounding, nan_left */
    double threshold;
    uint8_t left, right;
};

/* mode: TN_MODE_LEQ … TN_MODE_GT. nan_true: a missing value counts as yes. */
struct tn_question tn__question(const struct tn_question_rules *rules, uint32_t mode,
    double threshold, bool nan_true);

#endif
