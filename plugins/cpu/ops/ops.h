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
 * since = the newest version. `create` ends in tn_kernel_ready; it allocates the kernel object with
 * tn__kernel_create (its struct begins with struct tn__kernel) and parses attributes into
 * it once; TN_KERNEL sets destroy to tn_kernel_destroy. What depends on shapes is computed
 * once in `prepare` into args->state (sized by `workspace`), which may also pick a
 * specialised compute function; compute then only runs.
 *
 * Loops over elements are never written here: loops/elementwise.h (broadcast), reduce.h,
 * copy.h (strided moves by element size) and tenon/helper/parallel.h know strides and threads. */
#ifndef TENON_CPU_OPS_H
#define TENON_CPU_OPS_H

#include "cpu.h"
#include "tenon/helper/args.h"
#include "tenon/helper/attrs.h"
#include "tenon/helper/broadcast.h"
#include "tenon/helper/diag.h"
#include "tenon/helper/family.h"
#include "tenon/helper/kernel.h"
#include "tenon/helper/rows.h"
#include "tenon/helper/shape.h"
#include "tenon/op.h"

/* ---- families ------------------------------------------------------------------------ */

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
    X(context) \
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
    X(topk) \
    X(training) \
    X(transpose) \
    X(unary) \
    X(unique) \
    X(variadic) \
    X(where_clip)

TN_FAMILIES(TN_FAMILY_DECLARE)

/* Head of an expansion's text: the operators that the bodies are written in. */
#define TN_BODY "<opset_import: [\"\" : 25]>\n"

/* Operators that only the rewrites of passes/ make. */
#define TN_PRIVATE_DEF(name) TN_DEF("tenon.cpu", name), .flags = TN_OP_PRIVATE
#define TN_KERNEL TN_KERNEL_OF
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
    struct tn_kernel_head head;
    const struct tn__cpu *cpu;
    const struct tn_host *host;
};

/* A zeroed kernel object of `size` bytes. */
static inline tn_status tn__kernel_create(
    const struct tn_kernel_ctx *ctx, size_t size, void **out) {
    TN_TRY(tn_kernel_create(ctx, size, out));
    struct tn__kernel *kernel = *out;
    kernel->cpu = ctx->plugin_state;
    kernel->host = ctx->host;
    return TN_OK;
}

/* An attribute's number as an element type: -1, which no check lets pass, when it is none. */
static inline int32_t tn__dtype_of(int64_t number) {
    return number > 0 && number < TN_DTYPE_COUNT ? (int32_t)number : -1;
}

#endif
