/* See pointwise.h. */
#include "ops/pointwise.h"

tn_status tn__ew_widen(const struct tn__cpu *cpu, int32_t dtype, struct tn__ew_fn *fn,
    int32_t *out_elem, struct tn_diag *diag) {
    uint32_t bits = tn_dtype_bits(dtype);
    if (bits == 0 || dtype >= TN_ELEM_COUNT)
        return tn_fail(diag, TN_UNSUPPORTED, "the input's element type is not known");
    *out_elem = dtype;
    fn->load = fn->store = NULL;
    fn->size_in = fn->size_out = bits / 8;
    if (!(TN_TYPES_NARROW_FLOATS >> dtype & 1)) return TN_OK;
    fn->load = cpu->convert.load[dtype];
    fn->store = cpu->convert.store[TN_CONVERT_F32][dtype];
    *out_elem = TN_FLOAT;
    if (!fn->load || !fn->store)
        return tn_fail(diag, TN_UNSUPPORTED, "no conversion between %s and float",
            tn_dtype_name(dtype));
    return TN_OK;
}

const struct tn__unary_row *tn__unary_find(
    const struct tn__unary_row *rows, uint32_t n_rows, const char *op_type) {
    for (uint32_t i = 0; i < n_rows; i++)
        if (strcmp(rows[i].op_type, op_type) == 0) return &rows[i];
    return NULL;
}

/* Reads the row's attributes as numbers and stores them as elements of the kernel's type.
 */
static tn_status read_params(const struct tn_kernel_ctx *ctx,
    const struct tn__unary_row *row, int32_t elem, struct tn__unary_kernel *kernel) {
    for (uint32_t i = 0; i < row->n_fields && i < 2; i++) {
        union {
            float real;
            int64_t number;
        } value = {0};
        struct tn_attr_field field = row->fields[i];
        field.offset = 0;
        TN_TRY(tn_attrs_read(ctx->node, &field, 1, &value, ctx->diag));
        double x =
            field.type == TN_ATTR_FLOAT ? (double)value.real : (double)value.number;
        if (elem == TN_DOUBLE)
            kernel->param.f64[i] = x;
        else
            kernel->param.f32[i] = (float)x;
    }
    kernel->fn.param = &kernel->param;
    return TN_OK;
}

static tn_status setup(const struct tn_kernel_ctx *ctx, const struct tn__unary_row *row,
    struct tn__unary_kernel *kernel) {
    int32_t dtype = ctx->inputs[0].dtype, elem;
    const struct tn__cpu *cpu = kernel->base.cpu;
    TN_TRY(tn__ew_widen(cpu, dtype, &kernel->fn, &elem, ctx->diag));
    if (row->to_bool) {
        kernel->fn.store = NULL;
        kernel->fn.size_out = 1;
    }
    TN_TRY(read_params(ctx, row, elem, kernel));
    if (row->area == TN_AREA_ELEMENTWISE)
        kernel->fn.unary = cpu->elementwise.unary[row->slot][elem];
    else if (elem == TN_FLOAT)
        kernel->fn.unary = cpu->vmath.f32[row->slot];
    else if (elem == TN_DOUBLE)
        kernel->fn.unary = cpu->vmath.f64[row->slot];
    kernel->fn.cost = row->cost;
    if (!kernel->fn.unary)
        return tn_fail(
            ctx->diag, TN_UNSUPPORTED, "no kernel for type %s", tn_dtype_name(dtype));
    return TN_OK;
}

tn_status tn__unary_create(
    const struct tn_kernel_ctx *ctx, const struct tn__unary_row *row, void **out) {
    TN_TRY(tn__kernel_create(ctx, sizeof(struct tn__unary_kernel), out));
    return tn_kernel_ready(setup(ctx, row, *out), out);
}

tn_status tn__unary_compute(void *object, const struct tn_run_args *args) {
    const struct tn__unary_kernel *kernel = object;
    const struct tn_tensor *in = args->inputs[0].as.tensor;
    tn__ew_unary(kernel->base.host, &kernel->fn, args->outputs[0].as.tensor->data,
        in->data, (int64_t)(in->size / kernel->fn.size_in));
    return TN_OK;
}

/* For what is too small to share among threads and needs no widening. */
static tn_status compute_direct(void *object, const struct tn_run_args *args) {
    const struct tn__unary_kernel *kernel = object;
    const struct tn_tensor *in = args->inputs[0].as.tensor;
    kernel->fn.unary(args->outputs[0].as.tensor->data, in->data,
        in->size / kernel->fn.size_in, &kernel->param);
    return TN_OK;
}

enum { DIRECT_NS = 20000 };

tn_status tn__unary_prepare(void *object, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag) {
    const struct tn__unary_kernel *kernel = object;
    const struct tn_tensor *in = tn_in(args, 0);
    const struct tn_tensor *out = tn_out(args, 0);
    if (!in || !out || tn_tensor_count(in) != tn_tensor_count(out))
        return tn_fail(diag, TN_INTERNAL, "the output has not the input's shape");
    if (!kernel->fn.load && (double)tn_tensor_count(in) * kernel->fn.cost < DIRECT_NS)
        *fn = compute_direct;
    return TN_OK;
}

void tn__unary_cost(void *object, const struct tn_run_args *args, struct tn_cost *out) {
    const struct tn__unary_kernel *kernel = object;
    double n = (double)tn_tensor_count(args->inputs[0].as.tensor);
    out->flops = n * kernel->fn.cost * 4;
    out->bytes = n * (kernel->fn.size_in + kernel->fn.size_out);
}

tn_status tn__infer_same(const struct tn_infer *infer) {
    return tn_infer_like(infer, 0, 0);
}

tn_status tn__infer_same_bool(const struct tn_infer *infer) {
    return tn_infer_shape_like(infer, 0, 0, TN_BOOL);
}
