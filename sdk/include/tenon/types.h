/* Element types and the plain structs that every kernel call carries.
 *
 * The element type numbers are ONNX's TensorProto.DataType, verbatim. All structs here
 * are frozen within an ABI major: fixed size, no padding that is not named.
 *
 * Includes nothing but libc. C11 and C++17. */
#ifndef TENON_TYPES_H
#define TENON_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TN_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define TN_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

/* End of a field: what struct_size holds, because sizeof counts tail padding. */
#define TN_END_OF(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))
/* True when the builder of *p knew the field and set it. */
#define TN_HAS(p, field)                                                                 \
    ((uint64_t)(p)->struct_size >=                                                       \
            (uint64_t)((const char *)(&(p)->field + 1) - (const char *)(p)) &&           \
        (p)->field != 0)

/* X(NAME, number, bits per element, text). A string element is a struct tn_string. */
#define TN_DTYPE_LIST(X)                                                                 \
    X(FLOAT, 1, 32, "float")                                                             \
    X(UINT8, 2, 8, "uint8")                                                              \
    X(INT8, 3, 8, "int8")                                                                \
    X(UINT16, 4, 16, "uint16")                                                           \
    X(INT16, 5, 16, "int16")                                                             \
    X(INT32, 6, 32, "int32")                                                             \
    X(INT64, 7, 64, "int64")                                                             \
    X(STRING, 8, 128, "string")                                                          \
    X(BOOL, 9, 8, "bool")                                                                \
    X(FLOAT16, 10, 16, "float16")                                                        \
    X(DOUBLE, 11, 64, "double")                                                          \
    X(UINT32, 12, 32, "uint32")                                                          \
    X(UINT64, 13, 64, "uint64")                                                          \
    X(COMPLEX64, 14, 64, "complex64")                                                    \
    X(COMPLEX128, 15, 128, "complex128")                                                 \
    X(BFLOAT16, 16, 16, "bfloat16")                                                      \
    X(FLOAT8E4M3FN, 17, 8, "float8e4m3fn")                                               \
    X(FLOAT8E4M3FNUZ, 18, 8, "float8e4m3fnuz")                                           \
    X(FLOAT8E5M2, 19, 8, "float8e5m2")                                                   \
    X(FLOAT8E5M2FNUZ, 20, 8, "float8e5m2fnuz")                                           \
    X(UINT4, 21, 4, "uint4")                                                             \
    X(INT4, 22, 4, "int4")                                                               \
    X(FLOAT4E2M1, 23, 4, "float4e2m1")                                                   \
    X(FLOAT8E8M0, 24, 8, "float8e8m0")                                                   \
    X(UINT2, 25, 2, "uint2")                                                             \
    X(INT2, 26, 2, "int2")

/* clang-format off */
enum {
    TN_UNDEFINED = 0,
#define TN_DTYPE_ENUM(name, number, bits, text) TN_##name = number,
    TN_DTYPE_LIST(TN_DTYPE_ENUM)
#undef TN_DTYPE_ENUM
    TN_DTYPE_COUNT = 27
};
/* clang-format on */

/* A set of element types is a 64-bit mask with bit `number` set. */
#define TN_BIT(name) (UINT64_C(1) << TN_##name)

/* One element of a string tensor: UTF-8 bytes that may hold NUL, not terminated. */
struct tn_string {
    const char *data;
    uint64_t size; /* bytes */
};

/* Tensor flags. */
#define TN_TENSOR_CONST 1u /* the data never changes while the session lives */

/* A dense or strided n-dimensional array. Borrowed: whoever fills it owns data and dims.
 */
struct tn_tensor {
    void *data;             /* NULL only when the tensor has no elements */
    const int64_t *dims;    /* [rank], each >= 0; NULL when rank is 0 */
    const int64_t *strides; /* [rank] in elements; NULL = dense, row-major */
    uint64_t size;          /* bytes of data; sub-byte types are packed, low bits first */
    int32_t dtype;          /* TN_FLOAT … */
    uint32_t rank;          /* 0 = scalar */
    uint32_t space;         /* memory space; 0 = host */
    uint32_t layout;        /* 0 = plain row-major; others are a provider's own */
    uint32_t flags;         /* TN_TENSOR_* */
    uint32_t reserved[3];   /* zero */
};

