/* The operator-aware rewrites of this plugin, offered through "tenon.draft.pass/1".
 *
 * A pass is one file with a function that looks at one node and may rewrite what begins or
 * ends there; TN_PASS makes its record and one row of TN_PASSES makes it known. What every
 * pass checks: a value that disappears has one reader and is not visible from outside,
 * numbers that are folded are constants, types are those the fused kernel has. */
#ifndef TENON_CPU_PASSES_H
#define TENON_CPU_PASSES_H

#include "tenon/ext/draft/pass.h"
#include "tenon/helper/diag.h"
#include "tenon/helper/shape.h"

#include <stdbool.h>

/* clang-format off */
#define TN_PASSES(X) \
    X(conv_affine) \
    X(conv_pad) \
    X(epilogue) \
    X(gelu) \
    X(layer_norm) \
    X(layout_nhwc) \
    X(matmul_add)

#define TN_PASS_DECLARE(name) extern const struct tn_pass_def tn__pass_##name;
TN_PASSES(TN_PASS_DECLARE)
#undef TN_PASS_DECLARE
/* clang-format on */

extern const struct tn_pass_extension tn__cpu_passes;

/* Looks at node `id`, which is alive; *changes counts rewrites. */
typedef tn_status tn__pass_fn(
    const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes);

/* Calls fn for the nodes there are now, in order, those that earlier calls removed left out. */
tn_status tn__pass_each(
    const struct tn_pass_ctx *ctx, tn__pass_fn *fn, uint32_t *changes);

#define TN_PASS(name_text, doc_text, level_, safety_, order_, fn)                        \
    static tn_status run_##fn(const struct tn_pass_ctx *ctx, uint32_t *out_changes) {    \
        return tn__pass_each(ctx, fn, out_changes);                                      \
    }                                                                                    \
    const struct tn_pass_def tn__pass_##name_text = {                                    \
        .struct_size = (uint32_t)TN_END_OF(struct tn_pass_def, run),                     \
        .name = #name_text,                                                              \
        .doc = doc_text,                                                                 \
        .level = level_,                                                                 \
        .safety = safety_,                                                               \
        .order = order_,                                                                 \
        .run = run_##fn}

/* ---- reading ---------------------------------------------------------------------------- */

static inline const struct tn_node *tn__pass_node(
    const struct tn_pass_ctx *ctx, tn_node_id id) {
    return id == TN_NO_ID ? NULL : ctx->api->node(ctx->graph, id);
}

static inline bool tn__is(
    const struct tn_node *node, const char *domain, const char *op_type) {
    return node && strcmp(node->op_type, op_type) == 0 &&
           strcmp(node->domain, domain) == 0;
}

/* Value of input i, TN_NO_ID when it is omitted. */
static inline tn_value_id tn__input_of(const struct tn_node *node, uint32_t i) {
    return i < node->n_inputs ? node->inputs[i] : TN_NO_ID;
}

/* Content of input i when it is constant. */
static inline const struct tn_tensor *tn__constant_of(
    const struct tn_pass_ctx *ctx, const struct tn_node *node, uint32_t i) {
    tn_value_id v = tn__input_of(node, i);
    return v == TN_NO_ID ? NULL : ctx->api->constant(ctx->graph, v);
}

static inline const struct tn_type *tn__type_of(
    const struct tn_pass_ctx *ctx, tn_value_id v) {
    return ctx->api->value_type(ctx->graph, v);
}

/* The one node that reads v when nothing else can see it, else NULL. */
const struct tn_node *tn__sole_reader(const struct tn_pass_ctx *ctx, tn_value_id v);

/* The node that makes input i, NULL for inputs and constants. */
const struct tn_node *tn__maker(
    const struct tn_pass_ctx *ctx, const struct tn_node *node, uint32_t i);

/* Whether both are ranked and every dimension is the same size or symbol. */
bool tn__same_shape(const struct tn_type *a, const struct tn_type *b);

/* The number in a constant float or double scalar (any shape of one element). */
bool tn__scalar_of(const struct tn_tensor *t, double *out);

/* Removes node `id` when nothing reads it, and then what was made for it alone. */
tn_status tn__remove_unread(const struct tn_pass_ctx *ctx, tn_node_id id);

/* ---- attributes of new nodes ---------------------------------------------------------------- */

static inline struct tn_attr tn__attr_int(const char *name, const int64_t *value) {
    struct tn_attr attr = {name, TN_ATTR_INT, 1, {.ints = value}, NULL};
    return attr;
}

static inline struct tn_attr tn__attr_ints(
    const char *name, const int64_t *v, uint32_t n) {
    struct tn_attr attr = {name, TN_ATTR_INTS, n, {.ints = v}, NULL};
    return attr;
}

static inline struct tn_attr tn__attr_float(const char *name, const float *value) {
    struct tn_attr attr = {name, TN_ATTR_FLOAT, 1, {.floats = value}, NULL};
    return attr;
}

static inline struct tn_attr tn__attr_string(
    const char *name, const struct tn_string *value) {
    struct tn_attr attr = {name, TN_ATTR_STRING, 1, {.strings = value}, NULL};
    return attr;
}

#endif
