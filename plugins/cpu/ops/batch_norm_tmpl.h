/* The loops of batch_norm.c for one float type T; sums are taken in double. */

/* Statistics of channel c over the batch and the inner elements. */
static void NAME(batch_moments)(
    const T *x, const struct view *v, size_t c, double *mean, double *var) {
    double sum = 0, square = 0, n = (double)v->outer * (double)v->inner;
    for (size_t o = 0; o < v->outer; o++)
        for (size_t i = 0; i < v->inner; i++)
            sum += x[(o * v->channels + c) * v->inner + i];
    *mean = sum / n;
    for (size_t o = 0; o < v->outer; o++) {
        for (size_t i = 0; i < v->inner; i++) {
            double d = (double)x[(o * v->channels + c) * v->inner + i] - *mean;
            square += d * d;
        }
    }
    *var = square / n;
}

/* Planes [begin, end): (outer, channel) pairs. */
static void NAME(run_batch)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct wide_job *job = arg;
    const T *x = job->args->inputs[0].as.tensor->data;
    T *y = job->args->outputs[0].as.tensor->data;
    size_t inner = job->view.inner;
    (void)worker;
    for (size_t plane = (size_t)begin; plane < (size_t)end; plane++) {
        size_t c = plane % job->view.channels;
        T a = (T)job->factors[2 * c], b = (T)job->factors[2 * c + 1];
        PLANE(job, y + plane * inner, x + plane * inner, inner, a, b);
    }
}

static tn_status NAME(batch)(void *kernel, const struct tn_run_args *args) {
    const struct batch_norm *norm = kernel;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    const struct tn_host *host = norm->base.host;
    struct wide_job job = {norm->base.cpu, args, batch_view(x), args->workspace};
    for (size_t c = 0; c < job.view.channels; c++) {
        double mean, var;
        if (norm->training) {
            NAME(batch_moments)(x->data, &job.view, c, &mean, &var);
            update_running(norm, args, 1, c, mean);
            update_running(norm, args, 2, c, var);
        } else {
            mean = element(args->inputs[3].as.tensor, c);
            var = element(args->inputs[4].as.tensor, c);
            keep_running(args, c);
        }
        batch_factors(norm, args, c, mean, var, job.factors);
    }
    int64_t planes = (int64_t)(job.view.outer * job.view.channels);
    if (planes == 0 || job.view.inner == 0) return TN_OK;
    host->parallel_for(host->self, planes, (int64_t)(32768 / (job.view.inner + 1)) + 1,
        NAME(run_batch), &job);
    return TN_OK;
}

static tn_status NAME(lp)(void *kernel, const struct tn_run_args *args) {
    const struct lp_norm *norm = kernel;
    const struct tn_tensor *in = args->inputs[0].as.tensor;
    const T *x = in->data;
    T *y = args->outputs[0].as.tensor->data;
    uint32_t axis = 0;
    TN_TRY(tn_axis_fix(norm->axis, in->rank, &axis, args->run->diag));
    size_t outer = (size_t)tn_dims_product(in->dims, 0, axis);
    size_t n = (size_t)in->dims[axis];
    size_t inner = (size_t)tn_dims_product(in->dims, axis + 1, in->rank);
    for (size_t o = 0; o < outer; o++) {
        for (size_t i = 0; i < inner; i++) {
            size_t first = o * n * inner + i;
            double sum = 0;
            for (size_t j = 0; j < n; j++) {
                double v = (double)x[first + j * inner];
                sum += norm->p == 1 ? fabs(v) : v * v;
            }
            if (norm->p == 2) sum = sqrt(sum);
            for (size_t j = 0; j < n; j++) {
                double v = (double)x[first + j * inner];
                y[first + j * inner] = (T)(sum == 0 ? 0 : v / sum);
            }
        }
    }
    return TN_OK;
}

#undef T
#undef NAME
#undef PLANE
