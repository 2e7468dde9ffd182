/* The ways to compute an f32 convolution. */
#include "ops/conv_method.h"

#include "ops/product.h"
#include "tenon/helper/parallel.h"

/* ---- direct ------------------------------------------------------------------------------ */

static size_t direct_size(const struct tn__cpu *cpu, const struct tn_conv *conv) {
    return tn_conv_packed_size(&cpu->gemm, conv);
}

static size_t panels(const struct tn__cpu *cpu, const struct tn_conv *conv) {
    return tn_conv_panels(&cpu->gemm, conv);
}

static void direct_pack(const struct tn__cpu *cpu, const struct tn_conv *conv, float *dst,
    const float *weights, size_t part0, size_t part1) {
    tn_conv_pack(&cpu->gemm, conv, dst, weights, part0, part1);
}

static size_t output_rows(const struct tn__cpu *cpu, const struct tn_conv *conv) {
    (void)cpu;
    return tn_conv_rows(conv);
}

static void direct_run(const struct tn__cpu *cpu, const struct tn_conv *conv,
    float *workspace, size_t r0, size_t r1, size_t c0, size_t c1) {
    (void)workspace;
    tn_conv_run(&cpu->gemm, conv, r0, r1, c0, c1);
}

/* ---- depthwise ---------------------------------------------------------------------------- */

static size_t depthwise_size(const struct tn__cpu *cpu, const struct tn_conv *conv) {
    (void)cpu;
    return tn_depthwise_packed_size(conv);
}

static size_t one(const struct tn__cpu *cpu, const struct tn_conv *conv) {
    (void)cpu;
    (void)conv;
    return 1;
}

static void depthwise_pack(const struct tn__cpu *cpu, const struct tn_conv *conv,
    float *dst, const float *weights, size_t part0, size_t part1) {
    (void)cpu;
    if (part0 < part1) tn_depthwise_pack(conv, dst, weights);
}

static void depthwise_run(const struct tn__cpu *cpu, const struct tn_conv *conv,
    float *workspace, size_t r0, size_t r1, size_t c0, size_t c1) {
    (void)workspace;
    if (c0 < c1) tn_depthwise_run(&cpu->depthwise, conv, r0, r1);
}

/* ---- Winograd ----------------------------------------------------------------------------- */

static size_t winograd_size(const struct tn__cpu *cpu, const struct tn_conv *conv) {
    return tn_winograd_packed_size(&cpu->winograd, conv);
}

static void winograd_pack(const struct tn__cpu *cpu, const struct tn_conv *conv,
    float *dst, const float *weights, size_t part0, size_t part1) {
    tn_winograd_pack(&cpu->winograd, conv, dst, weights, part0, part1);
}

static size_t winograd_tiles(const struct tn__cpu *cpu, const struct tn_conv *conv) {
    (void)cpu;
    return tn_winograd_tiles(conv);
}

static size_t winograd_workspace(const struct tn__cpu *cpu, const struct tn_conv *conv) {
    return tn_winograd_workspace(&cpu->winograd, conv);
}

static void winograd_run(const struct tn__cpu *cpu, const struct tn_conv *conv,
    float *workspace, size_t r0, size_t r1, size_t c0, size_t c1) {
    if (c0 < c1) tn_winograd_run(&cpu->winograd, conv, workspace, r0, r1);
}

/* ---- choice ------------------------------------------------------------------------------ */

static const struct tn__conv_method direct = {
    "direct", direct_size, panels, direct_pack, output_rows, panels, NULL, direct_run};
static const struct tn__conv_method depthwise = {"depthwise", depthwise_size, one,
    depthwise_pack, output_rows, one, NULL, depthwise_run};
static const struct tn__conv_method winograd = {"winograd", winograd_size, panels,
    winograd_pack, winograd_tiles, one, winograd_workspace, winograd_run};

const struct tn__conv_method *tn__conv_choose(
    const struct tn__cpu *cpu, const struct tn_conv *conv, bool fast, bool sized) {
    if (tn_depthwise_fits(conv) && !conv->post) return &depthwise;
    if (fast && sized && !conv->post && tn_winograd_fits(conv) &&
        tn_winograd_pays(&cpu->winograd, conv))
        return &winograd;
    return &direct;
}

struct pack_job {
    const struct tn__cpu *cpu;
    const struct tn__conv_method *method;
    const struct tn_conv *conv;
    float *dst;
    const float *weights;
};

