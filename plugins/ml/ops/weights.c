/* See weights.h. */
#include "ops/weights.h"

#include "tenon/helper/parallel.h"

static void *take(const struct tn_host *host, uint64_t bytes) {
    return host->alloc(host->self, bytes + 1, 64, "ml weights");
}

static const struct tn_gemm_service *find_service(const struct tn_host *host) {
    const struct tn_gemm_service *gemm =
        TN_HAS(host, get_extension) ? host->get_extension(host->self, TN_GEMM_SERVICE)
                                    : NULL;
    if (gemm && gemm->struct_size == TN_GEMM_SERVICE_SIZE) return gemm;
    host->log(host->self, TN_LOG_WARNING,
        "no plugin publishes " TN_GEMM_SERVICE
        ": linear and SVM operators multiply by plain loops, which is slower; is the cpu "
        "plugin disabled?");
    return NULL;
}

/* The weights as rows of n in the wanted type: the transposed list. */
static void fill_plain(struct tn__weights *w, const float *list, void *out) {
    for (uint64_t r = 0; r < w->k; r++) {
        for (uint64_t c = 0; c < w->n; c++) {
            float value = list[c * w->k + r];
            if (w->dtype == TN_DOUBLE)
                ((double *)out)[r * w->n + c] = (double)value;
            else
                ((float *)out)[r * w->n + c] = value;
        }
    }
}

static tn_status fail_memory(uint64_t bytes, struct tn_diag *diag) {
    return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for %llu bytes of weights",
        (unsigned long long)bytes);
}

static tn_status pack(struct tn__weights *w, void *plain, struct tn_diag *diag) {
    const struct tn_gemm_matrix b = {.data = plain,
        .k = w->k,
        .n = w->n,
        .row_stride = w->n,
        .col_stride = 1,
        .dtype = w->dtype};
    uint64_t bytes = w->gemm->packed_size(w->gemm->self, &b);
    w->packed = take(w->host, bytes);
    if (!w->packed) return fail_memory(bytes, diag);
    if (w->k && w->n) w->gemm->pack(w->gemm->self, &b, w->packed);
    return TN_OK;
}

enum { FEW = 2 }; /* columns that are summed as dots */

static tn_status keep_lists(struct tn__weights *w, const struct tn__ml *ml,
    const float *list, struct tn_diag *diag) {
    uint64_t bytes = w->k * w->n * sizeof(float);
    w->packed = take(w->host, bytes);
    if (!w->packed) return fail_memory(bytes, diag);
    memcpy(w->packed, list, bytes);
    w->dots = ml->rows.dots;
    return TN_OK;
}

tn_status tn__weights_pack(struct tn__weights *w, const struct tn__ml *ml,
    const float *list, uint64_t k, uint64_t n, int32_t dtype, struct tn_diag *diag) {
    const struct tn_host *host = ml->host;
    *w = (struct tn__weights){.host = host, .k = k, .n = n, .dtype = dtype};
    if (dtype == TN_FLOAT && n <= FEW) return keep_lists(w, ml, list, diag);
    w->gemm = find_service(host);
    uint64_t bytes = k * n * (tn_dtype_bits(dtype) / 8); /* both from lengths of a list */
    void *plain = take(host, bytes);
    if (!plain) return fail_memory(bytes, diag);
    fill_plain(w, list, plain);
    if (!w->gemm) {
        w->packed = plain;
        return TN_OK;
    }
    tn_status status = pack(w, plain, diag);
    host->free(host->self, plain);
    return status;
}

void tn__weights_free(struct tn__weights *w) {
    if (w->host) w->host->free(w->host->self, w->packed);
    w->packed = NULL;
}

/* ---- plain loops: each sum in ascending order ---------------------------------------------- */

struct plain {
    const struct tn__weights *w;
    const void *a, *bias;
    void *c;
};

#define PLAIN(type)                                                                      \
    static void multiply_##type(const struct plain *p, int64_t i) {                      \
        uint64_t k = p->w->k, n = p->w->n;                                               \
        const type *a = (const type *)p->a + (uint64_t)i * k, *b = p->w->packed;         \
        const type *bias = p->bias;                                                      \
        type *c = (type *)p->c + (uint64_t)i * n;                                        \
        for (uint64_t j = 0; j < n; j++)                                                 \
            c[j] = 0;                                                                    \
        for (uint64_t r = 0; r < k; r++, b += n) {                                       \
            for (uint64_t j = 0; j < n; j++)                                             \
                c[j] += a[r] * b[j];                                                     \
        }                                                                                \
        for (uint64_t j = 0; bias && j < n; j++)                                         \
            c[j] += bias[j];                                                             \
    }
PLAIN(float)
PLAIN(double)
#undef PLAIN

static void plain_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct plain *p = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        if (p->w->dtype == TN_DOUBLE)
            multiply_double(p, i);
        else
            multiply_float(p, i);
    }
}

struct dots {
    const struct tn__weights *w;
    const float *a, *bias;
    float *c;
};

static void dot_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct dots *d = arg;
    const struct tn__weights *w = d->w;
    (void)worker;
    for (uint64_t c = 0; c < w->n; c++)
        w->dots(d->a + (uint64_t)begin * w->k, (size_t)(end - begin), w->k,
            (const float *)w->packed + c * w->k, d->bias ? d->bias[c] : 0,
            d->c + (uint64_t)begin * w->n + c, w->n);
}

void tn__weights_multiply(
    const struct tn__weights *w, uint64_t m, const void *a, const void *bias, void *c) {
    if (w->dots) {
        struct dots dots = {w, a, bias, c};
        tn_parallel(
            w->host, (int64_t)m, 0.2 * (double)(w->k * w->n) + 2, dot_rows, &dots);
        return;
    }
    if (!w->gemm) {
        struct plain plain = {w, a, bias, c};
        double cost = (double)w->k * (double)w->n * 0.5 + 1;
        tn_parallel(w->host, (int64_t)m, cost, plain_rows, &plain);
        return;
    }
    const struct tn_gemm_product product = {.m = m,
        .n = w->n,
        .k = w->k,
        .a = a,
        .lda = w->k,
        .packed = w->packed,
        .bias = bias,
        .c = c,
        .ldc = w->n,
        .dtype = w->dtype};
    w->gemm->run(w->gemm->self, &product);
}
