/* Integer GEMM tiles for AVX-512 without VNNI: pairs of 16-bit values. */
#include "../simd/vf.h"

static inline vi dot(vi sum, vi a, vi b) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
}

#include "../gemm_int_pairs_tmpl.h"
#include "../gemm_int_tmpl.h"

#include "../gemm_int_wide_tmpl.h"

void tn__gemm_int_init_avx512(struct tn_gemm_int_kernels *kernels) {
    init_wide(kernels);
    kernels->pack = PACK;
    kernels->convert = convert_pairs;
}
