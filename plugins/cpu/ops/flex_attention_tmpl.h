/* FlexAttention computed in one float type: T, ELEMENT, NAME(x) and PRODUCT are defined by
 * flex_attention.c. */

/* Block i: up to BLOCK_ROWS queries of one head; begin of its rows and their number. */
static void NAME(multiply)(const struct job *job, int64_t i, bool values) {
    const struct tn__attention_size *s = &job->size;
    int64_t head = i / job->blocks, first = i % job->blocks * BLOCK_ROWS;
    int64_t rows = s->q_len - first < BLOCK_ROWS ? s->q_len - first : BLOCK_ROWS;
    int64_t batch = head / s->q_heads, shared = head % s->q_heads;
    int64_t kv = batch * s->kv_heads + shared / (s->q_heads / s->kv_heads);
    int64_t at = head * s->q_len + first;
    T *scores = (T *)job->scores + at * s->kv_len;
    if (values) {
        const T *from = job->softmax_from;
        PRODUCT pv = {.m = (size_t)rows,
            .n = (size_t)s->v_head,
            .k = (size_t)s->kv_len,
            .a = from + at * s->kv_len,
            .lda = (size_t)s->kv_len,
            .b = (const T *)job->v + kv * s->kv_len * s->v_head,
            .ldb = (size_t)s->v_head,
            .c = (T *)job->y + at * s->v_head,
            .ldc = (size_t)s->v_head};
        NAME(product)(job->cpu, &pv, 1, false);
        return;
    }
    PRODUCT qk = {.m = (size_t)rows,
        .n = (size_t)s->kv_len,
        .k = (size_t)s->head,
        .a = (const T *)job->q + at * s->head,
        .lda = (size_t)s->head,
        .b = (const T *)job->k + kv * s->kv_len * s->head,
        .ldb = (size_t)s->head,
        .c = scores,
        .ldc = (size_t)s->kv_len};
    NAME(product)(job->cpu, &qk, job->scale, true);
}

static void NAME(score_blocks)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        NAME(multiply)(arg, i, false);
}

static void NAME(value_blocks)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        NAME(multiply)(arg, i, true);
}

static void NAME(soften_rows)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    int64_t n = job->size.kv_len;
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const T *from = (const T *)job->softmax_from + row * n;
        T *to = (T *)job->scores + row * n;
        T top = -(T)INFINITY, sum = 0;
        if (ELEMENT == TN_FLOAT) {
            job->cpu->softmax.softmax(
                (float *)(void *)to, (const float *)(const void *)from, (size_t)n);
            continue;
        }
        for (int64_t j = 0; j < n; j++)
            top = from[j] > top || isnan(from[j]) ? from[j] : top;
        for (int64_t j = 0; j < n; j++) {
            to[j] = (T)exp((double)(from[j] - top));
            sum += to[j];
        }
        for (int64_t j = 0; j < n; j++)
            to[j] /= sum;
    }
}

static tn_status NAME(flex)(struct job *job) {
    const struct tn_host *host = job->flex->base.host;
    const struct tn__attention_size *s = &job->size;
    const struct tn_run_args *args = job->args;
    const struct tn_tensor *in[3] = {tn_in(args, 0), tn_in(args, 1), tn_in(args, 2)};
    const void **wide[3] = {&job->q, &job->k, &job->v};
    struct tn_tensor *out = tn_out(args, 0);
    int64_t lines = s->batch * s->q_heads, count = tn_tensor_count(out);
    const int64_t dims[3] = {lines, s->q_len, s->kv_len};
    int64_t n;
    double each = BLOCK_ROWS * (double)s->kv_len * (double)(s->head + s->v_head) / 32;
    if (!tn_shape_count(dims, 3, &n)) n = INT64_MAX;
    for (uint32_t i = 0; i < 3; i++)
        TN_TRY(converted(
            job, in[i]->data, in[i]->dtype, ELEMENT, tn_tensor_count(in[i]), wide[i]));
    TN_TRY(memory(args->run, n, sizeof(T), &job->scores));
    job->y = out->data;
    if (out->dtype != ELEMENT) TN_TRY(memory(args->run, count, sizeof(T), &job->y));
    if (n > 0) tn_parallel(host, lines * job->blocks, each, NAME(score_blocks), job);
    job->softmax_from = job->scores;
    if (job->flex->attrs.score_mod.present)
        TN_TRY(
            run_mod(job, job->flex->attrs.score_mod.v[0], ELEMENT, &job->softmax_from));
    tn_parallel(host, lines * s->q_len, (double)s->kv_len * 2, NAME(soften_rows), job);
    job->softmax_from = job->scores;
    if (job->flex->attrs.prob_mod.present)
        TN_TRY(run_mod(job, job->flex->attrs.prob_mod.v[0], ELEMENT, &job->softmax_from));
    if (count > 0 && s->kv_len > 0)
        tn_parallel(host, lines * job->blocks, each, NAME(value_blocks), job);
    else if (count > 0)
        memset(job->y, 0, (size_t)count * sizeof(T));
    if (out->dtype != ELEMENT)
        tn_convert_run(&job->cpu->convert, out->dtype, out->data, ELEMENT, job->y,
            (size_t)count, NULL);
    return TN_OK;
}

#undef T
#undef ELEMENT
#undef NAME
#undef PRODUCT
