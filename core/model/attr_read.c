/* Attributes of nodes: one value each, of the type they say. */
#include "core/base/map.h"
#include "core/model/reader.h"

#include <string.h>

enum { N_TYPES = TN_ATTR_TYPE_PROTOS + 1 };

/* What an AttributeProto holds for each attribute type: how many, where, and whether it is
 * more than the zero that some writers put into every attribute. */
struct held {
    size_t n;
    const void *items;
    bool zero;
};

/* The lists that the walker has decoded, or NULL. */
static const struct tn__lists *long_lists(
    const struct tn__reader *r, const Onnx__AttributeProto *a) {
    return a->payload ? r->payloads.items[a->payload - 1].lists : NULL;
}

static void list_held(const struct tn__reader *r, const Onnx__AttributeProto *a,
    struct held held[N_TYPES]) {
    const struct held all[N_TYPES] = {
        [TN_ATTR_FLOAT] = {a->has_f, &a->f, a->f == 0},
        [TN_ATTR_INT] = {a->has_i, &a->i, a->i == 0},
        [TN_ATTR_STRING] = {a->has_s, &a->s, a->s.len == 0},
        [TN_ATTR_TENSOR] = {a->t != NULL, &a->t, false},
        [TN_ATTR_GRAPH] = {a->g != NULL, &a->g, false},
        [TN_ATTR_FLOATS] = {a->n_floats, a->floats, false},
        [TN_ATTR_INTS] = {a->n_ints, a->ints, false},
        [TN_ATTR_STRINGS] = {a->n_strings, a->strings, false},
        [TN_ATTR_TENSORS] = {a->n_tensors, a->tensors, false},
        [TN_ATTR_GRAPHS] = {a->n_graphs, a->graphs, false},
        [TN_ATTR_SPARSE_TENSOR] = {a->sparse_tensor != NULL, &a->sparse_tensor, false},
        [TN_ATTR_SPARSE_TENSORS] = {a->n_sparse_tensors, a->sparse_tensors, false},
        [TN_ATTR_TYPE_PROTO] = {a->tp != NULL, &a->tp, false},
        [TN_ATTR_TYPE_PROTOS] = {a->n_type_protos, a->type_protos, false},
    };
    static const uint32_t list_types[TN_LIST_KINDS] = {
        TN_ATTR_FLOATS, TN_ATTR_INTS, TN_ATTR_STRINGS};
    const struct tn__lists *lists = long_lists(r, a);
    memcpy(held, all, sizeof all);
    for (uint32_t kind = 0; lists && kind < TN_LIST_KINDS; kind++)
        if (lists->of[kind].n)
            held[list_types[kind]] =
                (struct held){lists->of[kind].n, lists->of[kind].items, false};
}

static bool is_list(uint32_t type) {
    return (type >= TN_ATTR_FLOATS && type <= TN_ATTR_GRAPHS) ||
           type == TN_ATTR_SPARSE_TENSORS || type == TN_ATTR_TYPE_PROTOS;
}

/* The type it states or, before IR 2, the one whose value is set. */
static tn_status find_type(struct tn__reader *r, const Onnx__AttributeProto *a,
    struct held held[N_TYPES], uint32_t *out, struct tn_diag *diag) {
    list_held(r, a, held);
    uint32_t type = (uint32_t)a->type, n_set = 0, set = 0;
    for (uint32_t t = 1; t < N_TYPES; t++) {
        if (!held[t].n) continue;
        if (!held[t].zero || !set) set = t;
        n_set += !held[t].zero;
    }
    if (type == 0 && r->model && r->model->ir_version < 2) type = set;
    if (type == 0 || type >= N_TYPES)
        return tn__fail_rule(diag, TN_RULE_ATTR_TYPE,
            "attribute '%.120s' has type %d, expected 1 to %d", a->name, a->type,
            N_TYPES - 1);
    if (a->ref_attr_name && a->ref_attr_name[0]) {
        *out = type;
        if (n_set == 0) return TN_OK;
        return tn__fail_rule(diag, TN_RULE_ATTR_REF_VALUE,
            "attribute '%.120s' refers to '%.120s' and has a value too, expected one of "
            "them",
            a->name, a->ref_attr_name);
    }
    bool message = type == TN_ATTR_TENSOR || type == TN_ATTR_GRAPH ||
                   type == TN_ATTR_SPARSE_TENSOR || type == TN_ATTR_TYPE_PROTO;
    if (n_set > 1 || (n_set == 1 && set != type) || (message && !held[type].n))
        return tn__fail_rule(diag, TN_RULE_ATTR_VALUE,
            "attribute '%.120s' of type %u has %u values set, expected the one of its "
            "type",
            a->name, type, n_set);
    *out = type;
    return TN_OK;
}

