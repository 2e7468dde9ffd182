/* The reference of the depthwise area, for any spread of the output channels. */
#include "depthwise_rows.h"

static float clamp(float x, float lo, float hi) {
    /* written so that NaN fails both tests and passes through */
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

static void position_c(const struct tn_depthwise_tile *t, const float *in, float *out,
    const float *residual) {
    for (size_t c = 0; c < t->channels; c++) {
        const size_t to = c * t->spread;
        float sum = 0, base = t->bias ? t->bias[to] : 0;
        for (size_t tap = 0; tap < t->taps; tap++) {
            sum += in[t->in_tap[tap] + (ptrdiff_t)c] * t->weights[t->w_tap[tap] + c];
        }
        if (residual) base += residual[to];
        const float x = sum + (t->accumulate ? out[to] : base);
        out[to] = t->finish ? clamp(x, t->lo, t->hi) : x;
    }
}

static void tile_c(const struct tn_depthwise_tile *t) {
    for (size_t y = 0; y < t->rows; y++) {
        for (size_t x = 0; x < t->cols; x++) {
            position_c(t, t->in + y * t->in_row + x * t->in_col,
                t->out + y * t->out_row + x * t->out_col,
                t->residual ? t->residual + y * t->residual_row + x * t->residual_col
                            : NULL);
        }
    }
}

void tn__depthwise_init_c(struct tn_depthwise_kernels *kernels) {
    kernels->tile = tile_c;
    kernels->tile_spread = tile_c;
}
