/* Ragged trees, AVX2. */
#include "../tree_ragged.h"

#include <immintrin.h>

void tn__ragged_init_avx2(struct tn_ragged_kernels *kernels);

static inline __m256i load(const void *address) {
    return _mm256_load_si256((const __m256i *)address);
}

static inline __m256i choose_8(
    const char *ranks, __m256i cut, __m256i left, __m256i right) {
    return _mm256_blendv_epi8(left, right, _mm256_cmpgt_epi8(load(ranks), cut));
}

static inline __m256i choose_16(
    const char *ranks, __m256i cut, __m256i left, __m256i right) {
    const __m256i lo = _mm256_cmpgt_epi16(load(ranks), cut);
    const __m256i hi = _mm256_cmpgt_epi16(load(ranks + 32), cut);
    /* packing goes by halves: quarters 0 and 2 are lo's */
    return _mm256_blendv_epi8(
        left, right, _mm256_permute4x64_epi64(_mm256_packs_epi16(lo, hi), 0xD8));
}

#define NAME run_8
#define T int8_t
#define BYTES __m256i
#define ROWS 32
#define CUTS __m256i
#define CUT(value) _mm256_set1_epi8(value)
#define BYTE(value) _mm256_set1_epi8((char)(value))
#define LOAD(address) load(address)
#define STORE(address, bytes) _mm256_store_si256((__m256i *)(void *)(address), bytes)
#define OR(a, b) _mm256_or_si256(a, b)
#define CHOOSE(ranks, cut, left, right) choose_8(ranks, cut, left, right)
#include "../tree_ragged_tmpl.h"

#define NAME run_16
#define T int16_t
#define BYTES __m256i
#define ROWS 32
#define CUTS __m256i
#define CUT(value) _mm256_set1_epi16(value)
#define BYTE(value) _mm256_set1_epi8((char)(value))
#define LOAD(address) load(address)
#define STORE(address, bytes) _mm256_store_si256((__m256i *)(void *)(address), bytes)
#define OR(a, b) _mm256_or_si256(a, b)
#define CHOOSE(ranks, cut, left, right) choose_16(ranks, cut, left, right)
#include "../tree_ragged_tmpl.h"

void tn__ragged_init_avx2(struct tn_ragged_kernels *kernels) {
    *kernels = (struct tn_ragged_kernels){{run_8, run_16}};
}
