/* Rows of the two tables of a plugin, written as a reader wants to see them:
 *
 *     static const struct tn_op_def defs[] = {
 *         {TN_DEF("com.example", "Clamp"),
 *             TN_VERSIONS({1}),
 *             TN_INPUTS({"x", "T"}),
 *             TN_OUTPUTS({"y", "T"}),
 *             TN_TYPE_VARS({"T", TN_TYPES_FLOATS}),
 *             TN_ATTRS(clamp), .infer = infer_clamp},
 *     };
 *     static const struct tn_kernel_def kernels[] = {
 *         {TN_KERNEL_OF("com.example", "Clamp", 1), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}),
 *             .create = create_clamp, .compute = compute_clamp},
 *     };
 *
 * All versions are listed; formals, types and attributes are those of the newest.
 * `TN_ATTRS(clamp)` names the tables that TN_ATTR_TABLE(clamp, LIST) made
 * (tenon/helper/attrs.h). */
#ifndef TENON_HELPER_ROWS_H
#define TENON_HELPER_ROWS_H

#include "tenon/op.h"

#define TN_COUNT(array) (uint32_t)(sizeof(array) / sizeof *(array))

/* clang-format off */
/* ---- members of a definition row ------------------------------------------------------- */

#define TN_ROWS(type, ...) (const type[]){__VA_ARGS__}
#define TN_ROW_COUNT(type, ...) (uint32_t)(sizeof((const type[]){__VA_ARGS__}) / sizeof(type))
#define TN_DEF(domain_text, name) \
    .struct_size = TN_OP_DEF_SIZE, .domain = domain_text, .op_type = name
#define TN_VERSIONS(...) \
    .versions = TN_ROWS(struct tn_op_version, __VA_ARGS__), \
    .n_versions = TN_ROW_COUNT(struct tn_op_version, __VA_ARGS__)
#define TN_INPUTS(...) \
    .inputs = TN_ROWS(struct tn_formal, __VA_ARGS__), \
    .n_inputs = TN_ROW_COUNT(struct tn_formal, __VA_ARGS__)
#define TN_OUTPUTS(...) \
    .outputs = TN_ROWS(struct tn_formal, __VA_ARGS__), \
    .n_outputs = TN_ROW_COUNT(struct tn_formal, __VA_ARGS__)
#define TN_TYPE_VARS(...) \
    .type_vars = TN_ROWS(struct tn_type_var, __VA_ARGS__), \
    .n_type_vars = TN_ROW_COUNT(struct tn_type_var, __VA_ARGS__)
#define TN_ATTRS(name) .attrs = name##_attr_defs, .n_attrs = TN_COUNT(name##_attr_defs)

/* ---- members of a kernel row --------------------------------------------------------- */

/* since = the newest version. Frees the kernel object by tenon/helper/kernel.h. */
#define TN_KERNEL_OF(domain_text, name, version) \
    TN_KERNEL_FOR("cpu", domain_text, name, version)
/* … of another provider than "cpu" */
#define TN_KERNEL_FOR(provider_id, domain_text, name, version) \
    .struct_size = TN_KERNEL_DEF_SIZE, .provider = provider_id, .domain = domain_text, \
    .op_type = name, .since = version, .destroy = tn_kernel_destroy
#define TN_INPLACE(...) \
    .inplace = TN_ROWS(struct tn_inplace, __VA_ARGS__), \
    .n_inplace = TN_ROW_COUNT(struct tn_inplace, __VA_ARGS__)
#define TN_KERNEL_TYPES(...) \
    .types = TN_ROWS(struct tn_type_constraint, __VA_ARGS__), \
    .n_types = TN_ROW_COUNT(struct tn_type_constraint, __VA_ARGS__)

/* ---- sets of element types ------------------------------------------------------------ */

#define TN_TYPES_F16_UP (TN_BIT(FLOAT16) | TN_BIT(FLOAT) | TN_BIT(DOUBLE))
#define TN_TYPES_FLOATS (TN_TYPES_F16_UP | TN_BIT(BFLOAT16))
#define TN_TYPES_SIGNED (TN_BIT(INT8) | TN_BIT(INT16) | TN_BIT(INT32) | TN_BIT(INT64))
#define TN_TYPES_UNSIGNED (TN_BIT(UINT8) | TN_BIT(UINT16) | TN_BIT(UINT32) | TN_BIT(UINT64))
#define TN_TYPES_INTS (TN_TYPES_SIGNED | TN_TYPES_UNSIGNED)
#define TN_TYPES_NUMBERS (TN_TYPES_FLOATS | TN_TYPES_INTS)
#define TN_TYPES_INDEX (TN_BIT(INT32) | TN_BIT(INT64))
/* what the loops widen to float block by block */
#define TN_TYPES_NARROW_FLOATS (TN_BIT(FLOAT16) | TN_BIT(BFLOAT16) | TN_TYPES_F8)
/* float, bfloat16, int32, int64, uint32, uint64, …: the types of sums */
#define TN_TYPES_WIDE (TN_TYPES_FLOATS | TN_TYPES_INDEX | TN_BIT(UINT32) | TN_BIT(UINT64))
#define TN_TYPES_COMPLEX (TN_BIT(COMPLEX64) | TN_BIT(COMPLEX128))
#define TN_TYPES_F8 (TN_BIT(FLOAT8E4M3FN) | TN_BIT(FLOAT8E4M3FNUZ) | TN_BIT(FLOAT8E5M2) | \
    TN_BIT(FLOAT8E5M2FNUZ))
#define TN_TYPES_SUB_BYTE (TN_BIT(UINT4) | TN_BIT(INT4) | TN_BIT(FLOAT4E2M1) | TN_BIT(UINT2) | \
    TN_BIT(INT2))
/* the types of ONNX up to opset 12 plus bfloat16: what most movers of data take */
#define TN_TYPES_CLASSIC (TN_TYPES_NUMBERS | TN_TYPES_COMPLEX | TN_BIT(BOOL) | TN_BIT(STRING))
#define TN_TYPES_ALL (TN_TYPES_CLASSIC | TN_TYPES_F8 | TN_BIT(FLOAT8E8M0) | TN_TYPES_SUB_BYTE)
/* clang-format on */

#endif
