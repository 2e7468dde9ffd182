/* Declared types. The runtime's types are flat (kind, kind inside, element type, shape),
 * so nested containers keep their outer two kinds and the innermost tensor. */
#include "core/model/reader.h"

#include <string.h>

/* A name that stands for one size. Exporters of Python write None, and ONNX's own tools ?, for
 * a size they do not know: two of those need not be equal. */
static bool names_a_size(const char *name) {
    return name && name[0] && strcmp(name, "None") != 0 && strcmp(name, "?") != 0;
}

static tn_status read_shape(struct tn__reader *r, const Onnx__TensorShapeProto *shape,
    struct tn_type *out, struct tn_diag *diag) {
    out->rank = -1;
    if (!shape) return TN_OK;
    int64_t *dims = tn__arena_array(r->temp, shape->n_dim, sizeof *dims);
    if (!dims) return tn__fail_memory(diag, "a shape", shape->n_dim);
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
        if (names_a_size(dim->dim_param))
            dims[i] = tn__symbol_named(r->model->symbols, dim->dim_param);
        else if (dim->has_dim_value && dim->dim_value >= 0)
            dims[i] = dim->dim_value;
        else /* absent, or -1 as some exporters write it */
            dims[i] = tn__symbol_fresh(r->model->symbols);
        if (dims[i] == TN_DIM_UNKNOWN) return tn__fail_memory(diag, "a symbol", 0);
    }
    out->rank = (int32_t)shape->n_dim;
    out->dims = dims;
    return TN_OK;
}

static tn_status fail_type(const char *what, const char *name, uint32_t rule,
    const char *found, struct tn_diag *diag) {
    if (diag) tn__diag_name(diag, diag->tensor, name);
    return tn__fail_rule(diag, rule, "%s '%.120s': its type %s", what, name, found);
}

static tn_status read_tensor_type(struct tn__reader *r,
    const Onnx__TypeProto__Tensor *tensor, const char *what, const char *name,
    struct tn_type *out, struct tn_diag *diag) {
    out->dtype = tensor->elem_type;
    if (out->dtype != TN_UNDEFINED && tn_dtype_bits(out->dtype) == 0) {
        char found[64];
        snprintf(found, sizeof found, "has element type %d, expected 1 to %d", out->dtype,
            TN_DTYPE_COUNT - 1);
        return fail_type(what, name, TN_RULE_TYPE_ELEMENT, found, diag);
    }
    if (tensor->shape && tensor->shape->n_dim > TN_MAX_RANK) {
        char found[64];
        snprintf(found, sizeof found, "has %zu dimensions, at most %d are supported",
            tensor->shape->n_dim, TN_MAX_RANK);
        return fail_type(what, name, TN_RULE_TENSOR_RANK, found, diag);
    }
    return read_shape(r, tensor->shape, out, diag);
}

/* The one member that is set, its kind and, for a container, the type inside. */
static const Onnx__TypeProto *open_type(
    const Onnx__TypeProto *proto, uint32_t *out_kind, uint32_t *out_members) {
    const struct {
        uint32_t kind;
        const void *member;
        const Onnx__TypeProto *inner;
    } members[] = {
        {TN_KIND_TENSOR, proto->tensor_type, NULL},
        {TN_KIND_SPARSE, proto->sparse_tensor_type, NULL},
        {TN_KIND_OPAQUE, proto->opaque_type, NULL},
        {TN_KIND_SEQUENCE, proto->sequence_type,
            proto->sequence_type ? proto->sequence_type->elem_type : NULL},
        {TN_KIND_OPTIONAL, proto->optional_type,
            proto->optional_type ? proto->optional_type->elem_type : NULL},
        {TN_KIND_MAP, proto->map_type,
            proto->map_type ? proto->map_type->value_type : NULL},
    };
    const Onnx__TypeProto *inner = NULL;
    *out_kind = TN_KIND_ABSENT;
    *out_members = 0;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!members[i].member) continue;
        *out_kind = members[i].kind;
        inner = members[i].inner;
        ++*out_members;
    }
    return inner;
}

tn_status tn__read_type(struct tn__reader *r, const Onnx__TypeProto *proto,
    const char *what, const char *name, struct tn_type *out, struct tn_diag *diag) {
    *out = (struct tn_type){.rank = -1};
    for (unsigned level = 0; proto; level++) {
        uint32_t kind, n_members;
        const Onnx__TypeProto *inner = open_type(proto, &kind, &n_members);
        if (n_members > 1)
            return fail_type(what, name, TN_RULE_TYPE_INVALID,
                "is several kinds at once, expected one", diag);
        if (level == 0) out->kind = kind;
        if (level == 1) out->elem_kind = kind;
        if (kind == TN_KIND_TENSOR || kind == TN_KIND_SPARSE) {
            TN_TRY(read_tensor_type(r,
                kind == TN_KIND_TENSOR ? proto->tensor_type : proto->sparse_tensor_type,
                what, name, out, diag));
            if (level == 0 && out->dtype == TN_UNDEFINED) out->kind = TN_KIND_ABSENT;
            return TN_OK;
        }
        if (kind == TN_KIND_MAP) {
            out->key_dtype = proto->map_type->key_type;
            if (tn_dtype_bits(out->key_dtype) == 0)
                return fail_type(what, name, TN_RULE_TYPE_ELEMENT,
                    "is a map without a valid key type", diag);
        }
        bool container = kind != TN_KIND_OPAQUE && kind != TN_KIND_ABSENT;
        if (container && !inner)
            return fail_type(what, name, TN_RULE_TYPE_INVALID,
                "is a container of nothing, expected a type inside", diag);
        proto = inner;
    }
    return TN_OK;
}
