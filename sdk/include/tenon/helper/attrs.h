/* Attributes of an operator, written once as a list and read once into a plain struct.
 *
 *     #define CLAMP_ATTRS(X, S)                                                        \
 *         X(S, FLOAT, low, 0.0f)                                                       \
 *         X(S, INTS, axes, )                                                           \
 *         X(S, INT_REQUIRED, to, )
 *     TN_ATTR_TABLE(clamp, CLAMP_ATTRS)
 *
 * gives struct clamp_attrs {float low; struct tn_attr_ints axes; int64_t to;}, the schema
 * rows clamp_attr_defs[] for tn_op_def.attrs, and the parser's rows clamp_attr_fields[].
 * In create: TN_TRY(TN_ATTRS_READ(clamp, ctx->node, &attrs, ctx->diag)). Values are
 * borrowed from the node, which outlives the kernel. A list, tensor or graph that is
 * absent has present == 0; the numbers and strings have the default. */
#ifndef TENON_HELPER_ATTRS_H
#define TENON_HELPER_ATTRS_H

#include "tenon/graph.h"
#include "tenon/helper/diag.h"
#include "tenon/op.h"

#include <string.h>

#define TN_ATTR_LIST_OF(name, type)                                                      \
    struct name {                                                                        \
        const type *v;                                                                   \
        uint32_t n;                                                                      \
        uint32_t present;                                                                \
    };
TN_ATTR_LIST_OF(tn_attr_ints, int64_t)
TN_ATTR_LIST_OF(tn_attr_floats, float)
TN_ATTR_LIST_OF(tn_attr_strings, struct tn_string)
TN_ATTR_LIST_OF(tn_attr_tensor, struct tn_tensor)
TN_ATTR_LIST_OF(tn_attr_sparse, struct tn_sparse)
TN_ATTR_LIST_OF(tn_attr_type, struct tn_type)
#undef TN_ATTR_LIST_OF
struct tn_attr_graph {
    struct tn_graph *const *v;
    uint32_t n;
    uint32_t present;
};

/* One row of the parser's table. */
struct tn_attr_field {
    const char *name;
    uint32_t type; /* TN_ATTR_* */
    uint32_t flags;
    size_t offset, size;
    int64_t default_int;
    float default_float;
    const char *default_string;
};

#if defined(__GNUC__)
#define TN_ATTR_UNUSED __attribute__((unused)) /* operators may share a parser */
#else
#define TN_ATTR_UNUSED
#endif

/* clang-format off */
/* Of each kind: member type, number, flags, the three defaults of a row. */
#define TN_ATTR_C_INT int64_t
#define TN_ATTR_C_INT_REQUIRED int64_t
#define TN_ATTR_C_FLOAT float
#define TN_ATTR_C_FLOAT_REQUIRED float
#define TN_ATTR_C_STRING struct tn_string
#define TN_ATTR_C_STRING_REQUIRED struct tn_string
#define TN_ATTR_C_INTS struct tn_attr_ints
#define TN_ATTR_C_INTS_REQUIRED struct tn_attr_ints
#define TN_ATTR_C_FLOATS struct tn_attr_floats
#define TN_ATTR_C_STRINGS struct tn_attr_strings
#define TN_ATTR_C_TENSOR struct tn_attr_tensor
#define TN_ATTR_C_SPARSE_TENSOR struct tn_attr_sparse
#define TN_ATTR_C_TYPE_PROTO struct tn_attr_type
#define TN_ATTR_C_GRAPH struct tn_attr_graph
#define TN_ATTR_C_GRAPH_REQUIRED struct tn_attr_graph

#define TN_ATTR_R_INT(d) TN_ATTR_INT, 0
#define TN_ATTR_R_INT_REQUIRED(d) TN_ATTR_INT, TN_ATTR_REQUIRED
#define TN_ATTR_R_FLOAT(d) TN_ATTR_FLOAT, 0
#define TN_ATTR_R_FLOAT_REQUIRED(d) TN_ATTR_FLOAT, TN_ATTR_REQUIRED
#define TN_ATTR_R_STRING(d) TN_ATTR_STRING, 0
#define TN_ATTR_R_STRING_REQUIRED(d) TN_ATTR_STRING, TN_ATTR_REQUIRED
#define TN_ATTR_R_INTS(d) TN_ATTR_INTS, 0
#define TN_ATTR_R_INTS_REQUIRED(d) TN_ATTR_INTS, TN_ATTR_REQUIRED
#define TN_ATTR_R_FLOATS(d) TN_ATTR_FLOATS, 0
#define TN_ATTR_R_STRINGS(d) TN_ATTR_STRINGS, 0
#define TN_ATTR_R_TENSOR(d) TN_ATTR_TENSOR, 0
#define TN_ATTR_R_SPARSE_TENSOR(d) TN_ATTR_SPARSE_TENSOR, 0
#define TN_ATTR_R_TYPE_PROTO(d) TN_ATTR_TYPE_PROTO, 0
#define TN_ATTR_R_GRAPH(d) TN_ATTR_GRAPH, 0
#define TN_ATTR_R_GRAPH_REQUIRED(d) TN_ATTR_GRAPH, TN_ATTR_REQUIRED

