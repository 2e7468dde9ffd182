/* Bodies of operators, node by node. */
#include "ops/body.h"
#include "ops/narrow.h"

tn_status tn__body_begin(struct tn__body *body, const struct tn_rewrite *rw) {
    const struct tn_node *node = rw->api->node(rw->graph, rw->node);
    if (node->n_inputs > 16 || node->n_outputs > 8) return TN_UNSUPPORTED;
    *body = (struct tn__body){.rw = rw, .node = *node};
    for (uint32_t i = 0; i < node->n_inputs; i++)
        body->inputs[i] = node->inputs[i];
    for (uint32_t o = 0; o < node->n_outputs; o++)
        body->outputs[o] = node->outputs[o];
    body->node.inputs = body->inputs;
    body->node.outputs = body->outputs;
    return TN_OK;
}

tn_value_id tn__body_add(struct tn__body *body, const char *op_type,
    const tn_value_id *inputs, uint32_t n_inputs, const struct tn_attr *attrs,
    uint32_t n_attrs) {
    const struct tn_rewrite *rw = body->rw;
    tn_value_id output = TN_NO_ID;
    tn_node_id id;
    if (body->status == TN_OK)
        body->status = rw->api->add_node(rw->graph, rw->node, rw->node, "", op_type, 0,
            inputs, n_inputs, attrs, n_attrs, &output, 1, &id, rw->diag);
    return output;
}

tn_value_id tn__body_int(struct tn__body *body, const char *op_type, const char *name,
    int64_t value, const tn_value_id *inputs, uint32_t n_inputs) {
    const struct tn_attr attr = {name, TN_ATTR_INT, 1, {.ints = &value}, NULL};
    return tn__body_add(body, op_type, inputs, n_inputs, &attr, 1);
}

tn_value_id tn__body_ints(struct tn__body *body, const int64_t *values, uint32_t n) {
    const struct tn_rewrite *rw = body->rw;
    tn_value_id value = TN_NO_ID;
    const int64_t count = n;
    void *data;
    if (body->status == TN_OK)
        body->status = rw->api->add_constant(
            rw->graph, "list", TN_INT64, &count, 1, &value, &data, rw->diag);
    if (body->status == TN_OK && n) memcpy(data, values, n * sizeof *values);
    return value;
}

tn_value_id tn__body_number(struct tn__body *body, int32_t dtype, double number) {
    const struct tn_rewrite *rw = body->rw;
    const float single = (float)number;
    tn_value_id value = TN_NO_ID;
    void *data;
    if (body->status == TN_OK)
        body->status = rw->api->add_constant(
            rw->graph, "number", dtype, NULL, 0, &value, &data, rw->diag);
    if (body->status != TN_OK) return value;
    if (dtype == TN_DOUBLE)
        memcpy(data, &number, sizeof number);
    else if (dtype == TN_FLOAT)
        memcpy(data, &single, sizeof single);
    else
        tn__round(data, &single, dtype, 1);
    return value;
}

void tn__body_output(struct tn__body *body, uint32_t o, tn_value_id v) {
    const struct tn_rewrite *rw = body->rw;
    if (body->status != TN_OK || !tn__body_wants(body, o)) return;
    body->status = rw->api->replace_uses(rw->graph, body->outputs[o], v, rw->diag);
}

tn_value_id tn__body_input(const struct tn__body *body, uint32_t i) {
    return i < body->node.n_inputs ? body->inputs[i] : TN_NO_ID;
}

const struct tn_type *tn__body_type(const struct tn__body *body, uint32_t i) {
    return body->rw->api->value_type(body->rw->graph, body->inputs[i]);
}
