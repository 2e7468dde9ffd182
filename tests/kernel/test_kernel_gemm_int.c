/* Integer GEMM: all signs and zero points against the definition, exactly, with extreme values
 * that a saturating step would get wrong. */
#include "test_kernel.h"

#include "gemm_int.h"

#include <string.h>

struct operands {
    struct tn_gemm_int gemm;
    const uint8_t *b; /* row-major */
};

static int32_t value(const uint8_t *from, bool is_signed) {
    return is_signed ? (int8_t)*from : *from;
}

static uint8_t *random_bytes(
    struct kernel_run *run, size_t count, bool extreme, bool is_signed) {
    uint8_t *bytes = kernel_memory(run, count, 1);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)kernel_random(run);
        if (extreme) bytes[i] = is_signed ? 0x80 : 0xff;
    }
    return bytes;
}

static int32_t *random_zeros(struct kernel_run *run, size_t count, bool is_signed) {
    int32_t *zeros = kernel_memory(run, count * sizeof(int32_t), sizeof(int32_t));
    for (size_t i = 0; i < count; i++) {
        zeros[i] = (int32_t)(kernel_random(run) % 256) - (is_signed ? 128 : 0);
    }
    return zeros;
}

static void expect(struct kernel_run *run, const struct operands *o, const int32_t *c) {
    const struct tn_gemm_int *g = &o->gemm;
    int32_t *want = kernel_memory(run, g->m * g->n * sizeof(int32_t), sizeof(int32_t));
    for (size_t i = 0; i < g->m; i++) {
        for (size_t j = 0; j < g->n; j++) {
            const int64_t a_zero = g->a_zero ? g->a_zero[g->a_zero_by_row ? i : 0] : 0;
            const int64_t b_zero = g->b_zero ? g->b_zero[g->b_zero_by_col ? j : 0] : 0;
            int64_t sum = 0;
            for (size_t k = 0; k < g->k; k++) {
                const uint8_t *a = (const uint8_t *)g->a + i * g->lda + k;
                sum += (value(a, g->a_signed) - a_zero) *
                       (value(o->b + k * g->n + j, g->b_signed) - b_zero);
            }
            want[i * g->n + j] = (int32_t)(uint32_t)(uint64_t)sum;
        }
        kernel_check_same(run, c + i * g->ldc, want + i * g->n, g->n * sizeof(int32_t));
    }
}

struct received {
    int32_t *c;
    size_t n;
};

static void receive(const void *arg, const int32_t *sums, size_t ld, size_t row,
    size_t rows, size_t col, size_t cols) {
    const struct received *to = arg;
    for (size_t i = 0; i < rows; i++) {
        memcpy(to->c + (row + i) * to->n + col, sums + i * ld, cols * sizeof(int32_t));
    }
}

static void test_product(struct kernel_run *run,
    const struct tn_gemm_int_kernels *kernels, size_t m, size_t n, size_t k,
    unsigned kind) {
    kernel_case(run, "M %zu N %zu K %zu kind %u", m, n, k, kind);
    struct operands o = {.gemm = {.m = m,
                             .n = n,
                             .k = k,
                             .lda = k + 1,
                             .ldc = n + 3,
                             .a_signed = kind & 1,
                             .b_signed = kind & 2}};
    struct tn_gemm_int *g = &o.gemm;
    const bool extreme = kind & 16;
    const size_t panels = tn_gemm_int_panels(kernels, n);
    g->a = random_bytes(run, m ? (m - 1) * g->lda + k : 0, extreme, g->a_signed);
    o.b = random_bytes(run, k * n, extreme, g->b_signed);
    if (kind & 4) g->a_zero = random_zeros(run, m, g->a_signed);
    if (kind & 8) g->b_zero = random_zeros(run, n, g->b_signed);
    g->a_zero_by_row = kind & 32;
    g->b_zero_by_col = kind & 64;
    unsigned char *packed =
        kernel_memory(run, tn_gemm_int_packed_size(kernels, k, n), TN_GEMM_INT_ALIGN);
    tn_gemm_int_pack(kernels, packed, o.b, g->b_signed, n, 1, k, n, 0, panels / 2);
    tn_gemm_int_pack(kernels, packed, o.b, g->b_signed, n, 1, k, n, panels / 2, panels);
    g->b = packed;

    g->c = kernel_memory(
        run, (m ? (m - 1) * g->ldc + n : 0) * sizeof(int32_t), sizeof(int32_t));
    const size_t row = m ? kernel_random(run) % m : 0;
    tn_gemm_int_run(kernels, g, 0, row, 0, panels);
    tn_gemm_int_run(kernels, g, row, m, panels / 3, panels);
    tn_gemm_int_run(kernels, g, row, m, 0, panels / 3);
    expect(run, &o, g->c);

    struct received to = {
        kernel_memory(run, m * n * sizeof(int32_t), sizeof(int32_t)), n};
    g->c = NULL;
    g->post = receive;
    g->post_arg = &to;
    g->ldc = n;
    tn_gemm_int_run(kernels, g, 0, m, 0, panels);
    expect(run, &o, to.c);
}

void test_gemm_int(struct kernel_run *run) {
    static const size_t sizes_m[] = {0, 1, 2, 3, 6, 7, 14, 15, 29};
    static const size_t sizes_n[] = {0, 1, 8, 15, 16, 31, 32, 33, 130, 300};
    static const size_t sizes_k[] = {0, 1, 2, 3, 4, 5, 63, 64, 511, 513, 1100};
    struct tn_gemm_int_kernels kernels;
    tn_gemm_int_kernels_init(&kernels, run->isa);
    for (size_t i = 0; i < sizeof(sizes_m) / sizeof(sizes_m[0]); i++) {
        for (size_t j = 0; j < sizeof(sizes_n) / sizeof(sizes_n[0]); j++) {
            for (size_t l = 0; l < sizeof(sizes_k) / sizeof(sizes_k[0]); l++) {
                if (run->quick && kernel_random(run) % 6 != 0) continue;
                test_product(run, &kernels, sizes_m[i], sizes_n[j], sizes_k[l],
                    kernel_random(run) % 128);
            }
        }
    }
}
