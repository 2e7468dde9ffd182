/* Tables of thresholds, and the choice of the rows of tree_rank.h. */
#include "tree_rank.h"

#include <math.h>

void tn__rank_init_c(struct tn_rank_kernels *kernels);
void tn__rank_init_avx2(struct tn_rank_kernels *kernels);
void tn__rank_init_avx512(struct tn_rank_kernels *kernels);

/* Whole nodes of the last level: at least one padding element. */
static uint32_t bottom_nodes(uint32_t count) {
    return count / TN_RANK_FAN + 1;
}

static uint32_t nodes_for(uint32_t elements) {
    return (elements + TN_RANK_FAN - 1) / TN_RANK_FAN;
}

/* Nodes of each level, the last level first; the number of levels. */
static uint32_t count_nodes(uint32_t count, uint32_t out[TN_RANK_LEVELS]) {
    uint32_t n = 0;
    out[n++] = bottom_nodes(count);
    while (out[n - 1] > 1) {
        out[n] = nodes_for(out[n - 1]);
        n++;
    }
    return n;
}

size_t tn_rank_table_size(uint32_t count) {
    uint32_t nodes[TN_RANK_LEVELS];
    size_t size = 0;
    for (uint32_t i = count_nodes(count, nodes); i-- > 0;)
        size += (size_t)nodes[i] * TN_RANK_FAN;
    return size;
}

static void lay_out(struct tn_rank_table *table, const void *levels, uint32_t count) {
    uint32_t nodes[TN_RANK_LEVELS], at = 0;
    *table = (struct tn_rank_table){.levels = levels, .count = count};
    table->n_levels = count_nodes(count, nodes);
    for (uint32_t i = 0; i < table->n_levels; i++) {
        table->start[i] = at;
        at += nodes[table->n_levels - 1 - i] * TN_RANK_FAN;
    }
}

#define FILL(T, suffix)                                                                  \
    void tn_rank_table_fill_##suffix(                                                    \
        struct tn_rank_table *table, T *levels, const T *sorted, uint32_t count) {       \
        lay_out(table, levels, count);                                                   \
        uint32_t level = table->n_levels - 1;                                            \
        uint32_t n = bottom_nodes(count) * TN_RANK_FAN;                                  \
        T *at = levels + table->start[level];                                            \
        for (uint32_t i = 0; i < n; i++)                                                 \
            at[i] = i < count ? sorted[i] : (T)INFINITY;                                 \
        while (level-- > 0) {                                                            \
            const T *below = at;                                                         \
            uint32_t nodes = n / TN_RANK_FAN;                                            \
            at = levels + table->start[level];                                           \
            n = nodes_for(nodes) * TN_RANK_FAN;                                          \
            for (uint32_t i = 0; i < n; i++)                                             \
                at[i] =                                                                  \
                    i < nodes ? below[i * TN_RANK_FAN + TN_RANK_FAN - 1] : (T)INFINITY;  \
        }                                                                                \
    }
FILL(float, f32)
FILL(double, f64)
#undef FILL

void tn_rank_kernels_init(struct tn_rank_kernels *kernels, enum tn_isa isa) {
    tn__rank_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__rank_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__rank_init_avx512(kernels);
#endif
    (void)isa;
}
