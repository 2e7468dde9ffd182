/* Template of the depthwise tile over the vector layer, included once a level. A vector of
 * channels by several positions of a row are accumulated at a time, so that a vector of weights
 * is loaded once for all of them and the chains of additions hide their latency. */
#include "depthwise_rows.h"
#include "simd/unroll.h"
#include "simd/vf.h"

/* One row of positions of one vector of channels, and what is done to a sum before it is
 * stored. All that the loops read is copied here: vector stores may alias anything, so the
 * compiler would read the tile again after each of them. */
struct line {
    const float *in, *residual;
    float *out;
    size_t in_col, out_col, residual_col, cols;
    size_t n; /* lanes that are channels */
    vf bias, lo, hi;
    bool accumulate, finish;
};

static TN_ALWAYS_INLINE struct line line_of(
    const struct tn_depthwise_tile *t, size_t y, size_t channel) {
    const size_t left = t->channels - channel, n = left < VF_LANES ? left : VF_LANES;
    return (struct line){t->in + y * t->in_row + channel,
        t->residual ? t->residual + y * t->residual_row + channel : NULL,
        t->out + y * t->out_row + channel, t->in_col, t->out_col, t->residual_col,
        t->cols, n, t->bias ? vf_load_part(t->bias + channel, n) : vf_set1(0),
        vf_set1(t->lo), vf_set1(t->hi), t->accumulate, t->finish};
}

static TN_ALWAYS_INLINE void store(
    const struct line *line, size_t x, vf sum, const int full) {
    float *out = line->out + x * line->out_col;
    vf base = line->bias;
    if (line->accumulate) {
        base = vf_load_part(out, line->n);
    } else if (line->residual) {
        const float *residual = line->residual + x * line->residual_col;
        base = vf_add(base, vf_load_part(residual, line->n));
    }
    sum = vf_add(sum, base);
    if (line->finish) sum = vf_between(sum, line->lo, line->hi);
    if (full) {
        vf_store(out, sum);
    } else {
        vf_store_part(out, sum, line->n);
    }
}

/* Any taps. `cols` and `full` are constants: positions, and whether all lanes are channels. */
static TN_ALWAYS_INLINE void any_taps(const struct tn_depthwise_tile *t,
    const struct line *line, const float *weights, size_t x, const size_t cols,
    const int full) {
    vf sum[8];
    const size_t in_col = line->in_col, taps = t->taps;
    const float *in = line->in + x * in_col;
    TN_UNROLL(8)
    for (size_t i = 0; i < cols; i++)
        sum[i] = vf_set1(0);
    for (size_t tap = 0; tap < taps; tap++) {
        const float *w = weights + t->w_tap[tap], *p = in + t->in_tap[tap];
        const vf weight = full ? vf_load(w) : vf_load_part(w, line->n);
        TN_UNROLL(8)
        for (size_t i = 0; i < cols; i++) {
            const float *q = p + i * in_col;
            sum[i] = vf_fma(full ? vf_load(q) : vf_load_part(q, line->n), weight, sum[i]);
        }
    }
    TN_UNROLL(8)
    for (size_t i = 0; i < cols; i++)
        store(line, x + i, sum[i], full);
}

static TN_ALWAYS_INLINE void any_line(const struct tn_depthwise_tile *t,
    const struct line *line, const float *weights, const int full) {
    size_t x = 0;
    for (; x + 8 <= line->cols; x += 8)
        any_taps(t, line, weights, x, 8, full);
    for (; x + 4 <= line->cols; x += 4)
        any_taps(t, line, weights, x, 4, full);
    for (; x < line->cols; x++)
        any_taps(t, line, weights, x, 1, full);
}

/* The nine taps of a 3x3 kernel at a stride of 1 or 2: an input column is loaded once for all the
 * positions that meet it, and the weights stay in registers. Each sum takes its taps in the same
 * order as above. `rows` are the offsets of the three rows, `pixel` that to the next column. */
