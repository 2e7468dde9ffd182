/* Reading of TreeEnsemble's lists: see tree_lists.h. Nodes and leaves are numbered as they
 * are listed; children say by a flag which of the two they are. */
#include "trees/half.h"
#include "trees/tree_lists.h"

#include "tenon/helper/shape.h"

double tn__reals_get(const struct tn_reals *reals, uint64_t i) {
    if (reals->dtype == TN_DOUBLE) return ((const double *)reals->data)[i];
    if (reals->dtype == TN_FLOAT16)
        return (double)tn__half_to_float(((const uint16_t *)reals->data)[i]);
    return (double)((const float *)reals->data)[i];
}

static bool is_real(int32_t dtype) {
    return dtype == TN_FLOAT || dtype == TN_DOUBLE || dtype == TN_FLOAT16;
}

/* A tensor of real numbers as a list. */
static tn_status read_tensor(const char *name, const struct tn_tensor *tensor,
    struct tn_reals *out, struct tn_diag *diag) {
    if (!is_real(tensor->dtype) || tensor->strides)
        return tn_fail(diag, TN_INVALID_MODEL,
            "%s holds elements of type %s, expected floats or doubles", name,
            tn_dtype_name(tensor->dtype));
    if (tensor->rank > 1)
        return tn_fail(diag, TN_INVALID_MODEL, "%s has rank %u, expected a list (rank 1)",
            name, tensor->rank);
    *out =
        (struct tn_reals){tensor->data, tensor->dtype, (uint64_t)tn_tensor_count(tensor)};
    return TN_OK;
}

tn_status tn__tree_reals(const char *name, struct tn_attr_floats floats,
    struct tn_attr_tensor tensor, struct tn_reals *out, struct tn_diag *diag) {
    *out = (struct tn_reals){floats.v, TN_FLOAT, floats.n};
    if (!tensor.present) return TN_OK;
    char full[64];
    snprintf(full, sizeof full, "%s_as_tensor", name);
    struct tn_reals list;
    TN_TRY(read_tensor(full, tensor.v, &list, diag));
    if (list.n && floats.n)
        return tn_fail(diag, TN_INVALID_MODEL,
            "both %s and %s are given, expected one of them", name, full);
    if (list.dtype == TN_FLOAT16)
        return tn_fail(diag, TN_INVALID_MODEL,
            "%s holds elements of type float16, expected floats or doubles", full);
    if (list.n) *out = list;
    return TN_OK;
}

static tn_status check_length(const char *name, uint64_t n, uint64_t expected,
    const char *like, struct tn_diag *diag) {
    if (n == expected) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "%s has %llu elements, expected %llu, as many as %s", name, (unsigned long long)n,
        (unsigned long long)expected, like);
}

static tn_status check_lengths(
    const struct tn_tree_split_lists *lists, struct tn_diag *diag) {
    uint32_t n = lists->featureids.n, n_leaves = lists->leaf_targetids.n;
    const char *nodes = "nodes_featureids", *leaves = "leaf_targetids";
    if (n == 0 || n_leaves == 0 || lists->roots.n == 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "%s is empty, expected at least one element",
            n == 0          ? nodes
            : n_leaves == 0 ? leaves
                            : "tree_roots");
    if (n >= TN_LEAF_BIT || n_leaves >= TN_LEAF_BIT)
        return tn_fail(diag, TN_LIMIT_EXCEEDED,
            "%s has %u elements, at most %u are supported",
            n >= TN_LEAF_BIT ? nodes : leaves, n >= TN_LEAF_BIT ? n : n_leaves,
            TN_LEAF_BIT - 1);
    TN_TRY(check_length("nodes_truenodeids", lists->truenodeids.n, n, nodes, diag));
    TN_TRY(check_length("nodes_falsenodeids", lists->falsenodeids.n, n, nodes, diag));
    TN_TRY(check_length("nodes_trueleafs", lists->trueleafs.n, n, nodes, diag));
    TN_TRY(check_length("nodes_falseleafs", lists->falseleafs.n, n, nodes, diag));
    if (lists->tracks_true.n)
        TN_TRY(check_length(
            "nodes_missing_value_tracks_true", lists->tracks_true.n, n, nodes, diag));
    if (lists->modes->dtype != TN_UINT8)
        return tn_fail(diag, TN_INVALID_MODEL,
            "nodes_modes holds elements of type %s, expected uint8",
            tn_dtype_name(lists->modes->dtype));
    return check_length(
        "nodes_modes", (uint64_t)tn_tensor_count(lists->modes), n, nodes, diag);
}

static tn_status read_child(const struct tn_tree_split_lists *lists, uint32_t i,
    uint32_t side, uint32_t *out, struct tn_diag *diag) {
    int64_t id = side ? lists->falsenodeids.v[i] : lists->truenodeids.v[i];
    int64_t leaf = side ? lists->falseleafs.v[i] : lists->trueleafs.v[i];
    const char *name = side ? "nodes_falsenodeids" : "nodes_truenodeids";
    uint32_t n = leaf ? lists->leaf_targetids.n : lists->featureids.n;
    if (leaf != 0 && leaf != 1)
        return tn_fail(diag, TN_INVALID_MODEL, "%s[%u] is %lld, expected 0 or 1",
            side ? "nodes_falseleafs" : "nodes_trueleafs", i, (long long)leaf);
    if (id < 0 || id >= n)
        return tn_fail(diag, TN_INVALID_MODEL, "%s[%u] is %lld, expected a %s of 0 to %u",
            name, i, (long long)id, leaf ? "leaf" : "node", n - 1);
    *out = leaf ? (uint32_t)id | TN_LEAF_BIT : (uint32_t)id;
    return TN_OK;
}

