/* Ragged trees, AVX-512: comparisons into mask registers, which pick bytes. */
#include "../tree_ragged.h"

#include <immintrin.h>

void tn__ragged_init_avx512(struct tn_ragged_kernels *kernels);

static inline __m512i choose_8(
    const char *ranks, __m512i cut, __m512i left, __m512i right) {
    return _mm512_mask_blend_epi8(
        _mm512_cmpgt_epi8_mask(_mm512_load_si512(ranks), cut), left, right);
}

static inline __m512i choose_16(
    const char *ranks, __m512i cut, __m512i left, __m512i right) {
    const __mmask32 lo = _mm512_cmpgt_epi16_mask(_mm512_load_si512(ranks), cut);
    const __mmask32 hi = _mm512_cmpgt_epi16_mask(_mm512_load_si512(ranks + 64), cut);
    return _mm512_mask_blend_epi8(_mm512_kunpackd(hi, lo), left, right);
}

#define NAME run_8
#define T int8_t
#define BYTES __m512i
#define ROWS 64
#define CUTS __m512i
#define CUT(value) _mm512_set1_epi8(value)
#define BYTE(value) _mm512_set1_epi8((char)(value))
#define LOAD(address) _mm512_load_si512(address)
#define STORE(address, bytes) _mm512_store_si512(address, bytes)
#define OR(a, b) _mm512_or_si512(a, b)
#define CHOOSE(ranks, cut, left, right) choose_8(ranks, cut, left, right)
#include "../tree_ragged_tmpl.h"

#define NAME run_16
#define T int16_t
#define BYTES __m512i
#define ROWS 64
#define CUTS __m512i
#define CUT(value) _mm512_set1_epi16(value)
#define BYTE(value) _mm512_set1_epi8((char)(value))
#define LOAD(address) _mm512_load_si512(address)
#define STORE(address, bytes) _mm512_store_si512(address, bytes)
#define OR(a, b) _mm512_or_si512(a, b)
#define CHOOSE(ranks, cut, left, right) choose_16(ranks, cut, left, right)
#include "../tree_ragged_tmpl.h"

void tn__ragged_init_avx512(struct tn_ragged_kernels *kernels) {
    *kernels = (struct tn_ragged_kernels){{run_8, run_16}};
}
