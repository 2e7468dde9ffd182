/* How an operator family is written.
 *
 * A family is one file ops/<family>.c with two tables: definitions (what each operator is)
 * and kernels (the cpu provider's way to run it). It ends in
 *
 *     TN_FAMILY(shape_view);
 *
 * and is known to the plugin by one row in TN_FAMILIES below and its line in meson.build.
 *
 * Definition row:
 *     {TN_DEF("", "Reshape"),
 *         TN_VERSIONS({1}, {5, 0, upgrade_reshape_5}, {13}, {14}),
 *         TN_INPUTS({"data", "T"}, {"shape", NULL, TN_BIT(INT64)}),
 *         TN_OUTPUTS({"reshaped", "T"}),
 *         TN_TYPE_VARS({"T", TN_TYPES_ALL}),
 *         TN_ATTRS(reshape), .infer = infer_reshape, .elide = elide_reshape}
 * All versions are listed. Formals, types and attributes are those of the newest; older
 * nodes are rewritten to it by the upgrades of the rows that carry one. A step that only
 * widens types, or adds an attribute whose default keeps the meaning, has no upgrade.
 * `TN_ATTRS(reshape)` names the tables that TN_ATTR_TABLE(reshape, LIST) made
 * (tenon/helper/attrs.h).
 *
 * Kernel row:
 *     {TN_KERNEL("", "Reshape", 25), TN_INPLACE({0, 0, TN_INPLACE_VIEW}),
 *         .compute = compute_copy}
 * since = the newest version. `create` ends in tn__kernel_ready; it allocates the kernel object with
 * tn__kernel_create (its struct begins with struct tn__kernel) and parses attributes into
 * it once; TN_KERNEL sets destroy to tn__kernel_destroy. What depends on shapes is computed
 * once in `prepare` into args->state (sized by `workspace`), which may also pick a
 * specialised compute function; compute then only runs.
 *
 * Loops over elements are never written here: loops/elementwise.h (broadcast), reduce.h,
 * copy.h (strided moves by element size) and parallel.h know strides and threads. */
#ifndef TENON_CPU_OPS_H
#define TENON_CPU_OPS_H

#include "cpu.h"
#include "tenon/helper/attrs.h"
#include "tenon/helper/broadcast.h"
#include "tenon/helper/diag.h"
#include "tenon/helper/shape.h"
#include "tenon/op.h"

/* ---- families ------------------------------------------------------------------------ */

struct tn__family {
    const struct tn_op_def *defs;
    const struct tn_kernel_def *kernels;
    uint32_t n_defs, n_kernels;
};

/* clang-format off */
#define TN_FAMILIES(X) \
    X(affine_grid) \
    X(argreduce) \
    X(attention) \
    X(batch_norm) \
    X(binary) \
    X(bitwise) \
    X(cast) \
    X(causal_conv) \
    X(center_crop_pad) \
    X(col2im) \
    X(compare) \
    X(concat_split) \
    X(control) \
    X(conv) \
    X(conv_transpose) \
    X(cumulative) \
    X(deform_conv) \
    X(det) \
    X(dft) \
    X(dropout) \
    X(einsum) \
    X(expand_tile) \
    X(fill) \
    X(flex_attention) \
    X(gather) \
    X(grid_sample) \
    X(integer_product) \
    X(linear_attention) \
    X(losses) \
    X(lrn) \
    X(matmul) \
    X(max_unpool) \
    X(mean_variance) \
    X(nms) \
    X(nonlinear) \
    X(norm) \
    X(optional) \
    X(place) \
    X(pool) \
    X(pow) \
    X(quantize) \
    X(random) \
    X(recurrent) \
    X(reduce) \
    X(regex_full_match) \
    X(resize) \
    X(reverse_sequence) \
    X(roi_align) \
    X(roi_pool) \
    X(rotary) \
    X(scan) \
    X(scatter) \
    X(select) \
    X(sequence) \
    X(sequence_map) \
    X(sequence_split) \
    X(shape_view) \
    X(signal_tables) \
    X(slice_pad) \
    X(softmax) \
    X(string_normalizer) \
    X(string_pieces) \
    X(tfidf) \
    X(topk) \
    X(training) \
    X(transpose) \
    X(unary) \
    X(unique) \
    X(variadic) \
    X(where_clip)

#define TN_FAMILY_DECLARE(name) extern const struct tn__family tn__family_##name;
TN_FAMILIES(TN_FAMILY_DECLARE)
#undef TN_FAMILY_DECLARE
/* clang-format on */

