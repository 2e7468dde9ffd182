/* The steps of recurrent.c for one float type T. */

/* One direction of one call. */
struct NAME(walk) {
    const struct recurrent *r;
    const struct sizes *s;
    const struct activation *acts;
    const T *w, *rec, *bias, *peep; /* of this direction; bias and peep may be NULL */
    T *xw;                          /* (steps, batch, gates · hidden) */
    T *gates, *h, *c, *extra;
    const int32_t *lens;
};

static void NAME(clip)(const struct recurrent *r, T *x, size_t n) {
    T c = (T)r->clip;
    if (c <= 0) return;
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] > c ? c : x[i] < -c ? -c : x[i];
}

static void NAME(run)(const struct NAME(walk) * k, const struct activation *act, T *x) {
    NAME(clip)(k->r, x, k->s->hidden);
    NAME(activate)(k->r->base.cpu, act, x, k->s->hidden);
}

/* Gates g of batch item b hold x·W + h·R + biases; h and c step on. */
static void NAME(lstm)(const struct NAME(walk) * k, size_t b) {
    size_t n = k->s->hidden;
    T *i = k->gates + b * 4 * n, *o = i + n, *f = o + n, *g = f + n;
    T *h = k->h + b * n, *c = k->c + b * n, *e = k->extra;
    for (size_t j = 0; k->peep && j < n; j++) {
        i[j] += k->peep[j] * c[j];
        f[j] += k->peep[2 * n + j] * c[j];
    }
    NAME(run)(k, &k->acts[0], i);
    NAME(run)(k, &k->acts[0], f);
    NAME(run)(k, &k->acts[1], g);
    for (size_t j = 0; j < n; j++)
        c[j] = (k->r->coupled ? 1 - i[j] : f[j]) * c[j] + i[j] * g[j];
    for (size_t j = 0; k->peep && j < n; j++)
        o[j] += k->peep[n + j] * c[j];
    NAME(run)(k, &k->acts[0], o);
    memcpy(e, c, n * sizeof(T));
    NAME(activate)(k->r->base.cpu, &k->acts[2], e, n);
    for (size_t j = 0; j < n; j++)
        h[j] = o[j] * e[j];
}

/* z and r hold everything; g holds x·W + its bias, `extra` the part of the state. */
static void NAME(gru)(const struct NAME(walk) * k, size_t b) {
    size_t n = k->s->hidden;
    T *z = k->gates + b * 3 * n, *reset = z + n, *g = reset + n, *h = k->h + b * n;
    const T *rec = k->rec + 2 * n * n, *bias = k->bias ? k->bias + 5 * n : NULL;
    T *e = k->extra, *turned = k->extra + n;
    NAME(run)(k, &k->acts[0], z);
    NAME(run)(k, &k->acts[0], reset);
    for (size_t j = 0; j < n; j++) {
        turned[j] = k->r->linear_first ? h[j] : reset[j] * h[j];
        e[j] = bias ? bias[j] : 0;
    }
    NAME(multiply)(k->r->base.cpu, e, turned, rec, 1, n, n);
    for (size_t j = 0; j < n; j++)
        g[j] += k->r->linear_first ? reset[j] * e[j] : e[j];
    NAME(run)(k, &k->acts[1], g);
    for (size_t j = 0; j < n; j++)
        h[j] = (1 - z[j]) * g[j] + z[j] * h[j];
}

static void NAME(rnn)(const struct NAME(walk) * k, size_t b) {
    size_t n = k->s->hidden;
    T *g = k->gates + b * n;
    NAME(run)(k, &k->acts[0], g);
    memcpy(k->h + b * n, g, n * sizeof(T));
}

/* x·W of all steps with the biases that may be added at once. */
static void NAME(inputs)(const struct NAME(walk) * k, const T *x) {
    size_t rows = k->s->steps * k->s->batch, width = k->s->gates * k->s->hidden;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < width; j++) {
            bool late = k->r->cell == CELL_GRU && j >= 2 * k->s->hidden;
            T bias = k->bias ? k->bias[j] + (late ? 0 : k->bias[width + j]) : 0;
            k->xw[i * width + j] = bias;
        }
    }
    NAME(multiply)(k->r->base.cpu, k->xw, x, k->w, rows, width, k->s->input);
}

