/* The loops of local_response.c for one float type T. */

/* y = x · base^-beta over a run; base is overwritten. */
static void NAME(finish)(const struct lrn *lrn, T *y, const T *x, T *base, size_t n) {
    T alpha = (T)lrn->alpha, bias = (T)lrn->bias, exponent = (T)-lrn->beta;
    for (size_t i = 0; i < n; i++)
        base[i] = bias + alpha * base[i];
    if (lrn->beta == 0.75) {
        for (size_t i = 0; i < n; i++) {
            T root = SQRT(base[i]);
            y[i] = x[i] / (root * SQRT(root));
        }
        return;
    }
    POW(lrn->base.cpu)(base, base, 1, &exponent, 0, n);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * base[i];
}

/* Channels [c0, c0 + n) of one pixel, channels contiguous. */
static void NAME(pixel)(const struct job *job, const T *x, T *y, size_t c0, size_t n) {
    const struct lrn *lrn = job->lrn;
    T base[LANES] = {0};
    for (size_t d = 0; d <= lrn->before + lrn->after; d++) {
        /* channel c + d - before, for those c of the run where it exists */
        size_t lo = c0 + d < lrn->before ? lrn->before - d - c0 : 0;
        size_t end = job->channels + lrn->before > c0 + d
                         ? job->channels + lrn->before - c0 - d
                         : 0;
        for (size_t i = lo; i < n && i < end; i++)
            base[i] += x[i + d - lrn->before] * x[i + d - lrn->before];
    }
    NAME(finish)(lrn, y, x, base, n);
}

/* A piece of LANES inner elements of channel c. */
static void NAME(lanes)(const struct job *job, const T *x, T *y, size_t c, size_t n) {
    const struct lrn *lrn = job->lrn;
    T base[LANES] = {0};
    size_t first = c < lrn->before ? 0 : c - lrn->before;
    size_t last = c + lrn->after < job->channels ? c + lrn->after : job->channels - 1;
    for (size_t j = first; j <= last; j++) {
        const T *src = x + (ptrdiff_t)(j - c) * (ptrdiff_t)job->inner;
        for (size_t i = 0; i < n; i++)
            base[i] += src[i] * src[i];
    }
    NAME(finish)(lrn, y, x, base, n);
}

static void NAME(run)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const T *x = job->x;
    T *y = job->y;
    (void)worker;
    for (size_t item = (size_t)begin; item < (size_t)end; item++) {
        if (job->inner == 1) {
            for (size_t c = 0; c < job->channels; c += LANES) {
                size_t n = job->channels - c < LANES ? job->channels - c : LANES;
                size_t at = item * job->channels + c;
                NAME(pixel)(job, x + at, y + at, c, n);
            }
            continue;
        }
        size_t i0 = item % job->pieces * LANES, plane = item / job->pieces;
        size_t n = job->inner - i0 < LANES ? job->inner - i0 : LANES;
        size_t at = plane * job->inner + i0;
        NAME(lanes)(job, x + at, y + at, plane % job->channels, n);
    }
}

static tn_status NAME(lrn)(void *kernel, const struct tn_run_args *args) {
    const struct lrn *lrn = kernel;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    struct job job = {lrn, x->data, args->outputs[0].as.tensor->data, 1, 1, 1};
    size_t total = (size_t)tn_tensor_count(x);
    if (total == 0) return TN_OK;
    if (lrn->nhwc) {
        if (x->rank > 0) job.channels = (size_t)x->dims[x->rank - 1];
    } else if (x->rank > 1) {
        job.channels = (size_t)x->dims[1];
        job.inner = (size_t)tn_dims_product(x->dims, 2, x->rank);
    }
    /* Neighbours beyond the channels there are cost time and give nothing. */
    struct lrn near = *lrn;
    if (near.before > job.channels) near.before = job.channels;
    if (near.after > job.channels) near.after = job.channels;
    job.lrn = &near;
    job.pieces = (job.inner + LANES - 1) / LANES;
    size_t items = job.inner == 1 ? total / job.channels : total / job.inner * job.pieces;
    double each = job.inner == 1 ? (double)job.channels : (double)LANES;
    tn_parallel(lrn->base.host, (int64_t)items, each * 2, NAME(run), &job);
    return TN_OK;
}

#undef T
#undef NAME
#undef POW
#undef SQRT
