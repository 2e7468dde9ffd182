/* Choice of the conversion rows, and conversions in two steps. */
#include "convert.h"
#include <string.h>

enum { CONVERT_BLOCK = 256 }; /* elements; a multiple of what a byte holds */

void tn__convert_init_c(struct tn_convert_kernels *kernels);
void tn__convert_init_avx2(struct tn_convert_kernels *kernels);

void tn_convert_kernels_init(struct tn_convert_kernels *kernels, enum tn_isa isa) {
    memset(kernels, 0, sizeof(*kernels));
    tn__convert_init_c(kernels);
#ifdef TN_HAVE_AVX2
    if (isa >= TN_ISA_AVX2) tn__convert_init_avx2(kernels);
#endif
    (void)isa;
}

static size_t bits_of(int elem) {
    static const uint8_t bits[TN_ELEM_COUNT] = {
#define X(name, number, width) [number] = width,
        TN_ELEM_LIST(X)
#undef X
    };
    return bits[elem];
}

int tn_convert_exists(
    const struct tn_convert_kernels *kernels, int dst_elem, int src_elem) {
    return dst_elem >= 0 && dst_elem < TN_ELEM_COUNT && src_elem >= 0 &&
           src_elem < TN_ELEM_COUNT && kernels->store[0][dst_elem] &&
           kernels->store[0][src_elem];
}

void tn_convert_run(const struct tn_convert_kernels *kernels, int dst_elem, void *dst,
    int src_elem, const void *src, size_t n, const struct tn_convert_options *options) {
    const size_t dst_bits = bits_of(dst_elem), src_bits = bits_of(src_elem);
    tn_convert_fn *load = kernels->load[src_elem];
    tn_convert_fn *store = kernels->store[kernels->wide[src_elem]][dst_elem];
    uint64_t wide[CONVERT_BLOCK];
    if (dst_elem == src_elem) {
        memmove(dst, src, n / 8 * src_bits + (n % 8 * src_bits + 7) / 8);
        return;
    }
    if (!load) {
        store(dst, src, n, options);
        return;
    }
    for (size_t i = 0; i < n; i += CONVERT_BLOCK) {
        const size_t count = n - i < CONVERT_BLOCK ? n - i : CONVERT_BLOCK;
        load(wide, (const char *)src + i / 8 * src_bits, count, options);
        store((char *)dst + i / 8 * dst_bits, wide, count, options);
    }
}
