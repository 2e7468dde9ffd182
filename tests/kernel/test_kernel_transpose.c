/* Transposition of planes, every size and edge, against its definition. */
#include "test_kernel.h"
#include "transpose.h"

#include <string.h>

static void check(struct kernel_run *run, tn_transpose_fn *function, size_t size,
    size_t rows, size_t cols, size_t pad) {
    const size_t src_step = rows + pad, dst_step = cols + pad;
    kernel_case(run, "transpose of %zu x %zu elements of %zu bytes, %zu apart", rows,
        cols, size, pad);
    const size_t src_count = cols == 0 ? 0 : (cols - 1) * src_step + rows,
                 dst_count = rows == 0 ? 0 : (rows - 1) * dst_step + cols;
    unsigned char *src = kernel_memory(run, src_count * size, size),
                  *dst = kernel_memory(run, dst_count * size, size);
    for (size_t i = 0; i < src_count * size; i++)
        src[i] = (unsigned char)kernel_random(run);
    const unsigned char canary = dst_count > 0 ? dst[0] : 0;
    function(dst, (ptrdiff_t)dst_step, src, (ptrdiff_t)src_step, rows, cols);
    bool same = true, kept = true;
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            same = same && memcmp(dst + (r * dst_step + c) * size,
                               src + (c * src_step + r) * size, size) == 0;
        for (size_t i = cols * size; r + 1 < rows && i < dst_step * size; i++)
            kept = kept && dst[r * dst_step * size + i] == canary;
    }
    kernel_check(run, same, "wrong element");
    kernel_check(run, kept, "wrote between the rows");
}

void test_transpose(struct kernel_run *run) {
    static const size_t sides[] = {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 63, 64, 65, 130};
    enum { SIDES = sizeof(sides) / sizeof(sides[0]) };
    struct tn_transpose_kernels kernels;
    tn_transpose_kernels_init(&kernels, run->isa);
    for (size_t log = 0; log < 5; log++) {
        for (size_t i = 0; i < SIDES; i++) {
            for (size_t j = 0; j < SIDES; j++)
                check(run, kernels.plane[log], (size_t)1 << log, sides[i], sides[j],
                    (i + j) % 3);
        }
    }
}