#define TN_ATTR_D_INT(d) (d), 0.0f, NULL
#define TN_ATTR_D_FLOAT(d) 0, (d), NULL
#define TN_ATTR_D_STRING(d) 0, 0.0f, (d)
#define TN_ATTR_D_INT_REQUIRED(d) 0, 0.0f, NULL
#define TN_ATTR_D_FLOAT_REQUIRED(d) 0, 0.0f, NULL
#define TN_ATTR_D_STRING_REQUIRED(d) 0, 0.0f, NULL
#define TN_ATTR_D_INTS(d) 0, 0.0f, NULL
#define TN_ATTR_D_INTS_REQUIRED(d) 0, 0.0f, NULL
#define TN_ATTR_D_FLOATS(d) 0, 0.0f, NULL
#define TN_ATTR_D_STRINGS(d) 0, 0.0f, NULL
#define TN_ATTR_D_TENSOR(d) 0, 0.0f, NULL
#define TN_ATTR_D_SPARSE_TENSOR(d) 0, 0.0f, NULL
#define TN_ATTR_D_TYPE_PROTO(d) 0, 0.0f, NULL
#define TN_ATTR_D_GRAPH(d) 0, 0.0f, NULL
#define TN_ATTR_D_GRAPH_REQUIRED(d) 0, 0.0f, NULL

#define TN_ATTR_MEMBER_(S, kind, member, d) TN_ATTR_C_##kind member;
#define TN_ATTR_DEF_(S, kind, member, d) {#member, TN_ATTR_R_##kind(d)},
#define TN_ATTR_FIELD_(S, kind, member, d)                                               \
    {#member, TN_ATTR_R_##kind(d), offsetof(S, member), sizeof(TN_ATTR_C_##kind), TN_ATTR_D_##kind(d)},
#define TN_ATTR_TABLE(name, LIST)                                                        \
    struct name##_attrs { LIST(TN_ATTR_MEMBER_, ) };                                     \
    TN_ATTR_UNUSED static const struct tn_attr_def name##_attr_defs[] = {                \
        LIST(TN_ATTR_DEF_, ) };                                                          \
    TN_ATTR_UNUSED static const struct tn_attr_field name##_attr_fields[] = {            \
        LIST(TN_ATTR_FIELD_, struct name##_attrs) };
/* clang-format on */

#define TN_ATTRS_READ(name, node, out_attrs, diag)                                       \
    tn_attrs_read((node), name##_attr_fields,                                            \
        (uint32_t)(sizeof name##_attr_fields / sizeof name##_attr_fields[0]),            \
        (out_attrs), (diag))

/* Writes one member from its attribute, or from its default when attr is NULL. */
static inline void tn_attr_store(
    const struct tn_attr_field *field, const struct tn_attr *attr, void *out_struct) {
    union {
        int64_t number;
        float real;
        struct tn_string string;
        struct tn_attr_ints list; /* every other kind is a pointer and its count */
    } value;
    memset(&value, 0, sizeof value);
    if (field->type == TN_ATTR_INT) {
        value.number = attr ? attr->as.ints[0] : field->default_int;
    } else if (field->type == TN_ATTR_FLOAT) {
        value.real = attr ? attr->as.floats[0] : field->default_float;
    } else if (field->type == TN_ATTR_STRING) {
        value.string.data = field->default_string;
        value.string.size = field->default_string ? strlen(field->default_string) : 0;
        if (attr) value.string = attr->as.strings[0];
    } else if (attr) {
        value.list.v = attr->as.ints;
        value.list.n = attr->count;
        value.list.present = 1;
    }
    memcpy((char *)out_struct + field->offset, &value, field->size);
}

/* Reads a node's attributes into the struct that the table describes: see TN_ATTRS_READ.
 */
static inline tn_status tn_attrs_read(const struct tn_node *node,
    const struct tn_attr_field *fields, uint32_t n_fields, void *out_struct,
    struct tn_diag *diag) {
    for (uint32_t i = 0; i < n_fields; i++) {
        const struct tn_attr *attr = tn_node_attr(node, fields[i].name);
        if (!attr && (fields[i].flags & TN_ATTR_REQUIRED))
            return tn_fail(diag, TN_INVALID_MODEL,
                "required attribute '%s' is missing; add it to the node", fields[i].name);
        if (attr && attr->type != fields[i].type)
            return tn_fail(diag, TN_INVALID_MODEL,
                "attribute '%s' has type %u, expected %u (AttributeProto.AttributeType)",
                fields[i].name, attr->type, fields[i].type);
        if (attr && fields[i].type < TN_ATTR_FLOATS && (attr->count < 1 || !attr->as.ptr))
            return tn_fail(
                diag, TN_INVALID_MODEL, "attribute '%s' holds no value", fields[i].name);
        tn_attr_store(&fields[i], attr, out_struct);
    }
    return TN_OK;
}

/* Whether a string value is this text. */
static inline int tn_string_is(struct tn_string string, const char *text) {
    size_t n = strlen(text);
    return string.size == n && (n == 0 || memcmp(string.data, text, n) == 0);
}

#endif
