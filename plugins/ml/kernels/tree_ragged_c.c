/* Ragged trees, the reference: the steps as they are written. */
#include "tree_ragged.h"

void tn__ragged_init_c(struct tn_ragged_kernels *kernels);

#define RUN(suffix, T)                                                                   \
    static void run_##suffix(uint8_t *slots, const void *ranks,                          \
        const struct tn_ragged_step *steps, size_t n_steps, size_t n) {                  \
        for (size_t r = 0; r < n; r++)                                                   \
            slots[r] = 0;                                                                \
        for (const struct tn_ragged_step *step = steps; step < steps + n_steps;          \
             step++) {                                                                   \
            const T *column =                                                            \
                (const T *)(const void *)((const char *)ranks + step->column);           \
            for (size_t r = 0; r < n; r++) {                                             \
                const int side = column[r] > step->cut;                                  \
                slots[step->to * n + r] =                                                \
                    slots[step->from[side] * n + r] | step->leaf[side];                  \
            }                                                                            \
        }                                                                                \
    }
RUN(8, int8_t)
RUN(16, int16_t)
#undef RUN

void tn__ragged_init_c(struct tn_ragged_kernels *kernels) {
    *kernels = (struct tn_ragged_kernels){{run_8, run_16}};
}
