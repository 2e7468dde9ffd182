/* f32 depthwise convolution: every input channel has its own filters and meets no other. Same
 * struct tn_conv, layouts and guarantees as the dense area; groups = in_channels, out_channels a
 * multiple of it. Vectors run over channels, taps on padding are skipped. */
#ifndef TENON_CPU_DEPTHWISE_H
#define TENON_CPU_DEPTHWISE_H

#include "conv.h"

/* A rectangle of output positions that share their taps. For each position and channel
 *   sum = Σ over taps t: in[in_tap[t] + c] * weights[w_tap[t] + c]
 *   base = accumulate ? out : bias + residual
 *   out[c * spread] = sum + base, then clamped if `finish`. */
struct tn_depthwise_tile {
    size_t rows, cols, channels;
    const float *in;
    size_t in_row, in_col; /* floats from one position to the next */
    float *out;
    size_t out_row, out_col, spread;
    size_t taps;
    const ptrdiff_t *in_tap;
    const size_t *w_tap;
    const float *weights;
    const float *bias; /* bias[c * spread] */
    const float *residual;
    size_t residual_row, residual_col;
    float lo, hi;
    bool accumulate, finish;
};

struct tn_depthwise_kernels {
    /* spread is 1 */
    void (*tile)(const struct tn_depthwise_tile *tile);
    /* any spread: multipliers above 1 */
    void (*tile_spread)(const struct tn_depthwise_tile *tile);
};

void tn_depthwise_kernels_init(struct tn_depthwise_kernels *kernels, enum tn_isa isa);

/* Whether the convolution is depthwise, on more than one channel. */
bool tn_depthwise_fits(const struct tn_conv *conv);

/* Floats of the packed weights (SIZE_MAX if that cannot be represented in bytes), and their
 * packing from weights as ONNX has them: [multiple][tap][channel]. */
size_t tn_depthwise_packed_size(const struct tn_conv *conv);
void tn_depthwise_pack(const struct tn_conv *conv, float *dst, const float *weights);

/* Computes rows r0 .. r1-1 of tn_conv_rows(). */
void tn_depthwise_run(const struct tn_depthwise_kernels *kernels,
    const struct tn_conv *conv, size_t r0, size_t r1);

#endif
