/* Elementwise kernels, one body for all levels; each elementwise_<level> file includes it.
 * The loops are plain C that the compiler turns into the level's vectors: the operations are
 * exact or correctly rounded, so all levels agree. */
#include "elementwise.h"
#include "simd/level.h"
#include "simd/loops.h"
#include <math.h>
#include <string.h>

enum {
    GATHER_MAX = 128 /* elements */
};

/* Makes n elements of `size` bytes at a step contiguous. */
static void gather(char *dst, const char *src, ptrdiff_t step, size_t size, size_t n) {
    ptrdiff_t bytes = step * (ptrdiff_t)size;
#define COPY(type)                                                                       \
    for (size_t i = 0; i < n; i++, src += bytes)                                         \
    memcpy(dst + i * sizeof(type), src, sizeof(type))
    if (size == 1) {
        COPY(uint8_t);
    } else if (size == 2) {
        COPY(uint16_t);
    } else if (size == 4) {
        COPY(uint32_t);
    } else {
        COPY(uint64_t);
    }
#undef COPY
}

/* Runs `self` over blocks of operands made contiguous; a broadcast one is made so once. */
static void run_gathered(tn_binary_fn *self, size_t dst_size, void *dst, size_t size,
    const void *a, ptrdiff_t step_a, const void *b, ptrdiff_t step_b, size_t n) {
    uint64_t first[GATHER_MAX], second[GATHER_MAX];
    const size_t block = n < GATHER_MAX ? n : GATHER_MAX;
    if (n > 0 && step_a == 0) gather((char *)first, a, 0, size, block);
    if (n > 0 && step_b == 0) gather((char *)second, b, 0, size, block);
    for (size_t i = 0; i < n; i += block) {
        const size_t count = n - i < block ? n - i : block;
        const char *from_a = (const char *)a + (ptrdiff_t)(i * size) * step_a;
        const char *from_b = (const char *)b + (ptrdiff_t)(i * size) * step_b;
        if (step_a != 0 && step_a != 1)
            gather((char *)first, from_a, step_a, size, count);
        if (step_b != 0 && step_b != 1)
            gather((char *)second, from_b, step_b, size, count);
        self((char *)dst + i * dst_size, step_a == 1 ? (const void *)from_a : first, 1,
            step_b == 1 ? (const void *)from_b : second, 1, count);
    }
}

#define FLOAT 1
#define SIGNED 1
#define SCALAR_FORMS 1
#define ROWS "elementwise_float.inc"
#define T float
#define SUFFIX f32
#define ELEM TN_ELEM_F32
#define M(name) name##f
#include "elementwise_type_tmpl.h"
#define T double
#define SUFFIX f64
#define ELEM TN_ELEM_F64
#define M(name) name
#include "elementwise_type_tmpl.h"
#undef FLOAT
#undef SCALAR_FORMS
#undef ROWS

/* Integers, logic and selection move at memory speed with AVX2 already: the AVX-512 level
 * keeps those rows and saves their size. */
#ifndef __AVX512F__
#define FLOAT 0
#define SCALAR_FORMS 0
#define ROWS "elementwise_int.inc"
#define T int8_t
#define W uint32_t
#define BITS 8
#define SUFFIX i8
#define ELEM TN_ELEM_I8
#include "elementwise_type_tmpl.h"
#define T int16_t
#define W uint32_t
#define BITS 16
#define SUFFIX i16
#define ELEM TN_ELEM_I16
#include "elementwise_type_tmpl.h"
#define T int32_t
#define W uint32_t
#define BITS 32
#define SUFFIX i32
#define ELEM TN_ELEM_I32
#include "elementwise_type_tmpl.h"
#define T int64_t
#define W uint64_t
#define BITS 64
#define SUFFIX i64
#define ELEM TN_ELEM_I64
#include "elementwise_type_tmpl.h"
#undef SIGNED
#define SIGNED 0
#define T uint8_t
#define W uint32_t
#define BITS 8
#define SUFFIX u8
#define ELEM TN_ELEM_U8
#include "elementwise_type_tmpl.h"
#define T uint16_t
#define W uint32_t
#define BITS 16
#define SUFFIX u16
#define ELEM TN_ELEM_U16
#include "elementwise_type_tmpl.h"
#define T uint32_t
#define W uint32_t
#define BITS 32
#define SUFFIX u32
#define ELEM TN_ELEM_U32
#include "elementwise_type_tmpl.h"
#define T uint64_t
#define W uint64_t
#define BITS 64
#define SUFFIX u64
#define ELEM TN_ELEM_U64
#include "elementwise_type_tmpl.h"
#undef ROWS

#define ROWS "elementwise_bool.inc"
#define T uint8_t
#define W uint32_t
#define BITS 8
#define SUFFIX bool
#define ELEM TN_ELEM_BOOL
#include "elementwise_type_tmpl.h"

/* dst = cond ? a : b for one size; a scalar operand has step 0. */
#define WHERE(type)                                                                      \
    static ALWAYS_INLINE void where_steps_##type(type *dst, const uint8_t *cond,         \
        ptrdiff_t step_cond, const type *a, ptrdiff_t step_a, const type *b,             \
        ptrdiff_t step_b, size_t n) {                                                    \
        INDEPENDENT                                                                      \
        for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {                                   \
            const type x = a[i * step_a], y = b[i * step_b];                             \
            dst[i] = cond[i * step_cond] != 0 ? x : y;                                   \
        }                                                                                \
    }                                                                                    \
    static void where_##type(void *dst, const uint8_t *cond, ptrdiff_t step_cond,        \
        const void *a, ptrdiff_t step_a, const void *b, ptrdiff_t step_b, size_t n) {    \
        const type scalar_a = n > 0 ? *(const type *)a : (type){0};                      \
        const type scalar_b = n > 0 ? *(const type *)b : (type){0};                      \
        if (step_a == 0) a = &scalar_a;                                                  \
        if (step_b == 0) b = &scalar_b;                                                  \
        if (step_cond == 1 && step_a == 1 && step_b == 1)                                \
            where_steps_##type(dst, cond, 1, a, 1, b, 1, n);                             \
        else if (step_cond == 1 && step_a == 1 && step_b == 0)                           \
            where_steps_##type(dst, cond, 1, a, 1, b, 0, n);                             \
        else if (step_cond == 1 && step_a == 0 && step_b == 1)                           \
            where_steps_##type(dst, cond, 1, a, 0, b, 1, n);                             \
        else                                                                             \
            where_steps_##type(dst, cond, step_cond, a, step_a, b, step_b, n);           \
    }

typedef struct {
    uint64_t half[2];
} wide_t;

WHERE(uint8_t)
WHERE(uint16_t)
WHERE(uint32_t)
WHERE(uint64_t)
WHERE(wide_t)
#undef WHERE
#endif

void TN_LEVEL_NAME(tn__elementwise_init)(struct tn_elementwise_kernels *kernels);

void TN_LEVEL_NAME(tn__elementwise_init)(struct tn_elementwise_kernels *kernels) {
    fill_f32(kernels), fill_f64(kernels);
#ifndef __AVX512F__
    fill_bool(kernels);
    fill_i8(kernels), fill_i16(kernels), fill_i32(kernels), fill_i64(kernels);
    fill_u8(kernels), fill_u16(kernels), fill_u32(kernels), fill_u64(kernels);
    kernels->where[0] = where_uint8_t;
    kernels->where[1] = where_uint16_t;
    kernels->where[2] = where_uint32_t;
    kernels->where[3] = where_uint64_t;
    kernels->where[4] = where_wide_t;
#endif
}
