/* Activations that fused operators apply to finished runs of f32: by name, one table. */
#ifndef TENON_CPU_FUSED_ACTIVATION_H
#define TENON_CPU_FUSED_ACTIVATION_H

#include "ops/ops.h"

/* A function over a run with its parameters; fn NULL: none. */
struct tn__activation {
    tn_unary_fn *fn;
    float params[2];
};

/* The activation of that name ("" is none): the lower-case operator name, e.g. "gelu",
 * "gelu_tanh", "sigmoid", "tanh", "leakyrelu". Unnamed parameters have the operator's
 * defaults. */
tn_status tn__activation_find(const struct tn__cpu *cpu, struct tn_string name,
    struct tn_attr_floats params, struct tn__activation *out, struct tn_diag *diag);

/* A tn_gemm_post_fn whose argument is a struct tn__activation. */
void tn__activation_post(const void *arg, float *const *runs, size_t count, size_t n);

#endif
