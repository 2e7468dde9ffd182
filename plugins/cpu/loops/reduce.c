/* See reduce.h. */
#include "loops/reduce.h"

#include "tenon/helper/diag.h"
#include "tenon/helper/parallel.h"
#include "tenon/helper/shape.h"

/* Neighbouring axes of one kind are one; axes of size 1 are of any kind. */
static uint32_t collapse(const int64_t *dims, uint32_t rank, uint64_t mask,
    int64_t *out_dims, bool *out_kinds) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < rank; i++) {
        bool kind = mask >> i & 1;
        if (dims[i] == 1) continue;
        if (n > 0 && out_kinds[n - 1] == kind) {
            out_dims[n - 1] *= dims[i];
            continue;
        }
        out_dims[n] = dims[i];
        out_kinds[n++] = kind;
    }
    return n;
}

/* Moves the kept groups before the reduced ones. */
static tn_status permute(struct tn__reduce *reduce, int32_t dtype, const int64_t *dims,
    const bool *kinds, uint32_t n, struct tn_diag *diag) {
    int64_t steps[TN_RANK_MAX], walk[TN_RANK_MAX], src[TN_RANK_MAX], dst[TN_RANK_MAX];
    uint32_t at = 0;
    tn__dense_steps(dims, n, steps);
    for (uint32_t kind = 0; kind < 2; kind++)
        for (uint32_t i = 0; i < n; i++) {
            if (kinds[i] != (kind == 1)) continue;
            walk[at] = dims[i];
            src[at++] = steps[i];
        }
    tn__dense_steps(walk, n, dst);
    reduce->permuted = true;
    return tn__copy_plan(&reduce->copy, dtype, n, walk, dst, src, diag);
}

tn_status tn__reduce_plan(struct tn__reduce *reduce, int32_t dtype, const int64_t *dims,
    uint32_t rank, uint64_t mask, bool rows_only, struct tn_diag *diag) {
    int64_t groups[TN_RANK_MAX];
    bool kinds[TN_RANK_MAX];
    TN_TRY(tn_rank_check(rank, diag));
    uint32_t n = collapse(dims, rank, mask, groups, kinds), n_reduced = 0, last = 0;
    reduce->outer = reduce->reduced = reduce->inner = 1;
    reduce->permuted = false;
    for (uint32_t i = 0; i < n; i++)
        if (kinds[i]) {
            n_reduced++;
            last = i;
        }
    if (n_reduced > 1 || (n_reduced == 1 && rows_only && last + 1 < n)) {
        for (uint32_t i = 0; i < n; i++)
            *(kinds[i] ? &reduce->reduced : &reduce->outer) *= groups[i];
        return permute(reduce, dtype, groups, kinds, n, diag);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (kinds[i])
            reduce->reduced = groups[i];
        else if (n_reduced == 0 || i < last)
            reduce->outer *= groups[i];
        else
            reduce->inner *= groups[i];
    }
    return TN_OK;
}

struct reduce_job {
    const struct tn__reduce *reduce;
    tn_reduce_row_fn *row;
    tn_reduce_column_fn *column;
    uint32_t size;
    char *dst;
    const char *src;
};

static void row_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct reduce_job *job = arg;
    int64_t n = job->reduce->reduced;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        job->row(job->dst + i * job->size, job->src + i * n * job->size, (size_t)n);
}

static void column_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct reduce_job *job = arg;
    const struct tn__reduce *r = job->reduce;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        job->column(job->dst + i * r->inner * job->size,
            job->src + i * r->reduced * r->inner * job->size, r->inner,
            (size_t)r->reduced, (size_t)r->inner);
}

/* One block: its columns are shared. */
static void strip_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct reduce_job *job = arg;
    const struct tn__reduce *r = job->reduce;
    (void)worker;
    job->column(job->dst + begin * job->size, job->src + begin * job->size, r->inner,
        (size_t)r->reduced, (size_t)(end - begin));
}

void tn__reduce_run(const struct tn_host *host, const struct tn__reduce *reduce,
    tn_reduce_row_fn *row, tn_reduce_column_fn *column, uint32_t size, void *dst,
    const void *src, void *scratch) {
    struct reduce_job job = {reduce, row, column, size, dst, src};
    double cost = 2.0 + 0.04 * size * (double)reduce->reduced; /* ns an output element */
    if (reduce->permuted) {
        tn__copy_run(host, &reduce->copy, scratch, src);
        job.src = scratch;
    }
    if (reduce->inner == 1)
        tn_parallel(host, reduce->outer, cost, row_piece, &job);
    else if (reduce->outer == 1)
        tn_parallel(host, reduce->inner, cost, strip_piece, &job);
    else
        tn_parallel(
            host, reduce->outer, cost * (double)reduce->inner, column_piece, &job);
}
