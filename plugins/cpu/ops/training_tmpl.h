/* Updates of one tensor for one float type: T, NAME(x) and SQRT(x) are defined by training.c.
 */

static void NAME(adagrad)(const struct job *job, int64_t begin, int64_t end) {
    const struct step *s = &job->step;
    const T *x = job->x, *g = job->g, *h = job->v;
    T *x_new = job->x_new, *h_new = job->v_new;
    for (int64_t i = begin; i < end; i++) {
        T slope = (T)s->norm * x[i] + g[i], sum = h[i] + slope * slope;
        if (h_new) h_new[i] = sum;
        if (x_new) x_new[i] = x[i] - (T)s->rate * slope / (SQRT(sum) + (T)s->epsilon);
    }
}

static void NAME(adam)(const struct job *job, int64_t begin, int64_t end) {
    const struct step *s = &job->step;
    const T *x = job->x, *g = job->g, *v = job->v, *h = job->h;
    T *x_new = job->x_new, *v_new = job->v_new, *h_new = job->h_new;
    for (int64_t i = begin; i < end; i++) {
        T slope = (T)s->norm * x[i] + g[i];
        T mean = (T)s->alpha * v[i] + (T)(1 - s->alpha) * slope;
        T square = (T)s->beta * h[i] + (T)(1 - s->beta) * (slope * slope);
        T next = x[i] - (T)s->rate * (mean / (SQRT(square) + (T)s->epsilon));
        if (v_new) v_new[i] = mean;
        if (h_new) h_new[i] = square;
        if (x_new) x_new[i] = (T)(1 - s->norm_post) * next;
    }
}

static void NAME(momentum)(const struct job *job, int64_t begin, int64_t end) {
    const struct step *s = &job->step;
    const T *x = job->x, *g = job->g, *v = job->v;
    T *x_new = job->x_new, *v_new = job->v_new;
    for (int64_t i = begin; i < end; i++) {
        T slope = (T)s->norm * x[i] + g[i];
        T moved = (T)s->alpha * v[i] + (T)s->beta * slope;
        if (v_new) v_new[i] = moved;
        if (job->kind == NESTEROV) moved = slope + (T)s->alpha * moved;
        if (x_new) x_new[i] = x[i] - (T)s->rate * moved;
    }
}

static void NAME(update)(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    (void)worker;
    if (job->kind == ADAGRAD)
        NAME(adagrad)(job, begin, end);
    else if (job->kind == ADAM)
        NAME(adam)(job, begin, end);
    else
        NAME(momentum)(job, begin, end);
}

#undef T
#undef NAME
#undef SQRT
