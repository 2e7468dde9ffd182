/* The sliding window of convolutions and pools. */
#include "window.h"

#include "tenon/helper/diag.h"

#include <string.h>

/* Sizes and paddings beyond this are no model's; it keeps all sums in range. */
#define WINDOW_LIMIT (INT64_C(1) << 40)

static tn_status read_ints(const struct tn_node *node, const char *name, int64_t *dst,
    uint32_t n, int64_t least, struct tn_diag *diag) {
    const struct tn_attr *attr = tn_node_attr(node, name);
    if (!attr) return TN_OK;
    if (attr->type != TN_ATTR_INTS || attr->count != n)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute '%s' has %u values, expected %u: one for each spatial dimension "
            "(pads: two)",
            name, attr->count, n);
    for (uint32_t i = 0; i < n; i++) {
        int64_t v = attr->as.ints[i];
        if (v < least || v > WINDOW_LIMIT)
            return tn_fail(diag, TN_INVALID_MODEL,
                "attribute '%s' holds %lld, expected %lld or more", name, (long long)v,
                (long long)least);
        dst[i] = v;
    }
    return TN_OK;
}

static tn_status read_auto_pad(
    struct tn_window *w, const struct tn_node *node, struct tn_diag *diag) {
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    const struct tn_attr *attr = tn_node_attr(node, "auto_pad");
    if (!attr || attr->type != TN_ATTR_STRING) return TN_OK;
    const struct tn_string *s = attr->as.strings;
    if (s->size == 0) return TN_OK;
    for (uint32_t i = 0; i < 4; i++) {
        if (s->size == strlen(names[i]) && memcmp(s->data, names[i], s->size) == 0) {
            w->auto_pad = (enum tn_auto_pad)i;
            return TN_OK;
        }
    }
    return tn_fail(diag, TN_INVALID_MODEL,
        "attribute 'auto_pad' is '%.*s', expected NOTSET, SAME_UPPER, SAME_LOWER or "
        "VALID",
        (int)(s->size < 40 ? s->size : 40), s->data);
}

tn_status tn__window_parse(struct tn_window *w, const struct tn_node *node, uint32_t rank,
    const int64_t *kernel, struct tn_diag *diag) {
    memset(w, 0, sizeof *w);
    if (rank < 1 || rank > TN_WINDOW_RANK)
        return tn_fail(diag, TN_UNSUPPORTED,
            "%s over %u spatial dimensions, 1 to %d are known", node->op_type, rank,
            TN_WINDOW_RANK);
    w->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        w->kernel[i] = kernel ? kernel[i] : 0;
        w->stride[i] = w->dilation[i] = 1;
    }
    int64_t pads[2 * TN_WINDOW_RANK] = {0};
    TN_TRY(read_auto_pad(w, node, diag));
    TN_TRY(read_ints(node, "kernel_shape", w->kernel, rank, 1, diag));
    TN_TRY(read_ints(node, "strides", w->stride, rank, 1, diag));
    TN_TRY(read_ints(node, "dilations", w->dilation, rank, 1, diag));
    if (w->auto_pad == TN_PAD_NOTSET)
        TN_TRY(read_ints(node, "pads", pads, 2 * rank, 0, diag));
    for (uint32_t i = 0; i < rank; i++) {
        if (w->kernel[i] < 1)
            return tn_fail(diag, TN_INVALID_MODEL,
                "%s lacks the attribute 'kernel_shape'", node->op_type);
        w->pad_begin[i] = pads[i];
        w->pad_end[i] = pads[rank + i];
    }
    const struct tn_attr *ceil_mode = tn_node_attr(node, "ceil_mode");
    w->ceil_mode =
        ceil_mode && ceil_mode->type == TN_ATTR_INT && ceil_mode->as.ints[0] != 0;
    return TN_OK;
}

/* Extent of the dilated window, at most 2^40: the product may be larger. */
static int64_t extent(const struct tn_window *w, uint32_t i) {
    int64_t taps = w->kernel[i] - 1;
    if (taps > 0 && w->dilation[i] > WINDOW_LIMIT / taps) return WINDOW_LIMIT;
    return taps * w->dilation[i] + 1;
}

