/* Random numbers: RandomNormal, RandomUniform and their Like forms, Bernoulli, Multinomial.
 *
 * Number i of a call depends on the seed and on i alone, so any division of the work gives
 * the same numbers. A node with the attribute `seed` gives the same numbers in every run;
 * without it each run has a seed of its own, from the clock and a counter. */
#include "ops/body.h"
#include "tenon/helper/parallel.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>

/* clang-format off */
#define NORMAL_ATTRS(X, S) \
    X(S, INT, dtype, 0) X(S, FLOAT, mean, 0.0f) X(S, FLOAT, scale, 1.0f) \
    X(S, FLOAT, seed, 0.0f) X(S, INTS, shape, )
#define UNIFORM_ATTRS(X, S) \
    X(S, INT, dtype, 0) X(S, FLOAT, high, 1.0f) X(S, FLOAT, low, 0.0f) \
    X(S, FLOAT, seed, 0.0f) X(S, INTS, shape, )
#define BERNOULLI_ATTRS(X, S) X(S, INT, dtype, 0) X(S, FLOAT, seed, 0.0f)
#define MULTINOMIAL_ATTRS(X, S) \
    X(S, INT, dtype, TN_INT32) X(S, INT, sample_size, 1) X(S, FLOAT, seed, 0.0f)
TN_ATTR_TABLE(normal, NORMAL_ATTRS)
TN_ATTR_TABLE(uniform, UNIFORM_ATTRS)
TN_ATTR_TABLE(bernoulli, BERNOULLI_ATTRS)
TN_ATTR_TABLE(multinomial, MULTINOMIAL_ATTRS)
/* clang-format on */

enum { RUN = 256 }; /* numbers that are made together */

/* ---- numbers ---------------------------------------------------------------------------- */

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Number i of the stream in [0, 1), in steps of 2^-53. */
static double draw(uint64_t seed, uint64_t i) {
    uint64_t z = mix(seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
    return (double)(mix(z ^ seed) >> 11) * 0x1p-53;
}

/* Number i of a normal distribution (Box and Muller's way). */
static double draw_normal(uint64_t seed, uint64_t i) {
    static const double turn = 6.283185307179586476925;
    double u = 1 - draw(seed, 2 * i); /* never 0 */
    return sqrt(-2 * log(u)) * cos(turn * draw(seed, 2 * i + 1));
}

/* ---- inference -------------------------------------------------------------------------- */

/* The wanted element type: attribute dtype, else the type of input 0, else float. */
static tn_status result_type(const struct tn_node *node, int32_t input, uint64_t allowed,
    int64_t absent, int32_t *out, struct tn_diag *diag) {
    const struct tn_attr *attr = tn_node_attr(node, "dtype");
    int64_t dtype = absent ? absent : input;
    if (attr && attr->type == TN_ATTR_INT && attr->count == 1) dtype = attr->as.ints[0];
    *out = 0;
    if (!attr && dtype == 0) return TN_OK; /* not known yet */
    if (dtype <= 0 || dtype >= TN_DTYPE_COUNT || !(allowed >> dtype & 1))
        return tn_fail(diag, TN_INVALID_MODEL,
            "the output would be of element type %lld (%s), which the operator does not "
            "make: set the attribute 'dtype'",
            (long long)dtype, tn_dtype_name((int32_t)dtype));
    *out = (int32_t)dtype;
    return TN_OK;
}

static tn_status infer_shaped(const struct tn_infer *infer) {
    const struct tn_attr *shape = tn_node_attr(infer->node, "shape");
    int32_t dtype;
    int64_t count;
    TN_TRY(result_type(infer->node, 0, TN_TYPES_FLOATS, TN_FLOAT, &dtype, infer->diag));
    if (!shape || shape->type != TN_ATTR_INTS)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "attribute 'shape', a list of integers, is required");
    TN_TRY(tn_rank_check(shape->count, infer->diag));
    if (!tn_shape_count(shape->as.ints, shape->count, &count))
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "attribute 'shape' has a negative size, or is too large");
    return tn_infer_set(infer, 0, dtype, (int32_t)shape->count, shape->as.ints);
}

static tn_status infer_like(const struct tn_infer *infer, uint64_t allowed) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    int32_t dtype;
    TN_TRY(result_type(infer->node, in ? in->dtype : 0, allowed, 0, &dtype, infer->diag));
    return dtype ? tn_infer_shape_like(infer, 0, 0, dtype) : TN_OK;
}

