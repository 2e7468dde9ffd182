/* Operators of any number of broadcast operands: Max Min Sum Mean. Operands are joined one
 * after the other into the output. */
#include "ops/broadcast.h"

/* clang-format off */
static const struct tn__binary_row rows[] = {
    {"Max", TN_BINARY_MAX, 0.15, false},
    {"Min", TN_BINARY_MIN, 0.15, false},
    {"Sum", TN_BINARY_ADD, 0.15, false},
    {"Mean", TN_BINARY_ADD, 0.15, false},
};
static const struct tn__binary_row divide_row = {"Mean", TN_BINARY_DIV, 0.4, false};
/* clang-format on */

struct variadic_kernel {
    struct tn__binary_kernel binary;
    struct tn__ew_fn divide; /* Mean: by the number of operands */
    double n_f64;
    float n_f32;
    uint8_t n_narrow[4]; /* the number as an element of the operands' type */
};

/* For one shape set: how operand i joins the output. */
struct join {
    bool flat; /* both have the output's shape */
    struct tn__ew ew;
};

static tn_status setup(const struct tn_kernel_ctx *ctx, struct variadic_kernel *kernel) {
    const struct tn__cpu *cpu = kernel->binary.base.cpu;
    int32_t dtype = ctx->inputs[0].dtype;
    const struct tn__binary_row *row = rows;
    while (strcmp(row->op_type, ctx->node->op_type) != 0)
        row++;
    TN_TRY(tn__binary_setup(cpu, row, dtype, &kernel->binary.fn, ctx->diag));
    if (row != &rows[3]) return TN_OK;
    kernel->n_f64 = ctx->node->n_inputs;
    kernel->n_f32 = (float)ctx->node->n_inputs;
    TN_TRY(tn__binary_setup(cpu, &divide_row, dtype, &kernel->divide, ctx->diag));
    if (kernel->divide.store)
        kernel->divide.store(kernel->n_narrow, &kernel->n_f32, 1, NULL);
    return TN_OK;
}

static tn_status create(const struct tn_kernel_ctx *ctx, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct variadic_kernel), out));
    return tn_kernel_ready(setup(ctx, *out), out);
}

static tn_status workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    out->state = args->n_inputs * sizeof(struct join);
    return TN_OK;
}

static tn_status prepare(void *object, const struct tn_run_args *args, tn_compute_fn *fn,
    struct tn_diag *diag) {
    struct join *joins = args->state;
    const struct tn_tensor *out = tn_out(args, 0);
    (void)object;
    (void)fn;
    if (!out) return tn_fail(diag, TN_INTERNAL, "the output's shape is not known");
    for (uint32_t i = 0; i < args->n_inputs; i++) {
        const struct tn_tensor *left = i == 1 ? tn_in(args, 0) : out;
        const struct tn_tensor *const operands[2] = {left, tn_in(args, i)};
        if (!operands[0] || !operands[1])
            return tn_fail(diag, TN_INVALID_ARGUMENT, "operand %u is missing", i);
        TN_TRY(tn__ew_plan(&joins[i].ew, out->dims, out->rank, operands, 2, diag));
        joins[i].flat = joins[i].ew.rank == 1 && joins[i].ew.steps[0][0] == 1 &&
                        joins[i].ew.steps[1][0] == 1;
    }
    return TN_OK;
}

static void divide_all(const struct variadic_kernel *kernel, struct tn_tensor *out) {
    const void *n = &kernel->n_f32;
    struct tn__ew ew = {.count = tn_tensor_count(out), .rank = 1, .n_operands = 2};
    if (out->dtype == TN_DOUBLE)
        n = &kernel->n_f64;
    else if (kernel->divide.store)
        n = kernel->n_narrow;
    ew.dims[0] = ew.count;
    ew.steps[0][0] = 1;
    tn__ew_binary(
        kernel->binary.base.host, &kernel->divide, &ew, out->data, out->data, n);
}

static tn_status compute(void *object, const struct tn_run_args *args) {
    const struct variadic_kernel *kernel = object;
    const struct tn_host *host = kernel->binary.base.host;
    const struct tn__ew_fn *fn = &kernel->binary.fn;
    const struct join *joins = args->state;
    struct tn_tensor *out = args->outputs[0].as.tensor;
    const struct tn_tensor *first = args->inputs[0].as.tensor;
    if (args->n_inputs == 1 && out->size > 0 && out->data != first->data)
        memcpy(out->data, first->data, out->size);
    for (uint32_t i = 1; i < args->n_inputs; i++) {
        const void *left = i == 1 ? first->data : out->data;
        const void *right = args->inputs[i].as.tensor->data;
        if (joins[i].flat)
            tn__ew_binary_flat(host, fn, out->data, left, right, joins[i].ew.count);
        else
            tn__ew_binary(host, fn, &joins[i].ew, out->data, left, right);
    }
    if (kernel->divide.binary) divide_all(kernel, out);
    return TN_OK;
}

/* ---- inference ------------------------------------------------------------------------ */

static tn_status infer_variadic(const struct tn_infer *infer) {
    const struct tn_type *in = tn_infer_input(infer, 0);
    if (!in) return TN_OK;
    TN_TRY(tn_infer_broadcast(infer, in->dtype, 0, infer->node->n_inputs));
    if (strcmp(infer->node->op_type, "Max") == 0)
        return tn__infer_content(infer, TN_DIM_MAX);
    if (strcmp(infer->node->op_type, "Min") == 0)
        return tn__infer_content(infer, TN_DIM_MIN);
    return TN_OK;
}

static int32_t elide_single(const struct tn_infer *infer) {
    return infer->node->n_inputs == 1 ? 0 : -1;
}

/* ---- tables --------------------------------------------------------------------------- */

/* clang-format off */
#define VARIADIC(name, output, types, ...) \
    {TN_DEF("", name), TN_VERSIONS({1}, {6, 0, tn__upgrade_drop_consumed}, __VA_ARGS__), \
        TN_INPUTS({"data_0", "T", 0, TN_FORMAL_VARIADIC, 1}), TN_OUTPUTS({output, "T"}), \
        TN_TYPE_VARS({"T", types}), .infer = infer_variadic, .elide = elide_single}
static const struct tn_op_def defs[] = {
    VARIADIC("Max", "max", TN_TYPES_NUMBERS, {8}, {12}, {13}),
    VARIADIC("Min", "min", TN_TYPES_NUMBERS, {8}, {12}, {13}),
    VARIADIC("Sum", "sum", TN_TYPES_FLOATS, {8}, {13}),
    VARIADIC("Mean", "mean", TN_TYPES_FLOATS, {8}, {13}),
};

#define VARIADIC_KERNEL(name, newest) \
    {TN_KERNEL("", name, newest), TN_INPLACE({0, 0, TN_INPLACE_OVERWRITE}), .create = create, \
        .workspace = workspace, .prepare = prepare, .compute = compute}
static const struct tn_kernel_def kernels[] = {
    VARIADIC_KERNEL("Max", 13), VARIADIC_KERNEL("Min", 13),
    VARIADIC_KERNEL("Sum", 13), VARIADIC_KERNEL("Mean", 13),
};
/* clang-format on */

TN_FAMILY(variadic);
