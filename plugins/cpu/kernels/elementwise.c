/* Choice of the elementwise rows. */
#include "elementwise.h"
#include "vmath.h"
#include <string.h>

void tn__elementwise_init_c(struct tn_elementwise_kernels *kernels);
void tn__elementwise_init_avx2(struct tn_elementwise_kernels *kernels);
void tn__elementwise_init_avx512(struct tn_elementwise_kernels *kernels);

void tn_elementwise_kernels_init(
    struct tn_elementwise_kernels *kernels, enum tn_isa isa) {
    struct tn_vmath_kernels vmath;
    memset(kernels, 0, sizeof(*kernels));
    tn__elementwise_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__elementwise_init_avx2(kernels);
#endif
#ifdef TN_HAVE_AVX512
    if (isa >= TN_ISA_AVX512) tn__elementwise_init_avx512(kernels);
#endif
    tn_vmath_kernels_init(&vmath, isa);
    kernels->binary[TN_BINARY_POW][TN_ELEM_F32] = vmath.pow_f32;
    kernels->binary[TN_BINARY_POW][TN_ELEM_F64] = vmath.pow_f64;
}
