/* What is computed from the one value of a tree's leaf is computed once for each leaf: the nodes
 * behind the tree run on a list of its weights (and are folded), and a table of the results is
 * read at the leaf's number. When the table is known, its numbers become the weights, and the
 * nodes are gone. Isolation forests have such a chain of twenty nodes behind every tree. */
#include "passes/ml_passes.h"
#include "passes/tree_pattern.h"

enum { MOST_NODES = 64, MOST_VALUES = 80 };

/* The nodes that depend on the tree alone, in an order in which they can run. */
struct region {
    const struct tn_pass_ctx *ctx;
    tn_value_id
        values[MOST_VALUES]; /* the tree's result first, then those of the nodes */
    tn_value_id copies[MOST_VALUES]; /* on the list of weights */
    tn_node_id nodes[MOST_NODES];
    uint32_t n_values, n_nodes;
};

static uint32_t find(const struct region *r, tn_value_id v) {
    uint32_t i = 0;
    while (i < r->n_values && r->values[i] != v)
        i++;
    return i;
}

static bool is_column_shape(const struct tn_tensor *t) {
    return t && t->dtype == TN_INT64 && t->rank == 1 && t->dims[0] == 2 &&
           ((const int64_t *)t->data)[0] == -1 && ((const int64_t *)t->data)[1] == 1;
}

/* Whether the node treats every row of a column alike. */
static bool is_rowwise(const struct region *r, const struct tn_node *node) {
    static const char *const names[] = {"Abs", "Add", "Cast", "Div", "Equal", "Exp",
        "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Log", "Max",
        "Min", "Mul", "Neg", "Not", "Pow", "Sqrt", "Sub", "Sum", "Where"};
    if (tn_node_is(node, TN_ML_DOMAIN, "LabelEncoder")) return true;
    if (tn_node_is(node, "", "Reshape"))
        return is_column_shape(tn_pass_constant(r->ctx, node, 1));
    for (uint32_t i = 0; i < TN_COUNT(names); i++) {
        if (tn_node_is(node, "", names[i])) return true;
    }
    return false;
}

/* Its inputs are values of the region or single constants. */
static bool joins(const struct region *r, const struct tn_node *node) {
    if (node->n_outputs != 1 || !is_rowwise(r, node)) return false;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == TN_NO_ID) return false;
        if (find(r, node->inputs[i]) < r->n_values) continue;
        const struct tn_tensor *constant = tn_pass_constant(r->ctx, node, i);
        bool shape = i == 1 && tn_node_is(node, "", "Reshape");
        if (!constant || (!shape && tn_tensor_count(constant) != 1) || constant->rank > 2)
            return false;
    }
    return true;
}

static bool has_node(const struct region *r, tn_node_id id) {
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        if (r->nodes[i] == id) return true;
    }
    return false;
}

/* Adds readers until no more join; false when there are too many. */
static bool grow(struct region *r) {
    for (uint32_t v = 0; v < r->n_values; v++) {
        const tn_node_id *readers;
        uint32_t n;
        r->ctx->api->consumers(r->ctx->graph, r->values[v], &readers, &n);
        for (uint32_t i = 0; i < n; i++) {
            const struct tn_node *node = tn_pass_node(r->ctx, readers[i]);
            if (has_node(r, readers[i]) || !joins(r, node)) continue;
            if (r->n_nodes == MOST_NODES || r->n_values == MOST_VALUES) return false;
            r->nodes[r->n_nodes++] = readers[i];
            r->values[r->n_values++] = node->outputs[0];
            v = 0; /* a node that waited for this value may join now */
        }
    }
    return true;
}

/* The only value that is read outside; n_values when there are several or none. */
static uint32_t exit_of(const struct region *r) {
    uint32_t found = r->n_values;
    for (uint32_t v = 0; v < r->n_values; v++) {
        const tn_node_id *readers;
        uint32_t n;
        bool outside = r->ctx->api->is_visible(r->ctx->graph, r->values[v]);
        r->ctx->api->consumers(r->ctx->graph, r->values[v], &readers, &n);
        for (uint32_t i = 0; i < n; i++)
            outside = outside || !has_node(r, readers[i]);
        if (!outside) continue;
        if (found < r->n_values) return r->n_values;
        found = v;
    }
    return found;
}

static bool is_float_column(const struct tn_type *type) {
    return type->kind == TN_KIND_TENSOR && type->dtype == TN_FLOAT && type->rank == 2 &&
           type->dims[1] == 1;
}

/* ---- the region on the list of weights ------------------------------------------------------ */

