/* The reference of the depthwise area, for any spread of the output channels. */
#include "depthwise_rows.h"

static float clamp(float x, float lo, float hi) {
    /* written so that NaN fails both tests and passes through */
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

enum { CHUNK = 64 };

/* Channels c0 .. c0+n-1 of one position, taps outermost so that the loop over channels is plain
 * enough for the compiler to vectorise. */
static void position_c(const struct tn_depthwise_tile *t, const float *in, float *out,
    const float *residual, size_t c0, size_t n) {
    float sum[CHUNK] = {0};
    for (size_t tap = 0; tap < t->taps; tap++) {
        const float *x = in + t->in_tap[tap] + c0, *w = t->weights + t->w_tap[tap] + c0;
        for (size_t c = 0; c < n; c++)
            sum[c] += x[c] * w[c];
    }
    for (size_t c = 0; c < n; c++) {
        const size_t to = (c0 + c) * t->spread;
        float base = t->bias ? t->bias[to] : 0;
        if (residual) base += residual[to];
        const float x = sum[c] + (t->accumulate ? out[to] : base);
        out[to] = t->finish ? clamp(x, t->lo, t->hi) : x;
    }
}

static void tile_c(const struct tn_depthwise_tile *t) {
    for (size_t y = 0; y < t->rows; y++) {
        for (size_t x = 0; x < t->cols; x++) {
            const float *in = t->in + y * t->in_row + x * t->in_col;
            const float *residual = t->residual;
            float *out = t->out + y * t->out_row + x * t->out_col;
            if (residual) residual += y * t->residual_row + x * t->residual_col;
            for (size_t c = 0; c < t->channels; c += CHUNK) {
                const size_t left = t->channels - c;
                position_c(t, in, out, residual, c, left < CHUNK ? left : CHUNK);
            }
        }
    }
}

void tn__depthwise_init_c(struct tn_depthwise_kernels *kernels) {
    kernels->tile = tile_c;
    kernels->tile_spread = tile_c;
}
