/* The loops of norm.c for one float type T; sums are taken in double. */

static void NAME(run_rows)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct row_job *job = arg;
    const struct row_plan *plan = job->plan;
    const struct tn_tensor *bias_in = tn__in(job->args, 2);
    const T *scale = job->args->inputs[1].as.tensor->data;
    const T *bias = bias_in ? bias_in->data : NULL;
    size_t n = plan->n;
    (void)worker;
    for (size_t row = (size_t)begin; row < (size_t)end; row++) {
        const T *x = (const T *)job->args->inputs[0].as.tensor->data + row * n;
        T *y = (T *)job->args->outputs[0].as.tensor->data + row * n;
        double mean = 0, square = 0;
        if (job->norm->kind != ROW_RMS) {
            for (size_t i = 0; i < n; i++)
                mean += x[i];
            mean /= (double)n;
        }
        for (size_t i = 0; i < n; i++)
            square += ((double)x[i] - mean) * ((double)x[i] - mean);
        double inv = 1 / sqrt(square / (double)n + job->norm->epsilon);
        store_stash(job->args, 1, row, mean);
        store_stash(job->args, 2, row, inv);
        if (plan->segment == 0) {
            T m = (T)mean, k = (T)inv;
            for (size_t i = 0; i < n; i++)
                y[i] = (x[i] - m) * k * scale[i] + (bias ? bias[i] : 0);
            continue;
        }
        for (size_t s = 0; s < plan->segments; s++) {
            size_t at = row % plan->cycle;
            if (!plan->by_group) at = at * plan->segments + s;
            T a = (T)(inv * (double)scale[at]), m = (T)mean, b = bias ? bias[at] : 0;
            for (size_t i = s * plan->segment; i < (s + 1) * plan->segment; i++)
                y[i] = (x[i] - m) * a + b;
        }
    }
}

static tn_status NAME(rows)(void *kernel, const struct tn_run_args *args) {
    const struct row_norm *norm = kernel;
    const struct row_plan *plan = args->state;
    struct row_job job = {norm, plan, args};
    const struct tn_host *host = norm->base.host;
    if (plan->rows == 0) return TN_OK;
    host->parallel_for(
        host->self, (int64_t)plan->rows, plan->grain, NAME(run_rows), &job);
    return TN_OK;
}

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
        for (size_t i = plane * inner; i < (plane + 1) * inner; i++)
            y[i] = x[i] * a + b;
    }
}

static tn_status NAME(batch)(void *kernel, const struct tn_run_args *args) {
    const struct batch_norm *norm = kernel;
    const struct tn_tensor *x = args->inputs[0].as.tensor;
    const struct tn_host *host = norm->base.host;
    struct wide_job job = {norm, args, batch_view(x), args->workspace};
    for (size_t c = 0; c < job.view.channels; c++) {
        double mean, var;
        if (norm->training) {
            NAME(batch_moments)(x->data, &job.view, c, &mean, &var);
            update_running(norm, args, 1, c, mean);
            update_running(norm, args, 2, c, var);
        } else {
            mean = element(args->inputs[3].as.tensor, c);
            var = element(args->inputs[4].as.tensor, c);
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
