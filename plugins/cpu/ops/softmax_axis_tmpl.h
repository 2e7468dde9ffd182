/* The loops of softmax_axis.c for one float type T. y may be x. */

/* Lanes [0, lanes) of one outer item; the axis has the step `inner`. */
static void NAME(lanes)(
    const struct job *job, T *y, const T *x, size_t lanes, bool log_of) {
    size_t n = job->plan->n, inner = job->plan->inner;
    T top[LANES], total[LANES], e[LANES];
    for (size_t i = 0; i < lanes; i++)
        top[i] = (T)-INFINITY, total[i] = 0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < lanes; i++)
            top[i] = x[j * inner + i] > top[i] ? x[j * inner + i] : top[i];
    for (size_t j = 0; j < n; j++) {
        T *to = y + j * inner, *exps = log_of ? e : to;
        for (size_t i = 0; i < lanes; i++)
            to[i] = x[j * inner + i] - top[i];
        job->exp(exps, to, lanes, NULL);
        for (size_t i = 0; i < lanes; i++)
            total[i] += exps[i];
    }
    for (size_t i = 0; i < lanes; i++)
        total[i] = log_of ? (T)log((double)total[i]) : 1 / total[i];
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < lanes; i++) {
            T *to = y + j * inner + i;
            *to = log_of ? *to - total[i] : *to * total[i];
        }
}

/* Items [begin, end): pieces of LANES inner elements of an outer item. */
static void NAME(run)(const struct job *job, int64_t begin, int64_t end, bool log_of) {
    const struct plan *plan = job->plan;
    size_t pieces = (plan->inner + LANES - 1) / LANES;
    for (int64_t item = begin; item < end; item++) {
        size_t i0 = (size_t)item % pieces * LANES;
        size_t at = (size_t)item / pieces * plan->n * plan->inner + i0;
        size_t lanes = plan->inner - i0 < LANES ? plan->inner - i0 : LANES;
        if (plan->inner == 1)
            ROW(job, (T *)job->y + at, (const T *)job->x + at, log_of);
        else
            NAME(lanes)(job, (T *)job->y + at, (const T *)job->x + at, lanes, log_of);
    }
}

static void NAME(run_plain)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    (void)worker;
    NAME(run)(arg, begin, end, false);
}

static void NAME(run_log)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    (void)worker;
    NAME(run)(arg, begin, end, true);
}

/* 1 at the first greatest element of each line, 0 elsewhere. */
static void NAME(hardmax)(const struct job *job) {
    const struct plan *plan = job->plan;
    for (size_t o = 0; o < plan->outer; o++) {
        for (size_t i = 0; i < plan->inner; i++) {
            size_t first = o * plan->n * plan->inner + i, best = 0;
            const T *x = (const T *)job->x + first;
            T *y = (T *)job->y + first;
            for (size_t j = 1; j < plan->n; j++)
                if (x[j * plan->inner] > x[best * plan->inner]) best = j;
            for (size_t j = 0; j < plan->n; j++)
                y[j * plan->inner] = j == best;
        }
    }
}

static tn_status NAME(softmax)(void *kernel, const struct tn_run_args *args) {
    const struct softmax *softmax = kernel;
    const struct plan *plan = args->state;
    struct job job = {plan, args->inputs[0].as.tensor->data,
        args->outputs[0].as.tensor->data, EXP(softmax->base.cpu), softmax->base.cpu};
    if (plan->n == 0 || plan->outer == 0 || plan->inner == 0) return TN_OK;
    if (softmax->kind == HARDMAX) {
        NAME(hardmax)(&job);
        return TN_OK;
    }
    size_t lanes = plan->inner < LANES ? plan->inner : LANES;
    int64_t items = (int64_t)(plan->outer * ((plan->inner + LANES - 1) / LANES));
    tn_parallel(softmax->base.host, items, (double)plan->n * (double)lanes,
        softmax->kind == LOG_SOFTMAX ? NAME(run_log) : NAME(run_plain), &job);
    return TN_OK;
}

#undef T
#undef NAME
#undef EXP
#undef ROW
