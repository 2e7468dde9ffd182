/* Choice of the vector mathematics rows, and the rows that are the C library's: every f64
 * row, and those f32 rows that are too rare to have an algorithm of their own. */
#include "vmath.h"
#include <math.h>

void tn__vmath_init_c(struct tn_vmath_kernels *kernels);
void tn__vmath_init_avx2(struct tn_vmath_kernels *kernels);
void tn__vmath_init_avx512(struct tn_vmath_kernels *kernels);

/* x / (1 + e^-u); 0 where u is -inf, although x may be infinite. */
static double logistic(double x, double u) {
    if (u > 0 || u != u) return x / (1 + exp(-u));
    double z = exp(u);
    return z == 0 ? copysign(0.0, x) : x * (z / (1 + z));
}

static double gelu(double x) {
    double tail = erfc(fabs(x) * 0x1.6a09e667f3bcdp-1) * 0.5;
    if (x >= 0) return isinf(x) ? x : x - x * tail;
    return tail == 0 ? -0.0 : x * tail;
}

static double mish(double x) {
    if (x > 0 || x != x) return x * tanh(x + log1p(exp(-x)));
    double z = exp(x);
    return z == 0 ? -0.0 : x * tanh(log1p(z));
}

static double softplus(double x) {
    double tail = log1p(exp(-fabs(x)));
    return x != x ? x : (x > 0 ? x : 0) + tail;
}

/* X(NAME, value of x with the parameters p) */
/* clang-format off */
#define F64_LIST(X)                                                                      \
    X(EXP, exp(x))                                                                       \
    X(LOG, log(x))                                                                       \
    X(LOG1P, log1p(x))                                                                   \
    X(EXPM1, expm1(x))                                                                   \
    X(ERF, erf(x))                                                                       \
    X(TANH, tanh(x))                                                                     \
    X(SIN, sin(x))                                                                       \
    X(COS, cos(x))                                                                       \
    X(SIGMOID, logistic(1, x))                                                           \
    X(GELU, gelu(x))                                                                     \
    X(GELU_TANH, logistic(x, x * (0x1.9884533d43651p+0 + 0x1.2444f2a4d8b4bp-4 * x * x))) \
    X(SILU, logistic(x, x))                                                              \
    X(SOFTPLUS, softplus(x))                                                             \
    X(MISH, mish(x))                                                                     \
    X(ELU, x > 0 ? x : p[0] * expm1(x))                                                  \
    X(CELU, x > 0 ? x : p[0] * expm1(x / p[0]))                                          \
    X(SELU, p[1] * (x > 0 ? x : p[0] * expm1(x)))                                        \
    X(SWISH, logistic(x, p[0] * x))

/* X(NAME, name): tan for f64 and tanf for f32, and so on. */
#define BOTH_LIST(X)                                                                     \
    X(TAN, tan)                                                                          \
    X(ASIN, asin)                                                                        \
    X(ACOS, acos)                                                                        \
    X(ATAN, atan)                                                                        \
    X(SINH, sinh)                                                                        \
    X(COSH, cosh)                                                                        \
    X(ASINH, asinh)                                                                      \
    X(ACOSH, acosh)                                                                      \
    X(ATANH, atanh)

#define LOOP(name, type, value)                                                          \
    static void name(void *dst, const void *src, size_t n, const void *param)            \
    {                                                                                    \
        const type *in = src, *p = param;                                                \
        type *out = dst;                                                                 \
        (void)p;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                 \
            const type x = in[i];                                                        \
            out[i] = value;                                                              \
        }                                                                                \
    }
#define LOOP_F64(NAME, value) LOOP(f64_##NAME, double, value)
#define LOOP_BOTH(NAME, name) LOOP(f64_##NAME, double, name(x)) LOOP(f32_##NAME, float, name##f(x))
F64_LIST(LOOP_F64)
BOTH_LIST(LOOP_BOTH)
#undef LOOP_F64
#undef LOOP_BOTH
#undef LOOP
/* clang-format on */

static void pow_f64(void *dst, const void *a, ptrdiff_t step_a, const void *b,
    ptrdiff_t step_b, size_t n) {
    const double *base = a, *exponent = b;
    double *out = dst;
    const double base_first = n > 0 ? base[0] : 0,
                 exponent_first = n > 0 ? exponent[0] : 0;
    for (size_t i = 0; i < n; i++) {
        double x = step_a == 0 ? base_first : base[(ptrdiff_t)i * step_a];
        double y = step_b == 0 ? exponent_first : exponent[(ptrdiff_t)i * step_b];
        out[i] = pow(x, y);
    }
}

void tn_vmath_kernels_init(struct tn_vmath_kernels *kernels, enum tn_isa isa) {
#define SET_F64(NAME, value) kernels->f64[TN_VMATH_##NAME] = f64_##NAME;
    F64_LIST(SET_F64)
    BOTH_LIST(SET_F64)
#undef SET_F64
#define SET_F32(NAME, name) kernels->f32[TN_VMATH_##NAME] = f32_##NAME;
    BOTH_LIST(SET_F32)
#undef SET_F32
    kernels->pow_f64 = pow_f64;
    tn__vmath_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__vmath_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__vmath_init_avx512(kernels);
#endif
    (void)isa;
}
