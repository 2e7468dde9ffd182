/* What the operators of tree ensembles share: attributes, kernel object, rows. */
#ifndef TENON_ML_TREE_OP_H
#define TENON_ML_TREE_OP_H

#include "ml.h"
#include "trees/scores.h"
#include "trees/tree_lists.h"
#include "trees/tree_scorer.h"

/* clang-format off */
/* Attributes that TreeEnsembleClassifier and TreeEnsembleRegressor share. Hit rates are
 * statistics of training, without meaning here. */
#define TN_TREE_ATTRS(X, S)                                                              \
    X(S, FLOATS, base_values, )                                                          \
    X(S, TENSOR, base_values_as_tensor, )                                                \
    X(S, INTS, nodes_falsenodeids, )                                                     \
    X(S, INTS, nodes_featureids, )                                                       \
    X(S, FLOATS, nodes_hitrates, )                                                       \
    X(S, TENSOR, nodes_hitrates_as_tensor, )                                             \
    X(S, INTS, nodes_missing_value_tracks_true, )                                        \
    X(S, STRINGS, nodes_modes, )                                                         \
    X(S, INTS, nodes_nodeids, )                                                          \
    X(S, INTS, nodes_treeids, )                                                          \
    X(S, INTS, nodes_truenodeids, )                                                      \
    X(S, FLOATS, nodes_values, )                                                         \
    X(S, TENSOR, nodes_values_as_tensor, )                                               \
    X(S, STRING, post_transform, "NONE")

/* The nodes' lists out of a struct with the members above. */
#define TN_TREE_LISTS(attrs, prefix_text)                                                \
    {.treeids = (attrs).nodes_treeids, .nodeids = (attrs).nodes_nodeids,                 \
        .featureids = (attrs).nodes_featureids, .modes = (attrs).nodes_modes,            \
        .truenodeids = (attrs).nodes_truenodeids,                                        \
        .falsenodeids = (attrs).nodes_falsenodeids,                                      \
        .tracks_true = (attrs).nodes_missing_value_tracks_true, .prefix = prefix_text}
/* clang-format on */

/* Head of a kernel row. */
/* clang-format off */
#define TN_TREE_KERNEL(name_text, destroy_fn) \
    .struct_size = TN_KERNEL_DEF_SIZE, .provider = "cpu", .domain = TN_ML_DOMAIN, \
    .op_type = name_text, .name = "trees", .since = 5, .destroy = destroy_fn, \
    .workspace = tn__tree_workspace, .explain = tn__tree_explain
/* clang-format on */

/* Head of the kernel objects. */
struct tn_tree_op {
    struct tn_kernel_head head;
    struct tn_tree_scorer *scorer;
    enum tn_compat compat;
    enum tn_transform transform;
    void *init; /* what the sums start from, in their type; NULL: zeros */
};

/* An object of `size` bytes that begins with struct tn_tree_op. */
tn_status tn__tree_op_create(const struct tn_kernel_ctx *ctx, size_t size, void **out);
void tn__tree_op_destroy(void *kernel); /* NULL is fine */
/* Passes the status on; destroys the object when it is a failure. */
tn_status tn__tree_op_ready(tn_status status, void **out);

/* Compiles the source (which is freed) for the type of the node's input 0. */
tn_status tn__tree_op_compile(const struct tn_kernel_ctx *ctx, struct tn_tree_op *op,
    struct tn_tree_source *source, uint32_t aggregate);
tn_status tn__tree_op_transform(
    struct tn_tree_op *op, struct tn_string name, struct tn_diag *diag);
/* Sets init from base values: none, one for all targets, or one each. */
tn_status tn__tree_op_start(
    struct tn_tree_op *op, const struct tn_reals *base, struct tn_diag *diag);

/* Rows and their number in inference; a vector is one row. */
tn_status tn__tree_infer_rows(const struct tn_infer *infer, int64_t *out_n);
/* The input of a call as rows the forest can take. */
tn_status tn__tree_rows(const struct tn_tree_op *op, const struct tn_run_args *args,
    struct tn_forest_rows *out);
tn_status tn__tree_workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out);
void tn__tree_explain(
    void *kernel, const struct tn_run_args *args, char *out, uint64_t size);

/* The number of targets: n_targets where it is given, else 1 + the largest of the ids. */
tn_status tn__tree_count_targets(int64_t n_targets, const char *ids_name,
    struct tn_attr_ints ids, uint32_t *out, struct tn_diag *diag);

#endif
