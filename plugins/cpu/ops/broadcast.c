/* See broadcast.h. */
#include "ops/broadcast.h"

tn_status tn__binary_setup(const struct tn__cpu *cpu, const struct tn__binary_row *row,
    int32_t dtype, struct tn__ew_fn *fn, struct tn_diag *diag) {
    int32_t elem;
    memset(fn, 0, sizeof *fn);
    if (dtype <= 0 || dtype >= TN_ELEM_COUNT)
        return tn_fail(diag, TN_UNSUPPORTED, "the operands' element type is not known");
    fn->load = fn->store = NULL;
    fn->size_in = fn->size_out = tn_dtype_bits(dtype) / 8;
    elem = dtype;
    if (TN_TYPES_NARROW_FLOATS >> dtype & 1) {
        fn->load = cpu->convert.load[dtype];
        fn->store = cpu->convert.store[TN_CONVERT_F32][dtype];
        elem = fn->load && fn->store ? TN_FLOAT : 0;
    }
    fn->binary = cpu->elementwise.binary[row->slot][elem];
    fn->cost = row->cost;
    if (row->to_bool) {
        fn->store = NULL;
        fn->size_out = 1;
    }
    if (!fn->binary)
        return tn_fail(
            diag, TN_UNSUPPORTED, "no kernel for type %s", tn_dtype_name(dtype));
    return TN_OK;
}

static tn_status setup_by_name(const struct tn_kernel_ctx *ctx,
    const struct tn__binary_row *rows, uint32_t n_rows,
    struct tn__binary_kernel *kernel) {
    for (uint32_t i = 0; i < n_rows; i++)
        if (strcmp(rows[i].op_type, ctx->node->op_type) == 0)
            return tn__binary_setup(
                kernel->base.cpu, &rows[i], ctx->inputs[0].dtype, &kernel->fn, ctx->diag);
    return tn_fail(ctx->diag, TN_INTERNAL, "the family has no row for this operator");
}

tn_status tn__binary_create(const struct tn_kernel_ctx *ctx,
    const struct tn__binary_row *rows, uint32_t n_rows, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct tn__binary_kernel), out));
    return tn_kernel_ready(setup_by_name(ctx, rows, n_rows, *out), out);
}

/* Operands of the output's own shape need no plan. */
static bool is_flat(const struct tn_run_args *args) {
    const struct tn_tensor *a = tn_in(args, 0), *b = tn_in(args, 1);
    return a && b && tn_dims_equal(a->dims, a->rank, b->dims, b->rank);
}

tn_status tn__binary_workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out) {
    (void)kernel;
    out->state = is_flat(args) ? 0 : sizeof(struct tn__ew);
    return TN_OK;
}

static tn_status compute_flat(void *object, const struct tn_run_args *args) {
    const struct tn__binary_kernel *kernel = object;
    const struct tn_tensor *a = args->inputs[0].as.tensor;
    tn__ew_binary_flat(kernel->base.host, &kernel->fn, args->outputs[0].as.tensor->data,
        a->data, args->inputs[1].as.tensor->data,
        (int64_t)(a->size / kernel->fn.size_in));
    return TN_OK;
}

/* For what is too small to share among threads and needs no widening. */
static tn_status compute_flat_direct(void *object, const struct tn_run_args *args) {
    const struct tn__binary_kernel *kernel = object;
    const struct tn_tensor *a = args->inputs[0].as.tensor;
    kernel->fn.binary(args->outputs[0].as.tensor->data, a->data, 1,
        args->inputs[1].as.tensor->data, 1, a->size / kernel->fn.size_in);
    return TN_OK;
}

/* One run in all: one operand is a scalar. */
static tn_status compute_run_direct(void *object, const struct tn_run_args *args) {
    const struct tn__binary_kernel *kernel = object;
    const struct tn__ew *ew = args->state;
    kernel->fn.binary(args->outputs[0].as.tensor->data, args->inputs[0].as.tensor->data,
        ew->steps[0][0], args->inputs[1].as.tensor->data, ew->steps[1][0],
        (size_t)ew->count);
    return TN_OK;
}