static TN_ALWAYS_INLINE void nine_taps(const struct line *line, const vf *weights,
    const ptrdiff_t *rows, ptrdiff_t pixel, size_t x, const size_t cols,
    const size_t stride) {
    vf sum[2];
    TN_UNROLL(2)
    for (size_t i = 0; i < cols; i++)
        sum[i] = vf_set1(0);
    TN_UNROLL(3)
    for (size_t row = 0; row < 3; row++) {
        const float *p = line->in + x * line->in_col + rows[row];
        TN_UNROLL(5)
        for (size_t c = 0; c < (cols - 1) * stride + 3; c++) {
            vf v = vf_load(p + (ptrdiff_t)c * pixel);
            VF_KEEP(v);
            TN_UNROLL(2)
            for (size_t i = 0; i < cols; i++) {
                if (c >= i * stride && c < i * stride + 3) {
                    sum[i] = vf_fma(v, weights[3 * row + c - i * stride], sum[i]);
                }
            }
        }
    }
    TN_UNROLL(2)
    for (size_t i = 0; i < cols; i++)
        store(line, x + i, sum[i], 1);
}

static TN_ALWAYS_INLINE void nine_line(const struct tn_depthwise_tile *t,
    const struct line *line, const vf *weights, const size_t stride) {
    const ptrdiff_t rows[3] = {t->in_tap[0], t->in_tap[3], t->in_tap[6]};
    const ptrdiff_t pixel = t->in_tap[1] - t->in_tap[0];
    size_t x = 0;
    for (; x + 2 <= line->cols; x += 2)
        nine_taps(line, weights, rows, pixel, x, 2, stride);
    for (; x < line->cols; x++)
        nine_taps(line, weights, rows, pixel, x, 1, stride);
}

/* The stride if the taps are a 3x3 kernel that nine_line takes, else 0. */
static size_t nine_stride(const struct tn_depthwise_tile *t) {
    if (t->taps != 9) return 0;
    const ptrdiff_t pixel = t->in_tap[1] - t->in_tap[0];
    for (size_t row = 0; row < 9; row += 3) {
        if (t->in_tap[row + 1] != t->in_tap[row] + pixel) return 0;
        if (t->in_tap[row + 2] != t->in_tap[row] + 2 * pixel) return 0;
    }
    if ((ptrdiff_t)t->in_col == pixel) return 1;
    return (ptrdiff_t)t->in_col == 2 * pixel ? 2 : 0;
}

static void any_rows(const struct tn_depthwise_tile *t, size_t channel) {
    const float *weights = t->weights + channel;
    for (size_t y = 0; y < t->rows; y++) {
        const struct line line = line_of(t, y, channel);
        if (line.n == VF_LANES) {
            any_line(t, &line, weights, 1);
        } else {
            any_line(t, &line, weights, 0);
        }
    }
}

static void nine_rows(const struct tn_depthwise_tile *t, size_t channel, size_t stride) {
    vf weights[9];
    for (size_t tap = 0; tap < 9; tap++) {
        weights[tap] = vf_load(t->weights + t->w_tap[tap] + channel);
    }
    for (size_t y = 0; y < t->rows; y++) {
        const struct line line = line_of(t, y, channel);
        if (stride == 1) {
            nine_line(t, &line, weights, 1);
        } else {
            nine_line(t, &line, weights, 2);
        }
    }
}

/* Channels outermost: the rows that one vector of channels meets stay in the first-level cache,
 * where the rows of all channels would not. */
static void tile(const struct tn_depthwise_tile *t) {
    const size_t stride = nine_stride(t);
    size_t channel = 0;
    for (; stride && channel + VF_LANES <= t->channels; channel += VF_LANES) {
        nine_rows(t, channel, stride);
    }
    for (; channel < t->channels; channel += VF_LANES)
        any_rows(t, channel);
}

void TN_LEVEL_NAME(tn__depthwise_init)(struct tn_depthwise_kernels *kernels) {
    kernels->tile = tile;
}
