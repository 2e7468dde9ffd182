/* Scaler, Normalizer and Imputer: one pass over the rows of a tensor. */
#include "ops/numbers.h"
#include "tenon/helper/parallel.h"

#include <math.h>

/* clang-format off */
#define SCALER_ATTRS(X, S) X(S, FLOATS, offset, ) X(S, FLOATS, scale, )
#define NORMALIZER_ATTRS(X, S) X(S, STRING, norm, "MAX")
#define IMPUTER_ATTRS(X, S)                                                              \
    X(S, FLOATS, imputed_value_floats, )                                                 \
    X(S, INTS, imputed_value_int64s, )                                                   \
    X(S, FLOAT, replaced_value_float, 0.0f)                                              \
    X(S, INT, replaced_value_int64, 0)
/* clang-format on */
TN_ATTR_TABLE(scaler, SCALER_ATTRS)
TN_ATTR_TABLE(normalizer, NORMALIZER_ATTRS)
TN_ATTR_TABLE(imputer, IMPUTER_ATTRS)

#define NS_AN_ELEMENT 1.0

/* Size of the last axis; a list of the attributes has one value for all or one a column. */
static tn_status check_list(
    const char *name, uint32_t n, int64_t cols, struct tn_diag *diag) {
    if (n <= 1 || n == cols) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT,
        "attribute '%s' has %u values, expected 1 or one for each of the %lld columns",
        name, n, (long long)cols);
}

static tn_status check_columns(
    const struct tn_infer *infer, const char *name, uint32_t n) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    if (!x || x->rank < 0) return TN_OK;
    if (x->rank == 0)
        return tn_fail(infer->diag, TN_INVALID_MODEL,
            "input 'X' is a scalar, expected at least one axis");
    int64_t cols = x->dims[x->rank - 1];
    return cols < 0 ? TN_OK : check_list(name, n, cols, infer->diag);
}

/* What every row loop is given. */
struct rows {
    const void *kernel;
    const struct tn_tensor *x;
    void *y;
    int64_t cols;
};

static int64_t cols_of(const struct tn_tensor *x) {
    return x->rank ? x->dims[x->rank - 1] : 1;
}

/* Calls fn over the rows. */
static void run_rows(const struct tn_host *host, struct rows *rows, tn_parallel_fn fn) {
    int64_t n = tn_tensor_count(rows->x);
    rows->cols = cols_of(rows->x);
    if (n == 0) return;
    tn_parallel(host, n / rows->cols, NS_AN_ELEMENT * (double)rows->cols, fn, rows);
}

/* ---- Scaler: (x - offset) * scale --------------------------------------------------------- */

struct scaler {
    struct tn_kernel_head head;
    struct tn_attr_floats offset,
        scale; /* n is 0: none, 1: for all, else a column each */
};

static tn_status infer_scaler(const struct tn_infer *infer) {
    struct scaler_attrs attrs;
    TN_TRY(TN_ATTRS_READ(scaler, infer->node, &attrs, infer->diag));
    TN_TRY(check_columns(infer, "offset", attrs.offset.n));
    TN_TRY(check_columns(infer, "scale", attrs.scale.n));
    return tn_infer_shape_like(infer, 0, 0, TN_FLOAT);
}

static tn_status create_scaler(const struct tn_kernel_ctx *ctx, void **out) {
    struct scaler_attrs attrs;
    TN_TRY(TN_ATTRS_READ(scaler, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn_kernel_create(ctx, sizeof(struct scaler), out));
    struct scaler *self = *out;
    self->offset = attrs.offset;
    self->scale = attrs.scale;
    return TN_OK;
}

/* Floats in float, as the model was trained; the others in double, rounded once. */
#define SCALE(type, wide)                                                                \
    static void scale_##type(                                                            \
        const struct scaler *self, const type *x, int64_t cols, float *y) {              \
        uint32_t step_o = self->offset.n > 1, step_s = self->scale.n > 1;                \
        const float zero = 0, one = 1;                                                   \
        const float *offset = self->offset.n ? self->offset.v : &zero;                   \
        const float *scale = self->scale.n ? self->scale.v : &one;                       \
        for (int64_t j = 0; j < cols; j++)                                               \
            y[j] = (float)(((wide)x[j] - (wide)offset[j * step_o]) *                     \
                           (wide)scale[j * step_s]);                                     \
    }
