/* Ranks, the reference: how many thresholds are below the value. */
#include "tree_rank.h"

void tn__rank_init_c(struct tn_rank_kernels *kernels);

/* A bisection without branches: `base` is the number of thresholds known to be below. */
#define RANK(name, T, D, bias)                                                           \
    static void name(void *dst, size_t dst_step, const void *src, size_t src_step,       \
        size_t n, const struct tn_rank_table *table, bool nan_right) {                   \
        const T *sorted = (const T *)table->levels + table->start[table->n_levels - 1];  \
        const T *x = src;                                                                \
        D *out = dst;                                                                    \
        for (size_t i = 0; i < n; i++) {                                                 \
            const T value = x[i * src_step];                                             \
            size_t base = 0, length = table->count;                                      \
            while (length > 0) {                                                         \
                size_t half = (length + 1) / 2;                                          \
                base += sorted[base + half - 1] < value ? half : 0;                      \
                length -= half;                                                          \
            }                                                                            \
            if (value != value) base = nan_right ? table->count : 0;                     \
            out[i * dst_step] = (D)((int32_t)base - bias);                               \
        }                                                                                \
    }
RANK(rank_f32_8, float, int8_t, 128)
RANK(rank_f32_16, float, int16_t, 32768)
RANK(rank_f64_8, double, int8_t, 128)
RANK(rank_f64_16, double, int16_t, 32768)
#undef RANK

void tn__rank_init_c(struct tn_rank_kernels *kernels) {
    *kernels = (struct tn_rank_kernels){{
        [TN_RANK_F32] = {rank_f32_8, rank_f32_16},
        [TN_RANK_F64] = {rank_f64_8, rank_f64_16},
    }};
}
