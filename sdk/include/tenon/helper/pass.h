/* Optimiser passes ("tenon.draft.pass/1") that look at one node at a time and may rewrite what
 * begins or ends there. docs/add-a-pass.md says what a pass has to check.
 *
 *     TN_PASS_OF(squares, "squares", "x * x becomes Square", TN_LEVEL_ALL, TN_SAFETY_EXACT,
 *         1500, rewrite);
 *     TN_PASS_TABLE(get_extension, (&squares))
 *
 * and get_extension is the plugin's (TN_PLUGIN_FULL). C11 and C++17. */
#ifndef TENON_HELPER_PASS_H
#define TENON_HELPER_PASS_H

#include "tenon/ext/draft/pass.h"
#include "tenon/helper/diag.h"
#include "tenon/helper/shape.h"

#include <stdbool.h>
#include <string.h>

/* Looks at node `id`, which is alive; *changes counts rewrites. */
typedef tn_status tn_pass_fn(
    const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes);

/* Calls fn for the nodes there are now, in order, those that earlier calls removed left out. */
static inline tn_status tn_pass_each(
    const struct tn_pass_ctx *ctx, tn_pass_fn *fn, uint32_t *changes) {
    const tn_node_id *order;
    uint32_t n;
    tn_status status = TN_OK;
    ctx->api->nodes(ctx->graph, &order, &n);
    if (n == 0) return TN_OK;
    const struct tn_host *host = ctx->host;
    tn_node_id *ids = (tn_node_id *)host->alloc(host->self, n * sizeof *ids, 0, "pass");
    if (!ids)
        return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for a list of nodes");
    memcpy(ids, order, n * sizeof *ids);
    for (uint32_t i = 0; i < n && status == TN_OK; i++)
        if (ctx->api->node(ctx->graph, ids[i])) status = fn(ctx, ids[i], changes);
    host->free(host->self, ids);
    return status;
}

