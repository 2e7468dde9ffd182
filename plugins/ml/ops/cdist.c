/* CDist of com.microsoft: distances of each row of A from each row of B, as sums of powers of
 * differences, which do not cancel. B is turned once, so that the inner loop runs over its
 * rows. ONNX Runtime knows euclidean and sqeuclidean only; skl2onnx writes the others of the
 * table too, and Minkowski's with the attribute p. */
#include "ml.h"

#include "tenon/helper/parallel.h"

#include <math.h>

/* clang-format off */
#define CDIST_ATTRS(X, S)                                                                \
    X(S, STRING, metric, "sqeuclidean")                                                  \
    X(S, INT, p, 2)
/* clang-format on */
TN_ATTR_TABLE(cdist, CDIST_ATTRS)

enum { TILE = 128 };

/* (sum |a - b|^power)^(1/power), without the root where it is not wanted. */
struct metric {
    double power; /* 0 in the table: the attribute p */
    bool root;
};

struct cdist {
    struct tn_kernel_head head;
    struct metric metric;
};

static tn_status read_metric(
    const struct tn_node *node, struct metric *out, struct tn_diag *diag) {
    static const struct {
        const char *name;
        struct metric metric;
    } rows[] = {{"sqeuclidean", {2, false}}, {"euclidean", {2, true}},
        {"manhattan", {1, false}}, {"cityblock", {1, false}}, {"minkowski", {0, true}}};
    struct cdist_attrs attrs;
    TN_TRY(TN_ATTRS_READ(cdist, node, &attrs, diag));
    if (attrs.p < 1)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute 'p' is %lld, expected 1 or more", (long long)attrs.p);
    for (uint32_t i = 0; i < TN_COUNT(rows); i++) {
        if (!tn_string_is(attrs.metric, rows[i].name)) continue;
        *out = rows[i].metric;
        if (out->power == 0) out->power = (double)attrs.p;
        return TN_OK;
    }
    return tn_fail(diag, TN_UNSUPPORTED,
        "attribute 'metric' is '%.*s'; supported: euclidean, sqeuclidean, manhattan, "
        "cityblock, minkowski",
        (int)(attrs.metric.size < 60 ? attrs.metric.size : 60), attrs.metric.data);
}

static tn_status check_shapes(int64_t rank_a, const int64_t *a, int64_t rank_b,
    const int64_t *b, struct tn_diag *diag) {
    if (rank_a != 2 || rank_b != 2)
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "inputs have ranks %lld and %lld, expected two matrices", (long long)rank_a,
            (long long)rank_b);
    if (a[1] >= 0 && b[1] >= 0 && a[1] != b[1])
        return tn_fail(diag, TN_INVALID_ARGUMENT,
            "A has %lld columns, B has %lld; expected as many", (long long)a[1],
            (long long)b[1]);
    return TN_OK;
}

static tn_status infer(const struct tn_infer *in) {
    const struct tn_type *a = tn_infer_input(in, 0), *b = tn_infer_input(in, 1);
    struct metric metric;
    TN_TRY(read_metric(in->node, &metric, in->diag));
    if (!a || a->dtype == TN_UNDEFINED) return TN_OK;
    int64_t dims[] = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN};
    if (b && a->rank >= 0 && b->rank >= 0) {
        TN_TRY(check_shapes(a->rank, a->dims, b->rank, b->dims, in->diag));
        dims[0] = a->dims[0];
        dims[1] = b->dims[0];
    }
    return tn_infer_set(in, 0, a->dtype, 2, dims);
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn_kernel_create(ctx, sizeof(struct cdist), out));
    struct cdist *self = *out;
    return tn_kernel_ready(read_metric(ctx->node, &self->metric, ctx->diag), out);
}

/* The turned B. */
static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    const struct tn_tensor *b = tn_in(args, 1);
    out->scratch = (uint64_t)tn_tensor_count(b) * (uint64_t)(tn_dtype_bits(b->dtype) / 8);
    return TN_OK;
}

