/* What the tests of the convolution areas share: buffers for a shape and the loop over
 * the definition that judges them. */
#ifndef TENON_TEST_KERNEL_CONV_H
#define TENON_TEST_KERNEL_CONV_H

#include "conv.h"
#include "test_kernel.h"

size_t kernel_conv_pixels(const struct tn_conv *conv, bool out);
size_t kernel_conv_taps(const struct tn_conv *conv);

/* Random input with `gap` floats between pixels; bias, residual and a lower bound of 0 if
 * asked for. */
void kernel_conv_input(
    struct kernel_run *run, struct tn_conv *conv, size_t gap, bool residual);

/* A fresh output for the convolution. */
float *kernel_conv_output(struct kernel_run *run, struct tn_conv *conv);

/* Compares with the definition, weights as ONNX has them; slack is added to the bound. */
void kernel_conv_expect(struct kernel_run *run, const struct tn_conv *conv,
    const float *weights, const float *residual, double slack, const float *got);

/* Fails unless the pixels of two outputs are the same bits. */
void kernel_conv_same(
    struct kernel_run *run, const struct tn_conv *conv, const float *x, const float *y);

/* Given the result of a convolution with a separate residual: computes it again with the residual
 * standing in the output, and with a `post` that doubles, and compares both with it. */
typedef void kernel_conv_fn(
    const void *kernels, const struct tn_conv *conv, float *workspace);
void kernel_conv_ends(struct kernel_run *run, const struct tn_conv *conv,
    const float *whole, kernel_conv_fn *compute, const void *kernels, float *workspace);

#endif