/* Everybody reads attributes' tensors as they are, so that they are aligned. Only what is
 * called "value" may be a weight of any size that a Constant holds, which is aligned when
 * somebody needs it. */
static tn_status read_tensors(struct tn__reader *r, Onnx__TensorProto *const *protos,
    size_t n, struct tn_attr *out, struct tn_diag *diag) {
    struct tn_tensor *tensors = tn__arena_array(r->arena, n, sizeof *tensors);
    if (!tensors) return tn__fail_memory(diag, "an attribute", n * sizeof *tensors);
    bool weight = strcmp(out->name, "value") == 0;
    for (size_t i = 0; i < n; i++)
        TN_TRY(weight ? tn__read_weight(r, protos[i], &tensors[i], diag)
                      : tn__read_tensor(r, protos[i], &tensors[i], diag));
    out->as.tensors = tensors;
    return TN_OK;
}

static tn_status read_sparses(struct tn__reader *r,
    Onnx__SparseTensorProto *const *protos, size_t n, struct tn_attr *out,
    struct tn_diag *diag) {
    struct tn_sparse *sparse = tn__arena_array(r->arena, n, sizeof *sparse);
    if (!sparse) return tn__fail_memory(diag, "an attribute", n * sizeof *sparse);
    for (size_t i = 0; i < n; i++)
        TN_TRY(tn__read_sparse(r, protos[i], &sparse[i], diag));
    out->as.sparse = sparse;
    return TN_OK;
}

static tn_status read_types(struct tn__reader *r, Onnx__TypeProto *const *protos,
    size_t n, struct tn_attr *out, struct tn_diag *diag) {
    struct tn_type *types = tn__arena_array(r->temp, n, sizeof *types);
    if (!types) return tn__fail_memory(diag, "an attribute", n * sizeof *types);
    for (size_t i = 0; i < n; i++)
        TN_TRY(tn__read_type(r, protos[i], "attribute", out->name, &types[i], diag));
    out->as.types = types;
    return TN_OK;
}

static tn_status read_graphs(struct tn__reader *r, struct tn_graph *g,
    Onnx__GraphProto *const *protos, size_t n, struct tn_attr *out,
    struct tn_diag *diag) {
    struct tn_graph **graphs = tn__arena_array(r->arena, n, sizeof *graphs);
    if (!graphs) return tn__fail_memory(diag, "an attribute", n * sizeof *graphs);
    if (r->depth >= r->limits.max_depth)
        return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_DEPTH,
            "attribute '%.120s': subgraphs nest deeper than the limit of %u", out->name,
            r->limits.max_depth);
    r->depth++;
    tn_status status = TN_OK;
    for (size_t i = 0; i < n && status == TN_OK; i++)
        status = tn__read_graph(r, protos[i], g, &graphs[i], diag);
    r->depth--;
    out->as.graphs = graphs;
    return status;
}

static tn_status read_strings(struct tn__reader *r, const ProtobufCBinaryData *items,
    size_t n, struct tn_attr *out, struct tn_diag *diag) {
    struct tn_string *strings = tn__arena_array(r->temp, n, sizeof *strings);
    if (!strings) return tn__fail_memory(diag, "an attribute", n * sizeof *strings);
    for (size_t i = 0; i < n; i++)
        strings[i] = (struct tn_string){(const char *)items[i].data, items[i].len};
    out->as.strings = strings;
    return TN_OK;
}

