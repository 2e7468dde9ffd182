/* MatMul and Gemm of one element type T by plain loops: f64, and the integers as unsigned
 * numbers, whose wrapping is exact. Included by matmul.c once for each type. */

/* c = a·b, all dense but for the transposed ones: rows of c take shape one after another. */
static void NAME(multiply)(T *c, const T *a, size_t a_row, size_t a_col, const T *b,
    bool b_transposed, size_t m, size_t n, size_t k) {
    for (size_t i = 0; i < m; i++) {
        T *row = c + i * n;
        for (size_t j = 0; j < n; j++)
            row[j] = 0;
        if (b_transposed) {
            for (size_t j = 0; j < n; j++) {
                T sum = 0;
                for (size_t l = 0; l < k; l++)
                    sum += a[i * a_row + l * a_col] * b[j * k + l];
                row[j] = sum;
            }
            continue;
        }
        for (size_t l = 0; l < k; l++) {
            T x = a[i * a_row + l * a_col];
            for (size_t j = 0; j < n; j++)
                row[j] += x * b[l * n + j];
        }
    }
}

struct NAME(job) {
    const struct matmul *mm;
    const struct plan *plan;
    const struct tn_run_args *args;
};

static void NAME(finish)(const struct NAME(job) * job, T *y) {
    const struct plan *plan = job->plan;
    float alpha = job->mm->alpha, beta = job->mm->beta;
    if (alpha != 1.0f)
        for (size_t i = 0; i < plan->m * plan->n; i++)
            y[i] = (T)(alpha * (double)y[i]);
    if (plan->bias == BIAS_NONE) return;
    const T *c = job->args->inputs[2].as.tensor->data;
    struct bias_step step = bias_step(plan->bias, plan->n);
    for (size_t i = 0; i < plan->m; i++) {
        for (size_t j = 0; j < plan->n; j++) {
            T add = c[i * step.row + j * step.col];
            y[i * plan->n + j] += beta == 1.0f ? add : (T)(beta * (double)add);
        }
    }
}

/* Products [begin, end) of the batch. */
static void NAME(run)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    (void)worker;
    const struct NAME(job) *job = arg;
    const struct plan *plan = job->plan;
    const struct tn_product *p = &plan->product;
    bool trans_a = job->mm->trans_a;
    for (int64_t index = begin; index < end; index++) {
        const T *a = job->args->inputs[0].as.tensor->data;
        const T *b = job->args->inputs[1].as.tensor->data;
        T *y = (T *)job->args->outputs[0].as.tensor->data + (size_t)index * p->step_c;
        size_t rest = (size_t)index;
        for (uint32_t i = p->rank; i-- > 0;) {
            size_t at = rest % (size_t)p->dims[i];
            rest /= (size_t)p->dims[i];
            a += (int64_t)at * p->step_a[i];
            b += (int64_t)at * p->step_b[i];
        }
        NAME(multiply)
        (y, a, trans_a ? 1 : plan->k, trans_a ? plan->m : 1, b, job->mm->trans_b, plan->m,
            plan->n, plan->k);
        NAME(finish)(job, y);
    }
}

static tn_status NAME(prepare)(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct matmul *mm = kernel;
    const struct tn_tensor *a = args->inputs[0].as.tensor, *b = args->inputs[1].as.tensor;
    struct plan *plan = args->state;
    struct shape s;
    (void)fn;
    TN_TRY(plan_shape(plan, mm, a, b, &s, diag));
    plan->product.kernels = &mm->base.cpu->gemm;
    plan_batch(plan, mm, a, b, &s);
    plan->bias = bias_kind(args, plan->m, plan->n);
    return TN_OK;
}

static tn_status NAME(compute)(void *kernel, const struct tn_run_args *args) {
    const struct matmul *mm = kernel;
    const struct plan *plan = args->state;
    struct NAME(job) job = {mm, plan, args};
    int64_t batch = (int64_t)plan->product.batch;
    if (plan->m == 0 || plan->n == 0 || batch == 0) return TN_OK;
    double each = (double)plan->m * (double)plan->n * (double)(plan->k + 1);
    int64_t grain = each < 1e5 ? (int64_t)(1e5 / each) : 1;
    mm->base.host->parallel_for(mm->base.host->self, batch, grain, NAME(run), &job);
    return TN_OK;
}

#undef T
#undef NAME
