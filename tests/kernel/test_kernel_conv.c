/* Convolutions of one to four axes against a loop over their definition, in pixels that
 * are dense and in slices of wider buffers, whole and in pieces. */
#include "test_kernel.h"

#include "test_kernel_conv.h"

#include <float.h>
#include <math.h>

size_t kernel_conv_pixels(const struct tn_conv *conv, bool out) {
    size_t pixels = conv->batch;
    for (size_t d = 0; d < conv->axes; d++) {
        pixels *= out ? conv->axis[d].out : conv->axis[d].in;
    }
    return pixels;
}

size_t kernel_conv_taps(const struct tn_conv *conv) {
    size_t taps = 1;
    for (size_t d = 0; d < conv->axes; d++)
        taps *= conv->axis[d].kernel;
    return taps;
}

/* The input pixel that output pixel `out` meets at `tap`, or -1 on padding. */
static int64_t input_pixel(const struct tn_conv *conv, size_t out, size_t tap) {
    size_t pixel = 0, stride = 1;
    for (size_t d = conv->axes; d-- > 0;) {
        const struct tn_conv_axis *x = &conv->axis[d];
        int64_t at = (int64_t)(out % x->out * x->stride + tap % x->kernel * x->dilation) -
                     (int64_t)x->pad;
        if (at < 0 || at >= (int64_t)x->in) return -1;
        pixel += (size_t)at * stride;
        stride *= x->in;
        out /= x->out;
        tap /= x->kernel;
    }
    return (int64_t)(pixel + out * stride);
}

void kernel_conv_expect(struct kernel_run *run, const struct tn_conv *conv,
    const float *weights, const float *residual, double slack, const float *got) {
    const size_t pixels = kernel_conv_pixels(conv, true), channels = conv->out_channels;
    const size_t taps = kernel_conv_taps(conv), depth = conv->in_channels / conv->groups;
    double *want = kernel_doubles(run, pixels * channels);
    double *bound = kernel_doubles(run, pixels * channels);
    for (size_t p = 0; p < pixels; p++) {
        for (size_t m = 0; m < channels; m++) {
            const size_t first = m / (channels / conv->groups) * depth;
            double sum = 0, size = 0;
            for (size_t tap = 0; tap < taps; tap++) {
                const int64_t pixel = input_pixel(conv, p, tap);
                if (pixel < 0) continue;
                const float *x = conv->input + (size_t)pixel * conv->in_pixel + first;
                for (size_t c = 0; c < depth; c++) {
                    double y =
                        (double)x[c] * (double)weights[(m * depth + c) * taps + tap];
                    sum += y;
                    size += fabs(y);
                }
            }
            if (conv->bias) sum += (double)conv->bias[m];
            if (residual) sum += (double)residual[p * conv->residual_pixel + m];
            sum = sum < (double)conv->lo ? (double)conv->lo : sum;
            want[p * channels + m] = sum > (double)conv->hi ? (double)conv->hi : sum;
            bound[p * channels + m] =
                slack + ((double)(taps * depth) + 8) * FLT_EPSILON * (size + 2);
        }
    }
    kernel_check_rows(run, got, conv->out_pixel, pixels, channels, want, bound);
}

void kernel_conv_same(
    struct kernel_run *run, const struct tn_conv *conv, const float *x, const float *y) {
    for (size_t p = 0; p < kernel_conv_pixels(conv, true); p++) {
        kernel_check_same(run, x + p * conv->out_pixel, y + p * conv->out_pixel,
            conv->out_channels * sizeof(float));
    }
}

float *kernel_conv_output(struct kernel_run *run, struct tn_conv *conv) {
    const size_t pixels = kernel_conv_pixels(conv, true);
    conv->output = kernel_output(
        run, pixels ? (pixels - 1) * conv->out_pixel + conv->out_channels : 0);
    return conv->output;
}

void kernel_conv_input(
    struct kernel_run *run, struct tn_conv *conv, size_t gap, bool residual) {
    const size_t in = kernel_conv_pixels(conv, false),
                 out = kernel_conv_pixels(conv, true);
    conv->in_pixel = conv->in_channels + gap;
    conv->out_pixel = conv->out_channels + gap;
    conv->residual_pixel = conv->out_channels + 2 * gap;
    conv->input =
        kernel_input(run, in ? (in - 1) * conv->in_pixel + conv->in_channels : 0);
    conv->bias = residual ? kernel_input(run, conv->out_channels) : NULL;
    conv->residual = NULL;
    if (residual && out) {
        conv->residual =
            kernel_input(run, (out - 1) * conv->residual_pixel + conv->out_channels);
    }
    conv->lo = residual ? 0.0f : -INFINITY;
    conv->hi = INFINITY;
}

