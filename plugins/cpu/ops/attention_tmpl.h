/* A block of Attention for one float type: T, ELEMENT, NAME(x), VMATH(cpu, name) and PRODUCT
 * are defined by attention.c. */

/* Adds n elements of the mask's line to scores. False: they exclude every key. */
static bool NAME(add_mask)(
    const struct job *job, int64_t at, T *restrict line, T *restrict bias, int64_t n) {
    const struct tn_tensor *mask = job->mask;
    int any = 0;
    if (mask->dtype == TN_BOOL) {
        const uint8_t *keep = (const uint8_t *)mask->data + at;
        for (int64_t j = 0; j < n; j++) {
            line[j] = keep[j] ? line[j] : -(T)INFINITY;
            any |= keep[j];
        }
        return any != 0;
    }
    const char *from = (const char *)mask->data + at * (tn_dtype_bits(mask->dtype) / 8);
    tn_convert_run(&job->cpu->convert, ELEMENT, bias, mask->dtype, from, (size_t)n, NULL);
    for (int64_t j = 0; j < n; j++) {
        int out = bias[j] == -(T)INFINITY; /* whatever the score: it may be NaN */
        line[j] = out ? -(T)INFINITY : line[j] + bias[j];
        any |= !out;
    }
    return any != 0;
}

/* Adds the bias to a line of scores of the block's keys. False: no key is left. */
static bool NAME(add_bias)(const struct job *job, const struct block *block, int64_t h,
    int64_t i, T *line, T *bias) {
    int64_t begin, end, n = block->end - block->begin;
    visible(job, block, i, &begin, &end);
    begin = begin > block->begin ? begin - block->begin : 0;
    end = end < block->end ? end - block->begin : n;
    if (begin >= end) begin = end = 0;
    for (int64_t j = 0; j < begin; j++)
        line[j] = -(T)INFINITY;
    for (int64_t j = end; j < n; j++)
        line[j] = -(T)INFINITY;
    if (begin == end || !job->mask) return begin < end;
    int64_t at = mask_at(job, block, h, i) + block->begin + begin;
    return NAME(add_mask)(job, at, line + begin, bias, end - begin);
}

/* Softmax in the precision of the line, or in f64 where that is wider and asked for. */
static void NAME(soften)(const struct job *job, T *line, int64_t n) {
    T top = -(T)INFINITY;
    double sum = 0;
    if (sizeof(T) == sizeof(float) &&
        job->attention->attrs.softmax_precision != TN_DOUBLE) {
        job->cpu->softmax.softmax(
            (float *)(void *)line, (const float *)(void *)line, (size_t)n);
        return;
    }
    for (int64_t j = 0; j < n; j++)
        top = line[j] > top || isnan(line[j]) ? line[j] : top;
    for (int64_t j = 0; j < n; j++) {
        double e = exp((double)line[j] - (double)top);
        sum += e;
        line[j] = (T)e;
    }
    for (int64_t j = 0; j < n; j++)
        line[j] = (T)((double)line[j] / sum);
}

/* From products to probabilities: row r of the block, keys [begin, end). */
static void NAME(finish_row)(
    const struct job *job, const struct block *block, int64_t r, T *line, T *bias) {
    const struct tn__attention_size *s = &job->plan->size;
    const struct attention_attrs *attrs = &job->attention->attrs;
    int64_t row = block->first + r, n = block->end - block->begin;
    int64_t h = block->head * job->plan->group + row / s->q_len, i = row % s->q_len;
    int64_t at = ((block->batch * s->q_heads + h) * s->q_len + i) * s->total_len;
    T *scores = job->scores ? (T *)(void *)job->scores + at : NULL;
    size_t bytes = (size_t)n * sizeof *line;
    int64_t mode = attrs->qk_matmul_output_mode;
    if (scores && mode == SCORES_RAW) memcpy(scores, line, bytes);
    if (attrs->softcap > 0) {
        T cap = (T)attrs->softcap;
        for (int64_t j = 0; j < n; j++)
            line[j] /= cap;
        VMATH(job->cpu, TANH)(line, line, (size_t)n, NULL);
        for (int64_t j = 0; j < n; j++)
            line[j] *= cap;
    }
    if (scores && mode == SCORES_CAPPED) memcpy(scores, line, bytes);
    bool any = NAME(add_bias)(job, block, h, i, line, bias);
    if (scores && mode == SCORES_BIASED) memcpy(scores, line, bytes);
    if (any)
        NAME(soften)(job, line, n);
    else
        memset(line, 0, bytes);
    if (scores && mode == SCORES_SOFTMAX) memcpy(scores, line, bytes);
}

