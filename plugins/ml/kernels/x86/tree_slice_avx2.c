/* Sliced trees, AVX2. A selector is a whole lane of ones, so that two widths of ranks share
 * the blend of bytes. */
#include "../tree_slice.h"

#include <immintrin.h>

void tn__slice_init_avx2(struct tn_slice_kernels *kernels);

/* The numbers of leaves: bits[l] is worth 2^(depth - 1 - l). */
static inline __attribute__((always_inline)) __m256i number8(
    const __m256i *bits, uint32_t depth) {
    __m256i all = _mm256_setzero_si256();
    for (uint32_t l = 0; l < depth; l++)
        all = _mm256_or_si256(all,
            _mm256_and_si256(bits[l], _mm256_set1_epi8((char)(1u << (depth - 1 - l)))));
    return all;
}

static inline __attribute__((always_inline)) __m128i number16(
    const __m256i *bits, uint32_t depth) {
    __m256i all = _mm256_setzero_si256();
    for (uint32_t l = 0; l < depth; l++)
        all = _mm256_or_si256(all,
            _mm256_and_si256(bits[l], _mm256_set1_epi16((short)(1u << (depth - 1 - l)))));
    return _mm_packus_epi16(
        _mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

#define V __m256i
#define T int8_t
#define LANES 32
#define LOAD(address) _mm256_load_si256((const __m256i *)(const void *)(address))
#define CUT(cut) _mm256_set1_epi8(cut)
#define RIGHT(rank, cut) _mm256_cmpgt_epi8(rank, cut)
#define PICK(selector, left, right) _mm256_blendv_epi8(left, right, selector)
#define STORE(leaf, bits, depth)                                                         \
    _mm256_store_si256((__m256i *)(void *)(leaf), number8(bits, depth))
#define NAME(verb) verb##_8
#include "../tree_slice_tmpl.h"

#define V __m256i
#define T int16_t
#define LANES 16
#define LOAD(address) _mm256_load_si256((const __m256i *)(const void *)(address))
#define CUT(cut) _mm256_set1_epi16(cut)
#define RIGHT(rank, cut) _mm256_cmpgt_epi16(rank, cut)
#define PICK(selector, left, right) _mm256_blendv_epi8(left, right, selector)
#define STORE(leaf, bits, depth)                                                         \
    _mm_store_si128((__m128i *)(void *)(leaf), number16(bits, depth))
#define NAME(verb) verb##_16
#include "../tree_slice_tmpl.h"

/* Values of up to 64 leaves by lookups of 8; more leaves go by loads, which are as fast. */
#define ADD(depth, registers)                                                            \
    static void add_##depth(                                                             \
        float *sum, const float *value, const uint8_t *leaf, size_t n) {                 \
        __m256 table[registers];                                                         \
        for (int i = 0; i < registers; i++)                                              \
            table[i] = _mm256_load_ps(value + 8 * i);                                    \
        for (size_t r = 0; r < n; r += 8) {                                              \
            const __m256i at = _mm256_cvtepu8_epi32(                                     \
                _mm_loadl_epi64((const __m128i *)(const void *)(leaf + r)));             \
            const __m256 got = look_up(table, registers, at);                            \
            _mm256_store_ps(sum + r, _mm256_add_ps(_mm256_load_ps(sum + r), got));       \
        }                                                                                \
    }

static inline __attribute__((always_inline)) __m256 look_up(
    const __m256 *table, int registers, __m256i at) {
    __m256 part[8];
    for (int i = 0; i < registers; i++)
        part[i] = _mm256_permutevar8x32_ps(table[i], at);
    for (int n = registers, shift = 28; n > 1; n /= 2, shift--) {
        /* the bit that tells apart, on top, where blendv looks */
        const __m256 upper = _mm256_castsi256_ps(_mm256_slli_epi32(at, shift));
        for (int i = 0; i < n / 2; i++)
            part[i] = _mm256_blendv_ps(part[2 * i], part[2 * i + 1], upper);
    }
    return part[0];
}
ADD(3, 1)
ADD(4, 2)
ADD(5, 4)
ADD(6, 8)

static void add_f32(
    float *sum, const float *value, const uint8_t *leaf, size_t n, uint32_t depth) {
    typedef void add_fn(float *sum, const float *value, const uint8_t *leaf, size_t n);
    static add_fn *const adds[] = {add_3, add_4, add_5, add_6};
    if (depth >= 3 && depth <= 6) {
        adds[depth - 3](sum, value, leaf, n);
        return;
    }
    for (size_t r = 0; r < n; r++)
        sum[r] += value[leaf[r]];
}

void tn__slice_init_avx2(struct tn_slice_kernels *kernels) {
    kernels->perfect[0] = perfect_8;
    kernels->perfect[1] = perfect_16;
    kernels->oblivious[0] = oblivious_8;
    kernels->oblivious[1] = oblivious_16;
    kernels->add_f32 = add_f32;
}