static tn_status read_nodes(const struct tn_tree_split_lists *lists,
    struct tn_tree_source *out, struct tn_diag *diag) {
    uint32_t n = out->n_nodes;
    const uint8_t *modes = lists->modes->data;
    out->children = tn__blocks_array(&out->blocks, n, sizeof *out->children, 0);
    if (!out->children)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %u tree nodes", n);
    for (uint32_t i = 0; i < n; i++) {
        int64_t feature = lists->featureids.v[i];
        if (modes[i] > TN_MODE_MEMBER)
            return tn_fail(diag, TN_INVALID_MODEL,
                "nodes_modes[%u] is %u, expected 0 to %d", i, modes[i], TN_MODE_MEMBER);
        if (feature < 0 || feature >= TN_TREE_FEATURES)
            return tn_fail(diag, TN_INVALID_MODEL,
                "nodes_featureids[%u] is %lld, expected 0 to %d", i, (long long)feature,
                TN_TREE_FEATURES - 1);
        TN_TRY(read_child(lists, i, 0, &out->children[i][0], diag));
        TN_TRY(read_child(lists, i, 1, &out->children[i][1], diag));
    }
    out->modes = modes;
    out->features = lists->featureids.v;
    out->nan_true = lists->tracks_true.n ? lists->tracks_true.v : NULL;
    return TN_OK;
}

/* Where each MEMBER node's values begin: they are listed in the order of the nodes, each
 * group but perhaps the last ended by a NaN. */
static tn_status read_members(const struct tn_tree_split_lists *lists,
    struct tn_tree_source *out, struct tn_diag *diag) {
    uint32_t n = out->n_nodes;
    uint64_t at = 0;
    bool any = memchr(out->modes, TN_MODE_MEMBER, n) != NULL;
    if (lists->members)
        TN_TRY(read_tensor("membership_values", lists->members, &out->members, diag));
    if (out->members.n >= UINT32_MAX)
        return tn_fail(
            diag, TN_LIMIT_EXCEEDED, "membership_values has too many elements");
    uint32_t *begin =
        any ? tn__blocks_array(&out->blocks, (uint64_t)n + 1, sizeof *begin, 0) : NULL;
    if (any && !begin)
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %u tree nodes", n);
    for (uint32_t i = 0; any && i < n; i++) {
        begin[i] = (uint32_t)at;
        if (out->modes[i] != TN_MODE_MEMBER) continue;
        if (at >= out->members.n)
            return tn_fail(diag, TN_INVALID_MODEL,
                "membership_values ends before the values of node %u, expected a group "
                "ended by NaN for each node of mode 6 (MEMBER)",
                i);
        while (at < out->members.n) {
            double value = tn__reals_get(&out->members, at++);
            if (value != value) break;
        }
    }
    if (begin) begin[n] = (uint32_t)at;
    out->member_begin = begin;
    if (at == out->members.n) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "membership_values has %llu elements behind the last node of mode 6 (MEMBER), "
        "expected none",
        (unsigned long long)(out->members.n - at));
}

static tn_status read_roots(const struct tn_tree_split_lists *lists,
    struct tn_tree_source *out, struct tn_diag *diag) {
    uint32_t n = lists->roots.n;
    uint32_t *roots = tn__blocks_array(&out->blocks, n, sizeof *roots, 0);
    if (!roots) return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %u trees", n);
    for (uint32_t r = 0; r < n; r++) {
        if (lists->roots.v[r] < 0 || lists->roots.v[r] >= out->n_nodes)
            return tn_fail(diag, TN_INVALID_MODEL,
                "tree_roots[%u] is %lld, expected a node of 0 to %u", r,
                (long long)lists->roots.v[r], out->n_nodes - 1);
        roots[r] = (uint32_t)lists->roots.v[r];
    }
    out->roots = roots;
    out->n_roots = n;
    return TN_OK;
}

static tn_status read_leaves(const struct tn_tree_split_lists *lists,
    struct tn_tree_source *out, struct tn_diag *diag) {
    uint32_t n = lists->leaf_targetids.n;
    for (uint32_t i = 0; i < n; i++) {
        int64_t target = lists->leaf_targetids.v[i];
        if (target < 0 || target >= lists->n_targets)
            return tn_fail(diag, TN_INVALID_MODEL,
                "leaf_targetids[%u] is %lld, expected 0 to %lld", i, (long long)target,
                (long long)lists->n_targets - 1);
    }
    out->vote_targets = lists->leaf_targetids.v;
    out->n_leaves = n;
    out->n_targets = lists->n_targets;
    TN_TRY(read_tensor("leaf_weights", lists->leaf_weights, &out->weights, diag));
    return check_length("leaf_weights", out->weights.n, n, "leaf_targetids", diag);
}

static tn_status read_all(const struct tn_tree_split_lists *lists,
    struct tn_tree_source *out, struct tn_diag *diag) {
    TN_TRY(check_lengths(lists, diag));
    out->n_nodes = lists->featureids.n;
    TN_TRY(read_nodes(lists, out, diag));
    TN_TRY(read_tensor("nodes_splits", lists->splits, &out->thresholds, diag));
    TN_TRY(check_length(
        "nodes_splits", out->thresholds.n, out->n_nodes, "nodes_featureids", diag));
    TN_TRY(read_members(lists, out, diag));
    TN_TRY(read_roots(lists, out, diag));
    return read_leaves(lists, out, diag);
}

tn_status tn__tree_split_lists_read(const struct tn_host *host,
    const struct tn_tree_split_lists *lists, struct tn_tree_source *out,
    struct tn_diag *diag) {
    memset(out, 0, sizeof *out);
    out->blocks.host = host;
    tn_status status = read_all(lists, out, diag);
    if (status != TN_OK) tn__tree_source_free(out);
    return status;
}
