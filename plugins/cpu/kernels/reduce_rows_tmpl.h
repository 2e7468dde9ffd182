/* Reductions, one body for all levels; each reduce_rows_<level> file includes it. f32 goes
 * through the vector layer, the other types through loops for the compiler. */
#include "reduce_rows.h"
#include "simd/lanes.h"
#include "simd/loops.h"
#include "simd/vmath_core.h"
#include <math.h>

enum { STRETCH = LANES_STRETCH, BLOCK_ROWS = 64 };

#define ABSOLUTE(x) fabs(x)
#define IS_NAN(x) ((x) != (x))
#define CHAINS 16
#define T double
#define W double
#define SUFFIX f64
#define ELEM TN_ELEM_F64
#define LOWEST -(double)INFINITY
#define HIGHEST (double)INFINITY
#include "reduce_type_tmpl.h"
#undef ABSOLUTE
#undef IS_NAN
#undef CHAINS

/* Integers move at memory speed with AVX2 already: the AVX-512 level keeps those rows. */
#ifndef __AVX512F__
#define IS_NAN(x) 0
#define CHAINS 1
#define ABSOLUTE(x) ((x) < 0 ? (T)(0 - (W)(x)) : (x))
#define T int8_t
#define W uint32_t
#define SUFFIX i8
#define ELEM TN_ELEM_I8
#define LOWEST INT8_MIN
#define HIGHEST INT8_MAX
#include "reduce_type_tmpl.h"
#define T int16_t
#define W uint32_t
#define SUFFIX i16
#define ELEM TN_ELEM_I16
#define LOWEST INT16_MIN
#define HIGHEST INT16_MAX
#include "reduce_type_tmpl.h"
#define T int32_t
#define W uint32_t
#define SUFFIX i32
#define ELEM TN_ELEM_I32
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#include "reduce_type_tmpl.h"
#define T int64_t
#define W uint64_t
#define SUFFIX i64
#define ELEM TN_ELEM_I64
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "reduce_type_tmpl.h"
#undef ABSOLUTE
#define ABSOLUTE(x) (x)
#define T uint8_t
#define W uint32_t
#define SUFFIX u8
#define ELEM TN_ELEM_U8
#define LOWEST 0
#define HIGHEST UINT8_MAX
#include "reduce_type_tmpl.h"
#define T uint16_t
#define W uint32_t
#define SUFFIX u16
#define ELEM TN_ELEM_U16
#define LOWEST 0
#define HIGHEST UINT16_MAX
#include "reduce_type_tmpl.h"
#define T uint32_t
#define W uint32_t
#define SUFFIX u32
#define ELEM TN_ELEM_U32
#define LOWEST 0
#define HIGHEST UINT32_MAX
#include "reduce_type_tmpl.h"
#define T uint64_t
#define W uint64_t
#define SUFFIX u64
#define ELEM TN_ELEM_U64
#define LOWEST 0
#define HIGHEST UINT64_MAX
#include "reduce_type_tmpl.h"
#undef ABSOLUTE
#undef IS_NAN
#undef CHAINS
#endif

static inline vf step_l1(vf acc, vf x, vf param) {
    (void)param;
    return vf_add(acc, vf_abs(x));
}

static inline vf step_sumsq(vf acc, vf x, vf param) {
    (void)param;
    return vf_fma(x, x, acc);
}

static inline vf step_prod(vf acc, vf x, vf param) {
    (void)param;
    return vf_mul(acc, x);
}

static inline vf step_exp(vf acc, vf x, vf max) {
    return vf_add(acc, vf_exp(vf_sub(x, max)));
}

static double sum_exp(const float *src, size_t n, float max) {
    return lanes_sum(src, n, max, step_exp);
}

