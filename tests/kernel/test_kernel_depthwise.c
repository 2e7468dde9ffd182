/* Depthwise convolutions of one to three axes and any multiple of the channels against the
 * definition, whole and in pieces. */
#include "test_kernel_conv.h"

#include "depthwise.h"

// clang-format off
static const struct tn_conv shapes[] = {
    {1, 2, 16, 16, 16, {{9, 9, 3, 1, 1, 1}, {20, 20, 3, 1, 1, 1}}},
    {2, 2, 35, 35, 35, {{8, 4, 3, 2, 1, 1}, {15, 8, 3, 2, 1, 1}}},
    {1, 2, 7, 7, 21, {{6, 6, 3, 1, 1, 1}, {5, 5, 3, 1, 1, 1}}},
    {1, 2, 50, 50, 50, {{7, 7, 5, 1, 1, 2}, {7, 7, 5, 1, 1, 2}}},
    {1, 2, 18, 18, 18, {{12, 12, 9, 1, 1, 4}, {11, 11, 9, 1, 1, 4}}}, /* taps in two passes */
    {1, 2, 4, 4, 4, {{10, 10, 3, 1, 2, 2}, {10, 10, 3, 1, 2, 2}}},
    {1, 2, 4, 4, 4, {{2, 8, 3, 1, 1, 4}, {3, 7, 2, 2, 1, 6}}},
    {3, 1, 20, 20, 20, {{33, 33, 5, 1, 1, 2}}},
    {2, 3, 6, 6, 12, {{4, 4, 3, 1, 1, 1}, {5, 5, 3, 1, 1, 1}, {6, 3, 3, 2, 1, 1}}},
    {0, 2, 4, 4, 4, {{4, 4, 3, 1, 1, 1}, {4, 4, 3, 1, 1, 1}}},
};
// clang-format on

static void compute_depthwise(
    const void *kernels, const struct tn_conv *conv, float *workspace) {
    (void)workspace;
    tn_depthwise_run(kernels, conv, 0, tn_conv_rows(conv));
}

static void test_shape(struct kernel_run *run, const struct tn_depthwise_kernels *kernels,
    const struct tn_conv *shape, size_t gap, bool residual) {
    struct tn_conv conv = *shape;
    kernel_check(run, tn_depthwise_fits(&conv), "a depthwise shape is said not to fit");
    kernel_conv_input(run, &conv, gap, residual);
    const float *weights = kernel_input(run, conv.out_channels * kernel_conv_taps(&conv));
    float *packed = kernel_input(run, tn_depthwise_packed_size(&conv));
    tn_depthwise_pack(&conv, packed, weights);
    conv.weights = packed;
    const size_t rows = tn_conv_rows(&conv), row = rows ? kernel_random(run) % rows : 0;
    float *whole = kernel_conv_output(run, &conv);
    tn_depthwise_run(kernels, &conv, 0, rows);
    kernel_conv_expect(run, &conv, weights, conv.residual, 0, whole);
    float *split = kernel_conv_output(run, &conv);
    tn_depthwise_run(kernels, &conv, 0, row);
    tn_depthwise_run(kernels, &conv, row, rows);
    kernel_conv_same(run, &conv, whole, split);
    kernel_conv_ends(run, &conv, whole, compute_depthwise, kernels, NULL);
}

void test_depthwise(struct kernel_run *run) {
    struct tn_depthwise_kernels kernels;
    tn_depthwise_kernels_init(&kernels, run->isa);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        for (unsigned variant = 0; variant < 4; variant++) {
            kernel_case(run, "shape %zu variant %u", i, variant);
            test_shape(run, &kernels, &shapes[i], variant & 1 ? 3 : 0, variant & 2);
        }
    }
}
