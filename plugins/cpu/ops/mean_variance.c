/* MeanVarianceNormalization: (X - mean) / (standard deviation + 1e-9) over a set of axes. The
 * variance is that of the centred values, in f64. */
#include "ops/doubles.h"
#include "tenon/helper/parallel.h"

#include <math.h>

/* clang-format off */
#define MVN_ATTRS(X, S) X(S, INTS, axes, )
/* clang-format on */
TN_ATTR_TABLE(mvn, MVN_ATTRS)

static const double epsilon = 1e-9;

struct mvn {
    struct tn__kernel base;
    struct tn_attr_ints axes;
};

static const int64_t default_axes[] = {0, 2, 3};

static tn_status read_axes(
    const struct tn_node *node, struct tn_attr_ints *axes, struct tn_diag *diag) {
    struct mvn_attrs attrs;
    TN_TRY(TN_ATTRS_READ(mvn, node, &attrs, diag));
    *axes = attrs.axes;
    if (!axes->present) *axes = (struct tn_attr_ints){default_axes, 3, 1};
    return TN_OK;
}

static tn_status axes_mask(const struct tn_attr_ints *axes, uint32_t rank, uint64_t *mask,
    struct tn_diag *diag) {
    TN_TRY(tn_rank_check(rank, diag));
    *mask = 0;
    for (uint32_t i = 0; i < axes->n; i++) {
        uint32_t axis = 0;
        TN_TRY(tn_axis_fix(axes->v[i], rank, &axis, diag));
        *mask |= UINT64_C(1) << axis;
    }
    if (axes->n == 0 && rank > 0)
        *mask = rank == 64 ? UINT64_MAX : (UINT64_C(1) << rank) - 1;
    return TN_OK;
}

static tn_status infer_mvn(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct tn_attr_ints axes;
    uint64_t mask;
    TN_TRY(read_axes(infer->node, &axes, infer->diag));
    if (x && x->rank >= 0)
        TN_TRY(axes_mask(&axes, (uint32_t)x->rank, &mask, infer->diag));
    return tn_infer_like(infer, 0, 0);
}

static tn_status create_mvn(const struct tn_kernel_ctx *ctx, void **out) {
    struct tn_attr_ints axes;
    TN_TRY(read_axes(ctx->node, &axes, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct mvn), out));
    ((struct mvn *)*out)->axes = axes;
    return TN_OK;
}

/* One set of axes to walk, the last one inside. */
struct walk {
    uint32_t rank;
    int64_t dims[TN_RANK_MAX], steps[TN_RANK_MAX];
};

struct job {
    const double *x;
    double *y;
    struct walk kept, reduced;
    int64_t count; /* of a group */
};

static int64_t offset_of(const struct walk *walk, int64_t i) {
    int64_t at = 0;
    for (uint32_t axis = walk->rank; axis-- > 0;) {
        at += i % walk->dims[axis] * walk->steps[axis];
        i /= walk->dims[axis];
    }
    return at;
}

/* The sums of the elements of a group less `centre`, and of their squares. */
static void sum_group(
    const struct job *job, int64_t base, double centre, double *sum, double *square) {
    const struct walk *walk = &job->reduced;
    int64_t run = walk->dims[walk->rank - 1], step = walk->steps[walk->rank - 1];
    *sum = *square = 0;
    for (int64_t i = 0; i < job->count; i += run) {
        const double *x = job->x + base + offset_of(walk, i);
        for (int64_t k = 0; k < run; k++) {
            double d = x[k * step] - centre;
            *sum += d;
            *square += d * d;
        }
    }
}

static void run_groups(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    const struct walk *walk = &job->reduced;
    int64_t run = walk->dims[walk->rank - 1], step = walk->steps[walk->rank - 1];
    (void)worker;
    for (int64_t group = begin; group < end; group++) {
        int64_t base = offset_of(&job->kept, group);
        double sum, square;
        sum_group(job, base, 0, &sum, &square);
        double mean = sum / (double)job->count;
        sum_group(job, base, mean, &sum, &square);
        double deviation = sqrt(square / (double)job->count) + epsilon;
        for (int64_t i = 0; i < job->count; i += run) {
            int64_t at = base + offset_of(walk, i);
            for (int64_t k = 0; k < run; k++)
                job->y[at + k * step] = (job->x[at + k * step] - mean) / deviation;
        }
    }
}

static tn_status compute_mvn(void *object, const struct tn_run_args *args) {
    const struct mvn *k = object;
    const struct tn_tensor *x = tn_in(args, 0);
    struct tn_tensor *y;
    struct job job = {.count = 1};
    uint64_t mask = 0;
    int64_t groups = 1, step = 1;
    TN_TRY(axes_mask(&k->axes, x->rank, &mask, args->run->diag));
    TN_TRY(tn_out_shaped(args, 0, x->dtype, x->dims, x->rank, &y));
    if (tn_tensor_count(x) == 0) return TN_OK;
    for (uint32_t i = 0; i < x->rank; i++) {
        step = tn_dims_product(x->dims, i + 1, x->rank);
        struct walk *walk = mask >> i & 1 ? &job.reduced : &job.kept;
        *(mask >> i & 1 ? &job.count : &groups) *= x->dims[i];
        walk->dims[walk->rank] = x->dims[i];
        walk->steps[walk->rank++] = step;
    }
    if (job.reduced.rank == 0) { /* of a scalar */
        job.reduced.dims[job.reduced.rank++] = 1;
    }
    TN_TRY(tn__doubles_read(&k->base, args, x, &job.x));
    TN_TRY(tn__doubles_target(args, y, &job.y));
    tn_parallel(k->base.host, groups, 4 * (double)job.count + 20, run_groups, &job);
    tn__doubles_write(&k->base, y, job.y);
    return TN_OK;
}

/* clang-format off */
/* For providers without a kernel of the whole. */
static const char mvn_text[] = TN_BODY
    "f <axes: ints = [0, 2, 3]> (X) => (Y) {\n"
    "    axes = Constant <value_ints: ints = @axes> ()\n"
    "    epsilon_f = Constant <value: tensor = float {1e-9}> ()\n"
    "    epsilon = CastLike (epsilon_f, X)\n"
    "    mean = ReduceMean (X, axes)\n"
    "    centred = Sub (X, mean)\n"
    "    square = Mul (centred, centred)\n"
    "    variance = ReduceMean (square, axes)\n"
    "    deviation = Sqrt (variance)\n"
    "    divisor = Add (deviation, epsilon)\n"
    "    Y = Div (centred, divisor)\n"
    "}";

static const struct tn_op_def defs[] = {
    {TN_DEF("", "MeanVarianceNormalization"), TN_VERSIONS({9}, {13}),
        TN_INPUTS({"X", "T"}), TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_TYPES_FLOATS}),
        TN_ATTRS(mvn), .infer = infer_mvn, .expansion = mvn_text},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "MeanVarianceNormalization", 13), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}),
        .create = create_mvn, .compute = compute_mvn},
};
/* clang-format on */

TN_FAMILY(mean_variance);
