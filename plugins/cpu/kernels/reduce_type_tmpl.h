/* Reductions of one element type other than f32. In: T, SUFFIX, ELEM, LOWEST, HIGHEST and W,
 * an unsigned type that wraps for T or T itself for a float, all undefined at the end;
 * ABSOLUTE(x), IS_NAN(x) and CHAINS, which stay for the next type. Element i goes into
 * accumulator i mod CHAINS, and these are joined pairwise: chains that the compiler may turn
 * into vectors. Integers need but one, since their order does not matter. */
#define GLUE_(a, b) a##_##b
#define GLUE(a, b) GLUE_(a, b)
#define NAME(name) GLUE(name, SUFFIX)

/* clang-format off */
#define TYPE_LIST(R)                                                                     \
    R(SUM, 0, (T)((W)a + (W)x), (T)((W)a + (W)x))                                        \
    R(L1, 0, (T)((W)a + (W)ABSOLUTE(x)), (T)((W)a + (W)x))          \
    R(SUMSQ, 0, (T)((W)a + (W)x * (W)x), (T)((W)a + (W)x))                               \
    R(PROD, 1, (T)((W)a * (W)x), (T)((W)a * (W)x))                                       \
    R(MAX, LOWEST, ((x > a) | IS_NAN(x)) ? x : a, ((x > a) | IS_NAN(x)) ? x : a)           \
    R(MIN, HIGHEST, ((x < a) | IS_NAN(x)) ? x : a, ((x < a) | IS_NAN(x)) ? x : a)

#define R(op, start, step, join)                                                         \
    static inline T NAME(op##_step)(T a, T x)                                            \
    {                                                                                    \
        return step;                                                                     \
    }                                                                                    \
    static inline T NAME(op##_join)(T a, T x)                                            \
    {                                                                                    \
        return join;                                                                     \
    }
TYPE_LIST(R)
#undef R
/* clang-format on */

static ALWAYS_INLINE void NAME(reduce_row)(
    T *dst, const T *src, size_t n, T start, T step(T a, T x), T join(T a, T x)) {
    T acc[CHAINS], total = start;
    for (size_t begin = 0; begin < n; begin += STRETCH) {
        const size_t end = n - begin < STRETCH ? n : begin + STRETCH;
        size_t i = begin;
        for (int j = 0; j < CHAINS; j++)
            acc[j] = start;
        for (; i + CHAINS <= end; i += CHAINS) {
            for (int j = 0; j < CHAINS; j++)
                acc[j] = step(acc[j], src[i + (size_t)j]);
        }
        for (int j = 0; i < end; i++, j++)
            acc[j] = step(acc[j], src[i]);
        for (int half = CHAINS / 2; half > 0; half /= 2) {
            for (int j = 0; j < half; j++)
                acc[j] = join(acc[j], acc[j + half]);
        }
        total = join(total, acc[0]);
    }
    *dst = total;
}

static ALWAYS_INLINE void NAME(reduce_column)(T *dst, const T *src, ptrdiff_t row_step,
    size_t rows, size_t n, T start, T step(T a, T x)) {
    for (size_t j = 0; j < n; j++)
        dst[j] = start;
    for (size_t i = 0; i < rows; i++) {
        const T *row = src + (ptrdiff_t)i * row_step;
        INDEPENDENT
        for (size_t j = 0; j < n; j++)
            dst[j] = step(dst[j], row[j]);
    }
}

/* clang-format off */
#define R(op, start, step, join)                                                         \
    static void NAME(row_##op)(void *dst, const void *src, size_t n)                     \
    {                                                                                    \
        NAME(reduce_row)(dst, src, n, start, NAME(op##_step), NAME(op##_join));          \
    }                                                                                    \
    static void NAME(column_##op)(                                                       \
        void *dst, const void *src, ptrdiff_t row_step, size_t rows, size_t n)           \
    {                                                                                    \
        NAME(reduce_column)(dst, src, row_step, rows, n, start, NAME(op##_step));        \
    }
TYPE_LIST(R)
#undef R

static void NAME(fill)(struct tn_reduce_kernels *kernels)
{
#define R(op, start, step, join)                                                         \
    kernels->row[TN_REDUCE_##op][ELEM] = NAME(row_##op);                                 \
    kernels->column[TN_REDUCE_##op][ELEM] = NAME(column_##op);
    TYPE_LIST(R)
#undef R
}
/* clang-format on */

#undef TYPE_LIST
#undef NAME
#undef GLUE
#undef GLUE_
#undef T
#undef W
#undef SUFFIX
#undef ELEM
#undef LOWEST
#undef HIGHEST
