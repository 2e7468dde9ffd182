/* A batch of f32 matrix products, split over the pool. */
#include "product.h"
#include "tenon/helper/parallel.h"

static size_t ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

void tn__product_plan(struct tn_product *p) {
    const struct tn_gemm *g = &p->gemm;
    size_t panels = tn_gemm_panels(p->kernels, g->n), rows = p->kernels->rows;
    double work = (double)g->m * (double)g->n * (double)g->k;
    double want_pieces = work / (TN_PRODUCT_SMALL / 2);
    size_t want = want_pieces < 1 ? 1 : want_pieces > 64 ? 64 : (size_t)want_pieces;
    /* Rows first: each piece then streams the whole right side once for many rows. */
    size_t m_most = ceil_div(g->m, 4 * rows);
    p->m_pieces = m_most ? min_size(want, m_most) : 1;
    p->m_block = ceil_div(ceil_div(g->m, p->m_pieces), rows) * rows;
    p->m_pieces = p->m_block ? ceil_div(g->m, p->m_block) : 1;
    size_t p_want = ceil_div(want, p->m_pieces ? p->m_pieces : 1);
    p->p_pieces = panels ? min_size(p_want, panels) : 1;
    p->p_block = ceil_div(panels, p->p_pieces);
    p->p_pieces = p->p_block ? ceil_div(panels, p->p_block) : 1;
}

/* Product number `index` of the batch. */
static void locate(const struct tn_product *p, size_t index, struct tn_gemm *g) {
    size_t rest = index;
    ptrdiff_t a = 0, b = 0;
    for (uint32_t i = p->rank; i-- > 0;) {
        size_t at = rest % (size_t)p->dims[i];
        rest /= (size_t)p->dims[i];
        a += (ptrdiff_t)at * p->step_a[i];
        b += (ptrdiff_t)at * p->step_b[i];
    }
    g->a += a;
    g->b += b;
    g->c += index * p->step_c;
}

static void run_piece(const struct tn_product *p, size_t piece) {
    struct tn_gemm g = p->gemm;
    struct tn_gemm_epilogue epilogue = p->epilogue;
    size_t p_at = piece % p->p_pieces, m_at = piece / p->p_pieces % p->m_pieces;
    size_t index = piece / p->p_pieces / p->m_pieces;
    g.epilogue = &epilogue;
    if (p->batch > 1) {
        locate(p, index, &g);
        if (epilogue.residual) epilogue.residual += index * p->step_c;
    }
    size_t m0 = m_at * p->m_block, m1 = min_size(m0 + p->m_block, g.m);
    size_t panels = tn_gemm_panels(p->kernels, g.n);
    size_t p0 = p_at * p->p_block, p1 = min_size(p0 + p->p_block, panels);
    if (p->packed)
        tn_gemm_run(p->kernels, &g, m0, m1, p0, p1);
    else
        tn_gemm_plain(p->kernels, &g, p->b_transposed, m0, m1, p0, p1);
}

static void run_pieces(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        run_piece(arg, (size_t)i);
}

tn_status tn__product_run(
    const struct tn_product *p, const struct tn_host *host, const struct tn_run *run) {
    if (p->gemm.m == 0 || p->gemm.n == 0 || p->batch == 0) return TN_OK;
    size_t pieces = p->batch * p->m_pieces * p->p_pieces;
    double each = (double)p->gemm.m * (double)p->gemm.n * (double)(p->gemm.k + 1);
    if (each * (double)p->batch < TN_PRODUCT_SMALL) {
        run_pieces((void *)(uintptr_t)p, 0, (int64_t)pieces, 0);
        return TN_OK;
    }
    /* Many small products: several of them make one call. */
    double one = each / (double)(p->m_pieces * p->p_pieces);
    int64_t grain =
        one < TN_PRODUCT_SMALL / 4 ? (int64_t)(TN_PRODUCT_SMALL / 4 / one) : 1;
    return tn_parallel_run(
        run, host, (int64_t)pieces, grain, run_pieces, (void *)(uintptr_t)p);
}

struct pack_job {
    const struct tn_gemm_kernels *kernels;
    float *dst;
    const float *src;
    size_t dst_step, src_step, row_stride, col_stride, k, n, panels;
};

static void pack_panels(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    (void)worker;
    const struct pack_job *job = arg;
    for (int64_t i = begin; i < end; i++) {
        size_t matrix = (size_t)i / job->panels, panel = (size_t)i % job->panels;
        tn_gemm_pack(job->kernels, job->dst + matrix * job->dst_step,
            job->k * job->kernels->nr, job->src + matrix * job->src_step, job->row_stride,
            job->col_stride, job->k, job->n, panel, panel + 1);
    }
}

void tn__product_pack(const struct tn_gemm_kernels *kernels, const struct tn_host *host,
    float *dst, const float *src, size_t src_step, size_t row_stride, size_t col_stride,
    size_t k, size_t n, size_t count) {
    struct pack_job job = {kernels, dst, src, tn_gemm_packed_size(kernels, k, n),
        src_step, row_stride, col_stride, k, n, tn_gemm_panels(kernels, n)};
    int64_t total = (int64_t)(count * job.panels);
    if (total == 0) return;
    int64_t grain = (int64_t)(65536 / (k * kernels->nr + 1)) + 1;
    host->parallel_for(host->self, total, grain, pack_panels, &job);
}
