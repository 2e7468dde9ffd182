/* The canonical forest: what every version and kind of tree ensemble is compiled into, and
 * all that a scoring method ever sees.
 *
 * A node asks one question: `value of its column <= its threshold`? Yes goes to child 0,
 * no to child 1. Everything else of ONNX's six comparisons, missing values, categories and
 * input types lives in the columns: a column is a number computed once per row from one
 * feature (struct tn_column), so that a method never meets a NaN, a set, an integer or a
 * narrowing. Column values are float, or double when TN_FOREST_WIDE is set; they may be
 * infinite, never NaN.
 *
 * Ownership: tn__forest_destroy frees all of it. A method's model may keep pointers to
 * trees, columns, sets and leaves; the node arrays (columns_of, thresholds, children) are
 * freed when all models are built (tn__forest_drop_nodes).
 *
 * Immutable once compiled. Includes nothing but libc. */
#ifndef TENON_ML_FOREST_H
#define TENON_ML_FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- columns -------------------------------------------------------------------------- */

enum tn_column_kind {
    TN_COLUMN_VALUE = 0,  /* the feature itself, as below */
    TN_COLUMN_IS_NAN = 1, /* 0 when it is NaN, else 1; the threshold is 0.5 */
    TN_COLUMN_SET = 2     /* 0 when it is in the set, else 1; the threshold is 0.5 */
};

/* How a VALUE column of an input wider than the column is rounded, so that the comparison
 * stays exact: x <= t is round_up(x) <= t, and x < t is round_down(x) <= the number below
 * t. */
enum tn_column_rounding {
    TN_ROUND_NONE = 0, /* every value of the input's type is one of the column's */
    TN_ROUND_UP = 1,
    TN_ROUND_DOWN = 2
};

struct tn_column {
    uint32_t feature; /* of the input */
    uint8_t kind;     /* TN_COLUMN_* */
    uint8_t rounding; /* TN_ROUND_* of a VALUE */
    uint8_t nan_left; /* what NaN gives: VALUE: -inf when 1, +inf when 0 (no threshold of
                          such a column is +inf); SET: 0 when 1, 1 when 0 */
    uint8_t reserved;
    uint32_t set;  /* index into sets of a SET column */
    uint32_t twin; /* first column that differs from this one in nan_left alone, or the
                      column itself: where no row of a block has a NaN, the two are equal */
};

/* A set of values. Small ranges of whole numbers are bits, the rest a sorted list. */
struct tn_set {
    int64_t low;          /* number of bit 0 */
    uint64_t n_bits;      /* 0: none */
    const uint64_t *bits; /* [(n_bits + 63) / 64] */
    const double *values; /* [n_values], ascending */
    uint64_t n_values;    /* 0 when there are bits */
};

/* ---- trees and leaves ----------------------------------------------------------------- */

/* A child or root: a node's index, or with this bit a leaf's. */
#define TN_LEAF_BIT UINT32_C(0x80000000)

struct tn_tree {
    uint32_t root;       /* node, or leaf with TN_LEAF_BIT */
    uint32_t depth;      /* questions on the longest path; 0: the root is a leaf */
    uint32_t first_node; /* its nodes are [first_node, first_node + n_nodes): every parent
                            before its children, the root first, in preorder when the tree
                            is no DAG. In forests with TN_FOREST_SHARED they are only those
                            that no tree before reaches. Leaves alike. */
    uint32_t n_nodes;
    uint32_t first_leaf;
    uint32_t n_leaves;
    uint32_t
        target; /* column of the sums that it adds to, when leaves are TN_LEAVES_ONE */
};

enum tn_leaf_form {
    TN_LEAVES_ONE = 0, /* a leaf is one number, added to its tree's target */
    TN_LEAVES_ROW = 1, /* a leaf is a row of n_outputs numbers, all added (0: no vote) */
    TN_LEAVES_LIST = 2 /* a leaf is a list of votes (target, number), in file order */
};

enum tn_forest_aggregate {
    TN_AGGREGATE_SUM = 0, /* AVERAGE too: its caller divides */
    TN_AGGREGATE_MIN = 1, /* always with TN_LEAVES_LIST: a target may go unmentioned */
    TN_AGGREGATE_MAX = 2
};

#define TN_FOREST_WIDE 1u     /* thresholds and column values are double, else float */
#define TN_FOREST_WIDE_SUM 2u /* leaf numbers and sums are double, else float */
#define TN_FOREST_DAG 4u      /* some node or leaf has more than one parent */
#define TN_FOREST_SHARED 8u   /* … and trees share nodes */
#define TN_FOREST_OBLIVIOUS                                                              \
    16u                     /* in each tree, all nodes of a level ask the same question,
                                   and all leaves lie at its depth (a depth of 0 too) */
#define TN_FOREST_SETS 32u  /* there are SET or IS_NAN columns */
#define TN_FOREST_TWINS 64u /* some column has a twin */

struct tn_forest {
    uint32_t flags;      /* TN_FOREST_* */
    uint32_t n_features; /* the input must have at least so many: 1 + the largest used */
    uint32_t n_outputs;  /* numbers a row of sums has */
    uint32_t depth;      /* of the deepest tree */
    uint32_t n_columns, n_sets, n_trees, n_nodes, n_leaves;
    uint32_t leaf_form; /* TN_LEAVES_* */
    uint32_t aggregate; /* TN_AGGREGATE_* */

    const struct tn_column *columns; /* [n_columns], only those that nodes ask about */
    const struct tn_set *sets;       /* [n_sets] */
    const struct tn_tree *trees; /* [n_trees], in the order in which they are summed */

    /* [n_nodes]; NULL once models are built */
    const uint32_t *columns_of;
    const void *thresholds;        /* float or double (TN_FOREST_WIDE); never NaN */
    const uint32_t (*children)[2]; /* nodes, or leaves with TN_LEAF_BIT */

    /* Leaf numbers, float or double (TN_FOREST_WIDE_SUM): ONE [n_leaves], ROW [n_leaves ×
     * n_outputs], LIST [votes_begin[n_leaves]]. */
    const void *leaf_values;
    const uint32_t *votes_begin;  /* LIST: [n_leaves + 1] */
    const uint32_t *vote_targets; /* LIST: [votes_begin[n_leaves]] */
};

/* ---- rows ----------------------------------------------------------------------------- */

/* The input of one call: rows of features, dense. */
struct tn_forest_rows {
    const void *data;
    int32_t dtype; /* TN_FLOAT, TN_DOUBLE, TN_INT64, TN_INT32 or TN_FLOAT16 */
    int64_t n_rows;
    int64_t n_features; /* at least the forest's: elements from a row to the next */
};

/* Values of all columns for rows [first, first + n): row r's column c is element
 * (r - first) * row_step + c * column_step of out, float or double (TN_FOREST_WIDE).
 * Returns whether a NaN was met. */
bool tn__forest_fill(const struct tn_forest *forest, const struct tn_forest_rows *rows,
    int64_t first, int64_t n, void *out, size_t row_step, size_t column_step);

#endif
