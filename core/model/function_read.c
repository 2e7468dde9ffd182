/* Functions of a model: listed by key first, since calls may come before definitions, then
 * read body by body, then checked for recursion over the calls that were found. */
#include "core/base/alloc.h"
#include "core/model/reader.h"

#include <string.h>

enum { MAX_FUNCTIONS = 10000, MAX_CALL_DEPTH = 100 };

/* Domain, name and overload as one map key; the parts cannot hold the separator. */
static const char *function_key(
    struct tn_arena *arena, const char *domain, const char *name, const char *overload) {
    return tn__arena_format(arena, "%s\x01%s\x01%s", domain, name, overload);
}

static uint32_t find_function(
    struct tn__reader *r, const char *domain, const char *name, const char *overload) {
    char key[512];
    int n = snprintf(key, sizeof key, "%s\x01%s\x01%s", domain, name, overload);
    if (n >= 0 && (size_t)n < sizeof key) return tn__map_get(&r->functions, key);
    const char *long_key = function_key(r->temp, domain, name, overload);
    return long_key ? tn__map_get(&r->functions, long_key) : UINT32_MAX;
}

bool tn__reader_has_function(
    struct tn__reader *r, const char *domain, const char *name, const char *overload) {
    return r->functions.n && find_function(r, domain, name, overload) != UINT32_MAX;
}

/* ---- one function --------------------------------------------------------------------- */

static tn_status fail_formal(const Onnx__FunctionProto *proto, const char *what,
    const char *name, struct tn_diag *diag) {
    return tn__fail_rule(diag, TN_RULE_FUNCTION_FORMAL,
        "function '%.120s': %s '%.120s' is unnamed or given twice",
        tn__text_or_empty(proto->name), what, name);
}

static tn_status read_formals(struct tn__reader *r, const Onnx__FunctionProto *proto,
    struct tn_graph *g, struct tn_diag *diag) {
    for (size_t i = 0; i < proto->n_input; i++) {
        tn_value_id v;
        if (!proto->input[i][0] || tn__graph_find(g, proto->input[i]) != TN_NO_ID)
            return fail_formal(proto, "input", proto->input[i], diag);
        TN_TRY(tn__define_value(
            r, g, proto->input[i], "input", TN_RULE_FUNCTION_FORMAL, &v, diag));
        TN_TRY(tn__graph_add_input(g, v, diag));
    }
    return TN_OK;
}

static tn_status read_outputs(
    const Onnx__FunctionProto *proto, struct tn_graph *g, struct tn_diag *diag) {
    for (size_t i = 0; i < proto->n_output; i++) {
        tn_value_id v = tn__graph_find(g, proto->output[i]);
        if (v == TN_NO_ID)
            return tn__fail_rule(diag, TN_RULE_FUNCTION_OUTPUT,
                "function '%.120s': nothing in it defines its output '%.120s'",
                tn__text_or_empty(proto->name), proto->output[i]);
        TN_TRY(tn__graph_add_output(g, v, diag));
    }
    return TN_OK;
}

/* A formal attribute must be new among the names so far. */
static tn_status note_attr(const Onnx__FunctionProto *proto, struct tn_str_map *names,
    const char *name, struct tn_diag *diag) {
    if (!name || !name[0] || tn__map_get(names, name) != UINT32_MAX)
        return fail_formal(proto, "attribute", tn__text_or_empty(name), diag);
    return tn__map_put(names, name, 0) ? TN_OK : tn__fail_memory(diag, "names", names->n);
}

static tn_status check_attr_names(
    const Onnx__FunctionProto *proto, struct tn_diag *diag) {
    struct tn_str_map names = {0};
    tn_status status = TN_OK;
    for (size_t i = 0; i < proto->n_attribute && status == TN_OK; i++)
        status = note_attr(proto, &names, proto->attribute[i], diag);
    for (size_t i = 0; i < proto->n_attribute_proto && status == TN_OK; i++)
        status = note_attr(proto, &names, proto->attribute_proto[i]->name, diag);
    tn__map_clear(&names);
    return status;
}

