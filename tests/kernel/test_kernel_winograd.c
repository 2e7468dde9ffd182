/* Winograd: 3x3 convolutions against the definition, in whole and in pieces of tiles. */
#include "test_kernel_conv.h"

#include "winograd.h"

#include <math.h>
#include <string.h>

// clang-format off
static const struct tn_conv shapes[] = {
    {1, 2, 1, 16, 32, {{8, 8, 3, 1, 1, 1}, {8, 8, 3, 1, 1, 1}}},
    {2, 2, 1, 5, 7, {{7, 7, 3, 1, 1, 1}, {9, 9, 3, 1, 1, 1}}},
    {3, 2, 1, 17, 33, {{14, 14, 3, 1, 1, 1}, {5, 3, 3, 1, 1, 0}}},
    {1, 2, 1, 64, 64, {{20, 20, 3, 1, 1, 1}, {20, 20, 3, 1, 1, 1}}},
    {1, 2, 1, 300, 40, {{6, 6, 3, 1, 1, 1}, {6, 6, 3, 1, 1, 1}}},
    {1, 2, 1, 3, 4, {{1, 1, 3, 1, 1, 1}, {1, 1, 3, 1, 1, 1}}},
    {1, 2, 1, 3, 4, {{2, 10, 3, 1, 1, 5}, {2, 9, 3, 1, 1, 2}}}, /* tiles of padding alone */
    {0, 2, 1, 3, 4, {{4, 4, 3, 1, 1, 1}, {4, 4, 3, 1, 1, 1}}},
    {1, 2, 1, 0, 4, {{4, 4, 3, 1, 1, 1}, {4, 4, 3, 1, 1, 1}}},
};
// clang-format on

static void compute_winograd(
    const void *kernels, const struct tn_conv *conv, float *workspace) {
    tn_winograd_run(kernels, conv, workspace, 0, tn_winograd_tiles(conv));
}

static void test_shape(struct kernel_run *run, const struct tn_winograd_kernels *kernels,
    const struct tn_conv *shape, size_t gap, bool residual) {
    struct tn_conv conv = *shape;
    kernel_conv_input(run, &conv, gap, residual);
    const float *weights = kernel_input(run, conv.out_channels * conv.in_channels * 9);
    const size_t panels = tn_conv_panels(&kernels->gemm, &conv);
    float *packed = kernel_memory(
        run, tn_winograd_packed_size(kernels, &conv) * sizeof(float), TN_GEMM_ALIGN);
    tn_winograd_pack(kernels, &conv, packed, weights, 0, panels / 2);
    tn_winograd_pack(kernels, &conv, packed, weights, panels / 2, panels);
    conv.weights = packed;
    float *workspace = kernel_memory(
        run, tn_winograd_workspace(kernels, &conv) * sizeof(float), TN_GEMM_ALIGN);

    const size_t tiles = tn_winograd_tiles(&conv);
    float *whole = kernel_conv_output(run, &conv);
    tn_winograd_run(kernels, &conv, workspace, 0, tiles);
    /* inputs and weights lie in [-1, 1]: a few units of the last place of the intermediate
     * magnitudes, which grow with the square root of the channels */
    const double slack = 4e-6 * sqrt((double)conv.in_channels + 1) * 3;
    kernel_conv_expect(run, &conv, weights, conv.residual, slack, whole);

    float *split = kernel_conv_output(run, &conv);
    const size_t middle = tiles ? kernel_random(run) % tiles : 0;
    tn_winograd_run(kernels, &conv, workspace, 0, middle);
    tn_winograd_run(kernels, &conv, workspace, middle, tiles);
    kernel_conv_same(run, &conv, whole, split);
    kernel_conv_ends(run, &conv, whole, compute_winograd, kernels, workspace);
}

/* The choice on layers whose times are known: large maps gain, the 7x7 map with 512 channels
 * would stream 38 MB of weights for four tiles. */
static void test_choice(
    struct kernel_run *run, const struct tn_winograd_kernels *kernels) {
    static const struct {
        size_t size, channels;
        bool pays;
    } layers[] = {{56, 64, true}, {28, 128, true}, {14, 256, true}, {7, 512, false}};
    for (size_t i = 0; i < 4; i++) {
        const struct tn_conv_axis axis = {layers[i].size, layers[i].size, 3, 1, 1, 1};
        const struct tn_conv conv = {.batch = 1,
            .axes = 2,
            .groups = 1,
            .in_channels = layers[i].channels,
            .out_channels = layers[i].channels,
            .axis = {axis, axis}};
        kernel_case(run, "choice for %zu channels", layers[i].channels);
        if (run->isa != TN_ISA_SCALAR) {
            kernel_check(run, tn_winograd_pays(kernels, &conv) == layers[i].pays,
                "the slower method is chosen");
        }
    }
    struct tn_conv strided = shapes[0];
    strided.axis[1].stride = 2;
    kernel_check(run, !tn_winograd_fits(&strided), "stride 2 is said to fit");
}

void test_winograd(struct kernel_run *run) {
    struct tn_winograd_kernels kernels;
    tn_winograd_kernels_init(&kernels, run->isa);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        for (unsigned variant = 0; variant < 4; variant++) {
            kernel_case(run, "shape %zu variant %u", i, variant);
            test_shape(run, &kernels, &shapes[i], variant & 1 ? 3 : 0, variant & 2);
        }
    }
    test_choice(run, &kernels);
}
