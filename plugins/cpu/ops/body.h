/* Bodies of operators that depend on attributes or types, node by node: for `expand`
 * builders. A failure sticks in `status`; what follows it does nothing. */
#ifndef TENON_CPU_BODY_H
#define TENON_CPU_BODY_H

#include "ops/ops.h"

#include <stdbool.h>

struct tn__body {
    const struct tn_rewrite *rw;
    struct tn_node node; /* as it was; its lists are copies */
    tn_value_id inputs[16], outputs[8];
    tn_status status;
};

/* Refuses nodes with more inputs or outputs than the copies hold. */
tn_status tn__body_begin(struct tn__body *body, const struct tn_rewrite *rw);
/* Adds a node of ai.onnx with one output, which is returned. */
tn_value_id tn__body_add(struct tn__body *body, const char *op_type,
    const tn_value_id *inputs, uint32_t n_inputs, const struct tn_attr *attrs,
    uint32_t n_attrs);
/* The same with one attribute that is an integer. */
tn_value_id tn__body_int(struct tn__body *body, const char *op_type, const char *name,
    int64_t value, const tn_value_id *inputs, uint32_t n_inputs);
/* An int64 vector, and a scalar of a float type. */
tn_value_id tn__body_ints(struct tn__body *body, const int64_t *values, uint32_t n);
tn_value_id tn__body_number(struct tn__body *body, int32_t dtype, double value);
/* Readers of output o of the node read v. */
void tn__body_output(struct tn__body *body, uint32_t o, tn_value_id v);
/* Whether the node names output o. */
static inline bool tn__body_wants(const struct tn__body *body, uint32_t o) {
    return o < body->node.n_outputs && body->outputs[o] != TN_NO_ID;
}
/* Input i, TN_NO_ID when it is omitted; its type. */
tn_value_id tn__body_input(const struct tn__body *body, uint32_t i);
const struct tn_type *tn__body_type(const struct tn__body *body, uint32_t i);

/* Inputs as a list: TN_BODY_ADD(&body, "Add", a, b). */
#define TN_BODY_LIST(...)                                                                \
    (const tn_value_id[]){__VA_ARGS__},                                                  \
        (uint32_t)(sizeof((const tn_value_id[]){__VA_ARGS__}) / sizeof(tn_value_id))
#define TN_BODY_ADD(body, op, ...)                                                       \
    tn__body_add((body), (op), TN_BODY_LIST(__VA_ARGS__), NULL, 0)
#define TN_BODY_INT(body, op, name, value, ...)                                          \
    tn__body_int((body), (op), (name), (value), TN_BODY_LIST(__VA_ARGS__))
#define TN_BODY_INTS(body, ...)                                                          \
    tn__body_ints((body), (const int64_t[]){__VA_ARGS__},                                \
        (uint32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

#endif
