/* The lists of attributes that TreeEnsembleClassifier and TreeEnsembleRegressor share, and
 * those of TreeEnsemble: checked and turned into a tree source. */
#ifndef TENON_ML_TREE_LISTS_H
#define TENON_ML_TREE_LISTS_H

#include "trees/tree_source.h"

#include "tenon/helper/attrs.h"

/* nodes_* and class_* or target_*. */
struct tn_tree_lists {
    struct tn_attr_ints treeids, nodeids, featureids, truenodeids, falsenodeids;
    struct tn_attr_ints tracks_true; /* may be absent */
    struct tn_attr_strings modes;
    struct tn_reals values;
    const char *prefix; /* of the votes' names: "class" or "target" */
    struct tn_attr_ints vote_treeids, vote_nodeids, vote_ids;
    struct tn_reals weights;
    uint32_t n_targets; /* votes are for 0 … n_targets - 1 */
};

/* Fills *out (uninitialised before), which borrows from the lists. On failure nothing is
 * left to free. Time n log n at worst. [setup] */
tn_status tn__tree_lists_read(const struct tn_host *host,
    const struct tn_tree_lists *lists, struct tn_tree_source *out, struct tn_diag *diag);

/* TreeEnsemble's: interior nodes and leaves in lists of their own. */
struct tn_tree_split_lists {
    struct tn_attr_ints featureids, truenodeids, falsenodeids, trueleafs, falseleafs;
    struct tn_attr_ints tracks_true;                  /* may be absent */
    const struct tn_tensor *modes, *splits, *members; /* members may be NULL */
    struct tn_attr_ints roots, leaf_targetids;
    const struct tn_tensor *leaf_weights;
    uint32_t n_targets;
};
tn_status tn__tree_split_lists_read(const struct tn_host *host,
    const struct tn_tree_split_lists *lists, struct tn_tree_source *out,
    struct tn_diag *diag);

/* The numbers of an attribute that may be given as floats or as a tensor (name +
 * "_as_tensor") of floats or doubles; none is an empty list of floats. */
tn_status tn__tree_reals(const char *name, struct tn_attr_floats floats,
    struct tn_attr_tensor tensor, struct tn_reals *out, struct tn_diag *diag);

#endif
