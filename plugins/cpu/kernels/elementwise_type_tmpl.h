/* The elementwise rows of one element type. In: T the type, SUFFIX for names, ELEM its
 * number, W an unsigned type that wraps for it, BITS its width, and M(name) for a float,
 * all undefined again at the end; FLOAT, SIGNED, SCALAR_FORMS and ROWS, the file of rows,
 * which stay for the next type. */
#define GLUE_(a, b) a##_##b
#define GLUE(a, b) GLUE_(a, b)
#define NAME(name) GLUE(name, SUFFIX)

#include "elementwise_scalar.h"

static ALWAYS_INLINE void NAME(run_unary)(
    T *dst, const T *src, size_t n, const T *param, int params, T apply(T x, T p, T q)) {
    const T p = params > 0 ? param[0] : 0, q = params > 1 ? param[1] : 0;
    INDEPENDENT
    for (size_t i = 0; i < n; i++)
        dst[i] = apply(src[i], p, q);
}

static ALWAYS_INLINE void NAME(run_test)(uint8_t *dst, const T *src, size_t n,
    const T *param, int params, int apply(T x, T p, T q)) {
    const T p = params > 0 ? param[0] : 0, q = params > 1 ? param[1] : 0;
    INDEPENDENT
    for (size_t i = 0; i < n; i++)
        dst[i] = (uint8_t)apply(src[i], p, q);
}

/* Contiguous operands, one of which may be a scalar; other steps go by way of `self`. */
static ALWAYS_INLINE void NAME(run_binary)(tn_binary_fn *self, T *dst, const T *a,
    ptrdiff_t step_a, const T *b, ptrdiff_t step_b, size_t n, T apply(T a, T b)) {
    if (step_a == 1 && step_b == 1) {
        INDEPENDENT
        for (size_t i = 0; i < n; i++)
            dst[i] = apply(a[i], b[i]);
    } else if (SCALAR_FORMS && step_a == 1 && step_b == 0 && n > 0) {
        const T second = *b;
        INDEPENDENT
        for (size_t i = 0; i < n; i++)
            dst[i] = apply(a[i], second);
    } else if (SCALAR_FORMS && step_a == 0 && step_b == 1 && n > 0) {
        const T first = *a;
        INDEPENDENT
        for (size_t i = 0; i < n; i++)
            dst[i] = apply(first, b[i]);
    } else {
        run_gathered(self, sizeof(T), dst, sizeof(T), a, step_a, b, step_b, n);
    }
}

static ALWAYS_INLINE void NAME(run_compare)(tn_binary_fn *self, uint8_t *dst, const T *a,
    ptrdiff_t step_a, const T *b, ptrdiff_t step_b, size_t n, int apply(T a, T b)) {
    if (step_a == 1 && step_b == 1) {
        INDEPENDENT
        for (size_t i = 0; i < n; i++)
            dst[i] = (uint8_t)apply(a[i], b[i]);
    } else {
        run_gathered(self, 1, dst, sizeof(T), a, step_a, b, step_b, n);
    }
}

/* clang-format off */
#define U_OR_P(run, type, op, params, value)                                             \
    static inline type NAME(one_##op)(T x, T p, T q)                                     \
    {                                                                                    \
        (void)p, (void)q;                                                                \
        return value;                                                                    \
    }                                                                                    \
    static void NAME(op)(void *dst, const void *src, size_t n, const void *param)        \
    {                                                                                    \
        NAME(run)(dst, src, n, param, params, NAME(one_##op));                           \
    }
#define B_OR_C(run, type, op, value)                                                     \
    static inline type NAME(one_##op)(T a, T b)                                          \
    {                                                                                    \
        return value;                                                                    \
    }                                                                                    \
    static void NAME(op)(void *dst, const void *a, ptrdiff_t step_a, const void *b,      \
        ptrdiff_t step_b, size_t n)                                                      \
    {                                                                                    \
        NAME(run)(NAME(op), dst, a, step_a, b, step_b, n, NAME(one_##op));               \
    }
#define U(op, params, value) U_OR_P(run_unary, T, op, params, value)
#define P(op, params, value) U_OR_P(run_test, int, op, params, value)
#define B(op, value) B_OR_C(run_binary, T, op, value)
#define C(op, value) B_OR_C(run_compare, int, op, value)
#include ROWS
#undef U
#undef P
#undef B
#undef C
#undef U_OR_P
#undef B_OR_C

static void NAME(fill)(struct tn_elementwise_kernels *kernels)
{
#define U(op, params, value) kernels->unary[TN_UNARY_##op][ELEM] = NAME(op);
#define P(op, params, value) kernels->unary[TN_UNARY_##op][ELEM] = NAME(op);
#define B(op, value) kernels->binary[TN_BINARY_##op][ELEM] = NAME(op);
#define C(op, value) kernels->binary[TN_BINARY_##op][ELEM] = NAME(op);
#include ROWS
#undef U
#undef P
#undef B
#undef C
}
/* clang-format on */

#undef NAME
#undef GLUE
#undef GLUE_
#undef T
#undef W
#undef BITS
#undef SUFFIX
#undef ELEM
#undef M
