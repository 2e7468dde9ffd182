/* The walk over the output of a convolution; see conv_walk.h. */
#include "conv_walk.h"

#include <stdint.h>

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

size_t tn__conv_kernel_size(const struct tn_conv *conv) {
    size_t size = 1;
    for (size_t d = 0; d < conv->axes; d++)
        size *= conv->axis[d].kernel;
    return size;
}

void tn__conv_walk_init(struct tn__conv_walk *walk, const struct tn_conv *conv) {
    const struct tn_conv_axis batch = {conv->batch, conv->batch, 1, 1, 1, 0};
    const struct tn_conv_axis *last = &conv->axis[conv->axes - 1];
    const bool merged =
        conv->groups == 1 && conv->in_pixel == conv->in_channels && last->dilation == 1;
    walk->axes = conv->axes + 1;
    walk->tap_axes = merged ? conv->axes : walk->axes;
    walk->axis[0] = batch;
    for (size_t d = 0; d < conv->axes; d++)
        walk->axis[d + 1] = conv->axis[d];
    size_t in = 1, out = 1;
    for (size_t d = walk->axes; d-- > 0;) {
        walk->in_stride[d] = in;
        walk->out_stride[d] = out;
        in *= walk->axis[d].in;
        out *= walk->axis[d].out;
    }
    walk->in_pixel = conv->in_pixel;
    walk->channels = conv->in_channels / conv->groups;
    walk->run = walk->channels * (merged ? last->kernel : 1);
    walk->taps = tn__conv_kernel_size(conv) / (merged ? last->kernel : 1);
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
static void set_axis(const struct tn__conv_walk *walk, struct tn__conv_box *box, size_t d,
    size_t o0, size_t limit) {
    const struct tn_conv_axis *x = &walk->axis[d];
    size_t t0, t1, n0, n1, o1 = o0 + 1;
    valid_taps(x, o0, &t0, &t1);
    if (t1 - t0 == x->kernel) {
        /* all of them are valid up to the last position whose last tap is inside */
        const size_t reach = (x->kernel - 1) * x->dilation;
        o1 = min_size(limit, (x->in - 1 + x->pad - reach) / x->stride + 1);
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

size_t tn__conv_next_range(const struct tn__conv_walk *walk, size_t r0, size_t r1,
    size_t from[2], size_t to[2]) {
    const size_t height = walk->axis[1].out, y = r0 % height;
    const size_t whole = y == 0 ? (r1 - r0) / height : 0;
    const size_t rows = whole ? whole * height : min_size(r1 - r0, height - y);
    from[0] = r0 / height;
    from[1] = whole ? 0 : y;
    to[0] = from[0] + (whole ? whole : 1);
    to[1] = whole ? height : y + rows;
    return r0 + rows;
}

void tn__conv_boxes(const struct tn__conv_walk *walk, const size_t from[2],
    const size_t to[2], tn__conv_visit_fn *visit, void *arg) {
    struct tn__conv_box box;
    size_t d, start[TN__CONV_AXES], limit[TN__CONV_AXES];
    for (d = 0; d < walk->axes; d++) {
        start[d] = d < 2 ? from[d] : 0;
        limit[d] = d < 2 ? to[d] : walk->axis[d].out;
        if (start[d] >= limit[d]) return;
        set_axis(walk, &box, d, start[d], limit[d]);
    }
    do {
        visit(arg, &box);
        for (d = walk->axes; d-- > 0;) {
            const bool more = box.o1[d] < limit[d];
            set_axis(walk, &box, d, more ? box.o1[d] : start[d], limit[d]);
            if (more) break;
        }
    } while (d != SIZE_MAX);
}

void tn__conv_list_taps(const struct tn__conv_walk *walk, const struct tn__conv_box *box,
    const struct tn__conv_pass *pass, size_t scale, struct tn__conv_taps *taps) {
    const size_t last = walk->axes - 1;
    size_t k0 = pass->k0, k1 = pass->k1, skipped = 0;
    if (walk->tap_axes == last) { /* merged: the run begins at the first valid column */
        skipped = box->t0[last] * walk->channels;
        k0 = k0 > skipped ? k0 : skipped;
        k1 = min_size(k1, box->t1[last] * walk->channels);
    }
    taps->count = 0;
    taps->k = k1 > k0 ? k1 - k0 : 0;
    for (size_t tap = pass->tap0; tap < pass->tap1 && taps->k > 0; tap++) {
        size_t rest = tap, pixels = 0, d = walk->tap_axes;
        while (d-- > 0) {
            const size_t t = rest % walk->axis[d].kernel;
            rest /= walk->axis[d].kernel;
            if (t < box->t0[d] || t >= box->t1[d]) break;
            pixels += (t - box->t0[d]) * walk->axis[d].dilation * walk->in_stride[d];
        }
        if (d != SIZE_MAX) continue;
        taps->a[taps->count] = (ptrdiff_t)(pixels * walk->in_pixel + k0 - skipped);
        taps->b[taps->count++] = (tap * walk->run + k0) * scale;
    }
}

void tn__conv_locate(const struct tn__conv_walk *walk, const struct tn__conv_box *box,
    struct tn__conv_cursor *cursor) {
    cursor->in = cursor->out = 0;
    for (size_t d = 0; d < walk->axes; d++) {
        const size_t steps = cursor->o[d] - box->o0[d];
        cursor->in += (box->at[d] + steps * box->step[d]) * walk->in_stride[d];
        cursor->out += cursor->o[d] * walk->out_stride[d];
    }
}

bool tn__conv_advance(const struct tn__conv_walk *walk, const struct tn__conv_box *box,
    size_t axes, struct tn__conv_cursor *cursor) {
    size_t d = axes;
    while (d-- > 0) {
        if (++cursor->o[d] < box->o1[d]) break;
        cursor->o[d] = box->o0[d];
    }
    if (d == SIZE_MAX) return false;
    if (d == axes - 1) { /* the usual step needs no sums over the axes */
        cursor->in += box->step[d] * walk->in_stride[d];
        cursor->out += walk->out_stride[d];
    } else {
        tn__conv_locate(walk, box, cursor);
    }
    return true;
}