/* Step t of the direction: batch items whose sequence has ended keep their state. */
static void NAME(step)(const struct NAME(walk) * k, size_t t, bool backward, T *y,
    size_t y_step, size_t y_batch) {
    const struct sizes *s = k->s;
    size_t width = s->gates * s->hidden, n = s->hidden;
    /* GRU's last gate takes the state through its reset. */
    size_t direct = k->r->cell == CELL_GRU ? 2 * n : width;
    for (size_t b = 0; b < s->batch; b++) {
        size_t length = k->lens ? (size_t)(k->lens[b] < 0 ? 0 : k->lens[b]) : s->steps;
        if (length > s->steps) length = s->steps;
        if (t >= length) continue;
        size_t at = backward ? length - 1 - t : t;
        T *gates = k->gates + b * width;
        memcpy(gates, k->xw + (at * s->batch + b) * width, width * sizeof(T));
        NAME(multiply)(k->r->base.cpu, gates, k->h + b * n, k->rec, 1, direct, n);
        if (k->r->cell == CELL_LSTM)
            NAME(lstm)(k, b);
        else if (k->r->cell == CELL_GRU)
            NAME(gru)(k, b);
        else
            NAME(rnn)(k, b);
        if (y) memcpy(y + at * y_step + b * y_batch, k->h + b * n, n * sizeof(T));
    }
}

/* Copies a state (direction, batch, hidden) or (batch, direction, hidden) to or from rows. */
static void NAME(state)(T *tensor, T *rows, const struct recurrent *r,
    const struct sizes *s, size_t direction, bool load) {
    for (size_t b = 0; b < s->batch; b++) {
        size_t at =
            r->batch_first ? b * s->directions + direction : direction * s->batch + b;
        T *outer = tensor ? tensor + at * s->hidden : NULL, *row = rows + b * s->hidden;
        if (load && outer)
            memcpy(row, outer, s->hidden * sizeof(T));
        else if (load)
            memset(row, 0, s->hidden * sizeof(T));
        else
            memcpy(outer, row, s->hidden * sizeof(T));
    }
}

static const T *NAME(part)(
    const struct tn_run_args *args, uint32_t input, size_t direction, size_t n) {
    const struct tn_tensor *t = tn_in(args, input);
    return t ? (const T *)t->data + direction * n : NULL;
}

static T *NAME(tensor)(const struct tn_tensor *t) {
    return t ? t->data : NULL;
}

static void NAME(direction)(const struct recurrent *r, const struct sizes *s,
    const struct tn_run_args *args, const T *x, T *scratch, size_t direction) {
    size_t n = s->hidden, width = s->gates * n, row = s->batch * n;
    const struct tn_tensor *lens = tn_in(args, 4);
    struct NAME(walk)
        k = {r, s, r->acts[direction], NAME(part)(args, 1, direction, width * s->input),
            NAME(part)(args, 2, direction, width * n),
            NAME(part)(args, 3, direction, 2 * width),
            r->cell == CELL_LSTM ? NAME(part)(args, 7, direction, 3 * n) : NULL, scratch,
            NULL, NULL, NULL, NULL, lens ? lens->data : NULL};
    k.gates = k.xw + s->steps * s->batch * width;
    k.h = k.gates + s->batch * width;
    k.c = k.h + row;
    k.extra = k.c + row;
    bool backward = direction == 1 || !r->forward;
    T *y = NAME(tensor)(tn_out(args, 0));
    size_t y_step = s->directions * row, y_batch = n;
    if (y) y += direction * row;
    if (r->batch_first) {
        y = NAME(tensor)(tn_out(args, 0));
        if (y) y += direction * n;
        y_step = s->directions * n;
        y_batch = s->steps * y_step;
    }
    NAME(state)(NAME(tensor)(tn_in(args, 5)), k.h, r, s, direction, true);
    NAME(state)
    (r->cell == CELL_LSTM ? NAME(tensor)(tn_in(args, 6)) : NULL, k.c, r, s, direction,
        true);
    NAME(inputs)(&k, x);
    for (size_t t = 0; t < s->steps; t++)
        NAME(step)(&k, t, backward, y, y_step, y_batch);
    T *last_h = NAME(tensor)(tn_out(args, 1)), *last_c = NAME(tensor)(tn_out(args, 2));
    if (last_h) NAME(state)(last_h, k.h, r, s, direction, false);
    if (last_c) NAME(state)(last_c, k.c, r, s, direction, false);
}

static tn_status NAME(recurrent)(void *kernel, const struct tn_run_args *args) {
    const struct recurrent *r = kernel;
    struct sizes s = {0};
    TN_TRY(read_sizes(&s, r, args, args->run->diag));
    const T *x = args->inputs[0].as.tensor->data;
    T *scratch = args->workspace;
    struct tn_tensor *y = tn_out(args, 0);
    if (y && y->data) memset(y->data, 0, (size_t)tn_tensor_count(y) * sizeof(T));
    if (r->batch_first) { /* steps first, as the loops want them */
        T *turned = scratch;
        for (size_t b = 0; b < s.batch; b++)
            for (size_t t = 0; t < s.steps; t++)
                memcpy(turned + (t * s.batch + b) * s.input,
                    x + (b * s.steps + t) * s.input, s.input * sizeof(T));
        x = turned;
        scratch += s.steps * s.batch * s.input;
    }
    for (size_t d = 0; d < s.directions; d++)
        NAME(direction)(r, &s, args, x, scratch, d);
    return TN_OK;
}

#undef T
#undef NAME
