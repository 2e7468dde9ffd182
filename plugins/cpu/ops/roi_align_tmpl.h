/* Pooling of one region of one channel plane into (bins_y × bins_x), for element type T. */

static void NAME(mean)(
    const struct region *r, const void *plane, size_t width, void *out) {
    const T *x = plane;
    T *y = out;
    for (size_t bin_y = 0; bin_y < r->y.bins; bin_y++) {
        for (size_t bin_x = 0; bin_x < r->x.bins; bin_x++) {
            double sum = 0;
            for (size_t i = r->y.begin[bin_y]; i < r->y.begin[bin_y + 1]; i++) {
                const T *row = x + r->y.taps[i].at * width;
                double part = 0;
                for (size_t k = r->x.begin[bin_x]; k < r->x.begin[bin_x + 1]; k++)
                    part += r->x.taps[k].weight * (double)row[r->x.taps[k].at];
                sum += r->y.taps[i].weight * part;
            }
            *y++ = (T)(sum / r->count);
        }
    }
}

/* The greatest weighted neighbour of all samples (not the greatest sample: the operator's
 * text weighs before it compares); samples outside the map count as 0. */
static void NAME(max)(
    const struct region *r, const void *plane, size_t width, void *out) {
    const T *x = plane;
    T *y = out;
    for (size_t bin_y = 0; bin_y < r->y.bins; bin_y++) {
        for (size_t bin_x = 0; bin_x < r->x.bins; bin_x++) {
            size_t i0 = r->y.begin[bin_y], i1 = r->y.begin[bin_y + 1];
            size_t k0 = r->x.begin[bin_x], k1 = r->x.begin[bin_x + 1];
            double inside = (double)(i1 - i0) / 2 * (double)(k1 - k0) / 2;
            double best = inside < r->samples || inside == 0 ? 0 : -(double)INFINITY;
            for (size_t i = i0; i < i1; i++) {
                const T *row = x + r->y.taps[i].at * width;
                for (size_t k = k0; k < k1; k++) {
                    double v = r->y.taps[i].weight * r->x.taps[k].weight *
                               (double)row[r->x.taps[k].at];
                    if (v > best || v != v) best = v;
                }
            }
            *y++ = (T)best;
        }
    }
}