static void NAME(run_block)(const struct job *job, const struct block *block, T *buffer) {
    const struct plan *plan = job->plan;
    const struct tn__attention_size *s = &plan->size;
    int64_t n = block->end - block->begin, kv = block->head;
    int64_t query = block->head * plan->group; /* first head of Q */
    T *bias = buffer, *lines = buffer + (n + 15) / 16 * 16;
    int64_t step_q = job->q.row, step_y = job->y.row;
    if (plan->heads != s->kv_heads) kv = block->head / (s->q_heads / s->kv_heads);
    if (s->packed && s->q_len == 1) { /* heads of Q are rows */
        step_q = s->head;
        step_y = s->v_head;
    }
    const T *q = (const T *)(void *)job->q.data + block->batch * job->q.batch +
                 query * job->q.head + block->first * step_q;
    T *y = (T *)(void *)job->y.data + block->batch * job->y.batch + query * job->y.head +
           block->first * step_y;
    const T *k = (const T *)(void *)job->k.data + block->batch * job->k.batch +
                 kv * job->k.head + block->begin * job->k.row;
    const T *v = (const T *)(void *)job->v.data + block->batch * job->v.batch +
                 kv * job->v.head + block->begin * job->v.row;
    if (n == 0) {
        for (int64_t r = 0; r < block->rows; r++)
            memset(y + r * step_y, 0, (size_t)s->v_head * sizeof *y);
        return;
    }
    PRODUCT qk = {.m = (size_t)block->rows,
        .n = (size_t)n,
        .k = (size_t)s->head,
        .a = q,
        .lda = (size_t)step_q,
        .b = k,
        .ldb = (size_t)job->k.row,
        .c = lines,
        .ldc = (size_t)n};
    NAME(product)(job->cpu, &qk, job->scale, true);
    for (int64_t r = 0; r < block->rows; r++)
        NAME(finish_row)(job, block, r, lines + r * n, bias);
    PRODUCT pv = {.m = (size_t)block->rows,
        .n = (size_t)s->v_head,
        .k = (size_t)n,
        .a = lines,
        .lda = (size_t)n,
        .b = v,
        .ldb = (size_t)job->v.row,
        .c = y,
        .ldc = (size_t)step_y};
    if (s->v_head > 0) NAME(product)(job->cpu, &pv, 1, false);
}

static void NAME(run_blocks)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    T *buffer = (T *)(void *)job->buffers + worker * job->plan->each;
    for (int64_t i = begin; i < end; i++) {
        struct block block = make_block(job, i);
        NAME(run_block)(job, &block, buffer);
    }
}

static tn_status NAME(attention)(void *kernel, const struct tn_run_args *args) {
    const struct attention *attention = kernel;
    const struct plan *plan = args->state;
    const struct tn__attention_size *s = &plan->size;
    struct job job;
    TN_TRY(bind(&job, attention, args, sizeof(T)));
    double work = (double)(plan->rows < BLOCK_ROWS ? plan->rows : BLOCK_ROWS) *
                  (double)s->total_len * (double)(s->head + s->v_head + 8);
    tn_parallel(attention->base.host, s->batch * plan->heads * plan->blocks, work / 16,
        NAME(run_blocks), &job);
    return TN_OK;
}

#undef T
#undef ELEMENT
#undef NAME
#undef VMATH
#undef PRODUCT
