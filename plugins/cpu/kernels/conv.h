/* f32 convolution with any number of spatial axes, on the tiles of the GEMM area.
 *
 * Input and output hold their channels innermost (NHWC); weights are packed once from
 * ONNX's (M, C/groups, kernel...) into panels [group][panel][tap][channel][nr]. Nothing
 * is unfolded: a tile's rows are output positions that share the same valid taps, so
 * positions at the border skip the taps that fall on padding. Pixels may be further apart
 * than they have channels, so a convolution can read and write slices of a wider buffer
 * (Concat in place).
 *
 * The order of additions depends on the geometry alone: any split and any batch give the
 * same bits. Any thread may call, with 64 KiB of stack. */
#ifndef TENON_CPU_CONV_H
#define TENON_CPU_CONV_H

#include "gemm.h"

enum { TN_CONV_MAX_AXES = 4 }; /* spatial */

/* One spatial axis. Output o meets input o * stride + tap * dilation - pad; positions
 * outside 0 .. in-1 count as zero. `pad` is the padding before the axis, that behind it
 * follows from `out`. kernel, stride and dilation are at least 1. */
struct tn_conv_axis {
    size_t in, out, kernel, stride, dilation, pad;
};

struct tn_conv {
    size_t batch, axes, groups;
    size_t in_channels, out_channels; /* of all groups */
    struct tn_conv_axis axis[TN_CONV_MAX_AXES];
    const float *input;
    size_t in_pixel; /* floats from one pixel to the next, ≥ in_channels */
    float *output;
    size_t out_pixel;     /* ≥ out_channels */
    const float *weights; /* packed */
    /* result = min(hi, max(lo, sum + bias + residual)), then post; see gemm.h */
    const float *bias;     /* out_channels values or NULL */
    const float *residual; /* like output, or output itself, or NULL */
    size_t residual_pixel;
    float lo, hi;
    tn_gemm_post_fn *post;
    const void *post_arg;
};

/* Panels of all groups: the unit in which packing and output channels are split. */
size_t tn_conv_panels(const struct tn_gemm_kernels *kernels, const struct tn_conv *conv);

/* Floats of the packed weights; SIZE_MAX if that cannot be represented in bytes. */
size_t tn_conv_packed_size(
    const struct tn_gemm_kernels *kernels, const struct tn_conv *conv);

/* Packs panels p0 .. p1-1 from weights as ONNX has them. Reads the geometry alone of
 * `conv`. dst is TN_GEMM_ALIGN aligned. */
void tn_conv_pack(const struct tn_gemm_kernels *kernels, const struct tn_conv *conv,
    float *dst, const float *weights, size_t p0, size_t p1);

/* Rows of the output: batch * axis[0].out, the other unit in which work is split. */
size_t tn_conv_rows(const struct tn_conv *conv);

/* Computes rows r0 .. r1-1 of panels p0 .. p1-1. */
void tn_conv_run(const struct tn_gemm_kernels *kernels, const struct tn_conv *conv,
    size_t r0, size_t r1, size_t p0, size_t p1);

#endif
