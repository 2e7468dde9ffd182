/* Text → uint32 in an open-addressing table. Keys are borrowed: the owner keeps them
 * alive and unchanged. Keys come from models, so the hash is seeded per process. Not
 * thread-safe. */
#ifndef TENON_MAP_H
#define TENON_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct tn_map_slot {
    const char *key; /* NULL = free */
    uint64_t hash;
    uint32_t value;
    uint32_t reserved;
};

struct tn_str_map {
    struct tn_map_slot *slots;
    uint32_t n, cap; /* cap is 0 or a power of two */
};

void tn__map_clear(struct tn_str_map *map); /* frees its memory */
/* Value of key, or UINT32_MAX. */
uint32_t tn__map_get(const struct tn_str_map *map, const char *key);
/* Adds or replaces; false when there is no memory. */
bool tn__map_put(struct tn_str_map *map, const char *key, uint32_t value);
/* Forgets a key, if it is there. */
void tn__map_remove(struct tn_str_map *map, const char *key);

/* 64-bit hash of n bytes, the same in every process (for content keys). */
uint64_t tn__hash_bytes(const void *data, uint64_t n, uint64_t seed);

#endif
