/* ArrayFeatureExtractor behind the Concat of a table's columns: takes what it picks from the
 * inputs of the Concat. Converters of column transformers put all columns together and pick
 * them apart again; without this every pick would wait for a copy of the whole table. */
#include "passes/ml_passes.h"

#include "ml.h"

/* A stretch of the picked columns that lies in one input of the Concat. */
struct part {
    uint32_t input;
    int64_t begin, n; /* columns of that input */
};

struct pick {
    const struct tn_pass_ctx *ctx;
    const struct tn_node *node, *concat;
    const int64_t *columns;
    int64_t n;
    struct part *parts; /* room for n */
    uint32_t n_parts;
};

/* Columns of input i of the Concat, -1 when they are not known. */
static int64_t width_of(const struct pick *p, uint32_t i) {
    const struct tn_type *type = tn_pass_type(p->ctx, p->concat->inputs[i]);
    return type->kind == TN_KIND_TENSOR && type->rank == 2 && type->dims[1] >= 0
               ? type->dims[1]
               : -1;
}

/* Whether it joins matrices along their columns. */
static bool joins_columns(const struct tn_pass_ctx *ctx, const struct tn_node *concat) {
    const struct tn_attr *axis = concat ? tn_node_attr(concat, "axis") : NULL;
    if (!tn_node_is(concat, "", "Concat") || !axis || axis->type != TN_ATTR_INT)
        return false;
    const struct tn_type *type = tn_pass_type(ctx, concat->outputs[0]);
    return type->rank == 2 && (axis->as.ints[0] == 1 || axis->as.ints[0] == -1);
}

/* The input and column that a picked column comes from; false when a width is not known. */
static bool locate(
    const struct pick *p, int64_t column, uint32_t *out_input, int64_t *out_at) {
    for (uint32_t i = 0; i < p->concat->n_inputs && column >= 0; i++) {
        int64_t width = width_of(p, i);
        if (width < 0) return false;
        if (column < width) {
            *out_input = i;
            *out_at = column;
            return true;
        }
        column -= width;
    }
    return false;
}

/* Cuts the picked columns into stretches. */
static bool cut(struct pick *p) {
    for (int64_t j = 0; j < p->n; j++) {
        uint32_t input;
        int64_t at;
        if (!locate(p, p->columns[j], &input, &at)) return false;
        struct part *last = p->n_parts ? &p->parts[p->n_parts - 1] : NULL;
        if (last && last->input == input && last->begin + last->n == at)
            last->n++;
        else
            p->parts[p->n_parts++] = (struct part){input, at, 1};
    }
    return p->n > 0;
}

static bool all_whole(const struct pick *p) {
    for (uint32_t i = 0; i < p->n_parts; i++) {
        if (p->parts[i].begin != 0 || p->parts[i].n != width_of(p, p->parts[i].input))
            return false;
    }
    return true;
}

static bool all_of_one(const struct pick *p) {
    for (uint32_t i = 1; i < p->n_parts; i++) {
        if (p->parts[i].input != p->parts[0].input) return false;
    }
    return true;
}

/* Readers of the node read v; the node goes. */
static tn_status replace(const struct pick *p, tn_value_id v, uint32_t *changes) {
    const struct tn_pass_ctx *ctx = p->ctx;
    tn_node_id id = p->node->id, concat = p->concat->id;
    TN_TRY(ctx->api->replace_uses(ctx->graph, p->node->outputs[0], v, ctx->diag));
    TN_TRY(ctx->api->remove_node(ctx->graph, id, ctx->diag));
    ++*changes;
    return tn_pass_remove_unread(ctx, concat);
}

/* Whole inputs: joined as they are. */
static tn_status join(const struct pick *p, uint32_t *changes) {
    const struct tn_pass_ctx *ctx = p->ctx;
    const int64_t one = 1;
    const struct tn_attr axis = tn_int_attr("axis", &one);
    const struct tn_host *host = ctx->host;
    tn_value_id *inputs = host->alloc(host->self, p->n_parts * sizeof *inputs, 0, "pass"),
                out;
    if (!inputs) return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for a pass");
    for (uint32_t i = 0; i < p->n_parts; i++)
        inputs[i] = p->concat->inputs[p->parts[i].input];
    tn_node_id id;
    tn_status status = ctx->api->add_node(ctx->graph, p->node->id, p->node->id, "",
        "Concat", 0, inputs, p->n_parts, &axis, 1, &out, 1, &id, ctx->diag);
    host->free(host->self, inputs);
    return status == TN_OK ? replace(p, out, changes) : status;
}

/* Columns of one input: picked from that input. */
static tn_status narrow(const struct pick *p, uint32_t *changes) {
    const struct tn_pass_ctx *ctx = p->ctx;
    tn_value_id inputs[2] = {p->concat->inputs[p->parts[0].input], TN_NO_ID}, out;
    tn_node_id id;
    void *data = NULL;
    TN_TRY(ctx->api->add_constant(
        ctx->graph, "columns", TN_INT64, &p->n, 1, &inputs[1], &data, ctx->diag));
    int64_t *columns = data;
    for (uint32_t i = 0; i < p->n_parts; i++) {
        for (int64_t j = 0; j < p->parts[i].n; j++)
            *columns++ = p->parts[i].begin + j;
    }
    TN_TRY(ctx->api->add_node(ctx->graph, p->node->id, p->node->id, TN_ML_DOMAIN,
        "ArrayFeatureExtractor", 0, inputs, 2, NULL, 0, &out, 1, &id, ctx->diag));
    return replace(p, out, changes);
}

static tn_status rewrite(
    const struct tn_pass_ctx *ctx, tn_node_id id, uint32_t *changes) {
    struct pick p = {.ctx = ctx, .node = tn_pass_node(ctx, id)};
    if (!tn_node_is(p.node, TN_ML_DOMAIN, "ArrayFeatureExtractor")) return TN_OK;
    const struct tn_tensor *columns = tn_pass_constant(ctx, p.node, 1);
    p.concat = tn_pass_maker(ctx, p.node, 0);
    if (!columns || columns->dtype != TN_INT64 || !joins_columns(ctx, p.concat))
        return TN_OK;
    p.columns = columns->data;
    p.n = tn_tensor_count(columns);
    const struct tn_host *host = ctx->host;
    p.parts = host->alloc(host->self, (uint64_t)p.n * sizeof *p.parts + 1, 0, "pass");
    if (!p.parts) return tn_fail(ctx->diag, TN_OUT_OF_MEMORY, "no memory for a pass");
    tn_status status = TN_OK;
    if (cut(&p)) {
        if (all_whole(&p))
            status = join(&p, changes);
        else if (all_of_one(&p))
            status = narrow(&p, changes);
    }
    host->free(host->self, p.parts);
    return status;
}

TN_PASS_OF(tn__pass_column_views, "column_views",
    "columns picked from joined columns are taken from their sources", TN_LEVEL_BASIC,
    TN_SAFETY_EXACT, 900, rewrite);
