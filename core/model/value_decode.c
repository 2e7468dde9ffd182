/* Values outside of models: tensors, sequences, optionals and maps as the backend tests
 * keep them in files. */
#include "core/base/checked.h"
#include "core/model/reader.h"

#include <string.h>

enum { MAX_NESTING = 32 };

/* elem_type of SequenceProto and OptionalProto → kind. */
static const uint8_t kinds[] = {TN_KIND_ABSENT, TN_KIND_TENSOR, TN_KIND_SPARSE,
    TN_KIND_SEQUENCE, TN_KIND_MAP, TN_KIND_OPTIONAL};

static uint32_t kind_of(int32_t elem_type) {
    return elem_type >= 0 && (size_t)elem_type < sizeof kinds ? kinds[elem_type]
                                                              : TN_KIND_ABSENT;
}

/* One item of any kind; exactly one member is set. */
struct item {
    const Onnx__TensorProto *tensor;
    const Onnx__SparseTensorProto *sparse;
    const Onnx__SequenceProto *sequence;
    const Onnx__MapProto *map;
    const Onnx__OptionalProto *optional;
};

static tn_status decode(struct tn__reader *r, const struct item *item,
    const struct tn_type *type, struct tn_value_ref *out, struct tn_diag *diag);

static void *room(struct tn__reader *r, uint64_t n, uint64_t size) {
    return tn__arena_array(r->arena, n, size);
}

static tn_status fail_kind(const char *what, int32_t elem_type, struct tn_diag *diag) {
    return tn__fail_rule(diag, TN_RULE_VALUE_KIND,
        "%s of element kind %d has items of another kind", what, elem_type);
}

/* What the container's declared type says about its items. */
static struct tn_type inner_type(const struct tn_type *type) {
    struct tn_type inner = {.rank = -1};
    if (!type) return inner;
    inner = *type;
    inner.kind = type->elem_kind;
    inner.elem_kind = TN_KIND_TENSOR;
    return inner;
}

static int32_t item_dtype(const struct tn_value_ref *item) {
    switch (item->kind) {
    case TN_KIND_TENSOR: return item->as.tensor->dtype;
    case TN_KIND_SPARSE: return item->as.sparse->values.dtype;
    case TN_KIND_MAP: return item->as.map->values.dtype;
    case TN_KIND_SEQUENCE: return item->as.sequence->elem_dtype;
    case TN_KIND_OPTIONAL: return item->as.optional->elem_dtype;
    default: return TN_UNDEFINED;
    }
}

static struct item sequence_item(
    const Onnx__SequenceProto *proto, uint32_t kind, size_t i) {
    struct item item = {0};
    if (kind == TN_KIND_TENSOR) item.tensor = proto->tensor_values[i];
    if (kind == TN_KIND_SPARSE) item.sparse = proto->sparse_tensor_values[i];
    if (kind == TN_KIND_SEQUENCE) item.sequence = proto->sequence_values[i];
    if (kind == TN_KIND_MAP) item.map = proto->map_values[i];
    if (kind == TN_KIND_OPTIONAL) item.optional = proto->optional_values[i];
    return item;
}

static tn_status decode_sequence(struct tn__reader *r, const Onnx__SequenceProto *proto,
    const struct tn_type *type, struct tn_value_ref *out, struct tn_diag *diag) {
    uint32_t kind = kind_of(proto->elem_type);
    size_t counts[] = {[TN_KIND_ABSENT] = 0,
        [TN_KIND_TENSOR] = proto->n_tensor_values,
        [TN_KIND_SEQUENCE] = proto->n_sequence_values,
        [TN_KIND_MAP] = proto->n_map_values,
        [TN_KIND_OPTIONAL] = proto->n_optional_values,
        [TN_KIND_SPARSE] = proto->n_sparse_tensor_values};
    size_t n = counts[kind], total = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        total += counts[i];
    if (n != total) return fail_kind("a sequence", proto->elem_type, diag);
    struct tn_sequence *sequence = room(r, 1, sizeof *sequence);
    struct tn_value_ref *items = room(r, n, sizeof *items);
    if (!sequence || !items)
        return tn__fail_memory(diag, "a sequence", n * sizeof *items);
    struct tn_type inner = inner_type(type);
    *sequence = (struct tn_sequence){items, n, kind, inner.dtype, NULL};
    if (kind == TN_KIND_ABSENT) sequence->elem_kind = inner.kind;
    for (size_t i = 0; i < n; i++) {
        struct item item = sequence_item(proto, kind, i);
        TN_TRY(decode(r, &item, &inner, &items[i], diag));
        sequence->elem_dtype = item_dtype(&items[i]);
    }
    *out = (struct tn_value_ref){.kind = TN_KIND_SEQUENCE, .as.sequence = sequence};
    return TN_OK;
}