SCALE(float, float)
SCALE(double, double)
SCALE(int32_t, double)
SCALE(int64_t, double)
#undef SCALE

static void scale_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct rows *rows = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i * rows->cols, cols = rows->cols;
        float *y = (float *)rows->y + at;
        switch (rows->x->dtype) {
        case TN_FLOAT:
            scale_float(rows->kernel, (const float *)rows->x->data + at, cols, y);
            break;
        case TN_DOUBLE:
            scale_double(rows->kernel, (const double *)rows->x->data + at, cols, y);
            break;
        case TN_INT32:
            scale_int32_t(rows->kernel, (const int32_t *)rows->x->data + at, cols, y);
            break;
        default:
            scale_int64_t(rows->kernel, (const int64_t *)rows->x->data + at, cols, y);
            break;
        }
    }
}

static tn_status compute_scaler(void *kernel, const struct tn_run_args *args) {
    const struct scaler *self = kernel;
    struct rows rows = {self, tn_in(args, 0), tn_out(args, 0)->data, 0};
    TN_TRY(check_list("offset", self->offset.n, cols_of(rows.x), args->run->diag));
    TN_TRY(check_list("scale", self->scale.n, cols_of(rows.x), args->run->diag));
    run_rows(self->head.host, &rows, scale_rows);
    return TN_OK;
}

/* ---- Normalizer ---------------------------------------------------------------------------- */

enum norm { NORM_MAX, NORM_L1, NORM_L2 };

struct normalizer {
    struct tn_kernel_head head;
    enum norm norm;
};

static tn_status infer_normalizer(const struct tn_infer *infer) {
    const struct tn_type *x = tn_infer_input(infer, 0);
    struct tn__matrix matrix;
    if (x && x->rank >= 0) TN_TRY(tn__matrix_of(x->rank, x->dims, &matrix, infer->diag));
    return tn_infer_shape_like(infer, 0, 0, TN_FLOAT);
}

static tn_status create_normalizer(const struct tn_kernel_ctx *ctx, void **out) {
    static const char *const names[] = {
        [NORM_MAX] = "MAX", [NORM_L1] = "L1", [NORM_L2] = "L2"};
    struct normalizer_attrs attrs;
    TN_TRY(TN_ATTRS_READ(normalizer, ctx->node, &attrs, ctx->diag));
    for (uint32_t i = 0; i < TN_COUNT(names); i++) {
        if (!tn_string_is(attrs.norm, names[i])) continue;
        TN_TRY(tn_kernel_create(ctx, sizeof(struct normalizer), out));
        ((struct normalizer *)*out)->norm = (enum norm)i;
        return TN_OK;
    }
    return tn_fail(ctx->diag, TN_INVALID_MODEL,
        "attribute 'norm' is '%.*s', expected MAX, L1 or L2",
        (int)(attrs.norm.size < 60 ? attrs.norm.size : 60), attrs.norm.data);
}

enum { CHUNK = 256 }; /* elements converted at a time */

/* What the row is divided by; 0 leaves it as it is. MAX is the largest element itself, so a
 * row of negative numbers changes its sign. Floats are added in float, as scikit-learn does:
 * trees that follow were trained on those bits. */
