/* Tables for signals: HannWindow, HammingWindow, BlackmanWindow, MelWeightMatrix. Computed in
 * f64 and rounded once into the type that output_datatype names. */
#include "ops/doubles.h"

#include <math.h>

/* clang-format off */
#define COSINES_ATTRS(X, S) X(S, INT, output_datatype, 1) X(S, INT, periodic, 1)
#define MEL_ATTRS(X, S) X(S, INT, output_datatype, 1)
/* clang-format on */
TN_ATTR_TABLE(cosines, COSINES_ATTRS)
TN_ATTR_TABLE(mel, MEL_ATTRS)

#define PI 3.14159265358979323846

/* The window is a[0] - a[1] cos(t) + a[2] cos(2t), t from 0 to a full turn. */
static const struct row {
    const char *op_type;
    double a[3];
} rows[] = {
    {"HannWindow", {0.5, 0.5, 0}},
    {"HammingWindow", {25.0 / 46, 21.0 / 46, 0}},
    {"BlackmanWindow", {0.42, 0.5, 0.08}},
};

struct table {
    struct tn__kernel base;
    const struct row *row;
    int32_t dtype;
    bool periodic;
};

static tn_status check_type(int64_t dtype, struct tn_diag *diag) {
    if (dtype > 0 && dtype < 64 && (TN_TYPES_NUMBERS >> dtype & 1)) return TN_OK;
    return tn_fail(diag, TN_INVALID_MODEL,
        "attribute 'output_datatype' is %lld, expected the number of an integer or float "
        "type",
        (long long)dtype);
}

static tn_status check_size(
    int64_t size, int64_t least, const char *name, struct tn_diag *diag) {
    if (size >= least) return TN_OK;
    return tn_fail(diag, TN_INVALID_ARGUMENT, "'%s' is %lld, expected %lld or more", name,
        (long long)size, (long long)least);
}

/* The scalar integer in input i, when it is known at load. */
static tn_status infer_scalar(const struct tn_infer *infer, uint32_t i, int64_t least,
    const char *name, int64_t *out) {
    uint32_t n = 0;
    const int64_t *content = tn_infer_ints(infer, i, &n);
    *out = content && n == 1 ? content[0] : TN_DIM_UNKNOWN;
    return tn_dim_is_symbol(*out) ? TN_OK : check_size(*out, least, name, infer->diag);
}

static tn_status read_scalar(const struct tn_run_args *args, uint32_t i, int64_t least,
    const char *name, int64_t *out) {
    const struct tn_tensor *tensor = tn_in(args, i);
    if (tn_tensor_count(tensor) != 1)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "'%s' has %lld elements, expected a scalar", name,
            (long long)tn_tensor_count(tensor));
    *out = tn_tensor_int(tensor, 0);
    return check_size(*out, least, name, args->run->diag);
}

/* ---- windows ----------------------------------------------------------------------------- */

static tn_status infer_window(const struct tn_infer *infer) {
    struct cosines_attrs attrs;
    int64_t size;
    TN_TRY(TN_ATTRS_READ(cosines, infer->node, &attrs, infer->diag));
    TN_TRY(check_type(attrs.output_datatype, infer->diag));
    TN_TRY(infer_scalar(infer, 0, 0, "size", &size));
    return tn_infer_set(infer, 0, (int32_t)attrs.output_datatype, 1, &size);
}

static tn_status create_window(const struct tn_kernel_ctx *ctx, void **out) {
    struct cosines_attrs attrs;
    TN_TRY(TN_ATTRS_READ(cosines, ctx->node, &attrs, ctx->diag));
    TN_TRY(check_type(attrs.output_datatype, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct table), out));
    struct table *k = *out;
    k->dtype = (int32_t)attrs.output_datatype;
    k->periodic = attrs.periodic != 0;
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (strcmp(rows[i].op_type, ctx->node->op_type) == 0) k->row = &rows[i];
    return TN_OK;
}

/* A window of one point is 1, as its middle. */
static tn_status compute_window(void *object, const struct tn_run_args *args) {
    const struct table *k = object;
    struct tn_tensor *y;
    int64_t size;
    double *v;
    TN_TRY(read_scalar(args, 0, 0, "size", &size));
    TN_TRY(tn_out_shaped(args, 0, k->dtype, &size, 1, &y));
    TN_TRY(tn__doubles_target(args, y, &v));
    double turn = 2 * PI / (double)(k->periodic ? size : size - 1);
    const double *a = k->row->a;
    for (int64_t i = 0; i < size; i++) {
        double t = (double)i * turn;
        v[i] = size == 1 && !k->periodic ? 1 : a[2] * cos(2 * t) - a[1] * cos(t) + a[0];
    }
    tn__doubles_write(&k->base, y, v);
    return TN_OK;
}

