/* Ranks, AVX2: a node of 16 floats is two registers, of doubles four. */
#include <immintrin.h>
#include <stdint.h>

static inline uint32_t below_f32(const float *node, float value) {
    const __m256 x = _mm256_set1_ps(value);
    const __m256 lo = _mm256_cmp_ps(_mm256_load_ps(node), x, _CMP_LT_OQ);
    const __m256 hi = _mm256_cmp_ps(_mm256_load_ps(node + 8), x, _CMP_LT_OQ);
    const uint32_t bits =
        (uint32_t)_mm256_movemask_ps(lo) | (uint32_t)_mm256_movemask_ps(hi) << 8;
    return (uint32_t)__builtin_popcount(bits);
}

static inline uint32_t below_f64(const double *node, double value) {
    const __m256d x = _mm256_set1_pd(value);
    uint32_t count = 0;
    for (int i = 0; i < 16; i += 4)
        count += (uint32_t)__builtin_popcount((uint32_t)_mm256_movemask_pd(
            _mm256_cmp_pd(_mm256_load_pd(node + i), x, _CMP_LT_OQ)));
    return count;
}

#include "../tree_rank_tmpl.h"

void tn__rank_init_avx2(struct tn_rank_kernels *kernels);

void tn__rank_init_avx2(struct tn_rank_kernels *kernels) {
    kernels->rank[TN_RANK_F32][TN_RANK_8] = rank_f32_8;
    kernels->rank[TN_RANK_F32][TN_RANK_16] = rank_f32_16;
    kernels->rank[TN_RANK_F64][TN_RANK_8] = rank_f64_8;
    kernels->rank[TN_RANK_F64][TN_RANK_16] = rank_f64_16;
}
