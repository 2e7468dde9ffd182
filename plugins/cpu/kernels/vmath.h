/* Vector mathematics: transcendental functions over contiguous runs.
 *
 * f32: one polynomial algorithm per function, written with fused multiply-adds, so that
 * every level gives the same bits for the same input, wherever it stands in the run. The
 * error is within the row's bound of vmath.inc for every input: NaN gives NaN (payload
 * unspecified), infinities, zeros' signs, overflow and denormals are as in C99 Annex F.
 * f64: the C library's function per element, the same at every level.
 * Half and narrower floats are the loop driver's affair: convert a block, call, convert.
 */
#ifndef TENON_CPU_VMATH_H
#define TENON_CPU_VMATH_H

#include "run_fn.h"
#include "tenon/isa.h"

/* Rows with f32 and f64 (vmath.inc), then rows that are the C library's in both.
 * Parameters (elements of the run's type): ELU {alpha}, CELU {alpha}, SELU {alpha,
 * gamma}, SWISH {alpha}: x * sigmoid(alpha * x). GELU is the erf form, GELU_TANH the tanh
 * form. SILU is x * sigmoid(x). SOFTPLUS is log(1 + exp(x)). MISH is x *
 * tanh(softplus(x)). */
/* clang-format off */
enum tn_vmath {
#define F(NAME, name, params, ulp) TN_VMATH_##NAME,
#include "vmath.inc"
#undef F
    TN_VMATH_TAN, TN_VMATH_ASIN, TN_VMATH_ACOS, TN_VMATH_ATAN,
    TN_VMATH_SINH, TN_VMATH_COSH, TN_VMATH_ASINH, TN_VMATH_ACOSH, TN_VMATH_ATANH,
    TN_VMATH_COUNT
};
/* clang-format on */

struct tn_vmath_kernels {
    tn_unary_fn *f32[TN_VMATH_COUNT]; /* no slot is NULL */
    tn_unary_fn *f64[TN_VMATH_COUNT];
    tn_binary_fn *pow_f32; /* a to the power b, <= 1 ulp, special cases of C's pow */
    tn_binary_fn *pow_f64;
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_vmath_kernels_init(struct tn_vmath_kernels *kernels, enum tn_isa isa);

#endif
