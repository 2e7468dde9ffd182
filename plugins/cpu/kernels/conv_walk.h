/* How convolutions walk their output, shared by the dense and the depthwise area: which
 * positions have the same valid taps, and where those taps are in the input. Knows any number of
 * axes and nothing of arithmetic. */
#ifndef TENON_CPU_CONV_WALK_H
#define TENON_CPU_CONV_WALK_H

#include "conv.h"

enum {
    TN__CONV_AXES = TN_CONV_MAX_AXES + 1, /* the batch is axis 0 */
    TN__CONV_PASS_TAPS = 64               /* most taps that one pass of the sum takes */
};

/* The geometry of a convolution, strides in pixels, its taps being `taps` runs of `run` floats
 * that are contiguous in the input. Where pixels are dense, the last axis of the kernel and the
 * channels make one run: a 7x7 kernel on 3 channels is 7 runs of 21. */
struct tn__conv_walk {
    size_t axes, tap_axes;
    struct tn_conv_axis axis[TN__CONV_AXES];
    size_t in_stride[TN__CONV_AXES], out_stride[TN__CONV_AXES];
    size_t in_pixel, channels; /* input channels of a group */
    size_t taps, run;
};

/* A box of output positions with the same valid taps t0 .. t1-1 on each axis. `at` is the input
 * position of the first output and tap, `step` that from one output to the next. */
struct tn__conv_box {
    size_t o0[TN__CONV_AXES], o1[TN__CONV_AXES], t0[TN__CONV_AXES], t1[TN__CONV_AXES];
    size_t at[TN__CONV_AXES], step[TN__CONV_AXES];
};

/* A position in a box and its input and output pixel. */
struct tn__conv_cursor {
    size_t o[TN__CONV_AXES], in, out;
};

/* One pass of the sum: runs tap0 .. tap1-1, floats k0 .. k1-1 of each. */
struct tn__conv_pass {
    size_t tap0, tap1, k0, k1;
    bool first, last;
};

/* The valid taps of a pass: offsets into the input from the pixel of a position, in floats, and
 * into a row of weights, tap by tap, in steps of `scale`; each k floats long. */
struct tn__conv_taps {
    ptrdiff_t a[TN__CONV_PASS_TAPS];
    size_t b[TN__CONV_PASS_TAPS];
    size_t count, k;
};

size_t tn__conv_kernel_size(const struct tn_conv *conv);

void tn__conv_walk_init(struct tn__conv_walk *walk, const struct tn_conv *conv);

/* Takes from the rows r0 .. r1-1 what is a range of images by a range of positions on the first
 * spatial axis: the end of one image, whole images, or the start of one. Returns the new r0. */
size_t tn__conv_next_range(
    const struct tn__conv_walk *walk, size_t r0, size_t r1, size_t from[2], size_t to[2]);

/* Calls visit for each box of such a range. */
typedef void tn__conv_visit_fn(void *arg, const struct tn__conv_box *box);
void tn__conv_boxes(const struct tn__conv_walk *walk, const size_t from[2],
    const size_t to[2], tn__conv_visit_fn *visit, void *arg);

void tn__conv_list_taps(const struct tn__conv_walk *walk, const struct tn__conv_box *box,
    const struct tn__conv_pass *pass, size_t scale, struct tn__conv_taps *taps);

/* Sets the pixels of a cursor from its position. */
void tn__conv_locate(const struct tn__conv_walk *walk, const struct tn__conv_box *box,
    struct tn__conv_cursor *cursor);

/* To the next position of a box that varies over axes 0 .. axes-1; false behind the last one. */
bool tn__conv_advance(const struct tn__conv_walk *walk, const struct tn__conv_box *box,
    size_t axes, struct tn__conv_cursor *cursor);

#endif
