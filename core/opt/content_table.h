/* Ids by the hash of what they stand for: open addressing, for one pass over one graph. */
#ifndef TENON_CONTENT_TABLE_H
#define TENON_CONTENT_TABLE_H

#include "core/base/alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tn__content_slot {
    uint64_t hash;
    uint32_t id; /* UINT32_MAX = free */
};

struct tn__content_table {
    struct tn__content_slot *slots;
    uint32_t mask;
};

/* Room for n ids; false when there is no memory. */
static inline bool tn__content_create(struct tn__content_table *table, uint32_t n) {
    uint64_t cap = 16;
    while (cap < (uint64_t)n * 2)
        cap *= 2;
    table->slots = tn__alloc(cap * sizeof *table->slots, 0);
    table->mask = (uint32_t)(cap - 1);
    for (uint64_t i = 0; table->slots && i < cap; i++)
        table->slots[i].id = UINT32_MAX;
    return table->slots != NULL;
}

static inline void tn__content_destroy(struct tn__content_table *table) {
    tn__free(table->slots);
}

/* The id among those of this hash for which equal(arg, id) holds; else UINT32_MAX, after
 * `id` was added. At most `most` are compared, which bounds hostile collisions. */
static inline uint32_t tn__content_find(struct tn__content_table *table, uint64_t hash,
    uint32_t id, uint32_t most, bool (*equal)(void *arg, uint32_t other), void *arg) {
    uint32_t i = (uint32_t)hash & table->mask;
    for (; table->slots[i].id != UINT32_MAX && most > 0; i = (i + 1) & table->mask) {
        if (table->slots[i].hash != hash) continue;
        if (equal(arg, table->slots[i].id)) return table->slots[i].id;
        most--;
    }
    if (table->slots[i].id == UINT32_MAX)
        table->slots[i] = (struct tn__content_slot){hash, id};
    return UINT32_MAX;
}

#endif
