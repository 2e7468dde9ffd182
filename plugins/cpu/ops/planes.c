/* Channels inward and outward. */
#include "ops/planes.h"

/* Transposes `batch` matrices of rows×cols in pieces of some columns. */
struct job {
    const struct tn__cpu *cpu;
    float *dst;
    const float *src;
    size_t rows, cols, pieces;
};

enum { PIECE = 64 }; /* columns */

static void run(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    size_t rows = job->rows, cols = job->cols;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        size_t image = (size_t)i / job->pieces, c0 = (size_t)i % job->pieces * PIECE;
        size_t n = cols - c0 < PIECE ? cols - c0 : PIECE;
        const float *src = job->src + image * rows * cols + c0;
        float *dst = job->dst + image * rows * cols + c0 * rows;
        job->cpu->gemm.transpose(dst, rows, src, cols, rows, n);
    }
}

static void transpose(const struct tn__cpu *cpu, float *dst, const float *src,
    size_t batch, size_t rows, size_t cols) {
    struct job job = {cpu, dst, src, rows, cols, (cols + PIECE - 1) / PIECE};
    int64_t n = (int64_t)(batch * job.pieces),
            grain = (int64_t)(65536 / (rows * PIECE + 1)) + 1;
    if (n <= grain)
        run(&job, 0, n, 0);
    else
        cpu->host->parallel_for(cpu->host->self, n, grain, run, &job);
}

const float *tn__planes_inward(const struct tn__cpu *cpu, float *dst, const float *src,
    size_t batch, size_t channels, size_t pixels) {
    if (channels <= 1 || pixels <= 1) return src;
    transpose(cpu, dst, src, batch, channels, pixels);
    return dst;
}

void tn__planes_outward(const struct tn__cpu *cpu, float *dst, const float *src,
    size_t batch, size_t channels, size_t pixels) {
    transpose(cpu, dst, src, batch, pixels, channels);
}
