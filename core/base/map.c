/* Text map: see map.h. */
#include "core/base/map.h"

#include "core/base/alloc.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

/* Multiply-and-fold over 8-byte words, in the manner of the wyhash family: a 128-bit
 * product whose halves are xor-ed mixes every bit of both factors. */
static uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t tn__hash_bytes(const void *data, uint64_t n, uint64_t seed) {
    const unsigned char *p = data;
    uint64_t h = seed ^ 0x9e3779b97f4a7c15u ^ n, word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        h = fold(h ^ word, 0xd6e8feb86659fd93u);
    }
    if (n) {
        word = 0;
        memcpy(&word, p, n);
        h = fold(h ^ word, 0xa0761d6478bd642fu);
    }
    return fold(h ^ 0xe7037ed1a0b428dbu, h | 1);
}

static uint64_t seed = 0x243f6a8885a308d3u;
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

static void draw_seed(void) {
    uint64_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) == sizeof random) seed = random;
}

static uint64_t process_seed(void) {
    pthread_once(&seed_once, draw_seed);
    return seed;
}

static uint64_t hash_key(const char *key) {
    return tn__hash_bytes(key, strlen(key), process_seed());
}

/* The slot that holds key, or the free one where it would go. */
static struct tn_map_slot *find_slot(
    const struct tn_str_map *map, const char *key, uint64_t hash) {
    uint32_t mask = map->cap - 1;
    for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        struct tn_map_slot *slot = &map->slots[i];
        if (!slot->key || (slot->hash == hash && strcmp(slot->key, key) == 0))
            return slot;
    }
}

static bool grow(struct tn_str_map *map) {
    struct tn_str_map larger = {NULL, map->n, map->cap ? map->cap * 2 : 16};
    if (larger.cap == 0) return false;
    larger.slots = tn__alloc_zero((uint64_t)larger.cap * sizeof *larger.slots, 0);
    if (!larger.slots) return false;
    for (uint32_t i = 0; i < map->cap; i++) {
        const struct tn_map_slot *slot = &map->slots[i];
        if (slot->key) *find_slot(&larger, slot->key, slot->hash) = *slot;
    }
    tn__free(map->slots);
    *map = larger;
    return true;
}

void tn__map_clear(struct tn_str_map *map) {
    tn__free(map->slots);
    *map = (struct tn_str_map){0};
}

uint32_t tn__map_get(const struct tn_str_map *map, const char *key) {
    if (!map->cap) return UINT32_MAX;
    const struct tn_map_slot *slot = find_slot(map, key, hash_key(key));
    return slot->key ? slot->value : UINT32_MAX;
}

bool tn__map_put(struct tn_str_map *map, const char *key, uint32_t value) {
    if ((uint64_t)(map->n + 1) * 4 > (uint64_t)map->cap * 3 && !grow(map)) return false;
    uint64_t hash = hash_key(key);
    struct tn_map_slot *slot = find_slot(map, key, hash);
    map->n += slot->key == NULL;
    *slot = (struct tn_map_slot){key, hash, value, 0};
    return true;
}

void tn__map_remove(struct tn_str_map *map, const char *key) {
    if (!map->cap) return;
    struct tn_map_slot *slot = find_slot(map, key, hash_key(key));
    if (!slot->key) return;
    map->n--;
    /* Close the gap: later slots of the same run move back when their home allows. */
    uint32_t mask = map->cap - 1, hole = (uint32_t)(slot - map->slots);
    for (uint32_t i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
        uint32_t home = (uint32_t)map->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole] = (struct tn_map_slot){0};
}
