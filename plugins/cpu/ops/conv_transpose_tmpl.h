/* The loops of conv_transpose.c for one float type T. */

/* Inputs [lo, hi) of axis a whose output under tap t exists. */
static void NAME(range)(const struct axis *a, int64_t t, int64_t *lo, int64_t *hi) {
    int64_t shift = t * a->dilation - a->pad;
    *lo = shift < 0 ? (-shift + a->stride - 1) / a->stride : 0;
    *hi = a->out > shift ? (a->out - shift - 1) / a->stride + 1 : 0;
    if (*hi > a->in) *hi = a->in;
}

/* Adds one channel under one tap. */
static void NAME(spread)(
    const struct plan *plan, T *y, const T *x, T w, const int64_t *tap) {
    int64_t at[TN_WINDOW_RANK], lo[TN_WINDOW_RANK], hi[TN_WINDOW_RANK];
    uint32_t last = plan->axes - 1;
    for (uint32_t i = 0; i < plan->axes; i++) {
        NAME(range)(&plan->axis[i], tap[i], &lo[i], &hi[i]);
        if (lo[i] >= hi[i]) return;
        at[i] = lo[i];
    }
    const struct axis *inner = &plan->axis[last];
    for (;;) {
        int64_t in = 0, out = 0;
        for (uint32_t i = 0; i < plan->axes; i++) {
            const struct axis *a = &plan->axis[i];
            in = in * a->in + at[i];
            out = out * a->out + at[i] * a->stride + tap[i] * a->dilation - a->pad;
        }
        for (int64_t i = 0; i < hi[last] - lo[last]; i++)
            y[out + i * inner->stride] += w * x[in + i];
        uint32_t i = last;
        while (i > 0 && ++at[i - 1] == hi[i - 1]) {
            at[i - 1] = lo[i - 1];
            i--;
        }
        if (i == 0) return;
    }
}

/* Output planes [begin, end). */
static void NAME(planes)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct plan *plan = job->plan;
    const struct tn_tensor *bias_in = tn_in(job->args, 2);
    const T *bias = bias_in ? bias_in->data : NULL;
    size_t all_filters = plan->group * plan->filters;
    (void)worker;
    for (size_t plane = (size_t)begin; plane < (size_t)end; plane++) {
        size_t image = plane / all_filters, filter = plane % all_filters;
        size_t group = filter / plan->filters, m = filter % plan->filters;
        T *y = (T *)job->args->outputs[0].as.tensor->data + plane * plan->out_plane;
        for (size_t i = 0; i < plan->out_plane; i++)
            y[i] = bias ? bias[filter] : 0;
        for (size_t c = group * plan->channels; c < (group + 1) * plan->channels; c++) {
            const T *x = (const T *)job->args->inputs[0].as.tensor->data +
                         (image * plan->group * plan->channels + c) * plan->in_plane;
            const T *w = (const T *)job->args->inputs[1].as.tensor->data +
                         (c * plan->filters + m) * plan->taps;
            int64_t tap[TN_WINDOW_RANK] = {0};
            for (size_t t = 0; t < plan->taps; t++) {
                NAME(spread)(plan, y, x, w[t], tap);
                for (uint32_t i = plan->axes; i-- > 0;) {
                    if (++tap[i] < plan->axis[i].kernel) break;
                    tap[i] = 0;
                }
            }
        }
    }
}

#undef T
#undef NAME
