/* Blocks and bump memory: see recycle.h. Sizes are rounded up to four classes an octave,
 * so that a size that varies a little finds its block again. */
#include "core/exec/recycle.h"

#include "core/base/alloc.h"
#include "core/base/checked.h"

enum { SMALLEST_SHIFT = 8, CHUNK_SIZE = 1 << 16, IDLE_FLOOR = 1 << 20 };

/* Class of a size and the bytes its blocks hold: (4 + q) * 2^(octave - 2). */
static bool find_class(uint64_t size, uint32_t *out_class, uint64_t *out_capacity) {
    if (size <= (UINT64_C(1) << SMALLEST_SHIFT)) size = UINT64_C(1) << SMALLEST_SHIFT;
    if (size > (UINT64_C(1) << 60)) return false;
    uint32_t octave = 63u - (uint32_t)__builtin_clzll(size);
    uint64_t unit = UINT64_C(1) << (octave - 2);
    uint64_t quarters = size / unit + (size % unit != 0); /* 4..8 */
    *out_capacity = quarters * unit;
    *out_class = (octave - SMALLEST_SHIFT) * 4 + (uint32_t)quarters - 4;
    return true;
}

tn_status tn__block_get(struct tn__recycler *recycler, uint64_t size,
    struct tn__block **out, struct tn_diag *diag) {
    uint32_t class_index;
    uint64_t capacity;
    if (!find_class(size, &class_index, &capacity))
        return tn__fail_memory(diag, "a value of the run", size);
    struct tn__block *block = recycler->free[class_index];
    if (block) {
        recycler->free[class_index] = block->next;
        recycler->idle -= capacity;
    } else {
        uint64_t total = recycler->in_use + recycler->idle;
        if (recycler->limit && total + capacity > recycler->limit) {
            tn__recycler_clear(recycler);
            if (recycler->in_use + capacity > recycler->limit)
                return tn_fail(diag, TN_LIMIT_EXCEEDED,
                    "the run needs more than limits.run_bytes (%llu bytes); raise it if "
                    "the model is trusted",
                    (unsigned long long)recycler->limit);
        }
        block = tn__alloc(capacity + sizeof *block, 64);
        if (!block) return tn__fail_memory(diag, "a value of the run", capacity);
    }
    *block = (struct tn__block){NULL, capacity, class_index, 1, {0}};
    recycler->in_use += capacity;
    if (recycler->in_use > recycler->peak) recycler->peak = recycler->in_use;
    *out = block;
    return TN_OK;
}

void tn__block_put(struct tn__recycler *recycler, struct tn__block *block) {
    if (!block || --block->refs > 0) return;
    block->next = recycler->free[block->class_index];
    recycler->free[block->class_index] = block;
    recycler->in_use -= block->capacity;
    recycler->idle += block->capacity;
}

static void free_idle(struct tn__recycler *recycler, uint64_t keep) {
    for (uint32_t c = TN_RECYCLE_CLASSES; c-- > 0 && recycler->idle > keep;) {
        while (recycler->free[c] && recycler->idle > keep) {
            struct tn__block *block = recycler->free[c];
            recycler->free[c] = block->next;
            recycler->idle -= block->capacity;
            tn__free(block);
        }
    }
}

void tn__recycler_trim(struct tn__recycler *recycler) {
    uint64_t keep = 2 * recycler->peak + IDLE_FLOOR;
    if (recycler->idle > keep) free_idle(recycler, keep);
    recycler->peak = recycler->in_use;
}

void tn__recycler_clear(struct tn__recycler *recycler) {
    free_idle(recycler, 0);
}

/* ---- bump ----------------------------------------------------------------------------- */

struct tn__bump_chunk {
    struct tn__bump_chunk *next;
    uint64_t size, used;
};

static void *take(struct tn__bump_chunk *chunk, uint64_t size, uint64_t align) {
    uintptr_t base = (uintptr_t)(chunk + 1);
    uint64_t at = ((base + chunk->used + align - 1) & ~(uintptr_t)(align - 1)) - base;
    if (at > chunk->size || chunk->size - at < size) return NULL;
    chunk->used = at + size;
    return (char *)(chunk + 1) + at;
}

static struct tn__bump_chunk *add_chunk(struct tn__bump *bump, uint64_t need) {
    uint64_t size = need > CHUNK_SIZE ? need : CHUNK_SIZE;
    if (bump->limit && (size > bump->limit || bump->bytes > bump->limit - size))
        return NULL;
    struct tn__bump_chunk *chunk = tn__alloc(size + sizeof *chunk, 0);
    if (!chunk) return NULL;
    bump->bytes += size;
    *chunk = (struct tn__bump_chunk){NULL, size, 0};
    if (!bump->now) {
        chunk->next = bump->first;
        bump->first = chunk;
    } else {
        chunk->next = bump->now->next;
        bump->now->next = chunk;
    }
    return chunk;
}

void *tn__bump_alloc(struct tn__bump *bump, uint64_t size, uint64_t align) {
    if (align == 0) align = 16;
    uint64_t need;
    if (align > 4096 || (align & (align - 1)) || !tn_add_size(size, align, &need) ||
        need > INT64_MAX)
        return NULL;
    if (!bump->now) bump->now = bump->first;
    for (struct tn__bump_chunk *chunk = bump->now; chunk; chunk = chunk->next) {
        void *ptr = take(chunk, size, align);
        if (!ptr) continue;
        bump->now = chunk;
        return ptr;
    }
    struct tn__bump_chunk *chunk = add_chunk(bump, need);
    if (!chunk) return NULL;
    bump->now = chunk;
    return take(chunk, size, align);
}

void tn__bump_reset(struct tn__bump *bump) {
    for (struct tn__bump_chunk *chunk = bump->first; chunk; chunk = chunk->next)
        chunk->used = 0;
    bump->now = bump->first;
}

void tn__bump_free(struct tn__bump *bump) {
    for (struct tn__bump_chunk *chunk = bump->first; chunk;) {
        struct tn__bump_chunk *next = chunk->next;
        tn__free(chunk);
        chunk = next;
    }
    bump->first = bump->now = NULL;
    bump->bytes = 0;
}
