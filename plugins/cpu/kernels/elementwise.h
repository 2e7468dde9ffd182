/* Arithmetic, comparison, logic and selection over 1-d runs, by operation and element
 * type.
 *
 * A slot is NULL where the operation does not exist for the type. Types f32, f64, the
 * eight integers and bool; the narrow floats are converted block-wise by the loop driver,
 * and move in selections by their size. All levels give the same bits.
 *
 * Rules that C leaves open: integers wrap; x / 0 and x mod 0 are 0; INT_MIN / -1 is
 * INT_MIN; integer division truncates; shifts by the width or more give 0; MAX, MIN,
 * CLAMP and RELU hand on NaN; ROUND is half to even; SIGN(NaN) is NaN; a bool is true
 * when its byte is not 0, and 0 or 1 is written. */
#ifndef TENON_CPU_ELEMENTWISE_H
#define TENON_CPU_ELEMENTWISE_H

#include "run_fn.h"
#include "tenon/isa.h"

/* dst has the element type of src, a and b unless said. */
/* clang-format off */
enum tn_unary {
    TN_UNARY_NEG,              /* f32 f64 integers */
    TN_UNARY_ABS,              /* f32 f64 integers; |INT_MIN| is INT_MIN */
    TN_UNARY_SIGN,             /* f32 f64 integers: -1 0 1 */
    TN_UNARY_RELU,             /* f32 f64 integers */
    TN_UNARY_CLAMP,            /* f32 f64 integers; {low, high}; high wins when low > high */
    TN_UNARY_SQRT,             /* f32 f64, as all below unless said */
    TN_UNARY_RECIPROCAL,
    TN_UNARY_FLOOR,
    TN_UNARY_CEIL,
    TN_UNARY_ROUND,
    TN_UNARY_SOFTSIGN,         /* x / (1 + |x|) */
    TN_UNARY_LEAKYRELU,        /* {alpha}: x < 0 ? alpha x : x */
    TN_UNARY_THRESHOLDEDRELU,  /* {alpha}: x > alpha ? x : 0; NaN gives 0 */
    TN_UNARY_HARDSIGMOID,      /* {alpha, beta}: max(0, min(1, alpha x + beta)) */
    TN_UNARY_HARDSWISH,        /* x max(0, min(1, x / 6 + 1/2)) */
    TN_UNARY_SHRINK,           /* {lambd, bias}: beyond -lambd..lambd toward 0 by bias, else 0 */
    TN_UNARY_AFFINE,           /* {alpha, beta}: alpha x + beta, two roundings; integers too */
    TN_UNARY_NOT,              /* integers: bitwise; bool: logical */
    TN_UNARY_IS_NAN,           /* f32 f64; dst is bool (one byte) */
    TN_UNARY_IS_INF,           /* f32 f64; {detect_negative, detect_positive}, 0 = no;
                                  dst is bool */
    TN_UNARY_COUNT
};

enum tn_binary {
    TN_BINARY_ADD,             /* f32 f64 integers, as all below unless said */
    TN_BINARY_SUB,
    TN_BINARY_MUL,
    TN_BINARY_DIV,
    TN_BINARY_MIN,
    TN_BINARY_MAX,
    TN_BINARY_MOD,             /* the result has the sign of b */
    TN_BINARY_FMOD,            /* C's fmod and %: the sign of a */
    TN_BINARY_POW,             /* f32 f64 (vmath.h's) integers: a negative exponent gives
                                  trunc(1 / a^-b), and the type's greatest when a is 0 */
    TN_BINARY_PRELU,           /* a < 0 ? a b : a */
    TN_BINARY_AND,             /* integers: bitwise; bool: logical; so OR, XOR */
    TN_BINARY_OR,
    TN_BINARY_XOR,
    TN_BINARY_SHL,             /* integers; b is taken as unsigned */
    TN_BINARY_SHR,             /* integers; fills with copies of the sign; b is taken as unsigned */
    TN_BINARY_EQUAL,           /* and bool; dst is bool (one byte), so all below */
    TN_BINARY_LESS,
    TN_BINARY_LESS_EQUAL,
    TN_BINARY_GREATER,
    TN_BINARY_GREATER_EQUAL,
    TN_BINARY_COUNT
};
/* clang-format on */

/* dst[i] = cond[i * step_cond] != 0 ? a[i * step_a] : b[i * step_b]; dst contiguous, may
 * equal a or b of step 1. cond is bool. */
typedef void tn_where_fn(void *dst, const uint8_t *cond, ptrdiff_t step_cond,
    const void *a, ptrdiff_t step_a, const void *b, ptrdiff_t step_b, size_t n);

struct tn_elementwise_kernels {
    tn_unary_fn *unary[TN_UNARY_COUNT][TN_ELEM_COUNT];
    tn_binary_fn *binary[TN_BINARY_COUNT][TN_ELEM_COUNT];
    tn_where_fn *where[5]; /* by log2 of the element's bytes: 1, 2, 4, 8, 16 */
};

/* Fills every slot with the best row of a level not above `isa`. [any thread] */
void tn_elementwise_kernels_init(struct tn_elementwise_kernels *kernels, enum tn_isa isa);

#endif
