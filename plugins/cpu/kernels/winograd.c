/* Driver of the Winograd area: the transform of weights, and blocks of tiles that are
 * transformed, multiplied (36 products, one an element of the tile) and transformed back. */
#include "winograd.h"

#include "winograd_rows.h"

#include <stdint.h>

enum {
    ELEMENTS = 36,
    /* Floats of the transformed inputs of a block; the first number that matters is that the
     * weights are streamed once a block, the second that the block stays in cache. */
    BLOCK_INPUT = 96 * 1024,
    BLOCK_OUTPUT = 128 * 1024,
    /* Planes are set apart by a cache line more than their size, so that the 36 stores of a
     * vector do not fall into one set. */
    PLANE_PAD = 16
};

void tn_winograd_kernels_init(struct tn_winograd_kernels *kernels, enum tn_isa isa) {
    tn_gemm_kernels_init(&kernels->gemm, isa);
    tn__winograd_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__winograd_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__winograd_init_avx512(kernels);
#endif
}

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

bool tn_winograd_fits(const struct tn_conv *conv) {
    if (conv->axes != 2 || conv->groups != 1) return false;
    for (size_t d = 0; d < 2; d++) {
        const struct tn_conv_axis *x = &conv->axis[d];
        if (x->kernel != 3 || x->stride != 1 || x->dilation != 1) return false;
    }
    return true;
}

size_t tn_winograd_packed_size(
    const struct tn_winograd_kernels *kernels, const struct tn_conv *conv) {
    size_t plane =
        tn_gemm_packed_size(&kernels->gemm, conv->in_channels, conv->out_channels);
    return plane > SIZE_MAX / sizeof(float) / ELEMENTS ? SIZE_MAX : plane * ELEMENTS;
}

/* u = G g Gᵀ with the rows of G: 1/4 0 0; -1/6 -1/6 -1/6; -1/6 1/6 -1/6; 1/24 1/12 1/6;
 * 1/24 -1/12 1/6; 0 0 1. In double, since it is done once. */
static void weight_line(const double *g, size_t from, double *u, size_t to) {
    const double a = g[0], b = g[from], c = g[2 * from];
    u[0] = a / 4;
    u[to] = -(a + b + c) / 6;
    u[2 * to] = -(a - b + c) / 6;
    u[3 * to] = a / 24 + b / 12 + c / 6;
    u[4 * to] = a / 24 - b / 12 + c / 6;
    u[5 * to] = c;
}

static void transform_filter(float *dst, size_t plane, const float *filter) {
    double g[9], half[18], u[ELEMENTS];
    for (size_t i = 0; i < 9; i++)
        g[i] = (double)filter[i];
    for (size_t x = 0; x < 3; x++)
        weight_line(g + x, 3, half + x, 3);
    for (size_t y = 0; y < 6; y++)
        weight_line(half + 3 * y, 1, u + 6 * y, 1);
    for (size_t e = 0; e < ELEMENTS; e++)
        dst[e * plane] = (float)u[e];
}

void tn_winograd_pack(const struct tn_winograd_kernels *kernels,
    const struct tn_conv *conv, float *dst, const float *weights, size_t p0, size_t p1) {
    const size_t nr = kernels->gemm.nr, channels = conv->in_channels;
    const size_t plane =
        tn_gemm_packed_size(&kernels->gemm, channels, conv->out_channels);
    for (size_t p = p0; p < p1; p++) {
        for (size_t c = 0; c < channels; c++) {
            for (size_t j = 0; j < nr; j++) {
                float *to = dst + (p * channels + c) * nr + j;
                const size_t m = p * nr + j;
                if (m < conv->out_channels) {
                    transform_filter(to, plane, weights + (m * channels + c) * 9);
                } else {
                    for (size_t e = 0; e < ELEMENTS; e++)
                        to[e * plane] = 0;
                }
            }
        }
    }
}

size_t tn_winograd_tiles(const struct tn_conv *conv) {
    return conv->batch * ceil_div(conv->axis[0].out, 4) * ceil_div(conv->axis[1].out, 4);
}

/* How the work is cut: tiles of a block, panels whose products are kept at a time. */
struct cut {
    size_t tiles, panels, in_plane, out_plane;
};

