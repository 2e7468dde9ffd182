/* Bench rows of the convolution areas: layers of ResNet-50, AlexNet, ShuffleNet,
 * MobileNet. */
#include "bench_kernel.h"

#include "conv.h"
#include "depthwise.h"
#include "winograd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct layer {
    size_t size, channels, filters, kernel, stride, pad, groups;
};

// clang-format off
static const struct layer layers[] = {
    {56, 64, 64, 3, 1, 1, 1}, {28, 128, 128, 3, 1, 1, 1}, {14, 256, 256, 3, 1, 1, 1},
    {7, 512, 512, 3, 1, 1, 1}, {56, 64, 64, 1, 1, 0, 1}, {56, 64, 256, 1, 1, 0, 1},
    {56, 256, 64, 1, 1, 0, 1}, {28, 512, 128, 1, 1, 0, 1}, {14, 1024, 256, 1, 1, 0, 1},
    {7, 512, 2048, 1, 1, 0, 1}, {7, 2048, 512, 1, 1, 0, 1}, {56, 128, 128, 3, 2, 1, 1},
    {28, 256, 256, 3, 2, 1, 1}, {14, 512, 512, 3, 2, 1, 1}, {56, 256, 512, 1, 2, 0, 1},
    {14, 1024, 2048, 1, 2, 0, 1}, {224, 3, 64, 7, 2, 3, 1}, {224, 3, 64, 11, 4, 2, 1},
    {27, 96, 256, 5, 1, 2, 2}, {224, 3, 24, 3, 2, 1, 1}, {28, 240, 240, 1, 1, 0, 3},
    {14, 480, 480, 1, 1, 0, 3},
};
// clang-format on

struct convolution {
    struct tn_gemm_kernels kernels;
    struct tn_conv conv;
};

static void run_conv(void *arg) {
    struct convolution *c = arg;
    tn_conv_run(&c->kernels, &c->conv, 0, tn_conv_rows(&c->conv), 0,
        tn_conv_panels(&c->kernels, &c->conv));
}

static size_t out_size(const struct layer *layer) {
    return (layer->size + 2 * layer->pad - layer->kernel) / layer->stride + 1;
}

static struct tn_conv make_conv(const struct layer *layer) {
    const size_t out = out_size(layer);
    const struct tn_conv_axis axis = {
        layer->size, out, layer->kernel, layer->stride, 1, layer->pad};
    struct tn_conv conv = {.batch = 1,
        .axes = 2,
        .groups = layer->groups,
        .in_channels = layer->channels,
        .out_channels = layer->filters,
        .axis = {axis, axis},
        .in_pixel = layer->channels,
        .out_pixel = layer->filters,
        .lo = 0,
        .hi = INFINITY};
    conv.input = bench_floats(layer->size * layer->size * layer->channels);
    conv.output = bench_floats(out * out * layer->filters);
    conv.bias = bench_floats(layer->filters);
    return conv;
}

static void bench_layer(enum tn_isa isa, const struct layer *layer) {
    struct convolution c = {.conv = make_conv(layer)};
    const double out = (double)out_size(layer), kernel = (double)layer->kernel;
    char name[64];
    tn_gemm_kernels_init(&c.kernels, isa);
    float *packed = bench_floats(tn_conv_packed_size(&c.kernels, &c.conv));
    c.conv.weights = packed;
    snprintf(name, sizeof(name), "%zux%zu s%zu %zu->%zu g%zu, %zux%zu", layer->kernel,
        layer->kernel, layer->stride, layer->channels, layer->filters, layer->groups,
        layer->size, layer->size);
    /* multiply-adds on padding count as work, as they do in every published figure */
    struct bench_case test = {"conv", name,
        2 * out * out * kernel * kernel * (double)layer->filters *
            (double)(layer->channels / layer->groups),
        run_conv, &c, 1, layer->filters % 64 == 0 ? 75 : 0};
    bench_report(&test, isa, layer->pad > 0);
    free((void *)c.conv.input);
    free((void *)c.conv.bias);
    free(c.conv.output);
    free(packed);
}