static double divisor(
    enum norm norm, const struct tn_tensor *x, int64_t at, int64_t cols) {
    double sum = 0, most = cols ? -INFINITY : 0, values[CHUNK];
    bool narrow = x->dtype == TN_FLOAT;
    for (int64_t j = 0; j < cols; j += CHUNK) {
        int64_t n = cols - j < CHUNK ? cols - j : CHUNK;
        tn__numbers_f64(x, at + j, n, values);
        for (int64_t k = 0; k < n; k++) {
            double value = values[k];
            most = value > most || isnan(value) ? value : most;
            double term = norm == NORM_L2 ? value * value : fabs(value);
            sum = narrow ? (float)(sum + (float)term) : sum + term;
        }
    }
    if (norm == NORM_MAX) return most;
    sum = norm == NORM_L2 ? sqrt(sum) : sum;
    return narrow ? (float)sum : sum;
}

static void normalize_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct rows *rows = arg;
    const struct normalizer *self = rows->kernel;
    double values[CHUNK];
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i * rows->cols;
        float *y = (float *)rows->y + at;
        double by = divisor(self->norm, rows->x, at, rows->cols);
        if (by == 0) by = 1;
        for (int64_t j = 0; j < rows->cols; j += CHUNK) {
            int64_t n = rows->cols - j < CHUNK ? rows->cols - j : CHUNK;
            tn__numbers_f64(rows->x, at + j, n, values);
            for (int64_t k = 0; k < n; k++)
                y[j + k] = (float)(values[k] / by);
        }
    }
}

static tn_status compute_normalizer(void *kernel, const struct tn_run_args *args) {
    const struct normalizer *self = kernel;
    struct rows rows = {self, tn_in(args, 0), tn_out(args, 0)->data, 0};
    struct tn__matrix matrix;
    TN_TRY(tn__matrix_of(rows.x->rank, rows.x->dims, &matrix, args->run->diag));
    run_rows(self->head.host, &rows, normalize_rows);
    return TN_OK;
}

/* ---- Imputer ------------------------------------------------------------------------------- */

struct imputer {
    struct tn_kernel_head head;
    const float *floats;
    const int64_t *ints;
    uint32_t n;
    float replaced_float;
    int64_t replaced_int;
};

static tn_status read_imputer(const struct imputer_attrs *attrs, int32_t dtype,
    const char **out_name, struct imputer *out, struct tn_diag *diag) {
    bool real = dtype == TN_FLOAT || dtype == TN_DOUBLE;
    uint32_t n = real ? attrs->imputed_value_floats.n : attrs->imputed_value_int64s.n;
    *out_name = real ? "imputed_value_floats" : "imputed_value_int64s";
    if (n == 0)
        return tn_fail(diag, TN_INVALID_MODEL,
            "attribute '%s' is missing: input 'X' is of %s", *out_name,
            tn_dtype_name(dtype));
    out->floats = attrs->imputed_value_floats.v;
    out->ints = attrs->imputed_value_int64s.v;
    out->n = n;
    out->replaced_float = attrs->replaced_value_float;
    out->replaced_int = attrs->replaced_value_int64;
    return TN_OK;
}

static tn_status infer_imputer(const struct tn_infer *infer) {
    struct imputer_attrs attrs;
    struct imputer values;
    const char *name;
    const struct tn_type *x = tn_infer_input(infer, 0);
    if (!x || x->dtype == TN_UNDEFINED) return TN_OK;
    TN_TRY(TN_ATTRS_READ(imputer, infer->node, &attrs, infer->diag));
    TN_TRY(read_imputer(&attrs, x->dtype, &name, &values, infer->diag));
    TN_TRY(check_columns(infer, name, values.n));
    return tn_infer_like(infer, 0, 0);
}

static tn_status create_imputer(const struct tn_kernel_ctx *ctx, void **out) {
    struct imputer_attrs attrs;
    const char *name;
    TN_TRY(TN_ATTRS_READ(imputer, ctx->node, &attrs, ctx->diag));
    TN_TRY(tn_kernel_create(ctx, sizeof(struct imputer), out));
    return tn_kernel_ready(
        read_imputer(&attrs, ctx->inputs[0].dtype, &name, *out, ctx->diag), out);
}

