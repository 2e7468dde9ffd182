/* See tree_pattern.h. */
#include "passes/tree_pattern.h"

const struct tn_attr *tn__list_attr(
    const struct tn_node *node, const char *name, uint32_t type, uint32_t count) {
    const struct tn_attr *attr = tn_node_attr(node, name);
    return attr && attr->type == type && (count == 0 || attr->count == count) ? attr
                                                                              : NULL;
}

static bool is_text(const struct tn_node *node, const char *name, const char *text) {
    const struct tn_attr *attr = tn_node_attr(node, name);
    return !attr ||
           (attr->type == TN_ATTR_STRING && tn_string_is(attr->as.strings[0], text));
}

bool tn__is_plain_regressor(const struct tn_node *node) {
    static const char *const others[] = {"base_values", "base_values_as_tensor",
        "nodes_values_as_tensor", "target_weights_as_tensor"};
    if (!tn_node_is(node, TN_ML_DOMAIN, "TreeEnsembleRegressor")) return false;
    const struct tn_attr *targets = tn_node_attr(node, "n_targets");
    if (!targets || targets->type != TN_ATTR_INT || targets->as.ints[0] != 1)
        return false;
    for (uint32_t i = 0; i < TN_COUNT(others); i++) {
        const struct tn_attr *attr = tn_node_attr(node, others[i]);
        if (attr && attr->count) return false;
    }
    return is_text(node, "aggregate_function", "SUM") &&
           is_text(node, "post_transform", "NONE");
}

bool tn__is_single_tree(const struct tn_node *node) {
    const struct tn_attr *trees = tn__list_attr(node, "nodes_treeids", TN_ATTR_INTS, 0);
    const struct tn_attr *modes = tn__list_attr(node, "nodes_modes", TN_ATTR_STRINGS, 0);
    const struct tn_attr *leaves = tn__list_attr(node, "target_nodeids", TN_ATTR_INTS, 0);
    if (!trees || !modes || !leaves) return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < modes->count; i++)
        n += tn_string_is(modes->as.strings[i], "LEAF");
    for (uint32_t i = 1; i < trees->count; i++) {
        if (trees->as.ints[i] != trees->as.ints[0]) return false;
    }
    return n == leaves->count && n > 0;
}
