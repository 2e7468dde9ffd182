/* Shared by the families of one operand (unary, activation, bitwise): a row names the kernel
 * slot and the attributes that are its parameters; the rest is the same for all. */
#ifndef TENON_CPU_POINTWISE_H
#define TENON_CPU_POINTWISE_H

#include "loops/elementwise.h"
#include "ops/ops.h"

enum { TN_AREA_ELEMENTWISE, TN_AREA_VMATH };

/* One operator of one operand. Attributes are given in the order of the kernel's
 * parameters. */
struct tn__unary_row {
    const char *op_type;
    uint32_t area; /* TN_AREA_* */
    uint32_t slot; /* enum tn_unary, enum tn_vmath */
    double cost;   /* nanoseconds an element takes, roughly */
    const struct tn_attr_field *fields;
    uint32_t n_fields;
    bool to_bool; /* the output is bool, else of the input's type */
};

struct tn__unary_kernel {
    struct tn__kernel base;
    struct tn__ew_fn fn;
    union {
        float f32[2];
        double f64[2];
        uint8_t bytes[16];
    } param;
};

/* Makes the kernel object of a row for the node's element type. */
tn_status tn__unary_create(
    const struct tn_kernel_ctx *ctx, const struct tn__unary_row *row, void **out);
/* The row of the node's operator; NULL: a defect of the family's tables. */
const struct tn__unary_row *tn__unary_find(
    const struct tn__unary_row *rows, uint32_t n_rows, const char *op_type);
tn_status tn__unary_prepare(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag);
tn_status tn__unary_compute(void *kernel, const struct tn_run_args *args);
void tn__unary_cost(void *kernel, const struct tn_run_args *args, struct tn_cost *out);
tn_status tn__infer_same(const struct tn_infer *infer); /* output 0 is like input 0 */
tn_status tn__infer_same_bool(const struct tn_infer *infer);

/* Members of a kernel row whose operator is a tn__unary_row. */
#define TN_UNARY_KERNEL(op, since_version)                                               \
    TN_KERNEL("", op, since_version), .prepare = tn__unary_prepare,                      \
                                      .compute = tn__unary_compute,                      \
                                      .cost = tn__unary_cost

/* Fills load, store and sizes of fn for an element type that may be narrower than the
 * kernels': *out_elem is the type whose kernel to take. */
tn_status tn__ew_widen(const struct tn__cpu *cpu, int32_t dtype, struct tn__ew_fn *fn,
    int32_t *out_elem, struct tn_diag *diag);

#endif
