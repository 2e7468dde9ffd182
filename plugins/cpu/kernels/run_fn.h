/* Shapes of the functions that run over one 1-d run of elements, shared by the areas.
 *
 * A run is what a loop driver has left after it collapsed an n-d tensor: n elements at a
 * fixed step. Steps count elements, not bytes: 1 = contiguous, 0 = the same element n
 * times (a broadcast scalar), anything else, negative too, = strided. n may be 0. Data
 * has the alignment of its element type, no more. No function reads or writes outside its
 * runs.
 *
 * [any thread] all of them: they hold no state. */
#ifndef TENON_CPU_RUN_FN_H
#define TENON_CPU_RUN_FN_H

#include <stddef.h>
#include <stdint.h>

/* Element types as indices of kernel tables; the numbers are ONNX's TensorProto.DataType
 * (TN_FLOAT … of the SDK), which the kernels may not include.
 * X(NAME, number, bits per element) */
#define TN_ELEM_LIST(X)                                                                  \
    X(F32, 1, 32)                                                                        \
    X(U8, 2, 8)                                                                          \
    X(I8, 3, 8)                                                                          \
    X(U16, 4, 16)                                                                        \
    X(I16, 5, 16)                                                                        \
    X(I32, 6, 32)                                                                        \
    X(I64, 7, 64)                                                                        \
    X(BOOL, 9, 8)                                                                        \
    X(F16, 10, 16)                                                                       \
    X(F64, 11, 64)                                                                       \
    X(U32, 12, 32)                                                                       \
    X(U64, 13, 64)                                                                       \
    X(C64, 14, 64)                                                                       \
    X(C128, 15, 128)                                                                     \
    X(BF16, 16, 16)                                                                      \
    X(E4M3FN, 17, 8)                                                                     \
    X(E4M3FNUZ, 18, 8)                                                                   \
    X(E5M2, 19, 8)                                                                       \
    X(E5M2FNUZ, 20, 8)                                                                   \
    X(U4, 21, 4)                                                                         \
    X(I4, 22, 4)                                                                         \
    X(E2M1, 23, 4)                                                                       \
    X(E8M0, 24, 8)                                                                       \
    X(U2, 25, 2)                                                                         \
    X(I2, 26, 2)

/* clang-format off */
enum {
#define TN_ELEM_ENUM(name, number, bits) TN_ELEM_##name = number,
    TN_ELEM_LIST(TN_ELEM_ENUM)
#undef TN_ELEM_ENUM
    TN_ELEM_COUNT = 27
};
/* clang-format on */

/* dst[i] = f(src[i]), both contiguous. dst may equal src when both elements have one
 * size; any other overlap is not allowed. param: the row's parameters as elements of the
 * type of src, as many as the row's list entry says; NULL is fine for a row that has
 * none. */
typedef void tn_unary_fn(void *dst, const void *src, size_t n, const void *param);

/* dst[i] = f(a[i * step_a], b[i * step_b]), dst contiguous. dst may equal an operand
 * whose step is 1 and whose element has the size of dst's; an operand of step 0 is read
 * once, before anything is written; any other overlap is not allowed. Steps (1,1), (1,0)
 * and (0,1) are the fast ones. */
typedef void tn_binary_fn(void *dst, const void *a, ptrdiff_t step_a, const void *b,
    ptrdiff_t step_b, size_t n);

#endif