/* ---- mel weights ------------------------------------------------------------------------- */

static tn_status infer_mel(const struct tn_infer *infer) {
    struct mel_attrs attrs;
    int64_t dims[2], length;
    TN_TRY(TN_ATTRS_READ(mel, infer->node, &attrs, infer->diag));
    TN_TRY(check_type(attrs.output_datatype, infer->diag));
    TN_TRY(infer_scalar(infer, 0, 0, "num_mel_bins", &dims[1]));
    TN_TRY(infer_scalar(infer, 1, 1, "dft_length", &length));
    length = infer->dim_op(infer->self, TN_DIM_DIV, length, 2);
    dims[0] = infer->dim_op(infer->self, TN_DIM_ADD, length, 1);
    return tn_infer_set(infer, 0, (int32_t)attrs.output_datatype, 2, dims);
}

static tn_status create_mel(const struct tn_kernel_ctx *ctx, void **out) {
    struct mel_attrs attrs;
    TN_TRY(TN_ATTRS_READ(mel, ctx->node, &attrs, ctx->diag));
    TN_TRY(check_type(attrs.output_datatype, ctx->diag));
    TN_TRY(tn__kernel_create(ctx, sizeof(struct table), out));
    ((struct table *)*out)->dtype = (int32_t)attrs.output_datatype;
    return TN_OK;
}

/* Edges of the bands: evenly spaced in mel, then rounded down to spectrum bins. */
struct bands {
    double low, step; /* in mel */
    double bins_per_hertz;
    int64_t spectrum, mels;
};

static double to_mel(double hertz) {
    return 2595 * log10(1 + hertz / 700);
}

static int64_t band_edge(const struct bands *bands, int64_t i) {
    double mel = bands->low + (double)i * bands->step;
    double hertz = 700 * (pow(10, mel / 2595) - 1);
    return (int64_t)fmin(fmax(floor(hertz * bands->bins_per_hertz), 0), 1e15);
}

/* One triangle, column `mel`; what lies beyond the spectrum is left out. */
static void draw_band(const struct bands *bands, int64_t mel, double *v) {
    int64_t left = band_edge(bands, mel), peak = band_edge(bands, mel + 1);
    int64_t right = band_edge(bands, mel + 2);
    for (int64_t i = left; i < right && i < bands->spectrum; i++)
        v[i * bands->mels + mel] = i <= peak
                                       ? (double)(i - left) / (double)(peak - left)
                                       : (double)(right - i) / (double)(right - peak);
    if (peak < bands->spectrum) v[peak * bands->mels + mel] = 1;
}

static tn_status read_hertz(const struct table *k, const struct tn_run_args *args,
    uint32_t i, const char *name, double *out) {
    const struct tn_tensor *tensor = tn_in(args, i);
    const double *v;
    if (tn_tensor_count(tensor) != 1)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "'%s' is no scalar", name);
    TN_TRY(tn__doubles_read(&k->base, args, tensor, &v));
    *out = *v;
    if (*out >= 0 && isfinite(*out)) return TN_OK;
    return tn_fail(args->run->diag, TN_INVALID_ARGUMENT, "'%s' is %g, expected 0 or more",
        name, *out);
}

static tn_status compute_mel(void *object, const struct tn_run_args *args) {
    const struct table *k = object;
    int64_t mels, length, rate, dims[2];
    double low, high, *v;
    struct tn_tensor *y;
    TN_TRY(read_scalar(args, 0, 0, "num_mel_bins", &mels));
    TN_TRY(read_scalar(args, 1, 1, "dft_length", &length));
    TN_TRY(read_scalar(args, 2, 1, "sample_rate", &rate));
    TN_TRY(read_hertz(k, args, 3, "lower_edge_hertz", &low));
    TN_TRY(read_hertz(k, args, 4, "upper_edge_hertz", &high));
    if (high < low)
        return tn_fail(args->run->diag, TN_INVALID_ARGUMENT,
            "upper_edge_hertz %g is below lower_edge_hertz %g", high, low);
    dims[0] = length / 2 + 1;
    dims[1] = mels;
    TN_TRY(tn_out_shaped(args, 0, k->dtype, dims, 2, &y));
    if (tn_tensor_count(y) == 0) return TN_OK;
    TN_TRY(tn__doubles_target(args, y, &v));
    memset(v, 0, (size_t)tn_tensor_count(y) * sizeof *v);
    struct bands bands = {to_mel(low), (to_mel(high) - to_mel(low)) / (double)(mels + 2),
        ((double)length + 1) / (double)rate, dims[0], mels};
    for (int64_t i = 0; i < mels; i++)
        draw_band(&bands, i, v);
    tn__doubles_write(&k->base, y, v);
    return TN_OK;
}