static void post_double(const void *arg, float *const *runs, size_t count, size_t n) {
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < n; j++)
            runs[i][j] *= *(const float *)arg;
    }
}

void kernel_conv_ends(struct kernel_run *run, const struct tn_conv *conv,
    const float *whole, kernel_conv_fn *compute, const void *kernels, float *workspace) {
    static const float two = 2.0f;
    const size_t pixels = kernel_conv_pixels(conv, true), channels = conv->out_channels;
    struct tn_conv again = *conv;
    float *in_place = kernel_conv_output(run, &again);
    if (conv->residual) {
        for (size_t p = 0; p < pixels; p++) {
            for (size_t c = 0; c < channels; c++) {
                in_place[p * conv->out_pixel + c] =
                    conv->residual[p * conv->residual_pixel + c];
            }
        }
        again.residual = in_place;
        again.residual_pixel = conv->out_pixel;
    }
    compute(kernels, &again, workspace);
    kernel_conv_same(run, conv, whole, in_place);

    again = *conv;
    again.post = post_double;
    again.post_arg = &two;
    float *doubled = kernel_conv_output(run, &again);
    compute(kernels, &again, workspace);
    bool right = true;
    for (size_t p = 0; p < pixels; p++) {
        for (size_t c = 0; c < channels; c++) {
            const size_t at = p * conv->out_pixel + c;
            right = right && doubled[at] == 2 * whole[at];
        }
    }
    kernel_check(run, right, "post did not run exactly once on every value");
}

static void compute_conv(
    const void *kernels, const struct tn_conv *conv, float *workspace) {
    (void)workspace;
    tn_conv_run(kernels, conv, 0, tn_conv_rows(conv), 0, tn_conv_panels(kernels, conv));
}

static void test_shape(struct kernel_run *run, const struct tn_gemm_kernels *kernels,
    const struct tn_conv *shape, size_t gap, bool residual) {
    struct tn_conv conv = *shape;
    kernel_conv_input(run, &conv, gap, residual);
    const float *weights = kernel_input(run,
        conv.out_channels * (conv.in_channels / conv.groups) * kernel_conv_taps(&conv));
    const size_t panels = tn_conv_panels(kernels, &conv), rows = tn_conv_rows(&conv);
    float *packed = kernel_memory(
        run, tn_conv_packed_size(kernels, &conv) * sizeof(float), TN_GEMM_ALIGN);
    tn_conv_pack(kernels, &conv, packed, weights, 0, panels / 2);
    tn_conv_pack(kernels, &conv, packed, weights, panels / 2, panels);
    conv.weights = packed;

    float *whole = kernel_conv_output(run, &conv);
    tn_conv_run(kernels, &conv, 0, rows, 0, panels);
    kernel_conv_expect(run, &conv, weights, conv.residual, 0, whole);

    float *split = kernel_conv_output(run, &conv);
    const size_t row = rows ? kernel_random(run) % rows : 0;
    const size_t panel = panels ? kernel_random(run) % panels : 0;
    tn_conv_run(kernels, &conv, 0, row, 0, panels);
    tn_conv_run(kernels, &conv, row, rows, panel, panels);
    tn_conv_run(kernels, &conv, row, rows, 0, panel);
    kernel_conv_same(run, &conv, whole, split);
    kernel_conv_ends(run, &conv, whole, compute_conv, kernels, NULL);
}

