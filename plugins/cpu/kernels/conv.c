/* The direct convolution: which output positions share their taps, in what pieces the sum
 * over taps and channels is taken, and the tiles that follow from both. */
#include "conv.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

enum {
    AXES = TN_CONV_MAX_AXES + 1, /* the batch is an axis too */
    /* Longest stretch of the sum that one pass takes: 3x3 on 64 channels in one. */
    PASS_K = 640,
    PASS_TAPS = 64,
    /* Floats of weights of the panels that share a pass: stays in the second-level cache.
     */
    GROUP_B = 64 * 1024,
    /* As in the GEMM drivers: pixels this many floats apart share the sets of the cache.
     */
    ALIASING = 1024,
    COPY_MIN_PANELS = 4,
    COPY_STRIDE = PASS_K + 16
};

static const ptrdiff_t zero_tap;

/* The convolution with the batch as axis 0, strides in pixels, and its taps as `taps`
 * runs of `run` floats that are contiguous in the input. Where pixels are dense, the last
 * axis of the kernel and the channels make one run: a 7x7 kernel on 3 channels is 7 runs
 * of 21. */
struct geometry {
    const struct tn_gemm_kernels *kernels;
    const struct tn_conv *conv;
    size_t axes, tap_axes;
    struct tn_conv_axis axis[AXES];
    size_t in_stride[AXES], out_stride[AXES];
    size_t channels; /* input channels of a group */
    size_t taps, run;
    size_t group_out, panels; /* output channels and panels of a group */
};

/* A box of output positions with the same valid taps t0 .. t1-1 on each axis. `at` is the
 * input position of the first output and tap, `step` that from one output to the next. */
struct box {
    size_t o0[AXES], o1[AXES], t0[AXES], t1[AXES], at[AXES], step[AXES];
};

/* One pass of the sum: runs tap0 .. tap1-1, floats k0 .. k1-1 of each. */
struct pass {
    size_t tap0, tap1, k0, k1;
    bool first, last;
};

/* The panels of one group of channels that a pass works on. */
struct columns {
    size_t group, p0, p1;
};

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

static size_t kernel_size(const struct tn_conv *conv) {
    size_t size = 1;
    for (size_t d = 0; d < conv->axes; d++)
        size *= conv->axis[d].kernel;
    return size;
}

static void make_geometry(struct geometry *g, const struct tn_gemm_kernels *kernels,
    const struct tn_conv *conv) {
    const struct tn_conv_axis batch = {conv->batch, conv->batch, 1, 1, 1, 0};
    const struct tn_conv_axis *last = &conv->axis[conv->axes - 1];
    const bool merged =
        conv->groups == 1 && conv->in_pixel == conv->in_channels && last->dilation == 1;
    g->kernels = kernels;
    g->conv = conv;
    g->axes = conv->axes + 1;
    g->tap_axes = merged ? conv->axes : g->axes;
    g->axis[0] = batch;
    for (size_t d = 0; d < conv->axes; d++)
        g->axis[d + 1] = conv->axis[d];
    size_t in = 1, out = 1;
    for (size_t d = g->axes; d-- > 0;) {
        g->in_stride[d] = in;
        g->out_stride[d] = out;
        in *= g->axis[d].in;
        out *= g->axis[d].out;
    }
    g->channels = conv->in_channels / conv->groups;
    g->run = g->channels * (merged ? last->kernel : 1);
    g->taps = kernel_size(conv) / (merged ? last->kernel : 1);
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
    return panels * k * kernel_size(conv) * kernels->nr;
}

void tn_conv_pack(const struct tn_gemm_kernels *kernels, const struct tn_conv *conv,
    float *dst, const float *weights, size_t p0, size_t p1) {
    struct geometry g;
    make_geometry(&g, kernels, conv);
    const size_t taps = kernel_size(conv), row = g.channels * taps;
    const size_t panel_size = row * kernels->nr;
    for (size_t p = p0; p < p1; p++) {
        const size_t col = p % g.panels * kernels->nr;
        const float *src = weights + (p / g.panels * g.group_out + col) * row;
        for (size_t tap = 0; tap < taps; tap++) {
            tn_gemm_pack(kernels, dst + p * panel_size + tap * g.channels * kernels->nr,
                0, src + tap, taps, row, g.channels, g.group_out - col, 0, 1);
        }
    }
}