/* Sums of blocks of rows in f32, of blocks in f64. */
static ALWAYS_INLINE void sum_column(float *dst, const float *src, ptrdiff_t row_step,
    size_t rows, size_t n, lanes_step_fn *step) {
    for (size_t j = 0; j < n; j += VF_LANES) {
        const size_t count = lanes_count(j, n);
        vd total = vd_set1(0.0);
        for (size_t i = 0; i < rows; i += BLOCK_ROWS) {
            const size_t end = rows - i < BLOCK_ROWS ? rows : i + BLOCK_ROWS;
            vf acc = vf_set1(0.0f);
            for (size_t r = i; r < end; r++) {
                vf x = vf_load_part(src + (ptrdiff_t)r * row_step + j, count);
                acc = step(acc, x, acc);
            }
            total = vd_add(total, vd_from_vf(acc));
        }
        vf_store_part(dst + j, vf_from_vd(total), count);
    }
}

static ALWAYS_INLINE void fold_column(float *dst, const float *src, ptrdiff_t row_step,
    size_t rows, size_t n, float start, lanes_step_fn *step) {
    for (size_t j = 0; j < n; j += VF_LANES) {
        const size_t count = lanes_count(j, n);
        vf acc = vf_set1(start);
        for (size_t r = 0; r < rows; r++) {
            vf x = vf_load_part(src + (ptrdiff_t)r * row_step + j, count);
            acc = step(acc, x, acc);
        }
        vf_store_part(dst + j, acc, count);
    }
}

/* X(op, step): sums. Y(op, start, step): folds. */
/* clang-format off */
#define F32_SUM_LIST(X)                                                                  \
    X(SUM, lanes_add)                                                                    \
    X(L1, step_l1)                                                                       \
    X(SUMSQ, step_sumsq)
#define F32_FOLD_LIST(Y)                                                                 \
    Y(PROD, 1.0f, step_prod)                                                             \
    Y(MAX, -INFINITY, lanes_max)                                                         \
    Y(MIN, INFINITY, lanes_min)

#define X(op, step)                                                                      \
    static void row_##op(void *dst, const void *src, size_t n)                           \
    {                                                                                    \
        *(float *)dst = (float)lanes_sum(src, n, 0.0f, step);                            \
    }                                                                                    \
    static void column_##op(                                                             \
        void *dst, const void *src, ptrdiff_t row_step, size_t rows, size_t n)           \
    {                                                                                    \
        sum_column(dst, src, row_step, rows, n, step);                                   \
    }
#define Y(op, start, step)                                                               \
    static void row_##op(void *dst, const void *src, size_t n)                           \
    {                                                                                    \
        *(float *)dst = lanes_reduce(src, n, start, 0.0f, step, step);                   \
    }                                                                                    \
    static void column_##op(                                                             \
        void *dst, const void *src, ptrdiff_t row_step, size_t rows, size_t n)           \
    {                                                                                    \
        fold_column(dst, src, row_step, rows, n, start, step);                           \
    }
F32_SUM_LIST(X)
F32_FOLD_LIST(Y)
#undef X
#undef Y
/* clang-format on */

void TN_LEVEL_NAME(tn__reduce_init)(struct tn_reduce_kernels *kernels);

void TN_LEVEL_NAME(tn__reduce_init)(struct tn_reduce_kernels *kernels) {
#define X(op, step)                                                                      \
    kernels->row[TN_REDUCE_##op][TN_ELEM_F32] = row_##op;                                \
    kernels->column[TN_REDUCE_##op][TN_ELEM_F32] = column_##op;
#define Y(op, start, step) X(op, step)
    F32_SUM_LIST(X)
    F32_FOLD_LIST(Y)
#undef X
#undef Y
    kernels->sum_exp = sum_exp;
    fill_f64(kernels);
#ifndef __AVX512F__
    fill_i8(kernels), fill_i16(kernels), fill_i32(kernels), fill_i64(kernels);
    fill_u8(kernels), fill_u16(kernels), fill_u32(kernels), fill_u64(kernels);
    for (int op = TN_REDUCE_MAX; op <= TN_REDUCE_MIN; op++) {
        kernels->row[op][TN_ELEM_BOOL] = kernels->row[op][TN_ELEM_U8];
        kernels->column[op][TN_ELEM_BOOL] = kernels->column[op][TN_ELEM_U8];
    }
#endif
}
