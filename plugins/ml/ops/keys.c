/* See keys.h. */
#include "ops/keys.h"

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t hash_string(const struct tn_string *s, uint64_t seed) {
    uint64_t hash = seed ^ s->size, word;
    uint64_t i = 0;
    for (; i + 8 <= s->size; i += 8) {
        memcpy(&word, s->data + i, 8);
        hash = mix(hash ^ word);
    }
    word = 0;
    if (i < s->size) memcpy(&word, s->data + i, s->size - i);
    return mix(hash ^ word);
}

static int same_string(const struct tn_string *a, const struct tn_string *b) {
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static void *take(const struct tn_host *host, uint64_t n, uint64_t size) {
    void *memory = host->alloc(host->self, n * size + 1, 0, "ml keys");
    if (memory) memset(memory, 0, n * size);
    return memory;
}

/* Slots for n keys, at most half of them used. n is below 2^32. */
static tn_status open_table(
    struct tn__keys *keys, uint32_t n, int strings, struct tn_diag *diag) {
    uint64_t slots = 8;
    while (slots < 2 * (uint64_t)n)
        slots *= 2;
    keys->mask = slots - 1;
    keys->seed = mix((uint64_t)(uintptr_t)keys ^ keys->host->clock_ns(keys->host->self));
    keys->positions = take(keys->host, slots, sizeof *keys->positions);
    if (strings) {
        keys->strings = take(keys->host, slots, sizeof *keys->strings);
        keys->hashes = take(keys->host, slots, sizeof *keys->hashes);
    } else {
        keys->ints = take(keys->host, slots, sizeof *keys->ints);
    }
    if (!keys->positions || (strings ? !keys->strings || !keys->hashes : !keys->ints))
        return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for a table of %u keys", n);
    memset(keys->positions, 0xff, slots * sizeof *keys->positions);
    return TN_OK;
}

static uint64_t slot_of_int(const struct tn__keys *keys, int64_t key) {
    uint64_t slot = mix((uint64_t)key ^ keys->seed) & keys->mask;
    while (keys->positions[slot] >= 0 && keys->ints[slot] != key)
        slot = (slot + 1) & keys->mask;
    return slot;
}

static uint64_t slot_of_string(
    const struct tn__keys *keys, const struct tn_string *key, uint64_t hash) {
    uint64_t slot = hash & keys->mask;
    while (keys->positions[slot] >= 0 &&
           (keys->hashes[slot] != hash || !same_string(&keys->strings[slot], key)))
        slot = (slot + 1) & keys->mask;
    return slot;
}

static void put(
    struct tn__keys *keys, uint64_t slot, uint32_t i, enum tn__repeated repeated) {
    if (keys->positions[slot] < 0 || repeated == TN__LAST_WINS)
        keys->positions[slot] = (int32_t)i;
}

/* The range of the keys when a table of it takes little more than their own memory. */
static uint64_t dense_span(const int64_t *list, uint32_t n, int64_t *out_base) {
    int64_t low = list[0], high = list[0];
    for (uint32_t i = 1; i < n; i++) {
        low = list[i] < low ? list[i] : low;
        high = list[i] > high ? list[i] : high;
    }
    uint64_t width = (uint64_t)high - (uint64_t)low;
    *out_base = low;
    return width < 4 * (uint64_t)n + 64 ? width + 1 : 0;
}

tn_status tn__keys_ints(struct tn__keys *keys, const struct tn_host *host,
    const int64_t *list, uint32_t n, enum tn__repeated repeated, struct tn_diag *diag) {
    keys->host = host;
    if (n > INT32_MAX) return tn_fail(diag, TN_LIMIT_EXCEEDED, "%u keys are too many", n);
    keys->span = n ? dense_span(list, n, &keys->base) : 0;
    if (keys->span) {
        keys->positions = take(host, keys->span, sizeof *keys->positions);
        if (!keys->positions)
            return tn_fail(diag, TN_OUT_OF_MEMORY, "no memory for a table of %u keys", n);
        memset(keys->positions, 0xff, keys->span * sizeof *keys->positions);
        for (uint32_t i = 0; i < n; i++)
            put(keys, (uint64_t)list[i] - (uint64_t)keys->base, i, repeated);
        return TN_OK;
    }
    TN_TRY(open_table(keys, n, 0, diag));
    for (uint32_t i = 0; i < n; i++) {
        uint64_t slot = slot_of_int(keys, list[i]);
        keys->ints[slot] = list[i];
        put(keys, slot, i, repeated);
    }
    return TN_OK;
}

tn_status tn__keys_strings(struct tn__keys *keys, const struct tn_host *host,
    const struct tn_string *list, uint32_t n, enum tn__repeated repeated,
    struct tn_diag *diag) {
    keys->host = host;
    if (n > INT32_MAX) return tn_fail(diag, TN_LIMIT_EXCEEDED, "%u keys are too many", n);
    TN_TRY(open_table(keys, n, 1, diag));
    for (uint32_t i = 0; i < n; i++) {
        uint64_t hash = hash_string(&list[i], keys->seed);
        uint64_t slot = slot_of_string(keys, &list[i], hash);
        keys->strings[slot] = list[i];
        keys->hashes[slot] = hash;
        put(keys, slot, i, repeated);
    }
    return TN_OK;
}

void tn__keys_free(struct tn__keys *keys) {
    const struct tn_host *host = keys->host;
    if (!host) return;
    host->free(host->self, keys->positions);
    host->free(host->self, keys->ints);
    host->free(host->self, keys->strings);
    host->free(host->self, keys->hashes);
}

int32_t tn__keys_find_hashed(const struct tn__keys *keys, int64_t key) {
    return keys->positions[slot_of_int(keys, key)];
}

int32_t tn__keys_find_string(const struct tn__keys *keys, const struct tn_string *key) {
    return keys->positions[slot_of_string(keys, key, hash_string(key, keys->seed))];
}