size_t tn_conv_rows(const struct tn_conv *conv) {
    return conv->batch * conv->axis[0].out;
}

static void valid_taps(const struct tn_conv_axis *x, size_t o, size_t *t0, size_t *t1) {
    const size_t at = o * x->stride, end = x->in + x->pad;
    const size_t first = at >= x->pad ? 0 : ceil_div(x->pad - at, x->dilation);
    const size_t past = at >= end ? 0 : ceil_div(end - at, x->dilation);
    *t1 = min_size(past, x->kernel);
    *t0 = first;
    if (first >= *t1) *t0 = *t1 = 0;
}

/* The positions from o0 on that share its taps on axis d, but none from `limit` on. */
static void set_axis(
    const struct geometry *g, struct box *box, size_t d, size_t o0, size_t limit) {
    const struct tn_conv_axis *x = &g->axis[d];
    size_t t0, t1, n0, n1, o1 = o0 + 1;
    valid_taps(x, o0, &t0, &t1);
    if (t1 - t0 == x->kernel) {
        /* all of them are valid up to the last position whose last tap is inside */
        o1 = min_size(
            limit, (x->in - 1 + x->pad - (x->kernel - 1) * x->dilation) / x->stride + 1);
    } else {
        for (; o1 < limit; o1++) {
            valid_taps(x, o1, &n0, &n1);
            if (n0 != t0 || n1 != t1) break;
        }
    }
    box->o0[d] = o0;
    box->o1[d] = o1;
    box->t0[d] = t0;
    box->t1[d] = t1;
    box->at[d] = t1 > t0 ? o0 * x->stride + t0 * x->dilation - x->pad : 0;
    box->step[d] = t1 > t0 ? x->stride : 0;
}

/* Where one box is being walked: the next position and its pixels. */
struct cursor {
    size_t o[AXES], in, out;
};

static void locate(
    const struct geometry *g, const struct box *box, struct cursor *cursor) {
    cursor->in = cursor->out = 0;
    for (size_t d = 0; d < g->axes; d++) {
        cursor->in +=
            (box->at[d] + (cursor->o[d] - box->o0[d]) * box->step[d]) * g->in_stride[d];
        cursor->out += cursor->o[d] * g->out_stride[d];
    }
}

static void advance(
    const struct geometry *g, const struct box *box, struct cursor *cursor) {
    size_t d = g->axes - 1;
    if (++cursor->o[d] < box->o1[d]) {
        cursor->in += box->step[d];
        cursor->out++;
        return;
    }
    while (cursor->o[d] == box->o1[d] && d > 0) {
        cursor->o[d] = box->o0[d];
        cursor->o[--d]++;
    }
    if (d > 0 || cursor->o[0] < box->o1[0]) locate(g, box, cursor);
}

/* The offsets of the pass's valid taps, and how much of each run is valid. */
struct tap_list {
    ptrdiff_t a[PASS_TAPS];
    size_t b[PASS_TAPS];
    size_t count, k;
};

