/* The Sum of regressors of one tree each over one table is one ensemble: its trees are summed in
 * the same order, in float. Columns that a tree takes from the table by itself become its
 * features. */
#include "passes/ml_passes.h"
#include "passes/tree_pattern.h"

/* Lists that are joined, and how. */
static const struct {
    const char *name;
    uint32_t type;
    bool per_leaf, tree; /* tree: numbers of trees, made anew */
} lists[] = {
    {"nodes_treeids", TN_ATTR_INTS, false, true},
    {"nodes_nodeids", TN_ATTR_INTS, false, false},
    {"nodes_featureids", TN_ATTR_INTS, false, false},
    {"nodes_modes", TN_ATTR_STRINGS, false, false},
    {"nodes_values", TN_ATTR_FLOATS, false, false},
    {"nodes_truenodeids", TN_ATTR_INTS, false, false},
    {"nodes_falsenodeids", TN_ATTR_INTS, false, false},
    {"nodes_missing_value_tracks_true", TN_ATTR_INTS, false, false},
    {"target_treeids", TN_ATTR_INTS, true, true},
    {"target_nodeids", TN_ATTR_INTS, true, false},
    {"target_ids", TN_ATTR_INTS, true, false},
    {"target_weights", TN_ATTR_FLOATS, true, false},
};
enum { LISTS = sizeof lists / sizeof *lists, FEATURES = 2, TRACKS = 7 };

/* One tree, the table behind it and the columns it picks (NULL: all as they are). */
struct member {
    const struct tn_node *node;
    tn_value_id table;
    const int64_t *columns;
    int64_t n_columns;
};

static size_t item_size(uint32_t type) {
    return type == TN_ATTR_FLOATS    ? sizeof(float)
           : type == TN_ATTR_STRINGS ? sizeof(struct tn_string)
                                     : sizeof(int64_t);
}

static bool has_lists(const struct tn_node *node) {
    uint32_t n_nodes = tn_node_attr(node, "nodes_treeids")->count;
    uint32_t n_leaves = tn_node_attr(node, "target_nodeids")->count;
    for (uint32_t i = 0; i < LISTS; i++) {
        if (i == TRACKS && !tn_node_attr(node, lists[i].name)) continue;
        if (!tn__list_attr(node, lists[i].name, lists[i].type,
                lists[i].per_leaf ? n_leaves : n_nodes))
            return false;
    }
    return true;
}

/* Looks through a pick of columns. */
static void find_table(const struct tn_pass_ctx *ctx, struct member *m) {
    m->table = m->node->inputs[0];
    const struct tn_node *pick = tn_pass_maker(ctx, m->node, 0);
    const struct tn_attr *axis = pick ? tn_node_attr(pick, "axis") : NULL;
    bool gather = tn_node_is(pick, "", "Gather") && axis && axis->as.ints[0] == 1;
    if (!gather && !tn_node_is(pick, TN_ML_DOMAIN, "ArrayFeatureExtractor")) return;
    const struct tn_tensor *columns = tn_pass_constant(ctx, pick, 1);
    if (!columns || columns->dtype != TN_INT64 || columns->rank != 1 ||
        tn_pass_type(ctx, pick->inputs[0])->rank != 2)
        return;
    for (int64_t i = 0; i < columns->dims[0]; i++) {
        if (((const int64_t *)columns->data)[i] < 0) return;
    }
    m->table = pick->inputs[0];
    m->columns = columns->data;
    m->n_columns = columns->dims[0];
}

static bool features_fit(const struct member *m) {
    const struct tn_attr *features = tn_node_attr(m->node, "nodes_featureids");
    for (uint32_t i = 0; m->columns && i < features->count; i++) {
        if (features->as.ints[i] < 0 || features->as.ints[i] >= m->n_columns)
            return false;
    }
    return true;
}

static bool read_member(
    const struct tn_pass_ctx *ctx, tn_value_id v, tn_node_id reader, struct member *out) {
    uint32_t index;
    const struct tn_node *sole = tn_pass_reader(ctx, v);
    out->node = tn_pass_node(ctx, ctx->api->producer(ctx->graph, v, &index));
    if (!sole || sole->id != reader || !tn__is_plain_regressor(out->node) ||
        !tn__is_single_tree(out->node) || !has_lists(out->node))
        return false;
    find_table(ctx, out);
    return features_fit(out);
}

