/* Mean and p-norm over the window for one float type T, summed in ACC. A mean over no
 * elements is NaN. */
static void NAME(mean)(const struct plan *plan, const void *x_data, void *y_data,
    int64_t *indices, int64_t index_base, size_t position, size_t inner0, size_t inner1) {
    const T *x = (const T *)x_data + inner0;
    T *y = (T *)y_data + inner0;
    size_t n = inner1 - inner0;
    uint32_t last = plan->axes - 1;
    struct taps taps;
    int64_t at[TN_WINDOW_RANK];
    ACC sum[RUN];
    (void)indices;
    (void)index_base;
    find_taps(plan, position, &taps);
    for (size_t c = 0; c < n; c++)
        sum[c] = 0;
    for (int64_t row = next_row(plan, &taps, at, true); row >= 0;
         row = next_row(plan, &taps, at, false)) {
        for (int64_t t = taps.lo[last]; t < taps.hi[last]; t++) {
            int64_t column = taps.origin[last] + t * plan->axis[last].dilation;
            const T *src = x + (size_t)(row + column) * plan->inner;
            for (size_t c = 0; c < n; c++)
                sum[c] += src[c];
        }
    }
    for (size_t c = 0; c < n; c++)
        y[c] = (T)(sum[c] / (ACC)taps.counted);
}

static void NAME(lp)(const struct plan *plan, const void *x_data, void *y_data,
    int64_t *indices, int64_t index_base, size_t position, size_t inner0, size_t inner1) {
    const T *x = (const T *)x_data + inner0;
    T *y = (T *)y_data + inner0;
    size_t n = inner1 - inner0;
    uint32_t last = plan->axes - 1;
    struct taps taps;
    int64_t at[TN_WINDOW_RANK];
    double sum[RUN], p = (double)plan->p;
    (void)indices;
    (void)index_base;
    find_taps(plan, position, &taps);
    for (size_t c = 0; c < n; c++)
        sum[c] = 0;
    for (int64_t row = next_row(plan, &taps, at, true); row >= 0;
         row = next_row(plan, &taps, at, false)) {
        for (int64_t t = taps.lo[last]; t < taps.hi[last]; t++) {
            int64_t column = taps.origin[last] + t * plan->axis[last].dilation;
            const T *src = x + (size_t)(row + column) * plan->inner;
            for (size_t c = 0; c < n; c++) {
                double size = fabs((double)src[c]);
                sum[c] += plan->p == 2 ? size * size : plan->p == 1 ? size : pow(size, p);
            }
        }
    }
    for (size_t c = 0; c < n; c++)
        y[c] = (T)(plan->p == 2   ? sqrt(sum[c])
                   : plan->p == 1 ? sum[c]
                                  : pow(sum[c], 1 / p));
}