static tn_status infer_float_like(const struct tn_infer *infer) {
    return infer_like(infer, TN_TYPES_FLOATS);
}

static tn_status infer_bernoulli(const struct tn_infer *infer) {
    return infer_like(infer, TN_TYPES_NUMBERS | TN_BIT(BOOL));
}

static tn_status infer_multinomial(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    struct multinomial_attrs attrs;
    int32_t dtype;
    TN_TRY(TN_ATTRS_READ(multinomial, infer->node, &attrs, infer->diag));
    TN_TRY(result_type(infer->node, 0, TN_TYPES_INDEX, TN_INT32, &dtype, infer->diag));
    if (attrs.sample_size < 0)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "attribute 'sample_size' is %lld, expected 0 or more",
            (long long)attrs.sample_size);
    if (in && in->rank >= 0 && in->rank != 2)
        return tn_fail(infer->diag, TN_INVALID_ARGUMENT,
            "the input has rank %d, expected (batch, classes)", (int)in->rank);
    const int64_t dims[2] = {
        in && in->rank == 2 ? in->dims[0] : TN_DIM_UNKNOWN, attrs.sample_size};
    return tn_infer_set(infer, 0, dtype, 2, dims);
}

/* ---- kernel objects ---------------------------------------------------------------------- */

enum kind { NORMAL, UNIFORM, BERNOULLI };

struct random {
    struct tn__kernel base;
    enum kind kind;
    bool seeded;
    uint64_t seed;
    double offset, scale; /* number · scale + offset */
    int64_t sample_size;
    atomic_uint_fast64_t runs;
};

static tn_status create(
    const struct tn_kernel_ctx *ctx, enum kind kind, float seed, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct random), out));
    struct random *random = *out;
    uint32_t bits;
    memcpy(&bits, &seed, sizeof bits);
    random->kind = kind;
    random->seeded = tn_node_attr(ctx->node, "seed") != NULL;
    random->seed = mix(bits + UINT64_C(0x632be59bd9b4e019));
    if (!random->seeded)
        random->seed = mix(ctx->host->clock_ns(ctx->host->self) ^ (uintptr_t)random);
    atomic_init(&random->runs, 0);
    return TN_OK;
}

static tn_status create_normal(const struct tn_kernel_ctx *ctx, void **out) {
    struct normal_attrs attrs;
    TN_TRY(TN_ATTRS_READ(normal, ctx->node, &attrs, ctx->diag));
    TN_TRY(create(ctx, NORMAL, attrs.seed, out));
    struct random *random = *out;
    random->offset = (double)attrs.mean;
    random->scale = (double)attrs.scale;
    return TN_OK;
}

static tn_status create_uniform(const struct tn_kernel_ctx *ctx, void **out) {
    struct uniform_attrs attrs;
    TN_TRY(TN_ATTRS_READ(uniform, ctx->node, &attrs, ctx->diag));
    TN_TRY(create(ctx, UNIFORM, attrs.seed, out));
    struct random *random = *out;
    random->offset = (double)attrs.low;
    random->scale = (double)attrs.high - (double)attrs.low;
    return TN_OK;
}

static tn_status create_bernoulli(const struct tn_kernel_ctx *ctx, void **out) {
    struct bernoulli_attrs attrs;
    TN_TRY(TN_ATTRS_READ(bernoulli, ctx->node, &attrs, ctx->diag));
    return create(ctx, BERNOULLI, attrs.seed, out);
}

static tn_status create_multinomial(const struct tn_kernel_ctx *ctx, void **out) {
    struct multinomial_attrs attrs;
    TN_TRY(TN_ATTRS_READ(multinomial, ctx->node, &attrs, ctx->diag));
    TN_TRY(create(ctx, UNIFORM, attrs.seed, out));
    ((struct random *)*out)->sample_size = attrs.sample_size;
    return TN_OK;
}

/* The seed of one run. */
static uint64_t run_seed(struct random *random) {
    if (random->seeded) return random->seed;
    uint64_t run = atomic_fetch_add_explicit(&random->runs, 1, memory_order_relaxed);
    return mix(random->seed + run * UINT64_C(0x9e3779b97f4a7c15));
}

/* ---- elements ---------------------------------------------------------------------------- */

