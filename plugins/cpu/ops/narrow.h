/* Serves f16 and bf16 with a kernel written for f32.
 *
 * Inputs are widened into the workspace, the inner kernel runs, outputs are rounded once:
 * so accumulation is in f32. Constant weights that the inner kernel packs are widened once,
 * at load. Write
 *
 *     TN_NARROW(softmax, .create = create_softmax, SOFTMAX_SLOTS)
 *
 * before the kernel table and put the row {TN_NARROW_KERNEL("", "Softmax", 13, softmax),
 * TN_KERNEL_TYPES({"T", TN_NARROW_TYPES})} into it. */
#ifndef TENON_CPU_NARROW_H
#define TENON_CPU_NARROW_H

#include "ops/ops.h"

#define TN_NARROW_TYPES (TN_BIT(FLOAT16) | TN_BIT(BFLOAT16))

#define TN_NARROW(name, ...)                                                             \
    static const struct tn_kernel_def narrow_##name = {                                  \
        .destroy = tn_kernel_destroy, __VA_ARGS__};                                      \
    static tn_status create_narrow_##name(const struct tn_kernel_ctx *ctx, void **out) { \
        return tn__narrow_create(&narrow_##name, ctx, out);                              \
    }

#define TN_NARROW_KERNEL(domain_text, name, version, inner)                              \
    .struct_size = TN_KERNEL_DEF_SIZE, .provider = "cpu", .domain = domain_text,         \
    .op_type = name, .since = version, .create = create_narrow_##inner,                  \
    .destroy = tn__narrow_destroy, .prepack = tn__narrow_prepack,                        \
    .workspace = tn__narrow_workspace, .prepare = tn__narrow_prepare,                    \
    .compute = tn__narrow_compute

/* n elements of f16 or bf16 as f32, and back to the nearest, ties to even. */
void tn__widen(float *dst, const void *src, int32_t dtype, size_t n);
void tn__round(void *dst, const float *src, int32_t dtype, size_t n);

tn_status tn__narrow_create(
    const struct tn_kernel_def *inner, const struct tn_kernel_ctx *ctx, void **out);
void tn__narrow_destroy(void *kernel);
tn_status tn__narrow_prepack(void *kernel, uint32_t input, const struct tn_tensor *tensor,
    const struct tn_prepack *sink, uint32_t *out_result, struct tn_diag *diag);
tn_status tn__narrow_workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out);
tn_status tn__narrow_prepare(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag);
tn_status tn__narrow_compute(void *kernel, const struct tn_run_args *args);

#endif
