/* Memory whose size is known only during a run: blocks that go round, and a bump
 * allocator for what lives until the run ends. Once warm, neither asks the system. Not
 * thread-safe. */
#ifndef TENON_RECYCLE_H
#define TENON_RECYCLE_H

#include "core/base/diag.h"
#include "tenon/types.h"

enum { TN_RECYCLE_CLASSES = 256 };

/* In front of its data, which is aligned to 64. */
struct tn__block {
    struct tn__block *next; /* in a free list */
    uint64_t capacity;
    uint32_t class_index;
    uint32_t refs;
    uint64_t reserved[5];
};
TN_STATIC_ASSERT(sizeof(struct tn__block) == 64, "data stays aligned");

struct tn__recycler {
    struct tn__block *free[TN_RECYCLE_CLASSES];
    uint64_t limit;  /* bytes in all, 0 none */
    uint64_t in_use; /* bytes of blocks with references */
    uint64_t peak;   /* most of it since the last trim */
    uint64_t idle;   /* bytes in free lists */
};

/* A block of at least `size` bytes with one reference. */
tn_status tn__block_get(struct tn__recycler *recycler, uint64_t size,
    struct tn__block **out, struct tn_diag *diag);
void tn__block_put(struct tn__recycler *recycler, struct tn__block *block); /* or NULL */
static inline void *tn__block_data(struct tn__block *block) {
    return block + 1;
}
/* Between runs: frees idle blocks beyond what the last run used. */
void tn__recycler_trim(struct tn__recycler *recycler);
void tn__recycler_clear(struct tn__recycler *recycler); /* frees all idle blocks */

struct tn__bump_chunk;
struct tn__bump {
    struct tn__bump_chunk *first, *now;
    uint64_t bytes, limit; /* limit 0: none */
};

/* Aligned to `align` (power of two, at most 4096; 0 = 16); NULL when there is none. */
void *tn__bump_alloc(struct tn__bump *bump, uint64_t size, uint64_t align);
void tn__bump_reset(struct tn__bump *bump); /* forgets all, keeps the chunks */
void tn__bump_free(struct tn__bump *bump);

#endif