struct work {
    const void *a, *columns;
    void *y;
    int64_t n, k; /* rows of B, columns of both */
    struct metric metric;
};

#define DISTANCES(type, root_of)                                                         \
    static void turn_##type(const type *b, int64_t n, int64_t k, type *out) {            \
        for (int64_t i = 0; i < n; i++) {                                                \
            for (int64_t j = 0; j < k; j++)                                              \
                out[j * n + i] = b[i * k + j];                                           \
        }                                                                                \
    }                                                                                    \
    static void tile_##type(                                                             \
        const struct work *w, const type *a, type *y, int64_t at, int64_t n) {           \
        type sums[TILE] = {0};                                                           \
        for (int64_t j = 0; j < w->k; j++) {                                             \
            const type *b = (const type *)w->columns + j * w->n + at, x = a[j];          \
            for (int64_t i = 0; i < n; i++) {                                            \
                type difference = x - b[i];                                              \
                sums[i] += difference * difference;                                      \
            }                                                                            \
        }                                                                                \
        for (int64_t i = 0; i < n; i++)                                                  \
            y[at + i] = w->metric.root ? root_of(sums[i]) : sums[i];                     \
    }                                                                                    \
    static void power_tile_##type(                                                       \
        const struct work *w, const type *a, type *y, int64_t at, int64_t n) {           \
        for (int64_t i = 0; i < n; i++) {                                                \
            const type *b = (const type *)w->columns + at + i;                           \
            double sum = 0, power = w->metric.power;                                     \
            for (int64_t j = 0; j < w->k; j++)                                           \
                sum += pow(fabs((double)a[j] - (double)b[j * w->n]), power);             \
            y[at + i] = (type)(w->metric.root ? pow(sum, 1 / power) : sum);              \
        }                                                                                \
    }                                                                                    \
    static void rows_##type(void *arg, int64_t begin, int64_t end, uint32_t worker) {    \
        const struct work *w = arg;                                                      \
        void (*tile)(const struct work *, const type *, type *, int64_t, int64_t) =      \
            w->metric.power == 2 ? tile_##type : power_tile_##type;                      \
        (void)worker;                                                                    \
        for (int64_t r = begin; r < end; r++) {                                          \
            for (int64_t at = 0; at < w->n; at += TILE)                                  \
                tile(w, (const type *)w->a + r * w->k, (type *)w->y + r * w->n, at,      \
                    w->n - at < TILE ? w->n - at : TILE);                                \
        }                                                                                \
    }
DISTANCES(float, sqrtf)
DISTANCES(double, sqrt)
#undef DISTANCES

static tn_status compute(void *kernel, const struct tn_run_args *args) {
    const struct cdist *self = kernel;
    const struct tn_tensor *a = tn_in(args, 0), *b = tn_in(args, 1);
    TN_TRY(check_shapes(a->rank, a->dims, b->rank, b->dims, args->run->diag));
    struct work work = {a->data, args->workspace, tn_out(args, 0)->data, b->dims[0],
        b->dims[1], self->metric};
    double cost = (double)work.n * (0.5 * (double)work.k + 1);
    if (a->dtype == TN_FLOAT) {
        turn_float(b->data, work.n, work.k, args->workspace);
        tn_parallel(self->head.host, a->dims[0], cost, rows_float, &work);
    } else {
        turn_double(b->data, work.n, work.k, args->workspace);
        tn_parallel(self->head.host, a->dims[0], cost, rows_double, &work);
    }
    return TN_OK;
}

#define TYPES_REAL (TN_BIT(FLOAT) | TN_BIT(DOUBLE))

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("com.microsoft", "CDist"), TN_VERSIONS({1}),
        TN_INPUTS({"A", "T"}, {"B", "T"}), TN_OUTPUTS({"C", "T"}),
        TN_TYPE_VARS({"T", TYPES_REAL}), TN_ATTRS(cdist), .infer = infer},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL_OF("com.microsoft", "CDist", 1), .create = create, .workspace = workspace,
        .compute = compute},
};
/* clang-format on */

TN_FAMILY(cdist);
