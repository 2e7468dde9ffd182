/* Ranks by whole nodes: one comparison of the value with a node of TN_RANK_FAN thresholds
 * gives the number of those below it, which is the node to look at on the level beneath.
 * Sixteen rows a feature are in flight by themselves: no row waits for another.
 *
 * Wants: below_f32 and below_f64 (node, value), the number of the 16 elements at `node`
 * that are below the value; a NaN gives 0. */
#include "tree_rank.h"

#define RANK(name, T, D, bias, below)                                                    \
    static void name(void *dst, size_t dst_step, const void *src, size_t src_step,       \
        size_t n, const struct tn_rank_table *table, bool nan_right) {                   \
        const T *levels[TN_RANK_LEVELS], *x = src;                                       \
        const uint32_t n_levels = table->n_levels;                                       \
        const int32_t nan_rank = (nan_right ? (int32_t)table->count : 0) - bias;         \
        D *out = dst;                                                                    \
        for (uint32_t l = 0; l < n_levels; l++)                                          \
            levels[l] = (const T *)table->levels + table->start[l];                      \
        if (n_levels == 2) {                                                             \
            for (size_t i = 0; i < n; i++) {                                             \
                const T value = x[i * src_step];                                         \
                uint32_t rank = below(levels[0], value);                                 \
                rank = rank * TN_RANK_FAN +                                              \
                       below(levels[1] + (size_t)rank * TN_RANK_FAN, value);             \
                out[i * dst_step] =                                                      \
                    (D)(value == value ? (int32_t)rank - bias : nan_rank);               \
            }                                                                            \
            return;                                                                      \
        }                                                                                \
        for (size_t i = 0; i < n; i++) {                                                 \
            const T value = x[i * src_step];                                             \
            uint32_t rank = 0;                                                           \
            for (uint32_t l = 0; l < n_levels; l++)                                      \
                rank = rank * TN_RANK_FAN +                                              \
                       below(levels[l] + (size_t)rank * TN_RANK_FAN, value);             \
            out[i * dst_step] = (D)(value == value ? (int32_t)rank - bias : nan_rank);   \
        }                                                                                \
    }
RANK(rank_f32_8, float, int8_t, 128, below_f32)
RANK(rank_f32_16, float, int16_t, 32768, below_f32)
RANK(rank_f64_8, double, int8_t, 128, below_f64)
RANK(rank_f64_16, double, int16_t, 32768, below_f64)
#undef RANK
