/* The direct convolution: in what pieces the sum over taps and channels is taken, and the
 * tiles of positions (conv_walk.h) against panels of weights that follow. */
#include "conv.h"

#include "conv_walk.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

enum {
    /* Longest stretch of the sum that one pass takes: 3x3 on 64 channels in one. */
    PASS_K = 640,
    /* Floats of weights of the panels that share a pass: stays in the second-level cache. */
    GROUP_B = 64 * 1024,
    /* As in the GEMM drivers: pixels this many floats apart share the sets of the cache. */
    ALIASING = 1024,
    COPY_MIN_PANELS = 4,
    COPY_STRIDE = PASS_K + 16
};

static const ptrdiff_t zero_tap;

struct geometry {
    const struct tn_gemm_kernels *kernels;
    const struct tn_conv *conv;
    struct tn__conv_walk walk;
    size_t group_out, panels; /* output channels and panels of a group */
};

/* One pass over the panels p0 .. p1-1 of one group. */
struct columns {
    const struct geometry *g;
    size_t group, p0, p1;
    struct tn__conv_pass pass;
};

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

static void make_geometry(struct geometry *g, const struct tn_gemm_kernels *kernels,
    const struct tn_conv *conv) {
    g->kernels = kernels;
    g->conv = conv;
    tn__conv_walk_init(&g->walk, conv);
    g->group_out = conv->out_channels / conv->groups;
    g->panels = tn_gemm_panels(kernels, g->group_out);
}

size_t tn_conv_panels(const struct tn_gemm_kernels *kernels, const struct tn_conv *conv) {
    return conv->groups * tn_gemm_panels(kernels, conv->out_channels / conv->groups);
}

size_t tn_conv_packed_size(
    const struct tn_gemm_kernels *kernels, const struct tn_conv *conv) {
    const size_t panels = tn_conv_panels(kernels, conv);
    size_t limit = SIZE_MAX / sizeof(float) / kernels->nr;
    size_t k = conv->in_channels / conv->groups;
    for (size_t d = 0; d < conv->axes; d++) {
        if (conv->axis[d].kernel > limit) return SIZE_MAX;
        limit /= conv->axis[d].kernel;
    }
    if (k != 0 && panels > limit / k) return SIZE_MAX;
    return panels * k * tn__conv_kernel_size(conv) * kernels->nr;
}

void tn_conv_pack(const struct tn_gemm_kernels *kernels, const struct tn_conv *conv,
    float *dst, const float *weights, size_t p0, size_t p1) {
    struct geometry g;
    make_geometry(&g, kernels, conv);
    const size_t taps = tn__conv_kernel_size(conv), row = g.walk.channels * taps;
    const size_t panel_size = row * kernels->nr;
    for (size_t p = p0; p < p1; p++) {
        const size_t col = p % g.panels * kernels->nr;
        const float *src = weights + (p / g.panels * g.group_out + col) * row;
        for (size_t tap = 0; tap < taps; tap++) {
            tn_gemm_pack(kernels,
                dst + p * panel_size + tap * g.walk.channels * kernels->nr, 0, src + tap,
                taps, row, g.walk.channels, g.group_out - col, 0, 1);
        }
    }
}

size_t tn_conv_rows(const struct tn_conv *conv) {
    return conv->batch * conv->axis[0].out;
}

/* One tile of positions against the panels of the pass. */
static void run_tile(
    const struct columns *cols, const size_t *pixel, const struct tn_gemm_tile *rows) {
    const struct geometry *g = cols->g;
    const struct tn_conv *conv = g->conv;
    const size_t nr = g->kernels->nr, most = g->kernels->panels[rows->rows];
    float *c[TN_GEMM_MAX_ROWS];
    const float *residual[TN_GEMM_MAX_ROWS];
    struct tn_gemm_tile t = *rows;
    size_t count;
    t.c = c;
    t.residual = conv->residual ? residual : NULL;
    for (size_t p = cols->p0; p < cols->p1; p += count) {
        const size_t channel = cols->group * g->group_out + p * nr;
        count = cols->p1 - p >= most ? most : 1;
        t.cols = min_size(count * nr, g->group_out - p * nr);
        t.b = conv->weights + (cols->group * g->panels + p) * t.panel_stride;
        t.next = t.b + rows->b_tap[0] + rows->k * rows->taps * nr;
        t.bias_col = conv->bias ? conv->bias + channel : NULL;
        for (size_t i = 0; i < t.rows; i++) {
            c[i] = conv->output + pixel[i] * conv->out_pixel + channel;
            if (conv->residual) {
                residual[i] = conv->residual + pixel[i] * conv->residual_pixel + channel;
            }
        }
        g->kernels->tile(&t);
        if (t.finish && conv->post) conv->post(conv->post_arg, c, t.rows, t.cols);
    }
}

