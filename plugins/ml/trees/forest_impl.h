/* A forest while it is made: what tree_compile.c (nodes), forest_columns.c (columns and sets)
 * and forest_leaves.c (leaves) share. */
#ifndef TENON_ML_FOREST_IMPL_H
#define TENON_ML_FOREST_IMPL_H

#include "trees/tree_compile.h"
#include "trees/tree_question.h"

#include "tenon/helper/diag.h"

/* The forest and what it owns. */
struct tn_forest_owner {
    struct tn_forest forest; /* first: a forest's address is its owner's */
    struct tn_blocks blocks;
};

/* A set before equal ones are joined: members [begin, begin + n) of the maker's list. */
struct tn_raw_set {
    uint32_t begin, n;
};

struct tn_forest_maker {
    const struct tn_tree_source *source;
    struct tn_question_rules rules;
    struct tn_forest *forest;
    struct tn_blocks *blocks; /* the forest's */
    struct tn_blocks temp;
    struct tn_diag *diag;
    /* being filled; the forest's own pointers to them are const */
    struct tn_column *columns;
    struct tn_tree *trees;
    uint32_t *columns_of;
    uint32_t (*children)[2];
    void *thresholds;
    uint32_t *leaf_of; /* [forest->n_leaves] the source's leaf */
    /* columns and sets */
    bool has_sets;
    uint32_t
        *first_column;     /* [features]: 1 + the newest column of the feature, 0: none */
    uint32_t *next_column; /* [n_columns]: 1 + the one before it */
    struct tn_raw_set *raw_sets;
    double *members;
    uint32_t n_members;
};

/* Room for columns and sets: counts the source's nodes. */
tn_status tn__columns_begin(struct tn_forest_maker *maker);
/* Index of the VALUE or IS_NAN column of a feature, made when it is new. */
uint32_t tn__columns_find(
    struct tn_forest_maker *maker, const struct tn_column *like, uint32_t feature);
/* A new SET column of the members listed behind `begin`. */
uint32_t tn__columns_add_set(
    struct tn_forest_maker *maker, uint32_t feature, bool nan_left, uint32_t begin);
/* Sorts the columns, joins equal sets, finds twins; renumbers the nodes' columns. */
tn_status tn__columns_end(struct tn_forest_maker *maker);

/* Chooses the form of the leaves and copies their numbers. */
tn_status tn__leaves_make(struct tn_forest_maker *maker);

#endif