static tn_status add(const struct region *r, tn_node_id before,
    const struct tn_node *like, const tn_value_id *inputs, tn_value_id *out) {
    tn_node_id id;
    return r->ctx->api->add_node(r->ctx->graph, before, before, like->domain,
        like->op_type, like->since, inputs, like->n_inputs, like->attrs, like->n_attrs,
        out, 1, &id, r->ctx->diag);
}

static tn_status copy_nodes(struct region *r, tn_node_id before) {
    enum { MOST_INPUTS = 8 };
    for (uint32_t k = 0; k < r->n_nodes; k++) {
        const struct tn_node *node = tn_pass_node(r->ctx, r->nodes[k]);
        tn_value_id inputs[MOST_INPUTS];
        if (node->n_inputs > MOST_INPUTS)
            return tn_fail(r->ctx->diag, TN_INTERNAL, "a node grew inputs");
        for (uint32_t i = 0; i < node->n_inputs; i++) {
            uint32_t v = find(r, node->inputs[i]);
            inputs[i] = v < r->n_values ? r->copies[v] : node->inputs[i];
        }
        TN_TRY(add(r, before, node, inputs, &r->copies[k + 1]));
    }
    return TN_OK;
}

/* A constant column of the tree's weights. */
static tn_status add_weights(
    struct region *r, const struct tn_attr *weights, tn_value_id *out) {
    const int64_t dims[] = {weights->count, 1};
    void *data = NULL;
    TN_TRY(r->ctx->api->add_constant(
        r->ctx->graph, "leaves", TN_FLOAT, dims, 2, out, &data, r->ctx->diag));
    memcpy(data, weights->as.floats, weights->count * sizeof(float));
    return TN_OK;
}

static tn_status add_simple(const struct tn_pass_ctx *ctx, tn_node_id before,
    const char *op_type, const tn_value_id *inputs, uint32_t n,
    const struct tn_attr *attr, tn_value_id *out) {
    tn_node_id id;
    return ctx->api->add_node(ctx->graph, before, before, "", op_type, 0, inputs, n, attr,
        attr ? 1 : 0, out, 1, &id, ctx->diag);
}

/* The number of the leaf, from the same tree with other weights. */
static tn_status add_number(
    const struct region *r, tn_node_id tree, tn_node_id before, tn_value_id *out) {
    const struct tn_pass_ctx *ctx = r->ctx;
    const struct tn_host *host = ctx->host;
    const struct tn_node *node = tn_pass_node(ctx, tree);
    uint32_t n = tn_node_attr(node, "target_weights")->count;
    float *numbers = host->alloc(host->self, n * sizeof *numbers, 0, "pass");
    if (!numbers) return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for a pass");
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = (float)i;
    const struct tn_attr attr = {"target_weights", TN_ATTR_FLOATS, n, {numbers}, NULL};
    tn_value_id counted;
    tn_node_id id;
    tn_status status = ctx->api->add_node(ctx->graph, before, tree, node->domain,
        node->op_type, node->since, node->inputs, node->n_inputs, node->attrs,
        node->n_attrs, &counted, 1, &id, ctx->diag);
    if (status == TN_OK) status = ctx->api->set_attr(ctx->graph, id, &attr, ctx->diag);
    host->free(host->self, numbers);
    const int64_t to = TN_INT64;
    const struct tn_attr cast = tn_int_attr("to", &to);
    return status == TN_OK ? add_simple(ctx, before, "Cast", &counted, 1, &cast, out)
                           : status;
}

/* What leaves the region becomes a table of leaves, read at the leaf's number. */
static tn_status tabulate(struct region *r, tn_node_id tree, uint32_t exit) {
    const struct tn_pass_ctx *ctx = r->ctx;
    const struct tn_node *node = tn_pass_node(ctx, tree);
    tn_node_id before = r->nodes[exit - 1];
    tn_value_id shape, table, inputs[2], out;
    const int64_t one = 1, zero = 0;
    void *data = NULL;
    TN_TRY(add_weights(r, tn_node_attr(node, "target_weights"), &r->copies[0]));
    TN_TRY(copy_nodes(r, before));
    TN_TRY(ctx->api->add_constant(
        ctx->graph, "flat", TN_INT64, &one, 1, &shape, &data, ctx->diag));
    *(int64_t *)data = -1;
    inputs[0] = r->copies[exit];
    inputs[1] = shape;
    TN_TRY(add_simple(ctx, before, "Reshape", inputs, 2, NULL, &table));
    inputs[0] = table;
    TN_TRY(add_number(r, tree, before, &inputs[1]));
    const struct tn_attr axis = tn_int_attr("axis", &zero);
    TN_TRY(add_simple(ctx, before, "Gather", inputs, 2, &axis, &out));
    return ctx->api->replace_uses(ctx->graph, r->values[exit], out, ctx->diag);
}