/* clang-format off */
/* Defines the record `variable` of the pass `name`, which calls fn for every node. */
#define TN_PASS_OF(variable, name, doc, level, safety, order, fn) \
    static tn_status variable##_run( \
        const struct tn_pass_ctx *ctx, uint32_t *out_changes) { \
        return tn_pass_each(ctx, fn, out_changes); \
    } \
    const struct tn_pass_def variable = {(uint32_t)TN_END_OF(struct tn_pass_def, run), 0, \
        name, doc, level, safety, order, 0, variable##_run}

/* Defines the function `get_extension` of a plugin whose passes these are: TN_PASS_TABLE(f,
 * (&a, &b)). */
#define TN_PASS_TABLE(get_extension, list) \
    static const void *get_extension(void *state, const char *id) { \
        static const struct tn_pass_def *const rows[] = {TN_PASS_LIST list}; \
        static const struct tn_pass_extension extension = { \
            (uint32_t)sizeof(struct tn_pass_extension), \
            (uint32_t)(sizeof rows / sizeof *rows), rows}; \
        (void)state; \
        return strcmp(id, TN_PASS_EXTENSION) == 0 ? &extension : NULL; \
    }
#define TN_PASS_LIST(...) __VA_ARGS__
/* clang-format on */

/* ---- reading ------------------------------------------------------------------------- */

static inline const struct tn_node *tn_pass_node(
    const struct tn_pass_ctx *ctx, tn_node_id id) {
    return id == TN_NO_ID ? NULL : ctx->api->node(ctx->graph, id);
}

/* Whether there is a node and it is this operator. */
static inline bool tn_node_is(
    const struct tn_node *node, const char *domain, const char *op_type) {
    return node && strcmp(node->op_type, op_type) == 0 &&
           strcmp(node->domain, domain) == 0;
}

/* Value of input i, TN_NO_ID when it is omitted. */
static inline tn_value_id tn_node_input(const struct tn_node *node, uint32_t i) {
    return i < node->n_inputs ? node->inputs[i] : TN_NO_ID;
}

/* Content of input i when it is constant. */
static inline const struct tn_tensor *tn_pass_constant(
    const struct tn_pass_ctx *ctx, const struct tn_node *node, uint32_t i) {
    tn_value_id v = tn_node_input(node, i);
    return v == TN_NO_ID ? NULL : ctx->api->constant(ctx->graph, v);
}

static inline const struct tn_type *tn_pass_type(
    const struct tn_pass_ctx *ctx, tn_value_id v) {
    return ctx->api->value_type(ctx->graph, v);
}

/* The one node that reads v when nothing else can see it, else NULL: then v may go. */
static inline const struct tn_node *tn_pass_reader(
    const struct tn_pass_ctx *ctx, tn_value_id v) {
    const tn_node_id *ids;
    uint32_t n;
    if (v == TN_NO_ID || ctx->api->is_visible(ctx->graph, v)) return NULL;
    ctx->api->consumers(ctx->graph, v, &ids, &n);
    return n == 1 ? ctx->api->node(ctx->graph, ids[0]) : NULL;
}

/* The node that makes input i, NULL for inputs and constants. */
static inline const struct tn_node *tn_pass_maker(
    const struct tn_pass_ctx *ctx, const struct tn_node *node, uint32_t i) {
    uint32_t index;
    tn_value_id v = tn_node_input(node, i);
    return v == TN_NO_ID ? NULL
                         : tn_pass_node(ctx, ctx->api->producer(ctx->graph, v, &index));
}

/* Whether both are ranked and every dimension is the same size or symbol. */
static inline bool tn_type_same_shape(const struct tn_type *a, const struct tn_type *b) {
    if (a->kind != TN_KIND_TENSOR || b->kind != TN_KIND_TENSOR) return false;
    if (a->rank < 0 || a->rank != b->rank) return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (!tn_dim_same(a->dims[i], b->dims[i])) return false;
    return true;
}

/* The number in a constant float or double of one element, whatever its shape. */
static inline bool tn_tensor_scalar(const struct tn_tensor *t, double *out) {
    if (!t || !t->data || tn_tensor_count(t) != 1) return false;
    if (t->dtype == TN_FLOAT)
        *out = (double)*(const float *)t->data;
    else if (t->dtype == TN_DOUBLE)
        *out = *(const double *)t->data;
    else
        return false;
    return true;
}

/* ---- editing ------------------------------------------------------------------------- */

static inline bool tn_pass_is_read(
    const struct tn_pass_ctx *ctx, const struct tn_node *node) {
    for (uint32_t o = 0; o < node->n_outputs; o++) {
        const tn_node_id *readers;
        uint32_t n;
        if (node->outputs[o] == TN_NO_ID) continue;
        ctx->api->consumers(ctx->graph, node->outputs[o], &readers, &n);
        if (n > 0 || ctx->api->is_visible(ctx->graph, node->outputs[o])) return true;
    }
    return false;
}

/* Removes node `id` when nothing reads it, and then what was made for it alone. */
static inline tn_status tn_pass_remove_unread(
    const struct tn_pass_ctx *ctx, tn_node_id id) {
    enum { MOST = 32 }; /* patterns are shorter; the rest is for the core's dead code */
    tn_node_id pending[MOST];
    uint32_t n = 1;
    pending[0] = id;
    while (n > 0) {
        const struct tn_node *node = tn_pass_node(ctx, pending[--n]);
        if (!node || tn_pass_is_read(ctx, node)) continue;
        for (uint32_t i = 0; i < node->n_inputs && n < MOST - 1; i++) {
            const struct tn_node *maker = tn_pass_maker(ctx, node, i);
            if (maker && maker->id != node->id) pending[n++] = maker->id;
        }
        TN_TRY(ctx->api->remove_node(ctx->graph, node->id, ctx->diag));
    }
    return TN_OK;
}

/* Puts a new node of one output in the place of node `last`, whose output 0 is the end of a
 * pattern, and removes what nothing reads any more. */
static inline tn_status tn_pass_replace(const struct tn_pass_ctx *ctx, tn_node_id last,
    const char *domain, const char *op_type, const tn_value_id *inputs, uint32_t n_inputs,
    const struct tn_attr *attrs, uint32_t n_attrs) {
    tn_value_id old = ctx->api->node(ctx->graph, last)->outputs[0], out;
    tn_node_id id;
    TN_TRY(ctx->api->add_node(ctx->graph, last, last, domain, op_type, 0, inputs,
        n_inputs, attrs, n_attrs, &out, 1, &id, ctx->diag));
    TN_TRY(ctx->api->replace_uses(ctx->graph, old, out, ctx->diag));
    return tn_pass_remove_unread(ctx, last);
}

/* ---- attributes of new nodes --------------------------------------------------------- */

static inline struct tn_attr tn_attr_make(
    const char *name, uint32_t type, const void *values, uint32_t count) {
    struct tn_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.name = name;
    attr.type = type;
    attr.count = count;
    attr.as.ptr = values;
    return attr;
}

static inline struct tn_attr tn_int_attr(const char *name, const int64_t *value) {
    return tn_attr_make(name, TN_ATTR_INT, value, 1);
}

static inline struct tn_attr tn_ints_attr(
    const char *name, const int64_t *v, uint32_t n) {
    return tn_attr_make(name, TN_ATTR_INTS, v, n);
}

static inline struct tn_attr tn_float_attr(const char *name, const float *value) {
    return tn_attr_make(name, TN_ATTR_FLOAT, value, 1);
}

static inline struct tn_attr tn_string_attr(
    const char *name, const struct tn_string *value) {
    return tn_attr_make(name, TN_ATTR_STRING, value, 1);
}

#endif