/* Kinds of value. */
enum {
    TN_KIND_ABSENT = 0,   /* an optional input or output that is not there; ptr NULL */
    TN_KIND_TENSOR = 1,   /* ptr: struct tn_tensor */
    TN_KIND_SEQUENCE = 2, /* ptr: struct tn_sequence */
    TN_KIND_MAP = 3,      /* ptr: struct tn_map */
    TN_KIND_OPTIONAL = 4, /* ptr: struct tn_optional */
    TN_KIND_SPARSE = 5,   /* ptr: struct tn_sparse */
    TN_KIND_OPAQUE = 6    /* ptr: the plugin's own */
};

/* What flows along an edge of the graph. */
struct tn_value_ref {
    uint32_t kind; /* TN_KIND_* */
    uint32_t flags;
    union {
        void *ptr;
        struct tn_tensor *tensor;
        struct tn_sequence *sequence;
        struct tn_map *map;
        struct tn_optional *optional;
        struct tn_sparse *sparse;
    } as;
};

/* Keys [n] are int64 or strings; values are one dense tensor of n elements along axis 0. */
struct tn_map {
    struct tn_tensor keys;
    struct tn_tensor values;
};

/* A sequence of maps that all have the same keys may be kept as a table: `items` is NULL,
 * table->keys [n] are the keys of every map and table->values [count, n] their values, one
 * map a row. tn_sequence_item reads both forms. */
struct tn_sequence {
    struct tn_value_ref *items; /* [count] */
    uint64_t count;
    uint32_t elem_kind; /* kind and type of the elements; they matter when count is 0 */
    int32_t elem_dtype;
    struct tn_map *table; /* looked at when items is NULL and elem_kind TN_KIND_MAP */
};

struct tn_optional {
    struct tn_value_ref value; /* kind TN_KIND_ABSENT = none */
    uint32_t elem_kind;        /* what it would hold; matters when it holds none */
    int32_t elem_dtype;
};

/* Coordinate list: indices int64 [nnz] (linear) or [nnz, rank]; values [nnz]. */
struct tn_sparse {
    struct tn_tensor values;
    struct tn_tensor indices;
    const int64_t *dims;
    uint64_t rank;
};

TN_STATIC_ASSERT(sizeof(void *) == 8, "the ABI is for 64-bit little-endian hosts");
TN_STATIC_ASSERT(sizeof(struct tn_tensor) == 64, "frozen");
TN_STATIC_ASSERT(sizeof(struct tn_value_ref) == 16, "frozen");
TN_STATIC_ASSERT(sizeof(struct tn_string) == 16, "frozen");

/* Bits of one element, 0 when the number is not an element type. */
static inline uint32_t tn_dtype_bits(int32_t dtype) {
    switch (dtype) {
#define TN_DTYPE_CASE(name, number, bits, text)                                          \
    case number: return bits;
        TN_DTYPE_LIST(TN_DTYPE_CASE)
#undef TN_DTYPE_CASE
    default: return 0;
    }
}

/* Lower-case ONNX text name of an element type, "undefined" when there is none. */
static inline const char *tn_dtype_name(int32_t dtype) {
    switch (dtype) {
#define TN_DTYPE_CASE(name, number, bits, text)                                          \
    case number: return text;
        TN_DTYPE_LIST(TN_DTYPE_CASE)
#undef TN_DTYPE_CASE
    default: return "undefined";
    }
}

/* The table that a sequence of maps is kept as, NULL when its maps stand for themselves. */
static inline const struct tn_map *tn_sequence_table(const struct tn_sequence *sequence) {
    return !sequence->items && sequence->elem_kind == TN_KIND_MAP ? sequence->table
                                                                  : NULL;
}

/* Item i of a sequence in either form. A map of a table is described in *storage: nothing
 * is copied, and it lives as long as both. */
static inline struct tn_value_ref tn_sequence_item(
    const struct tn_sequence *sequence, uint64_t i, struct tn_map *storage) {
    const struct tn_map *table = tn_sequence_table(sequence);
    struct tn_value_ref item;
    uint64_t width = 0;
    uint32_t d;
    if (!table) return sequence->items[i];
    width = tn_dtype_bits(table->values.dtype) / 8;
    for (d = 1; d < table->values.rank; d++)
        width *= (uint64_t)table->values.dims[d];
    *storage = *table;
    storage->values.data = (char *)table->values.data + i * width;
    storage->values.size = width;
    storage->values.dims = table->values.dims + 1;
    storage->values.rank = table->values.rank - 1;
    item.kind = TN_KIND_MAP;
    item.flags = 0;
    item.as.map = storage;
    return item;
}

#ifdef __cplusplus
}
#endif
#endif
