/* Operators whose arithmetic is small beside their set-up (signals, regions, determinants)
 * work in f64 whatever their element type, and round once. These helpers give such a kernel
 * its tensors as doubles; the memory lives until the end of the run. */
#ifndef TENON_CPU_DOUBLES_H
#define TENON_CPU_DOUBLES_H

#include "ops/ops.h"

/* Room for n numbers. */
tn_status tn__doubles_room(const struct tn_run_args *args, int64_t n, double **out);
/* The elements of a tensor of numbers: its own memory when they are doubles already. */
tn_status tn__doubles_read(const struct tn__kernel *kernel,
    const struct tn_run_args *args, const struct tn_tensor *tensor, const double **out);
/* Where to write the elements of `tensor`; tn__doubles_write then rounds them into it. */
tn_status tn__doubles_target(
    const struct tn_run_args *args, const struct tn_tensor *tensor, double **out);
void tn__doubles_write(
    const struct tn__kernel *kernel, struct tn_tensor *tensor, const double *numbers);

#endif