static void list_taps(const struct geometry *g, const struct box *box,
    const struct pass *pass, struct tap_list *list) {
    const size_t last = g->axes - 1;
    size_t k0 = pass->k0, k1 = pass->k1, skipped = 0;
    if (g->tap_axes == last) { /* merged: the run begins at the first valid column */
        skipped = box->t0[last] * g->channels;
        k0 = k0 > skipped ? k0 : skipped;
        k1 = min_size(k1, box->t1[last] * g->channels);
    }
    list->count = 0;
    list->k = k1 > k0 ? k1 - k0 : 0;
    for (size_t tap = pass->tap0; tap < pass->tap1 && list->k > 0; tap++) {
        size_t rest = tap, pixels = 0, d = g->tap_axes;
        while (d-- > 0) {
            const size_t t = rest % g->axis[d].kernel;
            rest /= g->axis[d].kernel;
            if (t < box->t0[d] || t >= box->t1[d]) break;
            pixels += (t - box->t0[d]) * g->axis[d].dilation * g->in_stride[d];
        }
        if (d != SIZE_MAX) continue;
        list->a[list->count] = (ptrdiff_t)(pixels * g->conv->in_pixel + k0 - skipped);
        list->b[list->count++] = (tap * g->run + k0) * g->kernels->nr;
    }
}

