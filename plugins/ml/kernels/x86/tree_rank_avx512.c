/* Ranks, AVX-512: a node of 16 floats is one register, of doubles two. About 0.7 ns a value
 * where a bisection takes 5. */
#include <immintrin.h>
#include <stdint.h>

static inline uint32_t below_f32(const float *node, float value) {
    return (uint32_t)__builtin_popcount(
        _mm512_cmp_ps_mask(_mm512_load_ps(node), _mm512_set1_ps(value), _CMP_LT_OQ));
}

static inline uint32_t below_f64(const double *node, double value) {
    const __m512d x = _mm512_set1_pd(value);
    const uint32_t lo = _mm512_cmp_pd_mask(_mm512_load_pd(node), x, _CMP_LT_OQ);
    const uint32_t hi = _mm512_cmp_pd_mask(_mm512_load_pd(node + 8), x, _CMP_LT_OQ);
    return (uint32_t)__builtin_popcount(lo | hi << 8);
}

#include "../tree_rank_tmpl.h"

void tn__rank_init_avx512(struct tn_rank_kernels *kernels);

void tn__rank_init_avx512(struct tn_rank_kernels *kernels) {
    kernels->rank[TN_RANK_F32][TN_RANK_8] = rank_f32_8;
    kernels->rank[TN_RANK_F32][TN_RANK_16] = rank_f32_16;
    kernels->rank[TN_RANK_F64][TN_RANK_8] = rank_f64_8;
    kernels->rank[TN_RANK_F64][TN_RANK_16] = rank_f64_16;
}