static tn_status find_region(
    const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    const struct tn_node *node = tn_pass_node(ctx, id);
    if (!tn__is_plain_regressor(node) || !tn__is_single_tree(node) ||
        !is_float_column(tn_pass_type(ctx, node->outputs[0])))
        return TN_OK;
    uint32_t n = tn_node_attr(node, "target_nodeids")->count;
    if (n >= 1u << 24 || !tn__list_attr(node, "target_weights", TN_ATTR_FLOATS, n))
        return TN_OK;
    struct region r = {.ctx = ctx, .values = {node->outputs[0]}, .n_values = 1};
    if (!grow(&r) || r.n_nodes < 2) return TN_OK; /* one Cast is its own result */
    uint32_t exit = exit_of(&r);
    if (exit == 0 || exit == r.n_values ||
        !is_float_column(tn_pass_type(ctx, r.values[exit])))
        return TN_OK;
    ++*changes;
    return tabulate(&r, id, exit);
}

/* ---- a table that is known ------------------------------------------------------------------- */

static tn_status set_weights(const struct tn_pass_ctx *ctx, tn_node_id gather,
    const struct tn_node *tree, const struct tn_tensor *table, uint32_t *changes) {
    const struct tn_attr *numbers = tn_node_attr(tree, "target_weights");
    const struct tn_host *host = ctx->host;
    uint32_t n = numbers->count;
    float *weights = host->alloc(host->self, n * sizeof *weights, 0, "pass");
    if (!weights) return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for a pass");
    for (uint32_t i = 0; i < n; i++)
        weights[i] = ((const float *)table->data)[(uint32_t)numbers->as.floats[i]];
    const struct tn_attr attr = {"target_weights", TN_ATTR_FLOATS, n, {weights}, NULL};
    tn_value_id old = tn_pass_node(ctx, gather)->outputs[0], out = tree->outputs[0];
    tn_status status = ctx->api->set_attr(ctx->graph, tree->id, &attr, ctx->diag);
    host->free(host->self, weights);
    if (status == TN_OK) status = ctx->api->replace_uses(ctx->graph, old, out, ctx->diag);
    ++*changes;
    return status == TN_OK ? tn_pass_remove_unread(ctx, gather) : status;
}

/* Whether the weights are numbers of entries of the table. */
static bool are_numbers(const struct tn_attr *weights, const struct tn_tensor *table) {
    for (uint32_t i = 0; i < weights->count; i++) {
        float w = weights->as.floats[i];
        if (!(w >= 0 && w < (float)table->dims[0]) || w != (float)(uint32_t)w)
            return false;
    }
    return true;
}

static tn_status read_table(
    const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    const struct tn_node *gather = tn_pass_node(ctx, id);
    if (!tn_node_is(gather, "", "Gather")) return TN_OK;
    const struct tn_attr *axis = tn_node_attr(gather, "axis");
    const struct tn_tensor *table = tn_pass_constant(ctx, gather, 0);
    const struct tn_node *cast = tn_pass_maker(ctx, gather, 1);
    if ((axis && axis->as.ints[0] != 0) || !table || table->dtype != TN_FLOAT ||
        table->rank != 1 || !tn_node_is(cast, "", "Cast") ||
        tn_pass_type(ctx, cast->outputs[0])->dtype != TN_INT64 ||
        !tn_pass_reader(ctx, cast->outputs[0]))
        return TN_OK;
    const struct tn_node *tree = tn_pass_maker(ctx, cast, 0);
    if (!tn__is_plain_regressor(tree) || !tn__is_single_tree(tree) ||
        !tn_pass_reader(ctx, tree->outputs[0]))
        return TN_OK;
    const struct tn_attr *weights =
        tn__list_attr(tree, "target_weights", TN_ATTR_FLOATS, 0);
    if (!weights || !are_numbers(weights, table)) return TN_OK;
    return set_weights(ctx, id, tree, table, changes);
}

static tn_status rewrite(
    const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    uint32_t before = *changes;
    TN_TRY(read_table(ctx, id, changes));
    return *changes == before ? find_region(ctx, id, changes) : TN_OK;
}

TN_PASS_OF(tn__pass_leaf_values, "leaf_values",
    "what is computed from the one value of a tree's leaf is computed once a leaf",
    TN_LEVEL_BASIC, TN_SAFETY_EXACT, 920, rewrite);