/* An element that is the replaced value, or NaN when that is NaN. */
#define IMPUTE(type, values, replaced, is_replaced)                                      \
    static void impute_##type(                                                           \
        const struct imputer *self, const type *x, int64_t cols, type *y) {              \
        uint32_t step = self->n > 1;                                                     \
        const type wanted = (type)self->replaced;                                        \
        for (int64_t j = 0; j < cols; j++)                                               \
            y[j] = (is_replaced) ? (type)self->values[j * step] : x[j];                  \
    }
IMPUTE(
    float, floats, replaced_float, x[j] == wanted || (wanted != wanted && x[j] != x[j]))
IMPUTE(
    double, floats, replaced_float, x[j] == wanted || (wanted != wanted && x[j] != x[j]))
IMPUTE(int64_t, ints, replaced_int, x[j] == wanted)
#undef IMPUTE

/* A replaced value that no int32 has is never found. */
static void impute_int32_t(
    const struct imputer *self, const int32_t *x, int64_t cols, int32_t *y) {
    uint32_t step = self->n > 1;
    for (int64_t j = 0; j < cols; j++)
        y[j] = x[j] == self->replaced_int ? (int32_t)self->ints[j * step] : x[j];
}

static void impute_rows(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct rows *rows = arg;
    const struct imputer *self = rows->kernel;
    const void *x = rows->x->data;
    int64_t cols = rows->cols;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i * cols;
        switch (rows->x->dtype) {
        case TN_FLOAT:
            impute_float(self, (const float *)x + at, cols, (float *)rows->y + at);
            break;
        case TN_DOUBLE:
            impute_double(self, (const double *)x + at, cols, (double *)rows->y + at);
            break;
        case TN_INT32:
            impute_int32_t(self, (const int32_t *)x + at, cols, (int32_t *)rows->y + at);
            break;
        default:
            impute_int64_t(self, (const int64_t *)x + at, cols, (int64_t *)rows->y + at);
            break;
        }
    }
}

static tn_status compute_imputer(void *kernel, const struct tn_run_args *args) {
    const struct imputer *self = kernel;
    struct rows rows = {self, tn_in(args, 0), tn_out(args, 0)->data, 0};
    TN_TRY(check_list("imputed_value", self->n, cols_of(rows.x), args->run->diag));
    run_rows(self->head.host, &rows, impute_rows);
    return TN_OK;
}

/* ---- tables -------------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF(TN_ML_DOMAIN, "Scaler"), TN_VERSIONS({1}), TN_INPUTS({"X", "T"}),
        TN_OUTPUTS({"Y", NULL, TN_BIT(FLOAT)}), TN_TYPE_VARS({"T", TN_TYPES_ML_NUMBERS}),
        TN_ATTRS(scaler), .infer = infer_scaler},
    {TN_DEF(TN_ML_DOMAIN, "Normalizer"), TN_VERSIONS({1}), TN_INPUTS({"X", "T"}),
        TN_OUTPUTS({"Y", NULL, TN_BIT(FLOAT)}), TN_TYPE_VARS({"T", TN_TYPES_ML_NUMBERS}),
        TN_ATTRS(normalizer), .infer = infer_normalizer},
    {TN_DEF(TN_ML_DOMAIN, "Imputer"), TN_VERSIONS({1}), TN_INPUTS({"X", "T"}),
        TN_OUTPUTS({"Y", "T"}), TN_TYPE_VARS({"T", TN_TYPES_ML_NUMBERS}),
        TN_ATTRS(imputer), .infer = infer_imputer},
};

static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL_OF(TN_ML_DOMAIN, "Scaler", 1), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}),
        .create = create_scaler, .compute = compute_scaler},
    {TN_KERNEL_OF(TN_ML_DOMAIN, "Normalizer", 1),
        .create = create_normalizer, .compute = compute_normalizer},
    {TN_KERNEL_OF(TN_ML_DOMAIN, "Imputer", 1), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}),
        .create = create_imputer, .compute = compute_imputer},
};
/* clang-format on */

TN_FAMILY(scale);