static tn_status decode_optional(struct tn__reader *r, const Onnx__OptionalProto *proto,
    const struct tn_type *type, struct tn_value_ref *out, struct tn_diag *diag) {
    uint32_t kind = kind_of(proto->elem_type);
    struct item item = {proto->tensor_value, proto->sparse_tensor_value,
        proto->sequence_value, proto->map_value, proto->optional_value};
    const void *members[] = {[TN_KIND_ABSENT] = NULL,
        [TN_KIND_TENSOR] = item.tensor,
        [TN_KIND_SEQUENCE] = item.sequence,
        [TN_KIND_MAP] = item.map,
        [TN_KIND_OPTIONAL] = item.optional,
        [TN_KIND_SPARSE] = item.sparse};
    for (uint32_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (members[i] && i != kind)
            return fail_kind("an optional", proto->elem_type, diag);
    }
    struct tn_optional *optional = room(r, 1, sizeof *optional);
    if (!optional) return tn__fail_memory(diag, "an optional", sizeof *optional);
    struct tn_type inner = inner_type(type);
    *optional = (struct tn_optional){.elem_kind = kind, .elem_dtype = inner.dtype};
    if (kind == TN_KIND_ABSENT) optional->elem_kind = inner.kind;
    if (members[kind]) {
        TN_TRY(decode(r, &item, &inner, &optional->value, diag));
        optional->elem_dtype = item_dtype(&optional->value);
    }
    *out = (struct tn_value_ref){.kind = TN_KIND_OPTIONAL, .as.optional = optional};
    return TN_OK;
}

/* A tensor along axis 0 from a sequence of scalars or tensors of one element. */
static tn_status stack_values(struct tn__reader *r, const struct tn_sequence *items,
    struct tn_tensor *out, struct tn_diag *diag) {
    uint64_t width = 0, total;
    for (uint64_t i = 0; i < items->count; i++) {
        const struct tn_tensor *item = items->items[i].as.tensor;
        if (items->items[i].kind != TN_KIND_TENSOR || item->dtype != items->elem_dtype ||
            item->size != tn_dtype_bits(item->dtype) / 8)
            return tn__fail_rule(diag, TN_RULE_VALUE_KIND,
                "value %llu of a map is no tensor of one element of the map's type",
                (unsigned long long)i);
        width = item->size;
    }
    if (!tn_mul_size(width, items->count, &total))
        return tn__fail_memory(diag, "a map", UINT64_MAX);
    int64_t *dims = room(r, 1, sizeof *dims);
    char *data = room(r, 1, total);
    if (!dims || !data) return tn__fail_memory(diag, "a map", total);
    for (uint64_t i = 0; i < items->count; i++)
        memcpy(data + i * width, items->items[i].as.tensor->data, width);
    dims[0] = (int64_t)items->count;
    *out = (struct tn_tensor){
        .data = data, .dims = dims, .size = total, .dtype = items->elem_dtype, .rank = 1};
    return TN_OK;
}

static tn_status check_keys(const Onnx__MapProto *proto, struct tn_diag *diag) {
    const uint64_t integers = TN_BIT(INT8) | TN_BIT(INT16) | TN_BIT(INT32) |
                              TN_BIT(INT64) | TN_BIT(UINT8) | TN_BIT(UINT16) |
                              TN_BIT(UINT32) | TN_BIT(UINT64);
    int32_t type = proto->key_type;
    bool strings = type == TN_STRING;
    if (!strings && (type < 1 || type >= TN_DTYPE_COUNT || !(integers >> type & 1)))
        return tn__fail_rule(diag, TN_RULE_VALUE_KIND,
            "a map has keys of element type %d, expected string or an integer", type);
    if (strings ? proto->n_keys == 0 : proto->n_string_keys == 0) return TN_OK;
    return tn__fail_rule(diag, TN_RULE_VALUE_KIND,
        "a map with keys of %s has keys of the other kind too", tn_dtype_name(type));
}

static tn_status decode_keys(struct tn__reader *r, const Onnx__MapProto *proto,
    struct tn_tensor *out, struct tn_diag *diag) {
    bool strings = proto->key_type == TN_STRING;
    size_t n = strings ? proto->n_string_keys : proto->n_keys;
    int64_t *dims = room(r, 1, sizeof *dims);
    if (!dims) return tn__fail_memory(diag, "a map", n);
    dims[0] = (int64_t)n;
    *out = (struct tn_tensor){
        .dims = dims, .rank = 1, .dtype = strings ? TN_STRING : TN_INT64, .size = n * 8};
    if (!strings) {
        out->data = tn__arena_copy(r->arena, proto->keys, n * sizeof *proto->keys);
        return out->data ? TN_OK : tn__fail_memory(diag, "a map", n);
    }
    struct tn_string *keys = room(r, n, sizeof *keys);
    if (!keys) return tn__fail_memory(diag, "a map", n * sizeof *keys);
    for (size_t i = 0; i < n; i++) {
        keys[i].size = proto->string_keys[i].len;
        keys[i].data = tn__arena_string(
            r->arena, (const char *)proto->string_keys[i].data, keys[i].size);
        if (!keys[i].data) return tn__fail_memory(diag, "a map", keys[i].size);
    }
    out->data = keys;
    out->size = n * sizeof *keys;
    return TN_OK;
}

