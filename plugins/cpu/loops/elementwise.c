/* See elementwise.h. */
#include "loops/elementwise.h"

#include "tenon/helper/diag.h"
#include "tenon/helper/parallel.h"
#include "tenon/helper/shape.h"

/* ---- planning ------------------------------------------------------------------------- */

/* Joins an axis to the one outside of it when every operand steps through both as one. */
static bool joins(const struct tn__ew *ew, int64_t dim, const int64_t *steps) {
    if (ew->rank == 0) return false;
    for (uint32_t i = 0; i < ew->n_operands; i++)
        if (ew->steps[i][ew->rank - 1] != steps[i] * dim) return false;
    return true;
}

tn_status tn__ew_append(
    struct tn__ew *ew, int64_t dim, const int64_t *steps, struct tn_diag *diag) {
    if (joins(ew, dim, steps)) {
        ew->dims[ew->rank - 1] *= dim;
    } else {
        if (ew->rank == TN_EW_RANK)
            return tn_fail(diag, TN_UNSUPPORTED,
                "more than %d groups of axes broadcast differently", TN_EW_RANK);
        ew->dims[ew->rank++] = dim;
    }
    for (uint32_t i = 0; i < ew->n_operands; i++)
        ew->steps[i][ew->rank - 1] = steps[i];
    return TN_OK;
}

/* Steps of one dense operand along the output's axes: 0 where it is broadcast. */
static tn_status operand_steps(const struct tn_tensor *operand, const int64_t *dims,
    uint32_t rank, int64_t *steps, struct tn_diag *diag) {
    int64_t step = 1;
    if (operand->rank > rank)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "an operand of rank %u does not broadcast to an output of rank %u",
            operand->rank, rank);
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t axis = rank - 1 - i;
        int64_t dim = i < operand->rank ? operand->dims[operand->rank - 1 - i] : 1;
        if (dim != dims[axis] && dim != 1)
            return tn_fail(diag, TN_INVALID_ARGUMENT,
                "dimensions %lld and %lld do not broadcast: they must be equal or one be "
                "1",
                (long long)dim, (long long)dims[axis]);
        steps[axis] = dim == 1 ? 0 : step;
        step *= dim;
    }
    return TN_OK;
}

tn_status tn__ew_plan(struct tn__ew *ew, const int64_t *dims, uint32_t rank,
    const struct tn_tensor *const *operands, uint32_t n_operands, struct tn_diag *diag) {
    int64_t steps[TN_EW_OPERANDS][TN_RANK_MAX];
    TN_TRY(tn_rank_check(rank, diag));
    ew->rank = 0;
    ew->n_operands = n_operands;
    if (!tn_shape_count(dims, rank, &ew->count))
        return tn_fail(diag, TN_LIMIT_EXCEEDED, "the output has too many elements");
    for (uint32_t i = 0; i < n_operands; i++)
        TN_TRY(operand_steps(operands[i], dims, rank, steps[i], diag));
    for (uint32_t axis = 0; axis < rank; axis++) {
        int64_t at[TN_EW_OPERANDS];
        if (dims[axis] == 1) continue;
        for (uint32_t i = 0; i < n_operands; i++)
            at[i] = steps[i][axis];
        TN_TRY(tn__ew_append(ew, dims[axis], at, diag));
    }
    if (ew->rank == 0) {
        const int64_t ones[TN_EW_OPERANDS] = {1, 1, 1};
        TN_TRY(tn__ew_append(ew, 1, ones, diag));
    }
    return TN_OK;
}

/* ---- walking -------------------------------------------------------------------------- */

/* Moves to the first element of the next run. */
static void next_run(const struct tn__ew *ew, int64_t *coords, int64_t *offsets) {
    uint32_t last = ew->rank - 1;
    for (uint32_t o = 0; o < ew->n_operands; o++)
        offsets[o] -= coords[last] * ew->steps[o][last];
    coords[last] = 0;
    for (uint32_t i = last; i-- > 0;) {
        coords[i]++;
        for (uint32_t o = 0; o < ew->n_operands; o++)
            offsets[o] += ew->steps[o][i];
        if (coords[i] < ew->dims[i]) return;
        for (uint32_t o = 0; o < ew->n_operands; o++)
            offsets[o] -= coords[i] * ew->steps[o][i];
        coords[i] = 0;
    }
}

void tn__ew_walk(
    const struct tn__ew *ew, int64_t begin, int64_t end, tn__ew_run_fn *run, void *arg) {
    int64_t coords[TN_EW_RANK], offsets[TN_EW_OPERANDS] = {0},
                                steps[TN_EW_OPERANDS] = {0};
    uint32_t last = ew->rank - 1;
    int64_t rest = begin;
    if (begin >= end) return;
    for (uint32_t i = ew->rank; i-- > 0;) {
        coords[i] = rest % ew->dims[i];
        rest /= ew->dims[i];
        for (uint32_t o = 0; o < ew->n_operands; o++)
            offsets[o] += coords[i] * ew->steps[o][i];
    }
    for (uint32_t o = 0; o < ew->n_operands; o++)
        steps[o] = ew->steps[o][last];
    for (;;) {
        int64_t n = ew->dims[last] - coords[last];
        if (n > end - begin) n = end - begin;
        run(arg, begin, offsets, steps, n);
        begin += n;
        if (begin >= end) return;
        next_run(ew, coords, offsets);
    }
}

