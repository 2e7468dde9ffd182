/* Template of the depthwise tile over the vector layer, included once a level. A vector of
 * channels by `most` positions of a row are accumulated at a time, so that a vector of weights is
 * loaded once for all of them and the chains of additions hide their latency. */
#include "depthwise_rows.h"
#include "simd/vf.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* `cols` and `full` are constants: positions, and whether all lanes are channels. */
static ALWAYS_INLINE void positions(const struct tn_depthwise_tile *t, const float *in,
    float *out, const float *residual, size_t channel, const size_t cols,
    const int full) {
    vf sum[8];
    const size_t n = full ? VF_LANES : t->channels - channel, in_col = t->in_col;
    const float *weights = t->weights + channel;
#pragma GCC unroll 8
    for (size_t i = 0; i < cols; i++)
        sum[i] = vf_set1(0);
    for (size_t tap = 0; tap < t->taps; tap++) {
        const float *w = weights + t->w_tap[tap], *p = in + t->in_tap[tap];
        const vf weight = full ? vf_load(w) : vf_load_part(w, n);
#pragma GCC unroll 8
        for (size_t i = 0; i < cols; i++, p += in_col) {
            sum[i] = vf_fma(full ? vf_load(p) : vf_load_part(p, n), weight, sum[i]);
        }
    }
    const vf lo = vf_set1(t->lo), hi = vf_set1(t->hi);
    const vf bias = t->bias ? vf_load_part(t->bias + channel, n) : vf_set1(0);
#pragma GCC unroll 8
    for (size_t i = 0; i < cols; i++) {
        float *to = out + i * t->out_col;
        vf base = bias;
        if (t->accumulate) {
            base = vf_load_part(to, n);
        } else if (residual) {
            base = vf_add(bias, vf_load_part(residual + i * t->residual_col, n));
        }
        const vf x = vf_add(sum[i], base);
        vf_store_part(to, t->finish ? vf_between(x, lo, hi) : x, n);
    }
}

static ALWAYS_INLINE void row(
    const struct tn_depthwise_tile *t, size_t y, size_t channel, const int full) {
    const float *in = t->in + y * t->in_row + channel;
    const float *residual =
        t->residual ? t->residual + y * t->residual_row + channel : NULL;
    float *out = t->out + y * t->out_row + channel;
    size_t x = 0;
    while (x < t->cols) {
        const size_t left = t->cols - x;
        const float *from = in + x * t->in_col;
        const float *add = residual ? residual + x * t->residual_col : NULL;
        float *to = out + x * t->out_col;
        if (left >= 8) {
            positions(t, from, to, add, channel, 8, full);
            x += 8;
        } else if (left >= 4) {
            positions(t, from, to, add, channel, 4, full);
            x += 4;
        } else {
            positions(t, from, to, add, channel, 1, full);
            x++;
        }
    }
}

static void tile_row(const struct tn_depthwise_tile *t, size_t y) {
    size_t channel = 0;
    for (; channel + VF_LANES <= t->channels; channel += VF_LANES)
        row(t, y, channel, 1);
    if (channel < t->channels) row(t, y, channel, 0);
}

static void tile(const struct tn_depthwise_tile *t) {
    for (size_t y = 0; y < t->rows; y++)
        tile_row(t, y);
}

void TN_LEVEL_NAME(tn__depthwise_init)(struct tn_depthwise_kernels *kernels) {
    kernels->tile = tile;
}