static tn_status read_formal_attrs(struct tn__reader *r, const Onnx__FunctionProto *proto,
    struct tn__function *out, struct tn_diag *diag) {
    TN_TRY(check_attr_names(proto, diag));
    const char **names = tn__arena_array(r->arena, proto->n_attribute, sizeof *names);
    struct tn_attr *defaults =
        tn__arena_array(r->arena, proto->n_attribute_proto, sizeof *defaults);
    if (!names || !defaults) return tn__fail_memory(diag, "a function", sizeof *defaults);
    for (size_t i = 0; i < proto->n_attribute; i++) {
        names[i] =
            tn__arena_string(r->arena, proto->attribute[i], strlen(proto->attribute[i]));
        if (!names[i]) return tn__fail_memory(diag, "a function", sizeof *names);
    }
    struct tn_attr *read;
    TN_TRY(tn__read_attrs(
        r, NULL, proto->attribute_proto, proto->n_attribute_proto, &read, diag));
    for (size_t i = 0; i < proto->n_attribute_proto; i++)
        TN_TRY(tn__attr_copy(r->arena, &read[i], &defaults[i], diag));
    out->attrs = names;
    out->n_attrs = (uint32_t)proto->n_attribute;
    out->attr_defaults = defaults;
    out->n_attr_defaults = (uint32_t)proto->n_attribute_proto;
    return TN_OK;
}

static tn_status read_body(struct tn__reader *r, const Onnx__FunctionProto *proto,
    struct tn__function *out, struct tn_diag *diag) {
    struct tn__opset *opsets;
    uint32_t n_opsets;
    TN_TRY(tn__read_opsets(r, proto->opset_import, proto->n_opset_import, "function",
        &opsets, &n_opsets, diag));
    struct tn_graph *g = tn__graph_create(r->model, NULL);
    if (!g) return tn__fail_memory(diag, "a graph", sizeof *g);
    out->body = g;
    g->name = out->name;
    if (n_opsets) { /* a body without imports uses the model's */
        g->opsets = opsets;
        g->n_opsets = n_opsets;
    } else {
        TN_TRY(tn__tolerate(r, diag, TN_RULE_FUNCTION_OPSET,
            "function '%.120s' imports no opset; the model's are used", out->name));
    }
    TN_TRY(read_formals(r, proto, g, diag));
    TN_TRY(tn__define_nodes(r, g, proto->node, proto->n_node, diag));
    TN_TRY(tn__read_value_infos(r, g, proto->value_info, proto->n_value_info, diag));
    TN_TRY(read_outputs(proto, g, diag));
    return tn__read_nodes(r, g, proto->node, proto->n_node, diag);
}

tn_status tn__read_function(struct tn__reader *r, const Onnx__FunctionProto *proto,
    struct tn__function *out, struct tn_diag *diag) {
    const char *domain = tn__domain_name(proto->domain);
    const char *name = tn__text_or_empty(proto->name);
    const char *overload = tn__text_or_empty(proto->overload);
    out->domain = tn__arena_string(r->arena, domain, strlen(domain));
    out->name = tn__arena_string(r->arena, name, strlen(name));
    out->overload = tn__arena_string(r->arena, overload, strlen(overload));
    if (!out->domain || !out->name || !out->overload)
        return tn__fail_memory(diag, "a function", strlen(name));
    TN_TRY(read_formal_attrs(r, proto, out, diag));
    const Onnx__FunctionProto *outside = r->function;
    r->function = proto;
    tn_status status = read_body(r, proto, out, diag);
    r->function = outside;
    return status;
}

/* ---- recursion ------------------------------------------------------------------------ */

/* Which functions each function calls, found once: rows of one array. */
struct calls {
    struct tn__reader *r;
    uint32_t *start; /* [n_functions + 1] */
    uint32_t *to;
    uint32_t n, cap;
    bool failed;
};

static void note_calls(struct calls *calls, const struct tn_graph *g);

static tn_status note_subgraph(void *calls, struct tn_graph *sub) {
    note_calls(calls, sub);
    return TN_OK;
}

/* Subgraphs nest at most as deep as the reader allowed. */
static void note_calls(struct calls *calls, const struct tn_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct tn__node *node = &g->nodes[i];
        if (node->is_function) {
            uint32_t callee = find_function(
                calls->r, node->view.domain, node->view.op_type, node->overload);
            if (!tn__arena_grow(calls->r->temp, (void **)&calls->to, &calls->cap,
                    calls->n + 1, sizeof *calls->to))
                calls->failed = true;
            else
                calls->to[calls->n++] = callee;
        }
        (void)tn__node_subgraphs(node, note_subgraph, calls);
    }
}

