/* Integer GEMM tiles for AVX-512 VNNI: words of four bytes, A unsigned and B signed. Written as
 * assembly because gcc 12 copies and spills the accumulators round the intrinsic, which halves
 * the speed. */
#include "../simd/vf.h"

static inline vi dot(vi sum, vi a, vi b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
}

enum { PACK = 4, ONES = 0x01010101 };

#include "../gemm_int_tmpl.h"

#include "../gemm_int_wide_tmpl.h"

/* Signed values get 128 added: the sign bit turns over. */
static void convert_bytes(int32_t *words, const void *a, size_t k, bool is_signed) {
    const uint8_t *from = a, flip = is_signed ? 0x80 : 0;
    uint8_t *to = (uint8_t *)words;
    if (k % PACK) words[k / PACK] = 0;
    for (size_t i = 0; i < k; i++)
        to[i] = from[i] ^ flip;
}

void tn__gemm_int_init_avx512vnni(struct tn_gemm_int_kernels *kernels) {
    init_wide(kernels);
    kernels->pack = PACK;
    kernels->convert = convert_bytes;
}
