/* Nearest name: see nearest.h. */
#include "core/base/nearest.h"

#include <string.h>

enum { MAX_NAME = 64 };

struct tn__nearest tn__nearest_start(const char *wanted) {
    return (struct tn__nearest){wanted, NULL, UINT32_MAX};
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Levenshtein distance in half steps: a difference in case alone costs half. */
static uint32_t edit_distance(const char *a, size_t n, const char *b, size_t m) {
    uint32_t row[MAX_NAME + 1];
    for (size_t j = 0; j <= m; j++)
        row[j] = 2 * (uint32_t)j;
    for (size_t i = 1; i <= n; i++) {
        uint32_t diagonal = row[0];
        row[0] = 2 * (uint32_t)i;
        for (size_t j = 1; j <= m; j++) {
            char x = a[i - 1], y = b[j - 1];
            uint32_t change = x == y ? 0 : lower(x) == lower(y) ? 1 : 2;
            uint32_t best = least(diagonal + change, least(row[j], row[j - 1]) + 2);
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

void tn__nearest_offer(struct tn__nearest *nearest, const char *name) {
    size_t n = strlen(nearest->wanted), m = strlen(name);
    if (n > MAX_NAME || m > MAX_NAME) return;
    uint32_t distance = edit_distance(nearest->wanted, n, name, m);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->best = name;
    }
}

const char *tn__nearest_get(const struct tn__nearest *nearest) {
    if (!nearest->best) return NULL;
    uint32_t allowed = 2 * (1 + (uint32_t)strlen(nearest->wanted) / 4);
    return nearest->distance <= allowed ? nearest->best : NULL;
}