static tn_status read_value(struct tn__reader *r, struct tn_graph *g,
    const Onnx__AttributeProto *a, const struct held *held, struct tn_attr *out,
    struct tn_diag *diag) {
    const struct tn__lists *lists = long_lists(r, a);
    const void *decoded = lists ? lists->of[TN_LIST_STRINGS].items : NULL;
    out->count = is_list(out->type) ? (uint32_t)held->n : 1;
    if (held->n > UINT32_MAX)
        return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_MESSAGES,
            "attribute '%.120s' has too many values", out->name);
    switch (out->type) {
    case TN_ATTR_TENSOR:
    case TN_ATTR_TENSORS: return read_tensors(r, held->items, held->n, out, diag);
    case TN_ATTR_SPARSE_TENSOR:
    case TN_ATTR_SPARSE_TENSORS: return read_sparses(r, held->items, held->n, out, diag);
    case TN_ATTR_TYPE_PROTO:
    case TN_ATTR_TYPE_PROTOS: return read_types(r, held->items, held->n, out, diag);
    case TN_ATTR_GRAPH:
    case TN_ATTR_GRAPHS: return read_graphs(r, g, held->items, held->n, out, diag);
    case TN_ATTR_STRING:
    case TN_ATTR_STRINGS:
        if (held->items == decoded) break;
        return read_strings(r, held->items, out->count, out, diag);
    default: break;
    }
    out->as.ptr = held->items; /* as they are */
    return TN_OK;
}

static bool is_formal(const Onnx__FunctionProto *f, const char *name) {
    for (size_t i = 0; i < f->n_attribute; i++) {
        if (strcmp(tn__text_or_empty(f->attribute[i]), name) == 0) return true;
    }
    for (size_t i = 0; i < f->n_attribute_proto; i++) {
        if (strcmp(tn__text_or_empty(f->attribute_proto[i]->name), name) == 0)
            return true;
    }
    return false;
}

static tn_status check_reference(
    const struct tn__reader *r, const Onnx__AttributeProto *a, struct tn_diag *diag) {
    if (!r->function)
        return tn__fail_rule(diag, TN_RULE_ATTR_REF_PLACE,
            "attribute '%.120s' refers to '%.120s' outside of a function", a->name,
            a->ref_attr_name);
    if (is_formal(r->function, a->ref_attr_name)) return TN_OK;
    return tn__fail_rule(diag, TN_RULE_ATTR_REF_UNKNOWN,
        "attribute '%.120s' refers to '%.120s', which is no attribute of function "
        "'%.120s'",
        a->name, a->ref_attr_name, tn__text_or_empty(r->function->name));
}

static tn_status read_attr(struct tn__reader *r, struct tn_graph *g,
    const Onnx__AttributeProto *a, struct tn_attr *out, struct tn_diag *diag) {
    if (!a->name || !a->name[0])
        return tn__fail_rule(diag, TN_RULE_ATTR_NAME, "an attribute has no name");
    struct held held[N_TYPES];
    out->name = a->name;
    TN_TRY(find_type(r, a, held, &out->type, diag));
    if (a->ref_attr_name && a->ref_attr_name[0]) {
        out->ref = a->ref_attr_name;
        return check_reference(r, a, diag);
    }
    return read_value(r, g, a, &held[out->type], out, diag);
}

/* Nodes have few attributes, but a hostile one may have a million. */
static tn_status check_unique(
    Onnx__AttributeProto *const *protos, size_t n, struct tn_diag *diag) {
    struct tn_str_map names = {0};
    tn_status status = TN_OK;
    for (size_t i = 0; i < n && status == TN_OK; i++) {
        const char *name = protos[i]->name;
        bool twice = false;
        if (n <= 16) {
            for (size_t j = 0; j < i && !twice; j++)
                twice = strcmp(protos[j]->name, name) == 0;
        } else {
            twice = tn__map_get(&names, name) != UINT32_MAX;
            if (!tn__map_put(&names, name, 0)) status = tn__fail_memory(diag, "names", n);
        }
        if (twice)
            status = tn__fail_rule(
                diag, TN_RULE_ATTR_TWICE, "attribute '%.120s' is given twice", name);
    }
    tn__map_clear(&names);
    return status;
}

tn_status tn__read_attrs(struct tn__reader *r, struct tn_graph *g,
    Onnx__AttributeProto *const *protos, size_t n, struct tn_attr **out,
    struct tn_diag *diag) {
    struct tn_attr *attrs = tn__arena_array(r->temp, n, sizeof *attrs);
    if (!attrs) return tn__fail_memory(diag, "attributes", n * sizeof *attrs);
    for (size_t i = 0; i < n; i++)
        TN_TRY(read_attr(r, g, protos[i], &attrs[i], diag));
    TN_TRY(check_unique(protos, n, diag));
    *out = attrs;
    return TN_OK;
}
