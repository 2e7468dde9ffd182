/* Sums as they are, one row of targets for each row: what TreeEnsembleRegressor and
 * TreeEnsemble make of scores. */
#ifndef TENON_ML_TREE_REGRESS_H
#define TENON_ML_TREE_REGRESS_H

#include "trees/tree_op.h"

/* TreeEnsemble's numbers of aggregate_function. */
enum tn_tree_aggregate {
    TN_TREE_AVERAGE = 0,
    TN_TREE_SUM = 1,
    TN_TREE_MIN = 2,
    TN_TREE_MAX = 3,
    TN_TREE_AGGREGATES = 4
};

struct tn_tree_regress {
    struct tn_tree_op op;
    enum tn_tree_aggregate aggregate;
    void
        *after; /* base values that follow the aggregate, in the sums' type; NULL: none */
};

/* TN_AGGREGATE_* of the forest. */
uint32_t tn__tree_forest_aggregate(enum tn_tree_aggregate aggregate);
/* Base values of a compiled kernel. They start a sum, as boosting libraries count; with
 * another aggregate, or ONNX Runtime's rules, they follow it. */
tn_status tn__tree_regress_base(
    struct tn_tree_regress *regress, const struct tn_reals *base, struct tn_diag *diag);
void tn__tree_regress_destroy(void *kernel);
/* Output 0, [rows, targets] of type dtype. */
tn_status tn__tree_regress_compute(
    const struct tn_tree_regress *regress, const struct tn_run_args *args, int32_t dtype);

#endif
