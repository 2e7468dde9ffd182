/* Template of the Winograd transforms over the vector layer, a vector of channels at a time;
 * included once a level, the scalar one included. Points 0, ±1, ±2 and infinity:
 *
 *         4  0 -5  0  1  0                       1  1  1  1  1  0
 *         0 -4 -4  1  1  0                 Aᵀ =  0  1 -1  2 -2  0
 *   Bᵀ =  0  4 -4 -1  1  0                       0  1  1  4  4  0
 *         0 -2 -1  2  1  0                       0  1 -1  8 -8  1
 *         0  2 -1 -2  1  0
 *         0  4  0 -5  0  1
 *
 * Both transforms go down the columns into a small array and then along its rows. */
#include "simd/unroll.h"
#include "simd/vf.h"
#include "winograd_rows.h"

/* y = Bᵀ x; six inputs `from` apart, six results `to` apart */
static TN_ALWAYS_INLINE void input_line(const vf *x, int from, vf *y, int to) {
    const vf x0 = x[0], x1 = x[from], x2 = x[2 * from];
    const vf x3 = x[3 * from], x4 = x[4 * from], x5 = x[5 * from];
    const vf four = vf_set1(4), five = vf_set1(5);
    const vf even = vf_fnma(four, x2, x4), odd = vf_fnma(four, x1, x3);
    const vf even2 = vf_sub(x4, x2), odd2 = vf_sub(x3, x1);
    y[0] = vf_fma(four, x0, vf_fnma(five, x2, x4));
    y[to] = vf_add(even, odd);
    y[2 * to] = vf_sub(even, odd);
    y[3 * to] = vf_fma(vf_set1(2), odd2, even2);
    y[4 * to] = vf_fnma(vf_set1(2), odd2, even2);
    y[5 * to] = vf_fma(four, x1, vf_fnma(five, x3, x5));
}

/* `whole` and `full` are constants: no padding in the tile, no lanes past the channels. */
static TN_ALWAYS_INLINE void input_vector(
    const struct tn_winograd_input *t, size_t channel, const int whole, const int full) {
    vf line[6], half[36], out[6];
    const size_t n = full ? VF_LANES : t->channels - channel;
    const size_t row = t->row, plane = t->plane;
    const float *src = t->src + channel;
    float *dst = t->dst + channel;
    for (size_t x = 0; x < 6; x++) {
        const float *p = src + (x - t->x0) * t->pixel;
        const bool column = x >= t->x0 && x < t->x1;
        TN_UNROLL(6)
        for (size_t y = 0; y < 6; y++) {
            line[y] = vf_set1(0);
            if (whole) {
                line[y] = full ? vf_load(p + y * row) : vf_load_part(p + y * row, n);
            } else if (column && y >= t->y0 && y < t->y1) {
                line[y] = vf_load_part(p + (y - t->y0) * row, n);
            }
        }
        input_line(line, 1, half + x, 6);
    }
    for (size_t y = 0; y < 6; y++) {
        input_line(half + 6 * y, 1, out, 1);
        TN_UNROLL(6)
        for (size_t x = 0; x < 6; x++, dst += plane) {
            if (full) {
                vf_store(dst, out[x]);
            } else {
                vf_store_part(dst, out[x], n);
            }
        }
    }
}

static void input_tile(const struct tn_winograd_input *t) {
    const bool whole = t->y0 == 0 && t->y1 == 6 && t->x0 == 0 && t->x1 == 6;
    size_t channel = 0;
    for (; whole && channel + VF_LANES <= t->channels; channel += VF_LANES) {
        input_vector(t, channel, 1, 1);
    }
    for (; channel < t->channels; channel += VF_LANES) {
        input_vector(t, channel, 0, 0);
    }
}

/* y = Aᵀ x; six inputs `from` apart, four results `to` apart */
static TN_ALWAYS_INLINE void output_line(const vf *x, int from, vf *y, int to) {
    const vf sum = vf_add(x[from], x[2 * from]), diff = vf_sub(x[from], x[2 * from]);
    const vf sum2 = vf_add(x[3 * from], x[4 * from]),
             diff2 = vf_sub(x[3 * from], x[4 * from]);
    y[0] = vf_add(vf_add(x[0], sum), sum2);
    y[to] = vf_fma(vf_set1(2), diff2, diff);
    y[2 * to] = vf_fma(vf_set1(4), sum2, sum);
    y[3 * to] = vf_add(vf_fma(vf_set1(8), diff2, diff), x[5 * from]);
}

static TN_ALWAYS_INLINE void output_vector(
    const struct tn_winograd_output *t, size_t channel, const int full) {
    vf line[6], half[24], out[4];
    const size_t n = full ? VF_LANES : t->channels - channel, plane = t->plane;
    const vf lo = vf_set1(t->lo), hi = vf_set1(t->hi);
    const vf bias = t->bias ? vf_load_part(t->bias + channel, n) : vf_set1(0);
    for (size_t x = 0; x < 6; x++) {
        const float *p = t->src + x * plane + channel;
        TN_UNROLL(6)
        for (size_t y = 0; y < 6; y++, p += 6 * plane) {
            line[y] = full ? vf_load(p) : vf_load_part(p, n);
        }
        output_line(line, 1, half + x, 6);
    }
    for (size_t y = 0; y < t->rows; y++) {
        const float *residual =
            t->residual ? t->residual + y * t->residual_row + channel : NULL;
        float *dst = t->dst + y * t->row + channel;
        output_line(half + 6 * y, 1, out, 1);
        TN_UNROLL(4)
        for (size_t x = 0; x < 4; x++) {
            if (x == t->cols) break;
            vf sum = vf_add(out[x], bias);
            if (residual) {
                sum = vf_add(sum, vf_load_part(residual + x * t->residual_pixel, n));
            }
            vf_store_part(dst + x * t->pixel, vf_between(sum, lo, hi), n);
        }
    }
}

static void output_tile(const struct tn_winograd_output *t) {
    size_t channel = 0;
    for (; channel + VF_LANES <= t->channels; channel += VF_LANES) {
        output_vector(t, channel, 1);
    }
    if (channel < t->channels) output_vector(t, channel, 0);
}

void TN_LEVEL_NAME(tn__winograd_init)(struct tn_winograd_kernels *kernels) {
    kernels->input = input_tile;
    kernels->output = output_tile;
}
