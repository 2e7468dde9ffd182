/* Pow: powers of the base's type, whatever the type of the exponent. An exponent of another
 * type is converted first; a constant 2 is a product. */
#include "kernels/convert.h"
#include "loops/convert_block.h"
#include "loops/number.h"
#include "ops/broadcast.h"

struct pow_kernel {
    struct tn__binary_kernel binary; /* the kernel of `common` */
    struct tn__ew_fn square;         /* set when the exponent is the constant 2 */
    int32_t base, exponent, common;  /* common: the type the power is taken in */
};

static const struct tn__binary_row pow_row = {"Pow", TN_BINARY_POW, 3, false};
static const struct tn__binary_row square_row = {"Pow", TN_BINARY_MUL, 0.15, false};

/* The type in which a power of these types is taken: the base's when the exponent converts
 * to it without loss that matters, else double. */
static int32_t common_type(int32_t base, int32_t exponent) {
    bool int_base = (TN_TYPES_INTS >> base & 1) != 0;
    bool int_exponent = (TN_TYPES_INTS >> exponent & 1) != 0;
    if (base == exponent) return base;
    if (int_base && int_exponent) return TN_INT64;
    if (int_base || base == TN_DOUBLE || exponent == TN_DOUBLE) return TN_DOUBLE;
    return TN_FLOAT;
}

static tn_status setup(const struct tn_kernel_ctx *ctx, struct pow_kernel *kernel) {
    const struct tn__cpu *cpu = kernel->binary.base.cpu;
    kernel->base = ctx->inputs[0].dtype;
    kernel->exponent = ctx->inputs[1].dtype;
    kernel->common = common_type(kernel->base, kernel->exponent);
    TN_TRY(
        tn__binary_setup(cpu, &pow_row, kernel->common, &kernel->binary.fn, ctx->diag));
    const struct tn_tensor *exponent = ctx->constant(ctx->self, 1);
    if (!exponent || tn_tensor_count(exponent) != 1 || exponent->rank > 0) return TN_OK;
    if (tn__number_get(exponent->dtype, exponent->data, 0) != 2.0) return TN_OK;
    return tn__binary_setup(cpu, &square_row, kernel->base, &kernel->square, ctx->diag);
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct pow_kernel), out));
    return tn_kernel_ready(setup(ctx, *out), out);
}

static uint64_t bytes_of(int32_t dtype, int64_t n) {
    return ((uint64_t)n * (tn_dtype_bits(dtype) / 8) + 63) / 64 * 64;
}

/* Scratch: base, exponent and result in the common type, where they differ from it. */
static tn_status workspace(
    void *object, const struct tn_run_args *args, struct tn_workspace *out) {
    const struct pow_kernel *kernel = object;
    const struct tn_tensor *a = tn_in(args, 0), *b = tn_in(args, 1), *y = tn_out(args, 0);
    out->state = sizeof(struct tn__ew);
    if (kernel->square.binary) return TN_OK;
    if (kernel->base != kernel->common)
        out->scratch += bytes_of(kernel->common, tn_tensor_count(a)) +
                        bytes_of(kernel->common, y ? tn_tensor_count(y) : 0);
    if (kernel->exponent != kernel->common)
        out->scratch += bytes_of(kernel->common, tn_tensor_count(b));
    return TN_OK;
}

static tn_status compute_square(void *object, const struct tn_run_args *args) {
    const struct pow_kernel *kernel = object;
    const struct tn_tensor *a = args->inputs[0].as.tensor;
    tn__ew_binary_flat(kernel->binary.base.host, &kernel->square,
        args->outputs[0].as.tensor->data, a->data, a->data,
        (int64_t)(a->size / kernel->square.size_in));
    return TN_OK;
}

static tn_status prepare(void *object, const struct tn_run_args *args, tn_compute_fn *fn,
    struct tn_diag *diag) {
    const struct pow_kernel *kernel = object;
    const struct tn_tensor *out = tn_out(args, 0);
    const struct tn_tensor *const operands[2] = {tn_in(args, 0), tn_in(args, 1)};
    if (!out) return tn_fail(diag, TN_INTERNAL, "the output's shape is not known");
    if (kernel->square.binary) *fn = compute_square;
    return tn__ew_plan(args->state, out->dims, out->rank, operands, 2, diag);
}

/* The operand in the common type: itself, or converted at *scratch, which moves on. */
static const void *in_common(
    const struct pow_kernel *kernel, const struct tn_tensor *in, char **scratch) {
    int64_t n = tn_tensor_count(in);
    if (in->dtype == kernel->common) return in->data;
    void *dst = *scratch;
    *scratch += bytes_of(kernel->common, n);
    tn__convert_block(
        kernel->binary.base.cpu, kernel->common, dst, in->dtype, in->data, n, NULL);
    return dst;
}

static tn_status compute(void *object, const struct tn_run_args *args) {
    const struct pow_kernel *kernel = object;
    struct tn_tensor *out = args->outputs[0].as.tensor;
    char *scratch = args->workspace;
    const void *a = in_common(kernel, args->inputs[0].as.tensor, &scratch);
    const void *b = in_common(kernel, args->inputs[1].as.tensor, &scratch);
    bool direct = kernel->base == kernel->common;
    tn__ew_binary(kernel->binary.base.host, &kernel->binary.fn, args->state,
        direct ? out->data : scratch, a, b);
    if (!direct)
        tn__convert_block(kernel->binary.base.cpu, kernel->base, out->data,
            kernel->common, scratch, tn_tensor_count(out), NULL);
    return TN_OK;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
static const struct tn_op_def defs[] = {
    {TN_DEF("", "Pow"),
        TN_VERSIONS({1}, {7, 0, tn__upgrade_axis_broadcast}, {12}, {13}, {15}),
        TN_INPUTS({"X", "T"}, {"Y", "T1"}), TN_OUTPUTS({"Z", "T"}),
        TN_TYPE_VARS({"T", TN_TYPES_FLOATS | TN_TYPES_INDEX}, {"T1", TN_TYPES_NUMBERS}),
        .infer = tn__infer_binary},
};
static const struct tn_kernel_def kernels[] = {
    {TN_KERNEL("", "Pow", 15), .create = create, .workspace = workspace, .prepare = prepare,
        .compute = compute},
};
/* clang-format on */

TN_FAMILY(pow);
