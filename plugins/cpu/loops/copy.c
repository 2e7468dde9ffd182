/* See copy.h. */
#include "loops/copy.h"

#include "tenon/helper/diag.h"
#include "tenon/helper/parallel.h"
#include "tenon/helper/shape.h"

/* ---- planning ------------------------------------------------------------------------- */

void tn__dense_steps(const int64_t *dims, uint32_t rank, int64_t *steps) {
    int64_t step = 1;
    for (uint32_t i = rank; i-- > 0;) {
        steps[i] = step;
        step *= dims[i];
    }
}

tn_status tn__copy_plan(struct tn__copy *copy, int32_t dtype, uint32_t rank,
    const int64_t *dims, const int64_t *dst_steps, const int64_t *src_steps,
    struct tn_diag *diag) {
    memset(copy, 0, sizeof *copy);
    copy->bits = tn_dtype_bits(dtype);
    copy->ew.n_operands = 2;
    if (!tn_shape_count(dims, rank, &copy->ew.count))
        return tn_fail(diag, TN_LIMIT_EXCEEDED, "the block has too many elements");
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t steps[2] = {dst_steps[i], src_steps[i]};
        if (dims[i] != 1) TN_TRY(tn__ew_append(&copy->ew, dims[i], steps, diag));
    }
    if (copy->ew.rank == 0) {
        const int64_t ones[2] = {1, 1};
        TN_TRY(tn__ew_append(&copy->ew, 1, ones, diag));
    }
    return TN_OK;
}

/* ---- elements of less than a byte ------------------------------------------------------- */

uint8_t tn__packed_get(const void *src, int64_t i, uint32_t bits) {
    int64_t per_byte = 8 / bits;
    uint32_t shift = (uint32_t)(i % per_byte) * bits;
    return (uint8_t)(((const uint8_t *)src)[i / per_byte] >> shift & ((1u << bits) - 1));
}

void tn__packed_put(void *dst, int64_t i, uint32_t bits, uint8_t value) {
    int64_t per_byte = 8 / bits;
    uint32_t shift = (uint32_t)(i % per_byte) * bits, mask = ((1u << bits) - 1) << shift;
    uint8_t *byte = (uint8_t *)dst + i / per_byte;
    *byte = (uint8_t)((*byte & ~mask) | ((uint32_t)value << shift & mask));
}

void tn__copy_clear(const struct tn_tensor *dst) {
    if (tn_dtype_bits(dst->dtype) < 8 && dst->size > 0) memset(dst->data, 0, dst->size);
}

/* ---- runs by element size --------------------------------------------------------------- */

struct wide16 {
    uint64_t half[2];
};

/* clang-format off */
#define STRIDED(name, type) \
    static void strided_##name( \
        void *dst, int64_t dst_step, const void *src, int64_t src_step, int64_t n) { \
        type *out = dst; \
        const type *in = src; \
        if (dst_step == 1 && src_step == 0) { \
            type value = *in; \
            for (int64_t i = 0; i < n; i++) out[i] = value; \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) out[i * dst_step] = in[i * src_step]; \
    }
STRIDED(1, uint8_t)
STRIDED(2, uint16_t)
STRIDED(4, uint32_t)
STRIDED(8, uint64_t)
STRIDED(16, struct wide16)
#undef STRIDED

/* dst[r * dst_step + c] = src[c * src_step + r], in tiles that stay in the L1 cache. */
enum { TILE = 16 };
#define TRANSPOSE(name, type) \
    static void transpose_##name(void *dst, int64_t dst_step, const void *src, \
        int64_t src_step, int64_t rows, int64_t cols) { \
        type *out = dst; \
        const type *in = src; \
        for (int64_t c = 0; c < cols; c += TILE) \
            for (int64_t r = 0; r < rows; r += TILE) { \
                int64_t r_end = r + TILE < rows ? r + TILE : rows; \
                int64_t c_end = c + TILE < cols ? c + TILE : cols; \
                for (int64_t i = r; i < r_end; i++) \
                    for (int64_t j = c; j < c_end; j++) \
                        out[i * dst_step + j] = in[j * src_step + i]; \
            } \
    }
TRANSPOSE(1, uint8_t)
TRANSPOSE(2, uint16_t)
TRANSPOSE(4, uint32_t)
TRANSPOSE(8, uint64_t)
TRANSPOSE(16, struct wide16)
#undef TRANSPOSE

/* Indexed by log2 of the element's bytes. */
static void (*const strided[])(void *, int64_t, const void *, int64_t, int64_t) = {
    strided_1, strided_2, strided_4, strided_8, strided_16};
static void (*const transpose[])(void *, int64_t, const void *, int64_t, int64_t, int64_t) = {
    transpose_1, transpose_2, transpose_4, transpose_8, transpose_16};
/* clang-format on */

static uint32_t size_log2(uint32_t bits) {
    uint32_t log2 = 0;
    while ((8u << log2) < bits)
        log2++;
    return log2;
}

void tn__fill(
    void *dst, int64_t at, const void *src, int64_t from, int64_t n, uint32_t bits) {
    if (bits < 8) {
        uint8_t value = tn__packed_get(src, from, bits);
        for (int64_t i = 0; i < n; i++)
            tn__packed_put(dst, at + i, bits, value);
        return;
    }
    strided[size_log2(bits)](
        (char *)dst + at * (bits / 8), 1, (const char *)src + from * (bits / 8), 0, n);
}

struct copy_job {
    const struct tn__copy *copy;
    char *dst;
    const char *src;
    uint32_t size, log2;
    struct tn__ew outer;    /* transposes: the axes around the plane … */
    int64_t rows, row_step; /* … and the axis along which the source is contiguous */
};