static int64_t same_out(int64_t in, int64_t stride) {
    return in == 0 ? 0 : (in - 1) / stride + 1;
}

static int64_t slid_out(const struct tn_window *w, uint32_t i, int64_t in) {
    int64_t room = in + w->pad_begin[i] + w->pad_end[i] - extent(w, i), s = w->stride[i];
    if (room < 0) return -1;
    int64_t out = room / s + 1;
    /* Rounding up adds a window, unless it would start behind the data and its left pad. */
    if (w->ceil_mode && room % s != 0 && out * s < in + w->pad_begin[i]) out++;
    return out;
}

tn_status tn__window_geometry(const struct tn_window *w, const int64_t *in,
    struct tn_window_geometry *g, struct tn_diag *diag) {
    for (uint32_t i = 0; i < w->rank; i++) {
        g->in[i] = in[i];
        g->pad[i] = w->pad_begin[i];
        g->pad_end[i] = w->pad_end[i];
        if (in[i] > WINDOW_LIMIT)
            return tn_fail(diag, TN_LIMIT_EXCEEDED,
                "spatial dimension %u is %lld, more than the supported 2^40", i,
                (long long)in[i]);
        if (w->auto_pad == TN_PAD_SAME_UPPER || w->auto_pad == TN_PAD_SAME_LOWER) {
            g->out[i] = same_out(in[i], w->stride[i]);
            int64_t pad = (g->out[i] - 1) * w->stride[i] + extent(w, i) - in[i];
            if (pad < 0) pad = 0;
            g->pad[i] = w->auto_pad == TN_PAD_SAME_UPPER ? pad / 2 : pad - pad / 2;
            g->pad_end[i] = pad - g->pad[i];
        } else {
            g->out[i] = slid_out(w, i, in[i]);
        }
        if (g->out[i] < 0)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "spatial dimension %u is %lld with pads %lld and %lld, smaller than the "
                "window of %lld (kernel %lld, dilation %lld)",
                i, (long long)in[i], (long long)w->pad_begin[i], (long long)w->pad_end[i],
                (long long)extent(w, i), (long long)w->kernel[i],
                (long long)w->dilation[i]);
    }
    return TN_OK;
}

tn_status tn__window_infer(const struct tn_infer *infer, const struct tn_window *w,
    uint32_t i, int64_t in, int64_t *out) {
    if (in >= 0) {
        struct tn_window one = *w;
        one.rank = 1;
        one.kernel[0] = w->kernel[i];
        one.stride[0] = w->stride[i];
        one.dilation[0] = w->dilation[i];
        one.pad_begin[0] = w->pad_begin[i];
        one.pad_end[0] = w->pad_end[i];
        struct tn_window_geometry g;
        TN_TRY(tn__window_geometry(&one, &in, &g, infer->diag));
        *out = g.out[0];
        return TN_OK;
    }
    *out = TN_DIM_UNKNOWN;
    if (in == TN_DIM_UNKNOWN) return TN_OK;
    void *self = infer->self;
    if (w->auto_pad == TN_PAD_SAME_UPPER || w->auto_pad == TN_PAD_SAME_LOWER) {
        *out = infer->dim_op(self, TN_DIM_CEIL_DIV, in, w->stride[i]);
        return TN_OK;
    }
    int64_t window = extent(w, i), room = w->pad_begin[i] + w->pad_end[i] - window;
    /* Whether the last window of ceil_mode is dropped depends on the size. */
    bool plain = !w->ceil_mode || w->stride[i] == 1;
    if (!plain && w->pad_end[i] + w->stride[i] > window) return TN_OK;
    int64_t sum = infer->dim_op(self, TN_DIM_ADD, in, room);
    sum = infer->dim_op(self, plain ? TN_DIM_DIV : TN_DIM_CEIL_DIV, sum, w->stride[i]);
    *out = infer->dim_op(self, TN_DIM_ADD, sum, 1);
    return TN_OK;
}