/* Publishes this file's static tables `defs` and `kernels`. */
#define TN_FAMILY(name)                                                                  \
    const struct tn__family tn__family_##name = {                                        \
        defs, kernels, TN_COUNT(defs), TN_COUNT(kernels)}

#define TN_COUNT(array) (uint32_t)(sizeof(array) / sizeof *(array))

/* ---- members of a definition row ------------------------------------------------------- */

/* clang-format off */
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
/* Head of an expansion's text: the operators that the bodies are written in. */
#define TN_BODY "<opset_import: [\"\" : 25]>\n"
#define TN_ATTRS(name) .attrs = name##_attr_defs, .n_attrs = TN_COUNT(name##_attr_defs)

/* ---- members of a kernel row --------------------------------------------------------- */

#define TN_KERNEL(domain_text, name, version) \
    .struct_size = TN_KERNEL_DEF_SIZE, .provider = "cpu", .domain = domain_text, \
    .op_type = name, .since = version, .destroy = tn__kernel_destroy
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

/* ---- upgrades ------------------------------------------------------------------------- */

/* Opset 1 let some operators carry consumed_inputs, a hint without meaning. */
tn_status tn__upgrade_drop_consumed(const struct tn_rewrite *rw);
/* Opset 7 replaced the attributes `broadcast` and `axis` by numpy's rule: gives operand 1 the
 * trailing axes of size 1 that it needs, and removes them (and consumed_inputs). */
tn_status tn__upgrade_axis_broadcast(const struct tn_rewrite *rw);
/* Appends `count` (when positive) axes of size 1 to input `index`, which has `rank` axes. */
tn_status tn__upgrade_append_axes(
    const struct tn_rewrite *rw, uint32_t index, int64_t rank, int64_t count);
/* Turns integer-list attribute `name` into constant input `index` and removes it; nothing
 * when it is absent. For Squeeze-13, ReduceX-13/18, Split-13 and their like. */
tn_status tn__upgrade_ints_to_input(
    const struct tn_rewrite *rw, const char *name, uint32_t index);

/* ---- expansions ------------------------------------------------------------------------ */

/* Appends, before the node that is rewritten, an operator of one or two inputs (b may be
 * TN_NO_ID). */
tn_status tn__expand_node(const struct tn_rewrite *rw, const char *op_type, tn_value_id a,
    tn_value_id b, tn_value_id *out);
/* Appends a scalar of the element type of `like`. */
tn_status tn__expand_scalar(
    const struct tn_rewrite *rw, float value, tn_value_id like, tn_value_id *out);
/* Everything that reads output 0 of the rewritten node reads `value` from now on. */
tn_status tn__expand_done(const struct tn_rewrite *rw, tn_value_id value);

/* ---- kernel objects ------------------------------------------------------------------- */

/* The head of every kernel object. */
struct tn__kernel {
    const struct tn__cpu *cpu;
    const struct tn_host *host;
};

/* A zeroed kernel object of `size` bytes. */
tn_status tn__kernel_create(const struct tn_kernel_ctx *ctx, size_t size, void **out);
void tn__kernel_destroy(void *kernel);
/* The end of a create: passes the status on, and frees the object when it is a failure. */
tn_status tn__kernel_ready(tn_status status, void **out);

/* Output o of this call as a tensor of this type and shape: the one the host planned when
 * it has that shape, else asked of the host now. For outputs whose shape depends on data. */
tn_status tn__output(const struct tn_run_args *args, uint32_t o, int32_t dtype,
    const int64_t *dims, uint32_t rank, struct tn_tensor **out);

/* An attribute's number as an element type: -1, which no check lets pass, when it is none. */
static inline int32_t tn__dtype_of(int64_t number) {
    return number > 0 && number < TN_DTYPE_COUNT ? (int32_t)number : -1;
}

/* Tensor of input i, NULL when it is omitted. */
static inline const struct tn_tensor *tn__in(const struct tn_run_args *args, uint32_t i) {
    if (i >= args->n_inputs || args->inputs[i].kind != TN_KIND_TENSOR) return NULL;
    return args->inputs[i].as.tensor;
}

/* Tensor of output o, NULL when the node does not name it or its shape is not known yet. */
static inline struct tn_tensor *tn__out(const struct tn_run_args *args, uint32_t o) {
    if (o >= args->n_outputs || args->outputs[o].kind != TN_KIND_TENSOR) return NULL;
    return args->outputs[o].as.tensor;
}

#endif
