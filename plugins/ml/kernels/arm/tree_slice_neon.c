/* Sliced trees, NEON. As the AVX2 rows, on 16 bytes or 8 words. */
#include "../tree_slice.h"

#include <arm_neon.h>

void tn__slice_init_neon(struct tn_slice_kernels *kernels);

/* The numbers of leaves: bits[l] is worth 2^(depth - 1 - l). */
static inline __attribute__((always_inline)) uint8x16_t number8(
    const uint8x16_t *bits, uint32_t depth) {
    uint8x16_t all = vdupq_n_u8(0);
    for (uint32_t l = 0; l < depth; l++)
        all = vorrq_u8(
            all, vandq_u8(bits[l], vdupq_n_u8((uint8_t)(1u << (depth - 1 - l)))));
    return all;
}

static inline __attribute__((always_inline)) uint8x8_t number16(
    const uint16x8_t *bits, uint32_t depth) {
    uint16x8_t all = vdupq_n_u16(0);
    for (uint32_t l = 0; l < depth; l++)
        all = vorrq_u16(
            all, vandq_u16(bits[l], vdupq_n_u16((uint16_t)(1u << (depth - 1 - l)))));
    return vmovn_u16(all);
}

#define V uint8x16_t
#define T int8_t
#define LANES 16
#define LOAD(address) vld1q_s8((const int8_t *)(const void *)(address))
#define CUT(cut) vdupq_n_s8(cut)
#define RIGHT(rank, cut) vcgtq_s8(rank, cut)
#define PICK(selector, left, right) vbslq_u8(selector, right, left)
#define STORE(leaf, bits, depth) vst1q_u8(leaf, number8(bits, depth))
#define NAME(verb) verb##_8
#include "../tree_slice_tmpl.h"

#define V uint16x8_t
#define T int16_t
#define LANES 8
#define LOAD(address) vld1q_s16((const int16_t *)(const void *)(address))
#define CUT(cut) vdupq_n_s16(cut)
#define RIGHT(rank, cut) vcgtq_s16(rank, cut)
#define PICK(selector, left, right) vbslq_u16(selector, right, left)
#define STORE(leaf, bits, depth) vst1_u8(leaf, number16(bits, depth))
#define NAME(verb) verb##_16
#include "../tree_slice_tmpl.h"

void tn__slice_init_neon(struct tn_slice_kernels *kernels) {
    kernels->perfect[0] = perfect_8;
    kernels->perfect[1] = perfect_16;
    kernels->oblivious[0] = oblivious_8;
    kernels->oblivious[1] = oblivious_16;
}