static struct cut make_cut(
    const struct tn_winograd_kernels *kernels, const struct tn_conv *conv, size_t tiles) {
    const size_t channels = conv->in_channels ? conv->in_channels : 1;
    const size_t panels = tn_gemm_panels(&kernels->gemm, conv->out_channels);
    const size_t most = BLOCK_INPUT / ELEMENTS / channels, rows = kernels->gemm.rows;
    struct cut cut = {.tiles = most > rows ? most / rows * rows : rows};
    /* as few blocks as that allows, and those of equal size */
    if (tiles == 0) tiles = 1;
    cut.tiles = ceil_div(tiles, ceil_div(tiles, cut.tiles));
    cut.panels = BLOCK_OUTPUT / (ELEMENTS * cut.tiles * kernels->gemm.nr);
    cut.panels = min_size(cut.panels ? cut.panels : 1, panels);
    cut.in_plane = cut.tiles * conv->in_channels + PLANE_PAD;
    cut.out_plane = cut.tiles * cut.panels * kernels->gemm.nr + PLANE_PAD;
    return cut;
}

size_t tn_winograd_workspace(
    const struct tn_winograd_kernels *kernels, const struct tn_conv *conv) {
    const struct cut cut = make_cut(kernels, conv, tn_winograd_tiles(conv));
    return ELEMENTS * (cut.in_plane + cut.out_plane);
}

/* Which image and which corner a tile is. */
struct place {
    size_t image, y, x;
};

static struct place place_of(const struct tn_conv *conv, size_t tile) {
    const size_t across = ceil_div(conv->axis[1].out, 4);
    const size_t down = ceil_div(conv->axis[0].out, 4);
    return (struct place){
        tile / across / down, tile / across % down * 4, tile % across * 4};
}

/* The part of the six positions from `at - pad` on that lies inside the axis. */
static void inside(const struct tn_conv_axis *x, size_t at, size_t *first, size_t *past) {
    const size_t end = x->in + x->pad;
    *past = at < end ? min_size(6, end - at) : 0;
    *first = min_size(at < x->pad ? x->pad - at : 0, *past);
}

static void transform_inputs(const struct tn_winograd_kernels *kernels,
    const struct tn_conv *conv, const struct cut *cut, float *dst, size_t t0, size_t t1) {
    struct tn_winograd_input tile = {.row = conv->axis[1].in * conv->in_pixel,
        .pixel = conv->in_pixel,
        .channels = conv->in_channels,
        .plane = cut->in_plane};
    for (size_t t = t0; t < t1; t++) {
        const struct place at = place_of(conv, t);
        inside(&conv->axis[0], at.y, &tile.y0, &tile.y1);
        inside(&conv->axis[1], at.x, &tile.x0, &tile.x1);
        tile.src = conv->input;
        if (tile.y1 > tile.y0 && tile.x1 > tile.x0) {
            const size_t y = at.y + tile.y0 - conv->axis[0].pad;
            const size_t x = at.x + tile.x0 - conv->axis[1].pad;
            tile.src += ((at.image * conv->axis[0].in + y) * conv->axis[1].in + x) *
                        conv->in_pixel;
        }
        tile.dst = dst + (t - t0) * conv->in_channels;
        kernels->input(&tile);
    }
}

static void post_tile(const struct tn_conv *conv, const struct tn_winograd_output *tile) {
    for (size_t y = 0; y < tile->rows; y++) {
        float *runs[4];
        for (size_t x = 0; x < tile->cols; x++) {
            runs[x] = tile->dst + y * tile->row + x * tile->pixel;
        }
        conv->post(conv->post_arg, runs, tile->cols, tile->channels);
    }
}

static void transform_outputs(const struct tn_winograd_kernels *kernels,
    const struct tn_conv *conv, const struct cut *cut, const float *src, size_t t0,
    size_t t1, size_t channel, size_t channels) {
    const size_t width = conv->axis[1].out, stride = cut->panels * kernels->gemm.nr;
    struct tn_winograd_output tile = {.plane = cut->out_plane,
        .channels = channels,
        .row = width * conv->out_pixel,
        .pixel = conv->out_pixel,
        .bias = conv->bias ? conv->bias + channel : NULL,
        .residual_row = width * conv->residual_pixel,
        .residual_pixel = conv->residual_pixel,
        .lo = conv->lo,
        .hi = conv->hi};
    for (size_t t = t0; t < t1; t++) {
        const struct place at = place_of(conv, t);
        const size_t pixel = (at.image * conv->axis[0].out + at.y) * width + at.x;
        tile.src = src + (t - t0) * stride;
        tile.rows = min_size(4, conv->axis[0].out - at.y);
        tile.cols = min_size(4, width - at.x);
        tile.dst = conv->output + pixel * conv->out_pixel + channel;
        tile.residual = conv->residual
                            ? conv->residual + pixel * conv->residual_pixel + channel
                            : NULL;
        kernels->output(&tile);
        if (conv->post) post_tile(conv, &tile);
    }
}

