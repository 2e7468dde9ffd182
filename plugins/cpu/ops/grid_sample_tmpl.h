/* Weighted sums over the taps of a group of points, one part of one channel, for element
 * type T; elements lie `parts` apart. */
static void NAME(mix)(
    const struct group *group, const void *plane, void *out, size_t parts) {
    const T *x = plane;
    T *y = out;
    const struct tap *tap = group->taps;
    for (size_t p = 0; p < group->n; p++, tap += group->most) {
        double sum = 0;
        for (size_t i = 0; i < group->count[p]; i++)
            sum += tap[i].weight * (double)x[tap[i].at * parts];
        y[p * parts] = (T)sum;
    }
}