static tn_status decode_map(struct tn__reader *r, const Onnx__MapProto *proto,
    const struct tn_type *type, struct tn_value_ref *out, struct tn_diag *diag) {
    struct tn_map *map = room(r, 1, sizeof *map);
    struct tn_value_ref values = {0};
    static const Onnx__SequenceProto none = ONNX__SEQUENCE_PROTO__INIT;
    if (!map) return tn__fail_memory(diag, "a map", sizeof *map);
    /* without values the declared type says what they would be */
    const struct tn_type list = {.kind = TN_KIND_SEQUENCE,
        .elem_kind = TN_KIND_TENSOR,
        .dtype = type && type->dtype ? type->dtype : TN_FLOAT,
        .rank = -1};
    TN_TRY(check_keys(proto, diag));
    TN_TRY(decode_keys(r, proto, &map->keys, diag));
    TN_TRY(
        decode_sequence(r, proto->values ? proto->values : &none, &list, &values, diag));
    TN_TRY(stack_values(r, values.as.sequence, &map->values, diag));
    if (map->keys.dims[0] != map->values.dims[0])
        return tn__fail_rule(diag, TN_RULE_VALUE_KIND,
            "a map has %lld keys and %lld values", (long long)map->keys.dims[0],
            (long long)map->values.dims[0]);
    *out = (struct tn_value_ref){.kind = TN_KIND_MAP, .as.map = map};
    return TN_OK;
}

static tn_status decode_leaf(struct tn__reader *r, const struct item *item,
    struct tn_value_ref *out, struct tn_diag *diag) {
    if (item->tensor) {
        struct tn_tensor *tensor = room(r, 1, sizeof *tensor);
        if (!tensor) return tn__fail_memory(diag, "a tensor", sizeof *tensor);
        *out = (struct tn_value_ref){.kind = TN_KIND_TENSOR, .as.tensor = tensor};
        TN_TRY(tn__read_tensor(r, item->tensor, tensor, diag));
        tensor->flags = 0;
        return TN_OK;
    }
    struct tn_sparse *sparse = room(r, 1, sizeof *sparse);
    if (!sparse) return tn__fail_memory(diag, "a sparse tensor", sizeof *sparse);
    *out = (struct tn_value_ref){.kind = TN_KIND_SPARSE, .as.sparse = sparse};
    return tn__read_sparse(r, item->sparse, sparse, diag);
}

/* Recursion is bounded twice: by the walker's depth and here. */
static tn_status decode(struct tn__reader *r, const struct item *item,
    const struct tn_type *type, struct tn_value_ref *out, struct tn_diag *diag) {
    if (item->tensor || item->sparse) return decode_leaf(r, item, out, diag);
    if (r->depth >= MAX_NESTING)
        return tn__fail_as(diag, TN_LIMIT_EXCEEDED, TN_RULE_LIMIT_DEPTH,
            "a value nests deeper than %d levels", MAX_NESTING);
    r->depth++;
    tn_status status =
        item->sequence   ? decode_sequence(r, item->sequence, type, out, diag)
        : item->optional ? decode_optional(r, item->optional, type, out, diag)
                         : decode_map(r, item->map, type, out, diag);
    r->depth--;
    return status;
}

tn_status tn__value_decode(struct tn_arena *arena, const void *data, uint64_t size,
    const struct tn_type *type, struct tn_value_ref *out, struct tn_diag *diag) {
    static const ProtobufCMessageDescriptor *const types[] = {
        [TN_KIND_ABSENT] = &onnx__tensor_proto__descriptor,
        [TN_KIND_TENSOR] = &onnx__tensor_proto__descriptor,
        [TN_KIND_SEQUENCE] = &onnx__sequence_proto__descriptor,
        [TN_KIND_MAP] = &onnx__map_proto__descriptor,
        [TN_KIND_OPTIONAL] = &onnx__optional_proto__descriptor,
        [TN_KIND_SPARSE] = &onnx__sparse_tensor_proto__descriptor};
    uint32_t kind = type ? type->kind : TN_KIND_TENSOR;
    if (kind >= sizeof types / sizeof types[0])
        return tn_fail(
            diag, TN_UNSUPPORTED, "values of kind %u have no serialised form", kind);
    struct tn__reader r = {.arena = arena, .copy = true, .label = "the value"};
    r.limits = tn__load_limits(NULL);
    r.temp = tn__arena_create();
    if (!r.temp) return tn__fail_memory(diag, "a value", size);
    ProtobufCMessage *message;
    tn_status status = tn__wire_parse(
        r.temp, r.arena, types[kind], data, size, r.label, &message, &r.payloads, diag);
    if (status == TN_OK) {
        const void *m = message;
        struct item item = {0};
        if (kind == TN_KIND_ABSENT || kind == TN_KIND_TENSOR) item.tensor = m;
        if (kind == TN_KIND_SPARSE) item.sparse = m;
        if (kind == TN_KIND_SEQUENCE) item.sequence = m;
        if (kind == TN_KIND_MAP) item.map = m;
        if (kind == TN_KIND_OPTIONAL) item.optional = m;
        status = decode(&r, &item, type, out, diag);
    }
    tn__arena_destroy(r.temp);
    return status;
}