/* Longest chain of calls below each function, computed callees first without recursion. */
static tn_status walk_calls(const struct calls *calls, uint32_t n, uint32_t *depth,
    uint32_t *cursor, uint32_t *stack, struct tn_diag *diag) {
    const struct tn__function *functions = calls->r->model->functions;
    enum { UNSEEN = 0, OPEN = UINT16_MAX };
    for (uint32_t root = 0; root < n; root++) {
        uint32_t top = 0;
        if (depth[root] != UNSEEN) continue;
        stack[top++] = root;
        depth[root] = OPEN;
        while (top) {
            uint32_t f = stack[top - 1], at = calls->start[f] + cursor[f];
            if (at < calls->start[f + 1]) {
                uint32_t callee = calls->to[at];
                cursor[f]++;
                if (depth[callee] == OPEN)
                    return tn__fail_rule(diag, TN_RULE_FUNCTION_RECURSION,
                        "function '%.120s' calls itself through '%.120s'",
                        functions[callee].name, functions[f].name);
                if (depth[callee] != UNSEEN) continue;
                depth[callee] = OPEN;
                stack[top++] = callee;
                continue;
            }
            uint32_t deepest = 0;
            for (uint32_t i = calls->start[f]; i < calls->start[f + 1]; i++) {
                if (depth[calls->to[i]] > deepest) deepest = depth[calls->to[i]];
            }
            depth[f] = deepest + 1;
            if (depth[f] > MAX_CALL_DEPTH)
                return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_FUNCTIONS,
                    "function '%.120s' calls others more than %d deep", functions[f].name,
                    MAX_CALL_DEPTH);
            top--;
        }
    }
    return TN_OK;
}

static tn_status check_recursion(struct tn__reader *r, struct tn_diag *diag) {
    uint32_t n = r->model->n_functions;
    struct calls calls = {.r = r};
    uint32_t *scratch = tn__arena_array(r->temp, (uint64_t)n * 3, sizeof *scratch);
    calls.start = tn__arena_array(r->temp, (uint64_t)n + 1, sizeof *calls.start);
    if (!scratch || !calls.start) return tn__fail_memory(diag, "functions", n);
    for (uint32_t i = 0; i < n; i++) {
        note_calls(&calls, r->model->functions[i].body);
        calls.start[i + 1] = calls.n;
    }
    if (calls.failed) return tn__fail_memory(diag, "functions", calls.n);
    return walk_calls(&calls, n, scratch, scratch + n, scratch + 2 * (size_t)n, diag);
}

/* ---- all functions -------------------------------------------------------------------- */

tn_status tn__note_function(struct tn__reader *r, const char *domain, const char *name,
    const char *overload, uint32_t index, struct tn_diag *diag) {
    const char *key = function_key(r->temp, domain, name, overload);
    if (!key) return tn__fail_memory(diag, "functions", index);
    if (tn__map_get(&r->functions, key) != UINT32_MAX)
        return tn__fail_rule(diag, TN_RULE_FUNCTION_TWICE,
            "function '%.120s' of domain '%.120s' (overload '%.60s') is defined twice",
            name, domain, overload);
    if (!tn__map_put(&r->functions, key, index))
        return tn__fail_memory(diag, "functions", index);
    return TN_OK;
}

tn_status tn__list_functions(struct tn__reader *r, Onnx__FunctionProto *const *protos,
    size_t n, struct tn_diag *diag) {
    if (n > MAX_FUNCTIONS)
        return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_FUNCTIONS,
            "the model has %zu functions, at most %d are supported", n, MAX_FUNCTIONS);
    for (size_t i = 0; i < n; i++) {
        const char *name = tn__text_or_empty(protos[i]->name);
        if (!name[0])
            return tn__fail_rule(
                diag, TN_RULE_FUNCTION_NAME, "function %zu of the model has no name", i);
        TN_TRY(tn__note_function(r, tn__domain_name(protos[i]->domain), name,
            tn__text_or_empty(protos[i]->overload), (uint32_t)i, diag));
    }
    return TN_OK;
}

tn_status tn__read_functions(struct tn__reader *r, Onnx__FunctionProto *const *protos,
    size_t n, struct tn_diag *diag) {
    struct tn__function *functions = tn__arena_array(r->arena, n, sizeof *functions);
    if (!functions) return tn__fail_memory(diag, "functions", n * sizeof *functions);
    for (size_t i = 0; i < n; i++)
        TN_TRY(tn__read_function(r, protos[i], &functions[i], diag));
    r->model->functions = functions;
    r->model->n_functions = (uint32_t)n;
    return check_recursion(r, diag);
}
