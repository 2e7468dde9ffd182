/* One of equal constants: their readers all read the first. Hashes look at shapes and at
 * the ends of the data only, so that weights that differ in size are never paged in. */
#include "core/opt/content_table.h"
#include "core/opt/opt_impl.h"

enum { EDGE = 64, MOST_COMPARED = 4 };

static uint64_t hash_tensor(const struct tn_tensor *t) {
    const char *data = t->data;
    uint64_t edge = t->size < EDGE ? t->size : EDGE;
    uint64_t h = tn__hash_bytes(t->dims, t->rank * sizeof *t->dims,
        ((uint64_t)(uint32_t)t->dtype << 32) ^ t->size);
    h = tn__hash_bytes(data, edge, h);
    return tn__hash_bytes(data + (t->size - edge), edge, h);
}

struct pair {
    const struct tn_graph *g;
    tn_value_id v;
};

static bool same_constant(void *arg, uint32_t other) {
    const struct pair *pair = arg;
    return tn__tensor_equal(
        pair->g->values[pair->v].constant, pair->g->values[other].constant);
}

/* A constant of this graph that somebody reads and that no run replaces. */
static bool is_candidate(const struct tn__value *value) {
    const struct tn_tensor *t = tn__value_constant(value);
    return t && !(value->flags & (TN_VALUE_CAPTURE | TN_VALUE_OUTPUT)) &&
           value->n_uses > 0 && t->dtype != TN_STRING && !t->strides && t->data;
}

tn_status tn__pass_dedupe(struct tn__opt *opt, struct tn_graph *g, uint32_t *out_changes,
    struct tn_diag *diag) {
    struct tn__content_table table;
    (void)opt;
    if (!tn__content_create(&table, g->n_values))
        return tn__fail_memory(diag, "a table of constants", g->n_values);
    tn_status status = TN_OK;
    for (tn_value_id v = 0; v < g->n_values && status == TN_OK; v++) {
        if (!is_candidate(&g->values[v])) continue;
        struct pair pair = {g, v};
        uint64_t hash = hash_tensor(g->values[v].constant);
        uint32_t first =
            tn__content_find(&table, hash, v, MOST_COMPARED, same_constant, &pair);
        if (first == UINT32_MAX) continue;
        status = tn__graph_api.replace_uses(g, v, first, diag);
        (*out_changes)++;
    }
    tn__content_destroy(&table);
    return status;
}
