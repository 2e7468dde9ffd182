/* The helpers of ops.h that are too long for a header. */
#include "ops/ops.h"

static tn_status remove_if_there(const struct tn_rewrite *rw, const char *name) {
    if (!tn_node_attr(rw->api->node(rw->graph, rw->node), name)) return TN_OK;
    return rw->api->remove_attr(rw->graph, rw->node, name);
}

tn_status tn__upgrade_drop_consumed(const struct tn_rewrite *rw) {
    return remove_if_there(rw, "consumed_inputs");
}

tn_status tn__upgrade_append_axes(
    const struct tn_rewrite *rw, uint32_t index, int64_t rank, int64_t count) {
    tn_value_id inputs[2], output;
    tn_node_id id;
    void *data;
    if (count <= 0) return TN_OK;
    inputs[0] = rw->api->node(rw->graph, rw->node)->inputs[index];
    TN_TRY(rw->api->add_constant(
        rw->graph, "axes", TN_INT64, &count, 1, &inputs[1], &data, rw->diag));
    for (int64_t i = 0; i < count; i++)
        ((int64_t *)data)[i] = rank + i;
    TN_TRY(rw->api->add_node(rw->graph, rw->node, rw->node, "", "Unsqueeze", 0, inputs, 2,
        NULL, 0, &output, 1, &id, rw->diag));
    return rw->api->set_input(rw->graph, rw->node, index, output, rw->diag);
}

static int64_t int_attr(const struct tn_node *node, const char *name, int64_t absent) {
    const struct tn_attr *attr = tn_node_attr(node, name);
    return attr && attr->type == TN_ATTR_INT && attr->count ? attr->as.ints[0] : absent;
}

tn_status tn__upgrade_axis_broadcast(const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    int64_t axis = int_attr(node, "axis", INT64_MAX);
    if (int_attr(node, "broadcast", 0) && axis != INT64_MAX && node->n_inputs == 2) {
        const struct tn_type *a = rw->api->value_type(rw->graph, node->inputs[0]);
        const struct tn_type *b = rw->api->value_type(rw->graph, node->inputs[1]);
        if (a->kind == TN_KIND_ABSENT || b->kind == TN_KIND_ABSENT || a->rank < 0 ||
            b->rank < 0)
            return tn_fail(rw->diag, TN_UNSUPPORTED,
                "attribute 'axis' of versions before 7 needs operands of known rank");
        if (axis < 0) axis += a->rank;
        if (axis < 0 || axis > a->rank - b->rank)
            return tn_fail(rw->diag, TN_INVALID_MODEL,
                "axis %lld does not place an operand of rank %d into one of rank %d",
                (long long)axis, (int)b->rank, (int)a->rank);
        TN_TRY(tn__upgrade_append_axes(rw, 1, b->rank, a->rank - axis - b->rank));
    }
    TN_TRY(remove_if_there(rw, "axis"));
    TN_TRY(remove_if_there(rw, "broadcast"));
    return tn__upgrade_drop_consumed(rw);
}

tn_status tn__upgrade_ints_to_input(
    const struct tn_rewrite *rw, const char *name, uint32_t index) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    const struct tn_attr *attr = tn_node_attr(node, name);
    if (!attr) return TN_OK;
    if (attr->type != TN_ATTR_INTS)
        return tn_fail(rw->diag, TN_INVALID_MODEL,
            "attribute '%s' has type %u, expected a list of integers", name, attr->type);
    int64_t n = attr->count;
    tn_value_id value;
    void *data;
    TN_TRY(
        rw->api->add_constant(rw->graph, name, TN_INT64, &n, 1, &value, &data, rw->diag));
    attr = tn_node_attr(rw->api->node(rw->graph, rw->node), name);
    if (n > 0) memcpy(data, attr->as.ints, (size_t)n * sizeof(int64_t));
    TN_TRY(rw->api->set_input(rw->graph, rw->node, index, value, rw->diag));
    return rw->api->remove_attr(rw->graph, rw->node, name);
}

tn_status tn__expand_node(const struct tn_rewrite *rw, const char *op_type, tn_value_id a,
    tn_value_id b, tn_value_id *out) {
    const tn_value_id inputs[2] = {a, b};
    tn_node_id id;
    return rw->api->add_node(rw->graph, rw->node, rw->node, "", op_type, 0, inputs,
        b == TN_NO_ID ? 1 : 2, NULL, 0, out, 1, &id, rw->diag);
}

tn_status tn__expand_scalar(
    const struct tn_rewrite *rw, float value, tn_value_id like, tn_value_id *out) {
    tn_value_id constant;
    void *data;
    TN_TRY(rw->api->add_constant(
        rw->graph, "scalar", TN_FLOAT, NULL, 0, &constant, &data, rw->diag));
    memcpy(data, &value, sizeof value);
    return tn__expand_node(rw, "CastLike", constant, like, out);
}

tn_status tn__expand_done(const struct tn_rewrite *rw, tn_value_id value) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    return rw->api->replace_uses(rw->graph, node->outputs[0], value, rw->diag);
}