enum { DIRECT_NS = 20000 };

tn_status tn__binary_prepare(void *object, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct tn__binary_kernel *kernel = object;
    const struct tn_tensor *out = tn_out(args, 0);
    const struct tn_tensor *const operands[2] = {tn_in(args, 0), tn_in(args, 1)};
    if (!out || !operands[0] || !operands[1])
        return tn_fail(diag, TN_INTERNAL, "a shape is not known");
    bool direct =
        !kernel->fn.load && (double)tn_tensor_count(out) * kernel->fn.cost < DIRECT_NS;
    if (is_flat(args) && args->state == NULL) {
        if (!tn_dims_equal(out->dims, out->rank, operands[0]->dims, operands[0]->rank))
            return tn_fail(diag, TN_INTERNAL, "the output has not the operands' shape");
        *fn = direct ? compute_flat_direct : compute_flat;
        return TN_OK;
    }
    struct tn__ew *ew = args->state;
    TN_TRY(tn__ew_plan(ew, out->dims, out->rank, operands, 2, diag));
    if (direct && ew->rank == 1) *fn = compute_run_direct;
    return TN_OK;
}

tn_status tn__binary_compute(void *object, const struct tn_run_args *args) {
    const struct tn__binary_kernel *kernel = object;
    if (!args->state) return compute_flat(object, args);
    tn__ew_binary(kernel->base.host, &kernel->fn, args->state,
        args->outputs[0].as.tensor->data, args->inputs[0].as.tensor->data,
        args->inputs[1].as.tensor->data);
    return TN_OK;
}

void tn__binary_cost(void *object, const struct tn_run_args *args, struct tn_cost *out) {
    const struct tn__binary_kernel *kernel = object;
    const struct tn_tensor *result = tn_out(args, 0);
    double n = result ? (double)tn_tensor_count(result) : 0;
    out->flops = n * kernel->fn.cost * 4;
    out->bytes = n * (2.0 * kernel->fn.size_in + kernel->fn.size_out);
}

/* ---- inference ------------------------------------------------------------------------ */

tn_status tn__infer_binary(const struct tn_infer *infer) {
    const struct tn_type *a = tn_infer_input(infer, 0), *b = tn_infer_input(infer, 1);
    if (!a && !b) return TN_OK;
    return tn_infer_broadcast(infer, a ? a->dtype : b->dtype, 0, 2);
}

tn_status tn__infer_binary_bool(const struct tn_infer *infer) {
    return tn_infer_broadcast(infer, TN_BOOL, 0, 2);
}

/* a op b on numbers and symbols; the division of integers truncates while that of dims
 * floors, so it is only made where both agree. */
static int64_t combine(const struct tn_infer *infer, uint32_t op, int64_t a, int64_t b) {
    bool division = op == TN_DIM_DIV || op == TN_DIM_MOD;
    if (division && (tn_dim_is_symbol(b) || b <= 0)) return TN_DIM_UNKNOWN;
    if (op == TN_DIM_DIV && a < 0 && !tn_dim_is_symbol(a)) return -(-a / b);
    return infer->dim_op(infer->self, op, a, b);
}

tn_status tn__infer_content(const struct tn_infer *infer, uint32_t op) {
    int64_t result[TN_RANK_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < infer->node->n_inputs; i++) {
        uint32_t n_in;
        const int64_t *content = tn_infer_ints(infer, i, &n_in);
        if (!content || n_in > TN_RANK_MAX || n_in == 0) return TN_OK;
        if (i > 0 && n_in != n && n_in != 1 && n != 1) return TN_OK;
        if (i > 0 && n == 1 && n_in > 1) {
            for (uint32_t k = 1; k < n_in; k++)
                result[k] = result[0];
        }
        uint32_t wide = n_in > n ? n_in : n;
        for (uint32_t k = 0; k < wide; k++) {
            int64_t value = content[n_in == 1 ? 0 : k];
            result[k] = i == 0 ? value : combine(infer, op, result[k], value);
        }
        n = wide;
    }
    return n ? infer->set_dims_value(infer->self, 0, result, n) : TN_OK;
}
