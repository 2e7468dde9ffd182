/* Convolution of one element type T by plain loops over NCHW, any number of axes: f64 and
 * exact int32. Included once for each type. */

/* Adds one tap of one channel: y[o] += w · x[o · stride + tap · dilation - pad]. */
static void NAME(tap)(const struct tn_conv *c, T *y, const T *x, T w, const size_t *tap) {
    size_t at[TN_CONV_MAX_AXES] = {0}, lo[TN_CONV_MAX_AXES], hi[TN_CONV_MAX_AXES];
    size_t last = c->axes - 1;
    for (size_t i = 0; i < c->axes; i++) { /* outputs whose input position exists */
        const struct tn_conv_axis *axis = &c->axis[i];
        size_t ahead = tap[i] * axis->dilation;
        lo[i] =
            ahead < axis->pad ? (axis->pad - ahead + axis->stride - 1) / axis->stride : 0;
        hi[i] = axis->in + axis->pad > ahead
                    ? (axis->in + axis->pad - ahead - 1) / axis->stride + 1
                    : 0;
        if (hi[i] > axis->out) hi[i] = axis->out;
        if (lo[i] >= hi[i]) return;
        at[i] = lo[i];
    }
    for (;;) {
        size_t in = 0, out = 0;
        for (size_t i = 0; i < last; i++) {
            const struct tn_conv_axis *axis = &c->axis[i];
            in = (in + at[i] * axis->stride + tap[i] * axis->dilation - axis->pad) *
                 c->axis[i + 1].in;
            out = (out + at[i]) * c->axis[i + 1].out;
        }
        const struct tn_conv_axis *axis = &c->axis[last];
        const T *src =
            x + in + lo[last] * axis->stride + tap[last] * axis->dilation - axis->pad;
        T *dst = y + out + lo[last];
        for (size_t o = 0; o < hi[last] - lo[last]; o++)
            dst[o] += w * src[o * axis->stride];
        size_t i = last;
        while (i > 0 && ++at[i - 1] == hi[i - 1]) {
            at[i - 1] = lo[i - 1];
            i--;
        }
        if (i == 0) return;
    }
}

/* Output channel index % out_channels of image index / out_channels. */
static void NAME(plane)(
    const struct tn_conv *c, T *y, const T *x, const T *w, const T *bias, size_t index) {
    size_t in_plane = 1, out_plane = 1, taps = 1;
    for (size_t i = 0; i < c->axes; i++) {
        in_plane *= c->axis[i].in;
        out_plane *= c->axis[i].out;
        taps *= c->axis[i].kernel;
    }
    size_t o = index % c->out_channels, channels = c->in_channels / c->groups;
    size_t group = o / (c->out_channels / c->groups);
    y += index * out_plane;
    x += (index / c->out_channels * c->in_channels + group * channels) * in_plane;
    w += o * channels * taps;
    for (size_t i = 0; i < out_plane; i++)
        y[i] = bias ? bias[o] : 0;
    for (size_t channel = 0; channel < channels; channel++) {
        size_t tap[TN_CONV_MAX_AXES] = {0};
        for (size_t t = 0; t < taps; t++) {
            NAME(tap)(c, y, x + channel * in_plane, w[channel * taps + t], tap);
            for (size_t i = c->axes; i-- > 0;) {
                if (++tap[i] < c->axis[i].kernel) break;
                tap[i] = 0;
            }
        }
    }
}

#undef T
#undef NAME