struct job {
    const struct random *random;
    const struct tn__cpu *cpu;
    uint64_t seed;
    const struct tn_tensor *in; /* Bernoulli's and Multinomial's */
    struct tn_tensor *out;
    double *totals; /* Multinomial: `classes` for each worker */
    int64_t classes;
};

static const char *element(const struct tn_tensor *tensor, int64_t i) {
    return (const char *)tensor->data + i * (tn_dtype_bits(tensor->dtype) / 8);
}

/* Numbers [begin, end) of the output, rounded once to its type. */
static void fill(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct random *random = job->random;
    const struct tn_convert_kernels *convert = &job->cpu->convert;
    double x[RUN], p[RUN];
    (void)worker;
    for (int64_t at = begin; at < end; at += RUN) {
        int64_t n = end - at < RUN ? end - at : RUN;
        if (random->kind == BERNOULLI)
            tn_convert_run(convert, TN_DOUBLE, p, job->in->dtype, element(job->in, at),
                (size_t)n, NULL);
        for (int64_t i = 0; i < n; i++) {
            uint64_t index = (uint64_t)(at + i);
            if (random->kind == BERNOULLI)
                x[i] = draw(job->seed, index) < p[i];
            else if (random->kind == NORMAL)
                x[i] = draw_normal(job->seed, index) * random->scale + random->offset;
            else
                x[i] = draw(job->seed, index) * random->scale + random->offset;
        }
        tn_convert_run(convert, job->out->dtype, (char *)(uintptr_t)element(job->out, at),
            TN_DOUBLE, x, (size_t)n, NULL);
    }
}

static tn_status compute_elements(void *kernel, const struct tn_run_args *args) {
    struct random *random = kernel;
    struct job job = {.random = random,
        .cpu = random->base.cpu,
        .seed = run_seed(random),
        .in = tn_in(args, 0),
        .out = tn_out(args, 0)};
    tn_parallel(random->base.host, tn_tensor_count(job.out), 40.0, fill, &job);
    return TN_OK;
}

/* ---- Multinomial ------------------------------------------------------------------------- */

static tn_status workspace_multinomial(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct random *random = kernel;
    const struct tn_tensor *in = tn_in(args, 0);
    uint64_t classes = in->rank == 2 ? (uint64_t)in->dims[1] : 0;
    out->scratch = classes * sizeof(double) *
                   random->base.host->worker_count(random->base.host->self);
    return TN_OK;
}

/* Running sums of the classes' weights. */
static double accumulate(const struct job *job, int64_t row, double *totals) {
    double top = -INFINITY, sum = 0;
    tn_convert_run(&job->cpu->convert, TN_DOUBLE, totals, job->in->dtype,
        element(job->in, row * job->classes), (size_t)job->classes, NULL);
    for (int64_t c = 0; c < job->classes; c++)
        top = totals[c] > top ? totals[c] : top;
    for (int64_t c = 0; c < job->classes; c++) {
        double weight = totals[c] == top ? 1 : exp(totals[c] - top); /* inf - inf */
        sum += weight > 0 ? weight : 0;                              /* NaN: never */
        totals[c] = sum;
    }
    return sum;
}

/* The first class whose running sum is above x. */
static int64_t find(const double *totals, int64_t n, double x) {
    int64_t low = 0, high = n - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (totals[middle] > x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void sample_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    double *totals = job->totals + worker * job->classes;
    int64_t size = job->random->sample_size;
    for (int64_t row = begin; row < end; row++) {
        double sum = accumulate(job, row, totals);
        for (int64_t i = row * size; i < (row + 1) * size; i++) {
            int64_t class =
                find(totals, job->classes, draw(job->seed, (uint64_t)i) * sum);
            if (job->out->dtype == TN_INT64)
                ((int64_t *)job->out->data)[i] = class;
            else
                ((int32_t *)job->out->data)[i] = (int32_t) class;
        }
    }
}

static tn_status compute_multinomial(void *kernel, const struct tn_run_args *args) {
    struct random *random = kernel;
    const struct tn_tensor *in = tn_in(args, 0);
    if (in->rank != 2)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "the input has rank %u, expected (batch, classes)", in->rank);
    struct job job = {.random = random,
        .cpu = random->base.cpu,
        .seed = run_seed(random),
        .in = in,
        .out = tn_out(args, 0),
        .totals = args->workspace,
        .classes = in->dims[1]};
    if (job.classes == 0 && tn_tensor_count(job.out) > 0)
        return tn_fail(
            args->run->diag, TN_INVALID_ARGUMENT, "there is no class to draw from");
    if (tn_tensor_count(job.out) == 0) return TN_OK;
    double each = (double)job.classes * 10 + (double)random->sample_size * 50;
    tn_parallel(random->base.host, in->dims[0], each, sample_rows, &job);
    return TN_OK;
}

