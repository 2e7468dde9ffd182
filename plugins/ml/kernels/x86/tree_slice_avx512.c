/* Sliced trees, AVX-512. A selector is the top bit of each lane: the saturating difference
 * cut - rank is negative exactly when rank > cut, in one operation that four ports take and
 * no mask register sees; picking is one vpternlog, whose lower bits are rubbish that nobody
 * reads. 0.6 cycles a row and tree of depth 6 where compares into mask registers take 2. */
#include "../tree_slice.h"

#include <immintrin.h>

void tn__slice_init_avx512(struct tn_slice_kernels *kernels);

/* a ? c : b, bit by bit */
enum { PICK_BITS = 0xCA };

struct pair {
    __m512i a, b;
};

static inline __attribute__((always_inline)) __m512i pick(
    __m512i selector, __m512i left, __m512i right) {
    return _mm512_ternarylogic_epi32(selector, right, left, PICK_BITS);
}

/* The numbers of leaves from the top bits of the selectors: bit 7 - l of each byte (15 - l
 * of each word) is taken from bits[l] shifted to it. The shift is of words, which brings
 * nothing foreign to that bit. */
static inline __attribute__((always_inline)) __m512i number8(
    const __m512i *bits, uint32_t depth) {
    __m512i all = bits[0];
    for (uint32_t l = 1; l < depth; l++)
        all = pick(_mm512_set1_epi8((char)(0x80 >> l)), all,
            _mm512_srl_epi16(bits[l], _mm_cvtsi32_si128((int)l)));
    all = _mm512_srl_epi16(all, _mm_cvtsi32_si128((int)(8 - depth)));
    return _mm512_and_si512(all, _mm512_set1_epi8((char)((1u << depth) - 1)));
}

static inline __attribute__((always_inline)) __m256i number16(
    const __m512i *bits, uint32_t depth) {
    __m512i all = bits[0];
    for (uint32_t l = 1; l < depth; l++)
        all = pick(_mm512_set1_epi16((short)(0x8000 >> l)), all,
            _mm512_srl_epi16(bits[l], _mm_cvtsi32_si128((int)l)));
    all = _mm512_srl_epi16(all, _mm_cvtsi32_si128((int)(16 - depth)));
    return _mm512_cvtepi16_epi8(all);
}

static inline __attribute__((always_inline)) struct pair right_pair(
    struct pair rank, __m512i cut) {
    return (struct pair){_mm512_subs_epi8(cut, rank.a), _mm512_subs_epi8(cut, rank.b)};
}

static inline __attribute__((always_inline)) struct pair pick_pair(
    struct pair selector, struct pair left, struct pair right) {
    return (struct pair){
        pick(selector.a, left.a, right.a), pick(selector.b, left.b, right.b)};
}

static inline __attribute__((always_inline)) void store_pair(
    uint8_t *leaf, const struct pair *bits, uint32_t depth) {
    __m512i a[TN_SLICE_DEPTH], b[TN_SLICE_DEPTH];
    for (uint32_t l = 0; l < depth; l++) {
        a[l] = bits[l].a;
        b[l] = bits[l].b;
    }
    _mm512_store_si512(leaf, number8(a, depth));
    _mm512_store_si512(leaf + 64, number8(b, depth));
}

#define V struct pair
#define T int8_t
#define LANES 128
#define LOAD(address)                                                                    \
    (struct pair) {                                                                      \
        _mm512_load_si512(address), _mm512_load_si512((address) + 64)                    \
    }
#define CUT(cut) _mm512_set1_epi8(cut)
#define RIGHT(rank, cut) right_pair(rank, cut)
#define PICK(selector, left, right) pick_pair(selector, left, right)
#define STORE(leaf, bits, depth) store_pair(leaf, bits, depth)
#define NAME(verb) verb##_8
#include "../tree_slice_tmpl.h"

#define V __m512i
#define T int16_t
#define LANES 32
#define LOAD(address) _mm512_load_si512(address)
#define CUT(cut) _mm512_set1_epi16(cut)
#define RIGHT(rank, cut) _mm512_subs_epi16(cut, rank)
#define PICK(selector, left, right) pick(selector, left, right)
#define STORE(leaf, bits, depth)                                                         \
    _mm256_store_si256((__m256i *)(void *)(leaf), number16(bits, depth))
#define NAME(verb) verb##_16
#include "../tree_slice_tmpl.h"

/* Values of 2^depth leaves in registers, 16 each; two of them are one vpermi2ps. */
#define ADD(depth, registers)                                                            \
    static void add_##depth(                                                             \
        float *sum, const float *value, const uint8_t *leaf, size_t n) {                 \
        __m512 table[registers];                                                         \
        for (int i = 0; i < registers; i++)                                              \
            table[i] = _mm512_load_ps(value + 16 * i);                                   \
        for (size_t r = 0; r < n; r += 16) {                                             \
            const __m512i at = _mm512_cvtepu8_epi32(                                     \
                _mm_load_si128((const __m128i *)(const void *)(leaf + r)));              \
            const __m512 got = look_up(table, registers, at);                            \
            _mm512_store_ps(sum + r, _mm512_add_ps(_mm512_load_ps(sum + r), got));       \
        }                                                                                \
    }

static inline __attribute__((always_inline)) __m512 look_up(
    const __m512 *table, int registers, __m512i at) {
    __m512 part[8];
    if (registers == 1) return _mm512_permutexvar_ps(at, table[0]);
    for (int i = 0; i < registers / 2; i++)
        part[i] = _mm512_permutex2var_ps(table[2 * i], at, table[2 * i + 1]);
    for (int n = registers / 2, bit = 32; n > 1; n /= 2, bit *= 2) {
        const __mmask16 upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(bit));
        for (int i = 0; i < n / 2; i++)
            part[i] = _mm512_mask_blend_ps(upper, part[2 * i], part[2 * i + 1]);
    }
    return part[0];
}
ADD(5, 2)
ADD(6, 4)
ADD(7, 8)
ADD(8, 16)

/* Up to 16 leaves: fewer are not read beyond. */
static void add_4(
    float *sum, const float *value, const uint8_t *leaf, size_t n, uint32_t depth) {
    const __mmask16 there = (__mmask16)((1u << (1u << depth)) - 1);
    const __m512 table = _mm512_maskz_loadu_ps(there, value);
    for (size_t r = 0; r < n; r += 16) {
        const __m512i at = _mm512_cvtepu8_epi32(
            _mm_load_si128((const __m128i *)(const void *)(leaf + r)));
        _mm512_store_ps(sum + r,
            _mm512_add_ps(_mm512_load_ps(sum + r), _mm512_permutexvar_ps(at, table)));
    }
}

static void add_f32(
    float *sum, const float *value, const uint8_t *leaf, size_t n, uint32_t depth) {
    typedef void add_fn(float *sum, const float *value, const uint8_t *leaf, size_t n);
    static add_fn *const adds[] = {add_5, add_6, add_7, add_8};
    if (depth <= 4)
        add_4(sum, value, leaf, n, depth);
    else
        adds[depth - 5](sum, value, leaf, n);
}

void tn__slice_init_avx512(struct tn_slice_kernels *kernels) {
    kernels->perfect[0] = perfect_8;
    kernels->perfect[1] = perfect_16;
    kernels->oblivious[0] = oblivious_8;
    kernels->oblivious[1] = oblivious_16;
    kernels->add_f32 = add_f32;
}
