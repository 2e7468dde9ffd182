/* Ragged trees, NEON. */
#include "../tree_ragged.h"

#include <arm_neon.h>

void tn__ragged_init_neon(struct tn_ragged_kernels *kernels);

static inline uint8x16_t choose_8(
    const char *ranks, int8x16_t cut, uint8x16_t left, uint8x16_t right) {
    return vbslq_u8(
        vcgtq_s8(vld1q_s8((const int8_t *)(const void *)ranks), cut), right, left);
}

static inline uint8x16_t choose_16(
    const char *ranks, int16x8_t cut, uint8x16_t left, uint8x16_t right) {
    const int16_t *rank = (const int16_t *)(const void *)ranks;
    const uint16x8_t lo = vcgtq_s16(vld1q_s16(rank), cut);
    const uint16x8_t hi = vcgtq_s16(vld1q_s16(rank + 8), cut);
    return vbslq_u8(vcombine_u8(vmovn_u16(lo), vmovn_u16(hi)), right, left);
}

#define NAME run_8
#define T int8_t
#define BYTES uint8x16_t
#define ROWS 16
#define CUTS int8x16_t
#define CUT(value) vdupq_n_s8(value)
#define BYTE(value) vdupq_n_u8(value)
#define LOAD(address) vld1q_u8(address)
#define STORE(address, bytes) vst1q_u8(address, bytes)
#define OR(a, b) vorrq_u8(a, b)
#define CHOOSE(ranks, cut, left, right) choose_8(ranks, cut, left, right)
#include "../tree_ragged_tmpl.h"

#define NAME run_16
#define T int16_t
#define BYTES uint8x16_t
#define ROWS 16
#define CUTS int16x8_t
#define CUT(value) vdupq_n_s16(value)
#define BYTE(value) vdupq_n_u8(value)
#define LOAD(address) vld1q_u8(address)
#define STORE(address, bytes) vst1q_u8(address, bytes)
#define OR(a, b) vorrq_u8(a, b)
#define CHOOSE(ranks, cut, left, right) choose_16(ranks, cut, left, right)
#include "../tree_ragged_tmpl.h"

void tn__ragged_init_neon(struct tn_ragged_kernels *kernels) {
    *kernels = (struct tn_ragged_kernels){{run_8, run_16}};
}