/* The input and the output pixels of the next `count` positions, a run of the last axis at a
 * time. */
static void place_rows(const struct columns *cols, const struct tn__conv_box *box,
    struct tn__conv_cursor *cursor, size_t count, const float **a, size_t *pixel) {
    const struct geometry *g = cols->g;
    const size_t last = g->walk.axes - 1, step = box->step[last];
    const float *input = g->conv->input + cols->group * g->walk.channels;
    for (size_t i = 0; i < count;) {
        const size_t run = min_size(count - i, box->o1[last] - cursor->o[last]);
        const float *from = input + cursor->in * g->conv->in_pixel;
        const size_t stride = step * g->conv->in_pixel, out = cursor->out;
        for (size_t j = 0; j < run; j++) {
            a[i + j] = from + j * stride;
            pixel[i + j] = out + j;
        }
        i += run;
        cursor->o[last] += run - 1;
        cursor->in += (run - 1) * step;
        cursor->out += run - 1;
        tn__conv_advance(&g->walk, box, g->walk.axes, cursor);
    }
}

static void run_box(void *arg, const struct tn__conv_box *box) {
    const struct columns *cols = arg;
    const struct geometry *g = cols->g;
    const struct tn__conv_pass *pass = &cols->pass;
    const struct tn_conv *conv = g->conv;
    const size_t axes = g->walk.axes;
    alignas(TN_GEMM_ALIGN) float copy[TN_GEMM_MAX_ROWS * COPY_STRIDE];
    const float *a[TN_GEMM_MAX_ROWS];
    size_t pixel[TN_GEMM_MAX_ROWS] = {0}, positions = 1;
    struct tn__conv_taps taps;
    struct tn__conv_cursor cursor;
    tn__conv_list_taps(&g->walk, box, pass, g->kernels->nr, &taps);
    if (taps.count == 0) taps.b[0] = 0;
    if (taps.count == 0 && !pass->first && !pass->last) return;
    const bool aliasing = taps.count == 1 && cols->p1 - cols->p0 >= COPY_MIN_PANELS &&
                          conv->in_pixel * box->step[axes - 1] % ALIASING == 0;
    struct tn_gemm_tile t = {.taps = taps.count,
        .k = taps.k,
        .a = a,
        .a_tap = aliasing ? &zero_tap : taps.a,
        .b_tap = taps.b,
        .ldb = g->kernels->nr,
        .panel_stride = g->walk.taps * g->walk.run * g->kernels->nr,
        .alpha = 1,
        .beta = 1,
        .lo = conv->lo,
        .hi = conv->hi,
        .accumulate = !pass->first,
        .finish = pass->last};
    for (size_t d = 0; d < axes; d++) {
        positions *= box->o1[d] - box->o0[d];
        cursor.o[d] = box->o0[d];
    }
    tn__conv_locate(&g->walk, box, &cursor);
    for (size_t tiles = ceil_div(positions, g->kernels->rows); tiles > 0; tiles--) {
        t.rows = ceil_div(positions, tiles);
        positions -= t.rows;
        place_rows(cols, box, &cursor, t.rows, a, pixel);
        for (size_t i = 0; i < t.rows && aliasing; i++) {
            a[i] =
                memcpy(copy + i * COPY_STRIDE, a[i] + taps.a[0], taps.k * sizeof(float));
        }
        run_tile(cols, pixel, &t);
    }
}