/* List i of all members behind each other. */
static void join(const struct member *members, uint32_t n, uint32_t i, char *out,
    uint32_t *out_count) {
    size_t size = item_size(lists[i].type);
    *out_count = 0;
    for (uint32_t k = 0; k < n; k++) {
        const struct tn_attr *attr = tn_node_attr(members[k].node, lists[i].name);
        uint32_t count = tn_node_attr(
            members[k].node, lists[i].per_leaf ? "target_nodeids" : "nodes_treeids")
                             ->count;
        int64_t *ints = (int64_t *)(void *)(out + *out_count * size);
        if (attr)
            memcpy(ints, attr->as.ptr, count * size);
        else
            memset(ints, 0, count * size);
        for (uint32_t j = 0; j < count; j++) {
            if (lists[i].tree) ints[j] = k;
            if (i == FEATURES && members[k].columns)
                ints[j] = members[k].columns[ints[j]];
        }
        *out_count += count;
    }
}

static tn_status merge(const struct tn_pass_ctx *ctx, const struct tn_node *sum,
    const struct member *members, uint32_t n, char *memory, uint64_t stride) {
    struct tn_attr attrs[LISTS + 1];
    const int64_t one = 1;
    tn_value_id table = members[0].table, out;
    tn_node_id id, sum_id = sum->id;
    for (uint32_t i = 0; i < LISTS; i++) {
        attrs[i] = (struct tn_attr){lists[i].name, lists[i].type, 0, {NULL}, NULL};
        attrs[i].as.ptr = memory + i * stride;
        join(members, n, i, memory + i * stride, &attrs[i].count);
    }
    attrs[LISTS] = tn_int_attr("n_targets", &one);
    TN_TRY(ctx->api->add_node(ctx->graph, sum_id, sum_id, TN_ML_DOMAIN,
        "TreeEnsembleRegressor", members[0].node->since, &table, 1, attrs, LISTS + 1,
        &out, 1, &id, ctx->diag));
    sum = tn_pass_node(ctx, sum_id);
    TN_TRY(ctx->api->replace_uses(ctx->graph, sum->outputs[0], out, ctx->diag));
    return ctx->api->remove_node(ctx->graph, sum_id, ctx->diag);
}

/* Bytes that the longest of the joined lists may take. */
static bool size_lists(const struct member *members, uint32_t n, uint64_t *out) {
    uint64_t items = 0;
    for (uint32_t k = 0; k < n; k++)
        items += tn_node_attr(members[k].node, "nodes_treeids")->count;
    *out = items * sizeof(struct tn_string);
    return items < UINT32_MAX / 2;
}

static tn_status merge_all(const struct tn_pass_ctx *ctx, const struct tn_node *sum,
    struct member *members, uint32_t *changes) {
    const struct tn_host *host = ctx->host;
    uint64_t stride;
    for (uint32_t i = 0; i < sum->n_inputs; i++) {
        if (!read_member(ctx, sum->inputs[i], sum->id, &members[i]) ||
            members[i].table != members[0].table)
            return TN_OK;
    }
    if (!size_lists(members, sum->n_inputs, &stride)) return TN_OK;
    char *memory = host->alloc(host->self, stride * LISTS, 0, "pass");
    if (!memory) return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for a pass");
    tn_status status = merge(ctx, sum, members, sum->n_inputs, memory, stride);
    host->free(host->self, memory);
    ++*changes;
    return status;
}

static tn_status rewrite(
    const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    const struct tn_node *sum = tn_pass_node(ctx, id);
    const struct tn_host *host = ctx->host;
    if (!tn_node_is(sum, "", "Sum") || sum->n_inputs < 2) return TN_OK;
    uint64_t bytes = sum->n_inputs * sizeof(struct member);
    struct member *members = host->alloc(host->self, bytes, 0, "pass");
    if (!members) return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for a pass");
    memset(members, 0, bytes);
    tn_status status = merge_all(ctx, sum, members, changes);
    host->free(host->self, members);
    return status;
}

TN_PASS_OF(tn__pass_tree_sum, "tree_sum", "a sum of single trees is one ensemble",
    TN_LEVEL_BASIC, TN_SAFETY_EXACT, 930, rewrite);
