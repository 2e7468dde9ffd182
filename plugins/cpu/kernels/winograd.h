/* 3x3 convolution at stride 1 by Winograd's F(4x4, 3x3): 36 products on transformed tiles of 6x6
 * pixels make 4x4 outputs, a quarter of the multiplications of the definition. It adds in another
 * order and in other magnitudes (error about 1e-5 relative; an infinite or NaN input
 * spreads over the whole output tile), so it belongs to the reassociating
 * class and the caller must be allowed to leave it.
 *
 * The same struct tn_conv as for the direct method, with its own packed weights. Results depend
 * neither on the split nor on the batch. */
#ifndef TENON_CPU_WINOGRAD_H
#define TENON_CPU_WINOGRAD_H

#include "conv.h"

/* A 6x6 input tile: its rows y0 .. y1-1 and columns x0 .. x1-1 exist, the rest is padding. src is
 * the pixel (y0, x0). Element e of the transformed tile goes to dst + e * plane. */
struct tn_winograd_input {
    const float *src;
    size_t row, pixel; /* strides in floats */
    size_t y0, y1, x0, x1;
    size_t channels;
    float *dst;
    size_t plane;
};

/* A 4x4 output tile, of which `rows` and `cols` exist. */
struct tn_winograd_output {
    const float *src;
    size_t plane;
    size_t rows, cols, channels;
    float *dst;
    size_t row, pixel;
    const float *bias;
    const float *residual;
    size_t residual_row, residual_pixel;
    float lo, hi;
};

struct tn_winograd_kernels {
    struct tn_gemm_kernels gemm;
    void (*input)(const struct tn_winograd_input *tile);
    void (*output)(const struct tn_winograd_output *tile);
};

void tn_winograd_kernels_init(struct tn_winograd_kernels *kernels, enum tn_isa isa);

/* Whether the method can compute this convolution at all: two axes, 3x3, stride and dilation 1,
 * one group. */
bool tn_winograd_fits(const struct tn_conv *conv);

/* Whether it fits and is estimated to be faster than the direct method. */
bool tn_winograd_pays(
    const struct tn_winograd_kernels *kernels, const struct tn_conv *conv);

/* Floats of the transformed weights (SIZE_MAX if that cannot be represented in bytes), and the
 * transform of panels p0 .. p1-1 of tn_conv_panels() from weights as ONNX has them. */
size_t tn_winograd_packed_size(
    const struct tn_winograd_kernels *kernels, const struct tn_conv *conv);
void tn_winograd_pack(const struct tn_winograd_kernels *kernels,
    const struct tn_conv *conv, float *dst, const float *weights, size_t p0, size_t p1);

/* Tiles of all images: the unit in which work is split. */
size_t tn_winograd_tiles(const struct tn_conv *conv);

/* Floats of the workspace of one call to tn_winograd_run, TN_GEMM_ALIGN aligned. */
size_t tn_winograd_workspace(
    const struct tn_winograd_kernels *kernels, const struct tn_conv *conv);

/* Computes tiles t0 .. t1-1, all channels. */
void tn_winograd_run(const struct tn_winograd_kernels *kernels,
    const struct tn_conv *conv, float *workspace, size_t t0, size_t t1);

#endif