/* All passes of the sum over the panels of one group of channels. */
static void run_columns(
    const struct columns *all, const size_t from[2], const size_t to[2]) {
    const struct geometry *g = all->g;
    const size_t run = g->walk.run, pieces = ceil_div(run, PASS_K);
    const size_t piece = pieces ? ceil_div(run, pieces) : 0;
    const size_t most = piece ? PASS_K / piece : TN__CONV_PASS_TAPS;
    const size_t rounds = ceil_div(g->walk.taps, min_size(most, TN__CONV_PASS_TAPS));
    const size_t taps = ceil_div(g->walk.taps, rounds);
    const size_t depth = piece * taps * g->kernels->nr;
    /* at least as many as a tile of one row has, for maps and borders of single pixels */
    const size_t fit = GROUP_B / (depth ? depth : 1), least = g->kernels->panels[1];
    const size_t width = fit > least ? fit : least;
    struct columns cols = *all;
    for (; cols.p0 < all->p1; cols.p0 = cols.p1) {
        struct tn__conv_pass *pass = &cols.pass;
        *pass = (struct tn__conv_pass){.first = true};
        cols.p1 = min_size(cols.p0 + width, all->p1);
        for (; pass->tap0 < g->walk.taps; pass->tap0 = pass->tap1) {
            pass->tap1 = min_size(pass->tap0 + taps, g->walk.taps);
            pass->k0 = 0;
            do {
                pass->k1 = min_size(pass->k0 + piece, run);
                pass->last = pass->tap1 == g->walk.taps && pass->k1 == run;
                tn__conv_boxes(&g->walk, from, to, run_box, &cols);
                pass->first = false;
                pass->k0 = pass->k1;
            } while (pass->k1 < run);
        }
    }
}

/* A 1x1 convolution of dense images is a product of the pixels with the weights. */
static bool is_product(const struct tn_conv *conv) {
    for (size_t d = 0; d < conv->axes; d++) {
        const struct tn_conv_axis *x = &conv->axis[d];
        if (x->kernel != 1 || x->stride != 1 || x->pad != 0 || x->in != x->out)
            return false;
    }
    return true;
}

static void run_product(const struct columns *cols, size_t r0, size_t r1) {
    const struct geometry *g = cols->g;
    const struct tn_conv *conv = g->conv;
    const size_t row = g->walk.out_stride[1], channel = cols->group * g->group_out;
    const struct tn_gemm_epilogue epilogue = {1, 1, conv->lo, conv->hi,
        conv->bias ? conv->bias + channel : NULL, NULL,
        conv->residual ? conv->residual + channel : NULL, conv->residual_pixel,
        conv->post, conv->post_arg};
    const struct tn_gemm gemm = {.m = conv->batch * g->walk.axis[1].out * row,
        .n = g->group_out,
        .k = g->walk.channels,
        .a = conv->input + cols->group * g->walk.channels,
        .lda = conv->in_pixel,
        .b = conv->weights + cols->group * g->panels * g->walk.channels * g->kernels->nr,
        .c = conv->output + channel,
        .ldc = conv->out_pixel,
        .epilogue = &epilogue};
    tn_gemm_run(g->kernels, &gemm, r0 * row, r1 * row, cols->p0, cols->p1);
}

void tn_conv_run(const struct tn_gemm_kernels *kernels, const struct tn_conv *conv,
    size_t r0, size_t r1, size_t p0, size_t p1) {
    struct geometry g;
    make_geometry(&g, kernels, conv);
    const bool product = is_product(conv);
    for (size_t p = p0; p < p1;) {
        struct columns cols = {.g = &g, .group = p / g.panels, .p0 = p % g.panels};
        cols.p1 = min_size(g.panels, cols.p0 + (p1 - p));
        if (product) {
            run_product(&cols, r0, r1);
        } else {
            for (size_t r = r0; r < r1;) {
                size_t from[2], to[2];
                r = tn__conv_next_range(&g.walk, r, r1, from, to);
                run_columns(&cols, from, to);
            }
        }
        p += cols.p1 - cols.p0;
    }
}
