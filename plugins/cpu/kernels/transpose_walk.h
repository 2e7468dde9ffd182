/* The walk over a plane that all transpose rows share: square tiles inside blocks that keep
 * within the first levels of cache and of address translation; edges element by element. */
#ifndef TENON_CPU_TRANSPOSE_WALK_H
#define TENON_CPU_TRANSPOSE_WALK_H

#include "simd/loops.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TRANSPOSE_BLOCK = 64 }; /* elements a side, a multiple of every tile */

/* Transposes one whole tile; steps in bytes. */
typedef void transpose_tile_fn(
    char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step);

/* Rows [r0, r1) of columns [c0, c1), element by element; steps in bytes. */
static ALWAYS_INLINE void transpose_edge(char *dst, ptrdiff_t dst_step, const char *src,
    ptrdiff_t src_step, size_t rows, size_t cols, size_t size) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            memcpy(dst + (ptrdiff_t)r * dst_step + c * size,
                src + (ptrdiff_t)c * src_step + r * size, size);
    }
}

static ALWAYS_INLINE void transpose_block(char *dst, ptrdiff_t dst_step, const char *src,
    ptrdiff_t src_step, size_t rows, size_t cols, size_t size, size_t tile,
    transpose_tile_fn *whole) {
    const size_t whole_rows = rows / tile * tile, whole_cols = cols / tile * tile;
    for (size_t r = 0; r < whole_rows; r += tile) {
        char *to = dst + (ptrdiff_t)r * dst_step;
        const char *from = src + r * size;
        for (size_t c = 0; c < whole_cols; c += tile)
            whole(to + c * size, dst_step, from + (ptrdiff_t)c * src_step, src_step);
    }
    transpose_edge(dst + whole_cols * size, dst_step,
        src + (ptrdiff_t)whole_cols * src_step, src_step, whole_rows, cols - whole_cols,
        size);
    transpose_edge(dst + (ptrdiff_t)whole_rows * dst_step, dst_step,
        src + whole_rows * size, src_step, rows - whole_rows, cols, size);
}

static ALWAYS_INLINE void transpose_walk(void *dst, ptrdiff_t dst_step, const void *src,
    ptrdiff_t src_step, size_t rows, size_t cols, size_t size, size_t tile,
    transpose_tile_fn *whole) {
    const ptrdiff_t to_step = dst_step * (ptrdiff_t)size;
    const ptrdiff_t from_step = src_step * (ptrdiff_t)size;
    for (size_t c = 0; c < cols; c += TRANSPOSE_BLOCK) {
        const size_t wide = cols - c < TRANSPOSE_BLOCK ? cols - c : TRANSPOSE_BLOCK;
        for (size_t r = 0; r < rows; r += TRANSPOSE_BLOCK) {
            const size_t high = rows - r < TRANSPOSE_BLOCK ? rows - r : TRANSPOSE_BLOCK;
            transpose_block((char *)dst + (ptrdiff_t)r * to_step + c * size, to_step,
                (const char *)src + (ptrdiff_t)c * from_step + r * size, from_step, high,
                wide, size, tile, whole);
        }
    }
}

/* Row `name` from a tile function. */
#define TRANSPOSE_ROW(name, size, tile, whole)                                           \
    static void name(void *dst, ptrdiff_t dst_step, const void *src, ptrdiff_t src_step, \
        size_t rows, size_t cols) {                                                      \
        transpose_walk(dst, dst_step, src, src_step, rows, cols, size, tile, whole);     \
    }

#endif
