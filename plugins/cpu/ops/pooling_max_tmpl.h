/* Maximum over the window for one element type T. NaN wins; the first of equal elements
 * gives the index; a window without elements gives the lowest value. */
static void NAME(max)(const struct plan *plan, const void *x_data, void *y_data,
    int64_t *indices, int64_t index_base, size_t position, size_t inner0, size_t inner1) {
    const T *x = (const T *)x_data + inner0;
    T *y = (T *)y_data + inner0;
    size_t n = inner1 - inner0;
    uint32_t last = plan->axes - 1;
    struct taps taps;
    int64_t at[TN_WINDOW_RANK];
    find_taps(plan, position, &taps);
    for (size_t c = 0; c < n; c++)
        y[c] = LOWEST;
    if (indices)
        for (size_t c = 0; c < n; c++)
            indices[inner0 + c] = -1;
    for (int64_t row = next_row(plan, &taps, at, true); row >= 0;
         row = next_row(plan, &taps, at, false)) {
        int64_t index = index_base;
        for (uint32_t i = 0; indices && i < last; i++)
            index +=
                (taps.origin[i] + at[i] * plan->axis[i].dilation) * plan->index_step[i];
        for (int64_t t = taps.lo[last]; t < taps.hi[last]; t++) {
            int64_t column = taps.origin[last] + t * plan->axis[last].dilation;
            const T *src = x + (size_t)(row + column) * plan->inner;
            if (!indices) {
                for (size_t c = 0; c < n; c++)
                    y[c] = src[c] > y[c] || IS_NAN(src[c]) ? src[c] : y[c];
                continue;
            }
            for (size_t c = 0; c < n; c++) {
                int64_t *found = &indices[inner0 + c];
                bool wins = src[c] > y[c] || (IS_NAN(src[c]) && !IS_NAN(y[c]));
                if (*found >= 0 && !wins) continue;
                y[c] = src[c];
                *found = index + column * plan->index_step[last];
            }
        }
    }
}
