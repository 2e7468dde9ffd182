/* See tree_regress.h. */
#include "trees/tree_regress.h"

#include "trees/half.h"

uint32_t tn__tree_forest_aggregate(enum tn_tree_aggregate aggregate) {
    static const uint8_t of[TN_TREE_AGGREGATES] = {[TN_TREE_AVERAGE] = TN_AGGREGATE_SUM,
        [TN_TREE_SUM] = TN_AGGREGATE_SUM,
        [TN_TREE_MIN] = TN_AGGREGATE_MIN,
        [TN_TREE_MAX] = TN_AGGREGATE_MAX};
    return of[aggregate];
}

tn_status tn__tree_regress_base(
    struct tn_tree_regress *regress, const struct tn_reals *base, struct tn_diag *diag) {
    uint32_t n = regress->op.scorer->forest->n_outputs;
    if (base->n > 1 && base->n != n)
        return tn_fail(diag, TN_INVALID_MODEL,
            "base_values has %llu elements, expected none, one or as many as the %u "
            "targets",
            (unsigned long long)base->n, n);
    TN_TRY(tn__tree_op_start(&regress->op, base, diag));
    if (regress->aggregate != TN_TREE_SUM || regress->op.compat == TN_COMPAT_ORT) {
        regress->after = regress->op.init;
        regress->op.init = NULL;
    }
    return TN_OK;
}

void tn__tree_regress_destroy(void *kernel) {
    struct tn_tree_regress *regress = kernel;
    if (!regress) return;
    regress->op.head.host->free(regress->op.head.host->self, regress->after);
    tn__tree_op_destroy(kernel);
}

struct job {
    const struct tn_tree_regress *regress;
    struct tn_tensor *out;
};

/* One number after the aggregate, in the type of the sums. */
static double settle(const struct job *job, const void *sums, size_t at, uint32_t k) {
    const struct tn_tree_regress *regress = job->regress;
    const struct tn_forest *forest = regress->op.scorer->forest;
    bool average = regress->aggregate == TN_TREE_AVERAGE;
    if (forest->flags & TN_FOREST_WIDE_SUM) {
        double value = ((const double *)sums)[at];
        if (average) value /= (double)forest->n_trees;
        return regress->after ? value + ((const double *)regress->after)[k] : value;
    }
    float value = ((const float *)sums)[at];
    if (average) value /= (float)forest->n_trees;
    return (double)(regress->after ? value + ((const float *)regress->after)[k] : value);
}

static void store(const struct tn_tensor *out, int64_t at, double value) {
    if (out->dtype == TN_DOUBLE)
        ((double *)out->data)[at] = value;
    else if (out->dtype == TN_FLOAT16)
        ((uint16_t *)out->data)[at] = tn__half_from_float((float)value);
    else
        ((float *)out->data)[at] = (float)value;
}

static void finish(void *arg, int64_t first, int64_t n, void *sums, double *row) {
    const struct job *job = arg;
    const struct tn_tree_regress *regress = job->regress;
    uint32_t width = regress->op.scorer->forest->n_outputs;
    for (int64_t r = 0; r < n; r++) {
        for (uint32_t k = 0; k < width; k++)
            row[k] = settle(job, sums, (size_t)r * width + k, k);
        tn__transform_row(regress->op.transform, regress->op.compat, row, width);
        for (uint32_t k = 0; k < width; k++)
            store(job->out, (first + r) * width + k, row[k]);
    }
}

tn_status tn__tree_regress_compute(const struct tn_tree_regress *regress,
    const struct tn_run_args *args, int32_t dtype) {
    struct tn_forest_rows rows;
    struct job job = {.regress = regress};
    TN_TRY(tn__tree_rows(&regress->op, args, &rows));
    int64_t dims[2] = {rows.n_rows, regress->op.scorer->forest->n_outputs};
    TN_TRY(tn_out_shaped(args, 0, dtype, dims, 2, &job.out));
    tn__tree_scorer_run(
        regress->op.scorer, &rows, regress->op.init, args->workspace, finish, &job);
    return TN_OK;
}