/* One tile of positions against the panels of the pass. */
static void run_tile(const struct geometry *g, const struct columns *cols,
    const size_t *pixel, const struct tn_gemm_tile *rows) {
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

static void run_box(const struct geometry *g, const struct columns *cols,
    const struct pass *pass, const struct box *box) {
    const struct tn_conv *conv = g->conv;
    alignas(TN_GEMM_ALIGN) float copy[TN_GEMM_MAX_ROWS * COPY_STRIDE];
    const float *a[TN_GEMM_MAX_ROWS];
    size_t pixel[TN_GEMM_MAX_ROWS], positions = 1;
    struct tap_list taps;
    struct cursor cursor;
    list_taps(g, box, pass, &taps);
    if (taps.count == 0) taps.b[0] = 0;
    if (taps.count == 0 && !pass->first && !pass->last) return;
    const bool aliasing = taps.count == 1 && cols->p1 - cols->p0 >= COPY_MIN_PANELS &&
                          conv->in_pixel * box->step[g->axes - 1] % ALIASING == 0;
    struct tn_gemm_tile t = {.taps = taps.count,
        .k = taps.k,
        .a = a,
        .a_tap = taps.a,
        .b_tap = taps.b,
        .ldb = g->kernels->nr,
        .panel_stride = g->taps * g->run * g->kernels->nr,
        .alpha = 1,
        .beta = 1,
        .lo = conv->lo,
        .hi = conv->hi,
        .accumulate = !pass->first,
        .finish = pass->last};
    for (size_t d = 0; d < g->axes; d++) {
        positions *= box->o1[d] - box->o0[d];
        cursor.o[d] = box->o0[d];
    }
    if (aliasing) t.a_tap = &zero_tap;
    locate(g, box, &cursor);
    for (size_t tiles = ceil_div(positions, g->kernels->rows); tiles > 0; tiles--) {
        t.rows = ceil_div(positions, tiles);
        positions -= t.rows;
        for (size_t i = 0; i < t.rows; i++) {
            a[i] = conv->input + cursor.in * conv->in_pixel + cols->group * g->channels;
            pixel[i] = cursor.out;
            if (aliasing) {
                float *to = copy + i * COPY_STRIDE;
                memcpy(to, a[i] + taps.a[0], taps.k * sizeof(float));
                a[i] = to;
            }
            advance(g, box, &cursor);
        }
        run_tile(g, cols, pixel, &t);
    }
}

/* All boxes of a range of images and of positions on the first spatial axis. */
static void run_pass(const struct geometry *g, const struct columns *cols,
    const struct pass *pass, const size_t from[2], const size_t to[2]) {
    struct box box;
    size_t d, start[AXES], limit[AXES];
    for (d = 0; d < g->axes; d++) {
        start[d] = d < 2 ? from[d] : 0;
        limit[d] = d < 2 ? to[d] : g->axis[d].out;
        if (start[d] >= limit[d]) return;
        set_axis(g, &box, d, start[d], limit[d]);
    }
    do {
        run_box(g, cols, pass, &box);
        for (d = g->axes; d-- > 0;) {
            if (box.o1[d] < limit[d]) {
                set_axis(g, &box, d, box.o1[d], limit[d]);
                break;
            }
            set_axis(g, &box, d, start[d], limit[d]);
        }
    } while (d != SIZE_MAX);
}

/* All passes of the sum over the panels of one group of channels. */
static void run_columns(const struct geometry *g, const struct columns *all,
    const size_t from[2], const size_t to[2]) {
    const size_t pieces = ceil_div(g->run, PASS_K);
    const size_t piece = pieces ? ceil_div(g->run, pieces) : 0;
    const size_t fit = piece ? min_size(PASS_TAPS, PASS_K / piece) : PASS_TAPS;
    const size_t rounds = ceil_div(g->taps, fit), taps = ceil_div(g->taps, rounds);
    const size_t depth = piece * taps * g->kernels->nr;
    const size_t width = depth && depth < GROUP_B ? GROUP_B / depth : 1;
    struct columns cols = *all;
    for (; cols.p0 < all->p1; cols.p0 = cols.p1) {
        struct pass pass = {.first = true};
        cols.p1 = min_size(cols.p0 + width, all->p1);
        for (; pass.tap0 < g->taps; pass.tap0 = pass.tap1) {
            pass.tap1 = min_size(pass.tap0 + taps, g->taps);
            pass.k0 = 0;
            do {
                pass.k1 = min_size(pass.k0 + piece, g->run);
                pass.last = pass.tap1 == g->taps && pass.k1 == g->run;
                run_pass(g, &cols, &pass, from, to);
                pass.first = false;
                pass.k0 = pass.k1;
            } while (pass.k1 < g->run);
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

static void run_product(
    const struct geometry *g, const struct columns *cols, size_t r0, size_t r1) {
    const struct tn_conv *conv = g->conv;
    const size_t row = g->out_stride[1], channel = cols->group * g->group_out;
    const struct tn_gemm_epilogue epilogue = {1, 1, conv->lo, conv->hi,
        conv->bias ? conv->bias + channel : NULL, NULL,
        conv->residual ? conv->residual + channel : NULL, conv->residual_pixel,
        conv->post, conv->post_arg};
    const struct tn_gemm gemm = {.m = conv->batch * g->axis[1].out * row,
        .n = g->group_out,
        .k = g->channels,
        .a = conv->input + cols->group * g->channels,
        .lda = conv->in_pixel,
        .b = conv->weights + cols->group * g->panels * g->channels * g->kernels->nr,
        .c = conv->output + channel,
        .ldc = conv->out_pixel,
        .epilogue = &epilogue};
    tn_gemm_run(g->kernels, &gemm, r0 * row, r1 * row, cols->p0, cols->p1);
}

/* Rows r0 .. r1-1 are the end of one image, whole images, and the start of one. */
static void run_rows(
    const struct geometry *g, const struct columns *cols, size_t r0, size_t r1) {
    const size_t height = g->axis[1].out;
    while (r0 < r1) {
        const size_t image = r0 / height, y = r0 % height;
        const size_t whole = y == 0 ? (r1 - r0) / height : 0;
        const size_t rows = whole ? whole * height : min_size(r1 - r0, height - y);
        const size_t from[2] = {image, whole ? 0 : y};
        const size_t to[2] = {image + (whole ? whole : 1), whole ? height : y + rows};
        run_columns(g, cols, from, to);
        r0 += rows;
    }
}

void tn_conv_run(const struct tn_gemm_kernels *kernels, const struct tn_conv *conv,
    size_t r0, size_t r1, size_t p0, size_t p1) {
    struct geometry g;
    make_geometry(&g, kernels, conv);
    const bool product = is_product(conv);
    for (size_t p = p0; p < p1;) {
        struct columns cols = {.group = p / g.panels, .p0 = p % g.panels};
        cols.p1 = min_size(g.panels, cols.p0 + (p1 - p));
        if (product) {
            run_product(&g, &cols, r0, r1);
        } else {
            run_rows(&g, &cols, r0, r1);
        }
        p += cols.p1 - cols.p0;
    }
}
