/* Adds n elements of type T, `stride` apart in dst, `parts` numbers each. */
static void NAME(add)(void *dst, const void *src, size_t n, size_t stride, size_t parts) {
    T *y = dst;
    const T *x = src;
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < parts; p++)
            y[i * stride * parts + p] = (T)(y[i * stride * parts + p] + x[i * parts + p]);
}