static void packed_run(
    void *arg, int64_t at, const int64_t *offsets, const int64_t *steps, int64_t n) {
    const struct copy_job *job = arg;
    uint32_t bits = job->copy->bits;
    int64_t to = job->copy->dst_offset + offsets[0];
    int64_t from = job->copy->src_offset + offsets[1];
    (void)at;
    for (int64_t i = 0; i < n; i++)
        tn__packed_put(job->dst, to + i * steps[0], bits,
            tn__packed_get(job->src, from + i * steps[1], bits));
}

static void sized_run(
    void *arg, int64_t at, const int64_t *offsets, const int64_t *steps, int64_t n) {
    const struct copy_job *job = arg;
    char *dst = job->dst + (job->copy->dst_offset + offsets[0]) * job->size;
    const char *src = job->src + (job->copy->src_offset + offsets[1]) * job->size;
    (void)at;
    if (steps[0] == 1 && steps[1] == 1)
        memcpy(dst, src, (size_t)n * job->size);
    else
        strided[job->log2](dst, steps[0], src, steps[1], n);
}

static void sized_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct copy_job *job = arg;
    (void)worker;
    tn__ew_walk(&job->copy->ew, begin, end, sized_run, arg);
}

/* ---- transposes ------------------------------------------------------------------------- */

static void plane_run(
    void *arg, int64_t at, const int64_t *offsets, const int64_t *steps, int64_t n) {
    const struct copy_job *job = arg;
    const struct tn__ew *ew = &job->copy->ew;
    uint32_t last = ew->rank - 1;
    (void)at;
    for (int64_t i = 0; i < n; i++) {
        int64_t to = job->copy->dst_offset + offsets[0] + i * steps[0];
        int64_t from = job->copy->src_offset + offsets[1] + i * steps[1];
        char *dst = job->dst + to * job->size;
        const char *src = job->src + from * job->size;
        int64_t src_step = ew->steps[1][last], cols = ew->dims[last];
        if (job->copy->planes)
            job->copy->planes->plane[job->log2](
                dst, job->row_step, src, src_step, (size_t)job->rows, (size_t)cols);
        else
            transpose[job->log2](dst, job->row_step, src, src_step, job->rows, cols);
    }
}

static void plane_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct copy_job *job = arg;
    (void)worker;
    tn__ew_walk(&job->outer, begin, end, plane_run, arg);
}

/* Whether the destination is contiguous along the last axis and the source along another:
 * then the two make planes, and the other axes (the rows in blocks) count them. */
static bool plan_planes(struct copy_job *job) {
    const struct tn__ew *ew = &job->copy->ew;
    uint32_t last = ew->rank - 1, along = last;
    if (ew->rank < 2 || ew->steps[0][last] != 1 || ew->steps[1][last] <= 1) return false;
    for (uint32_t i = 0; i < last; i++)
        if (ew->steps[1][i] == 1) along = i;
    if (along == last || (ew->dims[along] < 4 && ew->dims[last] < 4)) return false;
    job->rows = ew->dims[along];
    job->row_step = ew->steps[0][along];
    job->outer = (struct tn__ew){.count = 1, .n_operands = 2};
    for (uint32_t i = 0; i < ew->rank; i++) {
        int64_t steps[2] = {ew->steps[0][i], ew->steps[1][i]}, dim = ew->dims[i];
        if (i == last) continue;
        if (i == along) { /* rows in blocks, so that one plane can be shared too */
            if (dim % TILE != 0 || dim == TILE) continue;
            job->rows = TILE;
            dim /= TILE;
            steps[0] *= TILE;
            steps[1] *= TILE;
        }
        if (tn__ew_append(&job->outer, dim, steps, NULL) != TN_OK) return false;
        job->outer.count *= dim;
    }
    if (job->outer.rank == 0) {
        const int64_t ones[2] = {1, 1};
        if (tn__ew_append(&job->outer, 1, ones, NULL) != TN_OK) return false;
    }
    return true;
}

void tn__copy_run(
    const struct tn_host *host, const struct tn__copy *copy, void *dst, const void *src) {
    struct copy_job job = {.copy = copy, .dst = dst, .src = src};
    if (copy->ew.count == 0) return;
    if (copy->bits < 8) { /* neighbours share bytes: one thread */
        tn__ew_walk(&copy->ew, 0, copy->ew.count, packed_run, &job);
        return;
    }
    job.size = copy->bits / 8;
    job.log2 = size_log2(copy->bits);
    double cost =
        0.03 * job.size; /* nanoseconds an element takes when the caches hold it */
    if (plan_planes(&job)) {
        double plane = cost * 4 * (double)(copy->ew.count / job.outer.count);
        tn_parallel(host, job.outer.count, plane, plane_piece, &job);
    } else {
        tn_parallel(host, copy->ew.count, cost, sized_piece, &job);
    }
}

/* ---- rows of bytes ---------------------------------------------------------------------- */

struct rows_job {
    char *dst;
    const char *src;
    uint64_t dst_pitch, src_pitch, bytes;
};

static void rows_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct rows_job *job = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        memcpy(job->dst + (uint64_t)i * job->dst_pitch,
            job->src + (uint64_t)i * job->src_pitch, job->bytes);
}

void tn__copy_rows(const struct tn_host *host, void *dst, uint64_t dst_pitch,
    const void *src, uint64_t src_pitch, uint64_t bytes, int64_t rows) {
    struct rows_job job = {dst, src, dst_pitch, src_pitch, bytes};
    if (bytes == 0 || rows <= 0) return;
    tn_parallel(host, rows, 3.0 + 0.03 * (double)bytes, rows_piece, &job);
}