void bench_conv(enum tn_isa isa) {
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
        bench_layer(isa, &layers[i]);
    }
}

struct winograd {
    struct tn_winograd_kernels kernels;
    struct tn_conv conv;
    float *workspace;
};

static void run_winograd(void *arg) {
    struct winograd *w = arg;
    tn_winograd_run(&w->kernels, &w->conv, w->workspace, 0, tn_winograd_tiles(&w->conv));
}

void bench_winograd(enum tn_isa isa) {
    static const struct layer shapes[] = {{56, 64, 64, 3, 1, 1, 1},
        {28, 128, 128, 3, 1, 1, 1}, {14, 256, 256, 3, 1, 1, 1}, {7, 512, 512, 3, 1, 1, 1},
        {112, 32, 64, 3, 1, 1, 1}, {224, 64, 64, 3, 1, 1, 1}, {28, 16, 16, 3, 1, 1, 1}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct layer *layer = &shapes[i];
        struct winograd w = {.conv = make_conv(layer)};
        char name[64];
        tn_winograd_kernels_init(&w.kernels, isa);
        float *packed = bench_floats(tn_winograd_packed_size(&w.kernels, &w.conv));
        w.conv.weights = packed;
        w.workspace = bench_floats(tn_winograd_workspace(&w.kernels, &w.conv));
        snprintf(name, sizeof(name), "3x3 %zu->%zu, %zux%zu (%s)", layer->channels,
            layer->filters, layer->size, layer->size,
            tn_winograd_pays(&w.kernels, &w.conv) ? "chosen" : "not chosen");
        struct bench_case test = {"winograd", name,
            18.0 * (double)(layer->size * layer->size) *
                (double)(layer->channels * layer->filters),
            run_winograd, &w, 1,
            layer->channels == layer->filters && layer->channels >= 64 &&
                    layer->channels <= 256 && layer->size <= 56
                ? 200
                : 0};
        bench_report(&test, isa, 1);
        free((void *)w.conv.input);
        free((void *)w.conv.bias);
        free(w.conv.output);
        free(packed);
        free(w.workspace);
    }
}

struct depthwise {
    struct tn_depthwise_kernels kernels;
    struct tn_conv conv;
};

static void run_depthwise(void *arg) {
    struct depthwise *d = arg;
    tn_depthwise_run(&d->kernels, &d->conv, 0, tn_conv_rows(&d->conv));
}

void bench_depthwise(enum tn_isa isa) {
    static const struct layer shapes[] = {{56, 96, 96, 3, 1, 1, 96},
        {112, 32, 32, 3, 1, 1, 32}, {112, 96, 96, 3, 2, 1, 96},
        {14, 576, 576, 3, 1, 1, 576}, {7, 960, 960, 3, 1, 1, 960},
        {28, 120, 120, 5, 1, 2, 120}, {28, 60, 120, 3, 1, 1, 60}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct layer *layer = &shapes[i];
        struct depthwise d = {.conv = make_conv(layer)};
        const double out = (double)out_size(layer), kernel = (double)layer->kernel;
        char name[64];
        tn_depthwise_kernels_init(&d.kernels, isa);
        float *packed = bench_floats(tn_depthwise_packed_size(&d.conv));
        d.conv.weights = packed;
        snprintf(name, sizeof(name), "%zux%zu s%zu %zu->%zu, %zux%zu", layer->kernel,
            layer->kernel, layer->stride, layer->channels, layer->filters, layer->size,
            layer->size);
        struct bench_case test = {"depthwise", name,
            2 * out * out * kernel * kernel * (double)layer->filters, run_depthwise, &d};
        bench_report(&test, isa, 1);
        free((void *)d.conv.input);
        free((void *)d.conv.bias);
        free(d.conv.output);
        free(packed);
    }
}
