/* TopK of one element type T: a heap of k indices whose root is the last of the chosen. */
#ifndef IS_NAN
#define IS_NAN(x) 0
#endif

static bool NAME(before)(const struct job *job, const T *x, uint32_t a, uint32_t b) {
    T va = x[a * job->inner], vb = x[b * job->inner];
    bool nan_a = IS_NAN(va), nan_b = IS_NAN(vb);
    if (nan_a || nan_b) {
        if (nan_a != nan_b) return job->largest ? nan_a : nan_b;
        return a < b;
    }
    if (va != vb) return job->largest ? va > vb : va < vb;
    return a < b;
}

/* Lets the element at `at` sink below those that come after it. */
static void NAME(sink)(
    const struct job *job, const T *x, uint32_t *heap, size_t n, size_t at) {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n) return;
        if (child + 1 < n && NAME(before)(job, x, heap[child], heap[child + 1])) child++;
        if (!NAME(before)(job, x, heap[at], heap[child])) return;
        uint32_t swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
        at = child;
    }
}

static void NAME(lines)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    size_t k = job->k;
    (void)worker;
    for (size_t line = (size_t)begin; line < (size_t)end; line++) {
        size_t outer = line / job->inner, i = line % job->inner;
        const T *x = (const T *)job->x + outer * job->n * job->inner + i;
        T *values = (T *)job->values + outer * k * job->inner + i;
        int64_t *indices = job->indices + outer * k * job->inner + i;
        uint32_t *heap = job->heaps + line * k;
        for (size_t j = 0; j < k; j++)
            heap[j] = (uint32_t)j;
        for (size_t j = k / 2; j-- > 0;)
            NAME(sink)(job, x, heap, k, j);
        for (size_t j = k; j < job->n; j++) {
            if (!NAME(before)(job, x, (uint32_t)j, heap[0])) continue;
            heap[0] = (uint32_t)j;
            NAME(sink)(job, x, heap, k, 0);
        }
        for (size_t n = k; n > 0; n--) { /* the root is the last of those that are left */
            values[(n - 1) * job->inner] = x[heap[0] * job->inner];
            indices[(n - 1) * job->inner] = heap[0];
            heap[0] = heap[n - 1];
            NAME(sink)(job, x, heap, n - 1, 0);
        }
    }
}

#undef T
#undef NAME
#undef IS_NAN
