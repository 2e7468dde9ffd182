/* Driver of the depthwise area: rectangles of positions with the same taps (conv_walk.h). */
#include "depthwise.h"

#include "conv_walk.h"
#include "depthwise_rows.h"

#include <stdint.h>

void tn_depthwise_kernels_init(struct tn_depthwise_kernels *kernels, enum tn_isa isa) {
    tn__depthwise_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__depthwise_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__depthwise_init_avx512(kernels);
#endif
    (void)isa;
}

bool tn_depthwise_fits(const struct tn_conv *conv) {
    return conv->groups > 1 && conv->groups == conv->in_channels &&
           conv->out_channels % conv->groups == 0;
}

size_t tn_depthwise_packed_size(const struct tn_conv *conv) {
    size_t size = conv->out_channels;
    for (size_t d = 0; d < conv->axes; d++) {
        if (size > SIZE_MAX / sizeof(float) / conv->axis[d].kernel) return SIZE_MAX;
        size *= conv->axis[d].kernel;
    }
    return size;
}

void tn_depthwise_pack(const struct tn_conv *conv, float *dst, const float *weights) {
    const size_t taps = tn__conv_kernel_size(conv), channels = conv->in_channels;
    const size_t multiple = conv->out_channels / channels;
    for (size_t c = 0; c < channels; c++) {
        for (size_t j = 0; j < multiple; j++) {
            for (size_t tap = 0; tap < taps; tap++) {
                dst[(j * taps + tap) * channels + c] = *weights++;
            }
        }
    }
}

struct job {
    const struct tn_depthwise_kernels *kernels;
    const struct tn_conv *conv;
    struct tn__conv_walk walk;
    struct tn__conv_pass pass;
};

static void post_tile(const struct tn_conv *conv, const struct tn_depthwise_tile *t) {
    for (size_t y = 0; y < t->rows; y++) {
        for (size_t x = 0; x < t->cols; x++) {
            float *run = t->out + y * t->out_row + x * t->out_col;
            conv->post(conv->post_arg, &run, 1, conv->out_channels);
        }
    }
}

/* All channels of one rectangle: once for each multiple of the input channels. */
static void run_rectangle(const struct job *job, struct tn_depthwise_tile *t,
    const struct tn__conv_cursor *at) {
    const struct tn_conv *conv = job->conv;
    const size_t multiple = t->spread, weights = job->walk.taps * conv->in_channels;
    t->in = conv->input + at->in * conv->in_pixel;
    for (size_t j = 0; j < multiple; j++) {
        t->out = conv->output + at->out * conv->out_pixel + j;
        t->weights = conv->weights + j * weights;
        t->bias = conv->bias ? conv->bias + j : NULL;
        t->residual =
            conv->residual ? conv->residual + at->out * conv->residual_pixel + j : NULL;
        if (multiple == 1) {
            job->kernels->tile(t);
        } else {
            job->kernels->tile_spread(t);
        }
    }
    t->out = conv->output + at->out * conv->out_pixel;
    if (t->finish && conv->post) post_tile(conv, t);
}

static void exchange(size_t *a, size_t *b) {
    const size_t kept = *a;
    *a = *b;
    *b = kept;
}

/* A narrow rectangle, such as a column at the border, as a low one: rows are what is fast. */
static void turn(struct tn_depthwise_tile *t) {
    exchange(&t->rows, &t->cols);
    exchange(&t->in_row, &t->in_col);
    exchange(&t->out_row, &t->out_col);
    exchange(&t->residual_row, &t->residual_col);
}

/* The last two axes of a box are a rectangle; the others are stepped through. With one spatial
 * axis the other of the two is the batch. */
static void run_box(void *arg, const struct tn__conv_box *box) {
    const struct job *job = arg;
    const struct tn_conv *conv = job->conv;
    const struct tn__conv_walk *walk = &job->walk;
    const size_t x = walk->axes - 1, y = x - 1;
    struct tn__conv_taps taps;
    struct tn__conv_cursor cursor;
    tn__conv_list_taps(walk, box, &job->pass, conv->in_channels, &taps);
    if (taps.count == 0 && !job->pass.first && !job->pass.last) return;
    const size_t in_row = box->step[y] * walk->in_stride[y];
    struct tn_depthwise_tile t = {.rows = box->o1[y] - box->o0[y],
        .cols = box->o1[x] - box->o0[x],
        .channels = conv->in_channels,
        .in_row = in_row * conv->in_pixel,
        .in_col = box->step[x] * conv->in_pixel,
        .out_row = walk->out_stride[y] * conv->out_pixel,
        .out_col = conv->out_pixel,
        .spread = conv->out_channels / conv->in_channels,
        .taps = taps.count,
        .in_tap = taps.a,
        .w_tap = taps.b,
        .residual_row = walk->out_stride[y] * conv->residual_pixel,
        .residual_col = conv->residual_pixel,
        .lo = conv->lo,
        .hi = conv->hi,
        .accumulate = !job->pass.first,
        .finish = job->pass.last};
    if (t.cols < 4 && t.rows > t.cols) turn(&t);
    for (size_t d = 0; d < walk->axes; d++)
        cursor.o[d] = box->o0[d];
    tn__conv_locate(walk, box, &cursor);
    do {
        run_rectangle(job, &t, &cursor);
    } while (y > 0 && tn__conv_advance(walk, box, y, &cursor));
}

void tn_depthwise_run(const struct tn_depthwise_kernels *kernels,
    const struct tn_conv *conv, size_t r0, size_t r1) {
    struct job job = {.kernels = kernels, .conv = conv};
    tn__conv_walk_init(&job.walk, conv);
    job.pass.k1 = job.walk.run;
    while (r0 < r1) {
        size_t from[2], to[2];
        r0 = tn__conv_next_range(&job.walk, r0, r1, from, to);
        job.pass.first = true;
        for (job.pass.tap0 = 0; job.pass.tap0 < job.walk.taps;
             job.pass.tap0 = job.pass.tap1) {
            const size_t left = job.walk.taps - job.pass.tap0;
            job.pass.last = left <= TN__CONV_PASS_TAPS;
            job.pass.tap1 = job.pass.tap0 + (job.pass.last ? left : TN__CONV_PASS_TAPS);
            tn__conv_boxes(&job.walk, from, to, run_box, &job);
            job.pass.first = false;
        }
    }
}
