/* Tables from keys to their positions in a list, made once at load: dense ranges of integers
 * by index, others by open addressing. Floats are keys by their bits, with one zero and one
 * NaN. Strings are hashed once an element. Hashes are seeded, so that a model cannot choose
 * keys that meet. */
#ifndef TENON_ML_KEYS_H
#define TENON_ML_KEYS_H

#include "ml.h"

struct tn__keys {
    const struct tn_host *host;
    int64_t base;  /* dense: position of key k is positions[k - base] */
    uint64_t span; /* keys of the dense range, 0 when hashed */
    uint64_t mask; /* slots - 1, a power of two less one */
    uint64_t seed;
    int32_t *positions; /* by slot, -1 where free */
    int64_t *ints;      /* keys of the slots … */
    struct tn_string *strings;
    uint64_t *hashes;
};

enum tn__repeated { TN__LAST_WINS = 0, TN__FIRST_WINS = 1 };

/* Fills *keys (zero before) from n keys; tn__keys_free in every case. Strings are borrowed. */
tn_status tn__keys_ints(struct tn__keys *keys, const struct tn_host *host,
    const int64_t *list, uint32_t n, enum tn__repeated repeated, struct tn_diag *diag);
tn_status tn__keys_strings(struct tn__keys *keys, const struct tn_host *host,
    const struct tn_string *list, uint32_t n, enum tn__repeated repeated,
    struct tn_diag *diag);
void tn__keys_free(struct tn__keys *keys);

/* Position in the list, -1 when it is no key. */
int32_t tn__keys_find_string(const struct tn__keys *keys, const struct tn_string *key);
int32_t tn__keys_find_hashed(const struct tn__keys *keys, int64_t key);

static inline int32_t tn__keys_find_int(const struct tn__keys *keys, int64_t key) {
    uint64_t at = (uint64_t)key - (uint64_t)keys->base;
    if (keys->span) return at < keys->span ? keys->positions[at] : -1;
    return tn__keys_find_hashed(keys, key);
}

/* A float as an integer key: equal numbers are equal keys, and so are all NaN. */
static inline int64_t tn__keys_of_double(double x) {
    int64_t bits;
    if (x != x) return INT64_C(0x7ff8000000000000); /* the bits of one NaN */
    x += 0.0;                                       /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

#endif