/* ---- one operand ---------------------------------------------------------------------- */

enum { BLOCK = 512 }; /* elements widened at a time: three buffers fit the L1 cache */

void tn__ew_unary_run(const struct tn__ew_fn *fn, void *dst, const void *src, int64_t n) {
    float wide[BLOCK];
    if (!fn->load) {
        fn->unary(dst, src, (size_t)n, fn->param);
        return;
    }
    for (int64_t i = 0; i < n; i += BLOCK) {
        size_t count = (size_t)(n - i < BLOCK ? n - i : BLOCK);
        char *out = (char *)dst + i * fn->size_out;
        fn->load(wide, (const char *)src + i * fn->size_in, count, NULL);
        fn->unary(fn->store ? (void *)wide : (void *)out, wide, count, fn->param);
        if (fn->store) fn->store(out, wide, count, NULL);
    }
}

struct unary_job {
    const struct tn__ew_fn *fn;
    char *dst;
    const char *src;
};

static void unary_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct unary_job *job = arg;
    (void)worker;
    tn__ew_unary_run(job->fn, job->dst + begin * job->fn->size_out,
        job->src + begin * job->fn->size_in, end - begin);
}

void tn__ew_unary(const struct tn_host *host, const struct tn__ew_fn *fn, void *dst,
    const void *src, int64_t n) {
    struct unary_job job = {fn, dst, src};
    tn_parallel(host, n, fn->cost, unary_piece, &job);
}

/* ---- two operands --------------------------------------------------------------------- */

struct binary_job {
    const struct tn__ew_fn *fn;
    const struct tn__ew *ew;
    char *dst;
    const char *a;
    const char *b;
};

/* Widens n elements of one operand; a scalar becomes one element of step 0. */
static int64_t widen(
    const struct tn__ew_fn *fn, float *wide, const char *src, int64_t step, int64_t n) {
    if (step == 1 || step == 0) {
        fn->load(wide, src, step ? (size_t)n : 1, NULL);
        return step;
    }
    for (int64_t i = 0; i < n; i++)
        fn->load(&wide[i], src + i * step * fn->size_in, 1, NULL);
    return 1;
}

static void binary_apply(const struct tn__ew_fn *fn, char *dst, const char *a,
    int64_t step_a, const char *b, int64_t step_b, int64_t n) {
    float wide_a[BLOCK], wide_b[BLOCK], result[BLOCK];
    if (!fn->load) {
        fn->binary(dst, a, step_a, b, step_b, (size_t)n);
        return;
    }
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t count = n - i < BLOCK ? n - i : BLOCK;
        int64_t wa = widen(fn, wide_a, a + i * step_a * fn->size_in, step_a, count);
        int64_t wb = widen(fn, wide_b, b + i * step_b * fn->size_in, step_b, count);
        char *out = dst + i * fn->size_out;
        fn->binary(fn->store ? (void *)result : (void *)out, wide_a, wa, wide_b, wb,
            (size_t)count);
        if (fn->store) fn->store(out, result, (size_t)count, NULL);
    }
}

static void binary_run(
    void *arg, int64_t dst, const int64_t *offsets, const int64_t *steps, int64_t n) {
    const struct binary_job *job = arg;
    const struct tn__ew_fn *fn = job->fn;
    binary_apply(fn, job->dst + dst * fn->size_out, job->a + offsets[0] * fn->size_in,
        steps[0], job->b + offsets[1] * fn->size_in, steps[1], n);
}

static void binary_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct binary_job *job = arg;
    (void)worker;
    tn__ew_walk(job->ew, begin, end, binary_run, arg);
}

void tn__ew_binary(const struct tn_host *host, const struct tn__ew_fn *fn,
    const struct tn__ew *ew, void *dst, const void *a, const void *b) {
    struct binary_job job = {fn, ew, dst, a, b};
    tn_parallel(host, ew->count, fn->cost, binary_piece, &job);
}

static void flat_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct binary_job *job = arg;
    const struct tn__ew_fn *fn = job->fn;
    (void)worker;
    binary_apply(fn, job->dst + begin * fn->size_out, job->a + begin * fn->size_in, 1,
        job->b + begin * fn->size_in, 1, end - begin);
}

void tn__ew_binary_flat(const struct tn_host *host, const struct tn__ew_fn *fn, void *dst,
    const void *a, const void *b, int64_t n) {
    struct binary_job job = {fn, NULL, dst, a, b};
    tn_parallel(host, n, fn->cost, flat_piece, &job);
}

void tn__ew_binary_run(
    const struct tn__ew_fn *fn, void *dst, const void *a, const void *b, int64_t n) {
    binary_apply(fn, dst, a, 1, b, 1, n);
}