static void pack_parts(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct pack_job *job = arg;
    (void)worker;
    job->method->pack(
        job->cpu, job->conv, job->dst, job->weights, (size_t)begin, (size_t)end);
}

void tn__conv_pack(const struct tn__cpu *cpu, const struct tn__conv_method *method,
    const struct tn_conv *conv, float *dst, const float *weights) {
    struct pack_job job = {cpu, method, conv, dst, weights};
    size_t parts = method->pack_parts(cpu, conv);
    size_t each = parts ? method->packed_size(cpu, conv) / parts : 1;
    if (parts == 0) return;
    cpu->host->parallel_for(cpu->host->self, (int64_t)parts,
        (int64_t)(65536 / (each + 1)) + 1, pack_parts, &job);
}

static double work(const struct tn_conv *conv) {
    double n = (double)conv->batch * (double)conv->out_channels *
               (double)(conv->in_channels / conv->groups);
    for (size_t i = 0; i < conv->axes; i++)
        n *= (double)conv->axis[i].kernel * (double)conv->axis[i].out;
    return n;
}

static void cut(size_t n, double want, size_t *block, size_t *pieces) {
    size_t most = want < 1 ? 1 : (size_t)want;
    if (most > n) most = n ? n : 1;
    *block = (n + most - 1) / most;
    *pieces = *block ? (n + *block - 1) / *block : 0;
}

void tn__conv_cut(const struct tn__cpu *cpu, const struct tn__conv_method *method,
    const struct tn_conv *conv, struct tn__conv_pieces *pieces) {
    double pixels = (double)conv->batch, total = work(conv);
    for (size_t i = 0; i < conv->axes; i++)
        pixels *= (double)conv->axis[i].out;
    double want = total / (TN_PRODUCT_SMALL / 2);
    want = want > 64 ? 64 : want;
    if (method->workspace) { /* each piece streams all weights: one for each worker */
        double workers = (double)cpu->host->worker_count(cpu->host->self);
        if (want > workers) want = workers;
    }
    /* Rows of the output first, but not fewer pixels than make full tiles. */
    double most = pixels / (double)(4 * cpu->gemm.rows);
    pieces->rows = method->rows(cpu, conv);
    pieces->columns = method->columns(cpu, conv);
    cut(pieces->rows, want < most ? want : most, &pieces->row_block, &pieces->row_pieces);
    double rest = pieces->row_pieces ? want / (double)pieces->row_pieces : 1;
    cut(pieces->columns, rest, &pieces->column_block, &pieces->column_pieces);
    pieces->scratch =
        method->workspace ? (method->workspace(cpu, conv) + 15) / 16 * 16 : 0;
    pieces->small = total < TN_PRODUCT_SMALL;
}

struct run_job {
    const struct tn__cpu *cpu;
    const struct tn__conv_method *method;
    const struct tn_conv *conv;
    const struct tn__conv_pieces *pieces;
    float *scratch;
};

static void run_pieces(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct run_job *job = arg;
    const struct tn__conv_pieces *p = job->pieces;
    float *scratch = p->scratch ? job->scratch + worker * p->scratch : NULL;
    for (int64_t i = begin; i < end; i++) {
        size_t r0 = (size_t)i / p->column_pieces * p->row_block;
        size_t c0 = (size_t)i % p->column_pieces * p->column_block;
        size_t r1 = r0 + p->row_block < p->rows ? r0 + p->row_block : p->rows;
        size_t c1 = c0 + p->column_block < p->columns ? c0 + p->column_block : p->columns;
        job->method->run(job->cpu, job->conv, scratch, r0, r1, c0, c1);
    }
}

tn_status tn__conv_run(const struct tn__cpu *cpu, const struct tn__conv_method *method,
    const struct tn_conv *conv, const struct tn__conv_pieces *pieces, float *scratch,
    const struct tn_run *run) {
    struct run_job job = {cpu, method, conv, pieces, scratch};
    int64_t n = (int64_t)(pieces->row_pieces * pieces->column_pieces);
    if (n == 0) return TN_OK;
    if (!pieces->small && n > 1)
        return tn_parallel_run(run, cpu->host, n, 1, run_pieces, &job);
    run_pieces(&job, 0, n, 0);
    return TN_OK;
}