static void run_block(const struct tn_winograd_kernels *kernels,
    const struct tn_conv *conv, const struct cut *cut, float *workspace, size_t t0,
    size_t t1) {
    const size_t nr = kernels->gemm.nr,
                 panels = tn_gemm_panels(&kernels->gemm, conv->out_channels);
    const size_t plane = panels * conv->in_channels * nr;
    float *in = workspace, *out = workspace + ELEMENTS * cut->in_plane;
    transform_inputs(kernels, conv, cut, in, t0, t1);
    for (size_t p = 0; p < panels; p += cut->panels) {
        const size_t count = min_size(cut->panels, panels - p);
        struct tn_gemm gemm = {.m = t1 - t0,
            .k = conv->in_channels,
            .n = min_size(count * nr, conv->out_channels - p * nr),
            .lda = conv->in_channels,
            .ldc = cut->panels * nr};
        for (size_t e = 0; e < ELEMENTS; e++) {
            gemm.a = in + e * cut->in_plane;
            gemm.b = conv->weights + e * plane + p * conv->in_channels * nr;
            gemm.c = out + e * cut->out_plane;
            tn_gemm_run(&kernels->gemm, &gemm, 0, gemm.m, 0, count);
        }
        transform_outputs(kernels, conv, cut, out, t0, t1, p * nr, gemm.n);
    }
}

void tn_winograd_run(const struct tn_winograd_kernels *kernels,
    const struct tn_conv *conv, float *workspace, size_t t0, size_t t1) {
    const struct cut most = make_cut(kernels, conv, tn_winograd_tiles(conv));
    for (size_t blocks = ceil_div(t1 - t0, most.tiles); t0 < t1; blocks--) {
        const size_t next = t0 + ceil_div(t1 - t0, blocks);
        run_block(kernels, conv, &most, workspace, t0, next);
        t0 = next;
    }
}

/* The multiply-adds of the direct method on taps that are not padding, per pair of channels. */
static double direct_taps(const struct tn_conv *conv) {
    double taps = (double)conv->batch;
    for (size_t d = 0; d < 2; d++) {
        const struct tn_conv_axis *x = &conv->axis[d];
        const size_t missing = x->out + 2 > x->in ? x->out + 2 - x->in : 0;
        taps *= 3.0 * (double)x->out - (double)missing;
    }
    return taps;
}

/* Cycles of both methods by what was measured: the direct one runs near the peak; products do
 * where tiles have rows and channels enough; weights come at 12 bytes a cycle from the last cache
 * and at 7 from memory, partly hidden by the products; a vector of channels of one tile takes
 * some 120 cycles in and as many out. */
bool tn_winograd_pays(
    const struct tn_winograd_kernels *kernels, const struct tn_conv *conv) {
    if (!tn_winograd_fits(conv)) return false;
    const double flops =
        2.0 * (double)kernels->gemm.nr; /* a cycle: two ports, half a panel */
    const size_t lanes = kernels->gemm.nr / 2, count = tn_winograd_tiles(conv);
    const double in = (double)conv->in_channels, out = (double)conv->out_channels;
    const double tiles = (double)count, pairs = in * out;
    const struct cut cut = make_cut(kernels, conv, count);
    const double rows = (double)min_size(cut.tiles, kernels->gemm.rows);
    const double direct = 2 * direct_taps(conv) * pairs / flops;
    const double product =
        2 * ELEMENTS * tiles * pairs / flops * (1 + 1.5 / rows + 12 / in);
    const double size = 4.0 * ELEMENTS * pairs;
    const double rate = size > 16e6 ? 7 : 12;
    const double stream =
        size > 512e3 ? size * (double)ceil_div(count, cut.tiles) / rate : 0;
    const double vectors = (double)(ceil_div(conv->in_channels, lanes) +
                                    ceil_div(conv->out_channels, lanes));
    const double hidden = product < stream ? product : stream;
    return product + stream - 0.75 * hidden + 120 * tiles * vectors < 0.95 * direct;
}