/* ---- body ------------------------------------------------------------------------------- */

static tn_status expand_bernoulli(const struct tn_rewrite *rw) {
    struct tn__body b;
    struct tn_attr attrs[2];
    int64_t to =
        rw->api->value_type(rw->graph, rw->api->node(rw->graph, rw->node)->outputs[0])
            ->dtype;
    TN_TRY(tn__body_begin(&b, rw));
    int64_t from = tn__body_type(&b, 0)->dtype;
    const struct tn_attr *seed = tn_node_attr(&b.node, "seed");
    if (to <= 0 || from <= 0) return TN_UNSUPPORTED;
    attrs[0] = (struct tn_attr){"dtype", TN_ATTR_INT, 1, {.ints = &from}, NULL};
    if (seed) attrs[1] = *seed;
    tn_value_id x =
        tn__body_add(&b, "RandomUniformLike", b.inputs, 1, attrs, seed ? 2 : 1);
    x = TN_BODY_ADD(&b, "Less", x, b.inputs[0]);
    tn__body_output(&b, 0, TN_BODY_INT(&b, "Cast", "to", to, x));
    return b.status;
}

/* ---- tables ----------------------------------------------------------------------------- */

/* clang-format off */
#define RANDOM(name) TN_DEF("", name), .flags = TN_OP_NONDETERMINISTIC
#define LIKE_TYPES TN_TYPE_VARS({"T1", TN_TYPES_CLASSIC}, {"T2", TN_TYPES_FLOATS})
static const struct tn_op_def defs[] = {
    {RANDOM("RandomNormal"), TN_VERSIONS({1}, {22}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}), TN_ATTRS(normal), .infer = infer_shaped},
    {RANDOM("RandomUniform"), TN_VERSIONS({1}, {22}), TN_OUTPUTS({"output", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS}), TN_ATTRS(uniform), .infer = infer_shaped},
    {RANDOM("RandomNormalLike"), TN_VERSIONS({1}, {22}), TN_INPUTS({"input", "T1"}),
        TN_OUTPUTS({"output", "T2"}), LIKE_TYPES, TN_ATTRS(normal), .infer = infer_float_like},
    {RANDOM("RandomUniformLike"), TN_VERSIONS({1}, {22}), TN_INPUTS({"input", "T1"}),
        TN_OUTPUTS({"output", "T2"}), LIKE_TYPES, TN_ATTRS(uniform), .infer = infer_float_like},
    {RANDOM("Bernoulli"), TN_VERSIONS({15}, {22}), TN_INPUTS({"input", "T1"}),
        TN_OUTPUTS({"output", "T2"}),
        TN_TYPE_VARS({"T1", TN_TYPES_FLOATS}, {"T2", TN_TYPES_NUMBERS | TN_BIT(BOOL)}),
        TN_ATTRS(bernoulli), .infer = infer_bernoulli, .expand = expand_bernoulli},
    {RANDOM("Multinomial"), TN_VERSIONS({7}, {22}), TN_INPUTS({"input", "T1"}),
        TN_OUTPUTS({"output", "T2"}),
        TN_TYPE_VARS({"T1", TN_TYPES_FLOATS}, {"T2", TN_TYPES_INDEX}),
        TN_ATTRS(multinomial), .infer = infer_multinomial},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "RandomNormal", 22), .create = create_normal, .compute = compute_elements},
    {TN_KERNEL("", "RandomUniform", 22), .create = create_uniform, .compute = compute_elements},
    {TN_KERNEL("", "RandomNormalLike", 22), .create = create_normal, .compute = compute_elements},
    {TN_KERNEL("", "RandomUniformLike", 22), .create = create_uniform,
        .compute = compute_elements},
    {TN_KERNEL("", "Bernoulli", 22), .create = create_bernoulli, .compute = compute_elements},
    {TN_KERNEL("", "Multinomial", 22), .create = create_multinomial,
        .workspace = workspace_multinomial, .compute = compute_multinomial},
};
/* clang-format on */

TN_FAMILY(random);
