/* The sliding window of convolutions and pools: attributes, and what follows for sizes.
 *
 * One place knows auto_pad, ceil_mode, dilations and the defaults of absent attributes; the
 * operators ask for the geometry of their input. */
#ifndef TENON_CPU_WINDOW_H
#define TENON_CPU_WINDOW_H

#include "tenon/op.h"

#include <stdbool.h>

enum { TN_WINDOW_RANK = 6 }; /* most spatial dimensions */

enum tn_auto_pad { TN_PAD_NOTSET, TN_PAD_SAME_UPPER, TN_PAD_SAME_LOWER, TN_PAD_VALID };

/* What the attributes say. */
struct tn_window {
    uint32_t rank; /* spatial dimensions */
    enum tn_auto_pad auto_pad;
    bool ceil_mode;
    int64_t kernel[TN_WINDOW_RANK];
    int64_t stride[TN_WINDOW_RANK];
    int64_t dilation[TN_WINDOW_RANK];
    int64_t pad_begin[TN_WINDOW_RANK];
    int64_t pad_end[TN_WINDOW_RANK];
};

/* One window over one input: sizes are known. */
struct tn_window_geometry {
    int64_t in[TN_WINDOW_RANK];
    int64_t out[TN_WINDOW_RANK];
    int64_t pad[TN_WINDOW_RANK];     /* before the first element */
    int64_t pad_end[TN_WINDOW_RANK]; /* behind the last, as declared */
};

/* Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode for `rank` spatial
 * dimensions. An absent kernel_shape is taken from `kernel` (NULL: it is required). */
tn_status tn__window_parse(struct tn_window *w, const struct tn_node *node, uint32_t rank,
    const int64_t *kernel, struct tn_diag *diag);

/* Sizes over an input with these spatial dimensions. */
tn_status tn__window_geometry(const struct tn_window *w, const int64_t *in,
    struct tn_window_geometry *out, struct tn_diag *diag);

/* Output size of dimension i over a size that may be a symbol. */
tn_status tn__window_infer(const struct tn_infer *infer, const struct tn_window *w,
    uint32_t i, int64_t in, int64_t *out);

#endif
