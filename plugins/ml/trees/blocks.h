/* Arrays that die together: a list of allocations of the host, freed at once or, the big
 * ones that are done with, alone. */
#ifndef TENON_ML_BLOCKS_H
#define TENON_ML_BLOCKS_H

#include "tenon/plugin.h"

#include <string.h>

struct tn_block; /* head of an allocation */

struct tn_blocks {
    const struct tn_host *host;
    struct tn_block *first;
};

struct tn_block {
    struct tn_block *next, *before;
    struct tn_blocks *owner;
    uint64_t reserved[5]; /* the array begins on a cache line */
};

/* n elements of `size` bytes, zeroed when `zero`; NULL when there is no memory. n may be 0. */
static inline void *tn__blocks_array(
    struct tn_blocks *blocks, uint64_t n, uint64_t size, int zero) {
    if (size && n > (UINT64_MAX / 2) / size) return NULL;
    struct tn_block *block = (struct tn_block *)blocks->host->alloc(
        blocks->host->self, sizeof *block + n * size, 64, "trees");
    if (!block) return NULL;
    block->owner = blocks;
    block->before = NULL;
    block->next = blocks->first;
    if (block->next) block->next->before = block;
    blocks->first = block;
    if (zero) memset(block + 1, 0, (size_t)(n * size));
    return block + 1;
}

/* Frees one array before its time; NULL is fine. */
static inline void tn__blocks_release(const void *array) {
    if (!array) return;
    struct tn_block *block = (struct tn_block *)(uintptr_t)array - 1;
    struct tn_blocks *blocks = block->owner;
    if (block->next) block->next->before = block->before;
    if (block->before)
        block->before->next = block->next;
    else
        blocks->first = block->next;
    blocks->host->free(blocks->host->self, block);
}

static inline void tn__blocks_free(struct tn_blocks *blocks) {
    while (blocks->first)
        tn__blocks_release(blocks->first + 1);
}

#endif