// clang-format off
static const struct tn_conv shapes[] = {
    /* batch, axes, groups, in, out channels, {in, out, kernel, stride, dilation, pad} */
    {1, 2, 1, 3, 8, {{17, 9, 7, 2, 1, 3}, {23, 12, 7, 2, 1, 3}}},
    {2, 2, 1, 16, 33, {{7, 7, 3, 1, 1, 1}, {7, 7, 3, 1, 1, 1}}},
    {3, 2, 1, 20, 17, {{14, 14, 3, 1, 1, 1}, {9, 9, 3, 1, 1, 1}}},
    {1, 2, 1, 5, 40, {{15, 8, 3, 2, 1, 1}, {16, 8, 3, 2, 1, 1}}},
    {2, 2, 1, 64, 32, {{6, 6, 1, 1, 1, 0}, {5, 5, 1, 1, 1, 0}}},
    {1, 2, 1, 33, 31, {{9, 5, 1, 2, 1, 0}, {8, 4, 1, 2, 1, 0}}},
    {1, 2, 1, 3, 20, {{35, 8, 11, 4, 1, 2}, {39, 9, 11, 4, 1, 2}}},
    {2, 2, 3, 12, 30, {{5, 5, 3, 1, 1, 1}, {6, 6, 3, 1, 1, 1}}},
    {1, 2, 4, 80, 80, {{6, 6, 1, 1, 1, 0}, {7, 7, 1, 1, 1, 0}}},
    {1, 2, 2, 48, 128, {{9, 9, 5, 1, 1, 2}, {8, 8, 5, 1, 1, 2}}},
    {1, 2, 1, 8, 16, {{12, 12, 3, 1, 3, 3}, {12, 12, 3, 1, 3, 3}}},
    {1, 2, 1, 4, 6, {{2, 2, 5, 1, 1, 2}, {1, 1, 5, 1, 1, 2}}},      /* kernel larger than image */
    {1, 2, 1, 4, 6, {{2, 8, 3, 1, 1, 4}, {3, 7, 2, 2, 1, 6}}},      /* positions without taps */
    {1, 2, 1, 700, 40, {{3, 3, 3, 1, 1, 1}, {4, 4, 3, 1, 1, 1}}},   /* runs in several passes */
    {1, 2, 1, 1024, 140, {{5, 5, 1, 2, 1, 2}, {5, 5, 1, 2, 1, 2}}}, /* rows that alias */
    {3, 1, 1, 16, 24, {{50, 50, 5, 1, 1, 2}}},
    {2, 1, 1, 6, 70, {{101, 34, 9, 3, 2, 8}}},
    {1, 3, 1, 5, 12, {{4, 4, 3, 1, 1, 1}, {5, 5, 3, 1, 1, 1}, {6, 3, 3, 2, 1, 1}}},
    {1, 4, 2, 4, 6, {{3, 3, 3, 1, 1, 1}, {3, 2, 2, 1, 1, 0}, {4, 4, 3, 1, 1, 1}, {3, 3, 1, 1, 1, 0}}},
    {0, 2, 1, 4, 6, {{5, 5, 3, 1, 1, 1}, {5, 5, 3, 1, 1, 1}}},
    {1, 2, 1, 4, 6, {{2, 0, 3, 1, 1, 0}, {5, 3, 3, 1, 1, 0}}},
    {1, 2, 1, 0, 6, {{3, 3, 3, 1, 1, 1}, {3, 3, 3, 1, 1, 1}}},
};
// clang-format on

/* Image 0 alone and among others: the same bits. */
static void test_batch(struct kernel_run *run, const struct tn_gemm_kernels *kernels) {
    kernel_case(run, "an image alone and in a batch");
    struct tn_conv conv = shapes[1];
    conv.batch = 5;
    kernel_conv_input(run, &conv, 0, false);
    const float *weights = kernel_input(run, conv.out_channels * conv.in_channels * 9);
    const size_t panels = tn_conv_panels(kernels, &conv);
    float *packed = kernel_memory(
        run, tn_conv_packed_size(kernels, &conv) * sizeof(float), TN_GEMM_ALIGN);
    tn_conv_pack(kernels, &conv, packed, weights, 0, panels);
    conv.weights = packed;
    float *all = kernel_conv_output(run, &conv);
    tn_conv_run(kernels, &conv, 0, tn_conv_rows(&conv), 0, panels);
    struct tn_conv one = conv;
    one.batch = 1;
    const size_t pixels = kernel_conv_pixels(&one, true);
    for (size_t image = 0; image < conv.batch; image++) {
        one.input = conv.input + image * kernel_conv_pixels(&one, false) * conv.in_pixel;
        float *alone = kernel_conv_output(run, &one);
        tn_conv_run(kernels, &one, 0, tn_conv_rows(&one), 0, panels);
        kernel_check_same(run, alone, all + image * pixels * conv.out_pixel,
            pixels * conv.out_pixel * sizeof(float));
    }
}

void test_conv(struct kernel_run *run) {
    struct tn_gemm_kernels kernels;
    tn_gemm_kernels_init(&kernels, run->isa);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        for (unsigned variant = 0; variant < 4; variant++) {
            kernel_case(run, "shape %zu variant %u", i, variant);
            test_shape(run, &kernels, &shapes[i], variant & 1 ? 3 : 0, variant & 2);
        }
    }
    test_batch(run, &kernels);
}
