/* Shared by the families of two broadcast operands of one element type (binary, compare,
 * bitwise, variadic): a row names the kernel slot; the rest is the same for all. */
#ifndef TENON_CPU_BROADCAST_H
#define TENON_CPU_BROADCAST_H

#include "kernels/elementwise.h"
#include "loops/elementwise.h"
#include "ops/ops.h"

struct tn__binary_row {
    const char *op_type;
    enum tn_binary slot;
    double cost;  /* nanoseconds an element takes, roughly */
    bool to_bool; /* the output is bool, else of the operands' type */
};

struct tn__binary_kernel {
    struct tn__kernel base;
    struct tn__ew_fn fn;
};

/* Chooses the inner function of a slot for an element type. */
tn_status tn__binary_setup(const struct tn__cpu *cpu, const struct tn__binary_row *row,
    int32_t dtype, struct tn__ew_fn *fn, struct tn_diag *diag);
/* Makes the kernel object for the node, whose operator is one of the rows. */
tn_status tn__binary_create(const struct tn_kernel_ctx *ctx,
    const struct tn__binary_row *rows, uint32_t n_rows, void **out);
tn_status tn__binary_workspace(
    void *kernel, const struct tn_run_args *args, struct tn_workspace *out);
tn_status tn__binary_prepare(void *kernel, const struct tn_run_args *args,
    tn_compute_fn *fn, struct tn_diag *diag);
tn_status tn__binary_compute(void *kernel, const struct tn_run_args *args);
void tn__binary_cost(void *kernel, const struct tn_run_args *args, struct tn_cost *out);

/* Members of a kernel row whose operator is a tn__binary_row. */
#define TN_BINARY_KERNEL(op, since_version)                                              \
    TN_KERNEL("", op, since_version),                                                    \
        .workspace = tn__binary_workspace, .prepare = tn__binary_prepare,                \
        .compute = tn__binary_compute, .cost = tn__binary_cost

/* Output 0 has the broadcast shape of inputs 0 and 1, and the type of input 0 or bool. */
tn_status tn__infer_binary(const struct tn_infer *infer);
tn_status tn__infer_binary_bool(const struct tn_infer *infer);
/* Combines the short integer contents of all inputs with op (TN_DIM_*), when known. */
tn_status tn__infer_content(const struct tn_infer *infer, uint32_t op);

#endif