/* ---- tables ------------------------------------------------------------------------------ */

/* clang-format off */
/* For providers without kernels of the whole: a - b cos(t) + c cos(2t). */
#define WINDOW_TEXT(a, b, c)                                                             \
    TN_BODY "f <output_datatype: int = 1, periodic: int = 1> (size) => (output) {\n"     \
    "    zero = Constant <value: tensor = double {0.0}> ()\n"                            \
    "    one = Constant <value: tensor = double {1.0}> ()\n"                             \
    "    turn = Constant <value: tensor = double {6.283185307179586}> ()\n"              \
    "    periodic_i = Constant <value_int: int = @periodic> ()\n"                        \
    "    periodic_d = Cast <to: int = 11> (periodic_i)\n"                                \
    "    length = Cast <to: int = 11> (size)\n"                                          \
    "    shorter = Sub (one, periodic_d)\n"                                              \
    "    span = Sub (length, shorter)\n"                                                 \
    "    position = Range (zero, length, one)\n"                                         \
    "    part = Div (position, span)\n"                                                  \
    "    angle = Mul (part, turn)\n"                                                     \
    "    double_angle = Add (angle, angle)\n"                                            \
    "    first = Cos (angle)\n"                                                          \
    "    second = Cos (double_angle)\n"                                                  \
    "    a0 = Constant <value: tensor = double {" a "}> ()\n"                            \
    "    a1 = Constant <value: tensor = double {" b "}> ()\n"                            \
    "    a2 = Constant <value: tensor = double {" c "}> ()\n"                            \
    "    term1 = Mul (a1, first)\n"                                                      \
    "    term2 = Mul (a2, second)\n"                                                     \
    "    less = Sub (term2, term1)\n"                                                   \
    "    window = Add (less, a0)\n"                                                     \
    "    output = Cast <to: int = @output_datatype> (window)\n"                          \
    "}"
#define WINDOW_DEF(name, a, b, c) TN_DEF("", name), TN_VERSIONS({17}), \
    TN_INPUTS({"size", "T1"}), TN_OUTPUTS({"output", "T2"}), \
    TN_TYPE_VARS({"T1", TN_TYPES_INDEX}, {"T2", TN_TYPES_NUMBERS}), TN_ATTRS(cosines), \
    .infer = infer_window, .expansion = WINDOW_TEXT(a, b, c)
static const struct tn_op_def defs[] = {
    {WINDOW_DEF("HannWindow", "0.5", "0.5", "0.0")},
    {WINDOW_DEF("HammingWindow", "0.5434782608695652", "0.4565217391304348", "0.0")},
    {WINDOW_DEF("BlackmanWindow", "0.42", "0.5", "0.08")},
    {TN_DEF("", "MelWeightMatrix"), TN_VERSIONS({17}),
        TN_INPUTS({"num_mel_bins", "T1"}, {"dft_length", "T1"}, {"sample_rate", "T1"},
            {"lower_edge_hertz", "T2"}, {"upper_edge_hertz", "T2"}),
        TN_OUTPUTS({"output", "T3"}),
        TN_TYPE_VARS({"T1", TN_TYPES_INDEX}, {"T2", TN_TYPES_FLOATS}, {"T3", TN_TYPES_NUMBERS}),
        TN_ATTRS(mel), .infer = infer_mel},
};

#define WINDOW_KERNEL(name) \
    {TN_KERNEL("", name, 17), .create = create_window, .compute = compute_window}
static const struct tn_kernel_def kernels[] = {
    WINDOW_KERNEL("HannWindow"),
    WINDOW_KERNEL("HammingWindow"),
    WINDOW_KERNEL("BlackmanWindow"),
    {TN_KERNEL("", "MelWeightMatrix", 17), .create = create_mel, .compute = compute_mel},
};
/* clang-format on */

TN_FAMILY(signal_tables);
