/* The losses for one float type: T, NAME(x), EXP(cpu) are defined by losses.c. */

/* Logarithm of the sum of exponentials of a line of classes that lie together. */
static double NAME(line_total)(const struct job *job, const T *x) {
    T top = -(T)INFINITY, e[LANES];
    double sum = 0;
    for (int64_t c = 0; c < job->classes; c++)
        top = x[c] > top || isnan(x[c]) ? x[c] : top;
    for (int64_t c = 0; c < job->classes; c += LANES) {
        int64_t count = job->classes - c < LANES ? job->classes - c : LANES;
        for (int64_t j = 0; j < count; j++)
            e[j] = x[c + j] - top;
        job->exp(e, e, (size_t)count, NULL);
        for (int64_t j = 0; j < count; j++)
            sum += (double)e[j];
    }
    return (double)top + log(sum);
}

/* The same for `count` lines side by side. */
static void NAME(lane_totals)(
    const struct job *job, const T *x, int64_t count, double *totals) {
    T top[LANES], e[LANES];
    double sum[LANES] = {0};
    for (int64_t j = 0; j < count; j++)
        top[j] = -(T)INFINITY;
    for (int64_t c = 0; c < job->classes; c++) {
        const T *row = x + c * job->inner;
        for (int64_t j = 0; j < count; j++)
            top[j] = row[j] > top[j] || isnan(row[j]) ? row[j] : top[j];
    }
    for (int64_t c = 0; c < job->classes; c++) {
        const T *row = x + c * job->inner;
        for (int64_t j = 0; j < count; j++)
            e[j] = row[j] - top[j];
        job->exp(e, e, (size_t)count, NULL);
        for (int64_t j = 0; j < count; j++)
            sum[j] += (double)e[j];
    }
    for (int64_t j = 0; j < count; j++)
        totals[j] = (double)top[j] + log(sum[j]);
}

/* Pieces [begin, end): up to LANES positions of one n each. */
static void NAME(total_pieces)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    (void)worker;
    for (int64_t p = begin; p < end; p++) {
        int64_t n = p / job->pieces, at = p % job->pieces * LANES;
        int64_t count = job->inner - at < LANES ? job->inner - at : LANES;
        int64_t first = n * job->classes * job->inner + at;
        const T *x = (const T *)job->scores + first;
        double *totals = job->totals + n * job->inner + at;
        if (job->inner == 1)
            *totals = NAME(line_total)(job, x);
        else
            NAME(lane_totals)(job, x, count, totals);
        T *logs = job->log_prob ? (T *)job->log_prob + first : NULL;
        for (int64_t c = 0; logs && c < job->classes; c++)
            for (int64_t j = 0; j < count; j++)
                logs[c * job->inner + j] = (T)((double)x[c * job->inner + j] - totals[j]);
    }
}

static void NAME(loss_blocks)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const T *scores = job->scores, *weights = job->weights;
    T *out = job->loss->reduction == REDUCE_NONE ? job->out : NULL;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        int64_t last =
            job->positions - b * BLOCK < BLOCK ? job->positions : (b + 1) * BLOCK;
        struct partial sum = {0, 0};
        for (int64_t i = b * BLOCK; i < last; i++) {
            int64_t target = tn_tensor_int(job->target, i);
            bool none = ignored(job->loss, target);
            int64_t n = i / job->inner, d = i % job->inner;
            double weight = none ? 0 : weights ? (double)weights[target] : 1, loss = 0;
            if (!none)
                loss = (job->totals ? job->totals[i] : 0) -
                       (double)scores[(n * job->classes + target) * job->inner + d];
            loss = none ? 0 : loss * weight;
            if (out) out[i] = (T)loss;
            sum.loss += loss;
            sum.weight += weight;
        }
        job->partials[b] = sum;
    }
}

static tn_status NAME(loss)(void *kernel, const struct tn_run_args *args) {
    const struct loss *loss = kernel;
    const struct tn_host *host = loss->base.host;
    struct job job;
    TN_TRY(bind(&job, loss, args));
    job.exp = EXP(loss->base.cpu);
    if (loss->softmax)
        tn_parallel(host, job.n * job.pieces,
            (job.inner == 1 ? 1 : LANES) * (double)job.classes, NAME(total_pieces), &job);
    tn_parallel(
        host, (job.positions + BLOCK - 1) / BLOCK, BLOCK * 2.0, NAME(loss_blocks), &job);
    if (loss->reduction != REDUCE_NONE && job.out) *(T *)job.out = (T)reduced(&job);
    return TN_OK;
}

#undef T
#undef NAME
#undef EXP
