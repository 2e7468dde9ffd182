/* Perfect and oblivious trees over ranks, the reference: each row walks down. */
#include "tree_slice.h"

void tn__slice_init_c(struct tn_slice_kernels *kernels);

#define WALK(suffix, T)                                                                  \
    static void perfect_##suffix(uint8_t *leaf, const void *ranks,                       \
        const struct tn_slice_nodes *nodes, size_t n) {                                  \
        const T *cut = nodes->cut;                                                       \
        for (size_t r = 0; r < n; r++) {                                                 \
            size_t at = 1;                                                               \
            for (uint32_t level = 0; level < nodes->depth; level++) {                    \
                const T *column =                                                        \
                    (const T *)(const void *)((const char *)ranks + nodes->column[at]);  \
                at = 2 * at + (column[r] > cut[at]);                                     \
            }                                                                            \
            leaf[r] = (uint8_t)(at - ((size_t)1 << nodes->depth));                       \
        }                                                                                \
    }                                                                                    \
    static void oblivious_##suffix(uint8_t *leaf, const void *ranks,                     \
        const struct tn_slice_nodes *nodes, size_t n) {                                  \
        const T *cut = nodes->cut;                                                       \
        for (size_t r = 0; r < n; r++) {                                                 \
            size_t at = 0;                                                               \
            for (uint32_t level = 0; level < nodes->depth; level++) {                    \
                const T *column = (const T *)(const void *)((const char *)ranks +        \
                                                            nodes->column[level]);       \
                at = 2 * at + (column[r] > cut[level]);                                  \
            }                                                                            \
            leaf[r] = (uint8_t)at;                                                       \
        }                                                                                \
    }
WALK(8, int8_t)
WALK(16, int16_t)
#undef WALK

#define ADD(suffix, T)                                                                   \
    static void add_##suffix(                                                            \
        T *sum, const T *value, const uint8_t *leaf, size_t n, uint32_t depth) {         \
        (void)depth;                                                                     \
        for (size_t r = 0; r < n; r++)                                                   \
            sum[r] += value[leaf[r]];                                                    \
    }
ADD(f32, float)
ADD(f64, double)
#undef ADD

void tn__slice_init_c(struct tn_slice_kernels *kernels) {
    *kernels = (struct tn_slice_kernels){
        .perfect = {perfect_8, perfect_16},
        .oblivious = {oblivious_8, oblivious_16},
        .add_f32 = add_f32,
        .add_f64 = add_f64,
    };
}
